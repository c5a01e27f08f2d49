"""Cómo se entrena el Universal Transformer guardado: la búsqueda del tesoro, con parada.

Es el del experimento `universal_transformer`, con sus listas, sus tamaños y sus dos partes: primero
aprende a buscar con seis pasos fijos, y después, pagando por cada paso, a parar. El experimento
eligió la tasa y el precio; aquí solo hay más pasos de entrenamiento.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.experiments import Splits
from benchmarks.experiments import universal_transformer as experiment
from book._models.card import Texts, how_it_was_trained
from course_lib.data.algorithmic import DIGIT_LABELS, FIRST_BOX
from course_lib.models.sequence_tagger import SequenceTagger
from course_lib.models.universal_transformer import UniversalEncoder
from course_lib.pretrained import load_model
from course_lib.training.history import History
from course_lib.training.schedules import warmup_cosine

SEED, PEAK, TAU = 0, 5e-3, 0.01
FIRST, SECOND = 1600, 800
STEPS, WARMUP = FIRST + SECOND, FIRST // 10
TEXTS = Texts(
    title="Universal Transformer que busca el tesoro y decide cuándo parar",
    about="""\
Un bloque de codificador que se repite, con parada (ACT): {parameters} parámetros, en float16. Se
lee con `read_searcher`, de `book/_models/searching.py`, y lo enseña el capítulo
`universal_transformer`. De diez casillas, cada una con una cifra o con otra casilla a la que manda,
dice a qué cifra se llega desde cada una.""",
    data="""\
{lists} listas sorteadas, en las que los envíos forman caminos que acaban en una cifra. Se aprende
primero con seis pasos fijos, {first} pasos de entrenamiento; después se le pone la parada, y da
otros {second} pagando {tau} por cada paso (τ), con tasas fijas: 0.001, y 0.01 la de la parada.""",
    measured="""\
En {measured} listas que no están en el entrenamiento, todas las casillas y las que están a cada
distancia de su cifra:""",
    limits="""\
Solo sabe de diez casillas, en las posiciones que conoce. En el entrenamiento no hay círculos: ante
uno contesta una cifra cualquiera. A más de cinco saltos los seis pasos no siempre bastan, y casi no
vio ejemplos.""",
)


@dataclass(frozen=True)
class SearcherConfig:
    """Los tamaños del que busca; la variante, la del experimento."""

    vocab_size: int = FIRST_BOX + experiment.BOXES
    num_labels: int = DIGIT_LABELS
    d_model: int = 64
    num_heads: int = 2
    d_ff: int = 128
    max_steps: int = experiment.DEEPEST
    max_length: int = experiment.BOXES
    epsilon: float = 0.01
    placement: str = "pre"


class Searcher(SequenceTagger):
    """Un `SequenceTagger` de un `UniversalEncoder` con parada, que se puede guardar."""

    def __init__(self, config: SearcherConfig) -> None:
        encoder = UniversalEncoder(
            config.d_model,
            config.num_heads,
            config.d_ff,
            max_steps=config.max_steps,
            max_length=config.max_length,
            epsilon=config.epsilon,
            placement=config.placement,
        )
        sizes = {name: getattr(config, name) for name in ("vocab_size", "num_labels", "d_model")}
        super().__init__(encoder, **sizes)
        self.config = config


def train_stored(
    data: Splits, first: int = FIRST, second: int = SECOND
) -> tuple[Searcher, History]:
    """El que se guarda: aprende a buscar y después a parar; su historia es la de las dos partes."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    fixed = experiment.universal(experiment.DEEPEST)
    plan = warmup_cosine(PEAK, max(1, first // 10), first)
    options = {"schedule": plan, "optimizer": experiment.first_adam}
    learning = experiment.give(fixed, data.train, first, 0.0, SEED, **options)
    halting = experiment.with_halting(fixed, experiment.DEEPEST)
    searcher = Searcher(SearcherConfig())
    searcher.load_state_dict(halting.state_dict())
    adam = experiment.second_adam(searcher)
    stopping = experiment.give(searcher, data.train, second, TAU, SEED + 1, optimizer=adam)
    seconds = learning.seconds + stopping.seconds
    return searcher, History(loss=learning.loss + stopping.loss, seconds=seconds)


def read_searcher(folder: Path) -> Searcher:
    """El que busca, guardado."""
    return load_model(folder, Searcher, SearcherConfig)


@torch.no_grad()
def results(model: Searcher, data: Splits) -> dict[str, float]:
    """Cuánto acierta lo guardado, y cuántos pasos da."""
    found = {name: float(value) for name, value in experiment.measure(model, data.test).items()}
    shares = {"casillas acertadas, %": 100 * found["aciertos"], "pasos de media": found["pasos"]}
    for hops in range(6):
        where = "a 1 salto" if hops == 1 else f"a {hops} saltos"
        shares[f"{where}, aciertos, %"] = 100 * found[f"aciertos a {hops}"]
        shares[f"{where}, pasos"] = found[f"pasos a {hops}"]
    return {name: round(value, 2) for name, value in shares.items()}


def training_record(folder: Path, data: Splits, history: History) -> dict[str, Any]:
    """Lo que se cuenta de cómo se entrenó, y lo que acierta el modelo guardado."""
    model = read_searcher(folder)
    plan = {"batch": f"{experiment.BATCH} listas", "peak": PEAK, "warmup": WARMUP, "seed": SEED}
    return {
        **how_it_was_trained("universal_transformer", "cpu", history, model, **plan),
        "data": {
            "lists": len(data.train),
            "measured": len(data.test),
            "first": FIRST,
            "second": SECOND,
            "tau": TAU,
        },
        "results": results(model, data),
    }
