"""Cuentos con preguntas, en el formato de bAbI: leerlos, escribirlos y hacer otros, de cocina.

Un archivo de bAbI (Weston et al., 2015) numera los renglones de cada cuento, y el número vuelve a 1
donde empieza otro. Una oración que cuenta algo va sola. Una pregunta lleva detrás, separadas por
tabuladores, la respuesta y los números de los renglones que bastan para contestarla::

    1 Ana va al patio.
    2 Ana toma el ajo.
    3 ¿Dónde está el ajo?    patio    1 2
    1 Luis entra en la cocina.

Los veinte archivos de entrenar y los veinte de evaluar se reparten como
``tasks_1-20_v1-2/en/qa1_single-supporting-fact_train.txt`` (1000 preguntas) y, con los mismos
nombres, en ``en-10k`` (10 000). Aquí no se descarga nada: se lee lo que ya tengas.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from course_lib.files import write_atomically

PEOPLE = ("Ana", "Luis", "Rosa")
PLACES = ("la cocina", "la despensa", "la terraza", "el comedor", "el huerto", "el patio")
THINGS = ("el ajo", "la sal", "el arroz")
GOES = ("va a", "llega a", "entra en")
TAKES = ("toma", "recoge")
LEAVES = ("deja", "suelta")


class StoryLine(NamedTuple):
    """Un renglón de un cuento: algo que se cuenta o, si tiene respuesta, una pregunta.

    Argumentos:
        text: la oración.
        answer: la respuesta, tal como está escrita; vacía en lo que se cuenta.
        support: los renglones que bastan para contestar, contados desde 1, como en el archivo.

    Fuente: Weston et al. (2015), §3; capítulo `universal_transformer`.

    Ejemplo:
        >>> from course_lib.data import StoryLine
        >>> StoryLine("¿Dónde está el ajo?", "patio", (1, 2)).support
        (1, 2)
    """

    text: str
    answer: str = ""
    support: tuple[int, ...] = ()


Story = tuple[StoryLine, ...]


class Question(NamedTuple):
    """Una pregunta y todo lo que se contó antes de ella.

    Argumentos:
        facts: lo contado, en orden y sin las otras preguntas.
        text: la pregunta.
        answer: la respuesta.
        support: cuáles de `facts` bastan para contestar, contados desde 0.

    Fuente: Weston et al. (2015), §3; capítulo `universal_transformer`.

    Ejemplo:
        >>> from course_lib.data import StoryLine, questions
        >>> story = (StoryLine("Ana va al patio."), StoryLine("¿Dónde está Ana?", "patio", (1,)))
        >>> question, = questions([story])
        >>> [question.facts[i] for i in question.support]
        ['Ana va al patio.']
    """

    facts: tuple[str, ...]
    text: str
    answer: str
    support: tuple[int, ...]


# --------------------------------------------------------------------------- leer


def task_path(
    folder: str | os.PathLike, task: int, split: Literal["train", "test"] = "train"
) -> Path:
    """Busca el archivo de una tarea en una carpeta de bAbI (``tasks_1-20_v1-2/en``).

    Argumentos:
        folder: la carpeta que tiene los archivos.
        task: el número de la tarea.
        split: "train" o "test".

    Errores:
        ValueError: no hay uno, y solo uno, que se llame así.

    Ejemplo:
        >>> import tempfile, pathlib
        >>> from course_lib.data import task_path
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> (folder / "qa1_single-supporting-fact_train.txt").touch()
        >>> task_path(folder, 1).name
        'qa1_single-supporting-fact_train.txt'
    """
    pattern = f"qa{task}_*{split}.txt"
    found = sorted(Path(folder).glob(pattern))
    if len(found) != 1:
        raise ValueError(
            f"«{folder}»: se esperaba un archivo {pattern} y hay {len(found)}. Los de bAbI están "
            "en tasks_1-20_v1-2/en o en tasks_1-20_v1-2/en-10k."
        )
    return found[0]


def read_stories(path: str | os.PathLike) -> list[Story]:
    """Lee los cuentos de un archivo.

    Errores:
        ValueError: el archivo no tiene cuentos o no es UTF-8, o un renglón no tiene la forma
            esperada: se dice cuál, qué se esperaba y qué llegó.

    Fuente: Weston et al. (2015), §3; capítulo `universal_transformer`.

    Ejemplo:
        >>> import tempfile, pathlib
        >>> from course_lib.data import read_stories
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "qa1_un-dato_train.txt"
        >>> _ = path.write_text("1 Ana va al patio.\\n2 ¿Dónde está Ana?\\tpatio\\t1\\n", "utf-8")
        >>> for line in read_stories(path)[0]:
        ...     print(line)
        StoryLine(text='Ana va al patio.', answer='', support=())
        StoryLine(text='¿Dónde está Ana?', answer='patio', support=(1,))
    """
    path = Path(path)
    try:
        return _parse(path.read_bytes().decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: se esperaba texto UTF-8 y el byte {error.start} no lo es."
        ) from error


def questions(stories: Iterable[Story]) -> list[Question]:
    """Da todas las preguntas de unos cuentos, cada una con lo que se contó antes.

    Ejemplo:
        >>> from course_lib.data import generate_stories, questions
        >>> [len(question.support) for question in questions(generate_stories(2))]
        [1, 2, 3, 1, 2, 3]
    """
    found = []
    for story in stories:
        facts: dict[int, str] = {}
        for number, line in enumerate(story, start=1):
            if not line.answer:
                facts[number] = line.text
                continue
            order = list(facts)
            support = tuple(order.index(n) for n in line.support)
            found.append(Question(tuple(facts.values()), line.text, line.answer, support))
    return found


def _parse(text: str, name: str) -> list[Story]:
    stories: list[list[StoryLine]] = []
    for place, raw in enumerate(text.removesuffix("\n").split("\n"), start=1):
        where = f"{name}, renglón {place}"
        number, _, rest = raw.strip().partition(" ")
        following = len(stories[-1]) + 1 if stories else 1
        if not rest or number not in {"1", str(following)}:
            raise ValueError(
                f"{where}: se esperaba «1 Oración.», si empieza un cuento, o «{following} "
                f"Oración.», si sigue, y llegó «{raw:.80}»."
            )
        if number == "1":
            stories.append([])
        stories[-1].append(_line(rest, stories[-1], where))
    return [tuple(story) for story in stories]


def _line(rest: str, before: list[StoryLine], where: str) -> StoryLine:
    """Lo que sigue al número: una oración, o una pregunta con su respuesta y sus renglones."""
    if "\t" not in rest:
        return StoryLine(rest)
    text, *columns = (column.strip() for column in rest.split("\t"))
    told = {str(n) for n, line in enumerate(before, start=1) if not line.answer}
    if not text or len(columns) != 2 or not columns[0] or not told.issuperset(columns[1].split()):
        raise ValueError(
            f"{where}: se esperaba «pregunta, tabulador, respuesta, tabulador, renglones que la "
            f"contestan», y cada renglón, el de algo ya contado, y llegó «{rest:.80}»."
        )
    return StoryLine(text, columns[0], tuple(map(int, columns[1].split())))


# --------------------------------------------------------------------------- escribir


def write_stories(path: str | os.PathLike, stories: Iterable[Story]) -> Path:
    """Escribe unos cuentos en un archivo que `read_stories` vuelve a leer; o entero, o nada.

    Devuelve:
        La ruta escrita.

    Errores:
        ValueError: algún cuento no se leería igual (tiene un tabulador, un salto de renglón…).

    Ejemplo:
        >>> import tempfile, pathlib
        >>> from course_lib.data import generate_stories, read_stories, write_stories
        >>> stories = generate_stories(3)
        >>> path = write_stories(pathlib.Path(tempfile.mkdtemp()) / "qa1_train.txt", stories)
        >>> read_stories(path) == stories
        True
    """
    stories, path = list(stories), Path(path)
    text = "".join(
        f"{number} {_written(line)}\n" for story in stories for number, line in enumerate(story, 1)
    )
    if _parse(text, f"{path}, sin escribir") != stories:
        raise ValueError(
            f"{path}: se esperaban cuentos con algún renglón, y oraciones sin tabuladores, saltos "
            "de renglón ni espacios en los extremos; así no se leerían igual."
        )
    write_atomically(path, text.encode("utf-8"))
    return path


def _written(line: StoryLine) -> str:
    if not line.answer:
        return line.text
    return f"{line.text}\t{line.answer}\t{' '.join(map(str, line.support))}"


# --------------------------------------------------------------------------- hacer otros


def generate_stories(count: int, seed: int = 0, *, length: int = 10) -> list[Story]:
    """Hace cuentos de cocina: tres personas llevan tres ingredientes por seis sitios.

    Cada cuento acaba con tres preguntas, que piden uno, dos y tres datos: dónde está alguien, dónde
    está un ingrediente y dónde estaba uno antes de llegar adonde está. Son las tareas 1, 2 y 3 de
    bAbI, aquí sobre el mismo cuento: de una a otra solo cambia cuántos datos hay que juntar.

    Argumentos:
        count: cuántos.
        seed: la semilla; con la misma, los mismos cuentos.
        length: cuántas oraciones se cuentan antes de preguntar; tres o más.

    Errores:
        ValueError: count es negativo o length es menor que tres.

    Fuente: las tres preguntas, Weston et al. (2015), §3; capítulo `universal_transformer`.

    Ejemplo:
        >>> from course_lib.data import generate_stories
        >>> story, = generate_stories(1, seed=3, length=5)
        >>> for line in story:
        ...     print(*filter(None, line))
        Luis llega a la terraza.
        Rosa llega al huerto.
        Luis recoge el ajo.
        Luis entra en la despensa.
        Ana entra en la cocina.
        ¿Dónde está Ana? cocina (5,)
        ¿Dónde está el ajo? despensa (3, 4)
        ¿Dónde estaba el ajo antes de la despensa? terraza (1, 3, 4)
    """
    if count < 0 or length < 3:
        raise ValueError(
            f"Se esperaban `count` ≥ 0 y `length` ≥ 3 y llegaron {count} y {length}: con menos de "
            "tres oraciones no hay tres datos que juntar."
        )
    random, stories = Random(seed), []
    while len(stories) < count:
        telling = _Telling(random)
        for _ in range(length):
            telling.go_on()
        if asked := telling.questions():
            stories.append((*telling.told, *asked))
    return stories


class _Stay(NamedTuple):
    """Una estancia: dónde, qué renglón cuenta la llegada y cuáles bastan para saberlo."""

    place: str
    since: int
    lines: tuple[int, ...]


class _Telling:
    """Un cuento a medias: lo contado, por dónde pasó cada quien y cada cosa, y quién la lleva."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.told: list[StoryLine] = []
        self.stays: dict[str, list[_Stay]] = {name: [] for name in (*PEOPLE, *THINGS)}
        self.holder: dict[str, str] = {}
        self.last: dict[str, str] = {}  # quién la llevó el último
        self.taken: dict[str, int] = {}  # en qué renglón

    def go_on(self) -> None:
        """Cuenta una cosa más: alguien se va, toma algo o lo deja."""
        person = self.random.choice(PEOPLE)
        here = self._place(person)
        ways = [(self._go, place) for place in PLACES if place != here]
        handling = list(self._handling(person, here)) or ways
        act, what = self.random.choice(self.random.choice((ways, handling)))
        act(person, what)

    def _handling(self, person: str, here: str | None) -> Iterator[tuple[Callable, str]]:
        """Lo que puede dejar y lo que puede tomar: lo suelto que está allí o no se sabe dónde."""
        for thing in THINGS:
            if self.holder.get(thing) == person:
                yield self._leave, thing
            elif here and thing not in self.holder and self._place(thing) in (None, here):
                yield self._take, thing

    def _go(self, person: str, place: str) -> None:
        now = self._tell(person, GOES, place)
        self.stays[person].append(_Stay(place, now, (now,)))
        for thing, holder in self.holder.items():
            if holder == person:
                self.stays[thing].append(_Stay(place, now, (self.taken[thing], now)))

    def _take(self, person: str, thing: str) -> None:
        self.taken[thing] = now = self._tell(person, TAKES, thing)
        self.holder[thing] = self.last[thing] = person
        self._seen_with(person, thing, now)

    def _leave(self, person: str, thing: str) -> None:
        now = self._tell(person, LEAVES, thing)
        del self.holder[thing]
        self._seen_with(person, thing, now)

    def _seen_with(self, person: str, thing: str, now: int) -> None:
        """La cosa está donde la persona: lo dicen la llegada de la persona y este renglón."""
        here = self.stays[person][-1]
        since = self.stays[thing].pop().since if self.stays[thing] else now
        self.stays[thing].append(_Stay(here.place, since, (here.since, now)))

    def _tell(self, person: str, verbs: tuple[str, ...], what: str) -> int:
        """Cuenta algo, y da el número de su renglón."""
        self.told.append(StoryLine(_sentence(person, self.random.choice(verbs), what) + "."))
        return len(self.told)

    def _place(self, name: str) -> str | None:
        return self.stays[name][-1].place if self.stays[name] else None

    def questions(self) -> tuple[StoryLine, ...]:
        """Las tres preguntas, o ninguna si aún no hay tres datos que juntar."""
        people, things = ([n for n in names if self.stays[n]] for names in (PEOPLE, THINGS))
        carried = [thing for thing in things if self._came_once(thing)]
        if not carried:
            return ()
        person = self.random.choice(people)
        thing, other = map(self._one_of, (things, carried))
        before, last = self.stays[other][-2:]
        three = _Stay(before.place, before.since, (*before.lines, last.since))
        return (
            _question(f"¿Dónde está {person}?", self.stays[person][-1]),
            _question(f"¿Dónde está {thing}?", self.stays[thing][-1]),
            _question(_sentence("¿Dónde estaba", other, "antes de", last.place) + "?", three),
        )

    def _one_of(self, things: list[str]) -> str:
        """Una, y la mitad de las veces, si la hay, de las que dejó quien ya está en otro sitio."""
        left = [thing for thing in things if self._place(thing) != self._place(self.last[thing])]
        return self.random.choice(self.random.choice((left, things)) or things)

    def _came_once(self, thing: str) -> bool:
        """Si llegó de otro sitio adonde está, y allí no había estado: «antes de» es uno solo."""
        *before, last = [stay.place for stay in self.stays[thing]]
        return bool(before) and last not in before


def _sentence(*words: str) -> str:
    return " ".join(words).replace(" a el ", " al ").replace(" de el ", " del ")


def _question(text: str, stay: _Stay) -> StoryLine:
    return StoryLine(text, stay.place.split()[1], tuple(sorted(stay.lines)))
