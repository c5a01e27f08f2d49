"""La decodificación contra la enumeración de todas las secuencias y contra versiones ingenuas.

Las referencias recalculan todo con listas de Python, sin estado, sin lote y sin parar antes.
"""

import itertools
import math
from collections import namedtuple
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch.utils.flop_counter import FlopCounterMode

from course_lib import fast
from course_lib.decoding import (
    beam,
    beam_steps,
    greedy,
    keep_top_k,
    keep_top_p,
    length_normalizer,
    sample,
    sampling_distribution,
    select,
    without_cache,
)
from course_lib.decoding.sampling import _draw
from course_lib.models.transformer import Transformer, TransformerConfig

VOCAB, END = 4, 3
ALPHAS = (0.0, 0.6, 1.0, -0.5)


# Modelos de juguete


class Trigrams:
    """El siguiente token depende de los dos últimos y de su posición: una tabla de logits.

    Sin la posición habría empates entre caminos que pasan por lo mismo en otro orden. Cuenta las
    filas y tokens que recibe en cada llamada, para saber qué se calculó.
    """

    POSITIONS = 16

    def __init__(self, seed=0, vocab=VOCAB, spread=1.5):
        generator = torch.Generator().manual_seed(seed)
        shape = (self.POSITIONS, vocab, vocab, vocab)
        self.table = spread * torch.randn(shape, generator=generator, dtype=torch.float64)
        self.vocab, self.calls = vocab, []

    def step(self, token_ids, state):
        """El estado es el último token leído y cuántos van, `[batch, 2]`."""
        self.calls.append(tuple(token_ids.shape))
        state = token_ids.new_zeros(len(token_ids), 2) if state is None else state
        before = torch.cat((state[:, :1], token_ids[:, :-1]), 1)
        place = state[:, 1:] + torch.arange(token_ids.shape[1], device=token_ids.device)
        logits = self.table.to(token_ids.device)[place % self.POSITIONS, before, token_ids]
        return logits, torch.stack((token_ids[:, -1], place[:, -1] + 1), 1)

    def next_log_p(self, tokens):
        """Log P del token que sigue a una lista, sin estado."""
        row = self.table[(len(tokens) - 1) % self.POSITIONS, ([0, *tokens])[-2], tokens[-1]]
        return (row - row.exp().sum().log()).tolist()

    def log_p(self, prompt, tokens):
        read = [*prompt]
        total = 0.0
        for token in tokens:
            total += self.next_log_p(read)[token]
            read.append(token)
        return total


@dataclass(frozen=True)
class Trace:
    """Estado que recuerda todo lo leído, para comprobar que el haz lleva cada uno a su fila."""

    read: torch.Tensor

    def select(self, rows):
        return Trace(self.read[rows])


def tracing(model):
    """El paso de `model`, que en lugar de su estado lleva todo lo leído y lo vuelve a leer."""

    def step(token_ids, state):
        read = token_ids if state is None else torch.cat((state.read, token_ids), 1)
        logits, _ = model.step(read, None)
        return logits[:, -token_ids.shape[1] :], Trace(read)

    return step


# Referencias ingenuas


def naive_greedy(model, prompt, limit, end=END):
    read, total, new = list(prompt), 0.0, []
    while len(new) < limit and end not in new:
        options = model.next_log_p(read)
        token = options.index(max(options))
        total += options[token]
        new.append(token)
        read.append(token)
    return new, total


def score(log_p, length, alpha):
    return log_p / (((5 + length) ** alpha) / (6**alpha))


def every_sequence(vocab, limit, end=END):
    """Todas las continuaciones posibles: terminadas y cortadas por el límite."""
    words = [token for token in range(vocab) if token != end]
    for length in range(1, limit + 1):
        for body in itertools.product(words, repeat=length - 1):
            yield [*body, end], True
    for body in itertools.product(words, repeat=limit):
        yield list(body), False


def exhaustive(model, prompt, limit, alpha):
    """Todas, con las terminadas delante, de mejor a peor."""
    ranked = []
    for tokens, finished in every_sequence(model.vocab, limit):
        log_p = model.log_p(prompt, tokens)
        ranked.append((not finished, -score(log_p, len(tokens), alpha), tokens, log_p))
    return [(tokens, log_p, -negative) for _, negative, tokens, log_p in sorted(ranked)]


