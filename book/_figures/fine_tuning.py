"""Diagrama del ajuste fino: un mismo tronco y cinco cabezas, con la entrada de cada tarea."""

from __future__ import annotations

import numpy as np

from book._figures.kit import Box, Figure

SPECIAL = 42  # ancho de «[CLS]» y «[SEP]»
TASKS = (
    ("Una oración", ("opinión",), "de $r$, en [CLS]:\nclases"),
    ("Un par de oraciones", ("receta", "oración"), "de $r$, en [CLS]:\nclases"),
    (
        "Cuatro opciones",
        ("receta", "opción"),
        "de $r$, puntuación;\nsoftmax de las 4",
    ),
    ("Una pregunta", ("pregunta", "texto"), "de cada $H_t$:\ncomienzo y fin"),
    ("Cada palabra", ("oración",), "de cada $H_t$:\ncategoría"),
)


def fine_tuning_review() -> Figure:
    words = ("No", "quedó", "nada", "soso")
    fig = Figure(
        "fine_tuning_review",
        title="Palabra por palabra, una queja; entera, un elogio",
        desc="La oración «No quedó nada soso». Una a una, «no», «nada» y «soso» apuntan a «queja». "
        "Leída entera por BERT, apunta a «elogio».",
        height=292,
    )
    boxes = [fig.op(24 + 112 * i, 124, 96, 38, w, role="input") for i, w in enumerate(words)]
    complaint = fig.op(170, 30, 140, 38, "¿queja?", dashed=True)
    fig.text(8, 48, "una a una", anchor="start", bold=True)
    for i in (0, 2, 3):
        fig.arrow(boxes[i].n, (complaint.cx + 20 * (i - 1.5), complaint.bottom), dashed=True)
    fig.text(8, 222, "entera", anchor="start", bold=True)
    reader = fig.op(124, 202, 232, 36, "BERT", role="weight", heavy=True)
    for box in boxes:
        fig.arrow(box.s, (min(max(box.cx, reader.x + 12), reader.right - 12), reader.y))
    fig.arrow(reader.s, (reader.cx, 258))
    fig.text(reader.cx, 274, "elogio", bold=True)
    return fig


def bert_heads() -> Figure:
    fig = Figure(
        "bert_heads",
        title="Cinco tareas, un mismo tronco y cinco cabezas",
        desc="Cinco filas que atraviesan el mismo BERT. Una oración: [CLS] opinión [SEP], todo del "
        "segmento 0; la cabeza lee el resumen r. Un par: [CLS] receta [SEP] oración [SEP], con la "
        "segunda en el segmento 1; la cabeza lee r. Cuatro opciones, una a una de receta y "
        "opción; cada r da una puntuación. Una pregunta y un texto: cada token del texto da una "
        "puntuación de comienzo y otra de fin. Una oración: cada token da una categoría.",
        height=540,
    )
    pitch, top = 108, 12
    trunk = fig.op(272, 32, 36, 496, "", role="weight", heavy=True)
    for i, letter in enumerate("BERT"):
        fig.text(trunk.cx, trunk.cy + 30 * (i - 1.5), letter, bold=True)
    for i, (name, parts, head) in enumerate(TASKS):
        y = top + pitch * i
        fig.text(4, y, name, anchor="start", bold=True)
        last = _reading(fig, 4, y + 30, parts)
        fig.arrow(last.e, (trunk.x, last.cy))
        box = fig.op(328, last.cy - 24, 148, 48, head, role="output", heavy=True, size=fig.small)
        fig.arrow((trunk.right, last.cy), box.w_)
    return fig


