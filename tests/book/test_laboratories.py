"""Los laboratorios calculan lo mismo que la biblioteca, y se manejan y se recuerdan."""

import pytest
import torch
from torch.testing import assert_close

from course_lib.decoding import sampling_distribution
from course_lib.primitives.positions import sinusoidal_positions
from tests.book.conftest import ROOT, laboratory_script

pytestmark = pytest.mark.browser
ADDRESS = "http://curso.prueba/capitulo.html"


class Laboratory:
    """Una página con un solo laboratorio."""

    def __init__(self, browser, name: str) -> None:
        self.name = name
        self.page = browser.new_page()
        drawing = (ROOT / "book" / "_figures" / f"{name}.svg").read_text("utf-8")
        figure = f'<figure id="fig"><div data-laboratory="{name}">{drawing}</div></figure>'
        html = f"<meta charset='utf-8'>{figure}<script>{laboratory_script(name)}</script>"
        self.page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))
        self.open(ADDRESS)

    def open(self, address: str) -> None:
        self.page.goto(address)

    def compute(self, function: str, *arguments) -> torch.Tensor:
        code = f"all => laboratory.computes.{self.name}.{function}(...all)"
        return torch.tensor(self.page.evaluate(code, list(arguments)), dtype=torch.float64)

    def move(self, name: str, value: float) -> None:
        self.page.get_by_role("slider", name=name).fill(str(value))

    def said(self) -> str:
        return self.page.get_by_role("status").inner_text()


@pytest.fixture
def open_laboratory(chromium):
    opened = []

    def start(name: str) -> Laboratory:
        opened.append(Laboratory(chromium, name))
        return opened[-1]

    yield start
    for each in opened:
        each.page.close()


def near(found, expected) -> None:
    assert_close(found, torch.as_tensor(expected, dtype=torch.float64), atol=1e-6, rtol=0)


def test_the_clocks_are_those_of_the_library(open_laboratory):
    lab = open_laboratory("position_clocks")
    table = sinusoidal_positions(80, 16, dtype=torch.float64)
    for p in (0, 5, 60):
        near(lab.compute("encoding", p, 16), table[p])
    near(lab.compute("product", 5, 8, 16), table[5] @ table[8])
    for p in (5, 41):
        lab.move("p, la posición", p)
        assert f"producto escalar {table[5] @ table[8]:.2f}" in lab.said()
    lab.move("k, a qué distancia", -7)
    assert "Posiciones 41 y 34:" in lab.said()


def test_the_address_keeps_what_was_seen(open_laboratory):
    lab = open_laboratory("position_clocks")
    slider = lab.page.get_by_role("slider", name="p, la posición")
    slider.focus()
    lab.page.keyboard.press("ArrowRight")
    assert lab.page.url == f"{ADDRESS}?position_clocks=6&position_clocks=3#fig"
    seen = lab.said()
    lab.open(lab.page.url)
    assert lab.said() == seen and "Posiciones 6 y 9:" in seen


def test_the_roulette_shares_as_the_library_does(open_laboratory):
    lab = open_laboratory("decoding_roulette")
    p = [0.40, 0.25, 0.15, 0.10, 0.06, 0.04]
    logits = torch.tensor(p, dtype=torch.float64).log()
    for T, k, mass in ((1, 6, 1), (0.5, 6, 1), (2, 6, 1), (1, 3, 1), (1, 6, 0.7), (3, 4, 0.65)):
        expected = sampling_distribution(logits, T, top_k=k, top_p=mass)
        near(lab.compute("distribution", p, T, k, mass), expected)
    for T, word in ((1, "ajo"), (0.5, "pimienta"), (2, "aceite")):  # lo que dice el capítulo
        lab.move("T, la temperatura", T)
        assert lab.said() == f"Quedan 6 de 6. Con el número 0.72 sale «{word}»."
    lab.move("top-k", 1)
    assert lab.said() == "Queda 1 de 6. Con el número 0.72 sale «sal»."
    lab.move("top-k", 6)
    lab.page.get_by_role("button", name="Sortea").focus()
    lab.page.keyboard.press("Enter")
    assert "Quedan 6 de 6. Con el número" in lab.said()
