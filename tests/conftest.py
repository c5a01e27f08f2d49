"""Accesorios comunes a todas las pruebas."""

import gc
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

# Antes que torch, y también para los procesos y núcleos que abren las pruebas: corren varias a la
# vez, y un modelo pequeño con dos hilos que se disputan los procesadores tarda diez veces más.
os.environ["OMP_NUM_THREADS"] = "1"

# isort: split
import hypothesis
import jaxtyping
import jupyter_client.launcher
import pytest
import torch
from safetensors.torch import load_file

from tests.checked_types import unchecked  # Antes que la biblioteca: cambia cómo se importa.

# isort: split
import course_lib
from book._ext import warm
from course_lib.judging import compiled

jupyter_client.launcher.Popen = warm.Popen

# El tiempo nunca decide una prueba; en integración continua los ejemplos son siempre los mismos.
hypothesis.settings.register_profile("course", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") == "true" else "course")

GOLDENS = Path(__file__).parent / "goldens"
# El que no sabe abrir ventanas hace lo mismo con una cuarta parte menos de trabajo.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium"))), None)
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
]


def pytest_addoption(parser):
    parser.addoption("--budget", type=float, help="segundos; lo que no quepa se omite")


def pytest_configure(config):
    config.started = time.monotonic()
    # Lo que se reúne y lo que se importa dura hasta el final: buscar basura ahí, y en cada proceso
    # que se divide de este, es perder el tiempo.
    gc.set_threshold(50_000, 50, 100)


def pytest_collection_finish():
    gc.collect()
    gc.freeze()


# Con varios procesos, lo largo empieza antes, y lo primero el sitio, que otras pruebas esperan.
LONGEST_FIRST = (
    "tests/book/test_pages.py",
    "tests/checks/",
    "tests/grading/",
    "tests/book/",
    "solutions/",
    "exercises/",
    "tests/notebooks/",
    "tests/",
)


def pytest_collection_modifyitems(items):
    def place(item):
        starts = (n for n, start in enumerate(LONGEST_FIRST) if item.nodeid.startswith(start))
        return next(starts, len(LONGEST_FIRST))

    items.sort(key=place)


def pytest_runtest_setup(item):
    """Con `--budget`, lo que no quepa queda para `make test`."""
    budget = item.config.getoption("--budget")
    if budget and time.monotonic() - item.config.started > budget:
        pytest.skip("no cupo en el tiempo: queda para make test")


@pytest.fixture
def as_user():
    """Apaga la comprobación de formas de jaxtyping: así ve los errores quien usa la biblioteca."""
    jaxtyping.config.update("jaxtyping_disable", True)
    with unchecked("course_lib.judging"):
        yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def _same_start():
    """Toda prueba parte de la misma semilla y de un solo hilo (las pruebas corren en paralelo)."""
    torch.manual_seed(0)
    torch.set_num_threads(1)


@pytest.fixture
def golden():
    """Abre un archivo de las salidas de implementaciones de confianza."""

    def load(folder: str, file: str) -> dict[str, torch.Tensor]:
        return load_file(GOLDENS / folder / f"{file}.safetensors")

    return load


def missing_tool(tool: str, remedy: str):
    """Omite la prueba diciendo qué falta; en integración continua, la hace fallar."""
    message = f"falta {tool}: {remedy}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def chromium():
    """Un Chromium sin ventana; donde no lo hay, las pruebas se omiten (en integración, fallan)."""
    if CHROMIUM is None:
        missing_tool("Chromium", "sudo apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)
        yield browser
        browser.close()


@pytest.fixture
def warm_processes(monkeypatch):
    """Los procesos de Python que abra la prueba nacen con torch ya importado."""
    monkeypatch.setattr(subprocess, "Popen", warm.Popen)


@pytest.fixture
def example_project(tmp_path, monkeypatch, warm_processes):
    """Un proyecto mínimo, con un tema de ejemplo (`tests/grading/example`), en otra carpeta."""
    return ExampleProject.create(tmp_path / "project", monkeypatch)


class ExampleProject:
    """Una copia del generador con el tema `example`; ningún tema del curso interviene.

    `regenerate` trabaja en este proceso; `course`, en otro, que importa la copia de `course_lib`.
    """

    FILES = Path(__file__).parent / "grading" / "example"
    COPIED = (
        "__init__.py",
        "_extras.py",
        "_lazy.py",
        "course_settings.py",
        "scales.py",
        "cli",
        "judging",
        "notebooks",
        "grading",
        "grading/sandbox",
    )

    def __init__(self, root: Path) -> None:
        self.root = root
        self.topic = root / "solutions" / "example" / "_topic.md"
        self.source = root / "solutions" / "example" / "double.md"
        self.compiled = root / "course_lib" / "judging" / "exercises" / "example.json"
        self.notebooks = {k: root / k / "example.ipynb" for k in ("solutions", "exercises")}

    @classmethod
    def create(cls, root: Path, monkeypatch) -> "ExampleProject":
        library = Path(course_lib.__file__).parent
        project = cls(root)
        for name in cls.COPIED:
            found = [library / name] if name.endswith(".py") else (library / name).iterdir()
            for path in (p for p in found if p.suffix in (".py", ".toml", ".txt")):
                project.write(f"course_lib/{path.relative_to(library)}", path.read_text())
        project.write("course_lib/primitives/__init__.py", "")
        project.write("course_lib/primitives/doubling.py", 'GREETING = "hola"\n')
        project.write("course_lib/plotting.py", "COLORS = {}\n")
        project.write("requirements.txt", "torch==2.13.0\n")
        for path in cls.FILES.glob("*.md"):
            project.write(f"solutions/example/{path.name}", path.read_text())
        monkeypatch.setattr(compiled, "FOLDER", root / "course_lib" / "judging" / "exercises")
        return project

    def prepare(self) -> None:
        """Prepara los ejercicios, sin ejecutar los cuadernos."""
        from course_lib.notebooks.topic_source import TopicSource

        content = TopicSource.read("example", self.root).compiled.decode()
        self.write(self.compiled.relative_to(self.root).as_posix(), content)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edit(self, old: str, new: str, path: Path | None = None) -> None:
        """Cambia un texto, que debe estar, en la fuente de `double` o en otro archivo."""
        path = path or self.source
        text = path.read_text()
        assert old in text, f"«{old}» no está en {path}"
        path.write_text(text.replace(old, new))

    def regenerate(self, **options):
        from course_lib.notebooks.generation import regenerate

        (result,) = regenerate(["example"], self.root, **options)
        return result

    def course(self, *arguments: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "course_lib.cli", *arguments]
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=180,
        )

    @property
    def environment(self) -> dict[str, str]:
        fixed = {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        return {**os.environ, "COLUMNS": "120", **fixed}

    def contents(self) -> dict[str, bytes | None]:
        files = self.notebooks.items()
        return {kind: path.read_bytes() if path.exists() else None for kind, path in files}
