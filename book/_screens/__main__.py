"""Rehace las capturas de la guía para docentes: `python -m book._screens [--out CARPETA]`.

Inventa la clase de treinta entregas que usan las pruebas, la califica con la orden que escribe
quien enseña, guarda lo que escribe en la terminal y retrata, en claro y en oscuro, el informe y la
página de un estudiante. Además califica unas cuantas entregas hostiles y guarda qué obtuvo cada
una. Tarda un par de minutos.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import TextWrapper

from PIL import Image

from course_lib.files import write_atomically
from course_lib.grading.sandbox.grader import Grader, SubmissionResult
from tests.grading.class_zip import class_zip, make_class, worksheet
from tests.grading.sandbox.hostile.cases import CASES, Case

ROOT = Path(__file__).parents[2]
OUT = ROOT / "book" / "_static" / "instructor_guide"
COMMAND = "course grade entregas.zip --out calificado --worksheet hoja.csv"
COLUMNS = 84
DENSITY = 2  # la de `course_site.screens`
CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"]
STUDENT = "Noelia Íñiguez"  # tiene una pista y unos puntos por partes
ASKED = ("attention.soft_argmax", "attention.hard_argmax", "attention.read_plot")
TRIED = (
    "un objeto igual a todo",
    "las comparaciones de torch y numpy, parcheadas",
    "la función de la biblioteca que es la respuesta",
    "código que viaja en un pickle",
    "una función sin fin que traga interrupciones",
    "os._exit en la función",
    "JSON cortado",
    "un enlace a otra entrega",
)


# La clase


def grade_class(folder: Path) -> str:
    """Califica la clase inventada y da la orden y lo que escribe en la terminal."""
    students = make_class()
    (folder / "entregas.zip").write_bytes(class_zip(students))
    (folder / "hoja.csv").write_bytes(worksheet(students))
    environment = os.environ | {"NO_COLOR": "1", "COLUMNS": str(COLUMNS), "OMP_NUM_THREADS": "1"}
    course = [sys.executable, "-c", "from course_lib.cli import app; app()"]
    done = subprocess.run(
        [*course, *COMMAND.split()[1:]],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if not (folder / "calificado" / "report.html").exists():
        raise RuntimeError(f"no se calificó la clase:\n{done.stdout}\n{done.stderr}")
    fits = TextWrapper(COLUMNS, subsequent_indent="   ")
    return "\n".join(["$ " + COMMAND, "", *map(fits.fill, done.stdout.splitlines())]) + "\n"


def page_of(folder: Path, student: str) -> Path:
    """La página de un estudiante."""
    found = [p for p in (folder / "feedback").glob("*.html") if f">{student}<" in p.read_text()]
    return found[0]


# Los retratos


@contextmanager
def browser() -> Iterator[Callable]:
    """Da la función que retrata una dirección."""
    from playwright.sync_api import sync_playwright

    path = next(path for path in CHROMIUM if Path(path).exists())
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])

        def shoot(url: str, scheme: str, width: int, top: str, bottom: str) -> bytes:
            """Retrata desde lo alto de un elemento hasta el pie de otro, con un margen."""
            page = chromium.new_page(
                viewport={"width": width, "height": 900},
                device_scale_factor=DENSITY,
                color_scheme=scheme,
                locale="es-MX",
            )
            page.goto(url)
            first, last = (page.locator(x).first.bounding_box() for x in (top, bottom))
            y = max(0, first["y"] - 16)
            clip = {"x": 0, "y": y, "width": width}
            clip["height"] = last["y"] + last["height"] + 8 - y
            image = page.screenshot(full_page=True, clip=clip)
            page.close()
            return image

        yield shoot
        chromium.close()


def save(png: bytes, path: Path) -> None:
    content = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").save(content, "WEBP", lossless=True, method=6)
    write_atomically(path, content.getvalue())
    print(f"{path.name}: {len(content.getvalue()) / 1000:.0f} kB")


def portraits(folder: Path, out: Path) -> None:
    report, page = (folder / "report.html").as_uri(), page_of(folder, STUDENT).as_uri()
    shots = {
        "report": (report, 900, "header", ".plots"),
        "mistakes": (report, 900, "h3:has(+ p + .mistakes)", ".mistakes li:nth-child(4)"),
        "feedback": (page, 760, "header", "#exercise-1-4"),
        "phone": (page, 390, "header", "#exercise-1-3"),
    }
    with browser() as shoot:
        for scheme in ("light", "dark"):
            for name, (url, width, top, bottom) in shots.items():
                save(shoot(url, scheme, width, top, bottom), out / f"{name}-{scheme}.webp")


# Lo hostil


def hostile(folder: Path) -> str:
    """Qué obtuvo cada entrega hostil, ejercicio por ejercicio."""
    cases = {case.name: case for case in CASES}
    with Grader() as grader:
        return "\n\n".join(_told(cases[name], grader, folder) for name in TRIED) + "\n"


def _told(case: Case, grader: Grader, folder: Path) -> str:
    path = folder / "entrega.ipynb"
    path.unlink(missing_ok=True)
    case.write(path, {})
    wrap = TextWrapper(COLUMNS, initial_indent="   ", subsequent_indent="      ")
    return "\n".join([case.name, *map(wrap.fill, _lines(grader.grade(path, 90125)))])


def _lines(result: SubmissionResult) -> list[str]:
    if result.status != "graded":
        return [f"❌ no se calificó: {result.message}"]
    return [repr(e) for e in result.exercises if e.exercise in ASKED]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=OUT, help="carpeta de destino")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_atomically(out / "hostile.txt", hostile(folder).encode())
        write_atomically(out / "terminal.txt", grade_class(folder).encode())
        portraits(folder / "calificado", out)


if __name__ == "__main__":
    main()
