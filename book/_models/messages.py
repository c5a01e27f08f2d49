"""Cómo se entrena el traductor de mensajes: texto real, en las dos direcciones, con un solo modelo.

Lee los catálogos que se le den, aparta familias enteras de programas para validar y para evaluar, y
entrena un Transformer que empieza a leer por `<es>` o `<en>`: a qué idioma se le pide que traduzca.
Los tamaños, el plan y los pasos están decididos de antemano. La validación y la prueba son
mensajes de programas que el modelo no ha visto, y cuyo texto no está en los que sí.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from sacrebleu.metrics import BLEU, CHRF
from sklearn.feature_extraction.text import TfidfVectorizer

from book._models.card import Texts, how_it_was_trained
from book._models.translating import read_translator
from course_lib.data.messages import Message, family_of, installed_messages, split_messages
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.tokenization import ByteBPE
from course_lib.tokenization.byte_bpe import SPECIAL_TOKENS
from course_lib.training.batches import TokenBatches
from course_lib.training.history import History
from course_lib.training.loop import train
from course_lib.training.losses import TranslationLoss
from course_lib.training.schedules import warmup_cosine
from course_lib.translation import Translator

SEED, VOCABULARY = 0, 5000
STEPS, BATCH_TOKENS, PEAK, WARMUP = 4500, 24_576, 3e-3, 1000
DROPOUT, SMOOTHING = 0.1, 0.1
# Mensajes con que se mide y con que se sigue el entrenamiento; de una misma familia, como mucho.
MEASURED, VALIDATED, MOST_OF_ONE = 2000, 250, 60
MEASURE_EVERY, RESAMPLES = 2000, 500
DIRECTIONS = {"<en>": ("spanish", "english"), "<es>": ("english", "spanish")}
NAMES = {"<en>": "al inglés", "<es>": "al español"}
TEXTS = Texts(
    title="Traductor de mensajes de programas, en las dos direcciones",
    about="""\
Un Transformer de {parameters} parámetros, en float16; se lee con `load_transformer` y
`ByteBPE.load`, y lo enseña el capítulo `translator`. El origen empieza por `<es>` o `<en>`, el
idioma al que se traduce: `translator.translate(textos, to="<es>")`.""",
    data="""\
{messages} mensajes de {catalogues} catálogos de gettext, en inglés y en español, de los paquetes de
Debian 12; los textos son de sus autores y no se reparten. Se apartan familias enteras de
programas.""",
    measured="""\
En {measured} mensajes de {measured_catalogues} catálogos, de {measured_families} familias de
programas que el modelo no ha visto (hasta {most} de cada una), y cuyo texto no está, en ningún
idioma, en el entrenamiento. El ± del 95 % sale de remuestrear familias. «A trozos» traduce sin red,
con los mensajes de entrenamiento como frases y un diccionario sacado de ellos; «el más parecido» da
la traducción del que más se parece, por sus grupos de letras; «copiar», el original tal cual; «BLEU
más» compara el haz con lo voraz. BLEU y chrF, los de sacrebleu con lo que trae puesto. Una
semilla:""",
    limits="""\
