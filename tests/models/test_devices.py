"""Sin una GPU también se sabe qué haría: en el dispositivo `meta` hay formas y no números.

Como en una GPU, nada se comprueba mirando; y quien lee un número (`item`, `tolist`, `nonzero`, una
máscara como índice, `if tensor`) recibe un error. Lo que se crea en otro dispositivo se anota.
"""

import pytest
import torch
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.models.bert import BertConfig, BertForPreTraining, BertForSequenceClassification
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.models.universal_transformer import UniversalTransformer, UniversalTransformerConfig
from course_lib.training.losses import cross_entropy

WIDTHS = {"d_model": 8, "num_heads": 2, "d_ff": 12}
SIZES = WIDTHS | {"max_length": 32}
CUTOFFS = {"cutoffs": (4, 8), "div_val": 2}
MODELS = {
    "transformer": lambda: Transformer(TransformerConfig(12, **SIZES, num_layers=2)),
    "bert": lambda: BertForPreTraining(BertConfig(12, **SIZES, num_layers=2)),
    "bert_classifier": lambda: BertForSequenceClassification(
        BertConfig(12, **SIZES, num_layers=2), 12
    ),
    "palm": lambda: PaLM(PaLMConfig(12, **SIZES, num_layers=2)),
    "transformer_xl": lambda: TransformerXL(TransformerXLConfig(12, **WIDTHS, num_layers=2)),
    "adaptive_transformer_xl": lambda: TransformerXL(
        TransformerXLConfig(
            12, **WIDTHS, num_layers=2, memory_length=6, same_length=True, **CUTOFFS
        )
    ),
    "universal_transformer": lambda: UniversalTransformer(
        UniversalTransformerConfig(12, **SIZES, max_steps=3)
    ),
}
WRITERS = [name for name in MODELS if not name.startswith("bert")]
TRANSLATORS = ("transformer", "universal_transformer")
every_model = pytest.mark.parametrize("name", MODELS)
pytestmark = pytest.mark.usefixtures("as_user")


class Elsewhere(TorchDispatchMode):
    """Anota las operaciones cuya salida no está en el dispositivo."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for x in out if isinstance(out, tuple | list) else (out,):
            if isinstance(x, torch.Tensor) and not x.is_meta:
                self.found.add(f"{function} en {x.device}")
        return out


@pytest.fixture
def elsewhere():
    """Todo lo que se crea va a `meta`; lo que no, queda aquí."""
    with torch.device("meta"), Elsewhere() as mode:
        yield mode


def inputs(name):
    ids = torch.ones(2, 5, dtype=torch.long)
    return (ids, ids) if name in TRANSLATORS else (ids,)


def logits(output):
    return getattr(output, "logits", output[0] if isinstance(output, tuple) else output)


@pytest.mark.parametrize(
    "read", [torch.Tensor.item, torch.Tensor.tolist, bool, torch.nonzero, lambda x: x[x > 0]]
)
def test_a_read_is_an_error(elsewhere, read):
    with pytest.raises((RuntimeError, NotImplementedError)):
        read(torch.ones(1))


def test_a_tensor_made_elsewhere_is_noticed(elsewhere):
    torch.ones(1, device="cpu")
    assert elsewhere.found


@every_model
def test_a_training_step_reads_nothing_and_makes_nothing_elsewhere(elsewhere, name):
    model, rows = MODELS[name](), inputs(name)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(*rows)
    elsewhere.found.clear()  # las tablas que se calculan una vez
    scores = logits(model(*rows))
    targets = torch.ones(scores.shape[:-1], dtype=torch.long)
    loss = cross_entropy(scores, targets, label_smoothing=0.1, ignore_id=0)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    assert loss.shape == ()
    assert scores.shape[-1] == 12
    assert not elsewhere.found


@pytest.mark.parametrize("name", WRITERS)
def test_a_decoding_step_reads_nothing_and_makes_nothing_elsewhere(elsewhere, name):
    model = MODELS[name]().eval()
    with torch.no_grad():
        state = model.start(*inputs(name)[1:])
        for length in (3, 1):
            _, state = model.step(torch.ones(2, length, dtype=torch.long), state)
        elsewhere.found.clear()
        scores, state = model.step(torch.ones(2, 1, dtype=torch.long), state)
        state.select(torch.zeros(3, dtype=torch.long))
    assert scores.shape == (2, 1, 12)
    assert not elsewhere.found


def test_the_loss_of_transformer_xl_reads_nothing(elsewhere):
    model, (ids,) = MODELS["transformer_xl"](), inputs("transformer_xl")
    _, memory = model.nll(ids, ids)
    elsewhere.found.clear()
    nll, _ = model.nll(ids, ids, memory)
    assert nll.shape == (2, 5)
    assert not elsewhere.found


@every_model
def test_sixteen_bits_change_little(name):
    """bfloat16 guarda 8 bits de cada número: unas centésimas en logits que valen cerca de uno."""
    model = MODELS[name]().eval()
    rows = tuple(torch.randint(1, 12, ids.shape) for ids in inputs(name))
    with torch.no_grad():
        exact = logits(model(*rows))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rounded = logits(model(*rows))
    assert_close(rounded.float(), exact, rtol=0.05, atol=0.05 * exact.std().item() + 0.02)
