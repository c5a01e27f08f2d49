"""Lo que se encuentra quien lee cada capítulo: `python -m tests.book.metrics [SITIO] [TEMA…]`.

Del texto: código visible (celdas y listados de la biblioteca), `assert` y `alt=` a la vista,
preguntas, palabras y minutos; lo opcional no cuenta. Con la carpeta de un sitio construido, además,
medido con Chromium: dónde empieza la primera imagen, el código y lo impreso que se ven, las barras
plegadas sin nada debajo, los bloques que no caben y el alto de la página, a 1280 × 800; y las
fórmulas que obligan a desplazarse, a 390 px.
"""

import re
import sys
from pathlib import Path

import yaml
from markdown_it.tree import SyntaxTreeNode

from tests.book.prose import ROOT, parser

sys.path.insert(0, str(ROOT / "book" / "_ext"))

# Cómo se lee: palabras por minuto, y segundos por fórmula aparte, renglón de código y pregunta.
WORDS_A_MINUTE, FORMULA, CODE_LINE, QUESTION = 200, 30, 5, 20
HIDDEN = {"remove-input", "remove-cell", "hide-input", "hide-cell"}
APART = {"optional", "dropdown", "question", "prediction", "score"}
WORD = re.compile(r"[^\W\d_]{2,}|\b[aeoyu]\b")
LOOK = """() => {
  // Lo que aún no se ha visto cuenta con su alto verdadero, y no con el que se le supone.
  document.head.append(Object.assign(document.createElement('style'),
    { textContent: '* { content-visibility: visible !important; }' }));
  const article = document.querySelector('article');
  const seen = e => e.offsetParent !== null && e.getClientRects().length > 0;
  const all = s => [...article.querySelectorAll(s)].filter(seen);
  const top = e => e.getBoundingClientRect().top + scrollY;
  const pre = all('.highlight pre');
  const pictures = all('svg, img, canvas, .laboratory')
    .filter(e => e.getBoundingClientRect().width > 200);
  const wide = e => e.scrollWidth > e.clientWidth + 1;
  return {
    first: pictures.length ? Math.round(Math.min(...pictures.map(top))) : null,
    shown: pre.reduce((n, p) => n + p.innerText.trimEnd().split('\\n').length, 0),
    cut: pre.filter(wide).length,
    bars: all('.cell details.hide').filter(e => !e.closest('.cell').querySelector('.cell_output'))
      .length,
    height: document.documentElement.scrollHeight,
    formulas: all('div.formula').filter(wide).length,
  };
}"""


