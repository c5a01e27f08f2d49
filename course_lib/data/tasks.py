"""Cinco tareas supervisadas sobre el corpus de recetas: textos sin partir, con su etiqueta.

=================== ============================== ==========================================
función             pregunta                       etiqueta
=================== ============================== ==========================================
sentence_examples   ¿gustó el plato?               0, no; 1, sí
pair_examples       ¿la afirmación es cierta?      0, contradice la receta; 1, se sigue de ella
choice_examples     ¿qué paso viene después?       cuál de los cuatro
question_examples   ¿cuánta sal lleva?             qué caracteres del texto lo dicen
tagged_examples     ¿qué categoría tiene?          una por palabra
=================== ============================== ==========================================

Cada etiqueta es verdad por construcción y se decide leyendo. Ninguna se adivina sin leerlo todo:
una afirmación falsa cambia un dato por otro que también está en el texto, y se elige con la misma
frecuencia que una cierta.

Los ejemplos de evaluación no comparten con los de entrenamiento ni armazones de opinión, ni
combinaciones de plato e ingrediente principal, ni combinaciones de sustantivos de una oración; las
palabras sí.

Lo escrito a mano está en ``_tasks``.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, NamedTuple

from course_lib.data import _tasks, recipes
from course_lib.data._grammar import Noun, Template, Tokens, inflect, join, parse, realise, tag_of
from course_lib.data.opinions import generate_opinions
from course_lib.data.recipes import POSITIVE, Dish, Ingredient, Line, Natural

# True o False, que comprueba `_require_flag`, con un mensaje nuestro.
Flag = Any

CHOICES, SHOWN_STEPS = 4, 3
HELD_OUT_NOUNS = 5
AMBIGUOUS_SHARE = 0.6
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
    """Un trozo de receta y una afirmación: 1, se sigue de él; 0, lo contradice."""

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
    """Da opiniones con su sentimiento; las de evaluación, de armazones apartados.

    Errores:
        ValueError: si ``count`` o ``seed`` no son enteros mayores o iguales que 0, o ``held_out``
        no es True ni False.
    """
    _require_flag(held_out)
    opinions = generate_opinions(count, seed, held_out=held_out)
    return [SentenceExample(o.text, int(o.sentiment == POSITIVE)) for o in opinions]


def pair_examples(
    count: Natural, seed: Natural = 0, *, held_out: Flag = False
) -> list[PairExample]:
    """Da trozos de receta con una afirmación que se sigue de ellos o los contradice.

    ``kind`` dice de qué habla: uno de ``PAIR_KINDS``. La mitad son ciertas en cada clase.

    Errores:
        ValueError: si ``count`` o ``seed`` no son enteros mayores o iguales que 0, o ``held_out``
        no es True ni False.
    """
    return _examples(_pair, count, seed, held_out)


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
    """Da preguntas sobre una receta con el lugar de su respuesta.

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
    solid = _tasks.SOLID.split()
    return [role for role, item in scene.roles.items() if item.group in solid]


def _others(scene: Scene, role: str) -> list[Ingredient]:
    """Devuelve los ingredientes que podrían tener ese papel y no comparten nombre con ninguno."""
    options = scene.dish.mains if role == "main" else scene.dish.method.roles[role][1]
    named = {word for word, tag in scene.dish.noun.spanish if tag == "NOUN"}
    used = named.union(_tasks.ALWAYS.split(), *(item.forms for item in scene.roles.values()))
    return [item for item in options if not item.forms & used]


_pick = recipes._pick


def _shuffled(random: Random, items: Any) -> list:
    """Baraja con ``random()``, que da lo mismo en toda versión de Python."""
    return [item for _, _, item in sorted((random.random(), i, x) for i, x in enumerate(items))]


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _text(title: str, sentences: list[str]) -> str:
    return " ".join([title + ".", *(s.rstrip(".") + "." for s in sentences)])


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
    steps = [_pick(random, _templates(_tasks.CUT_STEPS)) for _ in roles]
    return [
        Fact(role, _say(step, scene, role, value), value, ("corta", "cortan"))
        for role, step, value in zip(roles, steps, values, strict=False)
    ]


