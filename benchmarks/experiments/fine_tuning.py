"""Ajuste fino: ¿cuánto vale haber leído, si el que empieza de cero da más pasos?

Las cinco tareas del capítulo `fine_tuning`. El preentrenado es el guardado en `book/_models/bert`, siempre el mismo; «desde cero» es el mismo modelo sin preentrenar y, salvo en palabras, da de dos a tres veces más pasos (en opinión, 800 contra 400; en par, 180 contra 60; en opciones, 300 contra 150; en pregunta, 320 contra 160; en palabras, 150 los dos), con el mismo plan de la tasa, estirado. Los lotes son de 16, y de 8 en opciones y palabras. Cada uno elige su tasa máxima en validación; si gana la del borde, se prueba la siguiente. Hay 2000 opiniones etiquetadas, 600 pares, 400 opciones, 1500 preguntas y 100 oraciones con la categoría de cada palabra; se valida con 150 ejemplos de cada tarea, del lado de entrenamiento y distintos de los entrenados, y se prueba con 200 de combinaciones apartadas. Cada semilla genera los suyos. Los pasos y los ejemplos de la tabla son los que caben en menos de una hora de un núcleo: por eso en opinión hay otra fila, «mismos pasos», con el preentrenado y 800.

«Sus ejemplos» es lo que acierta al final en 150 de los que entrenó: si es casi el 100 %, no le queda nada que aprender de ellos.

El rival barato de cada tarea no es una red. Opinión: bolsa de palabras, parejas y tríos. Par y opciones: bolsa de las palabras que la segunda parte comparte con la primera, por un lado, y de las que no, por otro. Pregunta: cada palabra del texto, sus vecinas y cuáles de ellas están en la pregunta; gana el mejor tramo. Palabras: la palabra, su final y sus vecinas. Todos con regresión logística, que elige su C. «Rasgos» es el preentrenado quieto: la media de sus estados, con regresión logística; en las palabras, una sonda de mínimos cuadrados sobre el primer trozo de cada una, que elige su λ. «Brevemente» es el mismo preentrenamiento, en el paso 1500 de 6500. Con menos etiquetas, o con más, y con partes quietas, los pasos son los mismos.
"""  # noqa: E501

import re
from collections import Counter, defaultdict
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data import tasks
from course_lib.data.masking import IGNORED, join_pair
from course_lib.devices import seed_everything
from course_lib.models.bert import (
    BertForMultipleChoice,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    best_spans,
)
from course_lib.pretrained import load_bert
from course_lib.tokenization import WordPiece
from course_lib.training.batches import TokenBatches
from course_lib.training.loop import train
from course_lib.training.pretraining import (
    ChoiceLoss,
    ClassificationLoss,
    SpanLoss,
    TaggingLoss,
    stack_choices,
)
from course_lib.training.schedules import warmup_cosine

MODELS = Path(__file__).parents[2] / "book" / "_models"
VALIDATION, TEST, SHOWN = 150, 200, 60  # SHOWN: los de validación de cada punto de una curva
RATES = (5e-4, 1e-3, 2e-3)
STRENGTHS = (0.1, 1.0, 10.0)
RIDGES = (1.0, 10.0, 100.0)
LABELS = (10, 30, 100, 300)
FROZEN = {
    "incrustaciones quietas": ("embedding",),
    "y un bloque": ("embedding", "blocks.0"),
    "y dos bloques": ("embedding", "blocks.0", "blocks.1"),
    "solo la cabeza": ("embedding", "blocks"),
}
FEATURES = ("incrustaciones", "bloque 1", "bloque 2", "bloque 3", "suma", "concatenados")

# Los textos, como los lee el modelo


@cache
def tokenizer():
    return WordPiece(MODELS / "bert" / "vocab.txt", strip_accents=False)


@cache
def stored(folder):
    return load_bert(MODELS / folder).float()


def special(name):
    return tokenizer().special(name)


def joined(first, second=None):
    """Los identificadores y los segmentos de una o dos listas de trozos."""
    ids = {"class_id": special("[CLS]"), "separator_id": special("[SEP]")}
    return join_pair(first, second, max_length=stored("bert").config.max_length, **ids)


def pieces(text):
    return tokenizer().encode(text)


def encode_choices(example):
    context = pieces(example.context)
    fields = (field for text in example.choices for field in joined(context, pieces(text)))
    return *fields, example.label


