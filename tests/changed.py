"""Las pruebas de lo que cambió: las que corre `make quick`.

Lo que cambió es lo que no está en el último commit o, si está todo, ese commit. De un módulo, son
las pruebas que lo importan; si ninguna lo importa, las de quienes lo importan, y así hacia fuera.
"""

import functools
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import grimp

from course_lib.notebooks.fingerprint import imported_modules

ROOT = Path(__file__).parents[1]
PROSE = [f"tests/book/test_{name}.py" for name in ("spelling", "terms", "labels", "notation")]
ELSEWHERE = {
    "book": [*PROSE, "tests/book/test_glossary.py", "tests/book/test_inputs.py"],
    "benchmarks": ["tests/test_benchmarks.py", "tests/test_experiments.py"],
    "solutions": ["tests/checks/test_solutions.py", "tests/checks/test_statements.py"],
}
ALWAYS = ["tests/test_architecture.py"]
# Lo que otro lanza en un proceso suyo, sin importarlo.
LAUNCHED_BY = {"course_lib.grading.sandbox.worker": {"course_lib.grading.sandbox.grader"}}


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def changed() -> list[Path]:
    """Los archivos que cambiaron y siguen ahí."""
    now = [*git("diff", "--name-only", "HEAD"), *git("ls-files", "-o", "--exclude-standard")]
    names = now or git("diff", "--name-only", "HEAD~1", "HEAD")
    return [Path(name) for name in names if (ROOT / name).exists()]


def affected_by(files: Iterable[Path]) -> list[str]:
    """Las pruebas de unos archivos, en orden y sin repetir."""
    found = {test for file in files for test in _affected(file)}
    return sorted({*found, *ALWAYS}) if found else []


@functools.cache
def _tests() -> dict[str, set[str]]:
    """Por cada archivo de pruebas, los módulos que importa."""
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    return {path: imported_modules([text]) for path, text in texts.items()}


@functools.cache
def _graph() -> grimp.ImportGraph:
    return grimp.build_graph("course_lib", cache_dir=None)


def _affected(file: Path) -> Iterator[str]:
    if file.parts[0] == "tests":
        tests = [file] if file.name.startswith("test_") else file.parent.glob("test_*.py")
        yield from map(str, tests)
    elif file.parts[:3] == ("course_lib", "judging", "exercises"):
        yield from (str(path) for path in _tests() if path.startswith("tests/checks"))
    elif file.parts[0] == "course_lib":
        near, seen = _modules(file), set()
        while near:
            if tests := [path for path, names in _tests().items() if names & near]:
                yield from tests
                return
            seen |= near
            near = {n for m in near for n in _importing(m)} - seen
    else:
        yield from ELSEWHERE.get(file.parts[0], ())
        if file.parts[:2] == ("book", "_ext"):
            found = (ROOT / "tests").rglob(f"test_{file.stem}.py")  # se llaman como él
            yield from (str(path.relative_to(ROOT)) for path in found)


def _modules(file: Path) -> set[str]:
    """El módulo de un archivo; de uno de datos, los de su paquete."""
    if file.suffix == ".py":
        return {".".join(file.with_suffix("").parts).removesuffix(".__init__")}
    package = next(p for p in file.parents if (ROOT / p / "__init__.py").exists())
    return {".".join((package / path.stem).parts) for path in (ROOT / package).glob("*.py")}


def _importing(module: str) -> set[str]:
    known = module in _graph().modules
    launchers = LAUNCHED_BY.get(module, set())
    return launchers | (_graph().find_modules_that_directly_import(module) if known else set())


if __name__ == "__main__":
    print(*affected_by(changed()))