def naive_beam(model, prompt, limit, size, alpha, end=END):
    """El haz, sin parar nunca antes del límite."""
    live, done = [([], 0.0)], []
    for _ in range(limit):
        extended = [
            ([*tokens, token], log_p + more)
            for tokens, log_p in live
            for token, more in enumerate(model.next_log_p([*prompt, *tokens]))
        ]
        best = sorted(extended, key=lambda each: -each[1])[:size]
        done += [each for each in best if each[0][-1] == end]
        live = [each for each in best if each[0][-1] != end]
    ranked = [
        sorted(group, key=lambda each: -score(each[1], len(each[0]), alpha))
        for group in (done, live)
    ]
    return [(tokens, p, score(p, len(tokens), alpha)) for group in ranked for tokens, p in group]


def assert_same_hypotheses(found, expected):
    assert [h.token_ids for h in found] == [tokens for tokens, *_ in expected]
    assert [h.log_probability for h in found] == pytest.approx([p for _, p, _ in expected])
    assert [h.score for h in found] == pytest.approx([s for *_, s in expected])


def until_end(row, end=END):
    tokens = row.tolist()
    return tokens[: tokens.index(end) + 1] if end in tokens else tokens


# Voraz


@pytest.mark.parametrize("seed", range(10))
def test_greedy_takes_the_most_probable_token_each_time(seed):
    model = Trigrams(seed)
    prompt = torch.tensor([[0], [1], [2]])
    found = greedy(model.step, prompt, end_id=END, max_new_tokens=9)
    for row in range(3):
        tokens, log_p = naive_greedy(model, prompt[row].tolist(), 9)
        assert until_end(found.token_ids[row]) == tokens
        assert found.log_probability[row].item() == pytest.approx(log_p)


def test_greedy_fills_with_the_end_and_stops_with_the_last_row():
    model = Trigrams(50)
    found = greedy(model.step, torch.tensor([[0], [1], [2]]), end_id=END, max_new_tokens=50)
    lengths = [len(until_end(row)) for row in found.token_ids]
    assert len(set(lengths)) > 1, "el ejemplo debe tener filas que terminan en momentos distintos"
    assert found.token_ids.shape[1] == max(lengths)
    for row, length in zip(found.token_ids, lengths, strict=True):
        assert (row[length - 1 :] == END).all()


def test_a_row_that_ended_is_not_computed_again():
    model = Trigrams(50)
    found = greedy(model.step, torch.tensor([[0], [1], [2]]), end_id=END, max_new_tokens=50)
    lengths = torch.tensor([len(until_end(row)) for row in found.token_ids])
    rows = [shape[0] for shape in model.calls]
    assert rows == [int((lengths > i).sum()) for i in range(len(rows))]
    assert all(shape[1] == 1 for shape in model.calls)


def test_without_an_end_it_writes_up_to_the_limit():
    model = Trigrams(3)
    found = greedy(model.step, torch.tensor([[0, 1]]), end_id=None, max_new_tokens=12)
    assert found.token_ids[0].tolist() == naive_greedy(model, [0, 1], 12, end=None)[0]


def test_the_prompt_is_read_once_and_then_one_token_at_a_time():
    model = Trigrams(1)
    greedy(model.step, torch.tensor([[0, 1, 2, 1]]), end_id=None, max_new_tokens=3)
    assert model.calls == [(1, 4), (1, 1), (1, 1)]
    model.calls.clear()
    beam(model.step, torch.tensor([[0, 1, 2, 1]]), end_id=None, beam_size=3, max_new_tokens=3)
    assert model.calls == [(1, 4), (3, 1), (3, 1)]


# Haz


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(6))
def test_a_beam_that_keeps_everything_finds_the_best_of_all_sequences(seed, alpha):
    model, limit = Trigrams(seed), 4
    size = VOCAB**limit
    found = beam(
        model.step,
        torch.tensor([[0], [2]]),
        end_id=END,
        max_new_tokens=limit,
        beam_size=size,
        length_penalty=alpha,
    )
    for prompt, hypotheses in zip(([0], [2]), found, strict=True):
        best = exhaustive(model, prompt, limit, alpha)[0]
        assert_same_hypotheses(hypotheses[:1], [best])


def test_a_beam_that_keeps_everything_ranks_every_sequence():
    model, limit = Trigrams(5), 3
    expected = exhaustive(model, [1], limit, 0.6)
    size = VOCAB**limit
    found = beam(
        model.step,
        torch.tensor([[1]]),
        end_id=END,
        max_new_tokens=limit,
        beam_size=size,
        num_best=size,
    )[0]
    assert len(found) == len(expected) == 1 + 3 + 9 + 27
    assert_same_hypotheses(found, expected)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("seed", range(10))
