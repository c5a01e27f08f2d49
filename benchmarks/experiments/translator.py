"""Traducir recetas: ¿qué hace falta, y con qué se generaliza?

Los renglones de 9000 recetas. Se apartan tres cosas: combinaciones de plato e ingrediente principal, siempre las del capítulo; **estructuras**, en cada semilla otra de cada cinco secuencias de categorías gramaticales de los pasos y las opiniones, de las que no se lee ningún renglón; y, para leer algo más largo que lo leído, parejas de oraciones leídas, puestas en un solo renglón. La mitad de lo apartado es de validación y la otra mitad, de prueba. Todas las palabras de lo apartado están en el entrenamiento.

Compiten el modelo del capítulo, con suavizado de etiquetas y sin él, y una GRU con atención aditiva del mismo ancho, en las dos direcciones: 800 pasos de 4096 tokens, calentando 80, y cada uno elige su tasa con la primera semilla (la última de la GRU se probó después, en una CPU: allí, la anterior acierta el 80.3), por lo que acierta en validación en lo nuevo, mitad combinaciones y mitad estructuras. Los que no se entrenan son los de la página: «recordar» da la traducción del renglón conocido más parecido, y «analogía» cambia una palabra de uno conocido como cambia en otra pareja de renglones. Un acierto es el renglón entero, sin un error.
"""  # noqa: E501

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, partial
from random import Random
from typing import NamedTuple

import sacrebleu
import torch
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.recipes import generate_recipes, split_recipes
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.tokenization import ByteBPE
from course_lib.training.batches import TokenBatches
from course_lib.training.loop import train
from course_lib.training.losses import TranslationLoss
from course_lib.training.schedules import warmup_cosine
from course_lib.translation import Translator

RECIPES, APART = 9000, 300
COMBINATION, STRUCTURE, LONG = (
    "combinaciones nuevas",
    "estructuras nuevas",
    "dos oraciones seguidas",
)
VOCABULARY, WIDTH, BATCH_TOKENS, STEPS, WARMUP = 2500, 128, 4096, 800, 80
LONGEST, BATCH = 90, 128
RATES = (1e-3, 2e-3, 4e-3, 8e-3)


class Line(NamedTuple):
    """Un renglón en los dos idiomas, y por qué es nuevo."""

    source: str
    target: str
    new: str


# Los renglones


@cache
def known_and_apart():
    """De las recetas que se leen y de las apartadas, cada renglón con su estructura."""
    return [
        [(pair, tuple(tag for _, tag in tags)) for r in side for pair, tags in tagged(r)]
        for side in split_recipes(generate_recipes(RECIPES))
    ]


def tagged(recipe):
    return zip(recipe.lines, recipe.tags, strict=True)


