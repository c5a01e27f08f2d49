"""Los cuentos: lo escrito se lee igual, lo mal escrito se dice, y cada respuesta se deduce otra vez."""  # noqa: E501

import doctest
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import stories
from course_lib.data.stories import (
    Question,
    StoryLine,
    generate_stories,
    questions,
    read_stories,
    task_path,
    write_stories,
)

FILE = (
    "1 Ana va al patio.\n"
    "2 ¿Dónde está Ana? \tpatio\t1\n"  # así están en bAbI: con un espacio detrás
    "3 Ana toma el ajo.\n"
    "4 ¿Qué lleva Ana?\tajo,sal\t3 1\n"
    "1 Luis va a la cocina.\n"
)
STORIES = [
    (
        StoryLine("Ana va al patio."),
        StoryLine("¿Dónde está Ana?", "patio", (1,)),
        StoryLine("Ana toma el ajo."),
        StoryLine("¿Qué lleva Ana?", "ajo,sal", (3, 1)),
    ),
    (StoryLine("Luis va a la cocina."),),
]


def file(tmp_path, text):
    path = tmp_path / "qa1_un-dato_train.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_examples_run():
    failed, tried = doctest.testmod(stories)
    assert tried > 10 and not failed


# --------------------------------------------------------------------------- leer


@pytest.mark.parametrize(
    "text", [FILE, FILE.removesuffix("\n"), FILE.replace("\n", "\r\n"), "\ufeff" + FILE]
)
def test_a_file_is_read_whole(tmp_path, text):
    assert read_stories(file(tmp_path, text)) == STORIES


def test_a_question_comes_with_what_was_told_before_it():
    assert questions(STORIES) == [
        Question(("Ana va al patio.",), "¿Dónde está Ana?", "patio", (0,)),
        Question(("Ana va al patio.", "Ana toma el ajo."), "¿Qué lleva Ana?", "ajo,sal", (1, 0)),
    ]


NUMBERING = "se esperaba «1 Oración.», si empieza un cuento, o «{} Oración.», si sigue"
COLUMNS = "se esperaba «pregunta, tabulador, respuesta, tabulador"


@pytest.mark.parametrize(
    ("text", "row", "expected"),
    [
        ("", 1, NUMBERING.format(1)),
        ("Ana va al patio.\n", 1, NUMBERING.format(1)),
        ("2 Ana va al patio.\n", 1, NUMBERING.format(1)),
        ("1 Ana va al patio.\n\n", 2, NUMBERING.format(2)),
        ("1 Ana va al patio.\n3 Ana toma el ajo.\n", 2, NUMBERING.format(2)),
        ("1 Ana va al patio.\n01 Ana toma el ajo.\n", 2, NUMBERING.format(2)),
        ("1 Ana va al patio.\n2\n", 2, NUMBERING.format(2)),
        ("1 Ana va.\n2 ¿Dónde?\tpatio\n", 2, COLUMNS),
        ("1 Ana va.\n2 ¿Dónde?\tpatio\t1\t1\n", 2, COLUMNS),
        ("1 Ana va.\n2 ¿Dónde?\tpatio\t\n", 2, COLUMNS),
        ("1 Ana va.\n2 ¿Dónde?\t\t1\n", 2, COLUMNS),
        ("1 Ana va.\n2 ¿Dónde?\tpatio\tuno\n", 2, COLUMNS),
        ("1 Ana va.\n2 ¿Dónde?\tpatio\t0\n", 2, COLUMNS),
        ("1 Ana va.\n2 ¿Dónde?\tpatio\t2\n", 2, COLUMNS),
        ("1 Ana va.\n2 ¿Dónde?\tpatio\t1\n3 ¿Y?\tpatio\t2\n", 3, COLUMNS),
        ("1 Ana va.\n1 Luis va.\n2 ¿Dónde?\tpatio\t3\n", 3, COLUMNS),
    ],
)
def test_a_bad_row_is_told_by_file_row_and_content(tmp_path, text, row, expected):
    path = file(tmp_path, text)
    with pytest.raises(ValueError) as error:
        read_stories(path)
    came = text.split("\n")[row - 1].partition("\t")[0].removeprefix("2 ").removeprefix("3 ")
    assert str(error.value).startswith(f"{path}, renglón {row}: {expected}")
    assert "y llegó «" in str(error.value) and came in str(error.value).split("y llegó «")[1]


def test_other_encodings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"se esperaba texto UTF-8 y el byte 16 no lo es"):
        read_stories(file(tmp_path, "1 Ana va al jardín.\n".encode("latin-1")))


def test_a_task_is_found_by_its_number(tmp_path):
    for name in ("qa1_single_train.txt", "qa1_single_test.txt", "qa11_coreference_train.txt"):
        (tmp_path / name).touch()
    assert task_path(tmp_path, 1).name == "qa1_single_train.txt"
    assert task_path(str(tmp_path), 1, "test").name == "qa1_single_test.txt"
    assert task_path(tmp_path, 11).name == "qa11_coreference_train.txt"
    with pytest.raises(
        ValueError, match=r"un archivo qa2_\*train\.txt y hay 0\. .*tasks_1-20_v1-2"
    ):
        task_path(tmp_path, 2)
    (tmp_path / "qa1_otra_train.txt").touch()
    with pytest.raises(ValueError, match="y hay 2"):
        task_path(tmp_path, 1)


