"""Cuadernos personales: de la lista de la clase a las notas, y lo que se ve si uno es de otro."""

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import course_lib
from course_lib.cli import app
from course_lib.grading.provenance import whose
from course_lib.judging import check as checking
from course_lib.judging.check import find_exercise
from course_lib.judging.owner import allotted, owned_by, owner, same_person, words_of
from course_lib.notebooks.topic_source import FaultsError, TopicSource, compiled_path

ROOT = Path(course_lib.__file__).parents[1]
NAME = "transformer_xl.cost"
VARIED = ("palm.cache", "transformer.parameters", NAME)


def run(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(a) for a in arguments])


def place(name):
    """El lugar de las listas que le toca a alguien."""
    stored = json.loads(compiled_path(ROOT, "transformer_xl").read_bytes())["exercises"]
    (own,) = (each for each in stored if each["name"] == NAME)
    return allotted(name, NAME, 1 + len(own["variants"]))


def right(name):
    """La respuesta correcta del ejercicio, con las constantes de alguien."""
    with owned_by(name):
        return find_exercise(NAME).reference


# De quién es


def test_a_name_is_the_same_however_it_is_written():
    assert words_of("GARCÍA, Ana") == words_of("ana garcia")
    assert same_person("Ana García", "García López, Ana") and same_person("Noa", "noa")
    assert not same_person("Ana García", "Luis García") and not same_person("Ana", "Ana García")
    assert allotted("Ana García", "x", 1000) == allotted("garcia ana", "x", 1000)


@pytest.mark.parametrize("name", VARIED)
def test_each_variation_is_answered_only_with_its_own_constants(name):
    seen = {}
    for one in map(str, range(40)):
        with owned_by(one):
            exercise = find_exercise(name)
        seen.setdefault(id(exercise), exercise)
    assert len(seen) == 3, "les toca de todas"
    for mine in seen.values():
        for other in seen.values():
            found = checking.check_exercise(mine, other.reference)
            assert (found.status == "correct") == (mine is other)


def test_a_common_notebook_is_as_always():
    assert owner() == ""
    exercise = find_exercise(NAME)
    assert checking.check(NAME, exercise.reference).status == "correct"
    seed = checking._notebook_seed()
    checking.check(NAME, exercise.reference, owner="Ana")
    assert owner() == "Ana" and checking._notebook_seed() != seed
    checking.set_owner("")


# Lo que se escribe mal


def source(tmp_path, header, text="# Suma\nSuma {{sumando}}.", solution="return x + {{sumando}}"):
    folder = tmp_path / "solutions" / "demo"
    folder.mkdir(parents=True)
    (folder / "_topic.md").write_text(
        "---\ntitulo: Demo\n---\n\n```{code-cell} ipython3\nfrom course_lib import check\n```\n\n"
        "```{ejercicios}\nsuma\n```\n"
    )
    (folder / "suma.md").write_text(
        f"---\npuntos: 1\n{header}---\n{text}\n\n```{{code-cell}} ipython3\ndef suma(x):\n"
        f"    ### BEGIN SOLUTION\n    {solution}\n    ### END SOLUTION\n```\n\n## Casos\n"
        "```python\ndef cases(rng):\n    return [(1,), (2,)]\n```\n\n## Errores\n"
        "- `x + ` → `x - ` restas, y se pide sumar.\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("varia: 3\n", "una tabla de constantes"),
        ("varia:\n  sumando: [3]\n", "una lista de 2 a 12 valores"),
        ("varia:\n  sumando: [3, 4]\n  otra: [1, 2]\n", "«otra» no se usa"),
        ("varia:\n  sumando: [3, 4]\n  Mal: [1, 2]\n", "no sirve de nombre"),
        ("varia:\n  sumando: [3, 4, 5]\n  suma: [1, 2]\n", "las listas miden lo mismo"),
        ("varia:\n  sumando: [[3], [4]]\n", "un número o un texto de una línea"),
    ],
)
def test_wrong_constants_are_told(tmp_path, header, told):
    text = "# Suma\nSuma {{sumando}}, y {{suma}}."
    with pytest.raises(FaultsError, match=told):
        TopicSource.read("demo", source(tmp_path, header, text))


def test_a_constant_reaches_the_text_and_the_solution(tmp_path):
    root = source(tmp_path, "varia:\n  sumando: [3, 4]\n")
    read = [TopicSource.read("demo", root, name) for name in ("", *map(str, range(20)))]
    texts = {made.exercises[0].text.partition("Suma ")[2][:2] for made in read}
    assert texts == {"3.", "4."} and "x + 3" in read[0].exercises[0].code
    assert len(json.loads(read[0].compiled)["exercises"][0]["variants"]) == 1


def test_what_the_notebook_gives_does_not_change(tmp_path):
    root = source(tmp_path, "varia:\n  sumando: [3, 4]\n")
    path = root / "solutions/demo/suma.md"
    path.write_text(path.read_text().replace("def suma(x):", "def suma(x, y={{sumando}}):"))
    with pytest.raises(FaultsError, match="cambia lo que el cuaderno da"):
        TopicSource.read("demo", root)


