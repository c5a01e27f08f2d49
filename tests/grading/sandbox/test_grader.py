"""Calificar: las soluciones tienen todos los puntos, y el curso dice qué se pide y con qué."""

import ast
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.grading.sandbox import grader as grader_module
from course_lib.grading.sandbox.box import SandboxError
from course_lib.grading.sandbox.grader import Grader, Progress
from course_lib.grading.sandbox.library_view import library_modules, without
from course_lib.grading.submission import (
    exercises_folder,
    guess_topic,
    needed_cells,
    read_submission,
    topic_of,
    topic_sheet,
    unusual_names,
)
from course_lib.judging.exercise import Exercise, Misconception
from course_lib.judging.refusal import answers_of
from course_lib.notebooks.fingerprint import EXERCISES
from tests.grading.sandbox.hostile.cases import CHECKS, HARD, IMPORTS, SOFT, TIES, WRONG, notebook

ROOT = exercises_folder().parent
TOPICS = sorted(path.stem for path in (ROOT / "exercises").glob("*.ipynb"))


@pytest.fixture(scope="module")
def without_sandbox():
    with Grader(sandboxed=False) as grader:
        yield grader


def submit(tmp_path, *cells):
    path = tmp_path / "submission.ipynb"
    path.write_text(json.dumps(notebook([IMPORTS, *cells])))
    return path


def by_name(result):
    return {e.exercise.partition(".")[2]: e for e in result.exercises}


@pytest.mark.parametrize(
    ("which", "topic"), [*(("grader", topic) for topic in TOPICS), ("without_sandbox", "attention")]
)
def test_a_solution_has_every_point_and_an_untouched_notebook_is_pending(topic, which, request):
    grader = request.getfixturevalue(which)
    solved = grader.grade(ROOT / "solutions" / f"{topic}.ipynb", 11)
    assert solved.topic == topic
    assert solved.points == solved.max_points > 0, [e for e in solved.exercises if not e.points]
    assert (solved.broken_cells, solved.notes) == ((), ())
    blank = grader.grade(ROOT / "exercises" / f"{topic}.ipynb", 11)
    assert {e.status for e in blank.exercises} == {"pending"}
    assert (blank.topic, blank.points, blank.broken_cells) == (topic, 0, ())


def test_a_misconception_has_its_hint_and_a_broken_function_its_line(grader, tmp_path):
    transposed = "def hard_argmax(scores):\n    return scores[..., 99]"
    soft = "def soft_argmax(scores, beta):\n    return torch.softmax(scores, dim=-1)"
    found = by_name(grader.grade(submit(tmp_path, soft, transposed), 5))
    assert found["soft_argmax"].misconceptions == ("no_beta",)
    assert "no usas β" in found["soft_argmax"].message
    assert found["hard_argmax"].property == "runs"
    assert "línea 2: return scores[..., 99]" in found["hard_argmax"].message
    assert found["read_plot"].status == "missing"
    assert "no define «ties»" in found["read_plot"].message


TWO = """
def soft_argmax(scores, beta):
    seen.append(1)
    if len(seen) > most:
        os._exit(0)
    return torch.softmax(scores, dim=0)
"""


def test_two_misconceptions_at_once_have_both_hints(grader, tmp_path):
    path = submit(tmp_path, "import os\nseen, most = [], 1000", TWO, HARD)
    found = by_name(grader.grade(path, 5))
    assert set(found["soft_argmax"].misconceptions) == {"no_beta", "wrong_axis"}
    assert "no usas β" in found["soft_argmax"].message and not found["soft_argmax"].points


@pytest.mark.parametrize("most", [8, 11])
def test_looking_for_two_misconceptions_costs_nothing_to_what_was_judged(grader, tmp_path, most):
    path = submit(tmp_path, f"import os\nseen, most = [], {most}", TWO, HARD)
    found = by_name(grader.grade(path, 5))
    assert (found["soft_argmax"].status, found["soft_argmax"].misconceptions) == ("wrong", ())
    assert "los valores no son los esperados" in found["soft_argmax"].message
    assert found["hard_argmax"].status == "correct"


COUNTED = """
import sys
before = []
def soft_argmax(scores, beta):
    before.append(len(sys.modules))
    return torch.softmax(beta * scores, dim=-1)
"""
COUNTING = HARD.replace("    return", "    assert len(sys.modules) - before[0] < 20\n    return")


def test_judging_a_gradient_imports_nothing_more_in_each_box(grader, tmp_path):
    """La primera derivada trae quinientos módulos: los tiene que traer la plantilla, una vez."""
    found = by_name(grader.grade(submit(tmp_path, COUNTED, COUNTING), 5))
    assert found["soft_argmax"].status == found["hard_argmax"].status == "correct"


