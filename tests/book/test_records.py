"""Los números del texto que salen de un experimento son los de su registro."""

import json
import re
import sys

import pytest

from tests.book.prose import ROOT, parser

sys.path.insert(0, str(ROOT / "book" / "_ext"))

from course_site.records import check

ROLE = re.compile(r"(.+)\s<([^<>]+)>", re.S)


def roles(text):
    """El texto y el destino de cada `{record}` de una página, también dentro de directivas."""
    for token in parser().parse(text):
        if token.type in {"fence", "colon_fence"} and token.info.startswith("{"):
            yield from roles(token.content)
        for child in token.children or ():
            if child.type == "myst_role" and child.meta["name"] == "record":
                yield ROLE.fullmatch(" ".join(child.content.split())).groups()


def test_every_number_said_to_be_of_a_record_is_in_it():
    pages = {path.stem: path.read_text("utf-8") for path in (ROOT / "book").glob("*.md")}
    found = {name: list(roles(text)) for name, text in pages.items()}
    assert any(found.values())
    for name, said in found.items():
        assert len(said) == pages[name].count("{record}`"), f"{name}: no se leyeron todos"
        for text, target in said:
            check(text, target, ROOT)


def write_record(project):
    """El registro del experimento `uno`, con lo que hace falta de él."""
    figure = {"mean": 0.5193, "half_width": 0.1061}
    less = {"mean": -0.2741, "half_width": 0.136}
    rival = {
        "grid": [0.001, 0.01],
        "chosen": 0.01,
        "parameters": 41792,
        "tried": [{"mean": 1.25, "half_width": None}, figure],
        "test": {"acierto": figure, "pérdida": {"mean": 1.2049, "half_width": 0.01}},
        "difference": {"acierto": less},
    }
    record = {"name": "uno", "rivals": {"a, 1 bloque": rival}}
    record |= {"measures": {"acierto": "%", "pérdida": ""}, "chosen_by": "acierto"}
    folder = project / "benchmarks" / "results" / "experiments"
    folder.mkdir(parents=True)
    (folder / "uno.json").write_text(json.dumps(record), encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    write_record(folder)
    return folder


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("51.9 ± 10.6 %", "acierto"),
        ("52 %", "acierto"),
        ("1.205", "pérdida"),
        ("1.20", "pérdida"),
        ("27.4 ± 13.6", "acierto/difference"),
        ("41 792", "parameters"),
        ("0.01", "chosen"),
        ("51.9", "tried/0.01"),
    ],
)
def test_the_record_s_own_figure_passes(project, text, place):
    check(text, f"uno/a, 1 bloque/{place}", project)


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("52.0 %", "uno/a, 1 bloque/acierto", "el registro, 51.93"),
        ("51.9 ± 9.0 %", "uno/a, 1 bloque/acierto", "el registro, 51.93 ± 10.61"),
        ("0.519", "uno/a, 1 bloque/acierto", "el registro"),
        ("casi todo", "uno/a, 1 bloque/acierto", "se esperaban de 1 a 2 números"),
        ("51.9", "uno/b/acierto", "no está en el registro"),
        ("51.9", "uno/a, 1 bloque/gusto", "no está en el registro"),
        ("51.9", "uno/a, 1 bloque", "no está en el registro"),
        ("51.9", "dos/a/acierto", "no hay un registro benchmarks/results/experiments/dos.json"),
    ],
)
def test_any_other_number_is_refused(project, text, target, message):
    with pytest.raises(ValueError, match=message):
        check(text, target, project)
