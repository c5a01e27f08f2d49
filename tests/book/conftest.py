"""El sitio construido, una vez por sesión, y servido en esta máquina."""

import os
import shutil
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import filelock
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
# Ejecutar todos los capítulos, en una máquina lenta y con otras pruebas al lado.
MOST_SECONDS = 2700


def pages_of_toc() -> list[str]:
    """Las páginas que promete _toc.yml, en orden."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    pages = [page for chapter in chapters for page in (chapter, *chapter.get("sections", ()))]
    return [toc["root"], *(page["file"] for page in pages)]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "page_name" in metafunc.fixturenames:
        # Con este alcance, las pruebas de una misma página van seguidas.
        metafunc.parametrize("page_name", pages_of_toc(), scope="module")


def build(folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Construye un libro con el mismo comando que `make site`."""
    main = "from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", main, "build", ".", "-W", "-n", "--keep-going"]
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1", "PYTHONPATH": str(folder), **environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        said = (error.stdout or b"").decode("utf-8", "replace")
        return subprocess.CompletedProcess(command, 124, said, f"no terminó en {MOST_SECONDS} s")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """La carpeta del sitio; con varios procesos de prueba, uno construye y los demás esperan."""
    html = ROOT / "_build" / "html"
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    marker = ROOT / "_build" / ".tested"
    marker.parent.mkdir(exist_ok=True)
    with filelock.FileLock(marker.with_suffix(".lock")):
        known, _, failure = marker.read_text().partition("\n") if marker.is_file() else ("", "", "")
        if known != run:
            result = build(ROOT, COURSE_SOLUTIONS="1")
            text = f"{result.stdout[-3000:]}\n{result.stderr[-6000:]}"
            failure = text if result.returncode else ""
            marker.write_text(f"{run}\n{failure}")  # si falla, ningún otro proceso lo repite
    if failure:
        pytest.fail(f"el sitio no se construye:\n{failure}", pytrace=False)
    return html


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args) -> None:
        pass


@pytest.fixture(scope="session")
def address(site: Path):
    """El sitio servido en esta máquina."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def tiny_book(tmp_path: Path, warm_processes):
    """Un libro de prueba con nuestra configuración y extensión, y una copia de la biblioteca."""
    return TinyBook(copy_site(tmp_path))


def copy_site(folder: Path) -> Path:
    shutil.copy(ROOT / "_config.yml", folder)
    for name in ("requirements.txt", "requirements-student.txt"):
        shutil.copy(ROOT / name, folder)
    for part in ("book/_ext", "book/_static", "book/_templates", "course_lib"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    shutil.copy(ROOT / "book" / "references.bib", folder / "book")
    return folder


HEADER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""


class TinyBook:
    """Escribe páginas, las pone en el índice y construye."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts: dict[str, list[str]] = {}
        self.write("book/index", "# Portada\n\nUn libro de prueba.\n", part=None)

    def write(self, name: str, text: str, *, part: str | None = "Parte", notebook=False) -> Path:
        path = self.folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((HEADER if notebook else "") + text, encoding="utf-8")
        if part and name not in self.parts.setdefault(part, []):
            self.parts[part].append(name)
        return path

    def configure(self, old: str, new: str) -> None:
        path = self.folder / "_config.yml"
        text = path.read_text(encoding="utf-8")
        assert old in text, f"_config.yml ya no contiene «{old}»"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def build(self, **environment: str) -> subprocess.CompletedProcess:
        parts = [
            {"caption": caption, "chapters": [{"file": name} for name in names]}
            for caption, names in self.parts.items()
        ]
        toc = {"format": "jb-book", "root": "book/index", **({"parts": parts} if parts else {})}
        (self.folder / "_toc.yml").write_text(yaml.safe_dump(toc), encoding="utf-8")
        return build(self.folder, **environment)

    def html(self, name: str) -> str:
        path = self.folder / "_build" / "html" / f"{name}.html"
        return path.read_text(encoding="utf-8")


def laboratory_script(name: str) -> str:
    """Lo que carga una página con ese laboratorio."""
    folder = ROOT / "book" / "_static" / "labs"
    return "".join((folder / f"{each}.js").read_text("utf-8") for each in ("laboratory", name))
