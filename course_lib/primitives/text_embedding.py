"""Una incrustación (embedding) de textos sin parámetros: n-gramas de letras repartidos por hash."""

import unicodedata
import zlib
from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor


def embed_text(texts: Sequence[str], d_k: int = 512) -> Float[Tensor, "count d_k"]:
    """Convierte textos en vectores: los que comparten palabras y trozos de palabra se parecen.

        e_i = Σ_g ±1 · [hash(g) mod d_k = i],    k = √d_k · e / ‖e‖

    g recorre las palabras del texto y sus n-gramas de 3 y 4 letras, con los bordes de palabra
    marcados; mayúsculas y tildes no cuentan. El hash (CRC-32) elige la coordenada y el signo, así
    que el mismo texto da el mismo vector en cualquier máquina, sin vocabulario ni entrenamiento.
    Dos trozos distintos pueden caer en la misma coordenada; con signos al azar, esos choques se
    compensan en promedio. El largo es √d_k, el del vector de unos: así q · k / √d_k es
    √d_k · cos(q, k), con la temperatura de siempre.

    Argumentos:
        texts: los textos.
        d_k: ancho de los vectores.

    Devuelve:
        Un vector por fila, de largo √d_k; ceros para un texto sin letras ni cifras.

    Errores:
        ValueError: si llega un solo texto en vez de una lista, o d_k no es positivo.

    Fuente: Weinberger et al. (2009), §2, para el reparto por hash con signo; capítulo
    `key_value_store`.

    Ejemplo:
        >>> from course_lib.primitives import embed_text
        >>> lasagna, recipe, soup = embed_text(["lasaña", "Lasaña de verduras", "sopa"])
        >>> lasagna.shape
        torch.Size([512])
        >>> bool(lasagna @ recipe > lasagna @ soup)
        True
    """
    if isinstance(texts, str) or d_k < 1:
        raise ValueError(
            f"Se esperaba una lista de textos y d_k positivo, y llegó {texts!r} con d_k = {d_k}. "
            "Para un solo texto: embed_text([texto])[0]."
        )
    E = torch.zeros(len(texts), d_k)
    for row, text in enumerate(texts):
        codes = torch.tensor([zlib.crc32(g.encode()) for g in _pieces(text)], dtype=torch.long)
        # El bit alto da el signo y los demás la coordenada: son casi independientes.
        E[row].index_add_(0, (codes & 0x7FFFFFFF) % d_k, 1.0 - 2.0 * (codes >> 31).float())
    return E * (d_k**0.5 / E.norm(dim=-1, keepdim=True).clamp_min(1e-12))


def _pieces(text: str) -> Iterator[str]:
    """Da cada palabra y sus n-gramas: «pan» → «<pan>», «<pa», «pan», «an>», «<pan», «pan>»."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(c if c.isalnum() else " " for c in plain if not unicodedata.combining(c))
    for word in letters.split():
        marked = f"<{word}>"
        yield f"={marked}"
        for n in (3, 4):
            yield from (marked[i : i + n] for i in range(len(marked) - n + 1))
