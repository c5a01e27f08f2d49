"""Codificaciones posicionales: dónde está cada elemento de un conjunto que tiene orden."""

import torch
from jaxtyping import Float
from torch import Tensor


def sinusoidal_positions(
    length: int,
    d_model: int,
    *,
    base: float = 10_000.0,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "length d_model"]:
    """Codifica cada posición con senos y cosenos de longitudes de onda crecientes.

        PE(pos, 2i)   = sin(pos / base^{2i/d})
        PE(pos, 2i+1) = cos(pos / base^{2i/d})

    Los ángulos se calculan en float64 y se redondean al final: en media precisión una posición
    lejana perdería la fase.

    Argumentos:
        length: número de posiciones, desde 0.
        d_model: ancho d de la codificación; debe ser par.
        base: la longitud de onda mayor es 2π·base posiciones.
        device, dtype: del resultado.

    Devuelve:
        La matriz PE, `[length, d_model]`, con seno y coseno alternados.

    Errores:
        ValueError: si d_model no es par y positivo, o length es negativa.

    Fuente: Vaswani et al. (2017), §3.5.
    """
    if d_model <= 0 or d_model % 2:
        raise ValueError(
            f"d_model: se esperaba un número par y positivo y llegó {d_model}. "
            "Cada frecuencia ocupa dos columnas, una de senos y otra de cosenos."
        )
    if length < 0:
        raise ValueError(f"length: se esperaba un número de posiciones ≥ 0 y llegó {length}.")
    positions = torch.arange(length, dtype=torch.float64, device="cpu")
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu") / d_model
    angles = positions[:, None] / base**exponents
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(device, dtype)
