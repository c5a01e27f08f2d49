"""Lo que `course regenerate` rechaza de un ejercicio: en español, con su archivo y su línea."""

import re
from pathlib import Path

import pytest

from course_lib.notebooks.first_draft import DraftError, write_draft
from course_lib.notebooks.topic_source import FaultsError, TopicSource, read_exercise
from course_lib.notebooks.verification import verify

pytestmark = pytest.mark.usefixtures("as_user")

ROOT = Path(__file__).parents[2]
HEAD = "puntos: 1\n"
SQUARE = "- `2 * x` → `x**2`\n"


@pytest.fixture
def draft(tmp_path):
    return write_draft("demo", "double", tmp_path)


def faults_of(root):
    try:
        source = TopicSource.read("demo", root)
    except FaultsError as error:
        return [str(fault) for fault in error.faults]
    return [str(fault) for fault in verify(source)]


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert text.count(old) >= 1, f"«{old}» no está"
    path.write_text(text.replace(old, new, 1), "utf-8")


def line_of(path, text):
    return path.read_text("utf-8").partition(text)[0].count("\n") + 1


def test_the_draft_is_accepted(draft):
    assert faults_of(draft.parents[2]) == []


def test_the_draft_of_another_exercise_goes_last_in_its_topic(draft):
    root = draft.parents[2]
    write_draft("demo", "triple", root)
    source = TopicSource.read("demo", root)
    assert [made.name for made in source.exercises] == ["double", "triple"]
    assert faults_of(root) == []
    with pytest.raises(DraftError, match="ya existe"):
        write_draft("demo", "triple", root)