def chapters() -> list[str]:
    """Los capítulos que enseñan un tema, en orden: las tres partes desde la de «Atención»."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    parts = [[c["file"] for c in part["chapters"]] for part in toc["parts"]]
    first = next(n for n, files in enumerate(parts) if "book/attention" in files)
    files = [file for files in parts[first : first + 3] for file in files]
    return [Path(f).name for f in files if f != "book/notation"]


def measure(text: str, folder: Path = ROOT / "book") -> dict[str, int]:
    """Lo que se ve de un capítulo, por su texto."""
    found = dict.fromkeys(("code", "asserts", "alts", "questions", "words", "formulas"), 0)
    _walk(SyntaxTreeNode(parser().parse(text)).children, found, folder)
    seconds = (
        found["words"] * 60 / WORDS_A_MINUTE
        + found.pop("formulas") * FORMULA
        + found["code"] * CODE_LINE
        + found["questions"] * QUESTION
    )
    return found | {"minutes": round(seconds / 60)}


def _walk(nodes: list[SyntaxTreeNode], found: dict[str, int], folder: Path) -> None:
    folded = 0  # el nivel del título cuyo apartado se pliega entero
    level = 0
    for node in nodes:
        if node.type == "heading":
            level = int(node.tag[1])
            folded = folded if level > folded else 0
        name = _directive(node)
        if name == "optional" and not _body(node.content).strip():
            folded = level
        if name in {"question", "prediction"}:
            found["questions"] += 1
        if folded or name in APART or node.type == "front_matter":
            continue
        _count(node, name, found, folder)


def _count(node: SyntaxTreeNode, name: str, found: dict[str, int], folder: Path) -> None:
    if name == "code-cell":
        options = re.search(r"(?m)^:?tags: \[(.*)\]", node.content)
        tags = {tag.strip() for tag in options[1].split(",")} if options else set()
        if not tags & HIDDEN:
            code = _body(node.content).strip().splitlines()
            found["code"] += len(code)
            found["asserts"] += sum(bool(re.match(r"\s*assert", line)) for line in code)
            found["alts"] += sum("alt=" in line for line in code)
    elif name == "literalinclude":
        found["code"] += len(_listing(node, folder))
    elif name:
        if name not in {"diagram", "laboratory", "screen", "bibliography"}:
            _count_words(node.info.partition("}")[2], found)
        _walk(SyntaxTreeNode(parser().parse(_body(node.content))).children, found, folder)
    elif node.type in {"math_block", "math_block_label", "amsmath"}:
        found["formulas"] += 1
    elif node.type in {"fence", "code_block"}:
        found["code"] += len(node.content.strip().splitlines())
    elif node.type == "inline":
        _count_words("".join(_spoken(child) for child in node.children), found)
    else:
        for child in node.children:
            _count(child, _directive(child), found, folder)


def _count_words(text: str, found: dict[str, int]) -> None:
    found["words"] += len(WORD.findall(text))


def _spoken(node: SyntaxTreeNode) -> str:
    if node.type in {"softbreak", "hardbreak"}:
        return " "
    if node.type == "text":
        return node.content
    if node.type == "myst_role":
        return re.sub(r"\s*<[^<>]*>$", "", node.content)
    return "".join(map(_spoken, node.children)) if node.children else ""


def _directive(node: SyntaxTreeNode) -> str:
    if node.type not in {"fence", "colon_fence"}:
        return ""
    match = re.match(r"\{([\w-]+)\}", node.info.strip())
    return match[1] if match else ""


def _body(content: str) -> str:
    """Lo que sigue a las opciones, sean `:nombre:` o un bloque entre `---`."""
    content = re.sub(r"\A---\n.*?\n---\n", "", content, flags=re.S)
    return re.sub(r"\A(:[\w-]+:.*\n?)+", "", content)


def _listing(node: SyntaxTreeNode, folder: Path) -> list[str]:
    from course_site.listings import ListingReader
    from sphinx.config import Config

    path = folder / node.info.split()[-1]
    options = dict(re.findall(r"(?m)^:([\w-]+): *(.*)$", node.content))
    options.pop("language", None)
    return ListingReader(str(path), options, Config()).read()[0].strip().splitlines()


def look(html: Path, names: list[str]) -> dict[str, dict[str, int]]:
    """Lo que se ve de cada página construida."""
    from playwright.sync_api import sync_playwright

    from tests.conftest import CHROMIUM, CHROMIUM_ARGS

    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS)
        for name in names:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto((html / "book" / f"{name}.html").resolve().as_uri())
            page.wait_for_timeout(300)
            found[name] = page.evaluate(LOOK)
            page.set_viewport_size({"width": 390, "height": 844})
            page.wait_for_timeout(300)
            found[name]["formulas"] = page.evaluate(LOOK)["formulas"]
            page.close()
        browser.close()
    return found


def main(arguments: list[str]) -> None:
    sites = [Path(a) for a in arguments if Path(a, "book").is_dir() and a != "."]
    names = [a for a in arguments if Path(a) not in sites] or chapters()
    rows = {name: measure((ROOT / "book" / f"{name}.md").read_text("utf-8")) for name in names}
    if sites:
        for name, seen in look(sites[0], names).items():
            rows[name] |= seen
    columns = list(next(iter(rows.values())))
    print(f"{'':<24}" + "".join(f"{column:>10}" for column in columns))
    for name, row in rows.items():
        print(f"{name:<24}" + "".join(f"{row[column]!s:>10}" for column in columns))
    middle = [sorted(row[c] or 0 for row in rows.values())[len(rows) // 2] for c in columns]
    print(f"{'mediana':<24}" + "".join(f"{value:>10}" for value in middle))


if __name__ == "__main__":
    main(sys.argv[1:])
