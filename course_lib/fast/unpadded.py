"""BERT sin relleno: los bloques trabajan solo con los tokens reales."""

from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.fast._twin import twin
from course_lib.fast.packing import Packing
from course_lib.layers.blocks import ACTIVATIONS, FeedForward
from course_lib.models.bert.model import Bert, BertOutput, real_tokens

IN_PLACE = {"relu": torch.relu_, "gelu": torch.ops.aten.gelu_}

# Sin relleno, cada grupo de secuencias de igual longitud atiende por separado: en una CPU cuesta,
# por bloque, como unas 10^7 multiplicaciones; una fila de relleno, unas 24 · d_model². En una GPU
# lanzar los núcleos de un grupo, 0.2 ms (H100, BERT base), es tiempo para 5 · 10^9.
GROUP_COST, GPU_GROUP_COST = 400_000, 200_000_000


def unpadded(model: nn.Module, *, group_cost: int | None = None) -> nn.Module:
    """El mismo modelo, cuyos bloques no calculan el relleno cuando quitarlo compensa.

    En los tokens reales da lo mismo, también el gradiente. Sin relleno tampoco hay máscara, y la
    atención va más deprisa.

        train(unpadded(model), PreTrainingLoss(), batches, …)     # se entrena `model`

    Argumentos:
        model: un `Bert`, o cualquier modelo que lo tenga dentro; no cambia.
        group_cost: cuánto cuesta atender por separado a las secuencias de cada longitud; 0, quitar
            siempre el relleno. Si falta, lo que se midió en la CPU o en una GPU.

    Fuente: capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib import fast
        >>> from course_lib.models import Bert, BertConfig
        >>> bert = Bert(BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=2)).eval()
        >>> token_ids = torch.tensor([[2, 10, 11, 3], [2, 12, 3, 0]])  # el 0 es relleno
        >>> same, real = fast.unpadded(bert, group_cost=0), token_ids != 0
        >>> torch.allclose(same(token_ids).states[real], bert(token_ids).states[real], atol=1e-4)
        True
    """
    return twin(model, {Bert: UnpaddedBert}, group_cost=group_cost)


class UnpaddedBert(Bert):
    """Un `Bert` que quita el relleno; lo hace `unpadded`."""

    group_cost: int | None

    def forward(
        self,
        token_ids: Int[Tensor, "batch t"],
        segment_ids: Int[Tensor, "batch t"] | None = None,
        *,
        mask: Bool[Tensor, "batch 1 t"] | None = None,
        need_hidden: bool = False,
    ) -> BertOutput:
        """Da un vector por token; como `Bert.forward`."""
        mask = real_tokens(token_ids, mask, self.config.pad_id)
        H = self.embedding(token_ids, segment_ids)
        x, look, whole = self._ways(H, mask)
        hidden = [H]
        for block in self.blocks:
            x = block.residual_attention(x, partial(look, block.attention))
            x = block.residual_feed_forward(x, partial(feed, block.feed_forward))
            if need_hidden:
                hidden.append(whole(x))
        H = whole(x)
        return BertOutput(H, self._pool(H), tuple(hidden) if need_hidden else None)

    def _ways(self, H, mask):
        """Con qué empiezan los bloques, cómo atienden y cómo se vuelve a `[batch, t, d_model]`."""
        packing = None if mask.is_meta else Packing.of(mask.squeeze(1))
        if packing is not None and self._worth(packing, mask):
            return packing.pack(H), packing.attend, packing.unpack
        if packing is not None and len(packing.positions) == mask.numel():
            mask = None
        return H, lambda attention, x: attention(x, mask=mask), lambda x: x

    def _worth(self, packing, mask):
        padding = mask.numel() - len(packing.positions)
        cost = GROUP_COST if mask.device.type == "cpu" else GPU_GROUP_COST
        cost = cost if self.group_cost is None else self.group_cost
        return padding and padding * self.config.d_model**2 >= cost * len(packing.groups)


def feed(layer: FeedForward, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
    """La red prealimentada; sin gradiente, la activación se escribe en la misma memoria.

    Lo que sale de W_1 es lo más grande que calcula un bloque, y pedir al sistema otro tanto cuesta
    casi lo mismo que la activación.
    """
    activations = ACTIVATIONS if torch.is_grad_enabled() else IN_PLACE
    return layer.W_2(layer.dropout(activations[layer.activation](layer.W_1(x))))