def test_a_missing_answer_says_that_its_cell_stopped(grader, tmp_path):
    result = grader.grade(submit(tmp_path, "1 / 0\n" + SOFT, HARD), 5)
    assert "ZeroDivisionError" in by_name(result)["soft_argmax"].message
    assert result.broken_cells and by_name(result)["hard_argmax"].points == 1


def test_the_inputs_depend_on_the_seed(grader, tmp_path):
    told = [sum_of_inputs(grader, tmp_path, seed) for seed in (1, 1, 2)]
    assert told[0] == told[1] != told[2]


def test_the_inputs_depend_on_what_is_delivered(grader, tmp_path):
    """Lo que se aprenda de las entradas en una entrega no sirve en la siguiente."""
    told = [sum_of_inputs(grader, tmp_path, 1, more) for more in ("", "x = 1", "")]
    assert told[0] == told[2] != told[1]


def sum_of_inputs(grader, tmp_path, seed, *more):
    """Lo que se dice a una respuesta cuya forma cuenta algo de sus entradas."""
    size = "1 + int(s.double().abs().sum() * 1e6) % 999_983"
    same = "torch.nn.functional.one_hot(s.argmax(-1), s.shape[-1]).to(s)"  # un caso fijo
    told = f"def hard_argmax(s):\n    return {same} if s.shape == (3, 4) else torch.zeros({size})"
    return by_name(grader.grade(submit(tmp_path, told, *more), seed))["hard_argmax"].message


LEAK = """
import base64
def soft_argmax(scores, beta):
    text = base64.b64encode(scores.numpy().tobytes()).decode()
    {raising}
"""


@pytest.mark.parametrize(
    "raising",
    [
        "raise ValueError(text)",
        "raise type(text, (Exception,), {})",
        "exec(compile('1 / 0 #' + text, '<x>', 'exec'))",
    ],
)
def test_an_error_carries_no_input(raising, grader, tmp_path):
    code = LEAK.format(raising=raising)
    result = grader.grade(
        submit(tmp_path, code, "raise ValueError('/etc/x')"), 5, topic="attention"
    )
    message = by_name(result)["soft_argmax"].message
    assert "tu código se detuvo con" in message and "==" not in message
    assert len(message) < 120
    assert "/etc/x: " not in result.broken_cells[0]


DESIGN = """
def design():
    return torch.zeros({q}), torch.zeros({k})
"""


