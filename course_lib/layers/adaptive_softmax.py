"""Incrustación y salida adaptativas: las palabras raras, en tablas más estrechas."""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import not_in_vocabulary, require, require_ids

Hidden = Float[Tensor, "batch t d_model"]


class AdaptiveEmbedding(nn.Module):
    """Busca el vector de cada token en la tabla de su grupo de frecuencia.

        x = √d_model · P_c E_c[token],    E_c de ancho d_embed / div_valᶜ

    Los identificadores van de la palabra más frecuente a la más rara, y los cortes los reparten
    en grupos c = 0, 1, … Sin cortes hay una sola tabla, como en `InputEmbedding`.

    Argumentos:
        vocab_size: número de tokens.
        d_model: ancho de la salida.
        cutoffs: el primer token de cada grupo, desde el segundo; crecientes.
        div_val: por cuánto se divide el ancho de un grupo al siguiente.
        d_embed: ancho de la primera tabla; si falta, d_model. P_c falta si todas las tablas miden
            d_model.

    Errores:
        ValueError: si los cortes no crecen dentro del vocabulario o una tabla queda sin ancho.

    Fuente: Dai et al. (2019), §4.1; Baevski y Auli (2019), §3; Grave et al. (2017), §4.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import AdaptiveEmbedding
        >>> embedding = AdaptiveEmbedding(1000, d_model=16, cutoffs=(100, 400), div_val=2)
        >>> [tuple(table.weight.shape) for table in embedding.tables]  # más raras, más estrechas
        [(100, 16), (300, 8), (600, 4)]
        >>> embedding(torch.tensor([[5, 999]])).shape
        torch.Size([1, 2, 16])
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        *,
        cutoffs: tuple[int, ...] = (),
        div_val: int = 1,
        d_embed: int | None = None,
    ) -> None:
        super().__init__()
        d_embed = d_model if d_embed is None else d_embed
        require(vocab_size=vocab_size, d_model=d_model, d_embed=d_embed, div_val=div_val)
        self.vocab_size, self.d_model = vocab_size, d_model
        self.ends = _ends(vocab_size, cutoffs)
        widths = [d_embed // div_val**c for c in range(len(self.ends) - 1)]
        require(**{f"d_embed // div_val**{c}": width for c, width in enumerate(widths)})
        self.tables = nn.ModuleList(map(nn.Embedding, self.sizes, widths))
        self.projections = nn.ModuleList()
        if div_val > 1 or d_embed != d_model:
            # Con tablas de un solo ancho, los autores comparten también la proyección.
            shared = [nn.Linear(d_embed, d_model, bias=False)] * len(widths)
            own = (nn.Linear(width, d_model, bias=False) for width in widths)
            self.projections.extend(shared if div_val == 1 else own)
        self.reset_parameters()

    @property
    def sizes(self) -> list[int]:
        """Cuántos tokens hay en cada grupo."""
        return [high - low for low, high in pairwise(self.ends)]

    def reset_parameters(self) -> None:
        """Inicializa tablas y proyecciones para que cada vector, ya escalado, sea N(0, 1)."""
        for table in self.tables:
            nn.init.normal_(table.weight, std=table.embedding_dim**-0.5)
        for projection in self.projections:
            nn.init.normal_(projection.weight, std=self.d_model**-0.5)

    def forward(self, token_ids: Int[Tensor, "batch t"]) -> Hidden:
        """Convierte identificadores en vectores, `[batch, t, d_model]`.

        Errores:
            ValueError: si un identificador no está en el vocabulario.
        """
        require_ids("token_ids", token_ids)
        try:
            return self._look_up(token_ids) * math.sqrt(self.d_model)
        except IndexError:
            raise ValueError(not_in_vocabulary("token_ids", token_ids, self.vocab_size)) from None

    def _look_up(self, token_ids):
        """Busca en todas las tablas, y de cada una deja los tokens de su grupo.

        Así las formas no dependen de los identificadores, que en una GPU habría que leer.
        """
        x = self._rows(
            0, token_ids if len(self.tables) == 1 else token_ids.clamp(max=self.ends[1] - 1)
        )
        for c, (low, high) in enumerate(pairwise(self.ends[1:]), start=1):
            # El último grupo no tiene tope: si el token no está en ninguno, torch lo dice.
            last = high == self.vocab_size
            places = (token_ids - low).clamp(min=0, max=None if last else high - low - 1)
            x = torch.where((token_ids >= low)[..., None], self._rows(c, places), x)
        return x

    def _rows(self, c, token_ids):
        x = self.tables[c](token_ids)
        return self.projections[c](x) if self.projections else x


class AdaptiveSoftmax(nn.Module):
    """Reparte la probabilidad primero entre grupos de palabras y después dentro de cada grupo.

        P(w) = P(w | cabecera)                 si w es del primer grupo
        P(w) = P(grupo c | cabecera) P(w | c)  si no

    La cabecera es un softmax sobre las palabras del primer grupo y una entrada más por cada uno
    de los otros. Las tablas son las de la incrustación: (h P_c) E_cᵀ + b_c.

    Argumentos:
        embedding: la `AdaptiveEmbedding`, de la que toma los tamaños (no se la queda).
        tie_projections: con True, las proyecciones P_c son también las de la incrustación, salvo
            la de la cabecera, que siempre es propia (los autores lo hacen así).

    Fuente: Grave et al. (2017), §4; Dai et al. (2019), §4.1.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import AdaptiveEmbedding, AdaptiveSoftmax
        >>> embedding = AdaptiveEmbedding(1000, d_model=16, cutoffs=(100, 400), div_val=2)
        >>> log_p = AdaptiveSoftmax(embedding)(torch.rand(1, 2, 16), embedding)
        >>> log_p.shape
        torch.Size([1, 2, 1000])
        >>> log_p.exp().sum(-1).detach().round(decimals=3)  # los grupos, juntos, suman 1
        tensor([[1., 1.]])
    """

    def __init__(self, embedding: AdaptiveEmbedding, *, tie_projections: bool = True) -> None:
        super().__init__()
        first, *rest = embedding.tables
        self.biases = nn.ParameterList(torch.zeros(size) for size in embedding.sizes)
        self.groups = nn.Linear(first.embedding_dim, len(rest)) if rest else None
        own = embedding.tables if not tie_projections else [first]
        self.projections = nn.ModuleList(
            nn.Linear(table.embedding_dim, embedding.d_model, bias=False)
            for table in (own if embedding.projections else [])
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Inicializa las proyecciones como las de la incrustación, y los sesgos con ceros."""
        for projection in self.projections:
            nn.init.normal_(projection.weight, std=projection.out_features**-0.5)
        for bias in self.biases:
            nn.init.zeros_(bias)
        if self.groups is not None:
            nn.init.normal_(self.groups.weight, std=self.groups.in_features**-0.5)
            nn.init.zeros_(self.groups.bias)

    def forward(self, h: Hidden, embedding: AdaptiveEmbedding) -> Float[Tensor, "batch t vocab"]:
        """Puntúa todo el vocabulario: logits sin cortes; con ellos, log P(w), que también lo son.

        Argumentos:
            h: la salida del modelo, `[batch, t, d_model]`.
            embedding: la incrustación cuyas tablas comparte.
        """
        if self.groups is None:
            return self._scores(0, h, embedding)
        head, tails = self._head(h, embedding)
        rest = [
            log_group + _log_softmax(self._scores(c, h, embedding))
            for c, log_group in enumerate(tails.split(1, dim=-1), start=1)
        ]
        return torch.cat([head, *rest], dim=-1).to(h.dtype)

    def nll(
        self, h: Hidden, targets: Int[Tensor, "batch t"], embedding: AdaptiveEmbedding
    ) -> Float[Tensor, "batch t"]:
        """Da −log P de cada objetivo, al menos en float32; un grupo raro, solo donde hace falta.

        Argumentos:
            h, embedding: los de `forward`.
            targets: el token correcto de cada posición.

        Errores:
            ValueError: si un objetivo no está en el vocabulario.
        """
        require_ids("targets", targets)
        try:
            return self._nll(h, targets.long(), embedding)
        except IndexError:
            raise ValueError(not_in_vocabulary("targets", targets, embedding.vocab_size)) from None

    def _nll(self, h, targets, embedding):
        if self.groups is None:
            return _minus_log_p(_log_softmax(self(h, embedding)), targets)
        head, tails = self._head(h, embedding)
        nll = _minus_log_p(head, targets.clamp(max=embedding.ends[1] - 1))
        for c, low in enumerate(embedding.ends[1:-1], start=1):
            here = targets >= low
            if c < len(self.biases) - 1:
                here &= targets < embedding.ends[c + 1]
            # Una GPU ha de decir cuántos son: puntuar el grupo entero a todos costaría más.
            inside = _log_softmax(self._scores(c, h[here], embedding))
            rest = _minus_log_p(inside, targets[here] - low) - tails[..., c - 1][here]
            nll = nll.masked_scatter(here, rest)
        return nll

    def _head(self, h, embedding):
        """log P de las palabras del primer grupo y de cada uno de los otros grupos."""
        h = self._project(0, h, embedding)
        words = F.linear(h, embedding.tables[0].weight, self.biases[0])
        log_p = _log_softmax(torch.cat([words, self.groups(h)], dim=-1))
        return log_p.split([words.shape[-1], log_p.shape[-1] - words.shape[-1]], dim=-1)

    def _scores(self, c, h, embedding):
        h = self._project(c, h, embedding)
        return F.linear(h, embedding.tables[c].weight, self.biases[c])

    def _project(self, c, h, embedding):
        if not embedding.projections:
            return h
        own = c < len(self.projections)
        return h @ (self if own else embedding).projections[c].weight


def _minus_log_p(log_p, targets):
    """−log P de cada objetivo; ninguno se ignora, tampoco −100."""
    return F.nll_loss(log_p.movedim(-1, 1), targets, reduction="none", ignore_index=-(2**63))


def _log_softmax(scores):
    wide = torch.promote_types(scores.dtype, torch.float32)
    return F.log_softmax(scores, dim=-1, dtype=wide)


def _ends(vocab_size, cutoffs):
    ends = (0, *cutoffs, vocab_size)
    if any(low >= high for low, high in pairwise(ends)):
        raise ValueError(
            f"cutoffs: se esperaban cortes crecientes entre 1 y {vocab_size - 1} y llegó "
            f"{tuple(cutoffs)}."
        )
    return ends
