import itertools

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.data.masking import IGNORED, Masking
from course_lib.models.bert import (
    BertConfig,
    BertForMultipleChoice,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)
from course_lib.training.batches import TokenBatches
from course_lib.training.loop import train
from course_lib.training.pretraining import (
    ChoiceLoss,
    ClassificationLoss,
    MaskedBatches,
    PreTrainingLoss,
    SpanLoss,
    TaggingLoss,
    stack_choices,
)

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghij"]
VOCAB = len(VOCABULARY)
EXACT = {"rtol": 1e-10, "atol": 1e-10}
CONFIG = BertConfig(VOCAB, 8, 2, 1, 16, 16, dropout=0.0, attention_dropout=0.0)


def build(Model, *arguments, seed=0, **options):
    torch.manual_seed(seed)
    model = Model(CONFIG, *arguments, **options).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def inputs(lengths=(7, 4, 5), extra=0, seed=0):
    rng = torch.Generator().manual_seed(seed)
    real = torch.arange(max(lengths) + extra) < torch.tensor(lengths)[:, None]
    ids = torch.randint(5, VOCAB, real.shape, generator=rng).masked_fill(~real, 0)
    return ids, torch.randint(0, 2, real.shape, generator=rng)


def masked(lengths=(7, 4, 5), seed=0):
    ids, segments = inputs(lengths, seed=seed)
    ids, labels = Masking(VOCABULARY, share=0.4)(ids, torch.Generator().manual_seed(seed))
    follows = torch.tensor([0, 1, 0])[: len(lengths)]
    return ids, segments, labels, follows


# --------------------------------------------------------------------------- pérdidas


def test_pre_training_adds_the_words_and_the_sentence():
    model, batch = build(BertForPreTraining), masked()
    ids, segments, labels, follows = batch
    words, sentence = model(ids, segments)
    expected = F.cross_entropy(words.mT, labels) + F.cross_entropy(sentence, follows)
    assert_close(PreTrainingLoss()(model, batch), expected, **EXACT)
    assert PreTrainingLoss().count(batch) == (labels != IGNORED).sum() == 3 + 2 + 2
    alone = build(BertForPreTraining, next_sentence=False)
    words, _ = alone(ids, segments)
    assert_close(PreTrainingLoss()(alone, batch), F.cross_entropy(words.mT, labels), **EXACT)


def test_only_the_hidden_words_are_scored():
    """El producto por el vocabulario es de lo más caro: se hace donde hay algo que acertar."""
    model, batch = build(BertForPreTraining), masked()
    rows = []
    model.norm.register_forward_hook(lambda module, X, Y: rows.append(Y.shape[0]))
    PreTrainingLoss()(model, batch)
    assert rows == [7]


def test_classification_with_and_without_segments():
    model, (ids, segments) = build(BertForSequenceClassification, 3), inputs()
    classes = torch.tensor([2, 0, 1])
    loss = ClassificationLoss()
    expected = F.cross_entropy(model(ids, segments), classes)
    assert_close(loss(model, (ids, segments, classes)), expected, **EXACT)
    assert_close(loss(model, (ids, classes)), F.cross_entropy(model(ids), classes), **EXACT)
    assert loss.count((ids, segments, classes)) == 3


def test_choices_of_different_lengths_are_compared():
    model = build(BertForMultipleChoice)
    options = [inputs(lengths, seed=i) for i, lengths in enumerate([(7, 4), (5, 6), (3, 3)])]
    correct = torch.tensor([2, 0])
    batch = (*itertools.chain(*options), correct)
    scores = torch.cat([model(ids[:, None], segments[:, None]) for ids, segments in options], 1)
    assert_close(ChoiceLoss()(model, batch), F.cross_entropy(scores, correct), **EXACT)
    assert ChoiceLoss().count(batch) == 2
    ids, segments = stack_choices(batch[:-1], pad_id=9)
    assert ids.shape == segments.shape == (2, 3, 7)
    assert (ids[:, 2, 3:] == 9).all() and (segments[:, 2, 3:] == 0).all()
    with pytest.raises(ValueError, match=r"dos campos por opción.* y llegaron 3"):
        stack_choices(batch[:3])


def test_a_span_starts_and_ends_in_real_tokens():
    model, (ids, segments) = build(BertForQuestionAnswering), inputs()
    first, last = torch.tensor([1, 0, 3]), torch.tensor([6, 3, 4])
    start, end = model(ids, segments)
    expected = 0.0
    for row, length in enumerate((7, 4, 5)):
        for scores, answer in ((start, first), (end, last)):
            expected += F.cross_entropy(scores[row, :length], answer[row]) / 6
    assert_close(SpanLoss()(model, (ids, segments, first, last)), expected, **EXACT)
    assert SpanLoss().count((ids, segments, first, last)) == 3