@cache
def splits(seed):
    random = Random(seed)
    known, apart = known_and_apart()
    structures = sorted({tags for pair, tags in known if pair.kind in ("paso", "opinión")})
    held = random.sample(structures, len(structures) // 5)
    held = dict.fromkeys(held[::2], 0) | dict.fromkeys(held[1::2], 1)
    read = list(dict.fromkeys((p.source, p.target) for p, tags in known if tags not in held))
    seen, vocabulary = set(read), {word for pair in read for text in pair for word in words(text)}

    def new(found, why, part):
        distinct = sorted({(p.source, p.target) for p in found} - seen)
        fit = [pair for pair in distinct if vocabulary.issuperset(words(" ".join(pair)))]
        some = random.sample(fit, min(APART, len(fit)))
        return [Line(*pair, why) for pair in some if pair not in part]

    combinations = random.sample(apart, len(apart))
    parts = []
    for part in (0, 1):
        mine = [p for p, tags in combinations[part::2] if tags not in held]
        others = [line[:2] for chosen in parts for line in chosen]
        steps = random.sample([pair for pair in read if pair[0][-1] == "."], 2 * APART)
        parts.append(
            new(mine, COMBINATION, others)
            + new([p for p, tags in known if held.get(tags) == part], STRUCTURE, others)
            + [Line(" ".join(a), " ".join(b), LONG) for a, b in joined(steps)]
        )
    return Splits([Line(*pair, "") for pair in read], *parts)


def joined(lines):
    """De dos en dos: los orígenes y las traducciones de cada pareja."""
    return (zip(*two, strict=True) for two in zip(lines[::2], lines[1::2], strict=True))


def words(text):
    return re.findall(r"\w+|[^\w\s]", text)


# Lo que se mide


def measure(model, examples):
    """Cuántos renglones salen exactos, por lo que tienen de nuevo; y BLEU."""
    found = {}
    for kind in (COMBINATION, STRUCTURE, LONG):
        sources, targets = turned([line for line in examples if line.new == kind], model.reverse)
        said = model.translate(sources)
        found[kind] = sum(map(str.__eq__, said, targets)) / len(said)
        found[f"{kind}, BLEU"] = sacrebleu.corpus_bleu(said, [targets]).score
    return {"lo nuevo": (found[COMBINATION] + found[STRUCTURE]) / 2} | found


def turned(lines, reverse):
    """Los orígenes y las traducciones, en la dirección que sea."""
    sides = [line.source for line in lines], [line.target for line in lines]
    return sides[::-1] if reverse else sides


# Los que se entrenan


class Trained(nn.Module):
    """Un modelo con su vocabulario, de texto a texto."""

    def __init__(self, model, translator, reverse) -> None:
        super().__init__()
        self.model, self.translator, self.reverse = model, translator, reverse

    def translate(self, texts):
        if self.model is self.translator.model:
            return self.translator.translate(texts, max_new_tokens=LONGEST)
        order, found = sorted(range(len(texts)), key=lambda i: len(texts[i])), {}
        for first in range(0, len(order), BATCH):
            chosen = order[first : first + BATCH]
            source = self.translator.sources(texts[i] for i in chosen)
            ids = self.model.greedy(source, LONGEST).tolist()
            found |= zip(chosen, map(self.translator.tokenizer.decode, ids), strict=True)
        return [found[i] for i in range(len(texts))]


@cache
def tokenizer_of(seed):
    return ByteBPE.train(
        [text for line in splits(seed).train for text in line[:2]], vocab_size=VOCABULARY
    )


def translator(tokenizer, special):
    """El modelo del capítulo, sin entrenar."""
    shape = {"num_heads": 4, "num_layers": 2, "d_ff": 2 * WIDTH, "placement": "pre"}
    lengths = {"dropout": 0.0, "max_length": 128}
    config = TransformerConfig(tokenizer.vocab_size, d_model=WIDTH, **shape, **lengths, **special)
    return Translator(tokenizer, Transformer(config))


def trained(recurrent, smoothing, reverse, train_set, validation, rate, seed):
    tokenizer = tokenizer_of(seed)
    names = {"pad_id": "<pad>", "start_id": "<s>", "end_id": "</s>"}
    special = {name: tokenizer.special(token) for name, token in names.items()}
    torch.manual_seed(seed)
    start, size = translator(tokenizer, special), tokenizer.vocab_size
    gru = Seq2SeqConfig(size, size, WIDTH, "additive", **special)
    model = Trained(Seq2Seq(gru) if recurrent else start.model, start, reverse)
    texts = zip(*turned(train_set, reverse), strict=True)
    history = train(
        model.model,
        TranslationLoss(label_smoothing=smoothing, pad_id=special["pad_id"]),
        TokenBatches(
            [model.translator.example(*pair) for pair in texts],
            batch_tokens=BATCH_TOKENS,
            pad_id=special["pad_id"],
            seed=seed,
        ),
        steps=STEPS,
        schedule=warmup_cosine(rate, WARMUP, STEPS),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98), eps=1e-9),
        precision="float32",
        seed=seed,
    )
    return model, history


# Los que no


