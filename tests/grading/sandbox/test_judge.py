"""El juez: lo que contesta una entrega solo gasta lo suyo, y no detiene a quien lo supervisa."""

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import pytest

from course_lib.grading.sandbox import grader as grader_module
from course_lib.grading.sandbox import judge as judge_module
from course_lib.grading.sandbox.box import Limits
from course_lib.grading.sandbox.judge import MOST_TOLD, HeavyAnswerError, Slate, heavy_is_told
from tests.grading.sandbox.hostile.cases import HARD, IMPORTS, SOFT, TIES, WRONG, notebook

SHORT = ("attention.soft_argmax", "attention.hard_argmax", "attention.read_plot")


def content(*cells):
    return json.dumps(notebook([IMPORTS, *cells])).encode()


ANSWERS = content(SOFT, HARD, TIES)


def points(result):
    found = {e.exercise: e for e in result.exercises}
    return [found[name].points for name in SHORT]


def told(result, name=SHORT[0]):
    return next(e.message for e in result.exercises if e.exercise == name)


@pytest.fixture(scope="module")
def limits():
    return Limits(call_seconds=6.0, cell_seconds=6.0, total_seconds=60.0)


@pytest.fixture(scope="module")
def grader(grader):
    for _ in range(2):  # la segunda, con el tema ya leído
        assert points(grader.grade(ANSWERS, 5)) == [1, 1, 1]
    return grader


# Las peores respuestas: cada una, lo más que se puede decir en un mensaje

