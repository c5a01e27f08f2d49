"""Pares para traducir y recetas apartadas: qué se ve en el entrenamiento y qué no."""

import hashlib
import re
from collections import Counter

import pytest

from course_lib.data import recipes
from course_lib.data.recipes import (
    LINE_KINDS,
    generate_recipes,
    held_out_combinations,
    split_recipes,
    translation_pairs,
)

# Las combinaciones apartadas, en orden: si cambian, las cifras publicadas ya no son las mismas.
PINNED = "46b29d2a232f4acfc693aec2ec67ce3a5a09c159998f5dfac81db632f0fe0161"


@pytest.fixture(scope="module")
def split():
    return split_recipes(generate_recipes(4000, seed=3))


def test_the_lines_of_a_recipe_are_all_of_them_in_order():
    for recipe in generate_recipes(50, seed=8):
        by_kind = {
            kind: [line for line in recipe.lines if line.kind == kind] for kind in LINE_KINDS
        }
        assert [line for lines in by_kind.values() for line in lines] == list(recipe.lines)
        title, ingredients, steps, opinion = (
            tuple(zip(*(line[:2] for line in lines), strict=True)) for lines in by_kind.values()
        )
        assert title == ((recipe.title,), (recipe.title_en,))
        assert ingredients == (recipe.ingredients, recipe.ingredients_en)
        assert steps == (recipe.steps, recipe.steps_en)
        assert tuple(map(" ".join, opinion)) == (recipe.opinion, recipe.opinion_en)
        assert all(len(re.findall(r"\.", sentence)) == 1 for side in opinion for sentence in side)


def test_pairs_are_every_distinct_line_once(split):
    train, _ = split
    pairs = translation_pairs(train)
    assert len({pair.source for pair in pairs}) == len(pairs)
    assert {pair.source for pair in pairs} == {line.source for r in train for line in r.lines}
    assert pairs[0] == train[0].lines[0]
    assert Counter(pair.kind for pair in pairs).keys() == set(LINE_KINDS)


def test_a_common_line_is_repeated_with_the_logarithm_of_its_count(split):
    train, _ = split
    counts = Counter(line for recipe in train for line in recipe.lines)
    assert {1, 3, 4, 15, 16} <= set(counts.values()) and max(counts.values()) > 256
    repeats = Counter(translation_pairs(train, repeated=True))
    for line, count in counts.items():
        assert 4 ** (repeats[line] - 1) <= count < 4 ** repeats[line]


def test_no_combination_is_on_both_sides(split):
    train, held_out = split
    assert len(train) + len(held_out) == 4000
    assert not {r.combination for r in train} & {r.combination for r in held_out}
    assert {r.combination for r in held_out} <= held_out_combinations()
    assert 0.08 < len(held_out) / 4000 < 0.12


def test_the_split_does_not_depend_on_the_sample(split):
    """Una receta cae del mismo lado esté con quien esté."""
    _, held_out = split
    alone = [split_recipes([recipe])[1] for recipe in held_out]
    assert alone == [[recipe] for recipe in held_out]


def test_a_held_out_title_is_never_a_training_line(split):
    train, held_out = split
    seen = {pair.source for pair in translation_pairs(train)}
    assert not seen & {recipe.title for recipe in held_out}


def test_each_dish_and_each_ingredient_keeps_other_combinations():
    held = held_out_combinations()
    everything = [(d.name, main.name) for d in recipes.dishes() for main in d.mains]
    assert held < set(everything)
    assert abs(len(held) - len(everything) / recipes.HELD_OUT_SHARE) <= 1
    left = Counter(part for pair in everything if pair not in held for part in enumerate(pair))
    for pair in held:
        assert min(left[part] for part in enumerate(pair)) >= 2, pair


def test_every_english_word_of_the_held_out_recipes_is_in_training(split):
    """Lo apartado es el encuentro, no las palabras: nadie puede traducir la que nunca vio."""
    train, held_out = split
    words = [
        set(re.findall(r"\w+", " ".join(pair.target for pair in translation_pairs(side)).lower()))
        for side in (train, held_out)
    ]
    assert words[1] <= words[0]


def test_the_held_out_combinations_never_change():
    listed = repr(sorted(held_out_combinations()))
    assert hashlib.sha256(listed.encode()).hexdigest() == PINNED
