"""Codificaciones posicionales: dónde está cada elemento de un conjunto que tiene orden."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

Layout = Literal["half", "interleaved"]
ROTARY_LAYOUTS: tuple[str, ...] = ("half", "interleaved")


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


def rotary(
    x: Float[Tensor, "*batch t d"],
    positions: Int[Tensor, "*#places t"],
    *,
    base: float = 10_000.0,
    layout: Layout = "half",
) -> Float[Tensor, "*batch t d"]:
    """Gira cada par de columnas de x un ángulo proporcional a su posición (RoPE).

        θ_i = pos · base^{−2i/d}
        (a_i, b_i) ← (a_i cos θ_i − b_i sin θ_i,  b_i cos θ_i + a_i sin θ_i)

    Girar no cambia la norma, y el producto escalar de dos vectores girados depende de sus
    posiciones solo por la diferencia: ⟨R_m q, R_n k⟩ = ⟨q, R_{n−m} k⟩.

    Argumentos:
        x: consultas o claves, `[..., t, d]`, con d par.
        positions: la posición de cada fila, `[..., t]`; sus otros ejes se difunden a los de x.
        base: la longitud de onda mayor se acerca a 2π·base posiciones.
        layout: qué columnas forman el par i: "half", la i y la i + d/2 (LLaMA); "interleaved", la
            2i y la 2i + 1 (GPT-J). `rotary_order` pasa de una disposición a otra.

    Devuelve:
        x girada, con su forma y su tipo.

    Errores:
        ValueError: si d no es par, o la disposición no existe.

    Fuente: Su et al. (2021), §3.2.2 y §3.4.2; Chowdhery et al. (2022), §2; ecuaciones
    `eq-rotary` y `eq-rotary-relative` del capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import rotary
        >>> q, k = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 1.0]])
        >>> rotary(q, torch.tensor([0]))  # en la posición 0 no se gira
        tensor([[1., 2.]])
        >>> def score(i, j):
        ...     return (rotary(q, torch.tensor([i])) @ rotary(k, torch.tensor([j])).T).item()
        >>> round(score(3, 1), 2), round(score(103, 101), 2)  # solo cuenta la diferencia
        (-6.63, -6.63)
    """
    return rotate(x, *rotary_table(positions, x.shape[-1], base=base, layout=layout), layout=layout)


def rotary_table(
    positions: Int[Tensor, "*places t"],
    d: int,
    *,
    base: float = 10_000.0,
    layout: Layout = "half",
    dtype: torch.dtype | None = None,
) -> tuple[Float[Tensor, "*places t d"], Float[Tensor, "*places t d"]]:
    """Da el coseno y el seno del giro de cada columna; el seno, negativo en la primera del par.

    Todas las capas giran igual: basta una tabla. El ángulo se calcula en float64 (float32 en MPS,
    que no lo tiene); en bfloat16, el de la posición 2048 erraría en casi media vuelta.

    Argumentos:
        positions: las posiciones, `[..., t]`.
        d, base, layout: los de `rotary`.
        dtype: el del resultado, float32 o float64; None, el de los ángulos.

    Devuelve:
        El par (cosenos, senos), cada uno `[..., t, d]`.

    Fuente: Su et al. (2021), §3.4.2; ecuación `eq-rotary` del capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import rotary_table
        >>> cosines, sines = rotary_table(torch.arange(3), d=2, dtype=torch.float32)
        >>> cosines[:, 0]  # los de 0, 1 y 2 radianes
        tensor([ 1.0000,  0.5403, -0.4161])
        >>> sines[1]
        tensor([-0.8415,  0.8415])
    """
    _require_rotary(d, layout)
    angles = positions[..., None] / _periods(d, base, layout, positions.device)
    return angles.cos().to(dtype or angles.dtype), angles.sin().to(dtype or angles.dtype)


def rotate(
    x: Float[Tensor, "*batch t d"],
    cosines: Float[Tensor, "*#places t d"],
    sines: Float[Tensor, "*#places t d"],
    *,
    layout: Layout = "half",
) -> Float[Tensor, "*batch t d"]:
    """Aplica los giros de `rotary_table`: cada columna por su coseno, más su pareja por su seno.

    Fuente: Su et al. (2021), §3.4.2; ecuación `eq-rotary` del capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import rotate
        >>> x = torch.tensor([[3.0, 1.0]])
        >>> rotate(x, torch.zeros(1, 2), torch.tensor([[-1.0, 1.0]]))  # un cuarto de vuelta
        tensor([[-1.,  3.]])
    """
    if layout == "half":
        partner = x.roll(x.shape[-1] // 2, -1)
    else:
        partner = x.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
    return (x * cosines + partner * sines).to(x.dtype)


def rotary_order(d: int, *, to: Layout = "half") -> Int[Tensor, " d"]:
    """Da el orden en que una disposición toma las columnas de la otra.

        rotary(x, layout="interleaved")[..., orden] = rotary(x[..., orden], layout="half")

    Con ese orden en las filas de W_q y de W_k, cabeza a cabeza, un modelo pasa de una disposición
    a la otra y sus puntuaciones no cambian: es la misma permutación a ambos lados del producto.

    Argumentos:
        d: ancho de una cabeza.
        to: la disposición a la que se llega.

    Fuente: capítulo `palm`.

    Ejemplo:
        >>> from course_lib.primitives import rotary_order
        >>> rotary_order(6)  # primero las que eran pares, después las impares
        tensor([0, 2, 4, 1, 3, 5])
        >>> rotary_order(6, to="interleaved")
        tensor([0, 3, 1, 4, 2, 5])
    """
    _require_rotary(d, to)
    columns = torch.arange(d)
    halves = torch.cat((columns[::2], columns[1::2]))
    return halves if to == "half" else halves.argsort()


def _periods(d: int, base: float, layout: Layout, device: torch.device) -> Float[Tensor, " d"]:
    """Cuántas posiciones tarda cada columna en girar un radián; la primera de cada par, al revés.

    Con el signo en el ángulo basta: cos(−θ) = cos θ y sin(−θ) = −sin θ.
    """
    fine = torch.float32 if device.type == "mps" else torch.float64
    periods = base ** (torch.arange(0, d, 2, dtype=fine, device=device) / d)
    if layout == "half":
        return torch.cat((-periods, periods))
    return torch.stack((-periods, periods), -1).flatten()


def _require_rotary(d: int, layout: Layout) -> None:
    if layout not in ROTARY_LAYOUTS:
        choices = ", ".join(map(repr, ROTARY_LAYOUTS))
        raise ValueError(f"layout: se esperaba uno de {choices} y llegó {layout!r}.")
    if d <= 0 or d % 2:
        raise ValueError(
            f"d: se esperaba un ancho par y positivo y llegó {d}. Los giros van por pares de "
            "columnas; el ancho es el de una cabeza."
        )
