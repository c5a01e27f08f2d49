import itertools
import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.data.masking import (
    FOLLOWS,
    IGNORED,
    RANDOM,
    Masking,
    join_pair,
    next_sentence_pairs,
)
from course_lib.data.recipes import generate_recipes

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["sal", "ajo", "pan", "##es", "##ito", "vino", "##s", "miel"]
VOCABULARY = SPECIAL + WORDS
PAD, UNK, CLS, SEP, MASK = range(5)


def rng(seed=0):
    return torch.Generator().manual_seed(seed)


def likely(successes, trials, probability):
    """A menos de cinco desviaciones de una binomial: falla una de cada dos millones de veces."""
    deviation = math.sqrt(trials * probability * (1 - probability))
    return abs(successes - trials * probability) <= 5 * deviation


bodies = st.lists(
    st.lists(st.integers(UNK, len(VOCABULARY) - 1), min_size=0, max_size=30), min_size=1, max_size=4
)


def as_batch(bodies):
    rows = [[CLS, *body, SEP] for body in bodies]
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


# --------------------------------------------------------------------------- tokens ocultos


@settings(max_examples=60)
@given(
    bodies=bodies,
    share=st.floats(0.01, 0.99),
    most=st.none() | st.integers(1, 5),
    whole_words=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_what_holds_for_any_batch(bodies, share, most, whole_words, seed):
    ids = as_batch(bodies)
    masking = Masking(VOCABULARY, share=share, most=most, whole_words=whole_words)
    before = ids.clone()
    masked, labels = masking(ids, rng(seed))
    assert torch.equal(ids, before), "el lote de entrada no se toca"
    chosen = labels != IGNORED
    special = ids <= MASK
    assert not (chosen & special).any(), "nunca se elige un token especial"
    assert torch.equal(labels[chosen], ids[chosen]), "la etiqueta es el token que había"
    assert torch.equal(masked[~chosen], ids[~chosen]), "solo cambian los elegidos"
    put = masked[chosen]
    assert ((put == MASK) | (put > MASK)).all(), "al azar nunca se pone un token especial"
    for row in range(len(ids)):
        length, ordinary = int((ids[row] != PAD).sum()), int((~special[row]).sum())
        n = max(1, round(share * length))
        n = n if most is None else min(n, most)
        if not whole_words:
            assert chosen[row].sum() == min(n, ordinary)
        elif ordinary:
            longest = max(map(len, masking.words(ids)[row].values()))
            assert 1 <= chosen[row].sum() <= max(n, longest)
    again = masking(ids, rng(seed))
    assert all(map(torch.equal, again, (masked, labels))), "la misma semilla, lo mismo"


@pytest.mark.parametrize(
    ("length", "count"), [(1, 1), (4, 1), (9, 1), (11, 2), (20, 3), (23, 3), (24, 4), (128, 19)]
)
def test_the_count_is_the_papers(length, count):
    assert Masking(VOCABULARY).count(length) == count
    ids = torch.full((1, length), 7)
    assert (Masking(VOCABULARY)(ids, rng()).labels != IGNORED).sum() == count


def test_what_replaces_the_chosen_tokens():
    """80 % [MASK], 10 % al azar entre los corrientes, 10 % igual, en más de 30 000 elegidos."""
    ids = torch.full((400, 512), VOCABULARY.index("vino"))
    ids[:, 0], ids[:, -1] = CLS, SEP
    masked, labels = Masking(VOCABULARY)(ids, rng())
    put = masked[labels != IGNORED]
    total, ordinary = len(put), len(WORDS)
    assert total == 400 * 77
    assert likely((put == MASK).sum(), total, 0.8)
    counts = Counter(put.tolist())
    for token in range(MASK + 1, len(VOCABULARY)):
        kept = 0.1 if VOCABULARY[token] == "vino" else 0.0
        assert likely(counts[token], total, kept + 0.1 / ordinary), VOCABULARY[token]


def test_every_position_is_chosen_as_often_as_the_others():
    ids = torch.full((3000, 22), 7)
    ids[:, 0], ids[:, 10], ids[:, -1] = CLS, SEP, SEP
    labels = Masking(VOCABULARY)(ids, rng()).labels
    hits = (labels != IGNORED).sum(0)
    assert hits.sum() == 3000 * 3
    for position in set(range(22)) - {0, 10, 21}:
        assert likely(hits[position], 3000, 3 / 19), f"posición {position}"


def test_rows_and_calls_choose_differently():
    ids = torch.full((50, 100), 7)
    generator = rng()
    first, second = (Masking(VOCABULARY)(ids, generator).labels for _ in range(2))
    assert not torch.equal(first, second)
    assert len(set(map(tuple, (first != IGNORED).int().tolist()))) > 45


def test_a_word_is_hidden_whole():
    """Un trozo «##» va con el que empieza su palabra; los de cada palabra, todos o ninguno."""
    sal, es, ito, vino = map(VOCABULARY.index, ("sal", "##es", "##ito", "vino"))
    ids = torch.tensor([[CLS, sal, es, ito, vino, vino, es, SEP, es, vino, SEP]] * 2000)
    words = [[1, 2, 3], [4], [5, 6], [8], [9]]
    masking = Masking(VOCABULARY, share=0.3, whole_words=True)
    assert list(masking.words(ids[:1])[0].values()) == words
    chosen = masking(ids, rng()).labels != IGNORED
    assert masking.count(11) == 3
    for word in words:
        hidden = chosen[:, word]
        assert torch.equal(hidden.any(-1), hidden.all(-1)), f"la palabra {word} quedó a medias"
        assert hidden.any(), f"la palabra {word} nunca se elige"
    assert set(chosen.sum(-1).tolist()) <= {1, 2, 3}
    pieces = Masking(VOCABULARY, share=0.3)(ids, rng()).labels != IGNORED
    assert (pieces[:, 1] != pieces[:, 2]).any(), "sin whole_words, cada trozo va por su cuenta"


def test_a_word_longer_than_the_count_is_skipped_unless_it_is_alone():
    sal, es, vino = map(VOCABULARY.index, ("sal", "##es", "vino"))
    masking = Masking(VOCABULARY, whole_words=True)
    ids = torch.tensor([[CLS, sal, es, vino, SEP]] * 200)
    assert ((masking(ids, rng()).labels != IGNORED).nonzero()[:, 1] == 3).all()
    alone = torch.tensor([[CLS, sal, es, SEP]])
    assert (masking(alone, rng()).labels != IGNORED).tolist() == [[False, True, True, False]]


def test_each_piece_of_a_word_is_replaced_by_its_own_draw():
    sal, es = map(VOCABULARY.index, ("sal", "##es"))
    ids = torch.tensor([[CLS, sal, es, SEP]] * 500)
    masked, _ = Masking(VOCABULARY, whole_words=True)(ids, rng())
    is_mask = masked[:, 1:3] == MASK
    assert (is_mask[:, 0] != is_mask[:, 1]).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Masking(WORDS), r"falta el token especial «\[MASK\]»"),
        (lambda: Masking(["[MASK]", "sal"]), r"falta el token especial «\[PAD\]»"),
        (lambda: Masking(SPECIAL), "algún token que no fuera especial"),
        (lambda: Masking(VOCABULARY, share=15), "share: .*entre 0 y 1 y llegó 15"),
        (lambda: Masking(VOCABULARY, share=math.nan), "share: .*llegó nan"),
        (lambda: Masking(VOCABULARY, share="x"), "share: .*entre 0 y 1 y llegó 'x'"),
        (lambda: Masking(VOCABULARY, most=2.5), "most: .*positivo o None y llegó 2.5"),
        (lambda: Masking(VOCABULARY, most=0), "most: .*positivo o None y llegó 0"),
    ],
)
def test_bad_options_are_explained(as_user, make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (torch.tensor([[99]]), "entre 0 y 12 y llegaron entre 99 y 99"),
        (torch.tensor([7, 8]), r"\[batch, t\] y llegó la forma \(2,\)"),
        (torch.tensor([[7.0]]), "enteros .*torch.float32"),
    ],
)
def test_bad_batches_are_explained(as_user, ids, message):
    with pytest.raises(ValueError, match=message):
        Masking(VOCABULARY)(ids, rng())


