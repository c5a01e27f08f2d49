"""Gramática del corpus de recetas: flexión, contracciones, plantillas bilingües y etiquetas.

Una plantilla es una oración en español y su traducción, con huecos entre llaves:

==================== =====================================================================
hueco                qué pone (``x`` es un papel: ``main``, ``garnish``, ``dish``…)
==================== =====================================================================
``{x}``              artículo y sustantivo: «la cebolla»; «de {x}» y «a {x}» se contraen
``{-x}``             el sustantivo solo: «cebolla»
``{un x}``, ``{a x}`` con artículo indefinido
``{corta+x}``        imperativo o infinitivo con pronombre: «córtala»
``{picado~x}``       adjetivo, participio o pronombre concordado: «picadas»
``{es/son~x}``       una forma para el singular y otra para el plural; sin ``~x``, la del plato
``{10|15|20}``       alternativas: la plantilla se multiplica; la k-ésima traduce a la k-ésima
==================== =====================================================================

Las etiquetas son las categorías universales (UPOS) de las palabras tal como se ven: «del» y «al»
son ``ADP``, y un verbo con pronombre («córtala») es ``VERB``.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

Token = tuple[str, str]
Tokens = tuple[Token, ...]

VOWELS = "aeiouáéíóú"
ACCENTED = str.maketrans("aeiou", "áéíóú")
PLAIN = str.maketrans("áéíóú", "aeiou")
COMPLEMENT = {"de", "en", "para", "sin", "con"}
# Femeninos que empiezan por a tónica: en singular llevan «el» y «un».
TONIC_A = {"agua", "haba", "alga"}


# --------------------------------------------------------------------------- sustantivos


@dataclass(frozen=True, eq=False)
class Noun:
    """Un sustantivo, con su complemento si lo tiene, en las dos lenguas y con número ya elegido.

    Argumentos:
        spanish: palabras con su etiqueta.
        gender: ``"m"`` o ``"f"``.
        plural: número en español.
        english: la traducción, en el número que le toca.
        english_plural: número en inglés, que puede ser otro («las espinacas», «the spinach»).
        english_mass: no admite «a/an» («some rice»).
    """

    spanish: Tokens
    gender: str
    plural: bool
    english: str
    english_plural: bool
    english_mass: bool = False

    @property
    def head(self) -> str:
        """Devuelve la palabra principal, tal como se escribe."""
        return self.spanish[0][0]


def article(noun: Noun, definite: bool = True) -> str:
    """Devuelve el artículo que concuerda, con «el agua» y «un agua» incluidos."""
    if noun.plural:
        stem = "l" if definite else "un"
        return stem + ("os" if noun.gender == "m" else "as")
    masculine = noun.gender == "m" or noun.head.lower() in TONIC_A
    if definite:
        return "el" if masculine else "la"
    return "un" if masculine else "una"


def plural(word: str) -> str:
    """Devuelve el plural de una palabra española."""
    if word[-1] in "aeiouáéó":
        return word + "s"
    if word[-1] == "z":
        return word[:-1] + "ces"
    if len(word) > 2 and word[-1] in "ns" and word[-2] in "áéíóú":
        return word[:-2] + word[-2].translate(PLAIN) + word[-1] + "es"
    return word + "es"


def plural_phrase(phrase: str) -> str:
    """Pone en plural el núcleo y sus adjetivos, no el complemento: «ramas de apio»."""
    words = phrase.split()
    end = next((i for i, word in enumerate(words) if word in COMPLEMENT), len(words))
    return " ".join([*map(plural, words[:end]), *words[end:]])


def english_plural(phrase: str) -> str:
    """Devuelve el plural inglés de la última palabra."""
    if phrase in {"shrimp", "squid"}:
        return phrase
    if re.search("(potato|tomato|mango|s|x|ch|sh)$", phrase):
        return phrase + "es"
    if re.search("[^aeiou]y$", phrase):
        return phrase[:-1] + "ies"
    return phrase + "s"


def with_indefinite(phrase: str) -> str:
    """Antepone «a» o «an» según el sonido con que empieza la palabra inglesa."""
    return ("an " if phrase[0] in "aeiou" else "a ") + phrase


def inflect(word: str, noun: Noun) -> str:
    """Concuerda un adjetivo, un participio o el pronombre «lo» con el sustantivo."""
    if word[-1] == "o" and noun.gender == "f":
        word = word[:-1] + "a"
    return plural(word) if noun.plural else word


def conjunction(following: str) -> str:
    """Devuelve «y», o «e» ante el sonido i («e higos», pero «y hielo»)."""
    return "e" if re.match("h?[ií](?![eéaáoóuú])", following.lower()) else "y"


# --------------------------------------------------------------------------- verbos


def with_clitic(verb: str, noun: Noun) -> str:
    """Une el pronombre de objeto al verbo y pone la tilde que haga falta: corta → córtalas."""
    pronoun = inflect("lo", noun)
    if verb[-1] not in VOWELS or re.search("[áéíóú]", verb):
        return verb + pronoun
    return _stress_penultimate(verb) + pronoun


def _stress_penultimate(verb: str) -> str:
    """Acentúa la penúltima vocal fuerte; con diptongo, la segunda de sus vocales (cuécelo)."""
    silent = re.sub("([gq])u(?=[ei])", r"\1_", verb)
    nuclei = [match.span() for match in re.finditer("[iu]?[aeo][iu]?|[iu]+", silent)]
    if len(nuclei) < 2:
        return verb
    start, end = nuclei[-2]
    strong = [i for i in range(start, end) if verb[i] in "aeo"] or [end - 1]
    at = strong[-1]
    return verb[:at] + verb[at].translate(ACCENTED) + verb[at + 1 :]


# --------------------------------------------------------------------------- formas


@cache
def spanish_form(noun: Noun, form: str, tag: str) -> Tokens:
    """Devuelve las palabras de un hueco español (la tabla de la cabecera de este módulo)."""
    if form in {"the", "de", "a"}:
        determiner = article(noun)
        if form == "the":
            return ((determiner, "DET"), *noun.spanish)
        if determiner == "el":
            return (("del" if form == "de" else "al", "ADP"), *noun.spanish)
        return ((form, "ADP"), (determiner, "DET"), *noun.spanish)
    if form == "bare":
        return noun.spanish
    if form == "un":
        return ((article(noun, definite=False), "DET"), *noun.spanish)
    if "/" in form:
        return ((form.split("/")[noun.plural], tag),)
    if form.endswith("+"):
        return ((with_clitic(form[:-1], noun), tag),)
    return ((inflect(form, noun), tag),)


@cache
def english_form(noun: Noun, form: str) -> str:
    """Devuelve el texto de un hueco inglés."""
    if "/" in form:
        return form.split("/")[noun.english_plural]
    if form == "the":
        return "the " + noun.english
    if form == "un":
        some = noun.english_plural or noun.english_mass
        return "some " + noun.english if some else with_indefinite(noun.english)
    return noun.english


# --------------------------------------------------------------------------- plantillas

CONTRACTED = r"\b(?:[Dd]e|a) \{\w+\}"
PIECE = re.compile(CONTRACTED + r"|\{[^}]*\}|\w+|[^\w\s]")


@dataclass(frozen=True, eq=False)
class Template:
    """Una oración bilingüe ya analizada.

    Cada trozo es ``(papel, forma, etiqueta)`` o, si es literal, ``(None, contenido, "")``.
    """

    source: str
    spanish: tuple
    english: tuple
    roles: tuple[str, ...]


def parse(source: str, tags: dict[str, str]) -> tuple[Template, ...]:
    """Analiza «español => inglés» y devuelve una plantilla por cada alternativa.

    Errores:
        ValueError: si falta la traducción o una palabra no tiene etiqueta.
    """
    if source.count(" => ") != 1:
        raise ValueError(
            f"Se esperaba «español => inglés» y llegó «{source}»; traduce la plantilla."
        )
    return tuple(_parse_plain(option, tags) for option in expand(source))


def expand(source: str) -> list[str]:
    """Multiplica la plantilla: la k-ésima alternativa española con la k-ésima inglesa."""
    spanish, english = source.split(" => ")
    pattern = re.compile(r"\{([^{}]*\|[^{}]*)\}")
    left, right = pattern.search(spanish), pattern.search(english)
    if left is None and right is None:
        return [source]
    if left is None or right is None:
        raise ValueError(
            f"«{source}» tiene alternativas en una sola lengua; escríbelas en las dos."
        )
    pairs = list(itertools.zip_longest(left[1].split("|"), right[1].split("|")))
    if any(None in pair for pair in pairs):
        raise ValueError(
            f"«{source}» no tiene tantas alternativas en una lengua como en la otra: «{left[0]}» y "
            f"«{right[0]}»."
        )
    options = (_put(left, a) + " => " + _put(right, b) for a, b in pairs)
    return [plain for option in options for plain in expand(option)]


def _put(match: re.Match, text: str) -> str:
    return match.string[: match.start()] + text + match.string[match.end() :]


def _parse_plain(source: str, tags: dict[str, str]) -> Template:
    spanish, english = source.split(" => ")
    pieces = tuple(_spanish_piece(piece, tags) for piece in PIECE.findall(spanish))
    parts = tuple(_english_piece(part) for part in re.split(r"(\{[^}]*\})", english) if part)
    roles = dict.fromkeys(role for role, *_ in (*pieces, *parts) if role)
    return Template(source, pieces, parts, tuple(roles))


def _spanish_piece(piece: str, tags: dict[str, str]) -> tuple:
    if "{" not in piece:
        return (None, ((piece.rpartition("_")[0] or piece, tag_of(piece, tags)),), "")
    before, _, slot = piece.rstrip("}").partition("{")
    role, form = _slot(slot)
    if before:
        return (role, before.strip().lower(), "")
    word = form.split("/")[0].removesuffix("+")
    return (role, form, "" if form in {"the", "bare", "un"} else tag_of(word, tags))


def _english_piece(part: str) -> tuple:
    return (None, part) if "{" not in part else _slot(part.strip("{}"))


def _slot(slot: str) -> tuple[str, str]:
    """Separa un hueco en papel y forma."""
    if "+" in slot:
        verb, role = slot.split("+")
        return role, verb + "+"
    if "~" in slot or "/" in slot:
        form, _, role = slot.partition("~")
        return role or "dish", form
    if slot.startswith("-"):
        return slot[1:], "bare"
    if slot.startswith(("un ", "a ")):
        return slot.split()[1], "un"
    return slot, "the"


def tag_of(word: str, tags: dict[str, str]) -> str:
    """Devuelve la etiqueta de una palabra: la escrita tras «_» o la del léxico."""
    plain, _, written = word.rpartition("_")
    if plain:
        return written
    if word.isdigit():
        return "NUM"
    if not word[0].isalnum():
        return "PUNCT"
    if word.lower() not in tags:
        raise ValueError(f"«{word}» no tiene etiqueta; añádela a la tabla del léxico.")
    return tags[word.lower()]


# --------------------------------------------------------------------------- realización


class Sentence(NamedTuple):
    """Una oración hecha: palabras etiquetadas, texto español y texto inglés."""

    words: Tokens
    spanish: str
    english: str


def realise(template: Template, nouns: dict[str, Noun]) -> Sentence:
    """Llena los huecos de la plantilla con los sustantivos de cada papel."""
    return _realise(template, tuple([nouns[role] for role in template.roles]))


# Quince de cada dieciséis oraciones ya se han hecho antes: guardarlas ahorra tiempo y memoria.
@lru_cache(maxsize=2**17)
def _realise(template: Template, fillers: tuple[Noun, ...]) -> Sentence:
    nouns = dict(zip(template.roles, fillers, strict=True))
    words: list[Token] = []
    for role, form, tag in template.spanish:
        words += form if role is None else spanish_form(nouns[role], form, tag)
    tagged = capitalised(words)
    english = "".join(
        form if role is None else english_form(nouns[role], form) for role, form in template.english
    )
    return Sentence(tagged, join(tagged), english[0].upper() + english[1:])


def capitalised(words: list[Token] | Tokens) -> Tokens:
    """Pone mayúscula a la primera palabra."""
    (first, tag), *rest = words
    return ((first[0].upper() + first[1:], tag), *rest)


def join(words: Tokens) -> str:
    """Une las palabras en texto: la puntuación va pegada a la palabra anterior."""
    text = " ".join([word for word, _ in words])
    for mark in ".,;:":
        text = text.replace(" " + mark, mark)
    return text
