"""El generador de cuadernos: qué deja, qué rechaza y cuándo vuelve a trabajar."""

import json

import nbformat
import pytest

from course_lib.notebooks import generation as notebooks
from course_lib.notebooks.execution import execute, verdicts
from course_lib.notebooks.source import build, replace_solutions
from course_lib.notebooks.topic_source import TopicSource

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"


# Marcadores


def test_a_block_in_a_function_becomes_a_stub():
    code = f"def f(x):\n    y = 1\n    {BEGIN}\n    return x + y\n    {END}"
    stub = 'def f(x):\n    y = 1\n    raise NotImplementedError("Escribe aquí tu solución")'
    assert replace_solutions(code, keep=False) == stub
    assert replace_solutions(code, keep=True) == "def f(x):\n    y = 1\n    return x + y"


def test_the_stub_keeps_the_indentation_of_the_block():
    code = f"class A:\n    def f(self):\n        {BEGIN}\n        return 1\n        {END}"
    assert replace_solutions(code, keep=False).splitlines()[-1].startswith("        raise Not")


def test_a_block_outside_a_function_becomes_its_stub_lines():
    code = f"{BEGIN}\n# STUB: a = ...\n# STUB: def f():\n# STUB:     pass\na = 1\n{END}\nb = 2"
    assert replace_solutions(code, keep=False) == "a = ...\ndef f():\n    pass\nb = 2"
    assert replace_solutions(code, keep=True) == "a = 1\nb = 2"


def test_several_blocks_in_a_cell():
    code = f"def f():\n    {BEGIN}\n    a\n    {END}\n    b\n    {BEGIN}\n    c\n    {END}"
    assert replace_solutions(code, keep=True) == "def f():\n    a\n    b\n    c"
    assert replace_solutions(code, keep=False).count("raise NotImplementedError") == 2


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (f"{BEGIN}\na = 1", "sin su END"),
        (f"a = 1\n{END}", "sin su BEGIN"),
        (f"{BEGIN}\n{BEGIN}\n{END}\n{END}", "dentro de otro"),
        (f"{BEGIN}\na = 1\n{END}", "# STUB"),
        ("## begin solution\na = 1", "no es un marcador"),
        ("###BEGIN SOLUTION\na = 1\n###END SOLUTION", "no es un marcador"),
        (f"{BEGIN} aquí\na = 1\n{END}", "no es un marcador"),
    ],
)
def test_bad_markers_are_named(code, message):
    with pytest.raises(ValueError, match=message):
        replace_solutions(code, keep=False)


# Errores: nombran archivo y celda, y no se escribe nada


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (f"    {END}", "    # fin", ["línea 11", "sin su END"]),
        (f"    {BEGIN}", f"    {BEGIN}\n    {BEGIN}", ["línea 11", "dentro de otro"]),
        ("Devuelve el", f"{BEGIN}\n\nDevuelve el", ["línea 8", "celda de código"]),
        ("# El doble", "El doble", ["falta el título"]),
        ("double(21)", 'check("example.double", double)', ["línea 21", "se escribe sola"]),
    ],
)
def test_a_malformed_source_is_refused(example_project, old, new, expected):
    example_project.edit(old, new)
    result = example_project.regenerate()
    assert result.status == "failed"
    expected = ["solutions/example/double.md", *expected]
    assert all(text in result.reasons[0] for text in expected), result
    assert example_project.contents() == {"solutions": None, "exercises": None}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("answer\n```", "double\n```", ["línea 16", "«double» ya está en la línea 15"]),
        ("answer\n```", "```", ["no está en el orden de solutions/example/_topic.md"]),
        ("answer\n```", "answer\nother\n```", ["línea 17", "no existe"]),
        ("titulo: Ejemplo", "nombre: Ejemplo", ["no hay un campo «nombre»"]),
        ("GREETING\n```", f"{BEGIN}\nGREETING\n{END}\n```", ["en el archivo de su ejercicio"]),
        ("GREETING\n```", 'check("example.answer", 1)\n```', ["se escribe sola"]),
    ],
)
def test_a_malformed_topic_is_refused(example_project, old, new, expected):
    example_project.edit(old, new, example_project.topic)
    result = example_project.regenerate()
    assert result.status == "failed"
    assert all(text in "\n".join(result.reasons) for text in expected), result
    assert example_project.contents() == {"solutions": None, "exercises": None}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("\nGREETING\n", "\n1 / 0\n", "ZeroDivisionError"),
        ("\nGREETING\n", "\nobject()\n", "dirección de memoria"),
        ("\nGREETING\n", "\nimport os; os.getcwd() + '/a'\n", "carpeta de esta máquina"),
        ("\nGREETING\n", "\nimport warnings; warnings.warn('x')\n", "stderr"),
        ("\nGREETING\n", "\nimport os; os._exit(1)\n", "núcleo de Python terminó"),
    ],
)
def test_a_cell_that_fails_is_named_and_nothing_is_written(example_project, old, new, expected):
    example_project.edit(old, new, example_project.topic)
    result = example_project.regenerate()
    assert result.status == "failed"
    named = ["solutions/example/_topic.md, línea 8", expected]
    assert all(text in result.reasons[0] for text in named), result
    assert example_project.contents() == {"solutions": None, "exercises": None}


def test_a_cell_that_needs_the_solution_says_how_to_keep_it_there(example_project):
    example_project.edit(":tags: [solution-only]\n\n", "")
    (reason,) = example_project.regenerate().reasons
    told = ["solutions/example/double.md, línea 19", "sin resolver", "solution-only"]
    assert all(text in reason for text in told)


