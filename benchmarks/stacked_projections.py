"""Consultas, claves y valores: tres productos o uno

Las tres proyecciones de t vectores de ancho d, sin gradiente: con tres `nn.Linear` de d a d, o con
uno de d a 3d que guarda las tres matrices juntas y se parte después. Los resultados son los mismos.
La razón dice cuántas veces tarda cada uno lo que el producto único; varía de una máquina a otra.
"""

import torch
from torch import nn

from benchmarks._measure import compare, rows_of

WIDTHS = (32, 64, 256)
LENGTHS = (1, 4, 16, 64, 256)


def run(device: str) -> list[dict]:
    return [
        row
        for d in WIDTHS
        for t in LENGTHS
        for row in rows_of(
            {"d": d, "t": t},
            compare(
                build,
                d,
                t,
                device=device,
                reference="un producto",
                memory=False,
                rounds=(400, 800),
                turn=5e-4,
            ),
        )
    ]


def build(d: int, t: int, device: str) -> dict:
    torch.manual_seed(0)
    with torch.device(device):
        three = [nn.Linear(d, d, bias=False) for _ in range(3)]
        one = nn.Linear(d, 3 * d, bias=False)
        X = torch.randn(t, d)
    with torch.no_grad():
        one.weight.copy_(torch.cat([layer.weight for layer in three]))
    return {
        "un producto": lambda: one(X).chunk(3, dim=-1),
        "tres productos": lambda: tuple(layer(X) for layer in three),
    }
