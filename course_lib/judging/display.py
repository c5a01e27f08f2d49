"""Cómo se ve un veredicto: en una línea de texto, en Markdown y en HTML.

El HTML no lleva programas ni hojas de estilo: cada cosa tiene el suyo, para que se vea igual en
Jupyter, en Colab, en VS Code y en el sitio. El texto hereda el color de la página, clara u oscura;
el borde y el icono tienen uno que se distingue de las dos, y cada estado una forma y una palabra:
el color solo acompaña.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

WORDS = {
    "correct": "correcto",
    "partial": "en parte",
    "wrong": "todavía no",
    "error": "se detuvo",
    "missing": "sin comprobar",
    "pending": "pendiente",
}
MARKS = {
    "correct": "✅",
    "partial": "🟡",
    "wrong": "❌",
    "error": "❌",
    "missing": "❌",
    "pending": "⏳",
}
COLORS = {
    "correct": "#009E73",
    "partial": "#0072B2",
    "wrong": "#D55E00",
    "error": "#D55E00",
    "missing": "#8C8C8C",
    "pending": "#8C8C8C",
}
"""Cada uno contrasta al menos 3 a 1 con el blanco y con los fondos oscuros (`#1e1e1e`)."""

_STROKE = 'fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round"'
_SHAPES = {
    "correct": f'<circle cx="8" cy="8" r="7" {_STROKE}/>'
    f'<path d="M4.7 8.3l2.3 2.3 4.4-5" {_STROKE}/>',
    "partial": f'<circle cx="8" cy="8" r="7" {_STROKE}/>'
    '<path d="M8 1a7 7 0 0 1 0 14z" fill="currentColor"/>',
    "wrong": f'<path d="M3 3l10 10M13 3L3 13" {_STROKE}/>',
    "error": '<rect x="2" y="2" width="12" height="12" rx="1.5" fill="currentColor"/>',
    "missing": f'<path d="M2 8h12" {_STROKE}/>',
    "pending": f'<circle cx="8" cy="8" r="7" {_STROKE} stroke-dasharray="2.6 2.9"/>',
}

_CODE = re.compile(r"(`+)(.+?)\1")
_LINK = re.compile(r"\[([^\]]+)\]\(((?:https?://|\.\./|#)[^)\s]+)\)")
_STRONG = re.compile(r"(?<![\w*])\*\*(\S(?:[^*]*\S)?)\*\*(?![\w*])")
_EMPHASIS = re.compile(r"(?<![\w*])\*(\w(?:[^*]*\w)?)\*(?![\w*])")
_MATHEMATICS = re.compile(r"\$([^$\n]+)\$")


def icon(state: str, *, styled: bool = True) -> str:
    """El dibujo de un estado, del color del texto que lo rodea; quien no ve lee la palabra.

    Argumentos:
        state: el estado.
        styled: si lleva su estilo; una página con hoja de estilo propia pone el suyo.
    """
    size = 'width="14" height="14" viewBox="0 0 16 16"'
    style = ' style="vertical-align:-2px"' if styled else ""
    return f'<svg {size}{style} aria-hidden="true" focusable="false">{_SHAPES[state]}</svg>'


def score(points: int, max_points: int, earned: str = "") -> str:
    """Dice los puntos: «1 de 2 puntos, por los pesos»."""
    return f"{points} de {points_text(max_points)}" + (f", por {earned}" if earned else "")


def points_text(points: int) -> str:
    """Dice unos puntos: «1 punto», «14 puntos»."""
    return f"{points} {'punto' if points == 1 else 'puntos'}"


def enumerated(names: Sequence[str]) -> str:
    """Enumera: «a, b y c»."""
    return " y ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


@dataclass(frozen=True)
class Fold:
    """Algo largo que se abre: su título y su texto, que es código o lo que se imprimió."""

    title: str
    text: str


@dataclass(frozen=True, repr=False)
class Told:
    """Lo que dice un veredicto, y cómo se ve. Los textos son Markdown de una línea.

    Argumentos:
        state: el estado.
        title: el título del ejercicio.
        score: los puntos, en palabras.
        message: la pista o lo que falla.
        facts: lo que se vio en la respuesta: qué cumple y qué no, con qué caso.
        folds: lo que se abre: lo impreso, la traza.
        steps: qué hacer ahora.
        note: lo que conviene saber y no cambia el resultado.
    """

    state: str
    title: str
    score: str = ""
    message: str = ""
    facts: Sequence[str] = ()
    folds: Sequence[Fold] = ()
    steps: Sequence[str] = ()
    note: str = ""

    def _paragraphs(self) -> list[str]:
        note = [f"**Aviso:** {self.note}."] if self.note else []
        said = [as_sentence(text) for text in (self.message, *self.facts) if text]
        return [*said, *note]

    @property
    def _verdict(self) -> str:
        shown = f" ({self.score})" if self.score and self.state != "pending" else ""
        return f"{WORDS[self.state]}{shown}"

    def __repr__(self) -> str:
        return self.plain()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        shown = {"plain": self.plain, "markdown": self.markdown, "html": self.html}
        return {f"text/{kind}": make() for kind, make in shown.items()}

    def plain(self) -> str:
        """Para una terminal: el título y el estado en la primera línea; lo demás, debajo."""
        lines = [f"{MARKS[self.state]} {unmarked(self.title)}: {self._verdict}"]
        lines += [f"   {unmarked(text)}" for text in self._paragraphs()]
        for fold in self.folds:
            lines += [f"   {fold.title}:", *(f"     {line}" for line in fold.text.splitlines())]
        if self.steps:
            lines.append("   " + " · ".join(map(unmarked, self.steps)))
        return "\n".join(lines)

    def markdown(self) -> str:
        """Para quien muestra Markdown, con sus fórmulas."""
        parts = [f"{MARKS[self.state]} **{self.title}** — {self._verdict}", *self._paragraphs()]
        parts += [f"{fold.title}:\n\n{_fenced(fold.text)}" for fold in self.folds]
        return "\n\n".join([*parts, *([" · ".join(self.steps)] if self.steps else [])])

    def html(self) -> str:
        """Para un cuaderno y para el sitio."""
        color = COLORS[self.state]
        box = (
            f"border-left:4px solid {color};padding:2px 0 2px 12px;margin:6px 0;"
            "max-width:46rem;line-height:1.5;color:inherit"
        )
        head = (
            f'<span style="color:{color}">{icon(self.state)}</span> '
            f"<strong>{inline_html(self.title)}</strong> — {html.escape(self._verdict)}"
        )
        parts = [f'<p style="margin:2px 0">{head}</p>']
        parts += [f'<p style="margin:6px 0">{inline_html(p)}</p>' for p in self._paragraphs()]
        parts += [_fold_html(fold) for fold in self.folds]
        if self.steps:
            said = " · ".join(map(inline_html, self.steps))
            parts.append(f'<p style="margin:6px 0 2px;font-size:0.95em">{said}</p>')
        return f'<div lang="es" class="course-verdict" style="{box}">' + "".join(parts) + "</div>"


_LINE = re.compile(r"^(.*) \(línea (\d+): (.*)\)([^)]*)$")


def with_code(message: str) -> str:
    """Pone como código la línea del estudiante que un mensaje cita al final."""
    found = _LINE.match(message)
    if found is None:
        return message
    said, number, source, rest = found.groups()
    ticks = "``" if "`" in source else "`"
    return f"{said} (línea {number}: {ticks}{source}{ticks}){rest}"


def _fold_html(fold: Fold) -> str:
    frame = (
        "margin:4px 0;padding:6px 10px;border:1px solid #8C8C8C;border-radius:4px;"
        "background:transparent;color:inherit;white-space:pre-wrap;overflow-x:auto"
    )
    return (
        f'<details style="margin:6px 0"><summary>{inline_html(fold.title)}</summary>'
        f'<pre style="{frame}">{html.escape(fold.text)}</pre></details>'
    )


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


_FUNCTIONS = frozenset({"argsort", "cat", "reshape", "roll", "softmax", "stack", "tanh", "view"})
_WORD = re.compile(r"[a-záéíóúüñ]{2,}(?=[ ,:])|[aoy](?= [a-záéíóúüñ]{2})")


def as_sentence(text: str) -> str:
    """Con mayúscula, si empieza por una palabra y no por código, y con punto."""
    word = _WORD.match(text)
    if word and word[0] not in _FUNCTIONS:
        text = text[0].upper() + text[1:]
    return text if not text or text[-1] in ".!?…:" else f"{text}."


def inline_html(text: str) -> str:
    """Da el HTML de una línea de Markdown: código, énfasis, enlaces y fórmulas; escapa lo demás."""
    kept: list[str] = []

    def keep(made: str) -> str:
        kept.append(made)
        return f"\0{len(kept) - 1}\0"

    text = text.replace("\0", "")
    text = _CODE.sub(lambda m: keep(f"<code>{html.escape(m[2].strip())}</code>"), text)
    # Las fórmulas quedan como están: Jupyter las dibuja.
    text = _MATHEMATICS.sub(lambda m: keep(html.escape(m[0])), text)
    text = _LINK.sub(lambda m: keep(f'<a href="{html.escape(m[2])}">') + m[1] + keep("</a>"), text)
    text = html.escape(text, quote=False)
    text = _STRONG.sub(r"<strong>\1</strong>", text)
    text = _EMPHASIS.sub(r"<em>\1</em>", text)
    return re.sub("\0(\\d+)\0", lambda m: kept[int(m[1])], text)


def unmarked(text: str) -> str:
    """El texto de una línea de Markdown, sin sus marcas."""
    parts = re.split(r"(`+.+?`+)", text)
    for i in range(0, len(parts), 2):
        plain = _LINK.sub(r"\1", parts[i])
        parts[i] = _EMPHASIS.sub(r"«\1»", _STRONG.sub(r"\1", plain))
    return "".join(part.strip("`") if i % 2 else part for i, part in enumerate(parts))