def test_a_beam_of_one_is_greedy(seed, alpha):
    model, prompt = Trigrams(seed), torch.tensor([[0], [1], [2]])
    chosen = greedy(model.step, prompt, end_id=END, max_new_tokens=8)
    found = beam(
        model.step, prompt, end_id=END, max_new_tokens=8, beam_size=1, length_penalty=alpha
    )
    for row, (only,) in enumerate(found):
        assert only.token_ids == until_end(chosen.token_ids[row])
        assert only.log_probability == pytest.approx(chosen.log_probability[row].item())


@settings(max_examples=150)
@given(
    seed=st.integers(0, 10_000),
    size=st.integers(1, 7),
    limit=st.integers(1, 9),
    alpha=st.sampled_from([*ALPHAS, 2.0]),
    spread=st.sampled_from([0.3, 1.5, 4.0]),
    longer=st.sampled_from([0.0, 2.0]),
    data=st.data(),
)
def test_stopping_early_never_changes_the_best(seed, size, limit, alpha, spread, longer, data):
    """Contra el haz ingenuo, que no para hasta el límite."""
    num_best = data.draw(st.integers(1, size))
    model = Trigrams(seed, spread=spread)
    model.table[..., END] -= longer
    found = beam(
        model.step,
        torch.tensor([[0], [1]]),
        end_id=END,
        max_new_tokens=limit,
        beam_size=size,
        length_penalty=alpha,
        num_best=num_best,
    )
    for prompt, hypotheses in zip(([0], [1]), found, strict=True):
        expected = naive_beam(model, prompt, limit, size, alpha)[:num_best]
        assert_same_hypotheses(hypotheses[:num_best], expected)


def test_it_does_stop_early():
    model = Trigrams(3, spread=4.0)
    steps = list(
        beam_steps(model.step, torch.tensor([[0]]), end_id=END, beam_size=3, max_new_tokens=200)
    )
    assert len(steps) < 30
    every = list(
        beam_steps(
            model.step, torch.tensor([[0]]), end_id=END, beam_size=3, max_new_tokens=200, num_best=3
        )
    )
    assert len(every) >= len(steps)


def test_a_longer_answer_still_to_come_can_win():
    """Terminar ya es más probable; con α = 1, la respuesta de nueve tokens puntúa mejor.

    Cuando termina la corta, la otra va por detrás también con el divisor de ese paso y el del
    siguiente: solo el del límite dice que aún puede ganar.
    """
    end = 9
    p = torch.full((10, 10), 1e-9, dtype=torch.float64)
    p[0, end], p[0, 1] = 0.55, 0.45
    p[range(1, 9), range(2, 10)] = 0.99
    model = lambda ids, state: (p.log()[ids], None)  # noqa: E731
    request = {"end_id": end, "beam_size": 2, "max_new_tokens": 12}
    short = beam(model, torch.tensor([[0]]), **request, length_penalty=0.0)[0][0]
    long = beam(model, torch.tensor([[0]]), **request, length_penalty=1.0)[0][0]
    assert short.token_ids == [end]
    assert long.token_ids == list(range(1, 10))
    assert long.log_probability < short.log_probability
    assert math.log(0.45) / length_normalizer(2, 1.0) < math.log(0.55) < long.score


def test_a_cut_hypothesis_never_goes_before_a_finished_one():
    log_p = torch.tensor([0.9, 0.1], dtype=torch.float64).log()  # seguir, o terminar
    (found,) = beam(
        lambda ids, state: (log_p.expand(*ids.shape, 2), None),
        torch.tensor([[0]]),
        end_id=1,
        beam_size=3,
        max_new_tokens=2,
        num_best=3,
        length_penalty=0.0,
    )
    assert [h.token_ids for h in found] == [[1], [0, 1], [0, 0]]
    assert found[-1].score > found[0].score


def test_impossible_tokens_are_never_written():
    """Un −∞ en los logits prohíbe un token: ni el haz más ancho lo usa."""
    model = Trigrams(2)
    model.table[..., 1] = -math.inf
    (found,) = beam(
        model.step, torch.tensor([[0]]), end_id=END, beam_size=64, max_new_tokens=3, num_best=64
    )
    assert len(found) == 1 + 2 + 4 + 8
    assert not any(1 in h.token_ids for h in found)