def encode_question(example):
    question = pieces(example.question)
    first = len(question) + 2 + len(pieces(example.context[: example.start]))
    last = first + len(pieces(example.answer)) - 1
    return *joined(question, pieces(example.context)), first, last


def encode_tagged(example):
    words = [pieces(word) for word in example.words]
    labels = [
        label
        for word, tag in zip(words, example.tags, strict=True)
        for label in (tasks.TAGS.index(tag), *[IGNORED] * (len(word) - 1))
    ]
    return *joined([i for word in words for i in word]), [IGNORED, *labels, IGNORED]


def answer_class(model, batch):
    return model(*batch[:2]).argmax(-1), batch[2]


def answer_choice(model, batch):
    *fields, label = batch
    return model(*stack_choices(fields, special("[PAD]"))).argmax(-1), label


def answer_span(model, batch):
    token_ids, segment_ids, first, last = batch
    candidates = (segment_ids == 1) & (token_ids != special("[SEP]"))
    spans = best_spans(model(token_ids, segment_ids), candidates, longest=10)
    return 1000 * spans[:, 0] + spans[:, 1], 1000 * first + last


def answer_tags(model, batch):
    counted = (batch[2] != IGNORED) & (batch[0] != special("[PAD]"))
    return model(*batch[:2]).argmax(-1)[counted], batch[2][counted]


class Task(NamedTuple):
    """Una tarea; `patient` son los pasos del que empieza de cero."""

    make: Any
    encode: Any
    head: Any
    loss: Any
    answer: Any
    labels: int
    batch: int
    steps: int
    patient: int
    rates: tuple = RATES


SENTENCE, TAGS = BertForSequenceClassification, len(tasks.TAGS)
TASKS = {
    "opinión": Task(
        tasks.sentence_examples, lambda e: (*joined(pieces(e.text)), e.label),
        SENTENCE, ClassificationLoss(), answer_class, 2000, 16, 400, 800,
    ),
    "par": Task(
        partial(tasks.pair_examples, kinds=["pasos"]),
        lambda e: (*joined(pieces(e.first), pieces(e.second)), e.label),
        SENTENCE, ClassificationLoss(), answer_class, 600, 16, 60, 180,
    ),
    "opciones": Task(
        tasks.choice_examples, encode_choices,
        BertForMultipleChoice, ChoiceLoss(), answer_choice, 400, 8, 150, 300,
    ),
    "pregunta": Task(
        tasks.question_examples, encode_question,
        BertForQuestionAnswering, SpanLoss(), answer_span, 1500, 16, 160, 320, RATES[1:],
    ),
    "palabras": Task(
        tasks.tagged_examples, encode_tagged,
        partial(BertForTokenClassification, num_classes=TAGS), TaggingLoss(), answer_tags,
        100, 8, 150, 150, (1e-3, 3e-3, 1e-2),
    ),
}  # fmt: skip


def splits(seed):
    """De cada tarea; la validación no repite ningún ejemplo del entrenamiento."""
    parts = Splits([], [], [])
    for name, task in TASKS.items():
        train_set = task.make(max(LABELS) if name == "palabras" else task.labels, seed)
        seen = set(map(repr, train_set))
        apart = [e for e in task.make(3 * VALIDATION, 100 + seed) if repr(e) not in seen]
        found = train_set, apart[:VALIDATION], task.make(TEST, 200 + seed, held_out=True)
        for part, examples in zip(parts, found, strict=True):
            part.extend((name, example) for example in examples)
    return parts


def of_task(name, examples):
    return [example for task, example in examples if task == name]


def measure(model, examples):
    return {"aciertos": model.judge(of_task(model.task, examples)), "sus ejemplos": model.own}


def judged(model, name, judge, train_set):
    """Lo prepara para medirlo: qué tarea hace, cómo se juzga y cuánto acierta de lo suyo."""
    model.task, model.judge = name, judge
    with torch.no_grad():
        model.own = judge(train_set[:VALIDATION])
    return model


# Los que se entrenan


@torch.no_grad()
def accuracy(model, task, examples):
    """La parte de respuestas correctas: ejemplos, o palabras."""
    rows = TokenBatches(list(map(task.encode, examples)), batch_size=50, pad_id=special("[PAD]"))
    answers = [task.answer(model, batch) for batch in rows]
    return torch.cat([found == correct for found, correct in answers]).double().mean().item()


