"""Los laboratorios calculan lo mismo que la biblioteca, y se manejan y se recuerdan."""

import math

import pytest
import torch
from torch.testing import assert_close

from book._figures import fine_tuning, self_attention
from course_lib.decoding import sampling_distribution
from course_lib.layers.normalization import Residual
from course_lib.models.bert.fine_tuning import SpanOutput, best_spans
from course_lib.models.palm import PaLMConfig
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.primitives.attention import attention, attention_weights
from course_lib.primitives.positions import rotary, sinusoidal_positions
from course_lib.training.schedules import inverse_sqrt
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
    lab.page.reload()
    assert lab.said() == seen and "Posiciones 6 y 9:" in seen


def test_the_roulette_shares_as_the_library_does(open_laboratory):
    lab = open_laboratory("decoding_roulette")
    p = [0.40, 0.25, 0.15, 0.10, 0.06, 0.04]
    logits = torch.tensor(p, dtype=torch.float64).log()
    for T, k, mass in ((1.0, 6, 1.0), (0.5, 6, 1.0), (2.0, 6, 1.0), (1.0, 3, 0.7), (3.0, 4, 0.65)):
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


@pytest.mark.parametrize("placement", ["post", "pre", "sandwich"])
def test_the_signal_crosses_the_blocks_of_the_library(open_laboratory, placement):
    lab = open_laboratory("norm_depth")
    for k in (1, 10):
        levels = lab.compute("pile", placement, k, 18)
        x = torch.tensor([[1.0, 1, 5, 5]], dtype=torch.float64)
        moved, direct = x, 1.0
        for level in levels:
            near(level, [*moved[0].tolist(), direct])
            block = Residual(4, placement=placement).double().requires_grad_(False)
            said = k * block.read(moved).roll(1, dims=-1)
            if placement == "post":
                direct /= ((moved + said).var(correction=0) + 1e-5).sqrt().item()
            moved = block(moved, lambda z, k=k: k * z.roll(1, dims=-1))
    lab.page.get_by_label("sándwich", exact=True).check()
    lab.move("k, por cuánto", 10)
    assert lab.said() == "Sale (2.00, 0.00, 4.00, 6.00); x llega multiplicada por 1."


def test_the_six_words_are_those_of_the_chapter(open_laboratory):
    lab = open_laboratory("six_words")
    torch.manual_seed(123)
    W_q, W_k, W_v = (torch.rand(3, 2) for _ in range(3))
    for drawn, drawn_here in zip(
        (W_q, W_k, W_v),
        (self_attention.SIX_Q, self_attention.SIX_K, self_attention.SIX_V),
        strict=True,
    ):
        near(drawn.double(), drawn_here)
    X = torch.tensor(self_attention.SIX_X)
    Q, K, V = (X @ W.double() for W in (W_q, W_k, W_v))
    for i in range(6):
        expected = torch.cat([Q[i], Q[i] @ K.T, attention_weights(Q, K)[i], attention(Q, K, V)[i]])
        near(lab.compute("attend", i), expected)
    drawn = lab.page.locator("svg.lab-live text").last.text_content()
    assert drawn == "recoge h = (0.3061, 0.8210)"
    taken = attention_weights(Q, K)[1, 2] * V[2]
    assert lab.said().endswith(" = ({:.4f}, {:.4f}).".format(*taken.tolist()))
    for step, number in (("puntuar", "1.8111"), ("normalizar", "0.2199"), ("proyectar", "0.4306")):
        lab.page.get_by_label("paso").select_option(label=step)
        assert number in lab.said()


def test_the_turns_are_those_of_the_library(open_laboratory):
    lab = open_laboratory("palm_clocks")
    q, k = torch.tensor([[1.0, 0.5], [0.3, -1.0]], dtype=torch.float64)
    for m, n in ((3, 1), (12, 10), (6, 1)):
        turned_q, turned_k = rotary(q[None], torch.tensor([m])), rotary(k[None], torch.tensor([n]))
        near(lab.compute("query", m), turned_q[0])
        near(lab.compute("key", n), turned_k[0])
        near(lab.compute("product", m, n), (turned_q @ turned_k.T).item())
    product = lab.said().split()[-1]
    lab.page.get_by_role("button", name="Avanzar las dos").focus()
    for _ in range(3):
        lab.page.keyboard.press("Enter")
    assert lab.said().startswith("Posiciones 6 y 4:") and lab.said().split()[-1] == product
    for _ in range(7):  # al llegar al final no avanza, y el foco sigue en el botón
        lab.page.keyboard.press("Enter")
    assert lab.said().startswith("Posiciones 12 y 10:")
    assert lab.page.locator("button:focus").get_attribute("aria-disabled") == "true"


