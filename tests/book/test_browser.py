"""El sitio en un navegador: consola limpia, nada de fuera, fórmulas puestas, todo en español."""

import re
from pathlib import Path

import pytest

from tests.book.conftest import pages_of_toc

pytestmark = [pytest.mark.browser, pytest.mark.site, pytest.mark.slow]
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
OTHERS = ["search", "genindex"]

# Lo que el tema y las extensiones dicen en inglés si nadie lo traduce.
ENGLISH = re.compile(
    r"\b(?:Search|Searching|Search this book|Search Results|Preparing search|Contents|On this page|"
    r"Previous|Next|previous page|next page|Click to (?:show|hide|expand|collapse)|Toggle \w+|"
    r"(?:Show|Hide) code cell (?:source|content|output)|Show Source|"
    r"Copy(?: to clipboard)?|Copied!?|Download(?: \w+)*|Print to PDF|Fullscreen mode|"
    r"Back to top|Skip to main content|Color mode|Light|Dark|System Settings|Home|Main|Page|"
    r"Link to this \w+|Permalink|By the|Last updated|Launch|Open in Colab|Source|Edit|Index|"
    r"Note|Tip|Warning|Important|Hint|Caution|Danger|See also|Attention|"
    r"Figure|Table|Listing|Section|Chapter|Built with|Created using|Powered by|Parameters|Returns?|"
    r"Raises|Return type|Bases|module|Read the docs|Please activate JavaScript)\b"
)
# Nombres de clases, funciones y obras: están en inglés porque así se llaman.
QUOTED = "code, pre, kbd, em, i, cite, .bibtex, .citation, .sig, dt, dl.citation, .sig-prename"
INTERFACE = f"""() => {{
  const found = [];
  const visible = e => e.getClientRects().length && getComputedStyle(e).visibility !== 'hidden';
  for (const e of document.querySelectorAll('body *:not(math *)')) {{
    for (const name of ['title', 'aria-label', 'placeholder', 'alt', 'data-bs-title',
                        'data-tooltip', 'data-bs-original-title', 'data-toggle-hint'])
      if (e.hasAttribute(name) && !e.closest('.bibtex, a[href*="bibliography.html#id"]'))
        found.push(e.getAttribute(name));
    if (!visible(e) || e.closest({QUOTED!r})) continue;
    if (e.closest('script, style, svg, math')) continue;
    for (const n of e.childNodes) if (n.nodeType === 3) found.push(n.textContent);
  }}
  for (const e of document.querySelectorAll('*:not(math *, svg *)')) {{
    for (const part of ['::before', '::after']) {{
      const text = getComputedStyle(e, part).content;
      if (text && /^".*[A-Za-z]{{3}}/.test(text)) found.push(text);
    }}
  }}
  return found;
}}"""


class Visit:
    """Una página abierta, con lo que pidió y lo que escribió en la consola."""

    def __init__(self, browser, url: str, viewport: dict = DESKTOP, scheme: str = "light") -> None:
        self.viewport, self.scheme = viewport, scheme
        self.context = browser.new_context(
            viewport=viewport, color_scheme=scheme, locale="es-MX", reduced_motion="reduce"
        )
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.outside: list[str] = []
        origin = url.split("/book/")[0].split("/exercises/")[0].split("/solutions/")[0]
        self.origin = re.match(r"(file://|https?://[^/]+)", origin)[1]
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._request)
        self.page.on("response", self._response)
        self.go(url)

    def go(self, url: str) -> None:
        """Lleva a otra página, que se abre y se ve como la primera."""
        self.page.goto("about:blank")  # lo que aún pida la anterior no es de la nueva
        self.page.set_viewport_size(self.viewport)
        self.page.emulate_media(color_scheme=self.scheme)
        self.problems.clear()
        self.outside.clear()
        self.page.goto(url)
        self.page.wait_for_load_state("load")

    def _console(self, message) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(message.text)

    def _request(self, request) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.outside.append(request.url)

    def _response(self, response) -> None:
        if response.status >= 400:
            self.problems.append(f"{response.status} {response.url}")

    def close(self) -> None:
        self.context.close()


@pytest.fixture
def visit(chromium):
    visits = []

    def open_page(url: str, viewport: dict = DESKTOP, scheme: str = "light") -> Visit:
        visits.append(Visit(chromium, url, viewport, scheme))
        return visits[-1]

    yield open_page
    for one in visits:
        one.close()


