"""Tokenización: aprender y aplicar BPE

El BPE del libro, en Python, y el de `tokenizers`, en Rust, con la partición de GPT-2. Se entrena
con 10 MB de tres clases: recetas del curso (pocas palabras distintas), un texto inventado con
la frecuencia de las palabras de un idioma (muchas) y, si la variable COURSE_TEXT da la ruta de
uno, un texto largo de verdad. Deben salir las mismas fusiones, y al codificar, los mismos
tokens. El de Rust usa tantos hilos como torch. El nuestro codifica cada vez con la memoria de
trozos vacía; el de Rust conserva la suya.
"""

import itertools
import json
import os
from functools import cache
from pathlib import Path
from random import Random

import torch

from benchmarks._measure import compare, peer, rows_of
from course_lib.data.recipes import iter_recipes
from course_lib.tokenization import ByteBPE
from course_lib.tokenization.byte_bpe import ALPHABET, SPECIAL_TOKENS

SIZE = 10_000_000  # letras
VOCABULARY = 16_000
REAL_TEXT = Path(os.environ["COURSE_TEXT"]) if "COURSE_TEXT" in os.environ else None


def run(device: str) -> list[dict]:
    return [
        row
        for text in texts_here()
        for work, build in (("entrenar", training), ("codificar", encoding))
        for row in rows_of(
            {"trabajo": work, "texto": text},
            compare(build, text, device="cpu", reference="tokenizers", same=assert_same),
        )
    ]


def texts_here() -> list[str]:
    return ["recetas", "inventado", *([REAL_TEXT.stem] if REAL_TEXT else [])]


@cache
def texts_of(name: str) -> list[str]:
    if REAL_TEXT and name == REAL_TEXT.stem:
        return [REAL_TEXT.read_text(encoding="utf-8")]
    source, chosen, size = recipes() if name == "recetas" else invented(), [], 0
    while size < SIZE:
        chosen.append(next(source))
        size += len(chosen[-1])
    return chosen


def recipes():
    for recipe in iter_recipes(0):
        yield recipe.text
        yield recipe.text_en


def invented(words: int = 200_000):
    """Párrafos de palabras inventadas: la de rango r aparece con frecuencia 1/r (ley de Zipf)."""
    random = Random(0)
    syllables = [a + b for a in ("", *"bcdfglmnprstv") for b in ("a", "e", "i", "o", "u", "an")]
    names = ["".join(random.choices(syllables, k=random.randint(1, 4))) for _ in range(words)]
    weights = list(itertools.accumulate(1 / rank for rank in range(1, words + 1)))
    while True:
        yield " ".join(random.choices(names, cum_weights=weights, k=500)) + ".\n"


def training(text: str, device: str) -> dict:
    texts = texts_of(text)
    jobs = {"ByteBPE": lambda: ByteBPE.train(texts, VOCABULARY)}
    if tokenizers := peer("tokenizers"):
        one_thread_each()
        jobs["tokenizers"] = lambda: train_peer(tokenizers, texts)
    return jobs


def encoding(text: str, device: str) -> dict:
    texts = texts_of(text)
    ours = ByteBPE.train(texts, VOCABULARY)
    jobs = {"ByteBPE": lambda: encode_ours(ours.merges, texts)}
    if tokenizers := peer("tokenizers"):
        one_thread_each()
        theirs = train_peer(tokenizers, texts)
        jobs["tokenizers"] = lambda: encode_peer(theirs, texts)
    return jobs


def encode_ours(merges: tuple, texts: list[str]) -> tuple[str, list[list[int]]]:
    tokenizer = ByteBPE(merges)  # recién creado: no recuerda nada
    return "ByteBPE", [tokenizer.encode(text) for text in texts]


def encode_peer(tokenizer, texts: list[str]) -> tuple[str, list[list[int]]]:
    return "tokenizers", [encoding.ids for encoding in tokenizer.encode_batch_fast(texts)]


def one_thread_each() -> None:
    os.environ.setdefault("RAYON_NUM_THREADS", str(torch.get_num_threads()))


def train_peer(tokenizers, texts: list[str]):
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def assert_same(one, other) -> None:
    """Exige las mismas fusiones, o los mismos tokens (cada uno con su numeración)."""
    if isinstance(one, tuple):
        assert renumbered(*one) == renumbered(*other), "otros tokens"
    else:
        assert merges_of(one) == merges_of(other), "otras fusiones"


def renumbered(whose: str, ids: list[list[int]]) -> list[list[int]]:
    """Pasa a la numeración de `tokenizers`: los especiales, los bytes en su orden, las fusiones."""
    if whose == "tokenizers":
        return ids
    first = len(SPECIAL_TOKENS)
    rank = {byte: first + i for i, byte in enumerate(ALPHABET)}
    return [[rank.get(i, first + i) for i in text] for text in ids]


def merges_of(tokenizer) -> list[tuple[str, str]]:
    if not isinstance(tokenizer, ByteBPE):
        return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
    names = [
        "".join(ALPHABET[byte] for byte in tokenizer.token_bytes(i))
        for i in range(tokenizer.vocab_size)
    ]
    return [(names[left], names[right]) for left, right in tokenizer.merges]
