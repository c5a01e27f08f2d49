"""Probar un ejercicio mientras se escribe: qué veredicto recibe cada cosa, y qué se escapa."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import json
import pkgutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch

from course_lib.judging.check import check_exercise, first_verdict
from course_lib.judging.compiled import Answer, make_exercise
from course_lib.judging.exercise import Exercise
from course_lib.judging.plain_data import Comparison
from course_lib.judging.running import draw_cases, quiet_and_seeded, remembering, run_cases
from course_lib.judging.session import limited
from course_lib.judging.verdict import Verdict
from course_lib.notebooks.exercise_source import ExerciseSource
from course_lib.notebooks.fingerprint import parse_cell
from course_lib.notebooks.mutants import Change, changes_of, describe, mutant
from course_lib.notebooks.topic_source import TopicSource

SEEDS = range(10)
_MUTANT_SEEDS = range(5)
_MOST_PAIRS = 40
_SECONDS = 5.0
_TORCH = ("torch", "torch.nn.functional", "torch.linalg", "torch.special")
_PACKAGES = ("primitives", "layers", "models", "decoding", "tokenization", "training", "data")


@dataclass
class Row:
    """Una línea de la tabla: de qué trata, qué pasó y si está bien."""

    kind: str
    name: str
    told: str
    is_good: bool = True


@dataclass
class Trial:
    """Lo que se ve de un ejercicio al probarlo."""

    exercise: Exercise
    made: ExerciseSource
    answer: Answer
    rows: list[Row] = field(default_factory=list)

    def add(self, kind: str, name: str, told: str, is_good: bool = True) -> None:
        self.rows.append(Row(kind, name, told, is_good))

    def run(self) -> list[Row]:
        """Prueba todo, de lo que más importa a lo que menos."""
        with remembering(), _elsewhere():
            self._mistakes()
            self._pairs()
            self._alternatives()
            self._mutants()
            self._shortcuts()
            self._constant()
        return self.rows

    def _mistakes(self) -> None:
        for known in self.exercise.misconceptions:
            verdicts = [check_exercise(self.exercise, known.implementation, seed=s) for s in SEEDS]
            told = Counter(_told(verdict, known.name) for verdict in verdicts)
            is_good = set(told) == {"su pista"}
            self.add("error", known.name, _counted(told), is_good)

    def _pairs(self) -> None:
        pairs = self.exercise.pairs
        told: Counter[str] = Counter()
        for a, b, both in pairs[:_MOST_PAIRS]:
            verdict = check_exercise(self.exercise, both, seed=SEEDS[0])
            named, own = set(verdict.misconceptions), {a.name, b.name}
            if verdict.status == "correct":
                told["uno deshace el otro"] += 1
            elif named == own:
                told["los dos"] += 1
            elif not named:
                told["ninguna pista"] += 1
            elif named < own:
                told["la de uno"] += 1
            else:
                names = " y ".join(sorted(named))
                self.add("pareja", f"{a.name} + {b.name}", f"otra pista: {names}", False)
        if pairs:
            self.add("parejas", f"{min(len(pairs), _MOST_PAIRS)} de {len(pairs)}", _counted(told))

    def _alternatives(self) -> None:
        for code, line in self.made.alternatives:
            student = self.answer.run(self.made.whole(code))
            verdicts = [check_exercise(self.exercise, student, seed=seed) for seed in SEEDS]
            wrong = next((v for v in verdicts if v.status != "correct"), None)
            told = "pasa" if wrong is None else wrong.message
            self.add("otra manera", f"línea {line}", told, wrong is None)
        if len(self.made.alternatives) < 2 and not self.exercise.is_question:
            self.add("otra manera", "faltan", "escríbelo de otras dos maneras", False)

    def _mutants(self) -> None:
        cell = self.made.solution
        changes = changes_of(cell.text)
        alive = [change for change in changes if _holds(partial(self._survives, change))]
        self.add("mutantes", str(len(changes)), f"{len(changes) - len(alive)} se notan", not alive)
        for change in alive:
            line = cell.line + _line_of(cell.text, change) - 1
            self.add("mutante vivo", f"línea {line}", describe(cell.text, change), False)

    def _survives(self, change: Change) -> bool:
        """Si la solución con ese cambio pasa todas las comprobaciones."""
        scope = dict(self.answer.given)
        exec(compile(mutant(self.made.solution.text, change), "<mutante>", "exec"), scope)
        student = scope[self.made.answer]
        return all(_passes(self.exercise, student, seed) for seed in _MUTANT_SEEDS)

    def _shortcuts(self) -> None:
        """Lo que ya está hecho y, sin más, pasa."""
        if self.exercise.is_question:
            return
        names: dict[int, list[str]] = {}
        functions = {}
        for name, function in _ready_made(has_tensors=self._has_tensors()):
            names.setdefault(id(function), []).append(name)
            functions[id(function)] = function
        for key, function in functions.items():
            if _holds(partial(_passes, self.exercise, function, 0)):
                declared = [name for name in names[key] if name in self.exercise.answers]
                told = "pasa; al calificar no está" if declared else "pasa tal cual: ¿`prohibido`?"
                self.add("atajo", (declared or names[key])[0], told, bool(declared))

    def _has_tensors(self) -> bool:
        """Si alguna entrada es un tensor: con solo números, torch haría uno de ese tamaño."""
        return any(
            isinstance(given, torch.Tensor)
            for case in draw_cases(self.exercise, 0)
            for value in case
            for given in (value if isinstance(value, (list, tuple)) else [value])
        )

    def _constant(self) -> None:
        """Si lo que se contestó con una semilla vale con otra, se puede copiar."""
        first, other = (
            [o.value for o in run_cases(self.exercise, self.exercise.reference, cases)]
            for cases in (draw_cases(self.exercise, seed) for seed in (0, 1))
        )
        same = [
            Comparison(self.exercise.tolerance).same(a, b)
            for a, b in zip(first, other, strict=False)
        ]
        if self.exercise.is_question:
            self.add("respuesta", "constante", "es un dato, el mismo con toda semilla")
        elif all(same) and len(first) == len(other):
            self.add(
                "respuesta", "constante", "es la misma con otra semilla: varía los casos", False
            )
        else:
            self.add("respuesta", "varía", f"cambia en {same.count(False)} de {len(same)} casos")


def read_trial(topic: str, name: str, root: Path) -> Trial:
    """Lee un ejercicio para probarlo.

    Errores:
        FaultsError: algo está mal en la fuente de su tema.
    """
    source = TopicSource.read(topic, root)
    stored = json.loads(source.compiled)["exercises"]
    pairs = zip(source.exercises, stored, strict=True)
    made, each = next((m, s) for m, s in pairs if m.name == name)
    return Trial(make_exercise(each), made, Answer(each))


def _passes(exercise: Exercise, student: Any, seed: int) -> bool:
    """Si una respuesta es correcta; la que no, casi siempre se ve en el primer caso."""
    first = draw_cases(exercise, seed)[:1]
    (got,), (right,) = (run_cases(exercise, x, first) for x in (student, exercise.reference))
    compare = Comparison(exercise.tolerance, lenient_text=exercise.is_question)
    if got.failure is not None or any(compare.faults(got.value, right.value)):
        return False
    return first_verdict(exercise, student, seed=seed).status == "correct"


def _told(verdict: Verdict, name: str) -> str:
    if verdict.status == "correct":
        return "¡pasa!"
    if verdict.misconceptions == (name,):
        return "su pista"
    if verdict.misconceptions:
        return f"la pista de {' y '.join(verdict.misconceptions)}"
    return f"sin pista: {verdict.message}"


def _counted(told: Counter) -> str:
    return ", ".join(f"{text} ({times})" for text, times in told.most_common())


def _ready_made(*, has_tensors: bool) -> Iterator[tuple[str, Any]]:
    """Las funciones de la biblioteca y, si hay tensores, las cuentas de torch.

    De torch, solo lo que calcula: ni lo que guarda archivos ni lo que cambia cómo calcula lo demás.
    """
    for package in _PACKAGES:
        module = importlib.import_module(f"course_lib.{package}")
        for found in pkgutil.walk_packages(module.__path__, f"{module.__name__}."):
            for name, value in list(vars(importlib.import_module(found.name)).items()):
                own = getattr(value, "__module__", None) == found.name
                if name[0] != "_" and own and inspect.isroutine(value):
                    yield f"{found.name}.{name}", value
    for package in _TORCH if has_tensors else ():
        for name, value in list(vars(importlib.import_module(package)).items()):
            if name[0] != "_" and _calculates(name, value):
                yield f"{package}.{name}", value


def _calculates(name: str, value: Any) -> bool:
    if inspect.isbuiltin(value):
        return name != "from_file" and (
            hasattr(torch._C._VariableFunctions, name)
            or value.__name__.startswith(("linalg_", "special_"))
            or hasattr(torch._C._nn, name)
        )
    homes = ("torch.functional", "torch.nn.functional", "torch._jit_internal")
    return inspect.isfunction(value) and value.__module__ in homes


def _line_of(code: str, change: Change) -> int:
    """La línea de una celda en que está un cambio."""
    node, line = parse_cell(code), 1
    for field_, index in change.path:
        node = getattr(node, field_) if index is None else getattr(node, field_)[index]
        line = node.lineno if isinstance(node, (ast.stmt, ast.expr)) else line
    return line


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """Entretanto se trabaja en una carpeta que luego se borra, con lo que se haya escrito en ella.

    Lo que se prueba recibe las entradas de los casos, y un texto puede servir de nombre de archivo.
    """
    with tempfile.TemporaryDirectory(prefix="course-") as folder, contextlib.chdir(folder):
        yield


def _holds(prove: Callable[[], bool]) -> bool:
    """Si algo se cumple; lo que se detiene o no termina, no. Calla lo que se imprima."""
    with contextlib.suppress(Exception), quiet_and_seeded():
        return limited(_SECONDS, prove)
    return False
