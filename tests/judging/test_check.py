"""Los veredictos: qué propiedad falla primero, qué error frecuente se reconoce, y qué no engaña."""

import warnings

import pytest
import torch

from course_lib.judging import STUB_MESSAGE
from course_lib.judging.check import check, check_exercise, find_exercise
from course_lib.judging.compiled import Answer, Edited
from course_lib.judging.exercise import Exercise, Misconception, no_inputs
from course_lib.judging.running import draw_cases


def weights(scores, beta):
    return torch.softmax(beta * scores, -1)


def _cases(rng):
    wide = torch.randn(5, 4, generator=rng, dtype=torch.float64)
    return [(torch.randn(2, 3, generator=rng), 1.0), (wide, 2.0)]


def _view(scores, beta):
    return weights(scores, beta).view(-1, 7)


AXIS = Misconception("axis", lambda s, b: torch.softmax(b * s, 0), "normalizas por el otro eje")
DETACHED = Misconception("detached", lambda s, b: weights(s, b).detach(), "separas el grafo")
WRITES = Misconception("writes", lambda s, b: weights(s.mul_(b), 1.0), "escribes en la entrada")
FLATTENED = Misconception("view", _view, "aplanas sin conservar los ejes", raises=RuntimeError)


def exercise(*misconceptions, **options):
    fields = {"name": "example.weights", "points": 2, "reference": weights, "cases": _cases}
    return Exercise(**fields, misconceptions=misconceptions, **options)


def verdict(student, *misconceptions, **options):
    return check_exercise(exercise(*misconceptions, **options), student)


# Estados y textos


def test_a_right_answer_says_its_points():
    result = verdict(weights)
    assert repr(result) == "✅ example.weights: correcto (2 de 2 puntos)"
    assert (result.status, result.points) == ("correct", 2)


def test_one_point_is_singular():
    question = Exercise("example.q", 1, "b", no_inputs, ())
    assert repr(check_exercise(question, " B ")) == "✅ example.q: correcto (1 de 1 punto)"


def _stub(scores, beta):
    raise NotImplementedError(STUB_MESSAGE)


def _own_stub(scores, beta):
    raise NotImplementedError


def _long_stub(scores, beta):
    raise (
        # todavía no
        NotImplementedError("otro texto")
    )


def _conditional_stub(scores, beta):
    if beta: raise NotImplementedError  # noqa: E701  # fmt: skip


BLANKS = [..., None, [..., ...], (1, ...), _stub, _own_stub, _long_stub, _conditional_stub]


@pytest.mark.parametrize("blank", BLANKS)
def test_a_blank_is_pending(blank):
    assert repr(verdict(blank)) == "⏳ example.weights: pendiente"


def _written_for(rows, written=weights):
    """Una respuesta escrita solo para las matrices de tantas filas."""

    def student(scores, beta):
        if len(scores) == rows:
            return written(scores, beta)
        raise NotImplementedError(
            "las demás"
        )  # fmt: skip

    return student


@pytest.mark.parametrize(("rows", "missing"), [(2, "(5, 4)"), (5, "(2, 3)")])
def test_a_part_still_unwritten_is_not_a_blank_answer(rows, missing):
    result = verdict(_written_for(rows), AXIS, gradient=True)
    assert (result.status, result.points, result.property) == ("error", 0, "runs")
    assert result.message.startswith(
        f"con otras entradas el resultado es el pedido, pero con entradas de forma {missing}, tu "
        f"código llega a una parte sin escribir (línea "
    )
    assert result.message.endswith(": raise NotImplementedError)")
    assert result.inputs == f"con entradas de forma {missing}"


def test_what_is_written_is_judged_too():
    result = verdict(_written_for(2, lambda s, b: s), AXIS)
    assert result.message.startswith(
        "los valores no son los esperados, con entradas de forma (2, 3); además, con entradas de "
        "forma (5, 4), tu código llega a una parte sin escribir (línea "
    )
    stopped = verdict(_written_for(2, lambda s, b: s @ s), AXIS)
    assert stopped.message.startswith("con entradas de forma (2, 3), tu código se detuvo con Runt")


