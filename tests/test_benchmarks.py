import importlib
import json
import pkgutil
import re
import subprocess
import sys
import time
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
    modules = pkgutil.iter_modules([ROOT / "benchmarks"])
    names = [m.name for m in modules if m.name[0] != "_" and not m.ispkg]
    assert {"attention", "key_value_store", "recipes"} <= set(names)
    for name in names:
        module = package(name)
        assert callable(module.run) and "\n\n" in module.__doc__
        record = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text())
        assert record["rows"] and record["machine"]["fecha"] and record["machine"]["dispositivo"]
        page = (ROOT / "benchmarks" / "results" / f"{name}.md").read_text()
        assert page.startswith(f"# {module.__doc__.splitlines()[0]}\n")


def test_the_pages_name_benchmarks_that_exist():
    pages = [*(ROOT / "book").glob("*.md"), *ROOT.glob("*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    named = set(re.findall(r"python -m benchmarks ([a-z_]+)", text))
    assert named and all((ROOT / "benchmarks" / f"{name}.py").exists() for name in named), named


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


@pytest.mark.usefixtures("warm_processes")
def test_an_unknown_name_is_wrong_usage():
    command = [sys.executable, "-m", "benchmarks", "no_existe"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2 and "no_existe" in run.stderr and "attention" in run.stderr


def test_jobs_take_turns_and_warming_up_does_not_count(package):
    measure, order = package("_measure"), []

    def job(name):
        order.append(name)
        time.sleep(0.03)

    times = measure.alternate(
        {name: lambda name=name: job(name) for name in "ab"}, "cpu", rounds=(3, 3)
    )
    assert order[:4] == list("aabb") and order[4:] == list("ababab")
    assert set(times) == {"a", "b"} and all(len(seconds) == 3 for seconds in times.values())


def test_a_faster_wrong_answer_is_a_failure(package):
    measure = package("_measure")
    jobs = {"bien": lambda: torch.ones(2), "mal": lambda: torch.tensor([1.0, 1.1])}
    with pytest.raises(ValueError, match="«mal» no da el mismo resultado que «bien»"):
        measure.require_same(jobs, "bien", torch.testing.assert_close)


def test_the_ratio_is_against_the_reference_and_the_limit_is_a_floor(package, monkeypatch):
    measure = package("_measure")
    times = {"rápido": [0.02, 0.02, 0.03], "lento": [0.06, 0.05, 0.06]}
    monkeypatch.setattr(measure, "limits", lambda device: (1e9, 1e9))
    monkeypatch.setattr(measure, "alternate", lambda jobs, device, **turns: times)
    found = measure.compare(
        lambda device: dict.fromkeys(times, lambda: torch.ones(1)),
        device="cpu",
        reference="lento",
        flops=1e7,
        traffic=1e6,
        memory=False,
    )
    assert found["rápido"]["razón"] == pytest.approx(1 / 3) and found["lento"]["razón"] == 1.0
    assert found["rápido"]["del límite"] == pytest.approx(0.5)  # 10 ms de piso sobre 20
    assert found["rápido"]["dispersión"] == pytest.approx(0.5)


def test_a_missing_peer_is_named_and_left_out(package, capsys):
    assert package("_measure").peer("no_existe") is None
    assert "Se omite no_existe" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="la memoria de un bloque se mide en Linux")
def test_fused_attention_never_holds_the_weights(package):
    module, measure = package("attention"), package("_measure")
    torch.set_num_threads(1)
    fused, written = (
        measure.in_fresh_process(
            measure.memory_of, module.build.__module__, "build", (2048, False), way, "cpu"
        )
        for way in ("núcleo fusionado", "fórmula explícita")
    )
    one_matrix = module.HEADS * 2048 * 2048 * 4 / 2**20
    assert fused < one_matrix / 8 < one_matrix < written
