"""Ejecutar en un núcleo nuevo: qué detiene, qué sigue y qué veredictos se leen."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest

from course_lib.notebooks.execution import CellFailedError, execute, execute_whole, verdicts


def notebook(*cells):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def test_the_failing_cell_is_known(tmp_path):
    with pytest.raises(CellFailedError) as caught:
        execute(notebook("1", "raise ValueError('a\\nb')", "2"), tmp_path)
    assert (caught.value.index, caught.value.reason) == (1, "ValueError: a b")


def test_a_slow_cell_is_stopped(tmp_path):
    with pytest.raises(CellFailedError, match="tardó más de 2 segundos"):
        execute(notebook("import time; time.sleep(60)"), tmp_path, timeout=2)


def test_the_kernel_is_reproducible(tmp_path):
    """Un hilo, el mismo orden en los conjuntos de textos, y la carpeta pedida."""
    code = "import os; (os.environ['OMP_NUM_THREADS'], hash('a'), os.path.basename(os.getcwd()))"
    texts = []
    for _ in range(2):
        executed = notebook(code)
        execute(executed, tmp_path)
        texts.append(executed.cells[0].outputs[0].data["text/plain"])
    assert texts[0] == texts[1]
    assert texts[0].startswith("('1', ") and tmp_path.name in texts[0]


def test_a_students_notebook_goes_on_after_an_error(tmp_path):
    executed = notebook("1 / 0", "while True: pass", "3")
    execute_whole(executed, tmp_path, timeout=3)
    names = [cell.outputs[0].get("ename") for cell in executed.cells]
    assert names == ["ZeroDivisionError", "KeyboardInterrupt", None]


def test_the_last_verdict_of_an_exercise_counts():
    cells = notebook("", "").cells
    for cell, status in zip(cells, ("wrong", "correct"), strict=True):
        metadata = {"course_verdict": {"exercise": "a.b", "status": status}}
        cell.outputs = [
            nbformat.v4.new_output("execute_result", {"text/plain": ""}, metadata=metadata)
        ]
    cells[1].outputs.append(nbformat.v4.new_output("stream", text="x"))
    found = verdicts(nbformat.v4.new_notebook(cells=cells))
    assert {name: verdict["status"] for name, verdict in found.items()} == {"a.b": "correct"}


def test_it_works_inside_a_running_event_loop(tmp_path):
    """Como en un cuaderno, o al lado de un navegador de pruebas."""
    executed = notebook("1 + 1")

    async def inside():
        execute(executed, tmp_path)

    # En otro hilo: en este puede haber ya un bucle, el de un navegador de pruebas.
    with ThreadPoolExecutor() as threads:
        threads.submit(asyncio.run, inside()).result()
    assert executed.cells[0].outputs[0]["data"]["text/plain"] == "2"
