"""BERT: qué enseña cada tarea del preentrenamiento, y cuánto vale leer lo que sigue

El cuadro de Devlin et al. (2019): BERT; sin la segunda tarea (NSP); un gemelo causal, que aprende a predecir cada token con los anteriores, sin NSP; y otro igual, preentrenado aparte, con una BiLSTM encima al ajustarlo. Además, BERT con la mitad y con el doble de ancho. Todos leen los mismos pares de oraciones de recetas, con los mismos pasos, y eligen entre tres o más su tasa máxima por los huecos de validación de la primera semilla. Son modelos de dos bloques y ancho 128, y 1800 pasos de 64 pares; al entrenar se oculta el 40 %.

«Huecos»: de un par cuya segunda oración nadie leyó se tapa un token de ella y se ve todo lo demás; el causal, solo lo de antes. Se cuentan aparte los huecos cuyas dos vecinas se vieron juntas al entrenar y los demás. «Artículos»: cuál de «el», «la», «los» y «las» había en una oración que nadie leyó; en «probando los cuatro», quien lee hacia atrás puntúa la oración entera con cada uno, y así también aprovecha lo que sigue; los demás contestan lo mismo que antes. «Par» y «palabras» son tareas de `fine_tuning`, con 600 pares (¿siguen estos pasos a los otros?) y 100 oraciones: se ajusta el modelo entero, con la mejor de dos tasas en validación. El causal resume el par en su último token.

«Guardado» es el BERT de `book/_models/bert`: tres bloques, 6500 pasos y otras recetas, entre las que pudo haber alguna de esas oraciones.

Dos rivales cuentan. «Contar vecinas» responde al hueco con lo que más se vio entre la misma ventana de tokens, de dos a cada lado a ninguno; «contar lo anterior» solo mira hacia atrás. Para las tareas usan los rivales baratos de `fine_tuning`. Cada semilla genera sus recetas. Con la última, las seis redes se preentrenaron y ajustaron en una CPU; todo lo demás se hizo en una GPU, que con la misma semilla no da siempre los mismos números. La validación y la prueba son de combinaciones de plato e ingrediente apartadas, la mitad cada una; los ejemplos de las tareas, como en `fine_tuning`.
"""  # noqa: E501

import copy
from collections import Counter
from functools import partial
from itertools import pairwise
from random import Random

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks.experiments import Experiment, Rival, Splits
from benchmarks.experiments.fine_tuning import (
    CHEAP,
    TAGS,
    TASKS,
    Fitted,
    joined,
    of_task,
    pieces,
    special,
    stored,
    tokenizer,
)
from benchmarks.experiments.palm import Runs, Shuffled, padded
from course_lib.data.masking import IGNORED, next_sentence_pairs
from course_lib.data.recipes import SENTENCE_END, generate_recipes, split_recipes
from course_lib.devices import seed_everything
from course_lib.models.bert import BertConfig, BertForPreTraining
from course_lib.training.loop import train
from course_lib.training.pretraining import PreTrainingLoss
from course_lib.training.schedules import warmup_cosine

RECIPES, READ, HOLES, ARTICLES, JUDGED = 7000, 2200, 400, 200, 150
DOCUMENTS, SHOWN = 25, 10  # de los que se mira si una oración sigue, y cuántas veces
WIDTH, STEPS, ROWS, HIDDEN = 128, 1800, 64, 0.4
RATES = (1.5e-3, 3e-3, 6e-3)
ORDERS = (1, 2, 3, 4, 6, 8, 12, 16)
WINDOWS = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (1, 2), (2, 2))
TUNED = {"par": (120, (3e-4, 1e-3)), "palabras": (150, (1e-3, 3e-3))}  # pasos y tasas


# Los ejemplos


def sentences(recipe):
    """Una receta como lista de oraciones, en orden."""
    opinion = SENTENCE_END.split(recipe.opinion)
    return [recipe.title, ", ".join(recipe.ingredients), *recipe.steps, *opinion]


def pairs_of(documents, seed):
    """Pares de oraciones como los lee BERT: (tokens, segmentos, si la segunda sigue)."""
    documents = [list(map(pieces, document)) for document in documents]
    return [(*joined(a, b), label) for a, b, label in next_sentence_pairs(documents, seed)]


def articles():
    return [tokenizer().vocabulary.index(word) for word in ("el", "la", "los", "las")]


