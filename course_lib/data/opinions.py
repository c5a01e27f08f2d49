"""Opiniones largas: nexos y frases que se combinan, con su traducción y su sentimiento.

Una opinión es un nexo («aunque X, Y») con una o dos frases, y cada frase, una forma («no quedó
nada …», «de … no tuvo nada») con sus adjetivos. El sentimiento lo decide la frase Y. Las palabras
sueltas no bastan: las dos frases dicen lo contrario y casi todas las formas niegan su adjetivo.

El armazón de una opinión es el nexo con la forma de cada frase; hay más de mil. Los de evaluación
llevan una forma en una posición de un nexo donde el entrenamiento no la pone nunca; cada palabra,
cada nexo y cada forma, en cambio, aparecen en el entrenamiento de muchas otras maneras.

Lo escrito a mano está en ``opinions.txt`` y ``adjectives.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from random import Random
from typing import NamedTuple

from course_lib.data import _tables, recipes
from course_lib.data._grammar import Noun, Template, Tokens, realise
from course_lib.data._tables import TableError
from course_lib.data.recipes import BAD, GOOD, NEGATIVE, POSITIVE, Natural

SLOTS = ("X", "Y", "Z")


class Frame(NamedTuple):
    """El armazón de una opinión: el nexo y la forma de cada una de sus posiciones."""

    link: str
    forms: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """Devuelve el nombre: «aunque X=ni Y=menos»."""
        return " ".join([self.link, *(f"{slot}={form}" for slot, form in self.forms)])


@dataclass(frozen=True, slots=True)
class Opinion:
    """Una opinión larga con su traducción, su sentimiento y su armazón.

    ``tags`` tiene una tupla de (palabra, etiqueta) por oración; ``verdict`` dice cuál da el
    veredicto: las demás son neutras.
    """

    text: str
    text_en: str
    sentiment: str
    template: str
    tags: tuple[Tokens, ...]
    verdict: int = 0


def generate_opinions(
    count: Natural, seed: Natural = 0, *, held_out: bool = False
) -> list[Opinion]:
    """Genera ``count`` opiniones, las primeras de ``iter_opinions(seed, held_out=held_out)``.

    Errores:
        ValueError: si ``count`` o ``seed`` no son enteros mayores o iguales que 0.
    """
    opinions = iter_opinions(seed, held_out=held_out)
    return [next(opinions) for _ in range(recipes._natural("count", count))]


def iter_opinions(seed: Natural = 0, *, held_out: bool = False) -> Iterator[Opinion]:
    """Da opiniones sin fin; con ``held_out``, solo de los armazones apartados para evaluar.

    Errores:
        ValueError: si ``seed`` no es un entero mayor o igual que 0.
    """
    return _opinions_of(Random(recipes._natural("seed", seed)), held_out)


def _opinions_of(random: Random, held_out: bool) -> Iterator[Opinion]:
    by_link = _by_link(held_out)
    while True:
        yield _opinion(random, _pick(random, _pick(random, by_link)))


_pick = recipes._pick


def _opinion(random: Random, frame: Frame) -> Opinion:
    positive = random.random() < 0.5
    variants = tuple(
        (slot, _pick(random, _variants(frame.link, slot, form))) for slot, form in frame.forms
    )
    template = _template(frame, variants, positive)
    nouns = _nouns(random, positive)
    sentences = recipes.with_neutral(random, template)
    realised = [realise(sentence, nouns) for sentence in sentences]
    return Opinion(
        text=" ".join([sentence.spanish for sentence in realised]),
        text_en=" ".join([sentence.english for sentence in realised]),
        sentiment=POSITIVE if positive else NEGATIVE,
        template=frame.name + ("+" if positive else "-"),
        tags=tuple([sentence.words for sentence in realised]),
        verdict=sentences.index(template),
    )


def _nouns(random: Random, positive: bool) -> dict[str, Noun]:
    """Elige plato, guarnición y adjetivos; los de una opinión no se repiten."""
    nouns = _scene(random)
    sides = (GOOD, BAD) if positive else (BAD, GOOD)
    for role, kind in zip(("good", "bad"), sides, strict=True):
        free = list(recipes.adjectives(kind))
        for number in range(5):
            adjective = free.pop(int(random.random() * len(free)))
            nouns[f"{role}{number}"] = recipes.agreeing(adjective, nouns["dish"])
    return nouns


def _scene(random: Random) -> dict[str, Noun]:
    """Elige un plato y los ingredientes que nombran las oraciones neutras."""
    dish = _pick(random, recipes.dishes())
    roles = recipes._choose_ingredients(random, dish)
    return {"dish": dish.noun} | {
        role: _pick(random, recipes.quantities(roles[role])).noun for role in recipes.LATE_ROLES
    }


# --------------------------------------------------------------------------- armazones


class Link(NamedTuple):
    """Un nexo: su texto con huecos, dónde habla otro y las formas que no admite."""

    spanish: str
    english: str
    reported: str
    excluded: tuple[str, ...]

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(slot for slot in SLOTS if re.search(rf"\b{slot}\b", self.spanish))


@cache
def links() -> dict[str, Link]:
    """Devuelve los nexos por nombre."""
    rows = (line.columns(5) for line in _tables.part("opinions", "links"))
    return {name: Link(es, en, said, tuple(no.split())) for name, es, en, said, no in rows}


@cache
def forms() -> dict[str, tuple[str, str, bool]]:
    """Devuelve las formas: español, inglés y si solo puede decirlas quien opina."""
    rows = (line.columns(3) for line in _tables.part("opinions", "forms"))
    return {name.rstrip("*"): (es, en, name.endswith("*")) for name, es, en in rows}


@cache
def frames() -> tuple[Frame, ...]:
    """Devuelve todos los armazones."""
    found = []
    for name, link in links().items():
        options = [
            [(slot, form) for form in forms() if _fits(link, slot, form)] for slot in link.slots
        ]
        found += [Frame(name, chosen) for chosen in product(*options)]
    return tuple(found)


def _fits(link: Link, slot: str, form: str) -> bool:
    return form not in link.excluded and not (slot in link.reported and forms()[form][2])


@cache
def held_out_positions() -> frozenset[tuple[str, str, str]]:
    """Devuelve las ternas (nexo, posición, forma) que el entrenamiento no contiene."""
    found = set()
    for line in _tables.part("opinions", "held_out"):
        link, rest = line.named()
        if link not in links():
            raise TableError(f"{line.place}: el nexo «{link}» no está en «[links]».")
        for part in rest.split("|"):
            slot, *names = part.split()
            if slot not in links()[link].slots or not forms().keys() >= set(names):
                raise TableError(
                    f"{line.place}: se esperaba una posición del nexo y sus formas, y hay «{part}»."
                )
            found |= {(link, slot, form) for form in names}
    return frozenset(found)


def is_held_out(frame: Frame) -> bool:
    """Dice si el armazón está apartado para evaluar."""
    return any((frame.link, *position) in held_out_positions() for position in frame.forms)


@cache
def _by_link(held_out: bool) -> tuple[tuple[Frame, ...], ...]:
    """Agrupa los armazones por nexo, para que todos los nexos salgan por igual."""
    groups: dict[str, list[Frame]] = {}
    for frame in frames():
        if is_held_out(frame) == held_out:
            groups.setdefault(frame.link, []).append(frame)
    return tuple(tuple(group) for group in groups.values())


# --------------------------------------------------------------------------- texto


@cache
def _variants(link: str, slot: str, form: str) -> tuple[tuple[str, int], ...]:
    """Devuelve las maneras de decir una forma: un verbo, o uno de los dichos."""
    if form == "dicho":
        rows = _tables.part("opinions", "sayings")
    elif "V" in forms()[form][0].split():
        rows = _tables.part("opinions", "copulas")
    else:
        return ((form, 0),)
    reported = slot in links()[link].reported
    return tuple((form, i) for i, row in enumerate(rows) if not (reported and row[0] == "*"))


@cache
def _template(frame: Frame, variants: tuple, positive: bool) -> Template:
    """Compone la plantilla bilingüe de un armazón."""
    link = links()[frame.link]
    spanish, english = link.spanish, link.english
    clauses = {slot: _clause(slot, *variant, positive) for slot, variant in variants}
    clauses["B"] = ("{-bad4}", "{-bad4}")
    spanish = re.sub(r"\b[BXYZ]\b", lambda m: clauses[m[0]][0], spanish)
    english = re.sub(r"\b[BXYZ]\b", lambda m: clauses[m[0]][1], english)
    line = next(e for e in _tables.part("opinions", "links") if e.columns(5)[0] == frame.link)
    return recipes.templates(line, f"{spanish}. => {english}.")[0]


def _clause(slot: str, form: str, variant: int, positive: bool) -> tuple[str, str]:
    """Compone una frase y su traducción; la X dice lo contrario del veredicto."""
    if form == "dicho":
        sides = _tables.part("opinions", "sayings")[variant].halves(" // ")
        spanish, english = sides[positive == (slot == "X")].halves(" => ")
        return spanish.lstrip("*"), english
    spanish, english, _ = forms()[form]
    verb, affirmed, denied = _tables.part("opinions", "copulas")[variant].columns(3)
    verb = verb.lstrip("*")
    first = 0 if slot == "Y" else 2
    mine, other = ("bad", "good") if slot == "X" else ("good", "bad")
    words = {
        "V": verb,
        "P": affirmed,
        "N": denied,
        "A": f"{{-{mine}{first}}}",
        "A2": f"{{-{mine}{first + 1}}}",
        "B": f"{{-{other}{first}}}",
        "C": f"{{-{other}{first + 1}}}",
    }
    pattern = re.compile(r"\b(A2|[VPNABC])\b")
    return tuple(pattern.sub(lambda match: words[match[0]], text) for text in (spanish, english))
