"""Las páginas de una calificación: qué dicen, a quién, y que nada ajeno llega a correr en ellas."""

import itertools
import json
import re
import tomllib
import unicodedata
from dataclasses import asdict, replace
from datetime import datetime

import pytest
import torch
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from course_lib.course_settings import CourseSettings
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.report import class_report, feedback_page
from course_lib.grading.classroom.results import ClassResults, Graded, topic_outline
from course_lib.grading.classroom.untrusted_text import (
    visible,
)
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult
from course_lib.grading.submission import exercises_folder
from course_lib.judging.check import judge_now, topic_exercises
from tests.grading.sandbox.hostile.cases import HARD, IMPORTS, notebook

ROOT = exercises_folder().parent
TOPICS = sorted(path.stem for path in exercises_folder().glob("*.ipynb"))
SHAPE = "la forma es (3, 4) y debería ser (4, 3), con entradas de forma (3, 2)"
STOPPED = "tu código se detuvo con IndexError: out of range (línea 2: return scores[..., 99])"
BROKEN = "celda 4: ZeroDivisionError: division by zero (línea 1: 1 / 0)"


def entry(student="Ana Pérez", number=1, source="attention.ipynb", key=None):
    return Entry(student, key or f"key-{number}-{source}", source, b"", str(number))


def answer(name, status="correct", points=None, **fields):
    (exercise,) = (e for e in topic_exercises("attention") if e.name == f"attention.{name}")
    points = points if points is not None else exercise.points * (status == "correct")
    return ExerciseResult(exercise.name, status, points, exercise.points, **fields)


def mistaken(name, misconception):
    (exercise,) = (e for e in topic_exercises("attention") if e.name == f"attention.{name}")
    (found,) = (m for m in exercise.misconceptions if m.name == misconception)
    fields = {"message": found.hint, "misconceptions": (found.name,), "hinted": True}
    return answer(name, "wrong", **fields, property="values")


def graded(*answers, who=None, **fields):
    return Graded(who or entry(), SubmissionResult("graded", "", "attention", answers, **fields))


def refused(who, status="unreadable", message="el archivo está dañado"):
    return Graded(who, SubmissionResult(status, message))


def typical():
    return graded(
        answer("soft_argmax"),
        mistaken("hard_argmax", "row_index"),
        answer("decoding_step", "wrong", 1, message=SHAPE, property="shape", earned="los pesos"),
        answer("additive_scores", "error", message=STOPPED, property="runs"),
        answer("columns", "pending"),
        answer("read_plot", "missing", message="el cuaderno no define «ties»"),
        broken_cells=(BROKEN,),
        seconds=3.0,
    )


def page_of(works, topics=(), **options):
    """La página de quien entregó todo eso."""
    (student,) = ClassResults(works, topics).students
    return feedback_page(student, **options)


def report_of(works, topics=(), **options):
    return class_report(ClassResults(works, topics), **options)


def parse(page):
    return BeautifulSoup(page, "html.parser")


def said(page):
    """El texto de una página, con los espacios juntos."""
    body = parse(page).body
    for part in body(["script", "svg"]):
        part.decompose()
    return " ".join(body.get_text(" ").split())


def skeleton(page):
    """Los elementos de una página y sus atributos: lo que el texto ajeno no puede cambiar."""
    return [(tag.name, tuple(tag.attrs)) for tag in parse(page).find_all(True)]


# La página de un estudiante


def test_each_exercise_has_its_title_state_points_and_reason():
    page = parse(page_of([typical()]))
    assert page.h1.get_text() == "Ana Pérez"
    assert page.select_one(".total").get_text() == "2 de 9 puntos"
    assert page.select_one("svg[role=img]")["aria-label"] == "2 de 9 puntos"
    cards = {c.h3.get_text(): " ".join(c.get_text(" ").split()) for c in page.select("article")}
    assert "Correcto 1 de 1 punto" in cards["Ejercicio 1 · El arg max suave"]
    assert "Incorrecto 0 de 1 punto" in cards["Ejercicio 2 · El arg max duro"]
    partial = cards["Ejercicio 3 · Un paso de decodificación"]
    assert "Correcto en parte 1 de 2 puntos" in partial and "1 punto por los pesos." in partial
    assert "La forma es (3, 4) y debería ser (4, 3), con entradas de forma (3, 2)." in partial
    assert "Se detuvo" in cards["Ejercicio 4 · La puntuación aditiva, con memoria de lo mirado"]
    assert "Pendiente" in cards["Ejercicio 5 · De columnas a filas"]
    assert "El cuaderno no define «ties»." in cards["Ejercicio 7 · Lee la gráfica"]


