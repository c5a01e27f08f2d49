"""Los colores del libro y la figura que los sigue: un SVG para el tema claro y el oscuro."""

import functools
import hashlib
import html
import io
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

COLORS = {
    "query": "#0072B2",
    "key": "#D55E00",
    "value": "#009E73",
    "weights": "#CC79A7",
    "input": "#56B4E9",
    "output": "#E69F00",
    "hidden": "#8C8C8C",
}
# Casi negro: quien guarde la figura como PNG la ve bien; en el SVG se vuelve `currentColor`.
INK = "#010203"
HATCHES = ("", "///", "...", "xxx", "---", "ooo")
# Solo rayas: en un SVG, una trama de puntos ocupa cien veces más.
STRIPES = {
    "value": "",
    "input": "///",
    "key": "\\\\\\",
    "output": "xxx",
    "weights": "---",
    "hidden": "|||",
    "query": "+++",
}
LINES = (
    ("query", "o", "-"),
    ("key", "s", "--"),
    ("value", "^", "-."),
    ("weights", "D", ":"),
    ("output", "v", (0, (6, 1.5))),
    ("input", "P", (0, (4, 1.5, 1, 1.5, 1, 1.5))),
    ("hidden", "X", (0, (1, 2.5))),
)
# 4.8 pulgadas son 346 unidades: en un teléfono (unos 330 px) la letra de 12 no baja de 11 px.
WIDTH = 4.8
_STYLE = mpl.rc_params_from_file(
    Path(__file__).with_name("course.mplstyle"), use_default_template=False
)
FONT_SIZE = _STYLE["font.size"]
_SCREEN_SCALE = 1.35
_FONT = re.compile(r"font: ((?:(?:italic|oblique|bold|\d+) )*)([\d.]+)px [^;\"]+")
_LONG_NUMBER = re.compile(r"\d+\.\d{3,}")


class ThemedFigure(Figure):
    """Figura de Matplotlib que en una página se muestra como SVG con los colores del tema.

    Argumentos:
        alt: qué se ve, en una o dos frases; es obligatorio (lo leen los lectores de pantalla).
        height: alto en pulgadas; el ancho es fijo para que la letra no se encoja en un teléfono.

    Errores:
        ValueError: si `alt` está vacío.
    """

    def __init__(self, *, alt: str, height: float = 3.0) -> None:
        if not alt.strip():
            raise ValueError(
                "Se esperaba un texto alternativo que describa la figura, y `alt` llegó vacío: "
                "escribe en una o dos frases qué se ve."
            )
        with mpl.rc_context(_STYLE):
            super().__init__(figsize=(WIDTH, height), dpi=72, layout="constrained")
        self.alt = alt.strip()

    def __repr__(self) -> str:
        return f"ThemedFigure({self.alt!r})"

    def _repr_html_(self) -> str:
        return self.to_svg()

    def to_svg(self) -> str:
        """Devuelve la figura como un elemento `<svg>` listo para ir dentro de una página."""
        buffer = io.StringIO()
        with mpl.rc_context({**_STYLE, "svg.fonttype": "none", "svg.hashsalt": "course_lib"}):
            self._freeze_layout()
            self.savefig(buffer, format="svg", transparent=True)
        return _inline_svg(buffer.getvalue(), self.alt)

    def _freeze_layout(self) -> None:
        """Fija la disposición: si se recalculara en cada dibujo, los bytes cambiarían."""
        if self.get_layout_engine() is not None:
            self.draw_without_rendering()
            self.draw_without_rendering()
            self.set_layout_engine("none")


def themed(function: Any) -> Any:
    """Dibuja con el estilo del libro sin tocar el de quien llama."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> ThemedFigure:
        with mpl.rc_context(_STYLE):
            return function(*args, **kwargs)

    return wrapper


def _font_style(match: re.Match[str]) -> str:
    """Conserva tamaño, peso e inclinación; la familia es la de la página."""
    words = match[1].split()
    parts = [f"font-size: {match[2]}px", "font-family: inherit"]
    parts += [f"font-style: {w}" for w in words if w in ("italic", "oblique")]
    parts += [f"font-weight: {w}" for w in words if w == "bold" or w.isdigit()]
    return "; ".join(parts)


def _inline_svg(svg: str, alt: str) -> str:
    """Convierte el documento SVG de Matplotlib en un elemento que hereda el tema de la página."""
    svg = svg[svg.index("<svg") :]
    # Ahí va la fecha: sin ella, los mismos datos dan los mismos bytes.
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = _FONT.sub(_font_style, svg)
    svg = re.sub(r"font-family: [^;\"]+", "font-family: inherit", svg)
    svg = svg.replace(INK, "currentColor")
    prefix = "fig-" + hashlib.sha256((alt + svg).encode()).hexdigest()[:10] + "-"
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", svg)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    width = round(float(box[1]) * _SCREEN_SCALE)
    text = html.escape(alt)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'class="course-plot" viewBox="0 0 {box[1]} {box[2]}" role="img" aria-label="{text}" '
        f'style="width: {width}px; max-width: 100%; height: auto; font-family: inherit; '
        f'background: transparent">\n <title>{text}</title>'
    )
    return _shortened(re.sub(r"<svg[^>]*>", lambda _: opening, svg, count=1).strip())


def _shortened(svg: str) -> str:
    """El mismo dibujo con centésimas de punto y sin sangrado: la página pesa un octavo menos."""
    svg = re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg)
    return re.sub(r"<[^>]*>", _short_tag, re.sub(r">\s+<", "><", svg))


def _short_tag(match: re.Match[str]) -> str:
    tag = " ".join(match[0].split())
    if tag.startswith("<svg"):  # lleva el texto alternativo, con los números que tenga
        return tag
    return _LONG_NUMBER.sub(lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), tag)
