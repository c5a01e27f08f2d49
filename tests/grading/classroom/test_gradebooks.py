"""Lo que vuelve a Moodle, leído como Moodle lo lee; y las notas, como las abre una hoja de cálculo.

`read_as_moodle` y `owner_of` repiten, paso a paso, lo que hacen el lector de la hoja
(mod/assign/feedback/offline/importgradeslib.php y lib/csvlib.class.php) y el del ZIP
(mod/assign/feedback/file/importziplib.php).
"""

import csv
import html
import io
import re
import unicodedata
import xml.etree.ElementTree as ET
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.grading.classroom import gradebooks
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.platform_names import parse_moodle_name
from course_lib.grading.classroom.publication import TopicsError, require_clear_topics
from course_lib.grading.classroom.results import ClassResults, Graded
from course_lib.grading.classroom.untrusted_text import clean_name, plain_cell
from course_lib.grading.classroom.worksheet import WorksheetError, read_worksheet
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult
from course_lib.judging.check import topic_exercises
from tests.grading.class_zip import make_class, worksheet

SPANISH = {
    "id": "Identificador",
    "grade": "Calificación",
    "modified": "Última modificación (calificación)",
    "comments": "Comentarios de retroalimentación",
    "hidden": "Participante",
    "decimal": ",",
}
ENGLISH = {
    "id": "Identifier",
    "grade": "Grade",
    "modified": "Last modified (grade)",
    "comments": "Feedback comments",
    "hidden": "Participant ",
    "decimal": ".",
}


def php_csv(text, delimiter=","):
    """Lo que da `fgetcsv` de PHP, para el que la barra invertida protege unas comillas."""
    rows, row, cell, quoted, i = [], [], "", False, 0
    while i < len(text):
        c = text[i]
        if quoted:
            if c == "\\" and i + 1 < len(text):
                cell, i = cell + c + text[i + 1], i + 1
            elif c == '"' and text[i + 1 : i + 2] == '"':
                cell, i = cell + '"', i + 1
            elif c == '"':
                quoted = False
            else:
                cell += c
        elif c == '"' and not cell:
            quoted = True
        elif c == delimiter:
            row, cell = [*row, cell], ""
        elif c == "\n":
            rows, row, cell = [*rows, [*row, cell]], [], ""
        else:
            cell += c
        i += 1
    return rows + ([[*row, cell]] if row or cell else [])


def read_as_moodle(content, language=SPANISH, delimiter=",", encoding="utf-8"):
    """Las notas y los comentarios que Moodle guardaría, por número de participante."""
    text = content.decode(encoding).removeprefix("\ufeff")
    rows = php_csv(re.sub(r"\r\n?", "\n", text), delimiter)
    header = [cell.strip() for cell in rows[0]]
    assert all(len(row) == len(header) for row in rows), "csvweirdcolumns: no se importa nada"
    places = {role: header.index(language[role]) for role in ("id", "grade", "modified")}
    comments = header.index(language["comments"]) if language["comments"] in header else None
    found = {}
    for row in rows[1:]:
        number = int(row[places["id"]].strip()[len(language["hidden"]) :])
        grade = row[places["grade"]].replace(" ", "").replace(language["decimal"], ".")
        found[number] = (float(grade) if grade else None, row[comments] if comments else "")
    return found


def owner_of(path, participants):
    """El participante al que Moodle daría un archivo del ZIP, y con qué nombre."""
    *folders, name = path.split("/")
    assert not name.startswith((".", "~"))
    parts = ["", "import", *folders, name]
    while parts:
        info = parts.pop(0).split("_", 4)
        if len(info) < 4 or not info[1].isdigit() or int(info[1]) not in participants:
            continue
        if (info[2], info[3]) not in {("assignsubmission", "file")}:
            continue
        return int(info[1]), "/".join([*info[4:], *parts]).lstrip("/")
    return None


