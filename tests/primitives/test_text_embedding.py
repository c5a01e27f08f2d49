import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.primitives.text_embedding import embed_text

TITLES = ["lasaña de verduras", "tacos al pastor", "sopa de tortilla", "flan casero", "arroz negro"]


def cosine(a, b, d_k=512):
    A, B = embed_text([a, b], d_k)
    return (A @ B / d_k).item()


def test_length_is_that_of_the_vector_of_ones():
    for d_k in (8, 100, 512):
        assert_close(embed_text(TITLES, d_k).norm(dim=-1), torch.full((5,), d_k**0.5))


def test_text_without_letters_is_the_zero_vector():
    assert embed_text(["", " ¡…! "]).count_nonzero() == 0


@pytest.mark.parametrize(
    "same", ["LASAÑA DE VERDURAS", "lasana  de verduras", "¿Lasaña de verduras?"]
)
def test_case_accents_and_punctuation_do_not_count(same):
    assert cosine("lasaña de verduras", same) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("query", "best"),
    [("lasaña", 0), ("taco", 1), ("sopas", 2), ("tortillas", 2), ("flanes", 3), ("arroces", 4)],
)
def test_shared_words_and_pieces_of_words_come_first(query, best):
    assert int((embed_text(TITLES) @ embed_text([query])[0]).argmax()) == best


def test_unrelated_texts_are_nearly_orthogonal():
    far = [abs(cosine(a, b)) for i, a in enumerate(TITLES) for b in TITLES[:i] if "de" not in a]
    assert max(far) < 0.25


@settings(max_examples=30)
@given(st.lists(st.text(max_size=20), max_size=5))
def test_each_text_is_embedded_alone(texts):
    together = embed_text(texts)
    assert together.isfinite().all()
    for row, text in zip(together, texts, strict=True):
        assert_close(row, embed_text([text])[0], rtol=0, atol=0)


def test_same_vector_in_another_process_with_another_hash_seed():
    code = (
        "from course_lib.primitives.text_embedding import embed_text as e;"
        "print(e(['lasaña de verduras'], 32).tolist())"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1] == f"{embed_text(['lasaña de verduras'], 32).tolist()}\n"


def test_a_lone_text_is_an_error_and_not_a_list_of_letters():
    with pytest.raises(ValueError, match=r"embed_text\(\[texto\]\)"):
        embed_text("lasaña")


def test_collisions_cancel_out_on_average():
    words = ["".join(chr(97 + (7 * i + 11 * j * j) % 26) for j in range(12)) for i in range(26)]
    E = embed_text(words, 32)
    cosines = (E @ E.T / 32)[torch.ones(26, 26).tril(-1).bool()]
    assert abs(cosines.mean()) < 0.1, "sin signo, los choques suman siempre a favor"
