import base64
import functools
import itertools
import re
import subprocess
import sys
import types
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.plotting import (
    COLORS,
    ThemedFigure,
    format_number,
    plot_attention,
    plot_bars,
    plot_curves,
    plot_heads,
    plot_history,
    plot_matrix,
    plot_points,
    plot_stacked,
    plot_vectors,
)
from course_lib.plotting.theme import INK

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"
WORDS = ["El", "gato", "persigue", "al", "ratón"]
PHONE = 328  # ancho útil, en px, de un teléfono de 360


def weights(*shape):
    return torch.softmax(torch.randn(*shape, generator=torch.Generator().manual_seed(1)), -1)


def causal(t):
    return torch.ones(t, t, dtype=torch.bool).tril()


EVERY = {
    "attention": lambda: plot_attention(weights(5, 5), WORDS, WORDS, alt="a", mask=causal(5)),
    "attention, larga": lambda: plot_attention(weights(50, 40), alt="a", title="Pesos"),
    "heads": lambda: plot_heads(weights(4, 5, 5), WORDS, WORDS, alt="a", mask=causal(5)),
    "heads, ocho": lambda: plot_heads(weights(8, 10, 10), alt="a"),
    "matrix": lambda: plot_matrix(weights(3, 4) - 0.3, alt="a", xlabel="x", ylabel="y",
                                  diverging=True),
    "matrix, larga": lambda: plot_matrix(weights(60, 64), alt="a", xlabel="x", ylabel="y"),
    "bars": lambda: plot_bars(weights(5), WORDS, alt="a", ylabel="peso"),
    "bars, series": lambda: plot_bars({"dura": [1, 0], "suave": [0.6, 0.4]}, ["a", "b"], alt="a"),
    "bars, largas": lambda: plot_bars([0.9, 0.1], ["lasaña de verduras", "tacos"], alt="a"),
    "curves": lambda: plot_curves({n: ([1, 2, 3], [i, 2, 3]) for i, n in enumerate("abcdefg")},
                                  alt="a", xlabel="x", ylabel="y", title="t"),
    "curves, log": lambda: plot_curves({"a": ([1, 10, 100], [1, 2, 3], [0.1] * 3)}, alt="a",
                                       xlabel="x", ylabel="y", logx=True, logy=True),
    "history": lambda: plot_history({"a": types.SimpleNamespace(smoothed=lambda: [3.0, 2.0])},
                                    alt="a"),
    "points": lambda: plot_points({"frutas": weights(4, 2), "verbos": weights(2, 2)}, alt="a",
                                  names={"verbos": ["pelar", "picar"]}, xlabel="x", ylabel="y"),
    "stacked": lambda: plot_stacked({"bien": [70, 20], "mal": [30, 50], "sin hacer": [0, 30]},
                                    ["1", "2"], alt="a", xlabel="%",
                                    roles=["value", "key", "hidden"]),
    "vectors": lambda: plot_vectors({"q": ([1, 2], "query"), "k": ([2, 1], "key"),
                                     "v": ([-1, 1], "value")}, alt="a", hull=["q", "k", "v"]),
}  # fmt: skip


@functools.cache
def draw(name):
    """Cada figura de muestra se dibuja una sola vez para todas las pruebas: (figura, SVG)."""
    figure = EVERY[name]()
    return figure, figure._repr_html_()


every_plot = pytest.mark.parametrize("name", EVERY)


def parse(figure):
    return ET.fromstring(figure._repr_html_())


def texts(root):
    return [e.text for e in root.iter(f"{SVG}text")]


@every_plot
def test_it_is_one_svg_that_describes_itself(name):
    _, html = draw(name)
    root = ET.fromstring(html)  # un solo elemento raíz
    assert html.startswith("<svg") and root.tag == f"{SVG}svg"
    assert root.get("role") == "img" and root.get("aria-label") == "a"
    assert root.find(f"{SVG}title").text == "a"
    assert root.get("width") is None and "max-width: 100%; height: auto" in root.get("style")
    outside = re.sub(r'(xmlns(:xlink)?="[^"]*"|base64,[^"]*)', "", html)
    assert "http" not in outside and "<script" not in html and "<metadata" not in html


