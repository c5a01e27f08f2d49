"""`course release`: la carpeta de un aula."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from course_lib.cli.project import project_root
from course_lib.cli.terminal import print_error

OUT = typer.Option("--out", metavar="CARPETA", help="La carpeta nueva.")
TOPICS = typer.Argument(metavar="TEMA", help="Temas que lleva; si faltan, todos.")
OFFLINE = typer.Option(
    "--offline",
    help="Lleva también lo que se instala, para un aula sin red con equipos como este: el mismo "
    "sistema y la misma versión de Python.",
)
BOOK = typer.Option(
    "--book",
    metavar="SITIO",
    help="Lleva también el libro, ya construido con «make site SOLUTIONS=0».",
)


def release(
    out: Annotated[Path, OUT],
    topics: Annotated[list[str] | None, TOPICS] = None,
    offline: Annotated[bool, OFFLINE] = False,
    book: Annotated[Path | None, BOOK] = None,
) -> None:
    """Reúne cuadernos, biblioteca y versiones en una carpeta, sin soluciones.

    Quien la recibe ejecuta «python start.py», que prepara el entorno y abre JupyterLab.
    """
    from course_lib.notebooks.generation import topics_in
    from course_lib.notebooks.release import ReleaseError
    from course_lib.notebooks.release import release as write_release

    root = project_root()
    known = topics_in(root)
    for topic in topics or []:
        if topic not in known:
            raise typer.BadParameter(
                f"No hay un tema «{topic}». Los que hay: {', '.join(known) or 'ninguno'}."
            )
    selected = list(dict.fromkeys(topics or known))
    try:
        with Console(stderr=True).status("Preparando la carpeta…"):
            write_release(selected, root, out, offline=offline, book=book)
    except ReleaseError as error:
        print_error(str(error))
        raise typer.Exit(1) from None
    Console().print(f"✅ {out}: en ella, «python start.py»", highlight=False, soft_wrap=True)