@pytest.mark.parametrize(
    "shapes", [{"q": "10_000, 3, 5", "k": "20_000, 3, 1"}, {"q": "3, 300_000", "k": "3, 2"}]
)
def test_a_small_answer_does_not_make_the_grader_calculate_without_end(shapes, grader, tmp_path):
    name = topic_sheet("self_attention").names["self_attention.design"]
    code = DESIGN.format(**shapes).replace("design", name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = grader.grade(submit(tmp_path, code), 5, topic="self_attention")
    assert by_name(result)["design"].points == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10


@pytest.mark.parametrize("times", [1, 2])
def test_a_box_killed_from_outside_is_tried_again_once(times, grader, tmp_path, monkeypatch):
    """Quien se queda sin memoria por culpa de otros no pierde puntos."""
    killed = []
    ask = grader_module.Worker.ask

    def ask_and_kill(worker, header, seconds, **more):
        if header["op"] == "look" and header["name"] == "hard_argmax" and len(killed) < times:
            kill_inside(worker)
            killed.append(worker)
        return ask(worker, header, seconds, **more)

    monkeypatch.setattr(grader_module.Worker, "ask", ask_and_kill)
    path = submit(tmp_path, SOFT, HARD, TIES)
    found = by_name(grader.judge(path, 5, None, Progress()))  # aquí mismo, para contarlas
    assert len(killed) == times
    assert found["hard_argmax"].points == (1 if times == 1 else 0)
    assert found["soft_argmax"].points == found["read_plot"].points == 1


def kill_inside(worker):
    """Mata, como haría el núcleo, el proceso de la entrega."""
    spare = worker._sandbox.pid
    inside = [
        pid
        for pid in descendants(os.getpid())
        if pid != spare and box_of(pid) == worker._sandbox._inode
    ]
    for pid in inside:
        os.kill(pid, 9)


def box_of(pid):
    try:
        return Path(f"/proc/{pid}/ns/pid").stat().st_ino
    except OSError:
        return None


PRIMITIVES = "course_lib.primitives"
FORBIDDEN = {
    "self_attention.weights": f"from {PRIMITIVES}.attention import attention_weights as weights",
    "bert.best_span": "from course_lib.models.bert import best_spans as best_span",
    "palm.layout": f"""
from {PRIMITIVES}.positions import rotary_order
def to_halves(W, num_heads):
    return torch.cat([head[rotary_order(len(head))] for head in W.chunk(num_heads)])
""",
    "palm.rotary": f"""
from {PRIMITIVES}.positions import rotary
def rotate_by_position(x, positions, base):
    return rotary(x, positions, base=base)
""",
    "key_value_store.look_up_all": f"""
from {PRIMITIVES}.attention import attention, attention_weights
def look_up_all(Q, K, V):
    return attention(Q, K, V), attention_weights(Q, K)
""",
    "transformer_xl.mask": f"""
from {PRIMITIVES}.masks import causal_mask
def visible(length, memory_length):
    return causal_mask(length, memory_length + length)
""",
    "universal_transformer.step_encodings": f"""
from {PRIMITIVES}.positions import step_positions
def step_encodings(length, num_steps, d_model):
    rows = [step_positions(length, d_model, n, start=1) for n in range(1, num_steps + 1)]
    return torch.stack(rows)
""",
    "transformer_xl.memory_bug": """
from course_lib.models import remember
def update_memory(states, memory, memory_length):
    return remember(memory, states, memory_length)
""",
    "universal_transformer.halting": """
from course_lib.layers import AdaptiveComputation
def halting(p, epsilon):
    steps, act = iter(p), AdaptiveComputation(len(p), len(p), epsilon=epsilon)
    act.probability = lambda u: next(steps)[None, None]
    d = act.start(torch.zeros(1, 1, len(p)))
    for row in torch.eye(len(p)):
        d = act(d, d.states, row[None, None])
    return d.output().states[0, 0], d.output().n_updates.item(), d.output().remainders[0, 0]
""",
    "universal_transformer.adaptive_loop": """
from course_lib.layers import AdaptiveComputation
def adaptive(x, block, halting, max_steps, epsilon):
    act = AdaptiveComputation(x.shape[-1], max_steps, epsilon=epsilon)
    act.probability, d = halting, act.start(x)
    for _ in range(max_steps):
        d = act(d, d.states, block(d.states))
    return d.output().states, d.output().n_updates, d.output().remainders
""",
    "tokenization.merge": """
from course_lib.tokenization._merges import apply_merges
def merge(symbols, pair, new):
    return apply_merges(symbols, {tuple(pair): new})
""",
    "tokenization.encode": """
from course_lib.tokenization._merges import apply_merges
def encode(symbols, merges):
    return apply_merges(symbols, {tuple(pair): 256 + k for k, pair in enumerate(merges)})
""",
    "palm.multi_query": """
from course_lib.layers import MultiQueryAttention
def multi_query(X, W_q, W_k, W_v, W_h, num_heads):
    layer = MultiQueryAttention(len(W_q), num_heads, d_head=W_k.shape[1], layout=None)
    weights = {"W_qkv.weight": torch.cat([W_q, W_k, W_v], 1).T, "W_h.weight": W_h.T}
    return torch.func.functional_call(layer, weights, X)
""",
    "palm.read": """
from course_lib.layers import KeyValueCache, MultiQueryAttention
def read(X, cache, W_q, W_k, W_v, num_heads):
    layer, kept = MultiQueryAttention(len(W_q), num_heads, d_head=W_k.shape[1]), KeyValueCache()
    kept.append(*(each[:, None] for each in cache))
    layer.W_h = torch.nn.Identity()
    weights = {"W_qkv.weight": torch.cat([W_q, W_k, W_v], 1).T}
    return torch.func.functional_call(layer, weights, (X, kept)), (kept.K[:, 0], kept.V[:, 0])
""",
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_is_the_answer_cannot_be_used(name, grader, tmp_path):
    topic, _, exercise = name.partition(".")
    result = grader.grade(submit(tmp_path, FORBIDDEN[name]), 5, topic=topic)
    answer = by_name(result)[exercise]
    assert answer.points == 0, "la función de la biblioteca da los puntos"
    assert "es la respuesta de este ejercicio" in answer.message, answer.message


TORCH_ATTENTION = {
    "la función": "F.scaled_dot_product_attention(Q, K, V), "
    "F.scaled_dot_product_attention(Q, K, torch.eye(K.shape[-2]).expand(*K.shape[:-1], -1))",
    "la que da los pesos": "torch._scaled_dot_product_attention_math(Q, K, V)",
}


@pytest.mark.parametrize("code", TORCH_ATTENTION.values(), ids=TORCH_ATTENTION)
def test_the_attention_of_torch_does_not_look_up_all(code, grader, tmp_path):
    code = f"import torch.nn.functional as F\ndef look_up_all(Q, K, V): return {code}"
    result = grader.grade(submit(tmp_path, code), 5, topic="key_value_store")
    answer = by_name(result)["look_up_all"]
    assert not answer.points and "es la respuesta de este ejercicio" in answer.message


def test_an_answer_of_one_exercise_serves_in_another(grader, tmp_path):
    """Quien gira con `rotary` en su sitio no lo pierde porque sea la respuesta de otro."""
    solved = json.loads((ROOT / "solutions" / "palm.ipynb").read_text())
    solved["cells"].append(notebook([FORBIDDEN["palm.rotary"]])["cells"][0])
    result = by_name(grader.grade(json.dumps(solved).encode(), 5))
    assert {name for name, e in result.items() if e.points < e.max_points} == {"rotary"}


COSINE = {
    "la función": "def cosine(X, Y): return F.cosine_similarity(X[:, None], Y, dim=-1)",
    "torch._C": "def cosine(X, Y): "
    "return torch._C._VariableFunctions.cosine_similarity(X[:, None], Y, -1, 1e-8)",
    "torch.ops": "def cosine(X, Y): return torch.ops.aten.cosine_similarity(X[:, None], Y, -1)",
    "la capa": "layer = torch.nn.CosineSimilarity(-1)\n"
    "def cosine(X, Y): return layer(X[:, None], Y)",
    "una copia": "copy = torch.ops.aten.cosine_similarity.default\n"
    "def cosine(X, Y): return copy(X[:, None], Y, -1)",
    "getattr": "def cosine(X, Y): "
    "return getattr(torch, 'cosine' + '_similarity')(X[:, None], Y, dim=-1)",
    "exec": "exec('from torch import cosine_' + 'similarity as f')\n"
    "def cosine(X, Y): return f(X[:, None], Y, -1)",
    "otro hilo": "from threading import Thread\n"
    "def cosine(X, Y):\n"
    "    found = []\n"
    "    def run():\n"
    "        try: found.append(F.cosine_similarity(X[:, None], Y, -1))\n"
    "        except BaseException as error: found.append(error)\n"
    "    thread = Thread(target=run)\n"
    "    thread.start()\n"
    "    thread.join()\n"
    "    if isinstance(found[0], BaseException): raise found[0]\n"
    "    return found[0]",
    "sin modos": "def cosine(X, Y):\n"
    "    with torch._C.DisableTorchFunction():\n"
    "        return torch.ops.aten.cosine_similarity(X[:, None], Y, -1)",
    "sin gradiente": "def cosine(X, Y):\n"
    "    with torch.inference_mode():\n"
    "        return torch.ops.aten.cosine_similarity(X[:, None], Y, -1)",
    "vmap": "def cosine(X, Y):\n"
    "    each = torch.vmap(lambda x: torch.ops.aten.cosine_similarity(x[None], Y, -1))\n"
    "    return each(X)",
    "por partes": "def cosine(X, Y):\n"
    "    return torch.ops.aten.cosine_similarity.default.decompose(X[:, None], Y, -1)",
    "otra clave": "def cosine(X, Y):\n"
    "    key = torch._C.DispatchKey.CompositeImplicitAutograd\n"
    "    return torch.ops.aten.cosine_similarity.default._op_dk(key, X[:, None], Y, -1)",
    "otra operación que la usa": "def cosine(X, Y):\n"
    "    one = torch.ones(1)\n"
    "    rows = [[1 - torch.ops.aten.cosine_embedding_loss(x[None], y[None], one) for y in Y]\n"
    "            for x in X]\n"
    "    return torch.tensor(rows)",
    "soltarla": "import gc\n"
    "boxes = [box for box in gc.get_objects() if type(box) in (dict, list, set)]\n"
    "for box in boxes:\n"
    "    for found in gc.get_referents(box):\n"
    "        if type(found).__name__ == '_DispatchModule': found.reset()\n"
    "def cosine(X, Y): return torch.ops.aten.cosine_similarity(X[:, None], Y, -1)",
}
COMPILED = """
@torch.jit.script
def compiled(X, Y):
    return torch.cosine_similarity(X[:, None], Y, -1)
def cosine(X, Y): return compiled(X, Y)
"""


@pytest.mark.parametrize("way", COSINE)
def test_a_builtin_that_is_the_answer_is_refused_by_any_name(way, grader, tmp_path):
    code = f"import torch.nn.functional as F\n{COSINE[way]}"
    answer = by_name(grader.grade(submit(tmp_path, code), 5, topic="tokenization"))["cosine"]
    assert answer.points == 0
    assert "es la respuesta de este ejercicio" in answer.message, answer.message


def test_compiled_code_does_not_use_it_either(grader, tmp_path):
    result = by_name(grader.grade(submit(tmp_path, COMPILED), 5, topic="tokenization"))
    assert result["cosine"].points == 0


LOSS = {
    "la función": "F.binary_cross_entropy_with_logits(z, y)",
    "la capa": "torch.nn.BCEWithLogitsLoss()(z, y)",
    "vmap": "torch.vmap(lambda a, b: torch.ops.aten.binary_cross_entropy_with_logits(a, b))"
    "(z[None], y[None])[0]",
    "la que da el resultado en otro": "torch.ops.aten.soft_margin_loss.out"
    "(z, 2 * y - 1, out=torch.zeros(()))",
    "la de Python": "torch.nn.MultiLabelSoftMarginLoss()(z[None], y[None])",
}


@pytest.mark.parametrize("way", LOSS)
def test_every_builtin_of_an_exercise_is_refused(way, grader, tmp_path):
    code = f"import torch.nn.functional as F\ndef loss(z, y): return {LOSS[way]}"
    result = by_name(grader.grade(submit(tmp_path, code), 5, topic="text_classifier"))
    assert result["binary_cross_entropy"].points == 0
    assert "es la respuesta de este ejercicio" in result["binary_cross_entropy"].message


OFF = """
from torch._decomp import decomposition_table
formula = decomposition_table[torch.ops.aten.binary_cross_entropy_with_logits.default]
def loss(z, y): return formula(z, y)
"""
OWN = "def loss(z, y): return (z.clamp(min=0) - z * y + torch.log1p(torch.exp(-z.abs()))).mean()"


def test_who_might_evade_what_is_watched_is_named_for_a_person(grader, tmp_path):
    """Dentro de su proceso, el estudiante puede con todo: lo honesto es decir dónde mirar."""
    result = grader.grade(submit(tmp_path, OFF), 5, topic="text_classifier")
    assert by_name(result)["binary_cross_entropy"].points == 2, "si se impide, que lo diga el libro"
    (note,) = result.notes
    assert "binary_cross_entropy" in note and "«_decomp»" in note and "a mano" in note
    honest = grader.grade(submit(tmp_path, OWN), 5, topic="text_classifier")
    assert by_name(honest)["binary_cross_entropy"].points == 2 and honest.notes == ()


MEMORY = """
kept = []
def update_top_k(scores, indices, Q, K_chunk, start, k):
    def best(k, *candidates):
        found, rows = (torch.cat(each, 1) for each in zip(*candidates))
        order = rows.argsort()
        found, rows = found.gather(1, order), rows.gather(1, order)
        order = found.argsort(descending=True, stable=True)[:, :k]
        return found.gather(1, order), rows.gather(1, order)
    new = Q @ K_chunk.T, torch.arange(start, start + len(K_chunk)).repeat(len(Q), 1)
    if scores.shape[1] == 0:
        kept.clear()
    kept.append(new)
    before = scores, indices
    return {answer}
"""


@pytest.mark.parametrize(
    ("answer", "points"),
    [
        ("best(k, before, new)", 3),
        ("best(k + 1 if scores.shape[1] == 0 else k, before, new)", 0),  # al final se corrige
        ("best(k, *kept)", 0),  # guarda las claves
        ("(scores, indices)", 0),
        ("None", 0),
        ("[x.tolist() for x in best(k, before, new)]", 0),
        ("(torch.zeros(len(Q), 2000, 2000), indices)", 0),
        ("object()", 0),
    ],
)
def test_what_passes_from_a_chunk_to_the_next_is_what_crosses(answer, points, grader, tmp_path):
    code = MEMORY.format(answer=answer)
    result = grader.grade(submit(tmp_path, code), 5, topic="key_value_store")
    assert by_name(result)["top_k"].points == points


PROJECTIONS = {
    "tres productos, dos de ellos sin que se vean": """
from torch.utils._python_dispatch import _disable_current_modes
def stacked_projection(project, W_q, W_k, W_v):
    first = project(W_q)
    with _disable_current_modes():
        return first, project(W_k), project(W_v)
""",
    "la entrada, recuperada": """
def stacked_projection(project, W_q, W_k, W_v):
    X = project(torch.eye(len(W_q)))
    return X @ W_q, X @ W_k, X @ W_v
""",
    "la entrada, pegada a lo demás": """
def stacked_projection(project, W_q, W_k, W_v):
    X = project(torch.cat([torch.eye(len(W_q)), W_q, W_k, W_v], dim=1))[..., :len(W_q)]
    return X @ W_q, X @ W_k, X @ W_v
""",
    "el producto, dos veces": """
def stacked_projection(project, W_q, W_k, W_v):
    widths = [W.shape[1] for W in (W_q, W_k, W_v)]
    stacked = torch.cat([W_q, W_k, W_v], dim=1)
    Q, K, _ = project(stacked).split(widths, dim=-1)
    return Q, K, project(stacked).split(widths, dim=-1)[2]
""",
    "con otro hilo": """
import threading
def stacked_projection(project, W_q, W_k, W_v):
    found = []
    for W in (W_q, W_k, W_v):
        thread = threading.Thread(target=lambda: found.append(project(W)))
        thread.start()
        thread.join()
    return found
""",
}


@pytest.mark.parametrize("way", PROJECTIONS)
def test_the_products_are_made_where_nobody_can_forge_them(way, grader, tmp_path):
    result = grader.grade(submit(tmp_path, PROJECTIONS[way]), 5, topic="key_value_store")
    assert by_name(result)["stacked_projection"].points == 0
    assert result.notes == ()


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("import ctypes", {"ctypes"}),
        ("import os.path as p", {"os"}),
        ("import numpy.ctypeslib", {"ctypeslib"}),
        ("import sklearn.metrics", {"sklearn"}),
        ("from mine import f", {"mine"}),  # quizá lo escribió otra celda
        ("from torch import _C, nn", {"_C"}),
        ("from torch._decomp import *", {"_decomp"}),
        ("torch.nn.functional.sys.modules", {"sys"}),
        ("f.__globals__['x']", {"__globals__"}),
        ("getattr(torch, 'a')", {"getattr"}),
        ("exec('x')", {"exec"}),
        ("get_ipython().system('ls')", {"get_ipython"}),
        ("x = !python f.py\nimport gc", {"!python", "gc"}),
        ("%%bash\nls", {"%%bash"}),
        ("%time exec('x')", {"exec"}),
        ("y = %timeit -n 10 -r 2 -o exec('x')", {"exec"}),
        ("%%time\nexec('x')", {"exec"}),
        ('"""\n% """; exec("x")', {"exec", "%"}),
        ("!pip install torch\n%matplotlib inline\nimport matplotlib.pyplot as plt", set()),
        ("model.eval()\nf = torch.compile(f)\nimport re; re.compile('a')", set()),
        ("class A(nn.Module):\n    def __init__(self):\n        self._x = 1", set()),
        ("for _ in range(3):\n    _x = torch.special.expit(x)", set()),
    ],
)
def test_what_no_exercise_needs_is_noticed(cell, expected):
    content = json.dumps(notebook([IMPORTS, cell])).encode()
    assert set(unusual_names(read_submission(content))) == expected


