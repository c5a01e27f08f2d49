"""Las tablas escritas a mano: se leen cuando hacen falta, y de un renglón malo se dice cuál es."""

import hashlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from course_lib.data import _tables, opinions, recipes, tasks
from course_lib.data._tables import TableError
from course_lib.data.opinions import generate_opinions

FOLDER = Path(_tables.__file__).parent
READERS = (recipes, opinions, tasks, _tables)

# Lo primero que da cada generador, con la semilla 0; las recetas están en `test_recipes`.
PINNED = {
    "opinions": "0322020d1921f2c4",
    "held_out": "10d74d329d073a64",
    "tasks": "3d30bdd69e71134c",
}


def digest(found):
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def test_the_corpus_is_the_same_on_every_machine():
    assert digest(generate_opinions(300)) == PINNED["opinions"]
    assert digest(generate_opinions(300, held_out=True)) == PINNED["held_out"]
    makers = ("sentence", "pair", "choice", "question", "tagged")
    found = [getattr(tasks, f"{name}_examples")(40, 0) for name in makers]
    assert digest(found) == PINNED["tasks"]


def forget():
    """Olvida lo leído."""
    for module in READERS:
        for each in vars(module).values():
            if hasattr(each, "cache_clear"):
                each.cache_clear()


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Una copia de las tablas, que se puede estropear."""
    for path in FOLDER.glob("*.txt"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(_tables, "_FOLDER", tmp_path)
    forget()
    yield tmp_path
    monkeypatch.undo()
    forget()


def read_all():
    recipes.dishes()
    recipes.opinion_frames()
    recipes._neutral("openings")
    opinions.held_out_positions()
    for name in ("good", "bad", "style"):
        recipes.adjectives(name)
    for item in recipes.ingredients().values():
        recipes._by_ingredient("@", "main", item)
        recipes._by_ingredient("&", "main", item)
    for line in tasks._lines("ambiguous"):
        tasks._ambiguous_template(line)


@pytest.mark.parametrize(
    ("table", "old", "new", "says"),
    [
        ("ingredients", "papa|fc|potato|piezas", "papa|fc|potato", "se esperaban 4 columnas"),
        ("ingredients", "papa|fc|", "papa|fx|", "se esperaba un género"),
        ("ingredients", "potato|piezas", "potato|puñados", "«puñados» no está en measures.txt"),
        ("ingredients", "camote|mc|sweet", "papa|mc|sweet", "«papa» ya está en la tabla"),
        ("measures", "litros|litro de|", "litros|", "se esperaban 6 columnas"),
        ("dishes", "sopa|f|soup|de|", "sopa|f|soup|sin|", "el enlace es «de» o «con»"),
        ("dishes", "guiso|m|stew|de|stew|", "guiso|m|stew|de|hervir|", "no está en methods.txt"),
        ("dishes", "|de|soup|", "|de|", "se esperaban 6 columnas"),
        ("methods", "[soup: aromatic=bulb", "[soup: aromatic", "se esperaba «papel=grupo»"),
        ("methods", "garlic=garlic", "garlic=piedras", "El léxico no tiene «piedras»"),
        ("methods", "%sauté", "%saltar", "«%saltar» no está en stages.txt"),
        ("methods", "@main", "@nadie", "el método no tiene el papel «nadie»"),
        ("methods", "@main\n", "| otra\n", "no sigue a ningún paso"),
        ("methods", "[soup: ", "[soup ", "se esperaba «nombre: texto»"),
        ("stages", " => Taste", " -> Taste", "traduce la plantilla"),
        ("preparations", "Pica {x} finamente.", "Zarandea {x}.", "«Zarandea» no tiene etiqueta"),
        ("adjectives", "delicioso|delicious", "delicioso", "se esperaban 2 columnas"),
        ("adjectives", "[bad]", "[malos]", "falta la parte «[bad]»"),
        ("opinions", "falta: No", "falta No", "se esperaba «nombre: texto»"),
        ("opinions", "nothing. // ", "nothing. / ", "se esperaba una sola vez «//»"),
        ("opinions", "verdad: Y nada", "verdad: X nada", "una posición del nexo"),
        ("opinions", "verdad: Y nada", "verdades: Y nada", "«verdades» no está en"),
        ("groups", "[flour]", "[flour", "se esperaba «[nombre]»"),
        ("groups", "[flour]", "[filling]", "ya está más arriba"),
        ("groups", "# Los grupos", "Los grupos", "antes del primer «[encabezado]»"),
        ("tasks", "La prueba_NOUN de", "La zurra de", "«zurra» no tiene etiqueta"),
    ],
)
def test_a_malformed_line_is_refused_with_its_file_and_number(tables, table, old, new, says):
    path = tables / f"{table}.txt"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    number = text[: text.index(old)].count("\n") + 1
    with pytest.raises(TableError, match=re.escape(says)) as error:
        read_all()
    expected = f"course_lib/data/{table}.txt" + f", renglón {number}" * ("falta" not in says)
    assert str(error.value).startswith(f"{expected}: ")


def test_the_tables_are_read_whole(tables):
    read_all()


def test_importing_the_generators_reads_no_table():
    code = """
import builtins, pathlib
def forbidden(*args, **kwargs):
    raise AssertionError("se leyó una tabla")
pathlib.Path.read_text = forbidden
import course_lib.data.recipes, course_lib.data.opinions, course_lib.data.tasks
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_tables_travel_with_the_package():
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text("utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["course_lib.data"]
    packed = {path for pattern in patterns for path in FOLDER.glob(pattern)}
    assert packed == {path for path in FOLDER.iterdir() if path.is_file() and path.suffix != ".py"}
