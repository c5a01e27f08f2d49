"""Los diagramas de los repasos dicen lo que se cuenta o se calcula en sus páginas."""

import re
from collections import Counter, defaultdict

import torch
from torch import nn

from book._figures import probability, recurrent_networks, tensors
from tests.book.conftest import ROOT


def corpus() -> list[list[str]]:
    """Las oraciones escritas en la página."""
    page = (ROOT / "book" / "probability.md").read_text("utf-8")
    return [line.split() for line in re.search(r'text = """(.*?)"""', page, re.S)[1].splitlines()]


def test_the_next_words_are_the_counted_ones():
    after = defaultdict(Counter)
    for words in corpus():
        for first, second in zip(["inicio", *words], [*words, "fin"], strict=True):
            after[first][second] += 1
    assert after["la"] == Counter(probability.AFTER)
    svg = probability.next_word().svg()
    for word, count in after["la"].items():
        assert word in svg and f">{count / 10:.1f}<" in svg


def test_the_states_are_those_of_a_recurrent_network_without_its_tanh():
    page = (ROOT / "book" / "recurrent_networks.md").read_text("utf-8")
    written = [int(x) for x in re.search(r"entering = \[(.*?)\]", page)[1].split(",")]
    assert written == list(recurrent_networks.GENDERS)
    tiny = nn.RNN(1, 1, bias=False).double()
    with torch.no_grad():  # con entradas diminutas, tanh(x) es x
        tiny.weight_ih_l0.fill_(1.0)
        tiny.weight_hh_l0.fill_(recurrent_networks.KEPT)
        x = 1e-5 * torch.tensor(written, dtype=torch.float64)[:, None]
        states = tiny(x)[0][:, 0] * 1e5
    drawn = torch.tensor(recurrent_networks.states(), dtype=torch.float64)
    torch.testing.assert_close(states, drawn, atol=1e-6, rtol=0)


def test_the_sentence_is_the_tensor_of_the_page():
    page = (ROOT / "book" / "tensors.md").read_text("utf-8")
    rows = re.findall(r"\[(-?\d\.0), (-?\d\.0), (-?\d\.0)\].*# (\w+)", page)[:4]
    assert [word for *_, word in rows] == list(tensors.WORDS)
    assert [[float(x) for x in row] for *row, _ in rows] == tensors.SENTENCE.tolist()