def test_the_notebooks_of_the_course_have_nothing_to_look_at():
    paths = [*ROOT.glob("solutions/*.ipynb"), *ROOT.glob("exercises/*.ipynb")]
    given = {topic: topic_sheet(topic).given for topic in TOPICS}
    noticed = {str(p): unusual_names(read_submission(p), given[p.stem]) for p in paths}
    assert len(paths) > 10 and set(noticed.values()) == {()}, noticed


LONG = ("\n" * 500_000, " " * 500_000, "a" * 500_000, "a " * 200_000, "%timeit " + " " * 400_000)


@pytest.mark.parametrize("text", [*LONG, "%timeit" + " -n 1" * 80_000])
def test_a_long_line_of_nothing_does_not_stop_the_grader(text):
    """Con una expresión regular descuidada, leerla tardaría horas."""
    submission = read_submission(json.dumps(notebook([text + "("])).encode())
    assert unusual_names(submission) == ()


@pytest.mark.parametrize("magic", ["%matplotlib inline", "%matplotlib widget", "%pylab inline"])
def test_asking_for_plots_does_not_stop_the_cell(magic, grader, tmp_path):
    """Es la primera línea de muchos cuadernos; aquí no hay dónde dibujar."""
    plot = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()"
    result = grader.grade(submit(tmp_path, f"{magic}\n{plot}\n{SOFT}", HARD, TIES), 3)
    assert (result.points, result.broken_cells, result.notes) == (3, (), ())


