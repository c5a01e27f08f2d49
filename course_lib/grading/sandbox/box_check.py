"""Qué parte de la caja falla en este equipo, y cómo se arregla.

Se prueba cada pieza como la usa el calificador, de la primera a la última: la que falla es la
culpable, y las que dependen de ella no se miran.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.sandbox import cgroup, syscalls
from course_lib.grading.sandbox.box import Limits, Sandbox, SandboxError, why_unavailable

_NAMESPACES = ("bwrap", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "/bin/true")
_SYSTEM = Path("/proc/sys")


@dataclass(frozen=True)
class BoxPart:
    """Una pieza de la caja.

    Argumentos:
        name: cuál es.
        found: lo que se vio, si funciona.
        remedy: qué falla y qué hacer; vacío si funciona.
    """

    name: str
    found: str = ""
    remedy: str = ""


def box_parts() -> Iterator[BoxPart]:
    """Construye una caja por partes, y en ella califica una entrega; acaba en la que falla."""
    for name, tried in (
        ("bubblewrap", _bubblewrap),
        ("libseccomp", _filter),
        ("espacios de nombres", _namespaces),
        ("construcción", _box),
        ("grupo de control", _group),
        ("entrega de prueba", _delivery),
    ):
        found, remedy = tried()
        yield BoxPart(name, found, remedy)
        if remedy:
            return


def _bubblewrap() -> tuple[str, str]:
    path = shutil.which("bwrap")
    return (path, "") if path else ("", why_unavailable())


def _filter() -> tuple[str, str]:
    return "filtra las llamadas", syscalls.why_unfiltered()


def _namespaces() -> tuple[str, str]:
    user = [] if os.getuid() == 0 else ["--unshare-user"]
    command = [_NAMESPACES[0], *user, *_NAMESPACES[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return "se pueden crear", ""
    said = " ".join(done.stderr.split())[:200]
    return "", f"{why_no_namespaces()} bubblewrap dijo: {said}"


def why_no_namespaces(system: Path = _SYSTEM, root: Path = Path("/")) -> str:
    """Dice quién prohíbe crear espacios de nombres, y cómo se permiten."""

    def is_set(name: str, value: str) -> bool:
        path = system / name
        return path.is_file() and path.read_text().strip() == value

    order = "sudo sysctl -w"
    if is_set("kernel/apparmor_restrict_unprivileged_userns", "1"):
        return (
            "AppArmor los prohíbe a los usuarios (Ubuntu 23.10 y posteriores). Para permitirlos "
            f"hasta que se reinicie: {order} kernel.apparmor_restrict_unprivileged_userns=0."
        )
    if is_set("kernel/unprivileged_userns_clone", "0"):
        return (
            "El núcleo los prohíbe a los usuarios. Para permitirlos hasta que se reinicie: "
            f"{order} kernel.unprivileged_userns_clone=1."
        )
    if is_set("user/max_user_namespaces", "0"):
        return (
            "El núcleo no deja crear ninguno. Para permitirlos hasta que se reinicie: "
            f"{order} user.max_user_namespaces=15000."
        )
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        return (
            "Esto es un contenedor sin permiso para crearlos: califica fuera de él, o dale permiso "
            "con --privileged en una máquina que no tenga otra cosa."
        )
    return "El sistema los prohíbe, quizá con SELinux: pregunta a quien lo cuida."


def _box() -> tuple[str, str]:
    try:
        with Sandbox(None, Limits()) as box:
            return f"se construyó (proceso {box.pid})", ""
    except SandboxError as error:
        return "", str(error)


def _group() -> tuple[str, str]:
    if cgroup.claim():
        return "el núcleo limita cada caja entera", ""
    return f"no cedido: cada proceso tiene sus límites. Para ceder uno: {cgroup.AS_GROUP}", ""


def _delivery() -> tuple[str, str]:
    """Califica, dentro de una caja, un cuaderno de una celda."""
    from course_lib.grading.sandbox.grader import Grader

    cell = {"cell_type": "code", "source": "ready = 1 + 1"}
    content = json.dumps({"cells": [cell], "nbformat": 4}).encode()
    try:
        with Grader() as grader:
            result = grader.grade(content, 0, topic="attention")
    except FileNotFoundError as error:  # la biblioteca sola, sin el proyecto
        return f"sin probar: {error}", ""
    except SandboxError as error:
        return "", str(error)
    if result.status != "graded" or result.broken_cells:
        return "", f"no se pudo calificar: {result.message or result.broken_cells[0]}."
    return f"calificada en {result.seconds:.1f} s", ""
