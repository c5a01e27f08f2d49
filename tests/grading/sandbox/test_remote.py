"""Llamar a funciones de otro proceso da lo mismo que llamarlas aquí."""

import contextlib
import json
import multiprocessing
import socket
import time

import pytest
import torch

from course_lib.grading.sandbox.remote import MAX_CALLBACKS, Peer, RemoteFunction
from course_lib.grading.sandbox.told_errors import ErrorFilter
from course_lib.grading.sandbox.wire import (
    Channel,
    ChannelClosedError,
    DeadlineError,
    ProtocolError,
    Unsupported,
    _tensors,
    decode,
    encode,
)
from course_lib.judging.check import check_exercise, topic_exercises
from course_lib.judging.running import RemoteError, quiet_and_seeded


def _serve(connection, functions):
    channel = Channel(connection)
    peer = Peer(channel, trusted=False, find=functions.__getitem__, around=quiet_and_seeded)
    with contextlib.suppress(ChannelClosedError):
        while True:
            peer.serve(*channel.receive())


@contextlib.contextmanager
def remote(**functions):
    """Da el representante de cada función, que corre en un proceso hijo, y la conversación."""
    ours, theirs = socket.socketpair()
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_serve, args=(theirs, functions), daemon=True)
    process.start()
    theirs.close()
    peer = Peer(Channel(ours), trusted=True, seconds=60.0)
    try:
        yield peer, *(RemoteFunction(peer, name) for name in functions)
    finally:
        ours.close()
        process.kill()
        process.join()


# Valores


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -(10**30),
        0.1,
        float("inf"),
        "año\ud800",
        [1, (2.5, "x")],
        {"a": [], 3: ()},
        ...,
    ],
)
def test_a_plain_value_arrives_as_it_was(value):
    tensors = []
    arrived = decode(encode(value, tensors), tensors)
    assert arrived == value and type(arrived) is type(value)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.bool, torch.int64]
)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_a_tensor_arrives_with_its_shape_dtype_and_values(dtype, shape):
    sent = torch.ones(shape, dtype=dtype).mul(0.5).to(dtype)
    with remote(same=lambda x: x) as (_, same):
        arrived = same(sent)
    assert arrived.dtype == dtype and torch.equal(arrived, sent)


@pytest.mark.parametrize(
    "tree",
    [
        3,
        ["x", 1],
        ["T", 5],
        ["T", -1],
        ["T", True],
        ["F", 0],
        ["i", "x"],
        ["i", "9" * 5000],
        ["f", "1" * 50],
        ["d", [[1]]],
        ["d", [[["l", []], None]]],
        ["d", [[["i", str(2**61 - 1)], None]]],
        ["d", [[f"{i}", None] for i in range(2001)]],
        ["l", [["d", [[f"{i}", None] for i in range(1500)]]] * 2],
        ["l", 3],
        [["l"], []],
        {"a": 1},
    ],
)
def test_a_malformed_value_is_refused(tree):
    with pytest.raises(ProtocolError):
        decode(tree, [])


def test_a_deep_value_is_refused():
    tree = None
    for _ in range(40):
        tree = ["l", [tree]]
    with pytest.raises(ProtocolError, match="niveles"):
        decode(tree, [])


@pytest.mark.parametrize(
    "sent",
    [b"\xff" * 64, b"\0\0\0\2\0\0\0\0[]", b"\0\0\0\2\0\0\0\3{}abc", b"\0\0\0\1\0\0\0\0{"],
    ids=["tamaños enormes", "no es un objeto", "no es safetensors", "no es JSON"],
)
def test_bytes_that_are_not_a_message_are_refused(sent):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(sent)
        with pytest.raises(ProtocolError):
            Channel(ours).receive()


def test_a_tensor_named_many_times_is_refused():
    tensors = [torch.zeros(1), torch.ones(1)]
    assert decode(["l", [["T", 1], ["T", 0]]], tensors) == [1.0, 0.0]
    with pytest.raises(ProtocolError):
        decode(["l", [["T", 0], ["T", 0]]], tensors)