# --------------------------------------------------------------------------- pares de frases


@pytest.fixture(scope="module")
def documents():
    return [recipe.steps for recipe in generate_recipes(800, seed=3)]


def test_half_of_the_pairs_follow_in_real_recipes(documents):
    pairs = list(next_sentence_pairs(documents, seed=1))
    consecutive = [pair for steps in documents for pair in itertools.pairwise(steps)]
    assert len(pairs) == len(consecutive) > 2000
    assert likely(sum(pair.label == FOLLOWS for pair in pairs), len(pairs), 0.5)
    for pair, (first, second) in zip(pairs, consecutive, strict=True):
        assert pair.first == first
        assert (pair.second == second) == (pair.label == FOLLOWS)


def test_the_random_sentence_is_of_another_document():
    """Con frases todas distintas se ve de dónde viene cada una."""
    documents = [[(i, j) for j in range(4)] for i in range(5)] + [[]]
    sources, positions = Counter(), Counter()
    for seed in range(60):
        for first, second, label in next_sentence_pairs(documents, seed):
            if label == FOLLOWS:
                assert second == (first[0], first[1] + 1)
            else:
                assert second[0] != first[0], "es del mismo texto"
                sources[(second[0] - first[0]) % 5] += 1
                positions[second[1]] += 1
    total = sum(sources.values())
    assert set(sources) == {1, 2, 3, 4}
    assert all(likely(count, total, 0.25) for count in (*sources.values(), *positions.values()))


