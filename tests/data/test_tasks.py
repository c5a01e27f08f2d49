"""Las cinco tareas: cada etiqueta se deduce otra vez del texto, y ningún control simple basta."""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from random import Random

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.data import recipes, tasks

MAKERS = {
    "sentence": tasks.sentence_examples,
    "pair": tasks.pair_examples,
    "choice": tasks.choice_examples,
    "question": tasks.question_examples,
    "tagged": tasks.tagged_examples,
}
TRAINED, HELD_OUT = 1000, 500


@pytest.fixture(scope="module")
def seen():
    return {name: make(TRAINED, 1) for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def held_out():
    return {name: make(HELD_OUT, 1, held_out=True) for name, make in MAKERS.items()}


def words(text):
    return re.findall(r"\w+", text.lower())


def texts(example):
    """Todo lo que se lee de un ejemplo."""
    fields = (getattr(example, name) for name in example.__slots__)
    for field in fields:
        if isinstance(field, str):
            yield field
        elif isinstance(field, tuple):
            yield from field


def context(example):
    """El texto que dice de qué receta se trata."""
    return getattr(example, "first", None) or example.context


# --------------------------------------------------------------------------- generación


def test_another_process_gives_the_same_examples():
    """El texto se reparte entre entrenamiento y evaluación sin `hash`, que cambia en cada uno."""
    code = "from course_lib.data import tasks; print(tasks.tagged_examples(40), end='')"
    for seed in ("1", "2"):
        found = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        assert found.stdout == str(tasks.tagged_examples(40))


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@settings(max_examples=8, deadline=None)
@given(count=st.integers(0, 12), seed=st.integers(0, 2**40), side=st.booleans())
def test_the_seed_decides_everything_and_more_examples_only_add(make, count, seed, side):
    made = make(count, seed, held_out=side)
    assert len(made) == count
    assert make(count + 3, seed, held_out=side)[:count] == made


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_seeds_and_sides_differ(make):
    assert make(30, 1) != make(30, 2)
    assert make(30, 1) != make(30, 1, held_out=True)


def any_pair(random, held_out):
    return tasks._pair(random, held_out, tuple(tasks.PAIR_KINDS))


@pytest.mark.parametrize("make", [any_pair, tasks._choice, tasks._question, tasks._tagged])
def test_only_the_stable_random_stream_is_used(make):
    class OnlyRandom(Random):
        def getrandbits(self, *_):
            raise AssertionError("solo random() es igual en toda versión de Python")

        choice = shuffle = randrange = sample = choices = getrandbits

    assert make(OnlyRandom(5), False) == make(Random(5), False)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("bad", [-1, 2.0, "3", None, True])
def test_bad_counts_and_seeds_are_refused_in_spanish(make, bad):
    with pytest.raises(ValueError, match="count un entero mayor o igual que 0 y llegó"):
        make(bad)
    with pytest.raises(ValueError, match="seed un entero mayor o igual que 0 y llegó"):
        make(1, bad)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("bad", [1, "no", None])
def test_a_side_that_is_not_a_flag_is_refused(make, bad):
    with pytest.raises(ValueError, match="held_out True, para evaluar, o False"):
        make(1, held_out=bad)


# --------------------------------------------------------------------------- sin fugas


@pytest.mark.parametrize("name", ["pair", "choice", "question"])
def test_no_dish_with_its_main_ingredient_is_in_both_parts(seen, held_out, name):
    def titles(examples):
        styles = "|".join(recipes.inflect(style, noun)
                          for style, _ in recipes.adjectives("style")
                          for noun in (dish.noun for dish in recipes.dishes()))  # fmt: skip
        return {re.sub(rf" ({styles})\b", "", context(e).split(". ")[0]) for e in examples}

    trained, tested = titles(seen[name]), titles(held_out[name])
    assert len(trained) > 150 and len(tested) > 30
    assert not trained & tested


@pytest.mark.parametrize("name", MAKERS)
def test_no_example_is_in_both_parts(seen, held_out, name):
    def read(examples):
        return {tuple(texts(example)) for example in examples}

    assert not read(seen[name]) & read(held_out[name])


def test_no_set_of_nouns_of_the_corpus_is_in_both_parts():
    def nouns(side):
        random = Random(0)
        made = [tasks._running(random, side) for _ in range(400)]
        return {frozenset(w.lower() for w, tag in words if tag == "NOUN") for words in made}

    trained, tested = nouns(False), nouns(True)
    assert min(len(trained), len(tested)) > 150
    assert not trained & tested


def test_every_marked_category_of_a_held_out_template_is_trained_in_another():
    rows = tasks._lines("ambiguous")
    held = [set(re.findall(r"\w+_[A-Z]+", row.lower().upper())) for row in rows if row[0] == "*"]
    kept = set().union(*(re.findall(r"\w+_[A-Z]+", r.upper()) for r in rows if r[0] != "*"))
    assert len(held) > 50
    for row in held:
        assert row and row <= kept, row - kept


@pytest.mark.parametrize("name", ["pair", "choice", "question"])
def test_almost_every_held_out_word_is_trained(seen, held_out, name):
    trained = {word for e in seen[name] for text in texts(e) for word in words(text)}
    tested = [word for e in held_out[name] for text in texts(e) for word in words(text)]
    unseen = Counter(word for word in tested if word not in trained)
    assert unseen.total() < 0.005 * len(tested), unseen


# --------------------------------------------------------------------------- etiquetas ciertas


def sentences(text):
    """Las oraciones tras el título, sin punto y en minúsculas."""
    return [s.lower().rstrip(".") for s in text.split(". ")[1:]]


def cuts(text):
    """«limpia el pollo y córtalo en tiras» → («el pollo», «tiras»), en orden."""
    pattern = r"(?:corta|limpia|lava) (.+?)(?: y córta\w+)? en (.+)"
    return [m.groups() for s in sentences(text) if (m := re.fullmatch(pattern, s))]


def times(text):
    """«asa el pollo durante 8 minutos» → («asa», «el pollo», «8»)."""
    found = (re.fullmatch(r"(\w+) (.+) durante (\d+) minutos", s) for s in sentences(text))
    return [m.groups() for m in found if m]


def follows(example):
    """Vuelve a decidir un par sin usar nada de quien lo generó."""
    said = example.second.lower().rstrip(".")
    if example.kind == "ingrediente":
        name = re.sub("^(la receta )?lleva |^esta receta se hace con ", "", said)
        lines = [s.removesuffix(" al gusto") for s in sentences(example.first)]
        return any(line == name or line.endswith(f" {name}") for line in lines)
    if example.kind == "cantidad":
        line = re.sub(r"^(la receta )?lleva |^esta receta se hace con ", "", said)
        return line in sentences(example.first)
    if example.kind == "corte":
        cut = re.fullmatch(r"(?:se corta\w* )?(.+?)(?: se corta\w*)? en (.+)", said).groups()
        return cut in cuts(example.first)
    if example.kind == "pasos":
        return not named(example.second) - named(example.first)
    thing, verb, minutes = re.fullmatch(r"(.+) se (\w+) durante (\d+) minutos", said).groups()
    return (verb.removesuffix("n"), thing, minutes) in times(example.first)


def test_every_pair_is_labelled_by_what_the_text_says(seen, held_out):
    for example in seen["pair"] + held_out["pair"]:
        assert follows(example) == example.label, example


def test_a_false_statement_says_something_that_the_text_does_not(seen):
    """Y lo dice de la misma manera que una cierta: es una afirmación cierta en otra receta."""
    frames = defaultdict(set)
    for example in (e for e in seen["pair"] if e.kind != "pasos"):
        unsaid = tasks._stems(example.second) - tasks._stems(example.first) - FRAME
        assert bool(unsaid) != bool(example.label), example
        frames[example.label].add((example.kind, words(example.second)[0]))
    common = {row.split()[0].lower() for row in tasks._lines("contains")}
    for kind in ("ingrediente", "cantidad"):
        for side in frames.values():
            assert {first for found, first in side if found == kind} == common


# Las palabras de las plantillas, que no dicen ningún dato.
FRAME = tasks._stems(
    " ".join(
        [
            *tasks._lines("contains"),
            *tasks._lines("cut_statements"),
            *tasks._lines("time_verbs"),
            "durante minutos",
        ]
    )
)


def test_pairs_of_some_kinds_only():
    assert {e.kind for e in tasks.pair_examples(40, 2, kinds=["pasos", "corte"])} == {
        "pasos",
        "corte",
    }
    for bad in ([], ["orden"]):
        with pytest.raises(ValueError, match="kinds: se esperaban clases de ingrediente"):
            tasks.pair_examples(1, kinds=bad)


def test_every_answer_is_where_it_says_and_is_the_only_one(seen, held_out):
    for example in seen["question"] + held_out["question"]:
        assert example.context[example.start : example.end] == example.answer
        assert example.answer == example.answer.strip(" .,") != ""
        assert answers(example) == {example.answer.lower()}, example


def answers(example):
    """Vuelve a responder con expresiones regulares; la clase, con el léxico."""
    asked, text = example.question.lower(), example.context
    if m := re.fullmatch(r"¿cuánt\w+ (.+) lleva\?", asked):
        found = (re.fullmatch(rf"(.+?)(?: de)? {m[1]}", s) for s in sentences(text))
        plain = {f[1] for f in found if f and not f[1].endswith((" de", " con"))}
        return plain | ({"al gusto"} if f"{m[1]} al gusto" in sentences(text) else set())
    if m := re.fullmatch(r"¿cuántos minutos se (\w+) (.+)\?", asked):
        return {n for verb, thing, n in times(text) if (verb, thing) == (m[1].rstrip("n"), m[2])}
    if m := re.fullmatch(r"¿cómo se corta\w* (.+)\?", asked):
        return {f"en {cut}" for thing, cut in cuts(text) if thing == m[1]}
    if m := re.fullmatch(r"¿qué se corta en (.+)\?", asked):
        return {thing for thing, cut in cuts(text) if cut.startswith(m[1])}
    if m := re.fullmatch(r"¿qué se (\w+) durante (\d+) minutos\?", asked):
        return {thing for verb, thing, n in times(text) if (verb, n) == m.groups()}
    if m := re.fullmatch(r"¿qué se corta (primero|al final)\?", asked):
        return {cuts(text)[0 if m[1] == "primero" else -1][0]}
    return of_class(re.fullmatch(r"¿qué (\w+) lleva\?", asked)[1], text)


def of_class(name, text):
    rows = (line.columns(3) for line in tasks._lines("classes"))
    groups = next(groups.split() for words, groups, _ in rows if words == f"Qué {name}")
    names = set()
    for item in recipes.ingredients().values():
        if item.group in groups:
            names |= {
                " ".join(w for w, _ in line.noun.spanish) for line in recipes.quantities(item)
            }
    units = {unit for one, many, *_ in recipes.measures().values() for unit in (one, many) if unit}
    amount = rf"(\d+|media|medio) (({'|'.join(sorted(units, reverse=True))}) )?"
    return {re.sub(amount, "", s) for s in sentences(text)} & names


def test_a_question_of_a_class_names_no_other_of_it_nor_a_doubtful_one(seen, held_out):
    """Ni la leche si se pregunta por la grasa: quien lee el texto no duda."""
    for example in seen["question"] + held_out["question"]:
        if example.kind == "clase":
            body = example.context.lower().partition(". ")[2]
            asked = example.question.removeprefix("¿").removesuffix(" lleva?")
            assert set(NAME.findall(body)) & near(asked) == {example.answer.lower()}, example


def near(asked):
    """Los nombres de esa clase y los de las que se podrían confundir con ella."""
    rows = (line.columns(3) for line in tasks._lines("classes"))
    groups = next(f"{same} {doubtful}".split() for name, same, doubtful in rows if name == asked)
    items = [item for item in recipes.ingredients().values() if item.group in groups]
    lines = (line for item in items for line in recipes.quantities(item))
    return {" ".join(word for word, _ in line.noun.spanish) for line in lines}


def test_a_question_has_rivals_in_the_text(seen):
    """Siempre hay en el texto otra respuesta de la misma clase."""
    for example in seen["question"]:
        if example.kind in {"corte", "qué se corta", "orden"}:
            assert len(cuts(example.context)) > 1
        if example.kind in {"minutos", "qué se cuece"}:
            assert len({n for *_, n in times(example.context)}) > 2
        if example.kind in {"cantidad", "clase"}:
            assert len(sentences(example.context)) - len(cuts(example.context)) > 4


def test_exactly_two_choices_use_only_listed_ingredients(seen, held_out):
    for example in seen["choice"] + held_out["choice"]:
        listed = named(example.context)
        alien = [i for i, choice in enumerate(example.choices) if named(choice) - listed]
        assert len(alien) == 2 and example.label not in alien, example


FORMS = {word for item in recipes.ingredients().values() for word in item.forms}
NAMES = {
    " ".join(word for word, _ in line.noun.spanish)
    for item in recipes.ingredients().values()
    for line in recipes.quantities(item)
}
NAME = re.compile(rf"\b({'|'.join(sorted(NAMES, key=len, reverse=True))})\b")
# Los pasos usan estos nombres también para lo que se va haciendo.
PLAIN = {"agua", "salsa", "masa", "crema", "pasta", "láminas"}


def named(step):
    return set(NAME.findall(step.lower())) - PLAIN


def test_the_right_step_is_never_one_already_shown(seen, held_out):
    repeated = 0
    for example in seen["choice"] + held_out["choice"]:
        shown = example.context.split(". ")
        assert example.choices[example.label].rstrip(".") not in shown
        assert len(set(example.choices)) == 4
        repeated += any(choice.rstrip(".") in shown for choice in example.choices)
    assert repeated > 50, "alguna opción debe repetir un paso ya dado"
    share = repeated / len(seen["choice"] + held_out["choice"])
    assert share < 0.4, "un paso ya dado se repite con otras palabras si las hay"


def test_the_order_of_steps_is_learnable_from_the_corpus(seen):
    """El paso que sigue viene en el corpus tras el último que se muestra; el otro, casi nunca."""
    articles = {"el", "la", "los", "las", "durante", "minutos"}

    def frame(step):
        kept = [w for w in words(step) if w not in FORMS | articles and not w.isdigit()]
        return " ".join(re.sub("(l?[oa]s?|é|én)$", "", w) for w in kept)

    follows = Counter()
    for recipe in recipes.generate_recipes(1000, 5):
        follows.update((frame(a), frame(b)) for a, b in pairwise(recipe.steps))
    hits = total = 0
    for example in seen["choice"]:
        last = frame(example.context.split(". ")[-1])
        counts = [follows[last, frame(choice)] for choice in example.choices]
        hits += counts[example.label] == max(counts) > 0
        total += 1
    assert hits / total > 0.62, hits / total


# --------------------------------------------------------------------------- reparto


@pytest.mark.parametrize("name", ["sentence", "pair"])
def test_labels_are_balanced(seen, held_out, name):
    for examples in (seen[name], held_out[name]):
        assert 0.44 < sum(e.label for e in examples) / len(examples) < 0.56


@pytest.mark.parametrize(
    ("name", "kinds"), [("pair", tasks.PAIR_KINDS), ("question", tasks.QUESTION_KINDS)]
)
def test_every_kind_comes_out_alike(seen, held_out, name, kinds):
    for examples in (seen[name], held_out[name]):
        count = Counter(e.kind for e in examples)
        assert set(count) == set(kinds)
        assert min(count.values()) > 0.65 * len(examples) / len(kinds)


def test_each_kind_of_pair_is_balanced(seen):
    for kind in tasks.PAIR_KINDS:
        labels = [e.label for e in seen["pair"] if e.kind == kind]
        assert 0.4 < sum(labels) / len(labels) < 0.6, kind


def test_the_right_choice_is_in_every_position_alike(seen, held_out):
    for examples in (seen["choice"], held_out["choice"]):
        count = Counter(e.label for e in examples)
        assert all(0.19 < count[i] / len(examples) < 0.31 for i in range(4)), count


# --------------------------------------------------------------------------- controles simples


def bag_of_words(train, test, steps=60):
    """Aciertos de una regresión logística sobre bolsas de palabras: `(textos, clases)` de cada."""
    index = {w: i for i, w in enumerate(sorted({w for bag, _ in train for w in bag}))}

    def matrix(rows):
        X = torch.zeros(len(rows), len(index))
        for row, (bag, _) in enumerate(rows):
            for word in bag:
                if word in index:
                    X[row, index[word]] = 1
        return X

    X, y = matrix(train), torch.tensor([float(label) for _, label in train])
    weight, bias = torch.zeros(len(index), requires_grad=True), torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=steps)

    def loss():
        optimizer.zero_grad()
        value = F.binary_cross_entropy_with_logits(X @ weight + bias, y)
        value = value + 1e-3 * weight.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return (matrix(test) @ weight + bias).detach()


