"""Pistas: lo que se promete de cada ejercicio, con cien semillas

Una fila por ejercicio. **Reconocidos**: de cada error frecuente y cada semilla, los que reciben
su propia pista; **sin la suya**, los que reciben otra, ninguna, o pasan. **Referencia**
y **correctas**: cuántas veces pasan la referencia y las soluciones escritas de otra manera (las de
«## Otras maneras»; en float64; con entradas que no son contiguas; desde la GPU, si hay).
**Mutantes**: los que dejan de pasar, de la solución con un cambio.

**Dos errores**: los errores frecuentes que se pueden cometer a la vez, de dos en dos y con diez
semillas. Reciben la pista de **los dos**, la de **uno**, la de los dos **entre otras** (otros dos
dan el mismo resultado), la de otro error **más simple** (él solo da siempre lo mismo), o
**ninguna**: la propiedad que falla y nada más.

**Dos mutantes**: soluciones con dos cambios a la vez, de los que por separado reciben pistas
distintas; las nombradas, de las que hay, sin pasar de 150 por ejercicio. **Falsas** son las pistas
de un error que no se comete: con un mutante, con dos errores, y con 150 parejas más de mutantes
cualesquiera.

Con `python -m benchmarks.hints TEMA…` se miden solo esos temas. Lo que ya se midió y no ha cambiado
desde entonces no se repite.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from course_lib.files import write_atomically
from course_lib.judging.check import find_exercise, topic_exercises
from course_lib.judging.running import remembering
from course_lib.notebooks.fingerprint import EXERCISES, library_fingerprint
from course_lib.notebooks.generation import topics_in
from tests.checks.correct import alternatives, in_general
from tests.checks.judging import (
    diagnose,
    diagnose_pairs,
    failures,
    mutations,
    pair_mutants,
)
from tests.checks.solutions import read_solutions

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "_build" / "hints"
SEEDS = range(100)
PAIR_SEEDS = range(10)


def run(device: str) -> list[dict[str, Any]]:
    """Mide los ejercicios que falten, de todos los temas, y da la tabla."""
    found = measure(topics_in(ROOT), processes=min(2, os.cpu_count() or 1))
    return [row_of(each) for each in found] + [row_of(total(found))]


def measure(topics: list[str], processes: int = 1) -> list[dict[str, Any]]:
    """Da los números de cada ejercicio de unos temas; guarda cada uno en cuanto lo tiene."""
    keys = {topic: fingerprint(topic) for topic in topics}
    names = [exercise.name for topic in topics for exercise in topic_exercises(topic)]
    found = {name: kept(name, keys) for name in names}
    missing = [name for name in names if found[name] is None]
    with _progress() as progress:
        task = progress.add_task("", total=len(names), completed=len(names) - len(missing))
        for name, numbers, faults in _each(missing, processes):
            record = {"key": keys[name.partition(".")[0]], "numbers": numbers, "faults": faults}
            write_atomically(KEPT / f"{name}.json", json.dumps(record).encode())
            found[name] = numbers
            progress.update(task, advance=1, description=name)
            for fault in faults:
                progress.console.print(f"{name}: {fault}", markup=False)
    return list(found.values())


def _progress() -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, TimeRemainingColumn())


def _each(names: list[str], processes: int) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
    if processes == 1:
        yield from map(numbers_of, names)
        return
    with multiprocessing.get_context("spawn").Pool(processes, torch.set_num_threads, (1,)) as pool:
        yield from pool.imap_unordered(numbers_of, names)


def fingerprint(topic: str) -> str:
    """Resume todo aquello de lo que dependen los números de un tema."""
    modules = [f"{EXERCISES}.{topic}", "course_lib.judging.check"]
    files = [*(ROOT / "solutions").glob(f"{topic}/*.md"), ROOT / "solutions" / f"{topic}.ipynb"]
    files = [*sorted(files), Path(__file__), ROOT / "course_lib" / "notebooks" / "mutants.py"]
    files += [ROOT / "tests" / "checks" / f"{name}.py" for name in ("judging", "correct")]
    texts = [library_fingerprint(modules, ROOT), *(file.read_text("utf-8") for file in files)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def kept(name: str, keys: dict[str, str]) -> dict[str, int] | None:
    """Los números ya medidos de un ejercicio, si no ha cambiado nada."""
    path = KEPT / f"{name}.json"
    record = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return record["numbers"] if record.get("key") == keys[name.partition(".")[0]] else None


def numbers_of(name: str) -> tuple[str, dict[str, Any], list[str]]:
    """Juzga todo lo que se promete de un ejercicio: los números, y lo que no se cumple."""
    exercise = find_exercise(name)
    solution = next(s for s in read_solutions() if s.name == name)
    with torch.enable_grad(), remembering():
        diagnoses = diagnose(exercise, SEEDS)
        pairs = diagnose_pairs(exercise, PAIR_SEEDS)
        reference = failures(exercise, exercise.reference, SEEDS)
        students = alternatives(exercise) | in_general(exercise, solution.student())
        failed = {style: failures(exercise, each, SEEDS) for style, each in students.items()}
        made = mutations(exercise, solution)
        mutants, any_mutants = pair_mutants(made, known=True), pair_mutants(made)
    faults = [*diagnoses.passed, *diagnoses.unnamed, *diagnoses.confused, *reference]
    faults += [(style, *each) for style, found in failed.items() for each in found]
    faults += [("vive", each) for mutation in made for each in mutation.alive]
    untrue = [each for mutation in made for each in mutation.false]
    untrue += pairs.false + mutants.false + any_mutants.false
    faults += [("pista falsa", *each) for each in untrue]
    faults += [("sin nombre", *each) for each in mutants.unnamed]
    numbers = {
        "exercise": name,
        "misconceptions": len(exercise.misconceptions),
        "judged": diagnoses.tried,
        "caught": diagnoses.caught,
        "seeds": len(SEEDS),
        "reference": len(SEEDS) - len(reference),
        "correct": len(students) * len(SEEDS),
        "correct_passed": (len(students) * len(SEEDS)) - sum(map(len, failed.values())),
        "mutants": sum(m.tried for m in made),
        "killed": sum(m.tried - len(m.alive) for m in made),
        "pairs": pairs.tried,
        "both": pairs.both,
        "one": pairs.one,
        "among": pairs.among,
        "simpler": len(pairs.simpler),
        "unnamed": len(pairs.unnamed),
        "mutant_pairs": mutants.tried,
        "mutant_pairs_named": mutants.tried - len(mutants.unnamed) - len(mutants.false),
        "false": len(untrue),
    }
    return name, numbers, [" · ".join(map(str, fault)) for fault in faults]


def total(found: list[dict[str, Any]]) -> dict[str, Any]:
    """La suma de todas las filas."""
    sums = {key: sum(each[key] for each in found) for key in found[0] if key != "exercise"}
    return {"exercise": f"**los {len(found)}**"} | sums


def row_of(numbers: dict[str, Any]) -> dict[str, Any]:
    """La fila de un ejercicio: las cuentas de la forma «tantos / de tantos»."""
    n = numbers
    return {
        "ejercicio": n["exercise"],
        "errores": n["misconceptions"],
        "reconocidos": f"{n['caught']} / {n['judged']}",
        "sin la suya": n["judged"] - n["caught"],
        "referencia": f"{n['reference']} / {n['seeds']}",
        "correctas": f"{n['correct_passed']} / {n['correct']}",
        "mutantes": f"{n['killed']} / {n['mutants']}",
        "dos errores": n["pairs"],
        "los dos": n["both"],
        "uno": n["one"],
        "entre otras": n["among"],
        "más simple": n["simpler"],
        "ninguna": n["unnamed"],
        "dos mutantes": f"{n['mutant_pairs_named']} / {n['mutant_pairs']}",
        "falsas": n["false"],
    }


def main() -> None:
    available = topics_in(ROOT)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hints")
    parser.add_argument("topics", nargs="*", metavar="TEMA", help=", ".join(available))
    parser.add_argument("--processes", type=int, default=1, help="por defecto, 1")
    options = parser.parse_args()
    if unknown := set(options.topics) - set(available):
        parser.error(f"no existe {', '.join(sorted(unknown))}; los hay: {', '.join(available)}")
    torch.set_num_threads(1)
    found = measure(options.topics or available, options.processes)
    for each in [*found, total(found)]:
        print(" · ".join(f"{column} {value}" for column, value in row_of(each).items()))


if __name__ == "__main__":
    main()
