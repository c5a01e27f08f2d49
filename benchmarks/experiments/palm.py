"""PaLM: qué da cada uno de sus cambios, si cada modelo tiene su propia tasa

PaLM y nueve modelos iguales a él salvo en una cosa (uno, en dos): ReLU con los mismos parámetros en vez de SwiGLU, posiciones sumadas en vez de giros, claves y valores para cada cabeza, la red detrás de la atención, sesgos, dos tablas, la tabla E empezada con desviación 1/√d y sin dividir los logits, lo mismo con el bloque en serie (que se compara con ella), y sin la pérdida z, que añade 10⁻⁴ · (log Z)² a la del token siguiente.

Son sopas escritas enteras (título, lista y pasos numerados), palabra por palabra, con modelos de dos bloques de ancho 64. Todos gastan el mismo cálculo: quien cuesta más por palabra da menos pasos que los 600 de PaLM. Cada uno elige su tasa máxima entre cuatro por la pérdida de validación de la primera semilla. Cada semilla aparta sus combinaciones de plato e ingrediente: 16 de validación y 16 de prueba. La pérdida es la media por palabra después del título, sin la z. El rival barato cuenta: mezcla las frecuencias de la palabra según las 0, 1, …, n anteriores, y elige n en validación.
"""  # noqa: E501

import re
from collections import Counter, defaultdict
from functools import cache, partial
from random import Random

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.recipes import generate_recipes
from course_lib.layers.blocks import FeedForward
from course_lib.layers.swiglu import Dense
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.training.loop import train
from course_lib.training.schedules import warmup_cosine

RECIPES, COMBINATIONS, APART = 20_000, 16, 60
WIDTH, HEADS, STEPS, ROWS = 64, 4, 600, 4
LENGTH = 180  # palabras de una receta, de media
RATES = (4e-3, 8e-3, 1.6e-2, 3.2e-2)
ORDERS = (2, 3, 4, 6, 8)
Z_LOSS = 1e-4
PAD, END, BREAK = "<pad>", "</s>", "\n"

# El texto


@cache
def soups():
    return [recipe for recipe in generate_recipes(RECIPES) if recipe.category == "sopa"]


def text_of(recipe):
    """El título, la lista y los pasos numerados: un renglón cada uno."""
    listed = [f"- {line}" for line in recipe.ingredients]
    steps = [f"{number}. {step}" for number, step in enumerate(recipe.steps, start=1)]
    return "\n".join([recipe.title, *listed, *steps])


def words_of(text):
    return re.findall(r"\w+|[^\w ]", text)


def apart(recipes, seed, count):
    """Aparta combinaciones enteras; de cada plato y cada ingrediente quedan otras dos, o más."""
    random = Random(seed)
    combinations = sorted({recipe.combination for recipe in recipes})
    left = Counter(part for both in combinations for part in enumerate(both))
    chosen = []
    for both in random.sample(combinations, len(combinations)):
        if len(chosen) < 2 * count and min(left[part] for part in enumerate(both)) > 2:
            chosen.append(both)
            left.subtract(enumerate(both))
    sides = defaultdict(list)
    for recipe in recipes:
        side = chosen.index(recipe.combination) % 2 if recipe.combination in chosen else None
        sides[side].append(text_of(recipe))
    return Splits(sides[None], sides[0], sides[1])


def splits(seed):
    read, *others = apart(soups(), seed, COMBINATIONS)
    return Splits(read, *(Random(seed).sample(part, APART) for part in others))


class Vocabulary:
    """Una palabra, un número."""

    def __init__(self, texts):
        words = sorted({word for text in texts for word in words_of(text)} - {BREAK})
        self.words = [PAD, END, BREAK, *words]
        self.numbers = {word: i for i, word in enumerate(self.words)}

    def encode(self, text):
        return [self.numbers[word] for word in words_of(text)]


@cache
def vocabulary():
    return Vocabulary(map(text_of, soups()))


def padded(rows, value=0):
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[value] * (longest - len(row))] for row in rows])


def encode(texts, words):
    return [[*words.encode(text), words.numbers[END]] for text in texts]


# Lo que se mide


def losses(model, texts, words):
    """−log P de cada palabra después del título."""
    found = []
    for first in range(0, len(texts), 20):
        batch = padded(encode(texts[first : first + 20], words))
        logits = model(batch)[0] if isinstance(model, nn.Module) else model(batch)
        each = F.cross_entropy(logits[:, :-1].transpose(1, 2), batch[:, 1:], reduction="none")
        in_body = (batch == words.numbers[BREAK]).cumsum(1)[:, :-1] > 0
        found.append(each[in_body & (batch[:, 1:] != 0)])
    return torch.cat(found)


def measure(model, texts):
    return {"pérdida": losses(model, texts, vocabulary()).mean().item()}


# El que cuenta


