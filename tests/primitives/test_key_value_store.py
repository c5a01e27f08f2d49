import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.primitives.key_value_store import (
    KeyValueStore,
    Match,
    hard_lookup,
    soft_lookup,
    top_k,
)

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def draw(seed, *shapes):
    rng = torch.Generator().manual_seed(seed)
    return [torch.randn(s, generator=rng, dtype=torch.float64) for s in shapes]


def dense_weights(Q, K, beta=None):
    """Todos los pesos a la vez, con exp y suma: lo que `top_k` no puede permitirse."""
    scores = (1 / math.sqrt(K.shape[1]) if beta is None else beta) * Q @ K.T
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)


def dense_ranking(scores, k):
    """Ordena con Python: por puntuación y, en un empate, por el orden de llegada."""
    return [sorted(range(len(r)), key=lambda j: (-r[j], j))[:k] for r in scores.tolist()]


# ---- las funciones


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    sizes=st.tuples(*[st.integers(1, 6)] * 3),
    batch=st.sampled_from([(), (1,), (4,), (2, 3)]),
    beta=st.one_of(st.none(), st.floats(-3, 3)),
)
def test_lookups_equal_the_dense_formulas(seed, sizes, batch, beta):
    t_k, d_k, d_v = sizes
    query, K, V = draw(seed, (*batch, d_k), (t_k, d_k), (t_k, d_v))
    soft = dense_weights(query.reshape(-1, d_k), K, beta) @ V
    assert_close(soft_lookup(query, K, V, beta), soft.reshape(*batch, d_v), **EXACT)
    winner = (query.reshape(-1, d_k) @ K.T).argmax(-1)
    assert_close(hard_lookup(query, K, V), V[winner].reshape(*batch, d_v), rtol=0, atol=0)


def test_soft_tends_to_hard_as_beta_grows_and_to_the_mean_as_it_vanishes():
    query, K, V = draw(0, (5, 4), (9, 4), (9, 3))
    assert_close(soft_lookup(query, K, V, 1e4), hard_lookup(query, K, V))
    assert_close(soft_lookup(query, K, V, 0), V.mean(0).expand(5, 3))


def test_gradient_reaches_queries_keys_and_values():
    tensors = [x.requires_grad_() for x in draw(1, (2, 3), (4, 3), (4, 2))]
    assert torch.autograd.gradcheck(soft_lookup, tensors)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    t_k=st.integers(1, 700),
    k=st.integers(1, 12),
    chunk=st.sampled_from([1, 7, 64, 200, 1000]),
    beta=st.one_of(st.none(), st.floats(0, 4)),
    ties=st.booleans(),
)
def test_top_k_in_chunks_equals_sorting_everything(seed, t_k, k, chunk, beta, ties):
    Q, K = draw(seed, (3, 4), (t_k, 4))
    if ties:  # coordenadas enteras y pequeñas: muchas puntuaciones iguales, y exactas
        Q, K = Q.round(), K.round()
    weights, rows = top_k(Q, K, k, beta=beta, chunk_size=chunk)
    assert rows.tolist() == dense_ranking(Q @ K.T, k)
    assert_close(weights, dense_weights(Q, K, beta).gather(1, rows), **EXACT)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_top_k_with_wide_chunks_breaks_ties_by_order_of_arrival(k):
    # Más de 2·k·64 claves por tanda: el camino por bloques, con el empate entre bloques.
    K = torch.zeros(5000, 2, dtype=torch.float64)
    K[:, 0] = (torch.arange(5000) % 70 == 69).double()
    _, rows = top_k(torch.tensor([[1.0, 0.0]], dtype=torch.float64), K, k)
    assert rows.tolist() == dense_ranking(K[:, :1].T, k)


def test_equal_scores_above_the_last_place_keep_the_order_of_arrival():
    K = torch.zeros(5000, 1, dtype=torch.float64)
    places = [9, 700, 1300, 1301, 2500, 3000, 4000, 4500, 4900, 4999]
    K[places] = 1.0
    _, rows = top_k(torch.ones(1, 1, dtype=torch.float64), K, 10)
    assert rows.tolist() == [places]


def test_large_scores_overflow_nowhere():
    Q, K = draw(2, (2, 4), (300, 4))
    weights, rows = top_k(1e6 * Q, K, 5, chunk_size=64)
    assert_close(weights, dense_weights(1e6 * Q, K).gather(1, rows), **EXACT)


def test_top_k_never_holds_all_the_weights():
    Q, K = torch.randn(64, 8), torch.randn(50_000, 8)
    with _Largest() as largest:
        top_k(Q, K, 10)
    assert largest.numel < len(Q) * len(K) / 5