def test_a_hint_shows_its_code_and_a_failure_its_line():
    page = parse(page_of([typical()]))
    code = [c.get_text() for c in page.select("article code")]
    assert code[:3] == ["ceros[posiciones] = 1", "one_hot", "scatter"]
    assert "return scores[..., 99]" in code
    assert "`" not in page.get_text()


def test_a_broken_cell_is_a_note_that_costs_nothing():
    note = parse(page_of([typical()])).select_one(".note")
    assert "Celda 4: ZeroDivisionError: division by zero." in note.get_text()
    assert "No quita puntos" in note.get_text()


def test_what_to_do_next_names_the_exercises_and_the_chapters():
    text = said(page_of([typical()]))
    following = text[text.index("Qué hacer ahora") :]
    fix, respond = following.index("Corrige"), following.index("Responde")
    assert fix < following.index("Ejercicio 3") < respond < following.index("Ejercicio 5")
    assert "course check attention.ipynb" in following
    page = parse(page_of([typical()], site="https://curso.example/libro/"))
    links = [a["href"] for a in page.select("a[href^=http]")]
    assert links == ["https://curso.example/libro/book/attention.html"]
    targets = {a["href"][1:] for a in page.select("a[href^='#']")}
    assert targets and targets <= {tag["id"] for tag in page.select("[id]")}


def test_several_topics_are_told_as_one_says_them():
    right = SubmissionResult("graded", "", "bert", (ExerciseResult("bert.uno", "wrong", 0, 2),))
    other = replace(right, topic="palm", exercises=(ExerciseResult("palm.uno", "wrong", 0, 2),))
    works = [typical(), Graded(entry(source="b"), right), Graded(entry(source="p"), other)]
    following = said(page_of(works))
    told = "course check attention.ipynb, course check bert.ipynb y course check palm.ipynb dan"
    assert told in following.replace(" ,", ",")
    assert "course check attention.ipynb da las mismas" in said(page_of(works[:1]))
    titles = [topic_outline(name).title for name in ("attention", "bert", "palm")]
    report = said(report_of(works))
    assert f"cuentan {titles[0]}, {titles[1]} y {titles[2]}: lo que se entregó" in report


def test_a_chapter_that_is_not_in_the_course_is_not_linked():
    course = CourseSettings(leave_out=("attention",))
    page = page_of([typical()], site="https://curso.example", course=course)
    assert not parse(page).select("a[href^=http]") and "Vuelve a leer" not in said(page)
    whole = [graded(*(answer(e.name.partition(".")[2]) for e in topic_exercises("attention")))]
    text = said(page_of(whole, site="https://curso.example", course=course))
    assert "mira «Para saber más», al final de cada capítulo." in text


def test_a_perfect_notebook_has_nothing_to_correct():
    exercises = [e.name.partition(".")[2] for e in topic_exercises("attention")]
    text = said(page_of([graded(*map(answer, exercises))]))
    worth = sum(e.points for e in topic_exercises("attention"))
    assert f"Todo correcto: {worth} puntos." in text and "No hay nada que corregir." in text
    assert "Corrige" not in text and "Vuelve a leer" not in text


def test_of_several_notebooks_it_says_which_one_counts():
    first = graded(answer("soft_argmax", "pending"), who=entry(source="uno.ipynb"))
    second = graded(answer("soft_argmax"), who=entry(source="dos.ipynb"))
    text = said(page_of([first, second]))
    assert "Entregaste 2 cuadernos de este tema. Cuenta « dos.ipynb », que es el que más" in text
    assert "1 de 1 punto (el que cuenta)" in text and text.count("Ejercicio 1") == 1
    tied = graded(answer("soft_argmax"), who=entry(source="tres.ipynb"))
    assert "Ninguno tiene más puntos que « dos.ipynb »" in said(page_of([second, tied]))


