"""Descargas de cada página y, si el libro está en un repositorio, el botón de Colab.

Los cuadernos quedan en `notebooks/` dentro del sitio, con sus resultados guardados y el texto
pasado a lo que entiende cualquier Jupyter; a su lado, la biblioteca y `curso.zip`. El sitio
publicado los lleva, y por eso Colab puede abrirlos desde su rama e instalar esa biblioteca.
"""

import re
import shutil
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import nbformat
from jupyter_cache import get_cache
from markdown_it.renderer import RendererHTML
from myst_parser.parsers.mdit import create_md_parser
from sphinx.application import Sphinx

from course_lib.notebooks import release

from .answers import BuiltBook
from .contents import side_by_side, stop
from .execution import read_notebook
from .identity import named
from .left_out import mend_source
from .portable import to_jupyter

FOLDER = "notebooks"
COLAB = "https://colab.research.google.com"
INSTALL = """\
# Solo hace algo donde falta la biblioteca del curso, por ejemplo en Colab: la instala, con lo que
# Colab no trae, y no cambia nada suyo. En tu computadora, sigue antes {start}
from importlib.util import find_spec

if find_spec("course_lib") is None:
    {install}"""
NOTE = """\
> **Antes de ejecutar.** Este cuaderno usa `course_lib`, la biblioteca del curso. Si no la tienes:
> en la página «Empieza aquí» del sitio, baja `curso.zip`, descomprímelo y ejecuta en su carpeta
> `python start.py`, que la instala con JupyterLab y lo abre. Después, guarda ahí este cuaderno."""
COURSE = "curso"
START = "book/start"
GITHUB = re.compile(r"https://github\.com/([^/]+)/([^/]+?)(?:\.git)?/?")


def colab_url(repository: str, branch: str, page: str) -> str | None:
    """La dirección que abre en Colab el cuaderno publicado; None sin repositorio en GitHub."""
    match = GITHUB.fullmatch(repository or "")
    if match is None:
        return None
    return f"{COLAB}/github/{match[1]}/{match[2]}/blob/{quote(branch)}/{FOLDER}/{page}.ipynb"


