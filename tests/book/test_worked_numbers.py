"""Los números resueltos de las fuentes, a cuatro decimales y sin leer ninguna página del libro.

Se calculan con las funciones de la biblioteca; los valores esperados son los impresos.
"""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from course_lib.primitives.attention import (
    attention,
    attention_scores,
    attention_weights,
    soft_argmax,
)

X = torch.tensor(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
FOUR_DECIMALS = {"atol": 5.1e-5, "rtol": 0.0}


@pytest.fixture
def uniform_weights() -> list[torch.Tensor]:
    """W_q, W_k, W_v como los inicia torch.rand con la semilla 123."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(123)
        return [torch.rand(3, 2) for _ in range(3)]


@pytest.fixture
def linear_layers() -> list[nn.Linear]:
    """W_q, W_k, W_v como los inicia nn.Linear con la semilla 789."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(789)
        return [nn.Linear(3, 2, bias=False) for _ in range(3)]


def test_one_query_step_by_step(uniform_weights: list[torch.Tensor]) -> None:
    W_q, W_k, W_v = uniform_weights
    q_2, K, V = X[1:2] @ W_q, X @ W_k, X @ W_v
    assert_close(q_2, torch.tensor([[0.4306, 1.4551]]), **FOUR_DECIMALS)
    assert K.shape == V.shape == (6, 2)
    omega_2 = attention_scores(q_2, K)
    assert_close(omega_2[0, 1], torch.tensor(1.8524), **FOUR_DECIMALS)
    expected = torch.tensor([[1.2705, 1.8524, 1.8111, 1.0795, 0.5577, 1.5440]])
    assert_close(omega_2, expected, **FOUR_DECIMALS)
    alpha_2 = attention_weights(q_2, K)
    expected = torch.tensor([[0.1500, 0.2264, 0.2199, 0.1311, 0.0906, 0.1820]])
    assert_close(alpha_2, expected, **FOUR_DECIMALS)
    assert_close(alpha_2, soft_argmax(omega_2, beta=2**-0.5))
    assert_close(attention(q_2, K, V), torch.tensor([[0.3061, 0.8210]]), **FOUR_DECIMALS)


def test_all_contexts_with_uniform_weights(uniform_weights: list[torch.Tensor]) -> None:
    Q, K, V = (X @ W for W in uniform_weights)
    expected = torch.tensor(
        [
            [0.2996, 0.8053],
            [0.3061, 0.8210],
            [0.3058, 0.8203],
            [0.2948, 0.7939],
            [0.2927, 0.7891],
            [0.2990, 0.8040],
        ]
    )
    assert_close(attention(Q, K, V), expected, **FOUR_DECIMALS)
    assert_close(attention_weights(Q, K) @ V, expected, **FOUR_DECIMALS)


def test_all_contexts_with_linear_layers(linear_layers: list[nn.Linear]) -> None:
    Q, K, V = (layer(X) for layer in linear_layers)
    expected = torch.tensor(
        [
            [-0.0739, 0.0713],
            [-0.0748, 0.0703],
            [-0.0749, 0.0702],
            [-0.0760, 0.0685],
            [-0.0763, 0.0679],
            [-0.0754, 0.0693],
        ]
    )
    assert_close(attention(Q, K, V), expected, **FOUR_DECIMALS)


def test_transposed_weights_make_both_versions_equal(linear_layers: list[nn.Linear]) -> None:
    """nn.Linear guarda [d_out, d_in]: hay que copiar la transpuesta, no la matriz."""
    from_layers = attention(*(layer(X) for layer in linear_layers))
    copied = [layer.weight.detach().T for layer in linear_layers]
    assert_close(attention(*(X @ W for W in copied)), from_layers)


def test_scores_112_and_96() -> None:
    scores = torch.tensor([112.0, 96.0])
    assert_close(scores / 64**0.5, torch.tensor([14.0, 12.0]))
    A = soft_argmax(scores, beta=1 / 64**0.5)
    assert_close(A, torch.tensor([0.8808, 0.1192]), **FOUR_DECIMALS)
    assert [round(weight, 2) for weight in A.tolist()] == [0.88, 0.12]
