"""El cuaderno, `course check` y `course grade` dan el mismo veredicto con las mismas entradas."""

import json
from dataclasses import replace

import pytest

from course_lib.grading.sandbox import grader as grader_module
from course_lib.grading.self_check import check_notebook
from course_lib.grading.submission import (
    exercises_folder,
    needed_cells,
    read_submission,
    topic_sheet,
)
from course_lib.judging.check import NOTEBOOK_SEED, check_exercise, topic_exercises
from course_lib.judging.credit import earned_parts
from course_lib.judging.running import draw_cases, run_cases
from tests.grading.sandbox.hostile.cases import notebook
from tests.grading.sandbox.test_remote import remote

TOPICS = sorted(path.stem for path in exercises_folder().glob("*.ipynb"))
every_topic = pytest.mark.parametrize("topic", TOPICS)


def exercises_of(topic):
    return topic_exercises(topic)


# Un cuaderno con de todo: aciertos, errores, códigos que se detienen y respuestas sin escribir

FAULTS = (
    "",
    "{name}_right = {name}\ndef {name}(*inputs):\n    {name}_right(*inputs)",
    "def {name}(*inputs):\n    return inputs[99]",
    "def {name}(*inputs):\n    raise NotImplementedError",
    "{name}_right = {name}\ndef {name}(*inputs):\n    return [{name}_right(*inputs)]",
    "{name}_right, {name}_calls = {name}, []\n"
    "def {name}(*inputs):\n"
    "    {name}_calls.append(1)\n"
    "    if len({name}_calls) < 2:\n"
    "        return {name}_right(*inputs)\n"
    "    raise NotImplementedError(\n"
    "        'lo demás'\n"
    "    )",
)
ANSWERS = ("", "{name} = 'nada de esto'", "{name} = ...", "{name} = None", "{name} = [...]")
MISTAKES = {
    "attention.soft_argmax": "def soft_argmax(scores, beta):\n"
    "    return torch.softmax(scores, dim=-1)",
    "attention.decoding_step": "def decoding_step(state, encoder_states):\n"
    "    weights = torch.softmax((encoder_states @ state[..., None])[..., 0], dim=-1)\n"
    "    return weights, encoder_states.mean(dim=1)",
    "key_value_store.top_k": "def update_top_k(scores, indices, Q, K_chunk, start, k):\n"
    "    scores = torch.cat([scores, Q @ K_chunk.T], dim=-1)\n"
    "    scores, kept = scores.topk(min(k, scores.shape[-1]))\n"
    "    rows = torch.arange(start, start + len(K_chunk)).expand(len(Q), -1)\n"
    "    return scores, torch.cat([indices, rows], dim=-1).gather(-1, kept)",
    "key_value_store.stacked_projection": "def stacked_projection(project, W_q, W_k, W_v):\n"
    "    return project(W_q), project(W_k), project(W_v)",
    "text_classifier.binary_cross_entropy": "def loss(z, y):\n"
    "    p = torch.sigmoid(z)\n"
    "    return -(y * p.log() + (1 - y) * (1 - p).log()).mean()",
    "transformer_xl.memory_bug": "def update_memory(states, memory, memory_length):\n"
    "    return torch.cat([memory, states], dim=1).detach()[:, :memory_length]",
    "translator.label_smoothing": "def smoothed_loss(logits, targets, epsilon, pad_id):\n"
    "    counted = targets != pad_id\n"
    "    log_p = torch.log_softmax(logits[counted], dim=-1)\n"
    "    return -log_p.gather(-1, targets[counted][:, None]).mean()",
    "universal_transformer.active_only": "def update_active(state, active, block):\n"
    "    new = state.clone()\n"
    "    for row, who in enumerate(active):\n"
    "        new[row, who] = block(state[row, who], new[row])\n"
    "    return new",
}
SHORTCUTS = {
    "self_attention.context": "from course_lib.primitives.attention import attention as ready\n"
    "def context(i, X, W_q, W_k, W_v):\n"
    "    return ready(X @ W_q, X @ W_k, X @ W_v)[i]",
    "key_value_store.look_up_all": "ready = torch.nn.functional.scaled_dot_product_attention\n"
    "def look_up_all(Q, K, V):\n"
    "    return ready(Q, K, V), None",
    "tokenization.cosine": "def cosine(X, Y):\n"
    "    return torch.nn.CosineSimilarity(dim=-1)(X[:, None], Y)",
    "transformer.encoder_block": "layer = torch.nn.MultiheadAttention(4, 2, batch_first=True)\n"
    "def encoder_block(X, positions, parameters, num_heads, mask):\n"
    "    return layer(*[X[..., :4]] * 3)[0]",
    "universal_transformer.adaptive_loop": "from course_lib.layers import AdaptiveComputation\n"
    "def adaptive(x, block, halting, max_steps, epsilon):\n"
    "    return AdaptiveComputation(x.shape[-1], max_steps, epsilon=epsilon)",
}
"""Lo que es la respuesta: de la biblioteca, una operación de torch, una capa suya y una clase."""