class Runs:
    """P de cada palabra según las n anteriores, mezclada con la de menos.

    En cada contexto de n palabras, seguido de c que se vieron N veces (u distintas),
    P = (cuentas + u · P de n − 1) / (N + u): la mezcla de Witten y Bell.
    """

    def __init__(self, rows, order, size):
        self.order, self.size = order, size
        self.counts = defaultdict(Counter)
        for row in rows:
            for i, word in enumerate(row):
                for n in range(min(order, i) + 1):
                    self.counts[tuple(row[i - n : i])][word] += 1
        self.after = cache(self.probabilities)

    def probabilities(self, past):
        # Con "cpu": son muchas cuentas pequeñas, y en una GPU cada una espera.
        p = self.after(past[1:]) if past else torch.full((self.size,), 1 / self.size, device="cpu")
        if seen := self.counts.get(past):
            counts = torch.zeros(self.size, device="cpu")
            counts[list(seen)] = torch.tensor([float(n) for n in seen.values()], device="cpu")
            p = (counts + len(seen) * p) / (seen.total() + len(seen))
        return p

    def __call__(self, batch):
        rows = batch.tolist()
        pasts = [[row[max(i + 1 - self.order, 0) : i + 1] for i in range(len(row))] for row in rows]
        found = torch.stack([torch.stack([self.after(tuple(x)) for x in row]) for row in pasts])
        return found.log().to(batch.device)


def counting(texts, validation, order, seed):
    words = vocabulary()
    return Runs(encode(texts, words), order, len(words.words))


# Los que se entrenan


def with_relu(model):
    """Cambia cada SwiGLU por la red de 2017, con los mismos parámetros: d_ff = 6 d."""
    d = model.config.d_model
    for block in model.blocks:
        block.feed_forward = FeedForward(d, 6 * d, activation="relu", bias=False)


def with_biases(model):
    """Da un sesgo, que empieza en cero, a cada matriz y a cada normalización."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, Dense):
                layer = nn.Linear(child.in_features, child.out_features)
                layer.weight = child.weight
                nn.init.zeros_(layer.bias)
                setattr(parent, name, layer)
            elif isinstance(child, nn.LayerNorm):
                child.bias = nn.Parameter(torch.zeros_like(child.weight))


@torch.no_grad()
def with_small_table(model):
    """La tabla empieza con desviación 1/√d, y los logits ya no se dividen."""
    model.embedding.table.weight.mul_(model.config.d_model**-0.5)


SMALL_TABLE = {"logits_scale": 1.0, "change": with_small_table}
VARIANTS = {
    "PaLM": {},
    "ReLU en vez de SwiGLU": {"change": with_relu},
    "sinusoidal, no rotatoria": {"positions": "sinusoidal"},
    "multicabeza": {"num_kv_heads": HEADS},
    "en serie": {"parallel": False},
    "con sesgos": {"change": with_biases},
    "dos tablas": {"tied": False},
    "E pequeña": SMALL_TABLE,
    "E pequeña y en serie": SMALL_TABLE | {"parallel": False},
    "sin pérdida z": {"z": 0.0},
}


def build(change=None, z=None, **options):
    """El PaLM pequeño, o el de otros tamaños, con una cosa cambiada."""
    sizes = {"d_model": WIDTH, "num_heads": HEADS, "num_layers": 2, "max_length": 400}
    words = {} if "vocab_size" in options else {"vocab_size": len(vocabulary().words)}
    model = PaLM(PaLMConfig(**words | sizes | options))
    if change:
        change(model)
    return model


def operations(model, t):
    """Operaciones por palabra al entrenar: 6 por parámetro que multiplica, y las de la atención."""
    matrices = sum(p.numel() for p in model.parameters() if p.ndim == 2)
    if not model.config.tied:
        matrices -= model.embedding.table.weight.numel()  # la de entrada se consulta: no multiplica
    attention = model.blocks[0].attention
    return 6 * matrices + 12 * len(model.blocks) * attention.num_heads * attention.d_head * t


def next_word_loss(model, batch, z=Z_LOSS):
    """La entropía cruzada de la palabra siguiente, y z · (log Z)²."""
    logits, real = model(batch[:, :-1])[0], batch[:, 1:] != 0
    loss = F.cross_entropy(logits[real], batch[:, 1:][real])
    return loss + z * logits[real].logsumexp(-1).square().mean() if z else loss


class Shuffled:
    """Lotes sin fin de filas parecidas en largo; en cada vuelta, otros."""

    def __init__(self, rows, size, seed, *, collate=padded, length=len):
        self.rows, self.size, self.seed = rows, size, seed
        self.collate, self.length = collate, length

    def stream(self, start=0):
        random = Random(self.seed)
        while True:
            order = sorted(self.rows, key=lambda row: (self.length(row), random.random()))
            groups = [order[i : i + self.size] for i in range(0, len(order), self.size)]
            yield from map(self.collate, random.sample(groups, len(groups)))


def trained(name, texts, validation, rate, seed):
    options = VARIANTS[name]
    torch.manual_seed(seed)
    rows = encode(texts, vocabulary())
    model = build(**options)
    steps = round(STEPS * operations(build(), LENGTH) / operations(model, LENGTH))
    return model, train(
        model,
        partial(next_word_loss, z=options.get("z", Z_LOSS)),
        Shuffled(rows, ROWS, seed),
        steps=steps,
        schedule=warmup_cosine(rate, steps // 12, steps),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98)),
        precision="float32",
        seed=seed,
    )


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        name: Rival(
            partial(trained, name),
            RATES,
            against="E pequeña" if name == "E pequeña y en serie" else None,
        )
        for name in VARIANTS
    }
    | {"contar": Rival(counting, ORDERS)},
    measure=measure,
    measures={"pérdida": ""},
    chosen_by="pérdida",
    lowest=True,
)
