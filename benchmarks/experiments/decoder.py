"""Los renglones de ingredientes: ¿traduce el decodificador, o basta con copiar?

El modelo del capítulo `decoder`, con la misma tarea y otros que la hacen. La prueba tiene dos grupos. Donde «se puede copiar», hay en el entrenamiento un renglón que solo cambia en la cantidad. Donde «no se puede», se apartó el ingrediente entero, con todas sus cantidades; sus palabras, una por una, sí se entrenaron en otros.

«Copiar» busca ese renglón y le cambia la cantidad. «Analogía» sabe más: si dos renglones entrenados se distinguen en una palabra, aprende qué cambia en la traducción, y lo aplica a otro. Ninguno de los dos se entrena. «GRU con atención» es el traductor recurrente de `attention`, del mismo ancho. Todo el que se entrena da 600 pasos y elige su tasa (si gana la del borde, se prueba la siguiente) en validación, que aparta otros ingredientes y otros renglones que la prueba. Cada semilla aparta los suyos.
"""  # noqa: E501

import re
from collections import Counter, defaultdict
from functools import cache, partial
from itertools import permutations
from random import Random

import torch
import torch.nn.functional as F

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.recipes import generate_recipes, translation_pairs
from course_lib.devices import seed_everything
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.primitives.attention import padding_mask
from course_lib.training.loop import train

PAD, START, END = 0, 1, 2
STEPS, BATCH, WIDTH, LONGEST = 600, 64, 32, 12
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
APART = 40  # ingredientes enteros, y otros tantos renglones sueltos, en validación y en prueba


@cache
def lines():
    recipes = translation_pairs(generate_recipes(1500, seed=0))
    found = {(p.source.lower(), p.target.lower()) for p in recipes if p.kind == "ingrediente"}
    return sorted(found)


def cut(text):
    """La cantidad, por un lado, y lo demás, por el otro."""
    return re.match(r"(half a|\S+) ?(.*)", text).groups()


def splits(seed):
    """Aparta ingredientes enteros, hechos de palabras que quedan, y renglones sueltos."""
    random = Random(seed)
    things = defaultdict(list)
    for line in lines():
        things[cut(line[0])[1]].append(line)
    words = Counter(word for thing in things for word in set(thing.split()))
    apart = []
    for thing in random.sample(sorted(things), len(things)):
        if len(apart) < 2 * APART and all(words[word] > 1 for word in thing.split()):
            apart.append(thing)
            words.subtract(set(thing.split()))
    whole = [things.pop(thing) for thing in apart]
    kept = [line for same in things.values() for line in same]
    repeated = [same for same in things.values() if len(same) > 1]
    loose = [random.choice(same) for same in random.sample(repeated, 2 * APART)]
    train = [line for line in kept if line not in loose]
    validation, test = (
        [line for same in whole[part] for line in same] + loose[part]
        for part in (slice(APART), slice(APART, None))
    )
    known = {word for source, _ in train for word in source.split()}
    copied = {cut(source)[1] for source, _ in train}

    def examples(part):
        return [
            (source, target, cut(source)[1] in copied)
            for source, target in part
            if known >= set(source.split())
        ]

    return Splits(train, examples(validation), examples(test))


def measure(model, examples):
    write = writer(model) if isinstance(model, torch.nn.Module) else model
    hits = {True: [], False: []}
    written = write([source for source, _, _ in examples])
    for (_, target, copyable), answer in zip(examples, written, strict=True):
        hits[copyable].append(answer == target)
    return {
        "se puede copiar": sum(hits[True]) / len(hits[True]),
        "no se puede": sum(hits[False]) / len(hits[False]),
    }


# Los que no se entrenan


def copying(train, validation, setting, seed):
    things, amounts = {}, {}
    for source, target in train:
        (amount, thing), (amount_en, thing_en) = cut(source), cut(target)
        things.setdefault(thing, thing_en)
        amounts.setdefault(amount, amount_en)

    def answer(source):
        amount, thing = cut(source)
        return f"{amounts.get(amount)} {things.get(thing)}".strip()

    return lambda sources: list(map(answer, sources))


def holes(text):
    """Cada palabra, con el renglón sin ella."""
    words = text.split()
    for i, word in enumerate(words):
        yield word, (*words[:i], None, *words[i + 1 :])


