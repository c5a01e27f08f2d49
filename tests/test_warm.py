"""Los procesos que nacen con torch importado son, en lo demás, como los otros."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import nbformat
import psutil
import pytest
from nbclient import NotebookClient

from book._ext import warm

pytestmark = [
    pytest.mark.usefixtures("warm_processes"),
    pytest.mark.skipif(sys.platform != "linux", reason="solo en Linux nacen así"),
]


def run(code, *words, **options):
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_torch_is_there_and_the_library_is_not():
    code = "import sys; print([name in sys.modules for name in ('torch', 'course_lib')])"
    assert run(code).stdout == "[True, False]\n"


def test_a_kernel_shows_its_figures_and_who_asks_for_another_backend_has_it():
    cells = [
        "import sys\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);",
        "plt.get_backend(), 'torch' in sys.modules",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook).execute()
    drawn, backend = (cell.outputs[0].data for cell in notebook.cells)
    assert "image/png" in drawn and backend["text/plain"] == f"('{warm.INLINE}', True)"
    code = "import sys, matplotlib; print(matplotlib.get_backend(), 'torch' in sys.modules)"
    assert run(code, env=os.environ | {"MPLBACKEND": "pdf"}).stdout == "pdf False\n"


def test_whoever_leaves_the_environment_as_it_was_finds_it_again(monkeypatch):
    code = "import sys; print('torch' in sys.modules)"
    assert run(code).stdout == "True\n"
    monkeypatch.delenv(warm.ADDRESS.format(seed="random"))
    assert run(code).stdout == "True\n"


@pytest.mark.parametrize("part", ["nada", "el principio", "medio encargo", "todo"])
def test_whoever_dies_while_asking_leaves_it_alive(part):
    """Como `kill -9` en cualquier momento: lo que se le respondía queda sin leer."""
    address = warm._address(dict(os.environ))
    order = {"run": ["-c", "input()"], "cwd": "/", "env": dict(os.environ)}
    told = json.dumps(order).encode()
    for _ in range(20):
        with socket.socket(socket.AF_UNIX) as asking, Path(os.devnull).open() as nothing:
            asking.connect(address)
            if part != "nada":
                ends = [nothing.fileno()] * 3
                socket.send_fds(asking, [len(told).to_bytes(8, "big")], ends)
            if part in ("medio encargo", "todo"):
                asking.sendall(told[: len(told) // (1 if part == "todo" else 2)])
    assert run("import sys; print('torch' in sys.modules)").stdout == "True\n"


def test_without_it_a_process_starts_as_always(monkeypatch):
    monkeypatch.setattr(warm, "_address", lambda env: "\0course-warm-nobody")
    assert run("import sys; print('torch' in sys.modules)").stdout == "False\n"


def test_it_reads_writes_and_ends_as_any_other(tmp_path):
    code = "import os, sys; print(os.getcwd(), sys.argv[1:], input(), os.environ['WORD'])\n"
    code += "print('mal', file=sys.stderr); sys.exit(3)"
    done = run(code, "a", "b", cwd=tmp_path, input="dicho", env=warm.os.environ | {"WORD": "x"})
    assert (done.returncode, done.stderr) == (3, "mal\n")
    assert done.stdout == f"{tmp_path} ['a', 'b'] dicho x\n"
    assert "ZeroDivisionError" in run("1 / 0").stderr and run("1 / 0").returncode == 1


def test_it_ends_with_whoever_opened_it():
    code = "import time; print('listo', flush=True); time.sleep(120)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"listo\n" and process.poll() is None
        born = psutil.Process(process.pid)
        process.kill()
        assert process.wait() == -9 and not born.is_running()
    opens = f"import subprocess, sys, os\nsubprocess.Popen({[sys.executable, '-c', code]!r})"
    with subprocess.Popen([sys.executable, "-c", f"{opens}\nos._exit(0)"], stdout=-1) as process:
        said, _ = process.communicate(timeout=60)  # su hijo, que tenía la salida, terminó
        assert b"listo\n".startswith(said), said


def test_they_die_with_whoever_keeps_the_one_they_were_born_from():
    """Quien construye el libro muere de golpe, y ninguno de sus núcleos se queda trabajando."""
    opens = """\
import os, signal, subprocess, sys
from book._ext import warm
born = warm.Popen([sys.executable, "-c", "import time; time.sleep(120)"], stdout=-3)
print(born.pid if born._connection else "", flush=True)
os.kill(os.getpid(), signal.SIGKILL)"""
    env = {k: v for k, v in os.environ.items() if not k.startswith(warm.ADDRESS.format(seed=""))}
    command = [sys.executable, "-X", "utf8", "-c", opens]  # con otra opción, nace como siempre
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=env, check=False).stdout
    with contextlib.suppress(psutil.NoSuchProcess):
        psutil.Process(int(said)).wait(timeout=60)
    assert not psutil.pid_exists(int(said))


def test_what_follows_the_program_is_its_own():
    assert run("import sys; print(sys.argv[1:])", "-u", "a").stdout == "['-u', 'a']\n"


def answer_to(user):
    """Lo que se contesta a un encargo de ese usuario; hacerse pasar por otro solo puede root."""
    told = json.dumps({"run": ["-c", "pass"], "cwd": "/", "env": dict(os.environ)}).encode()
    with socket.socket(socket.AF_UNIX) as asking, Path(os.devnull).open() as nothing:
        asking.settimeout(30)
        before = os.geteuid()
        os.seteuid(user)
        try:
            asking.connect(warm._address(dict(os.environ)))
        finally:
            os.seteuid(before)
        with contextlib.suppress(ConnectionError):
            socket.send_fds(asking, [len(told).to_bytes(8, "big")], [nothing.fileno()] * 3)
            asking.sendall(told)
            return asking.recv(16)
    return b""


def test_another_user_is_not_listened_to_nor_told_anything(monkeypatch):
    assert int(answer_to(os.geteuid())) > 0
    if os.getuid() == 0:
        assert answer_to(65534) == b""
    monkeypatch.setattr(warm, "_user_of", lambda connection: 65534)
    assert run("import sys; print('torch' in sys.modules)").stdout == "False\n"