def asked(recipes, read, known_pairs, seed):
    """Huecos y artículos de pasos y opiniones que no están en `read`; los añade."""
    random, holes, places = Random(seed), [], []
    for recipe in recipes:
        for before, sentence in list(pairwise(sentences(recipe)))[1:]:
            if sentence in read:
                continue
            read.add(sentence)
            first, second = pieces(before), pieces(sentence)
            row, i = joined(first, second)[0], len(first) + 2 + random.randrange(len(second))
            holes.append(("hueco", (row, i, (row[i - 1], row[i + 1]) in known_pairs)))
            alone = joined(second)[0]
            here = [i for i, token in enumerate(alone) if token in articles()]
            places.extend(("artículo", (alone, i)) for i in here)
    return random.sample(holes, HOLES) + random.sample(places, ARTICLES)


def splits(seed):
    known, new = split_recipes(generate_recipes(RECIPES, seed=seed))
    combinations = sorted({recipe.combination for recipe in new})
    documents = [sentences(recipe) for recipe in known[:READ]]
    read = {sentence for document in documents for sentence in document}
    rows = (row for row, *_ in pairs_of(documents, seed))
    known_pairs = {pair for row in rows for pair in zip(row, row[2:], strict=False)}
    parts = Splits([("receta", document) for document in documents], [], [])
    for name in TUNED:
        task = TASKS[name]
        labelled = task.make(task.labels, seed)
        repeated = set(map(repr, labelled))
        extra = [e for e in task.make(3 * JUDGED, 100 + seed) if repr(e) not in repeated]
        found = labelled, extra[:JUDGED], task.make(JUDGED, 200 + seed, held_out=True)
        for part, examples in zip(parts, found, strict=True):
            part.extend((name, example) for example in examples)
    for part, half in ((parts.validation, 0), (parts.test, 1)):
        mine = [r for r in new if combinations.index(r.combination) % 2 == half]
        part.extend(asked(mine, read, known_pairs, seed))
        part.extend(("receta", sentences(recipe)) for recipe in mine[:DOCUMENTS])
    return parts


# Lo que se mide


def measure(model, examples):
    holes, places = of_task("hueco", examples), of_task("artículo", examples)
    correct = torch.tensor([row[i] for row, i, _ in holes])
    seen = torch.tensor([seen for _, _, seen in holes])
    hits = (model.fill([(row, i) for row, i, _ in holes]).argmax(-1) == correct).double()
    right = torch.tensor([articles().index(row[i]) for row, i in places])
    compare = getattr(model, "compare", model.fill)
    found = {
        "huecos": hits,
        "vistas juntas": hits[seen],
        "nunca vistas": hits[~seen],
        "artículos": model.fill(places)[:, articles()].argmax(-1) == right,
        "probando los cuatro": _four(compare(places)).argmax(-1) == right,
    }
    return {name: values.double().mean().item() for name, values in found.items()} | {
        name: model.judges[name](of_task(name, examples)) for name in TUNED
    }


def _four(scores):
    """Las puntuaciones de los cuatro artículos, si son las de todo el vocabulario."""
    return scores if scores.shape[1] == 4 else scores[:, articles()]


def in_groups(items, size=100):
    return [items[first : first + size] for first in range(0, len(items), size)]


# Los que cuentan


def cheap(train_set, validation, seed):
    """Los que en `fine_tuning` no son redes; su C, en validación."""
    found = {}
    for name in TUNED:
        fitted = [CHEAP[name](name, train_set, validation, C, seed) for C in (0.1, 1.0, 10.0)]
        best = max(fitted, key=lambda one, name=name: one.judge(of_task(name, validation)))
        found[name] = best.judge
    return found


def here(found):
    """Lo lleva adonde se mide."""
    return found.to(torch.empty(0).device)


def rows_of(train_set, seed):
    return [row for row, *_ in pairs_of(of_task("receta", train_set), seed)]


def neighbours(row, i, window):
    before, after = window
    return window, tuple(row[max(i - before, 0) : i]), tuple(row[i + 1 : i + 1 + after])


def counting_neighbours(train_set, validation, setting, seed):
    """Lo que más se vio en la ventana mayor que se haya visto."""
    tables = {}
    for row in rows_of(train_set, seed):
        for i in range(1, len(row) - 1):
            for window in WINDOWS:
                tables.setdefault(neighbours(row, i, window), Counter())[row[i]] += 1

    def fill(holes):
        scores = torch.zeros(len(holes), tokenizer().vocab_size, device="cpu")
        for scored, (row, i) in zip(scores, holes, strict=True):
            for weight, window in enumerate(WINDOWS):
                seen = tables.get(neighbours(row, i, window), Counter())
                for token, n in seen.items():
                    scored[token] += 10.0**weight * n / seen.total()
        return here(scores)

    model = Fitted()
    model.fill, model.judges = fill, cheap(train_set, validation, seed)
    return model