def mixed_notebook(topic):
    """La solución del tema; después, un fallo distinto en cada ejercicio, y su comprobación."""
    path = exercises_folder().parent / "solutions" / f"{topic}.ipynb"
    solution, sheet = read_submission(path), topic_sheet(topic)
    cells = [solution.cells[i] for i in needed_cells(solution, sheet)]
    cells.append("import torch\ntorch.set_grad_enabled(False)  # al juzgar no se nota")
    for number, exercise in enumerate(exercises_of(topic)):
        kinds = ANSWERS if exercise.is_question else FAULTS
        name = sheet.names[exercise.name]
        fault = kinds[number % len(kinds)].format(name=name)
        cells.append({**MISTAKES, **SHORTCUTS}.get(exercise.name, fault))
        cells.append(f'check("{exercise.name}", {name})')
    return json.dumps(notebook([cell for cell in cells if cell]))


def told(verdict):
    fields = ("exercise", "status", "points", "max_points", "message", "misconceptions", "earned")
    return tuple(getattr(verdict, field) for field in fields)


@every_topic
def test_a_notebook_is_judged_the_same_in_the_terminal_and_by_the_grader(
    topic, grader, tmp_path, monkeypatch
):
    monkeypatch.setattr(grader_module, "seed_for", lambda submission, seed: seed)
    path = tmp_path / f"{topic}.ipynb"
    path.write_text(mixed_notebook(topic), encoding="utf-8")
    here = {row.exercise: told(row) for row in check_notebook(path).rows}
    there = {e.exercise: told(e) for e in grader.grade(path, NOTEBOOK_SEED).exercises}
    assert here == there
    assert len({status for _, status, *_ in here.values()}) >= 3, "una muestra de poco"
    mistakes = [name for name in MISTAKES if name.startswith(f"{topic}.")]
    assert all(here[name][1] == "wrong" and here[name][5] for name in mistakes), here
    ready = [here[name] for name in SHORTCUTS if name.startswith(f"{topic}.")]
    assert all(not row[2] and "es la respuesta de este ejercicio" in row[4] for row in ready), ready


# Los errores frecuentes, aquí y en otro proceso


def some_misconceptions(exercise):
    """El primero, el último, uno que se detiene y uno que gana puntos, si los hay."""
    known = exercise.misconceptions
    chosen = [known[0], known[-1], *[m for m in known if m.raises][:1]]
    if exercise.partial:
        cases = draw_cases(exercise, NOTEBOOK_SEED)
        right = run_cases(exercise, exercise.reference, cases)
        for misconception in known:
            out = run_cases(exercise, misconception.implementation, cases)
            if earned_parts(exercise, cases, out, right):
                chosen.append(misconception)
                break
    return list({m.name: m for m in chosen}.values())


@every_topic
@pytest.mark.usefixtures("as_user")
def test_a_misconception_is_judged_the_same_from_another_process(topic):
    exercises = [e for e in exercises_of(topic) if not e.is_question]
    few = [replace(e, misconceptions=some_misconceptions(e)) for e in exercises]
    tried = [(e, m) for e in few for m in e.misconceptions]
    functions = {f"{e.name} {m.name}": m.implementation for e, m in tried}
    with remote(**functions) as (peer, *proxies):
        for (exercise, misconception), proxy in zip(tried, proxies, strict=True):
            here = check_exercise(exercise, misconception.implementation)
            peer.forget()
            assert told(check_exercise(exercise, proxy)) == told(here), misconception.name
            assert here.misconceptions == (misconception.name,)
