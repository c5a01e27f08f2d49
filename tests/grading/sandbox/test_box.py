"""La caja: qué se ve dentro, qué se puede gastar y qué queda después."""

import errno
import os
from dataclasses import replace

import pytest

from course_lib.grading.sandbox import box as sandbox
from course_lib.grading.sandbox import box_root
from course_lib.grading.sandbox.box import Limits, Sandbox, SandboxError, join, why_unavailable

pytestmark = pytest.mark.usefixtures("sandbox_here")
LIMITS = Limits()


TELL = "import os\ndef tell(text): os.write(TOLD, str(text).encode())\n"


def inside(code, limits=LIMITS, private=()):
    """Lo que escribe ese código, ejecutado en una caja por su propio intérprete."""
    reading, writing = os.pipe()
    with Sandbox(None, limits, private) as box:
        namespaces = box.namespaces()
        child = os.fork()
        if child == 0:
            try:
                join(namespaces, box.user, limits)
                os.set_inheritable(writing, True)
                whole = TELL.replace("TOLD", str(writing)) + code
                command = [box_root.INTERPRETER, "-I", "-S", "-c", whole]
                os.execve(command[0], command, box_root.environment())
            except BaseException as error:
                os.write(writing, repr(error).encode())
            os._exit(0)
        for descriptor in (writing, *namespaces):
            os.close(descriptor)
        with os.fdopen(reading) as answer:
            told = answer.read()
        os.waitpid(child, 0)
    return told


def test_there_is_no_privilege_left():
    told = inside("import os; tell(os.getuid()); tell(open('/proc/self/status').read())")
    assert told[0] != "0" and "CapEff:\t0000000000000000" in told and "NoNewPrivs:\t1" in told


@pytest.mark.parametrize("user", [0, 1000])
def test_the_disk_is_the_system_and_python_and_nothing_can_be_written_there(user, monkeypatch):
    if os.getuid() == 0:  # lo que monta para un usuario corriente
        monkeypatch.setattr(sandbox.os, "getuid", lambda: user)
    told = inside("""
import os
tell(sorted(os.listdir("/")))
python = os.path.dirname(os.__file__)
for folder in ("/", "/usr", "/dev", "/dev/shm", "/course", "/root", "/home", python):
    try: open(folder + "/x", "w"); tell("WROTE " + folder)
    except OSError: pass
open("/tmp/x", "w"); open("/home/student/x", "w"); tell("ok")
""")
    assert told.endswith("ok") and "WROTE" not in told
    assert "'etc'" not in told and "'var'" not in told


def test_what_is_written_is_bounded():
    limits = replace(LIMITS, file_size=1 << 20)
    code = """
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    open('/tmp/x', 'wb').write(b'x' * (2 << 20))
    tell('all')
except OSError: tell('no')
"""
    assert inside(code, limits) == "no"


def test_processes_are_bounded_for_root_and_for_users():
    code = """
import os, time
n = 0
try:
    for n in range(100):
        if os.fork() == 0: time.sleep(100); os._exit(0)
except OSError: tell(n < 20); os.kill(-1, 9)
"""
    assert inside(code, replace(LIMITS, processes=10)) == "True"


def test_closing_ends_every_process():
    reading, writing = os.pipe()
    with Sandbox(None, LIMITS) as box:
        namespaces = box.namespaces()
        if os.fork() == 0:
            join(namespaces, box.user, LIMITS)
            if os.fork() == 0:
                os.setsid()
            os.write(writing, b"x")
            while True:
                pass
        os.close(writing)
        assert os.read(reading, 2)
    while os.read(reading, 10):  # termina cuando nadie tiene el otro extremo
        pass
    os.close(reading)


def test_memory_counts_every_process_of_the_box():
    with Sandbox(None, LIMITS) as box:
        assert 0 < box.usage().memory < 64 << 20


REFUSED = {
    "memoria sin proceso": "os.memfd_create('x')",
    "memoria compartida sin proceso": "ok(libc.shmget(0, 4096, 0o1600))",
    "memoria compartida sin archivo": "mmap.mmap(-1, 4096)",
    "memoria compartida de un dispositivo": "mmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096)",
    "mensajes sin proceso": "ok(libc.msgget(0, 0o1600))",
    "el llavero": "ok(libc.syscall(250 if x86 else 219, 0, -3, 1))",
    "un espacio de usuarios": "ok(libc.unshare(0x10000000))",
    "un proceso en otro espacio": "ok(libc.syscall(56 if x86 else 220, 0x10000011, 0, 0, 0, 0))",
    "clone3, que no se ve por dentro": "ok(libc.syscall(435, 0, 0))",
    "un socket de otra familia": "socket.socket(40, socket.SOCK_STREAM)",
    "io_uring": "ok(libc.syscall(425, 4, ctypes.create_string_buffer(256)))",
    "los números de x32": "ok(libc.syscall(0x40000000 | 39))",
}
PRELUDE = """
import ctypes, mmap, os, platform, socket, subprocess, threading
x86, libc = platform.machine() == "x86_64", ctypes.CDLL(None, use_errno=True)
def ok(result):
    if result < 0: raise OSError(ctypes.get_errno(), "")
"""


@pytest.mark.parametrize("what", REFUSED)
def test_what_no_limit_counts_cannot_be_asked_of_the_kernel(what):
    told = inside(f"{PRELUDE}\ntry: {REFUSED[what]}\nexcept OSError as e: tell(e.errno)")
    refusals = errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT, errno.ENODEV
    assert told in {str(number) for number in refusals}


def test_what_an_honest_notebook_asks_is_allowed():
    told = inside(f"""{PRELUDE}
thread = threading.Thread(target=tell, args=("hilo ",))
thread.start()
thread.join()
tell(subprocess.run(["/bin/echo", "proceso"], capture_output=True).stdout.decode())
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6): socket.socket(family).close()
mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
tell(len(os.pipe()))
""")
    assert told == "hilo proceso\n2"


@pytest.mark.parametrize(
    ("platform", "command", "says"),
    [("darwin", "/usr/bin/bwrap", "Linux"), ("linux", None, "apt-get install bubblewrap")],
)
def test_without_a_sandbox_it_says_what_is_missing(platform, command, says, monkeypatch):
    monkeypatch.setattr(sandbox.sys, "platform", platform)
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: command)
    assert says in why_unavailable()


def test_without_libseccomp_it_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(sandbox.syscalls, "pyseccomp", None)
    assert "libseccomp2" in why_unavailable()


def test_with_an_old_libseccomp_it_says_to_update_it(monkeypatch):
    monkeypatch.setattr(sandbox.syscalls, "_REFUSED", ("a_call_of_the_future",))
    assert "actualízala" in why_unavailable()


def test_a_box_that_cannot_be_built_says_why(tmp_path, monkeypatch):
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: str(broken))
    with pytest.raises(SandboxError, match="No permissions to create new namespace"):
        Sandbox(None, LIMITS)