def test_the_gradient_may_reach_a_part_still_unwritten():
    def student(scores, beta):
        if scores.requires_grad:
            raise NotImplementedError
        return weights(scores, beta)

    message = verdict(student, gradient=True).message
    assert "al calcular el gradiente tu código llega a una parte sin escribir (línea" in message


def test_an_operation_torch_does_not_implement_is_not_pending():
    result = verdict(lambda s, b: torch.softmax(torch.ones(2, 3, dtype=torch.long), -1))
    assert result.status == "error"
    assert "Tu código se detuvo con NotImplementedError" in repr(result)


def test_nor_is_a_module_without_forward():
    assert verdict(lambda s, b: torch.nn.Module()(s)).status == "error"


def test_code_that_stops_with_some_inputs_says_which():
    def student(scores, beta):
        return weights(scores, beta) / (len(scores) == 2 or {}["cinco"])

    result = verdict(student)
    assert result.message.startswith("con entradas de forma (5, 4), tu código se detuvo con KeyErr")


def test_an_exception_shows_its_message_and_the_line():
    def student(scores, beta):
        values = scores @ scores
        return values

    result = verdict(student)
    assert result.status == "error"
    assert "tu código se detuvo con RuntimeError: mat1 and mat2" in result.message
    assert result.message.endswith("values = scores @ scores)")
    assert "\n" not in result.message and "/" not in result.message


def test_an_exception_with_a_hostile_text_is_described():
    class HostileError(Exception):
        def __str__(self):
            raise ValueError

    def student(scores, beta):
        raise HostileError

    assert "se detuvo con HostileError (" in verdict(student).message


def test_leaving_python_is_an_error_like_another():
    assert verdict(lambda s, b: exit(3)).status == "error"


def test_stopping_by_hand_is_not_caught():
    def student(scores, beta):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verdict(student)


# Propiedades, en orden


@pytest.mark.parametrize(
    ("student", "expected"),
    [
        (lambda s, b: None, "se esperaba un tensor y llegó None, con entradas"),
        (lambda s, b: weights(s, b).tolist(), "se esperaba un tensor y llegó una lista o tupla"),
        (lambda s, b: weights(s, b).numpy(), "se esperaba un tensor y llegó un objeto de tipo nda"),
        (lambda s, b: weights(s, b)[0].int(), "la forma es (3,) y debería ser (2, 3)"),
        (lambda s, b: weights(s, b).double() * torch.nan, "el dtype es torch.float64"),
        (lambda s, b: weights(s, b) / 0, "hay valores infinitos donde no deberían estar"),
        (lambda s, b: weights(s, b) * torch.nan, "hay valores NaN donde no deberían estar"),
        (lambda s, b: weights(s, b) + 1e-3, "los valores no son los esperados"),
        (3, "se esperaba un tensor y llegó un número"),
    ],
)
def test_the_first_property_that_fails_is_named(student, expected):
    result = verdict(student)
    assert result.status == "wrong"
    assert result.message.startswith(expected), result.message
    assert "con entradas de forma (2, 3)" in result.message


def test_a_shape_is_told_in_the_letters_of_the_statement_too():
    def documented(scores, beta):
        """Los pesos de unas puntuaciones [n, m]; [n, m]."""
        return weights(scores, beta)

    wrong = lambda s, b: weights(s, b)[0]  # noqa: E731
    told = check_exercise(Exercise("example.shape", 1, documented, _cases, ()), wrong).message
    expected = "la forma es (3,) y debería ser (2, 3), es decir, [n, m], con entradas de forma (2"
    assert told.startswith(expected), told
    pair = Exercise("example.pair", 1, lambda s, b: [documented(s, b)], _cases, ())
    assert "es decir" not in check_exercise(pair, lambda s, b: [wrong(s, b)]).message


