"""Lo que ve quien comprueba en su cuaderno: el caso que falla, qué cumple, qué hacer."""

import builtins
import contextlib
import os
import signal
import sys
import time

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

from course_lib import check, resumen
from course_lib.judging import display, session
from course_lib.judging.check import (
    find_exercise,
    judge_now,
    tell_missing_answers,
    topic_exercises,
)
from course_lib.judging.compiled import PREPARED
from course_lib.judging.notebook_verdict import section_link
from course_lib.judging.plain_data import Comparison

SOFT = "attention.soft_argmax"


@pytest.fixture(autouse=True)
def fresh():
    session.forget()


def softmax(scores, beta):
    return torch.softmax(beta * scores, -1)


# El caso


def test_a_wrong_answer_has_its_case_and_never_what_was_expected():
    def soft_argmax(scores, beta):
        print("forma", tuple(scores.shape))
        return 2 * softmax(scores, beta)

    verdict = check(SOFT, soft_argmax)
    scores, beta = verdict.case.inputs
    assert torch.equal(verdict.case.output, soft_argmax(scores, beta))
    assert verdict.case.printed == "forma (3, 4)"
    shown = repr(verdict.case)
    assert "scores = tensor(" in shown and "beta = 2.5" in shown and "forma (3, 4)" in shown
    right = softmax(scores, beta)
    everything = shown + repr(verdict) + str(verdict._repr_mimebundle_())
    assert f"{right[0, 0].item():.4f}" not in everything, "lo que se esperaba no se dice"
    assert "Lo que imprimió tu código en ese caso" in repr(verdict)


def test_the_inputs_of_a_case_can_be_written_on():
    verdict = check(SOFT, lambda scores, beta: scores)
    verdict.case.inputs[0].zero_()
    assert verdict.case.inputs[0].any()


def test_an_exception_shows_the_students_own_lines():
    def inside(x):
        return x.nothing

    def soft_argmax(scores, beta):
        return inside(scores)

    verdict = check(SOFT, soft_argmax)
    trace = verdict.case.trace()
    assert "en soft_argmax\n    return inside(scores)" in trace
    assert trace.splitlines()[-1].startswith("AttributeError")
    assert "course_lib" not in trace and "Por dónde pasó tu código" in repr(verdict)
    with pytest.raises(AttributeError):
        verdict.case.run()


def test_what_is_right_pending_or_a_question_has_no_case():
    assert check(SOFT, softmax).case is None
    assert check(SOFT, ...).case is None
    assert check("attention.read_plot", {"A": 1, "B": 1, "C": 1}).case is None


def test_grading_knows_nothing_of_cases():
    verdict = judge_now(SOFT, lambda scores, beta: scores)
    assert not hasattr(verdict, "case") and "verdict.case" not in repr(verdict)


# Lo que cumple siempre el resultado


@pytest.mark.parametrize(
    ("name", "answer", "told"),
    [
        (SOFT, lambda s, b: 2 * softmax(s, b), "Las filas de tu resultado suman 2; deberían sumar"),
        (SOFT, lambda s, b: softmax(s, b).roll(1, -1), "Cada fila suma 1, bien"),
        (SOFT, lambda s, b: softmax(s, b) * 3 - 0.5, "hay números negativos (el menor, −0.4"),
    ],
)
def test_invariants_are_told_in_words_and_numbers(name, answer, told):
    assert told in repr(check(name, answer))


def test_a_property_the_reference_lacks_is_never_asked():
    def look_up_all(Q, K, V):
        return torch.softmax(Q @ K.mT, -1) @ V

    verdict = check("key_value_store.look_up_all", look_up_all)
    assert verdict.status == "wrong" and not any("suma" in fact for fact in verdict.facts)


def test_a_row_with_the_same_number_is_not_accused_of_going_up():
    def beam_step(totals, log_p, ended, pad_id, beam_size):
        zeros = torch.zeros(beam_size)
        return zeros.double() - 9.0, zeros.long(), zeros.long()

    facts = check("translator.beam_step", beam_step).facts
    assert not any("mayor a menor" in fact for fact in facts), facts


