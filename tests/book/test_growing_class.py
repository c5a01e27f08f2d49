"""La clase que crece en `book/self_attention.md`: cada diferencia lleva de un paso al otro."""

import difflib
import re

import pytest

from tests.book.prose import ROOT

TEXT = (ROOT / "book" / "self_attention.md").read_text("utf-8")
CLASS = re.compile(r"^class SelfAttention\(.*?(?=^```|^\S)", re.M | re.S)
STEPS = [found.strip().splitlines() for found in CLASS.findall(TEXT)]
DIFFERENCES = re.findall(r"^```diff\n(.*?)^```", TEXT, re.M | re.S)


def test_there_are_four_steps():
    assert len(STEPS) == 4 and len(DIFFERENCES) == 3


@pytest.mark.parametrize("i", range(3))
def test_a_difference_leads_from_a_step_to_the_next(i):
    lines = DIFFERENCES[i].splitlines()
    before = [line[1:] for line in lines if not line.startswith("+")]
    after = [line[1:] for line in lines if not line.startswith("-")]
    assert (before, after) == (STEPS[i], STEPS[i + 1])


@pytest.mark.parametrize("i", range(3))
def test_a_difference_marks_only_what_changes(i):
    marked = sum(line.startswith(("+", "-")) for line in DIFFERENCES[i].splitlines())
    opcodes = difflib.SequenceMatcher(None, STEPS[i], STEPS[i + 1]).get_opcodes()
    changed = [b - a + d - c for tag, a, b, c, d in opcodes if tag != "equal"]
    assert marked == sum(changed)
