"""Typer en español: los textos de ayuda y de error que Typer trae en inglés."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import typer
from rich import progress
from rich.console import Console
from typer import rich_utils
from typer.core import TyperCommand, TyperGroup

from course_lib._extras import MissingExtraError

SPANISH = tomllib.loads(Path(__file__).with_name("spanish.toml").read_text(encoding="utf-8"))


def apply_spanish_panels() -> None:
    """Traduce los títulos de la ayuda; pasa por alto los que esta versión de Typer no tiene."""
    for name, text in SPANISH["panels"].items():
        if hasattr(rich_utils, name):
            setattr(rich_utils, name, text)


class _SpanishHelp:
    """Lo que comparten `course` y cada uno de sus comandos."""

    def get_usage(self, ctx: Any) -> str:
        return super().get_usage(ctx).replace("Usage:", "Uso:", 1)

    def get_help_option(self, ctx: Any) -> Any:
        option = super().get_help_option(ctx)
        if option is not None:
            option.help = "Muestra esta ayuda y termina."
        return option

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = [word for piece in super().collect_usage_pieces(ctx) for word in piece.split(" ")]
        return [SPANISH["usage"].get(piece, piece.strip("{}")) for piece in pieces]

    def get_params(self, ctx: Any) -> list[Any]:
        params = super().get_params(ctx)
        for param in params:  # Typer escribe en inglés el tipo de cada valor: <bool>, <path>
            param.display_type = lambda ctx: None
            vars(param).update(SPANISH["completion"].get(param.name, {}))
        return params


UNIX_MODULES = ("fcntl", "resource")
"""Lo que Python trae en Linux y macOS, y no en Windows: lo usa quien califica."""


class SpanishCommand(_SpanishHelp, TyperCommand):
    """Un comando con la ayuda en español."""


class SpanishGroup(_SpanishHelp, TyperGroup):
    """El comando principal: ayuda y errores de uso en español, y código 2 tras un mal uso."""

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)
        try:
            code = super().main(*args, standalone_mode=False, **extra)
        except typer.Abort:
            print_error("Interrumpido.")
            sys.exit(1)
        except MissingExtraError as error:
            print_error(str(error))
            sys.exit(2)
        except ModuleNotFoundError as error:
            if error.name not in UNIX_MODULES:
                raise
            print_error(SPANISH["needs_linux"])
            sys.exit(2)
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise
            _show_usage_error(error)
            sys.exit(getattr(error, "exit_code", 2))
        sys.exit(code if isinstance(code, int) else 0)


def _show_usage_error(error: Any) -> None:
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    print_error(_spanish_message(error))
    context = getattr(error, "ctx", None)
    if context is not None:
        print(f"Prueba «{context.command_path} --help».", file=sys.stderr)


def _spanish_message(error: Any) -> str:
    if type(error).__name__ == "MissingParameter" and error.param is not None:
        option = error.param.opts[0] if error.param.opts[0].startswith("-") else ""
        return f"Falta {option or error.param.metavar or error.param.name}."
    for pattern, text in SPANISH["messages"]:
        match = re.fullmatch(pattern, error.message, re.DOTALL)
        if match:
            return match.expand(text)
    if getattr(error, "param", None) is not None:  # el valor lo rechazó Typer, en inglés
        return f"El valor de «{error.param.opts[0]}» no es válido; mira cuáles lo son con --help."
    return error.message


def say(text: str, console: Console | None = None, style: str | None = None) -> None:
    """Escribe un texto tal cual: sin leer marcas en él, ni partir sus renglones."""
    console = console or Console()
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def progress_bar(what: str, *when: progress.ProgressColumn) -> progress.Progress:
    """Una barra que se borra al acabar; detrás de la cuenta va `when` o, si falta, lo que lleva."""
    counted = (progress.TextColumn(what), progress.BarColumn(), progress.MofNCompleteColumn())
    columns = (*counted, *(when or [progress.TimeElapsedColumn()]))
    return progress.Progress(*columns, console=Console(stderr=True), transient=True)


def print_error(message: str) -> None:
    """Escribe un error en stderr, en rojo donde hay color."""
    console = Console(stderr=True, soft_wrap=True)
    console.print("Error:", style="bold red", end=" ")
    console.print(message, markup=False, highlight=False)
