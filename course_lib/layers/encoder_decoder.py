"""Codificador y decodificador juntos, sin tokens: el dibujo del artículo, por dentro."""

from typing import NamedTuple

from torch import Tensor, nn

from course_lib.layers.blocks import Decoder, Encoder, Mask, Source, Target


class AttentionWeights(NamedTuple):
    """Los pesos de atención de cada capa, `[batch, heads, t_q, t_k]`."""

    encoder: list[Tensor]
    decoder: list[Tensor]
    cross: list[Tensor]


class EncoderDecoder(nn.Module):
    """Codificador y decodificador, sin incrustaciones: lo que es `torch.nn.Transformer`.

        h = codificador(x)          y ← decodificador(y, h)

    Argumentos:
        encoder, decoder: las dos pilas, del mismo ancho.

    Fuente: Vaswani et al. (2017), fig. 1; capítulo `transformer`.
    """

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(
        self,
        x: Source,
        y: Target,
        *,
        source_mask: Mask = None,
        target_mask: Mask = None,
        memory_mask: Mask = None,
        causal: bool = True,
        need_weights: bool = False,
    ) -> Target | tuple[Target, AttentionWeights]:
        """Codifica x y transforma y mirándola.

        Argumentos:
            x, y: origen y destino, `[batch, t, d_model]`.
            source_mask, target_mask, memory_mask: qué ven el origen de sí mismo, el destino de sí
                mismo (además de ser causal) y el destino del origen; True = visible.
            causal: con False, el destino se ve entero.
            need_weights: con True devuelve también los pesos.

        Devuelve:
            El destino transformado; o el par (destino, AttentionWeights).
        """
        masks = {"mask": target_mask, "memory_mask": memory_mask, "causal": causal}
        if not need_weights:
            return self.decoder(y, self.encoder(x, mask=source_mask), **masks)
        h, encoder = self.encoder(x, mask=source_mask, need_weights=True)
        y, decoder, cross = self.decoder(y, h, **masks, need_weights=True)
        return y, AttentionWeights(encoder, decoder, cross)