def test_a_variation_that_would_not_be_noticed_is_refused(tmp_path):
    from course_lib.notebooks.verification import verify

    root = source(tmp_path, "varia:\n  sumando: [3, 3.0]\n")
    assert any("pasa también con los del" in f.text for f in verify(TopicSource.read("demo", root)))


# De la lista a las notas


@pytest.fixture(scope="module")
def names():
    """Tres personas a las que no les toca lo mismo, y una cuarta."""
    found = {}
    for name in ("Ana García", "Luis Pérez", "Noa Ruiz", "Eva Sol", "Iván Gil", "Sara Mora"):
        found.setdefault(place(name), name)
    assert len(found) == 3
    return [*found.values(), "Zoe Vidal"]


@pytest.fixture(scope="module")
def classroom(names, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clase")
    rows = ["Apellido(s);Nombre", *(";".join(reversed(name.split())) for name in names)]
    (folder / "clase.csv").write_text("\n".join(rows), encoding="utf-8")
    done = run(
        "release", "transformer_xl", "--vary", folder / "clase.csv", "--out", folder / "aula"
    )
    assert done.exit_code == 0, done.output
    return folder


def notebook(classroom, name):
    path = classroom / "aula" / "personales" / name / "transformer_xl.ipynb"
    return path.read_text(encoding="utf-8")


def answered(text, answer):
    changed = text.replace('"answer = [..., ...]', f'"answer = {answer}')
    assert changed != text
    return changed


def test_each_one_has_their_notebook(classroom, names):
    assert not list((classroom / "aula/comun/exercises").iterdir())
    for name in names:
        text = notebook(classroom, name)
        assert f'owner=\\"{name}\\"' in text and "{{" not in text
    assert len({notebook(classroom, n).count("640") for n in names[:3]}) > 1


def test_checking_and_grading_agree_and_a_copy_is_seen(classroom, names):
    first, second, third, last = names
    delivered = classroom / "entregas"
    delivered.mkdir()

    def deliver(name, text):
        (delivered / f"{name}.ipynb").write_text(text, encoding="utf-8")

    deliver(first, answered(notebook(classroom, first), right(first)))
    deliver(second, answered(notebook(classroom, first), right(first)))  # el cuaderno de la primera
    deliver(third, answered(notebook(classroom, third), right(first)))  # solo su respuesta
    deliver(last, notebook(classroom, last))
    checked = run("check", delivered / f"{first}.ipynb")
    assert "1 correcto" in checked.output, checked.output
    deliver("Nadie Conocido", answered(notebook(classroom, second), right(second)))
    done = run(
        "grade", delivered, "--vary", classroom / "clase.csv", "--out", classroom / "calificado"
    )
    assert done.exit_code == 3, done.output
    with (classroom / "calificado/grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["Estudiante"]: row for row in csv.DictReader(file)}
    points = {name: rows[name].get(f"{NAME} (1)") for name in names}
    assert points == {first: "1", second: "0", third: "0", last: ""}
    assert rows["Nadie Conocido"].get(f"{NAME} (1)") == "1"
    assert "quien entrega no está en la lista de --vary" in done.output
    assert f"el cuaderno es el que se repartió a «{first}»" in done.output
    assert done.output.count("el cuaderno es el que se repartió") == 1
    assert "es el cuaderno de ejercicios del curso" in done.output
    report = (classroom / "calificado/report.html").read_text(encoding="utf-8")
    assert f"se repartió a «{first}»" in report


def test_nobody_chooses_what_they_are_asked():
    roster = ["Ana García López", "Luis Pérez"]
    theirs = roster[0]
    assert whose(theirs, "ana garcía", roster) == (theirs, "")
    for said in ("", "Ana García", "Ana García López 7", "Luis Pérez", "<b>"):
        found, told = whose(said, theirs, roster)
        assert found == theirs and "el cuaderno" in told
    assert whose("Luis Pérez", "usuario7", roster)[0] == "Luis Pérez"
    found, told = whose("Luis Pérez 7", "usuario7", ["Luis Pérez Gil", "Luis Pérez Sol"])
    assert not found and "como el de todos" in told
    assert whose("", "Ana", ()) == ("", "")
    found, told = whose("Ana", "Ana", ())
    assert not found and "--vary" in told


def test_in_an_exam_the_notebook_still_says_whose_it_is(classroom, names):
    from course_lib.grading.submission import read_submission

    out = classroom / "examen"
    done = run(
        *("release", "transformer_xl", "--exam"), "--vary", classroom / "clase.csv", "--out", out
    )
    assert done.exit_code == 0, done.output
    path = out / "personales" / names[0] / "transformer_xl.ipynb"
    made = read_submission(path)
    assert made.owner == names[0] and not made.checked


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no tiene ningún nombre"),
        ("a;b\nc;d\n", "en qué columna están los nombres"),
        ("Ana García\nGarcía Ana\n", "no se distinguen"),
    ],
)
def test_a_roster_that_cannot_be_read(tmp_path, text, told):
    (tmp_path / "clase.csv").write_text(text, encoding="utf-8")
    out = tmp_path / "aula"
    done = run("release", "attention", "--vary", tmp_path / "clase.csv", "--out", out)
    assert done.exit_code == 2 and told in done.output and not out.exists()