class Memory:
    """La traducción del renglón que comparte más palabras; la suya, si se leyó."""

    def __init__(self, lines: Sequence[Line], reverse: bool) -> None:
        self.reverse = reverse
        self.known = dict(zip(*turned(lines, reverse), strict=True))
        self.bags = [(frozenset(words(s)), target) for s, target in self.known.items()]

    def translate(self, texts: Sequence[str]) -> list[str]:
        return [self.known[text] if text in self.known else self.closest(text) for text in texts]

    def closest(self, text: str) -> str:
        mine = set(words(text))
        # El coseno de los dos conjuntos de palabras.
        return max(self.bags, key=lambda one: len(mine & one[0]) / len(one[0]) ** 0.5)[1]


class Analogy(Memory):
    """Cambia una palabra de un renglón conocido como cambia en otra pareja de renglones."""

    def __init__(self, lines: Sequence[Line], reverse: bool) -> None:
        super().__init__(lines, reverse)
        self.fillers, self.frames = defaultdict(dict), defaultdict(set)
        for source, target in self.known.items():
            for frame, word in frames(source):
                self.fillers[frame][word] = pieces(target)
                self.frames[word].add(frame)

    def closest(self, text: str) -> str:
        found = Counter(self.candidates(text))
        # La de la pareja más parecida y, entre esas, la más repetida.
        return "".join(max(found, key=lambda one: (one[0], found[one], one[1]), default=(0, ()))[1])

    def candidates(self, text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
        for frame, word in frames(text):
            for other, target in self.fillers.get(frame, {}).items():
                for pair in self.frames[word] & self.frames[other]:
                    fillers = self.fillers[pair]
                    if swapped := swap(target, fillers[other], fillers[word]):
                        yield len({*frame} & {*pair}), swapped


def pieces(text: str) -> list[str]:
    """Las palabras, cada una con el espacio que lleva delante."""
    return re.findall(r"\s?(?:\w+|[^\w\s])", text)


def frames(text: str) -> Iterator[tuple[tuple, str]]:
    """El renglón con un hueco en cada posición, y la palabra que estaba ahí."""
    found = words(text)
    for i, word in enumerate(found):
        yield (*found[:i], None, *found[i + 1 :]), word


def swap(target: list[str], before: list[str], after: list[str]) -> tuple[str, ...]:
    """El cambio que lleva de una traducción a otra, en una tercera; () si no se puede."""
    both = list(zip(before, after, strict=False))
    start = next((i for i, (x, y) in enumerate(both) if x != y), len(both))
    rest = list(zip(before[start:][::-1], after[start:][::-1], strict=False))
    end = next((i for i, (x, y) in enumerate(rest) if x != y), len(rest))
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    for i in range(len(target) - len(old) + 1) if old else ():
        if target[i : i + len(old)] == old:
            return (*target[:i], *new, *target[i + len(old) :])
    return ()


def cheap(make, reverse, train_set, validation, setting, seed):
    return make(train_set, reverse)


def rivals():
    found = {}
    for to, reverse in (("", False), (", al español", True)):
        ours = f"el traductor{to}"
        found[ours] = Rival(partial(trained, False, 0.0, reverse), RATES)
        if not reverse:
            smoothed = partial(trained, False, 0.1, reverse)
            found["con suavizado"] = Rival(smoothed, RATES)
        gru = partial(trained, True, 0.0, reverse)
        found[f"GRU con atención{to}"] = Rival(gru, (*RATES, 1.6e-2), ours)
        found[f"analogía{to}"] = Rival(partial(cheap, Analogy, reverse), against=ours)
        found[f"recordar{to}"] = Rival(partial(cheap, Memory, reverse), against=ours)
    return found


EXPERIMENT = Experiment(
    splits=splits,
    rivals=rivals(),
    measure=measure,
    measures={
        "lo nuevo": "%",
        **{k: u for n in (COMBINATION, STRUCTURE, LONG) for k, u in ((n, "%"), (f"{n}, BLEU", ""))},
    },
    chosen_by="lo nuevo",
)
