"""Cómo se llama el curso, quién lo da y con qué logotipo: lo que dice `course.toml`."""

import re
from pathlib import Path

from sphinx.application import Sphinx

from course_lib.course_settings import AS_IT_COMES, SITE_MARK, CourseSettingsError, settings_in

from .contents import ADVICE

TITLE = re.compile(r"^# .+$", re.M)


def read_settings(app: Sphinx, config) -> None:
    """Pone en la configuración lo que se haya cambiado."""
    try:
        course = config.course_settings = settings_in(Path(app.srcdir))
    except CourseSettingsError as error:
        raise SystemExit(f"\n{error}\n\n{ADVICE}") from None
    if course.name != AS_IT_COMES.name:
        config.html_title = config.course_name = course.name
        config.html_theme_options["logo"]["text"] = course.name
    if course.logo is not None:
        config.html_logo = config.html_favicon = str(course.logo)


def name_the_front_page(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = named(app, docname, source[0])


def named(app: Sphinx, docname: str, text: str) -> str:
    """Da una página, o su primera celda, con el nombre del curso si es la portada."""
    if docname != app.config.root_doc or not app.config.course_name:
        return text
    return TITLE.sub(lambda _: f"# {app.config.course_name}", text, count=1)


def sign(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Lo que lee el pie de la página."""
    context["course"] = app.config.course_settings


def mark_the_site(app: Sphinx, exception: Exception | None) -> None:
    """Deja dicho con qué curso se hizo, para no repartir el de otro."""
    if exception is None and app.builder.name == "html":
        mark = app.config.course_settings.site_mark
        Path(app.outdir, SITE_MARK).write_text(f"{mark}\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_config_value("course_name", "", "env")
    app.add_config_value("course_settings", AS_IT_COMES, "")
    # Antes de que se use el título del libro (500).
    app.connect("config-inited", read_settings, priority=400)
    app.connect("source-read", name_the_front_page)
    app.connect("html-page-context", sign)
    app.connect("build-finished", mark_the_site)
