"""Diagrama de la página de seguridad: quién sabe la respuesta y quién ejecuta código ajeno."""

from __future__ import annotations

from book._figures.kit import Figure


def grading_processes() -> Figure:
    fig = Figure(
        "grading_processes",
        title="Calificar con tres procesos: el que ejecuta la entrega, el juez y el supervisor",
        desc="Arriba, el juez, uno para cada entrega y con límites: lee el cuaderno como texto, "
        "sortea entradas nuevas con una semilla secreta y tiene la referencia y los errores "
        "frecuentes. En medio, dentro de una caja sin red y con límites, el proceso de la entrega "
        "recibe solo las celdas y las entradas. Lo que devuelve sube como datos, y el juez lo "
        "compara con lo esperado. Abajo, el supervisor lee lo que el juez dejó en una memoria de "
        "tamaño fijo: los puntos, la propiedad que falla y la pista.",
        height=552,
    )
    small = fig.small
    fig.frame(6, 6, 462, 292)
    fig.text(237, 26, "El juez: uno por entrega, con límites", bold=True, size=small)
    notebook = fig.op(18, 46, 116, 48, "Cuaderno,\ncomo texto", role="input", size=small)
    seed = fig.op(146, 46, 110, 48, "Semilla\nsecreta", role="query", size=small)
    reference = fig.op(
        268, 46, 188, 48, "Referencia y\nerrores frecuentes", role="value", size=small
    )
    inputs = fig.op(146, 136, 110, 48, "Entradas\nnuevas", role="query", size=small)
    compare = fig.op(
        268, 224, 188, 56, "Compara tipo, forma,\nvalores, gradiente", role="weight", size=small
    )
    fig.arrow(seed.s, inputs.n)
    fig.arrow(reference.s, compare.n)
    fig.line(inputs.e, (reference.cx, inputs.cy))
    fig.text(reference.cx + 8, 192, "lo esperado", anchor="start", size=small)

    fig.frame(6, 340, 462, 128)
    fig.text(237, 452, "La caja: sin red, sin tus archivos, con límites", bold=True, size=small)
    worker = fig.op(
        18,
        352,
        438,
        80,
        "El proceso de la entrega\nejecuta sus celdas y contesta llamadas;\n"
        "nunca ve lo que se espera de él",
        role="key",
        dashed=True,
        size=small,
    )
    fig.arrow(notebook.s, (notebook.cx, worker.y))
    fig.text(notebook.cx + 8, 224, "celdas", anchor="start", size=small)
    fig.arrow(inputs.s, (inputs.cx, worker.y))
    fig.text(inputs.cx - 8, 262, "entradas", anchor="end", size=small)
    fig.arrow((compare.cx, worker.y), compare.s)
    fig.text(compare.cx - 8, 318, "lo que devuelve,\ncomo datos", anchor="end", size=small)

    verdict = fig.op(
        60,
        486,
        374,
        54,
        "El supervisor guarda el veredicto:\npuntos, propiedad que falla y pista",
        role="output",
        size=small,
    )
    fig.arrow(compare.e, (474, compare.cy), (474, verdict.cy), verdict.e)
    return fig


FIGURES = (grading_processes,)