def test_what_it_gives_is_plain_data(grader, tmp_path):
    result = grader.grade(submit(tmp_path, SOFT, WRONG.replace("soft", "hard"), TIES, CHECKS), 3)
    assert result.points == 2 and result.as_data()["points"] == 2
    json.dumps(result.as_data())


def test_without_a_sandbox_it_refuses_and_unsafe_must_be_asked(
    monkeypatch, tmp_path, without_sandbox
):
    monkeypatch.setattr(grader_module, "why_unavailable", lambda: "Falta bubblewrap")
    with pytest.raises(SandboxError, match="Falta bubblewrap"):
        Grader()
    assert without_sandbox.grade(submit(tmp_path, SOFT, HARD, TIES), 3).points == 3


def test_a_broken_reference_is_not_the_students_fault(grader, tmp_path, monkeypatch):
    def fails(scores, beta):
        raise ValueError("el curso")

    (first, *_) = grader_module.topic_exercises("attention")
    broken = Exercise(first.name, 1, fails, first.cases, [Misconception("a", fails, "b")])
    monkeypatch.setattr(grader_module, "topic_exercises", lambda topic: (broken,))
    with pytest.raises(RuntimeError, match="El problema es del curso"):
        grader.grade(submit(tmp_path, SOFT), 3)


