"""Lo que un proceso de la caja ya no puede pedir al núcleo, para siempre.

Los espacios de nombres y los límites no lo cubren todo. Una memoria que ningún proceso tiene a la
vista (`memfd_create`, `shmget`, `mmap` compartida y sin archivo) no cuenta en la de nadie; los
llaveros del núcleo son los de quien califica y los comparten todas las cajas; un socket que no es
de la red (`vsock`) sale de ella; y quien crea su propio espacio de usuarios es administrador en él,
y monta carpetas sin límite. Un cuaderno honrado no usa nada de eso.

El filtro lo escribe libseccomp. El núcleo lo hereda a cada hijo, y nadie lo puede quitar. Lo que
rechaza falla con un error corriente: no termina el proceso.
"""

from __future__ import annotations

import errno
import mmap
import socket

try:
    import pyseccomp
except (ImportError, RuntimeError):  # otro sistema, o falta libseccomp
    pyseccomp = None

_REFUSED = (
    *("memfd_create", "memfd_secret", "shmget", "msgget", "semget", "mq_open"),
    *("add_key", "request_key", "keyctl", "unshare", "setns"),
    *("io_uring_setup", "userfaultfd", "bpf", "perf_event_open"),
)
_SHARED_WITHOUT_FILE = mmap.MAP_SHARED | mmap.MAP_ANONYMOUS
_FAMILIES = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16}  # AF_NETLINK: son de la caja
_ALL_FAMILIES = 64  # el núcleo tiene 46
_NEW_NAMESPACES = tuple(1 << bit for bit in (17, 25, 26, 27, 28, 29, 30))  # CLONE_NEW…, en `clone`


def why_unfiltered() -> str:
    """Da por qué aquí no se puede filtrar, y qué hacer; vacío si se puede."""
    if pyseccomp is None:
        return (
            "Falta libseccomp, que limita lo que el código ajeno pide al núcleo: sudo apt-get "
            'install libseccomp2, y pip install "course_lib[teacher]".'
        )
    try:
        _rules()
    except (OSError, RuntimeError) as error:
        return f"libseccomp no conoce alguna llamada que hay que impedir ({error}): actualízala."
    return ""


def restrict() -> None:
    """Pone el filtro a este proceso y a sus hijos; antes, `PR_SET_NO_NEW_PRIVS`.

    Errores:
        OSError: el núcleo no admite filtros.
    """
    _rules().load()


def _rules() -> pyseccomp.SyscallFilter:
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.ERRNO(errno.ENOSYS))
    for name in _REFUSED:
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    # Los argumentos de clone3 están en memoria y no se ven desde aquí; sin ella se usa `clone`.
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for flag in _NEW_NAMESPACES:
        same = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag)
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "clone", same)
    shared = pyseccomp.Arg(3, pyseccomp.MASKED_EQ, _SHARED_WITHOUT_FILE, _SHARED_WITHOUT_FILE)
    rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "mmap", shared)
    others = [pyseccomp.Arg(0, pyseccomp.GE, _ALL_FAMILIES)]
    others += [
        pyseccomp.Arg(0, pyseccomp.EQ, family)
        for family in range(_ALL_FAMILIES)
        if family not in _FAMILIES
    ]
    for family in others:
        rules.add_rule(pyseccomp.ERRNO(errno.EAFNOSUPPORT), "socket", family)
    return rules