FORMULAS = """() => [
  [...document.querySelectorAll('.bd-article .math')]
    .filter(e => !e.querySelector('math')?.getBoundingClientRect()).map(e => e.textContent),
  document.querySelectorAll('merror').length,
  document.querySelector('.bd-article').innerText,
]"""


def assert_formulas_are_set(page) -> None:
    pending, wrong, text = page.evaluate(FORMULAS)
    assert pending == [] and wrong == 0
    assert "\\(" not in text and "\\[" not in text and "$$" not in text


# Bloques y fórmulas que no caben a lo ancho, también los que están plegados.
CUT = """() => {
  document.querySelectorAll('.bd-article *').forEach(e => {
    if (getComputedStyle(e).contentVisibility === 'auto') e.style.contentVisibility = 'visible';
  });
  document.querySelectorAll('.bd-article details').forEach(e => { e.open = true; });
  return [...document.querySelectorAll('.bd-article :is(pre, .formula)')]
    .filter(e => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1)
    .map(e => ({kind: e.closest('.cell_output') ? 'printed' : e.tagName,
      text: e.textContent.slice(0, 80)}));
}"""


def in_both_themes(page, first: str):
    """Pasa por los dos temas, como cuando el sistema cambia con la página abierta."""
    for scheme in (first, "light" if first == "dark" else "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"document.documentElement.dataset.theme === {scheme!r}")
        yield scheme


# Abrir una página es lo que cuesta: las dos pruebas de cada una la abren una vez, y todas en la
# misma pestaña, que ya tiene los estilos y los guiones.


@pytest.fixture(scope="module")
def tab(address: str, chromium):
    seen = Visit(chromium, f"{address}/book/index.html")
    yield seen
    seen.close()


@pytest.fixture(scope="module", params=[*pages_of_toc(), *OTHERS])
def shown(request, address: str, tab):
    """Una página abierta, y su nombre."""
    tab.go(f"{address}/{request.param}.html")
    return tab, request.param


def test_page_in_a_browser(shown):
    seen, name = shown
    page = seen.page
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    if name not in OTHERS:
        assert_formulas_are_set(page)
    assert page.evaluate(CUT) == [], "hay código, resultados o fórmulas cortados"
    texts = page.evaluate(INTERFACE)
    # En el índice alfabético hay clases que se llaman «Section» o «Table».
    texts = [text for text in texts if " en course_lib." not in text]
    english = sorted({t.strip() for t in texts if ENGLISH.search(t)})
    assert english == [], f"queda inglés en la interfaz de {name}"
    if name not in OTHERS:
        plain = "* { transition: none !important } a.headerlink { display: none }"
        page.add_style_tag(content=plain)
        faint = {scheme: page.evaluate(CONTRAST) for scheme in in_both_themes(page, "light")}
        assert faint == {"light": [], "dark": []}
    assert seen.outside == []
    assert seen.problems == []


def test_nothing_is_wider_than_a_phone(shown):
    seen, name = shown
    page = seen.page
    page.set_viewport_size(PHONE)
    for scheme in in_both_themes(page, "dark"):
        assert page.evaluate(CUT_CODE) == [], "hay código cortado"
        wide, culprits, unreachable = page.evaluate(WIDE)
        assert wide <= 0, f"{name} ({scheme}) se desplaza {wide} px de lado: {culprits}"
        assert unreachable == [], "se desplaza de lado y el teclado no llega"


CUT_CODE = f"() => ({CUT})().filter(({{ kind }}) => kind === 'PRE')"

BEYOND_THE_PAPER = """() => {
  const { right } = document.querySelector('.bd-article').getBoundingClientRect();
  return [...document.querySelectorAll('.bd-article :is(table, figure, img, svg)')]
    .filter(e => e.getBoundingClientRect().right > right + 2)
    .map(e => e.tagName + ': ' + e.textContent.slice(0, 60));
}"""

# Cuánto sobra de ancho y quién lo ocupa; y lo que se desplaza de lado y no se alcanza con el
# teclado, o se alcanza y no se oye qué es. Se mide dos fotogramas después de desplegar o estrechar.
WIDE = """async () => {
  for (const _ of 'ab') await new Promise(requestAnimationFrame);
  const all = [...document.querySelectorAll('.bd-article *:not(svg *, math *)')];
  const said = e => e.tagName + '.' + e.className + ': ' + e.textContent.slice(0, 60);
  const root = document.documentElement;
  const outside = 'pre, div.math, svg, .pst-scrollable-table-container, .cell_output';
  return [
    root.scrollWidth - root.clientWidth,
    all.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(outside))
      .slice(0, 5).map(said),
    all.filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 1
      && /auto|scroll/.test(getComputedStyle(e).overflowX)
      && (e.tabIndex < 0 || (e.tagName === 'DIV' && !e.ariaLabel))).map(said),
  ];
}"""


# Contraste de WCAG (AA) de cada texto con el fondo sobre el que está.
CONTRAST = """() => {
  const rgb = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const lum = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92
    : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const over = (top, bottom) => { const a = top[3] ?? 1;
    return [0, 1, 2].map(i => top[i] * a + bottom[i] * (1 - a)); };
  const grounds = new Map();
  const ground = e => {
    if (!e) return [255, 255, 255];
    if (!grounds.has(e)) {
      const c = rgb(getComputedStyle(e).backgroundColor), under = ground(e.parentElement);
      grounds.set(e, c.length ? over(c, under) : under);
    }
    return grounds.get(e);
  };
  const bad = [];
  for (const e of document.querySelectorAll(':is(.bd-article, .bd-sidebar, .bd-footer-content) '
      + '*:not(svg, svg *, math, math *)')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    if (e.closest('.visually-hidden') || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    if (style.visibility === 'hidden' || +style.opacity === 0) continue;
    const back = ground(e), [a, b] = [lum(over(rgb(style.color), back)), lum(back)];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const size = parseFloat(style.fontSize);
    const big = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
    if (ratio < (big ? 3 : 4.5)) bad.push(e.tagName + '.' + e.className + ' '
      + ratio.toFixed(2) + ': ' + e.textContent.trim().slice(0, 40));
  }
  return [...new Set(bad)].slice(0, 10);
}"""


def test_search_knows_spanish_endings(address: str, visit):
    """Se busca en plural y aparecen las páginas que lo dicen en singular."""
    pages = {}
    for word in ("consulta", "consultas"):
        seen = visit(f"{address}/search.html?q={word}")
        seen.page.wait_for_selector(".search-summary:has-text('encontradas')")
        links = seen.page.locator("#search-results li > a").all()
        pages[word] = {re.split(r"[?#]", link.get_attribute("href"))[0] for link in links}
    assert "book/key_value_store.html" in pages["consulta"]
    assert pages["consultas"] == pages["consulta"]
    assert seen.problems == [] and seen.outside == []
    # Sin los extractos, que son texto de las páginas, con su código.
    seen.page.evaluate("document.querySelectorAll('p.context').forEach(e => e.remove())")
    summary = seen.page.locator("#search-results").inner_text()
    assert not ENGLISH.search(summary), summary


def test_search_without_results_says_what_to_do(address: str, visit):
    page = visit(f"{address}/search.html?q=xilófono").page
    page.wait_for_function("document.querySelector('.search-summary')?.innerText")
    assert page.locator("#search-results h2").inner_text() == "Resultados"
    assert page.locator(".search-summary").inner_text() == (
        "Ninguna página contiene todas esas palabras. Revisa cómo están escritas o busca con menos."
    )


# Lo que se ve al pintar la página por primera vez.
FIRST_PAINT = """new PerformanceObserver(() => {
  window.firstPaint ??= {
    theme: document.documentElement.dataset.theme,
    ground: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color,
    logos: [...document.querySelectorAll('img.logo__image')].filter(e => e.offsetParent).length,
  };
}).observe({type: 'paint', buffered: true});"""
PAINTED = {
    "light": {"ground": "rgb(253, 252, 249)", "ink": "rgb(31, 37, 48)"},
    "dark": {"ground": "rgb(20, 24, 31)", "ink": "rgb(230, 228, 222)"},
}


@pytest.mark.parametrize(
    "system, chosen, seen",
    [
        ("light", None, "light"),
        ("dark", None, "dark"),
        ("light", "dark", "dark"),
        ("dark", "light", "light"),
        ("dark", "auto", "dark"),
    ],
)
@pytest.mark.parametrize("name", ["book/attention", "search"])
def test_first_paint_has_the_theme(address: str, chromium, name, system, chosen, seen):
    """Aunque los guiones tarden: aquí no llega ninguno."""
    context = chromium.new_context(viewport=DESKTOP, color_scheme=system)
    context.add_init_script(FIRST_PAINT)
    if chosen:
        context.add_init_script(f"localStorage.setItem('mode', {chosen!r})")
    context.route(re.compile(r"\.js(\?|$)"), lambda route: route.abort())
    page = context.new_page()
    page.goto(f"{address}/{name}.html")
    page.wait_for_function("window.firstPaint")
    assert page.evaluate("firstPaint") == {"theme": seen, "logos": 1, **PAINTED[seen]}
    context.close()


@pytest.mark.parametrize("system", ["light", "dark"])
def test_without_scripts_it_is_read_in_light(address: str, chromium, system: str):
    context = chromium.new_context(viewport=DESKTOP, color_scheme=system, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/book/attention.html")
    body = page.locator("body")
    for name, value in (("background-color", "ground"), ("color", "ink")):
        style = body.evaluate(f"e => getComputedStyle(e).getPropertyValue('{name}')")
        assert style == PAINTED["light"][value]
    assert page.locator("img.logo__image:visible").count() == 1
    assert page.locator(".search-button__button:visible").count() == 0
    context.close()


def test_the_copied_code_is_the_written_one(address: str, chromium):
    """Partir una línea larga no la cambia: se copia entera."""
    context = chromium.new_context(
        viewport=PHONE, permissions=["clipboard-read", "clipboard-write"]
    )
    page = context.new_page()
    page.goto(f"{address}/book/attention.html")
    page.wait_for_selector(".cell_input button.copybtn", state="attached")
    number, code = page.evaluate("""() => {
      const blocks = [...document.querySelectorAll('.cell_input')];
      const split = e => [...e.querySelectorAll('.line')].some(
        l => l.getClientRects()[0]?.height > 1.9 * parseFloat(getComputedStyle(l).lineHeight));
      const number = blocks.findIndex(split);
      return [number, blocks[number].querySelector('pre').textContent];
    }""")
    assert max(map(len, code.splitlines())) > 40
    page.locator(".cell_input").nth(number).locator("button.copybtn").click(force=True)
    page.wait_for_selector(".copybtn.success")
    assert page.evaluate("navigator.clipboard.readText()") == code.rstrip("\n")
    context.close()


def test_a_copied_formula_is_its_tex(address: str, chromium):
    """Entera, aunque la selección empiece dentro; y en medio de un párrafo, con su texto."""
    context = chromium.new_context(
        viewport=DESKTOP, permissions=["clipboard-read", "clipboard-write"]
    )
    page = context.new_page()
    page.goto(f"{address}/book/notation.html")
    copied = """async selector => {
      const all = [...document.querySelectorAll(selector)];
      const place = all.find(e => e.querySelectorAll("math").length > 1);
      getSelection().selectAllChildren(place);
      document.execCommand("copy");
      return [[...place.querySelectorAll("annotation")].map(e => e.textContent),
        await navigator.clipboard.readText(), place.textContent.trim().slice(0, 12)];
    }"""
    formulas, text, start = page.evaluate(copied, ".bd-article section > p")
    assert text.startswith(start)
    assert all(f"${tex}$" in text for tex in formulas)
    page.goto(f"{address}/book/attention.html")
    tex, text = page.evaluate("""async () => {
      const formula = document.querySelector(".formula math");
      getSelection().setBaseAndExtent(formula.querySelector("mi").firstChild, 0,
        [...formula.querySelectorAll("mi")].at(-1).firstChild, 1);
      document.execCommand("copy");
      return [formula.querySelector("annotation").textContent,
        await navigator.clipboard.readText()];
    }""")
    assert text.strip() == f"$${tex}$$"
    context.close()


def test_attention_on_paper(address: str, chromium, tmp_path: Path):
    """Pocas hojas, todo desplegado, nada cortado y sin lo que solo sirve en la pantalla."""
    context = chromium.new_context(viewport={"width": 690, "height": 1000}, color_scheme="dark")
    page = context.new_page()
    page.goto(f"{address}/book/attention.html")
    page.wait_for_selector(".lab-controls")
    sheets = page.pdf(path=tmp_path / "attention.pdf", prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", sheets)) <= 16
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator(".bd-article details:not([open])").count() == 0
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.evaluate(CUT) == []
    assert page.evaluate(BEYOND_THE_PAPER) == [], "en papel no hay adónde desplazarse"
    for hidden in (".lab-controls", ".lab-live", ".bd-sidebar-primary", ".page-doors", ".copybtn"):
        assert page.locator(f"{hidden}:visible").count() == 0, hidden
    assert page.locator(".lab-printed:visible").count() == 1
    assert page.locator(".bd-article h1:visible").count() == 1
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.locator("details[open]").count() == 0
    assert page.locator(".lab-printed:visible").count() == 0
    context.close()


@pytest.mark.parametrize("name", ["book/attention", "book/notation"])
def test_formulas_without_a_server(site: Path, visit, name: str):
    seen = visit((site / f"{name}.html").as_uri())
    assert_formulas_are_set(seen.page)
    assert seen.page.locator("math").count() > 5
    assert seen.outside == []


def test_progress_is_kept_in_this_browser_alone(address: str, visit):
    """Se pega lo que da `resumen()` o se marca con el teclado, y al volver está."""
    seen = visit(f"{address}/book/progress.html", PHONE, "dark")
    page = seen.page
    total = page.locator(".progress-total")
    assert total.inner_text().startswith("0 de ")
    page.fill(
        "#progress-line",
        "Atención: 2 de 8\n Para la página «Tu progreso»: attention: soft_argmax, columns, nada",
    )
    page.get_by_role("button", name="Anotar").press("Enter")
    assert page.locator(".progress-said").inner_text() == "Anotados: 2 ejercicios."
    page.locator("[data-progress='book/attention']").press("Space")
    assert total.inner_text().startswith("1 de ") and " · 2 de " in total.inner_text()
    page.reload()
    assert total.inner_text().startswith("1 de ") and " · 2 de " in total.inner_text()
    assert page.locator("[data-progress='attention.columns']").is_checked()
    page.fill("#progress-line", "<b>otra</b>: cosa")
    page.get_by_role("button", name="Anotar").click()
    assert page.locator(".progress-said").inner_text().startswith("No hay ahí")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Borrar todo").click()
    assert total.inner_text().startswith("0 de ")
    assert seen.outside == [] and seen.problems == []


def test_a_link_shows_what_it_leads_to(address: str, visit):
    """Un término, una ecuación y una cita: con el puntero o con el foco, y Escape los quita."""
    seen = visit(f"{address}/book/attention.html")
    page, card = seen.page, seen.page.locator(".preview-card")
    page.locator("article a[href='glossary.html#term-consulta']").first.hover()
    card.wait_for()
    assert card.inner_text().startswith("consulta") and card.locator("a, button").count() == 0
    page.keyboard.press("Escape")
    assert card.count() == 0
    page.mouse.move(0, 0)
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    page.keyboard.press("Tab")  # Desde aquí, el foco es de quien usa el teclado.
    for selector in ("a.reference.internal[href*='#equation-']", "a[href*='bibliography.html#']"):
        link = page.locator(f"article {selector}").first
        link.focus()
        card.wait_for()
        assert link.get_attribute("aria-describedby") == card.get_attribute("id")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0 and (card.inner_text() or card.locator("math").count())
        page.keyboard.press("Tab")  # No atrapa: el foco sigue, y la tarjeta es otra o ninguna.
        assert link.get_attribute("aria-describedby") is None
    assert seen.problems == [] and seen.outside == []


def test_keyboard_focus_is_visible(address: str, visit):
    page = visit(f"{address}/book/attention.html").page
    for _ in range(4):
        page.keyboard.press("Tab")
        width = page.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert float(width.removesuffix("px")) >= 2
    for scheme in in_both_themes(page, "light"):
        assert page.evaluate(RING) >= 3, f"el anillo del foco apenas se ve ({scheme})"


# Contraste de WCAG del anillo del foco con lo más parecido a él: el papel o un cuadro.
RING = """() => {
  const lum = c => c.match(/[\\d.]+/g).slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92
    : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const probe = document.body.appendChild(document.createElement('i'));
  const shown = color => { probe.style.color = color; return lum(getComputedStyle(probe).color); };
  const ring = lum(getComputedStyle(document.activeElement).outlineColor);
  return Math.min(...['paper', 'surface'].map(name => shown(`var(--course-${name})`))
    .map(back => (Math.max(ring, back) + .05) / (Math.min(ring, back) + .05)));
}"""


def test_a_link_lands_on_its_section(address: str, visit):
    """También en frío, cuando el alto de las secciones de antes aún se está calculando."""
    page = visit(f"{address}/book/attention.html#el-costo-t-2", PHONE).page
    page.wait_for_timeout(500)
    top = page.evaluate("document.querySelector(':target').getBoundingClientRect().top")
    assert 0 <= top <= 80
