"""Las opiniones largas: sin fugas entre entrenamiento y evaluación, y sin palabras delatoras."""

import re
from collections import Counter, defaultdict
from random import Random

import pytest

from course_lib.data import opinions, recipes
from course_lib.data.opinions import generate_opinions, iter_opinions


@pytest.fixture(scope="module")
def seen():
    return generate_opinions(12_000, seed=3)


@pytest.fixture(scope="module")
def held_out():
    return generate_opinions(4000, seed=3, held_out=True)


def words(text):
    return re.findall(r"\w+|[^\w\s]", text.lower())


def test_it_is_deterministic(seen):
    assert generate_opinions(50, seed=3) == seen[:50]
    assert generate_opinions(50, seed=4) != seen[:50]
    assert generate_opinions(0) == []


def test_only_the_stable_random_stream_is_used():
    class OnlyRandom(Random):
        def getrandbits(self, *_):
            raise AssertionError("solo random() es igual en toda versión de Python")

        choice = shuffle = randrange = sample = choices = getrandbits

    assert next(opinions._opinions_of(OnlyRandom(5), False)) == next(iter_opinions(5))


@pytest.mark.parametrize("bad", [-1, 2.0, "3", None, True])
def test_bad_counts_and_seeds_are_refused_in_spanish(bad):
    with pytest.raises(ValueError, match="count un entero mayor o igual que 0 y llegó"):
        generate_opinions(bad)
    with pytest.raises(ValueError, match="seed un entero mayor o igual que 0 y llegó"):
        iter_opinions(bad)


# --------------------------------------------------------------------------- armazones


def test_there_are_many_frames_and_a_third_is_held_out():
    frames = opinions.frames()
    held = [frame for frame in frames if opinions.is_held_out(frame)]
    assert len(frames) > 1000
    assert len({frame.name for frame in frames}) == len(frames)
    assert 0.25 < len(held) / len(frames) < 0.45


def test_the_held_out_table_names_links_positions_and_forms_that_exist():
    placed = {(frame.link, *position) for frame in opinions.frames() for position in frame.forms}
    assert opinions.held_out_positions() <= placed


def test_every_held_out_opinion_puts_a_form_where_training_never_does(seen, held_out):
    def positions(opinion):
        link, *slots = opinion.template[:-1].split()
        return {(link, slot) for slot in slots}

    trained = set().union(*map(positions, seen))
    assert all(positions(opinion) - trained for opinion in held_out)


def test_every_link_and_every_form_is_trained(seen, held_out):
    def parts(sample):
        return {part.rpartition("=")[2] for o in sample for part in o.template[:-1].split()}

    assert parts(held_out) <= parts(seen)
    assert parts(seen) == set(opinions.links()) | set(opinions.forms())


def test_no_text_and_no_verdict_is_in_both_parts(seen, held_out):
    assert not {o.text for o in seen} & {o.text for o in held_out}

    def bare(opinion):
        """El veredicto sin adjetivos: lo que distingue a un armazón de otro."""
        words = opinion.tags[opinion.verdict]
        return tuple("ADJ" if tag == "ADJ" else word.lower() for word, tag in words)

    assert not set(map(bare, seen)) & set(map(bare, held_out))


def test_every_word_of_a_held_out_opinion_is_trained(seen, held_out):
    trained = {word for opinion in seen for word in words(opinion.text)}
    unseen = Counter(w for opinion in held_out for w in words(opinion.text) if w not in trained)
    assert not unseen, unseen


# --------------------------------------------------------------------------- sentido


def test_sentiments_are_balanced_and_named_by_the_template(seen):
    share = Counter(opinion.sentiment for opinion in seen)["positiva"] / len(seen)
    assert 0.48 < share < 0.52
    for opinion in seen:
        assert opinion.template[-1] == {"positiva": "+", "negativa": "-"}[opinion.sentiment]


def test_no_adjective_tells_the_sentiment(seen):
    """Los adjetivos buenos salen casi tanto en las opiniones malas."""
    with_word = defaultdict(Counter)
    for opinion in seen:
        for word in {w for s in opinion.tags for w, tag in s if tag == "ADJ"}:
            with_word[word.lower()][opinion.sentiment] += 1
    for kind in (recipes.GOOD, recipes.BAD):
        for adjective, _ in recipes.adjectives(kind):
            count = with_word[adjective]
            assert 0.25 < count["positiva"] / count.total() < 0.75, (adjective, count)


@pytest.mark.parametrize(
    ("template", "text", "english"),
    [
        ("sola Y=nada+", r"no (quedó|resultó|estaba) nada (soso|horrible)\b", "not .* at all"),
        ("lejos Y=simple-", r"^Lejos de quedar \w+, ", "^Far from turning out "),
        ("aunque_final X=ni Y=tuvo+", r"^De \w+ no tuv\w+ nada, aunque no ", "although .* neither"),
        ("hermana X=dicho Y=menos-", r"^Según mi hermana, .*; según yo, .* todo menos", "anything"),
        ("sola Y=doble+", r" tan \w+ como ", "as .* as "),
        ("sola Y=sino-", r"^No .*, sino ", "not .*, but "),
    ],
)
def test_frames_read_as_written(template, text, english):
    random, name = Random(0), template[:-1]
    frame = next(frame for frame in opinions.frames() if frame.name == name)
    made = [opinions._opinion(random, frame) for _ in range(400)]
    plain = [o for o in made if len(o.tags) == 1 and o.template == template]
    assert all(re.search(english, o.text_en) for o in plain)
    assert any(re.search(text, o.text, re.IGNORECASE) for o in plain)


def test_a_flat_verdict_says_what_its_sentiment_says():
    tables = {"positiva": recipes.GOOD, "negativa": recipes.BAD}
    frame = next(frame for frame in opinions.frames() if frame.name == "pero X=simple Y=simple")
    random = Random(1)
    for opinion in (opinions._opinion(random, frame) for _ in range(200)):
        verdict = next(s for s in re.split(r"(?<=\.) ", opinion.text_en) if ", but " in s)
        said = {english for _, english in recipes.adjectives(tables[opinion.sentiment])}
        lost, won = verdict.split(", but ")
        assert set(words(won)) & said and not set(words(lost)) & said, opinion


# --------------------------------------------------------------------------- texto


def test_text_tags_and_translation_go_together(seen):
    translations = {}
    for opinion in seen:
        joined = [re.sub(r" ([.,;:])", r"\1", " ".join(w for w, _ in s)) for s in opinion.tags]
        assert " ".join(joined) == opinion.text
        assert translations.setdefault(opinion.text, opinion.text_en) == opinion.text_en
        for text in (opinion.text, opinion.text_en):
            assert not re.search(r"  |[{}_|/~+*]| [.,;:]|^\s|\s$|\b[XYZBCVPN]\d?\b|\bA\d", text), (
                text
            )
            assert all(s[0].isupper() for s in re.split(r"(?<=\.) ", text)), text
            assert text.endswith(".")
        assert not re.search(r"\b(de|a) el\b|\by (i|hi)", opinion.text)


def test_adjectives_of_one_opinion_are_not_repeated(seen):
    tables = [{a for a, _ in recipes.adjectives(t)} for t in (recipes.GOOD, recipes.BAD)]
    for opinion in seen[:3000]:
        said = Counter(w for s in opinion.tags for w, tag in s if tag == "ADJ")
        assert all(said[word] < 2 for word in set.union(*tables)), opinion.text