def test_several_inputs_are_named_as_one_would_say_them():
    def cases(rng):
        return [(torch.ones(2, 3), "dura", torch.ones(4)), (torch.ones(1), "suave", torch.ones(1))]

    options = Exercise("example.options", 1, lambda x, kind, y: x, cases, ())
    message = check_exercise(options, lambda x, kind, y: 0 * x).message
    assert message.endswith(", con «dura» y entradas de forma (2, 3) y (4,)")


def test_of_many_inputs_only_the_first_are_named():
    many = [(torch.ones(1), torch.ones(2), *[torch.ones(7)] * 9)]
    wide = Exercise("example.wide", 1, lambda x, *rest: x, lambda rng: many, ())
    message = check_exercise(wide, lambda x, *rest: 0 * x).message
    assert message.endswith("con entradas de forma (1,), (2,), (7,), (7,) y otras")


def _named(student, k):
    return {f"k={k}": student(k)}


def test_the_name_of_a_case_is_told_with_its_inputs():
    """Un resultado `{nombre: resultado}` no es un diccionario para quien escribió el resultado."""
    numbers = Exercise(
        "example.named", 2, lambda k: [k, 2.0 * k], lambda rng: [(1,), (3,)], (), call=_named
    )

    def half(k):
        if k == 1:
            return [1, 2.0]
        raise NotImplementedError

    for student, message in (
        (lambda k: [k, 2], "en el segundo elemento del resultado, el valor no es el esperado, "),
        (lambda k: None, "se esperaba una lista o tupla y llegó None, con «k=1». ¿Falta un return"),
        (lambda k: {"k=1": 0}, "se esperaba una lista o tupla y llegó un diccionario, con «k=1»"),
        (half, "con otras entradas el resultado es el pedido, pero con «k=3», tu código llega a"),
        (lambda k: [k, 2 / (3 - k)], "con «k=3», tu código se detuvo con ZeroDivisionError"),
    ):
        assert check_exercise(numbers, student).message.startswith(message)
    assert check_exercise(numbers, lambda k: [k, 2]).message.endswith(", con «k=3»")


def test_a_case_without_tensors_nor_name_is_another():
    lists = Exercise("example.lists", 1, lambda x: x, lambda rng: [([1],), ([2],)], ())

    def half(x):
        if x == [1]:
            return x
        raise NotImplementedError

    told = "con unas entradas el resultado es el pedido, pero con otras, tu código llega a una"
    assert check_exercise(lists, half).message.startswith(told)


def test_a_forgotten_return_is_suggested_after_the_inputs():
    message = verdict(lambda s, b: None).message
    assert message.endswith("llegó None, con entradas de forma (2, 3). ¿Falta un return?")


def test_a_fault_of_a_later_case_is_seen():
    result = verdict(lambda s, b: weights(s, b) + (s.shape[0] == 5))
    assert result.message == "los valores no son los esperados, con entradas de forma (5, 4)"


def test_an_earlier_property_wins_over_an_earlier_case():
    def student(scores, beta):
        return weights(scores, beta) + 1 if len(scores) == 2 else weights(scores, beta)[0]

    assert verdict(student).message.startswith("la forma es (4,)")


def test_the_place_inside_a_result_is_named():
    both = Exercise(
        "example.both", 1, lambda s, b: (s, {"w": weights(s, b)}), _cases, (), gradient=False
    )
    result = check_exercise(both, lambda s, b: (s, {"w": s}))
    place = "en el segundo elemento del resultado, en su posición ['w'], los valores no son"
    assert result.message.startswith(place)


@pytest.mark.parametrize("shift", [5e-11, 5e-9])
def test_float64_is_held_to_more_digits(shift):
    result = verdict(lambda s, b: weights(s, b) + shift * (s.dtype == torch.float64))
    assert result.status == ("correct" if shift < 1e-10 else "wrong")


