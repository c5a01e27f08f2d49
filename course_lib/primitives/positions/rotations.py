"""Las posiciones rotatorias: cada consulta y cada clave giran según dónde están."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

Layout = Literal["half", "interleaved"]
ROTARY_LAYOUTS: tuple[str, ...] = ("half", "interleaved")


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
