"""Las primitivas de atención contra salidas de una implementación de confianza."""

import pytest
import torch
from torch.testing import assert_close

from course_lib.primitives.attention import attention, attention_scores, attention_weights

FOLDER = "09_attention_basics"
EXACT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize("beta", ["0", "0.25", "0.408248", "1", "4", "64"])
def test_weights_and_outputs_at_every_beta(golden, beta):
    inputs, expected = golden(FOLDER, "inputs"), golden(FOLDER, "out_f64")
    Q, K, V = inputs["q"], inputs["K"], inputs["V"]
    value = None if beta == "0.408248" else float(beta)  # 1/√6: la β por defecto
    assert_close(attention_scores(Q, K), expected["scores"], **EXACT)
    assert_close(attention_weights(Q, K, beta=value), expected[f"soft_w_beta{beta}"], **EXACT)
    assert_close(attention(Q, K, V, beta=value), expected[f"soft_out_beta{beta}"], **EXACT)


def test_hard_attention(golden):
    inputs, expected = golden(FOLDER, "inputs"), golden(FOLDER, "out_f64")
    Q, K, V = inputs["q"], inputs["K"], inputs["V"]
    A = attention_weights(Q, K, hard=True)
    assert torch.equal(A.argmax(-1), expected["hard_idx"])
    assert_close(attention(Q, K, V, hard=True), expected["hard_out"], **EXACT)


@pytest.mark.parametrize("beta", [1, 10, 50])
def test_store_with_orthonormal_keys(golden, beta):
    expected = golden(FOLDER, "out_f64")
    K, V = expected["store_keys_orthonormal"], expected["store_values"]
    assert_close(
        attention(K, K, V, beta=beta), expected[f"store_lookup_all_keys_beta{beta}"], **EXACT
    )


def test_the_printed_example():
    """Puntuaciones 112 y 96 con d_k = 64: 14 y 12, y pesos 0,8808 y 0,1192."""
    q = torch.zeros(1, 64, dtype=torch.float64)
    q[0, 0] = 1.0
    K = torch.zeros(2, 64, dtype=torch.float64)
    K[:, 0] = torch.tensor([112.0, 96.0])
    assert attention_scores(q, K).tolist() == [[112.0, 96.0]]
    assert [round(a, 4) for a in attention_weights(q, K)[0].tolist()] == [0.8808, 0.1192]
