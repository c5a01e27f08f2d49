"""Las mediciones que son un capítulo: sus celdas marcadas bastan, y dejan las cifras."""

import ast
import builtins
import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHAPTERS = {
    "bert": "figures",
    "palm": "figures",
}


@pytest.fixture
def measured(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("benchmarks._chapter").measured_cells


@pytest.mark.parametrize("topic", CHAPTERS)
def test_the_measured_cells_define_all_they_use(measured, topic):
    """Si una celda marcada usa un nombre de otra sin marcar, la medición no puede ejecutarse."""
    tree = ast.parse("\n".join(measured(topic)))
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    known = {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(dir(builtins))
    known |= {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    known |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    known |= {alias.asname or alias.name for n in ast.walk(tree) for alias in imports(n)} | {"SEED"}
    assert {node.id for node in names} <= known


def imports(node):
    return node.names if isinstance(node, ast.Import | ast.ImportFrom) else ()


@pytest.mark.parametrize(("topic", "figures"), CHAPTERS.items())
def test_they_train_and_leave_the_figures(measured, topic, figures):
    code = "\n".join(measured(topic))
    assert code.count("train(\n") == 1 and f"\n{figures} = {{" in code
    assert "SEED =" not in code


@pytest.fixture
def chapter(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT)
    chapter = importlib.import_module("benchmarks._chapter")
    monkeypatch.setattr(chapter, "UNFINISHED", tmp_path)
    return chapter


def test_each_seed_runs_once_and_the_rows_have_the_published_columns(monkeypatch, chapter):
    stubbed = {0: 1.0, 1: 2.0, 2: 6.0}
    monkeypatch.setattr(
        chapter, "run_chapter", lambda topic, seed: {"figures": {("pérdida", topic): stubbed[seed]}}
    )
    [row] = chapter.summary_rows("bert", "cpu", ("medida", "modelo"))
    assert (row["medida"], row["modelo"], row["media"]) == ("pérdida", "bert", 3.0)
    assert row["±"] == pytest.approx(7**0.5), "la desviación es la de la muestra"
    published = ROOT / "benchmarks" / "results" / "bert_pretraining.json"
    assert list(row) == list(json.loads(published.read_text())["rows"][0])


def test_an_interrupted_measurement_goes_on_where_it_was(monkeypatch, tmp_path, chapter):
    ran, broken = [], {1}

    def run_chapter(topic, seed):
        ran.append(seed)
        if seed in broken:
            raise KeyboardInterrupt
        return {"scores": {("copiar", seed): (seed / 3, 0.1)}, "model": object()}

    monkeypatch.setattr(chapter, "run_chapter", run_chapter)
    monkeypatch.setattr(chapter, "measured_cells", lambda topic: ["from course_lib import devices"])
    with pytest.raises(KeyboardInterrupt):
        chapter.run_seeds("palm", "cpu", "scores")
    assert ran == [0, 1]

    monkeypatch.setattr(chapter, "measured_cells", lambda topic: ["STEPS = 2"])
    with pytest.raises(KeyboardInterrupt):
        chapter.run_seeds("palm", "cpu", "scores")
    assert ran == [0, 1, 0, 1], "con otras celdas, lo guardado ya no vale"

    broken.clear()
    found = chapter.run_seeds("palm", "cpu", "scores")
    assert ran == [0, 1, 0, 1, 1, 2], "solo faltaban dos semillas"
    assert found == [{"scores": {("copiar", seed): (seed / 3, 0.1)}} for seed in (0, 1, 2)]

    kept = [path.name for path in tmp_path.iterdir()]
    assert len(kept) == 1, f"queda solo lo de las otras celdas; están {kept}"
    chapter.run_seeds("palm", "cpu", "scores")
    assert ran[6:] == [0, 1, 2], "terminada, la siguiente mide de nuevo"


def test_a_chapter_can_stop_before_it_trains(monkeypatch, chapter):
    cells = ["batches = SEED + 1", "raise KeyboardInterrupt('aquí entrena')"]
    monkeypatch.setattr(chapter, "measured_cells", lambda topic: cells)
    assert chapter.run_chapter("bert", 4, until="batches")["batches"] == 5
    with pytest.raises(KeyboardInterrupt):
        chapter.run_chapter("bert", 4)