FORKS_AND_WAITS = """
import os, sys, time
from course_lib.grading.sandbox.grader import Grader
if __name__ == "__main__":
    grader = Grader(sandboxed=sys.argv[1] == "True")
    grader.grade(b'{"cells": []}', 1)
    if os.fork() == 0:
        time.sleep(60)  # conserva abierto el extremo del calificador
        os._exit(0)
    print(grader._template.pid, grader._folder.name, flush=True)
    grader.grade(sys.argv[2].encode(), 1)
"""


@pytest.mark.parametrize("sandboxed", [True, False])
def test_a_killed_grader_leaves_no_process_and_no_folder(sandboxed, sandbox_here):
    process, template, folder = grader_apart(sandboxed)
    until(lambda: len(descendants(template)) > 0, "no se creó el proceso de la entrega")
    started = {*descendants(template), template}
    process.kill()
    process.wait()
    process.stdout.close()
    until(lambda: not any(map(is_alive, started)), "quedan procesos de un calificador muerto")
    until(lambda: not folder.exists(), "queda la carpeta de un calificador muerto")


def test_a_grader_killed_while_its_template_starts_leaves_nothing(sandbox_here):
    process, template, folder = grader_apart(sandboxed=True)
    process.kill()
    process.wait()
    process.stdout.close()
    until(lambda: not is_alive(template), "queda la plantilla de un calificador muerto")
    until(lambda: not folder.exists(), "queda la carpeta de un calificador muerto")


