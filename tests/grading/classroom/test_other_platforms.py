"""Lo que se descarga de Canvas y las demás se reconoce, y lo que se sube lo leerían.

`read_as_canvas` y `answered_by_canvas` repiten lo que hacen sus lectores: lib/gradebook_importer.rb
e infer_comment_context_from_filename, de app/models/assignment.rb.
"""

import csv
import io
import re
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.grading.classroom.collection import collect
from course_lib.grading.classroom.course_gradebook import CourseGradebook, read_sheet
from course_lib.grading.classroom.platform_names import are_canvas_names, parse_canvas_name
from course_lib.grading.classroom.publication import publish
from course_lib.grading.classroom.results import ClassResults, Graded
from course_lib.grading.classroom.worksheet import WorksheetError
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult

NOTEBOOK = b'{"cells": [{"cell_type": "code", "source": "x = 1"}], "nbformat": 4}'
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Atención (4321),Ensayo (77),Current Score,Final Score
,,,,,Manual Posting,,,
    Points Possible,,,,,20,5,(read only),(read only)
"Núñez, Mateo",101,A01,mateo,1,,3,60,60
"Peña, Lucía",102,A02,lucia,1,4,5,70,70
"=cmd|x, Eva",103,A03,eva,1,,,,
"Student, Test",999,,x9,1,,,,
"""
BLACKBOARD = (
    '"Apellidos"\t"Nombre"\t"Nombre de usuario"\t"Último acceso"'
    '\t"Atención [Puntos totales: 20 Puntuación] |4321"\t"Ensayo [Puntos totales: 5] |77"\n'
    '"Núñez"\t"Mateo"\t"mateo"\t"2026-03-02"\t""\t"3"\n'
    '"Peña"\t"Lucía"\t"lucia.p"\t"2026-03-02"\t"4"\t"5"\n'
)


def zip_of(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, NOTEBOOK)
    return path


def graded(entries, points):
    """Una entrega por estudiante, con tantos puntos de diez."""
    return [
        Graded(
            entry,
            SubmissionResult(
                "graded", "", "attention", (ExerciseResult("a.uno", "correct", p, 10),)
            ),
        )
        for entry, p in zip(entries, points, strict=True)
    ]


def read_as_canvas(content):
    """Por estudiante, la nota que Canvas guardaría en cada tarea que reconoce."""
    rows = list(csv.reader(io.StringIO(content.decode("utf-8-sig"))))
    header = rows[0]
    assert len(header) > 3 and "Student" in header[0] and "ID" in header[1]
    assert header[2:5] == ["SIS User ID", "SIS Login ID", "Section"]
    tasks = {i: int(re.search(r"\((\d+)\)$", header[i])[1]) for i in range(5, len(header))}
    found = {}
    for row in rows[1:]:
        blank = all(re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", cell) for cell in row)
        if not blank and "Points Possible" not in row[0]:
            found[int(row[1])] = {task: row[i] for i, task in tasks.items()}
    return found


def answered_by_canvas(name):
    """El usuario y el archivo a los que Canvas pondría un comentario con este archivo."""
    return tuple(int(part) for part in name.split("_") if re.fullmatch(r"\d+", part))[:2]


# Lo que se descarga


def test_the_files_of_canvas_say_whose_they_are(tmp_path):
    path = zip_of(
        tmp_path / "submissions.zip",
        "nunezmateo_101_5001_attention.ipynb",
        "penalucia_LATE_102_5002_mi_tarea_2_final-1.ipynb",
        "penalucia_LATE_102_5003_otro.ipynb",
    )
    found = [(e.student, e.participant, e.source, e.folder) for e in collect(path)]
    assert found == [
        ("nunezmateo", "101", "attention.ipynb", "nunezmateo_101_5001_"),
        ("penalucia", "102", "mi_tarea_2_final-1.ipynb", "penalucia_LATE_102_5002_"),
        ("penalucia", "102", "otro.ipynb", "penalucia_LATE_102_5002_"),
    ]
    assert {e.platform for e in collect(path)} == {"canvas"}


def test_an_anonymous_task_of_canvas_keeps_its_code(tmp_path):
    path = zip_of(tmp_path / "s.zip", "anon_aB3x9_5001_attention.ipynb")
    (entry,) = collect(path)
    assert (entry.student, entry.participant) == ("Participante aB3x9", "aB3x9")


def test_a_name_that_only_looks_like_one_of_canvas_is_a_name(tmp_path):
    """En una carpeta cualquiera, `tarea_1_2_final` es el nombre de alguien, y no el usuario 1."""
    for name in ("tarea_1_2_final.ipynb", "Ana García.ipynb"):
        (tmp_path / name).write_bytes(NOTEBOOK)
    assert {e.student: e.platform for e in collect(tmp_path)} == {
        "tarea_1_2_final": "",
        "Ana García": "",
    }


def test_the_files_of_blackboard_say_whose_they_are(tmp_path):
    when = "2026-03-02-18-30-00"
    path = zip_of(
        tmp_path / "gradebook.zip",
        f"Tarea_1_lucia.p_attempt_{when}_attention.ipynb",
        f"Tarea_1_lucia.p_attempt_{when}.txt",
        f"Tarea_1_..%2F..%2Fx_attempt_{when}_attention.ipynb",
    )
    entries = {e.participant: e for e in collect(path) if e.source == "attention.ipynb"}
    assert entries["lucia.p"].student == "lucia.p" and entries["lucia.p"].folder is None
    for entry in entries.values():
        assert re.fullmatch(r"[\w-]+", entry.owner) and re.fullmatch(r"[\w-]+", entry.key)


@given(st.text(max_size=40))
def test_no_name_breaks_the_reader_of_canvas(text):
    found = parse_canvas_name(text)
    assert (found is not None) == are_canvas_names([text])
    if found is not None and not text.startswith("anon_"):
        assert answered_by_canvas(f"{found.folder}x.html")[0] == int(found.number)


# Lo que se sube


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "calificaciones.csv"
    path.write_text(CANVAS, "utf-8-sig")
    return path


def test_canvas_gets_the_grades_of_this_task_and_nothing_else(tmp_path, book):
    path = zip_of(
        tmp_path / "s.zip", "nunezmateo_101_5001_a.ipynb", "penalucia_LATE_102_5002_a.ipynb"
    )
    works = graded(collect(path), [7, 10])
    published = publish(
        ClassResults(works, ["attention"]), tmp_path, worksheet=read_sheet(book, "atención")
    )
    assert published.missing == () and published.platform == "Canvas"
    assert len(published.absent) == 1 and "Eva" in published.absent[0], "ni el de prueba"
    found = read_as_canvas((tmp_path / "canvas_worksheet.csv").read_bytes())
    top = sum(topic.max_points for topic in ClassResults(works, ["attention"]).topics)
    assert found == {
        101: {4321: f"{7 * 20 / top:.2f}"},
        102: {4321: f"{10 * 20 / top:.2f}"},
        103: {4321: ""},
        999: {4321: ""},
    }
    text = (tmp_path / "canvas_worksheet.csv").read_text("utf-8-sig")
    assert "Points Possible" in text and "Ensayo" not in text and '"=cmd' not in text
    with zipfile.ZipFile(tmp_path / "canvas_feedback.zip") as archive:
        assert {answered_by_canvas(n) for n in archive.namelist()} == {(101, 5001), (102, 5002)}


def test_without_the_gradebook_canvas_still_gets_the_feedback(tmp_path):
    path = zip_of(tmp_path / "s.zip", "nunezmateo_101_5001_a.ipynb")
    published = publish(ClassResults(graded(collect(path), [7]), ["attention"]), tmp_path)
    assert (tmp_path / "canvas_feedback.zip").is_file()
    assert not (tmp_path / "canvas_worksheet.csv").exists() and published.missing == ()


def test_who_is_not_in_the_gradebook_is_told(tmp_path, book):
    works = graded(collect(zip_of(tmp_path / "s.zip", "otro_555_5001_a.ipynb")), [7])
    published = publish(
        ClassResults(works, ["attention"]), tmp_path, worksheet=read_sheet(book, "4321")
    )
    assert published.missing == ("otro",)


def test_a_folder_of_names_is_matched_by_login_or_by_name(tmp_path, book):
    folder = tmp_path / "clase"
    folder.mkdir()
    for name in ("mateo.ipynb", "Peña, Lucía.ipynb"):
        (folder / name).write_bytes(NOTEBOOK)
    works = graded(collect(folder), [7, 7])
    publish(ClassResults(works, ["attention"]), tmp_path, worksheet=read_sheet(book, "4321"))
    found = read_as_canvas((tmp_path / "canvas_worksheet.csv").read_bytes())
    assert found[101][4321] == found[102][4321] != ""


def test_names_come_from_the_gradebook(tmp_path, book):
    (entry,) = collect(zip_of(tmp_path / "s.zip", "nunezmateo_101_5001_a.ipynb"))
    assert read_sheet(book, "4321").name_of(entry) == "Núñez, Mateo"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
def test_blackboard_gets_the_grades_of_this_task(tmp_path, encoding):
    source = tmp_path / "gc.xls"
    source.write_bytes(BLACKBOARD.encode(encoding))
    path = zip_of(tmp_path / "g.zip", "T_lucia.p_attempt_2026-03-02-18-30-00_a.ipynb")
    (entry,) = collect(path)
    sheet = read_sheet(source, "Atención")
    assert sheet.name_of(entry) == "Lucía Peña"
    publish(ClassResults(graded([entry], [7]), ["attention"]), tmp_path, worksheet=sheet)
    text = (tmp_path / "blackboard_worksheet.csv").read_bytes().decode(encoding)
    rows = list(csv.reader(io.StringIO(text), delimiter="\t"))
    assert rows[0][-1].endswith("|4321") and "Ensayo" not in text
    top = ClassResults(graded([entry], [7]), ["attention"]).topics[0].max_points
    assert [row[-1] for row in rows[1:]] == ["", f"{7 * 20 / top:.2f}"]
    assert not (tmp_path / "blackboard_feedback.zip").exists()


@pytest.mark.parametrize(
    "text, column, says",
    [
        (CANVAS, None, "tiene varias tareas: di cuál con --column"),
        (
            CANVAS,
            "Otra",
            "no tiene una tarea «Otra». Las que hay: «Atención» (4321), «En",
        ),
        (CANVAS.replace("20,5,", '"(read only)",5,'), "4321", "de solo lectura"),
        ("Student,ID,Section\nAna,1,1\n", None, "la columna de ninguna tarea"),
        ("Student,Nota\nAna,1\n", None, "no es la hoja de calificaciones"),
    ],
)
def test_what_cannot_be_used_is_told_in_words(tmp_path, text, column, says):
    path = tmp_path / "libro.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(WorksheetError) as error:
        read_sheet(path, column)
    assert says in str(error.value)


def test_the_only_task_needs_no_column(tmp_path):
    path = tmp_path / "libro.csv"
    path.write_text("Student,ID,Section,Atención (9)\n,,,\n    Points Possible,,,10\nAna,1,1,\n")
    sheet = read_sheet(path)
    assert isinstance(sheet, CourseGradebook) and sheet.maximum == 10 and sheet.students == [3]


# GitHub Classroom


ROSTER = """\
identifier,github_username,github_id,name
ana@example.org,ana-garcia,11,Ana García
luis@example.org,luisg,12,Luis Gil
eva@example.org,,,
"""
GITHUB_GRADES = """\
assignment_name,assignment_url,starter_code_url,github_username,roster_identifier,\
student_repository_name,student_repository_url,submission_timestamp,points_awarded,points_available
Tarea,u,s,ana-garcia,Ana García,tarea-1-ana-garcia,r,2026-03-02T10:00:00Z,0,0
Tarea,u,s,luisg,Luis Gil,tarea-1-luisg,r,2026-03-05T10:00:00Z,0,0
"""


@pytest.fixture
def repositories(tmp_path):
    """Como los deja `gh classroom clone student-repos`."""
    folder = tmp_path / "tarea-1-submissions"
    for user in ("ana-garcia", "luisg"):
        home = folder / f"tarea-1-{user}"
        (home / ".git").mkdir(parents=True)
        (home / ".git" / "HEAD").write_text("ref: refs/heads/main")
        (home / "README.md").write_text("# Tarea")
        (home / "attention.ipynb").write_bytes(NOTEBOOK)
    return folder


def test_the_repositories_of_github_are_of_who_they_say(repositories):
    found = collect(repositories)
    assert [(e.student, e.participant, e.platform, e.source) for e in found] == [
        ("ana-garcia", "ana-garcia", "github", "attention.ipynb"),
        ("luisg", "luisg", "github", "attention.ipynb"),
    ]
    assert {entry.delivered for entry in found} == {None}, "la del disco es la de la copia"
    other = repositories.rename(repositories.with_name("mi carpeta"))
    assert {entry.platform for entry in collect(other)} == {""}
    assert [e.student for e in collect(other, "github")] == ["ana-garcia", "luisg"]


@pytest.mark.parametrize("text", [ROSTER, GITHUB_GRADES])
def test_the_list_of_github_gives_names_and_dates(repositories, tmp_path, text):
    (tmp_path / "lista.csv").write_text(text, encoding="utf-8")
    sheet = read_sheet(tmp_path / "lista.csv")
    entries = collect(repositories)
    assert [sheet.name_of(entry) for entry in entries] == ["Ana García", "Luis Gil"]
    dated = [sheet.delivered(entry) is not None for entry in entries]
    assert dated == [text is GITHUB_GRADES] * 2
    publish(
        ClassResults(graded(entries, [7, 10]), ["attention"]), tmp_path / "out", worksheet=sheet
    )
    rows = list(csv.DictReader((tmp_path / "out" / "github_worksheet.csv").open("r")))
    assert len(rows) == len(text.splitlines()) - 1, "quien no entregó conserva su renglón"
    assert [row["course_grade"] for row in rows][:2] == ["7.00", "10.00"]


# Google Classroom


GOOGLE = """\
Apellidos,Nombre,Dirección de correo electrónico,Atención,Ensayo
Fecha,,,2026-03-02,2026-03-09
Puntos,,,20,5
García,Ana,ana@example.org,,3
Gil,Luis,luis@example.org,,
"""


def test_the_copies_of_google_are_of_who_they_say(tmp_path):
    names = ("Ana García - atención.ipynb", "Luis Gil - atención.ipynb")
    found = collect(zip_of(tmp_path / "a.zip", *(f"Tarea 1/{name}" for name in names)))
    assert [(e.student, e.participant, e.platform) for e in found] == [
        ("Ana García", None, "google"),
        ("Luis Gil", None, "google"),
    ]
    mixed = zip_of(tmp_path / "b.zip", *names, "Eva - otra cosa.ipynb")
    assert {entry.platform for entry in collect(mixed)} == {""}, "no son de una plantilla"
    assert {e.student for e in collect(mixed, "google")} == {"Ana García", "Luis Gil", "Eva"}
    assert {e.platform for e in collect(tmp_path / "a.zip", "folder")} == {""}


def test_the_grades_of_google_are_filled_to_be_copied(tmp_path):
    (tmp_path / "notas.csv").write_text(GOOGLE, encoding="utf-8")
    names = ("Ana García - atención.ipynb", "Luis Gil - atención.ipynb")
    entries = collect(zip_of(tmp_path / "a.zip", *names))
    sheet = read_sheet(tmp_path / "notas.csv", "Atención")
    publish(ClassResults(graded(entries, [5, 10]), ["attention"]), tmp_path, worksheet=sheet)
    rows = list(csv.reader((tmp_path / "google_worksheet.csv").open("r", encoding="utf-8")))
    assert rows[0] == ["Apellidos", "Nombre", "Dirección de correo electrónico", "Atención"]
    assert [row[3] for row in rows[3:]] == ["10.00", "20.00"]
    with pytest.raises(WorksheetError, match="di cuál con --column"):
        read_sheet(tmp_path / "notas.csv")