def graded(number, points, *, name="Ana Pérez", topic="a", message="la pista", folder=None):
    """Una entrega con dos ejercicios, de diez y de cuatro puntos."""
    exercises = (
        ExerciseResult(f"{topic}.uno", "wrong", min(points, 10), 10, message),
        ExerciseResult(f"{topic}.dos", "correct", max(points - 10, 0), 4),
    )
    number = None if number is None else str(number)
    folder = folder or (f"{name}_{number}_assignsubmission_file_" if number else None)
    entry = Entry(name, f"k{number}{topic}", "t.ipynb", b"", number, folder)
    return Graded(entry, SubmissionResult("graded", "", topic, exercises))


def refused(number, name="Ana Pérez", message="el archivo está dañado"):
    entry = Entry(name, f"r{number}", "t.ipynb", message, str(number))
    return Graded(entry, SubmissionResult("unreadable", message))


def sheet(path, rows, language=SPANISH, *, maximum="10,00", delimiter=",", encoding="utf-8-sig"):
    """Una hoja descargada de Moodle, con (número, nombre, nota, comentario) por fila."""
    file = io.StringIO(newline="")
    top = {"Identificador": "Calificación máxima", "Identifier": "Maximum Grade"}[language["id"]]
    name = {"Identificador": "Nombre completo", "Identifier": "Full name"}[language["id"]]
    writer = csv.writer(file, delimiter=delimiter)
    header = [language["id"], name, "Estado", language["grade"], top, language["modified"]]
    writer.writerow([*header, language["comments"]])
    hidden = language["hidden"].strip() + " "
    for number, who, grade, comment in rows:
        writer.writerow([f"{hidden}{number}", who, "Enviado", grade, maximum, "-", comment])
    path.write_bytes(file.getvalue().encode(encoding))
    return path


def write_grades(works, path, topics=()):
    gradebooks.write_grades(ClassResults(works, topics), path)


def write_worksheet(works, path, template=None, topics=()):
    """Lo que hace `publish`: lee la plantilla, si la hay, y la llena."""
    template = template and read_worksheet(template)
    return gradebooks.write_worksheet(ClassResults(works, topics), path, template)


def write_feedback_zip(pages, path, template=None):
    return gradebooks.write_feedback_zip(pages, path, template and read_worksheet(template))


# La hoja con plantilla


def test_the_downloaded_sheet_is_filled_and_nothing_else_changes(tmp_path):
    students = make_class()
    (tmp_path / "hoja.csv").write_bytes(worksheet(students))
    works = [graded(s.number, i % 15, name=s.name) for i, s in enumerate(students[:-1])]
    missing = write_worksheet(works, tmp_path / "o.csv", tmp_path / "hoja.csv")
    before = list(csv.reader(io.StringIO(worksheet(students).decode("utf-8-sig"))))
    after = list(csv.reader(io.StringIO((tmp_path / "o.csv").read_text("utf-8-sig"))))
    assert missing == [] and after[0] == before[0] and len(after) == len(before)
    changed = {
        b[0]: [i for i in range(len(b)) if a[i] != b[i]] for b, a in zip(before, after, strict=True)
    }
    silent = {"Participante 19001", "Participante 39001", f"Participante {students[-1].number}"}
    assert {who for who, places in changed.items() if not places} == {"Identificador", *silent}
    formula = f"Participante {students[27].number}"
    assert changed.pop(formula) == [1, 4, 9], "el nombre que es una fórmula se desactiva"
    assert all(places in ([], [4, 9]) for places in changed.values()), changed
    saved = read_as_moodle((tmp_path / "o.csv").read_bytes())
    for index, student in enumerate(students[:-1]):
        assert saved[student.number][0] == pytest.approx(index % 15 / 14 * 10, abs=0.005)
    assert saved[19001] == saved[students[-1].number] == (None, "")


@pytest.mark.parametrize(
    "maximum, points, shown",
    [
        ("10,00", 9, "6,43"),
        ("10.00", 9, "6.43"),
        ("100", 9, "64.29"),
        ("100,00", 14, "100,00"),
        ("10,00", 0, "0,00"),
        ("", 9, "9.00"),
        ("14", 10, "10.00"),
    ],
)
def test_grades_are_scaled_to_the_maximum_of_the_sheet(tmp_path, maximum, points, shown):
    template = sheet(tmp_path / "h.csv", [(7, "Ana", "", "")], maximum=maximum)
    write_worksheet([graded(7, points)], tmp_path / "o.csv", template)
    assert read_worksheet(tmp_path / "o.csv").cell(0, "grade") == shown


