"""Un tema propio de un curso, del borrador a las notas, sin tocar la biblioteca."""

import csv
import json
import os
import zipfile

import pytest
from typer.testing import CliRunner

from course_lib.cli import app
from course_lib.course_settings import CourseSettingsError, known_topics, read_course_settings
from course_lib.grading.submission import topic_sheet
from course_lib.judging import OWN_TOPICS

BLANK = 'raise NotImplementedError("Escribe aquí tu solución")'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """La carpeta de un curso con un solo renglón en su course.toml."""
    (tmp_path / "course.toml").write_text('own_topics = "mis_temas"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(OWN_TOPICS, raising=False)
    yield tmp_path
    os.environ.pop(OWN_TOPICS, None)


def run(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(a) for a in arguments])


def deliver(folder, name, answer):
    """Deja la entrega de alguien, con la misma respuesta en todos los ejercicios."""
    blank = (folder / "mis_temas/exercises/dobles.ipynb").read_text(encoding="utf-8")
    (folder / "entregas").mkdir(exist_ok=True)
    text = blank.replace(json.dumps(BLANK, ensure_ascii=False)[1:-1], answer)
    (folder / "entregas" / f"{name}.ipynb").write_text(text, encoding="utf-8")


@pytest.mark.filterwarnings("ignore")  # las funciones de torch que `course try` prueba
def test_a_topic_of_their_own_from_the_draft_to_the_grades(folder):
    for name in ("dobles.uno", "dobles.dos"):
        assert run("new", name).exit_code == 0
    assert "su pista (10)" in run("try", "dobles.uno").stdout
    done = run("regenerate")
    assert done.exit_code == 0, done.output
    assert run("regenerate", "--check").exit_code == 0
    assert known_topics() == known_topics(None) and "dobles" in known_topics(folder / "mis_temas")

    assert "0 de 2 puntos" in run("check", "mis_temas/exercises/dobles.ipynb").stdout
    assert run("release", "dobles", "--out", "aula").exit_code == 0
    (wheel,) = (folder / "aula").glob("*.whl")
    assert "course_lib/judging/exercises/dobles.json" in zipfile.ZipFile(wheel).namelist()
    assert run("release", "dobles", "--exam", "--out", "examen").exit_code == 0
    (wheel,) = (folder / "examen").glob("*.whl")
    assert "course_lib/judging/exercises/dobles.json" not in zipfile.ZipFile(wheel).namelist()

    deliver(folder, "Ana García", "y = x + x\\n    return y")
    deliver(folder, "Luis Pérez", "return x**2")
    deliver(folder, "Noa Ruiz", "return torch.zeros(3)")
    done = run("grade", "entregas", "--out", "calificado")
    assert done.exit_code == 0, done.output
    with (folder / "calificado/grades.csv").open(encoding="utf-8-sig", newline="") as file:
        totals = {row["Estudiante"]: row["Total"] for row in csv.DictReader(file)}
    assert totals == {"Ana García": "2", "Luis Pérez": "0", "Noa Ruiz": "0"}
    page = next((folder / "calificado/feedback").glob("luis*")).read_text(encoding="utf-8")
    assert "elevas al cuadrado" in page.lower()
    topic_sheet.cache_clear()


def test_a_course_topic_keeps_its_name(folder):
    told = run("new", "attention.otro")
    assert told.exit_code == 2 and "ya es un tema del curso" in told.output
    (folder / "mis_temas/solutions/attention").mkdir(parents=True)
    (folder / "mis_temas/solutions/attention/_topic.md").touch()
    with pytest.raises(CourseSettingsError, match="ponle otro nombre"):
        read_course_settings(folder / "course.toml")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("own_topics = 3", "una carpeta"),
        ('own_topics = "course.toml"', "se esperaba una carpeta"),
        ('own_topics = "mis_temas"\ntopics = ["nada"]', "que cada tema fuera uno de"),
    ],
)
def test_what_is_wrong_is_told(folder, text, told):
    (folder / "course.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CourseSettingsError, match=told):
        read_course_settings(folder / "course.toml")


def test_what_grades_is_never_among_the_deliveries(folder):
    (folder / "entregas/mis_temas").mkdir(parents=True)
    (folder / "entregas/Ana.ipynb").write_text("{}", encoding="utf-8")
    text = 'own_topics = "entregas/mis_temas"\n'
    (folder / "course.toml").write_text(text, encoding="utf-8")
    told = run("grade", "entregas", "--dry-run")
    assert told.exit_code == 2 and "entre las entregas" in " ".join(told.output.split())


def test_a_topic_without_its_notebook_is_not_released(folder):
    assert run("new", "dobles.uno").exit_code == 0
    told = run("release", "dobles", "--out", "aula")
    assert told.exit_code == 1 and "course regenerate dobles" in told.output
    assert not (folder / "aula").exists()
