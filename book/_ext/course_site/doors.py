"""Al final de cada capítulo, una puerta al código y otra para contar lo que está mal."""

from pathlib import Path
from urllib.parse import urlencode

from sphinx.application import Sphinx

from .downloads import FOLDER, GITHUB, is_notebook

CHAPTERS = "book/"
START = "book/start"


def add_doors(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Los enlaces de la página; sin repositorio, dónde está su archivo en la carpeta del curso."""
    if doctree is None or not pagename.startswith(CHAPTERS):
        return
    theme = app.config.html_theme_options
    repository = GITHUB.fullmatch(theme.get("repository_url", ""))
    file = Path(app.env.doc2path(pagename)).relative_to(app.srcdir).as_posix()
    doors = []
    if repository:
        home = f"https://github.com/{repository[1]}/{repository[2]}"
        branch = theme.get("repository_branch") or "main"
        title = f"{context['title']} ({file})"
        doors.append(("Ver el código", f"{home}/blob/{branch}/{file}"))
        doors.append(("Avisar de un error", f"{home}/issues/new?{urlencode({'title': title})}"))
    if is_notebook(app, pagename):
        doors.append(("Bajar el cuaderno", context["pathto"](f"{FOLDER}/{pagename}.ipynb", 1)))
    if START in app.env.all_docs and pagename != START:
        doors.append(("Instalar la biblioteca", context["pathto"](START)))
    context["doors"] = doors
    context["source_file"] = None if repository else file


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_doors)