def test_tags_of_padding_do_not_count_whatever_they_say():
    """`TokenBatches` rellena las etiquetas con el mismo número que los tokens, que es una clase."""
    model, (ids, segments) = build(BertForTokenClassification, 4), inputs()
    labels = torch.randint(0, 4, ids.shape)
    labels[:, 0] = IGNORED
    counted = labels.masked_fill(ids == 0, IGNORED)
    expected = F.cross_entropy(model(ids, segments).mT, counted)
    assert_close(TaggingLoss()(model, (ids, segments, labels)), expected, **EXACT)
    assert TaggingLoss().count((ids, segments, labels)) == 6 + 3 + 4
    other = labels.masked_fill(labels == IGNORED, -1)
    assert_close(TaggingLoss(ignore_id=-1)(model, (ids, segments, other)), expected, **EXACT)


@pytest.mark.parametrize("extra", [1, 5])
@pytest.mark.parametrize("name", ["tramo", "etiquetas"])
def test_more_padding_changes_no_loss(name, extra):
    Model, loss = {
        "tramo": (BertForQuestionAnswering, SpanLoss()),
        "etiquetas": (lambda config: BertForTokenClassification(config, 4), TaggingLoss()),
    }[name]
    model, (ids, segments) = build(Model), inputs()
    answers = [ids % 4] if name == "etiquetas" else [torch.tensor([1, 0, 2])] * 2
    before = loss(model, (ids, segments, *answers))
    wider = [F.pad(X, (0, extra)) if X.ndim == 2 else X for X in (ids, segments, *answers)]
    assert_close(loss(model, tuple(wider)), before, **EXACT)
    assert loss.count(tuple(wider)) == loss.count((ids, segments, *answers))


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), cut=st.integers(1, 2))
def test_batches_weighed_by_their_count_are_one_batch(seed, cut):
    """Lo que pide `train` para acumular: Σ nᵢ Lᵢ / Σ nᵢ es la pérdida de todos juntos."""
    ids, segments = inputs(seed=seed)
    cases = {
        "clases": (
            build(BertForSequenceClassification, 3),
            ClassificationLoss(),
            (ids, segments, torch.tensor([0, 2, 1])),
        ),
        "etiquetas": (
            build(BertForTokenClassification, 4),
            TaggingLoss(),
            (ids, segments, ids % 4),
        ),
        "palabras": (
            build(BertForPreTraining, next_sentence=False),
            PreTrainingLoss(),
            masked(seed=seed),
        ),
        "tramo": (
            build(BertForQuestionAnswering),
            SpanLoss(),
            (ids, segments, torch.tensor([0, 1, 2]), torch.tensor([2, 3, 2])),
        ),
    }
    for name, (model, loss, batch) in cases.items():
        parts = [tuple(X[:cut] for X in batch), tuple(X[cut:] for X in batch)]
        counts = [loss.count(part) for part in parts]
        total = sum(n * loss(model, part) for n, part in zip(counts, parts, strict=True))
        assert sum(counts) == loss.count(batch), name
        assert_close(total / sum(counts), loss(model, batch), **EXACT)


# --------------------------------------------------------------------------- lotes


def batches(**options):
    rng = torch.Generator().manual_seed(0)
    examples = []
    for i in range(10):
        ids = [2, *torch.randint(5, VOCAB, (8,), generator=rng).tolist(), 3]
        examples.append((ids, [0] * 5 + [1] * 5, i % 2))
    return MaskedBatches(TokenBatches(examples, batch_size=4), Masking(VOCABULARY), **options)


def same(first, second):
    return all(map(torch.equal, first, second))


def test_masked_batches_are_found_again_at_any_position():
    stream = list(itertools.islice(batches().stream(), 9))
    for start in (0, 1, 4, 8):
        assert same(next(batches().stream(start)), stream[start])
    holes = {str((labels[:2] != IGNORED).tolist()) for _, _, labels, _ in stream}
    assert len(holes) >= 7, "cada lote sortea sus huecos"
    other = list(itertools.islice(batches(seed=1).stream(), 9))
    assert not all(map(same, stream, other)), "otra semilla, otros huecos"


