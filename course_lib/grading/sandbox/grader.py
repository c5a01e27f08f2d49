"""Califica una entrega: la lee como datos, la ejecuta en una caja y juzga fuera lo que contesta.

Son tres procesos. El de la entrega (`worker`) está en la caja, y solo recibe celdas y entradas. El
juez (`judge`) es uno para cada entrega, con límites: la lee, sortea las entradas con una semilla
que el estudiante no conoce, tiene la referencia, y decodifica y compara lo que llega de la caja. El
supervisor es quien llama a `Grader`: no lee nada de la entrega, sino lo que el juez dejó dicho. Si
la caja o el juez se cuelgan o terminan, se sustituyen por otros y los demás ejercicios siguen.
"""

from __future__ import annotations

import builtins
import contextlib
import hashlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import course_lib
from course_lib.grading.sandbox import box_root
from course_lib.grading.sandbox.box import (
    LIBRARY,
    TRUSTED,
    Limits,
    Sandbox,
    SandboxError,
    outside_command,
    why_unavailable,
)
from course_lib.grading.sandbox.box_clock import BoxClock
from course_lib.grading.sandbox.evidence import MOST_CODE, Evidence, behaviour, failing_case
from course_lib.grading.sandbox.judge import (
    End,
    HeavyAnswerError,
    Slate,
    heavy_is_told,
    renew_cpu,
    run_judge,
)
from course_lib.grading.sandbox.library_view import library_modules, used_inside, write_view
from course_lib.grading.sandbox.remote import Peer, RemoteFunction
from course_lib.grading.sandbox.told_errors import ErrorFilter
from course_lib.grading.sandbox.wire import (
    Channel,
    ChannelClosedError,
    ConversationError,
    DeadlineError,
    ProtocolError,
    clean,
    decode,
)
from course_lib.grading.submission import (
    UNKNOWN_TOPIC,
    Sheet,
    Submission,
    SubmissionError,
    defining_cells,
    guess_topic,
    needed_cells,
    read_submission,
    topic_of,
    topic_sheet,
    unusual_names,
)
from course_lib.judging.check import first_verdict, recognise_two, topic_exercises
from course_lib.judging.exercise import Exercise
from course_lib.judging.refusal import answers_of
from course_lib.judging.running import draw_cases, remembering, run_cases
from course_lib.judging.verdict import Verdict

WHAT_IS_LOST = (
    "Sin la caja, el código de cada entrega corre con tus permisos: puede leer y borrar tus "
    "archivos, usar la red, ver otras entregas y las respuestas del curso, y dejar procesos vivos. "
    "Solo quedan los límites de tiempo y de memoria de cada proceso."
)
_TOO_BUSY = (
    "la computadora estaba tan ocupada que no dio tiempo a calificarla: repite la orden cuando "
    "esté libre, o con menos procesos (--workers)"
)
_MAX_WORKERS = 12
_QUICK = 1.0
"""Los segundos que tarda, a lo más, una respuesta a la que se le buscan dos errores."""
_START_SECONDS = 60.0
_KILLED_SECONDS = 1.0
_CLOSE_SECONDS = 10.0
_MAX_JUDGES = 8
_JUDGE_SECONDS = 60.0
"""Los segundos que se espera a un juez, además de los de pared que él espera a la entrega."""
_TOO_SLOW = "contestó algo que se tarda demasiado en leer o en comparar"
_TOO_HEAVY = "contestó algo que pide demasiada memoria para leerlo o compararlo"


ExerciseResult = Verdict
"""Lo que obtuvo una entrega en un ejercicio: el veredicto de su cuaderno, con otras entradas."""