def test_the_tolerance_can_be_set():
    assert verdict(lambda s, b: weights(s, b) + 1e-3, tolerance=1e-2).status == "correct"


def test_expected_values_are_never_shown():
    question = Exercise("example.q", 1, 0.8808, no_inputs, [Misconception("one", 1.0, "no es uno")])
    for answer in (0.5, "x", [1], torch.ones(3), True, {"a": 1}):
        assert "0.88" not in repr(check_exercise(question, answer))


# Entradas


def test_writing_in_the_input_is_reported():
    result = verdict(WRITES.implementation)
    assert result.status == "wrong" and result.message.startswith("modificas la entrada")


def test_writing_in_the_input_has_the_hint_of_its_misconception():
    assert verdict(WRITES.implementation, AXIS, WRITES).misconceptions == ("writes",)


def test_writing_in_the_input_may_be_allowed():
    assert verdict(WRITES.implementation, inputs_may_change=True).status == "correct"


def test_writing_in_ones_own_tensors_is_fine():
    def student(scores, beta):
        out = scores.clone()
        out.mul_(beta).sub_(out.max(-1, keepdim=True).values).exp_()
        return out.div_(out.sum(-1, keepdim=True))

    assert verdict(student, WRITES).status == "correct"
    result = verdict(student, WRITES, gradient=True)
    assert "al calcular el gradiente tu código se detuvo con RuntimeError" in result.message


def test_the_reference_does_not_see_the_students_changes():
    shared = torch.ones(3)
    fixed = Exercise("example.fixed", 1, lambda x: x * 2, lambda rng: [(shared,)], ())
    assert check_exercise(fixed, lambda x: x.zero_() * 2).status == "wrong"
    assert shared.tolist() == [1.0] * 3


# Errores frecuentes


def test_a_misconception_gives_its_hint():
    result = verdict(lambda s, b: torch.softmax(s * b, dim=0), FLATTENED, AXIS)
    assert repr(result) == (
        "❌ example.weights: todavía no (0 de 2 puntos)\n   Normalizas por el otro eje."
    )
    assert result.misconceptions == ("axis",)


def test_it_must_coincide_in_every_case():
    def student(scores, beta):
        return AXIS.implementation(scores, beta) if len(scores) == 2 else scores

    assert verdict(student, AXIS).misconceptions == ()


def test_a_misconception_equal_to_the_reference_is_never_the_answer():
    same = Misconception("same", weights, "no estás equivocado")
    assert verdict(weights, same).status == "correct"
    assert verdict(lambda s, b: s, same).misconceptions == ()


def test_a_misconception_within_tolerance_of_the_reference_explains_nothing():
    near = Misconception("near", lambda s, b: weights(s, b) + 0.008, "te pasas por muy poco")
    result = verdict(lambda s, b: weights(s, b) + 0.016, near, tolerance=1e-2)
    assert (result.status, result.misconceptions) == ("wrong", ())


def test_a_declared_exception_is_a_misconception():
    assert verdict(lambda s, b: s.view(-1, 7), FLATTENED).misconceptions == ("view",)
    assert verdict(lambda s, b: s.nothing, FLATTENED).misconceptions == ()
    elsewhere = verdict(lambda s, b: s.view(-1, 11), FLATTENED)
    assert elsewhere.misconceptions == (), "se detiene con la misma excepción, por otra causa"


def test_an_undeclared_exception_is_not():
    silent = Misconception("view", _view, "aplanas sin conservar los ejes")
    assert verdict(lambda s, b: s.view(-1, 7), silent).status == "error"


# Gradiente


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_notebook_that_turned_gradients_off_is_judged_alike(mode):
    exercise = find_exercise("attention.soft_argmax")
    with mode():
        right = check_exercise(exercise, lambda s, beta=1.0: torch.softmax(beta * s, -1))
    assert right.status == "correct", right


