"""Una novela: ¿para qué sirve la memoria en un texto que nadie escribió para ella?

El cuadro de Dai et al. (2019), distancias o posiciones sumadas a la entrada, con memoria de 128 o sin ella, en *El ingenioso hidalgo don Quijote de la Mancha* (Cervantes, 1605 y 1615, dominio público; 2.1 millones de letras, ortografía moderna). El texto no está en el repositorio: se lee de `_build/novel.txt`, y sirve cualquier otro largo en UTF-8 con renglones que empiecen por «Capítulo». Cada semilla aparta capítulos enteros: diez de validación y diez de prueba, del mismo autor y con los mismos personajes que los de entrenar. Los renglones cortados a lo ancho se unen.

Se lee en piezas: mil, de pares de bytes, aprendidas solo de los capítulos de entrenar. Todo se mide en bits por letra (por carácter, con espacios y signos), que no depende de las piezas. «Comienzo del segmento»: sus 8 primeras piezas, de 32; «resto», las demás. «Palabras de la memoria»: las de cinco letras o más cuya última vez queda entre 32 y 128 piezas atrás, fuera de todo segmento y dentro de la memoria; «palabras no leídas», las que no están en esas 128. «Con 32 piezas», y las que siguen: se empieza a leer justo ese número de piezas antes y se miden las 16 últimas.

Los rivales: una GRU con los mismos parámetros, que lleva su estado de un segmento al siguiente; contar grupos de hasta cinco piezas, con el suavizado de Kneser y Ney; y mezclar esa cuenta con otra, la de las mil piezas recién leídas (la validación elige cuánto). Todas las redes, de ancho 128, dan los mismos 1200 pasos de 16 filas, casi una vuelta al texto: todos aprenden de lo mismo, leído una vez. Cada una elige su tasa con la primera semilla (si gana la del borde, se prueba la siguiente).
"""  # noqa: E501

import re
from functools import cache, partial
from math import log
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from benchmarks.experiments.transformer_xl import read_through, with_positions
from course_lib.data.segments import TokenStream
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.tokenization import ByteBPE
from course_lib.training.language_modelling import segment_losses

TEXT = Path(__file__).parents[2] / "_build" / "novel.txt"
APART, VOCABULARY = 10, 1000
SEGMENT, MEMORY, BATCH, STEPS, WIDTH = 32, 128, 16, 1200, 128
START, LONG = 8, 5  # piezas del comienzo de un segmento; letras de una palabra larga
ROWS, MEASURED = 10, 16  # filas al medir; piezas que se miden con un contexto
CONTEXTS = (32, 64, 128, 256)
RATES = (2e-3, 4e-3, 8e-3)
ORDER, CACHE = 5, 1000
WEIGHTS = (0.02, 0.05, 0.1, 0.2, 0.3)
OTHER, REMEMBERED, UNREAD = range(3)


class Chapter(NamedTuple):
    """Un capítulo en piezas; de cada una, cuántas letras empiezan en ella y su clase."""

    ids: list[int]
    letters: list[int]
    kinds: list[int]


@cache
def chapters():
    """Los capítulos, cada párrafo en un renglón; lo primero es lo que va delante de todos."""
    if not TEXT.is_file():
        raise ValueError(
            f"Se esperaba un texto largo en {TEXT}, en UTF-8 y con capítulos que empiecen por "
            "«Capítulo», y no está. El registro usó el Quijote (1605 y 1615), de dominio público: "
            "copia ahí el tuyo."
        )
    text = re.sub(r"(?<=[^\n])\n(?=\S)", " ", TEXT.read_text("utf-8"))
    parts = re.split(r"^(?=Capítulo )", text, flags=re.MULTILINE)
    if len(parts) <= 3 * APART:
        raise ValueError(
            f"{TEXT}: se esperaban más de {3 * APART} capítulos, en renglones que empiecen por "
            f"«Capítulo», y hay {len(parts) - 1}."
        )
    return parts


def splits(seed):
    first, *numbered = chapters()
    apart = Random(seed).sample(range(len(numbered)), 2 * APART)
    kept = [first, *(text for i, text in enumerate(numbered) if i not in apart)]
    tokenizer = ByteBPE.train(kept, VOCABULARY)
    sides = kept, *([numbered[i] for i in part] for part in (apart[:APART], apart[APART:]))
    return Splits(*([read(text, tokenizer) for text in side] for side in sides))