def test_thousands_of_empty_tensors_and_of_axes_are_refused():
    many = {str(i): {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for i in range(20_000)}
    deep = {"0": {"dtype": "F32", "shape": [0] * 60, "data_offsets": [0, 0]}}
    for listed, reason in ((many, "demasiados tensores"), (deep, "ejes")):
        text = json.dumps(listed).encode()
        body = len(text).to_bytes(8, "little") + text
        with pytest.raises(ProtocolError, match=reason):
            _tensors(body)


def test_who_sends_without_pause_does_not_stop_the_clock():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\0\0\0\2\0\0\0\0{}" * 2)
        watched = []
        channel = Channel(ours, lambda: watched.append(1))
        assert channel.receive() == ({}, []) and watched
        channel.deadline = time.monotonic() - 1
        with pytest.raises(DeadlineError):
            channel.receive()


def test_the_time_of_all_the_calls_has_an_end():
    with remote(answer=lambda: 1) as (peer, answer):
        peer.until = time.monotonic() + 60
        assert answer() == 1
        peer.until = time.monotonic() - 1
        with pytest.raises(DeadlineError):
            answer()


def test_an_object_crosses_only_as_a_name_for_it():
    with remote(make=object) as (_, make):
        assert make() == Unsupported("un objeto de tipo object")


def test_a_late_answer_and_a_dead_process_are_not_the_students_exceptions():
    import os

    with remote(leave=os._exit) as (_, leave), pytest.raises(ChannelClosedError):
        leave(0)
    with remote(sleep=time.sleep) as (peer, sleep):
        peer.seconds = 0.05
        with pytest.raises(DeadlineError):
            sleep(100)
    assert not issubclass(DeadlineError, Exception), "check la tomaría por un error del estudiante"


# Errores, cambios y funciones


def test_an_error_arrives_described_and_without_decimals():
    def fail(x):
        raise KeyError(f"forma {tuple(x.shape)}, valores {x.tolist()}")

    with remote(fail=fail) as (_, remote_fail), pytest.raises(RemoteError) as error:
        remote_fail(torch.tensor([0.123, 4.5]))
    failure = error.value.failure
    assert failure.kind == "KeyError" and "(2,)" in failure.message
    assert "123" not in failure.message, "el mensaje saca los valores de las entradas"


SAID = """
def f(scores, beta):
    value = scorse @ beta
    raise ValueError("secreto")
"""


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("name 'scorse' is not defined", True),
        ("name 'c2VjcmV0bw' is not defined", False),  # no está en su código
        ("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)", True),
        ("mat1 and mat2 shapes cannot be multiplied (3141592653x4 and 5x6)", False),
        ("f() missing 1 required positional argument: 'beta'", True),
        ("secreto", False),
        ("No such file or directory: '/home/ana/curso'", False),
        ("«f» es la respuesta de este ejercicio, y al calificar no está: escribe la tuya", True),
        (
            "«m0314» es la respuesta de este ejercicio, y al calificar no está: escribe la tuya",
            False,
        ),
        ("f() missing 3 required positional arguments: 'beta', 'm0314', and 'beta'", False),
        ("maximum recursion depth exceeded", True),
        ("maximum recursion depth exceeded 0314", False),
        ("shape '[2, 3]' is invalid for input of size 7", True),
        ("shape '[3141592653]' is invalid for input of size 7", False),
        ("'(' was never closed", True),
        ("invalid 0314", False),
    ],
)
def test_only_what_python_says_by_itself_is_repeated(message, told):
    assert ErrorFilter([SAID]).says(message) is told


def test_the_line_and_the_kind_are_those_of_the_code():
    errors = ErrorFilter([SAID])
    assert errors.line("línea 3: value = scorse @ beta") == "línea 3: value = scorse @ beta"
    assert errors.line("línea 3: c2VjcmV0bw==") == "línea 3"
    assert errors.line("c2VjcmV0bw==") == ""
    assert errors.kind("ValueError") == "ValueError"
    assert errors.kind("c2VjcmV0bw") == "Exception"


def test_the_tensors_of_an_answer_are_bounded():
    with (
        remote(big=lambda: torch.zeros(2000, 1000, dtype=torch.bool)) as (_, big),
        pytest.raises(ProtocolError, match="demasiado grandes"),
    ):
        big()


