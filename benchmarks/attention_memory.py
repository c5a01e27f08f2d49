"""Memoria de la atención: fundida contra escrita

Cuánta memoria más que sus entradas pide una pasada de `attention`, frente a la fórmula escrita
softmax(Q Kᵀ / √d_k) V, que forma la matriz t × t de cada cabeza. Un ejemplo, 8 cabezas, d_k = 64,
float32, sin gradiente. La salida H, que es parte de la cuenta, ocupa 2 MiB por cada 1024
posiciones. Cada cifra sale de un proceso nuevo; en la CPU es el máximo de memoria
residente menos la que había antes de la pasada.
"""

import torch

from benchmarks._measure import in_fresh_process, measure
from course_lib.primitives.attention import attention

HEADS, D_K = 8, 64
LENGTHS = (1024, 2048, 4096, 8192)


def run(device: str) -> list[dict]:
    rows = []
    for t in LENGTHS:
        fused, written = (
            in_fresh_process(one_pass, t, way, device) for way in ("fused", "written")
        )
        rows.append(
            {
                "t": t,
                "fundida, MiB": fused["MiB"],
                "escrita, MiB": written["MiB"],
                "una matriz de pesos, MiB": HEADS * t * t * 4 / 2**20,
                "fundida, s": fused["s"],
                "escrita, s": written["s"],
            }
        )
    return rows


def one_pass(t: int, way: str, device: str) -> dict:
    """Mide una pasada, después de otra pequeña que carga las bibliotecas."""
    work = {"fused": attention, "written": written_out}[way]
    with torch.no_grad():
        work(*torch.randn(3, 1, HEADS, 64, D_K, device=device))
    Q, K, V = torch.randn(3, 1, HEADS, t, D_K, device=device)
    return measure(lambda: work(Q, K, V), device)


def written_out(Q, K, V):
    """La fórmula tal como se escribe."""
    return torch.softmax(Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5, dim=-1) @ V