MISTAKES = {
    # cabecera
    "sin puntos": (HEAD, "gradiente: true\n", "falta el campo «puntos»"),
    "puntos con letras": (HEAD, "puntos: dos\n", "«puntos» es un número entero"),
    "cero puntos": (HEAD, "puntos: 0\n", "«puntos» es al menos 1"),
    "campo mal escrito": (HEAD, "puntos: 1\ngradient: true\n", "¿querías «gradiente»?"),
    "campo desconocido": (HEAD, "puntos: 1\nzzz: 3\n", "no hay un campo «zzz»"),
    "cabecera sin sentido": (HEAD, "puntos: [1\n", "la cabecera no es YAML"),
    "cabecera que falta": ("---\n" + HEAD + "---\n", "", "falta la cabecera"),
    "función inexistente": (
        HEAD,
        HEAD + "biblioteca: course_lib.nada.f\n",
        "no existe «course_lib",
    ),
    "prohibido inexistente": (HEAD, HEAD + "prohibido: [torch.zzz]\n", "no existe «torch.zzz»"),
    "función que es otra": (HEAD, HEAD + "biblioteca: torch.square\n", "no da lo mismo que la sol"),
    "parte sin puntos": (HEAD, "puntos: 2\npartes: [{nombre: a}]\n", "cada parte tiene al menos"),
    "parte sin casos": (
        HEAD,
        "puntos: 2\npartes: [{nombre: a, puntos: 1, casos: big}]\n",
        "usa `big`, que no se define aquí",
    ),
    "parte de más": (HEAD, "puntos: 2\npartes: [{nombre: a, puntos: 3}]\n", "suman más puntos"),
    "parte sin valor": (HEAD, "puntos: 2\npartes: [{nombre: a, puntos: 0}]\n", "son al menos 1"),
    "parte de un punto": (HEAD, "puntos: 1\npartes: [{nombre: a, puntos: 1}]\n", "no se parte"),
    "parte repetida": (
        HEAD,
        "puntos: 3\npartes: [{nombre: a, puntos: 1}, {nombre: a, puntos: 1}]\n",
        "dos partes se llaman igual",
    ),
    "parte de un elemento": (
        HEAD,
        "puntos: 2\npartes: [{nombre: a, puntos: 1, propiedad: entradas, elemento: 0}]\n",
        "«entradas» es de todo el resultado: quita «elemento»",
    ),
    "propiedad": (
        HEAD,
        "puntos: 2\npartes: [{nombre: a, puntos: 1, propiedad: color}]\n",
        "«propiedad» es una de",
    ),
    "respuesta que no está": (HEAD, HEAD + "respuesta: nada_de_eso\n", "no define «nada_de_eso»"),
    "campo repetido": (HEAD, HEAD + "puntos: 2\n", "«puntos» ya está en la línea 2"),
    "opción con otro valor": (HEAD, HEAD + "gradiente: quizá\n", "«gradiente» es true o false"),
    "capítulo inexistente": (HEAD, HEAD + "seccion: nada#nada\n", "no hay un capítulo «nada»"),
    # el cuaderno
    "título con puntos": ("# Título del ejercicio\n", "# El doble (2 puntos)\n", "«(2 puntos)»"),
    "título con número": (
        "# Título del ejercicio\n",
        "# Ejercicio 3 · El doble\n",
        "«Ejercicio 3»",
    ),
    "sin título": ("# Título del ejercicio\n", "", "falta el título"),
    "sección desconocida": (
        "## Otras maneras",
        "## Otras formas",
        "no hay una sección «## Otras f",
    ),
    "sección repetida": ("## Otras maneras", "## Casos", "hay dos secciones «## Casos»"),
    "marcador mal escrito": ("### BEGIN SOLUTION", "### BEGIN SOLUTON", "no es un marcador"),
    "marcador sin cerrar": ("    ### END SOLUTION\n", "", "sin su END SOLUTION"),
    "marcador sin abrir": ("    ### BEGIN SOLUTION\n", "", "sin su BEGIN SOLUTION"),
    "sin solución": (
        "    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION\n",
        "    return 2 * x\n",
        "ninguna celda tiene la solución",
    ),
    "solución vacía": (
        "    return 2 * x\n    ### END",
        "    ### END",
        "entre los marcadores no hay",
    ),
    "solución con un error de sintaxis": (
        "return 2 * x\n",
        "return 2 * * x\n",
        "no es Python válido",
    ),
    "solución que se detiene": ("return 2 * x\n", "return 2 * x + missing\n", "NameError"),
    "solución que no es un dato": (
        "return 2 * x\n",
        "return (lambda: 2 * x)\n",
        "no da datos simples",
    ),
    # los casos
    "casos sin tuplas": ("[(normal(rng, 3),), (normal(rng, 2, 4),)]", "[1, 2]", "lista de tuplas"),
    "casos con azar ajeno": ("(normal(rng, 3),)", "(torch.rand(3),)", "sortea solo con `rng`"),
    "casos sin una coma": ("(normal(rng, 3),), (", "(normal(rng, 3),) (", "¿falta una coma"),
    "solución que no devuelve nada": ("return 2 * x\n", "y = 2 * x\n", "no da datos simples"),
    "casos vacíos": ("[(normal(rng, 3),), (normal(rng, 2, 4),)]", "[]", "una lista vacía"),
    "casos que se detienen": ("(normal(rng, 3),)", "(normal(rgn, 3),)", "NameError"),
    "casos con un error de sintaxis": ("def cases(rng):", "def cases(rng)", "no es Python válido"),
    "casos con otro nombre": ("def cases(rng):", "def casos(rng):", "no define `cases(rng)`"),
    # los errores frecuentes
    "trozo que no está": (SQUARE, "- `3 * x` → `x**2`\n", "«3 * x» no está en la solución"),
    "error que está bien": (SQUARE, "- `2 * x` → `x + x`\n", "este error está bien"),
    "error que no cambia nada": (SQUARE, "- `2 * x` → `2*x`\n", "este error es la solución"),
    "error repetido": (SQUARE, "- `2 * x` → `x / 2`\n", "escribe lo mismo que el de la línea"),
    "error con el mismo resultado": (
        SQUARE,
        "- `2 * x` → `0.5 * x`\n",
        "da el mismo resultado que",
    ),
    "error que se detiene sin decirlo": (SQUARE, "- `2 * x` → `x[9, 9, 9]`\n", "se detiene: Index"),
    "error que no se detiene": (SQUARE, SQUARE + "  se detiene: KeyError\n\n", "y no se detiene"),
    "excepción desconocida": (SQUARE, SQUARE + "  se detiene: Nada\n\n", "no hay una excepción"),
    "error con sintaxis mala": (SQUARE, "- `2 * x` → `2 * (x`\n", "deja de ser Python válido"),
    "error con comillas sueltas": (SQUARE, "- `2 * x → `x**2`\n", "no se entiende qué cambia"),
    "error sin trozo": (SQUARE, "- `` → `x**2`\n", "no se entiende qué cambia"),
    "error sin flecha": (SQUARE, "- `2 * x` `x**2`\n", "no se entiende qué cambia"),
    "error sin pista": (
        "  elevas al cuadrado: eso es multiplicar cada número por sí mismo.\n",
        "",
        "falta la pista",
    ),
    "pista repetida": (
        "divides entre 2; se pide multiplicar.",
        "sumas 2 a cada número, y así los grandes casi no cambian.",
        "la misma pista",
    ),
    "nombre repetido": (
        "- `2 * x` → `x**2`\n  elevas",
        "- **half** `2 * x` → `x**3`\n  elevas al cubo.\n- **half** `2 * x` → `x**2`\n  elevas",
        "el mismo nombre",
    ),
    "no con nadie": (SQUARE, SQUARE + "  no con: nadie\n\n", "no hay un error con ese nombre"),
    # las otras maneras
    "otra manera que no pasa": ("return x + x", "return x + x + 1", "esta otra manera no pasa"),
    "otra manera con sintaxis mala": ("return x + x", "return x +", "no es Python válido"),
    "otra función": ("return x + x", "def doble(x):\n    return x + x", "la respuesta se llama"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_it_is_refused_with_its_file_and_line(name, draft):
    old, new, told = MISTAKES[name]
    edit(draft, old, new)
    found = faults_of(draft.parents[2])
    assert any(told in fault for fault in found), found
    assert all(re.match(r"solutions/demo/\w+\.md, línea \d+: ", fault) for fault in found)
    assert not any("Traceback" in fault or "Failure(" in fault for fault in found)


@pytest.mark.parametrize("name", ["trozo que no está", "error que está bien", "error repetido"])
def test_the_line_is_the_one_of_the_mistake(name, draft):
    _, new, told = MISTAKES[name]
    edit(draft, SQUARE, new)
    (fault,) = [fault for fault in faults_of(draft.parents[2]) if told in fault]
    assert f"línea {line_of(draft, new)}:" in fault or name == "error repetido"


def test_a_fragment_that_is_twice_is_refused(draft):
    edit(draft, "return 2 * x\n", "y = 2 * x\n    return y + 0 * x\n")
    edit(draft, SQUARE, "- `* x` → `+ x`\n")
    assert any("«* x» está 2 veces" in fault for fault in faults_of(draft.parents[2]))


def test_without_a_single_section_nothing_stops(draft):
    text = draft.read_text("utf-8")
    draft.write_text(text[: text.index("## Casos")], "utf-8")
    assert any("no hay ningún error frecuente" in fault for fault in faults_of(draft.parents[2]))


def test_the_blank_lines_inside_a_hint_are_not_needed(draft):
    text = draft.read_text("utf-8")
    tight = text.replace("</summary>\n\n", "</summary>\n").replace("\n\n</details>", "\n</details>")
    assert tight != text
    before = [cell.source for cell in TopicSource.read("demo", draft.parents[2]).notebook.cells]
    draft.write_text(tight, "utf-8")
    after = [cell.source for cell in TopicSource.read("demo", draft.parents[2]).notebook.cells]
    assert after == before


def test_all_the_faults_are_told_at_once(draft):
    edit(draft, HEAD, "puntos: 0\nzzz: 1\n")
    edit(draft, "def cases(rng):", "def cases(rng)")
    edit(draft, SQUARE, "- `2 * x` `x**2`\n")
    assert len(faults_of(draft.parents[2])) >= 4


SOLUTION = "total = x.sum(dim=-1, keepdim=True)\n    return 2 * x + 0 * total\n"


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("Una pregunta que acerque, sin dar la respuesta.", "`{}`", "el texto o una pista"),
        (
            "```{code-cell} ipython3",
            "```{{code-cell}} ipython3\n{}\n```\n\n```{{code-cell}}",
            "celda",
        ),
        ("  elevas al cuadrado:", "  {} elevas al cuadrado:", "la pista de este error"),
    ],
)
def test_the_solution_is_not_shown_elsewhere(old, new, where, draft):
    edit(draft, "return 2 * x\n", SOLUTION)
    shown = " ".join(SOLUTION.split()) if "code-cell" not in new else SOLUTION.replace("    ", "")
    shown = (
        shown.replace("return", "return ")
        if "code-cell" not in new
        else f"def f(x):\n    {SOLUTION}"
    )
    edit(draft, old, new.format(shown.strip()))
    found = [fault for fault in faults_of(draft.parents[2]) if "la solución entera" in fault]
    assert found and where in found[0]


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("double = 3", "«double», que es la respuesta de «double»"),
        ("for torch in range(2):\n    print(torch)", "«torch», que es un import"),
    ],
)
def test_no_other_cell_redefines_an_answer_or_an_import(code, told, draft):
    """Al calificar se llama a la función con el cuaderno ya ejecutado."""
    around = draft.parent / "_topic.md"
    text = around.read_text("utf-8") + f"\n```{{code-cell}} ipython3\n{code}\n```\n"
    around.write_text(text, "utf-8")
    (fault,) = faults_of(draft.parents[2])
    line = line_of(around, code)
    assert f"solutions/demo/_topic.md, línea {line}:" in fault and told in fault, fault