# Dos errores a la vez


WEIGHTS = "def weights(s, b):\n    w = torch.softmax(b * s, -1)\n    return w"


def edit(name, hint, *changes, **more):
    """Un error que es la respuesta con unos trozos cambiados, como se guarda."""
    edits = [(WEIGHTS.index(old), WEIGHTS.index(old) + len(old), new) for old, new in changes]
    return {"name": name, "hint": hint, "edits": edits, **more}


def edited(*mistakes):
    """Los errores de una misma respuesta."""
    stored = {"name": "example.weights", "answer": "weights", "code": WEIGHTS}
    answer = Answer({**stored, "mistakes": mistakes})
    return [Edited(answer, mistake) for mistake in mistakes]


NO_BETA = edit("no_beta", "no usas β.", ("b * s", "s"))
OTHER_AXIS = edit("other_axis", "normalizas por columnas.", ("-1", "0"))
HALF = edit("half", "divides por dos.", ("return w", "return w / 2"))
QUARTER = edit("quarter", "partes en dos.", ("return w", "return w * 0.5"))
CUT = edit("cut", "cortas.", ("return w", "return w[4]"), raises="IndexError")
THREE = NO_BETA, OTHER_AXIS, HALF


def test_two_misconceptions_at_once_get_both_hints():
    result = verdict(lambda s, b: torch.exp(s) / torch.exp(s).sum(0), *edited(*THREE))
    assert repr(result) == (
        "❌ example.weights: todavía no (0 de 2 puntos)\n"
        "   Tu resultado es el que dan dos errores a la vez. Uno: no usas β. El otro: normalizas "
        "por columnas."
    )
    assert result.misconceptions == ("no_beta", "other_axis")


def test_only_what_is_in_every_pair_that_explains_it_is_named():
    result = verdict(lambda s, b: torch.softmax(s, -1) / 2, *edited(*THREE, QUARTER))
    assert result.misconceptions == ("no_beta",)
    assert result.message == (
        "tu resultado es el que dan dos errores a la vez. Uno: no usas β. Al corregirlo verás el "
        "otro."
    )


AGAIN = edit("again", "otra vez.", ("b * s", "s + 0"))
HALF_WITHOUT_BETA = Misconception("both", lambda s, b: torch.softmax(s, -1) / 2, "pierdes todo")


def test_pairs_with_nothing_in_common_are_all_told():
    result = verdict(lambda s, b: torch.softmax(s, -1) / 2, *edited(*THREE, QUARTER, AGAIN))
    assert result.misconceptions == (), "ninguno es seguro"
    assert result.message == (
        "tu resultado es el que dan dos errores a la vez. Uno: no usas β. El otro: divides por "
        "dos. O estos dos. Uno: no usas β. El otro: partes en dos. O estos dos. Uno: divides por "
        "dos. El otro: otra vez. O estos dos. Uno: partes en dos. El otro: otra vez."
    )


def test_too_many_pairs_tell_nothing():
    third = edit("third", "un tercero.", ("return w", "return w / 4 * 2"))
    known = edited(*THREE, QUARTER, AGAIN, third)
    result = verdict(lambda s, b: torch.softmax(s, -1) / 2, *known)
    assert result.misconceptions == ()
    assert result.message.startswith("los valores no son los esperados")


def test_one_that_explains_it_all_is_told_alone():
    result = verdict(HALF_WITHOUT_BETA.implementation, *edited(*THREE), HALF_WITHOUT_BETA)
    assert result.misconceptions == ("both",)
    assert result.message == "pierdes todo"


