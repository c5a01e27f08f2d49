"""Cuatro tareas de algoritmo conocido, de cualquier longitud: copiar, invertir, sumar y buscar.

Copiar e invertir son pares de secuencias, como los de un traductor. Sumar y buscar son etiquetar
posiciones. En la suma, cada columna trae dos cifras y su etiqueta es la que va debajo; las unidades
van delante, de modo que el acarreo viaja en el sentido de la lectura. En la búsqueda, cada casilla
trae una cifra o manda a otra casilla, y su etiqueta es la cifra adonde se acaba llegando.
"""

import torch
from jaxtyping import Int
from torch import Generator, Tensor

PAD_ID, START_ID, END_ID = 0, 1, 2
FIRST_DIGIT = 3
STRING_VOCAB = FIRST_DIGIT + 10
COLUMN_VOCAB = 1 + 100
DIGIT_LABELS = 1 + 10
FIRST_BOX = 1 + 10

Tokens = Int[Tensor, "count t"]


def copy(
    count: int, length: int, *, generator: Generator
) -> tuple[Int[Tensor, "count t_source"], Int[Tensor, "count t_target"]]:
    """Sortea cadenas de cifras que hay que repetir.

    Argumentos:
        count: cuántas.
        length: cuántas cifras tiene cada una.
        generator: de dónde sale el azar.

    Devuelve:
        El par (origen, destino) de identificadores: el origen acaba en END_ID; el destino empieza
        en START_ID y acaba en END_ID. La cifra c es el token FIRST_DIGIT + c.

    Errores:
        ValueError: si un tamaño no es positivo.

    Fuente: Dehghani et al. (2018), §3.4; capítulo `universal_transformer`.
    """
    digits = FIRST_DIGIT + _digits(count, length, generator)
    return _framed(digits, digits)


def reverse(
    count: int, length: int, *, generator: Generator
) -> tuple[Int[Tensor, "count t_source"], Int[Tensor, "count t_target"]]:
    """Sortea cadenas de cifras que hay que escribir de atrás adelante; lo demás, como en `copy`."""
    digits = FIRST_DIGIT + _digits(count, length, generator)
    return _framed(digits, digits.flip(1))


def addition(
    count: int, length: int, *, nines: float = 0.0, generator: Generator
) -> tuple[Tokens, Tokens]:
    """Sortea sumas de dos números, columna a columna y con las unidades delante.

    Una columna que suma nueve no genera acarreo, pero deja pasar el que le llega: con muchas
    seguidas, una cifra depende de columnas lejanas. Al azar solo lo hace una de cada diez.

    Argumentos:
        count, length, generator: los de `copy`; length son columnas.
        nines: qué fracción de las columnas se obliga a sumar nueve.

    Devuelve:
        El par (columnas, etiquetas), `[count, length]`: la columna de a y b es 1 + 10·a + b, y la
        etiqueta de la cifra c es 1 + c. El 0 queda libre para el relleno. El acarreo que sale de la
        última columna se pierde: se suma módulo 10^length.

    Errores:
        ValueError: si un tamaño no es positivo o nines no está en [0, 1].

    Fuente: Dehghani et al. (2018), §3.4; capítulo `universal_transformer`.
    """
    if not 0 <= nines <= 1:
        raise ValueError(f"nines: se esperaba una fracción entre 0 y 1 y llegó {nines}.")
    a, b = _digits(count, length, generator), _digits(count, length, generator)
    forced = torch.rand(count, length, generator=generator) < nines
    b = torch.where(forced, 9 - a, b)
    columns = 1 + 10 * a + b
    return columns, 1 + (a + b + carries(columns)) % 10


def carries(columns: Tokens) -> Tokens:
    """Da el acarreo, 0 o 1, que llega a cada columna."""
    sums, carried = column_sums(columns), []
    carry = torch.zeros_like(sums[:, 0])
    for total in sums.unbind(1):
        carried.append(carry)
        carry = (total + carry) // 10
    return torch.stack(carried, dim=1)


def column_sums(columns: Tokens) -> Tokens:
    """Da a + b, sin acarreo, de cada columna."""
    return (columns - 1) // 10 + (columns - 1) % 10


def treasure_hunt(
    count: int, length: int, *, pointing: float = 0.75, generator: Generator
) -> tuple[Tokens, Tokens]:
    """Sortea listas de casillas: cada una tiene una cifra o dice «mira en la casilla j».

    Los envíos forman caminos, y cada camino acaba en una cifra.

    Argumentos:
        count, length, generator: los de `copy`; length son casillas.
        pointing: qué fracción de las casillas, salvo la primera que se sortea, manda a otra.

    Devuelve:
        El par (casillas, etiquetas), `[count, length]`: la cifra c es 1 + c, y «mira en la casilla
        j», contando desde 0, es FIRST_BOX + j. La etiqueta de la cifra c es 1 + c. El 0 queda libre
        para el relleno.

    Errores:
        ValueError: si un tamaño no es positivo o pointing no está en [0, 1].

    Fuente: capítulo `universal_transformer`.
    """
    if not 0 <= pointing <= 1:
        raise ValueError(f"pointing: se esperaba una fracción entre 0 y 1 y llegó {pointing}.")
    digits = _digits(count, length, generator)
    order = torch.rand(count, length, generator=generator).argsort(dim=1)
    points = torch.rand(count, length, generator=generator) < pointing
    points[:, 0] = False
    said = torch.where(points, FIRST_BOX + order.roll(1, dims=1), 1 + digits)
    boxes = torch.empty_like(order).scatter_(1, order, said)
    return boxes, follow(boxes)[0]


def follow(boxes: Tokens) -> tuple[Tokens, Tokens]:
    """Sigue cada casilla hasta el final: la cifra que hay allí, y cuántos saltos se dan."""
    reached, hops = boxes, torch.zeros_like(boxes)
    for _ in range(boxes.shape[1]):
        points = reached >= FIRST_BOX
        hops = hops + points
        next_box = boxes.gather(1, (reached - FIRST_BOX).clamp(min=0))
        reached = torch.where(points, next_box, reached)
    return reached, hops


def _digits(count: int, length: int, generator: Generator) -> Tokens:
    if count < 1 or length < 1:
        raise ValueError(
            f"Se esperaban `count` y `length` positivos y llegaron {count} y {length}."
        )
    return torch.randint(10, (count, length), generator=generator)


def _framed(source: Tokens, target: Tokens) -> tuple[Tensor, Tensor]:
    start, end = (torch.full_like(source[:, :1], mark) for mark in (START_ID, END_ID))
    return torch.cat((source, end), 1), torch.cat((start, target, end), 1)