def _reading(fig: Figure, x: float, y: float, parts: tuple[str, ...]) -> Box:
    """Una entrada: «[CLS] primera [SEP] segunda [SEP]», con sus segmentos debajo."""
    wide = 252 - SPECIAL * (1 + len(parts))
    box = fig.op(x, y, SPECIAL, 32, "[CLS]", role="input", size=fig.small, radius=4)
    start = x
    for segment, part in enumerate(parts):
        width = wide * len(part) / len("".join(parts))
        box = fig.op(box.right, y, width, 32, part, role="input", size=fig.small, radius=4)
        box = fig.op(box.right, y, SPECIAL, 32, "[SEP]", role="input", size=fig.small, radius=4)
        low = y + 40
        fig.line(
            (start + 2, low - 4), (start + 2, low), (box.right - 2, low), (box.right - 2, low - 4)
        )
        fig.text((start + box.right) / 2, low + 12, f"segmento {segment}", size=fig.small)
        start = box.right
    return box


# Lo que puntúa cada palabra como comienzo y como fin de la respuesta; también en el laboratorio
# (book/_static/labs/answer_span.js).
ANSWER = ("hornea", "el", "flan", "40", "minutos", "justos")
STARTS, ENDS = (2, 0, 1, 6, 3, 0), (1, 0, 1, 2, 5, 3)


def answer_span() -> Figure:
    total = np.add.outer(STARTS, ENDS)
    backwards = np.tril(np.ones_like(total), -1)
    best = total == np.where(backwards, -1, total).max()
    fig = Figure(
        "answer_span",
        title="El mejor tramo, entre todas las parejas de comienzo y fin",
        desc="Una matriz con una fila por palabra donde puede empezar la respuesta y una columna "
        "por palabra donde puede terminar. Cada casilla suma las dos puntuaciones; las de debajo "
        "de la diagonal, que terminarían antes de empezar, están ocultas. Gana «40 minutos», que "
        "suma 11.",
        height=250,
    )
    box = fig.grid(
        128, 66, 6, 6, "weight", cell=(58, 28), values=total, digits=0, hidden=backwards, shade=best
    )
    fig.text(box.cx, 14, "termina en…", size=fig.small)
    fig.text(64, 56, "empieza en…", size=fig.small)
    for i, (word, start, end) in enumerate(zip(ANSWER, STARTS, ENDS, strict=True)):
        fig.text(box.x + 58 * (i + 0.5), 34, word, size=fig.small)
        fig.text(box.x + 58 * (i + 0.5), 53, f"{end}", size=fig.small)
        fig.text(120, box.y + 28 * (i + 0.5), f"{word} {start}", anchor="end", size=fig.small)
    return fig


# Lo que contesta el modelo guardado al primer ejemplo de cada tarea de su laboratorio
# (book/_static/labs/five_tasks.js), con su probabilidad; una prueba lo compara.
FIVE = (
    ("Opinión", "Nadie en mi casa dijo que estuviera excelente.", "no le gustó", "99.8 %"),
    (
        "Par",
        "… Deja reposar la infusión. / Cuela la…",
        "se sigue de esta receta",
        "67.0 %",
    ),
    ("Opciones", "Avena con mango…", "Incorpora el mango con cuidado.", "49.7 %"),
    ("Pregunta", "… 2 tazas de leche… ¿Cuánta leche lleva?", "2 tazas", "99.8 %"),
    ("Palabras", "La tía la seca y agrega la trucha.", "«la»: PRON, pronombre", "48.0 %"),
)


def five_tasks() -> Figure:
    fig = Figure(
        "five_tasks",
        title="Lo que contesta el BERT ajustado a las cinco tareas",
        desc=" ".join(
            f"{name}: «{text}» → {answer}, con {share}." for name, text, answer, share in FIVE
        ),
        height=62 * len(FIVE),
    )
    for i, (name, text, answer, share) in enumerate(FIVE):
        y = 14 + 62 * i
        fig.text(4, y, name, anchor="start", bold=True)
        fig.text(96, y, text, anchor="start", size=fig.small)
        fig.text(96, y + 24, f"→ {answer}", anchor="start", size=fig.small, bold=True)
        fig.text(476, y + 24, share, anchor="end", size=fig.small)
    return fig


FIGURES = (fine_tuning_review, bert_heads, answer_span, five_tasks)