def test_two_that_are_another_by_definition_are_not_a_pair():
    both = edit("both", "pierdes todo", ("b * s", "s"), ("return w", "return w / 2"))
    known = edited(*THREE, both)
    assert len(exercise(*edited(*THREE)).pairs) == 2 + 1
    assert {(a.name, b.name) for a, b, _ in exercise(*known).pairs} == {
        ("no_beta", "other_axis"),
        ("other_axis", "half"),
        ("other_axis", "both"),
    }
    assert verdict(known[-1].implementation, *known).message == "pierdes todo"


def test_two_that_match_only_in_some_draws_are_not_told_with_one():
    def student(scores, beta):
        return torch.softmax(scores, -1) / (3 if scores[0, 0] > 0 else 2)

    alike = Misconception("alike", student, "casi.")
    assert verdict(student, *edited(*THREE), alike).message == "casi."


def test_two_misconceptions_must_explain_every_case():
    def student(scores, beta):
        return torch.softmax(scores, 0) if len(scores) == 2 else scores

    assert verdict(student, *edited(*THREE)).misconceptions == ()


def test_a_third_error_is_not_taken_for_two():
    result = verdict(lambda s, b: torch.softmax(s, 0) / 3, *edited(*THREE))
    assert result.misconceptions == () and "no son los esperados" in result.message