@pytest.mark.parametrize(
    ("bag", "limit"),
    [
        # Una frase de otra receta trae palabras nuevas: contarlas dice algo, y no todo.
        (lambda e: set(words(e.first + " " + e.second)), 0.75),
        (lambda e: set(words(e.second)), 0.6),
        (lambda e: set(words(e.first)) | {f"²{word}" for word in words(e.second)}, 0.6),
    ],
    ids=["all", "statement", "marked"],
)
def test_words_do_not_decide_a_pair_without_comparing(seen, held_out, bag, limit):
    train, test = ([(bag(e), e.label) for e in part["pair"]] for part in (seen, held_out))
    guess = bag_of_words(train, test) > 0
    hits = sum(bool(g) == bool(label) for g, (_, label) in zip(guess, test, strict=True))
    assert 0.4 < hits / len(test) < limit, hits / len(test)


def test_no_frame_meets_the_same_adjectives_in_both_parts():
    """El marco se reconoce en el texto por lo que queda sin los adjetivos ni el plato."""
    adjectives = [
        word for side in (recipes.GOOD, recipes.BAD) for word, _ in recipes.adjectives(side)
    ]
    quality = re.compile(rf"\b({'|'.join(re.sub('[oe]?$', '', word) for word in adjectives)})\w*")
    cooked = {word for dish in recipes.dishes() for word, _ in name_of(dish.noun)}

    def combinations(side):
        found = set()
        for example in tasks.sentence_examples(3000, 3, held_out=side):
            for said in example.text.lower().split(". "):
                if qualities := quality.findall(said):
                    rest = [tasks._stem(w) for w in words(quality.sub("", said)) if w not in cooked]
                    found.add((*rest, *sorted(qualities)))
        return found

    trained, tested = combinations(False), combinations(True)
    assert min(len(trained), len(tested)) > 300
    assert not trained & tested