def untrained():
    model = BertForPreTraining(stored("bert").config)
    model.bert.embedding.spread_out()
    return model


def fine_tuned(
    name, start, train_set, validation, rate, seed, *, labels=None, frozen=(), steps=None
):
    """Ajusta el modelo guardado en `start` o, si es None, uno sin entrenar."""
    seed_everything(seed)
    task = TASKS[name]
    steps = steps or (task.steps if start else task.patient)
    examples = of_task(name, train_set)[: labels or task.labels]
    shown = of_task(name, validation)[:SHOWN]
    model = task.head(stored("bert").config).start_from(stored(start) if start else untrained())
    for part in frozen:
        model.bert.get_submodule(part).requires_grad_(False)
    seen = {steps // 8, steps // 4, steps // 2, steps}
    history = train(
        model,
        task.loss,
        TokenBatches(list(map(task.encode, examples)), batch_size=task.batch, seed=seed),
        steps=steps,
        schedule=warmup_cosine(peak=rate, warmup=steps // 10, total=steps),
        optimizer=partial(torch.optim.AdamW, betas=(0.9, 0.98), weight_decay=0.01),
        on_step=lambda step, model: (
            {"aciertos": accuracy(model, task, shown)} if step in seen else None
        ),
        precision="float32",
        seed=seed,
    )
    return judged(model, name, partial(accuracy, model, task), examples), history


# Los que leen al preentrenado sin tocarlo


class Fitted:
    """Lo que no es una red: quien contesta, sin más."""


@torch.no_grad()
def states(model, task, examples):
    """Los cuatro estados de cada token, `[batch, t, d_model]`, con sus tokens y sus etiquetas."""
    rows = TokenBatches(
        list(map(task.encode, examples)), batch_size=100, pad_id=special("[PAD]"), shuffle=False
    )
    for token_ids, segment_ids, labels in rows:
        hidden = model.bert(token_ids, segment_ids, need_hidden=True).hidden
        yield hidden, token_ids != special("[PAD]"), labels


def mean_states(name, examples):
    """Una fila por ejemplo, la media de cada uno de los cuatro estados; y sus etiquetas."""
    rows, answers = [], []
    for hidden, real, labels in states(stored("bert"), TASKS[name], examples):
        weights = real[..., None] / real.sum(1)[:, None, None]
        rows.append(torch.cat([(H * weights).sum(1) for H in hidden], dim=-1))
        answers.append(labels)
    return torch.cat(rows).cpu().numpy(), torch.cat(answers).cpu().numpy()


def features(name, train_set, validation, strength, seed):
    examples = of_task(name, train_set)
    X, y = mean_states(name, examples)
    centre, scale = X.mean(0), X.std(0) + 1e-6
    classifier = LogisticRegression(C=strength / 100, max_iter=300)
    classifier.fit((X - centre) / scale, y)

    def judge(some):
        Z, correct = mean_states(name, some)
        return float((classifier.predict((Z - centre) / scale) == correct).mean())

    return judged(Fitted(), name, judge, examples)


def word_states(model, kind, examples):
    """Una fila por palabra, de su primer trozo, y su categoría."""
    rows, tags = [], []
    for hidden, real, labels in states(model, TASKS["palabras"], examples):
        counted = (labels != IGNORED) & real
        H = [layer[counted] for layer in hidden]
        joint = {"suma": sum(H), "concatenados": torch.cat(H, dim=-1)}
        rows.append(joint[kind] if kind in joint else H[FEATURES.index(kind)])
        tags.append(labels[counted])
    return torch.cat(rows), torch.cat(tags)


def probe(kind, start, train_set, validation, ridge, seed):
    """W = (XᵀX + λI)⁻¹ XᵀY, con las columnas de X normalizadas y una de unos."""
    seed_everything(seed)
    model = stored("bert") if start else untrained().eval()
    examples = of_task("palabras", train_set)[: TASKS["palabras"].labels]
    X, y = word_states(model, kind, examples)
    mean, std = X.mean(0), X.std(0) + 1e-6

    def normalised(Z):
        return F.pad((Z - mean) / std, (0, 1), value=1.0).double()

    A, Y = normalised(X), F.one_hot(y, TAGS).double()
    W = torch.linalg.solve(A.T @ A + ridge * torch.eye(A.shape[1], dtype=A.dtype), A.T @ Y)

    def judge(judged_examples):
        Z, tags = word_states(model, kind, judged_examples)
        return ((normalised(Z) @ W).argmax(-1) == tags).double().mean().item()

    return judged(Fitted(), "palabras", judge, examples)


# Los que cuentan


def words_of(text):
    return re.findall(r"\w+|[^\w\s]", text.lower())


class Scorer:
    """Regresión logística sobre diccionarios de rasgos."""

    def __init__(self, rows, labels, strength):
        self.names = DictVectorizer().fit(rows)
        self.classifier = LogisticRegression(solver="liblinear", C=strength)
        self.classifier.fit(self.numbers(rows), labels)

    def numbers(self, rows):
        X = self.names.transform(rows)
        # liblinear no lee índices de 64 bits.
        X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")
        return X

    def __call__(self, rows):
        return self.classifier.decision_function(self.numbers(rows))


def bag(text):
    words = words_of(text)
    runs = (words[i : i + n] for n in (1, 2, 3) for i in range(len(words) - n + 1))
    return dict.fromkeys(map(" ".join, runs), 1)


def overlap(first, second):
    """Qué palabras de la segunda están en la primera, y qué palabras no."""
    known, said = set(words_of(first)), set(words_of(second))
    kinds = {f"{'está' if word in known else 'falta'} {word}": 1 for word in said}
    return kinds | {"parte": len(known & said) / len(said), "faltan": len(said - known)}


def rows_of(name, example):
    """Los rasgos de lo que hay que puntuar en un ejemplo: él, o sus opciones."""
    if name == "opinión":
        return [bag(example.text)]
    if name == "par":
        return [overlap(example.first, example.second)]
    return [overlap(example.context, text) for text in example.choices]


def counting(name, train_set, validation, strength, seed, *, labels=None):
    """Puntúa el ejemplo, y acierta el signo; o sus opciones, y gana la mayor."""
    examples = of_task(name, train_set)[:labels]
    rows = [rows_of(name, example) for example in examples]
    alone = len(rows[0]) == 1
    targets = [
        e.label if alone else int(i == e.label)
        for e, found in zip(examples, rows, strict=True)
        for i in range(len(found))
    ]
    score = Scorer([row for found in rows for row in found], targets, strength)

    def judge(judged_examples):
        scores = score([row for e in judged_examples for row in rows_of(name, e)])
        scores = scores.reshape(len(judged_examples), -1)
        found = scores[:, 0] > 0 if alone else scores.argmax(1)
        return float((found == [e.label for e in judged_examples]).mean())

    return judged(Fitted(), name, judge, examples)


def located(example):
    """De una pregunta: los rasgos de cada palabra del texto, y cuáles empiezan y acaban."""
    spans = [m.span() for m in re.finditer(r"\w+|[^\w\s]", example.context)]
    words = [example.context[a:b].lower() for a, b in spans]
    asked = set(words_of(example.question))
    kind = " ".join(words_of(example.question)[1:3])
    rows = []
    for i, word in enumerate(words):
        row = {f"{kind} {word}": 1, f"{kind} largo": min(len(word), 4)}
        for j in range(-5, 6):
            near = words[i + j] if 0 <= i + j < len(words) else ""
            if abs(j) == 1:
                row[f"{kind} {j} {near}"] = 1
            if near in asked:
                row[f"{kind} preguntada {j}"] = row[f"preguntada {j}"] = 1
        rows.append(row)
    starts = [int(a == example.start) for a, _ in spans]
    return rows, starts, [int(b == example.end) for _, b in spans]


def pointing(name, train_set, validation, strength, seed):
    """Dos regresiones: dónde empieza la respuesta y dónde acaba."""
    examples = of_task(name, train_set)
    found = list(map(located, examples))
    rows = [row for each, _, _ in found for row in each]
    start, end = (Scorer(rows, [y for each in found for y in each[k]], strength) for k in (1, 2))

    def right(example):
        rows, starts, ends = located(example)
        begin, finish = start(rows), end(rows)
        pairs = [(i, j) for i in range(len(rows)) for j in range(i, min(i + 10, len(rows)))]
        i, j = max(pairs, key=lambda pair: begin[pair[0]] + finish[pair[1]])
        return bool(starts[i] and ends[j])

    def judge(judged_examples):
        return sum(map(right, judged_examples)) / len(judged_examples)

    return judged(Fitted(), name, judge, examples)


def window(words, i):
    near = {k: words[i + k].lower() if 0 <= i + k < len(words) else "" for k in (-1, 0, 1)}
    ends = {f"final {n} {near[0][-n:]}": 1 for n in (1, 2, 3)}
    return {f"{k} {word}": 1 for k, word in near.items()} | ends


def tagging(name, train_set, validation, strength, seed, *, labels=None):
    examples = of_task(name, train_set)[: labels or TASKS[name].labels]

    def rows(some):
        return [window(e.words, i) for e in some for i in range(len(e.words))]

    def tags(some):
        return [tag for e in some for tag in e.tags]

    names = DictVectorizer()
    classifier = LogisticRegression(C=10 * strength, max_iter=300)
    classifier.fit(names.fit_transform(rows(examples)), tags(examples))

    def judge(some):
        return float((classifier.predict(names.transform(rows(some))) == tags(some)).mean())

    return judged(Fitted(), name, judge, examples)


def most_frequent(name, train_set, validation, setting, seed):
    """La categoría más frecuente de cada palabra; en las nuevas, la más frecuente de todas."""
    examples = of_task(name, train_set)[: TASKS[name].labels]
    counts, every = defaultdict(Counter), Counter()
    for example in examples:
        for word, tag in zip(example.words, example.tags, strict=True):
            counts[word.lower()][tag] += 1
            every[tag] += 1

    def judge(some):
        hits = [
            counts.get(word.lower(), every).most_common(1)[0][0] == tag
            for e in some
            for word, tag in zip(e.words, e.tags, strict=True)
        ]
        return sum(hits) / len(hits)

    return judged(Fitted(), name, judge, examples)


CHEAP = dict.fromkeys(("opinión", "par", "opciones"), counting)
CHEAP |= {"pregunta": pointing, "palabras": tagging}


def rivals():
    found = {}
    for name, task in TASKS.items():
        ours = f"{name}, preentrenado"
        found[ours] = Rival(partial(fine_tuned, name, "bert"), task.rates, ours)
        found[f"{name}, desde cero"] = Rival(partial(fine_tuned, name, None), task.rates, ours)
        found[f"{name}, barato"] = Rival(partial(CHEAP[name], name), STRENGTHS, ours)
    for name in ("opinión", "par"):
        fit = partial(features, name)
        found[f"{name}, rasgos"] = Rival(fit, STRENGTHS, f"{name}, preentrenado")
    for name in ("opinión", "palabras"):
        fit = partial(fine_tuned, name, "bert_brief")
        found[f"{name}, brevemente"] = Rival(fit, TASKS[name].rates[:2], f"{name}, preentrenado")
    fit = partial(fine_tuned, "opinión", "bert", steps=TASKS["opinión"].patient)
    rates = TASKS["opinión"].rates[:2]
    found["opinión, mismos pasos"] = Rival(fit, rates, "opinión, preentrenado")
    return found | with_words()


def with_words():
    """Lo que solo se pregunta con las palabras, la tarea más barata."""
    found, rates, ours = {}, TASKS["palabras"].rates, "palabras, preentrenado"
    for labels in LABELS:
        if labels != TASKS["palabras"].labels:
            names = [
                f"palabras, {labels} etiquetas, {who}" for who in ("preentrenado", "desde cero")
            ]
            for name, start in zip(names, ("bert", None), strict=True):
                fit = partial(fine_tuned, "palabras", start, labels=labels)
                found[name] = Rival(fit, rates, names[0])
            fit = partial(tagging, "palabras", labels=labels)
            found[f"palabras, {labels} etiquetas, barato"] = Rival(fit, STRENGTHS, names[0])
    for name, frozen in FROZEN.items():
        fit = partial(fine_tuned, "palabras", "bert", frozen=frozen)
        higher = (3e-3, 1e-2, 3e-2) if "blocks" in frozen else rates
        found[f"palabras, {name}"] = Rival(fit, higher, ours)
    for who, start in (("preentrenado", True), ("sin entrenar", False)):
        for kind in FEATURES:
            name = f"sonda, {kind}, {who}"
            found[name] = Rival(
                partial(probe, kind, start), RIDGES, "sonda, bloque 3, preentrenado"
            )
    fit = partial(most_frequent, "palabras")
    found["palabras, la más frecuente"] = Rival(fit, against=ours)
    return found


EXPERIMENT = Experiment(
    splits=splits,
    rivals=rivals(),
    measure=measure,
    measures={"aciertos": "%", "sus ejemplos": "%"},
    chosen_by="aciertos",
)
