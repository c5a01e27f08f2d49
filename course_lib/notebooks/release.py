"""Lo que se entrega a quien estudia: la biblioteca en un archivo, y la carpeta con sus cuadernos.

La carpeta se basta: los cuadernos, la biblioteca, las versiones y `start.py`, que lo prepara todo.
La del sitio es `curso.zip`; la de un aula sin red lleva además lo que se instala, en `wheelhouse/`,
y, si se pide, el libro, en `libro/`. Ninguna lleva los cuadernos de soluciones;
la biblioteca las lleva igual, para poder comprobar, menos las de los temas de un examen.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib import __version__
from course_lib._extras import extra
from course_lib.course_settings import AS_IT_COMES, SITE_MARK, CourseSettings
from course_lib.judging.owner import owned_by
from course_lib.notebooks.fingerprint import code_cells, is_check, parse_cell
from course_lib.notebooks.source import build
from course_lib.notebooks.variation import personal

with extra("author"):
    import nbformat
    import setuptools  # noqa: F401  Lo usa otro proceso, que no sabría decir qué falta.

WHEEL = f"course_lib-{__version__}-py3-none-any.whl"
BOOK = "libro"
WHEELHOUSE = "wheelhouse"
COMMON, PERSONAL = "comun", "personales"
COLAB_LACKS = ("jaxtyping", "wadler-lindig")
"""Lo que la biblioteca importa y Colab no trae; todo lo demás se deja como está."""

_PROJECT = ("pyproject.toml", "README.md", "LICENSE")
_BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
_EPOCH = "315619200"
"""La fecha de lo que va dentro, para que la misma biblioteca dé el mismo archivo."""
_GITHUB = re.compile(r"https://github\.com/([^/]+)/([^/]+?)(?:\.git)?/?")
_CHAPTER = re.compile(r"\[([^\]]+)\]\(\.\./book/(\w+)\.md(#[\w-]+)?\)")

_GRADED_LATER = "*Se califica al entregar.*"
_EXAM = "**Esto es un examen.** Aquí no se comprueba nada: cada respuesta se califica al entregar."
_YOURS = "este examen es tuyo: se califica con lo que se te pide a ti"
_EXAM_WITH_BOOK = (
    "--exam no admite --book: el sitio lleva la biblioteca entera, con las soluciones y los casos "
    "del examen. Quita una de las dos opciones."
)
_README = Path(__file__).parent / "texts" / "LEEME.md"
_HERE = "`exercises/` son los cuadernos"
_APART = "Tus cuadernos son personales y te llegan aparte: ponlos en\n`exercises/`"


class ReleaseError(Exception):
    """La carpeta no se puede escribir; el mensaje dice por qué."""


def site_address(repository: str, base: str = "") -> str:
    """Dónde está publicado el sitio, acabado en «/»; vacío si no se sabe.

    Argumentos:
        repository: la dirección de su repositorio en GitHub.
        base: la del sitio, si no es la que GitHub le da.
    """
    found = _GITHUB.fullmatch(repository or "")
    address = base or (f"https://{found[1].lower()}.github.io/{found[2]}" if found else "")
    return f"{address.rstrip('/')}/" if address else ""


def configured_address(root: Path) -> str:
    """La dirección que dice `_config.yml`."""
    with extra("author"):
        import yaml
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    base = (config.get("html") or {}).get("baseurl") or ""
    return site_address((config.get("repository") or {}).get("url") or "", base)


def build_wheel(
    root: Path,
    folder: Path,
    *,
    site: str = "",
    without: Iterable[str] = (),
    own: Iterable[Path] = (),
) -> Path:
    """Empaqueta la biblioteca, sin red y sin dejar nada en su carpeta.

    Argumentos:
        root: la carpeta del proyecto.
        folder: dónde se deja.
        site: la dirección del sitio, a la que enlazan los veredictos.
        without: los temas que no sabe comprobar: ni su solución, ni sus casos, ni sus errores.
        own: los ejercicios preparados de los temas propios que además sabe comprobar.
    """
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(temporary, "source")
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / "course_lib", copy / "course_lib", ignore=ignored)
        exercises = copy / "course_lib" / "judging" / "exercises"
        for topic in without:
            (exercises / f"{topic}.json").unlink(missing_ok=True)  # los propios no están
        for path in own:
            shutil.copy(path, exercises)
        _pack_sheets(root, copy, {path.stem for path in exercises.glob("*.json")})
        for name in _PROJECT:
            shutil.copy(root / name, copy)
        if site:
            with (copy / "pyproject.toml").open("a", encoding="utf-8") as file:
                file.write(f'\n[project.urls]\nlibro = "{site}"\n')
        _run([sys.executable, "-c", _BUILD, temporary], copy, SOURCE_DATE_EPOCH=_EPOCH)
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copy(Path(temporary, WHEEL), folder))


def _pack_sheets(root: Path, copy: Path, topics: Iterable[str]) -> None:
    """Deja en la biblioteca las celdas que da cada cuaderno: `check` deja las que no cuentan."""
    folder = copy / "course_lib" / "grading" / "sheets"
    folder.mkdir()
    for topic in topics:
        path = root / "exercises" / f"{topic}.ipynb"
        if path.is_file():
            found = code_cells(nbformat.read(path, as_version=4))
            cells = [{"cell_type": "code", "source": cell.source} for cell in found]
            sheet = json.dumps({"cells": cells}, ensure_ascii=False)
            (folder / f"{topic}.json").write_text(sheet, encoding="utf-8")


def colab_install(root: Path, site: str) -> str:
    """La orden que instala en Colab la biblioteca de este sitio, sin cambiar nada de lo suyo."""
    pinned = (root / "requirements-student.txt").read_text(encoding="utf-8").splitlines()
    lacks = [line for line in pinned if line.partition("==")[0] in COLAB_LACKS]
    return " ".join(["%pip install -q --no-deps", f"{site}notebooks/{WHEEL}", *lacks])


def _run(command: list[str], folder: Path, **environment: str) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        told = "\n".join(done.stderr.strip().splitlines()[-5:])
        raise ReleaseError(f"No se pudo preparar lo que se instala:\n{told}")


def with_links(content: str, address: Callable[[str], str]) -> str:
    """El cuaderno con los enlaces a los capítulos cambiados.

    Argumentos:
        content: el cuaderno.
        address: la dirección de una página del libro; si es vacía, queda el texto.
    """
    notebook = nbformat.reads(content, as_version=4)

    def link(found: re.Match[str]) -> str:
        place = address(found[2])
        return f"[{found[1]}]({place}{found[3] or ''})" if place else found[1]

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _CHAPTER.sub(link, cell.source)
    return nbformat.writes(notebook) + "\n"


def without_checks(content: str, owner: str = "") -> str:
    """El cuaderno de un examen: donde se comprobaba una respuesta, se dice cuándo se califica.

    Argumentos:
        content: el cuaderno.
        owner: de quién es, si es personal, que queda dicho en una celda.
    """
    notebook = nbformat.reads(content, as_version=4)
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "code" and _asks_the_judge(cell.source):
            cell = nbformat.v4.new_markdown_cell(_GRADED_LATER, id=cell.id)
        cells.append(cell)
    first = [cells[0], nbformat.v4.new_markdown_cell(_EXAM, id="examen")]
    if owner:
        told = f"owner = {json.dumps(owner, ensure_ascii=False)}  # {_YOURS}"
        first.append(nbformat.v4.new_code_cell(told, id="owner"))
    notebook.cells = [*first, *cells[1:]]
    return nbformat.writes(notebook) + "\n"


def _asks_the_judge(source: str) -> bool:
    """Si una celda comprueba una respuesta, o resume lo que va hecho."""
    tree = parse_cell(source)
    nodes = [] if tree is None else list(ast.walk(tree))
    return any(is_check(node) or getattr(node, "id", "") == "resumen" for node in nodes)


def write_folder(
    folder: Path, notebooks: Mapping[str, str], root: Path, wheel: Path, *, name: str
) -> None:
    """Escribe la carpeta con que se empieza.

    Argumentos:
        folder: la carpeta, que no existe todavía.
        notebooks: cada cuaderno, por su nombre.
        root: la carpeta del proyecto.
        wheel: la biblioteca.
        name: cómo se llama el curso.
    """
    (folder / "exercises").mkdir(parents=True)
    for topic, content in notebooks.items():
        (folder / "exercises" / f"{topic}.ipynb").write_text(content, encoding="utf-8")
    shutil.copy(root / "start.py", folder)
    if wheel.parent != folder:
        shutil.copy(wheel, folder)
    pinned = (root / "requirements-student.txt").read_text(encoding="utf-8")
    listed = re.sub(r"^-e \.$", f"./{wheel.name}", pinned, flags=re.MULTILINE)
    (folder / "requirements.txt").write_text(listed, encoding="utf-8")
    _write_readme(folder, name)


def _write_readme(folder: Path, name: str) -> None:
    how = " con lo que hay en `wheelhouse/`, sin red" if (folder / WHEELHOUSE).is_dir() else ""
    book = f", y `{BOOK}/index.html`, el libro" if (folder / BOOK).is_dir() else ""
    ready = any((folder / "exercises").glob("*.ipynb"))
    where = _HERE if ready else _APART
    filled = {"como": how, "libro": book, "donde": where, "nombre": name}
    text = _README.read_text(encoding="utf-8").format(**filled)
    (folder / "LEEME.md").write_text(text, encoding="utf-8")


def _require_book(book: Path, course: CourseSettings, *, exam: bool) -> None:
    """Exige un sitio sin soluciones, del curso como está ahora, y que no vaya en un examen."""
    if exam:
        raise ReleaseError(_EXAM_WITH_BOOK)
    how = "hazlo con `make site SOLUTIONS=0`"
    if not (book / "book").is_dir():
        raise ReleaseError(f"{book} no es el libro construido; {how}.")
    if (book / "solutions").exists():
        raise ReleaseError(f"{book} lleva las soluciones; {how}.")
    mark = book / SITE_MARK
    if not mark.is_file() or mark.read_text(encoding="utf-8").strip() != course.site_mark:
        raise ReleaseError(
            f"{book} se construyó con otro course.toml, o antes de cambiarlo: sus páginas no son "
            f"las de «{course.name}» como está ahora; {how}."
        )


@dataclass(frozen=True)
class _Notebooks:
    """Los cuadernos que se reparten, con los enlaces de donde van y lo que le toca a cada quien.

    Argumentos:
        homes: por cada tema, la carpeta en que están su fuente y sus cuadernos.
        address: la dirección de una página del libro.
        exam: sin nada que los compruebe.
    """

    homes: Mapping[str, Path]
    address: Callable[[str], str]
    exam: bool
    _varied: dict[tuple, list[Any]] = field(default_factory=dict)

    def of(self, owner: str) -> dict[str, str]:
        """Da el cuaderno de cada tema; los de nadie en particular, si no se dice de quién."""
        return {topic: self._of(topic, owner) for topic in self.homes}

    def _of(self, topic: str, owner: str) -> str:
        text = (self.homes[topic] / "exercises" / f"{topic}.ipynb").read_text(encoding="utf-8")
        if owner:
            text = personal(text, owner, self._cells(topic, owner))
        text = with_links(text, self.address)
        return without_checks(text, owner) if self.exam else text

    def _cells(self, topic: str, owner: str) -> list[Any] | None:
        """Las celdas con las constantes que le tocaron; None si son las de todos."""
        # Importan PyTorch, que el sitio, que usa lo demás de este módulo, no necesita.
        from course_lib.judging.compiled import variant_of
        from course_lib.notebooks.topic_source import TopicSource, compiled_path

        home = self.homes[topic]
        exercises = json.loads(compiled_path(home, topic).read_bytes())["exercises"]
        with owned_by(owner):
            key = (topic, *map(variant_of, exercises))
        if not any(key[1:]):
            return None
        if key not in self._varied:
            made, _ = build(TopicSource.read(topic, home, owner), "exercises")
            self._varied[key] = made.cells
        return self._varied[key]


def _write_personal(folder: Path, roster: Iterable[str], notebooks: _Notebooks) -> None:
    """Escribe los cuadernos de cada quien, en una carpeta con su nombre."""
    for owner in roster:
        own = folder / re.sub(r"[^\w .,-]", "_", owner).strip(" .")
        own.mkdir(parents=True)
        for topic, text in notebooks.of(owner).items():
            (own / f"{topic}.ipynb").write_text(text, encoding="utf-8")


def _homes(topics: Iterable[str], root: Path, own: Path | None) -> dict[str, Path]:
    """Por cada tema, la carpeta en que están sus cuadernos: la del curso, o la de los propios."""
    homes = {}
    for topic in topics:
        ours = own is None or (root / "exercises" / f"{topic}.ipynb").is_file()
        homes[topic] = root if ours else own
        if not (homes[topic] / "exercises" / f"{topic}.ipynb").is_file():
            raise ReleaseError(
                f"«{topic}» no tiene cuaderno: hazlo con `course regenerate {topic}`."
            )
    return homes


def _page_address(book: Path | None, site: str, page: str) -> str:
    """Dónde está una página del libro: en la carpeta, si lo lleva, o en el sitio."""
    if book is not None:
        there = (book / "book" / f"{page}.html").is_file()
        return f"../{BOOK}/book/{page}.html" if there else ""
    return f"{site}book/{page}.html" if site else ""


def release(
    topics: Iterable[str],
    root: Path,
    out: Path,
    *,
    offline: bool = False,
    book: Path | None = None,
    exam: bool = False,
    roster: Iterable[str] = (),
    course: CourseSettings = AS_IT_COMES,
) -> None:
    """Escribe la carpeta de un aula, de una vez: o está entera, o no está.

    Argumentos:
        topics: los temas que lleva.
        root: la carpeta del proyecto.
        out: la carpeta; si existe, está vacía.
        offline: lleva también todo lo que se instala, para equipos como este.
        book: el sitio construido, sin soluciones, que va en `libro/`.
        exam: sin nada que compruebe esos temas: se califican al entregar; no admite `book`.
        roster: para quiénes se hace un cuaderno personal de cada tema. Lo que es para todos va
            entonces en `comun/`, y lo de cada quien, en `personales/`.
        course: el curso, con el que se hizo el sitio.

    Errores:
        ReleaseError: ya hay algo en `out`, el sitio lleva soluciones, es de otro curso o iría en un
            examen, o no se pudo descargar.
    """
    out = out.resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ReleaseError(f"{out} ya tiene algo: elige otra carpeta, o vacíala.")
    if book is not None:
        _require_book(book, course, exam=exam)
    homes = _homes(topics, root, course.own_topics)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as temporary:
        whole, roster = Path(temporary, out.name), list(roster)
        folder = whole / COMMON if roster else whole
        own = [home / "exercises" / f"{t}.json" for t, home in homes.items() if home != root]
        options = {"without": homes} if exam else {"own": own}
        site = configured_address(root)
        wheel = build_wheel(root, Path(temporary), site=site, **options)
        notebooks = _Notebooks(homes, functools.partial(_page_address, book, site), exam)
        _write_personal(whole / PERSONAL, roster, notebooks)
        shared = {} if roster else notebooks.of("")
        write_folder(folder, shared, root, wheel, name=course.name)
        if book is not None:
            shutil.copytree(book, folder / BOOK)
        if offline:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", WHEELHOUSE]
            _run([*pip, "-r", "requirements.txt"], folder)
        _write_readme(folder, course.name)
        if out.exists():
            out.rmdir()
        whole.rename(out)
