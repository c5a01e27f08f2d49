"""Taller de dibujo: vectores, matrices, operaciones y flechas del lenguaje visual del curso.

Un vector es una columna de celdas; una matriz, una cuadrícula con sus ejes escritos al lado; una
operación, una caja redondeada; un parámetro entrenable lleva contorno grueso; lo oculto va en gris
y rayado. Líneas y texto son `currentColor`: el diagrama sigue al tema claro u oscuro de la página.

El texto admite fórmulas entre signos de dólar: `"la consulta $q_2$"`. Dentro de ellas `_` y `^`
bajan y suben, y las comillas simples ponen letra recta: `$'softmax'(βQK^T)$`.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import pi, sin
from typing import Any

PALETTE = {
    "query": "#0072B2",
    "key": "#D55E00",
    "value": "#009E73",
    "weight": "#CC79A7",
    "input": "#56B4E9",
    "output": "#E69F00",
    "hidden": "#8C8C8C",
}
# Color de cada pieza de una arquitectura; las que no tienen, van sin fondo.
BLOCK_ROLES = {
    "attention": "weight",
    "feed_forward": "output",
    "embedding": "input",
    "linear": "output",
    "norm": None,
    "plain": None,
}
UNLEARNED = frozenset({"plain"})  # piezas sin parámetros: contorno fino
PHONE_WIDTH = 358  # ancho útil, en px, de un teléfono de 390 con los márgenes de la página
PHONE_TEXT = 11  # px: ninguna letra puede verse más pequeña ahí
SCREEN_HEIGHT = 760  # px: alto que se ve de una vez en una pantalla común
SERIF = "'STIX Two Text','Latin Modern Roman',Cambria,'Times New Roman',serif"

Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """Rectángulo ya dibujado, con los puntos donde se enganchan las flechas."""

    x: float
    y: float
    w: float
    h: float

    @property
    def cx(self) -> float:
        return self.x + self.w / 2

    @property
    def cy(self) -> float:
        return self.y + self.h / 2

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

    @property
    def n(self) -> Point:
        return self.cx, self.y

    @property
    def s(self) -> Point:
        return self.cx, self.bottom

    @property
    def w_(self) -> Point:
        return self.x, self.cy

    @property
    def e(self) -> Point:
        return self.right, self.cy


@dataclass(frozen=True)
class Layer:
    """Una capa ya dibujada: su panel, sus bloques y sus sumas con normalización, en orden."""

    panel: Box
    blocks: tuple[Box, ...]
    norms: tuple[Box, ...]

    @property
    def n(self) -> Point:
        return self.blocks[0].cx, self.panel.y

    @property
    def s(self) -> Point:
        return self.norms[-1].s


def number(value: float) -> str:
    """Coordenada con dos decimales como mucho y sin ceros de más."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def decimal(value: float, digits: int = 2) -> str:
    """Número para leer: signo menos tipográfico y sin cero negativo."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


MATH_TOKEN = re.compile(
    r"(?P<shift>[_^])(?:\{(?P<group>[^}]*)\}|(?P<single>.))|'(?P<roman>[^']*)'|(?P<plain>.)"
)


def math_runs(formula: str) -> Iterator[tuple[str, bool, str]]:
    """Trozos `(texto, cursiva, nivel)` de una fórmula; el nivel es `""`, `"_"` o `"^"`."""
    for token in MATH_TOKEN.finditer(formula):
        level = token["shift"] or ""
        if token["roman"] is not None:
            yield token["roman"], False, level
            continue
        body = token["group"] if token["group"] is not None else token["single"] or token["plain"]
        if len(body) > 2 and body[0] == body[-1] == "'":
            yield body[1:-1], False, level
            continue
        for part in re.split(r"([A-Za-zα-ω]+)", body):
            if part:
                transpose = level == "^" and part == "T"
                yield part, not transpose and bool(re.match("[A-Za-zα-ω]", part)), level


class Figure:
    """Un diagrama: lienzo de ancho fijo en unidades propias, que la página estira o encoge."""

    def __init__(self, name: str, *, title: str, desc: str, height: float, width: float = 480):
        self.name, self.width, self.height = name, width, height
        self.small = 15.0 * width / 480
        self.body = 16.5 * width / 480
        self.math = 20.0 * width / 480
        self._tips: dict[str, tuple[float, float]] = {}
        self._hatched = False
        self._items: list[ET.Element] = []
        self._title, self._desc = title, desc

    # --- texto -------------------------------------------------------------------------------

    def text(
        self,
        x: float,
        y: float,
        content: str,
        *,
        size: float | None = None,
        anchor: str = "middle",
        bold: bool = False,
    ) -> None:
        """Texto cuyas líneas quedan centradas verticalmente en `y`."""
        size = size or self.body
        lines = content.split("\n")
        top = y - (len(lines) - 1) * size * 0.625
        for index, line in enumerate(lines):
            self._line(x, top + index * size * 1.25, line, size, anchor, bold)

    def _line(self, x: float, y: float, line: str, size: float, anchor: str, bold: bool) -> None:
        element = ET.Element("text", {"x": number(x), "y": number(y + 0.35 * size)})
        element.set("font-size", number(size))
        if anchor != "start":
            element.set("text-anchor", anchor)
        if bold:
            element.set("font-weight", "600")
        parts = line.split("$")
        if len(parts) == 1:
            element.text = line
        else:
            self._rich(element, parts, size)
        self._items.append(element)

    def _rich(self, element: ET.Element, parts: Sequence[str], size: float) -> None:
        """Alterna texto y fórmula en `tspan`, y devuelve la línea base tras cada índice."""
        only_math = len(parts) == 3 and not parts[0] and not parts[2]
        math_size = max(size, self.math) if only_math else max(size * 1.1, self.small * 1.1)
        offset = 0.0
        for index, part in enumerate(parts):
            runs = math_runs(part) if index % 2 else [(part, False, "plain")] if part else []
            for content, italic, level in runs:
                span = ET.SubElement(element, "tspan")
                span.text = content
                target = {"_": 0.24 * math_size, "^": -0.4 * math_size}.get(level, 0.0)
                if target != offset:
                    span.set("dy", number(target - offset))
                    offset = target
                if level == "plain":
                    continue
                span.set("font-family", SERIF)
                span.set("font-weight", "normal")
                span.set("font-size", number(self.small if level else math_size))
                if italic:
                    span.set("font-style", "italic")

    # --- celdas ------------------------------------------------------------------------------

    def grid(
        self,
        x: float,
        y: float,
        rows: int,
        cols: int,
        role: str | None,
        *,
        cell: tuple[float, float] = (44, 27),
        values: Any = None,
        digits: int = 2,
        heavy: bool = False,
        hidden: Any = None,
        shade: Any = None,
        row: int | None = None,
        size: float | None = None,
    ) -> Box:
        """Matriz `rows`×`cols` con esquina en `(x, y)`.

        `shade` tiñe cada celda según un valor de 0 a 1; `row` destaca una fila.
        """
        w, h = cell
        box = Box(x, y, w * cols, h * rows)
        for i in range(rows):
            for j in range(cols):
                masked = hidden is not None and bool(hidden[i][j])
                value = None if values is None else values[i][j]
                opacity = 0.3 if row is None else 0.45 if row == i else 0.12
                if shade is not None:
                    opacity = 0.06 + 0.49 * float(shade[i][j])
                self._cell(Box(x + j * w, y + i * h, w, h), role, opacity, masked)
                if value is not None and not masked:
                    shown = value if isinstance(value, str) else decimal(float(value), digits)
                    self.text(x + (j + 0.5) * w, y + (i + 0.5) * h, shown, size=size or self.small)
        self._outline(box, heavy)
        return box

    def column(
        self,
        cx: float,
        y: float,
        role: str | None,
        values: Any = None,
        *,
        count: int = 3,
        cell: tuple[float, float] = (46, 25),
        **options: Any,
    ) -> Box:
        """Vector: columna de celdas centrada en `cx`, con o sin números."""
        rows = count if values is None else len(values)
        listed = None if values is None else [[value] for value in values]
        return self.grid(cx - cell[0] / 2, y, rows, 1, role, cell=cell, values=listed, **options)

    def _cell(self, box: Box, role: str | None, opacity: float, masked: bool) -> None:
        masked = masked or role == "hidden"
        color = PALETTE["hidden"] if masked else PALETTE.get(role or "", "none")
        rect = self._rect(box, fill=color, fill_opacity=0.25 if masked else opacity)
        rect.update({"stroke": "currentColor", "stroke-width": "1", "stroke-opacity": "0.55"})
        self._items.append(ET.Element("rect", rect))
        if masked:
            self._hatched = True
            hatch = self._rect(box, fill=f"url(#{self.name}-hatch)")
            self._items.append(ET.Element("rect", hatch))

    def _outline(self, box: Box, heavy: bool) -> None:
        rect = self._rect(box, fill="none") | {"stroke": "currentColor"}
        rect["stroke-width"] = "3.5" if heavy else "1.4"
        self._items.append(ET.Element("rect", rect))

    @staticmethod
    def _rect(box: Box, **style: Any) -> dict[str, str]:
        shape = {"x": box.x, "y": box.y, "width": box.w, "height": box.h}
        numbers = {key: number(value) for key, value in shape.items()}
        return numbers | {
            key.replace("_", "-"): value if isinstance(value, str) else number(value)
            for key, value in style.items()
        }

    # --- operaciones, flechas y marcas ---------------------------------------------------------

    def op(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        label: str,
        *,
        role: str | None = None,
        heavy: bool = False,
        dashed: bool = False,
        size: float | None = None,
        radius: float = 12,
        bold: bool = False,
    ) -> Box:
        """Operación: caja redondeada. Con `heavy`, tiene parámetros entrenables."""
        box = Box(x, y, w, h)
        fill = {"fill": PALETTE[role], "fill_opacity": 0.22} if role else {"fill": "none"}
        rect = self._rect(box, rx=min(radius, h / 2), **fill) | {"stroke": "currentColor"}
        rect["stroke-width"] = "3.5" if heavy else "1.4"
        if dashed:
            rect["stroke-dasharray"] = "6 5"
        self._items.append(ET.Element("rect", rect))
        if label:
            self.text(box.cx, box.cy, label, size=size, bold=bold)
        return box

    def disc(self, cx: float, cy: float, label: str, radius: float = 15) -> Box:
        """Operación de un solo signo (+, ·, ×)."""
        attributes = {"cx": number(cx), "cy": number(cy), "r": number(radius), "fill": "none"}
        attributes |= {"stroke": "currentColor", "stroke-width": "1.4"}
        self._items.append(ET.Element("circle", attributes))
        self.text(cx, cy, label, size=26)
        return Box(cx - radius, cy - radius, 2 * radius, 2 * radius)

    def arrow(
        self,
        *points: Point,
        width: float = 1.5,
        dashed: bool = False,
        opacity: float = 1,
        head: bool = True,
    ) -> None:
        """Flecha por los puntos dados: la punta toca exactamente el último."""
        key, (length, half) = number(width).replace(".", "-"), (6 + 1.6 * width, 3.4 + 0.8 * width)
        path = list(points)
        if head:
            self._tips[key] = (length, half)
            (x0, y0), (x1, y1) = path[-2:]
            distance = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
            share = (length - 1) / distance  # la base monta 1 sobre el trazo: sin rendija
            path[-1] = (x1 - share * (x1 - x0), y1 - share * (y1 - y0))
        d = "M" + " L".join(f"{number(x)} {number(y)}" for x, y in path)
        style = {"d": d, "fill": "none", "stroke": "currentColor", "stroke-width": number(width)}
        style["stroke-linejoin"] = "round"
        if dashed:
            style["stroke-dasharray"] = "5 4"
        if opacity < 1:
            style["opacity"] = number(opacity)
        if head:
            style["marker-end"] = f"url(#{self.name}-tip-{key})"
        self._items.append(ET.Element("path", style))

    def line(self, *points: Point, **options: Any) -> None:
        """Trazo sin punta."""
        self.arrow(*points, head=False, **options)

    def bar(self, x: float, bottom: float, w: float, h: float, role: str) -> Box:
        """Barra que crece hacia arriba desde `bottom`."""
        return self.hbar(x, bottom - h, w, h, role)

    def hbar(self, x: float, y: float, w: float, h: float, role: str) -> Box:
        """Barra con esquina superior izquierda en `(x, y)`."""
        box = Box(x, y, w, h)
        style = self._rect(box, fill=PALETTE[role], fill_opacity=0.75)
        style |= {"stroke": "currentColor", "stroke-width": "1"}
        self._items.append(ET.Element("rect", style))
        return box

    def frame(self, x: float, y: float, w: float, h: float, *, radius: float = 14) -> Box:
        """Panel: fondo gris casi transparente que agrupa lo que va junto."""
        box = Box(x, y, w, h)
        style = self._rect(box, rx=radius, fill=PALETTE["hidden"], fill_opacity=0.1)
        self._items.append(ET.Element("rect", style))
        return box

    def tall_axis(self, box: Box, word: str, *, side: str = "w", gap: float = 8) -> None:
        """Eje vertical de una matriz: llave recta y su nombre, a la izquierda o a la derecha."""
        sign = -1 if side == "w" else 1
        x = (box.x if side == "w" else box.right) + sign * gap
        tip = x - sign * 4
        self.line((tip, box.y), (x, box.y), (x, box.bottom), (tip, box.bottom), width=1)
        anchor = "end" if side == "w" else "start"
        self.text(x + sign * 5, box.cy, f"${word}$", anchor=anchor)

    def wide_axis(self, box: Box, word: str, *, side: str = "n", gap: float = 8) -> None:
        """Eje horizontal de una matriz: llave recta y su nombre, arriba o abajo."""
        sign = -1 if side == "n" else 1
        y = (box.y if side == "n" else box.bottom) + sign * gap
        tip = y - sign * 4
        self.line((box.x, tip), (box.x, y), (box.right, y), (box.right, tip), width=1)
        self.text(box.cx, y + sign * 14, f"${word}$")

    # --- piezas de una arquitectura ------------------------------------------------------------

    def block(
        self,
        cx: float,
        y: float,
        label: str,
        kind: str = "plain",
        *,
        w: float = 176,
        h: float = 40,
        **options: Any,
    ) -> Box:
        """Bloque con nombre, centrado en `cx`: el color y el contorno dependen de su clase.

        Las clases son las de `BLOCK_ROLES`; todas menos `plain` tienen parámetros entrenables.
        """
        options = {"role": BLOCK_ROLES[kind], "heavy": kind not in UNLEARNED} | options
        return self.op(cx - w / 2, y, w, h, label, **options)

    def add_norm(
        self, cx: float, y: float, label: str = "Sumar y normalizar", **options: Any
    ) -> Box:
        """Bloque que suma la conexión residual y normaliza (Add & Norm)."""
        return self.block(cx, y, label, "norm", **({"h": 34, "size": self.small} | options))

    def flow(self, *boxes: Box, **options: Any) -> None:
        """Flechas de arriba abajo entre piezas seguidas."""
        for upper, lower in pairwise(boxes):
            self.arrow(upper.s, lower.n, **options)

    def residual(
        self, y: float, around: Box, to: Box, *, side: str = "w", gap: float = 14, **options: Any
    ) -> None:
        """Conexión residual: sale del eje de `around` a la altura `y`, la rodea y entra en `to`."""
        edges = (around.x, to.x) if side == "w" else (around.right, to.right)
        x = min(edges) - gap if side == "w" else max(edges) + gap
        end = to.w_ if side == "w" else to.e
        self.arrow((around.cx, y), (x, y), (x, to.cy), end, **options)

    def times(self, box: Box, times: str = "N", *, side: str = "w", gap: float = 8) -> None:
        """Llave de una pila: «× N» al lado de lo que se repite."""
        sign = -1 if side == "w" else 1
        x = (box.x if side == "w" else box.right) + sign * gap
        tip = x - sign * 5
        self.line((tip, box.y), (x, box.y), (x, box.bottom), (tip, box.bottom))
        anchor = "end" if side == "w" else "start"
        self.text(x + sign * 5, box.cy, f"× ${times}$", anchor=anchor)

    def encoder_layer(
        self, cx: float, y: float, *, w: float = 176, side: str = "w", names: Any = ()
    ) -> Layer:
        """Una capa del codificador en su panel, de 220 de alto: atención, suma, red, suma."""
        names = names or ("Autoatención\nmulticabeza", "Red por posición")
        return self._layer(
            cx, y, w, side, tuple(zip(names, ("attention", "feed_forward"), strict=True))
        )

    def decoder_layer(
        self, cx: float, y: float, *, w: float = 176, side: str = "e", names: Any = ()
    ) -> Layer:
        """Una capa del decodificador en su panel, de 330 de alto; la cruzada es `blocks[1]`."""
        names = names or ("Autoatención\ncon máscara", "Atención cruzada", "Red por posición")
        kinds = ("attention", "attention", "feed_forward")
        return self._layer(cx, y, w, side, tuple(zip(names, kinds, strict=True)))

    def _layer(self, cx: float, y: float, w: float, side: str, parts: Any) -> Layer:
        left, right = (26, 10) if side == "w" else (10, 26)
        panel = self.frame(cx - w / 2 - left, y, w + left + right, 110 * len(parts))
        blocks: list[Box] = []
        norms: list[Box] = []
        for label, kind in parts:
            top = norms[-1].bottom if norms else y
            block = self.block(
                cx, top + 28 if norms else y + 20, label, kind, w=w, h=42, size=self.small
            )
            norm = self.add_norm(cx, block.bottom + 12, w=w, h=28)
            self.arrow((cx, top), block.n)
            self.arrow(block.s, norm.n)
            self.residual(block.y - 13, block, norm, side=side)
            blocks.append(block)
            norms.append(norm)
        return Layer(panel, tuple(blocks), tuple(norms))

    def wave(self, cx: float, cy: float, radius: float = 15) -> Box:
        """Señal de la codificación posicional: una onda dentro de un círculo."""
        disc = self.disc(cx, cy, "", radius)
        reach = radius - 4
        points = [
            (cx - reach + 2 * reach * i / 24, cy - 0.5 * radius * sin(2 * pi * i / 24))
            for i in range(25)
        ]
        self.line(*points)
        return disc

    def positional_sum(
        self, cx: float, cy: float, *, side: str = "w", gap: float = 34, label: str = ""
    ) -> Box:
        """Suma de la codificación posicional: un «+» al que llega una onda por un lado."""
        sign = -1 if side == "w" else 1
        plus = self.disc(cx, cy, "+", 13)
        wave = self.wave(cx + sign * (gap + 15), cy)
        self.arrow(wave.e if side == "w" else wave.w_, plus.w_ if side == "w" else plus.e)
        if label:
            x = wave.x - 6 if side == "w" else wave.right + 6
            anchor = "end" if side == "w" else "start"
            self.text(x, cy, label, anchor=anchor, size=self.small)
        return plus

    def tokens(
        self,
        x: float,
        y: float,
        words: Sequence[str],
        cols: int = 4,
        role: str | None = "input",
        *,
        axes: tuple[str, str] = ("", ""),
        cell: tuple[float, float] = (30, 24),
        **options: Any,
    ) -> Box:
        """Matriz de tokens: una fila por palabra, escrita a su izquierda.

        `axes` da los nombres del eje vertical (a la derecha) y del horizontal (arriba), como
        `("t", "d_{'model'}")`.
        """
        box = self.grid(x, y, len(words), cols, role, cell=cell, **options)
        for i, word in enumerate(words):
            middle = y + cell[1] * (i + 0.5)
            self.text(x - 8, middle, word, anchor="end", size=self.small)
        if axes[0]:
            self.tall_axis(box, axes[0], side="e")
        if axes[1]:
            self.wide_axis(box, axes[1])
        return box

    def table(
        self,
        x: float,
        y: float,
        entries: Sequence[str],
        picked: Sequence[int] = (),
        *,
        cols: int = 4,
        role: str = "input",
        cell: tuple[float, float] = (30, 24),
        values: Any = None,
        **options: Any,
    ) -> Box:
        """Tabla de incrustaciones: una fila entrenable por entrada; las elegidas, más intensas.

        Una entrada «⋮» deja la fila en puntos suspensivos.
        """
        shade = [[0.9 if i in picked else 0.1] * cols for i in range(len(entries))]
        box = self.tokens(
            x, y, entries, cols, role, cell=cell, values=values, shade=shade, heavy=True, **options
        )
        for i in picked:
            top, bottom = y + cell[1] * i, y + cell[1] * (i + 1)
            corners = ((box.x, top), (box.right, top), (box.right, bottom), (box.x, bottom))
            self.line(*corners, (box.x, top - 1.2), width=2.4)
        return box

    def keys_values(self, *points: Point) -> None:
        """Enlace del codificador al decodificador: una flecha que lleva claves y valores.

        Los rótulos K y V van sobre el segundo tramo, o sobre el primero si no hay otro.
        """
        at = min(1, len(points) - 2)
        (x0, y0), (x1, y1) = points[at : at + 2]
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        cx, cy = (x0 + x1) / 2, (y0 + y1) / 2
        for shift, letter, role in ((-14, "K", "key"), (14, "V", "value")):
            x, y = cx + shift * abs(ux), cy + shift * abs(uy)
            self.op(x - 13, y - 13, 26, 26, f"${letter}$", role=role, radius=6)
        self.line(*points[: at + 1], (cx - 27 * ux, cy - 27 * uy), width=2.2)
        self.arrow((cx + 27 * ux, cy + 27 * uy), *points[at + 1 :], width=2.2)

    # --- archivo -----------------------------------------------------------------------------

    def svg(self) -> str:
        """Documento SVG completo, igual byte a byte en cada ejecución."""
        root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg"})
        root.set("viewBox", f"0 0 {number(self.width)} {number(self.height)}")
        root.set("role", "img")
        root.set("aria-labelledby", f"{self.name}-title {self.name}-desc")
        root.set("font-family", "inherit")
        root.set("fill", "currentColor")
        # Se adapta a la columna, sin crecer más de lo cómodo ni pasar del alto de una pantalla.
        widest = self.width * min(1.25, SCREEN_HEIGHT / self.height)
        root.set("style", f"width:100%;max-width:{number(widest)}px;height:auto")
        title = ET.Element("title", {"id": f"{self.name}-title"})
        title.text = self._title
        desc = ET.Element("desc", {"id": f"{self.name}-desc"})
        desc.text = self._desc
        opening = ET.tostring(root, encoding="unicode").replace(" />", ">")
        elements = [title, desc, *self._definitions(), *self._items]
        lines = [ET.tostring(element, encoding="unicode") for element in elements]
        return "\n".join([opening, *lines, "</svg>\n"])

    def _definitions(self) -> list[ET.Element]:
        defs = ET.Element("defs")
        for key, (length, half) in sorted(self._tips.items()):
            marker = ET.SubElement(defs, "marker", {"id": f"{self.name}-tip-{key}"})
            marker.set("markerUnits", "userSpaceOnUse")
            marker.set("markerWidth", number(length))
            marker.set("markerHeight", number(2 * half))
            marker.set("refX", "1")
            marker.set("refY", number(half))
            marker.set("orient", "auto")
            d = f"M0 0 L{number(length)} {number(half)} L0 {number(2 * half)} Z"
            ET.SubElement(marker, "path", {"d": d, "fill": "currentColor"})
        if self._hatched:
            pattern = ET.SubElement(defs, "pattern", {"id": f"{self.name}-hatch"})
            pattern.attrib |= {"width": "7", "height": "7", "patternUnits": "userSpaceOnUse"}
            pattern.set("patternTransform", "rotate(45)")
            stroke = {"stroke": "currentColor", "stroke-width": "1.6", "stroke-opacity": "0.5"}
            ET.SubElement(pattern, "path", {"d": "M0 0 V7"} | stroke)
        return [defs] if len(defs) else []


def looks_and_guesses(
    fig: Figure,
    tokens: Sequence[str],
    weights: Sequence[Sequence[float]],
    guesses: dict[str, str],
    *,
    block: int,
) -> None:
    """Lo que enseña un laboratorio con un modelo: a qué token mira cada cabeza, y qué contesta.

    A la izquierda, una columna por cabeza y una fila por token; a la derecha, las respuestas, de
    la más probable a la menos.
    """
    top, cell, left = 78, (42, 26), 100
    fig.text(left + 2 * cell[0], 30, f"cabezas del bloque {block}", size=fig.small)
    for head in range(4):
        fig.text(left + cell[0] * (head + 0.5), top - 16, str(head + 1), size=fig.small)
    columns = list(zip(*weights, strict=True))
    fig.grid(left, top, len(tokens), 4, "weight", cell=cell, values=columns, shade=columns)
    for i, token in enumerate(tokens):
        fig.text(left - 8, top + cell[1] * (i + 0.5), token, anchor="end", size=fig.small)
    for i, (word, share) in enumerate(guesses.items()):
        y = top + 46 * i
        fig.text(300, y, word, anchor="start", bold=i == 0)
        fig.text(472, y, share, anchor="end", size=fig.small)
        wide = 172 * float(share.removesuffix(" %").removeprefix("< ")) / 100
        fig.hbar(300, y + 12, max(wide, 1), 14, "output")
