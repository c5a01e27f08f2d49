"""Almacén clave-valor: un millón de claves, contra FAISS

10⁶ claves de 64 números (244 MiB) y un lote de 256 consultas. FAISS es su índice plano por producto
escalar (`IndexFlatIP`), que da las 10 primeras y sus puntuaciones; `ranking` da además el peso
exacto de cada una entre todas las claves, y `lookup`, la mezcla de todos los valores. «Todos los
pesos a la vez» es la manera directa, que forma los 256 × 10⁶ (977 MiB por matriz). Las filas
que dan todos son las mismas. La memoria es la que se añade a las claves, los valores y las
consultas.
"""

import torch

from benchmarks._measure import compare, peer, rows_of
from course_lib.primitives.key_value_store import KeyValueStore, top_k

COUNT, D_K, QUERIES, TOP = 1_000_000, 64, 256, 10


def run(device: str) -> list[dict]:
    flops = 2 * QUERIES * COUNT * D_K
    ranked = compare(search, device=device, reference="FAISS", same=same_rows, flops=flops)
    mixed = compare(mix, device=device, reference="todos los pesos a la vez", flops=2 * flops)
    exact = compare(get, device=device, reference="get")
    return [
        *rows_of({"trabajo": "las 10 primeras"}, ranked),
        *rows_of({"trabajo": "mezcla suave de todo"}, mixed),
        *rows_of({"trabajo": "256 búsquedas exactas"}, exact),
    ]


def search(device: str) -> dict:
    """Las 10 claves más parecidas a cada consulta."""
    K, Q = _keys(device)
    jobs = {
        "ranking, con su peso exacto": lambda: top_k(Q, K, TOP)[1],
        "todos los pesos a la vez": lambda: _weights(Q, K).topk(TOP).indices,
    }
    faiss = peer("faiss")
    if faiss and device == "cpu":
        faiss.omp_set_num_threads(torch.get_num_threads())
        index = faiss.IndexFlatIP(D_K)
        index.add(K.numpy())
        jobs["FAISS"] = lambda: torch.from_numpy(index.search(Q.numpy(), TOP)[1])
    return jobs


def mix(device: str) -> dict:
    """La mezcla de todos los valores, pesados por el parecido de su clave."""
    K, Q = _keys(device)
    store = KeyValueStore()
    store.add_many(K, K)
    return {
        "lookup": lambda: store.lookup(Q),
        "todos los pesos a la vez": lambda: _weights(Q, K) @ K,
    }


def get(device: str) -> dict:
    """El valor de una clave exacta."""
    K, _ = _keys(device)
    store = KeyValueStore()
    store.add_many(K, K)
    return {"get": lambda: torch.stack([store.get(key) for key in K[:QUERIES]])}


def same_rows(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    """Las mismas filas en el mismo orden, salvo empates de redondeo (menos de una en mil)."""
    equal = (ours.cpu() == theirs.cpu()).float().mean().item()
    assert equal > 0.999, f"solo coincide el {100 * equal:.1f} % de las filas"


def _keys(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(COUNT, D_K, device=device), torch.randn(QUERIES, D_K, device=device)


def _weights(Q: torch.Tensor, K: torch.Tensor) -> torch.Tensor:
    return torch.softmax(Q @ K.T / D_K**0.5, dim=-1)
