"""Codificador y decodificador juntos, sin tokens: el dibujo del artículo, por dentro."""

from torch import nn

from course_lib.layers.blocks import Decoder, Encoder, Mask, Source, Target


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
        cross_mask: Mask = None,
        causal: bool = True,
    ) -> Target:
        """Codifica x y transforma y mirándola.

        Argumentos:
            x, y: origen y destino, `[batch, t, d_model]`.
            source_mask, target_mask, cross_mask: qué ven el origen de sí mismo, el destino de sí
                mismo (además de ser causal) y el destino del origen; True = visible.
            causal: con False, el destino se ve entero.
        """
        encoded = self.encoder(x, mask=source_mask)
        return self.decoder(y, encoded, mask=target_mask, cross_mask=cross_mask, causal=causal)