@pytest.mark.parametrize(
    ("status", "advice"),
    [("unreadable", "Abre el cuaderno en Jupyter"), ("unknown", "El curso reconoce el tema")],
)
def test_what_could_not_be_graded_says_why_and_how_to_deliver_again(status, advice):
    page = page_of([refused(entry(source="tarea.pdf"), status, "el archivo está cortado")])
    text = said(page)
    assert "Sin calificar" in text and "tarea.pdf : el archivo está cortado." in text
    assert advice in text and "de 0 puntos" not in text
    both = said(page_of([typical(), refused(entry(source="tarea.pdf"), status)]))
    assert "2 de 9 puntos" in both and "Lo que no se calificó" in both and advice in both


def test_the_site_is_an_address():
    with pytest.raises(ValueError, match="dirección"):
        page_of([typical()], site="javascript:alert(1)")


# La página de la clase


def class_of(count):
    """Una clase en que el uno de cada tres se equivoca, y uno de cada diez no se pudo leer."""
    found = []
    for i in range(count):
        who = entry(f"Estudiante {i:04d}", i)
        wrong = mistaken("soft_argmax", "no_beta"), answer("hard_argmax")
        right = answer("soft_argmax"), answer("hard_argmax", "pending")
        one = graded(*(wrong if i % 3 == 0 else right), who=who, seconds=1 + i / 100)
        found.append(refused(who) if i % 10 == 9 else one)
    return found


def table_of(page, label):
    rows = parse(page).select(f"[aria-label^='{label}'] tr")
    return [[" ".join(c.get_text(" ").split()) for c in row.find_all(["th", "td"])] for row in rows]


def test_the_class_in_numbers():
    page = report_of(class_of(30), when=datetime(2026, 11, 22, 6, 10))
    assert parse(page).h1.get_text() == "Calificación de la clase"
    assert "Calificado el 22 de noviembre de 2026, 06:10." in said(page)
    tiles = {d.dt.get_text(): d.dd.get_text() for d in parse(page).select(".tiles > div")}
    assert tiles["Estudiantes"] == tiles["Entregas"] == "30"
    assert tiles["Calificadas"] == "27" and tiles["Sin calificar"] == "3"
    rows = table_of(page, "Resultados por ejercicio")
    assert rows[0][:4] == ["Ejercicio", "Media", "Correcto", "Incorrecto"]
    # De los 27, se equivocan los 9 múltiplos de tres que no acaban en nueve.
    assert rows[1][0] == "Ejercicio 1 · El arg max suave"
    assert rows[1][1:] == ["0.67 de 1", "67 %", "33 %", "–", "9 con 0 · 18 con 1"]
    assert rows[2][2:] == ["33 %", "–", "67 %", "18 con 0 · 9 con 1"]


def test_a_misconception_says_how_many_and_who():
    people = class_of(12)
    page = parse(report_of(people))
    (card,) = page.select(".mistakes > li")
    assert "3 de 11" in card.get_text() and "No usas β" in card.get_text()
    who = card.select("details a[href^=feedback]")
    assert [a.get_text() for a in who] == ["Estudiante 0000", "Estudiante 0003", "Estudiante 0006"]
    assert who[0]["href"] == "feedback/estudiante-0000-0.html"


def test_who_makes_two_at_once_counts_in_both():
    both = judge_now("attention.soft_argmax", lambda s, beta: torch.softmax(s, dim=0))
    assert both.misconceptions == ("wrong_axis", "no_beta")
    one, two = mistaken("soft_argmax", "no_beta"), ExerciseResult(**asdict(both))
    people = [graded(each, who=entry(n, i)) for i, (n, each) in enumerate([("a", two), ("b", one)])]
    page = parse(report_of(people))
    cards = [card.get_text() for card in page.select(".mistakes > li")]
    assert "2 de 2" in cards[0] and "No usas β" in cards[0], "la pista de quien cometió solo ese"
    assert "1 de 2" in cards[1] and "dan dos errores a la vez. Uno: normalizas" in cards[1]
    assert "Pistas. Tu resultado es el que dan dos errores a la vez" in said(page_of([people[0]]))
    assert "Pista. No usas β" in said(page_of([people[1]]))