@every_plot
def test_text_and_lines_follow_the_theme_and_the_ground_is_transparent(name):
    _, html = draw(name)
    assert "currentColor" in html and INK not in html
    for element in ET.fromstring(html).iter(f"{SVG}text"):
        style = element.get("style")
        assert "font-family: inherit" in style and "font:" not in style
        on_cell = element.text and re.fullmatch(r"[-−]?\d?\.\d\d", element.text)
        assert "currentColor" in style or on_cell, f"texto sin color del tema: {element.text}"
    grounds = [
        p for p in ET.fromstring(html).iter(f"{SVG}g") if (p.get("id") or "").endswith("-patch_1")
    ]
    assert grounds and all("fill: none" in ET.tostring(g, "unicode") for g in grounds)
    assert not re.search(r"stroke: (#000000|black)", html), "una línea negra no se ve en lo oscuro"


@every_plot
def test_no_text_is_under_eleven_pixels_on_a_phone(name):
    root = ET.fromstring(draw(name)[1])
    width = float(root.get("viewBox").split()[2])
    sizes = [float(re.search(r"font-size: ([\d.]+)px", e.get("style"))[1])
             for e in root.iter(f"{SVG}text")]  # fmt: skip
    assert min(sizes) * min(1, PHONE / width) > 10.8


@every_plot
def test_ids_are_unique_to_the_content_and_every_reference_resolves(name):
    _, html = draw(name)
    ids = re.findall(r'\bid="([^"]+)"', html)
    used = re.findall(r"url\(#([^)]+)\)", html) + re.findall(r'href="#([^"]+)"', html)
    assert len(ids) == len(set(ids)) and set(used) <= set(ids)
    (prefix,) = {i[:15] for i in ids}
    assert re.fullmatch(r"fig-[0-9a-f]{10}-", prefix)


@every_plot
def test_places_have_two_decimals_and_nothing_is_indented(name):
    _, html = draw(name)
    tags = "".join(re.findall(r"<[^>]*>", html[html.index("<title>") :]))
    assert re.search(r'd="M \d+\.\d', tags) and not re.search(r"\d\.\d{3}", tags)
    assert ">\n" not in html


def test_what_is_printed_keeps_its_decimals():
    html = plot_bars([1.0], ["0.12345"], alt="vale 0.12345")._repr_html_()
    assert html.count("0.12345") == 3  # la etiqueta, y dos veces el texto alternativo


def test_two_figures_on_a_page_share_no_id():
    one, two = (plot_bars([1.0, x], ["a", "b"], alt="a")._repr_html_() for x in (2.0, 3.0))
    ids = [set(re.findall(r'\bid="([^"]+)"', html)) for html in (one, two)]
    assert not ids[0] & ids[1]


@every_plot
def test_the_same_figures_give_the_same_bytes(name):
    figure, html = draw(name)
    assert figure._repr_html_() == html == EVERY[name]()._repr_html_()