@pytest.mark.parametrize("language", [SPANISH, ENGLISH])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8", "cp1252", "utf-16"])
def test_language_delimiter_and_encoding_stay(tmp_path, language, delimiter, encoding):
    rows = [(7, "José Peña", "", ""), (8, "Íñigo", "5", "bien")]
    template = sheet(
        tmp_path / "h.csv", rows, language, delimiter=delimiter, encoding=encoding, maximum="14"
    )
    work = graded(7, 3, name="José Peña", message="x ≤ β → «mal»")
    write_worksheet([work], tmp_path / "o.csv", template)
    content = (tmp_path / "o.csv").read_bytes()
    saved = read_as_moodle(content, language, delimiter, encoding)
    assert saved[7][0] == 3 and saved[8] == (5, "bien")
    assert "x ≤ β → «mal»" in html.unescape(saved[7][1])
    assert content[:3] == template.read_bytes()[:3], "la marca de la codificación cambió"


def test_a_person_keeps_their_comment_and_ours_is_replaced(tmp_path):
    template = sheet(tmp_path / "h.csv", [(7, "Ana", "2,00", "<p>Ven a verme.</p>")])
    write_worksheet([graded(7, 3)], tmp_path / "o.csv", template)
    first = (tmp_path / "o.csv").read_bytes()
    write_worksheet([graded(7, 3)], tmp_path / "p.csv", tmp_path / "o.csv")
    assert (tmp_path / "p.csv").read_bytes() == first, "el comentario anterior se repite"
    write_worksheet([graded(7, 14)], tmp_path / "p.csv", tmp_path / "o.csv")
    comment = read_as_moodle((tmp_path / "p.csv").read_bytes())[7][1]
    assert comment.startswith("<p>Ven a verme.</p>") and comment.count("puntos") == 1
    assert "14 de 14" in comment


def test_who_could_not_be_graded_gets_a_reason_and_no_grade(tmp_path):
    template = sheet(tmp_path / "h.csv", [(7, "Ana", "", ""), (8, "Eva", "4,00", "")])
    works = [refused(7), refused(8), graded(9, 3, name="Luz")]
    assert write_worksheet(works, tmp_path / "o.csv", template) == ["Luz"]
    saved = read_as_moodle((tmp_path / "o.csv").read_bytes())
    assert saved[7][0] is None and saved[8][0] == 4
    assert "Sin calificar: t.ipynb: el archivo está dañado." in saved[7][1]


def test_a_comment_names_what_is_pending_and_no_hint_of_what_is_right(tmp_path):
    template = sheet(tmp_path / "h.csv", [(7, "Ana", "", "")])
    exercises = (
        ExerciseResult("a.uno", "pending", 0, 1),
        ExerciseResult("a.dos", "missing", 0, 1),
        ExerciseResult("a.tres", "correct", 2, 2),
        ExerciseResult("a.cuatro", "wrong", 1, 2, "los pesos `A` < 1"),
    )
    entry = Entry("Ana", "k", "t.ipynb", b"", "7")
    work = Graded(entry, SubmissionResult("graded", "", "a", exercises))
    write_worksheet([work], tmp_path / "o.csv", template)
    comment = read_as_moodle((tmp_path / "o.csv").read_bytes())[7][1]
    assert re.findall("<li>(.*?)</li>", comment) == [
        "a.uno (0 de 1): pendiente.",
        "a.dos (0 de 1): falta.",
        "a.cuatro (1 de 2): los pesos `A` &lt; 1.",
    ]


def test_the_total_is_over_the_topics_and_the_best_counts(tmp_path):
    template = sheet(tmp_path / "h.csv", [(7, "Ana", "", ""), (8, "Eva", "", "")], maximum="28")
    works = [graded(7, 3), graded(7, 9), graded(7, 5, topic="b"), graded(8, 14)]
    write_worksheet(works, tmp_path / "o.csv", template)
    saved = read_as_moodle((tmp_path / "o.csv").read_bytes())
    assert (saved[7][0], saved[8][0]) == (14, 14)