class _Largest(TorchDispatchMode):
    """Anota el tamaño del mayor tensor que produce cualquier operación."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for x in out if isinstance(out, tuple | list) else (out,):
            if isinstance(x, torch.Tensor):
                self.numel = max(self.numel, x.numel())
        return out


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: soft_lookup(r(3), r(4, 2), r(4, 1)), "mismo ancho d_k"),
        (lambda r: soft_lookup(r(2), r(4, 2), r(3, 1)), "4 claves y 3 valores"),
        (lambda r: hard_lookup(r(2), r(0, 2), r(0, 1)), "No hay claves"),
        (lambda r: hard_lookup(r(2), r(4, 2, 2), r(4, 1)), r"\[t_k, d_k\]"),
        (lambda r: top_k(r(1, 2), r(4, 2), 0), "k ≥ 1"),
        (lambda r: top_k(r(1, 2), r(4, 2), 1, beta=-1.0), "β ≥ 0"),
        (lambda r: top_k(r(1, 2), r(4, 2), 1, beta=math.inf), "finita"),
    ],
)
def test_bad_tables_are_explained(as_user, call, words):
    with pytest.raises(ValueError, match=words):
        call(torch.randn)


# ---- el almacén

DISHES = ["lasaña de verduras", "tacos al pastor", "sopa de tortilla", "ensalada rusa", "flan"]


def recipe_book():
    store = KeyValueStore()
    for title in DISHES:
        store.add(title, {"receta": title})
    return store


def test_text_keys_answer_exactly_hard_and_with_a_ranking():
    store = recipe_book()
    assert len(store) == 5
    assert "flan" in store and "pizza" not in store
    assert store.get("flan") == {"receta": "flan"}
    assert store.lookup("lasaña", hard=True) is store.get("lasaña de verduras")
    ranking = store.ranking("lasaña", k=3)
    assert ranking[0].key == "lasaña de verduras"
    assert all(isinstance(m, Match) and m.value is store.get(m.key) for m in ranking)
    weights = [m.weight for m in store.ranking("lasaña", k=99)]
    assert len(weights) == 5 and weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(1, abs=1e-6)


def test_a_missing_key_is_a_key_error_that_suggests_the_nearest():
    with pytest.raises(KeyError, match="lasaña de verduras"):
        recipe_book().get("lasaña")
    with pytest.raises(KeyError, match="vacío"):
        KeyValueStore().get("lasaña")


def test_any_python_value_comes_back_as_the_same_object():
    store, values = (
        KeyValueStore(),
        [None, object(), [1], "texto", 3, True, b"x", torch.nn.Linear(1, 1)],
    )
    for i, value in enumerate(values):
        store.add(f"clave {i}", value)
    for i, value in enumerate(values):
        assert store.get(f"clave {i}") is value


@settings(max_examples=60)
@given(
    keys=st.lists(st.sampled_from([(0.0, 1.0), (-0.0, 1.0), (1.0, 0.0), (2.0, 3.0), (-1.0, 0.5)])),
    kind=st.sampled_from(["objeto", "número", "tensor"]),
    together=st.booleans(),
)
def test_vector_keys_behave_like_a_dictionary(keys, kind, together):
    make = {
        "objeto": lambda i: f"v{i}",
        "número": float,
        "tensor": lambda i: torch.tensor([i, 1.0]),
    }
    values = [make[kind](i) for i in range(len(keys))]
    store, model = KeyValueStore(), {}
    for key, value in zip(keys, values, strict=True):
        model[key] = value  # −0.0 y 0.0 son la misma clave también en un diccionario
        if not together:
            store.add(torch.tensor(key), value)
    if together and keys:
        store.add_many(torch.tensor(keys), torch.stack(values) if kind == "tensor" else values)
    assert len(store) == len(model)
    for key, value in model.items():
        assert_close(store.get(torch.tensor(key)), value) if kind == "tensor" else None
        assert kind == "tensor" or store.get(torch.tensor(key)) == value
    assert torch.tensor([9.0, 9.0]) not in store


def test_keys_whose_hashes_collide_are_told_apart(monkeypatch):
    module = "course_lib.primitives.key_value_store._hash_rows"
    monkeypatch.setattr(module, lambda K: [7] * len(K))
    store, K = KeyValueStore(), torch.randn(6, 3)
    store.add_many(K, list("abcdef"))
    store.add(K[2], "nuevo")
    assert [store.get(k) for k in K] == ["a", "b", "nuevo", "d", "e", "f"]
    assert torch.zeros(3) not in store


@pytest.mark.parametrize("values", ["tensor", "numbers", "list of tensors"])
def test_soft_and_hard_answers_equal_the_functions(values):
    query, K, V = draw(3, (4, 3), (50, 3), (50, 2))
    V = V[:, 0] if values == "numbers" else V
    stored = {"tensor": V, "numbers": V.tolist(), "list of tensors": list(V)}[values]
    store = KeyValueStore()
    store.add_many(K[:20], stored[:20])
    for i in range(20, 50):
        store.add(K[i], stored[i])
    expected = dense_weights(query, K, 0.7) @ V
    assert_close(store.lookup(query, 0.7), expected, **EXACT)
    assert_close(store.lookup(query[0], 0.7), expected[0], **EXACT)
    winners = (query @ K.T).argmax(-1)
    for answer, row in zip(store.lookup(query, hard=True), winners.tolist(), strict=True):
        assert_close(torch.as_tensor(answer, dtype=V.dtype), V[row], **EXACT)
    for q, a in zip(query, dense_weights(query, K, 0.7), strict=True):
        matches = store.ranking(q, 4, 0.7)
        assert_close(torch.tensor([m.weight for m in matches]).double(), a.topk(4).values)
        assert_close(torch.stack([m.key for m in matches]), K[a.topk(4).indices], rtol=0, atol=0)


def test_several_texts_are_answered_in_order():
    store = recipe_book()
    queries = ["flanes", "sopa", "lasaña"]
    assert store.lookup(queries, hard=True) == [store.lookup(q, hard=True) for q in queries]
    assert [store.ranking(q, 2)[0].key for q in queries] == ["flan", DISHES[2], DISHES[0]]


def test_what_comes_out_does_not_change_the_store():
    store = KeyValueStore()
    store.add_many(torch.eye(2), torch.eye(2))
    store.get(torch.eye(2)[0]).fill_(9)
    (match,) = store.ranking(torch.eye(2)[0], 1)
    match.key.fill_(9)
    match.value.fill_(9)
    (again,) = store.ranking(torch.eye(2)[0], 1)
    assert_close(torch.stack([again.key, again.value]), torch.eye(2)[[0, 0]])


def test_changing_what_went_in_does_not_change_the_store():
    store, key, value = KeyValueStore(), torch.ones(2), torch.zeros(3)
    store.add(torch.zeros(2), "para que los valores sean una lista")
    store.add(key, value)
    key.fill_(9)
    value.fill_(9)
    assert_close(store.get(torch.ones(2)), torch.zeros(3))


def test_a_value_that_does_not_fit_in_the_tensor_keeps_the_others():
    store = KeyValueStore()
    store.add_many(torch.eye(3), torch.eye(3))
    store.add(torch.ones(3), "texto")
    store.add(torch.eye(3)[0], None)
    assert store.get(torch.ones(3)) == "texto" and store.get(torch.eye(3)[0]) is None
    assert_close(store.get(torch.eye(3)[1]), torch.eye(3)[1])


def test_growth_is_amortised():
    store, copied = KeyValueStore(), 0
    for i in range(1000):
        before = store._keys._buffer if store._keys is not None else None
        store.add(torch.tensor([float(i), 1.0]), i)
        copied += i if store._keys._buffer is not before else 0
    assert copied < 3000, "cada clave nueva copia las anteriores: el espacio no se duplica"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.add(torch.ones(3), 1), "no se mezclan"),
        (lambda s: s.get(torch.ones(3)), "no se mezclan"),
        (lambda s: s.lookup(torch.ones(3)), "no se mezclan"),
        (lambda s: s.lookup("flan"), "números o tensores"),
        (lambda s: s.ranking("flan", 0), "k ≥ 1"),
        (lambda s: s.ranking(["flan", "sopa"]), r"llegó list"),
        (lambda s: s.add_many(["a", "b"], [1]), "2 claves y 1"),
        (lambda s: s.add(torch.ones(2, 3), 1), r"\[d_k\]"),
        (lambda s: KeyValueStore().ranking("a"), "vacío"),
        (lambda s: KeyValueStore(d_k=4).add(torch.ones(3), 1), "ancho 4"),
        (lambda s: KeyValueStore().add(torch.tensor([math.nan]), 1), "finitas"),
    ],
)
def test_misuse_is_explained(as_user, call, words):
    with pytest.raises(ValueError, match=words):
        call(recipe_book())


def test_texts_are_refused_by_a_store_of_vectors():
    store = KeyValueStore()
    store.add(torch.ones(3), 1)
    for call in (lambda: store.get("a"), lambda: store.add("a", 1), lambda: store.lookup("a")):
        with pytest.raises(ValueError, match="llegaron textos"):
            call()


def test_a_refused_key_leaves_the_store_as_it_was():
    store = recipe_book()
    with pytest.raises(ValueError):
        store.add(torch.ones(3), 1)
    assert len(store) == 5 and store.get("flan")