RAW = """
import json, os, socket, struct, sys
from course_lib.grading.sandbox import remote, wire
send_as_always = wire.Channel.send
def raw(text, body=b""):
    def send(self, header, tensors=None):
        wire.Channel.send = send_as_always
        data = memoryview(struct.pack(">II", len(text), len(body)) + text + body)
        while data:
            try: data = data[self._socket.send(data):]
            except BlockingIOError: pass
    wire.Channel.send = send
def tree(value):
    raw(json.dumps({"op": "result", "value": value}).encode())
def tensors(header, data=b""):
    text = json.dumps(header).encode()
    raw(json.dumps({"op": "result", "value": ["T", 0]}).encode(),
        struct.pack("<Q", len(text)) + text + data)
def entry(dtype, shape, start, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
def soft_argmax(scores, beta):
    REPLY
"""
WORST = {
    "una caja de cajas vacías": "raw(b'{\"a\": [' + b'{},' * 1_390_000 + b'{}]}')",
    "listas hasta el fondo": "raw(b'[' * 4_000_000)",
    "una cabecera que es un número de cuatro millones de cifras": "raw(b'9' * 4_000_000)",
    "doscientos mil enteros": "tree(['l', [['i', '7']] * 199_000])",
    "cuatro mil enteros de mil cifras": "tree(['l', [['i', '9' * 1000]] * 4000])",
    "un texto de cuatro megas de acentos": "raw(json.dumps({'op': 'result', 'value':"
    " '\\u0301' * 1_900_000}, ensure_ascii=False).encode())",
    "dos mil claves de texto enormes": "tree(['d', [[str(i) * 300, None] for i in range(1900)]])",
    "un millón de elementos de 8 octetos": "tensors({'0': entry('F64', [1024, 1024], 0, 1 << 23)},"
    " bytes(1 << 23))",
    "64 megas de ceros": "tensors({'0': entry('U8', [(1 << 26) - 200], 0, (1 << 26) - 200)},"
    " bytes((1 << 26) - 200))",
    "quince mil tensores vacíos": "tensors({str(i): entry('U8', [0], 0, 0)"
    " for i in range(15_000)})",
    "una forma que no cabe en ningún sitio": "tensors({'0': entry('F32', [2**62, 0], 0, 0)})",
    "dos tensores en los mismos octetos": "tensors({'0': entry('F32', [4], 0, 16),"
    " '1': entry('F32', [4], 0, 16)}, bytes(16))",
    "treinta y tres ejes": "tensors({'0': entry('F32', [1] * 33, 0, 4)}, bytes(4))",
    "las entradas, cambiadas por listas enormes": "raw(json.dumps({'op': 'result', 'value': None,"
    " 'changed': ['l', [['l', [['i', '7']] * 190_000]]]}).encode())",
    "un error con campos que no son texto": "raw(json.dumps({'op': 'error', 'kind': [[]] * 900_000,"
    " 'message': {}, 'line': 3}).encode())",
    "peticiones sin fin": "while True: raw(json.dumps({'op': 'call', 'target': 0,"
    " 'args': ['l', [['l', []], ['d', []]]]}).encode()); remote.Channel.send(PEER, {})",
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_replies_cost_the_judge_its_part_and_the_supervisor_nothing(
    name, grader, monkeypatch
):
    spent = []
    wait = judge_module._wait

    def measured(*arguments):
        status, usage, stuck = wait(*arguments)
        spent.append(usage)
        return status, usage, stuck

    monkeypatch.setattr(judge_module, "_wait", measured)
    before = resource.getrusage(resource.RUSAGE_SELF)
    peer = "import gc\nPEER = next(o for o in gc.get_objects() if type(o).__name__ == 'Channel')"
    code = peer + RAW.replace("REPLY", WORST[name])
    result = grader.grade(content(HARD, TIES, code), 5)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert points(result) == [0, 1, 1], result
    grown = (after.ru_maxrss - before.ru_maxrss) << 10
    print(f"{name}: supervisor +{grown >> 20} MiB; juez {[u.ru_maxrss >> 10 for u in spent]} MiB")
    assert grown < 20 << 20, "el supervisor leyó algo que no es de tamaño fijo"
    assert after.ru_utime - before.ru_utime < 1.0
    assert all(u.ru_maxrss << 10 < (before.ru_maxrss << 10) + judge_module.MEMORY for u in spent)
    assert all(u.ru_utime < judge_module.CPU_SECONDS for u in spent)


# Un juez que no puede con lo que mira


@pytest.fixture
def judging(monkeypatch):
    """Hace algo, en el juez, en lugar de comparar la primera respuesta; cuenta cuántos jueces."""
    judge = grader_module.first_verdict
    judges = []
    run = grader_module.run_judge

    def counted(*arguments):
        judges.append(run(*arguments))
        return judges[-1]

    def set_to(act):
        def first_verdict(exercise, student, *, seed):
            if exercise.name == SHORT[0]:
                act()
            return judge(exercise, student, seed=seed)

        monkeypatch.setattr(grader_module, "first_verdict", first_verdict)
        monkeypatch.setattr(grader_module, "run_judge", counted)
        return judges

    return set_to


def test_memory_has_a_limit_and_its_owner_is_told(judging, grader):
    judges = judging(lambda: bytearray(judge_module.MEMORY + (64 << 20)))
    result = grader.grade(ANSWERS, 5)
    assert points(result) == [0, 1, 1]
    assert "tu código contestó algo que pide demasiada memoria" in told(result)
    assert len(judges) == 1, "se recupera sin otro juez"


@pytest.mark.skipif(sys.platform != "linux", reason="en otros sistemas no hay límite de memoria")
def test_what_torch_asks_for_counts_too(judging, grader):
    import torch

    judging(lambda: torch.zeros(1 << 29))
    result = grader.grade(ANSWERS, 5)
    assert points(result) == [0, 1, 1] and "demasiada memoria" in told(result)


def test_other_failures_are_not_memory():
    with pytest.raises(RuntimeError, match="otra"), heavy_is_told():
        raise RuntimeError("otra cosa")
    with pytest.raises(HeavyAnswerError), heavy_is_told():
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9")


def _endless():
    while True:
        pass


def test_a_comparison_without_end_is_cut_and_charged_to_its_owner(judging, grader, monkeypatch):
    monkeypatch.setattr(judge_module, "CPU_SECONDS", 1)
    judges = judging(_endless)
    start = time.monotonic()
    result = grader.grade(ANSWERS, 5)
    assert points(result) == [0, 1, 1]
    assert "tu código contestó algo que se tarda demasiado en leer o en comparar" in told(result)
    assert [(end.killed, end.slow) for end in judges] == [(True, True), (False, False)]
    assert judges[0].cpu > 0.9 and result.seconds > 0.9 and time.monotonic() - start < 60


def test_what_it_costs_comes_from_its_own_time(judging, grader, monkeypatch):
    """Con los segundos gastados, a las demás respuestas no les queda ninguno."""
    monkeypatch.setattr(judge_module, "CPU_SECONDS", 1)
    monkeypatch.setattr(grader, "limits", Limits(total_seconds=0.7))
    judging(_endless)
    result = grader.grade(ANSWERS, 5)
    assert result.status == "graded" and result.points == 0
    assert "tardó demasiadas veces" in told(result, SHORT[1])


@pytest.mark.parametrize(("times", "expected"), [(1, [1, 1, 1]), (2, [0, 1, 1])])
def test_a_judge_that_dies_is_replaced_once_for_each_thing(
    times, expected, judging, grader, tmp_path
):
    """Al de un inocente lo puede matar el núcleo por falta de memoria; dos veces, no."""
    deaths = tmp_path / "deaths"

    def die():
        if not deaths.exists() or len(deaths.read_bytes()) < times:
            with deaths.open("ab") as file:
                file.write(b".")
            os.kill(os.getpid(), signal.SIGKILL)

    judges = judging(die)
    boxes = len(list(_children(grader._template.pid)))
    result = grader.grade(ANSWERS, 5)
    assert points(result) == expected and len(judges) == times + 1
    limit = time.monotonic() + 30
    while len(list(_children(grader._template.pid))) > boxes:
        assert time.monotonic() < limit, "queda la caja de un juez muerto"
        time.sleep(0.05)


def _children(pid):
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield child
        yield from _children(int(child))


def test_a_judge_that_never_ends_is_killed(judging, grader, monkeypatch):
    judges = judging(lambda: time.sleep(1000))
    monkeypatch.setattr(grader, "_patience", lambda: 1.0)
    result = grader.grade(ANSWERS, 5)
    assert result.status == "failed" and "repite la orden" in result.message
    assert [end.stuck for end in judges] == [True]


def test_a_file_that_kills_its_judges_is_not_read(grader, monkeypatch):
    def read(content):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(grader_module, "read_submission", read)
    result = grader.grade(ANSWERS, 5)
    assert result.status == "unreadable" and "demasiada memoria" in result.message


def test_a_file_that_does_not_fit_in_memory_is_not_read(grader):
    def read(progress):
        raise MemoryError

    result = grader.apart(read)
    assert result.status == "unreadable" and "demasiada memoria" in result.message


def test_an_interruption_leaves_no_judge(grader, monkeypatch):
    monkeypatch.setattr(judge_module.time, "sleep", lambda seconds: _interrupt())
    before = set(_children(os.getpid()))
    with pytest.raises(KeyboardInterrupt):
        grader.grade(ANSWERS, 5)
    assert set(_children(os.getpid())) <= before


def _interrupt():
    raise KeyboardInterrupt


def test_what_a_judge_says_has_a_fixed_size():
    with Slate() as slate:
        assert slate.read() == {}
        slate.write({"a": "ñ\ud800"})
        slate.write({"a": 2})
        with pytest.raises(ValueError, match="caben"):
            slate.write({"a": "x" * MOST_TOLD})
        assert slate.read() == {"a": 2}, "lo que no cabe no estropea lo anterior"
        slate.write({"a": 3})
        assert slate.read() == {"a": 3}


def test_the_judge_is_not_the_supervisor(grader, monkeypatch, tmp_path):
    """Lo que un juez cambia se va con él."""
    seen = tmp_path / "pid"
    read = grader_module.read_submission

    def reading(content):
        seen.write_text(str(os.getpid()))
        return read(content)

    monkeypatch.setattr(grader_module, "read_submission", reading)
    assert points(grader.grade(content(WRONG, HARD, TIES), 5)) == [0, 1, 1]
    assert int(seen.read_text()) != os.getpid()
