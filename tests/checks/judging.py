"""Lo que se promete de un ejercicio, medido: cada juicio con tantas semillas como se pidan.

Lo usan las pruebas, con pocas semillas, y `python -m benchmarks hints`, con cien.
"""

import ast
import contextlib
import io
import itertools
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

# Si una alarma cortara su importación, quedaría a medias y no serviría a ninguna otra prueba.
import torch._dynamo  # noqa: F401

from course_lib.judging.check import check_exercise
from course_lib.judging.exercise import Exercise
from course_lib.judging.verdict import Verdict
from course_lib.notebooks.mutants import Change, changes_of, describe, mutant
from tests.checks.solutions import Solution

SECONDS = 2.0
"""Los segundos de procesador de un juicio; los que terminan tardan décimas."""
MUTANT_SEEDS = range(5)
WITNESS_SEEDS = range(1, 11)
MOST_PAIRS = 150


# La referencia, las alternativas y los errores frecuentes


def failures(exercise: Exercise, student, seeds: Iterable[int]) -> list[tuple[int, Verdict]]:
    """Las semillas con que una respuesta que es correcta no pasa."""
    verdicts = ((seed, check_exercise(exercise, student, seed=seed)) for seed in seeds)
    return [(seed, verdict) for seed, verdict in verdicts if verdict.status != "correct"]


@dataclass
class Diagnoses:
    """Cómo salen los errores frecuentes de un ejercicio, semilla por semilla."""

    tried: int = 0
    caught: int = 0
    passed: list[tuple] = field(default_factory=list)
    unnamed: list[tuple] = field(default_factory=list)
    confused: list[tuple] = field(default_factory=list)


def diagnose(exercise: Exercise, seeds: Iterable[int]) -> Diagnoses:
    """Comprueba cada error frecuente: se reconoce, pasa, queda sin nombre o toma otra pista."""
    found = Diagnoses()
    for seed in seeds:
        for misconception in exercise.misconceptions:
            verdict = check_exercise(exercise, misconception.implementation, seed=seed)
            found.tried += 1
            record = (misconception.name, seed, verdict)
            if verdict.misconceptions == (misconception.name,):
                assert misconception.hint in verdict.message, record
                found.caught += 1
            elif verdict.status == "correct":
                found.passed.append(record)
            else:
                (found.confused if verdict.misconceptions else found.unnamed).append(record)
    return found


# Dos errores a la vez


@dataclass
class Pairs:
    """Qué pista reciben unas parejas de errores, cada una con los nombres de los suyos.

    `both`: la de los dos; `one`: la de uno; `among`: la de los dos, junto a la de otros que dan el
    mismo resultado; `simpler`: la de otro error que él solo da siempre lo mismo, y se prefiere;
    `undone`: ninguna, porque uno deshace el otro y la respuesta está bien; `unnamed`: ninguna, solo
    la propiedad que falla; `false`: la de otro error, sin serlo.
    """

    exercise: Exercise
    both: int = 0
    one: int = 0
    among: int = 0
    simpler: list[tuple] = field(default_factory=list)
    undone: list[tuple] = field(default_factory=list)
    unnamed: list[tuple] = field(default_factory=list)
    false: list[tuple] = field(default_factory=list)

    @property
    def tried(self) -> int:
        """Las que se juzgaron y tienen algún error."""
        named = self.both + self.one + self.among
        return named + sum(map(len, (self.simpler, self.unnamed, self.false)))

    def classify(self, student, own: set[str], verdict: Verdict, *record) -> None:
        named = set(verdict.misconceptions)
        hints = [m.hint for m in self.exercise.misconceptions if m.name in own]
        record += (verdict,)
        if verdict.status == "correct":
            self.undone.append(record)
        elif named == own:
            self.both += 1
        elif hints and all(hint in verdict.message for hint in hints):
            self.among += 1
        elif not named:
            self.unnamed.append(record)
        elif named < own:
            self.one += 1
        else:
            alike = keeps_its_hint(self.exercise, student, verdict)
            (self.simpler if alike else self.false).append(record)


def diagnose_pairs(exercise: Exercise, seeds: Iterable[int], most: int | None = None) -> Pairs:
    """Comete los errores frecuentes de dos en dos: todas las parejas, o unas al azar."""
    found = Pairs(exercise)
    for seed in seeds:
        for a, b, both in some(list(exercise.pairs), most or len(exercise.pairs)):
            verdict = check_exercise(exercise, both, seed=seed)
            found.classify(both, {a.name, b.name}, verdict, a.name, b.name, seed)
    return found


# Los mutantes de la solución