TOLD_WHILE_LOOKING = """
import os, signal, subprocess, sys, threading
from course_lib.grading.sandbox import guard

class Lock:
    taken, told = threading.Lock(), False
    def acquire(self, *how):
        got = self.taken.acquire(*how)
        if not self.told:
            self.told = True
            os.kill(os.getpid(), signal.SIGTERM)
        return got
    def release(self): self.taken.release()
    def __enter__(self): return self.acquire()
    def __exit__(self, *error): self.release()

start = subprocess.Popen.__init__
def with_lock(self, *arguments, **options):
    start(self, *arguments, **options)
    self._waitpid_lock = Lock()
subprocess.Popen.__init__ = with_lock
guard.main(os.getppid(), sys.argv[1], ["sleep", "1000"])
"""


def test_a_guard_told_to_end_while_it_looks_ends(tmp_path):
    """Si la señal llega mientras mira, no se queda esperando un cerrojo que ya tiene."""
    command = [sys.executable, "-c", TOLD_WHILE_LOOKING, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=60)


def test_a_guard_that_does_not_end_is_killed(sandbox_here, monkeypatch):
    monkeypatch.setattr(grader_module, "_CLOSE_SECONDS", 0.5)
    grader = Grader()
    template, folder = grader._template.pid, Path(grader._folder.name)
    os.kill(template, signal.SIGSTOP)
    started = {*descendants(template), template}
    grader.close()
    assert not folder.exists()
    until(lambda: not any(map(is_alive, started)), "queda algo de un calificador cerrado")