# --------------------------------------------------------------------------- escribir

TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1)


@st.composite
def told(draw):
    """Cuentos con preguntas en medio, cada una con algunos de los renglones ya contados."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        story, facts = [], []
        for number in range(1, draw(st.integers(1, 6)) + 1):
            if facts and draw(st.booleans()):
                support = draw(st.lists(st.sampled_from(facts), min_size=1, unique=True))
                story.append(StoryLine(draw(TEXTS), draw(TEXTS), tuple(support)))
            else:
                story.append(StoryLine(draw(TEXTS)))
                facts.append(number)
        found.append(tuple(story))
    return found


@given(told())
def test_what_is_written_is_read_alike(tmp_path_factory, found):
    path = write_stories(tmp_path_factory.mktemp("cuentos") / "qa1_train.txt", found)
    assert read_stories(path) == found


@given(st.lists(st.lists(st.builds(StoryLine, st.text(), st.text())).map(tuple)))
def test_anything_is_written_to_be_read_alike_or_refused(tmp_path_factory, found):
    path = tmp_path_factory.mktemp("cuentos") / "qa1_train.txt"
    try:
        write_stories(path, found)
    except ValueError:
        assert not path.exists()
    else:
        assert read_stories(path) == found


def test_a_failure_leaves_the_file_as_it_was(tmp_path):
    path = write_stories(tmp_path / "qa1_train.txt", STORIES)
    before = path.read_bytes()
    assert before.decode() == FILE.replace("? \t", "?\t")
    with pytest.raises(ValueError, match="no se leerían igual"):
        write_stories(path, [*STORIES, (StoryLine("dos\n2 renglones"),)])
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


# --------------------------------------------------------------------------- hacer otros


def retold(facts):
    """Por dónde pasó cada quien y cada cosa, leyendo solo las oraciones."""
    seen, carries = defaultdict(list), defaultdict(set)
    for fact in facts:
        person, verb, *_, what = fact.rstrip(".").split()
        if verb in ("va", "llega", "entra"):
            for name in (person, *carries[person]):
                seen[name].append(what)
            continue
        if verb in ("toma", "recoge"):
            carries[person].add(what)
        else:
            carries[person].discard(what)
        if seen[person] and seen[what][-1:] != seen[person][-1:]:
            seen[what].append(seen[person][-1])
    return seen


def answer(question, facts):
    """Lo que se deduce de unas oraciones, o nada."""
    before, _, place = question.text.strip("¿?").partition(" antes de")
    passed = retold(facts)[before.split()[-1]]
    if place:
        at = [i for i, name in enumerate(passed) if name == place.split()[-1]]
        return passed[at[0] - 1] if len(at) == 1 and at[0] else None
    return passed[-1] if passed else None


def test_each_answer_follows_from_its_support_and_from_nothing_less():
    left = 0
    for question in questions(generate_stories(400, 1)):
        needed = [question.facts[i] for i in question.support]
        assert answer(question, question.facts) == question.answer
        assert answer(question, needed) == question.answer
        for i in range(len(needed)):
            assert answer(question, needed[:i] + needed[i + 1 :]) != question.answer
        left += len(needed) == 2 and any(word in needed[1] for word in ("deja", "suelta"))
    assert left > 50, "también se pregunta por lo que alguien dejó"


def test_nobody_does_what_cannot_be_done():
    for story in generate_stories(300, 2, length=14):
        places, holder = {}, {}
        for person, verb, *_, what in (line.text.rstrip(".").split() for line in story[:14]):
            if verb in ("va", "llega", "entra"):
                assert places.get(person) != what, "no se va adonde ya se está"
                places[person] = what
                places |= {thing: what for thing, by in holder.items() if by == person}
            elif verb in ("toma", "recoge"):
                assert what not in holder and places.get(what, places[person]) == places[person]
                holder[what], places[what] = person, places[person]
            else:
                assert holder.pop(what) == person


@pytest.mark.parametrize("length", [3, 7, 10])
def test_a_story_asks_for_one_two_and_three_facts(length):
    for story in generate_stories(100, length=length):
        assert not any(line.answer for line in story[:length])
        assert [len(set(line.support)) for line in story[length:]] == [1, 2, 3]


def test_every_place_is_answered_as_often():
    found = Counter((len(q.support), q.answer) for q in questions(generate_stories(3000, 3)))
    assert len(found) == 3 * len(stories.PLACES)
    assert max(found.values()) < 1.3 * min(found.values())


def test_the_same_seed_tells_the_same_stories():
    assert generate_stories(20, 5) == generate_stories(20, 5) == generate_stories(30, 5)[:20]
    assert not {*generate_stories(200, 5)} & {*generate_stories(200, 6)}


@pytest.mark.parametrize(("count", "length"), [(-1, 10), (1, 2)])
def test_sizes_that_make_no_sense_are_refused_in_spanish(count, length):
    with pytest.raises(ValueError, match=f"`length` ≥ 3 y llegaron {count} y {length}"):
        generate_stories(count, length=length)