def read(text, tokenizer):
    ids = tokenizer.encode(text)
    pieces = [tokenizer.token_bytes(i) for i in ids]
    letters = [sum(byte & 0xC0 != 0x80 for byte in piece) for piece in pieces]
    return Chapter(ids, letters, kinds_of(text, letters))


def kinds_of(text, letters):
    """De cada pieza, si es de una palabra larga que la memoria tiene, o que nadie leyó."""
    ends = np.cumsum(letters)
    kinds, last = np.full(len(letters), OTHER), {}
    for word in re.finditer(r"\w+", text.lower()):
        begin, end = np.searchsorted(ends, (word.start(), word.end() - 1), side="right")
        distance = begin - last.get(word[0], -len(letters))
        last[word[0]] = end
        if len(word[0]) >= LONG and distance >= SEGMENT:
            kinds[begin : end + 1] = REMEMBERED if distance <= MEMORY else UNREAD
    return kinds.tolist()


# Lo que se mide


def joined(examples, part):
    return [value for chapter in examples for value in getattr(chapter, part)]


def in_rows(examples, part):
    return TokenStream(joined(examples, part), batch_size=ROWS, segment_length=SEGMENT).rows


def measure(model, examples):
    rows, letters, kinds = (in_rows(examples, part) for part in Chapter._fields)
    letters, kinds = letters[:, 1:], kinds[:, 1:]
    places = (torch.arange(rows.shape[1] - 1) % SEGMENT).expand_as(letters)
    past = torch.arange(rows.shape[1] - 1) >= MEMORY  # antes, nadie tiene aún pasado
    losses = losses_of(model, rows)

    def bits(chosen):
        return (losses[chosen & past].sum() / letters[chosen & past].sum() / log(2)).item()

    return {
        "bits por letra": bits(places >= 0),
        "comienzo del segmento": bits(places < START),
        "resto del segmento": bits(places >= START),
        "palabras de la memoria": bits(kinds == REMEMBERED),
        "palabras no leídas": bits(kinds == UNREAD),
        **{f"con {c} piezas": bits_after(model, rows, letters, c) for c in CONTEXTS},
    }


def bits_after(model, rows, letters, context):
    """Bits por letra de unas mismas piezas, si se empieza a leer justo esas antes."""
    longest = max(CONTEXTS)
    windows = rows.unfold(1, longest + 1, longest)[..., -context - 1 :].flatten(0, 1)
    counted = letters.unfold(1, longest, longest)[..., -MEASURED:]
    losses = losses_of(model, windows)[:, -MEASURED:]
    return (losses.sum() / counted.sum() / log(2)).item()


def losses_of(model, rows):
    if isinstance(model, nn.Module):
        return segment_losses(model, rows, segment_length=SEGMENT)
    return model(rows)


# Los que cuentan


