"""Aprender a ejecutar: ¿qué imprime este programa?

«Aprender a ejecutar» (Zaremba y Sutskever, 2014), que Dehghani et al. (2018, §3.5) repiten con el Universal Transformer, a nuestra medida. Entra el texto de un programa de Python, en piezas (cada cifra es una), y hay que poner las dos cifras de lo que imprime, en los dos huecos que van detrás. Lo que imprime lo dice Python, que lo ejecuta. Son tres de las tareas de allí, con números de una cifra: «sumas», de dos a cinco números; «control», que asigna y elige con `if`, sin ninguna cuenta; y «programas», que además suman, restan y repiten con `for` (los que imprimen un número negativo no se usan). Se aprenden las tres juntas, con 10 000 programas de cada una. Los de validación y los de prueba se apartan al azar, son otros y se parecen: ninguno de la prueba se ha leído, y los hay de todas las longitudes en la misma proporción.

El Universal Transformer da siempre cuatro pasos. Un Transformer tiene los mismos parámetros (un bloque) y otro, la misma profundidad (cuatro). Todos normalizan delante de cada subcapa y cuentan las posiciones desde el final. La GRU lee de izquierda a derecha, y su estado es de 96 números para que sus parámetros sean casi los del Universal Transformer. Los demás no son redes: «regresión» da a cada pieza, en cada lugar contado desde el final, lo que suma al resultado (mínimos cuadrados, una por tarea; elige su λ); «la más parecida» contesta lo que imprime el programa aprendido con más piezas iguales en el mismo lugar; «las mismas piezas», lo del que más tiene en común con él sin mirar el orden; y «la mayoría», lo que más se imprime en cada tarea.

Todas las redes dan los mismos 4000 pasos de entrenamiento, de 32 programas de una tarea: lo que cabe en unos minutos, no lo que cada una podría llegar a aprender. Cada una elige entre tres tasas máximas o más (si gana la del borde, se prueba la siguiente), con la primera semilla, por lo que acierta en validación. «Respuestas» son las que tienen bien las dos cifras.
"""  # noqa: E501

import io
import re
from collections import Counter
from contextlib import redirect_stdout
from functools import partial
from random import Random
from typing import NamedTuple

import numpy as np
import torch
from sklearn.linear_model import Ridge
from sklearn.preprocessing import OneHotEncoder
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from benchmarks.experiments.addition import Logits, fitted
from course_lib.models.sequence_tagger import PositionedEncoder, SequenceTagger
from course_lib.models.universal_transformer import UniversalEncoder
from course_lib.training.losses import cross_entropy

TASKS = ("sumas", "control", "programas")
TRAIN, APART = 10_000, 400  # programas de cada tarea; APART, los de validación y los de prueba
STEPS, BATCH, DEPTH = 4000, 32, 4
RATES, GRU_RATES = (1e-3, 2e-3, 4e-3), (2e-3, 4e-3, 8e-3)
RIDGES = (0.1, 1.0, 10.0)
WIDTH, GRU_WIDTH = 64, 96
DIGITS = 2  # las cifras de la respuesta
LONGEST = 48  # las piezas de un programa y su respuesta, como mucho
PAD, SLOT = 0, 1
NAMES = "abcd"
PIECE = re.compile(r"for _ in range|print|if|else|\+=|\w|[^\w ]|\n")
KNOWN = [*map(str, range(10)), *NAMES, *"+-=<:()\n", "+=", "if", "else", "print", "for _ in range"]
IDS = {piece: i for i, piece in enumerate(KNOWN, SLOT + 1)}
SIZES = {
    "d_model": WIDTH,
    "num_heads": 4,
    "d_ff": 256,
    "max_length": 2 * LONGEST,
    "placement": "pre",
}


# Los programas


class Program(NamedTuple):
    """Un programa y lo que imprime."""

    task: str
    text: str
    answer: int