def _times(random: Random, scene: Scene, roles: list[str]) -> list[Fact]:
    """Dice cuántos minutos se cuece cada ingrediente, cada uno de una manera."""
    verbs = _shuffled(random, (tuple(row.split("|")) for row in recipes._lines(_tasks.TIME_VERBS)))
    values = _shuffled(random, map(_value, _tasks.MINUTES.split()))
    return [
        Fact(role, _say(_time_step(verb[0]), scene, role, value), value, verb)
        for role, verb, value in zip(roles, verbs, values, strict=False)
    ]


def _time_step(verb: str) -> Template:
    return _template(f"{verb.capitalize()} {{x}} durante {{-value}} minutos.")


def _say(template: Template, scene: Scene, role: str, value: Noun, other: str = "main") -> str:
    nouns = {"x": scene.nouns[role], "y": scene.nouns[other], "value": value}
    return realise(template, nouns).spanish


@cache
def _cut_values() -> tuple[tuple[Noun, ...], ...]:
    """Devuelve los cortes por sustantivo: «rodajas finas» también son «rodajas»."""
    rows = [row.split("|") for row in recipes._lines(_tasks.CUTS)]
    return tuple(tuple(_value(text) for text in row) for row in rows)


@cache
def _value(text: str) -> Noun:
    words = tuple((word, tag_of(word, _tags())) for word in text.split())
    return Noun(words, "m", True, "", True)


@cache
def _tags() -> dict[str, str]:
    return recipes.word_tags() | recipes._inverted(_tasks.WORD_TAGS)


@cache
def _template(source: str) -> Template:
    # La gramática pide una traducción; aquí nadie la lee.
    return parse(f"{source} => .", _tags())[0]


@cache
def _templates(table: str) -> tuple[Template, ...]:
    return tuple(_template(row) for row in recipes._lines(table))


# --------------------------------------------------------------------------- pares


def _pair(random: Random, held_out: bool) -> PairExample:
    kind = _pick(random, tuple(PAIR_KINDS))
    # La etiqueta se decide antes que la receta: ninguna receta la favorece.
    label = int(random.random() < 0.5)
    for scene in _scenes(random, held_out):
        found = PAIR_KINDS[kind](random, scene, label)
        if found is not None:
            premise, statement = found
            return PairExample(_text(scene.title, premise), statement, label, kind)
    raise AssertionError("las escenas no se acaban")


def _about_ingredient(random: Random, scene: Scene, label: int) -> tuple | None:
    """«Lleva cilantro», «No lleva cilantro»: ni la palabra ni la negación deciden solas."""
    roles = _shuffled(random, scene.roles)[:4]
    asked = [role for role in roles if _others(scene, role)]
    if not asked:
        return None
    role, present = asked[0], random.random() < 0.5
    noun = scene.nouns[role]
    if not present:
        noun = _pick(random, recipes.quantities(_pick(random, _others(scene, role)))).noun
    forms = recipes._lines(_tasks.PRESENT if present == label else _tasks.ABSENT)
    premise = [scene.lines[role].spanish for role in _shuffled(random, roles)]
    return premise, _pick(random, forms).format(join(noun.spanish))


def _about_amount(random: Random, scene: Scene, label: int) -> tuple | None:
    """«Lleva 3 cucharadas de panela»: la falsa dice la cantidad de otro renglón."""
    roles = _shuffled(random, scene.roles)
    pairs = [(a, b) for a in roles for b in roles if a != b and _same_unit(scene, a, b)]
    if not pairs:
        return None
    asked, other = pairs[0]
    rest = [role for role in roles if role not in (asked, other)][:2]
    premise = [scene.lines[role].spanish for role in _shuffled(random, [asked, other, *rest])]
    line = scene.lines[asked] if label else _with_amount(scene, asked, other)
    form = _pick(random, recipes._lines(_tasks.AMOUNTS))
    return premise, form.format(_lower(line.spanish))


def _same_unit(scene: Scene, asked: str, other: str) -> bool:
    """Dice si dos renglones pueden cambiar sus cantidades sin cambiar otra palabra."""
    if scene.roles[asked].measure != scene.roles[other].measure:
        return False
    if scene.lines[asked].words[0] == scene.lines[other].words[0]:
        return False
    return bool(_with_amount(scene, asked, other) and _with_amount(scene, other, asked))