def test_a_result_with_several_explanations_is_shown_as_hints_and_counts_in_none():
    message = "tu resultado es el que dan dos errores a la vez. Uno: usas `dim=0`. El otro: sumas."
    told = answer("columns", "wrong", message=message, hinted=True, property="values")
    people = [graded(told)]
    page, report = page_of(people), report_of(people)
    assert "Pistas. Tu resultado es el que dan dos errores a la vez. Uno: usas dim=0" in said(page)
    assert "Se nota en que" in said(page)
    assert "dim=0" in [code.get_text() for code in parse(report).find_all("code")]
    assert not parse(report).select(".mistakes > li") and "Otros errores" in said(report)


def test_an_unrecognised_mistake_is_told_with_what_each_one_was_told():
    text = said(report_of([typical()]))
    others = text[text.index("Otros errores") :]
    assert "el resultado no tiene la forma pedida" in others and "La forma es (3, 4)" in others
    assert "el código no llega a dar un resultado" in others and "IndexError" in others


def test_refused_slowest_and_stopped_are_listed():
    page = report_of([*class_of(30), replace(typical(), entry=entry("Zoé", 99))])
    assert table_of(page, "Entregas sin calificar")[1] == [
        "Estudiante 0009",
        "attention.ipynb : el archivo está dañado.",
    ]
    slowest = table_of(page, "Entregas más lentas")[1:]
    assert slowest[0][:3] == ["Zoé", "attention.ipynb", "3.0"] and len(slowest) == 10
    assert "ZeroDivisionError" in said(page)


def test_students_are_in_alphabetical_order_and_the_best_notebook_counts():
    names = ["Óscar", "Zoé", "ana", "Ángela", "Pablo"]
    people = [graded(answer("soft_argmax"), who=entry(n, i)) for i, n in enumerate(names)]
    people.append(graded(answer("soft_argmax", "pending"), who=entry("Zoé", 1, "otro.ipynb")))
    rows = table_of(report_of(people), "Tabla de estudiantes")[1:]
    assert [row[0] for row in rows] == ["ana", "Ángela", "Óscar", "Pablo", "Zoé"]
    assert rows[-1][1:3] == ["1", "100"] and rows[-1][-1] == "código · 2"


def test_namesakes_are_told_apart():
    people = [graded(answer("soft_argmax"), who=entry("Ana García", i)) for i in (205, 206)]
    people.append(graded(answer("soft_argmax"), who=entry("Luis", 7)))
    rows = table_of(report_of(people), "Tabla de estudiantes")[1:]
    assert [row[0] for row in rows] == ["Ana García 205", "Ana García 206", "Luis"]


def test_the_slowest_say_where_the_time_went():
    fast = graded(answer("soft_argmax", seconds=1.0), who=entry("Luis", 1), seconds=9.0)
    slow = graded(answer("hard_argmax", seconds=8.0), who=entry("Ana", 2), seconds=10.0)
    rows = table_of(report_of([fast, slow]), "Entregas más lentas")[1:]
    assert rows[0][2:] == ["10.0", "Ejercicio 2 · El arg max duro (8.0 s)"]
    assert rows[1][2:] == ["9.0", "al ejecutar sus celdas"]


def test_who_delivered_no_file_is_not_named_as_one():
    nothing = replace(entry("Luis"), source="Luis")
    page = page_of([refused(nothing, message="la entrega no tiene ningún archivo")])
    assert parse(page).main.li.get_text().strip() == "La entrega no tiene ningún archivo."


def test_several_topics_add_up_and_a_missing_one_is_not_a_zero_in_its_own_table():
    other = SubmissionResult(
        "graded", "", "palm", (ExerciseResult("palm.swiglu", "correct", 1, 1),)
    )
    people = [typical(), Graded(entry(source="palm.ipynb"), other)]
    people.append(replace(typical(), entry=entry("Luis", 2)))
    page = report_of(people)
    assert [h.get_text() for h in parse(page).find_all("h2")][:3] == [
        "El total",
        "Atención",
        "PaLM",
    ]
    rows = table_of(page, "Tabla de estudiantes")
    assert rows[0][1:4] == ["Atención, de 9", "PaLM, de 1", "Total, de 10"]
    assert rows[2][:5] == ["Luis", "2", "–", "2", "20"]
    assert "1 estudiante, 1 punto." in said(page)


