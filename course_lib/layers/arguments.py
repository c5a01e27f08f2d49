"""Lo que las capas y los modelos exigen de sus argumentos; si no sirven, un error lo explica."""

from collections.abc import Sized
from numbers import Integral

import torch
import torch.nn.functional as F
from torch import Tensor

ID_TYPES = (torch.int64, torch.int32)
OPTIONS = {
    "activation": ("relu", "gelu"),
    "norm": ("layer", "rms"),
    "placement": ("post", "pre", "sandwich"),
}


def require(**arguments: object) -> None:
    """Exige de cada argumento lo que pide su nombre, que en todo el curso quiere decir lo mismo.

    Lo que empieza por `d_`, `div_`, `num_` o `max_`, y cada vocabulario, es un entero positivo;
    cada `dropout`, una probabilidad; `eps`, positivo o None; una opción, de las suyas. Los nombres
    sin regla no se miran: una configuración puede pasar todos sus campos.
    """
    for name, value in arguments.items():
        if name in OPTIONS:
            require_option(name, value, OPTIONS[name])
        elif name.startswith(("d_", "div_", "num_", "max_")) or "vocab" in name:
            require_sizes(**{name: value})
        elif name.endswith("dropout") and not 0.0 <= value < 1.0:
            raise ValueError(f"{name}: se esperaba una probabilidad en [0, 1) y llegó {value}.")
        elif name == "eps" and value is not None and value <= 0:
            raise ValueError(f"eps: se esperaba un número positivo y llegó {value}.")


def require_option(name: str, value: object, options: tuple) -> None:
    """Rechaza un valor que no está entre las opciones, y las dice."""
    if value not in options:
        choices = ", ".join(map(repr, options))
        raise ValueError(f"{name}: se esperaba uno de {choices} y llegó {value!r}.")


def require_sizes(**sizes: int) -> None:
    """Rechaza los tamaños que no son enteros positivos."""
    for name, size in sizes.items():
        if not isinstance(size, Integral) or size < 1:
            raise ValueError(f"{name}: se esperaba un entero positivo y llegó {size!r}.")


def require_heads(d_model: int, num_heads: int) -> None:
    """Exige que el ancho se reparta entre las cabezas sin que sobre nada."""
    if d_model <= 0 or num_heads <= 0 or d_model % num_heads:
        raise ValueError(
            "Se esperaba d_model positivo y divisible entre num_heads, y llegó "
            f"d_model = {d_model}, num_heads = {num_heads}. Cada cabeza recibe d_model / num_heads."
        )


def require_pad_id(pad_id: int, vocab_size: int) -> None:
    """Exige que el relleno sea una palabra del vocabulario."""
    if not 0 <= pad_id < vocab_size:
        raise ValueError(
            f"pad_id: se esperaba un identificador entre 0 y {vocab_size - 1} y llegó {pad_id}."
        )


def require_width(name: str, X: Tensor, width: int, argument: str) -> None:
    """Exige que el último eje mida lo que se fijó al crear la capa con ese argumento."""
    if X.shape[-1:] != (width,):
        raise ValueError(
            f"{name}: se esperaba un ancho de {width} y llegó la forma {tuple(X.shape)}. "
            f"El ancho es el último eje, y se fija al crear la capa con {argument}."
        )


def require_rows(token_ids: Tensor, rows: int, state: str) -> None:
    """Exige que el lote tenga las mismas filas que lo ya leído."""
    if len(token_ids) != rows:
        raise ValueError(
            f"token_ids: se esperaban las {rows} filas de {state} y llegó la forma "
            f"{tuple(token_ids.shape)}. Elige las filas de {state} con select."
        )


def require_caches(name: str, caches: Sized, blocks: Sized, unit: str = "bloques") -> None:
    """Exige una caché por bloque: la de un modelo con más o con menos no sirve."""
    if len(caches) != len(blocks):
        raise ValueError(
            f"{name}: se esperaba la de un modelo de {len(blocks)} {unit}, como este, y llegó la "
            f"de uno de {len(caches)}."
        )


def require_ids(name: str, token_ids: Tensor) -> None:
    """Rechaza identificadores que no son enteros de un lote; no mira cuáles son (`look_up`)."""
    if token_ids.dtype not in ID_TYPES:
        raise ValueError(
            f"{name}: se esperaban identificadores enteros y llegó el tipo {token_ids.dtype}. "
            "Pasa la salida del tokenizador, en un tensor de tipo torch.long."
        )
    if token_ids.ndim != 2:
        raise ValueError(
            f"{name}: se esperaba la forma [batch, t] y llegó {tuple(token_ids.shape)}. "
            f"Una sola oración es un lote de una: {name}[None]."
        )


def look_up(name: str, token_ids: Tensor, table: Tensor) -> Tensor:
    """Las filas de una tabla; si algún identificador no está en ella, un error lo explica.

    Es torch quien lo comprueba al buscar: si todo va bien no se lee ningún número del dispositivo,
    que en una GPU detendría la cola. (Una GPU avisa más tarde y en inglés.)
    """
    try:
        return F.embedding(token_ids, table)
    except IndexError:
        raise ValueError(not_in_vocabulary(name, token_ids, len(table))) from None


def not_in_vocabulary(name: str, token_ids: Tensor, vocab_size: int) -> str:
    """Qué decir cuando un identificador no está en el vocabulario."""
    low, high = torch.stack(token_ids.aminmax()).tolist()
    return (
        f"{name}: se esperaban identificadores entre 0 y {vocab_size - 1} y llegaron entre "
        f"{low} y {high}. ¿Son de otro tokenizador o del vocabulario del otro idioma?"
    )