def test_each_step_shows_what_was_kept():
    model, size = Trigrams(11), 3
    steps = list(
        beam_steps(
            model.step,
            torch.tensor([[0]]),
            end_id=END,
            beam_size=size,
            max_new_tokens=5,
            num_best=size,
        )
    )
    for length, step in enumerate(steps, 1):
        assert step.token_ids.shape == (1, min(size, VOCAB), length)
        assert step.log_probability[0].tolist() == sorted(
            step.log_probability[0].tolist(), reverse=True
        )
        for tokens, log_p, ended in zip(
            step.token_ids[0].tolist(),
            step.log_probability[0].tolist(),
            step.ended[0],
            strict=True,
        ):
            if log_p > -math.inf:
                assert log_p == pytest.approx(model.log_p([0], tokens))
                assert ended == (tokens[-1] == END)
    for before, after in itertools.pairwise(steps):
        parents = before.token_ids[0, after.parents[0]]
        alive = after.log_probability[0] > -math.inf
        assert torch.equal(parents[alive], after.token_ids[0, alive, :-1])
        assert not before.ended[0, after.parents[0][alive]].any()


def test_the_model_never_reads_past_the_end():
    model = Trigrams(11)
    model.table[:, :, END] = math.nan
    found = beam(
        model.step, torch.tensor([[0], [1]]), end_id=END, beam_size=4, max_new_tokens=6, num_best=4
    )
    assert [len(row) for row in found] == [4, 4]
    greedy(model.step, torch.tensor([[0], [1], [2]]), end_id=END, max_new_tokens=6)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_the_state_follows_its_hypothesis(size):
    """Un estado que recuerda lo leído da lo mismo que ninguno: cada uno fue a su fila."""
    model, prompt = Trigrams(4), torch.tensor([[0, 1], [2, 2], [1, 0]])
    request = {"end_id": END, "beam_size": size, "max_new_tokens": 7}
    step, state = without_cache(lambda ids: model.step(ids, None)[0])
    assert beam(tracing(model), prompt, **request) == beam(step, prompt, state, **request)
    assert beam(tracing(model), prompt, **request) == beam(model.step, prompt, **request)


def test_a_state_that_stays_in_its_place_is_not_copied():
    """Con una hipótesis no hay nada que reordenar; con tres, sí."""
    model, copies = Trigrams(4), []

    class Counted(Trace):
        def select(self, rows):
            copies.append(len(rows))
            return Counted(self.read[rows])

    def step(token_ids, state):
        logits, after = tracing(model)(token_ids, state)
        return logits, Counted(after.read)

    request = {"end_id": None, "max_new_tokens": 6}
    beam(step, torch.tensor([[0], [1]]), beam_size=1, **request)
    assert copies == []
    beam(step, torch.tensor([[0], [1]]), beam_size=3, **request)
    assert set(copies) == {6}


def test_the_normalizer_is_that_of_the_paper():
    assert length_normalizer(1, 0.6) == 1
    assert length_normalizer(10, 0.0) == 1
    assert length_normalizer(7, 1.0) == 2
    assert length_normalizer(19, 0.5) == 2


# Las filas no se mezclan


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    rows=st.lists(
        st.lists(st.integers(0, VOCAB - 1), min_size=2, max_size=2), min_size=1, max_size=5
    ),
    size=st.integers(1, 4),
)
def test_a_row_does_not_depend_on_the_others(seed, rows, size):
    model, request = Trigrams(seed), {"end_id": END, "max_new_tokens": 8}
    together = greedy(model.step, torch.tensor(rows), **request)
    beams = beam(model.step, torch.tensor(rows), beam_size=size, **request)
    for i, row in enumerate(rows):
        alone = greedy(model.step, torch.tensor([row]), **request)
        assert until_end(together.token_ids[i]) == until_end(alone.token_ids[0])
        assert together.log_probability[i] == pytest.approx(alone.log_probability[0])
        (only,) = beam(model.step, torch.tensor([row]), beam_size=size, **request)
        assert_same_hypotheses(beams[i], [(h.token_ids, h.log_probability, h.score) for h in only])