class TooLongError(BaseException):
    """Se acabó el tiempo. No es una `Exception`: al juzgar, esas son errores del estudiante."""


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Corta un mutante que no termina, donde el sistema tiene alarmas.

    Cuenta el procesador, que no depende de lo ocupada que esté la máquina.
    """
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def stop(signum, frame):
        raise TooLongError

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except TooLongError:
        raise TimeoutError("el mutante no termina") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def first_fault(exercise: Exercise, student, seeds: Iterable[int]) -> Verdict:
    """El primer veredicto que no es correcto; si no hay, el último."""
    for seed in seeds:
        verdict = _judge(exercise, student, seed)
        if verdict.status != "correct":
            break
    return verdict


def _judge(exercise: Exercise, student, seed: int) -> Verdict:
    """Un juicio, si termina."""
    with deadline(SECONDS):
        return check_exercise(exercise, student, seed=seed)


def keeps_its_hint(exercise: Exercise, student, verdict: Verdict) -> bool:
    """Si con otras semillas recibe la misma pista: hace lo que ella dice, y no por casualidad."""
    return all(
        _judge(exercise, student, seed).misconceptions == verdict.misconceptions
        for seed in WITNESS_SEEDS
    )


@dataclass(frozen=True)
class Mistake:
    """Un mutante que se nota: su cambio y los errores que reconoce su pista, si la recibe."""

    change: Change
    hints: tuple[str, ...]


@dataclass
class Mutation:
    """Los mutantes de una celda: los probados, los que viven y sus pistas.

    `false`: los que reciben la pista de un error que no cometen.
    """

    exercise: Exercise
    solution: Solution
    index: int
    tried: int = 0
    alive: list[str] = field(default_factory=list)
    mistakes: list[Mistake] = field(default_factory=list)
    false: list[tuple] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.code = self.solution.cells[self.index]
        self.before = self.solution.namespace_before(self.index)
        wrong = (m for m in self.exercise.misconceptions if callable(m.implementation))
        self.known = {ast.dump(ast.parse(m.code)) for m in wrong}

    def student(self, *changes: Change):
        with deadline(SECONDS):
            return self.solution.student(self.index, mutant(self.code, *changes), self.before)

    def is_known(self, change: Change) -> bool:
        """Si el mutante es, letra por letra, un error frecuente: que tome su pista ya se prueba."""
        return ast.dump(mutant(self.code, change)) in self.known

    def try_each(self) -> None:
        """Prueba cada mutante; se mata si deja de pasar con alguna semilla."""
        for change in changes_of(self.code):
            self.tried += 1
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    student = self.student(change)
                    verdict = first_fault(self.exercise, student, MUTANT_SEEDS)
                    is_steady = (
                        not verdict.misconceptions
                        or self.is_known(change)
                        or keeps_its_hint(self.exercise, student, verdict)
                    )
            except Exception:  # el mutante no llega a definirse: también se nota
                continue
            if verdict.status == "correct":
                self.alive.append(describe(self.code, change))
            elif "TimeoutError" not in verdict.message:  # el que no termina no hace pareja
                self.mistakes.append(Mistake(change, verdict.misconceptions))
                if not is_steady:
                    self.false.append((verdict.misconceptions, describe(self.code, change)))


def mutations(exercise: Exercise, solution: Solution) -> list[Mutation]:
    """Prueba los mutantes de cada celda con la solución de un ejercicio."""
    found = [Mutation(exercise, solution, index) for index in solution.marked]
    for mutation in found:
        mutation.try_each()
    return found


# Los mutantes, de dos en dos


def some(pairs: list, most: int) -> list:
    """Da todas, o unas al azar, siempre las mismas."""
    return pairs if len(pairs) <= most else Random(0).sample(pairs, most)


def pairs_of(changes: list[Change]) -> list[tuple[Change, Change]]:
    """Da las parejas de cambios que no se tocan: ninguno está dentro de lo que cambia el otro."""

    def apart(one: Change, other: Change) -> bool:
        shared = min(len(one.path), len(other.path))
        return one.path[:shared] != other.path[:shared]

    return [pair for pair in itertools.combinations(changes, 2) if apart(*pair)]


def pair_mutants(tried: list[Mutation], most: int = MOST_PAIRS, *, known: bool = False) -> Pairs:
    """Juzga parejas de cambios de cada celda con la solución de un ejercicio.

    Argumentos:
        tried: los mutantes de cada celda.
        most: cuántas parejas, a lo más, de cada una.
        known: solo las de dos cambios que, cada uno por su lado, reciben pistas distintas.
    """
    found = Pairs(tried[0].exercise)
    for mutation in tried:
        own = {id(mistake.change): set(mistake.hints) for mistake in mutation.mistakes}
        pairs = pairs_of([mistake.change for mistake in mutation.mistakes])
        if known:
            each = ((pair, *(own[id(change)] for change in pair)) for pair in pairs)
            pairs = [pair for pair, a, b in each if a and b and not a & b]
        for pair in some(pairs, most):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    student = mutation.student(*pair)
                    verdict = first_fault(mutation.exercise, student, MUTANT_SEEDS)
                    names = set().union(*(own[id(change)] for change in pair))
                    told = [describe(mutation.code, change) for change in pair]
                    found.classify(student, names, verdict, *told)
            except Exception:  # no llega a definirse: no hay nada que calificar
                continue
    return found
