"""El corpus de recetas: determinista, concordado, traducido sin ambigüedad y con memoria larga."""

import hashlib
import itertools
import re
from collections import Counter, defaultdict
from itertools import chain
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import _grammar, _tables, recipes
from course_lib.data.recipes import generate_recipes, iter_recipes

# Texto, traducción y etiquetas de las primeras 500 recetas de la semilla 0.
PINNED = "fd07c112877479e9c296342240c786083f23153549e398af82f65d1f82b35846"

UPOS = {"NOUN", "PROPN", "VERB", "AUX", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM"} | {
    "CCONJ",
    "SCONJ",
    "PUNCT",
}


@pytest.fixture(scope="module")
def corpus():
    return generate_recipes(3000, seed=2)


def lines(recipe):
    """Pares (español, inglés) de una receta; la opinión, entera y oración por oración."""
    return [*(pair[:2] for pair in recipe.lines), (recipe.opinion, recipe.opinion_en)]


def sentences(corpus):
    """Oraciones etiquetadas distintas."""
    return {sentence for recipe in corpus for sentence in recipe.tags}


# --------------------------------------------------------------------------- determinismo


def test_the_first_recipes_never_change():
    digest = hashlib.sha256()
    for recipe in generate_recipes(500, seed=0):
        digest.update(repr((recipe.text, recipe.text_en, recipe.tags, recipe)).encode())
    assert digest.hexdigest() == PINNED


@given(st.integers(0, 2**70), st.integers(0, 4), st.integers(0, 4))
def test_a_recipe_depends_on_seed_and_position_only(seed, count, extra):
    shorter, longer = generate_recipes(count, seed), generate_recipes(count + extra, seed)
    assert shorter == longer[:count] == list(itertools.islice(iter_recipes(seed), count))


def test_two_iterators_do_not_disturb_each_other():
    first, second = iter_recipes(5), iter_recipes(5)
    assert [next(first) for _ in range(3)] == [next(second) for _ in range(3)]


def test_seeds_differ():
    assert len({generate_recipes(1, seed)[0].text for seed in range(200)}) == 200


def test_only_the_stable_random_stream_is_used():
    class OnlyRandom(Random):
        def getrandbits(self, *_):
            raise AssertionError("solo random() es igual en toda versión de Python")

        choice = shuffle = randrange = sample = choices = getrandbits

    assert [recipes._recipe(OnlyRandom(3)) for _ in range(1)] == generate_recipes(1, seed=3)


@pytest.mark.parametrize("bad", [-1, 2.0, "3", None, True])
def test_bad_counts_and_seeds_are_refused_in_spanish(bad):
    with pytest.raises(ValueError, match="count un entero mayor o igual que 0 y llegó"):
        generate_recipes(bad)
    with pytest.raises(ValueError, match="seed un entero mayor o igual que 0 y llegó"):
        iter_recipes(bad)


def test_zero_recipes():
    assert generate_recipes(0) == []


# --------------------------------------------------------------------------- tamaño y reparto


def test_the_grammar_is_as_wide_as_promised(corpus):
    dishes = {recipe.dish for recipe in corpus}
    ingredients = {noun for r in corpus for noun in (r.main_ingredient,)}
    openers = {r.tags[i][0] for r in corpus for i in steps_range(r)}
    verbs = {word.lower() for word, tag in openers if tag == "VERB"}
    assert len(dishes) >= 90
    assert len(ingredients) >= 120
    assert len(verbs) >= 60
    assert len(recipes.ingredients()) >= 240
    assert len({(r.dish, r.main_ingredient) for r in corpus}) > 1000


def steps_range(recipe):
    first = 1 + len(recipe.ingredients)
    return range(first, first + len(recipe.steps))


