"""Las referencias de los ejercicios del traductor son lo que hace la biblioteca.

`checks` no importa `training` ni `decoding`; aquí se ve que dicen lo mismo.
"""

import pytest
import torch

from course_lib.checks import translator
from course_lib.decoding import beam, length_normalizer, sampling_distribution
from course_lib.training.losses import cross_entropy
from course_lib.training.schedules import inverse_sqrt


def cases_of(exercise):
    return exercise.cases(torch.Generator().manual_seed(5))


def test_label_smoothing_is_the_loss_of_the_library():
    for logits, targets, epsilon, pad_id in cases_of(translator.LABEL_SMOOTHING):
        expected = cross_entropy(logits, targets, label_smoothing=epsilon, ignore_id=pad_id)
        found = translator.LABEL_SMOOTHING.reference(logits, targets, epsilon, pad_id)
        torch.testing.assert_close(found, expected)


def test_warmup_is_the_schedule_of_the_library():
    for step, d_model, warmup in cases_of(translator.WARMUP):
        expected = inverse_sqrt(d_model, warmup)(step)
        assert translator.WARMUP.reference(step, d_model, warmup) == pytest.approx(expected)


def test_scores_use_the_normalizer_of_the_library():
    for log_p, lengths, alpha in cases_of(translator.SCORES):
        divisors = torch.tensor([length_normalizer(n, alpha) for n in lengths.tolist()])
        found = translator.SCORES.reference(log_p, lengths, alpha)
        torch.testing.assert_close(found, log_p / divisors, check_dtype=False)


def test_top_p_is_the_distribution_of_the_library():
    for probabilities, p in cases_of(translator.NUCLEUS):
        expected = sampling_distribution(probabilities.log(), top_p=p)
        torch.testing.assert_close(translator.NUCLEUS.reference(probabilities, p), expected)


def test_the_search_finds_what_the_library_finds():
    for log_p, start, end, beam_size, alpha, limit in cases_of(translator.BEAM_SEARCH):
        (found,) = beam(
            lambda ids, state, table=log_p: (table[ids], None),
            torch.tensor([[start]]),
            beam_size=beam_size,
            length_penalty=alpha,
            end_id=end,
            max_new_tokens=limit,
        )
        tokens, score = translator.BEAM_SEARCH.reference(log_p, start, end, beam_size, alpha, limit)
        assert found[0].token_ids == tokens
        assert found[0].score == pytest.approx(score)