def test_only_what_counts_is_explained():
    """Quien entregó otra cosa se nombra, y su tema no ocupa el informe ni da otro total."""
    other = SubmissionResult(
        "graded", "", "palm", (ExerciseResult("palm.swiglu", "correct", 1, 1),)
    )
    people = [typical(), Graded(entry("Luis", 2, source="palm.ipynb"), other)]
    page = report_of(people, topics=["attention"])
    titles = [h.get_text() for h in parse(page).find_all("h2")]
    assert titles[:2] == ["Sin nada que cuente", "Atención"] and "PaLM" not in titles
    rows = table_of(page, "Tabla de estudiantes")
    assert rows[0][1:3] == ["Atención, de 9", "%"] and "No cuenta PaLM." in said(page)


def test_who_delivered_nothing_is_named_if_it_is_known():
    page = report_of([typical()], absent=["Eva", "<b>Luz</b>"])
    assert "No entregaron nada, según la hoja: 2 Eva y <b>Luz</b> ." in said(page)
    hidden = class_report(ClassResults([typical()], anonymous=True), absent=["Eva"])
    assert "según la hoja: 1." in said(hidden) and "Eva" not in hidden
    assert "según la hoja" not in report_of([typical()])


def test_the_total_is_there_with_several_topics_and_is_not_zero_for_who_has_no_grade():
    people = [typical(), refused(entry("Luis", 2))]
    rows = table_of(report_of(people, topics=["attention", "palm"]), "Tabla de estudiantes")
    palm = sum(exercise.points for exercise in topic_exercises("palm"))
    header = ["Atención, de 9", f"Total, de {9 + palm}"]
    assert rows[0][1:3] == header, "PaLM cuenta y nadie lo entregó"
    assert rows[1][:4] == ["Ana Pérez", "2", "2", str(round(200 / (9 + palm)))]
    assert rows[2][:4] == ["Luis", "–", "–", "–"]
    people.append(refused(entry(source="vieja.ipynb")))  # Ana tiene nota, y una entrega sin ella
    assert "Quien no entregó otro cuaderno no tiene nota." in said(report_of(people))


def test_the_page_adds_up_what_counts_in_the_grade_and_says_what_is_missing():
    exercises = [e.name.partition(".")[2] for e in topic_exercises("attention")]
    perfect = graded(*map(answer, exercises))
    own, palm = (sum(e.points for e in topic_exercises(t)) for t in ("attention", "palm"))
    text = said(page_of([perfect], ["attention", "palm"]))
    assert f"{own} de {own + palm} puntos" in text
    assert f"Sin entregar: PaLM ({palm} puntos)." in text
    following = text[text.index("Qué hacer ahora") :]
    assert f"Entrega el cuaderno de PaLM : vale {palm} puntos." in following.replace(
        "PaLM:", "PaLM :"
    )
    assert "No hay nada que corregir" not in text and "Comprueba" not in following
    stray = ExerciseResult("palm.swiglu", "wrong", 0, 1)
    other = Graded(entry(source="palm.ipynb"), SubmissionResult("graded", "", "palm", (stray,)))
    text = said(page_of([perfect, other], ["attention"]))
    assert f"{own} de {own} puntos" in text and "PaLM 0 ejercicios correctos" in text
    assert text.count("Este tema no cuenta en la nota de esta tarea.") == 1
    assert re.search(r"Corrige Ejercicio 1\W+La red con compuerta , de PaLM: arriba", text)


def test_an_empty_class_and_one_where_nothing_could_be_graded():
    assert "No hay ninguna entrega" in said(report_of([]))
    page = report_of([refused(entry())])
    assert "Sin calificar" in said(page) and "Mediana" not in said(page)


