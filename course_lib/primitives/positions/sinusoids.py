"""La codificación sinusoidal: un vector por posición, o por posición y paso, que se suma."""

import torch
from jaxtyping import Float
from torch import Tensor


def sinusoidal_positions(
    length: int,
    d_model: int,
    *,
    start: int = 0,
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
        length: número de posiciones.
        d_model: ancho d de la codificación; debe ser par.
        start: la primera posición.
        base: la longitud de onda mayor es 2π·base posiciones.
        device, dtype: del resultado.

    Devuelve:
        La matriz PE, `[length, d_model]`, con seno y coseno alternados.

    Errores:
        ValueError: si d_model no es par y positivo, o length es negativa.

    Fuente: Vaswani et al. (2017), §3.5.

    Ejemplo:
        >>> from course_lib.primitives import sinusoidal_positions
        >>> sinusoidal_positions(3, 2)  # sin y cos de 0, 1 y 2 radianes
        tensor([[ 0.0000,  1.0000],
                [ 0.8415,  0.5403],
                [ 0.9093, -0.4161]])
    """
    if d_model <= 0 or d_model % 2:
        raise ValueError(
            f"d_model: se esperaba un número par y positivo y llegó {d_model}. "
            "Cada frecuencia ocupa dos columnas, una de senos y otra de cosenos."
        )
    if length < 0:
        raise ValueError(f"length: se esperaba un número de posiciones ≥ 0 y llegó {length}.")
    positions = torch.arange(start, start + length, dtype=torch.float64, device="cpu")
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu") / d_model
    angles = positions[:, None] / base**exponents
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2).to(device, dtype)


def step_positions(
    length: int,
    d_model: int,
    step: int,
    *,
    start: int = 0,
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "length d_model"]:
    """Codifica dónde está cada posición y en qué paso va la recurrencia en profundidad.

        P^n_{i,2j}   = sin(i / 10000^{2j/d}) + sin(n / 10000^{2j/d})
        P^n_{i,2j+1} = cos(i / 10000^{2j/d}) + cos(n / 10000^{2j/d})

    Las posiciones y los pasos se cuentan desde 1.

    Argumentos:
        length: número de posiciones.
        d_model: ancho d de la codificación; debe ser par.
        step: el paso, n ≥ 1.
        start: cuántas posiciones van antes: la primera fila es la de i = start + 1.
        device, dtype: del resultado.

    Devuelve:
        La matriz P^n, `[length, d_model]`.

    Errores:
        ValueError: los de `sinusoidal_positions`, y si step no es al menos 1.

    Fuente: Dehghani et al. (2018), §2.1; ecuación `eq-universal-positions` del capítulo
    `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import sinusoidal_positions, step_positions
        >>> first, second = (step_positions(4, 8, step) for step in (1, 2))
        >>> change = second - first  # el mismo en todas las posiciones
        >>> torch.allclose(change, change[0], atol=1e-6)
        True
    """
    if step < 1:
        raise ValueError(f"step: los pasos se cuentan desde 1 y llegó {step}.")
    like = {"device": device, "dtype": dtype}
    where = sinusoidal_positions(length, d_model, start=start + 1, **like)
    return where + sinusoidal_positions(1, d_model, start=step, **like)
