"""Ningún capítulo contesta un ejercicio: lo que enseña, tal cual, no tiene todos los puntos.

Son las funciones de sus celdas, también las plegadas, y las que cita de la biblioteca. Se llaman
como el ejercicio llama a la respuesta: por lugar o, si los argumentos se llaman igual, por nombre.
"""

import ast
import contextlib
import functools
import importlib
import inspect
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import sympy  # noqa: F401  torch la importa al exportar; a medias, por un límite, no se rehace

from course_lib.judging.check import find_exercise, first_verdict
from course_lib.judging.running import remembering
from course_lib.notebooks.generation import topics_in
from tests.checks.judging import deadline
from tests.checks.solutions import ROOT, read_topic

FENCE = re.compile(r"^```\{(code-cell|literalinclude)\}([^\n]*)\n(.*?)^```", re.M | re.S)
OBJECT = re.compile(r"^:pyobject: (\w+)$", re.M)
OPTIONS = re.compile(r"\A(?::[^\n]*\n|---\n.*?^---\n)*", re.M | re.S)
ENOUGH = 0.4  # segundos de procesador: ninguna referencia pasa de 0.3
NOT_FOR_STUDENTS = {"authoring", "security", "api"}

pytestmark = pytest.mark.usefixtures("as_user")


@functools.cache
def shown() -> dict[str, Callable]:
    """Las funciones que enseñan los capítulos, por capítulo y nombre."""
    found = {}
    for path in sorted((ROOT / "book").glob("*.md")):
        if path.stem not in NOT_FOR_STUDENTS:
            text = path.read_text("utf-8")
            found |= {f"{path.stem}: {f.__name__}": f for f in shown_in(text, path.parent)}
    return found


def shown_in(text: str, folder: Path) -> Iterator[Callable]:
    """Las de un capítulo: las que cita y las que define."""
    scope: dict = {}
    for kind, given, body in FENCE.findall(text):
        if kind == "code-cell":
            for node in _statements(OPTIONS.sub("", body)):
                _run(node, scope)
                if isinstance(node, ast.FunctionDef) and callable(scope.get(node.name)):
                    yield scope[node.name]
        elif cited := OBJECT.search(body):
            file = (folder / given.strip()).resolve()
            if file.is_relative_to(ROOT / "course_lib"):
                module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
                value = getattr(importlib.import_module(module), cited[1])
                if inspect.isfunction(value):
                    yield value


def _statements(code: str) -> list[ast.stmt]:
    with contextlib.suppress(SyntaxError):  # una celda con órdenes de IPython
        return ast.parse(code).body
    return []


def _run(node: ast.stmt, scope: dict) -> None:
    """Ejecuta lo que importa o define; lo demás, que puede entrenar un modelo, no."""
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)):
        with contextlib.suppress(Exception):
            exec(compile(ast.Module([node], []), "<capítulo>", "exec"), scope)


def ways_of_calling(function: Callable, names: list[str]) -> Iterator[Callable]:
    """Da la función como la llamaría quien la copia: por lugar y por nombre."""
    taken = inspect.signature(function).parameters
    with contextlib.suppress(TypeError):
        inspect.signature(function).bind(*names)
        yield function
    with contextlib.suppress(TypeError):
        inspect.signature(function).bind(**dict.fromkeys(names))
        if list(taken)[: len(names)] != names or _only_by_name(taken):
            yield lambda *given: function(**dict(zip(names, given, strict=True)))


def _only_by_name(taken) -> bool:
    return any(p.kind is p.KEYWORD_ONLY for p in taken.values())


def answers_to(name: str) -> list[str]:
    """Las funciones enseñadas que, tal cual, contestan un ejercicio."""
    # Sin sus errores frecuentes: se pregunta si está bien, y lo que tarda es buscar por qué no.
    # Y antes que todos los casos, el primero: casi ninguna lo acierta, y con entradas que no son
    # las suyas alguna reserva gigas, que el plazo no corta a medias.
    exercise = replace(find_exercise(name), misconceptions=(), partial=())
    first = replace(exercise, cases=lambda rng: exercise.cases(rng)[:1])
    if not inspect.isfunction(exercise.reference):
        return []
    names = list(inspect.signature(exercise.reference).parameters)
    with remembering():
        return [
            place
            for place, function in shown().items()
            for way in ways_of_calling(function, names)
            if _is_right(first, way) and _is_right(exercise, way)
        ]


def _is_right(exercise, student: Callable) -> bool:
    with (
        contextlib.suppress(TimeoutError),
        deadline(ENOUGH),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        return first_verdict(exercise, student, seed=1).status == "correct"
    return False


@pytest.mark.parametrize("topic", topics_in(ROOT))
def test_no_chapter_answers_an_exercise(topic):
    names = read_topic(topic).names
    answered = {name: found for name in names if (found := answers_to(name))}
    assert answered == {}, "cambia la pregunta, o deja un hueco en el capítulo"


def test_what_a_chapter_shows_is_found():
    assert {"tokenization: count_pairs", "attention: additive_scores"} <= set(shown())


def test_an_answer_is_recognised_by_place_and_by_name():
    def by_name(x, *, mask):
        return x, mask

    assert [way(1, 2) for way in ways_of_calling(by_name, ["x", "mask"])] == [(1, 2)]
    assert [way(1, 2) for way in ways_of_calling(lambda a, b: a - b, ["x", "y"])] == [-1]
    assert list(ways_of_calling(lambda a: a, ["x", "y"])) == []