def test_the_size_grows_with_the_class_and_the_plots_do_not():
    pages = {count: report_of(class_of(count)) for count in (1, 30, 2000)}
    assert len(pages[30]) < 150_000 and len(pages[2000]) < 2_000_000
    assert len(table_of(pages[2000], "Tabla de estudiantes")) == 2001
    drawn = [sum(map(len, re.findall(r"<svg.*?</svg>", p, re.S))) for p in pages.values()]
    assert max(drawn) < 60_000


# Nada ajeno llega a correr


EVIL = [
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    '" onmouseover="window.ran = 1',
    "</title></style></script><svg onload='window.ran = 1'>",
    "javascript:window.ran=1",
    "{{ 7 * 7 }}{% raw %}<!--",
    "\u202eecila\u2066 \x00\x1b[31m\x07\ud800\ufeff",
    "`<b onclick=1>` *<i>* $x$",
]


def evil_class(text):
    """Una clase en que todo lo que puede escribir un estudiante es ese texto."""
    who = Entry(text or "x", "key-1", f"{text}.ipynb", b"", "1", text)
    answers = (
        answer("soft_argmax", "wrong", message=f"x {text}", property=text or None),
        answer("hard_argmax", "error", message=f"x {text}", property="runs"),
        answer("read_plot", "wrong", 0, message=f"x {text}", misconceptions=("m",), earned="x"),
        answer("columns", "wrong", 0, message=f"x {text}", hinted=True, property=text or None),
    )
    broken = (f"celda 1: {text}",)
    found = graded(*answers, who=who, broken_cells=broken, notes=(f"attention.x: usa «{text}»",))
    return [found, refused(who, message=f"x {text}")]


def pages_with(text):
    people = evil_class(text)
    return page_of(people), report_of(people)


def test_what_could_be_evaded_is_told_to_the_instructor_and_only_to_them():
    note = "attention.top_k_weights: su código usa «ctypes». Míralo a mano."
    people = [graded(answer("top_k_weights"), notes=(note,))]
    assert note in parse(report_of(people)).find(id="doubtful").get_text()
    assert "ctypes" not in page_of(people)
    assert parse(report_of([typical()])).find(id="doubtful") is None


def test_a_stray_topic_does_not_lower_the_percentages():
    right = ExerciseResult("bert.count", "correct", 9, 9)
    people = [graded(answer("columns"), who=entry(name, n)) for n, name in enumerate("abc")]
    people.append(
        Graded(entry("a", 0, "bert.ipynb"), SubmissionResult("graded", "", "bert", (right,)))
    )
    page = report_of(people, topics=["attention"])
    assert re.search(r"cuenta Atención: lo que pediste con --topic\. No cuenta BERT", said(page))
    assert "cuenta Atención: lo que se entregó." in said(report_of(people[:3]))
    rows = table_of(page, "Tabla de estudiantes")
    assert rows[0][1:3] == ["Atención, de 2", "%"]
    assert [row[1:3] for row in rows[1:]] == [["2", "100"]] * 3


@pytest.mark.parametrize("before", ["", "con entradas de forma (3, 2), "])
def test_the_inputs_of_a_stop_are_told_once(before):
    stop = {"property": "runs", "inputs": "con entradas de forma (3, 2)"}
    page = page_of([graded(answer("columns", "error", message=before + STOPPED, **stop))])
    assert said(page).lower().count("con entradas de forma (3, 2)") == 1


def test_a_hint_says_with_which_inputs_it_shows():
    seen = replace(mistaken("hard_argmax", "row_index"), inputs="con entradas de forma (3, 4)")
    assert "con entradas de forma (3, 4)." in said(page_of([graded(seen)]))


@pytest.fixture(scope="module")
def harmless():
    return [skeleton(page) for page in pages_with("nombre")]


