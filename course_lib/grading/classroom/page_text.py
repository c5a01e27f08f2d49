"""Texto ajeno que se puede poner en una página: a la vista, corto y sin nada escondido.

Los nombres, los archivos y los mensajes los escribió quien entrega. Escapar el HTML lo hace la
plantilla; aquí se quita lo que el escape deja pasar: caracteres de control, marcas que invierten
el orden de lectura, letras con cien acentos y textos interminables.
"""

from __future__ import annotations

import re

import regex

from course_lib._extras import extra

with extra("teacher"):
    from markupsafe import Markup, escape

# Sin ancho: cambian cómo se lee lo que los rodea. Quedan los dos que unen y separan letras.
_HIDDEN = regex.compile(r"[\p{Cf}--[\u200c\u200d]]", regex.V1)
_UNSEEN = regex.compile(r"[\p{Cc}\p{Cs}\p{Co}\p{Cn}]")
_STACKED = regex.compile(r"(\p{M}{4})\p{M}+")
_WORD = re.compile(r"[a-záéíóúüñ]{2,}(?=[ ,:])|[aoy](?= [a-záéíóúüñ]{2})")
_FUNCTIONS = frozenset({"argsort", "cat", "reshape", "roll", "softmax", "stack", "tanh", "view"})
_CODE = re.compile(r"`([^`]+)`")
_EMPHASIS = re.compile(r"(?<![\w*])\*(\w[^*]*\w)\*(?![\w*])")
_SHAPE = re.compile(r"\((?:\d+, )*\d+,?\)")
_LINE = re.compile(r"^(.*) \(línea (\d+): (.*)\)(.*)$")


def visible(text: object, limit: int = 300) -> str:
    """Deja un texto ajeno en una línea que se ve entera, de `limit` caracteres a lo sumo."""
    line = re.sub(r"\s+", " ", str(text)[: 4 * limit]).strip()
    line = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", _HIDDEN.sub("", line))
    line = _STACKED.sub(r"\1", line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def unbroken(text: str) -> str:
    """Deja cada forma, como `(2, 5, 3)`, en una sola línea de la página."""
    return _SHAPE.sub(lambda shape: shape[0].replace(" ", "\N{NO-BREAK SPACE}"), text)


def sentence(text: str) -> str:
    """Escribe un mensaje como oración: con mayúscula, si empieza por una palabra, y con punto."""
    line = unbroken(visible(text, 1200))
    word = _WORD.match(line)
    if word and word[0] not in _FUNCTIONS:
        line = line[0].upper() + line[1:]
    return line if not line or line[-1] in ".!?…" else f"{line}."


def hint_html(hint: str) -> Markup:
    """Da el HTML de una pista del curso: `código` y *énfasis*; lo demás va escapado."""
    parts = _CODE.split(sentence(hint))
    marked = (
        Markup("<code>{}</code>").format(part)
        if index % 2
        else Markup(_EMPHASIS.sub(r"<em>\1</em>", str(escape(part))))
        for index, part in enumerate(parts)
    )
    return Markup("").join(marked)


def message_html(message: str) -> Markup:
    """Da el HTML de lo que falla: la línea del estudiante, si la hay, va como código."""
    found = _LINE.match(visible(message, 1200))
    if found is None:
        return escape(sentence(message))
    said, number, source, rest = found.groups()
    start = escape(sentence(f"{said}{rest}"))
    return start + Markup(" En la línea {} de su celda: <code>{}</code>").format(number, source)
