"""Atención: la fórmula explícita, el núcleo fusionado y la de torch

Una pasada sin gradiente de un ejemplo con 4 cabezas de ancho 64. «Fórmula explícita» es
softmax(Q Kᵀ / √d_k) V con `attention_weights`, que forma la matriz t × t de cada cabeza; «núcleo
fusionado» es `attention`; la de torch, `scaled_dot_product_attention`. La memoria es la que se
añade a las entradas; la salida, que es parte de la cuenta, ocupa 1 MiB por cada 1024 posiciones.
La causal no necesita guardar la máscara: ni el núcleo fusionado ni la de torch la forman.
"""

import psutil
import torch
import torch.nn.functional as F

from benchmarks._measure import compare, rows_of
from course_lib.primitives.attention import attention, attention_weights

HEADS, D_K = 4, 64
LENGTHS = (128, 512, 1024, 4096, 16384)


def run(device: str) -> list[dict]:
    return [
        row
        for causal in (False, True)
        for t in LENGTHS
        for row in rows_of(
            {"t": t, "causal": "sí" if causal else "no"},
            compare(
                build,
                t,
                causal,
                device=device,
                reference="torch",
                flops=4 * HEADS * t * t * D_K / (2 if causal else 1),
                traffic=4 * HEADS * t * D_K * 4,
            ),
        )
    ]


def build(t: int, causal: bool, device: str) -> dict:
    torch.manual_seed(0)
    Q, K, V = torch.randn(3, 1, HEADS, t, D_K, device=device)
    jobs = {
        "torch": lambda: F.scaled_dot_product_attention(Q, K, V, is_causal=causal),
        "núcleo fusionado": lambda: attention(Q, K, V, causal=causal),
    }
    if _fits(t, device):
        jobs["fórmula explícita"] = lambda: attention_weights(Q, K, causal=causal) @ V
    return jobs


def _fits(t: int, device: str) -> bool:
    """La fórmula explícita guarda hasta tres matrices t × t por cabeza; si no caben, no compite."""
    on_gpu = torch.device(device).type == "cuda"
    free = torch.cuda.mem_get_info()[0] if on_gpu else psutil.virtual_memory().available
    return 3 * HEADS * t * t * 4 < 0.8 * free