# Lo que se genera


def test_both_notebooks_and_what_makes_them_stale(example_project):
    """Un solo recorrido, porque cada generación arranca dos núcleos."""
    assert example_project.regenerate().status == "written"
    first = example_project.contents()
    _assert_solutions(nbformat.reads(first["solutions"].decode(), as_version=4))
    _assert_exercises(nbformat.reads(first["exercises"].decode(), as_version=4))
    _assert_clean(first, example_project.root)

    assert example_project.regenerate().status == "unchanged"
    assert example_project.regenerate(check=True).status == "unchanged"
    assert example_project.regenerate(force=True).status == "written"
    assert example_project.contents() == first, "no son los mismos bytes"

    _assert_drift_is_noticed(example_project)
    assert example_project.contents() == first


def _assert_solutions(notebook):
    text = "\n".join(cell.source for cell in notebook.cells)
    assert notebook.cells[0].source.startswith("# Soluciones: Ejemplo")
    assert "return x + x" in text and "SOLUTION" not in text and "STUB" not in text
    outputs = [o.data["text/plain"] for c in notebook.cells for o in c.get("outputs", ())]
    assert outputs == [
        "'hola'",
        "✅ Ejercicio 1 · El doble: correcto (2 de 2 puntos)\n   Sigue: Ejercicio 2 · Una pregunta",
        "42",
        "✅ Ejercicio 2 · Una pregunta: correcto (1 de 1 punto)\n"
        "   Era el último de este cuaderno: mira tu resumen()",
    ]


def _assert_exercises(notebook):
    text = "\n".join(cell.source for cell in notebook.cells)
    assert notebook.cells[0].source.startswith("# Ejercicios: Ejemplo")
    assert "x + x" not in text and "double(21)" not in text and "SOLUTION" not in text
    assert 'respuesta = ...  # "a" o "b"' in text
    assert {v["status"] for v in verdicts(notebook).values()} == {"pending"}


def _assert_clean(contents, root):
    for kind, content in contents.items():
        notebook = json.loads(content)
        assert content.endswith(b"}\n") and b"\r" not in content
        assert str(root).encode() not in content
        assert notebook["metadata"].keys() == {"course", "kernelspec", "language_info"}
        assert notebook["metadata"]["language_info"].keys() == {"name", "pygments_lexer"}
        assert all("execution" not in cell["metadata"] for cell in notebook["cells"]), kind
        assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])


def _assert_drift_is_noticed(project):
    changes = [
        (project.topic, "para probar", "que prueban", "la fuente", 2),
        (project.root / "requirements.txt", "2.13.0", "2.13.1", "requirements.txt", 2),
        (project.notebooks["exercises"], "Dos ejercicios", "Mis ejercicios", "a mano", 1),
        (project.compiled, "elevas al", "haces el", "no es lo que dice la fuente", 1),
        (
            project.notebooks["solutions"],
            '"nbformat_minor": 5',
            '"nbformat_minor":  5',
            "a mano",
            1,
        ),
        (project.notebooks["solutions"], '{\n "cells"', '\n "cells"', "no es un cuaderno", 1),
    ]
    for path, old, new, reason, count in changes:
        before = path.read_bytes()
        project.edit(old, new, path)
        result = project.regenerate(check=True)
        assert result.status == "drifted" and len(result.reasons) == count, (reason, result)
        assert all(reason in text for text in result.reasons), (reason, result)
        path.write_bytes(before)
    project.edit("elevas al", "haces el")
    *notebooks_drift, compiled_drift = project.regenerate(check=True).reasons
    assert len(notebooks_drift) == 2 and compiled_drift.endswith("no es lo que dice la fuente")
    project.edit("haces el", "elevas al")
    path.unlink()
    assert project.regenerate(check=True).reasons == ("solutions/example.ipynb: falta",)
    path.write_bytes(before)


def test_run_all_on_an_untouched_exercise_never_stops(example_project):
    example_project.prepare()
    source = TopicSource.read("example", example_project.root)
    notebook, _ = build(source, "exercises")
    execute(notebook, example_project.root)
    assert [c.execution_count for c in notebook.cells if c.cell_type == "code"] == [
        1,
        2,
        3,
        4,
        5,
        6,
    ]


@pytest.mark.parametrize(("code", "kept"), [("object()", 0), ("0.5", 1)])
def test_an_ignored_output_is_stored_unless_it_changes_every_time(example_project, code, kept):
    cell = f"```{{code-cell}} ipython3\n:tags: [nbval-ignore-output]\n\n{code}\n```\n\n## Casos"
    example_project.edit("## Casos", cell)
    assert example_project.regenerate().status == "written"
    notebook = nbformat.read(example_project.notebooks["solutions"], as_version=4)
    (ignored,) = [c for c in notebook.cells if "nbval-ignore-output" in c.metadata.get("tags", ())]
    assert len(ignored.outputs) == kept


def test_leftovers_of_dead_processes_are_removed(tmp_path):
    folder = tmp_path / "exercises"
    folder.mkdir()
    dead, alive = folder / ".a.ipynb.999999999.tmp", folder / ".a.ipynb.1.tmp"
    for path in (dead, alive):
        path.touch()
    notebooks.remove_leftovers(tmp_path)
    assert not dead.exists() and alive.exists()


def test_a_notebook_without_source_is_an_orphan(example_project):
    example_project.write("exercises/old.ipynb", "{}")
    assert notebooks.orphans(example_project.root) == ["exercises/old.ipynb"]
