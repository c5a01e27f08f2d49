"""Cómo se entrena el traductor de mensajes: texto real, en las dos direcciones, con un solo modelo.

Lee los catálogos que se le den, aparta familias enteras de programas para validar y para evaluar, y
entrena un Transformer que empieza a leer por `<es>` o `<en>`: a qué idioma se le pide que traduzca.
Los tamaños, el plan y los pasos están decididos de antemano. La validación y la prueba son
mensajes de programas que el modelo no ha visto, y cuyo texto no está en los que sí.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from random import Random
from typing import Any

import torch
from sacrebleu.metrics import BLEU, CHRF
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks._report import describe_machine
from book._models.card import Texts
from course_lib.data.messages import Message, installed_messages, split_messages
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.pretrained import load_transformer
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
MEASURED, VALIDATED, MOST_OF_ONE = (
    2000,
    250,
    60,
)  # mensajes con que se mide, y de un mismo catálogo, como mucho
MEASURE_EVERY, CURVE_POINTS, RESAMPLES = 2000, 60, 500
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
En {measured} mensajes de {measured_catalogues} catálogos de programas que el modelo no ha visto, y
cuyo texto no está, en ningún idioma, en el entrenamiento; hasta {most} de cada uno. «El más
parecido» es la traducción del mensaje de entrenamiento que más se parece, por sus grupos de letras;
«copiar», dejar el original tal cual. Una semilla:""",
    limits="""\
Conoce lo que dicen los programas: menús, órdenes y errores, casi siempre de un renglón. Fuera de
ahí escribe, sin avisar, algo que puede no tener que ver. No distingue «tú» de «usted» ni sabe a qué
se refiere un mensaje suelto. Traduce como tradujeron muchas personas, con sus errores.""",
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
        """Entrenar, validar y medir; de los dos últimos, pocos de cada catálogo."""
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
    """Hasta dos mil, y hasta sesenta de cada catálogo: que ninguno decida."""
    shuffled, taken, few = list(messages), Counter(), []
    Random(SEED).shuffle(shuffled)
    for message in shuffled:
        taken[message.catalogue] += 1
        if taken[message.catalogue] <= MOST_OF_ONE:
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
    validation = data.groups[1][:VALIDATED]

    def on_step(step, _):
        if step % MEASURE_EVERY:
            return None
        found = {
            f"chrF {to}": score["chrF"] for to, score in scores(translator, validation).items()
        }
        print(f"paso {step} de {steps}: {found}", flush=True)
        return found

    history = train(
        translator.model,
        TranslationLoss(pad_id=translator.model.config.pad_id, label_smoothing=SMOOTHING),
        TokenBatches(data.examples, batch_tokens=BATCH_TOKENS, seed=SEED),
        steps=steps,
        schedule=warmup_cosine(peak=PEAK, warmup=WARMUP, total=steps),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98), eps=1e-9, fused=True),
        on_step=on_step,
        seed=SEED,
        checkpoint=checkpoint,
        checkpoint_every=MEASURE_EVERY,
    )
    return translator, history


def scores(
    translator: Translator, messages: Sequence[Message], *, beam_size: int = 1
) -> dict[str, dict[str, float]]:
    """BLEU y chrF hacia cada idioma."""
    found = {}
    for to, (source, target) in DIRECTIONS.items():
        texts = [getattr(message, source) for message in messages]
        said = translator.translate(texts, to=to, beam_size=beam_size)
        found[to] = quality(said, [getattr(message, target) for message in messages])
    return found


def quality(said: Sequence[str], expected: Sequence[str], resamples: int = 0) -> dict[str, float]:
    """BLEU y chrF de unas traducciones; con `resamples`, también su ± del 95 %, por remuestreo."""
    found = {}
    for name, measure in (("BLEU", BLEU()), ("chrF", CHRF())):
        score = measure.corpus_score(said, [expected], n_bootstrap=resamples or 1)
        found[name] = score.score
        if resamples:
            found[f"{name}, ±"] = float(score._ci)
    return found


def nearest(known: Sequence[str], texts: Sequence[str]) -> list[int]:
    """De cada texto, cuál de los conocidos se le parece más, por sus grupos de 3 a 5 letras."""
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    table, found = vectorizer.fit_transform(known), []
    for start in range(0, len(texts), 100):
        alike = vectorizer.transform(texts[start : start + 100]) @ table.T
        found += alike.argmax(axis=1).A1.tolist()
    return found


def results(translator: Translator, data: MessageLines) -> dict[str, float]:
    """Lo que da en mensajes de programas nunca vistos, y lo que dan los más baratos."""
    train_messages, _, test = data.groups
    found: dict[str, float] = {}
    for to, (source, target) in DIRECTIONS.items():
        texts, expected = ([getattr(m, side) for m in test] for side in (source, target))
        known = nearest([getattr(m, source) for m in train_messages], texts)
        rivals = {
            "": translator.translate(texts, to=to),
            "con un haz de 4, ": translator.translate(texts, to=to, beam_size=4),
            "el más parecido, ": [getattr(train_messages[i], target) for i in known],
            "copiar, ": texts,
        }
        for name, said in rivals.items():
            for measure, value in quality(said, expected, RESAMPLES).items():
                found[f"{NAMES[to]}, {name}{measure}"] = round(value, 2)
    return found


def read_translator(folder: Path) -> Translator:
    """El traductor guardado."""
    return Translator(ByteBPE.load(folder / "tokenizer.json"), load_transformer(folder))


def training_record(
    folder: Path, data: MessageLines, history: History, device: str
) -> dict[str, Any]:
    """Lo que se cuenta de cómo se entrenó, y lo que da el modelo guardado."""
    translator = read_translator(folder)
    train_messages, _, test = data.groups
    steps, loss = len(history.loss), history.smoothed()
    every = -(-steps // CURVE_POINTS)
    return {
        "command": f"python -m book._models messages --device {device}",
        "machine": describe_machine(device),
        "minutes": round(history.seconds / 60, 1),
        "settings": {
            "steps": steps,
            "batch_tokens": BATCH_TOKENS,
            "peak": PEAK,
            "warmup": WARMUP,
            "seed": SEED,
            "parameters": sum(p.numel() for p in translator.model.parameters()),
        },
        "data": {
            "messages": len(train_messages),
            "catalogues": len({m.catalogue for m in train_messages}),
            "measured": len(test),
            "measured_catalogues": len({m.catalogue for m in test}),
            "most": MOST_OF_ONE,
        },
        "loss": [(step, round(loss[step - 1], 4)) for step in range(steps, 0, -every)][::-1],
        "results": results(translator, data),
    }