@settings(max_examples=100)
@given(
    seed=st.integers(0, 10_000),
    row=st.integers(0, VOCAB - 1),
    before=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=4),
    after=st.lists(st.integers(0, VOCAB - 1), max_size=4),
    limit=st.integers(8, 12),
)
def test_what_is_drawn_for_a_row_does_not_depend_on_the_others(seed, row, before, after, limit):
    """Ni de lo que escriben o cuándo acaban, ni de cuántas hay detrás, ni del límite."""
    model, place = Trigrams(seed), len(before)

    def draw(prompts, limit):
        generator = torch.Generator().manual_seed(seed)
        prompt = torch.tensor(prompts)[:, None]
        found = sample(model.step, prompt, end_id=END, max_new_tokens=limit, generator=generator)
        return until_end(found.token_ids[place])[:8]

    first, second = zip(*before, strict=True) if before else ((), ())
    assert draw([*first, row], 8) == draw([*second, row, *after], limit)


# Muestreo


def naive_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    """Con listas: temperatura, los k mayores, y de mayor a menor hasta reunir p."""
    weights = [math.exp(z / temperature) for z in logits]
    order = sorted(range(len(weights)), key=lambda i: -weights[i])
    kept = order[:top_k]
    if top_p is not None:
        total, gathered, crossed = sum(weights[i] for i in kept), 0.0, []
        for i in kept:
            crossed.append(i)
            gathered += weights[i] / total
            if gathered >= top_p:
                break
        kept = crossed
    total = sum(weights[i] for i in kept)
    return [weights[i] / total if i in kept else 0.0 for i in range(len(weights))]


FILTERS = [
    {},
    {"temperature": 0.5},
    {"temperature": 3.0},
    {"top_k": 1},
    {"top_k": 3},
    {"top_p": 0.35},
    {"top_p": 0.8},
    {"top_k": 5, "top_p": 0.8, "temperature": 1.7},
]


def name_of(options):
    return "-".join(f"{name}{value}" for name, value in options.items()) or "todo"


@pytest.mark.parametrize("options", FILTERS, ids=name_of)
def test_the_distribution_is_the_one_written_with_lists(options):
    logits = 2 * torch.randn(20, 7, dtype=torch.float64)
    found = sampling_distribution(logits, **options)
    for row, probabilities in zip(logits.tolist(), found.tolist(), strict=True):
        assert probabilities == pytest.approx(naive_distribution(row, **options))


@pytest.mark.parametrize("options", FILTERS, ids=name_of)
def test_the_frequencies_are_those_of_the_distribution(options):
    """χ² de 20 000 oraciones de dos tokens contra su distribución exacta, con semilla fija."""
    model, draws = Trigrams(21, vocab=6), 20_000
    found = sample(
        model.step,
        torch.zeros(draws, 1, dtype=torch.long),
        **options,
        end_id=None,
        max_new_tokens=2,
        generator=torch.Generator().manual_seed(7),
    )
    counts = torch.bincount(found.token_ids @ torch.tensor([6, 1]), minlength=36).tolist()
    first = naive_distribution(model.table[0, 0, 0].tolist(), **options)
    second = [naive_distribution(model.table[1, 0, i].tolist(), **options) for i in range(6)]
    expected = [first[i] * second[i][j] for i in range(6) for j in range(6)]
    assert all(n == 0 for n, p in zip(counts, expected, strict=True) if p == 0)
    # Las celdas con menos de cinco esperadas se suman en una.
    common = [i for i, p in enumerate(expected) if draws * p >= 5]
    observed = [counts[i] for i in common] + [draws - sum(counts[i] for i in common)]
    ideal = [draws * expected[i] for i in common]
    ideal.append(draws - sum(ideal))
    if ideal[-1] < 5:
        observed, ideal = observed[:-1], ideal[:-1]
        ideal = [each * sum(observed) / sum(ideal) for each in ideal]
    if len(ideal) > 1:
        assert chisquare(observed, ideal).pvalue > 1e-3


@settings(max_examples=200)
@given(
    logits=st.lists(st.floats(-8, 8), min_size=1, max_size=9),
    p=st.floats(0.01, 0.999),
)
def test_top_p_keeps_the_smallest_set_that_reaches_p(logits, p):
    """Sin su token menos probable ya no reúne p; con todos, sí."""
    z = torch.tensor([logits], dtype=torch.float64)
    kept = keep_top_p(z, p).isfinite()[0]
    probabilities = torch.softmax(z, -1)[0]
    mass = probabilities[kept].sum().item()
    assert kept.any()
    assert mass >= p - 1e-9
    assert mass - probabilities[kept].min().item() < p + 1e-9
    if not kept.all():
        assert probabilities[kept].min() >= probabilities[~kept].max()


