"""`check_table()`: la tabla de un experimento, completa y medida."""

import functools

import pytest
import torch

from course_lib import check_table

ROWS, COLUMNS = ["doble", "triple"], [1, 2, 4]


@functools.cache
def share(row, column):
    return {"doble": 0.2, "triple": 0.3, "mía": 0.25}[row] / column


RIGHT = {row: [share(row, c) for c in COLUMNS] for row in ("doble", "triple", "mía")}
GUESS = {"doble": [0.2, 0.9, 0.05], "triple": [0.3, 0.2, 0.1]}


def told(table, **options):
    verdict = check_table(table, share, ROWS, COLUMNS, **options)
    return verdict.state, repr(verdict)


def with_row(row):
    return RIGHT | {"triple": row}


def test_a_measured_table_is_right_and_tells_the_greatest_surprise():
    status, text = told(RIGHT, prediction=GUESS)
    assert status == "correct"
    assert "3 filas y 3 columnas, y todas salen de `share`".replace("`", "") in text
    assert "en la fila «doble», columna 2: predijiste 0.90 y se midió 0.10" in text


def test_two_decimals_are_enough_and_tensors_too():
    rounded = {row: torch.tensor(numbers).round(decimals=2) for row, numbers in RIGHT.items()}
    assert told(rounded)[0] == "correct"
    assert told({row: list(numbers) for row, numbers in rounded.items()})[0] == "correct"
    far = [numbers[0] + 0.02 if i == 0 else numbers[i] for i, numbers in [(0, RIGHT["doble"])]]
    assert told(RIGHT | {"doble": far + RIGHT["doble"][1:]})[0] == "wrong"


def test_first_the_prediction_then_the_table():
    assert told({}, prediction={}) == told(RIGHT, prediction={})
    status, text = told(RIGHT, prediction={})
    assert status == "pending" and "Predice antes de medir" in text
    status, text = told({}, prediction=GUESS)
    assert status == "pending" and "Tu predicción está" in text
    assert told({})[0] == told(...)[0] == "pending"
    status, text = told(RIGHT, prediction={"doble": [1, 2, 3]})
    assert status == "wrong" and "En tu predicción, falta la fila «triple»" in text
    assert "se predice antes de medir" in told(RIGHT, prediction=RIGHT)[1]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([1, 2], 'es un diccionario, y cada fila va así: table["doble"] = [0.5, …]'),
        ({"otra": [1, 2, 4]}, "Faltan las filas «doble», «triple»"),
        ({"doble": RIGHT["doble"]}, "Falta la fila «triple»"),
        (with_row([0.3, 0.15]), "La fila «triple» tiene 2 valores, y las columnas son 3: 1, 2, 4"),
        (with_row(0.3), "La fila «triple» es una lista de números, uno por columna"),
        (with_row([0.3, None, 0.075]), "en la columna 2 algo que no es un número: None"),
        (with_row([0.3, float("nan"), 0.075]), "en la columna 2 algo que no es un número: nan"),
        (with_row([0.3, "0.15", 0.075]), "en la columna 2 algo que no es un número: '0.15'"),
        (with_row([0.3, torch.ones(2), 0.1]), "en la columna 2 algo que no es un número"),
        (with_row([0.3, 0.5, 0.075]), "columna 2: pone 0.5, y al medirla con share sale otra"),
        (with_row([0.075, 0.15, 0.3]), "«triple» tiene sus números en otro orden"),
        (with_row([30, 15, 7.5]), "«triple» está en porcentajes, y la medida va de 0 a 1"),
        (with_row(RIGHT["doble"]), "La fila «triple» lleva lo que se mide con «doble»"),
        (RIGHT | {"tuya": [1, 1, 1]}, "«tuya» no se puede volver a medir: share se detuvo con Key"),
        ({row: RIGHT[row] for row in ROWS}, "Falta lo que eliges tú: añade una fila tuya"),
    ],
)
def test_a_sloppy_table_is_told_what_it_lacks(table, said):
    status, text = told(table)
    assert status == "wrong" and said in text
    assert "0.15," not in text  # lo medido no se dice


def test_it_is_shown_like_a_verdict():
    shown = check_table(RIGHT, share, ROWS, COLUMNS)._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/markdown", "text/html"}
    assert "course-verdict" in shown["text/html"]
