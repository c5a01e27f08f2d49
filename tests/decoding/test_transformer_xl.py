"""Escribir con un Transformer-XL: la memoria da lo mismo que releerlo todo en cada token."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from course_lib.decoding import beam, greedy, sample, without_cache
from course_lib.fast.frozen_memory import frozen
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig

VOCAB, END = 9, 8
LONG, SHORT = 40, 3  # memorias: una en la que cabe todo y otra en la que no

VARIANTS = {
    "artículo": {},
    "misma longitud y sesgos compartidos": {"same_length": True, "tie_biases": True},
    "distancia con tope": {"clamp_length": 4},
    "norma antes": {"placement": "pre"},
    "salida adaptativa": {"cutoffs": (4,), "div_val": 2},
}
METHODS = {
    "voraz": lambda step, state, **o: greedy(step, PROMPT, state, **o),
    "haz": lambda step, state, **o: beam(step, PROMPT, state, beam_size=3, num_best=3, **o),
    "muestreo": lambda step, state, **o: sample(
        step, PROMPT, state, generator=torch.Generator().manual_seed(0), **o
    ),
}
PROMPT = torch.tensor([[1, 2, 3], [4, 4, 4], [7, 0, 5], [2, 6, 2]])


def make(memory_length=LONG, **changes):
    torch.manual_seed(0)
    config = TransformerXLConfig(
        VOCAB, d_model=8, num_heads=2, num_layers=3, d_ff=12, memory_length=memory_length,
        dropout=0.0, inner_dropout=0.0, **changes,
    )  # fmt: skip
    model = TransformerXL(config).double().eval()
    # Pesos grandes, tablas pequeñas y salida sin sesgo: manda el contexto, no el último token.
    for name, parameter in model.named_parameters():
        if "norm" not in name:  # también u y v, que nacen en cero
            nn.init.normal_(parameter, std=0.3 if "tables" in name else 1.0)
    for bias in model.output.biases:
        nn.init.zeros_(bias)
    model.output.biases[-1].data[-1] = -1.0  # que no se acabe enseguida
    return model


def write(method, step, state, end_id=END):
    """Lo escrito, como listas, y sus log P."""
    found = METHODS[method](step, state, end_id=end_id, max_new_tokens=12)
    if method != "haz":
        return found.token_ids.tolist(), found.log_probability
    tokens = [[h.token_ids for h in row] for row in found]
    return tokens, torch.tensor([h.log_probability for row in found for h in row])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_with_enough_memory_it_writes_what_rereading_everything_would(variant, method):
    model = make(**VARIANTS[variant])
    tokens, log_p = write(method, *without_cache(lambda ids: model(ids)[0]))
    for name, reader in {"estados": model, "congelada": frozen(model)}.items():
        found, found_log_p = write(method, reader.step, None)
        assert found == tokens, f"{name}: otra continuación"
        assert_close(found_log_p, log_p.to(found_log_p), rtol=0, atol=1e-10, msg=name)


def test_rows_end_at_different_times():
    """Si ninguna fila acabara antes, las pruebas no verían salir filas del lote."""
    tokens, _ = write("muestreo", make().step, None)
    ends = {row.index(END) if END in row else None for row in tokens}
    assert len(ends) > 1, ends


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_with_a_short_memory_both_kinds_forget_the_same(variant, method):
    model, whole = make(SHORT, **VARIANTS[variant]), make(LONG, **VARIANTS[variant])
    tokens, log_p = write(method, model.step, None, end_id=None)
    found, found_log_p = write(method, frozen(model).step, None, end_id=None)
    assert found == tokens
    assert_close(found_log_p, log_p, rtol=0, atol=1e-10)
    remembering, _ = write(method, whole.step, None, end_id=None)
    assert tokens != remembering, "la memoria corta no cambia nada: la prueba no ve su límite"


@pytest.mark.parametrize("memory", ["estados", "congelada"])
def test_several_continuations_leave_from_one_state(memory):
    model = frozen(make()) if memory == "congelada" else make()
    with torch.no_grad():
        _, state = model.step(PROMPT[:, :-1])
    last, options = PROMPT[:, -1:], {"end_id": END, "max_new_tokens": 12}
    first = greedy(model.step, last, state, **options)
    beam(model.step, last, state, beam_size=3, **options)
    again = greedy(model.step, last, state, **options)
    assert torch.equal(first.token_ids, again.token_ids), "una continuación pisó el estado de otra"
    assert torch.equal(first.log_probability, again.log_probability)
    assert first.token_ids.tolist() == write("voraz", model.step, None)[0]


@pytest.mark.parametrize("pieces", [(3,), (1, 2), (1, 1, 1)])
@pytest.mark.parametrize("memory", ["estados", "congelada"])
def test_how_the_prompt_is_read_does_not_matter(memory, pieces):
    model = make(SHORT, same_length=True)
    reader, state = frozen(model) if memory == "congelada" else model, None
    with torch.no_grad():
        for piece in PROMPT.split(list(pieces), 1):
            logits, state = reader.step(piece, state)
        whole, _ = model(PROMPT)
    assert_close(logits[:, -1], whole[:, -1], rtol=0, atol=1e-10)
