"""Los textos ajenos: en una línea que se ve entera, y sin peligro en una página."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.grading.classroom.untrusted_text import (
    clean_name,
    decode_name,
    hint_html,
    message_html,
    sentence,
    slug,
    unbroken,
    visible,
)

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(names)
def test_a_slug_is_a_safe_file_name(text):
    assert re.fullmatch(r"([a-z0-9]+(-[a-z0-9]+)*)?", slug(text)) and len(slug(text)) <= 40


@given(names)
def test_a_clean_name_is_one_visible_line(text):
    shown = clean_name(text)
    assert len(shown) <= 120 and shown == shown.strip() and "  " not in shown
    bad = [c for c in shown if unicodedata.category(c)[0] in "CZ" and c != " "]
    assert not bad, bad
    assert clean_name(shown) == shown, "limpiar dos veces no cambia nada"


def test_a_name_of_sixty_thousand_accents_is_not_ordered_whole(monkeypatch):
    lengths, normalize = [], unicodedata.normalize

    def counted(form, text):
        lengths.append(len(text))
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", counted)
    text = "ñ" + "\u0301\u0323" * 30_000
    assert clean_name(text).endswith("…") and slug(text) == "n"
    assert max(lengths) < 1000


@given(st.binary(max_size=40))
def test_any_bytes_are_a_name(raw):
    assert isinstance(decode_name(raw), str)


# En una página


def test_visible_text_is_one_short_line_without_hidden_characters():
    assert visible("  a\n\tb\u2028c\u00a0d ") == "a b c d"
    assert visible("\u202eAna\u200f\u00ad\ufeff") == "Ana"
    assert visible("a\x00\x1b\ud800") == "a" + "\N{REPLACEMENT CHARACTER}" * 3
    assert visible("x" * 999, 10) == "xxxxxxxxx…"
    assert visible("Z" + "\u0301" * 500) == "Z" + "\u0301" * 4
    assert visible("می‌خواهم 👩‍💻 José") == "می‌خواهم 👩‍💻 José"


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("la forma es (3,)", "La forma es (3,)."),
        ("¿falta un return?", "¿falta un return?"),
        ("torch.stack crea un eje", "torch.stack crea un eje."),
        ("sin los pesos", "Sin los pesos."),
        ("reshape no intercambia ejes", "reshape no intercambia ejes."),
        ("β va dentro", "β va dentro."),
        ("a la máscara le sobra", "A la máscara le sobra."),
        ("a / b * c, c no está", "a / b * c, c no está."),
        ("", ""),
    ],
)
def test_a_message_becomes_a_sentence(message, written):
    assert sentence(message) == written


def test_a_hint_has_code_and_emphasis_and_nothing_else():
    assert hint_html("usa `dim=-1`, la *media* y 10**(2i)/d <b>") == (
        "Usa <code>dim=-1</code>, la <em>media</em> y 10**(2i)/d &lt;b&gt;."
    )
    assert hint_html("`x < y` y x**-1/2 es (x**-1)/2") == (
        "<code>x &lt; y</code> y x**-1/2 es (x**-1)/2."
    )


def test_a_shape_stays_in_one_line():
    assert unbroken("de forma (2, 3), (5,) y (a, b)") == "de forma (2,\u00a03), (5,) y (a, b)"
    assert "(3,\u00a04)" in sentence("la forma es (3, 4)")


def test_a_failure_gives_its_line_as_code():
    assert message_html("tu código se detuvo con E: <m> (línea 3: f(`x`, *a))") == (
        "Tu código se detuvo con E: &lt;m&gt;. En la línea 3 de su celda: <code>f(`x`, *a)</code>"
    )
    assert message_html("faltan *cosas* `así`") == "Faltan *cosas* `así`."