Conoce lo que dicen los programas: menús, órdenes y errores, casi siempre de un renglón. Fuera de
ahí escribe, sin avisar, algo que puede no tener que ver. No distingue «tú» de «usted» ni sabe a qué
se refiere un mensaje suelto. Traduce como tradujeron muchas personas, con sus errores. Las familias
se reconocen por el nombre del catálogo: algún programa de la prueba («sc», de LibreOffice) comparte
paquete con otros de entrenamiento. Casi iguales a uno de entrenamiento, salvo cifras y marcas, son
uno de cada ocho; sin ellos, el BLEU de un modelo anterior bajaba alrededor de un punto.""",
)


@dataclass
class MessageLines:
    """Los mensajes: con unos se entrena, con otros se sigue el entrenamiento y con otros se mide."""  # noqa: E501

    messages: Sequence[Message]

    @classmethod
    def read(cls, folders: Iterable[Path]) -> MessageLines:
        """Los de los catálogos de unas carpetas."""
        return cls(installed_messages(folders))

    @cached_property
    def groups(self) -> list[list[Message]]:
        """Entrenar, validar y medir; de los dos últimos, pocos de cada familia."""
        train, *apart = split_messages(self.messages, seed=SEED)
        return [train, *map(_few_of_each, apart)]

    @cached_property
    def tokenizer(self) -> ByteBPE:
        """Un vocabulario para los dos idiomas, aprendido de lo de entrenar."""
        texts = (text for message in self.groups[0] for text in message[:2])
        return ByteBPE.train(texts, VOCABULARY, special_tokens=(*SPECIAL_TOKENS, *DIRECTIONS))

    @cached_property
    def examples(self) -> list[tuple[list[int], list[int]]]:
        """Cada mensaje de entrenar, dos veces: hacia cada idioma."""
        translator = initial_translator(self.tokenizer)
        return [
            translator.example(getattr(message, source), getattr(message, target), to=to)
            for message in self.groups[0]
            for to, (source, target) in DIRECTIONS.items()
        ]


def _few_of_each(messages: Iterable[Message]) -> list[Message]:
    """Hasta dos mil, y hasta sesenta de cada familia: que ninguna decida."""
    shuffled, taken, few = list(messages), Counter(), []
    Random(SEED).shuffle(shuffled)
    for message in shuffled:
        taken[family_of(message.catalogue)] += 1
        if taken[family_of(message.catalogue)] <= MOST_OF_ONE:
            few.append(message)
    return few[:MEASURED]


def initial_translator(tokenizer: ByteBPE) -> Translator:
    """Un modelo sin entrenar para ese vocabulario."""
    pad_id, start_id, end_id = map(tokenizer.special, SPECIAL_TOKENS)
    config = TransformerConfig(
        tokenizer.vocab_size,
        d_model=192,
        num_heads=6,
        num_layers=3,
        d_ff=704,
        dropout=DROPOUT,
        placement="pre",
        max_length=256,
        pad_id=pad_id,
        start_id=start_id,
        end_id=end_id,
    )
    torch.manual_seed(SEED)
    return Translator(tokenizer, Transformer(config))


def train_stored(
    data: MessageLines, *, device: str = "cpu", steps: int = STEPS, checkpoint: Path | None = None
) -> tuple[Translator, History]:
    """El que se guarda; anota el chrF de validación en las dos direcciones."""
    translator = initial_translator(data.tokenizer)
    translator.model.to(device)
    pad_id, validation = translator.model.config.pad_id, data.groups[1][:VALIDATED]

    def on_step(step, _):
        if step % MEASURE_EVERY:
            return None
        found = scores(translator, validation)
        print(f"paso {step} de {steps}: {found}", flush=True)
        return found

    history = train(
        translator.model,
        TranslationLoss(pad_id=pad_id, label_smoothing=SMOOTHING),
        TokenBatches(data.examples, batch_tokens=BATCH_TOKENS, pad_id=pad_id, seed=SEED),
        steps=steps,
        schedule=warmup_cosine(peak=PEAK, warmup=WARMUP, total=steps),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98), eps=1e-9, fused=True),
        on_step=on_step,
        seed=SEED,
        checkpoint=checkpoint,
        checkpoint_every=MEASURE_EVERY,
    )
    return translator, history


def scores(translator: Translator, messages: Sequence[Message]) -> dict[str, float]:
    """El chrF hacia cada idioma."""
    found = {}
    for to, (source, target) in DIRECTIONS.items():
        said = translator.translate([getattr(message, source) for message in messages], to=to)
        expected = [getattr(message, target) for message in messages]
        found[f"chrF {to}"] = CHRF().corpus_score(said, [expected]).score
    return found


class Quality:
    """BLEU y chrF de unas traducciones, y el ± del 95 % del BLEU al remuestrear familias enteras.

    Los mensajes de un mismo programa se parecen: contarlos como si fueran independientes haría el
    intervalo la mitad de ancho de lo que es.
    """

    def __init__(self, said: Sequence[str], messages: Sequence[Message], target: str) -> None:
        expected = [getattr(message, target) for message in messages]
        self.chrf = CHRF().corpus_score(said, [expected]).score
        families = sorted({family_of(message.catalogue) for message in messages})
        self.counts = np.zeros((len(families), 10))
        for text, wanted, message in zip(said, expected, messages, strict=True):
            each = BLEU(effective_order=True).sentence_score(text, [wanted])
            row = families.index(family_of(message.catalogue))
            self.counts[row] += [*each.counts, *each.totals, each.sys_len, each.ref_len]

    def bleu(self, rows: Sequence[int] | slice = slice(None)) -> float:
        """El de unas familias; si faltan, el de todas."""
        total = self.counts[rows].sum(0).astype(int).tolist()
        parts = {
            "correct": total[:4],
            "total": total[4:8],
            "sys_len": total[8],
            "ref_len": total[9],
        }
        return BLEU.compute_bleu(**parts, smooth_method="exp").score

    def figures(self, before: Quality | None = None) -> dict[str, float]:
        """Lo medido; con `before`, cuánto BLEU más que otro, en las mismas familias."""
        random = np.random.default_rng(SEED)
        drawn = [random.integers(len(self.counts), size=len(self.counts)) for _ in range(RESAMPLES)]

        def score(rows=slice(None)):
            return self.bleu(rows) - (before.bleu(rows) if before else 0.0)

        spread = 1.96 * float(np.std([score(rows) for rows in drawn]))
        if before:
            return {"BLEU más": score(), "BLEU más, ±": spread}
        return {"BLEU": score(), "BLEU, ±": spread, "chrF": self.chrf}


def nearest(known: Sequence[str], texts: Sequence[str]) -> list[int]:
    """De cada texto, cuál de los conocidos se le parece más, por sus grupos de 3 a 5 letras."""
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    table, found = vectorizer.fit_transform(known), []
    for start in range(0, len(texts), 100):
        alike = vectorizer.transform(texts[start : start + 100]) @ table.T
        found += alike.argmax(axis=1).A1.tolist()
    return found


class Pieces:
    """Traduce a trozos, sin red: el trozo más largo que sea un mensaje entero ya visto.

    Lo que no está en ninguno, palabra por palabra, con un diccionario sacado de los mismos
    mensajes: p(destino | origen), del modelo 1 de Brown et al. (1993).
    """

    LONGEST, SHORT, TAUGHT, ROUNDS = 7, 12, 60_000, 4

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self.phrases: dict[tuple[str, ...], Counter] = {}
        taught = []
        for source, target in pairs:
            words = tuple(split_words(source.lower()))
            if len(words) <= self.LONGEST:
                self.phrases.setdefault(words, Counter())[target[:1].lower() + target[1:]] += 1
            if len(words) <= self.SHORT and len(taught) < self.TAUGHT:
                taught.append((words, split_words(target.lower())))
        self.dictionary = _dictionary(taught, self.ROUNDS)

    def translate(self, text: str) -> str:
        """El texto, trozo a trozo, con la mayúscula del comienzo."""
        words, said, i = split_words(text), [], 0
        lower = [word.lower() for word in words]
        while i < len(words):
            sizes = range(self.LONGEST, 1, -1)
            n = next((n for n in sizes if (*lower[i : i + n],) in self.phrases), 1)
            if n > 1:
                said.append(self.phrases[(*lower[i : i + n],)].most_common(1)[0][0])
            else:
                said.append(self.dictionary.get(lower[i], words[i]))
            i += n
        joined = re.sub(r" ([.,:;!?…)%/\-'\"])", r"\1", " ".join(said))
        joined = re.sub(r"([(¿¡/\-]) ", r"\1", joined)
        return joined[:1].upper() + joined[1:] if text[:1].isupper() else joined


def split_words(text: str) -> list[str]:
    """Palabras, marcas de sustitución y signos."""
    return re.findall(r"%\w+|\w+|[^\w\s]", text)


def _dictionary(
    pairs: Sequence[tuple[Sequence[str], Sequence[str]]], rounds: int
) -> dict[str, str]:
    """De cada palabra del origen, la más probable del destino."""
    chance: dict[str, dict[str, float]] = {}
    for _ in range(rounds):
        counts: dict[str, Counter] = {}
        for source, target in pairs:
            for word in target:
                weights = [chance.get(s, {}).get(word, 0.0) if chance else 1.0 for s in source]
                total = sum(weights) or 1.0
                for s, weight in zip(source, weights, strict=True):
                    counts.setdefault(s, Counter())[word] += weight / total
        chance = {
            s: {word: n / total for word, n in found.items()}
            for s, found in counts.items()
            if (total := found.total())
        }
    # Los números, los signos y las marcas como «%s» se quedan como están.
    return {s: max(found, key=found.get) for s, found in chance.items() if s.isalpha()}


def results(translator: Translator, data: MessageLines) -> dict[str, float]:
    """Lo que da en familias de programas nunca vistas, y lo que dan los más baratos."""
    train_messages, _, test = data.groups
    found: dict[str, float] = {}
    for to, (source, target) in DIRECTIONS.items():
        texts = [getattr(message, source) for message in test]
        pairs = [(getattr(m, source), getattr(m, target)) for m in train_messages]
        known = nearest([text for text, _ in pairs], texts)
        said = {
            "": translator.translate(texts, to=to),
            "con un haz de 4, ": translator.translate(texts, to=to, beam_size=4),
            "a trozos, ": list(map(Pieces(pairs).translate, texts)),
            "el más parecido, ": [pairs[i][1] for i in known],
            "copiar, ": texts,
        }
        scored = {name: Quality(each, test, target) for name, each in said.items()}
        figures = {name: each.figures() for name, each in scored.items()}
        figures["con un haz de 4, "] |= scored["con un haz de 4, "].figures(scored[""])
        for name, each in figures.items():
            found |= {f"{NAMES[to]}, {name}{m}": round(v, 2) for m, v in each.items()}
    return found


def training_record(
    folder: Path, data: MessageLines, history: History, device: str
) -> dict[str, Any]:
    """Lo que se cuenta de cómo se entrenó, y lo que da el modelo guardado."""
    translator = read_translator(folder)
    train_messages, _, test = data.groups
    plan = {"batch_tokens": BATCH_TOKENS, "peak": PEAK, "warmup": WARMUP, "seed": SEED}
    return {
        **how_it_was_trained("messages", device, history, translator.model, **plan),
        "data": {
            "messages": len(train_messages),
            "catalogues": len({m.catalogue for m in train_messages}),
            "measured": len(test),
            "measured_catalogues": len({m.catalogue for m in test}),
            "measured_families": len({family_of(m.catalogue) for m in test}),
            "most": MOST_OF_ONE,
        },
        "results": results(translator, data),
    }
