"""Los diagramas del libro: al día con sus guiones, legibles, accesibles y con números ciertos."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import torch

from book._figures import translator
from course_lib.data.recipes import HELD_OUT_SHARE, dishes, held_out_combinations
from course_lib.primitives.attention import (
    attention,
    attention_weights,
    causal_mask,
    hard_argmax,
    soft_argmax,
)
from course_lib.primitives.positions import sinusoidal_positions
from tests.book.conftest import laboratory_script

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "book" / "_figures"
SVG = "{http://www.w3.org/2000/svg}"
NAMES = tuple(sorted(path.stem for path in FIGURES.glob("*.svg")))
# STYLE, «Visual language»: consultas, claves, valores, pesos, entradas, salidas, oculto.
PALETTE = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C8C8C"}
PHONE_WIDTH, PHONE_TEXT = 358, 11
MINUS = "−"

figure = pytest.mark.parametrize("name", NAMES)


def root_of(name: str) -> ET.Element:
    return ET.parse(FIGURES / f"{name}.svg").getroot()


def texts_of(name: str) -> list[str]:
    return ["".join(text.itertext()) for text in root_of(name).iter(f"{SVG}text")]


def draw_all(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "book._figures", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


# --- guiones y archivos ------------------------------------------------------------------------


def test_committed_figures_are_what_the_scripts_draw(tmp_path):
    assert draw_all("--out", str(tmp_path)).returncode == 0
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    committed = {path.name: path.read_bytes() for path in FIGURES.glob("*.svg")}
    assert sorted(drawn) == sorted(committed) == [f"{name}.svg" for name in NAMES]
    stale = [name for name in drawn if drawn[name] != committed[name]]
    assert not stale, f"ejecuta python -m book._figures: {stale}"


def test_check_names_the_stale_figure_and_writes_nothing(tmp_path):
    draw_all("--out", str(tmp_path))
    assert draw_all("--check", "--out", str(tmp_path)).returncode == 0
    (tmp_path / "hard_soft.svg").write_text("viejo", encoding="utf-8")
    answer = draw_all("--check", "--out", str(tmp_path))
    assert answer.returncode == 1
    assert "hard_soft.svg" in answer.stdout
    assert "attention_step" not in answer.stdout
    assert (tmp_path / "hard_soft.svg").read_text(encoding="utf-8") == "viejo"


# --- forma -------------------------------------------------------------------------------------


@figure
def test_adapts_to_its_page(name):
    root = root_of(name)
    x, y, width, height = map(float, root.get("viewBox").split())
    assert (x, y) == (0, 0) and 360 <= width <= 640 and height <= 1.7 * width
    assert root.get("width") is None and root.get("height") is None
    assert root.get("font-family") == "inherit"


@figure
def test_says_in_words_what_it_shows(name):
    root = root_of(name)
    assert root.get("role") == "img"
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("aria-labelledby").split() == [title.get("id"), desc.get("id")]
    assert len(title.text) >= 15
    assert len(desc.text) >= 80 and desc.text.endswith(".")


@figure
def test_text_is_legible_on_a_phone(name):
    root = root_of(name)
    smallest = PHONE_TEXT * float(root.get("viewBox").split()[2]) / PHONE_WIDTH
    for text in root.iter(f"{SVG}text"):
        assert text.get("font-size"), "todo texto fija su tamaño"
        for piece in text.iter():
            if piece.get("font-size"):
                assert float(piece.get("font-size")) >= smallest, "".join(text.itertext())


@figure
def test_colours_follow_the_theme_or_the_palette(name):
    allowed = PALETTE | {"none", "currentColor"}
    for element in root_of(name).iter():
        for attribute in ("fill", "stroke", "color", "stop-color"):
            value = element.get(attribute)
            assert value is None or value in allowed or value.startswith(f"url(#{name}-"), value
        if element.tag in (f"{SVG}text", f"{SVG}tspan"):
            assert element.get("fill") is None, "el texto hereda currentColor"
        assert not re.search("fill|stroke|color", element.get("style", ""))
    assert root_of(name).get("fill") == "currentColor"


@figure
def test_colour_never_carries_meaning_alone(name):
    """Lo oculto va rayado, y toda cuadrícula o barra de color convive con texto."""
    root = root_of(name)
    grey_cells = [
        rect
        for rect in root.iter(f"{SVG}rect")
        if rect.get("fill") == "#8C8C8C" and rect.get("stroke") == "currentColor"
    ]
    hatched = [r for r in root.iter(f"{SVG}rect") if r.get("fill") == f"url(#{name}-hatch)"]
    assert len(hatched) == len(grey_cells)
    assert len(texts_of(name)) >= 8


def luminance(color: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(ink: str, ground: str, fill: str, opacity: float) -> float:
    """Contraste (WCAG) de una tinta sobre un fondo teñido con un color translúcido."""
    ink_rgb, ground_rgb, fill_rgb = (
        [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)] for color in (ink, ground, fill)
    )
    tinted = [opacity * f + (1 - opacity) * g for f, g in zip(fill_rgb, ground_rgb, strict=True)]
    dark, light = sorted((luminance(ink_rgb), luminance(tinted)))
    return (light + 0.05) / (dark + 0.05)


@figure
@pytest.mark.parametrize(("ink", "ground"), [("#323232", "#ffffff"), ("#ced6dd", "#121212")])
def test_text_contrasts_with_its_cell_in_both_themes(name, ink, ground):
    root = root_of(name)
    tinted = [r for r in root.iter(f"{SVG}rect") if r.get("fill") in PALETTE]
    for text in root.iter(f"{SVG}text"):
        x, y = float(text.get("x")), float(text.get("y"))
        for rect in tinted:
            left, top, w, h = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
            if left <= x <= left + w and top <= y <= top + h:
                ratio = contrast(ink, ground, rect.get("fill"), float(rect.get("fill-opacity")))
                assert ratio >= 4.5, ("".join(text.itertext()), rect.get("fill"), ratio)


def test_ids_are_prefixed_and_unique_in_a_page_with_every_figure():
    seen = set()
    for name in NAMES:
        root, content = root_of(name), (FIGURES / f"{name}.svg").read_text(encoding="utf-8")
        ids = [element.get("id") for element in root.iter() if element.get("id")]
        assert all(each.startswith(f"{name}-") for each in ids)
        assert len(ids) == len(set(ids)) and not seen & set(ids)
        seen.update(ids)
        assert set(re.findall(r"url\(#([^)]+)\)", content)) <= set(ids)


@figure
def test_is_text_drawn_by_us_and_nothing_else(name):
    tags = {element.tag.removeprefix(SVG) for element in root_of(name).iter()}
    assert tags <= {
        "svg",
        "title",
        "desc",
        "defs",
        "marker",
        "pattern",
        "rect",
        "path",
        "circle",
        "text",
        "tspan",
    }


# --- números -----------------------------------------------------------------------------------


def shown(values: torch.Tensor, digits: int) -> list[str]:
    """Como los escribe el taller de dibujo: menos tipográfico y sin cero negativo."""
    texts = [f"{value:.{digits}f}" for value in values.flatten().tolist()]
    return [t.lstrip("-") if float(t) == 0 else t.replace("-", MINUS) for t in texts]


def assert_shows(name: str, values: torch.Tensor, digits: int) -> None:
    """Los números aparecen en la figura seguidos y en el mismo orden que recorre la matriz."""
    numbers = [text for text in texts_of(name) if re.fullmatch(rf"{MINUS}?\d+(\.\d+)?", text)]
    wanted = shown(values, digits)
    runs = [numbers[i : i + len(wanted)] for i in range(len(numbers) - len(wanted) + 1)]
    assert wanted in runs, f"{name}: falta {wanted}"


def assert_shows_each(name: str, values: torch.Tensor, digits: int) -> None:
    assert set(shown(values, digits)) <= set(texts_of(name))


ONE_HOT = torch.eye(3, dtype=torch.float64)  # función, nombre, verbo: «El gato come» en tres filas
W_Q = torch.tensor([[2.0, 0.0], [1.0, 3.0], [3.0, 0.0]], dtype=torch.float64)
W_K = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
W_V = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
SHORT = ONE_HOT[[0, 1, 2]]  # El gato come
LONG = ONE_HOT[[0, 1, 2, 0, 1]]  # El gato persigue al ratón


def test_attention_step_numbers():
    inputs = torch.tensor([[2.0, 0, 0], [0, 1, -1], [0, 1, 1]], dtype=torch.float64)
    query = torch.tensor([0.0, 2, 1], dtype=torch.float64)
    weights = soft_argmax(inputs @ query)
    assert_shows("attention_step", query, 0)
    assert_shows_each("attention_step", inputs @ query, 0)
    assert_shows_each("attention_step", weights, 2)
    assert_shows("attention_step", weights @ inputs, 2)
    for part in weights[:, None] * inputs:
        assert_shows("attention_step", part, 3)


PRONOUN_KEYS = torch.tensor(
    [[2.0, 0, 0], [0, 0, -1], [0, 1, -1], [0, 0, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0], [2, 0, 0]],
    dtype=torch.float64,
)


def test_pronoun_numbers():
    query = torch.tensor([[0.0, 2, 1]], dtype=torch.float64)
    assert_shows("pronoun", attention_weights(query, PRONOUN_KEYS, beta=1.0), 2)


@pytest.mark.browser
def test_the_laboratory_computes_what_the_library_does(chromium):
    script = laboratory_script("pronoun")
    page = chromium.new_page()
    drawing = (FIGURES / "pronoun.svg").read_text("utf-8")
    place = f'<div data-laboratory="pronoun">{drawing}</div>'
    page.set_content(f"{place}<script>{script}</script>")
    slider = page.get_by_role("slider")
    for ending, beta in (("la", 1.0), ("la", 0.0), ("lo", 6.0), ("lo", 2.3)):
        page.get_by_label(f"sofríe{ending}").check()
        slider.fill(str(beta))
        query = torch.tensor([[0.0, 2, 1 if ending == "la" else -1]], dtype=torch.float64)
        expected = attention_weights(query, PRONOUN_KEYS, beta=beta)[0]
        shown = page.locator("svg.lab-live text").all_text_contents()[:8]
        assert torch.allclose(torch.tensor(list(map(float, shown))).double(), expected, atol=0.0051)
        computed = page.evaluate(
            "([end, beta]) => laboratory.computes.pronoun.attention(end, beta)", [ending, beta]
        )
        assert torch.allclose(torch.tensor(computed).double(), expected, atol=1e-6)
        named = page.locator("svg.lab-live").get_attribute("aria-label")
        assert named.startswith(f"Pesos de «{ending}»: Pica {shown[0]}; el {shown[1]}")
    assert "ajo" in page.get_by_role("status").inner_text()
    slider.focus()
    page.keyboard.press("Home")
    assert page.get_by_role("status").inner_text().startswith("Con β = 0")
    page.close()


@pytest.mark.browser
def test_the_soft_store_laboratory_computes_what_the_library_does(chromium):
    script = laboratory_script("dictionary_soft_store")
    page = chromium.new_page()
    drawing = (FIGURES / "dictionary_soft_store.svg").read_text("utf-8")
    place = f'<div data-laboratory="dictionary_soft_store">{drawing}</div>'
    page.set_content(f"{place}<script>{script}</script>")
    slider, box = page.get_by_role("slider"), page.get_by_label("Busca")
    kept = "lasaña de verduras, lasaña de pollo, milanesa y flan"
    assert box.input_value() == "lasaña" and slider.input_value() == "3"
    for typed, beta in (("lasaña", 3.0), ("Flan", 7.5), ("  pollo  frito ", 12.0), ("", 5.0)):
        box.fill(typed)
        slider.fill(str(beta))
        query = " ".join(typed.lower().split())
        expected, mixture = store_answer(query, beta)
        shown = re.findall(
            r"\b\d\.\d\d\b", page.locator("svg.lab-live").get_attribute("aria-label")
        )
        assert torch.allclose(torch.tensor([*map(float, shown)]).double(), expected, atol=0.0051)
        assert [
            t for t in page.locator("svg.lab-live text").all_text_contents() if "." in t
        ] == shown
        exact = f"{STORE[query]} minutos" if query in STORE else "no está"
        told = page.get_by_role("status").inner_text()
        if query:
            answer = f"Diccionario: {exact}. Almacén suave: {mixture:.0f} minutos, redondeados."
            assert told == answer
        else:
            assert told == f"Escribe qué buscar. Hay {kept}."
    box.fill("xyz")
    told = page.get_by_role("status").inner_text()
    assert "«xyz» no se parece a ninguna clave" in told and told.endswith(f"Hay {kept}.")
    page.close()


def test_hard_soft_numbers():
    inputs = torch.tensor([[0.2, 0.8], [1.4, 0.6], [0.9, -0.2], [-0.4, 0.5]], dtype=torch.float64)
    scores = inputs @ torch.tensor([1.5, 1.0], dtype=torch.float64)
    assert_shows_each("hard_soft", scores, 2)
    for weights, digits in ((hard_argmax(scores), 0), (soft_argmax(scores), 2)):
        assert_shows("hard_soft", weights, digits)
        assert_shows("hard_soft", weights @ inputs, 2)


def test_linear_combination_numbers():
    inputs = torch.tensor([[1.0, 0.0, 2.0], [3.0, 1.0, 0.0], [0.0, 4.0, 1.0]])
    layer = torch.tensor([[0.5, -1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 2.0, -0.5]])
    assert_shows("linear_combination", torch.tensor([0.6, 0.3, 0.1]) @ inputs, 1)
    products = torch.cat([layer.flatten(), inputs[0], inputs[0] @ layer])
    assert_shows("linear_combination", products, 1)


@pytest.mark.browser
def test_every_word_asks_in_the_laboratory(chromium):
    rows = [[1, 0, 0, 0, 0], [0, 0, -1, 1, 0], [0, 1, -1, 0, 0], [0] * 5, [0, 0, 1, 1, 0]]
    rows += [[0, 1, 1, 0, 0], [0] * 5, [1, 0, 0, 0, 0], [0, 0, 1, 0, 1]]
    X = torch.tensor(rows, dtype=torch.float64)
    W_q = torch.tensor([[0, 2, 0], [2, 0, 0], [0, 0, 1], [0, 2, 0], [0, 2, 0]]).double()
    W_k = torch.cat([2 * torch.eye(3), torch.zeros(2, 3)]).double()
    expected = attention_weights(X @ W_q, X @ W_k)
    assert_shows("who_asks", expected, 2)
    script = laboratory_script("who_asks")
    drawing = (FIGURES / "who_asks.svg").read_text("utf-8")
    page = chromium.new_page()
    page.set_content(f'<div data-laboratory="who_asks">{drawing}</div><script>{script}</script>')
    choices = page.get_by_role("radio")
    assert choices.count() == 9 and choices.nth(8).is_checked()
    for i in range(9):
        choices.nth(i).check()
        shown = page.locator("svg.lab-live text").all_text_contents()[:9]
        assert torch.allclose(torch.tensor([*map(float, shown)]).double(), expected[i], atol=0.0051)
    assert "«cebolla»" in page.get_by_role("status").inner_text()
    page.close()


STORE = {"lasaña de verduras": 60, "lasaña de pollo": 50, "milanesa": 30, "flan": 40}


def store_answer(query: str, beta: float) -> tuple[torch.Tensor, float]:
    """Los pesos y la mezcla del almacén suave, con los trozos de tres letras de otro modo."""

    def pieces(text: str) -> dict[str, int]:
        padded = f" {text} "
        triples = ["".join(three) for three in zip(padded, padded[1:], padded[2:], strict=False)]
        return {triple: triples.count(triple) for triple in triples}

    asked = pieces(query)
    cosines = []
    for key in map(pieces, STORE):
        dot = sum(count * key.get(triple, 0) for triple, count in asked.items())
        lengths = [sum(n * n for n in counts.values()) for counts in (asked, key)]
        cosines.append(dot / (lengths[0] * lengths[1]) ** 0.5 if dot else 0.0)
    weights = soft_argmax(torch.tensor(cosines, dtype=torch.float64), beta=beta)
    return weights, float(weights @ torch.tensor([*STORE.values()], dtype=torch.float64))


def test_soft_store_numbers():
    """«lasaña» tiene seis grupos de tres letras, y los comparte solo con las dos lasañas."""
    cosines = torch.tensor([6 / (6 * 18) ** 0.5, 6 / (6 * 15) ** 0.5, 0.0, 0.0])
    weights, mixture = store_answer("lasaña", 3.0)
    assert torch.allclose(soft_argmax(cosines.double(), beta=3.0), weights)
    assert_shows("dictionary_soft_store", weights, 2)
    assert f"= {mixture:.0f}" in " ".join(texts_of("dictionary_soft_store"))


def test_one_query_is_a_row_of_all_queries():
    Q, K, V = SHORT @ W_Q, SHORT @ W_K, SHORT @ W_V
    weights, outputs = attention_weights(Q, K), attention(Q, K, V)
    assert_shows_each("self_attention_one_query", weights[1], 3)
    assert_shows_each("self_attention_one_query", Q[1] @ K.T / 2**0.5, 2)
    assert_shows("self_attention_one_query", outputs[1], 3)
    for values, digits in ((Q, 0), (K, 0), (V, 0), (weights, 3), (outputs, 3)):
        assert_shows("self_attention_all", values, digits)


@pytest.mark.parametrize("sentence", [SHORT, LONG], ids=["corta", "larga"])
def test_two_kinds_of_weights_share_parameters(sentence):
    assert_shows("weights_two_kinds", torch.cat([W_Q, W_K]), 0)
    assert_shows("weights_two_kinds", attention_weights(sentence @ W_Q, sentence @ W_K), 3)


def test_causal_mask_numbers():
    mask = causal_mask(5)
    weights = attention_weights(LONG @ W_Q, LONG @ W_K, mask=mask)
    assert_shows("causal_mask", weights[mask], 2)
    assert_shows("causal_mask", (LONG @ W_Q @ (LONG @ W_K).T / 2**0.5)[mask], 2)
    hatched = [
        r
        for r in root_of("causal_mask").iter(f"{SVG}rect")
        if r.get("fill") == "url(#causal_mask-hatch)"
    ]
    assert len(hatched) == 2 * 10 + 1, "diez celdas ocultas por matriz y la muestra de la leyenda"


def test_five_operations_numbers():
    """Las cuatro matrices que salen de multiplicar, escalar, ocultar y normalizar, y la mezcla."""
    Q = torch.tensor([[2.0, 2, 0, 0], [0, 2, 0, 0], [2, 0, 2, 0]])
    K = torch.tensor([[2.0, 0, 2, 0], [0, 1, 1, 0], [2, 2, 0, 0], [1, 1, 1, 1]])
    V = torch.tensor([[1.0, 0], [0, 1], [1, 1], [9, 9]])
    visible = torch.tensor([[True, True, True, False]])
    name, scores = "encoder_five_operations", Q @ K.T
    assert_shows(name, torch.cat([Q.flatten(), K.T.flatten(), scores.flatten()]), 0)
    assert_shows(name, torch.cat([scores.flatten() / 2, (scores[:, :3] / 2).flatten()]), 1)
    assert_shows(name, attention_weights(Q, K, mask=visible)[:, :3], 2)
    assert_shows(name, attention(Q, K, V, mask=visible), 2)


def test_cross_attention_numbers():
    Q = torch.tensor([[4.0, 0, 0, 0], [0, 4, 0, 0], [0, 1, 4, 0]])
    K = torch.tensor([[2.0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0]])
    V = torch.tensor([[1.0, 0], [0, 1], [5, 5]])
    assert_shows("decoder_cross_attention", torch.cat([Q.flatten(), K.flatten(), V.flatten()]), 0)
    assert_shows("decoder_cross_attention", attention_weights(Q, K), 2)
    assert_shows("decoder_cross_attention", attention(Q, K, V), 2)


def test_held_out_combinations_are_those_of_the_corpus():
    drawn = {
        (dish, main): mark
        for dish, row in translator.CORPUS.items()
        for main, mark in zip(translator.MAINS, row, strict=True)
    }
    existing = {(dish.name, main.name) for dish in dishes() for main in dish.mains}
    held = {pair for pair, mark in drawn.items() if mark == "H"}
    assert set(drawn) <= existing
    assert held == set(drawn) & held_out_combinations()
    assert len(held) * HELD_OUT_SHARE == len(drawn), "la parte apartada es la que dice el capítulo"


def test_decoder_output_numbers():
    logits = torch.tensor([0.0, -1, 4, 3, 1])
    assert_shows("decoder_output", logits, 1)
    assert_shows("decoder_output", logits.log_softmax(dim=-1), 2)
    assert f"con probabilidad {logits.softmax(dim=-1).max():.2f}" in texts_of("decoder_output")


def test_norm_axes_numbers():
    X = torch.tensor([[1.0, 1, 5, 5], [0, 4, 0, 4], [2, 2, 2, 10]])
    assert_shows("norm_axes", X, 0)
    for axis in (0, 1):
        centred = X - X.mean(dim=axis, keepdim=True)
        assert_shows("norm_axes", centred / X.std(dim=axis, keepdim=True, correction=0), 2)


def test_position_sum_adds_the_library_encoding():
    words = torch.tensor([[0.9, -0.4, 0.2, 0.7], [-0.3, 0.1, 0.8, -0.6], [0.5, 0.6, -0.9, 0.1]])
    positions = sinusoidal_positions(3, 4)
    assert_shows("position_sum", words, 2)
    assert_shows("position_sum", positions, 2)
    assert_shows("position_sum", words + positions, 2)


def test_position_clocks_turn_at_their_own_pace():
    """La aguja p del reloj de periodo T apunta a sen y cos de 2π·p/T, como en la fórmula."""
    hands = [p for p in root_of("position_clocks").iter(f"{SVG}path") if p.get("marker-end")]
    assert len(hands) == 3 * 6
    for index, hand in enumerate(hands):
        x0, y0, x1, y1 = map(float, re.findall(r"-?[\d.]+", hand.get("d")))
        angle = torch.tensor(2 * torch.pi * (index % 6) / (8, 32, 128)[index // 6])
        length = ((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5
        assert abs((x1 - x0) / length - angle.sin()) < 2e-3
        assert abs((y0 - y1) / length - angle.cos()) < 2e-3


# --- en el navegador ---------------------------------------------------------------------------

LAYOUT = """() => {
  const svg = document.querySelector('svg'), page = svg.getBoundingClientRect(), found = [];
  const texts = [...svg.querySelectorAll('text')].map(
    t => [t.textContent, t.getBoundingClientRect()]);
  const boxes = [...svg.querySelectorAll('rect')].map(r => r.getBoundingClientRect());
  const unit = page.width / svg.viewBox.baseVal.width;
  texts.forEach(([word, a], i) => {
    if (a.left < page.left - 1 || a.right > page.right + 1 || a.top < page.top - 2 * unit
        || a.bottom > page.bottom + 2 * unit) found.push('fuera del lienzo: ' + word);
    for (const b of boxes) {
      const level = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6 * unit;
      const cuts = [b.left, b.right].some(edge => a.left < edge - unit && a.right > edge + unit);
      if (level && cuts) { found.push('cruza el borde de una caja: ' + word); break; }
    }
    texts.slice(i + 1).forEach(([other, b]) => {
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (across > unit && down > 5 * unit) found.push(word + ' pisa ' + other);
    });
  });
  return found;
}"""


@pytest.mark.browser
@pytest.mark.parametrize("font", ["Liberation Sans", "DejaVu Sans"])
def test_no_text_overlaps_or_leaves_the_canvas(chromium, font):
    """También con DejaVu Sans, más ancha que casi toda fuente de página."""
    page = chromium.new_page(viewport={"width": 760, "height": 900})
    problems = {}
    for name in NAMES:
        svg = (FIGURES / f"{name}.svg").read_text(encoding="utf-8")
        page.set_content(f"<body style=\"font-family:'{font}',sans-serif\">{svg}</body>")
        problems[name] = page.evaluate(LAYOUT)
    page.close()
    assert not {name: found for name, found in problems.items() if found}