def test_the_cache_is_that_of_the_published_sizes(open_laboratory):
    lab = open_laboratory("palm_heads")
    sizes = {"8B": PaLMConfig.palm_8b, "62B": PaLMConfig.palm_62b, "540B": PaLMConfig.palm_540b}
    for name, config in sizes.items():
        c = config()
        for sharing, pairs in (("multi", c.num_heads), ("grouped", c.num_heads / 8), ("single", 1)):
            expected = 2 * c.num_layers * pairs * c.d_head * torch.bfloat16.itemsize
            assert lab.compute("perToken", name, sharing) == expected
    lab.page.get_by_label("multiconsulta", exact=True).check()
    assert lab.said().startswith("48 consultas, 1 par por bloque y posición: 118 KiB por token")


def test_the_reach_is_that_of_a_model_of_the_library(open_laboratory):
    lab = open_laboratory("xl_reach")
    for N in (1, 2, 3, 4):
        for L, m in ((4, 4), (4, 6), (8, 2), (1, 5), (3, 8)):
            assert lab.compute("reach", N, L, m) == m + (N - 1) * L * math.ceil(m / L)
    for N, L, m in ((2, 4, 6), (3, 4, 2)):
        assert lab.compute("reach", N, L, m) == measured_reach(N, L, m)
    lab.page.get_by_label("sin memoria", exact=True).check()
    assert "no ve ninguna anterior" in lab.said()
    lab.page.get_by_label("con memoria", exact=True).check()
    lab.move("m, cuántas", 2)
    lab.move("L, cuánto", 8)
    assert lab.said() == "Alcance: 2 + 2 · 8 · ⌈2/8⌉ = 18."


@torch.no_grad()
def measured_reach(N: int, L: int, m: int) -> int:
    """A cuántos tokens está el más lejano que cambia la salida de la primera palabra."""
    torch.manual_seed(0)
    sizes = {"d_model": 16, "num_heads": 2, "num_layers": N, "d_ff": 32}
    model = TransformerXL(TransformerXLConfig(50, memory_length=m, **sizes)).double().eval()
    before = L * (1 + N * math.ceil(m / L))
    texts = torch.randint(50, (1, before + 1)).repeat(before + 1, 1)
    texts[range(1, before + 1), range(before)] += 1
    memory = None
    for part in (texts % 50).split(L, dim=1):
        logits, memory = model(part, memory)
    changed = ((logits[1:, -1] - logits[0, -1]).abs() > 1e-12).any(dim=1)
    return before - changed.nonzero().min().item()


def test_the_rates_are_those_of_the_library(open_laboratory):
    lab = open_laboratory("warm_up")
    for d, w in ((512, 4000), (128, 2000), (1024, 16_000)):
        plan = inverse_sqrt(d, w)
        for step in (1, w // 2, w, 40_000):
            near(lab.compute("rate", step, d, w), plan(step))
    lab.page.get_by_label("d = 128", exact=True).check()
    assert f"{inverse_sqrt(128, 4000)(4000):.5f}" in lab.said()
    lab.move("w, cuántos", 2000)
    assert "en el paso 2000; en el 8000 queda la mitad" in lab.said()


def test_the_five_operations_are_those_of_the_library(open_laboratory):
    lab = open_laboratory("encoder_five_operations")
    Q = torch.tensor([[2.0, 2, 0, 0], [0, 2, 0, 0], [2, 0, 2, 0]], dtype=torch.float64)
    K = torch.tensor([[2.0, 0, 2, 0], [0, 1, 1, 0], [2, 2, 0, 0], [1, 1, 1, 1]]).double()
    V = torch.tensor([[1.0, 0], [0, 1], [1, 1], [9, 9]], dtype=torch.float64)
    masks = ([True, True, True, False], [True] * 4, [False, True, False, True], [False] * 4)
    for visible in masks:
        for scaled in (True, False):
            how = {"beta": None if scaled else 1.0, "mask": torch.tensor([visible])}
            A, H = attention_weights(Q, K, **how), attention(Q, K, V, **how)
            found = lab.compute("attend", visible, scaled)
            near(found, torch.cat([A.flatten(), H.flatten()]))
    lab.page.get_by_label("ver «relleno»", exact=True).check()
    assert "El 9 del relleno entra" in lab.said()


def test_the_best_span_is_that_of_the_library(open_laboratory):
    lab = open_laboratory("answer_span")
    generator = torch.Generator().manual_seed(0)
    cases = [torch.tensor([fine_tuning.STARTS, fine_tuning.ENDS], dtype=torch.float32)]
    cases += list(torch.randn(4, 2, 6, generator=generator))
    for start, end in cases:
        for longest in (1, 2, 6):
            everywhere = torch.ones(1, 6, dtype=torch.bool)
            scores = SpanOutput(start[None], end[None])
            expected = best_spans(scores, everywhere, longest=longest)[0]
            near(lab.compute("best", start.tolist(), end.tolist(), longest), expected.double())
    assert lab.said() == "Responde «40 minutos», que suma 11."
    lab.move("puntuación de terminar en «hornea»", 8)
    assert lab.said().endswith("de «40» a «hornea», al revés.")
    lab.move("cuántas palabras", 1)
    assert lab.said().startswith("Responde «hornea», que suma 10.")
