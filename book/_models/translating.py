"""Cómo se entrena el traductor guardado: con los renglones del capítulo `translator`, y nada más.

Se apartan recetas por combinación de plato e ingrediente principal: trescientas para medir y las
demás para seguir el entrenamiento. Los tamaños, el plan y los pasos están decididos de antemano;
ni la medida ni la validación eligen nada.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import sacrebleu
import torch
from torch import nn

from benchmarks._report import describe_machine
from book._models.card import Texts
from course_lib.data.recipes import Pair, generate_recipes, split_recipes, translation_pairs
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.pretrained import load_transformer
from course_lib.tokenization import ByteBPE
from course_lib.training.batches import TokenBatches
from course_lib.training.history import History
from course_lib.training.loop import train
from course_lib.training.losses import TranslationLoss
from course_lib.training.schedules import warmup_cosine
from course_lib.translation import Translator

SEED, STEPS = 0, 2400
RECIPES, MEASURED_RECIPES, TITLES = 9000, 300, 50
VOCABULARY, BATCH_TOKENS, PEAK, WARMUP = 2500, 1200, 4e-3, 80
MEASURE_EVERY = 100
TEXTS = Texts(
    title="Traductor de recetas, del español al inglés",
    about="""\
Un Transformer de {parameters} parámetros, en float16; se lee con `load_transformer` y
`ByteBPE.load`, y lo enseña el capítulo `translator`.""",
    data="""\
{lines} renglones de {recipes} recetas del corpus del curso, con repeticiones. Se
apartan recetas por combinación de plato e ingrediente principal.""",
    measured="""\
Con decodificación voraz, en {measured} renglones distintos de {measured_recipes}
recetas apartadas; {unseen} no están en el entrenamiento:""",
    limits="""\