def test_every_ingredient_and_group_of_the_lexicon_can_be_used():
    reachable = set()
    for dish in recipes.dishes():
        reachable |= set(dish.mains)
        if any(not options for _, options in dish.method.roles.values()):
            reachable.add(recipes.ingredients()[dish.name])
        for _, options in dish.method.roles.values():
            reachable |= set(options)
    assert {item.name for item in recipes.ingredients().values() if item not in reachable} == set()
    groups = _tables.words("groups")
    used = [*_tables.parts("methods"), *chain(*_tables.parts("dishes").values())]
    names = set(re.split(r"[\s|=,]+", " ".join([*chain(*groups.values()), *used])))
    assert set(groups) - names == set()
    assert {dish.method.name for dish in recipes.dishes()} == set(recipes.methods())


def test_sentiments_are_balanced_and_templates_many(corpus):
    share = Counter(recipe.sentiment for recipe in corpus)[recipes.POSITIVE] / len(corpus)
    assert 0.46 < share < 0.54
    assert len({recipe.opinion_template for recipe in corpus}) > 150
    for recipe in corpus:
        assert recipe.opinion_template[-1] == {"positiva": "+", "negativa": "-"}[recipe.sentiment]


def test_category_follows_from_the_dish(corpus):
    categories = defaultdict(set)
    for recipe in corpus:
        categories[recipe.dish].add(recipe.category)
    assert all(len(found) == 1 for found in categories.values())
    assert len(set.union(*categories.values())) >= 10


# --------------------------------------------------------------------------- opiniones


def test_template_names_are_unique():
    names = [name for side in recipes.opinion_frames().values() for name, _ in side]
    assert len(names) == len(set(names))


def test_mirrored_opinions_share_their_words():
    positive, negative = (dict(recipes.opinion_frames()[s]) for s in ("positiva", "negativa"))
    mirrored = [line.named()[0] for line in _tables.part("opinions", "mirrored")]
    assert len(mirrored) > 50
    for name in mirrored:
        sources = [
            [t.source for t in side] for side in (positive[f"{name}+"], negative[f"{name}-"])
        ]
        assert sources[0] == sources[1]


def test_no_single_word_tells_the_sentiment_of_a_mirrored_opinion(corpus):
    mirrored = {line.named()[0] for line in _tables.part("opinions", "mirrored")}
    seen = defaultdict(Counter)
    for recipe in corpus:
        if recipe.opinion_template[:-1] in mirrored:
            for word in set(re.findall(r"\w+", recipe.opinion.lower())):
                seen[word][recipe.sentiment] += 1
    good = {adjective for adjective, _ in recipes.adjectives(recipes.GOOD)}
    for word in good & seen.keys():
        share = seen[word]["positiva"] / seen[word].total()
        assert 0.1 < share < 0.9, (word, seen[word])


def test_a_plain_opinion_says_what_its_sentiment_says(corpus):
    tables = {"positiva": recipes.GOOD, "negativa": recipes.BAD}
    plain = [r for r in corpus if r.opinion_template[:-1] in {"verdad", "resultado", "esta_vez"}]
    assert {recipe.sentiment for recipe in plain} == set(tables)
    for recipe in plain:
        said = {english for _, english in recipes.adjectives(tables[recipe.sentiment])}
        assert said & set(re.findall(r"\w+", recipe.opinion_en)), recipe.opinion_en


def test_held_out_templates_use_words_seen_in_the_others():
    words = defaultdict(set)
    for side in recipes.opinion_frames().values():
        for name, alternatives in side:
            for template in alternatives:
                for role, content, _ in template.spanish:
                    held = name in recipes.HELD_OUT_TEMPLATES
                    words[held] |= {w.lower() for w, _ in content} if role is None else {content}
    names = {name for side in recipes.opinion_frames().values() for name, _ in side}
    assert names >= recipes.HELD_OUT_TEMPLATES
    assert words[True] - words[False] == set()


# --------------------------------------------------------------------------- texto y etiquetas


def test_tags_join_back_into_the_text(corpus):
    for recipe in corpus[:1000]:
        joined = [re.sub(r" ([.,;:])", r"\1", " ".join(w for w, _ in s)) for s in recipe.tags]
        body = 1 + len(recipe.ingredients) + len(recipe.steps)
        assert joined[:body] == [recipe.title, *recipe.ingredients, *recipe.steps]
        assert " ".join(joined[body:]) == recipe.opinion
        assert len(joined) - body in {1, 2, 3}
        for line in (*joined, *recipe.steps_en, recipe.opinion_en):
            assert line in recipe.text or line in recipe.text_en or line in recipe.opinion