def written(task, random):
    """Un programa al azar."""
    if task == "sumas":
        return f"print({'+'.join(str(number(random)) for _ in range(random.randint(2, 5)))})"
    lines = [f"a={number(random)}", f"b={number(random)}"]
    known = ["a", "b"]
    for name in NAMES[2 : random.randint(3, len(NAMES))]:
        kind = "choice" if task == "control" else random.choice(["choice", "sum", "less", "loop"])
        x, y = random.sample(known, 2)
        n = number(random)
        lines.append(
            {
                "choice": f"{name}={x} if {x}<{y} else {random.choice([y, n])}",
                "sum": f"{name}={x}+{y}",
                "less": f"{name}={x}-{n}",
                "loop": f"{name}={x}\nfor _ in range({random.randint(2, 4)}):{name}+={n}",
            }[kind]
        )
        known.append(name)
    return "\n".join([*lines, f"print({known[-1]})"])


def number(random):
    return random.randint(1, 9)


def printed(text):
    """Lo que imprime, si es un número de dos cifras como mucho; si no, None."""
    with redirect_stdout(io.StringIO()) as out:
        exec(text, {})
    return int(out.getvalue()) if 0 <= int(out.getvalue()) < 10**DIGITS else None


def splits(seed):
    """De cada tarea, programas distintos, y que no salieron en otra.

    Se barajan: los cortos se repiten al sacarlos, y los primeros distintos no son como los demás.
    """
    parts, random, seen = Splits([], [], []), Random(seed), set()
    for task in TASKS:
        drawn = dict.fromkeys(written(task, random) for _ in range(4 * TRAIN))
        texts = [text for text in drawn if text not in seen]
        seen.update(texts)
        found = [Program(task, t, answer) for t in texts if (answer := printed(t)) is not None]
        random.shuffle(found)
        sides = found[:APART], found[APART : 2 * APART], found[2 * APART : 2 * APART + TRAIN]
        for part, programs in zip((parts.test, parts.validation, parts.train), sides, strict=True):
            part.extend(programs)
    return parts


def as_ids(examples):
    """Cada programa, con los dos huecos de su respuesta detrás."""
    rows = [[IDS[piece] for piece in PIECE.findall(e.text)] + DIGITS * [SLOT] for e in examples]
    longest = max(map(len, rows))
    return torch.tensor([row + (longest - len(row)) * [PAD] for row in rows])