@pytest.mark.parametrize("text", EVIL)
def test_what_a_student_writes_adds_no_element(text, harmless):
    for page, expected in zip(pages_with(text), harmless, strict=True):
        found = [element for element in skeleton(page) if element[0] not in ("code", "em")]
        assert found == [element for element in expected if element[0] not in ("code", "em")]
        page.encode("utf-8")
        shown = parse(page).get_text()
        strange = {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"}
        assert strange == set(), "quedan caracteres que no se ven"
    if "script" in text:
        assert text in said(page_of(evil_class(text)))


@given(text=st.text(st.characters(), max_size=60))
def test_no_text_at_all_adds_an_element(text, harmless):
    marked = re.search(r"[`*]|línea", text)  # las marcas de una pista sí dan <code> y <em>
    page = page_of(evil_class(text))
    page.encode("utf-8")
    if not marked and visible(text):
        assert skeleton(page) == harmless[0]


def test_the_pages_ask_nothing_of_anyone():
    for page in (page_of([typical()]), report_of(class_of(30))):
        parsed = parse(page)
        policy = parsed.select_one("meta[http-equiv='Content-Security-Policy']")["content"]
        assert policy.startswith("default-src 'none'; ") and "base-uri 'none'" in policy
        assert not re.search(r"url\((?!['\"]?#)|@import|@font-face", page)
        assert not parsed.select("[src], link, iframe, object, embed, base, form")
        targets = [tag["href"] for tag in parsed.select("[href]")]
        ours = r"#[\w-]+|feedback/[a-z0-9-]+\.html|evidence/[a-z0-9-]+\.html(#[a-z_.]+)?"
        assert all(re.fullmatch(ours, target) for target in targets)
    assert not parse(page_of([typical()])).select("script, [style]")


def test_headings_tables_and_pictures_are_accessible():
    for page in (page_of([typical(), refused(entry())]), report_of(class_of(30))):
        parsed = parse(page)
        levels = [int(h.name[1]) for h in parsed.find_all(re.compile(r"h[1-6]"))]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
        assert parsed.html["lang"] == "es" and parsed.title.get_text().strip()
        drawings = parsed.select("svg:not([aria-hidden])")
        assert all(svg["role"] == "img" and svg["aria-label"] for svg in drawings)
        assert all(th.get("scope") for th in parsed.find_all("th"))
        assert all(box.get("aria-label") for box in parsed.select("[tabindex]"))
        identifiers = [tag["id"] for tag in parsed.select("[id]")]
        assert len(identifiers) == len(set(identifiers))


# Las piezas


def test_the_pages_have_the_colours_and_fonts_of_the_site():
    site = (ROOT / "book/_static/course.css").read_text(encoding="utf-8")
    ours = (ROOT / "course_lib/grading/classroom/templates/report.css").read_text(encoding="utf-8")
    roles = ["query", "key", "value", "weights", "input", "output", "hidden"]
    tones = ["paper", "surface", "rule", "ink", "muted", "link", "link-hover"]
    for name in [*roles, *tones, "serif", "sans", "mono"]:
        values = re.findall(rf"--course-{name}: ([^;]+);", site)
        assert re.findall(rf"--{name}: ([^;]+);", ours)[: len(values)] == values, name


def test_the_templates_travel_with_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["course_lib.grading.classroom"]
    folder = ROOT / "course_lib" / "grading" / "classroom"
    packed = {path for pattern in patterns for path in folder.glob(pattern)}
    assert packed == {*(folder / "templates").iterdir(), *folder.glob("*.toml")}


# Con calificaciones de verdad


def test_a_real_notebook_gets_its_hint_and_never_the_answer(grader, tmp_path):
    path = tmp_path / "entrega.ipynb"
    soft = "def soft_argmax(scores, beta):\n    return torch.softmax(scores, dim=-1)"
    path.write_text(json.dumps(notebook([IMPORTS, soft, HARD, 'ties = {"A": 9}'])))
    text = said(page_of([Graded(entry(), grader.grade(path, 5))]))
    assert "No usas β: tus pesos son los mismos" in text
    assert "Ejercicio 2 · El arg max duro Correcto 1 de 1 punto" in text
    (question,) = (e for e in topic_exercises("attention") if e.name.endswith("read_plot"))
    assert str(question.reference) not in text and '"C": 4' not in text
    assert "tensor(" not in text


# En el navegador


@pytest.fixture
def go(tmp_path):
    """Lleva a una página guardada, en la misma pestaña."""

    def go_to(tab, page: str):
        path = tmp_path / "página.html"
        path.write_text(page, encoding="utf-8")
        tab.problems.clear()
        tab.asked.clear()
        tab.goto(path.as_uri())
        return tab

    return go_to


@pytest.fixture
def visit(chromium, go):
    """Abre una página guardada, sin red, y anota lo que pide y lo que se queja."""
    contexts = []

    def open_page(page: str, width=1280, scheme="light"):
        context = chromium.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, locale="es-MX"
        )
        contexts.append(context)
        tab = context.new_page()
        tab.problems, tab.asked = [], []
        tab.on("console", lambda message: tab.problems.append(message.text))
        tab.on("pageerror", lambda error: tab.problems.append(str(error)))
        tab.on("request", lambda request: tab.asked.append(request.url))
        return go(tab, page)

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.browser
def test_no_script_of_a_student_runs(visit, go):
    tab = visit("<title>Nada</title>")
    for text in EVIL:
        for page in pages_with(text):
            go(tab, page)
            assert tab.evaluate("window.ran") is None, text
            assert tab.problems == [] and len(tab.asked) == 1


