"""Codificador y decodificador: las pilas, y lo que comparten los modelos que leen y escriben."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require, require_heads
from course_lib.layers.blocks import DecoderBlock, EncoderBlock, Mask, Source, Target
from course_lib.layers.embeddings import InputEmbedding
from course_lib.layers.multi_head_attention import KeyValueCache
from course_lib.layers.normalization import make_final_norm


@dataclass(frozen=True)
class EncoderDecoderConfig:
    """Lo que los dos Transformers tienen en común; cada uno agrega lo suyo.

    Argumentos:
        source_vocab: tamaño del vocabulario de origen, con los símbolos especiales.
        target_vocab: el de destino; None, un solo vocabulario y una sola tabla para el origen, el
            destino y la salida, como en el artículo.
        d_model, num_heads, d_ff: ancho, cabezas y ancho de la red prealimentada.
        dropout: el de las incrustaciones y el de la salida de cada subcapa.
        max_length: la secuencia más larga, en tokens.
        placement, norm, activation: "post" | "pre" | "sandwich", "layer" | "rms", "relu" | "gelu".
        final_norm: si cada pila normaliza su salida; None, solo si la colocación lo pide (en
            "post" no, como en el artículo; `torch.nn.Transformer` lo hace siempre).
        pad_id, start_id, end_id: identificadores de relleno, comienzo y fin.

    Errores:
        ValueError: si un valor no tiene sentido.

    Fuente: Vaswani et al. (2017), §3 y tabla 3.

    Ejemplo:
        >>> from course_lib.layers import EncoderDecoderConfig
        >>> config = EncoderDecoderConfig(source_vocab=100, d_model=64, num_heads=4)
        >>> config.output_vocab, config.placement  # un solo vocabulario para las dos lenguas
        (100, 'post')
    """

    source_vocab: int
    target_vocab: int | None = None
    d_model: int = 512
    num_heads: int = 8
    d_ff: int = 2048
    dropout: float = 0.1
    max_length: int = 512
    placement: Literal["post", "pre", "sandwich"] = "post"
    norm: Literal["layer", "rms"] = "layer"
    activation: Literal["relu", "gelu"] = "relu"
    final_norm: bool | None = None
    pad_id: int = 0
    start_id: int = 1
    end_id: int = 2

    def __post_init__(self) -> None:
        require(**vars(self) | {"target_vocab": self.output_vocab})
        require_heads(self.d_model, self.num_heads)
        special = (self.pad_id, self.start_id, self.end_id)
        if len(set(special)) < 3 or not all(0 <= i < self.output_vocab for i in special):
            raise ValueError(
                "pad_id, start_id y end_id deben ser distintos y caber en el vocabulario de "
                f"destino, de {self.output_vocab}; llegaron {special}."
            )
        if not self.pad_id < self.source_vocab:
            raise ValueError(
                f"pad_id = {self.pad_id} no cabe en source_vocab = {self.source_vocab}."
            )

    @property
    def output_vocab(self) -> int:
        """Tamaño del vocabulario en que escribe el modelo."""
        return self.source_vocab if self.target_vocab is None else self.target_vocab

    @property
    def block(self) -> dict[str, object]:
        """Las opciones de cada bloque, y la normalización del final."""
        names = ("dropout", "activation", "placement", "norm", "final_norm")
        return {name: getattr(self, name) for name in names}

    def embeddings(
        self, positions: Literal["sinusoidal", "learned"] | None
    ) -> tuple[InputEmbedding, InputEmbedding]:
        """Crea la incrustación del origen y la del destino; con un solo vocabulario, la misma."""
        names = ("max_length", "pad_id", "dropout")
        options = {name: getattr(self, name) for name in names} | {"positions": positions}
        source = InputEmbedding(self.source_vocab, self.d_model, **options)
        if self.target_vocab is None:
            return source, source
        return source, InputEmbedding(self.target_vocab, self.d_model, **options)


class _Stack(nn.Module):
    """Bloques uno tras otro y, si hace falta, una normalización al final."""

    Block: type[nn.Module]

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        *,
        final_norm: bool | None = None,
        **options,
    ) -> None:
        super().__init__()
        require(num_layers=num_layers)
        self.blocks = nn.ModuleList(
            self.Block(d_model, num_heads, d_ff, **options) for _ in range(num_layers)
        )
        self.norm = make_final_norm(d_model, final_norm, **options)


class Encoder(_Stack):
    """Una pila de bloques de codificador: entra un conjunto de vectores y sale otro igual de largo.

    Argumentos:
        d_model, num_heads, d_ff: los de cada bloque.
        num_layers: cuántos bloques.
        final_norm: si se normaliza la salida de la pila; None, lo que pide la colocación: sí en
            "pre" y "sandwich", donde nadie normaliza la suma residual, y no en "post".
        options: las opciones de `EncoderBlock`.

    Errores:
        ValueError: si un tamaño o una opción no tiene sentido.

    Fuente: Vaswani et al. (2017), §3.1; capítulo `encoder`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Encoder
        >>> encoder = Encoder(d_model=8, num_heads=2, d_ff=32, num_layers=2)
        >>> x = torch.rand(1, 5, 8)
        >>> encoder(x).shape
        torch.Size([1, 5, 8])
        >>> backwards = encoder(x.flip(1)).flip(1)  # un conjunto: el orden no cambia nada
        >>> torch.allclose(backwards, encoder(x), atol=1e-5)
        True
    """

    Block = EncoderBlock

    def forward(self, x: Source, *, mask: Mask = None, causal: bool = False) -> Source:
        """Pasa x por todos los bloques."""
        for block in self.blocks:
            x = block(x, mask=mask, causal=causal)
        return self.norm(x)


class Decoder(_Stack):
    """Una pila de bloques de decodificador: cada uno mira al destino escrito y al origen.

    Argumentos: los de `Encoder`.

    Fuente: Vaswani et al. (2017), §3.1; capítulo `decoder`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Decoder
        >>> decoder = Decoder(d_model=8, num_heads=2, d_ff=32, num_layers=2)
        >>> y, encoded = torch.rand(1, 3, 8), torch.rand(1, 5, 8)
        >>> before = decoder(y, encoded)
        >>> y[:, 2] = 0  # si cambia la última posición, las anteriores no lo notan
        >>> (decoder(y, encoded) - before).abs().amax(-1) > 1e-4
        tensor([[False, False,  True]])
    """

    Block = DecoderBlock

    def forward(
        self,
        y: Target,
        encoded: Source,
        *,
        mask: Mask = None,
        cross_mask: Mask = None,
        causal: bool = True,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Target:
        """Pasa y por todos los bloques.

        Argumentos: los de `DecoderBlock.forward`; `caches`, una caché por bloque.
        """
        seen = {"mask": mask, "cross_mask": cross_mask, "causal": causal}
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            y = block(y, encoded, **seen, cache=cache)
        return self.norm(y)


class EncoderDecoder(nn.Module):
    """Codificador y decodificador, sin incrustaciones: lo que es `torch.nn.Transformer`.

        h = codificador(x)          y ← decodificador(y, h)

    Argumentos:
        encoder, decoder: las dos pilas, del mismo ancho.

    Fuente: Vaswani et al. (2017), fig. 1; capítulo `transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Decoder, Encoder, EncoderDecoder
        >>> sizes = {"d_model": 8, "num_heads": 2, "d_ff": 32, "num_layers": 2}
        >>> both = EncoderDecoder(Encoder(**sizes), Decoder(**sizes))
        >>> both(torch.rand(1, 5, 8), torch.rand(1, 3, 8)).shape  # tan largo como el destino
        torch.Size([1, 3, 8])
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


@dataclass(frozen=True, eq=False, repr=False)
class DecoderState:
    """Lo que un decodificador necesita para seguir: el origen codificado y sus cachés.

    Argumentos:
        caches: claves y valores de lo ya escrito: una por bloque, o por paso en el Universal
            Transformer.
        encoded: la salida del codificador.
        mask: qué posiciones del origen se ven.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import Transformer, TransformerConfig
        >>> model = Transformer(TransformerConfig(20, d_model=8, num_heads=2, num_layers=1))
        >>> state = model.start(torch.tensor([[5, 6, 7, 2]]))  # lee el origen
        >>> state.encoded.shape, state.length
        (torch.Size([1, 4, 8]), 0)
        >>> _, state = model.step(torch.tensor([[1]]), state)  # escribe el primer token
        >>> state.length
        1
    """

    caches: tuple[KeyValueCache, ...]
    encoded: Float[Tensor, "batch t_source d_model"]
    mask: Bool[Tensor, "batch 1 t_source"]

    @property
    def length(self) -> int:
        """Cuántos tokens van escritos."""
        return self.caches[0].length

    def copy(self) -> "DecoderState":
        """Otro estado, cuyas cachés pueden alargarse sin que estas cambien."""
        return replace(self, caches=tuple(cache.copy() for cache in self.caches))

    def select(self, rows: Int[Tensor, " rows"]) -> "DecoderState":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        caches = tuple(cache.select(rows) for cache in self.caches)
        return replace(self, caches=caches, encoded=self.encoded[rows], mask=self.mask[rows])