def test_tags_are_universal_and_each_token_is_one_word_or_mark(corpus):
    for sentence in sentences(corpus):
        for word, tag in sentence:
            assert tag in UPOS
            assert re.fullmatch(r"\w+|[.,;:]", word)
            assert (tag == "PUNCT") == (not word[0].isalnum())
            assert (tag == "NUM") >= word.isdigit()


def test_lines_are_clean(corpus):
    for line in {line for recipe in corpus for pair in lines(recipe) for line in pair}:
        assert not re.search(r"  |[{}_|/~+]| [.,;:]|^\s|\s$", line), line
        for sentence in re.split(r"(?<=\.) ", line):
            assert sentence[0].isdigit() or sentence[0].isupper(), line
    for recipe in corpus:
        ends = [*recipe.steps, *recipe.steps_en, recipe.opinion, recipe.opinion_en]
        assert all(sentence.endswith(".") for sentence in ends)
        for line in (recipe.title, *recipe.ingredients):
            assert not line.endswith(".")


def test_one_sentence_has_one_translation(corpus):
    translations = {}
    for recipe in corpus:
        for spanish, english in lines(recipe):
            assert translations.setdefault(spanish, english) == english
    assert len(translations) > 10_000


def test_the_numbers_of_a_line_are_the_numbers_of_its_translation(corpus):
    for recipe in corpus:
        for spanish, english in lines(recipe):
            assert re.findall(r"\d+", spanish) == re.findall(r"\d+", english)


@pytest.mark.parametrize(
    ("spanish", "english"),
    [
        (r"pequeñ[oa]s", r"small"),
        (r"medianos", r"medium (pieces|cubes)"),
        (r"fuego (bajo|lento)", r"low heat|[Ss]immer"),
        (r"fuego medio", r"medium heat"),
        (r"fuego alto", r"high heat"),
        (r"horas?\b", r"hours?\b"),
        (r"minutos?\b", r"minutes?\b"),
        (r"por la mitad", r"in half"),
        (r"vasos altos", r"tall glasses"),
    ],
)
def test_alternatives_are_paired_with_their_own_translation(corpus, spanish, english):
    pairs = {
        (a, b) for recipe in corpus for a, b in zip(recipe.steps, recipe.steps_en, strict=True)
    }
    found = [pair for pair in pairs if re.search(spanish, pair[0])]
    assert found
    for pair in pairs:
        assert bool(re.search(spanish, pair[0])) == bool(re.search(english, pair[1])), pair


# --------------------------------------------------------------------------- concordancia

FEMININE_O = {"mano", "manos", "foto"}
MASCULINE_A = {"problema", "microondas"}
SINGULAR_S = {"anís", "hummus", "cuscús", "microondas"}


def test_articles_agree_with_their_noun(corpus):
    """Regla aparte del léxico: el final del sustantivo delata género y número."""
    checked = 0
    for sentence in sentences(corpus):
        for (word, tag), (noun, kind) in itertools.pairwise(sentence):
            article = word.lower()
            if (
                tag != "DET"
                or kind != "NOUN"
                or not re.fullmatch("el|la|los|las|unas?|unos", article)
            ):
                continue
            checked += 1
            plural = noun.endswith("s") and noun not in SINGULAR_S
            assert article.endswith("s") == plural, (word, noun)
            if re.search("as?$", noun) and noun not in MASCULINE_A:
                expected = {"el", "un"} if noun == "agua" else {"la", "las", "una", "unas"}
                assert article in expected, (word, noun)
            if re.search("os?$", noun):
                assert (article in {"la", "las", "una"}) == (noun in FEMININE_O), (word, noun)
    assert checked > 5000


