"""Transformer-XL: un segmento con la memoria llena, el original y el del curso

El original es `TransfoXLLMHeadModel` de transformers 4.57, el último que lo tuvo; el del curso lee
sus pesos con `load_transformer_xl`. El modelo es el de enwik8 (d_model 512, 8 cabezas, d_ff 2048)
con 4 capas, y el lote, de una fila. La memoria se llena con los mismos tokens. Antes de medir se
comparan las log-probabilidades; en el entrenamiento, la pérdida y el gradiente de todos los
parámetros.

«Lectura» es una pasada sin gradiente por segmentos seguidos, cada uno con la memoria que dejó el
anterior; el tiempo es el de todos, y cada vuelta parte de la misma memoria llena. Con la memoria de
estados se proyectan otra vez las claves y los valores de lo recordado, como en el original; la
congelada, para pesos que ya no cambian, los guarda proyectados. «Entrenamiento» es la pasada hacia
delante y hacia atrás de un segmento, con la memoria de estados. Del límite de la máquina cuentan
solo las operaciones necesarias: las claves visibles y, en la lectura, sin proyectar nada otra vez.
"""

import torch
import torch.nn.functional as F

from benchmarks._measure import compare, rows_of, same_gradient
from benchmarks._transfo_xl import (
    D_FF,
    D_MODEL,
    VOCAB,
    Original,
    gradients_of,
    make_models,
    reading,
)
from course_lib.fast import frozen

LAYERS = 4
MEMORIES = (128, 512, 1024, 2048)
READ = {1: 8, 64: 4, 128: 4}  # tokens por segmento: segmentos seguidos
TRAINED = ((128, 128), (512, 512))  # memoria, segmento
ORIGINAL = "original"


def run(device: str) -> list[dict]:
    rows = []
    for memory in MEMORIES:
        for t, count in READ.items():
            work = count * flops(memory, t)
            rows += measured(read, memory, t, device, work, torch.testing.assert_close, count)
    for memory, t in TRAINED:
        work = 3 * flops(memory, t) + 2 * flops_of_the_past(memory, t)
        rows += measured(train, memory, t, device, work, same_loss_and_gradients, 1)
    return rows


def measured(build, memory, t, device, work, same, count) -> list[dict]:
    found = compare(
        build, memory, t, device=device, reference=ORIGINAL, same=same, flops=work, memory=False
    )
    name = "lectura" if build is read else "entrenamiento"
    case = {"trabajo": name, "memoria": memory, "segmento": t, "segmentos": count}
    rows = rows_of(case, found)
    return [{key: row[key] for key in row if key != "MiB"} for row in rows]


def read(memory: int, t: int, device: str) -> dict:
    """Lee segmentos seguidos y da las log-probabilidades del último."""
    torch.manual_seed(0)
    theirs, ours = (model.to(device) for model in make_models(LAYERS, memory))
    past, *segments = torch.randint(VOCAB, (1, memory + READ[t] * t), device=device).split(
        [memory, *[t] * READ[t]], 1
    )

    return {
        ORIGINAL: reading(Original(theirs), None, past, segments),
        "curso, estados": reading(ours, None, past, segments),
        "curso, congelada": reading(frozen(ours), None, past, segments),
    }


def train(memory: int, t: int, device: str) -> dict:
    """Un segmento hacia delante y hacia atrás; da la pérdida y el modelo, con sus gradientes."""
    torch.manual_seed(0)
    theirs, ours = (model.to(device) for model in make_models(LAYERS, memory))
    past, inputs, targets = torch.randint(VOCAB, (1, memory + 2 * t), device=device).split(
        [memory, t, t], 1
    )

    def job(model, parameters):
        _, full = model(past, None)

        @torch.enable_grad()
        def work():
            parameters.zero_grad(set_to_none=True)
            log_p = model(inputs, full)[0].log_softmax(-1)
            loss = F.nll_loss(log_p.flatten(0, 1), targets.flatten())
            loss.backward()
            return loss.detach(), parameters

        return work

    return {ORIGINAL: job(Original(theirs), theirs), "curso": job(ours, ours)}


def same_loss_and_gradients(ours, theirs):
    torch.testing.assert_close(ours[0], theirs[0])
    expected = gradients_of(theirs[1])
    found = gradients_of(ours[1]) if ours[1] is theirs[1] else None
    found = found or {name: p.grad for name, p in ours[1].named_parameters()}
    for name, gradient in expected.items():
        same_gradient(name, found[name], gradient)


def flops(memory: int, t: int) -> float:
    """Operaciones de un segmento: cuatro proyecciones, la red y los tres productos de la atención.

    Solo se cuentan las claves visibles, y de lo recordado no se proyecta nada.
    """
    keys = memory + (t + 1) / 2
    layer = 8 * t * D_MODEL**2 + 4 * t * D_MODEL * D_FF + 6 * t * keys * D_MODEL
    return LAYERS * layer + 2 * t * VOCAB * D_MODEL


def flops_of_the_past(memory: int, t: int) -> float:
    """Las de proyectar lo que no es del segmento: claves y valores recordados, y las distancias."""
    return LAYERS * 2 * D_MODEL**2 * (2 * memory + memory + t)