# Lo mismo otra vez


def test_trying_the_same_again_offers_more_help():
    told = [
        repr(check(SOFT, eval(f"lambda s, b: torch.softmax(b * s, -1) + {n}", {"torch": torch})))
        for n in (0.1, 0.2, 0.3)
    ]
    assert "Repasa: «Dura y suave»" in told[0] and "Otra vez" not in told[0]
    assert "Otra vez lo mismo: vuelve a leer «Dura y suave»" in told[1]
    assert "Hazlo a mano con un caso pequeño: s = [[" in told[2] and "a mano" not in told[1]


def test_the_section_is_linked_where_the_book_is(tmp_path, monkeypatch):
    built = tmp_path / "_build" / "html" / "book" / "attention.html"
    for folder in (built.parent, tmp_path / "exercises", tmp_path / "book"):
        folder.mkdir(parents=True)
    built.touch()
    (tmp_path / "book" / "attention.md").touch()
    exercise = find_exercise(SOFT)
    monkeypatch.chdir(tmp_path / "exercises")
    assert "](../_build/html/book/attention.html#" in section_link(exercise)
    monkeypatch.chdir(tmp_path / "book")
    assert "](../book/attention.html#" in section_link(exercise)


def test_running_the_same_cell_twice_is_one_try():
    def soft_argmax(scores, beta):
        return scores

    assert repr(check(SOFT, soft_argmax)) == repr(check(SOFT, soft_argmax))


# Un cuaderno


@pytest.fixture
def notebook(monkeypatch):
    """Un IPython propio, como el de un cuaderno."""
    monkeypatch.delenv(PREPARED, raising=False)
    shell = InteractiveShell()
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    before = {name: getattr(builtins, name, None) for name in ("display", "get_ipython")}
    run = lambda text: shell.run_cell(text, store_history=True, silent=False)  # noqa: E731
    run("import torch\nfrom course_lib import check")
    yield shell, run
    for name, value in before.items():
        if value is not None:
            setattr(builtins, name, value)


RIGHT = "def soft_argmax(scores, beta):\n    return torch.softmax(beta * scores, -1)"
CHECK = f'check("{SOFT}", soft_argmax)'


def test_a_syntax_error_is_told_and_the_old_function_is_not_judged(notebook):
    _, run = notebook
    run(RIGHT)
    assert run(CHECK).result.status == "correct"
    run("def soft_argmax(scores, beta):\n    return torch.softmax(beta * scores, -1")
    verdict = run(CHECK).result
    assert verdict.status == "error" and verdict.points == 0
    assert "no es Python válido y no se ejecutó: '(' was never closed" in verdict.message
    run(RIGHT)
    assert run(CHECK).result.status == "correct"


def test_nor_is_it_after_a_cell_that_stopped_before_defining_it(notebook):
    _, run = notebook
    run(RIGHT)
    run("1 / 0\n\n" + RIGHT.replace("-1", "0"))
    assert "se detuvo antes de definirla" in run(CHECK).result.message


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("def soft_argmax(scores, beta):\n    return ((", "no es Python válido"),
        ("1 / 0\n\n" + RIGHT, "se detuvo antes de definirla"),
        (RIGHT.replace("soft_argmax", "mine"), "No hay nada que se llame soft_argmax"),
    ],
)
def test_an_answer_that_does_not_exist_gets_a_verdict(notebook, capsys, cell, told):
    shell, run = notebook
    tell_missing_answers(shell)
    run(cell)
    capsys.readouterr()
    run(CHECK)
    shown = capsys.readouterr().out
    assert told in " ".join(shown.split()) and "Traceback" not in shown
    assert shell.user_ns["verdict"].status == "error"


def test_another_missing_name_keeps_its_trace(notebook, capsys):
    shell, run = notebook
    tell_missing_answers(shell)
    run("missing + 1")
    assert "Traceback" in capsys.readouterr().out


@pytest.mark.parametrize("later", ["soft_argmax(torch.ones(2), 1.0) + missing", "x = 3", "%time 1"])
def test_a_cell_that_fails_after_defining_it_does_not_matter(notebook, later):
    _, run = notebook
    run(RIGHT + "\n\n" + later)
    run(later)
    assert run(CHECK).result.status == "correct"