def read_spreadsheet(path):
    """Las celdas de una hoja de cálculo: un texto, o un número; y nada más."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(path) as archive:
        parts = {name: ET.fromstring(archive.read(name)) for name in archive.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    assert not list(sheet.iter(f"{space}f")), "ninguna fórmula"
    cells = [[list(cell.iter())[-1] for cell in row] for row in sheet.iter(f"{space}row")]
    return [[float(c.text) if c.tag == f"{space}v" else c.text or "" for c in r] for r in cells]


def test_the_spreadsheet_says_the_same_with_numbers_and_no_formula(tmp_path):
    works = [
        graded(7, 3, name="=1+1"),
        graded(None, 9, name="Bel\x07én <b>"),
        refused(8, name="33"),
    ]
    write_grades(works, tmp_path / "g.csv")
    rows = read_spreadsheet(tmp_path / "g.xlsx")
    plain = list(csv.reader(io.StringIO((tmp_path / "g.csv").read_text("utf-8-sig"))))
    assert [[f"{c:g}" if isinstance(c, float) else c for c in row] for row in rows] == [
        [cell.replace("\x07", "") for cell in row] for row in plain
    ]
    total = plain[0].index("Total")
    assert {row[total] for row in rows[1:]} == {3.0, 9.0, ""} and "33" in {row[0] for row in rows}


def test_a_notebook_of_another_topic_does_not_lower_the_grade_of_the_others(tmp_path):
    numbers = range(7, 12)
    template = sheet(tmp_path / "h.csv", [(n, f"E{n}", "", "") for n in numbers])
    works = [graded(n, 14) for n in numbers]
    works.append(graded(7, 14, topic="b"))
    write_worksheet(works, tmp_path / "o.csv", template, ["a"])
    saved = read_as_moodle((tmp_path / "o.csv").read_bytes())
    assert {grade for grade, _ in saved.values()} == {10}
    assert "no cuentan" in saved[7][1] and "no cuentan" not in saved[8][1]
    write_worksheet(works, tmp_path / "o.csv", template, ["a", "b"])
    assert read_as_moodle((tmp_path / "o.csv").read_bytes())[8][0] == 5
    write_grades(works, tmp_path / "g.csv", ["a"])
    found = {r["Participante"]: r["b (14, no cuenta)"] for r in read_grades(tmp_path / "g.csv")}
    assert found == {"7": "14", "8": "", "9": "", "10": "", "11": ""}
    assert {row["Porcentaje"] for row in read_grades(tmp_path / "g.csv")} == {"100"}
    write_worksheet(works[1:], tmp_path / "o.csv", template, ["a"])
    grade, comment = read_as_moodle((tmp_path / "o.csv").read_bytes())[7]
    assert grade is None and "Sin nota: solo entregó «b», que no cuenta" in comment


@pytest.mark.parametrize("easy", range(1, 6))
def test_what_a_class_delivers_besides_never_changes_what_is_asked(easy):
    """Ni uno ni toda la clase: con un cuaderno de más, el máximo es el de los temas pedidos."""
    works = [graded(7 + i, 3) for i in range(5)]
    works += [graded(7 + i, 14, topic="b") for i in range(easy)]
    assert ClassResults(works, ["a"]).counted == {"a": 14}
    assert ClassResults(works).counted == {"a": 14, "b": 14}, "sin decir cuáles, no se elige"
    with pytest.raises(TopicsError, match=rf"a \(5 estudiantes\), b \({easy} estudiante"):
        require_clear_topics(ClassResults(works))
    require_clear_topics(ClassResults(works, ["a"]))
    require_clear_topics(ClassResults(works[:5]))


def test_a_topic_that_nobody_delivered_counts_if_it_is_asked(tmp_path):
    worth = sum(exercise.points for exercise in topic_exercises("attention"))
    works = [graded(7, 7)]
    assert ClassResults(works, ["attention", "a"]).counted == {"a": 14, "attention": worth}
    write_grades(works, tmp_path / "g.csv", ["a", "attention"])
    (row,) = read_grades(tmp_path / "g.csv")
    assert (row["Total"], row["Máximo"]) == ("7", str(14 + worth))
    assert row[f"attention ({worth})"] == ""


def test_a_team_is_found_by_its_name_and_never_by_its_number(tmp_path):
    text = (
        "Identificador,Nombre completo,Estado,Grupo,Calificación,Calificación máxima,"
        "Última modificación (calificación),Comentarios de retroalimentación\n"
        "Participante 57,Otra Persona,Enviado,Equipo Azul,,14,-,\n"
        "Participante 58,Ana_María,Enviado,Equipo_Rojo,,14,-,\n"
        "Participante 59,Eva,Enviado,Equipo_Rojo,,14,-,\n"
    )
    (tmp_path / "h.csv").write_text(text, "utf-8")
    work = graded(57, 8, name="Equipo Rojo")
    assert write_worksheet([work], tmp_path / "o.csv", tmp_path / "h.csv") == []
    saved = read_as_moodle((tmp_path / "o.csv").read_bytes())
    assert [saved[n][0] for n in (57, 58, 59)] == [None, 8, 8]
    page = [(work.entry, "<p>hola</p>")]
    assert write_feedback_zip(page, tmp_path / "f.zip", tmp_path / "h.csv") == []
    assert owners(tmp_path / "f.zip", {57, 58, 59}) == {58: "<p>hola</p>", 59: "<p>hola</p>"}


def test_the_sheet_says_who_delivered_nothing(tmp_path):
    rows = [(7, "Ana", "", ""), (8, "Eva", "", ""), (9, "Ana", "", ""), (10, "Luz", "", "")]
    read = read_worksheet(sheet(tmp_path / "h.csv", rows))
    assert read.absent([graded(7, 3).entry, refused(10).entry]) == ["Eva", "Ana"]
    unknown = graded(None, 3, name="ana").entry
    assert read.absent([unknown]) == ["Eva", "Luz"], "puede ser cualquiera de las dos Ana"


def test_without_numbers_a_unique_name_is_enough(tmp_path):
    rows = [(7, "José Núñez", "", ""), (8, "Ana", "", ""), (9, "Ana", "", "")]
    template = sheet(tmp_path / "h.csv", rows, maximum="14")
    name = unicodedata.normalize("NFD", "josé  núñez")
    works = [graded(None, 5, name=name), graded(None, 6, name="Ana")]
    assert write_worksheet(works, tmp_path / "o.csv", template) == ["Ana"]
    saved = read_as_moodle((tmp_path / "o.csv").read_bytes())
    assert [saved[n][0] for n in (7, 8, 9)] == [5, None, None]


@pytest.mark.parametrize(
    "text, says",
    [
        ("Nombre,Nota\nAna,3\n", "no es la hoja de calificaciones"),
        ("", "no es la hoja de calificaciones"),
        (
            "Identificador,Calificación,Escala,Última modificación (calificación)\n"
            "Participante 7,,Bien,-\n",
            "escala",
        ),
        (
            "Identificador,Calificación,Calificación máxima,Última modificación (calificación)\n"
            "Participante 7,,diez,-\n",
            "no es un número",
        ),
    ],
)
def test_a_sheet_that_cannot_be_used_says_why(tmp_path, text, says):
    (tmp_path / "h.csv").write_text(text, "utf-8")
    with pytest.raises(WorksheetError, match=says):
        write_worksheet([graded(7, 3)], tmp_path / "o.csv", tmp_path / "h.csv")
    assert not (tmp_path / "o.csv").exists()


def test_a_missing_sheet_says_so(tmp_path):
    with pytest.raises(WorksheetError, match="No se puede leer"):
        write_worksheet([graded(7, 3)], tmp_path / "o.csv", tmp_path / "h.csv")


# La hoja sin plantilla


def test_without_a_template_moodle_reads_the_sheet_in_spanish_and_english(tmp_path):
    works = [graded(123, 9), graded(7, 14, name="Íñigo Ñu"), refused(8)]
    assert write_worksheet(works, tmp_path / "o.csv") == []
    content = (tmp_path / "o.csv").read_bytes()
    for hidden in ("Participante", "Participante "):
        saved = read_as_moodle(content, SPANISH | {"hidden": hidden})
        grades = {number: grade for number, (grade, _) in saved.items()}
        assert grades == {123: 9, 7: 14, 8: None}, "el número perdió cifras"


def test_without_numbers_nor_template_there_is_no_sheet(tmp_path):
    assert write_worksheet([graded(None, 9)], tmp_path / "o.csv") == ["Ana Pérez"]
    assert not (tmp_path / "o.csv").exists()


# Las notas


def read_grades(path):
    content = path.read_bytes()
    assert content.startswith(b"\xef\xbb\xbf"), "sin la marca, Excel no lee los acentos"
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))


def test_the_grades_have_one_row_per_student_with_topics_and_exercises(tmp_path):
    works = [
        graded(7, 3),
        graded(7, 12),
        graded(7, 5, topic="b"),
        graded(8, 14, name="Íñigo"),
        refused(9, name="Eva"),
        refused(8, name="Íñigo", message="es un enlace"),
    ]
    write_grades(works, tmp_path / "g.csv")
    ana, eva, inigo = read_grades(tmp_path / "g.csv")
    assert ana == {
        "Estudiante": "Ana Pérez",
        "Participante": "7",
        "Archivos": "3",
        "Total": "17",
        "Máximo": "28",
        "Porcentaje": "61",
        "a (14)": "12",
        "b (14)": "5",
        "a.uno (10)": "10",
        "a.dos (4)": "2",
        "b.uno (10)": "5",
        "b.dos (4)": "0",
        "Observaciones": "",
    }
    assert (inigo["Total"], inigo["b (14)"], inigo["b.uno (10)"]) == ("14", "", "")
    assert inigo["Observaciones"] == "t.ipynb: es un enlace"
    assert (eva["Total"], eva["Porcentaje"], eva["Archivos"]) == ("", "", "1")


def test_an_empty_class_has_only_the_header(tmp_path):
    write_grades([], tmp_path / "g.csv")
    assert read_grades(tmp_path / "g.csv") == []


# Fórmulas, HTML y nombres cualesquiera

FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
NUMBER = re.compile(r"-?[0-9]+([.,][0-9]+)?|-")


def formulas(text):
    """Las celdas que una hoja de cálculo tomaría por fórmulas, sea cual sea su separador."""
    cells = []
    for delimiter in ",;\t|":
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            cells += [c for c in row if FORMULA.match(c) and not NUMBER.fullmatch(c)]
    return cells


HOSTILE = [
    "=1+1",
    "@SUM(A1)",
    "+1",
    "-1+1",
    " =1",
    "\t=1",
    "a;=1",
    'a;"=1"',
    "a\n=1",
    "x\\",
    '\\"=1',
    "<b>&lt;=",
    "<script>alert(1)</script>",
    "= =1",
    "＝1",
    "''=1",
    "a, -b",
    "a|=1",
]
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.sampled_from("=+-@;,\t\n\r\"'\\ |a<>&1ñ"), max_size=12),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)


@given(texts)
def test_a_plain_cell_is_never_a_formula(text):
    file = io.StringIO(newline="")
    csv.writer(file).writerow(["x", plain_cell(text)])
    assert not formulas(file.getvalue())


def test_dates_and_numbers_of_the_sheet_stay(tmp_path):
    rows = [(7, "Ana", "", ""), (8, "-", "-1,5", "")]
    template = sheet(tmp_path / "h.csv", rows)
    write_worksheet([], tmp_path / "o.csv", template)
    assert (tmp_path / "o.csv").read_bytes() == template.read_bytes()


def test_plain_text_is_left_as_it_is():
    for text in ("Ana Pérez", "O'Higgins", "Pérez, Ana", "12", "", "a = b", "x-y"):
        assert plain_cell(text) == text


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(texts, texts, st.integers(0, 14)), min_size=1, max_size=4))
def test_no_name_or_message_breaks_the_files(tmp_path, people):
    works = []
    for number, (name, message, points) in enumerate(people, 100):
        shown = clean_name(name) or "sin nombre"
        works.append(graded(number, points, name=shown, message=message))
        works.append(refused(number, name=shown, message=message))
    write_grades(works, tmp_path / "g.csv")
    write_worksheet(works, tmp_path / "o.csv")
    assert len(read_grades(tmp_path / "g.csv")) == len(people)
    saved = read_as_moodle((tmp_path / "o.csv").read_bytes())
    points = {number: float(p) for number, (_, _, p) in enumerate(people, 100)}
    assert {number: grade for number, (grade, _) in saved.items()} == points
    tags = {tag for _, comment in saved.values() for tag in re.findall(r"<[^>]*>?", comment)}
    ours = {'<div class="course-grade">', "</div>", "<p>", "</p>", "<strong>", "</strong>"}
    assert tags <= ours | {"<ul>", "</ul>", "<li>", "</li>"}, tags
    for file in ("g.csv", "o.csv"):
        assert not formulas((tmp_path / file).read_bytes().decode("utf-8-sig"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(texts, min_size=1, max_size=4))
def test_any_cell_of_the_sheet_is_neutral_and_stays_in_its_column(tmp_path, names):
    rows = [(number, name, "", "") for number, name in enumerate(names, 100)]
    template = sheet(tmp_path / "h.csv", rows)
    write_worksheet([graded(100, 14)], tmp_path / "o.csv", template)
    content = (tmp_path / "o.csv").read_bytes()
    assert not formulas(content.decode("utf-8-sig"))
    saved = read_as_moodle(content)
    assert saved.pop(100)[0] == 10 and all(value == (None, "") for value in saved.values())


# La retroalimentación


def owners(path, participants):
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        found = {}
        for name in archive.namelist():
            number, file = owner_of(name, participants)
            assert file == "retroalimentacion.html" and number not in found
            found[number] = archive.read(name).decode()
        return found


def test_moodle_gives_each_page_to_its_student(tmp_path):
    students = make_class()
    pages = []
    for student in students:
        name = parse_moodle_name(f"{student.prefix}_")
        entry = Entry(student.name, "k", "t", b"", name.number, name.folder)
        pages.append((entry, f"<p>{student.number} ñ</p>"))
    pages.append((Entry("Sin Número", "k", "t", b""), "x"))
    assert write_feedback_zip(pages, tmp_path / "f.zip") == ["Sin Número"]
    found = owners(tmp_path / "f.zip", {s.number for s in students})
    assert found == {s.number: f"<p>{s.number} ñ</p>" for s in students}


def test_the_same_pages_are_the_same_bytes(tmp_path):
    pages = [(graded(n, 1).entry, f"<p>{n}</p>") for n in (7, 8, 9)]
    write_feedback_zip(pages, tmp_path / "a.zip")
    write_feedback_zip(pages[::-1], tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    dates = {member.date_time for member in zipfile.ZipFile(tmp_path / "a.zip").infolist()}
    assert dates == {(1980, 1, 1, 0, 0, 0)}


def test_whoever_shares_a_place_gets_none(tmp_path):
    """Sin números, «Ana P» y «ana_p» parecen la misma persona de la hoja: ninguna recibe nada."""
    names = ("Ana P", "ana_p", "Luis")
    works = [
        Graded(Entry(name, f"k{n}", f"{name}.ipynb", b""), graded(7, n).result)
        for n, name in enumerate(names, 1)
    ]
    template = tmp_path / "hoja.csv"
    header = "Identificador,Nombre completo,Calificación,Última modificación (calificación)"
    template.write_text(f"{header}\nParticipante 1,Ana P,,-\nParticipante 2,Luis,,-\n", "utf-8")
    assert write_worksheet(works, tmp_path / "out.csv", template) == ["Ana P", "ana_p"]
    lines = (tmp_path / "out.csv").read_text("utf-8-sig").splitlines()
    assert lines[1] == "Participante 1,Ana P,,-" and lines[2] != "Participante 2,Luis,,-"
    pages = [(one.entry, "página") for one in works]
    assert write_feedback_zip(pages, tmp_path / "out.zip", template) == ["Ana P", "ana_p"]
    (member,) = zipfile.ZipFile(tmp_path / "out.zip").namelist()
    assert "Luis" in member


def test_without_participants_there_is_no_zip(tmp_path):
    assert write_feedback_zip([(graded(None, 1).entry, "a")], tmp_path / "f.zip") == ["Ana Pérez"]
    assert not (tmp_path / "f.zip").exists()
