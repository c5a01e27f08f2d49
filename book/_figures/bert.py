"""Diagramas del capítulo de BERT: la entrada, los huecos, las dos tareas y las dos máscaras."""

from __future__ import annotations

from book._figures.kit import Figure, looks_and_guesses

PIECES = ("[CLS]", "pica", "la", "cebolla", "[SEP]", "sofríe", "##la", "[SEP]")

# «Pica el ajo y ▁▁ cebolla, y sofríela»: lo que contesta el BERT guardado, y lo que mira el hueco.
GUESSES = {"la": "93.9 %", "el": "2.5 %", "agrégalo": "1.7 %", "de": "0.2 %", "las": "0.2 %"}
HOLE_READ = (
    "[CLS]",
    "pica",
    "el",
    "ajo",
    "y",
    "[MASK]",
    "cebolla",
    ",",
    "y",
    "sofríe",
    "##l",
    "##a",
    ".",
    "[SEP]",
)
HOLE_LOOKS = (
    (0, 0.02, 0, 0, 0.01, 0.01, 0.04, 0.40, 0.32, 0.10, 0.04, 0.01, 0.01, 0.02),
    (0, 0, 0.01, 0.95, 0.03, 0.01, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 0.71, 0.29, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 0, 0, 0),
)


def bert_hole() -> Figure:
    before, after = ("Pica", "el", "ajo", "y"), ("cebolla,", "y", "sofríela")
    fig = Figure(
        "bert_hole",
        title="El mismo hueco, leyendo hacia atrás y a los dos lados",
        desc="Dos veces la oración «Pica el ajo y hueco cebolla, y sofríela». Quien solo lee hacia "
        "atrás ve las cuatro primeras palabras; las tres últimas están rayadas, y no sabe qué "
        "contestar. BERT ve las siete, y contesta «la» con probabilidad 0.94.",
        height=330,
    )
    widths = (40, 24, 32, 20, 44, 74, 20, 78)
    for top, causal in ((34, True), (202, False)):
        title = "quien solo lee hacia atrás" if causal else "BERT, que lee a los dos lados"
        fig.text(8, top - 16, title, anchor="start", bold=True)
        said = "el… o la… ¿?" if causal else "«la»: 0.94"
        answer = fig.op(210, top + 84, 140, 36, said, role="output", bold=not causal)
        left = 8.0
        for i, (word, wide) in enumerate(zip((*before, "", *after), widths, strict=True)):
            hidden, hole = causal and i > len(before), i == len(before)
            role = "hidden" if hidden else "weight" if hole else None
            box = fig.grid(left, top, 1, 1, role, cell=(wide, 32), heavy=hole)
            fig.text(box.cx, box.cy, word, size=fig.small)
            if not hidden and not hole:
                fig.line(box.s, (answer.cx, answer.y), width=1.6)
            left += wide + 18
    return fig


def bert_input() -> Figure:
    fig = Figure(
        "bert_input",
        title="La entrada de BERT: token más posición más segmento",
        desc="Ocho tokens: [CLS], pica, la, cebolla, [SEP], sofríe, ##la y [SEP]. Cada uno suma "
        "tres filas de tres tablas: la de su token, la de su posición, de 0 a 7, y la de su "
        "segmento, A en los cinco primeros y B en los tres últimos. La suma se normaliza.",
        height=432,
    )
    top, step = 46, 36
    columns = ((20, "input", "tokens"), (182, "query", "posiciones"), (344, "value", "segmentos"))
    for x, _, name in columns:
        fig.text(x + 58, 20, f"tabla de\n{name}", size=fig.small)
    for i, piece in enumerate(PIECES):
        y = top + step * i
        labels = (piece, f"$P_{i}$", "$S_A$" if i < 5 else "$S_B$")
        for (x, role, _), label in zip(columns, labels, strict=True):
            fig.grid(x, y, 1, 1, role, cell=(116, 27), values=((label,),), heavy=True)
        for x in (159, 321):
            fig.text(x, y + 13, "+")
    bottom = top + step * len(PIECES)
    norm = fig.op(20, bottom + 20, 440, 34, "normalización de capa", heavy=True, size=fig.small)
    for x, *_ in columns:
        fig.arrow((x + 58, bottom - 6), (x + 58, norm.y))
    fig.arrow(norm.s, (norm.cx, norm.bottom + 22))
    fig.text(norm.cx + 14, norm.bottom + 16, "$H^0$", anchor="start")
    return fig