def test_top_p_keeps_the_token_that_crosses():
    z = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64).log()
    assert keep_top_p(z, 0.5000001).isfinite().tolist() == [True, True, False, False]
    assert keep_top_p(z, 0.49).isfinite().tolist() == [True, False, False, False]
    assert keep_top_p(z, 1e-9).isfinite().tolist() == [True, False, False, False]
    assert keep_top_p(z, 1.0).isfinite().all()
    # Dos mitades exactas: la primera ya reúne p.
    assert keep_top_p(torch.zeros(2), 0.5).isfinite().tolist() == [True, False]


def test_top_k_keeps_exactly_k_even_with_ties():
    assert keep_top_k(torch.zeros(3, 6), 2).isfinite().sum(-1).tolist() == [2, 2, 2]
    assert keep_top_k(torch.randn(6), 99).isfinite().all()


@pytest.mark.parametrize(
    ("uniform", "chosen"), [(0.0, 1), (0.2499, 1), (0.25, 3), (0.99, 3), (1 - 2**-53, 3)]
)
def test_the_edges_of_the_draw_never_give_an_impossible_token(uniform, chosen):
    probabilities = torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]])
    uniform = torch.tensor([uniform], dtype=torch.float64)
    assert _draw(probabilities, uniform).item() == chosen
    assert _draw(3 * probabilities, uniform).item() == chosen


def test_the_log_probability_of_a_sample_is_that_of_the_model():
    model = Trigrams(8)
    found = sample(
        model.step, torch.tensor([[1], [2]]), temperature=2.0, top_k=3, end_id=END, max_new_tokens=6
    )
    for row, prompt in enumerate(([1], [2])):
        expected = model.log_p(prompt, until_end(found.token_ids[row]))
        assert found.log_probability[row].item() == pytest.approx(expected)


def test_one_token_or_almost_no_temperature_is_greedy():
    model, prompt = Trigrams(9), torch.tensor([[0], [1], [2]])
    request = {"end_id": END, "max_new_tokens": 8}
    expected = greedy(model.step, prompt, **request).token_ids
    for options in ({"top_k": 1}, {"top_p": 1e-9}, {"temperature": 1e-4}):
        assert torch.equal(sample(model.step, prompt, **options, **request).token_ids, expected)


def test_the_same_generator_draws_the_same_and_leaves_the_global_one_alone():
    model, prompt = Trigrams(9, vocab=50), torch.zeros(4, 1, dtype=torch.long)

    def draw(seed):
        generator = torch.Generator().manual_seed(seed)
        return sample(model.step, prompt, end_id=None, max_new_tokens=10, generator=generator)

    before = torch.get_rng_state()
    assert torch.equal(draw(1).token_ids, draw(1).token_ids)
    assert not torch.equal(draw(1).token_ids, draw(2).token_ids)
    assert torch.equal(torch.get_rng_state(), before)
    rows = {tuple(row) for row in draw(1).token_ids.tolist()}
    assert len(rows) == 4, "cada fila tiene su propio azar"


def test_without_a_generator_the_seed_of_torch_decides():
    model, prompt = Trigrams(9, vocab=50), torch.zeros(2, 1, dtype=torch.long)
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(sample(model.step, prompt, end_id=None, max_new_tokens=10).token_ids)
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


# Con el Transformer del curso: con caché y sin ella


def translator(device="cpu", **changes):
    """Un Transformer al azar y cuatro oraciones de origen, una con relleno."""
    torch.manual_seed(0)
    sizes = {"d_model": 32, "num_heads": 4, "num_layers": 2, "d_ff": 64, "max_length": 64}
    model = Transformer(TransformerConfig(12, **{**sizes, **changes})).double().eval()
    with torch.no_grad():
        model.target_embedding.table.weight.mul_(4)  # que haya tokens claros y dudosos
    source = torch.randint(3, 12, (4, 7))
    source[1, 4:] = 0
    start = torch.ones(4, 1, dtype=torch.long)
    return model.to(device), source.to(device), start.to(device)


DECODERS = {
    "voraz": greedy,
    "haz": lambda *args, **kw: beam(*args, beam_size=4, num_best=4, **kw),
    "muestreo": lambda *args, **kw: sample(
        *args, top_p=0.9, generator=torch.Generator().manual_seed(3), **kw
    ),
}
every_decoder = pytest.mark.parametrize("decode", DECODERS.values(), ids=DECODERS.keys())


