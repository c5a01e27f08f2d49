"""Lo que solo se sabe de un ejercicio al ejecutarlo: que sus casos, soluciones y errores son.

Se ejecuta en otro proceso, que no deja nada a medias si el código de un ejercicio se cuelga o
termina con él.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from torch import Generator

from course_lib.judging.check import check_exercise
from course_lib.judging.compiled import Answer, make_exercise
from course_lib.judging.exercise import Exercise, Misconception
from course_lib.judging.plain_data import Comparison, plain
from course_lib.judging.running import draw_cases, remembering, run_cases, run_gradients
from course_lib.judging.verdict import Verdict
from course_lib.notebooks.exercise_source import ExerciseSource, Mistake, SourceFault
from course_lib.notebooks.topic_source import FaultsError, TopicSource

SEEDS = (2017, 0, 1)
"""Los sorteos con que se prueba todo al generar; `course try` y las pruebas usan más."""
_SECONDS = 180


@contextlib.contextmanager
def verified(source: TopicSource) -> Iterator[Path]:
    """Da una carpeta con los ejercicios preparados, y entretanto los prueba en otro proceso.

    Errores:
        FaultsError: al terminar, si algo está mal. Se dice antes que lo que diga un cuaderno.
    """
    with tempfile.TemporaryDirectory(prefix="course-") as folder, ThreadPoolExecutor(1) as pool:
        Path(folder, f"{source.topic}.json").write_bytes(source.compiled)
        waiting = pool.submit(_verify_apart, source)
        failure = None
        try:
            yield Path(folder)
        except Exception as error:
            failure = error
        if faults := waiting.result():
            raise FaultsError(faults)
        if failure is not None:
            raise failure


def _verify_apart(source: TopicSource) -> list[SourceFault]:
    command = [sys.executable, "-m", __name__, source.topic, str(source.root)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, env=environment
        )
        return [SourceFault(*each) for each in json.loads(done.stdout.rpartition("\n")[2])]
    except subprocess.TimeoutExpired:
        told = f"probar los ejercicios tardó más de {_SECONDS} segundos: ¿hay un bucle sin fin?"
    except ValueError:
        last = (done.stderr.strip().splitlines() or [f"código {done.returncode}"])[-1]
        told = f"no se pudieron probar los ejercicios: {last}"
    return [SourceFault(f"{source.topic}/_topic.md", 1, told)]


def verify(source: TopicSource, seeds: tuple[int, ...] = SEEDS) -> list[SourceFault]:
    """Da lo que está mal en los ejercicios de un tema."""
    stored = json.loads(source.compiled)["exercises"]
    found: list[SourceFault] = []
    for made, each in zip(source.exercises, stored, strict=True):
        found += _verify_all(made, each, seeds)
    return found


def _verify_all(
    made: ExerciseSource, stored: dict[str, Any], seeds: tuple[int, ...]
) -> list[SourceFault]:
    """Lo que está mal en un ejercicio, o en él con otras constantes."""
    others = zip(made.variants, stored.get("variants", ()), strict=True)
    faults = [f for m, s in [(made, stored), *others] for f in _Exercise(m, s, seeds).verify()]
    if not faults and made.variants:
        line = made.line_of("varia")
        faults = [SourceFault(made.file, line, told) for told in _unnoticed(stored, seeds[0])]
    return faults


def _unnoticed(stored: dict[str, Any], seed: int) -> Iterator[str]:
    """Las variaciones cuya solución vale también para otra: copiarla no se notaría."""

    exercises = [make_exercise(each) for each in (stored, *stored["variants"])]
    for one, other in itertools.permutations(range(len(exercises)), 2):
        verdict = check_exercise(exercises[one], exercises[other].reference, seed=seed)
        if verdict.status == "correct":
            yield (
                f"la solución con los valores del lugar {other + 1} pasa también con los del "
                f"{one + 1}: no se notaría que es la de otra persona."
            )


def verify_one(source: TopicSource, name: str) -> list[SourceFault]:
    """Da lo que está mal en un ejercicio; lo demás se ve al probarlo."""
    pairs = zip(source.exercises, json.loads(source.compiled)["exercises"], strict=True)
    return next(_verify_all(m, s, SEEDS[:1]) for m, s in pairs if m.name == name)


class _Exercise:
    """Un ejercicio, con lo que se leyó de él y lo que `check` usará."""

    def __init__(self, made: ExerciseSource, stored: dict[str, Any], seeds: tuple[int, ...]):
        self.made, self.stored, self.seeds = made, stored, seeds
        self.faults: list[SourceFault] = []

    def fault(self, line: int, text: str) -> None:
        self.faults.append(SourceFault(self.made.file, line, text))

    def verify(self) -> list[SourceFault]:

        line = self.made.solution.line
        for mistake in self.made.mistakes:
            if mistake.raises and not hasattr(builtins, mistake.raises):
                self.fault(mistake.line, f"no hay una excepción llamada «{mistake.raises}».")
        if self.faults:
            return self.faults
        try:
            exercise = make_exercise(self.stored)
        except Exception as error:
            self.fault(line, f"el ejercicio no se puede preparar: {_said(error)}.")
            return self.faults
        with remembering():
            if self._has_cases(exercise) and self._solution_runs(exercise):
                self._runs_as_told(exercise, Answer(self.stored))
        return self.faults

    def _runs_as_told(self, exercise: Exercise, answer: Answer) -> None:
        self._library_agrees(exercise)
        for mistake, known in zip(self.made.mistakes, exercise.misconceptions, strict=True):
            self._mistake(exercise, mistake, known)
        for code, place in self.made.alternatives:
            self._alternative(exercise, answer, code, place)

    def _has_cases(self, exercise: Exercise) -> bool:

        code, line = self.made.cases
        if not code and not exercise.is_question:
            self.fault(1, "falta «## Casos»: un bloque con `def cases(rng)`.")
            return False
        try:
            cases = exercise.cases(Generator().manual_seed(0))
            wrong = [case for case in cases if not isinstance(case, tuple)]
        except Exception as error:
            number = line + max(0, _line_in_library(error, exercise.name) - 1)
            self.fault(number, f"`cases(rng)` se detiene: {_said(error)}.")
            return False
        if not isinstance(cases, list) or wrong or not cases:
            got = type(wrong[0] if wrong else cases).__name__
            told = "una lista vacía" if isinstance(cases, list) and not cases else f"«{got}»"
            self.fault(
                line,
                f"`cases(rng)` da una lista de tuplas, una por caso; llegó {told}."
                " Una tupla de un elemento se escribe `(x,)`.",
            )
            return False
        again = exercise.cases(Generator().manual_seed(0))
        if not Comparison(0.0).same(plain(again), plain(cases)):
            told = "`cases(rng)` da otras entradas con la misma semilla: sortea solo con `rng`."
            self.fault(line, told)
            return False
        return True

    def _solution_runs(self, exercise: Exercise) -> bool:

        line = self.made.solution.line
        for seed in self.seeds:
            try:
                verdict = check_exercise(exercise, exercise.reference, seed=seed)
            except (RuntimeError, ValueError) as error:
                self.fault(
                    line,
                    f"la solución no pasa con sus propios casos: {_own(exercise, seed, error)}.",
                )
                return False
            if verdict.status != "correct":
                said = verdict.message or "queda pendiente"
                self.fault(line, f"la solución no pasa con sus propios casos: {said}.")
                return False
        return True

    def _library_agrees(self, exercise: Exercise) -> None:

        for key in ("biblioteca", "prohibido"):
            line = self.made.line_of(key)
            for name in exercise.answers if key == "prohibido" else exercise.answers[:1]:
                if _find(name) is None:
                    self.fault(line, f"no existe «{name}»: escribe el módulo y el nombre enteros.")
        name = self.made.options.get("biblioteca")
        if name and not self.faults:
            verdict = check_exercise(exercise, _find(name), seed=self.seeds[0])
            if verdict.status != "correct":
                told = f"«{name}» no da lo mismo que la solución: {verdict.message}"
                self.fault(self.made.line_of("biblioteca"), told)

    def _mistake(self, exercise: Exercise, mistake: Mistake, known: Misconception) -> None:

        stopped = False
        for seed in self.seeds:
            try:
                verdict = check_exercise(exercise, known.implementation, seed=seed)
            except Exception as error:
                told = f"este error no llega a definirse: {_said(error)}."
                self.fault(mistake.line, told)
                return
            wrong = _what_is_wrong(exercise, mistake, verdict)
            if wrong:
                self.fault(mistake.line, wrong)
                return
            stopped |= self._stops(exercise, known, seed)
        if mistake.raises and not stopped:
            told = f"dice «se detiene: {mistake.raises}», y no se detiene."
            self.fault(mistake.line, told)

    def _stops(self, exercise: Exercise, known: Misconception, seed: int) -> bool:

        if known.raises is None:
            return False
        cases = draw_cases(exercise, seed)
        outcomes = run_cases(exercise, known.implementation, cases)
        if exercise.gradient and not any(outcome.failure for outcome in outcomes):
            outcomes = run_gradients(exercise, known.implementation, cases)
        return any(o.failure and o.failure.kind == known.raises.__name__ for o in outcomes)

    def _alternative(self, exercise: Exercise, answer: Answer, code: str, line: int) -> None:

        try:
            student = answer.run(self.made.whole(code))
            verdicts = [check_exercise(exercise, student, seed=seed) for seed in self.seeds]
        except Exception as error:
            self.fault(line, f"esta otra manera no llega a definirse: {_said(error)}.")
            return
        if wrong := next((v for v in verdicts if v.status != "correct"), None):
            self.fault(line, f"esta otra manera no pasa: {wrong.message or 'queda pendiente'}.")


def _what_is_wrong(exercise: Exercise, mistake: Mistake, verdict: Verdict) -> str:
    if verdict.status == "correct":
        return "este error está bien: da lo mismo que la solución en todos los casos."
    if verdict.misconceptions == (mistake.name,):
        return ""
    if verdict.property == "runs" and mistake.raises is None:
        kind = (
            verdict.message.partition("se detuvo con ")[2].split(":")[0].split(" ")[0].rstrip(".")
        )
        return (
            f"este error se detiene ({verdict.message}); si es lo que pasa al cometerlo, "
            f"escribe en una línea suya «se detiene: {kind}»."
        )
    if verdict.misconceptions:
        names = " y ".join(f"«{name}»" for name in verdict.misconceptions)
        return f"este error da el mismo resultado que {names}: los casos no los distinguen."
    return f"este error no se reconoce: {verdict.message or 'queda pendiente'}."


def _own(exercise: Exercise, seed: int, error: Exception) -> str:
    """Por qué se detiene la referencia, dicho a quien la escribió."""

    try:
        cases = draw_cases(exercise, seed)
    except ValueError as problem:
        return str(problem).rstrip(".")
    for run in (run_cases, run_gradients):
        for outcome in run(exercise, exercise.reference, cases):
            if outcome.failure is not None:
                return f"se detiene con {outcome.failure.kind}: {outcome.failure.message}"
            if run is run_gradients and outcome.value is None and exercise.gradient:
                return "su gradiente no llega a las entradas"
    return "no da datos simples (tensores, números, textos, listas o diccionarios de ellos)"


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if text.startswith("'tuple'") and text.endswith("callable"):
        text += "; ¿falta una coma entre dos tuplas?"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _line_in_library(error: BaseException, name: str) -> int:
    """La línea, dentro de su bloque, en que se detuvo el código de un ejercicio."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((f.lineno for f in reversed(frames) if f.filename.endswith(f"{name}.py")), 1)


def _find(name: str) -> Any:
    """El objeto de un nombre completo; None si no existe."""
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute, None)
    except (ImportError, ValueError):
        return None


def main() -> None:
    topic, root = sys.argv[1:]
    with contextlib.redirect_stdout(sys.stderr):
        faults = verify(TopicSource.read(topic, Path(root)))
    print("\n" + json.dumps([[f.file, f.line, f.text] for f in faults]), end="")


if __name__ == "__main__":
    main()