def test_adjectives_agree_with_the_article_before_their_noun(corpus):
    endings = {"el": "o", "un": "o", "la": "a", "una": "a", "los": "os", "las": "as", "unas": "as"}
    checked = 0
    for sentence in sentences(corpus):
        for (word, tag), (noun, _), (adjective, kind) in zip(
            sentence, sentence[1:], sentence[2:], strict=False
        ):
            article = word.lower()
            if (tag, kind) != ("DET", "ADJ") or article not in endings or noun == "agua":
                continue
            if re.search("[oa]s?$", adjective):
                checked += 1
                assert adjective.endswith(endings[article]), (word, noun, adjective)
            else:
                assert adjective.endswith("s") == article.endswith("s"), (word, noun, adjective)
    assert checked > 300


def test_attached_pronouns_agree_with_something_said_before(corpus):
    before = {"lo": {"el", "al", "del"}, "la": {"la", "el"}, "los": {"los"}, "las": {"las"}}
    checked = 0
    for recipe in corpus:
        for step in (recipe.tags[i] for i in steps_range(recipe)):
            for i, (word, tag) in enumerate(step):
                match = re.fullmatch(r"\w*[áéíóú]\w*(lo|la|los|las)", word)
                if tag == "VERB" and match:
                    checked += 1
                    said = {w.lower() for w, _ in step[:i]}
                    assert said & before[match[1]], " ".join(w for w, _ in step)
                    # Esdrújula: tras la tilde quedan dos sílabas.
                    after = re.split("[áéíóú]", word)[1]
                    assert len(re.findall("[aeo]|[iu](?![aeo])", after)) == 2, word
    assert checked > 5000


def test_contractions_and_euphony(corpus):
    text = "\n".join(sorted({line for recipe in corpus for line, _ in lines(recipe)}))
    assert not re.search(r"\b(de|a) el\b", text)
    assert not re.search(r"\by (i|í|hi(?![eé]))", text)
    assert not re.search(r"\be (?!h?[ií])", text)
    assert not re.search(r"\b(la|una) agua\b", text)
    assert re.search(r" e h?i", text) and re.search(r"\bdel\b", text)


def test_english_articles_and_plurals(corpus):
    text = "\n".join(sorted({line for recipe in corpus for _, line in lines(recipe)}))
    assert not re.search(r"\ba [aeiou]", text)
    assert not re.search(r"\ban [^aeiouh]", text)
    units = "cup|tablespoon|teaspoon|liter|bunch|clove|stalk|pinch"
    assert not re.search(rf"^1 ({units})e?s of", text, re.M)
    assert not re.search(rf"^([2-9]|\d\d+) ({units}) of", text, re.M)
    assert not re.search(r"(?<!potat)(?<!tomat)(?<!mang)(?<!\bd)oes\b", text)


def test_english_pronouns_follow_the_english_number(corpus):
    """«Las espinacas» son plural en español y «the spinach», singular en inglés."""
    steps = {(a, b) for r in corpus for a, b in zip(r.steps, r.steps_en, strict=True)}
    spinach = [b for a, b in steps if re.fullmatch(r"(Lava|Enjuaga) las espinacas .*las .*", a)]
    chives = [b for a, b in steps if re.match(r"Pica el cebollín y espolvoréalo", a)]
    assert spinach and all(re.search(r"\bit\b", step) for step in spinach)
    assert chives and all(re.search(r"\bthem\b", step) for step in chives)


# --------------------------------------------------------------------------- coherencia


def test_every_listed_ingredient_is_used_and_none_is_listed_twice(corpus):
    for recipe in corpus:
        heads = [ingredient_head(recipe, i) for i in range(len(recipe.ingredients))]
        used = {word.lower() for i in steps_range(recipe) for word, _ in recipe.tags[i]}
        assert all(head in used for head in heads), (recipe.title, heads)
        assert len(set(recipe.ingredients)) == len(recipe.ingredients)


def ingredient_head(recipe, index):
    """La palabra principal: tras «de» si hay medida, o la primera que no es número."""
    words = recipe.ingredients[index].lower().split()
    units = "gramos tazas? cucharadas? cucharaditas? litros? dientes? ramas? rebanadas manojo pizca"
    if re.fullmatch(units.replace(" ", "|"), words[1]):
        return words[3]
    return words[0] if words[-1] == "gusto" else words[1]