def test_with_two_at_once_the_code_may_stop_in_some_case():
    known = edited(*THREE, CUT)
    result = verdict(lambda s, b: torch.softmax(s, -1)[4], *known)
    assert result.misconceptions == ("no_beta", "cut")
    elsewhere = verdict(lambda s, b: torch.softmax(s, -1)[3 + len(s) // 5], *known)
    assert elsewhere.misconceptions == (), "se detiene con otro mensaje"


def test_two_that_stop_in_every_case_are_not_guessed():
    stops = edit("stops", "te sales.", ("return w", "return w[9]"))
    result = verdict(lambda s, b: torch.softmax(s, -1)[9], *edited(NO_BETA, stops))
    assert (result.status, result.misconceptions) == ("error", ())


def test_two_errors_of_the_gradient_are_named():
    tripled = edit("a", "triplicas.", ("b * s", "b * (3 * s - 2 * s.detach())"))
    halved = edit("b", "partes.", ("return w", "return (w + w.detach()) / 2"))

    def student(s, b):
        w = torch.softmax(b * (3 * s - 2 * s.detach()), -1)
        return (w + w.detach()) / 2

    result = verdict(student, *edited(tripled, halved, *THREE), gradient=True)
    assert (result.property, result.misconceptions) == ("gradient", ("a", "b"))


def test_a_hint_comes_with_the_inputs_that_showed_the_mistake():
    exercise = find_exercise("attention.soft_argmax")
    verdict = check_exercise(exercise, exercise.misconceptions[0].implementation)
    assert verdict.misconceptions and verdict.inputs.startswith("con entradas de forma (")


def test_a_detached_result_is_noticed_only_with_gradient():
    assert verdict(DETACHED.implementation).status == "correct"
    result = verdict(DETACHED.implementation, gradient=True)
    assert "el gradiente no llega a las entradas" in result.message
    assert verdict(DETACHED.implementation, DETACHED, gradient=True).misconceptions == ("detached",)


def test_a_wrong_gradient_is_noticed():
    def student(scores, beta):
        return weights(scores + (scores - scores.detach()), beta)

    result = verdict(student, DETACHED, AXIS, gradient=True)
    assert result.message == "los valores son correctos, pero el gradiente respecto de las " + (
        "entradas no lo es"
    )


def test_code_that_cannot_be_differentiated_is_explained():
    def student(scores, beta):
        return torch.from_numpy(scores.numpy()).mul(beta).softmax(-1)

    message = verdict(student, gradient=True).message
    assert (
        "al calcular el gradiente tu código se detuvo con RuntimeError: Can't call numpy" in message
    )


# Nada engaña a la comparación, ni depende de lo que había alrededor


class EqualToAll:
    __class__ = torch.Tensor

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


class HostileTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return True

    shape = property(lambda self: torch.Size([2, 3]))


class HostileText(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class HostileNumber(float):
    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0.0

    __hash__ = float.__hash__


@pytest.mark.parametrize(
    "student",
    [
        lambda s, b: EqualToAll(),
        lambda s, b: torch.ones(1).as_subclass(HostileTensor),
        lambda s, b: [EqualToAll()],
        lambda s, b: {EqualToAll(): 1},
        lambda s, b: torch.empty(2, 3, device="meta"),
        lambda s, b: torch.zeros(2, 3).to_sparse(),
    ],
)
def test_a_hostile_object_is_wrong(student):
    assert verdict(student).status == "wrong"


@pytest.mark.parametrize("answer", [HostileText("x"), EqualToAll(), HostileNumber(1), b"b", ["b"]])
def test_a_hostile_answer_is_wrong(answer):
    for right in ("b", 7, 7.0, True):
        question = Exercise("example.q", 1, right, no_inputs, ())
        assert check_exercise(question, answer).status == "wrong"


def test_a_list_without_end_is_wrong():
    endless = []
    endless.append(endless)
    assert verdict(lambda s, b: endless).status == "wrong"


def test_it_prints_nothing_and_leaves_the_random_state(capfd):
    def student(scores, beta):
        print("hola")
        warnings.warn("cuidado", stacklevel=1)
        torch.rand(3)
        return weights(scores, beta)

    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert verdict(student, gradient=True).status == "correct"
    assert torch.equal(torch.random.get_rng_state(), before)
    assert capfd.readouterr() == ("", "")


def test_the_text_is_the_same_each_time():
    def student(scores, beta):
        return torch.rand(2, 3) @ object()

    assert len({repr(verdict(student)) for _ in range(3)}) == 1


def test_a_memory_address_is_hidden():
    def student(scores, beta):
        raise ValueError(object())

    assert "ValueError: <object object at 0x…>" in verdict(student).message


def test_a_shape_is_not_a_memory_address():
    def student(scores, beta):
        raise ValueError("no se pueden multiplicar (10x6 y 12x6)")

    assert "(10x6 y 12x6)" in verdict(student).message


def test_another_seed_draws_other_inputs():
    first, again, other = (draw_cases(exercise(), seed)[0][0] for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)


def test_memorised_outputs_fail_with_another_seed():
    stored = [weights(*case) for case in draw_cases(exercise(), 1)]

    def student(scores, beta):
        return stored[0] if len(scores) == 2 else stored[1]

    assert check_exercise(exercise(), student, seed=1).status == "correct"
    assert check_exercise(exercise(), student, seed=2).status == "wrong"


# Buscar por nombre, y lo que es culpa del ejercicio


@pytest.mark.parametrize("name", ["nothing.here", "attention.nothing", "../x.y", "attention", ""])
def test_an_unknown_name_is_explained(name):
    with pytest.raises(ValueError, match="No hay ningún ejercicio llamado"):
        check(name, 1)


def test_the_example_topic_is_found(example_project):
    example_project.prepare()
    assert find_exercise("example.double").points == 2
    assert check("example.double", lambda x: x**2).misconceptions == ("square",)


def test_a_broken_reference_is_the_courses_fault():
    broken = Exercise("example.b", 1, lambda s, b: s @ s, _cases, ())
    with pytest.raises(RuntimeError, match="del curso, no de tu código"):
        check_exercise(broken, weights)


def test_an_exercise_without_cases_is_refused():
    with pytest.raises(ValueError, match="no dio ningún caso"):
        check_exercise(Exercise("example.b", 1, weights, lambda rng: [], ()), weights)


def test_the_verdict_travels_in_the_metadata():
    data, metadata = verdict(weights)._repr_mimebundle_()
    assert data["text/plain"] == "✅ example.weights: correcto (2 de 2 puntos)"
    assert metadata["course_verdict"]["status"] == "correct"
