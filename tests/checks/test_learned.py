"""Ninguna respuesta aprendida de memoria con una semilla se da por buena con otra.

Se apunta lo que la referencia contesta, llamada a llamada, con las entradas de una semilla; después
se repite con las de otras, sin calcular nada. La semilla de un calificador es secreta: si bastara
con repetir, bastaría con copiar las respuestas de un cuaderno ya calificado.
"""

import copy
import itertools
import statistics
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from course_lib.judging.check import first_verdict, topic_exercises
from course_lib.judging.exercise import Exercise
from course_lib.judging.plain_data import Comparison, plain
from course_lib.judging.running import Outcome, draw_cases, remembering, run_cases
from course_lib.notebooks.generation import topics_in
from tests.checks.solutions import ROOT

ALL = [exercise for topic in topics_in(ROOT) for exercise in topic_exercises(topic)]
OTHERS = (1, 2)
MOST = 0.5
MOST_YES_OR_NO = 0.75
"""Qué parte de los casos se puede acertar por repetir; contestar sí o no acierta la mitad."""

CONSTANT = {
    "attention.read_plot": "se lee en una gráfica del cuaderno",
    "key_value_store.read_curves": "se lee en una gráfica del cuaderno",
    "palm.cache": "una cuenta con los tamaños de un modelo publicado",
    "self_attention.design": "se diseñan dos matrices, sin entradas; se prueban con otras frases",
    "self_attention.read_maps": "se lee en unos mapas del cuaderno",
    "tokenization.raw_bytes": "los bytes de una palabra que da el enunciado",
    "transformer.parameters": "una cuenta con los tamaños que da el enunciado",
    "transformer_xl.cost": "una cuenta con los tamaños que da el enunciado",
    "universal_transformer.read_steps": "se lee en una tabla del cuaderno",
}
"""Los ejercicios cuya respuesta es un dato, el mismo con toda semilla, y por qué."""

pytestmark = pytest.mark.usefixtures("as_user")


@dataclass
class Memory:
    """Lo que la referencia contestó en cada llamada, con los argumentos que recibió."""

    calls: list[tuple[Any, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, exercise: Exercise, seed: int):
        memory = cls()

        def reference(*inputs):
            answer = exercise.reference(*inputs)
            memory.calls.append((copy.deepcopy(inputs), plain(answer)))
            return answer

        assert all(
            o.failure is None for o in run_cases(exercise, reference, draw_cases(exercise, seed))
        )
        return memory

    def in_order(self):
        """Contesta lo mismo, en el mismo orden."""
        answers = itertools.cycle(self.calls)
        return lambda *inputs: copy.deepcopy(next(answers)[1])

    def nearest(self):
        """Contesta lo que se contestó a los argumentos más parecidos."""

        def answer(*inputs):
            return copy.deepcopy(max(self.calls, key=lambda call: likeness(call[0], inputs))[1])

        return answer

    def most_frequent(self):
        """Contesta siempre lo mismo: lo que más veces se contestó."""
        times = Counter(repr(answer) for _, answer in self.calls)
        answer = max((answer for _, answer in self.calls), key=lambda a: times[repr(a)])
        return lambda *inputs: copy.deepcopy(answer)

    def students(self) -> dict[str, Any]:
        return {way.__name__: way() for way in (self.in_order, self.nearest, self.most_frequent)}


def likeness(a: Any, b: Any) -> float:
    """Cuánto se parecen dos argumentos: si son iguales, más; si tienen la misma forma, algo."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape:
            return 0.0
        return 1.0 + (a == b).double().mean().item() if a.numel() else 2.0
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return sum(map(likeness, a, b)) - abs(len(a) - len(b))
    return 2.0 if type(a) is type(b) and a == b else 0.0


def repeated(exercise: Exercise, student, seed: int) -> float:
    """Qué parte de los casos acierta."""
    cases = draw_cases(exercise, seed)
    compare = Comparison(exercise.tolerance)
    got, wanted = (run_cases(exercise, each, cases) for each in (student, exercise.reference))
    hits = [
        g.failure is None and compare.same(g.value, w.value)
        for g, w in zip(got, wanted, strict=True)
    ]
    return sum(hits) / len(cases)


def is_yes_or_no(outcomes: list[Outcome]) -> bool:
    return all(isinstance(outcome.value, bool) for outcome in outcomes)


@pytest.mark.parametrize("exercise", ALL, ids=lambda exercise: exercise.name)
def test_what_is_learned_with_one_seed_fails_with_another(exercise):
    if exercise.is_question:
        assert exercise.name in CONSTANT, "su respuesta es un dato: di por qué no puede variar"
        return
    memory = Memory.of(exercise, 0)
    cases = draw_cases(exercise, 0)
    most = MOST_YES_OR_NO if is_yes_or_no(run_cases(exercise, exercise.reference, cases)) else MOST
    with remembering():  # los errores frecuentes con que se compara son los mismos
        told = {
            (way, student): [first_verdict(exercise, student, seed=seed) for seed in OTHERS]
            for way, student in memory.students().items()
        }
    for (way, student), verdicts in told.items():
        if exercise.name in CONSTANT:
            assert {v.status for v in verdicts} == {"correct"}, "ya no es constante: quítalo"
            continue
        assert all(v.status != "correct" and not v.points for v in verdicts), (way, verdicts)
        share = statistics.fmean(repeated(exercise, student, seed) for seed in OTHERS)
        assert share <= most, (way, f"acierta {share:.0%} de los casos")


def test_the_exceptions_are_exercises():
    assert CONSTANT.keys() <= {exercise.name for exercise in ALL}
