"""El experimento con que acaba cada cuaderno: se predice, se mide, se revisa y se valora.

Los once temas del curso tienen uno, de seis puntos. Un tema propio puede no tenerlo.
"""

import ast

import nbformat
import pytest

from course_lib.grading.classroom.results import topic_outline
from course_lib.notebooks.generation import topics_in
from tests.checks.solutions import ROOT

POINTS = 6
COURSE = {"attention", "bert", "key_value_store", "palm", "self_attention", "text_classifier"}
COURSE |= {"tokenization", "transformer", "transformer_xl", "translator", "universal_transformer"}
WITH_ONE = [t for t in topics_in(ROOT) if f"{t}.experiment" in topic_outline(t).headings]
every_topic = pytest.mark.parametrize("topic", WITH_ONE)


class Open:
    """Las celdas de código de un experimento, en uno de los dos cuadernos de su tema."""

    def __init__(self, topic: str, kind: str) -> None:
        cells = nbformat.read(ROOT / kind / f"{topic}.ipynb", 4).cells
        start = next(i for i, c in enumerate(cells) if c.source.startswith("## Experimento: "))
        self.cells = [c for c in cells[start:] if c.cell_type == "code"]

    def told(self) -> str:
        """Lo que dice la revisión de la tabla."""
        (checked,) = (c for c in self.cells if c.source.startswith("check_table("))
        return checked.outputs[0].data["text/plain"]

    def assigned(self) -> list[str]:
        """Los nombres a los que las celdas dan un valor, en su orden."""
        trees = [node for c in self.cells for node in ast.parse(c.source).body]
        return [n.targets[0].id for n in trees if isinstance(n, ast.Assign) and _is_name(n)]


def _is_name(node: ast.Assign) -> bool:
    return isinstance(node.targets[0], ast.Name)


def test_every_topic_of_the_course_has_one():
    assert set(WITH_ONE) >= COURSE


@pytest.mark.parametrize("topic", sorted(COURSE))
def test_it_has_a_rubric_of_six_points(topic):
    outline = topic_outline(topic)
    assert outline.heading(f"{topic}.experiment").startswith("Experimento: ¿")
    assert sum(criterion.points for criterion in outline.rubric) == POINTS
    assert "predicción" in outline.rubric[0].text
    assert any("conclusión" in criterion.text for criterion in outline.rubric)


@every_topic
def test_the_table_waits_for_the_student_and_the_solution_is_complete(topic):
    blank, done = Open(topic, "exercises"), Open(topic, "solutions")
    assert blank.told().startswith("⏳ La tabla: pendiente")
    assert done.told().startswith("✅ La tabla: correcto")
    names = done.assigned()
    assert names.index("table") < len(names) - 1 - names[::-1].index("table")  # y la llena después
    if "prediction" in names:
        assert names.index("prediction") < names.index("table")
        assert "Predice antes de medir" in blank.told()
        assert "donde más te sorprendió" in done.told().lower()  # la predicción no es la medida


@every_topic
def test_it_stops_nobody_who_runs_everything(topic):
    outputs = [o for c in Open(topic, "exercises").cells for o in c.outputs]
    assert outputs and not [o for o in outputs if o.output_type == "error"]