def test_what_the_function_changes_changes_here_too():
    def change(tensor, items, mapping):
        tensor.add_(1)
        items.append(3)
        mapping["new"] = items.pop(0)

    tensor, items, mapping = torch.zeros(2), [1, 2], {"old": 0}
    with remote(change=change) as (_, remote_change):
        remote_change(tensor, items, mapping)
    assert tensor.tolist() == [1, 1] and items == [2, 3] and mapping == {"old": 0, "new": 1}


def test_a_function_argument_is_computed_here():
    calls = []

    def here(x, *, scale):
        calls.append(x)
        return scale * x

    with remote(use=lambda f, x: f(f(x, scale=2), scale=3)) as (_, use):
        assert use(here, torch.ones(2)).tolist() == [6, 6]
    assert len(calls) == 2


def test_callbacks_are_bounded():
    with remote(
        big=lambda f: f(torch.zeros(50_000)),
        empty=lambda f: f(torch.zeros(10**9, 0)),
        many=lambda f: [f(0) for _ in range(10**9)],
        heavy=lambda f: [f(torch.zeros(5000)) for _ in range(10**9)],
    ) as (peer, big, empty, many, heavy):
        for too_big in (big, empty):
            with pytest.raises(RemoteError, match="demasiado grande"):
                too_big(lambda x: x)
        with pytest.raises(RemoteError, match="demasiadas veces"):
            heavy(lambda x: None)
        peer.forget()
        peer._served = MAX_CALLBACKS - 5
        with pytest.raises(RemoteError, match="demasiadas veces"):
            many(lambda x: x)


def test_a_function_that_was_not_given_cannot_be_called():
    def ask(f):
        f.target = 77
        return f(1)

    with remote(ask=ask) as (_, remote_ask), pytest.raises(ProtocolError):
        remote_ask(lambda x: x)


# El gradiente


def _gradients(function, f, x, W):
    x, W = x.clone().requires_grad_(), W.clone().requires_grad_()
    out = function(x.clone(), lambda z: torch.tanh(z @ W))
    return torch.autograd.grad((out * torch.arange(out.numel()).view_as(out)).sum(), [x, W])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, f: x + f(x),
        lambda x, f: f(f(x).sin()) * x,
        lambda x, f: f(x.detach()) + x,
        lambda x, f: f(x).detach() * x,
        lambda x, f: torch.stack([f(row) for row in x]),
        lambda x, f: x.mul_(2) + f(x.clone()),
    ],
    ids=[
        "residual",
        "dos veces",
        "sin gradiente de ida",
        "sin gradiente de vuelta",
        "filas",
        "escribe",
    ],
)
def test_gradients_cross_both_ways(function):
    x, W = torch.randn(3, 4, dtype=torch.float64), torch.randn(4, 4, dtype=torch.float64)

    def adapted(x, f):
        return function(x, f) + 0 * f(x)

    with remote(adapted=adapted) as (_, proxy):
        found = _gradients(proxy, None, x, W)
    expected = _gradients(adapted, None, x, W)
    for got, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-10)


# Los ejercicios del curso

_SPECIAL = [
    ("key_value_store", "stacked_projection"),
    ("key_value_store", "top_k"),  # lo que devuelve una llamada es la entrada de la siguiente
    ("self_attention", "equivariance"),
    ("transformer_xl", "memory_bug"),
    ("universal_transformer", "active_only"),  # el bloque guarda un tensor en que se escribe
    ("universal_transformer", "adaptive_loop"),
]


@pytest.mark.parametrize(("topic", "name"), _SPECIAL)
def test_an_exercise_is_judged_the_same_from_another_process(topic, name):
    (exercise,) = (e for e in topic_exercises(topic) if e.name == f"{topic}.{name}")
    functions = {m.name: m.implementation for m in exercise.misconceptions}
    with remote(reference=exercise.reference, **functions) as (peer, right, *wrong):
        assert check_exercise(exercise, right, seed=3).status == "correct"
        for misconception, proxy in zip(functions, wrong, strict=True):
            peer.forget()
            verdict = check_exercise(exercise, proxy, seed=3)
            assert verdict.misconceptions == (misconception,), f"{misconception}: {verdict}"