def test_another_process_gives_the_same_bytes_and_loads_no_pyplot():
    code = (
        "import sys; from course_lib.plotting import plot_attention as p; import hashlib;"
        "f = p([[.25, .75], [.5, .5]], ['á', 'b'], mask=[[True, False], [True, True]], alt='x');"
        "print(hashlib.sha256(f._repr_html_().encode()).hexdigest(), repr(f),"
        "'matplotlib.pyplot' in sys.modules, 'torch' in sys.modules)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1 and outputs.pop().endswith("ThemedFigure('x') False False\n")


def test_the_alternative_text_is_required_and_escaped():
    with pytest.raises(ValueError, match="texto alternativo"):
        ThemedFigure(alt="  ")
    with pytest.raises(TypeError, match="alt"):
        plot_bars([1], ["a"])
    root = parse(plot_bars([1], ["a"], alt='a < b & "c" <script>'))
    assert root.get("aria-label") == root.find(f"{SVG}title").text == 'a < b & "c" <script>'


@settings(max_examples=10)
@given(rows=st.integers(1, 11), columns=st.integers(1, 11))
def test_values_are_printed_up_to_eight_by_eight(rows, columns):
    A = weights(rows, columns)
    printed = [t for t in texts(parse(plot_attention(A, alt="a"))) if re.fullmatch(r"\d?\.\d\d", t)]
    if max(rows, columns) > 8:
        # Los rótulos de la escala son a lo sumo 0.00, 0.25, 0.50, 0.75 y 1.00.
        assert {float(t) % 0.25 for t in printed} <= {0.0}
        return
    assert [float(t) for t in printed] == [round(a, 2) for a in A.flatten().tolist()]


def test_whole_numbers_are_printed_without_decimals_and_weights_with_them():
    names = {"alt": "a", "xlabel": "x", "ylabel": "y"}
    counts = texts(parse(plot_matrix(torch.tensor([[7.0, 11.0], [0.0, -3.0]]), **names)))
    assert {"7", "11", "0", "−3"} <= set(counts) and "7.00" not in counts
    mixed = texts(parse(plot_matrix(torch.tensor([[7.0, 1.5]]), **names)))
    assert {"7.00", "1.50"} <= set(mixed)
    assert "1.00" in texts(parse(plot_matrix(torch.eye(2), **names))), "unos pesos llevan decimales"


def test_hidden_cells_are_hatched_and_their_value_is_not_printed():
    A = torch.tensor([[0.11, 0.89], [0.33, 0.67]])
    seen, hidden = (
        plot_attention(A, alt="a", mask=m) for m in (None, [[True, False], [True, True]])
    )
    assert "0.89" in texts(parse(seen)) and "0.89" not in texts(parse(hidden))
    assert {"0.11", "0.33", "0.67"} <= set(texts(parse(hidden)))
    patterns = list(parse(hidden).iter(f"{SVG}pattern"))
    assert not list(parse(seen).iter(f"{SVG}pattern"))
    assert len(patterns) == 1 and COLORS["hidden"].lower() in ET.tostring(patterns[0], "unicode")


def luminance(color):
    """Luminancia relativa según WCAG 2.2, de un color «#rrggbb»."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_printed_values_contrast_with_their_cell():
    A = torch.linspace(0, 1, 64).view(8, 8)
    root = parse(plot_attention(A, alt="a"))
    inks = [
        re.search(r"fill: (#\w{6}|#\w{3})", e.get("style"))[1]
        for e in root.iter(f"{SVG}text")
        if re.fullmatch(r"\d?\.\d\d", e.text)
    ]
    cividis = matplotlib.colormaps["cividis"]
    assert len(inks) == 64
    for value, ink in zip(A.flatten().tolist(), inks, strict=True):
        ink = "#ffffff" if ink == "#fff" else ink
        low, high = sorted([luminance(ink), luminance(matplotlib.colors.to_hex(cividis(value)))])
        assert (high + 0.05) / (low + 0.05) >= 4.5, f"{value:.2f} no se lee sobre su celda"


def test_labels_stand_on_their_axes():
    found = texts(parse(plot_attention(weights(2, 3), ["uno", "dos"], ["a", "b", "c"], alt="a")))
    assert {"uno", "dos", "a", "b", "c", "consultas", "claves"} <= set(found)
    assert {"1", "2", "3"} <= set(texts(parse(plot_attention(weights(2, 3), alt="a"))))
    heads = texts(parse(plot_heads(weights(3, 2, 2), alt="a")))
    assert {"Cabeza 1", "Cabeza 2", "Cabeza 3"} <= set(heads)


def test_a_large_matrix_is_an_image_inside_the_svg():
    images = list(parse(EVERY["matrix, larga"]()).iter(f"{SVG}image"))
    data = [i.get(HREF) for i in images if i.get(HREF).startswith("data:image/png;base64,")]
    assert data and base64.b64decode(data[0].split(",")[1]).startswith(b"\x89PNG")


def test_zero_is_the_centre_of_a_diverging_scale():
    figure = plot_matrix([[-1.0, 3.0]], alt="a", xlabel="x", ylabel="y", diverging=True)
    norm = figure.axes[0].collections[0].norm
    assert (norm.vmin, norm.vmax) == (-3.0, 3.0)


def test_every_curve_has_its_own_colour_marker_and_dash():
    lines = EVERY["curves"]().axes[0].get_lines()
    for look in (
        [line.get_color() for line in lines],
        [line.get_marker() for line in lines],
        [line._dash_pattern for line in lines],
    ):
        assert len({str(x) for x in look}) == len(lines) == 7
    assert {line.get_color() for line in lines} <= set(COLORS.values())


def test_groups_of_points_differ_without_colour():
    lines = EVERY["points"]().axes[0].lines
    assert len({line.get_marker() for line in lines}) == len(lines) == 2
    assert {"pelar", "picar", "frutas", "verbos"} <= set(texts(parse(EVERY["points"]())))


def test_series_of_bars_differ_without_colour():
    axes = EVERY["bars, series"]().axes[0]
    assert len({bars[0].get_hatch() for bars in axes.containers}) == 2


def test_stacked_bars_continue_one_another_and_differ_without_colour():
    first, second, third = EVERY["stacked"]().axes[0].containers
    assert [bar.get_width() for bar in second] == [30, 50]
    assert [bar.get_x() for bar in second] == [70, 20]
    assert [bar.get_x() for bar in third] == [100, 70]
    assert len({bars[0].get_hatch() for bars in (first, second, third)}) == 3
    widths = {role: [1] for role in COLORS}
    every = plot_stacked(widths, ["a"], alt="a", xlabel="x", roles=list(COLORS))
    assert len({bars[0].get_hatch() for bars in every.axes[0].containers}) == len(COLORS)
    with pytest.raises(ValueError, match="2 rótulos"):
        plot_stacked({"a": [1, 2]}, ["x"], alt="a", xlabel="x")
    with pytest.raises(ValueError, match="1 roles"):
        plot_stacked({"a": [1]}, ["x"], alt="a", xlabel="x", roles=[])
    with pytest.raises(ValueError, match="rojo"):
        plot_stacked({"a": [1]}, ["x"], alt="a", xlabel="x", roles=["rojo"])


def test_history_draws_what_is_asked_on_its_own_steps():
    from course_lib.training.history import History

    history = History([3.0, 1.0], [0.5, 0.25], [0.1, 0.2], metrics={"validación": [(2, 0.75)]})
    fig = plot_history({"a": history}, show=["loss", "validación", "grad_norm"], alt="a")
    lines = {line.get_label(): line for line in fig.axes[0].lines}
    assert list(lines) == ["a · pérdida", "a · validación", "a · norma del gradiente"]
    assert [list(line.get_ydata()) for line in lines.values()] == [[3, 2], [0.75], [0.5, 0.25]]
    assert list(lines["a · validación"].get_xdata()) == [2]
    alone = plot_history({"a": history}, show="learning_rate", alt="a")
    assert alone.axes[0].get_ylabel() == "tasa de aprendizaje"
    with pytest.raises(ValueError, match=r"validación.*'prueba'"):
        plot_history({"a": history}, show="prueba", alt="a")


def test_history_draws_the_smoothed_loss_by_step():
    (line,) = EVERY["history"]().axes[0].get_lines()
    assert line.get_xdata().tolist() == [1, 2] and line.get_ydata().tolist() == [3.0, 2.0]


@pytest.mark.parametrize(
    "value, decimals, text",
    [
        (12345, 0, "12\u202f345"),
        (63_082_496, 0, "63\u202f082\u202f496"),
        (2048, 0, "2048"),
        (-12345.678, 1, "-12\u202f345.7"),
        (9999.96, 1, "10\u202f000.0"),
        (0.5, 2, "0.50"),
    ],
)
def test_thousands_are_told_from_decimals(value, decimals, text):
    assert format_number(value, decimals) == text


@pytest.mark.parametrize(
    "values, some, none",
    [
        ([0, 20_000, 40_000], {"0", "20\u202f000", "40\u202f000"}, "20000"),
        ([0, 4000, 8000], {"0", "4000", "8000"}, "4\u202f000"),
        ([-20_000, 0], {"−20\u202f000", "0"}, "−20000"),
        ([0.0, 0.25, 0.5], {"0.0", "0.5"}, "0.50"),
    ],
)
def test_the_thousands_of_an_axis_are_separated_too(values, some, none):
    fig = plot_curves({"a": (values, values)}, alt="a", xlabel="x", ylabel="y")
    fig.draw_without_rendering()
    for axis in (fig.axes[0].xaxis, fig.axes[0].yaxis):
        told = {label.get_text() for label in axis.get_ticklabels()}
        assert some <= told and none not in told


@settings(max_examples=40)
@given(st.floats(-4, 2), st.floats(0, 5), st.booleans())
def test_a_logarithmic_axis_has_two_numbers_or_more_and_they_fit(low, decades, horizontal):
    ends = [10**low, 10 ** (low + decades)]
    x, y = (ends, [1, 2]) if horizontal else ([1, 2], ends)
    fig = plot_curves(
        {"a": (x, y)}, alt="a", xlabel="", ylabel="", logx=horizontal, logy=not horizontal
    )
    fig.draw_without_rendering()
    axis = fig.axes[0].xaxis if horizontal else fig.axes[0].yaxis
    first, last = axis.get_view_interval()
    shown = [
        label
        for place, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
        if first <= place <= last
    ]
    told = [label.get_text() for label in shown]
    assert 2 <= len(told) <= 9 and all(told) and len({*told}) == len(told)
    boxes = [label.get_window_extent() for label in shown]
    ends = [(box.x0, box.x1) if horizontal else (box.y0, box.y1) for box in boxes]
    assert all(a[1] < b[0] for a, b in itertools.pairwise(ends))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64])
def test_tensors_of_any_kind_are_drawn(dtype):
    A = torch.eye(2, dtype=dtype, requires_grad=dtype.is_floating_point)
    assert "1.00" in texts(parse(plot_attention(A, alt="a")))


def test_the_style_of_the_caller_is_left_as_it_was():
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    for name in ("attention", "bars", "curves"):
        EVERY[name]()._repr_html_()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plot_attention(weights(2, 3, 3), alt="a"), r"A\[0, 0\]"),
        (lambda: plot_attention(weights(2, 2), ["uno"], alt="a"), "2 rótulos.*filas.*1"),
        (lambda: plot_attention(weights(2, 2), mask=np.ones((2, 2)), alt="a"), "booleana"),
        (lambda: plot_attention(weights(2, 2), mask=causal(3), alt="a"), r"expandible a \[2, 2\]"),
        (lambda: plot_heads(weights(2, 2), alt="a"), "heads, t_q, t_k"),
        (lambda: plot_heads(weights(2, 2, 2), titles=["uno"], alt="a"), "títulos"),
        (lambda: plot_bars([1, 2], ["a"], alt="a"), "rótulos"),
        (lambda: plot_bars([1], ["a"], alt="a", role="rojo"), "role"),
        (
            lambda: plot_curves({"c": ([1, 2], [1])}, alt="a", xlabel="", ylabel=""),
            "2 de x y 1 de y",
        ),
        (lambda: plot_vectors({"v": ([1, 2, 3], "query")}, alt="a"), r"forma \[2\]"),
        (lambda: plot_vectors({"v": ([1, 2], "rojo")}, alt="a"), "rol"),
        (lambda: plot_points({"g": weights(3, 3)}, alt="a"), r"\[n, 2\]"),
        (lambda: plot_points({"g": weights(3, 2)}, alt="a", names={"g": ["uno"]}), "3 rótulos"),
        (lambda: plot_points({str(i): weights(1, 2) for i in range(8)}, alt="a"), "7 grupos"),
        (lambda: format_number(1, -1), "decimals"),
    ],
)
def test_misuse_is_explained(call, words):
    with pytest.raises(ValueError, match=words):
        call()