def name_of(noun):
    return [(word.lower(), tag) for word, tag in noun.spanish]


def test_held_out_frames_and_adjectives_are_all_trained_apart(seen, held_out):
    trained = {word for e in seen["sentence"] for word in words(e.text)}
    tested = [word for e in held_out["sentence"] for word in words(e.text)]
    unseen = [word for word in tested if word not in trained]
    assert len(unseen) < 0.005 * len(tested), unseen


def test_a_recipe_and_the_examples_agree_on_what_is_held_out():
    made = recipes.generate_recipes(600, 8)
    kept = {recipe.opinion for recipe in made if tasks.has_held_out_opinion(recipe)}
    assert 0.08 < len(kept) / len(made) < 0.25
    assert not kept & {e.text for e in tasks.sentence_examples(3000, 9)}


def test_words_do_not_decide_a_sentiment(seen, held_out):
    train, test = (
        [(set(words(e.text)), e.label) for e in part["sentence"]] for part in (seen, held_out)
    )
    guess = bag_of_words(train, test) > 0
    hits = sum(bool(g) == bool(label) for g, (_, label) in zip(guess, test, strict=True))
    assert hits / len(test) < 0.75, hits / len(test)


def test_the_words_of_a_step_do_not_say_that_it_is_next(seen, held_out):
    def rows(examples):
        return [(set(words(c)), i == e.label) for e in examples for i, c in enumerate(e.choices)]

    scores = bag_of_words(rows(seen["choice"]), rows(held_out["choice"])).view(-1, 4)
    hits = (scores.argmax(1) == torch.tensor([e.label for e in held_out["choice"]])).float().mean()
    assert 0.18 < hits < 0.36, hits


