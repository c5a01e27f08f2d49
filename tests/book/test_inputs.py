"""De qué depende un capítulo: también de los modelos y de las mediciones que lee."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from course_site.inputs import chapter_inputs  # noqa: E402

PAGE = """---
jupytext:
  text_representation: {{extension: .md, format_name: myst}}
kernelspec: {{display_name: Python 3, language: python, name: python3}}
---

# Uno

```{{code-cell}} ipython3
{code}
```
"""


@pytest.fixture
def project(tmp_path):
    for name in ("mine", "other"):
        folder = tmp_path / "book" / "_models" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}", encoding="utf-8")
        (folder / "model.safetensors").write_bytes(b"uno\r\ndos")
    return tmp_path


def inputs(project, code):
    page = project / "book" / "uno.md"
    page.write_text(PAGE.format(code=code), encoding="utf-8")
    return chapter_inputs(page, project)


def test_new_weights_run_the_chapter_again(project):
    code = 'load("book/_models/mine")'
    before = inputs(project, code)
    assert {"book/_models/mine/config.json", "book/_models/mine/model.safetensors"} <= set(before)
    (project / "book/_models/other/model.safetensors").write_bytes(b"otros")
    assert inputs(project, code) == before, "de otro modelo no depende"
    (project / "book/_models/mine/model.safetensors").write_bytes(b"otros")
    after = inputs(project, code)
    assert {name for name in after if after[name] != before[name]} == {
        "book/_models/mine/model.safetensors"
    }


def test_a_new_record_runs_the_chapter_again(project):
    record = project / "benchmarks" / "results" / "speed.json"
    record.parent.mkdir(parents=True)
    record.write_text("[1]")
    code = 'open("../benchmarks/results/speed.json")'
    before = inputs(project, code)
    record.write_text("[2]")
    after = inputs(project, code)
    assert {name for name in after if after[name] != before[name]} == {
        "benchmarks/results/speed.json"
    }


def test_a_chapter_that_reads_nothing_depends_on_nothing(project):
    names = inputs(project, "print(1)")
    assert not any("_models" in name or "results" in name for name in names)


def test_the_page_of_fine_tuning_depends_on_its_model():
    found = chapter_inputs(ROOT / "book" / "fine_tuning.md")
    for name in ("config.json", "model.safetensors", "vocab.txt"):
        assert found[f"book/_models/bert/{name}"]
