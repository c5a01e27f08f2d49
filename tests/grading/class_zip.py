"""Una clase inventada: las entregas de una tarea, como las descarga Moodle.

    python -m tests.grading.class_zip entregas.zip --worksheet hoja.csv

Los cuadernos salen de los de ejercicios: cada respuesta es una de las correctas escritas de otra
manera, la de un error frecuente, o quedó sin escribir. Entre las demás hay lo que llega siempre:
nombres con acentos y repetidos, archivos con otro nombre, un cuaderno cortado, uno hostil y quien
solo entregó un PDF. Cada entrega lleva apuntado lo que debe resultar.
"""

from __future__ import annotations

import argparse
import csv
import functools
import io
import json
import random
import re
import unicodedata
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.grading.submission import topic_sheet
from course_lib.judging.check import topic_exercises
from course_lib.judging.exercise import Misconception
from course_lib.notebooks.exercise_source import bound_names
from course_lib.notebooks.fingerprint import parse_cell
from tests.checks.solutions import read_topic

ROOT = Path(__file__).parents[2]
PREFIX = "{name}_{number}_assignsubmission_file"
CORRECT, PENDING, STOPPED = "correct", "pending", "error"
_DATE = (2026, 3, 2, 18, 30, 0)
# Dos se llaman igual, y uno quiere que su nombre sea una fórmula.
NAMES = (
    "Lucía Fernández Peña",
    "Mateo Núñez",
    "Valentina Ríos Agüero",
    "Santiago Ibáñez Ñíguez",
    "Sofía Muñoz",
    "Benjamín Quiñones",
    "Martina O'Higgins",
    "Emiliano Gutiérrez-Solís",
    "Renata Álvarez de la Cruz",
    "Joaquín Peralta",
    "Ximena Yáñez",
    "Tomás Córdoba",
    "Antonella Güell",
    "Íñigo Zubizarreta",
    "Camila Suárez",
    "Ángel Méndez Úbeda",
    "Julieta Sánchez",
    "Nicolás Pérez, hijo",
    "Zoë Müller",
    "João Conceição",
    "Paula Ortiz",
    "Bruno Castaño",
    "Noelia Íñiguez",
    "Hernán Acuña",
    "Inés Błażejewska",
    "Rocío Ávila",
    "李 小龙",
    "=SUMA(1;2) Bobby",
    "Ana García",
    "Ana García",
)
# Los encabezados del paquete español de Moodle (mod/assign/gradingtable.php dice cuáles van).
WORKSHEET_HEADER = (
    "Identificador",
    "Nombre completo",
    "Dirección de correo",
    "Estado",
    "Calificación",
    "Calificación máxima",
    "La calificación puede ser cambiada",
    "Última modificación (entrega)",
    "Última modificación (calificación)",
    "Comentarios de retroalimentación",
)


@dataclass(frozen=True)
class Student:
    """Quien entrega.

    Argumentos:
        name: su nombre.
        number: su número de participante.
        files: por ruta dentro de su carpeta, el contenido.
        expected: por ejercicio, `correct`, `pending`, `error` o el error frecuente que debe
            reconocerse; None si no hay cuaderno que calificar.
    """

    name: str
    number: int
    files: dict[str, bytes] = field(repr=False)
    expected: dict[str, str] | None = None

    @property
    def prefix(self) -> str:
        return PREFIX.format(name=self.name.replace("_", " "), number=self.number)


# Los cuadernos


@functools.cache
def _cells(kind: str, topic: str) -> tuple[dict, ...]:
    path = ROOT / kind / f"{topic}.ipynb"
    return tuple(json.loads(path.read_text(encoding="utf-8"))["cells"])


def _defines(cell: dict, name: str) -> bool:
    tree = parse_cell("".join(cell["source"])) if cell["cell_type"] == "code" else None
    return tree is not None and name in bound_names(tree)


def _place(kind: str, topic: str, name: str) -> int:
    return max(i for i, cell in enumerate(_cells(kind, topic)) if _defines(cell, name))


def notebook(topic: str, answers: dict[str, str], extra: tuple[str, ...] = ()) -> bytes:
    """Escribe el cuaderno de un estudiante.

    Argumentos:
        topic: el tema.
        answers: por ejercicio, `correct`, `pending`, un error frecuente, o el código que escribió.
        extra: celdas de más, al final.
    """
    content = json.loads((ROOT / "exercises" / f"{topic}.ipynb").read_text(encoding="utf-8"))
    for exercise, name in topic_sheet(topic).names.items():
        place = _place("exercises", topic, name)
        content["cells"][place]["source"] = _answer(topic, exercise, name, answers[exercise])
    blank = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    content["cells"] += [blank | {"id": f"extra-{i}", "source": s} for i, s in enumerate(extra)]
    return json.dumps(content, ensure_ascii=False, indent=1).encode()


