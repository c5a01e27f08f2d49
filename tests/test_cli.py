"""El comando `course`: qué dice y con qué código termina.

0, hecho; 1, un fallo; 2, mal uso; 3, calificado, y hay entregas sin nota.
"""

import errno
import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

import course_lib
from course_lib.cli import app, doctor
from course_lib.grading.classroom import class_run, lanes
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult

ROOT = Path(course_lib.__file__).parents[1]
ENGLISH = (
    "Usage",
    "Options",
    "Commands",
    "Arguments",
    "Show this",
    "Error:\n",
    "Missing",
    "No such",
    "<",
    "{",
)


def run(*arguments):
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, [str(a) for a in arguments])


def student_notebook(path, *cells):
    setup = "from course_lib.judging.check import check"
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(c) for c in (setup, *cells)]
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)
    return path


# Ayuda y mal uso, en español


@pytest.mark.parametrize(
    "command",
    [[], ["regenerate"], ["check"], ["grade"], ["explain"], ["release"], ["doctor"]],
)
def test_the_help_is_in_spanish(command):
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Uso: " in result.output and "Muestra esta ayuda y termina." in result.output
    assert not any(word in result.output for word in ENGLISH), result.output


def test_the_version_is_told():
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"course {course_lib.__version__}\n")


def test_the_help_has_a_short_name():
    for command in ([], ["grade"]):
        assert run(*command, "-h").output == run(*command, "--help").output


def test_grade_says_how_it_ends():
    told = " ".join(re.sub("[│╭╰─╮╯]", " ", run("grade", "--help").output).split())
    assert "con 3 si se publicó y hay quien no la tiene, y se dice por qué" in told


