"""Calidad del traductor de recetas, y de sus rivales

Coincidencia exacta y BLEU (sacrebleu) sobre recetas cuya combinación de plato e ingrediente principal no está en el entrenamiento. Con tres semillas, el traductor y una GRU con atención aditiva del mismo ancho: los mismos renglones, vocabulario, lotes, plan y tasa que el modelo guardado (`book/_models/translating.py`), y la mitad de los pasos. La tasa es la del traductor; la GRU no ha elegido la suya.

Los otros dos no se entrenan, y un renglón conocido lo dan tal cual. «Recordar» da la traducción del renglón que comparte más palabras. «Analogía» busca uno que difiera en una sola palabra, mira en otra pareja de renglones qué cambia en la traducción, y hace ese cambio.
"""  # noqa: E501

import hashlib
import io
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from book._models import translating
from course_lib.data.recipes import Pair
from course_lib.files import write_atomically
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.translation import Translator

UNFINISHED = Path(__file__).parents[1] / "_build" / "benchmarks"
STEPS, SEEDS = translating.STEPS // 2, (0, 1, 2)
LONGEST, BATCH = 60, 128


def run(device: str) -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    data = translating.RecipeLines()
    jobs = {
        (name, seed): partial(trained, make, data, seed, device)
        for name, make in (("el traductor", lambda start: start), ("GRU con atención", Recurrent))
        for seed in SEEDS
    }
    for name, rival in (("analogía", Analogy), ("recordar", Memory)):
        jobs[name, "—"] = lambda rival=rival: translating.results(rival(data.train), data)
    found = read_or_run({unfinished(*who, device): work for who, work in jobs.items()})
    return [
        {"quién": name, "semilla": str(seed)} | figures
        for (name, seed), figures in zip(jobs, found, strict=True)
    ]


def read_or_run(jobs: dict[Path, Callable[[], Any]]) -> list[Any]:
    """Da lo que mide cada trabajo, en orden; lee lo que ya se midió en una vez interrumpida.

    Cada resultado se guarda en su archivo en cuanto se tiene; al terminar todos, se borran.
    """
    for path, run in jobs.items():
        if not path.exists():
            content = io.BytesIO()
            torch.save(run(), content)
            write_atomically(path, content.getvalue())
    found = [torch.load(path, weights_only=True) for path in jobs]
    for path in jobs:
        path.unlink()
    return found


def unfinished(name: str, seed: int | str, device: str) -> Path:
    """Dónde queda lo de uno hasta que terminan todos; en otro sitio, si cambió lo que ejecuta."""
    code = Path(__file__).read_bytes() + Path(translating.__file__).read_bytes()
    who = f"{name} {seed} {device} {torch.__version__}".encode()
    return UNFINISHED / f"translator-{hashlib.sha256(code + who).hexdigest()[:16]}.pt"


def trained(
    make: Callable[[Translator], Any], data: translating.RecipeLines, seed: int, device: str
) -> dict[str, float]:
    """Lo que acierta uno de los que se entrenan."""
    print(f"{make}: semilla {seed}", flush=True)
    start = translating.initial_translator(data.train, seed)
    found = make(start)
    found.model.to(device)
    ready = translating.batches(start, data.train, seed)
    translating.train_model(found.model, ready, STEPS, seed=seed)
    return translating.results(found, data)


class Recurrent:
    """La GRU con atención, de texto a texto, con el vocabulario de un traductor."""

    def __init__(self, start: Translator) -> None:
        self.start, config = start, start.model.config
        sizes = (config.source_vocab, config.output_vocab, config.d_model, "additive")
        special = (config.pad_id, config.start_id, config.end_id)
        self.model = Seq2Seq(Seq2SeqConfig(*sizes, *special))

    def translate(self, texts: Sequence[str]) -> list[str]:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        found = {}
        for first in range(0, len(order), BATCH):
            chosen = order[first : first + BATCH]
            ids = self.model.greedy(self.start.sources(texts[i] for i in chosen), LONGEST)
            found |= zip(chosen, map(self.start.tokenizer.decode, ids.tolist()), strict=True)
        return [found[i] for i in range(len(texts))]


class Memory:
    """La traducción del renglón que comparte más palabras; la suya, si se entrenó."""

    def __init__(self, lines: Sequence[Pair]) -> None:
        self.known = {line.source: line.target for line in lines}
        self.bags = [(frozenset(words(s)), target) for s, target in self.known.items()]

    def translate(self, texts: Sequence[str]) -> list[str]:
        return [self.known[text] if text in self.known else self.closest(text) for text in texts]

    def closest(self, text: str) -> str:
        mine = set(words(text))
        # El coseno de los dos conjuntos de palabras.
        return max(self.bags, key=lambda one: len(mine & one[0]) / len(one[0]) ** 0.5)[1]


class Analogy(Memory):
    """Cambia una palabra de un renglón conocido como cambia en otra pareja de renglones."""

    def __init__(self, lines: Sequence[Pair]) -> None:
        super().__init__(lines)
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


def words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text)


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
