"""De texto a texto: un tokenizador y un Transformer, juntos."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.decoding.beam import beam
from course_lib.decoding.greedy import greedy
from course_lib.fast.writers import writer
from course_lib.models.transformer import Transformer
from course_lib.tokenization.byte_bpe import ByteBPE
from course_lib.training.batches import pad

START, END = "<s>", "</s>"
BATCH = 128


@dataclass(frozen=True)
class Translator:
    """Un tokenizador y el modelo que se entrenó con él: entra texto y sale texto.

    Argumentos:
        tokenizer: el mismo para los dos idiomas.
        model: el Transformer; sus `pad_id`, `start_id` y `end_id` son los del tokenizador.

    Errores:
        ValueError: si el modelo y el tokenizador no son del mismo vocabulario.

    Fuente: capítulo `translator`.
    """

    tokenizer: ByteBPE
    model: Transformer

    def __post_init__(self) -> None:
        config, special = self.model.config, self.tokenizer.special
        ids = (config.pad_id, config.start_id, config.end_id)
        expected = tuple(map(special, ("<pad>", START, END)))
        sizes = {config.source_vocab, config.output_vocab}
        if sizes != {self.tokenizer.vocab_size} or ids != expected:
            raise ValueError(
                f"El modelo lee {config.source_vocab} tokens y escribe {config.output_vocab}, con "
                f"{ids} de relleno, comienzo y fin; el tokenizador tiene "
                f"{self.tokenizer.vocab_size} y {expected}. Crea el modelo con los números del "
                "tokenizador."
            )

    def example(
        self, source: str, target: str, *, to: str | None = None
    ) -> tuple[list[int], list[int]]:
        """Un ejemplo de entrenamiento: los tokens del origen y los del destino, con sus marcas."""
        return source_ids(self.tokenizer, source, to), target_ids(self.tokenizer, target)

    def sources(
        self, texts: Iterable[str], *, to: str | None = None
    ) -> Int[Tensor, "batch t_source"]:
        """Los textos de origen en tokens, en un lote con relleno."""
        ids = [source_ids(self.tokenizer, text, to) for text in texts]
        return pad(ids, self.model.config.pad_id).to(self.device)

    def prompt(self, count: int = 1) -> Int[Tensor, "batch 1"]:
        """Con lo que empieza toda traducción: `<s>`, tantas filas como textos."""
        return torch.full((count, 1), self.model.config.start_id, device=self.device)

    @property
    def device(self) -> torch.device:
        """Dónde está el modelo."""
        return next(self.model.parameters()).device

    @torch.no_grad()
    def translate(
        self,
        texts: Sequence[str],
        *,
        to: str | None = None,
        beam_size: int = 1,
        length_penalty: float = 0.6,
        max_new_tokens: int = 100,
    ) -> list[str]:
        """Traduce cada texto; de modo voraz, o con un haz de `beam_size`.

        Los textos de longitud parecida van juntos: el resultado no cambia y sobra poco relleno.

        Argumentos:
            texts: los textos de origen.
            to: el token especial que dice a qué idioma, en un modelo que sabe ir a varios.
            beam_size, length_penalty: los de `decoding.beam`; con beam_size = 1 es voraz.
            max_new_tokens: lo más larga que puede ser una traducción.

        Devuelve:
            Una traducción por texto, en su orden.

        Errores:
            ValueError: si llega un solo texto, o uno con su traducción no cabe en el modelo.
        """
        if isinstance(texts, str):
            raise ValueError("texts: se esperaban varios textos y llegó uno; pásalo en una lista.")
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        limits = {"end_id": self.model.config.end_id, "max_new_tokens": max_new_tokens}
        fastest, found = writer(self.model), {}
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            source = self.sources((texts[i] for i in chosen), to=to)
            begin = self.prompt(len(chosen)), fastest.start(source)
            if beam_size == 1:
                ids = greedy(fastest.step, *begin, **limits).token_ids.tolist()
            else:
                shape = {"beam_size": beam_size, "length_penalty": length_penalty}
                ids = [h[0].token_ids for h in beam(fastest.step, *begin, **shape, **limits)]
            found |= zip(chosen, map(self.tokenizer.decode, ids), strict=True)
        return [found[i] for i in range(len(texts))]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """El texto de cada token, para rotular figuras: el espacio de delante se quita."""
        return [self.tokenizer.decode([i], skip_special=False).strip() for i in ids]


def source_ids(tokenizer: ByteBPE, text: str, to: str | None = None) -> list[int]:
    """Un texto de origen: el token del idioma al que va, si se dice; los suyos, y `</s>`."""
    mark = [] if to is None else [tokenizer.special(to)]
    return [*mark, *tokenizer.encode(text), tokenizer.special(END)]


def target_ids(tokenizer: ByteBPE, text: str) -> list[int]:
    """Un texto de destino: `<s>`, sus tokens y `</s>`."""
    return [tokenizer.special(START), *source_ids(tokenizer, text)]