@pytest.mark.parametrize(
    ("words", "completed"),
    [("course gra", ["grade"]), ("course grade x --topic be", ["bert"])],
)
def test_tab_completes_verbs_and_topics(words, completed):
    asked = {"_COURSE_COMPLETE": "complete_bash", "COMP_WORDS": words}
    asked["COMP_CWORD"] = str(len(words.split()) - 1)
    command = [sys.executable, "-c", "from course_lib.cli import app; app(prog_name='course')"]
    done = subprocess.run(command, env=os.environ | asked, capture_output=True, text=True)
    assert done.stdout.split() == completed, done


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "No existe el comando «nothing»."),
        (["check"], "Falta CUADERNO."),
        (["check", "a", "b"], "Sobra: b."),
        (["check", "a", "--nothing"], "No existe la opción «--nothing»."),
        (["check", "a", "--timeout"], "La opción «--timeout» necesita un valor."),
        (["check", "a", "--timeout", "x"], "El valor de «--timeout» no es válido"),
        (["check", "a", "--timeout", "0"], "El valor de «--timeout» no es válido"),
        (["regenerate", "nothing"], "No hay un tema «nothing»."),
        (["release", "attention"], "Falta --out."),
        (["release", "nothing", "--out", "a"], "No hay un tema «nothing»."),
        (["grade"], "Falta ENTREGAS."),
        (["grade", "a"], "Falta --out."),
        (["explain", "ana"], "Falta EJERCICIO."),
        (["explain", "ana", "x", "--out", "no"], "no es la carpeta de una clase calificada"),
        (["grade", "a", "--out", "b", "--topic", "nothing"], "No hay un tema «nothing»."),
        (["grade", "a", "--out", "b", "--site", "x"], "--site debe ser una dirección"),
        (["grade", "a", "--out", "b", "--workers", "0"], "El valor de «--workers» no es válido"),
    ],
)
def test_wrong_usage_ends_with_two(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not any(word in result.stderr for word in ENGLISH), result.stderr


def test_outside_the_project_regenerate_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("regenerate")
    assert result.exit_code == 2 and "no está dentro del proyecto" in result.stderr


# regenerate


def test_regenerate_writes_checks_and_names_what_drifted(example_project):
    """Otro proceso, que importa la copia de la biblioteca: así se ve cambiar un módulo."""
    written = example_project.course("regenerate", "example")
    assert (written.returncode, "generado en" in written.stderr) == (0, True), written
    checked = example_project.course("regenerate", "--check")
    assert (checked.returncode, "sin cambios" in checked.stderr) == (0, True), checked

    example_project.edit("{}", '{"a": 1}', example_project.root / "course_lib" / "plotting.py")
    assert example_project.course("regenerate", "--check").returncode == 0, "no lo usa"

    module = example_project.root / "course_lib" / "primitives" / "doubling.py"
    example_project.edit("hola", "buenas", module)
    before = example_project.contents()
    drifted = example_project.course("regenerate", "--check")
    assert drifted.returncode == 1
    assert "solutions/example.ipynb: cambió course_lib/primitives/doubling.py" in drifted.stderr
    assert "exercises/example.ipynb: cambió course_lib/primitives/doubling.py" in drifted.stderr
    assert example_project.contents() == before, "--check no escribe"

    assert example_project.course("regenerate").returncode == 0
    assert "buenas" in example_project.contents()["exercises"].decode()


def test_regenerate_fails_naming_file_and_cell(example_project):
    example_project.edit("### END SOLUTION", "# fin")
    result = example_project.course("regenerate")
    assert result.returncode == 1
    assert "solutions/example/double.md, línea 11: hay un BEGIN SOLUTION sin" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_topic_that_fails_does_not_stop_the_others(example_project):
    example_project.write("solutions/broken/_topic.md", "# Roto\n")
    example_project.write("exercises/old.ipynb", "{}")
    result = example_project.course("regenerate")
    assert result.returncode == 1
    assert "example: generado en" in result.stderr
    assert "exercises/old.ipynb: no tiene fuente" in result.stderr


# check


def test_check_shows_the_verdicts_and_does_not_touch_the_file(example_project):
    example_project.prepare()
    path = student_notebook(
        example_project.root / "entrega.ipynb",
        "def double(x):\n    return x**2",
        "1 / 0",
        'check("example.double", double)',
        "check('example.answer', ...)",
    )
    before = path.read_bytes()
    result = example_project.course("check", str(path))
    assert result.returncode == 1
    for text in ("❌ todavía no", "Elevas al cuadrado", "⏳ pendiente", "Total: 0 de 3 puntos"):
        assert text in result.stdout, result.stdout
    assert "Se detuvo la celda que empieza con «1 / 0»: ZeroDivisionError" in result.stdout
    assert "Total: 0 de 3 puntos (1 todavía no, 1 pendiente)" in result.stdout
    assert path.read_bytes() == before


def test_check_of_a_right_notebook_ends_with_zero(example_project):
    example_project.prepare()
    path = student_notebook(
        example_project.root / "entrega.ipynb",
        '%time\ncheck("example.double", lambda x: x + x)',
        'check("example.answer", "b")',
    )
    result = example_project.course("check", str(path))
    assert (result.returncode, "Total: 3 de 3 puntos" in result.stdout) == (0, True), result


def test_check_survives_endless_cells_and_says_what_was_not_checked(example_project):
    example_project.prepare()
    path = student_notebook(
        example_project.root / "entrega.ipynb",
        "while True: pass",
        'check("example.double", doble)',
    )
    result = example_project.course("check", str(path), "--timeout", "3")
    assert result.returncode == 1
    assert "la celda que empieza con «while True: pass»: tardó demasiado" in result.stdout
    assert "El cuaderno no define «doble»" in result.stdout
    assert "no tiene su celda" in result.stdout


BAD_FILES = {
    "broken.ipynb": ('{"cells": [', "está dañado: no es JSON válido (línea 1)"),
    "list.ipynb": ("[1, 2]", "es JSON, pero no un cuaderno"),
    "object.ipynb": ('{"a": 1}', "es JSON, pero no un cuaderno"),
    "cells.ipynb": ('{"nbformat": 4, "nbformat_minor": 5, "cells": 3}', "no un cuaderno"),
    "script.py": ("print(1)", "no es un cuaderno de Jupyter"),
    "latin.ipynb": ("á".encode("latin-1"), "no es texto UTF-8"),
    "empty.ipynb": ("", "está dañado"),
    "other.ipynb": (json.dumps(nbformat.v4.new_notebook()), "no comprueba ningún ejercicio"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_check_explains_a_file_that_is_not_a_notebook(tmp_path, name):
    content, message = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("check", path)
    assert result.exit_code == 2
    assert message in result.stderr and name in result.stderr
    assert "Traceback" not in result.output


def test_check_explains_what_is_not_a_file(tmp_path):
    assert "No existe el archivo" in run("check", tmp_path / "a.ipynb").stderr
    result = run("check", tmp_path)
    assert result.exit_code == 2 and "no hay ningún cuaderno" in result.stderr


# grade


@pytest.fixture
def fake_grader(monkeypatch):
    """Califica en un hilo y sin ejecutar nada: la mitad de los puntos, y un nombre con trampa."""
    monkeypatch.setattr(class_run, "why_unavailable", str)
    monkeypatch.setattr(class_run, "ProcessLane", ThreadLane)
    monkeypatch.setattr(class_run, "grade_task", half_right)


class ThreadLane(lanes.ProcessLane):
    def _open(self):
        self._executor = ThreadPoolExecutor(1)

    def close(self):
        self._executor.shutdown()


def half_right(content, order):
    if b"bert" in content:
        right = ExerciseResult("bert.count", "correct", 9, 9)
        return SubmissionResult("graded", "", "bert", (right,)).as_data()
    if b"bad" in content:
        return SubmissionResult("unreadable", "está dañado\x1b]0;x\x07").as_data()
    right = ExerciseResult("attention.soft_argmax", "correct", 1, 1)
    wrong = ExerciseResult("attention.hard_argmax", "wrong", 0, 1, "falla la forma")
    notes = ("usa torch.jit\x1b[2J",)
    return SubmissionResult("graded", "", "attention", (right, wrong), notes=notes).as_data()


def deliver(folder, **contents):
    folder.mkdir(exist_ok=True)
    for name, content in contents.items():
        (folder / f"{name}.ipynb").write_text(content)
    return folder


def test_grade_writes_everything_and_says_where(fake_grader, tmp_path):
    out = tmp_path / "out"
    result = run("grade", deliver(tmp_path / "class", ana="{}", luis="{ }"), "--out", out)
    assert result.exit_code == 0, result.output
    for name in ("report.html", "grades.csv", "feedback"):
        assert str(out / name) in result.stdout.replace("\n", "") and (out / name).exists()
    assert "1.0 de 2" in result.stdout
    assert len(list((out / "feedback").glob("*.html"))) == 2
    assert not (out / "moodle_feedback.zip").exists(), "nadie vino de Moodle"
    again = run("grade", tmp_path / "class", "--out", out)
    assert again.exit_code == 0 and again.stdout == result.stdout
    (tmp_path / "class" / "luis.ipynb").unlink()
    run("grade", tmp_path / "class", "--out", out)
    assert len(list((out / "feedback").glob("*.html"))) == 1, "la página de quien ya no está"


def test_grade_never_guesses_which_topics_count(fake_grader, monkeypatch, tmp_path):
    folder, out = tmp_path / "the class", tmp_path / "out"
    deliver(folder, ana="{}", luis="{ }", eva='"bert"')
    asked = run("grade", folder, "--out", out, "--workers", "1")
    assert asked.exit_code == 2 and not (out / "grades.csv").exists()
    assert "attention (2 estudiantes), bert (1 estudiante)" in asked.stderr
    one, both = re.findall(r"^  (course grade .*)$", asked.stderr, re.M)
    assert one == f"course grade '{folder}' --out {out} --workers 1 --topic attention"
    assert both == f"{one} --topic bert"

    def never(content, order):
        raise AssertionError("lo calificado se repitió")

    monkeypatch.setattr(class_run, "grade_task", never)
    done = run(*shlex.split(both)[1:], "--site", "https://example.org/curso/")
    assert done.exit_code == 0, done.output
    assert "cuentan attention, bert (lo que pediste con --topic)" in done.stdout
    header, row = (out / "grades.csv").read_text("utf-8-sig").splitlines()[:2]
    assert "attention (2)" in header and row.split(",")[3:5] == ["1", "11"]
    pages = "".join(p.read_text() for p in (out / "feedback").glob("*.html"))
    assert "https://example.org/curso/book/" in pages and "Sin entregar: " in pages
    monkeypatch.setattr(class_run, "grade_task", half_right)
    done = run(*shlex.split(one)[1:])
    assert done.exit_code == 3 and "cuenta attention (lo que pediste" in done.stdout
    assert "No cuenta: bert." in done.stdout
    assert (
        "❔ eva, sin nota: solo entregó «BERT y su ajuste fino», que no cuenta para esta nota."
        in done.stdout
    )
    assert "bert (9, no cuenta)" in (out / "grades.csv").read_text("utf-8-sig")


def test_a_class_outside_the_course_is_told_so(fake_grader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    deliver(tmp_path / "class", eva='"bert"', luis='"bert" ')
    (tmp_path / "course.toml").write_text('topics = ["attention", "palm"]', encoding="utf-8")
    done = run("grade", "class", "--out", "out")
    assert done.exit_code == 3, done.output
    assert "de ningún tema de este curso, que son attention, palm (`topics`" in done.stdout
    assert "Se entregó bert (2 estudiantes)." in done.stdout
    assert "eva, sin nota: solo entregó «BERT" in done.stdout
    grades = (tmp_path / "out" / "grades.csv").read_text("utf-8-sig")
    assert "sin nota: solo entregó «BERT y su ajuste fino», que no cuenta para esta nota" in grades
    assert ",0,0,0," not in grades
    assert "Sin nada que cuente" in (tmp_path / "out" / "report.html").read_text("utf-8")
    page = next((tmp_path / "out" / "feedback").glob("eva*.html")).read_text("utf-8")
    assert "Sin nota" in page and "0 de 0" not in page


def test_grade_of_one_topic_says_why_it_counts(fake_grader, tmp_path):
    result = run("grade", deliver(tmp_path / "class", ana="{}"), "--out", tmp_path / "out")
    assert "cuenta attention (es el único tema que se entregó)." in result.stdout


def test_the_course_file_says_what_counts_and_in_which_scale(fake_grader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    deliver(tmp_path / "class", ana="{}", eva='"bert"')
    text = 'name = "Redes"\ntopics = ["attention", "palm"]\nscale = "0-20"\npassing = 11\n'
    (tmp_path / "course.toml").write_text(text, encoding="utf-8")
    done = run("grade", "class", "--out", "out")
    assert done.exit_code == 3, done.output
    assert "es el único tema del curso que se entregó). No cuenta: bert." in done.stdout
    assert "Notas en la escala 0-20. Aprueban 0 de 1, con 11." in done.stdout
    assert "Nota (0-20),Aprueba" in (tmp_path / "out" / "grades.csv").read_text("utf-8-sig")
    assert "<title>Redes · " in (tmp_path / "out" / "report.html").read_text("utf-8")
    asked = run("grade", "class", "--out", "out", "--topic", "bert")
    assert asked.exit_code == 2
    assert "«bert» en este curso (`topics`, en course.toml). Los que hay: attention, palm" in (
        " ".join(asked.stderr.split())
    )
    (tmp_path / "otro.toml").write_text("scale = 7", encoding="utf-8")
    wrong = run("grade", "class", "--out", "out", "--config", "otro.toml")
    assert wrong.exit_code == 2 and "se esperaba una de estas: 0-5, 0-10" in wrong.stderr
    assert "Traceback" not in wrong.output


def test_check_of_a_folder_looks_at_the_topics_of_the_course(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "course.toml").write_text('topics = ["attention"]', encoding="utf-8")
    deliver(tmp_path / "exercises", bert="no es un cuaderno")
    assert "no hay ningún cuaderno" in run("check", "exercises").stderr
    deliver(tmp_path / "exercises", attention="no es un cuaderno", mio="tampoco")
    told = run("check", "exercises").stdout
    assert "attention" in told and "mio" in told and "bert" not in told


def test_the_help_has_the_name_of_the_course(tmp_path):
    def told(text):
        (tmp_path / "course.toml").write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "course_lib.cli", "--help"]
        environment = {**os.environ, "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=True
        )
        return done.stdout

    assert "Herramientas del curso «Redes»." in told('name = "Redes"')
    assert "«Atención y Transformers»" in told("name = "), "lo que no vale lo dice quien lo use"


def test_grade_for_moodle_writes_what_is_uploaded(fake_grader, tmp_path):
    bundle, out = tmp_path / "entregas.zip", tmp_path / "out"
    with zipfile.ZipFile(bundle, "w") as file:
        file.writestr("Ana Núñez_101_assignsubmission_file/tarea.ipynb", "{}")
    result = run("grade", bundle, "--out", out)
    assert result.exit_code == 0, result.output
    assert "101" in (out / "moodle_worksheet.csv").read_text("utf-8-sig")
    with zipfile.ZipFile(out / "moodle_feedback.zip") as file:
        assert [name.split("/")[0] for name in file.namelist()] == [
            "Ana Núñez_101_assignsubmission_file_"
        ]
    assert str(out / "moodle_feedback.zip") in result.stdout.replace("\n", "")


def test_what_has_no_grade_is_not_a_failure_and_no_escape_reaches_the_terminal(
    fake_grader, tmp_path
):
    folder = deliver(tmp_path / "class", ana="{}", **{"e\x1b[31mva": "bad"})
    result = run("grade", folder, "--out", tmp_path / "out")
    assert result.exit_code == 3 and (tmp_path / "out" / "grades.csv").exists()
    assert "está dañado" in result.stdout and "usa torch.jit" in result.stdout
    assert "\x1b" not in result.output and "\x07" not in result.output


def test_grade_without_a_sandbox_refuses_naming_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(class_run, "why_unavailable", lambda: "Falta bubblewrap: apt-get …")
    folder = deliver(tmp_path / "class", ana="{}")
    result = run("grade", folder, "--out", tmp_path / "out")
    assert result.exit_code == 2 and "Falta bubblewrap: apt-get …" in result.stderr
    assert "--unsafe-no-sandbox" in result.stderr and "usar la red" in result.stderr
    assert not (tmp_path / "out").exists(), "no se escribe nada"


def test_grade_unsafe_says_what_is_lost(fake_grader, monkeypatch, tmp_path):
    monkeypatch.setattr(class_run, "why_unavailable", lambda: "Falta bubblewrap")
    folder = deliver(tmp_path / "class", ana="{}")
    result = run("grade", folder, "--out", tmp_path / "out", "--unsafe-no-sandbox")
    assert result.exit_code == 0 and "corre con tus permisos" in result.stderr


def test_grade_refuses_a_folder_of_other_things_in_use_or_a_wrong_sheet(fake_grader, tmp_path):
    folder, out = deliver(tmp_path / "class", ana="{}"), tmp_path / "out"
    other = run("grade", folder, "--out", folder)
    assert other.exit_code == 2 and "ya tiene otras cosas" in other.stderr
    with class_run.ClassFolder(out):
        busy = run("grade", folder, "--out", out)
    assert busy.exit_code == 2 and "Otro proceso está calificando" in busy.stderr
    sheet = tmp_path / "hoja.csv"
    sheet.write_text("a,b\n1,2\n")
    wrong = run("grade", folder, "--out", out, "--worksheet", sheet)
    assert wrong.exit_code == 2 and "no es la hoja de calificaciones" in wrong.stderr
    missing = run("grade", tmp_path / "nothing", "--out", out)
    assert missing.exit_code == 2 and "nothing" in missing.stderr


def test_grade_without_distributed_says_how_to_get_it(fake_grader, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    folder = deliver(tmp_path / "class", ana="{}")
    result = run("grade", folder, "--out", tmp_path / "out", "--cluster", "tcp://x:1")
    assert result.exit_code == 2 and 'pip install "course_lib[cluster]"' in result.stderr


# doctor


@pytest.fixture
def without_box(monkeypatch):
    """Sin construir la caja de calificar, que tarda segundos."""
    monkeypatch.setattr(doctor, "_box", list)


def test_doctor_shows_versions_device_and_memory():
    result = run("doctor")
    assert result.exit_code == 0
    for text in (
        "Python",
        "torch",
        "extra site",
        "Dispositivo",
        "Memoria",
        "Disco libre",
        "make",
        "Caja: bubblewrap",
    ):
        assert text in result.output


def test_doctor_for_a_student_says_nothing_of_the_rest(monkeypatch):
    version = doctor._version
    lab = {"jupyterlab": "4.6"}
    monkeypatch.setattr(doctor, "_version", lambda name: lab.get(name) or version(name))
    result = run("doctor", "--student")
    assert result.exit_code == 0, result.output
    for text in ("Python", "torch", "JupyterLab 4.6", "Letra", "Memoria"):
        assert text in result.output
    for text in ("extra", "make", "chromium", "hunspell", "bwrap", "jinja2"):
        assert text not in result.output


def test_doctor_for_a_student_asks_for_a_front_end(monkeypatch):
    version = doctor._version
    front = ("jupyterlab", "notebook")
    monkeypatch.setattr(doctor, "_version", lambda name: "" if name in front else version(name))
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    result = run("doctor", "--student")
    assert result.exit_code == 1 and "Falta lo indispensable: Cuadernos." in result.stderr


def test_doctor_says_how_to_get_what_is_missing(monkeypatch):
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor, "_version", lambda name: "1")
    result = run("doctor")
    assert result.exit_code == 0, "los programas no son indispensables"
    assert (
        "Falta, sin ser indispensable: make, chromium, hunspell, Caja: bubblewrap." in result.output
    )
    told = " ".join(re.sub("[│⚠️]", " ", result.output).split())
    assert "sudo apt-get install chromium" in told and "sudo apt-get install bubblewrap" in told


@pytest.mark.usefixtures("without_box")
def test_doctor_says_which_course_it_is_and_what_is_wrong_with_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "course.toml").write_text('name = "Redes"\ntopics = ["palm"]', encoding="utf-8")
    (course,) = (each for each in doctor.examine() if each.name == "Curso")
    assert course.value == "Redes (palm)"
    (tmp_path / "course.toml").write_text("name = 7", encoding="utf-8")
    (course,) = (each for each in doctor.examine() if each.name == "Curso")
    assert course.missing and course.required and "y llegó 7" in course.remedy


def test_doctor_knows_the_pages_of_the_book(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "course.toml").write_text('leave_out = ["palm", "nada"]', encoding="utf-8")
    assert "no hay una página «nada» en _toc.yml" in doctor._course().remedy
    (tmp_path / "course.toml").write_text('leave_out = ["palm"]', encoding="utf-8")
    assert doctor._course().value
    assert [each.value for each in doctor._absent_pages()] == ["palm"]
    (tmp_path / "course.toml").write_text('leave_out = ["decoder"]', encoding="utf-8")
    (absent, asked) = doctor._absent_pages()
    assert (
        absent.value == "decoder" and "decoder, que pide decoding, palm, training" in asked.remedy
    )
    (tmp_path / "course.toml").write_text('keep = ["nada"]', encoding="utf-8")
    assert "`keep`, en course.toml: no hay una página «nada»" in doctor._course().remedy
    assert not doctor._absent_pages()


def test_doctor_looks_at_a_class(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "examine", list)
    folder = deliver(tmp_path / "class", **{"Ana García": "{}", "Luis Gil": "{}"})
    assert "2 estudiantes, 2 archivos" in run("doctor", folder).stdout
    deliver(folder, **{"garcia ana (1)": "{}", "Luis Gila": "{}"})
    told = doctor._submissions(folder)
    assert told.missing and told.remedy.endswith("misma persona: «Ana García» y «garcia ana (1)»")
    assert run("doctor", tmp_path / "nada").exit_code == 1


@pytest.mark.usefixtures("without_box")
def test_doctor_fails_without_a_required_package(monkeypatch):
    version = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: "" if name == "torch" else version(name))
    result = run("doctor")
    assert result.exit_code == 1
    assert "Falta lo indispensable: torch." in result.stderr
    assert "python -m pip install torch" in result.output


@pytest.mark.usefixtures("without_box")
def test_doctor_says_which_part_is_not_installed(monkeypatch):
    version = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: "" if name == "jinja2" else version(name))
    result = run("doctor")
    assert result.exit_code == 0 and "extra teacher" in result.output.splitlines()[-1]
    told = " ".join(re.sub("[│⚠️]", " ", result.output).split())
    assert 'falta jinja2: python -m pip install "course_lib[teacher]"' in told


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "el disco está lleno"),
        (errno.EROFS, "solo lectura"),
        (errno.EACCES, "permiso"),
    ],
)
def test_what_happens_to_the_disk_is_said_in_spanish_with_what_was_kept(
    number, said, tmp_path, monkeypatch
):
    def fails(*arguments, **options):
        raise OSError(number, os.strerror(number), "notas.csv")

    monkeypatch.setattr("course_lib.cli.grading.require_usable", fails)
    result = CliRunner().invoke(app, ["grade", str(tmp_path), "--out", str(tmp_path / "out")])
    assert result.exit_code == 1
    told = " ".join(result.output.split())
    assert said in told and "notas.csv" in told and "está guardado" in told


