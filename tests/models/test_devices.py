"""Sin una GPU también se sabe qué haría: en el dispositivo `meta` hay formas y no números.

Como en una GPU, nada se comprueba mirando; y quien lee un número (`item`, `tolist`, `nonzero`, una
máscara como índice, `if tensor`) recibe un error. Lo que se crea en otro dispositivo se anota.
Una GPU fingida, además, no deja mezclar lo suyo con lo de la CPU. Y donde hay números, cada lectura
se cuenta: las de un paso de entrenamiento y las de escribir un token.
"""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.decoding.greedy import greedy
from course_lib.decoding.sampling import sample
from course_lib.models.bert import BertConfig, BertForPreTraining, BertForSequenceClassification
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.models.universal_transformer import UniversalTransformer, UniversalTransformerConfig
from course_lib.training.loop import train
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


READS = {"item", "tolist", "numpy", "nonzero", "unique", "unique_consecutive", "masked_select"} | {
    f"__{name}__" for name in ("bool", "int", "float", "index", "complex")
}


class Reads(TorchFunctionMode):
    """Anota cada vez que Python pide al dispositivo un número, o una forma que depende de ellos."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", "")
        masks = name in ("__getitem__", "__setitem__") and any(
            isinstance(each, Tensor) and each.dtype == torch.bool
            for each in (args[1] if isinstance(args[1], tuple) else args[1:2])
        )
        if masks or name in READS:
            self.found.append(name)
        return function(*args, **(kwargs or {}))


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


@pytest.mark.parametrize(
    "read",
    [torch.Tensor.item, torch.Tensor.tolist, bool, float, torch.nonzero, lambda x: x[x > 0]],
)
def test_every_read_is_counted(read):
    with Reads() as reads:
        read(torch.ones(1))
    assert len(reads.found) == 1


@every_model
def test_a_forward_pass_over_numbers_reads_none(name):
    model, rows = MODELS[name](), inputs(name)
    with Reads() as reads:
        model(*rows)
    assert not reads.found


@every_model
def test_a_training_step_reads_once_what_the_history_keeps(name):
    """La pérdida y la norma, juntas: sin ellas no se sabe si el paso es finito y hay que darlo."""
    model, rows = MODELS[name](), inputs(name)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss(model, batch):
        return logits(model(*batch)).square().mean()

    with Reads() as reads:
        history = train(model, loss, [rows], steps=3, optimizer=optimizer)
    assert len(history.loss) == 3
    assert reads.found == ["tolist"] * 3


@every_model
def test_between_logged_steps_training_reads_nothing(name):
    """Un optimizador fundido se salta solo el paso que no es finito: no hay que mirar cada uno."""
    model, rows = MODELS[name](), inputs(name)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def loss(model, batch):
        return logits(model(*batch)).square().mean()

    with Reads() as reads:
        history = train(model, loss, [rows], steps=10, optimizer=optimizer, log_every=5)
    assert len(history.loss) == 10
    assert reads.found == ["tolist"] * 2


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("decode", [greedy, lambda *a, **k: sample(*a, temperature=1.0, **k)])
def test_a_written_token_costs_two_reads_at_most(name, decode):
    """Si hay algún NaN, y qué filas terminaron."""
    model = MODELS[name]().eval()
    ids = torch.ones(2, 1, dtype=torch.long)
    state = model.start(*inputs(name)[1:])
    for end_id, most in ((None, 1), (11, 2)):
        with Reads() as reads:
            written = decode(model.step, ids, state, end_id=end_id, max_new_tokens=6).token_ids
        assert len(reads.found) <= most * written.shape[1] + 1, reads.found


def pretend():
    """Cada modelo, en una GPU fingida: leer un número, o mezclarlo con la CPU, es un error."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    _setup_privateuseone_for_python_backend("pretended")
    torch.nn.init.trunc_normal_ = lambda tensor, **_: tensor  # lee un número: es solo el comienzo
    with FakeTensorMode():
        for name, build in MODELS.items():
            with torch.device("pretended"):
                model, rows = build(), inputs(name)
                ids, last = torch.ones(2, 3, dtype=torch.long), torch.ones(2, 1, dtype=torch.long)
            # Desde aquí, lo que no diga dónde se crea va a la CPU.
            scores = logits(model(*rows))
            targets = scores.new_ones(scores.shape[:-1], dtype=torch.long)
            cross_entropy(scores, targets, label_smoothing=0.1, ignore_id=0).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            torch.optim.Adam(model.parameters()).step()
            assert {p.device.type for p in model.parameters()} == {"pretended"}
            if name in WRITERS:
                with torch.no_grad():
                    state = model.start(*rows[1:])
                    for new in (ids, last):
                        scores, state = model.step(new, state)
                    state.select(last[:, 0])
            assert scores.device.type == "pretended"
            print(name)


@pytest.mark.usefixtures("warm_processes")
def test_on_a_pretended_gpu_nothing_is_made_on_the_cpu():
    """En otro proceso, porque el dispositivo fingido se queda."""
    order = "from test_devices import pretend; pretend()"
    done = subprocess.run(
        [sys.executable, "-c", order], cwd=Path(__file__).parent, capture_output=True, text=True
    )
    assert not done.returncode, done.stderr[-3000:]
    assert done.stdout.split() == list(MODELS)


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
