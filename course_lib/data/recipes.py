"""Corpus de recetas: español, traducción, etiquetas, categoría y opinión, de una gramática escrita.

Cada receta nace de un plato y un ingrediente principal. El plato fija el método; el método, los
papeles (aromático, líquido, especia…) y los pasos; los ingredientes se reparten entre los papeles.
Todo lo que dice la versión inglesa es función de la española, oración por oración.

El adorno y el acompañamiento se sacan al azar de grupos amplios, se anuncian en la lista y no se
vuelven a nombrar hasta los últimos pasos: quien adivine la palabra tiene que recordar la lista.

Lo escrito a mano está en los archivos de texto de esta carpeta, que se leen (``_tables``) la
primera vez que hacen falta; las reglas, en ``_grammar``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from random import Random
from typing import Any, NamedTuple

from course_lib.data import _tables
from course_lib.data._grammar import (
    Noun,
    Sentence,
    Template,
    Tokens,
    capitalised,
    conjunction,
    english_plural,
    inflect,
    join,
    parse,
    plural_phrase,
    realise,
)
from course_lib.data._tables import TableError, telling

GOOD, BAD = "good", "bad"
POSITIVE, NEGATIVE = "positiva", "negativa"
LATE_ROLES = ("garnish", "side")
TO_TASTE = "al_gusto"
STYLED, OPTIONAL, OPENED, CLOSED = 0.4, 0.5, 0.5, 0.4

# Se aparta una de cada diez combinaciones de plato e ingrediente principal.
HELD_OUT_SHARE = 10

# Marcos de opinión para evaluar: todas sus palabras y giros salen también en los demás.
HELD_OUT_TEMPLATES = frozenset(
    name + sign
    for name in (
        *("nada", "menos_está", "ni_está", "sino_está", "diría_está", "creía_final", "doble"),
        *("lejos_resultó", "vez_resultó", "contrario_quedó", "receta_está", "gustó"),
    )
    for sign in "+-"
)

# Entero que comprueba `_natural`, con un mensaje nuestro.
Natural = Any


class LateMention(NamedTuple):
    """Mención tardía: ``word``, en el paso ``step``, nombra al ingrediente ``ingredient``."""

    step: int
    ingredient: int
    word: str


class Pair(NamedTuple):
    """Un renglón y su traducción; ``kind`` es uno de ``LINE_KINDS``."""

    source: str
    target: str
    kind: str


SENTENCE_END = re.compile(r"(?<=\.) ")
LINE_KINDS = ("título", "ingrediente", "paso", "opinión")


@dataclass(frozen=True, slots=True)
class Recipe:
    """Una receta con su traducción y todo lo que se sabe de ella.

    ``tags`` tiene una oración por cada línea, en este orden: título, ingredientes, pasos y las
    oraciones de la opinión. ``late_mentions`` señala lo que solo la lista permite predecir.
    ``opinion_template`` nombra el marco de la opinión, para apartar marcos enteros al evaluar.
    """

    title: str
    title_en: str
    dish: str
    main_ingredient: str
    category: str
    ingredients: tuple[str, ...]
    ingredients_en: tuple[str, ...]
    steps: tuple[str, ...]
    steps_en: tuple[str, ...]
    opinion: str
    opinion_en: str
    sentiment: str
    opinion_template: str
    tags: tuple[Tokens, ...]
    late_mentions: tuple[LateMention, ...]

    @property
    def lines(self) -> tuple[Pair, ...]:
        """Devuelve sus renglones con su traducción: título, ingredientes, pasos y opinión.

        La opinión va oración por oración, que es como se traduce.
        """
        opinion, opinion_en = (SENTENCE_END.split(text) for text in (self.opinion, self.opinion_en))
        spanish = ((self.title,), self.ingredients, self.steps, opinion)
        english = ((self.title_en,), self.ingredients_en, self.steps_en, opinion_en)
        return tuple(
            Pair(source, target, kind)
            for sources, targets, kind in zip(spanish, english, LINE_KINDS, strict=True)
            for source, target in zip(sources, targets, strict=True)
        )

    @property
    def combination(self) -> tuple[str, str]:
        """Devuelve el plato y el ingrediente principal."""
        return self.dish, self.main_ingredient

    @property
    def text(self) -> str:
        """Devuelve la receta completa en español, una línea por elemento."""
        names = ("Ingredientes:", "Preparación:", "Opinión:")
        return _layout(self.title, self.ingredients, self.steps, self.opinion, names)

    @property
    def text_en(self) -> str:
        """Devuelve la receta completa en inglés, línea por línea con la española."""
        names = ("Ingredients:", "Steps:", "Opinion:")
        return _layout(self.title_en, self.ingredients_en, self.steps_en, self.opinion_en, names)


def generate_recipes(count: Natural, seed: Natural = 0) -> list[Recipe]:
    """Genera ``count`` recetas, las primeras de ``iter_recipes(seed)``.

    Errores:
        ValueError: si ``count`` o ``seed`` no son enteros mayores o iguales que 0.
    """
    recipes = iter_recipes(seed)
    return [next(recipes) for _ in range(_natural("count", count))]


def iter_recipes(seed: Natural = 0) -> Iterator[Recipe]:
    """Da recetas sin fin, las mismas para la misma semilla en cualquier plataforma.

    Errores:
        ValueError: si ``seed`` no es un entero mayor o igual que 0.
    """
    return _recipes(Random(_natural("seed", seed)))


def translation_pairs(recipes: Iterable[Recipe], *, repeated: bool = False) -> list[Pair]:
    """Devuelve los renglones distintos de unas recetas, en el orden en que aparecen.

    Un renglón tiene siempre la misma traducción. Para entrenar, con ``repeated``, los comunes
    («Sal al gusto») salen más veces que los raros, pero muchas menos que en el texto corrido: uno
    que está n veces sale 1 + ⌊log₄ n⌋.
    """
    counts = Counter(line for recipe in recipes for line in recipe.lines)
    if not repeated:
        return list(counts)
    return [line for line, n in counts.items() for _ in range((n.bit_length() + 1) // 2)]


def split_recipes(recipes: Iterable[Recipe]) -> tuple[list[Recipe], list[Recipe]]:
    """Separa las recetas de entrenamiento de las apartadas, por combinación.

    Ninguna combinación de plato e ingrediente principal está en los dos lados.

    Fuente: capítulo `translator`.
    """
    sides: tuple[list[Recipe], list[Recipe]] = ([], [])
    for recipe in recipes:
        sides[recipe.combination in held_out_combinations()].append(recipe)
    return sides


@cache
def held_out_combinations() -> frozenset[tuple[str, str]]:
    """Devuelve las combinaciones apartadas: una de cada ``HELD_OUT_SHARE``, al azar pero fijas.

    Cada plato y cada ingrediente principal conserva al menos otras dos combinaciones: lo que se
    aparta es que se encuentren, no ninguno de los dos.
    """
    everything = [(dish.name, main.name) for dish in dishes() for main in dish.mains]
    random = Random(0)
    shuffled = sorted(sorted(everything), key=lambda _: random.random())
    left = Counter(part for combination in shuffled for part in enumerate(combination))
    held: set[tuple[str, str]] = set()
    for combination in shuffled:
        enough = min(left[part] for part in enumerate(combination)) > 2
        if enough and len(held) * HELD_OUT_SHARE < len(shuffled):
            held.add(combination)
            left.subtract(enumerate(combination))
    return frozenset(held)


def _recipes(random: Random) -> Iterator[Recipe]:
    while True:
        yield _recipe(random)


def _natural(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(
            f"Se esperaba en {name} un entero mayor o igual que 0 y llegó {value!r}; "
            "pasa, por ejemplo, 100."
        )
    return value


def _layout(title: str, ingredients: tuple, steps: tuple, opinion: str, names: tuple) -> str:
    lines = [title, "", names[0], *(f"- {line}" for line in ingredients), "", names[1]]
    lines += [f"{number}. {step}" for number, step in enumerate(steps, start=1)]
    return "\n".join([*lines, "", names[2], opinion])


# --------------------------------------------------------------------------- la receta


def _recipe(random: Random) -> Recipe:
    dish = _pick(random, dishes())
    roles = _choose_ingredients(random, dish)
    lines = {role: _pick(random, quantities(item)) for role, item in roles.items()}
    nouns = {role: line.noun for role, line in lines.items()} | {"dish": dish.noun}

    title = _title(random, dish, roles)
    templates = [_pick(random, _pick(random, stage)) for stage in _stages(dish.method, roles)]
    steps = [realise(template, nouns) for template in templates]
    sentiment, name, opinion = _opinion(random, nouns)
    return Recipe(
        title=title.spanish,
        title_en=title.english,
        dish=dish.name,
        main_ingredient=roles["main"].name,
        category=dish.category,
        ingredients=tuple([line.spanish for line in lines.values()]),
        ingredients_en=tuple([line.english for line in lines.values()]),
        steps=tuple([step.spanish for step in steps]),
        steps_en=tuple([step.english for step in steps]),
        opinion=" ".join([sentence.spanish for sentence in opinion]),
        opinion_en=" ".join([sentence.english for sentence in opinion]),
        sentiment=sentiment,
        opinion_template=name,
        tags=tuple([item.words for item in (title, *lines.values(), *steps, *opinion)]),
        late_mentions=_late_mentions(templates, tuple(roles), nouns),
    )


def _pick(random: Random, options: Any) -> Any:
    # `random()` es lo único que Python promete no cambiar; `choice` y `shuffle` no.
    return options[int(random.random() * len(options))]


def _choose_ingredients(random: Random, dish: Dish) -> dict[str, Ingredient]:
    """Reparte ingredientes entre los papeles sin repetir sus sustantivos mientras se pueda."""
    chosen = {"main": _pick(random, dish.mains)}
    used = {dish.noun.head} | chosen["main"].forms | dish.method.fixed_forms
    for role, (optional, options) in dish.method.roles.items():
        if optional and random.random() >= OPTIONAL:
            continue
        free = [item for item in options if not item.forms & used]
        chosen[role] = _pick(random, free or options or (ingredients()[dish.name],))
        used |= chosen[role].forms
    return chosen


def _stages(method: Method, roles: dict[str, Ingredient]) -> list:
    """Devuelve los pasos cuyos papeles están todos, preparaciones incluidas."""
    stages = []
    for stage in method.stages:
        if isinstance(stage, str):
            kind, role = stage[0], stage[1:]
            if role in roles:
                stages.extend(_by_ingredient(kind, role, roles[role]))
        elif all(role in roles or role == "dish" for role in stage[0][0].roles):
            stages.append(stage)
    return stages


def _title(random: Random, dish: Dish, roles: dict[str, Ingredient]) -> Sentence:
    """Compone el título: «Sopa casera de lentejas», «Homemade lentil soup»."""
    style = _pick(random, adjectives("style")) if random.random() < STYLED else None
    named = [roles["main"]]
    if dish.method.name == "salad":
        named.append(roles["second"])
    return _title_of(dish, tuple(named), style)


@lru_cache(maxsize=2**15)
def _title_of(dish: Dish, named: tuple[Ingredient, ...], style: tuple | None) -> Sentence:
    words = list(dish.noun.spanish)
    if style:
        words.append((inflect(style[0], dish.noun), "ADJ"))
    words += [(dish.link, "ADP"), *named[0].words]
    for other in named[1:]:
        words += [(conjunction(other.words[0][0]), "CCONJ"), *other.words]
    if dish.link == "con":
        english = f"{dish.noun.english} with {' and '.join(item.listed_english for item in named)}"
    else:
        english = f"{' and '.join(item.english for item in named)} {dish.noun.english}"
    english = f"{style[1]} {english}" if style else english
    tagged = capitalised(words)
    return Sentence(tagged, join(tagged), english[0].upper() + english[1:])


def _opinion(random: Random, nouns: dict[str, Noun]) -> tuple[str, str, list[Sentence]]:
    """Elige sentimiento, marco y adjetivos; a veces, una oración neutra antes o después."""
    sentiment = POSITIVE if random.random() < 0.5 else NEGATIVE
    name, frame = _pick(random, opinion_frames()[sentiment])
    qualities = (GOOD, BAD) if sentiment == POSITIVE else (BAD, GOOD)
    for role, quality in zip(("good", "bad"), qualities, strict=True):
        first = _pick(random, adjectives(quality))
        second = _pick(random, [other for other in adjectives(quality) if other is not first])
        nouns[role] = agreeing(first, nouns["dish"])
        nouns[f"{role}2"] = agreeing(second, nouns["dish"])
        nouns[f"{role}_thing"] = agreeing(first, None)
    sentences = with_neutral(random, _pick(random, frame))
    return sentiment, name, [realise(sentence, nouns) for sentence in sentences]


def with_neutral(random: Random, verdict: Template) -> list[Template]:
    """Da la oración del veredicto y, a veces, una neutra delante o detrás."""
    sentences = [verdict]
    if random.random() < OPENED:
        sentences.insert(0, _pick(random, _pick(random, _neutral("openings"))))
    if random.random() < CLOSED:
        sentences.append(_pick(random, _pick(random, _neutral("closings"))))
    return sentences


def _late_mentions(
    templates: list[Template], roles: tuple[str, ...], nouns: dict[str, Noun]
) -> tuple[LateMention, ...]:
    """Señala el primer paso que nombra cada ingrediente de ``LATE_ROLES``."""
    found = []
    for role in LATE_ROLES:
        step = next(i for i, template in enumerate(templates) if role in template.roles)
        found.append(LateMention(step, roles.index(role), nouns[role].head))
    return tuple(sorted(found))


# --------------------------------------------------------------------------- ingredientes


@dataclass(frozen=True, eq=False)
class Ingredient:
    """Un ingrediente del léxico; ``english`` va en singular."""

    name: str
    group: str
    gender: str
    count: str
    english: str
    english_count: str
    measure: str
    words: Tokens

    @cached_property
    def head(self) -> str:
        """Devuelve la palabra principal en singular o plural, como está en el léxico."""
        return self.words[0][0]

    @cached_property
    def forms(self) -> frozenset[str]:
        """Devuelve sus sustantivos en singular y, si se cuenta por piezas, también en plural."""
        words = [*self.words, *(_name(self, several=True) if self.count == "c" else ())]
        return frozenset(word for word, tag in words if tag == "NOUN")

    @property
    def listed_english(self) -> str:
        """Devuelve el inglés en el número del léxico."""
        return english_plural(self.english) if self.english_count == "p" else self.english


class Line(NamedTuple):
    """Un renglón de la lista y el sustantivo con que los pasos lo nombran."""

    words: Tokens
    spanish: str
    english: str
    noun: Noun


@cache
def ingredients() -> dict[str, Ingredient]:
    """Devuelve el léxico de ingredientes por nombre.

    Errores:
        TableError: un renglón de ``ingredients.txt`` está mal escrito.
    """
    found: dict[str, Ingredient] = {}
    for group, lines in _tables.parts("ingredients").items():
        for line in lines:
            item = _ingredient(group, line)
            if item.name in found:
                raise TableError(f"{line.place}: «{item.name}» ya está en la tabla.")
            found[item.name] = item
    return found


def _ingredient(group: str, line: _tables.Line) -> Ingredient:
    name, grammar, english, measure = line.columns(4)
    gender, count, english_count = _number(line, grammar)
    if measure != TO_TASTE and measure not in measures():
        raise TableError(f"{line.place}: la medida «{measure}» no está en measures.txt.")
    return Ingredient(
        name, str(group), gender, count, english, english_count, measure, name_words(name)
    )


def _number(line: _tables.Line, grammar: str) -> tuple[str, str, str]:
    """Lee «género y número / número en inglés»."""
    match = re.fullmatch(r"([mf])([cp]?)(?:/([sp]))?", grammar)
    if match is None:
        raise TableError(
            f"{line.place}: se esperaba un género (m o f), su número (nada, c o p) y, tras una "
            f"barra, el del inglés (s o p), y hay «{grammar}»."
        )
    return match[1], match[2], match[3] or match[2]


@cache
def quantities(item: Ingredient) -> tuple[Line, ...]:
    """Devuelve los renglones posibles de un ingrediente, uno por cantidad."""
    if item.measure == TO_TASTE:
        return (_line(item, (*item.words, ("al", "ADP"), ("gusto", "NOUN")), "{} to taste", False),)
    one, many, one_en, many_en, amounts = measures()[item.measure]
    return tuple(
        _measured(item, amount, *((one, one_en) if amount in ("½", "1") else (many, many_en)))
        for amount in amounts.split()
    )


def _measured(item: Ingredient, amount: str, unit: str, unit_en: str) -> Line:
    several = item.count == "c" and amount != "1"
    number, number_en = amount, amount
    if amount == "½":
        number = "medio" if unit.split()[0][-1] == "o" else "media"
        number_en = "half " + ("an" if unit_en[0] in "aeiou" else "a")
    spanish = [(number, "NUM"), *((word, name_tags().get(word, "NOUN")) for word in unit.split())]
    spanish += _name(item, several)
    return _line(item, tuple(spanish), f"{number_en} {unit_en} {{}}".replace("  ", " "), several)


def _name(item: Ingredient, several: bool) -> Tokens:
    """Devuelve el nombre, en plural si se cuentan varias piezas."""
    if not several:
        return item.words
    words = plural_phrase(item.name).split()
    return tuple((word, tag) for word, (_, tag) in zip(words, item.words, strict=True))


def _line(item: Ingredient, spanish: Tokens, english: str, several: bool) -> Line:
    """Arma el renglón y el sustantivo de los pasos, en singular o plural según la cantidad."""
    many_en = item.english_count == "p" or (item.english_count == "c" and several)
    name_en = english_plural(item.english) if many_en else item.english
    many = several or item.count == "p"
    noun = Noun(_name(item, several), item.gender, many, name_en, many_en, not item.count)
    spanish, text_en = capitalised(spanish), english.format(name_en)
    return Line(spanish, join(spanish), text_en[0].upper() + text_en[1:], noun)


@cache
def measures() -> dict[str, tuple[str, ...]]:
    """Devuelve las medidas por nombre."""
    rows = (line.columns(6) for line in _tables.part("measures", "measures"))
    return {name: tuple(rest) for name, *rest in rows}


@cache
def group(names: str) -> tuple[Ingredient, ...]:
    """Devuelve los ingredientes de una lista de grupos, subgrupos e ingredientes."""
    found: dict[str, Ingredient] = {}
    for name in names.replace(",", " ").split():
        for item in _named(name):
            found[item.name] = item
    return tuple(found.values())


def _named(name: str) -> tuple[Ingredient, ...]:
    if name in _tables.words("groups"):
        return group(" ".join(_tables.words("groups")[name]))
    single = ingredients().get(name.replace("_", " "))
    if single:
        return (single,)
    members = tuple(item for item in ingredients().values() if item.group == name)
    if not members:
        raise ValueError(f"El léxico no tiene «{name}»; añádelo como ingrediente o como grupo.")
    return members


# --------------------------------------------------------------------------- platos y métodos


@dataclass(frozen=True, eq=False)
class Method:
    """Un modo de preparar: papeles ``{papel: (optativo, grupo)}`` y pasos con sus variantes.

    Un grupo vacío es el ingrediente que da nombre al plato.

    Un paso es una tupla de variantes, cada una con sus alternativas, o una marca («@main»,
    «&main») que se resuelve según el ingrediente.
    """

    name: str
    roles: dict[str, tuple[bool, tuple[Ingredient, ...]]]
    stages: tuple

    @cached_property
    def fixed_forms(self) -> frozenset[str]:
        """Devuelve los sustantivos de los papeles con un solo ingrediente posible."""
        fixed = (items[0].forms for _, items in self.roles.values() if len(items) == 1)
        return frozenset().union(*fixed)


@dataclass(frozen=True, eq=False)
class Dish:
    """Un plato del léxico."""

    name: str
    category: str
    noun: Noun
    link: str
    method: Method
    mains: tuple[Ingredient, ...]


@cache
def dishes() -> tuple[Dish, ...]:
    """Devuelve todos los platos.

    Errores:
        TableError: un renglón de ``dishes.txt`` está mal escrito.
    """
    table = _tables.parts("dishes")
    return tuple(_dish(str(category), line) for category, rows in table.items() for line in rows)


def _dish(category: str, line: _tables.Line) -> Dish:
    name, grammar, english, link, method, mains = line.columns(6)
    gender, count, english_count = _number(line, grammar)
    if link not in ("de", "con"):
        raise TableError(f"{line.place}: el enlace es «de» o «con», y hay «{link}».")
    if method not in methods():
        raise TableError(f"{line.place}: el método «{method}» no está en methods.txt.")
    many, mass = count == "p", english_count == "s"
    many_en = many and not mass
    name_en = english_plural(english) if many_en else english
    noun = Noun(name_words(name), gender, many, name_en, many_en, mass)
    with telling(line):
        return Dish(name, category, noun, link, methods()[method], group(mains))


@cache
def methods() -> dict[str, Method]:
    """Devuelve los métodos por nombre.

    Errores:
        TableError: un renglón de ``methods.txt`` o de ``stages.txt`` está mal escrito.
    """
    return dict(_method(header, steps) for header, steps in _tables.steps("methods").items())


def _method(header: _tables.Line, steps: tuple) -> tuple[str, Method]:
    name, written = header.named()
    roles = {}
    for assignment in written.split():
        role, mark, names = assignment.partition("=")
        if not mark:
            raise TableError(f"{header.place}: se esperaba «papel=grupo» y hay «{assignment}».")
        with telling(header):
            options = () if names == "self" else group(names)
        roles[role.lstrip("?")] = (role[0] == "?", options)
    known = {*roles, "main", "dish"}
    return name, Method(name, roles, tuple(_step(variants, known) for variants in steps))


def _step(variants: tuple[_tables.Line, ...], roles: set[str]) -> Any:
    """Lee un paso de un método, que solo puede nombrar sus papeles."""
    stage = _stage(variants)
    used = [stage[1:]] if isinstance(stage, str) else [r for way in stage for r in way[0].roles]
    for role in used:
        if role not in roles:
            raise TableError(f"{variants[0].place}: el método no tiene el papel «{role}».")
    return stage


def _stage(variants: tuple[_tables.Line, ...]) -> Any:
    first = variants[0]
    if first[0] in "@&":
        return str(first)
    if first[0] == "%":
        if first[1:] not in _tables.steps("stages"):
            raise TableError(f"{first.place}: el paso «{first}» no está en stages.txt.")
        return _stage(_tables.steps("stages")[first[1:]][0])
    return tuple(templates(variant, variant) for variant in variants)


def templates(line: str, source: str) -> tuple[Template, ...]:
    """Analiza la plantilla de un renglón; de un error se dice dónde está escrita."""
    with telling(line):
        return parse(source, word_tags())


@cache
def _by_ingredient(kind: str, role: str, item: Ingredient) -> tuple:
    """Devuelve el paso «@» (preparar) o «&» (cocer) que pide un ingrediente, o ninguno."""
    table = _tables.steps("preparations" if kind == "@" else "cooking")
    found = {name: steps[0] for header, steps in table.items() for name in header.split()}
    variants = found.get(item.name.replace(" ", "_")) or found.get(item.group)
    if variants is None:
        return ()
    return (tuple(templates(variant, _for_role(variant, role)) for variant in variants),)


def _for_role(template: str, role: str) -> str:
    return re.sub(r"([{+~])x}", rf"\1{role}}}", template)


# --------------------------------------------------------------------------- opiniones


@cache
def opinion_frames() -> dict[str, tuple]:
    """Devuelve los marcos por sentimiento: pares (nombre, alternativas).

    Errores:
        TableError: un renglón de ``opinions.txt`` está mal escrito.
    """
    positive, negative = [], []
    for line in _tables.part("opinions", "mirrored"):
        name, source = line.named()
        positive.append((f"{name}+", templates(line, source)))
        negative.append((f"{name}-", templates(line, source)))
    for line in _tables.part("opinions", "pairs"):
        name, sources = line.named()
        good, bad = sources.halves(" // ")
        positive.append((f"{name}+", templates(line, good)))
        negative.append((f"{name}-", templates(line, bad)))
    return {POSITIVE: tuple(positive), NEGATIVE: tuple(negative)}


@cache
def _neutral(part: str) -> tuple:
    """Devuelve las oraciones neutras que abren una opinión («openings») o la cierran."""
    return tuple(templates(line, line) for line in _tables.part("opinions", part))


@cache
def adjectives(kind: str) -> tuple[tuple[str, str], ...]:
    """Devuelve los pares (español, inglés) de una clase: ``GOOD``, ``BAD`` o «style»."""
    return tuple(tuple(line.columns(2)) for line in _tables.part("adjectives", kind))


@cache
def agreeing(adjective: tuple[str, str], noun: Noun | None) -> Noun:
    """Devuelve el adjetivo concordado con el plato, o en masculino singular («algo bueno»)."""
    word = inflect(adjective[0], noun) if noun else adjective[0]
    return Noun(((word, "ADJ"),), "m", False, adjective[1], False)


# --------------------------------------------------------------------------- palabras


@cache
def word_tags() -> dict[str, str]:
    """Devuelve la etiqueta de cada palabra de las plantillas."""
    return {word: tag for tag, words in _tables.words("words").items() for word in words}


@cache
def name_tags() -> dict[str, str]:
    """Devuelve la etiqueta de las palabras que, en un nombre, no son sustantivos."""
    return {word: tag for tag, words in _tables.words("names").items() for word in words}


def name_words(name: str) -> Tokens:
    """Etiqueta el nombre de un ingrediente o un plato."""
    first, *rest = name.split()
    return ((first, "NOUN"), *((word, name_tags().get(word, "NOUN")) for word in rest))