def change(a, b):
    """Lo que hay que quitar de una traducción y poner en su lugar para que sea la otra."""
    a, b = a.split(), b.split()
    shared = min(len(a), len(b))
    start = next((i for i in range(shared) if a[i] != b[i]), shared)
    end = next((i for i in range(shared - start) if a[-1 - i] != b[-1 - i]), shared - start)
    return " ".join(a[start : len(a) - end]), " ".join(b[start : len(b) - end])


def analogy(train, validation, setting, seed):
    known, changes = defaultdict(list), defaultdict(Counter)
    for source, target in train:
        for word, rest in holes(source):
            known[rest].append((word, target))
    for same in known.values():
        for (word, target), (other, other_target) in permutations(same, 2):
            changes[word, other][change(target, other_target)] += 1

    def answer(source):
        votes = Counter()
        for word, rest in holes(source):
            for other, target in known[rest]:
                for (old, new), count in changes[other, word].most_common(3):
                    if old and f" {old} " in f" {target} ":
                        votes[f" {target} ".replace(f" {old} ", f" {new} ", 1).strip()] += count
        return votes.most_common(1)[0][0] if votes else ""

    return lambda sources: list(map(answer, sources))


# Los que se entrenan


class Maskless(Transformer):
    """El mismo, con el error del capítulo: al entrenar, el destino se ve entero."""

    def forward(self, source, target):
        mask = padding_mask(source, PAD)
        x, y = self.source_embedding(source), self.target_embedding(target)
        seen = {"source_mask": mask, "cross_mask": mask, "causal": False}
        return self.logits(self.encoder_decoder(x, y, **seen))


@cache
def vocabularies():
    """Una palabra, un número, en cada idioma."""
    words = [dict.fromkeys(" ".join(side).split()) for side in zip(*lines(), strict=True)]
    names = [["<pad>", "<s>", "</s>", *side] for side in words]
    return [{word: i for i, word in enumerate(side)} for side in names]


def encode(rows):
    length = max(map(len, rows))
    return torch.tensor([row + [PAD] * (length - len(row)) for row in rows])


def read(sources):
    return encode([[vocabularies()[0][word] for word in source.split()] for source in sources])


def transformer(kind):
    spanish, english = map(len, vocabularies())
    sizes = {"d_model": WIDTH, "num_heads": 2, "num_layers": 1, "d_ff": 2 * WIDTH, "dropout": 0.0}
    return kind(TransformerConfig(spanish, english, max_length=64, placement="pre", **sizes))


def recurrent():
    return Seq2Seq(Seq2SeqConfig(*map(len, vocabularies()), d_model=WIDTH, attention="additive"))


def loss(model, batch):
    source, target = batch
    logits = model(source, target[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)


def trained(build, train_lines, validation, rate, seed):
    seed_everything(seed)
    english, sources = vocabularies()[1], read([source for source, _ in train_lines])
    targets = encode([[START, *(english[w] for w in t.split()), END] for _, t in train_lines])

    def batches():
        generator = torch.Generator(device=sources.device).manual_seed(seed)
        while True:
            rows = torch.randint(len(sources), (BATCH,), generator=generator)
            yield sources[rows], targets[rows]

    model = build()
    return model, train(model, loss, batches(), steps=STEPS, learning_rate=rate, seed=seed)


def writer(model):
    """Escribe de palabra en palabra, la más probable, leyendo todo otra vez en cada paso."""
    names = list(vocabularies()[1])

    def words(ids):
        ids = ids[1 : ids.index(END)] if END in ids else ids[1:]
        return " ".join(names[i] for i in ids)

    def write(sources):
        source = read(sources)
        written = torch.full((len(source), 1), START)
        for _ in range(LONGEST):
            best = model(source, written)[:, -1:].argmax(-1)
            written = torch.cat([written, best], dim=1)
        return list(map(words, written.tolist()))

    return write


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        "el modelo": Rival(partial(trained, partial(transformer, Transformer)), RATES),
        "sin máscara": Rival(partial(trained, partial(transformer, Maskless)), RATES),
        "GRU con atención": Rival(partial(trained, recurrent), RATES),
        "copiar": Rival(copying),
        "analogía": Rival(analogy),
    },
    measure=measure,
    measures={"se puede copiar": "%", "no se puede": "%"},
    chosen_by="no se puede",
    tuning_seeds=2,
)