def bert_masking() -> Figure:
    fig = Figure(
        "bert_masking",
        title="Qué pasa con los tokens elegidos",
        desc="De cien tokens corrientes, 85 no se tocan ni se predicen. De los 15 elegidos, 12 se "
        "cambian por [MASK], 1.5 por un token al azar y 1.5 se quedan como estaban. En los "
        "quince, el modelo tiene que decir qué palabra había.",
        height=392,
    )
    whole = fig.op(150, 10, 180, 34, "100 tokens corrientes", size=fig.small)
    rest = fig.op(8, 92, 168, 54, "85: no se tocan\nni se predicen", dashed=True, size=fig.small)
    chosen = fig.op(252, 92, 220, 54, "15 elegidos:\nhay que adivinarlos", role="query")
    fig.arrow(whole.s, (whole.cx, 66), (rest.cx, 66), rest.n)
    fig.arrow(whole.s, (whole.cx, 66), (chosen.cx, 66), chosen.n)
    rows = (
        ("80 %", "12", "«pica la [MASK]»", "weight", 0.8),
        ("10 %", "1.5", "«pica la horno»", "key", 0.1),
        ("10 %", "1.5", "«pica la cebolla»", "value", 0.1),
    )
    names = ("[MASK]", "otro, al azar", "el mismo")
    spine = 262
    for i, ((share, count, text, role, width), name) in enumerate(zip(rows, names, strict=True)):
        y = 178 + 62 * i
        fig.arrow((spine, chosen.bottom), (spine, y + 22), (244, y + 22))
        fig.hbar(8, y, 6 + 110 * width, 44, role)
        fig.text(130, y + 12, f"{share}: {count}", anchor="start", bold=True, size=fig.small)
        fig.text(130, y + 33, name, anchor="start", size=fig.small)
        fig.text(284, y + 22, text, anchor="start", size=fig.small)
    fig.text(240, 374, "la respuesta es, en las tres, «cebolla»", size=fig.small)
    return fig


def bert_tasks() -> Figure:
    fig = Figure(
        "bert_tasks",
        title="Las dos tareas del preentrenamiento",
        desc="Dos oraciones con dos huecos entran en BERT, que da un vector por token. De los de "
        "los huecos sale qué palabra había: «la» y «col». Del vector de [CLS] sale si la "
        "segunda oración sigue a la primera.",
        height=456,
    )
    tokens = ("[CLS]", "pica", "____", "col", "[SEP]", "dora", "la", "____", "[SEP]")
    pitch, left = 51, 36
    for i, token in enumerate(tokens):
        x = left + pitch * i
        hidden = token == "____"
        fig.text(x, 438, token, size=fig.small, bold=hidden)
        fig.column(x, 366, "hidden" if hidden else "input", count=2, cell=(26, 22))
        fig.arrow((x, 364), (x, 322))
        fig.arrow((x, 252), (x, 222))
        fig.column(x, 176, "output", count=2, cell=(26, 22))
    fig.op(10, 254, 460, 66, "BERT: $N$ bloques, cada token ve todos", heavy=True, role="weight")
    fig.text(240, 150, "un vector por token", size=fig.small)
    nsp = fig.op(8, 70, 116, 52, "¿sigue la\nsegunda?", heavy=True, size=fig.small)
    fig.arrow((left, 174), (left, nsp.bottom))
    fig.arrow(nsp.n, (nsp.cx, 40))
    fig.text(nsp.cx, 24, "sí", size=fig.small, bold=True)
    mlm = fig.op(134, 70, 336, 52, "¿qué palabra había?  $E^T$", heavy=True, size=fig.small)
    for i, answer in ((2, "la"), (7, "col")):
        x = left + pitch * i
        fig.arrow((x, 174), (x, mlm.bottom))
        fig.arrow((x, mlm.y), (x, 40))
        fig.text(x, 24, answer, size=fig.small, bold=True)
    return fig


def bert_masks() -> Figure:
    words = ("añade", "la", "____", "picada")
    fig = Figure(
        "bert_masks",
        title="Qué ve el hueco: máscara causal contra las dos direcciones",
        desc="Dos cuadrículas de cuatro por cuatro, con la oración «añade la hueco picada». Con "
        "máscara causal, la fila del hueco ve «añade», «la» y a sí misma; «picada» está rayada. En "
        "BERT no hay nada rayado: ve también «picada», que dice el género.",
        height=284,
    )
    for x, title, causal in ((74, "causal", True), (278, "BERT", False)):
        hidden = [[causal and j > i for j in range(4)] for i in range(4)]
        shade = [[0.95 if i == 2 else 0.25] * 4 for i in range(4)]
        box = fig.grid(x, 76, 4, 4, "weight", cell=(48, 34), hidden=hidden, shade=shade)
        fig.text(box.cx, 16, title, bold=True)
        for j, word in enumerate(words):
            fig.text(x + 48 * (j + 0.5), 58, word, size=fig.small)
            if causal:
                fig.text(x - 8, 76 + 34 * (j + 0.5), word, anchor="end", size=fig.small)
    fig.text(170, 234, "el hueco ve\n«añade la»", size=fig.small)
    fig.text(374, 234, "el hueco ve también\n«picada»", size=fig.small)
    return fig


def bert_guesses() -> Figure:
    fig = Figure(
        "bert_guesses",
        title="Qué contesta BERT en un hueco y a quién mira cada cabeza",
        desc="«Pica el ajo y», un hueco, «cebolla, y sofríela.» Contesta «la», con 93.9 %; «el», "
        "con 2.5 %, y «agrégalo», con 1.7 %. De las cabezas del bloque 2, la 4 mira a «cebolla», "
        "con 1.00; la 2, a «ajo»; la 3, a «y» y al hueco, y la 1 reparte.",
        height=466,
    )
    fig.text(300, 30, "en el hueco", anchor="start", bold=True)
    looks_and_guesses(fig, HOLE_READ, HOLE_LOOKS, GUESSES, block=2)
    return fig


FIGURES = (bert_hole, bert_input, bert_masking, bert_tasks, bert_masks, bert_guesses)
