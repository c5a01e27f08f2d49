"""Los ejercicios del tema de ejemplo: `course_lib/checks/example.py` en el proyecto de prueba."""

import torch

from course_lib.judging.exercise import Exercise, Misconception, no_inputs


def double(x):
    return 2 * x


def _vectors(rng):
    return [(torch.randn(n, generator=rng),) for n in (1, 3)]


EXERCISES = (
    Exercise(
        name="example.double",
        points=2,
        reference=double,
        cases=_vectors,
        misconceptions=[
            Misconception("square", lambda x: x**2, "elevas al cuadrado en lugar de duplicar"),
            Misconception("half", lambda x: x / 2, "divides entre 2 en lugar de multiplicar por 2"),
        ],
        gradient=True,
    ),
    Exercise(
        name="example.answer",
        points=1,
        reference="b",
        cases=no_inputs,
        misconceptions=[Misconception("a", "a", "esa es la consulta, no la clave")],
    ),
)