Solo conoce las frases de las recetas del curso, que salen de una gramática: fuera de ellas escribe,
sin avisar, algo que no tiene que ver. Traduce del español al inglés, renglón a renglón, y no al
revés. Lo nunca visto de estas cifras son combinaciones nuevas de palabras conocidas, y la mayor
parte está a una palabra de un renglón de entrenamiento; el capítulo cuenta cuánto da lo más barato.""",  # noqa: E501
)


class RecipeLines:
    """Los renglones: con unos se entrena, con otros se sigue el entrenamiento y con otros se mide."""  # noqa: E501

    def __init__(self, recipes: int = RECIPES) -> None:
        self.train_recipes, apart = split_recipes(generate_recipes(recipes))
        self.recipes, self._validation = apart[:MEASURED_RECIPES], apart[MEASURED_RECIPES:]

    @cached_property
    def train(self) -> list[Pair]:
        """Los de entrenamiento; los comunes, varias veces."""
        return translation_pairs(self.train_recipes, repeated=True)

    @cached_property
    def measured(self) -> list[Pair]:
        """Los de las recetas con que se mide, una vez cada uno."""
        return translation_pairs(self.recipes)

    @cached_property
    def unseen(self) -> list[Pair]:
        """De los que se miden, los que no están en el entrenamiento."""
        seen = {line.source for line in self.train}
        return [pair for pair in self.measured if pair.source not in seen]

    @cached_property
    def validation(self) -> list[Pair]:
        """Los de otras recetas apartadas, sin los que se miden."""
        return [p for p in translation_pairs(self._validation) if p not in self.measured]

    @cached_property
    def titles(self) -> list[Pair]:
        """Los títulos con que se sigue el entrenamiento."""
        return [pair for pair in self.validation if pair.kind == "título"][:TITLES]


def initial_translator(lines: Sequence[Pair], seed: int = SEED) -> Translator:
    """El vocabulario, aprendido de estos renglones, y un modelo sin entrenar."""
    texts = (text for line in lines for text in (line.source, line.target))
    tokenizer = ByteBPE.train(texts, VOCABULARY)
    pad_id, start_id, end_id = map(tokenizer.special, ("<pad>", "<s>", "</s>"))
    config = TransformerConfig(
        tokenizer.vocab_size,
        d_model=128,
        num_heads=4,
        num_layers=2,
        d_ff=256,
        dropout=0.0,
        placement="pre",
        max_length=128,
        pad_id=pad_id,
        start_id=start_id,
        end_id=end_id,
    )
    torch.manual_seed(seed)
    return Translator(tokenizer, Transformer(config))


def batches(translator: Translator, lines: Sequence[Pair], seed: int = SEED) -> TokenBatches:
    """Los lotes: hasta un número de tokens, y de longitudes parecidas."""
    return TokenBatches(
        [translator.example(line.source, line.target) for line in lines],
        batch_tokens=BATCH_TOKENS,
        pad_id=translator.model.config.pad_id,
        seed=seed,
    )


def train_model(
    model: nn.Module,
    batches: TokenBatches,
    steps: int,
    *,
    peak: float = PEAK,
    seed: int = SEED,
    on_step: Callable[[int, nn.Module], dict[str, float] | None] | None = None,
) -> History:
    """Entrena un modelo en el sitio; con los mismos argumentos, siempre el mismo."""
    return train(
        model,
        TranslationLoss(pad_id=model.config.pad_id),
        batches,
        steps=steps,
        schedule=warmup_cosine(peak=peak, warmup=WARMUP, total=steps),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98), eps=1e-9),
        on_step=on_step,
        seed=seed,
    )


def train_stored(data: RecipeLines) -> tuple[Translator, History]:
    """El que se guarda: dice por dónde va y anota los títulos que acierta."""
    torch.set_num_threads(1)
    translator = initial_translator(data.train)

    def on_step(step, _):
        if step % MEASURE_EVERY:
            return None
        right = exact_match(translator, data.titles)
        print(f"paso {step} de {STEPS}: {100 * right:.0f} % de los títulos", flush=True)
        return {"títulos exactos": right}

    ready = batches(translator, data.train)
    return translator, train_model(translator.model, ready, STEPS, on_step=on_step)


def read_translator(folder: Path) -> Translator:
    """El traductor guardado."""
    return Translator(ByteBPE.load(folder / "tokenizer.json"), load_transformer(folder))


def training_record(folder: Path, data: RecipeLines, history: History) -> dict[str, Any]:
    """Lo que se cuenta de cómo se entrenó, y lo que acierta el modelo guardado."""
    translator = read_translator(folder)
    lengths = {"origen": 0, "destino": 0}
    for line in data.train:
        for side, text in (("origen", line.source), ("destino", line.target)):
            lengths[side] += len(translator.tokenizer.encode(text))
    return {
        "command": "python -m book._models translator",
        "machine": describe_machine("cpu"),
        "minutes": round(history.seconds / 60, 1),
        "settings": {
            "steps": len(history.loss),
            "batch_tokens": BATCH_TOKENS,
            "peak": PEAK,
            "warmup": WARMUP,
            "seed": SEED,
            "parameters": sum(p.numel() for p in translator.model.parameters()),
        },
        "data": {
            "recipes": len(data.train_recipes),
            "lines": len(data.train),
            "measured_recipes": len(data.recipes),
            "measured": len(data.measured),
            "unseen": len(data.unseen),
            "source_tokens": lengths["origen"],
            "target_tokens": lengths["destino"],
        },
        "tokens": sum(history.tokens),
        "loss": [round(loss, 4) for loss in history.loss],
        "titles": history.metrics["títulos exactos"],
        "results": results(translator, data),
    }


def exact_match(translator: Translator, pairs: Sequence[Pair]) -> float:
    """Qué fracción de los renglones se traduce exactamente."""
    written = translator.translate([pair.source for pair in pairs])
    return sum(t == p.target for t, p in zip(written, pairs, strict=True)) / len(pairs)


def results(translator: Translator, data: RecipeLines) -> dict[str, float]:
    """Lo que acierta en lo apartado: coincidencia exacta y BLEU, y las recetas sin un error."""
    sources = [pair.source for pair in data.measured]
    written = dict(zip(sources, translator.translate(sources), strict=True))
    found: dict[str, Any] = {}
    for name, pairs in (("", data.measured), ("nunca vistos, ", data.unseen)):
        said, expected = [written[p.source] for p in pairs], [p.target for p in pairs]
        right = sum(map(str.__eq__, said, expected))
        found[f"{name}exactos, %"] = round(100 * right / len(pairs), 4)
        found[f"{name}BLEU"] = round(sacrebleu.corpus_bleu(said, [expected]).score, 4)
    whole = [all(written[p.source] == p.target for p in r.lines) for r in data.recipes]
    found["recetas sin un error, %"] = round(100 * sum(whole) / len(whole), 4)
    return found