def grader_apart(sandboxed):
    """Un calificador en otro proceso, el de su plantilla y su carpeta."""
    endless = json.dumps(notebook([IMPORTS, SOFT, "import time\nwhile True: time.sleep(1)"]))
    process = subprocess.Popen(
        [sys.executable, "-c", FORKS_AND_WAITS, str(sandboxed), endless],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    template, folder = process.stdout.readline().split()
    return process, int(template), Path(folder)


def until(condition, message, seconds=30):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, message
        time.sleep(0.05)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def descendants(pid):
    """Los procesos que descienden de uno."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    found = [int(child) for child in children.read_text().split()]
    return found + [x for child in found for x in descendants(child)]


def test_bytes_are_graded_like_a_file(grader, tmp_path):
    path = submit(tmp_path, SOFT, TIES)
    told = [grader.grade(content, 3) for content in (path, path.read_bytes())]
    assert told[0].points == 2
    assert [by_name(r)["soft_argmax"].status for r in told] == ["correct"] * 2
    assert [r.points for r in told] == [2, 2]
    assert grader.grade(b" " * ((20 << 20) + 1), 3).status == "unreadable"


# Sin ejecutar nada


def test_every_topic_has_its_sheet_and_its_exercises_their_own_view():
    for path in exercises_folder().glob("*.ipynb"):
        sheet = topic_sheet(path.stem)
        assert sheet.names, path
        assert not any(m.startswith(EXERCISES) for m in library_modules(sheet.tools))


def test_the_topic_is_recognised_even_without_checks(tmp_path):
    solved = json.loads((ROOT / "solutions" / "translator.ipynb").read_text())
    solved["cells"] = [c for c in solved["cells"] if "check(" not in "".join(c["source"])]
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps(solved))
    assert guess_topic(read_submission(path)) == "translator"


def test_the_topic_that_is_asked_for_is_not_imposed_on_what_says_it_is_of_another(grader, tmp_path):
    """Quien entrega dos temas no tiene ceros en uno por el cuaderno del otro."""
    other = (ROOT / "exercises" / "self_attention.ipynb").read_bytes()
    assert grader.grade(other, 5, topic="attention").topic == "self_attention"
    mine, theirs = 'check("attention.soft_argmax", a)', 'check("self_attention.weights", b)'
    for cells in (["x = 1"], ["def weights(): pass"], [mine], [mine, theirs, "weights = 1"]):
        assert topic_of(read_submission(submit(tmp_path, *cells)), "attention") == "attention"


def test_only_the_cells_that_matter_are_executed(tmp_path):
    """Las demostraciones del cuaderno que nadie cambió no cuestan tiempo ni se rompen."""
    given = [
        "import math",
        "scale = [1]",
        "print('demo')\nx = 1",
        "scale.append(2)",
        "scale[0] = 3",
    ]
    given += ["def helper(): return math.pi", "def f(x): ...", "unused = helper()"]
    sheet = replace(topic_sheet("attention"), names={"a.f": "f"}, given=frozenset(given))

    def needed(*own):
        submission = read_submission(json.dumps(notebook([*given, *own])).encode())
        return {submission.cells[i] for i in needed_cells(submission, sheet)}

    assert needed() == {given[6]}
    assert needed("def f(x): return helper()") == {given[0], given[5], given[6]} | {
        "def f(x): return helper()"
    }
    uses = "def f(x):\n    return [y for y in scale]"
    assert needed(uses) == {given[1], given[3], given[4], given[6], uses}
    local = "def f(x):\n    scale = helper = 1\n    return scale"
    assert needed(local) == {given[6], local}
    assert needed("scale = (", "nonlocal x") == {given[6], "scale = (", "nonlocal x"}


def test_an_experiment_is_not_repeated_to_grade():
    """Lo que está detrás de la última comprobación solo se ejecuta si una respuesta lo necesita."""
    sheet = replace(topic_sheet("attention"), names={"a.f": "f"})
    answer, checked = "def f(x): return x + scale", 'check("a.f", f)'
    after = ["table = measure()", "scale = 1", "scale.clear()", "print(table)"]
    submission = read_submission(json.dumps(notebook([answer, checked, *after])).encode())
    assert needed_cells(submission, sheet) == [0, 1, 3, 4]
    unchecked = read_submission(json.dumps(notebook([answer, *after])).encode())
    assert needed_cells(unchecked, sheet) == [0, 1, 2, 3, 4]


def test_the_answers_are_the_reference_and_what_is_declared():
    (soft, *_) = grader_module.topic_exercises("attention")
    assert answers_of(soft) == ("course_lib.primitives.attention.soft_argmax",)


def test_an_answer_is_removed_from_its_module():
    source = "def f(x): return 'secreto'\nclass G: y = 'secreto'\ndef h(): return f(1)\n"
    bare = without(source, ["f", "G"])
    assert "secreto" not in bare and "def h" in bare
    space = {}
    exec(compile(ast.parse(bare), "bare", "exec"), space)
    for name in ("f", "G", "h"):
        with pytest.raises(ImportError, match="es la respuesta de este ejercicio"):
            space[name]() if name != "f" else space[name](1)


def test_reading_does_not_leave_the_file_open(tmp_path):
    path = submit(tmp_path, SOFT)
    before = len(list(Path("/proc/self/fd").iterdir()))
    read_submission(path)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