@pytest.mark.parametrize(
    ("score", "limit"),
    [
        (lambda e, c: len(c), 0.36),
        (lambda e, c: -len(c), 0.36),
        (lambda e, c: len(set(words(c)) & set(words(e.context))), 0.5),
        (lambda e, c: -len(set(words(c)) & set(words(e.context))), 0.3),
        (lambda e, c: sum(w in words(e.context) for w in words(c)) / len(words(c)), 0.5),
    ],
    ids=["longest", "shortest", "overlap", "least-overlap", "share"],
)
def test_length_and_overlap_do_not_decide_a_choice(held_out, score, limit):
    hits = 0.0
    for example in held_out["choice"]:
        scores = [score(example, choice) for choice in example.choices]
        best = max(scores)
        hits += (scores[example.label] == best) / scores.count(best)
    assert hits / len(held_out["choice"]) < limit


def test_the_most_similar_sentence_does_not_decide_a_question(held_out):
    """Buscar la oración con más palabras de la pregunta no siempre da con la de la respuesta."""
    hits = 0.0
    for example in held_out["question"]:
        asked, place, best = set(words(example.question)), 0, []
        for sentence in example.context.split(". "):
            common = len(asked & set(words(sentence)))
            inside = place <= example.start < place + len(sentence)
            best.append((common, inside))
            place += len(sentence) + 2
        top = [inside for common, inside in best if common == max(best)[0]]
        hits += sum(top) / len(top)
    assert hits / len(held_out["question"]) < 0.75