def assert_same_writing(found, expected):
    if isinstance(found, list):
        for row, other in zip(found, expected, strict=True):
            assert_same_hypotheses(row, [(h.token_ids, h.log_probability, h.score) for h in other])
    else:
        assert torch.equal(found.token_ids.cpu(), expected.token_ids.cpu())
        torch.testing.assert_close(found.log_probability.cpu(), expected.log_probability.cpu())


@every_decoder
@pytest.mark.parametrize("placement", ["post", "pre"])
def test_the_cache_changes_nothing(decode, placement):
    model, source, start = translator(placement=placement)
    with torch.no_grad():
        state = model.start(source)
    found = decode(model.step, start, state, end_id=2, max_new_tokens=15)
    expected = decode(*without(model, source, start), end_id=2, max_new_tokens=15)
    assert_same_writing(found, expected)
    again = decode(model.step, start, state, end_id=2, max_new_tokens=15)
    assert_same_writing(again, found)  # el estado de partida sigue valiendo


def without(model, source, start):
    step, state = without_cache(model, source)
    return step, start, state


def test_the_writing_has_the_probability_the_model_gives_it():
    """Una sola pasada con la respuesta entera, como al entrenar, da el mismo log P."""
    model, source, start = translator()
    with torch.no_grad():
        hypotheses = beam(
            model.step, start, model.start(source), end_id=2, beam_size=3, max_new_tokens=12
        )
        for row, found in enumerate(hypotheses):
            for h in found:
                target = torch.tensor([[1, *h.token_ids]])
                log_p = model(source[row : row + 1], target[:, :-1]).log_softmax(-1)
                total = log_p.gather(-1, target[:, 1:, None]).sum().item()
                assert h.log_probability == pytest.approx(total)


def test_with_a_cache_only_attention_grows():
    """El contador de PyTorch no ve la atención fusionada de la CPU: cuenta todo lo demás."""
    model, source, start = translator()
    writer, cached, plain = fast.writer(model), [], []
    with torch.no_grad():
        state = writer.start(source)
    greedy(counting(writer.step, cached), start, state, end_id=None, max_new_tokens=10)
    step, prompt, state = without(model, source, start)
    greedy(counting(step, plain), prompt, state, end_id=None, max_new_tokens=10)
    assert len(set(cached)) == 1
    growth = {after - before for before, after in itertools.pairwise(plain)}
    assert len(growth) == 1
    assert growth.pop() >= cached[0] > 0


def counting(step, counts):
    """El mismo paso, que anota cuántas operaciones hizo."""

    def counted(token_ids, state):
        with FlopCounterMode(display=False) as counter:
            answer = step(token_ids, state)
        counts.append(counter.get_total_flops())
        return answer

    return counted


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="necesita una GPU")
@every_decoder
def test_a_gpu_writes_the_same(decode):
    answers = []
    for device in ("cpu", "cuda"):
        model, source, start = translator(device)
        with torch.no_grad():
            state = model.start(source)
        answers.append(decode(model.step, start, state, end_id=2, max_new_tokens=15))
    assert_same_writing(*answers)


# Estados


def test_select_goes_into_whatever_holds_tensors():
    Pair = namedtuple("Pair", "K V")
    rows = torch.tensor([2, 0, 0])
    x = torch.arange(6).view(3, 2)
    state = {"a": (x, None), "b": [Trace(x)], "c": Pair(x, 7), "n": torch.tensor(5)}
    found = select(state, rows)
    assert torch.equal(found["a"][0], x[rows])
    assert found["a"][1] is None
    assert torch.equal(found["b"][0].read, x[rows])
    assert isinstance(found["c"], Pair)
    assert torch.equal(found["c"].K, x[rows])
    assert found["c"].V == 7
    assert found["n"] == 5
    assert torch.equal(x, torch.arange(6).view(3, 2))


def test_without_cache_carries_the_context_of_each_row():
    """El contexto (la oración de origen) también va con su fila."""
    table = torch.randn(3, 5, 5, dtype=torch.float64)
    context, prompt = torch.tensor([[0], [1], [2]]), torch.ones(3, 1, dtype=torch.long)
    step, state = without_cache(lambda source, ids: table[source, ids], context)
    found = beam(step, prompt, state, end_id=4, beam_size=3, max_new_tokens=5)
    for row in range(3):
        step, state = without_cache(lambda source, ids: table[source, ids], context[row : row + 1])
        (alone,) = beam(step, prompt[:1], state, end_id=4, beam_size=3, max_new_tokens=5)
        assert found[row] == alone