@dataclass(frozen=True)
class SubmissionResult:
    """Lo que obtuvo una entrega.

    Argumentos:
        status: `graded`, `unreadable` (no es un cuaderno), `unknown` (no es del curso), `course`
            (es un cuaderno del curso, sin nada de quien lo entrega: lo mira `classroom.task`) o
            `failed` (no se pudo calificar, y no por la entrega: se puede repetir).
        message: por qué no se calificó.
        topic: el tema.
        exercises: uno por ejercicio del tema, en su orden.
        broken_cells: las celdas que se detuvieron, que por sí mismas no quitan puntos.
        seconds: lo que se tardó en todo.
        notes: para quien califica, lo que se creyó a la entrega y conviene mirar a mano.
        evidence: para quien califica, por ejercicio, su código y el caso en que falla.
    """

    status: str
    message: str = ""
    topic: str | None = None
    exercises: tuple[ExerciseResult, ...] = ()
    broken_cells: tuple[str, ...] = ()
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    evidence: dict[str, Evidence] = field(default_factory=dict, repr=False)

    @property
    def points(self) -> int:
        return sum(result.points for result in self.exercises)

    @property
    def max_points(self) -> int:
        return sum(result.max_points for result in self.exercises)

    def as_data(self) -> dict[str, Any]:
        """Da el resultado como datos que JSON puede guardar."""
        return asdict(self) | {"points": self.points, "max_points": self.max_points}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> SubmissionResult:
        """Rehace un resultado a partir de `as_data`, que pudo pasar por JSON."""
        exercises = [ExerciseResult(**exercise) for exercise in data["exercises"]]
        evidence = {name: Evidence(**each) for name, each in data["evidence"].items()}
        known = {field.name for field in fields(cls)}  # `points` se deduce
        made = data | {"exercises": exercises, "evidence": evidence}
        found = {k: v for k, v in made.items() if k in known}
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in found.items()})


@dataclass
class Progress:
    """Lo que se sabe de una entrega a medio calificar: lo que un juez deja al que lo sustituya.

    Argumentos:
        topic: el tema, si ya se leyó.
        results: los veredictos.
        failing: los casos en que falla.
        notes: lo que conviene mirar a mano.
        lost: por qué se dan por perdidos un ejercicio o una celda (su número).
        deaths: lo que se miraba cuando murió un juez, la primera vez.
        current: lo que se está mirando: un ejercicio, una celda o, al leer la entrega, nada.
        spent: los segundos de la entrega (`BoxClock`).
        wall: los de pared.
        cpu: los de procesador del juez.
        over: si ya no se espera más a esta entrega.
    """

    topic: str | None = None
    results: dict[str, ExerciseResult] = field(default_factory=dict)
    failing: dict[str, Evidence] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    deaths: list[str] = field(default_factory=list)
    current: str = ""
    spent: float = 0.0
    wall: float = 0.0
    cpu: float = 0.0
    over: bool = False

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Progress:
        """Lo rehace a partir de los datos de `asdict`, que pasaron por JSON."""
        results = {name: ExerciseResult(**each) for name, each in data["results"].items()}
        failing = {name: Evidence(**each) for name, each in data["failing"].items()}
        return cls(**data | {"results": results, "failing": failing})

    def after(self, end: End) -> None:
        """Apunta que el juez murió: la culpa es de lo que miraba, si gasta de más o se repite."""
        self.spent += max(0.0, end.cpu - self.cpu)
        if end.slow or self.current in self.deaths:
            self.lost[self.current] = _TOO_SLOW if end.slow else _TOO_HEAVY
        else:
            self.deaths.append(self.current)


