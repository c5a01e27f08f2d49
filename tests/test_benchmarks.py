import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]


@pytest.fixture
def package(monkeypatch):
    """Da un módulo de `benchmarks`, que no se instala: está en la raíz del repositorio."""
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return lambda name: importlib.import_module(f"benchmarks.{name}")


def test_every_benchmark_says_what_it_measures_and_its_results_are_kept(package):
    names = [m.name for m in pkgutil.iter_modules([ROOT / "benchmarks"]) if m.name[0] != "_"]
    assert {"attention_memory", "key_value_store", "recipes"} <= set(names)
    for name in names:
        module = package(name)
        assert callable(module.run) and "\n\n" in module.__doc__
        record = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())
        assert record["rows"] and record["machine"]["fecha"] and record["machine"]["dispositivo"]
        page = (ROOT / "benchmarks" / "results" / f"{name}.md").read_text()
        assert page.startswith(f"# {module.__doc__.splitlines()[0]}\n")


def test_results_are_written_as_a_table_and_as_data(package, tmp_path, monkeypatch, capsys):
    report = package("_report")
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    rows = [{"caso": "uno", "s": 0.012345, "MiB": 1234.5}, {"caso": "dos", "s": 2.0, "MiB": None}]
    report.publish("prueba", "Título\n\nDetalle.", rows, "cpu")
    assert json.loads((tmp_path / "prueba.json").read_text())["rows"] == rows
    page = (tmp_path / "prueba.md").read_text()
    assert (
        "| caso | s | MiB |\n| :-- | --: | --: |\n| uno | 0.0123 | 1234 |\n| dos | 2 | — |" in page
    )
    assert "Título" in capsys.readouterr().out


def test_an_unknown_name_is_wrong_usage():
    command = [sys.executable, "-m", "benchmarks", "no_existe"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2 and "no_existe" in run.stderr and "attention_memory" in run.stderr


def test_jobs_take_turns_and_the_first_turn_does_not_count(package):
    order = []
    times = package("_measure").alternate(
        {name: lambda name=name: order.append(name) for name in "ab"}, "cpu", rounds=3
    )
    assert order == list("abababab") and set(times) == {"a", "b"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="la memoria de un bloque se mide en Linux")
def test_fused_attention_never_holds_the_weights(package):
    module, measure = package("attention_memory"), package("_measure")
    torch.set_num_threads(1)
    fused, written = (
        measure.in_fresh_process(module.one_pass, 2048, way, "cpu")["MiB"]
        for way in ("fused", "written")
    )
    one_matrix = module.HEADS * 2048 * 2048 * 4 / 2**20
    assert fused < one_matrix / 8 < one_matrix < written