def counting_before(train_set, validation, order, seed):
    runs = Runs(rows_of(train_set, seed), order, tokenizer().vocab_size)

    def fill(holes):
        pasts = [tuple(row[max(i - order, 0) : i]) for row, i in holes]
        return here(torch.stack(list(map(runs.after, pasts))))

    model = Fitted()
    model.fill, model.judges = fill, cheap(train_set, validation, seed)
    model.compare = partial(compare_whole, lambda batch: runs(batch))
    return model


@torch.no_grad()
def compare_whole(score, places):
    """log P de la oración entera, con cada uno de los cuatro artículos en su sitio."""
    rows = [[*row[:i], a, *row[i + 1 :]] for row, i in places for a in articles()]
    found = []
    for group in in_groups(rows):
        batch = padded(group)
        each = F.cross_entropy(
            score(batch)[:, :-1].transpose(1, 2), batch[:, 1:], ignore_index=0, reduction="none"
        )
        found.append(-each.sum(1))
    return torch.cat(found).view(-1, 4)


# Los que se entrenan


def in_batches(examples, size, seed, collate):
    return Shuffled(examples, size, seed, collate=collate, length=lambda example: len(example[0]))


def together(examples):
    """Un lote, campo por campo."""
    columns = zip(*examples, strict=True)
    return tuple(padded(c) if isinstance(c[0], list) else torch.tensor(c) for c in columns)


def with_holes(random, pairs):
    """Un lote de pares con tokens ocultos, y lo que había en ellos."""
    masked, labels = zip(*(hide(row, random) for row, *_ in pairs), strict=True)
    _, segment_ids, follows = together(pairs)
    return padded(masked), segment_ids, padded(labels, IGNORED), follows


def hide(row, random):
    """La regla del 15 %, con otra parte: 80 % «[MASK]», 10 % otro y 10 % el mismo."""
    mask, masked, labels = special("[MASK]"), list(row), [IGNORED] * len(row)
    ordinary = [i for i, token in enumerate(row) if token > mask]
    for i in random.sample(ordinary, min(len(ordinary), max(1, round(HIDDEN * len(row))))):
        labels[i], draw = row[i], random.random()
        if draw < 0.9:
            masked[i] = mask if draw < 0.8 else random.randrange(mask + 1, tokenizer().vocab_size)
    return masked, labels


def build(width=WIDTH, *, next_sentence=True, causal=False):
    config = BertConfig(
        tokenizer().vocab_size, width, 4, 2, 4 * width, 128, dropout=0.0, attention_dropout=0.0
    )
    model = BertForPreTraining(config, next_sentence=next_sentence)
    model.bert.embedding.spread_out()
    model.causal = causal
    for block in model.bert.blocks if causal else ():
        block.forward = partial(block.forward, causal=True)
    return model


def next_token_loss(model, batch):
    """La pérdida de predecir cada token real con los anteriores."""
    token_ids, segment_ids, _ = batch
    real = token_ids[:, 1:] != 0
    H = model.bert(token_ids, segment_ids).states[:, :-1][real]
    return F.cross_entropy(model.decode(H), token_ids[:, 1:][real])


@torch.no_grad()
def fill_masked(model, holes):
    mask, found = special("[MASK]"), []
    for group in in_groups(holes):
        rows = [[*row[:i], mask, *row[i + 1 :]] for row, i in group]
        batch = padded(rows)
        found.append(model(batch, segments(rows), positions=batch == mask).tokens)
    return torch.cat(found)


@torch.no_grad()
def fill_next(model, holes):
    found = []
    for group in in_groups(holes):
        rows = [row[:i] for row, i in group]
        H = model.bert(padded(rows), segments(rows)).states
        found.append(model.decode(H[torch.arange(len(rows)), lengths(rows) - 1]))
    return torch.cat(found)


def lengths(rows):
    return torch.tensor(list(map(len, rows)))


def segments(rows):
    """De qué oración es cada token: la segunda empieza detrás del primer [SEP]."""
    ids = padded(rows)
    return ((ids == special("[SEP]")).cumsum(1) - (ids == special("[SEP]")).long() > 0).long()


