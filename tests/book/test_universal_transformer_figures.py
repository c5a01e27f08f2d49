"""Los números de los diagramas del Universal Transformer salen de la biblioteca."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch

from book._figures import universal_transformer as drawing
from course_lib.layers.adaptive_computation import AdaptiveComputation
from tests.book.conftest import laboratory_script

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def texts_of(name: str) -> str:
    root = ET.parse(ROOT / "book" / "_figures" / f"{name}.svg").getroot()
    return "\n".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))


def test_the_accumulated_weights_are_those_of_the_library():
    p = torch.tensor(drawing.HALTING, dtype=torch.float64)
    act = AdaptiveComputation(1, max_steps=len(p)).double()
    with torch.no_grad():
        act.halting.weight.fill_(1.0)
        act.halting.bias.zero_()

    d = act.start(torch.zeros(1, 1, 1, dtype=torch.float64))
    for n in range(len(p)):  # el estado n pesa 10ⁿ: en la mezcla se leen los pesos
        d = act(d, p[n].logit().expand(1, 1, 1), torch.full_like(d.states, 10.0**n))
    found = d.output()
    weights = [*drawing.HALTING[:-1], found.remainders.item()]
    mixed = sum(w * 10.0**i for i, w in enumerate(weights))
    assert found.states.item() == pytest.approx(mixed)
    text = texts_of("act_accumulation")
    assert "pesos: " + " + ".join(f"{w:.1f}" for w in weights) + " = 1" in text
    steps, rest = found.n_updates.item(), found.remainders.item()
    assert f"{steps} + {rest:.1f}" in text


def test_each_column_takes_one_step_more_than_it_has_to_look_back():
    pairs = [tuple(map(int, re.findall(r"\d", column))) for column in drawing.COLUMNS]
    back = [0]  # basta la anterior, salvo que sume nueve: entonces decide la de antes
    for i, (a, b) in enumerate(pairs[:-1]):
        back.append(min(i + 1, back[-1] + 1 if a + b == 9 else 1))
    assert [n - 1 for n in drawing.UPDATES] == back
    text = texts_of("act_active")
    assert f"se calculan {sum(drawing.UPDATES)} casillas de {4 * len(pairs)}" in text
    numbers = [int("".join(str(pair[i]) for pair in reversed(pairs))) for i in (0, 1)]
    assert f"{numbers[0]} + {numbers[1]} por columnas" in text


@pytest.mark.browser
@pytest.mark.parametrize(
    "p", [drawing.HALTING, (0.99, 0.5, 0.5), (0.05, 0.05, 0.05), (0.6, 0.39, 0.2), (0.3, 0.3, 1.0)]
)
def test_the_laboratory_stops_where_the_library_does(chromium, p):
    script = laboratory_script("act_accumulation")
    figure = (ROOT / "book" / "_figures" / "act_accumulation.svg").read_text("utf-8")
    page = chromium.new_page()
    place = f'<div data-laboratory="act_accumulation">{figure}</div>'
    page.set_content(f"{place}<script>{script}</script>")
    for value, slider in zip(p, page.get_by_role("slider").all(), strict=True):
        slider.fill(str(value))
    said = page.get_by_role("status").inner_text()
    page.close()

    act = AdaptiveComputation(1, max_steps=len(p)).double()
    with torch.no_grad():
        act.halting.weight.fill_(1.0)
        act.halting.bias.zero_()
    d = act.start(torch.zeros(1, 1, 1, dtype=torch.float64))
    for n, value in enumerate(torch.tensor(p, dtype=torch.float64), 1):
        u = value.clamp(max=1 - 1e-9).logit().expand(1, 1, 1)
        d = act(d, u, torch.full_like(d.states, n))
    found = d.output()
    steps, rest = found.n_updates.item(), found.remainders.item()
    assert said == (
        f"N = {steps}, resto R = {rest:.2f}, costo N + R = {steps + rest:.2f}. "
        f"Con estados 1, 2 y 3, la salida es {found.states.item():.2f} (los números, redondeados)."
    )