def _answer(topic: str, exercise: str, name: str, answer: str) -> str:
    if answer == CORRECT and exercise in right_answers(topic):
        answer = right_answers(topic)[exercise]
    kind = {CORRECT: "solutions", PENDING: "exercises"}.get(answer)
    if kind is not None:
        return "".join(_cells(kind, topic)[_place(kind, topic, name)]["source"])
    return misconceptions(topic)[exercise].get(answer, answer).replace("__answer__", name)


@functools.cache
def right_answers(topic: str) -> dict[str, str]:
    """Da, por ejercicio, el código de una respuesta correcta que no es la del curso."""
    return {
        f"{topic}.{each.name}": _renamed(each.whole(each.alternatives[0][0]), each.answer)
        for each in read_topic(topic).exercises
        if each.alternatives
    }


# Los errores frecuentes, como código que un estudiante pudo escribir


@functools.cache
def misconceptions(topic: str) -> dict[str, dict[str, str]]:
    """Da, por ejercicio, el código de los errores frecuentes."""
    made = read_topic(topic).exercises
    return {
        e.name: {m.name: _renamed(_wrong(m), each.answer) for m in e.misconceptions}
        for e, each in zip(topic_exercises(topic), made, strict=True)
    }


def _wrong(mistake: Misconception) -> str:
    """El código de quien comete un error frecuente."""
    value = mistake.implementation
    return mistake.code if callable(value) else f"__answer__ = {value!r}"


def _renamed(code: str, name: str) -> str:
    """El código, con otro nombre en el lugar de la respuesta."""
    return re.sub(rf"\b{name}\b", "__answer__", code)


# La clase


def make_class(topic: str = "attention", count: int = 30, seed: int = 2026) -> list[Student]:
    """Inventa una clase, siempre la misma.

    Argumentos:
        topic: el tema de la tarea.
        count: cuántos entregan; los nombres se repiten después de treinta.
        seed: de dónde salen las respuestas de cada quien.
    """
    rng = random.Random(seed)
    exercises = list(topic_sheet(topic).names)
    students = []
    for index in range(count):
        name = NAMES[index % len(NAMES)]
        answers = _draw_answers(topic, exercises, rng)
        kind = _KINDS.get(index, _with_its_name)
        files, expected = kind(topic, answers)
        students.append(Student(name, 20_310 + 7 * index, files, expected))
    return students


def _draw_answers(topic: str, exercises: list[str], rng: random.Random) -> dict[str, str]:
    skill = rng.choice((0.95, 0.8, 0.6, 0.35))
    known = misconceptions(topic)
    answers = {}
    for exercise in exercises:
        luck, mistakes = rng.random(), sorted(known.get(exercise, ()))
        mistaken = PENDING
        if mistakes and rng.random() < 0.75:  # unos errores son mucho más frecuentes que otros
            mistaken = rng.choices(mistakes, [1 / n for n in range(1, len(mistakes) + 1)])[0]
        answers[exercise] = CORRECT if luck < skill else mistaken
    return answers


def _with_its_name(topic, answers):
    return {f"{topic}.ipynb": notebook(topic, answers)}, answers


def _all_correct(topic, answers):
    answers = dict.fromkeys(answers, CORRECT)
    return {"Atención – solución final.ipynb": notebook(topic, answers)}, answers


def _unanswered(topic, answers):
    """Sin ninguna respuesta, y con una celda suya: si no, sería el cuaderno del curso."""
    answers = dict.fromkeys(answers, PENDING)
    return {"Untitled.ipynb": notebook(topic, answers, ("print('hola')",))}, answers


def _twice(topic, answers):
    """El mismo cuaderno dos veces: el segundo, con una respuesta más."""
    less = answers | {next(iter(answers)): PENDING}
    more = answers | {next(iter(answers)): CORRECT}
    files = {f"{topic}.ipynb": notebook(topic, less), f"{topic} (1).ipynb": notebook(topic, more)}
    return files, more


def _as_text(topic, answers):
    return {"solucion.txt": notebook(topic, answers)}, answers


def _double_suffix(topic, answers):
    return {f"{topic}.ipynb.txt": notebook(topic, answers)}, answers