class Grader(contextlib.AbstractContextManager):
    """Califica entregas, una tras otra, cada una en una caja nueva.

    Cada proceso que califica tiene el suyo, creado después de dividirse, y lo usa un solo hilo. Si
    ese proceso muere de golpe, la plantilla y las cajas mueren con él.

    Argumentos:
        limits: lo que puede gastar cada entrega.
        sandboxed: False ejecuta el código ajeno sin caja; se pierde lo que dice `WHAT_IS_LOST`.
        private: lo que ninguna entrega debe poder ver, además del proyecto: las demás, la salida.

    Errores:
        SandboxError: no se puede construir una caja; dice qué instalar.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        sandboxed: bool = True,
        private: tuple[str, ...] = (),
    ) -> None:
        self.limits, self.sandboxed = limits or Limits(), sandboxed
        self.private = tuple(map(Path, private))
        reason = why_unavailable() if sandboxed else ""
        if reason:
            raise SandboxError(reason)
        self._folder = tempfile.TemporaryDirectory(prefix="course-grade-")
        self._slate: Slate | None = None  # la tiene el juez
        self._seen: str | None = None
        self._warmed: set[str | None] = {None}
        self._start_template()

    def _start_template(self) -> None:
        package = Path(course_lib.__file__).resolve().parent
        self._orders, theirs = socket.socketpair()
        reading, writing = os.pipe()
        # El entorno de la plantilla lo pueden leer las entregas: solo lleva esto.
        environment = {"OMP_NUM_THREADS": "1", "LANG": "C.UTF-8"}
        if self.sandboxed:
            python, root = outside_command(package, writing), TRUSTED
            folders = box_root.packages()
            environment |= box_root.environment()
            private = "/tmp/home"
        else:
            python, root, folders = [sys.executable], str(package.parent), []
            private = self._folder.name
        environment |= {"MPLCONFIGDIR": private, "HOME": private}
        code = (
            "import sys; sys.path[:0] = [sys.argv[1]]; sys.path += sys.argv[3:];"
            "from course_lib.grading.sandbox.worker import template;"
            "template(int(sys.argv[2]))"
        )
        alone = ["-I", "-S"] if self.sandboxed else ["-I"]  # sin archivos .pth
        guard = [sys.executable, "-I", "-S", str(package / "grading" / "sandbox" / "guard.py")]
        guard += [str(os.getpid()), self._folder.name]
        self._template = subprocess.Popen(
            [*guard, *python, *alone, "-c", code, root, str(theirs.fileno()), *folders],
            pass_fds=[theirs.fileno(), *([writing] if self.sandboxed else [])],
            env=environment,
            executable=sys.executable,
            stdin=subprocess.DEVNULL,
        )
        theirs.close()
        os.close(writing)
        with os.fdopen(reading, "rb") as info:
            told = info.read()  # aunque no haga falta: bubblewrap espera a poder decirlo
        self._owner = _user_namespace(told) if self.sandboxed and os.getuid() else None

    def close(self) -> None:
        """Termina la plantilla y borra lo que se escribió."""
        self._orders.close()
        self._template.terminate()  # con su guardián termina ella
        try:
            self._template.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:  # con él muere bubblewrap, y con bubblewrap, ella
            self._template.kill()
            self._template.wait()
        if self._owner is not None:
            os.close(self._owner)
        self._folder.cleanup()

    def __exit__(self, *error: object) -> None:
        self.close()

    def grade(
        self, content: Path | bytes, seed: int, *, topic: str | None = None
    ) -> SubmissionResult:
        """Califica una entrega; lo que ella haga nunca es una excepción de aquí.

        Argumentos:
            content: la ruta del cuaderno, o sus bytes.
            seed: semilla de las entradas; no debe poder adivinarse.
            topic: el tema, salvo que el cuaderno diga que es de otro (`topic_of`); si falta, se
                reconoce por lo que define.
        """
        return self.apart(lambda progress: self.judge(content, seed, topic, progress))

    def apart(self, judge: Callable[[Progress], SubmissionResult]) -> SubmissionResult:
        """Califica una entrega en un juez; si lo que ella contesta lo mata, sigue otro.

        Argumentos:
            judge: lo que hace el juez, a partir de lo que se sabía; recibe también en `progress`
                dónde decir lo que averigua (`told`).

        Errores:
            SandboxError, OSError, RuntimeError: los que el juez encontró.
        """
        start, progress = time.monotonic(), Progress()
        if self._seen not in self._warmed:
            self._warm()
        for attempt in range(_MAX_JUDGES):
            progress.over = attempt == _MAX_JUDGES - 1
            with Slate() as slate:
                work = partial(self._be_judge, judge, progress, slate)
                end = run_judge(work, self._patience())
                told = slate.read()
            if "result" in told:
                result = SubmissionResult.from_data(told["result"])
                self._seen = result.topic
                return replace(result, seconds=time.monotonic() - start)
            if "error" in told:
                raise _told_error(*told["error"])
            if end.stuck:
                break
            progress = Progress.from_data(told["progress"]) if told else progress
            progress.after(end)
            if "" in progress.lost:
                return SubmissionResult("unreadable", f"su archivo {progress.lost['']}")
        return SubmissionResult("failed", _TOO_BUSY, progress.topic)

    def _patience(self) -> float:
        return self.limits.wall_seconds + self.limits.cell_seconds + _JUDGE_SECONDS

    def _be_judge(
        self,
        judge: Callable[[Progress], SubmissionResult],
        progress: Progress,
        slate: Slate,
    ) -> None:
        self._slate = slate
        try:
            slate.write({"result": judge(progress).as_data()})
        except MemoryError:
            return  # como si hubiera muerto: la culpa es de lo que miraba
        except Exception as error:
            slate.write({"error": [type(error).__name__, str(error)[:2000]]})

    def _warm(self) -> None:
        """Deja leído e importado lo del tema anterior, para que no lo haga cada juez.

        Aquí no se deriva nada: donde hay una GPU, quien deriva y después se divide no puede más.
        """
        guess_topic(Submission((), frozenset(), ()))  # lee la hoja de todos
        used_inside(topic_sheet(self._seen).tools)
        for exercise in topic_exercises(self._seen):
            with contextlib.suppress(Exception), remembering():  # si algo falla, lo dirá el juez
                run_cases(exercise, exercise.reference, draw_cases(exercise, 0)[:1])
                _ = [each.implementation for each in exercise.misconceptions]
        self._warmed.add(self._seen)

    def judge(
        self, content: Path | bytes, seed: int, topic: str | None, progress: Progress
    ) -> SubmissionResult:
        """Califica una entrega en este mismo proceso, que debe ser un juez."""
        try:
            submission = read_submission(content)
        except SubmissionError as error:
            return SubmissionResult("unreadable", str(error))
        topic = topic_of(submission, topic)
        if topic is None:
            return SubmissionResult("unknown", UNKNOWN_TOPIC)
        progress.topic = topic
        grading = _Grading(self, submission, topic_sheet(topic), seed, progress)
        try:
            results, broken = grading.run()
        except MachineBusyError:
            return SubmissionResult("failed", _TOO_BUSY, topic)
        notes, evidence = tuple(progress.notes), grading.evidence()
        return SubmissionResult("graded", "", topic, results, broken, 0.0, notes, evidence)

    def tell(self, progress: Progress) -> None:
        """Deja dicho lo que el juez averiguó, y renueva su procesador para lo que empieza."""
        if self._slate is not None:
            renew_cpu()
            self._slate.write({"progress": asdict(progress)})

    def worker(
        self, sheet: Sheet, answers: tuple[str, ...], clock: BoxClock, errors: ErrorFilter
    ) -> Worker:
        """Abre un proceso en una caja nueva, que ve la biblioteca sin esas respuestas."""
        inside = {n for n in answers if n.startswith("course_lib.")}
        view = self._view(sheet, tuple(sorted(inside)))
        return Worker(self, view, [n for n in answers if n not in inside], clock, errors)

    def sandbox(self, view: Path) -> Sandbox:
        """Construye una caja que ve esa parte de la biblioteca."""
        return Sandbox(view, self.limits, self.private, self._owner)

    def order(self, text: dict, descriptors: list[int]) -> None:
        """Pide a la plantilla un proceso."""
        socket.send_fds(self._orders, [json.dumps(text).encode()], descriptors)

    def temporary_folder(self) -> tempfile.TemporaryDirectory:
        """Crea una carpeta que se borra, como tarde, con el calificador."""
        return tempfile.TemporaryDirectory(dir=self._folder.name)

    def _view(self, sheet: Sheet, answers: tuple[str, ...]) -> Path:
        """Da la carpeta con una vista, que escribe el primer juez que la necesita."""
        key = json.dumps([sorted(sheet.tools), answers])
        folder = Path(self._folder.name, f"library-{hashlib.sha256(key.encode()).hexdigest()[:16]}")
        if not folder.exists():
            made = Path(tempfile.mkdtemp(dir=self._folder.name))
            made.chmod(0o755)
            write_view(made, sheet.tools, answers)
            made.rename(folder)  # si el juez muere a medias, no queda una a medias
        return folder


def _told_error(kind: str, message: str) -> Exception:
    """Rehace la excepción de un juez."""
    known = {each.__name__: each for each in (SandboxError, RuntimeError)}
    if kind in known:
        return known[kind](message)
    error = getattr(builtins, kind, None)
    if isinstance(error, type) and issubclass(error, OSError):
        return OSError(message)
    return RuntimeError(f"{kind}: {message}")


def _user_namespace(info: bytes) -> int:
    """Abre el espacio de usuarios de la plantilla, donde debe estar el de sus cajas.

    Solo así un usuario corriente entra en ellas desde ahí.
    """
    try:
        return os.open(f"/proc/{json.loads(info)['child-pid']}/ns/user", os.O_RDONLY)
    except (ValueError, KeyError, OSError):
        raise SandboxError("bubblewrap no pudo empezar la plantilla de las cajas.") from None


def seed_for(submission: Submission, seed: int) -> int:
    """Da la semilla de las entradas de una entrega, que depende de su código.

    Lo mismo, entregado otra vez, se encuentra las mismas entradas, y su nota no cambia; quien lo
    cambie, aunque haya aprendido las de antes, se encuentra otras.

    Argumentos:
        submission: la entrega.
        seed: la semilla de la clase.
    """
    text = json.dumps([seed, submission.cells])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big")


class MemoryExceededError(ConversationError):
    """Los procesos de la entrega ocupan más memoria de la permitida."""


class MachineBusyError(Exception):
    """Pasó demasiado tiempo de pared sin que la entrega pudiera usar el suyo."""


class Worker(contextlib.AbstractContextManager):
    """El proceso de una entrega, visto desde aquí."""

    def __init__(
        self,
        grader: Grader,
        view: Path,
        blocked: list[str],
        clock: BoxClock,
        errors: ErrorFilter,
    ) -> None:
        self._limits, self._clock = grader.limits, clock
        clock.new_box()
        self._sandbox = grader.sandbox(view) if grader.sandboxed else None
        self._home = None if grader.sandboxed else grader.temporary_folder()
        self._pid: int | None = None
        ours, theirs = socket.socketpair()
        self._ended, report = os.pipe()
        namespaces = self._sandbox.namespaces() if self._sandbox else []
        group = self._sandbox.group if self._sandbox else None
        entrance = [group.entrance()] if group else []
        library = LIBRARY if self._sandbox else str(view)
        order = {"library": library, "blocked": blocked, "limits": asdict(grader.limits)}
        order["grouped"] = bool(entrance)
        order |= {"user": self._sandbox.user} if self._sandbox else {"home": self._home.name}
        with theirs:
            grader.order(order, [theirs.fileno(), report, *entrance, *namespaces])
        for descriptor in (report, *entrance, *namespaces):
            os.close(descriptor)
        self.channel = Channel(ours, self._watch, clock)
        seconds = grader.limits.call_seconds
        self.peer = Peer(self.channel, trusted=True, seconds=seconds, errors=errors)
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        try:
            ready = self.ask({"op": "ready?"}, _START_SECONDS, answer_only=True)
            self._pid = ready["pid"] if type(ready.get("pid")) is int else None
        except ConversationError:
            self.close()
            raise SandboxError(
                "el proceso de la entrega no llegó a empezar: no pudo entrar en su caja"
            ) from None

    def _watch(self) -> None:
        usage = self._sandbox.usage() if self._sandbox is not None else None
        self._clock.look(usage)
        if usage is not None and usage.memory > self._limits.memory:
            raise MemoryExceededError

    def cause(self, error: ConversationError) -> ConversationError:
        """Da por qué se perdió el proceso: si el núcleo lo terminó por su memoria, por ella."""
        group = self._sandbox.group if self._sandbox else None
        return MemoryExceededError() if group is not None and group.ran_out else error

    def ask(self, header: dict, seconds: float, *, answer_only: bool = False) -> dict:
        """Envía una petición y da la cabecera de la respuesta, con los tensores en `tensors`."""
        self.channel.deadline = self.channel.now() + seconds
        if not answer_only:
            self.channel.send(header)
        reply, tensors = self.channel.receive()
        if reply.get("op") not in ("result", "ready"):
            raise ProtocolError("una respuesta que nadie pidió")
        return reply | {"tensors": tensors}

    def was_killed(self) -> bool:
        """Dice si al proceso lo mató una señal que no se envió desde aquí: falta de memoria, quizá.

        También puede haberse matado él; no se distingue, y repetirlo una vez no le sirve de nada.
        Si no se supo cómo terminó, mataron a quien esperaba fuera de la caja, que él no alcanza.
        """
        with selectors.DefaultSelector() as ended:  # `select` no pasa del descriptor 1023
            ended.register(self._ended, selectors.EVENT_READ)
            if not ended.select(_KILLED_SECONDS):
                return False
        status = os.read(self._ended, 16)
        if not status:
            return self._sandbox is not None
        return status.isdigit() and os.WTERMSIG(int(status)) in (signal.SIGKILL, signal.SIGTERM)

    def close(self) -> None:
        """Termina con el proceso y con todo lo que haya dejado."""
        self.channel.close()
        if self._ended >= 0:
            os.close(self._ended)
            self._ended = -1
        if self._sandbox is not None:
            self._sandbox.close()
        elif self._pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, 9)
        if self._home is not None:
            self._home.cleanup()

    def __exit__(self, *error: object) -> None:
        self.close()


class _Grading:
    """La calificación de una entrega, ejercicio por ejercicio."""

    def __init__(
        self,
        grader: Grader,
        submission: Submission,
        sheet: Sheet,
        seed: int,
        progress: Progress,
    ) -> None:
        self.grader, self.submission, self.sheet = grader, submission, sheet
        self.seed, self._class_seed = seed_for(submission, seed), seed
        self.exercises = topic_exercises(sheet.topic)
        self.progress, self.results = progress, progress.results
        self.lost_cells = {int(what): why for what, why in progress.lost.items() if what.isdigit()}
        self.broken: dict[int, str] = {}
        self.told: dict[int, str] | None = None  # sin las que solo echan de menos una respuesta
        self._cells = needed_cells(submission, sheet)
        self._workers = 0
        self._clock = BoxClock(grader.limits.wall_seconds, progress.spent, progress.wall)
        answers = (name for exercise in self.exercises for name in answers_of(exercise))
        self._errors = ErrorFilter(submission.cells, (name.rpartition(".")[2] for name in answers))
        self._repeated: set[int | str] = set()
        for exercise in self.exercises:
            if exercise.name in progress.lost and exercise.name not in self.results:
                why = f"tu código {progress.lost[exercise.name]}"
                self.results[exercise.name] = _failed(exercise, why)

    def _look_at(self, what: int | str) -> None:
        """Deja dicho qué se va a mirar: si el juez muere, se sabrá con qué."""
        progress = self.progress
        progress.current, progress.cpu = str(what), time.process_time()
        progress.spent, progress.wall = self._clock(), self._clock.wall
        self.grader.tell(progress)

    def run(self) -> tuple[tuple[ExerciseResult, ...], tuple[str, ...]]:
        for answers, group in _groups(self.exercises, self.sheet, self.submission):
            self._run_group(answers, group)
            self.told = self.broken if self.told is None else self.told | self.lost_cells
        results = tuple(self.results[exercise.name] for exercise in self.exercises)
        told = sorted((self.told or {}).items())
        return results, tuple(f"celda {i + 1}: {text}" for i, text in told)

    def evidence(self) -> dict[str, Evidence]:
        """Da, por ejercicio, la celda que define la respuesta y el caso en que falla."""
        found = {}
        for exercise in self.exercises:
            name = self.sheet.names[exercise.name]
            cells = [self.submission.cells[i] for i in defining_cells(self.submission, name)]
            seen = self.progress.failing.get(exercise.name, Evidence())
            found[exercise.name] = replace(seen, code=cells[-1][:MOST_CODE] if cells else "")
        return found

    def _run_group(self, answers: tuple[str, ...], group: list[Exercise]) -> None:
        """Comprueba los ejercicios de una misma vista, con los procesos que hagan falta."""
        while waiting := [e for e in group if e.name not in self.results]:
            self._require_time()
            self._workers += 1
            if self._workers > _MAX_WORKERS or self._left() <= 0 or self.progress.over:
                reason = "tu cuaderno se detuvo o tardó demasiadas veces y no se llegó a comprobar"
                self.results.update({e.name: _failed(e, reason) for e in waiting})
                return
            view = self.sheet, answers
            with self.grader.worker(*view, self._clock, self._errors) as worker:
                if self._run_cells(worker):
                    self._check_until_lost(worker, waiting)

    def _left(self) -> float:
        return self.grader.limits.total_seconds - self._clock()

    def _require_time(self) -> None:
        if self._clock.wall > self._clock.patience:
            raise MachineBusyError

    def _run_cells(self, worker: Worker) -> bool:
        """Ejecuta las celdas; si una se lleva el proceso, la próxima vez se salta."""
        self.broken = dict(self.lost_cells)
        for index in self._cells:
            if index in self.lost_cells:
                continue
            seconds = max(0.0, min(self.grader.limits.cell_seconds, self._left()))
            source = self.submission.cells[index]
            self._look_at(index)
            try:
                with heavy_is_told():
                    reply = worker.ask({"op": "cell", "source": source}, seconds)
            except ConversationError as lost:
                error = worker.cause(lost)
                if not self._deserves_another(worker, error, index):
                    self.lost_cells[index] = self.broken[index] = _why_lost(error)
                    self.progress.lost[str(index)] = self.broken[index]
                return False
            if reply.get("ok") is not True:
                self.broken[index] = _error_text(reply, self._errors)
        return True

    def _check_until_lost(self, worker: Worker, waiting: list[Exercise]) -> None:
        for exercise in waiting:
            start, before = time.monotonic(), self._clock()
            self._look_at(exercise.name)
            try:
                with heavy_is_told():
                    student, result = self._check(worker, exercise)
            except ConversationError as lost:
                self._require_time()
                error = worker.cause(lost)
                if self._deserves_another(worker, error, exercise.name):
                    return
                self.results[exercise.name] = _failed(exercise, f"tu código {_why_lost(error)}")
                return
            finally:
                seconds = time.monotonic() - start
            self.results[exercise.name] = result = replace(result, seconds=seconds)
            if self._clock() - before > _QUICK:  # repetirla con más entradas le quitaría su tiempo
                continue
            self._look_at(exercise.name)  # y con eso queda dicho su resultado
            try:
                with heavy_is_told():
                    self._look_closer(exercise, student, result)
            except ConversationError:  # su resultado ya está, y los demás tendrán otro proceso
                return

    def _look_closer(self, exercise: Exercise, student: Any, result: ExerciseResult) -> None:
        """Busca dos errores a la vez; de lo que nadie reconoce, apunta qué hace."""
        two = recognise_two(exercise, student, result, seed=self.seed)
        self.results[exercise.name] = two
        if two.status in ("wrong", "error") and not two.hinted:
            made = behaviour(exercise, student, two, self._class_seed)
            self.progress.failing[exercise.name] = replace(
                self.progress.failing[exercise.name], behaviour=made
            )

    def _deserves_another(self, worker: Worker, error: ConversationError, what: int | str) -> bool:
        """Dice si algo se repite en otra caja, una sola vez: a la suya la mataron desde fuera."""
        if what in self._repeated or not isinstance(error, ChannelClosedError):
            return False
        self._repeated.add(what)
        return worker.was_killed()

    def _check(self, worker: Worker, exercise: Exercise) -> tuple[Any, ExerciseResult]:
        name = self.sheet.names[exercise.name]
        limit = max(0.0, min(self.grader.limits.call_seconds, self._left()))
        worker.peer.seconds, worker.peer.until = limit, self.grader.limits.total_seconds
        worker.peer.forget()
        worker.channel.deadline = self._clock() + limit
        worker.channel.send({"op": "forget"})
        found = worker.ask({"op": "look", "name": name}, limit)
        if found.get("is") == "missing":
            lack = self._lack(name)
            return None, ExerciseResult(exercise.name, "missing", 0, exercise.points, lack)
        if found.get("is") == "function":
            student = RemoteFunction(worker.peer, name)
        else:
            student = decode(found.get("value"), found["tensors"], None, self._errors.thing)
        with remembering():
            verdict = first_verdict(exercise, student, seed=self.seed)
            self.progress.failing[exercise.name] = failing_case(
                exercise, student, verdict, self.seed
            )
        self._take_note(exercise, verdict)
        return student, verdict

    def _take_note(self, exercise: Exercise, verdict: Verdict) -> None:
        """Avisa de los puntos que dependen de algo vigilado dentro del proceso de la entrega."""
        builtin = any(not name.startswith("course_lib.") for name in answers_of(exercise))
        if not verdict.points or not builtin:
            return
        if unusual := unusual_names(self.submission, self.sheet.given):
            names = ", ".join(f"«{clean(name, 40)}»" for name in unusual[:5])
            self.progress.notes.append(
                f"{exercise.name}: no usar la respuesta se vigila dentro del proceso de la "
                f"entrega, que podría burlarlo; su código usa {names}. Míralo a mano."
            )

    def _lack(self, name: str) -> str:
        """Dice por qué falta una respuesta: su celda se detuvo, o no hay ninguna."""
        for index in defining_cells(self.submission, name):
            if index in self.broken:
                return f"la celda que define «{name}» se detuvo: {self.broken[index]}"
        return f"el cuaderno no define «{name}»"


def _groups(
    exercises: tuple[Exercise, ...], sheet: Sheet, submission: Submission
) -> list[tuple[tuple[str, ...], list[Exercise]]]:
    """Reúne los ejercicios que se pueden comprobar con la misma vista de la biblioteca.

    Una respuesta que la entrega no nombra, y que la biblioteca no usa por dentro, falta en todas
    las vistas: así suele bastar una.
    """
    visible = library_modules(sheet.tools)
    inside = {
        exercise.name: {
            name
            for name in answers_of(exercise)
            if name.rpartition(".")[0] in visible or not name.startswith("course_lib.")
        }
        for exercise in exercises
    }
    text = "\n".join(submission.cells)
    spare = {n for names in inside.values() for n in names if _is_spare(n, sheet, text)}
    groups: dict[tuple[str, ...], list[Exercise]] = {}
    for exercise in exercises:
        answers = tuple(sorted(inside[exercise.name] | spare))
        groups.setdefault(answers, []).append(exercise)
    return sorted(groups.items(), key=lambda item: len(item[0]))


def _is_spare(name: str, sheet: Sheet, text: str) -> bool:
    """Dice si una respuesta puede faltar en todos los ejercicios sin que nadie lo note."""
    short = name.rpartition(".")[2]
    from_library = name.startswith("course_lib.")
    return from_library and short not in text and short not in used_inside(sheet.tools)


def _why_lost(error: ConversationError) -> str:
    if isinstance(error, DeadlineError):
        return "tardó demasiado"
    if isinstance(error, MemoryExceededError):
        return "usó demasiada memoria"
    if isinstance(error, HeavyAnswerError):
        return _TOO_HEAVY
    if isinstance(error, ProtocolError):
        return "contestó algo que no se puede leer, o demasiado grande"
    return "terminó el proceso en que se ejecuta"


def _error_text(reply: dict, errors: ErrorFilter) -> str:
    kind, message = clean(reply.get("kind"), 60), clean(reply.get("message"), 200)
    line = errors.line(clean(reply.get("line"), 120))
    kind = errors.kind(kind)
    return kind + (f": {message}" if errors.says(message) else "") + (f" ({line})" if line else "")


def _failed(exercise: Exercise, message: str) -> ExerciseResult:
    return ExerciseResult(exercise.name, "error", 0, exercise.points, message, property="runs")
