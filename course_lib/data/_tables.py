"""Leer lo escrito a mano: las tablas de texto que están junto a los generadores.

Un archivo tiene partes, cada una bajo un encabezado entre corchetes (``[nombre]``), y una parte,
renglones; las columnas de un renglón se separan con ``|``. Lo que empieza por ``#`` es un
comentario. Un renglón que empieza por ``| `` es otra manera de decir el anterior. El comienzo de
cada archivo explica sus columnas.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


class TableError(ValueError):
    """Un renglón de una tabla está mal escrito; el mensaje dice cuál, por qué y qué se esperaba."""


class Line(str):
    """Un renglón de una tabla, que sabe dónde está escrito.

    Argumentos:
        text: lo que dice.
        place: su archivo y su número.
    """

    place: str

    def __new__(cls, text: str, place: str) -> Line:
        line = super().__new__(cls, text)
        line.place = place
        return line

    def columns(self, count: int) -> list[str]:
        """Parte el renglón en sus columnas, sin espacios alrededor.

        Errores:
            TableError: no son tantas.
        """
        found = [column.strip() for column in self.split("|")]
        if len(found) != count:
            raise TableError(
                f"{self.place}: se esperaban {count} columnas separadas por «|» y hay "
                f"{len(found)}: «{self}»."
            )
        return found

    def named(self) -> tuple[str, Line]:
        """Separa «nombre: lo demás».

        Errores:
            TableError: no tiene esa forma.
        """
        name, mark, rest = self.partition(": ")
        if not mark or not name or not rest:
            raise TableError(f"{self.place}: se esperaba «nombre: texto» y hay «{self}».")
        return name, Line(rest, self.place)

    def halves(self, mark: str) -> tuple[Line, Line]:
        """Separa lo que hay a los dos lados de una marca (« // »), que debe salir una vez.

        Errores:
            TableError: la marca falta o sobra.
        """
        parts = self.split(mark)
        if len(parts) != 2:
            raise TableError(f"{self.place}: se esperaba una sola vez «{mark.strip()}»: «{self}».")
        return Line(parts[0], self.place), Line(parts[1], self.place)


@cache
def parts(table: str) -> dict[Line, tuple[Line, ...]]:
    """Lee una tabla: por encabezado, sus renglones, en el orden en que están.

    Errores:
        TableError: un renglón sin encabezado, un encabezado repetido, vacío o sin cerrar.
    """
    found: dict[Line, list[Line]] = {}
    header: Line | None = None
    for line in _lines(table):
        if line.startswith("["):
            header = Line(line[1:-1].strip(), line.place)
            if not line.endswith("]") or not header:
                raise TableError(f"{line.place}: se esperaba «[nombre]» y hay «{line}».")
            if header in found:
                raise TableError(f"{line.place}: «{line}» ya está más arriba en el archivo.")
            found[header] = []
        elif header is None:
            raise TableError(f"{line.place}: «{line}» está antes del primer «[encabezado]».")
        else:
            found[header].append(line)
    for header, lines in found.items():
        if not lines:
            raise TableError(f"{header.place}: «[{header}]» no tiene ningún renglón.")
    return {header: tuple(lines) for header, lines in found.items()}


def _lines(table: str) -> Iterator[Line]:
    name = f"{table}.txt"
    for number, text in enumerate((_FOLDER / name).read_text("utf-8").splitlines(), start=1):
        if text.strip() and not text.startswith("#"):
            yield Line(text.strip(), f"course_lib/data/{name}, renglón {number}")


def part(table: str, name: str) -> tuple[Line, ...]:
    """Da los renglones de una parte de una tabla.

    Errores:
        TableError: la tabla no tiene esa parte.
    """
    found = parts(table)
    if name not in found:
        raise TableError(f"course_lib/data/{table}.txt: falta la parte «[{name}]».")
    return found[name]


@cache
def words(table: str) -> dict[str, tuple[str, ...]]:
    """Lee una tabla de palabras sueltas: por encabezado, las de todos sus renglones."""
    return {name: tuple(" ".join(lines).split()) for name, lines in parts(table).items()}


@cache
def steps(table: str) -> dict[Line, tuple[tuple[Line, ...], ...]]:
    """Lee una tabla de pasos: por encabezado, cada paso con las maneras de decirlo.

    Errores:
        TableError: «| otra manera» no sigue a ningún paso.
    """
    found: dict[Line, tuple[tuple[Line, ...], ...]] = {}
    for header, lines in parts(table).items():
        ways: list[list[Line]] = []
        for line in lines:
            if not line.startswith("| "):
                ways.append([line])
            elif ways:
                ways[-1].append(Line(line[2:], line.place))
            else:
                raise TableError(f"{line.place}: «{line}» no sigue a ningún paso.")
        found[header] = tuple(map(tuple, ways))
    return found


@contextmanager
def telling(line: str) -> Iterator[None]:
    """Dice, de un error al leer un renglón, en qué archivo y renglón está."""
    try:
        yield
    except TableError:
        raise
    except ValueError as error:
        raise TableError(f"{getattr(line, 'place', 'una tabla')}: {error}") from None