def test_no_gradient_is_kept():
    weight = torch.randn(5, 5, requires_grad=True)
    step = lambda ids, state: (weight[ids], None)  # noqa: E731
    prompt = torch.tensor([[0]])
    assert not greedy(step, prompt, end_id=4, max_new_tokens=3).log_probability.requires_grad
    (last,) = list(beam_steps(step, prompt, end_id=None, beam_size=2, max_new_tokens=1))
    assert not last.log_probability.requires_grad
    assert torch.is_grad_enabled()


# Errores


REQUEST = {"end_id": END, "max_new_tokens": 5}
PROMPT = torch.tensor([[0]])
METHODS = {
    "greedy": greedy,
    "sample": sample,
    "beam": lambda *args, **kw: beam(*args, beam_size=2, **kw),
    "beam_steps": lambda *args, **kw: list(beam_steps(*args, beam_size=2, **kw)),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


@pytest.mark.usefixtures("as_user")
@every_method
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": torch.tensor([0])}, r"prompt: se esperaban identificadores enteros.*\(1,\)"),
        ({"prompt": torch.zeros(1, 0, dtype=torch.long)}, r"prompt: .*start_id"),
        ({"prompt": torch.zeros(0, 1, dtype=torch.long)}, r"prompt: .*al menos una fila"),
        ({"prompt": torch.zeros(1, 1)}, r"prompt: .*float32"),
        ({"max_new_tokens": 0}, "max_new_tokens: se esperaba al menos 1 y llegó 0"),
        ({"end_id": -1}, "end_id: se esperaba un identificador o None y llegó -1"),
        ({"end_id": VOCAB}, "end_id = 4 no cabe en el vocabulario del modelo, de 4 tokens"),
    ],
)
def test_a_request_without_sense_is_refused(method, change, message):
    request = {**REQUEST, **change}
    prompt = request.pop("prompt", PROMPT)
    with pytest.raises(ValueError, match=message):
        method(Trigrams().step, prompt, **request)


@pytest.mark.usefixtures("as_user")
@every_method
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_model_that_gives_nan_is_caught(method, bad):
    """Con un solo NaN, arg max daría un token cualquiera sin quejarse."""
    model = Trigrams()
    model.table[0, 0, 0, 1:] = bad
    model.table[0, 0, 0, 0] = bad if bad == -math.inf else 0.0
    with pytest.raises(ValueError, match="logits con NaN, con \\+∞ o con todos los tokens en −∞"):
        method(model.step, PROMPT, **REQUEST)


@pytest.mark.usefixtures("as_user")
@every_method
@pytest.mark.parametrize(
    "logits", [torch.zeros(1, 4), torch.zeros(2, 1, 4), torch.zeros(1, 1, 4, dtype=torch.long)]
)
def test_logits_of_another_shape_are_refused(method, logits):
    with pytest.raises(ValueError, match=r"logits de forma \[1, t, vocab\]"):
        method(lambda ids, state: (logits, None), PROMPT, **REQUEST)


@pytest.mark.parametrize(("keep", "value"), [(keep_top_k, 0), (keep_top_p, 0.0)])
def test_something_must_be_kept(keep, value):
    with pytest.raises(ValueError, match=r"top_[kp]: se esperaba"):
        keep(torch.zeros(4), value)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (sample, {"temperature": 0.0}, "Con temperatura 0 no hay sorteo: usa `greedy`"),
        (sample, {"temperature": math.nan}, "temperature: se esperaba un número positivo"),
        (sample, {"top_k": 0}, "top_k: se esperaba al menos 1"),
        (sample, {"top_p": 0.0}, "top_p: se esperaba una probabilidad"),
        (sample, {"top_p": 1.5}, "top_p: se esperaba una probabilidad"),
        (beam, {"beam_size": 0}, "beam_size: se esperaba al menos 1 y llegó 0"),
        (beam, {"beam_size": 2, "length_penalty": math.inf}, "length_penalty: se esperaba"),
        (beam, {"beam_size": 2, "num_best": 3}, "num_best: se esperaba entre 1 y beam_size = 2"),
    ],
)
def test_options_without_sense_are_refused(function, options, message):
    with pytest.raises(ValueError, match=message):
        function(Trigrams().step, PROMPT, **REQUEST, **options)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_summed_in_single_precision(dtype):
    table = torch.randn(5, 5).to(dtype)
    found = greedy(lambda ids, state: (table[ids], None), PROMPT, end_id=None, max_new_tokens=4)
    assert found.log_probability.dtype == torch.float32