def _with_amount(scene: Scene, asked: str, other: str) -> Line | None:
    first, rest = scene.lines[other].words[0], scene.lines[asked].words[1:]
    lines = recipes.quantities(scene.roles[asked])
    return next((line for line in lines if line.words == (first, *rest)), None)


def _about_cut(random: Random, scene: Scene, label: int) -> tuple | None:
    """«Las cebollas se cortan en tiras»: la falsa dice el corte de otro ingrediente."""
    facts = _cuts(random, scene, _shuffled(random, _solids(scene))[:3])
    return _bound(random, scene, facts, label, _templates(_tasks.CUT_STATEMENTS))


def _about_time(random: Random, scene: Scene, label: int) -> tuple | None:
    """«El pollo se cuece durante 20 minutos»: la falsa dice los minutos de otro ingrediente."""
    facts = _times(random, scene, _shuffled(random, _solids(scene))[:3])
    if len(facts) < 2:
        return None
    one, many = facts[0].verb
    statement = _template(f"{{x}} se {{{one}/{many}~x}} durante {{-value}} minutos.")
    return _bound(random, scene, facts, label, (statement,))


def _bound(random: Random, scene: Scene, facts: list[Fact], label: int, forms: tuple) -> Any:
    if len(facts) < 2:
        return None
    asked, other = facts[:2]
    statement = _say(_pick(random, forms), scene, asked.role, (asked if label else other).value)
    return [fact.sentence for fact in _shuffled(random, facts)], statement


def _about_order(random: Random, scene: Scene, label: int) -> tuple | None:
    """«Las cebollas se cortan antes que el ajo»: las dos se nombran siempre."""
    facts = _cuts(random, scene, _shuffled(random, _solids(scene))[:3])
    if len(facts) < 2:
        return None
    earlier, later = sorted(_shuffled(random, range(len(facts)))[:2])
    before = random.random() < 0.5
    if before != label:
        earlier, later = later, earlier
    rows = (row.split(": ") for row in recipes._lines(_tasks.ORDER_STATEMENTS))
    forms = [_template(source) for name, source in rows if (name == "antes") == before]
    roles = facts[earlier].role, facts[later].role
    statement = _say(_pick(random, forms), scene, roles[0], facts[0].value, roles[1])
    return [fact.sentence for fact in facts], statement


PAIR_KINDS: dict[str, Callable] = {
    "ingrediente": _about_ingredient,
    "cantidad": _about_amount,
    "corte": _about_cut,
    "tiempo": _about_time,
    "orden": _about_order,
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
            steps = [fact.sentence for fact in _in_order(random, cuts, times)]
            return _located(asked, _text(scene.title, lines + steps), kind)
    raise AssertionError("las escenas no se acaban")


def _in_order(random: Random, cuts: list[Fact], times: list[Fact]) -> list[Fact]:
    """Corta antes de cocer."""
    return [*cuts, *_shuffled(random, times)]


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
    for row in recipes._lines(_tasks.CLASSES):
        words, groups, confusing = row.split("|")
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
    rows = [row for row in recipes._lines(_tasks.AMBIGUOUS) if (row[0] == "*") == held_out]
    edible = [i for i in recipes.ingredients().values() if i.group in _tasks.EDIBLE.split()]
    noun = _pick(random, recipes.quantities(_pick(random, edible))).noun
    return realise(_template(_pick(random, rows).removeprefix("* ")), {"x": noun}).words


def _running(random: Random, held_out: bool) -> Tokens:
    """Da una oración del corpus cuyos sustantivos tocan a este lado."""
    while True:
        sentences = [s for s in recipes._recipe(random).tags if _is_apart(s) == held_out]
        if sentences:
            return _pick(random, sentences)


def _is_apart(sentence: Tokens) -> bool:
    """Dice si se aparta esa combinación de sustantivos: una de cada ``HELD_OUT_NOUNS``."""
    nouns = " ".join(sorted({word.lower() for word, tag in sentence if tag == "NOUN"}))
    # `hash` cambia de una ejecución a otra; `crc32`, no.
    return bool(nouns) and zlib.crc32(nouns.encode()) % HELD_OUT_NOUNS == 0