def digits_of(answers):
    return torch.stack(
        [torch.as_tensor(answers) // 10**k % 10 for k in reversed(range(DIGITS))], dim=1
    )


# Los que no son redes: lo que contesta cada uno


def commonest(train_set, validation, setting, seed):
    counts = {task: Counter(e.answer for e in train_set if e.task == task) for task in TASKS}
    return lambda examples: [counts[e.task].most_common(1)[0][0] for e in examples]


def from_the_end(examples):
    """Las piezas de cada programa, de la última a la primera."""
    rows = np.zeros((len(examples), LONGEST), np.uint8)
    for row, program in zip(rows, examples, strict=True):
        pieces = [IDS[piece] for piece in PIECE.findall(program.text)]
        row[: len(pieces)] = pieces[::-1]
    return rows


def nearest(train_set, validation, setting, seed):
    known = from_the_end(train_set)

    def answers(examples):
        rows = from_the_end(examples)
        return [train_set[(known == row).sum(1).argmax()].answer for row in rows]

    return answers


def same_pieces(train_set, validation, setting, seed):
    known = pieces_in(train_set)

    def answers(examples):
        rows = pieces_in(examples)
        return [train_set[abs(known - row).sum(1).argmin()].answer for row in rows]

    return answers


def pieces_in(examples):
    """Cuántas hay de cada pieza, sin mirar dónde."""
    counts = [np.bincount(row, minlength=SLOT + 1 + len(IDS)) for row in from_the_end(examples)]
    return np.stack(counts).astype(np.int8)[:, SLOT + 1 :]


def regression(train_set, validation, strength, seed):
    fits = {}
    for task in TASKS:
        own = [e for e in train_set if e.task == task]
        encoder = OneHotEncoder(handle_unknown="ignore")
        X = encoder.fit_transform(from_the_end(own))
        fits[task] = encoder, Ridge(alpha=strength).fit(X, [e.answer for e in own])

    def answers(examples):
        found = np.zeros(len(examples), int)
        for task, (encoder, ridge) in fits.items():
            own = [i for i, e in enumerate(examples) if e.task == task]
            X = encoder.transform(from_the_end([examples[i] for i in own]))
            found[own] = ridge.predict(X).round()
        return found

    return answers


# Los que se entrenan


def tagger(encoder):
    return SequenceTagger(encoder, vocab_size=SLOT + 1 + len(IDS), num_labels=10, d_model=WIDTH)


def universal():
    return tagger(UniversalEncoder(max_steps=DEPTH, adaptive=False, **SIZES))


def plain(layers):
    return tagger(PositionedEncoder(num_layers=layers, **SIZES))


class GRUReader(nn.Module):
    """Lee de izquierda a derecha y contesta en las últimas posiciones."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(SLOT + 1 + len(IDS), WIDTH, padding_idx=PAD)
        self.gru = nn.GRU(WIDTH, GRU_WIDTH, batch_first=True)
        self.output = nn.Linear(GRU_WIDTH, 10)

    def forward(self, token_ids, *, start=0):
        return Logits(self.output(self.gru(self.embedding(token_ids))[0]))


def start_of(token_ids):
    """Las posiciones se cuentan desde el final: los huecos caen siempre en las mismas."""
    return LONGEST - (token_ids != PAD).sum(1)


def in_slots(token_ids, values):
    """Lo que hay en los huecos de cada fila."""
    return values[token_ids == SLOT].unflatten(0, (-1, DIGITS))


def loss(model, batch):
    token_ids, answers = batch
    tagging = model(token_ids, start=start_of(token_ids))
    return cross_entropy(in_slots(token_ids, tagging.logits), digits_of(answers))


def trained(build, train_set, validation, rate, seed):
    return fitted(build, loss, batches(train_set, seed), STEPS, rate, seed)


def batches(train_set, seed):
    """Lotes sin fin: cada uno, de una tarea."""
    tasks = [[e for e in train_set if e.task == task] for task in TASKS]
    pairs = [(as_ids(own), torch.tensor([e.answer for e in own])) for own in tasks]
    which, random = Random(seed), torch.Generator().manual_seed(seed)
    while True:
        rows, answers = which.choice(pairs)
        some = torch.randint(len(rows), (BATCH,), generator=random)
        yield rows[some], answers[some]


# Lo que se mide


def measure(model, examples):
    if isinstance(model, nn.Module):
        said = torch.cat([answered(model, rows) for rows in as_ids(examples).split(200)])
    else:
        said = digits_of(torch.as_tensor(model(examples)).clamp(0, 10**DIGITS - 1))
    right = said == digits_of([e.answer for e in examples])
    tasks = np.array([e.task for e in examples])
    parts = {"respuestas": right.all(1), "cifras": right.double().mean(1)}
    return {"respuestas": right.all(1).double().mean()} | {
        f"{name}, {task}": values[torch.from_numpy(tasks == task)].double().mean()
        for name, values in parts.items()
        for task in TASKS
    }


def answered(model, token_ids):
    tagging = model(token_ids, start=start_of(token_ids))
    return in_slots(token_ids, tagging.logits).argmax(-1)


BUILDS = {
    "Universal Transformer": universal,
    "Transformer, mismos parámetros": partial(plain, 1),
    "Transformer, misma profundidad": partial(plain, DEPTH),
}

EXPERIMENT = Experiment(
    splits=splits,
    rivals={name: Rival(partial(trained, build), RATES) for name, build in BUILDS.items()}
    | {
        "GRU": Rival(
            partial(trained, GRUReader), GRU_RATES, against="Transformer, misma profundidad"
        ),
        "regresión": Rival(regression, RIDGES),
        "la más parecida": Rival(nearest),
        "las mismas piezas": Rival(same_pieces),
        "la mayoría": Rival(commonest),
    },
    measure=measure,
    measures={"respuestas": "%"}
    | {f"{name}, {task}": "%" for name in ("respuestas", "cifras") for task in TASKS},
    chosen_by="respuestas",
)
