"""Los diagramas de la tokenización dicen lo que hace la biblioteca."""

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from book._figures import tokenization as figures
from course_lib.tokenization import ByteBPE
from tests.book.conftest import laboratory_script

FIGURES = Path(figures.__file__).parent


def texts_of(name):
    texts = ET.parse(FIGURES / f"{name}.svg").iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in texts]


def test_the_merges_drawn_are_those_of_the_library():
    corpus = [word for word, times in figures.CORPUS.items() for _ in range(times)]
    learnt = ByteBPE.train(corpus, 256 + figures.STEPS, special_tokens=())
    names = [learnt.token_bytes(i).decode("latin-1") for i in range(learnt.vocab_size)]
    shown = texts_of("bpe_merges")
    for step, (left, right) in enumerate(learnt.merges, 1):
        title = f"fusión {step}: {names[left]} + {names[right]}, "
        assert any(text.startswith(title) for text in shown), title
    last = figures.history()[-1][1]
    assert last == [[names[i] for i in learnt.encode(word)] for word in figures.CORPUS]


def test_the_path_shows_every_byte_and_every_token():
    shown = texts_of("text_to_vectors")
    bpe = figures.tokenizer()
    numbers = [text for text in shown if text.isdigit()]
    ids = bpe.encode(figures.SENTENCE)
    assert numbers == [str(n) for n in [*figures.SENTENCE.encode(), *ids]]
    assert len(bpe.merges) == figures.NUM_MERGES


def test_the_table_gives_its_own_rows():
    numbers = [text.replace("−", "-") for text in texts_of("embedding_lookup")]
    rows = [f"{value:.1f}" for value in figures.TABLE[list(figures.CHOSEN)].flatten()]
    decimals = [text for text in numbers if "." in text and text.lstrip("-")[0].isdigit()]
    assert decimals[-len(rows) :] == rows
    assert np.linalg.norm(figures.TABLE[3]) == 1.5  # la longitud que cita el capítulo


@pytest.mark.browser
def test_the_laboratory_merges_what_the_library_does(chromium):
    script = laboratory_script("merges")
    drawing = (FIGURES / "merges.svg").read_text("utf-8")
    page = chromium.new_page()
    page.set_content(f'<div data-laboratory="merges">{drawing}</div><script>{script}</script>')
    box, slider = page.get_by_role("textbox"), page.get_by_role("slider")
    assert box.input_value() == figures.LABORATORY
    texts = (
        "aaaaaa aaa baa",
        "¡piña, piña! 🥕🥕 人参人参",
        "I don't,  you don't.\n\n¿Tú? 12 12",
        "a",
    )
    for text in (figures.LABORATORY, *texts):
        box.fill(text)
        whole = ByteBPE.train([text], 5000, special_tokens=(), min_frequency=2)
        count = len(whole.merges)
        assert int(slider.get_attribute("max")) == count
        for steps in {0, count // 2, count}:
            slider.fill(str(steps))
            ids = page.locator("[data-id]").evaluate_all("all => all.map(e => +e.dataset.id)")
            assert ids == ByteBPE(whole.merges[:steps], special_tokens=()).encode(text), text
    slider.focus()
    page.keyboard.press("Home")
    assert page.get_by_role("status").inner_text().startswith("Sin fusiones, un token por byte: 1.")
    page.close()


def test_the_sentence_drawn_is_split_by_the_library():
    shown = texts_of("merges")
    for count in figures.SHOWN_STEPS:
        bpe = ByteBPE.train([figures.LABORATORY], 256 + count, special_tokens=())
        ids = bpe.encode(figures.SHOWN)
        title = shown.index(f"con {count} fusiones: {len(ids)} tokens")
        drawn = [bpe.token_bytes(i).decode().replace(" ", "␣") for i in ids]
        assert shown[title + 1 : title + 1 + len(ids)] == drawn