WITHOUT_UNIX = """
import builtins, sys

real = builtins.__import__


def without(name, scope=None, *rest, **named):
    if name in ("fcntl", "resource") and (scope or {}).get("__name__", "").startswith("course_lib"):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)
    return real(name, scope, *rest, **named)


builtins.__import__ = without
import json
from course_lib.cli import app
from typer.testing import CliRunner

done = [CliRunner().invoke(app, each) for each in json.load(sys.stdin)]
json.dump([[each.exit_code, each.stdout, each.stderr] for each in done], sys.stdout)
"""
IN_WINDOWS = {
    "grade exercises --out calificado": (2, "WSL 2"),
    "grade exercises --dry-run": (2, "WSL 2"),
    "explain Ana soft_argmax --out calificado": (2, "WSL 2"),
    "doctor exercises": (0, "Este equipo"),
    "check exercises/attention.ipynb": (0, "Total: 0 de 19 puntos"),
    "try attention.read_plot": (0, "su pista"),
    "regenerate --check attention": (0, "attention"),
    "release nada --out aula": (2, "No hay un tema"),
    "--version": (0, "course"),
}


@pytest.mark.usefixtures("warm_processes")
def test_in_windows_what_grades_says_what_to_do_and_the_rest_works():
    """Sin lo que Python solo trae en Linux y macOS, se dice dónde calificar, sin una traza."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_UNIX],
        cwd=ROOT,
        input=json.dumps([words.split() for words in IN_WINDOWS]),
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    for words, (code, out, error) in zip(IN_WINDOWS, json.loads(done.stdout), strict=True):
        expected, told = IN_WINDOWS[words]
        assert code == expected and told in out + error, (words, out, error)
        assert ("WSL" in error) == ("WSL" in told) and "Traceback" not in error, words
    assert not (ROOT / "calificado").exists()