class Tuned(nn.Module):
    """El preentrenado con una cabeza y, si se pide, una BiLSTM entre los dos."""

    def __init__(self, model, task, lstm):
        super().__init__()
        d = model.config.d_model
        self.bert, self.causal, self.task = copy.deepcopy(model.bert), model.causal, task
        self.lstm = nn.LSTM(d, d // 2, batch_first=True, bidirectional=True) if lstm else None
        self.summary = copy.deepcopy(model.bert.pooler) or nn.Linear(d, d)
        self.output = nn.Linear(d, 2 if task == "par" else TAGS)

    def forward(self, token_ids, segment_ids):
        H, last = self.bert(token_ids, segment_ids).states, (token_ids != 0).sum(1) - 1
        ends = H[torch.arange(len(H)), last] if self.causal else H[:, 0]
        if self.lstm:
            lengths = (last + 1).cpu()
            packed = pack_padded_sequence(H, lengths, batch_first=True, enforce_sorted=False)
            read, (h, _) = self.lstm(packed)
            H, ends = pad_packed_sequence(read, batch_first=True)[0], torch.cat((*h,), dim=-1)
        return self.output(H if self.task == "palabras" else torch.tanh(self.summary(ends)))


@torch.no_grad()
def accuracy(model, task, examples):
    groups = in_groups(list(map(task.encode, examples)), 50)
    answers = [task.answer(model, together(group)) for group in groups]
    return torch.cat([found == correct for found, correct in answers]).double().mean().item()


def tuned(model, name, train_set, validation, lstm, seed):
    """Ajusta el modelo entero a una tarea, con la mejor de dos tasas."""
    task, (steps, rates) = TASKS[name], TUNED[name]
    examples, best = list(map(task.encode, of_task(name, train_set))), (-1.0, None)
    for rate in rates:
        seed_everything(seed)
        student = Tuned(model, name, lstm)
        train(
            student,
            task.loss,
            in_batches(examples, task.batch, seed, together),
            steps=steps,
            schedule=warmup_cosine(rate, steps // 10, steps),
            optimizer=partial(torch.optim.AdamW, betas=(0.9, 0.98), weight_decay=0.01, fused=True),
            precision="float32",
            seed=seed,
        )
        judge = partial(accuracy, student, task)
        best = max(best, (judge(of_task(name, validation)), judge), key=lambda pair: pair[0])
    return best[1]


def progress(model, validation, step):
    """Lo que acierta en validación mientras se preentrena: huecos y, si la tiene, la otra tarea."""
    if step % (STEPS // SHOWN):
        return None
    holes = [(row, i) for row, i, _ in of_task("hueco", validation)]
    correct = torch.tensor([row[i] for row, i in holes])
    found = {"huecos": (model.fill(holes).argmax(-1) == correct).double().mean().item()}
    if model.next_sentence:
        pairs = pairs_of(of_task("receta", validation), 0)
        batches = [together(group) for group in in_groups(pairs)]
        hits = [model(a, b).next_sentence.argmax(-1) == follows for a, b, follows in batches]
        found["oración siguiente"] = torch.cat(hits).double().mean().item()
    return found


def ready(model, lstm, train_set, validation, seed):
    """Lo ajusta a las dos tareas, y le da cómo contestar."""
    model.judges = {name: tuned(model, name, train_set, validation, lstm, seed) for name in TUNED}
    if model.causal:
        model.compare = partial(compare_whole, lambda batch: model(batch).tokens)
    return model


def kept(train_set, validation, setting, seed):
    """El que está en `book/_models/bert`."""
    model = here(stored("bert"))
    model.causal, model.fill = False, partial(fill_masked, model)
    return ready(model, False, train_set, validation, seed)


def pretrained(options, lstm, train_set, validation, rate, seed):
    seed_everything(seed)
    model = build(**options)
    pairs = pairs_of(of_task("receta", train_set), seed)
    collate = together if model.causal else partial(with_holes, Random(seed))
    model.fill = partial(fill_next if model.causal else fill_masked, model)
    history = train(
        model,
        next_token_loss if model.causal else PreTrainingLoss(),
        in_batches(pairs, ROWS, seed, collate),
        steps=STEPS,
        schedule=warmup_cosine(rate, STEPS // 10, STEPS),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98), fused=True),
        precision="float32",
        on_step=lambda step, model: progress(model, validation, step),
        seed=seed,
    )
    return ready(model, lstm, train_set, validation, seed), history


CAUSAL = {"next_sentence": False, "causal": True}
NETWORKS = {
    "BERT": ({}, False),
    "sin NSP": ({"next_sentence": False}, False),
    "gemelo causal": (CAUSAL, False),
    "causal y BiLSTM": (CAUSAL, True),
    "ancho 64": ({"width": 64}, False),
    "ancho 256": ({"width": 256}, False),
}

EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        name: Rival(
            partial(pretrained, *options),
            RATES,
            against="gemelo causal" if name == "causal y BiLSTM" else None,
        )
        for name, options in NETWORKS.items()
    }
    | {
        "guardado": Rival(kept),
        "contar vecinas": Rival(counting_neighbours),
        "contar lo anterior": Rival(counting_before, ORDERS, against="gemelo causal"),
    },
    measure=measure,
    measures=dict.fromkeys(
        ("huecos", "vistas juntas", "nunca vistas", "artículos", "probando los cuatro", *TUNED), "%"
    ),
    chosen_by="huecos",
)
