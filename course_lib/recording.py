"""Los pesos de atención de un modelo, para mirarlos: el modelo no sabe que lo miran."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from torch import Tensor, nn


@contextmanager
def attention_maps(model: nn.Module) -> Iterator[list[Tensor]]:
    """Apunta los pesos de cada atención que el modelo calcula dentro del `with`.

    El modelo da lo mismo que sin mirarlo. Cada capa que mezcla valores tiene `weights`, con los
    argumentos de su `forward`: así se dice con qué pesos mezcla, y una capa propia que lo tenga
    también se apunta. Los pesos conservan su gradiente; sin él, con `torch.no_grad()`.

    Argumentos:
        model: un modelo, o una capa suelta.

    Devuelve:
        Una lista que crece: un tensor `[batch, heads, t_q, t_k]` por llamada, en el orden en que
        ocurren y antes del dropout. En un decodificador, los de cada bloque son dos, los propios y
        los cruzados; escribiendo token a token, cada paso agrega los suyos.

    Errores:
        ValueError: si en el modelo no hay ninguna atención.

    Fuente: capítulo `self_attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Encoder
        >>> from course_lib.recording import attention_maps
        >>> encoder = Encoder(d_model=8, num_heads=2, d_ff=16, num_layers=3)
        >>> with attention_maps(encoder) as A:
        ...     _ = encoder(torch.rand(1, 5, 8))
        >>> len(A), A[0].shape  # uno por capa: lote, cabezas, consultas y claves
        (3, torch.Size([1, 2, 5, 5]))
        >>> torch.allclose(A[0].sum(-1), torch.tensor(1.0))  # cada fila suma 1
        True
    """
    layers = [layer for layer in model.modules() if callable(getattr(layer, "weights", None))]
    if not layers:
        raise ValueError(
            f"model: se esperaba un módulo con alguna atención y llegó {type(model).__name__}, que "
            "no tiene ninguna. Una capa propia se apunta si tiene un método `weights`, con los "
            "argumentos de su `forward`."
        )
    found: list[Tensor] = []

    def note(layer, arguments, options):
        found.append(layer.weights(*arguments, **options))

    with ExitStack() as stack:
        for layer in layers:
            stack.enter_context(layer.register_forward_pre_hook(note, with_kwargs=True))
        yield found