def add_buttons(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """El menú «Descargar» y, en los cuadernos, «Abrir en Colab»."""
    if doctree is None:
        return
    notebook = is_notebook(app, pagename)
    downloads = [_print_button()]
    if notebook:
        downloads.insert(0, _notebook_button(context["pathto"](f"{FOLDER}/{pagename}.ipynb", 1)))
    buttons = [_group("Descargar esta página", "fas fa-download", downloads, "download-buttons")]
    repository = app.config.html_theme_options.get("repository_url", "")
    url = colab_url(repository, app.config.course_published_branch, pagename)
    if notebook and url:
        buttons.append(_colab_button(url))
    context["header_buttons"] = [*context.get("header_buttons", []), *buttons]


def _notebook_button(url: str) -> dict:
    return {
        "type": "link",
        "url": url,
        "text": "Cuaderno (.ipynb)",
        "tooltip": "Descargar el cuaderno de Jupyter",
        "icon": "fas fa-code",
        "label": "download-notebook-button",
    }


def _print_button() -> dict:
    return {
        "type": "javascript",
        "javascript": "window.print()",
        "text": "Imprimir o guardar como PDF",
        "tooltip": "Imprimir la página",
        "icon": "fas fa-file-pdf",
        "label": "download-pdf-button",
    }


def _colab_button(url: str) -> dict:
    return {
        "type": "link",
        "url": url,
        "text": "Colab",
        "tooltip": "Abrir en Colab",
        "icon": "fas fa-rocket",
        "label": "colab-button",
    }


def _group(tooltip: str, icon: str, buttons: list[dict], label: str) -> dict:
    return {"type": "group", "tooltip": tooltip, "icon": icon, "buttons": buttons, "label": label}


def is_notebook(app: Sphinx, pagename: str) -> bool:
    return "kernelspec" in app.env.metadata.get(pagename, {})


def notebook_text(app: Sphinx, pagename: str) -> str:
    """El cuaderno de una página: el guardado (ejercicios y soluciones) o el recién ejecutado.

    El que myst-nb deja en jupyter_execute no lleva los resultados que leyó de su caché.
    """
    source = Path(app.env.doc2path(pagename))
    if source.suffix == ".ipynb":
        return source.read_text(encoding="utf-8")
    notebook = read_notebook(app, source)
    with suppress(KeyError):
        cache = get_cache(app.env.mystnb_config.execution_cache_path)
        _, notebook = cache.merge_match_into_notebook(notebook)
    for private in ("source_map", "jupytext"):
        notebook.metadata.pop(private, None)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{source.stem}-{number}"
    notebook.nbformat_minor = 5
    return nbformat.writes(notebook) + "\n"


def site_address(config) -> str | None:
    """Dónde está publicado el sitio: `html.baseurl` o la página de su repositorio en GitHub."""
    repository = config.html_theme_options.get("repository_url", "")
    return release.site_address(repository, config.html_baseurl) or None


def publish_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Copia los cuadernos al sitio, listos para abrirse en Jupyter o en Colab."""
    if exception is not None or app.builder.format != "html":
        return
    pages = [name for name in app.config.external_site_map if is_notebook(app, name)]
    for fault in side_by_side(partial(_publish, app), pages):
        stop(app, fault)


def _publish(app: Sphinx, pages: list[str]) -> list[str]:
    """Copia los de unas páginas; da lo que lo impidió."""
    faults = []
    for pagename in pages:
        target = Path(app.outdir) / FOLDER / f"{pagename}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            content = for_download(app, pagename)
        except ValueError as error:
            faults.append(f"{app.env.doc2path(pagename)}: {error}")
            continue
        if not target.is_file() or target.read_text(encoding="utf-8") != content:
            target.write_text(content, encoding="utf-8")
    return faults


def publish_course(app: Sphinx, exception: Exception | None) -> None:
    """Deja junto a los cuadernos la biblioteca y `curso.zip`, con todo lo que hace falta."""
    root = Path(app.srcdir)
    if exception is not None or app.builder.format != "html" or not (root / "start.py").is_file():
        return
    folder = Path(app.outdir) / FOLDER
    wheel = folder / release.WHEEL
    sources = [*(root / "course_lib").rglob("*.*"), root / "pyproject.toml", root / "_config.yml"]
    if not wheel.is_file() or max(p.stat().st_mtime for p in sources) > wheel.stat().st_mtime:
        release.build_wheel(root, folder, site=site_address(app.config) or "")
    pages = [name for name in app.config.external_site_map if name.startswith("exercises/")]
    notebooks = {Path(name).name: for_download(app, name, prepares=False) for name in pages}
    with TemporaryDirectory() as temporary:
        home, name = Path(temporary, COURSE), app.config.project
        release.write_folder(home, notebooks, root, wheel, name=name)
        shutil.make_archive(str(folder / COURSE), "zip", temporary, COURSE)


def name_the_wheel(app: Sphinx, docname: str, source: list[str]) -> None:
    """Pone en «Empieza aquí» el nombre del archivo de la biblioteca, que lleva su versión."""
    if docname == START:
        source[0] = source[0].replace("BIBLIOTECA.whl", release.WHEEL)


def for_download(app: Sphinx, pagename: str, *, prepares: bool = True) -> str:
    """El cuaderno como se descarga: sin MyST y con una primera celda para quien no tiene nada."""
    notebook = nbformat.reads(notebook_text(app, pagename), as_version=4)
    book = BuiltBook(app, pagename, site_address(app.config), f"{FOLDER}/figures")
    parser = create_md_parser(app.env.myst_config, RendererHTML)
    notebook.cells[0].source = named(app, pagename, notebook.cells[0].source)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = to_jupyter(mend_source(app, pagename, cell.source), book, parser)
    if prepares and any("course_lib" in c.source for c in notebook.cells if c.cell_type == "code"):
        notebook.cells.insert(0, _preparation(app, notebook))
    return nbformat.writes(notebook) + "\n"


def _preparation(app: Sphinx, notebook) -> nbformat.NotebookNode:
    """La celda que consigue la biblioteca del curso, o que dice cómo conseguirla."""
    if site := site_address(app.config):
        install = release.colab_install(Path(app.srcdir), site)
        code = INSTALL.format(start=f"{site}{START}.html", install=install)
        cell = nbformat.v4.new_code_cell(code, id="course-setup")
    else:
        cell = nbformat.v4.new_markdown_cell(NOTE, id="course-setup")
    if notebook.nbformat_minor < 5:
        del cell["id"]
    return cell


def setup(app: Sphinx) -> None:
    app.add_config_value("course_published_branch", "gh-pages", "html")
    # Después de que el tema prepara sus botones (501).
    app.connect("html-page-context", add_buttons, priority=502)
    app.connect("source-read", name_the_wheel)
    app.connect("build-finished", publish_notebooks)
    app.connect("build-finished", publish_course)
