"""El gemelo de un modelo: los mismos parámetros, con sus nombres; el modo y los ganchos, aparte."""

import copy

import pytest
import torch
from torch import nn

from course_lib import fast
from course_lib.models.bert import Bert, BertConfig, BertForPreTraining
from course_lib.models.sequence_tagger import SequenceTagger
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.universal_transformer import UniversalEncoder
from course_lib.recording import attention_maps
from course_lib.training.loop import train
from course_lib.training.losses import cross_entropy

SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 12}
IDS = torch.tensor([[3, 4, 5, 6], [7, 8, 0, 0]])


def bert(**changes):
    return BertForPreTraining(BertConfig(12, **SIZES, num_layers=2, **changes))


def tagger():
    encoder = UniversalEncoder(**SIZES, max_steps=3, max_length=9)
    return SequenceTagger(encoder, vocab_size=12, num_labels=12, d_model=8)


TWINS = {
    "bert": (bert, fast.unpadded, lambda model, batch: model(batch).tokens),
    "universal": (tagger, fast.gathering, lambda model, batch: model(batch).logits),
}
every_twin = pytest.mark.parametrize("name", TWINS)


@every_twin
def test_the_parameters_are_the_same_with_the_same_names(name):
    make, faster, _ = TWINS[name]
    model = make()
    ours, theirs = dict(model.named_parameters()), dict(faster(model).named_parameters())
    assert ours.keys() == theirs.keys()
    assert all(ours[key] is theirs[key] for key in ours)
    assert faster(model).state_dict().keys() == model.state_dict().keys()


@every_twin
def test_training_the_twin_trains_the_model(name):
    make, faster, logits = TWINS[name]
    model = make()
    before = copy.deepcopy(model.state_dict())

    def loss(model, batch):
        return cross_entropy(logits(model, batch), batch, ignore_id=0)

    train(faster(model), loss, [IDS] * 3, steps=3, learning_rate=0.1)
    changed = [key for key, value in model.state_dict().items() if not value.equal(before[key])]
    assert len(changed) > len(before) / 2
    model.eval()
    with torch.no_grad():
        found, expected = logits(faster(model), IDS), logits(model, IDS)
    torch.testing.assert_close(found[IDS != 0], expected[IDS != 0], rtol=1e-4, atol=1e-5)


def test_mode_and_hooks_are_of_each_one():
    model = bert(dropout=0.5).eval()
    twin = fast.unpadded(model).train()
    assert not any(module.training for module in model.modules())
    assert all(module.training for module in twin.modules())
    with attention_maps(twin) as A:
        model(IDS)
    assert A == []


def test_a_module_in_two_places_is_still_one():
    model = Transformer(TransformerConfig(12, **SIZES, num_layers=1))
    writer = fast.writer(model)
    assert writer.source_embedding is writer.target_embedding
    assert writer.source_embedding is not model.source_embedding


@pytest.mark.parametrize("faster", [fast.unpadded, fast.gathering, fast.frozen, fast.writer])
def test_another_model_is_explained(faster):
    with pytest.raises(ValueError, match=r"model: se esperaba un .* y llegó Linear"):
        faster(nn.Linear(2, 2))


def test_the_model_stays_as_it_was():
    model = Bert(BertConfig(12, **SIZES, num_layers=1))
    before = [(type(module), set(vars(module))) for module in model.modules()]
    fast.unpadded(model)(IDS)
    assert [(type(module), set(vars(module))) for module in model.modules()] == before
