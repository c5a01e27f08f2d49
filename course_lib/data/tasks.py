"""Cinco tareas supervisadas sobre el corpus de recetas: textos sin partir, con su etiqueta.

=================== ============================== ==========================================
función             pregunta                       etiqueta
=================== ============================== ==========================================
sentence_examples   ¿gustó el plato?               0, no; 1, sí
pair_examples       ¿la afirmación es cierta?      0, es de otra receta; 1, se sigue de esta
choice_examples     ¿qué paso viene después?       cuál de los cuatro
question_examples   ¿cuánta sal lleva?             qué caracteres del texto lo dicen
tagged_examples     ¿qué categoría tiene?          una por palabra
=================== ============================== ==========================================

Cada etiqueta es verdad por construcción y se decide leyendo. Ni una afirmación sola ni el texto
solo la delatan: una que no se sigue del texto es cierta en otra receta. Lo que hay que hacer es
cotejar.

Los ejemplos de evaluación no comparten con los de entrenamiento ni combinaciones de marco de
opinión y adjetivos, ni de plato e ingrediente principal, ni de sustantivos de una oración; las
palabras, sí.

Lo escrito a mano está en ``_tasks``.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any, NamedTuple

from course_lib.data import _tables, recipes
from course_lib.data._grammar import Noun, Template, Tokens, inflect, join, parse, realise, tag_of
from course_lib.data._tables import telling
from course_lib.data.recipes import POSITIVE, Dish, Ingredient, Line, Natural, Recipe

# True o False, que comprueba `_require_flag`, con un mensaje nuestro.
Flag = Any

CHOICES, SHOWN_STEPS = 4, 3
HELD_OUT_WORDS = 5
AMBIGUOUS_SHARE = 0.6
# Las partes de `tasks.txt` que dan la categoría de las palabras que solo usan las tareas.
OWN_TAGS = ("VERB", "ADJ", "NOUN", "ADP")
TAGS = (
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "NOUN"),
    *("NUM", "PRON", "PROPN", "PUNCT", "SCONJ", "VERB"),
)


@dataclass(frozen=True, slots=True)
class SentenceExample:
    """Una opinión y su sentimiento: 1, positivo; 0, negativo."""

    text: str
    label: int


@dataclass(frozen=True, slots=True)
class PairExample:
    """Un trozo de receta y una afirmación: 1, se sigue de él; 0, no: es de otra receta."""

    first: str
    second: str
    label: int
    kind: str


@dataclass(frozen=True, slots=True)
class ChoiceExample:
    """El comienzo de una receta y cuatro pasos; ``label`` es la posición del que sigue."""

    context: str
    choices: tuple[str, ...]
    label: int


@dataclass(frozen=True, slots=True)
class QuestionExample:
    """Una pregunta y el texto que la responde, en los caracteres de ``start`` a ``end``."""

    question: str
    context: str
    start: int
    end: int
    kind: str

    @property
    def answer(self) -> str:
        """Devuelve la respuesta: ``context[start:end]``."""
        return self.context[self.start : self.end]


@dataclass(frozen=True, slots=True)
class TaggedExample:
    """Las palabras de una oración y la categoría de cada una (UPOS; están en ``TAGS``)."""

    words: tuple[str, ...]
    tags: tuple[str, ...]


# --------------------------------------------------------------------------- las cinco tareas


def sentence_examples(
    count: Natural, seed: Natural = 0, *, held_out: Flag = False
) -> list[SentenceExample]:
    """Da opiniones con su sentimiento; en las de evaluación, marco y adjetivo no se vieron juntos.

    Errores:
        ValueError: si ``count`` o ``seed`` no son enteros mayores o iguales que 0, o ``held_out``
        no es True ni False.
    """
    return _examples(_sentence, count, seed, held_out)


def pair_examples(
    count: Natural,
    seed: Natural = 0,
    *,
    held_out: Flag = False,
    kinds: Sequence[str] | None = None,
) -> list[PairExample]:
    """Da trozos de receta con una afirmación, o unos pasos, que son de esa receta o de otra.

    La mitad son de esa receta en cada clase. Una de otra dice siempre algo que el texto no dice.

    Argumentos:
        kinds: de qué clases: de las de ``PAIR_KINDS``, que son todas si no se dice. «pasos» son los
            dos que siguen; las demás afirman un dato.

    Errores:
        ValueError: si ``count`` o ``seed`` no son enteros mayores o iguales que 0, ``held_out`` no
        es True ni False o ``kinds`` nombra una clase que no hay.
    """
    kinds = tuple(PAIR_KINDS if kinds is None else kinds)
    if not kinds or not set(kinds) <= set(PAIR_KINDS):
        raise ValueError(f"kinds: se esperaban clases de {', '.join(PAIR_KINDS)}; llegó {kinds}.")
    return _examples(partial(_pair, kinds=kinds), count, seed, held_out)


def choice_examples(
    count: Natural, seed: Natural = 0, *, held_out: Flag = False
) -> list[ChoiceExample]:
    """Da comienzos de receta con cuatro pasos, de los que uno es el siguiente.

    Los otros tres son el mismo paso con un ingrediente que la receta no lleva, un paso de otro
    momento (ya dado, quizá con otras palabras, o de bastante después) y ese con un ingrediente que
    no lleva.

    Errores:
        ValueError: si ``count`` o ``seed`` no son enteros mayores o iguales que 0, o ``held_out``
        no es True ni False.
    """
    return _examples(_choice, count, seed, held_out)


def question_examples(
    count: Natural, seed: Natural = 0, *, held_out: Flag = False
) -> list[QuestionExample]:
    """Da preguntas sobre una receta con la posición de su respuesta.

    El texto contiene siempre otros datos de la clase que se pregunta. ``kind`` es uno de
    ``QUESTION_KINDS``.

    Errores:
        ValueError: si ``count`` o ``seed`` no son enteros mayores o iguales que 0, o ``held_out``
        no es True ni False.
    """
    return _examples(_question, count, seed, held_out)


def tagged_examples(
    count: Natural, seed: Natural = 0, *, held_out: Flag = False
) -> list[TaggedExample]:
    """Da oraciones con la categoría de cada palabra, que a veces depende de las demás.

    Errores:
        ValueError: si ``count`` o ``seed`` no son enteros mayores o iguales que 0, o ``held_out``
        no es True ni False.
    """
    return _examples(_tagged, count, seed, held_out)


def _examples(make: Callable, count: Any, seed: Any, held_out: Any) -> list:
    _require_flag(held_out)
    random = Random(recipes._natural("seed", seed))
    return [make(random, held_out) for _ in range(recipes._natural("count", count))]


def _require_flag(held_out: Any) -> None:
    if not isinstance(held_out, bool):
        raise ValueError(
            f"Se esperaba en held_out True, para evaluar, o False, para entrenar, y llegó "
            f"{held_out!r}."
        )


# --------------------------------------------------------------------------- la receta


class Scene(NamedTuple):
    """Un plato, sus ingredientes por papel, sus renglones, sus sustantivos y su título."""

    dish: Dish
    roles: dict[str, Ingredient]
    lines: dict[str, Line]
    nouns: dict[str, Noun]
    title: str


def _scenes(random: Random, held_out: bool) -> Iterator[Scene]:
    """Da escenas sin fin cuya combinación de plato e ingrediente principal toca a este lado."""
    while True:
        dish = _pick(random, recipes.dishes())
        roles = recipes._choose_ingredients(random, dish)
        combination = (dish.name, roles["main"].name)
        if (combination in recipes.held_out_combinations()) == held_out:
            lines = {role: _pick(random, recipes.quantities(item)) for role, item in roles.items()}
            nouns = {role: line.noun for role, line in lines.items()} | {"dish": dish.noun}
            title = recipes._title(random, dish, roles).spanish
            yield Scene(dish, roles, lines, nouns, title)


def _solids(scene: Scene) -> list[str]:
    """Devuelve los papeles de lo que se corta y se cuece."""
    return [role for role, item in scene.roles.items() if item.group in _words("solid")]


def _others(scene: Scene, role: str) -> list[Ingredient]:
    """Devuelve los ingredientes que podrían tener ese papel y no comparten nombre con ninguno."""
    options = scene.dish.mains if role == "main" else scene.dish.method.roles[role][1]
    named = {word for word, tag in scene.dish.noun.spanish if tag == "NOUN"}
    used = named.union(_words("always"), *(item.forms for item in scene.roles.values()))
    return [item for item in options if not item.forms & used]


_pick = recipes._pick


def _shuffled(random: Random, items: Any) -> list:
    """Baraja con ``random()``, que da lo mismo en toda versión de Python."""
    return [item for _, _, item in sorted((random.random(), i, x) for i, x in enumerate(items))]


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _text(title: str, sentences: list[str]) -> str:
    return " ".join([title + ".", *(s.rstrip(".") + "." for s in sentences)])


# --------------------------------------------------------------------------- opiniones


def has_held_out_opinion(recipe: Recipe) -> bool:
    """Dice si la opinión de una receta es de las que `sentence_examples` aparta para evaluar.

    Es una de cada cinco combinaciones de un marco con sus adjetivos. Un marco sin adjetivos nunca
    se aparta: sería apartarlo entero.
    """
    before = 1 + len(recipe.ingredients) + len(recipe.steps)
    words = {_stem(word) for said in recipe.tags[before:] for word, _ in said}
    qualities = words & _qualities()
    # Con el marco del mismo nombre se dice lo contrario: los dos tocan al mismo lado.
    frame = recipe.opinion_template.rstrip("+-")
    return _is_apart([frame, *qualities] if qualities else [])


def _sentence(random: Random, held_out: bool) -> SentenceExample:
    while True:
        recipe = recipes._recipe(random)
        if has_held_out_opinion(recipe) == held_out:
            return SentenceExample(recipe.opinion, int(recipe.sentiment == POSITIVE))


@cache
def _qualities() -> frozenset[str]:
    kinds = (recipes.GOOD, recipes.BAD)
    return frozenset(_stem(word) for kind in kinds for word, _ in recipes.adjectives(kind))


def _stem(word: str) -> str:
    """Quita el género y el número: «sosas» y «soso» son el mismo adjetivo."""
    return re.sub("[aeo]?s?$", "", word.lower())


# --------------------------------------------------------------------------- datos


class Fact(NamedTuple):
    """Un dato del texto: qué ingrediente, cómo se dice y el valor que otro dato podría tener."""

    role: str
    sentence: str
    value: Noun
    verb: tuple[str, str]


def _cuts(random: Random, scene: Scene, roles: list[str]) -> list[Fact]:
    """Dice cómo se corta cada ingrediente, cada uno de una manera."""
    values = [_pick(random, group) for group in _shuffled(random, _cut_values())]
    steps = [_pick(random, _templates("cut_steps")) for _ in roles]
    return [
        Fact(role, _say(step, scene, role, value), value, ("corta", "cortan"))
        for role, step, value in zip(roles, steps, values, strict=False)
    ]


def _times(random: Random, scene: Scene, roles: list[str]) -> list[Fact]:
    """Dice cuántos minutos se cuece cada ingrediente, cada uno de una manera."""
    verbs = _shuffled(random, (tuple(line.columns(2)) for line in _lines("time_verbs")))
    values = _shuffled(random, map(_value, _words("minutes")))
    return [
        Fact(role, _say(_time_step(verb[0]), scene, role, value), value, verb)
        for role, verb, value in zip(roles, verbs, values, strict=False)
    ]


def _time_step(verb: str) -> Template:
    return _template(f"{verb.capitalize()} {{x}} durante {{-value}} minutos.")


def _say(template: Template, scene: Scene, role: str, value: Noun) -> str:
    return realise(template, {"x": scene.nouns[role], "value": value}).spanish


@cache
def _cut_values() -> tuple[tuple[Noun, ...], ...]:
    """Devuelve los cortes por sustantivo: «rodajas finas» también son «rodajas»."""
    rows = [line.split("|") for line in _lines("cuts")]
    return tuple(tuple(_value(text) for text in row) for row in rows)


@cache
def _value(text: str) -> Noun:
    words = tuple((word, tag_of(word, _tags())) for word in text.split())
    return Noun(words, "m", True, "", True)


@cache
def _tags() -> dict[str, str]:
    return recipes.word_tags() | {w: tag for tag in OWN_TAGS for w in _words(tag)}


@cache
def _template(source: str) -> Template:
    # La gramática pide una traducción; aquí nadie la lee.
    with telling(source):
        return parse(f"{source} => .", _tags())[0]


@cache
def _templates(part: str) -> tuple[Template, ...]:
    return tuple(_template(line) for line in _lines(part))


def _lines(part: str) -> tuple[_tables.Line, ...]:
    return _tables.part("tasks", part)


def _words(part: str) -> tuple[str, ...]:
    return _tables.words("tasks")[part]


# --------------------------------------------------------------------------- pares


def _pair(random: Random, held_out: bool, kinds: Sequence[str]) -> PairExample:
    kind = _pick(random, kinds)
    # La etiqueta se decide antes que la receta: ninguna receta la favorece.
    label = int(random.random() < 0.5)
    found = _statements(random, held_out, kind)
    text, statement, _ = next(found)
    if not label:
        said = _stems(text)
        statement = next(other for _, other, data in found if not _stems(data) <= said)
    return PairExample(text, statement, label, kind)


def _statements(random: Random, held_out: bool, kind: str) -> Iterator[tuple[str, str, str]]:
    """Da sin fin trozos de receta, una afirmación que se sigue de cada uno y lo que dice."""
    for scene in _scenes(random, held_out):
        found = PAIR_KINDS[kind](random, scene)
        if found is not None:
            premise, statement, data = found
            yield _text(scene.title, premise), statement, data


def _stems(text: str) -> set[str]:
    """Devuelve las palabras sin género ni número: «las cebollas» y «la cebolla» son lo mismo."""
    return {_stem(word) for word in re.findall(r"\w+", text)}


def _about_ingredient(random: Random, scene: Scene) -> tuple:
    """«Lleva cilantro»."""
    roles = _shuffled(random, scene.roles)[:4]
    premise = [scene.lines[role].spanish for role in roles]
    name = join(scene.nouns[_pick(random, roles)].spanish)
    return premise, _pick(random, _lines("contains")).format(name), name


def _about_amount(random: Random, scene: Scene) -> tuple:
    """«Lleva 3 cucharadas de panela»."""
    premise = [scene.lines[role].spanish for role in _shuffled(random, scene.roles)[:4]]
    line = _lower(_pick(random, premise))
    return premise, _pick(random, _lines("contains")).format(line), line


def _about_cut(random: Random, scene: Scene) -> tuple | None:
    """«Las cebollas se cortan en tiras»."""
    facts = _cuts(random, scene, _shuffled(random, _solids(scene))[:3])
    return _about(random, scene, facts, lambda verb: _templates("cut_statements"))


def _about_time(random: Random, scene: Scene) -> tuple | None:
    """«El pollo se cuece durante 20 minutos»."""
    facts = _times(random, scene, _shuffled(random, _solids(scene))[:3])
    return _about(random, scene, facts, _time_statements)


def _time_statements(verb: tuple[str, str]) -> tuple[Template]:
    one, many = verb
    return (_template(f"{{x}} se {{{one}/{many}~x}} durante {{-value}} minutos."),)


def _about_steps(random: Random, scene: Scene) -> tuple | None:
    """«Agrega las papas. Cocina todo 20 minutos.»: los dos pasos que siguen a otros dos."""
    stages = recipes._stages(scene.dish.method, scene.roles)
    templates = [_pick(random, _pick(random, stage)) for stage in stages]
    place = 2 + int(random.random() * (len(templates) - 3))
    steps = [realise(template, scene.nouns).spanish for template in templates]
    next_two = slice(place, place + 2)
    roles = {role for template in templates[next_two] for role in template.roles} - {"dish"}
    if not roles:
        return None
    data = " ".join(join(scene.nouns[role].spanish) for role in sorted(roles))
    return [_listed(scene), *steps[place - 2 : place]], " ".join(steps[next_two]), data


def _about(random: Random, scene: Scene, facts: list[Fact], forms: Callable) -> tuple | None:
    """Afirma un dato del texto, que dice otros de la misma clase."""
    if len(facts) < 2:
        return None
    asked = facts[0]
    statement = _say(_pick(random, forms(asked.verb)), scene, asked.role, asked.value)
    data = join((*scene.nouns[asked.role].spanish, *asked.value.spanish))
    return [fact.sentence for fact in _shuffled(random, facts)], statement, data


PAIR_KINDS: dict[str, Callable] = {
    "ingrediente": _about_ingredient,
    "cantidad": _about_amount,
    "corte": _about_cut,
    "tiempo": _about_time,
    "pasos": _about_steps,
}


# --------------------------------------------------------------------------- opciones


def _choice(random: Random, held_out: bool) -> ChoiceExample:
    for scene in _scenes(random, held_out):
        stages = recipes._stages(scene.dish.method, scene.roles)
        templates = [_pick(random, _pick(random, stage)) for stage in stages]
        moments = _moments(random, [bool(_swaps(scene, step)) for step in templates])
        if moments is not None:
            now, other = moments
            moved = _reworded(random, scene, stages[other], templates[other])
            return _four(random, scene, templates[:now], (templates[now], moved))
    raise AssertionError("las escenas no se acaban")


def _moments(random: Random, swappable: list[bool]) -> tuple[int, int] | None:
    """Elige el paso que sigue y otro: el primero que se muestra, o uno que llega igual de tarde.

    De cada dos pasos así separados, el que sigue es uno u otro con la misma probabilidad: el paso
    solo no dice si es el que sigue.
    """
    later = range(SHOWN_STEPS + 1, len(swappable))
    pairs = [(i, i - SHOWN_STEPS) for i in later if swappable[i] and swappable[i - SHOWN_STEPS]]
    if not pairs:
        return None
    now, other = _pick(random, pairs)
    return (now, other) if random.random() < 0.5 else (other, now)


def _reworded(random: Random, scene: Scene, stage: tuple, template: Template) -> Template:
    """Da otra manera de decir un paso, si la hay: para verlo repetido no basta buscarlo igual."""
    options = [variant for variant in stage if template not in variant]
    options = [variant for variant in options if _swaps(scene, variant[0])]
    return _pick(random, _pick(random, options)) if options else template


def _four(random: Random, scene: Scene, before: list, moments: tuple) -> ChoiceExample:
    """Cruza el momento, este u otro, con el ingrediente, de la receta o ajeno."""
    choices = [realise(template, scene.nouns).spanish for template in moments]
    choices += [_swapped(random, scene, template) for template in moments]
    order = _shuffled(random, range(CHOICES))
    steps = [realise(template, scene.nouns).spanish for template in before[-SHOWN_STEPS:]]
    context = _text(scene.title, [_listed(scene), *steps])
    return ChoiceExample(context, tuple(choices[i] for i in order), order.index(0))


def _listed(scene: Scene) -> str:
    *names, last = (join(line.noun.spanish) for line in scene.lines.values())
    return f"Lleva {', '.join(names)} {recipes.conjunction(last)} {last}"


def _swaps(scene: Scene, template: Template) -> list[str]:
    """Devuelve los papeles del paso que podría tener un ingrediente que la receta no lleva."""
    return [role for role in template.roles if role != "dish" and _others(scene, role)]


def _swapped(random: Random, scene: Scene, template: Template) -> str:
    """Da el mismo paso con un ingrediente que la receta no lleva."""
    role = _pick(random, _swaps(scene, template))
    item = _pick(random, _others(scene, role))
    noun = _pick(random, recipes.quantities(item)).noun
    return realise(template, scene.nouns | {role: noun}).spanish


# --------------------------------------------------------------------------- preguntas


class Asked(NamedTuple):
    """Una pregunta, la oración que la responde y la respuesta, que sale una vez en ella."""

    question: str
    sentence: str
    answer: str


def _question(random: Random, held_out: bool) -> QuestionExample:
    kind = _pick(random, tuple(QUESTION_KINDS))
    for scene in _scenes(random, held_out):
        solids = _shuffled(random, _solids(scene))
        if len(solids) < 2:
            continue
        roles = _shuffled(random, scene.roles)[:3]
        cuts = _cuts(random, scene, solids[:2])
        # El primero se cuece dos veces: nombrarlo no basta para dar con la oración.
        times = _times(random, scene, [*solids[:2], solids[0]])
        asked = QUESTION_KINDS[kind](random, scene, roles, cuts, times)
        if asked is not None:
            lines = [scene.lines[role].spanish for role in roles]
            # Se corta antes de cocer.
            steps = [fact.sentence for fact in (*cuts, *_shuffled(random, times))]
            return _located(asked, _text(scene.title, lines + steps), kind)
    raise AssertionError("las escenas no se acaban")


def _located(asked: Asked, context: str, kind: str) -> QuestionExample:
    sentence = asked.sentence.rstrip(".") + "."
    # La oración empieza tras un punto: dentro de otra no se busca.
    start = context.index(". " + sentence) + 2 + sentence.index(asked.answer)
    return QuestionExample(asked.question, context, start, start + len(asked.answer), kind)


def _ask_amount(random: Random, scene: Scene, roles: list, *_: Any) -> Asked | None:
    """«¿Cuánta sal lleva?»: «al gusto»."""
    role, line = roles[0], scene.lines[roles[0]]
    name = join(line.noun.spanish)
    answer = line.spanish.replace(name, "").strip().removesuffix(" de")
    if line.spanish.lower().count(name) != 1 or not answer:
        return None
    if scene.roles[role].measure == "al_gusto":
        name, answer = join(scene.roles[role].words), "al gusto"
    return Asked(f"¿{inflect('Cuánto', line.noun)} {name} lleva?", line.spanish, answer)


def _ask_class(random: Random, scene: Scene, roles: list, *_: Any) -> Asked | None:
    """«¿Qué hierba lleva?»: la clase solo la tiene un ingrediente del texto."""
    found = []
    for line in _lines("classes"):
        words, groups, confusing = line.columns(3)
        named = [r for r in roles if scene.roles[r].group in groups.split()]
        near = [
            r for r in scene.roles if scene.roles[r].group in (groups + " " + confusing).split()
        ]
        if len(named) == 1 and near == named:
            found.append((words, scene.lines[named[0]]))
    if not found:
        return None
    words, line = _pick(random, found)
    name = join(line.noun.spanish)
    answer = line.spanish[line.spanish.lower().index(name) :][: len(name)]
    return Asked(f"¿{words} lleva?", line.spanish, answer)


def _ask_minutes(random: Random, scene: Scene, roles: list, cuts: list, times: list) -> Asked:
    """«¿Cuántos minutos se cuece el pollo?»."""
    fact = times[0]
    verb = fact.verb[scene.nouns[fact.role].plural]
    question = f"¿Cuántos minutos se {verb} {_named(scene, fact.role)}?"
    return Asked(question, fact.sentence, join(fact.value.spanish))


def _ask_cut(random: Random, scene: Scene, roles: list, cuts: list, times: list) -> Asked:
    """«¿Cómo se cortan las cebollas?»: «en tiras»."""
    fact = _pick(random, cuts)
    verb = fact.verb[scene.nouns[fact.role].plural]
    question = f"¿Cómo se {verb} {_named(scene, fact.role)}?"
    return Asked(question, fact.sentence, "en " + join(fact.value.spanish))


def _ask_what_is_cut(random: Random, scene: Scene, roles: list, cuts: list, *_: Any) -> Asked:
    """«¿Qué se corta en tiras?»: «las cebollas»."""
    fact = _pick(random, cuts)
    question = f"¿Qué se corta en {join(fact.value.spanish)}?"
    return Asked(question, fact.sentence, _named(scene, fact.role))


def _ask_what_takes(random: Random, scene: Scene, roles: list, cuts: list, times: list) -> Asked:
    """«¿Qué se hornea durante 20 minutos?»: «el pollo»."""
    fact = times[0]
    question = f"¿Qué se {fact.verb[0]} durante {join(fact.value.spanish)} minutos?"
    return Asked(question, fact.sentence, _named(scene, fact.role))


def _ask_first(random: Random, scene: Scene, roles: list, cuts: list, *_: Any) -> Asked:
    """«¿Qué se corta primero?»: «el ajo»."""
    first = random.random() < 0.5
    fact = cuts[0] if first else cuts[-1]
    moment = "primero" if first else "al final"
    return Asked(f"¿Qué se corta {moment}?", fact.sentence, _named(scene, fact.role))


def _named(scene: Scene, role: str) -> str:
    return _lower(realise(_template("{x}."), {"x": scene.nouns[role]}).spanish.rstrip("."))


QUESTION_KINDS: dict[str, Callable] = {
    "cantidad": _ask_amount,
    "clase": _ask_class,
    "minutos": _ask_minutes,
    "corte": _ask_cut,
    "qué se corta": _ask_what_is_cut,
    "qué se cuece": _ask_what_takes,
    "orden": _ask_first,
}


# --------------------------------------------------------------------------- categorías


def _tagged(random: Random, held_out: bool) -> TaggedExample:
    make = _ambiguous if random.random() < AMBIGUOUS_SHARE else _running
    return TaggedExample(*zip(*make(random, held_out), strict=True))


def _ambiguous(random: Random, held_out: bool) -> Tokens:
    """Da una oración con una palabra de dos categorías; unas plantillas son solo de evaluación."""
    rows = [line for line in _lines("ambiguous") if (line[0] == "*") == held_out]
    groups = {*_words("solid"), *_words("edible")}
    edible = [i for i in recipes.ingredients().values() if i.group in groups]
    noun = _pick(random, recipes.quantities(_pick(random, edible))).noun
    return realise(_ambiguous_template(_pick(random, rows)), {"x": noun}).words


def _ambiguous_template(line: _tables.Line) -> Template:
    return _template(_tables.Line(line.removeprefix("* "), line.place))


def _running(random: Random, held_out: bool) -> Tokens:
    """Da una oración del corpus cuyos sustantivos tocan a este lado."""
    while True:
        sentences = [s for s in recipes._recipe(random).tags if _is_apart(_nouns(s)) == held_out]
        if sentences:
            return _pick(random, sentences)


def _nouns(sentence: Tokens) -> list[str]:
    return [word.lower() for word, tag in sentence if tag == "NOUN"]


def _is_apart(words: list[str]) -> bool:
    """Dice si se aparta esa combinación de palabras: una de cada ``HELD_OUT_WORDS``."""
    combination = " ".join(sorted(set(words)))
    # `hash` cambia de una ejecución a otra; `crc32`, no.
    return bool(words) and zlib.crc32(combination.encode()) % HELD_OUT_WORDS == 0