def _zipped(topic, answers):
    """Un ZIP hecho en una Mac, con lo que macOS añade."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        _put(archive, f"Entrega/{topic}.ipynb", notebook(topic, answers))
        _put(archive, f"__MACOSX/Entrega/._{topic}.ipynb", b"\0\5\26\7 Mac OS X")
        _put(archive, "Entrega/.DS_Store", b"\0\0\0\1Bud1")
    return {"entrega.zip": inner.getvalue()}, answers


def _in_folders(topic, answers):
    checkpoint = notebook(topic, dict.fromkeys(answers, PENDING))
    files = {
        f"tarea 1/{topic}.ipynb": notebook(topic, answers),
        f"tarea 1/.ipynb_checkpoints/{topic}-checkpoint.ipynb": checkpoint,
        "tarea 1/figura.png": b"\x89PNG\r\n\x1a\n",
    }
    return files, answers


def _broken_cell(topic, answers):
    """Una celda de pruebas que no compila y otra que se detiene: no quitan puntos."""
    return {f"{topic}.ipynb": notebook(topic, answers, ("print('hola'", "1 / 0"))}, answers


def _cut(topic, answers):
    whole = notebook(topic, answers)
    return {f"{topic}.ipynb": whole[: len(whole) // 2]}, None


def _only_pdf(topic, answers):
    return {"tarea.pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"}, None


def _nothing(topic, answers):
    return {"": b""}, None


def _online_text(topic, answers):
    return {"onlinetext.html": b"<p>Mi computadora no abre el cuaderno.</p>"}, None


def _hostile(topic, answers):
    """Busca la referencia en el disco, falsea la comprobación y lo anuncia."""
    first = next(iter(answers))
    name = topic_sheet(topic).names[first]
    steal = (
        "import os, sys, glob\n"
        "import course_lib.judging.check as grading\n"
        "grading.check_exercise = lambda *a, **k: 'correct'\n"
        f"found = glob.glob('/**/exercises/{topic}.json', recursive=True)\n"
        "link = '=HYPERLINK(\"http://x\")'\n"
        f"{name} = eval(open(found[0]).read()) if found else link\n"
        "print('<script>alert(1)</script>' * 1000)"
    )
    answers = dict.fromkeys(answers, PENDING)
    content = notebook(topic, answers | {first: steal}, ("os._exit(0)",))
    return {"../../../etc/passwd.ipynb": content}, None


def _endless(topic, answers):
    """Una respuesta que no termina; las demás conservan sus puntos."""
    slow = next((e for e in answers if e.endswith(".soft_argmax")), next(iter(answers)))
    code = f"def {topic_sheet(topic).names[slow]}(*inputs):\n    while True:\n        pass"
    content = notebook(topic, answers | {slow: code})
    return {f"{topic}.ipynb": content}, answers | {slow: STOPPED}


_KINDS = {
    0: _all_correct,
    3: _twice,
    5: _as_text,
    6: _unanswered,
    8: _zipped,
    10: _double_suffix,
    12: _in_folders,
    14: _broken_cell,
    16: _cut,
    19: _only_pdf,
    21: _online_text,
    23: _nothing,
    25: _endless,
    27: _hostile,
}


# Los archivos


def class_zip(students: list[Student], *, folders: bool = True) -> bytes:
    """Escribe el ZIP de «descargar todas las entregas», en carpetas o sin ellas.

    Uno de los nombres va con las tildes sueltas, como los escribe macOS.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for index, student in enumerate(students):
            prefix = student.prefix
            if index == 9:
                prefix = unicodedata.normalize("NFD", prefix)
            if "onlinetext.html" in student.files:
                prefix = prefix.replace("_file", "_onlinetext")
            for name, data in student.files.items():
                _put(archive, f"{prefix}/{name}" if folders else _flat(prefix, name), data)
    return content.getvalue()


def _flat(prefix: str, name: str) -> str:
    return f"{prefix}_{name.rpartition('/')[2]}"


def _put(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    member = zipfile.ZipInfo(name, _DATE)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16 if not name.endswith("/") else 0o40755 << 16
    archive.writestr(member, data)


def worksheet(students: list[Student], maximum: str = "10,00") -> bytes:
    """Escribe la hoja de calificaciones que Moodle descarga, en español.

    Están todos los que entregan y dos personas que no entregaron.
    """
    late = [Student("Óscar Ausente", 19_001, {}), Student("Bárbara Ausente", 39_001, {})]
    file = io.StringIO(newline="")
    rows = csv.writer(file)
    rows.writerow(WORKSHEET_HEADER)
    for student in sorted([*students, *late], key=lambda student: student.number):
        who = (f"Participante {student.number}", student.name, f"p{student.number}@example.org")
        status = "Enviado para calificar" if student.files else "No entregado"
        when = "lunes, 2 de marzo de 2026, 18:30" if student.files else "-"
        rows.writerow([*who, status, "", maximum, "Sí", when, "-", ""])
    return file.getvalue().encode("utf-8-sig")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("zip", type=Path, help="dónde se escribe el ZIP")
    parser.add_argument("--worksheet", type=Path, help="dónde se escribe la hoja de Moodle")
    parser.add_argument("--topic", default="attention")
    parser.add_argument("--count", type=int, default=len(NAMES))
    parser.add_argument("--flat", action="store_true", help="sin una carpeta por estudiante")
    options = parser.parse_args()
    students = make_class(options.topic, options.count)
    options.zip.write_bytes(class_zip(students, folders=not options.flat))
    if options.worksheet is not None:
        options.worksheet.write_bytes(worksheet(students))


if __name__ == "__main__":
    main()