# --------------------------------------------------------------------------- categorías


def test_words_and_tags_go_together(seen, held_out):
    for example in seen["tagged"] + held_out["tagged"]:
        assert len(example.words) == len(example.tags) > 0
        assert set(example.tags) <= set(tasks.TAGS)
    # «María», del baño, es el único nombre propio.
    assert set(tasks.TAGS) - {tag for e in seen["tagged"] for tag in e.tags} <= {"PROPN"}
    assert list(tasks.TAGS) == sorted(set(tasks.TAGS))


def test_many_words_have_two_categories(seen):
    tags = tags_of(seen["tagged"])
    double = {word for word, count in tags.items() if len(count) > 1}
    assert {"cocina", "corta", "sal", "vino", "picada", "prueba", "sobre", "la"} <= double
    assert len(double) >= 30


def tags_of(examples):
    tags = defaultdict(Counter)
    for example in examples:
        for word, tag in zip(example.words, example.tags, strict=True):
            tags[word.lower()][tag] += 1
    return tags


def test_the_most_common_category_of_each_word_is_not_enough(seen, held_out):
    usual = {word: count.most_common(1)[0][0] for word, count in tags_of(seen["tagged"]).items()}
    hits = Counter()
    for example in held_out["tagged"]:
        for word, tag in zip(example.words, example.tags, strict=True):
            hits[usual.get(word.lower(), "NOUN") == tag] += 1
    assert 0.8 < hits[True] / hits.total() < 0.93, hits


def test_marked_words_have_the_category_that_their_template_says():
    tagged = map(tasks._ambiguous_template, tasks._lines("ambiguous"))
    pairs = Counter(
        (word.lower(), tag)
        for template in tagged
        for role, content, _ in template.spanish
        if role is None
        for word, tag in content
    )
    assert pairs["cocina", "NOUN"] > 4 < pairs["cocina", "VERB"]
    assert pairs["la", "PRON"] > 5 and pairs["bajo", "ADP"] == 3
    assert not [word for word, _ in pairs if "_" in word]


# --------------------------------------------------------------------------- texto


def test_texts_are_clean(seen, held_out):
    for name in ("sentence", "pair", "choice", "question"):
        for example in seen[name] + held_out[name]:
            for text in texts(example):
                assert not re.search(r"[{}_|/~+*]|  | [.,;:?]|\.\.|^\s|\s$", text), text
                assert not re.search(r"\b(de|a) el\b|\by h?i(?!e|é)", text), text
                assert text[0].isupper() or text[0] in "¿" or text in example_kinds(), text


def example_kinds():
    return {*tasks.PAIR_KINDS, *tasks.QUESTION_KINDS}
