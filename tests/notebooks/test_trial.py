"""`course try`: lo que se ve de un ejercicio mientras se escribe."""

import io
from pathlib import Path

import torch
from rich.console import Console

from course_lib.cli.try_ import table_of
from course_lib.judging.check import check_exercise, find_exercise
from course_lib.notebooks import trial
from tests.checks.judging import deadline
from tests.checks.solutions import ROOT


def endless(scores, beta):
    while True:
        pass


def test_what_never_ends_is_left_although_each_case_would_begin_again(monkeypatch):
    exercise = find_exercise("attention.soft_argmax")
    monkeypatch.setattr(trial, "_SECONDS", 1.0)
    assert not trial._holds(lambda: bool(check_exercise(exercise, endless)))
    assert trial._holds(lambda: True) and not trial._holds(lambda: 1 // 0)


def test_a_mutant_that_never_ends_is_left_too():
    exercise = find_exercise("attention.soft_argmax")
    try:
        with deadline(0.2):
            verdict = check_exercise(exercise, endless)
    except TimeoutError:
        verdict = None
    assert verdict is None


def test_what_is_tried_leaves_no_files(tmp_path, monkeypatch):
    """`torch.save(estados, "last")` escribe un archivo: sus entradas son las de `bert.features`."""
    monkeypatch.chdir(tmp_path)
    saved = []

    def save(hidden, recipe):
        torch.save(hidden, recipe)
        saved.append(Path(recipe).is_file())

    monkeypatch.setattr(trial, "_ready_made", lambda **_: [("torch.save", save)])
    made = trial.read_trial("bert", "features", ROOT)
    for part in ("_mistakes", "_pairs", "_alternatives", "_mutants"):
        monkeypatch.setattr(made, part, lambda: None)
    made.run()
    assert saved and all(saved), "si no se probó, no dice nada"
    assert list(tmp_path.iterdir()) == []


def test_only_what_calculates_is_tried_as_a_shortcut():
    tried = dict(trial._ready_made(has_tensors=True))
    assert {"torch.softmax", "torch.nn.functional.rms_norm", "torch.einsum"} <= tried.keys()
    assert "course_lib.primitives.positions.sinusoids.sinusoidal_positions" in tried
    unsafe = {torch.save, torch.from_file, torch.set_num_threads, torch.set_default_dtype}
    assert not unsafe & {value for name, value in tried.items() if name.startswith("torch.")}
    assert not any(n.startswith("torch.") for n, _ in trial._ready_made(has_tensors=False))


def test_a_living_mutant_is_placed_in_its_own_line():
    code = "x = a + 1\n### BEGIN SOLUTION\nx = a * 2\nx = a * 3\n### END SOLUTION"
    lines = {trial._line_of(code, change) for change in trial.changes_of(code)}
    assert lines == {3, 4}


def test_a_long_name_can_be_copied():
    """Un atajo se escribe en `prohibido`: su nombre hace falta entero."""
    console = Console(width=80, record=True, file=io.StringIO())
    name = "course_lib.decoding.sampling.sampling_distribution"
    console.print(
        table_of("a.b", [trial.Row("atajo", name, "pasa tal cual: ¿`prohibido`?", False)])
    )
    lines = [line.split("│") for line in console.export_text().splitlines() if "│" in line]
    assert "".join(cells[3].strip() for cells in lines) == name