class Counts:
    """P de cada pieza según las n − 1 anteriores, con lo que se vio más veces que por suerte.

        P(w | h) = (c(hw) − D) / c(h) + D · distintas(h) / c(h) · P(w | h sin la primera)

    Es el suavizado de Kneser y Ney: salvo en los grupos más largos, c no cuenta veces sino
    cuántas piezas distintas se vieron delante. Un grupo es un número, en base VOCABULARY.
    """

    def __init__(self, ids):
        groups, times = np.unique(grouped(np.array(ids), ORDER), return_counts=True)
        self.tables = []
        for order in range(ORDER, 0, -1):
            once, twice = (times == 1).sum(), (times == 2).sum()
            discount = once / (once + 2 * twice)
            contexts, first = np.unique(groups // VOCABULARY, return_index=True)
            totals = np.add.reduceat(times, first)
            kinds = np.diff(first, append=len(groups))
            self.tables.insert(0, (groups, times, contexts, totals, kinds, discount))
            groups, times = np.unique(groups % VOCABULARY ** (order - 1), return_counts=True)

    def __call__(self, ids):
        """P de cada pieza, menos las ORDER − 1 primeras."""
        codes = grouped(ids, ORDER)
        P = np.full(len(codes), 1 / VOCABULARY)
        for order, (groups, times, contexts, totals, kinds, discount) in enumerate(self.tables, 1):
            group = codes % VOCABULARY**order
            total = looked_up(contexts, totals, group // VOCABULARY)
            own = np.maximum(looked_up(groups, times, group) - discount, 0)
            left = discount * looked_up(contexts, kinds, group // VOCABULARY)
            P = np.where(total > 0, (own + left * P) / np.maximum(total, 1), P)
        return P


def grouped(ids, order):
    """Cada grupo de piezas seguidas, como un número."""
    windows = np.lib.stride_tricks.sliding_window_view(ids, order)
    return windows @ VOCABULARY ** np.arange(order - 1, -1, -1)


def looked_up(known, values, asked):
    place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.where(known[place] == asked, values[place], 0)


def just_read(ids):
    """P de cada pieza, salvo la primera, según lo que siguió a las mismas dos en lo recién leído.

    Detrás de las dos anteriores, mezclado con detrás de una y con en cualquier sitio.
    """
    back = np.arange(CACHE - 1, -1, -1)
    padded = np.concatenate([np.full(CACHE + 1, -1), ids])
    now = np.arange(CACHE + 1, len(padded) - 1)  # lo último leído; se predice la siguiente
    seen = now[:, None] - 1 - back  # dónde se mira: lo que va delante de cada una de las leídas
    hit = padded[seen + 1] == padded[now + 1, None]
    match = padded[seen + 1] >= 0
    P = (match & hit).sum(1) / match.sum(1)
    for ago in (0, 1):
        match &= (padded[seen - ago] == padded[now - ago, None]) & (padded[seen - ago] >= 0)
        P = ((match & hit).sum(1) + P) / (match.sum(1) + 1)
    return P


def counting(train_set, validation, weight, seed):
    counts = Counts(joined(train_set, "ids"))

    def losses(rows):
        found = []
        for ids in rows.numpy():
            P = counts(np.concatenate([np.zeros(ORDER - 2, int), ids]))
            if weight:
                P = (1 - weight) * P + weight * just_read(ids)
            found.append(torch.from_numpy(-np.log(P)))
        return torch.stack(found)

    return losses


# Los que se entrenan


def xl(memory_length=MEMORY):
    sizes = {"d_model": WIDTH, "num_heads": 4, "num_layers": 2, "d_ff": 2 * WIDTH}
    options = {"dropout": 0.0, "inner_dropout": 0.0, "placement": "pre"}
    config = TransformerXLConfig(VOCABULARY, memory_length=memory_length, **sizes, **options)
    return TransformerXL(config)


def absolute(memory_length=MEMORY):
    return with_positions(xl(memory_length), SEGMENT)


class Recurrent(nn.Module):
    """Una GRU, que lleva su estado de un segmento al siguiente; lee y escribe con los mismos vectores."""  # noqa: E501

    def __init__(self, width=240):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        nn.init.normal_(self.embedding.weight, std=WIDTH**-0.5)
        self.gru = nn.GRU(WIDTH, width, batch_first=True)
        self.project = nn.Linear(width, WIDTH)

    def forward(self, token_ids, memory=None):
        H, state = self.gru(self.embedding(token_ids) * WIDTH**0.5, memory)
        return self.project(H) @ self.embedding.weight.T, state.detach()


def trained(build, train_set, validation, rate, seed):
    order = Random(seed).sample(train_set, len(train_set))
    stream = TokenStream(joined(order, "ids"), batch_size=BATCH, segment_length=SEGMENT)
    return read_through(build, stream, STEPS, rate, seed)


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        "Transformer-XL": Rival(partial(trained, xl), RATES),
        "distancias, sin memoria": Rival(partial(trained, partial(xl, 0)), RATES),
        "posiciones, sin memoria": Rival(
            partial(trained, partial(absolute, 0)), RATES, against="distancias, sin memoria"
        ),
        "posiciones, con memoria": Rival(
            partial(trained, absolute), RATES, against="posiciones, sin memoria"
        ),
        "GRU": Rival(partial(trained, Recurrent), RATES),
        "contar": Rival(counting),
        "contar y lo leído": Rival(counting, WEIGHTS, against="contar"),
    },
    measure=measure,
    measures=dict.fromkeys(
        (
            "bits por letra",
            "comienzo del segmento",
            "resto del segmento",
            "palabras de la memoria",
            "palabras no leídas",
            *(f"con {c} piezas" for c in CONTEXTS),
        ),
        "",
    ),
    chosen_by="bits por letra",
    lowest=True,
)