def test_the_order_and_the_files_are_the_same(draft):
    root, around = draft.parents[2], draft.parent / "_topic.md"
    edit(around, "double\n", "double\ndouble\nother\n")
    found = faults_of(root)
    assert any("«double» ya está en la línea" in fault for fault in found)
    assert any("no existe solutions/demo/other.md" in fault for fault in found)
    edit(around, "double\ndouble\nother\n", "")
    assert any("no está en el orden de" in fault for fault in faults_of(root))


def test_a_topic_says_its_title_and_its_exercises(draft):
    around = draft.parent / "_topic.md"
    around.write_text("---\nnombre: x\n---\n\nHola\n", "utf-8")
    found = "\n".join(faults_of(draft.parents[2]))
    assert "no hay un campo «nombre»" in found and "falta un bloque «```{ejercicios}»" in found
    around.unlink()
    assert "no se pudo leer" in faults_of(draft.parents[2])[0]


def test_numbers_points_and_counts_are_made(draft):
    root = draft.parents[2]
    edit(write_draft("demo", "triple", root), HEAD, "puntos: 2\n")
    cells = [cell.source for cell in TopicSource.read("demo", root).notebook.cells]
    assert cells[0].startswith("# Soluciones: demo\n\nDos ejercicios y 3 puntos.")
    assert "## Ejercicio 2 · Título del ejercicio (2 puntos)" in "\n".join(cells)
    assert cells[-1] == 'check("demo.triple", triple)'


def test_one_file_alone_is_an_exercise(tmp_path):
    """Lo que enseña la guía: un archivo, sin su tema."""
    guide = ROOT / "book" / "_static" / "instructor_guide" / "self_attention" / "causal_mask.md"
    exercise = read_exercise(guide)
    assert (exercise.name, len(exercise.misconceptions)) == ("self_attention.causal_mask", 4)
    copy = tmp_path / "solutions" / "self_attention" / "causal_mask.md"
    copy.parent.mkdir(parents=True)
    copy.write_text(guide.read_text().replace("`return visible` →", "`return hidden` →"))
    with pytest.raises(FaultsError, match=r"línea \d+: «return hidden» no está en la solución"):
        read_exercise(copy)
