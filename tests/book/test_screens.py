"""Las capturas de la guía: las que se muestran están, en los dos temas, y pesan poco."""

import re

import pytest
from PIL import Image

from tests.book.prose import ROOT, book_files
from tests.grading.sandbox.hostile.cases import CASES
from tests.grading.sandbox.hostile.more_cases import MORE_CASES

STATIC = ROOT / "book" / "_static"
FOLDER = STATIC / "instructor_guide"
PAGES = {path.stem: path.read_text("utf-8") for path in book_files()}
SCREENS = sorted(re.findall(r"(?m)^```\{screen\} (\S+)$", "\n".join(PAGES.values())))


def test_no_screen_is_missing_or_left_over():
    shown = {f"{name}-{theme}.webp" for name in SCREENS for theme in ("light", "dark")}
    stored = {str(path.relative_to(STATIC)) for path in FOLDER.glob("*.webp")}
    assert shown == stored, "python -m book._screens los rehace; lo que sobra se borra"


@pytest.mark.parametrize("name", SCREENS)
def test_both_themes_are_alike_and_light(name):
    sizes = set()
    for theme in ("light", "dark"):
        path = STATIC / f"{name}-{theme}.webp"
        assert path.stat().st_size < 200_000, f"{path.name} pesa demasiado para una página"
        with Image.open(path) as image:
            sizes.add(image.size)
            middle = image.convert("L").resize((1, 1)).getpixel((0, 0))
        assert (middle > 128) == (theme == "light"), f"{path.name} no es del tema que dice"
    assert len(sizes) == 1, "al cambiar de tema, la página se movería"


def test_the_hostile_submissions_told_are_of_the_tested_set():
    told = (FOLDER / "hostile.txt").read_text("utf-8")
    headings = [line for line in told.splitlines() if line and not line.startswith(" ")]
    known = {case.name: case for case in CASES}
    assert headings and set(headings) <= set(known)
    for block in told.strip().split("\n\n"):
        case = known[block.partition("\n")[0]]
        points = sum((case.points or {}).values())
        assert block.count("✅") == points, f"«{case.name}» ya no da {points} puntos"


def test_the_guide_counts_the_hostile_submissions():
    said = re.search(r"`tests/grading/sandbox/hostile/`: (\d+), y todas", PAGES["security"])
    assert said and int(said[1]) == len(CASES) + len(MORE_CASES)