def test_an_alias_is_not_taken_for_an_old_cell(notebook):
    _, run = notebook
    run(RIGHT.replace("soft_argmax(", "mine("))
    run("soft_argmax = mine")
    assert run(CHECK).result.status == "correct"


def test_the_verdict_is_at_hand_unless_the_name_is_taken(notebook):
    shell, run = notebook
    run("def soft_argmax(scores, beta):\n    return scores.nothing")
    run(CHECK)
    assert shell.user_ns["verdict"].case.error is shell.user_ns["verdict"].case.error is not None
    assert isinstance(sys.last_value, AttributeError)
    shell.user_ns["verdict"] = "mío"
    run(CHECK)
    assert shell.user_ns["verdict"] == "mío"


def test_another_name_is_told(notebook):
    _, run = notebook
    run(RIGHT.replace("soft_argmax(", "mine("))
    verdict = run(f'check("{SOFT}", mine)').result
    assert verdict.status == "correct" and "se busca «soft_argmax»" in repr(verdict)


@pytest.mark.parametrize(
    ("name", "answer", "told"),
    [
        (SOFT, lambda s, b: softmax(s, b).tolist(), "Conviértelo con torch.tensor(…)"),
        ("tokenization.raw_bytes", torch.tensor([112, 105]), "Conviértelo con .tolist()"),
    ],
)
def test_a_tensor_in_place_of_a_list_is_asked_for_in_words(name, answer, told):
    assert told in repr(check(name, answer))


def test_results_in_another_order_are_not_asked_to_be_converted():
    wanted = torch.ones(2, 3), [4], 0.5
    (fault,) = Comparison().faults(([4], torch.ones(2, 3), 0.5), wanted)
    told = "se esperaba (un tensor, una lista o tupla, un número), en ese orden, y llegó"
    assert fault.property == "type" and not fault.advice
    assert fault.text == f"{told} (una lista o tupla, un tensor, un número)"
    assert not list(Comparison().faults(wanted, wanted))
    (fault,) = Comparison().faults(([[1.0]], [4], 0.5), wanted)
    assert "se esperaba un tensor" in fault.text, "uno de otra clase no es otro orden"


# Lo que no termina


def test_an_endless_loop_ends_with_a_verdict_that_names_the_line():
    def soft_argmax(scores, beta):
        while True:
            beta += 1

    start = time.perf_counter()
    verdict = check(SOFT, soft_argmax, seconds=0.5)
    assert time.perf_counter() - start < 5
    assert verdict.status == "error" and "no terminó en 0.5 segundos" in verdict.message
    assert "beta += 1" in verdict.message or "while True" in verdict.message
    assert check(SOFT, softmax).status == "correct", "la alarma no queda puesta"


def test_an_interruption_that_gets_lost_is_not_the_last(monkeypatch):
    """Python descarta la que llega dentro de un `__del__` o de un aviso del recolector."""
    monkeypatch.setattr(session, "_RING_AGAIN", 0.1)

    def soft_argmax(scores, beta):
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                beta += 1
        while True:
            beta -= 1

    verdict = check(SOFT, soft_argmax, seconds=0.3)
    assert "no terminó en 0.3 segundos" in verdict.message


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_program_without_interruptions_has_the_limit_too(handler):
    """Así empieza lo que una terminal manda al fondo con «&»."""

    def soft_argmax(scores, beta):
        while True:
            beta += 1

    before = signal.signal(signal.SIGINT, handler)
    try:
        verdict = check(SOFT, soft_argmax, seconds=0.3)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "no terminó en 0.3 segundos" in verdict.message


@pytest.mark.skipif(os.name == "nt", reason="en Windows se espera a que despierte")
@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN, signal.SIG_DFL])
def test_who_sleeps_is_woken(handler):
    """También en segundo plano, donde se hereda un SIGINT que se desatiende."""
    inherited = signal.signal(signal.SIGINT, handler)
    start = time.perf_counter()
    try:
        verdict = check(SOFT, lambda scores, beta: time.sleep(6), seconds=0.1)
        assert signal.getsignal(signal.SIGINT) is handler, "queda como estaba"
    finally:
        signal.signal(signal.SIGINT, inherited)
    assert "no terminó en 0.1 segundos" in verdict.message
    assert time.perf_counter() - start < 5


