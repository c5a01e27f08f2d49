"""Universal Transformer: cuánto cuesta una posición que ya se detuvo

Un codificador de un bloque que se repite hasta 8 veces, con las mismas entradas y los mismos pesos.
Las probabilidades de parada se fijan para que cada posición dé los pasos que se quiere medir; lo
demás del cálculo es el de siempre. «Fijo» da los 8 pasos en todas las posiciones; los otros tres
paran: uno calcula siempre todas y descarta las detenidas (máscara), otro reúne siempre las activas,
y «curso», que es lo que hace la biblioteca, elige en cada paso. Antes de medir se comparan sus
estados y sus costos con los de la máscara y, cuando se entrena, los gradientes.

«Ideal» es la parte de los pasos que se dan: lo que costaría si detenerse no costara nada. Los casos
de deliberación media reparten los pasos al azar (1 más una binomial); en «todas a la vez» las
posiciones se detienen juntas. Los casos de detenidas las detienen en el primer paso, y las demás
llegan al octavo.
"""

import copy

import torch
from torch import Tensor

from benchmarks._measure import compare, require_same, rows_of
from course_lib.fast import gathering
from course_lib.layers.adaptive_computation import FixedComputation
from course_lib.models.universal_transformer import UniversalEncoder

STEPS = 8
# d_model, cabezas, d_ff, filas del lote, posiciones
SIZES = {"pequeño": (256, 4, 1024, 16, 128), "base": (512, 8, 2048, 8, 128)}
SIZES["grande"] = (512, 8, 2048, 128, 256)  # en una GPU, «base» no da trabajo bastante
PONDERS = (2.0, 2.8, 5.5)
HALTED = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99)
WAYS = {"máscara": 0.0, "reunir": 2.0, "curso": None}


def run(device: str) -> list[dict]:
    cases = [
        *(("base", "media", ponder, False) for ponder in PONDERS),
        ("base", "todas a la vez", 2.0, False),
        ("pequeño", "media", 2.0, False),
        *(("base", "detenidas", share, False) for share in HALTED),
        *(("grande", "media", ponder, False) for ponder in PONDERS if device != "cpu"),
        ("base", "media", 2.0, True),
        ("base", "detenidas", 0.9, True),
    ]
    return [row for case in cases for row in measure(*case, device=device)]


def measure(size: str, kind: str, value: float, training: bool, device: str) -> list[dict]:
    jobs = build(size, kind, value, training, device)
    del jobs["fijo"]  # calcula otra cosa: solo sirve de medida
    require_same(jobs, "máscara", same)
    case = (size, kind, value, training)
    measured = compare(
        build, *case, device=device, reference="fijo", same=lambda *_: None, memory=False
    )
    ideal = turns(size, kind, value).float().mean().item() / STEPS
    label = f"{value:.0%} detenidas" if kind == "detenidas" else f"{kind}: {value} pasos"
    case = {"modelo": size, "modo": "entrenar" if training else "inferir", "caso": label}
    return [
        {**row, "ideal": 1.0 if row["quién"] == "fijo" else ideal}
        for row in rows_of(case, measured)
    ]


def build(size: str, kind: str, value: float, training: bool, device: str) -> dict:
    torch.manual_seed(0)
    d_model, num_heads, d_ff, batch, t = SIZES[size]
    model = UniversalEncoder(d_model, num_heads, d_ff, max_steps=STEPS, max_length=t).eval()
    model, x = model.to(device), torch.randn(batch, t, d_model, device=device)
    wanted = turns(size, kind, value).to(device)
    jobs = {"fijo": work(fixed(model), x, None, training)}
    for name, gather_below in WAYS.items():
        halting = halt_at(copy.deepcopy(model), wanted)
        share = {} if gather_below is None else {"gather_below": gather_below}
        jobs[name] = work(gathering(halting, **share), x, wanted, training)
    return jobs


def turns(size: str, kind: str, value: float) -> Tensor:
    """Cuántos pasos da cada posición."""
    batch, t = SIZES[size][3:]
    chance = torch.Generator().manual_seed(1)
    if kind == "todas a la vez":
        return torch.full((batch, t), int(value))
    if kind == "detenidas":
        return torch.where(torch.rand(batch, t, generator=chance) < value, 1, STEPS)
    more = torch.rand(batch, t, STEPS - 1, generator=chance) < (value - 1) / (STEPS - 1)
    return 1 + more.sum(-1)


def fixed(model: UniversalEncoder) -> UniversalEncoder:
    """El mismo bloque, repetido siempre."""
    model = copy.deepcopy(model)
    model.computation = FixedComputation(STEPS)
    return model


def halt_at(model: UniversalEncoder, wanted: Tensor) -> UniversalEncoder:
    """Fija las probabilidades: casi 0 hasta el paso que se quiere, y ahí casi 1.

    La unidad de parada hace su trabajo igualmente, y su resultado se suma multiplicado por cero.
    """
    rule, n, last = model.computation, [0], int(wanted.max())
    p = rule.probability

    def probability(u):
        n[0] = n[0] % last + 1
        turns = wanted if u.ndim == 3 else wanted[wanted >= n[0]]  # todas, o solo las activas
        return torch.where(turns == n[0], 0.999, 1e-3) + 0 * p(u)

    rule.probability = probability
    return model


def work(model: UniversalEncoder, x: Tensor, wanted: Tensor | None, training: bool):
    """Una pasada, o una pasada y su gradiente, lista para repetir."""

    def forward():
        return wanted, model(x), None

    @torch.enable_grad()
    def step():
        model.zero_grad()
        output = model(x)
        (output.states.square().mean() + output.ponder_cost.mean()).backward()
        return wanted, output, {name: p.grad for name, p in model.block.named_parameters()}

    return step if training else forward


def same(ours, theirs) -> None:
    """Cada posición da los pasos pedidos, y los estados, costos y gradientes coinciden."""
    wanted, output, gradients = ours
    _, expected, their_gradients = theirs
    assert torch.equal(output.n_updates, wanted)
    torch.testing.assert_close(output.states, expected.states, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(output.ponder_cost, expected.ponder_cost)
    for name, gradient in (gradients or {}).items():
        torch.testing.assert_close(gradient, their_gradients[name], rtol=1e-3, atol=1e-6, msg=name)