def test_late_mentions_point_where_they_say_and_only_the_list_predicts_them(corpus):
    followers = defaultdict(set)
    for recipe in corpus:
        assert len(recipe.late_mentions) == 2
        for step, ingredient, word in recipe.late_mentions:
            assert step >= len(recipe.steps) // 2
            assert ingredient_head(recipe, ingredient) == word
            words = [[w.lower() for w, _ in recipe.tags[i]] for i in steps_range(recipe)]
            assert words[step].count(word) == 1
            assert all(word not in earlier for earlier in words[:step])
            assert word not in recipe.title.lower().split()
            followers[recipe.dish].add(word)
    assert min(len(words) for words in followers.values()) >= 5


def test_late_ingredients_come_from_wide_groups():
    for dish in recipes.dishes():
        for role in recipes.LATE_ROLES:
            _, options = dish.method.roles[role]
            for main in dish.mains:
                taken = dish.method.fixed_forms | main.forms | {dish.noun.head}
                heads = {item.head for item in options if not item.forms & taken}
                assert len(heads) >= 3, (dish.name, main.name, role)


def test_every_variant_of_a_step_names_the_same_ingredients():
    optional_dish = {"dish"}
    for method in recipes.methods().values():
        for stage in method.stages:
            if not isinstance(stage, str):
                named = {frozenset(t.roles) - optional_dish for variant in stage for t in variant}
                assert len(named) == 1, (method.name, [t[0].source for t in stage])


def test_drinks_are_not_fried_and_soups_are_not_baked(corpus):
    forbidden = {"bebida": "Fríe|Hornea|Sofríe|Dora", "ensalada": "Hornea|Fríe", "sopa": "Hornea"}
    for recipe in corpus:
        if recipe.category in forbidden:
            assert not re.search(forbidden[recipe.category], " ".join(recipe.steps))


# --------------------------------------------------------------------------- la gramática


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("nuez", "nueces"),
        ("calabacín", "calabacines"),
        ("ají", "ajíes"),
        ("pan", "panes"),
        ("puré", "purés"),
        ("cebolla", "cebollas"),
    ],
)
def test_spanish_plurals(word, expected):
    assert _grammar.plural(word) == expected


@pytest.mark.parametrize(
    ("verb", "gender", "many", "expected"),
    [
        ("corta", "f", True, "córtalas"),
        ("pica", "m", False, "pícalo"),
        ("cuece", "m", True, "cuécelos"),
        ("limpia", "f", False, "límpiala"),
        ("espolvorea", "m", False, "espolvoréalo"),
        ("enjuaga", "m", True, "enjuágalos"),
        ("sirve", "f", False, "sírvela"),
        ("enfría", "f", True, "enfríalas"),
        ("preparar", "f", False, "prepararla"),
        ("pon", "m", False, "ponlo"),
    ],
)
def test_imperatives_with_pronoun(verb, gender, many, expected):
    noun = _grammar.Noun((("x", "NOUN"),), gender, many, "x", many)
    assert _grammar.with_clitic(verb, noun) == expected


@pytest.mark.parametrize(
    ("following", "expected"),
    [("higos", "e"), ("hinojo", "e"), ("hielo", "y"), ("yogur", "y"), ("Isla", "e"), ("uva", "y")],
)
def test_y_becomes_e(following, expected):
    assert _grammar.conjunction(following) == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("Corta {main}.", "traduc"),
        ("Zarandea {main}. => Shake {main}.", "«Zarandea» no tiene etiqueta"),
        ("Corta {dos|tres}. => Cut two.", "alternativas en una sola lengua"),
        ("Corta {dos|tres}. => Cut {two|three|four}.", "tantas alternativas"),
    ],
)
def test_faulty_templates_are_refused(source, message):
    with pytest.raises(ValueError, match=message):
        _grammar.parse(source, recipes.word_tags())


def test_an_unknown_group_is_refused():
    with pytest.raises(ValueError, match="El léxico no tiene «piedras»"):
        recipes.group("piedras")
