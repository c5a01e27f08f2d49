"""Las opiniones: ¿hace falta atención, o basta con leer en orden?

La tarea del capítulo `text_classifier`, con más rivales. Se entrena con 30 000 opiniones y se mide con armazones que el entrenamiento no contiene: la mitad de los apartados es de validación y la otra mitad, de prueba. Cada semilla genera sus propias opiniones.

Los que no son redes: bolsas de palabras y de tríos, con regresión logística (la validación elige su C), y copiar la etiqueta de la opinión que más tríos comparte (coseno de TF-IDF). La BiGRU lee en los dos sentidos, con el mismo ancho y el mismo resumen (el máximo de cada coordenada) que el codificador. Todas las redes dan los mismos 2000 pasos de 64 opiniones, con el plan del capítulo, y cada una elige su tasa máxima (si gana la del borde, se prueba la siguiente). «Como en cine» tiene los tamaños, el dropout y la normalización de la fuente (post, ancho 32), con este vocabulario. «Con softmax» cambia la pérdida: una entropía cruzada de dos clases, y no dos sigmoides.
"""  # noqa: E501

from functools import cache, partial

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.opinions import generate_opinions
from course_lib.devices import seed_everything
from course_lib.models.text_classifier import (
    TextClassifier,
    TextClassifierConfig,
    classification_loss,
)
from course_lib.primitives.pooling import max_pool
from course_lib.tokenization.words import WordVocabulary
from course_lib.training.batches import TokenBatches, pad
from course_lib.training.loop import train
from course_lib.training.schedules import warmup_cosine

TRAIN, APART, STEPS = 30_000, 6000, 2000
TOKEN = r"\w+|[^\w\s]"
RATES = (1e-3, 2e-3, 4e-3, 8e-3)
STRENGTHS = (0.01, 0.1, 1.0, 10.0)


def splits(seed):
    """Los armazones apartados se alternan: uno para validación y otro para prueba."""
    held_out = generate_opinions(APART, seed, held_out=True)
    names = sorted({frame(opinion) for opinion in held_out})
    chosen = set(names[::2])

    def examples(opinions):
        return [(opinion.text, int(opinion.sentiment == "positiva")) for opinion in opinions]

    return Splits(
        examples(generate_opinions(TRAIN, seed)),
        examples(opinion for opinion in held_out if frame(opinion) in chosen),
        examples(opinion for opinion in held_out if frame(opinion) not in chosen),
    )


def frame(opinion):
    """El armazón, sin el signo de la respuesta."""
    return opinion.template[:-1]


def measure(model, examples):
    texts, labels = zip(*examples, strict=True)
    predicted = model.predict(texts)
    return {"exactitud": sum(p == y for p, y in zip(predicted, labels, strict=True)) / len(labels)}


# Los que cuentan


class Counting:
    def __init__(self, bag, classifier):
        self.bag, self.classifier = bag, classifier

    def predict(self, texts):
        return self.classifier.predict(self.bag.transform(texts)).tolist()


def bag_of_words(longest, train_set, validation, strength, seed):
    texts, labels = zip(*train_set, strict=True)
    bag = CountVectorizer(ngram_range=(1, longest), token_pattern=TOKEN, min_df=2)
    X = bag.fit_transform(texts)
    return Counting(bag, LogisticRegression(solver="liblinear", C=strength).fit(X, labels))


class Nearest:
    """La etiqueta de la opinión de entrenamiento que más se parece."""

    def __init__(self, train_set):
        texts, self.labels = zip(*train_set, strict=True)
        self.bag = TfidfVectorizer(ngram_range=(1, 3), token_pattern=TOKEN, min_df=2)
        self.rows = self.bag.fit_transform(texts)

    def predict(self, texts):
        rows = self.bag.transform(texts)
        parts = [rows[i : i + 500] @ self.rows.T for i in range(0, rows.shape[0], 500)]
        best = np.concatenate([np.asarray(part.argmax(axis=1)).ravel() for part in parts])
        return [self.labels[i] for i in best]


def nearest(train_set, validation, setting, seed):
    return Nearest(train_set)


# Los que se entrenan


@cache
def vocabulary():
    return WordVocabulary.build([opinion.text for opinion in generate_opinions(TRAIN)])


class BiGRU(nn.Module):
    """Una red recurrente en los dos sentidos; el resumen, como el del codificador."""

    def __init__(self, vocab_size, width):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, width)
        self.gru = nn.GRU(width, width // 2, batch_first=True, bidirectional=True)
        self.output = nn.Linear(width, 2)

    def forward(self, token_ids):
        visible = token_ids != vocabulary().pad_id
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(token_ids), visible.sum(1).cpu(), True, enforce_sorted=False
        )
        H, _ = nn.utils.rnn.pad_packed_sequence(self.gru(packed)[0], True)
        return self.output(max_pool(H, visible))


def encoder(**sizes):
    common = {"d_model": 64, "num_heads": 4, "num_layers": 1, "d_ff": 128, "max_length": 64}
    common |= {"dropout": 0.0, "placement": "pre"}
    return TextClassifier(TextClassifierConfig(vocabulary().vocab_size, **common | sizes))


def recurrent():
    return BiGRU(vocabulary().vocab_size, 64)


def softmax_loss(model, batch):
    token_ids, classes = batch
    return F.cross_entropy(model(token_ids), classes)


def trained(build, train_set, validation, rate, seed, loss=classification_loss):
    seed_everything(seed)
    model = build()
    examples = [(vocabulary().encode(text), label) for text, label in train_set]
    history = train(
        model,
        loss,
        TokenBatches(examples, batch_size=64, seed=seed),
        steps=STEPS,
        schedule=warmup_cosine(rate, STEPS // 10, STEPS),
        precision="float32",
        seed=seed,
    )
    model.predict = partial(predict, model)
    return model, history


def predict(model, texts, size=250):
    ids = [vocabulary().encode(text) for text in texts]
    parts = [model(pad(ids[i : i + size], 0)).argmax(-1) for i in range(0, len(ids), size)]
    return torch.cat(parts).tolist()


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        "1 bloque, ancho 64": Rival(partial(trained, encoder), RATES),
        "2 bloques, ancho 64": Rival(partial(trained, partial(encoder, num_layers=2)), RATES),
        "sin posiciones": Rival(partial(trained, partial(encoder, positions=None)), RATES),
        "ancho 32": Rival(partial(trained, partial(encoder, d_model=32, num_heads=2)), RATES),
        "como en cine": Rival(
            partial(
                trained,
                partial(encoder, d_model=32, num_heads=2, dropout=0.1, placement="post"),
            ),
            RATES,
        ),
        "con softmax": Rival(partial(trained, encoder, loss=softmax_loss), RATES),
        "BiGRU": Rival(partial(trained, recurrent), RATES),
        "bolsa de tríos": Rival(partial(bag_of_words, 3), STRENGTHS),
        "bolsa de palabras": Rival(partial(bag_of_words, 1), STRENGTHS),
        "la más parecida": Rival(nearest),
    },
    measure=measure,
    measures={"exactitud": "%"},
    chosen_by="exactitud",
)
