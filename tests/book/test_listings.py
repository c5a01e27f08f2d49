"""El código en cajas: una por línea, con su sangría, y el texto intacto."""

import sys
from pathlib import Path

from bs4 import BeautifulSoup
from pygments import highlight
from pygments.lexers import PythonLexer
from sphinx.config import Config

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from course_site.listings import LineBoxes, ListingReader  # noqa: E402

CODE = 'def f(x):\n    """Uno,\n      dos & <tres>."""\n\n    return [\n        x,\n    ]\n'


def test_every_line_has_its_box_and_the_text_is_the_same():
    page = BeautifulSoup(highlight(CODE, PythonLexer(), LineBoxes()), "html.parser")
    assert page.pre.get_text() == CODE
    boxes = page.select("pre > .line")
    assert [b.get_text() for b in boxes] == [line for line in CODE.splitlines() if line.strip()]
    assert [b.get("style", "") for b in boxes] == [
        "",
        "--indent: 4ch",
        "--indent: 6ch",
        "--indent: 4ch",
        "--indent: 8ch",
        "--indent: 4ch",
    ]


LIBRARY = '''\
class A:
    """Una clase.

    Fuente: capítulo `uno`.

    Ejemplo:
        >>> A().f()
        1

        >>> "otro"
        'otro'
    """

    def f(self):
        """Un método.

        Ejemplo:
            >>> A().f()
            1
        """
        return 1
'''


def test_a_listing_has_no_example(tmp_path):
    file = tmp_path / "a.py"
    file.write_text(LIBRARY, encoding="utf-8")
    brief, _ = ListingReader(str(file), {"pyobject": "A"}, Config()).read()
    assert brief.splitlines() == ["class A:", "    def f(self):", "        return 1"]
    options = {"pyobject": "A", "docstring": None}
    whole, _ = ListingReader(str(file), options, Config()).read()
    assert ">>>" not in whole and "Ejemplo" not in whole
    assert whole.splitlines() == [
        "class A:",
        '    """Una clase.',
        "",
        "    Fuente: capítulo `uno`.",
        '    """',
        "",
        "    def f(self):",
        '        """Un método.',
        '        """',
        "        return 1",
    ]
    assert ListingReader(str(file), {}, Config()).read()[0] == LIBRARY
    chosen = {"pyobject": "A", "lines": "10-"}
    assert ListingReader(str(file), chosen, Config()).read()[0] == "        return 1\n"