def test_in_the_background_only_the_alarm_interrupts():
    inherited = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert session.limited(9.0, lambda: signal.raise_signal(signal.SIGINT) or 7) == 7
    finally:
        signal.signal(signal.SIGINT, inherited)


def test_an_alarm_interrupted_while_stopping_does_not_ring_later(monkeypatch):
    monkeypatch.setattr(session, "_RING_AGAIN", 0.1)
    stop, times = session._Alarm.stop, []

    def late(alarm):
        times.append(alarm)
        if len(times) == 1:
            while True:  # la respuesta acabó; la interrupción llega aquí
                pass
        stop(alarm)

    monkeypatch.setattr(session._Alarm, "stop", late)
    with pytest.raises(session.TooLongError):
        session.limited(0.1, lambda: 1)
    time.sleep(0.3)


def test_an_interruption_by_hand_is_the_writers():
    def soft_argmax(scores, beta):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check(SOFT, soft_argmax)


# El aspecto


@pytest.mark.parametrize("state", display.WORDS)
def test_every_state_has_a_word_a_shape_and_a_colour_that_holds(state):
    told = display.Told(state, "Ejercicio 1 · Uno", "0 de 1 punto")
    page = told.html()
    assert display.WORDS[state] in page and "<svg" in page and "aria-hidden" in page
    assert "<script" not in page and "<style" not in page and "http" not in page
    for ground in ("#ffffff", "#1e1e1e", "#111111", "#383838"):
        assert _contrast(display.COLORS[state], ground) >= (2.2 if ground == "#383838" else 3)
    shapes = [display.icon(other) for other in display.WORDS]
    assert len(set(shapes)) == len(shapes)


def _contrast(one, other):
    def light(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_what_the_student_wrote_is_escaped():
    def soft_argmax(scores, beta):
        print("<script>alert(1)</script>")
        raise ValueError("<img src=x onerror=alert(1)> [a](javascript:alert(1))")

    page = check(SOFT, soft_argmax)._repr_mimebundle_()[0]["text/html"]
    assert "<script" not in page and "<img" not in page
    assert "href" not in page


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("usa `a < b` y *no* **eso**", "usa <code>a &lt; b</code> y <em>no</em> <strong>eso"),
        ("la raíz de $d_k < 3$", "la raíz de $d_k &lt; 3$"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("[La escala](../book/a.md#sec-b)", '<a href="../book/a.md#sec-b">La escala</a>'),
    ],
)
def test_the_markdown_of_a_line(text, page):
    assert page in display.inline_html(text)


# El resumen


def test_the_summary_counts_and_says_what_is_next():
    check(SOFT, softmax)
    check("attention.hard_argmax", lambda scores: scores)
    exercises = topic_exercises("attention")
    total = sum(exercise.points for exercise in exercises)
    told = repr(resumen())
    assert told.startswith(f"Atención: 1 de {len(exercises)} ejercicios, 1 de {total} puntos")
    assert "✅ Ejercicio 1 · El arg max suave: correcto, 1 de 1" in told
    assert "Corrige: Ejercicio 2 · El arg max duro · Sigue: Ejercicio 3" in told
    page = resumen("attention")._repr_mimebundle_()["text/html"]
    assert page.count("<tr>") == len(exercises) + 1 and 'scope="col"' in page


def test_a_finished_notebook_names_the_next():
    for exercise in topic_exercises("attention"):
        check(exercise.name, exercise.reference)
    assert "Todo hecho. Sigue el cuaderno «Almacén clave-valor»" in repr(resumen())


def test_a_summary_of_nothing_is_explained():
    with pytest.raises(ValueError, match="Todavía no comprobaste nada"):
        resumen()
    with pytest.raises(ValueError, match="No hay un tema llamado «nada»"):
        resumen("nada")