def test_pairs_depend_on_the_seed_alone(documents):
    first, again, other = (list(next_sentence_pairs(documents[:50], seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_repeated_sentence_is_no_false_negative():
    """Si la frase al azar fuera igual a la que seguía, la etiqueta mentiría."""
    documents = [["a", "b"], ["b", "b", "c"]]
    for seed in range(30):
        for pair, true in zip(next_sentence_pairs(documents, seed), "bbc", strict=True):
            assert (pair.second == true) == (pair.label == FOLLOWS)


def test_documents_that_cannot_be_paired_are_explained():
    with pytest.raises(ValueError, match=r"al menos dos textos con oraciones.*llegaron 1"):
        next_sentence_pairs([["a", "b"], []])
    with pytest.raises(ValueError, match="oración distinta de 'a'"):
        list(next_sentence_pairs([["a"] * 20, ["a"] * 20]))


@settings(max_examples=100)
@given(first=st.integers(1, 12), second=st.none() | st.integers(1, 12), room=st.integers(0, 24))
def test_a_pair_never_passes_the_length(first, second, room):
    parts = [list(range(100, 100 + first))]
    parts += [] if second is None else [list(range(200, 200 + second))]
    max_length = 1 + 2 * len(parts) + room
    marks = {"class_id": CLS, "separator_id": SEP, "max_length": max_length}
    ids, segments = join_pair(parts[0], parts[1] if second else None, **marks)
    whole = sum(map(len, parts)) + 1 + len(parts)
    assert len(ids) == len(segments) == min(whole, max_length)
    kept, left = [], ids[1:]
    for part in parts:
        stop = left.index(SEP)
        assert left[:stop] == part[:stop], "se pierden tokens del final, no del principio"
        kept.append(stop)
        left = left[stop + 1 :]
    assert ids[0] == CLS and not left and min(kept) >= 1
    assert segments == sorted(segments) and segments.count(0) == kept[0] + 2
    if second and len(ids) < whole:
        shortened = [n < len(part) for n, part in zip(kept, parts, strict=True)]
        longest = max(kept)
        assert all(n >= longest - 1 for n, cut in zip(kept, shortened, strict=True) if cut)
    assert (parts[0][0], len(parts[0])) == (100, first), "las frases de entrada no cambian"


def test_a_length_without_room_is_explained():
    with pytest.raises(ValueError, match=r"al menos 5 tokens.*llegó 4"):
        join_pair([7], [8], class_id=CLS, separator_id=SEP, max_length=4)
    with pytest.raises(ValueError, match=r"al menos 3 tokens.*llegó 2"):
        join_pair([7], None, class_id=CLS, separator_id=SEP, max_length=2)


def test_one_sentence_is_one_segment():
    ids, segments = join_pair([7, 8], None, class_id=CLS, separator_id=SEP, max_length=9)
    assert_close(torch.tensor([ids, segments]), torch.tensor([[CLS, 7, 8, SEP], [0] * 4]))


def test_labels_are_those_of_the_published_models():
    assert (FOLLOWS, RANDOM, IGNORED) == (0, 1, -100)