def test_neighbouring_seeds_are_not_the_same_holes_one_batch_later():
    """Sumar la semilla y el número del lote daría a la semilla 1 los huecos de la 0, corridos."""
    row = ([2, *range(5, 13), 3], [0] * 10, 0)
    one = TokenBatches([row] * 8, batch_size=8)
    masks = [MaskedBatches(one, Masking(VOCABULARY), seed=seed) for seed in (0, 1)]
    drawn = [[str(b[0].tolist()) for b in itertools.islice(m.stream(), 6)] for m in masks]
    assert len({*drawn[0], *drawn[1]}) == 12


def test_each_batch_keeps_its_fields_and_hides_the_words():
    masks = batches()
    assert len(masks) == 3
    plain = masks.batches.stream()
    for (ids, segments, labels, follows), (original, kinds, answers) in zip(
        itertools.islice(masks.stream(), 3), plain, strict=False
    ):
        assert torch.equal(segments, kinds) and torch.equal(follows, answers)
        assert torch.equal(torch.where(labels == IGNORED, ids, labels), original)
        assert ((labels != IGNORED).sum(-1) == 2).all(), "0.15 · 10 tokens, redondeado"


def test_every_pass_hides_other_words():
    masks = batches()
    passes = [{}, {}]
    for number, (ids, _, labels, _) in enumerate(itertools.islice(masks.stream(), 6)):
        for row, label in zip(ids, labels, strict=True):
            text = tuple(torch.where(label == IGNORED, row, label).tolist())
            passes[number // 3][text] = tuple((label != IGNORED).tolist())
    assert passes[0].keys() == passes[1].keys()
    assert sum(passes[0][text] != passes[1][text] for text in passes[0]) > 5


def test_going_through_them_twice_is_the_same_evaluation():
    masks = batches()
    assert all(map(same, masks, masks)) and len(list(masks)) == 3


# --------------------------------------------------------------------------- con el bucle


def learnable(name):
    """Una tarea que se ve en los tokens: todo lo decide el primero después de [CLS]."""
    rng = torch.Generator().manual_seed(0)
    examples = []
    for _ in range(16):
        first = 5 + int(torch.randint(2, (), generator=rng))
        rest = torch.randint(7, VOCAB, (3,), generator=rng).tolist()
        ids = [2, first, *rest, 3]
        segments = [0] * 6
        examples.append(
            {
                "clases": (ids, segments, first - 5),
                "opciones": (ids, segments, [2, 11 - first, 3], [0] * 3, first - 5),
                "tramo": (ids, segments, 1, 3 if first == 5 else 4),
                "etiquetas": (ids, segments, [IGNORED, *[first - 5] * 4, IGNORED]),
                "preentrenamiento": ([2, *[first] * 4, 3], segments, first - 5),
            }[name]
        )
    return TokenBatches(examples, batch_size=8)


TASKS = {
    "clases": (lambda: BertForSequenceClassification(CONFIG, 2), ClassificationLoss()),
    "opciones": (lambda: BertForMultipleChoice(CONFIG), ChoiceLoss()),
    "tramo": (lambda: BertForQuestionAnswering(CONFIG), SpanLoss()),
    "etiquetas": (lambda: BertForTokenClassification(CONFIG, 2), TaggingLoss()),
    "preentrenamiento": (lambda: BertForPreTraining(CONFIG), PreTrainingLoss()),
}


@pytest.mark.parametrize("name", TASKS)
def test_the_loop_learns_every_task(name):
    make, loss = TASKS[name]
    torch.manual_seed(0)
    stream = learnable(name)
    if name == "preentrenamiento":
        stream = MaskedBatches(stream, Masking(VOCABULARY))
    history = train(make(), loss, stream, steps=60, learning_rate=0.02, progress=False)
    assert sum(history.loss[-5:]) < 0.6 * sum(history.loss[:5]), history.loss


def test_a_run_cut_in_two_hides_the_same_words(tmp_path):
    """Reanudado desde su punto de control, el preentrenamiento es el mismo."""

    def run(steps, path, model):
        return train(
            model, PreTrainingLoss(), batches(), steps=steps, checkpoint=path, progress=False
        )

    models = [BertForPreTraining(CONFIG) for _ in range(3)]
    models[1].load_state_dict(models[0].state_dict())
    whole = run(8, tmp_path / "entero.pt", models[0])
    run(5, tmp_path / "cortado.pt", models[1])
    cut = run(8, tmp_path / "cortado.pt", models[2])
    assert cut.loss == whole.loss
    for ours, theirs in zip(models[0].parameters(), models[2].parameters(), strict=True):
        assert torch.equal(ours, theirs)
