"""Almacén clave-valor: un millón de claves

10⁶ claves de 64 números (244 MiB) y un lote de 256 consultas. El almacén recorre las claves por
tandas; la manera directa forma de una vez los 256 × 10⁶ pesos (977 MiB por matriz). La memoria es
la que se añade a las claves, los valores y las consultas. Cada fila sale de un proceso nuevo.
"""

import torch

from benchmarks._measure import in_fresh_process, measure
from course_lib.primitives.key_value_store import KeyValueStore

COUNT, D_K, QUERIES, TOP = 1_000_000, 64, 256, 10


def run(device: str) -> list[dict]:
    return [
        {"trabajo": text, **in_fresh_process(one_job, name, device)} for name, text in JOBS.items()
    ]


JOBS = {
    "fill": "guardar 10⁶ pares",
    "get": "256 búsquedas exactas",
    "hard": "256 consultas duras",
    "ranking": "256 consultas, los 10 primeros con su peso",
    "dense": "lo mismo, con todos los pesos a la vez",
    "soft": "256 mezclas suaves de 10⁶ valores de ancho 64",
}


def one_job(name: str, device: str) -> dict:
    """Prepara el almacén y mide un trabajo, después de otro pequeño que carga las bibliotecas."""
    torch.manual_seed(0)
    _jobs(_store(torch.randn(1000, D_K, device=device)), torch.randn(4, D_K, device=device))
    K, Q = torch.randn(COUNT, D_K, device=device), torch.randn(QUERIES, D_K, device=device)
    if name == "fill":
        return measure(lambda: _store(K), device)
    store = _store(K)
    return measure(_jobs(store, Q, name), device)


def _store(K: torch.Tensor) -> KeyValueStore:
    store = KeyValueStore()
    store.add_many(K, K)
    return store


def _jobs(store: KeyValueStore, Q: torch.Tensor, name: str | None = None):
    K = store.keys()
    jobs = {
        "get": lambda: [store.get(key) for key in K[: len(Q)]],
        "hard": lambda: store.lookup(Q, hard=True),
        "ranking": lambda: store.ranking(Q, TOP),
        "dense": lambda: torch.softmax(Q @ K.T / D_K**0.5, dim=-1).topk(TOP),
        "soft": lambda: store.lookup(Q),
    }
    return jobs[name] if name else [job() for job in jobs.values()]