@pytest.mark.browser
def test_the_policy_stops_what_the_escape_would_let_through(visit):
    """Si un día algo quedara sin escapar, la política de contenido tampoco lo deja correr."""
    evil = "<script>window.ran = 1</script><img src='http://127.0.0.1:9/x' onerror='window.ran=1'>"
    for page in (page_of([typical()]), report_of([typical()])):
        tab = visit(page.replace("Ana Pérez", evil))
        assert tab.locator("h1 script, table script").count() >= 1
        assert tab.evaluate("window.ran") is None
        assert any("Content Security Policy" in problem for problem in tab.problems)


@pytest.mark.browser
def test_the_table_is_sorted_and_filtered_without_network(visit):
    names = ["Ángela Núñez", "Bruno", "Óscar"]
    found = [("correct", 2), ("wrong", 1), ("pending", 0)]
    people = [
        graded(answer("decoding_step", status, points), who=entry(name, number))
        for number, (name, (status, points)) in enumerate(zip(names, found, strict=True))
    ]
    tab = visit(report_of(people))
    shown = "[...document.querySelectorAll('#students tbody tr')].filter(r => !r.hidden)"
    shown += ".map(r => r.cells[0].textContent.trim())"
    assert tab.evaluate(shown) == names
    header = tab.get_by_role("columnheader", name="Atención")
    header.get_by_role("button").press("Enter")
    assert tab.evaluate(shown) == names and header.get_attribute("aria-sort") == "descending"
    header.get_by_role("button").press("Enter")
    assert tab.evaluate(shown) == names[::-1] and header.get_attribute("aria-sort") == "ascending"
    tab.emulate_media(media="print")
    assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    tab.emulate_media(media="screen")
    tab.get_by_label("Buscar por nombre").fill("nunez")
    assert tab.evaluate(shown) == ["Ángela Núñez"]
    assert tab.get_by_role("status").inner_text() == "Se muestran 1 de 3."
    assert tab.problems == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_fit_a_phone_and_stand_out(visit, scheme):
    long = "Anastasia" * 12
    people = [*class_of(12), typical(), *evil_class("W" * 300)]
    people.append(graded(answer("soft_argmax"), who=entry(long, 50, long + ".ipynb")))
    mine = page_of([typical(), refused(entry(source=long))])
    for page in (mine, page_of(evil_class("W" * 300)), report_of(people)):
        tab = visit(page, 390, scheme)
        tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert tab.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert tab.evaluate(CONTRAST) == []


# Contraste de WCAG (AA) de cada texto con el fondo sobre el que está; los fondos son opacos.
CONTRAST = """() => {
  const rgb = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => rgb(c).slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92
    : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const ground = e => { for (; e; e = e.parentElement) {
    const color = getComputedStyle(e).backgroundColor;
    if (rgb(color)[3] !== 0) return color; }
    return getComputedStyle(document.documentElement).backgroundColor; };
  const bad = [];
  for (const e of document.body.querySelectorAll('*')) {
    if (e.closest('svg, script')) continue;
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
    const style = getComputedStyle(e), [a, b] = [light(style.color), light(ground(e))];
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) bad.push(e.tagName + ' ' + ratio.toFixed(2) + ' ' + e.textContent.trim());
  }
  return [...new Set(bad)].slice(0, 10);
}"""
