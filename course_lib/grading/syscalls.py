"""Lo que un proceso de la caja ya no puede pedir al núcleo, para siempre.

Los espacios de nombres y los límites no lo cubren todo. Una memoria que ningún proceso tiene a la
vista (`memfd_create`, `shmget`) no cuenta en la de nadie; los llaveros del núcleo son los de quien
califica y los comparten todas las cajas; un socket que no es de la red (`vsock`) sale de ella; y
quien crea su propio espacio de usuarios es administrador en él, y monta carpetas sin límite. Un
cuaderno honrado no usa nada de eso.

El filtro es un programa de BPF (`seccomp`, modo filtro). El núcleo lo hereda a cada hijo, y nadie
lo puede quitar. Lo que rechaza falla con un error corriente: no termina el proceso.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

# Por arquitectura: su nombre para el núcleo, y los números de sus llamadas.
_ARCHITECTURES = {
    "x86_64": (
        0xC000003E,
        {"clone": 56, "clone3": 435, "socket": 41},
        {
            "memfd_create": 319,
            "memfd_secret": 447,
            "shmget": 29,
            "msgget": 68,
            "semget": 64,
            "mq_open": 240,
            "add_key": 248,
            "request_key": 249,
            "keyctl": 250,
            "unshare": 272,
            "setns": 308,
            "io_uring_setup": 425,
            "userfaultfd": 323,
            "bpf": 321,
            "perf_event_open": 298,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {"clone": 220, "clone3": 435, "socket": 198},
        {
            "memfd_create": 279,
            "memfd_secret": 447,
            "shmget": 194,
            "msgget": 186,
            "semget": 190,
            "mq_open": 180,
            "add_key": 217,
            "request_key": 218,
            "keyctl": 219,
            "unshare": 97,
            "setns": 268,
            "io_uring_setup": 425,
            "userfaultfd": 282,
            "bpf": 280,
            "perf_event_open": 241,
        },
    ),
}
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6 y AF_NETLINK, que son de la caja
_NEW_NAMESPACES = 0x7E020000  # los CLONE_NEW… que `clone` admite
_OTHER_ABI = 0x40000000  # en x86_64, las mismas llamadas con otros números (x32)
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # dónde están en `struct seccomp_data`
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_PR_SET_SECCOMP, _FILTER = 22, 2


def is_known() -> bool:
    """Dice si se conocen las llamadas de este procesador."""
    return platform.machine() in _ARCHITECTURES


def restrict() -> None:
    """Pone el filtro a este proceso y a sus hijos; antes, `PR_SET_NO_NEW_PRIVS`.

    Errores:
        OSError: el núcleo no lo admite, o no se conocen las llamadas de este procesador.
    """
    if not is_known():
        raise OSError(errno.ENOSYS, f"no se conocen las llamadas de {platform.machine()}")
    code = _program(*_ARCHITECTURES[platform.machine()])
    content = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(content))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.c_char_p(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "el núcleo no admite filtros de llamadas")


def _program(architecture: int, partly: dict[str, int], refused: dict[str, int]) -> bytes:
    """Escribe el filtro; en cada paso se salta, o no, lo que sigue."""
    steps = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, architecture, 1, 0),
        _refuse(errno.ENOSYS),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _OTHER_ABI, 0, 1),
        _refuse(errno.ENOSYS),
    ]
    for number in refused.values():
        steps += [_step(_EQUAL, number, 0, 1), _refuse(errno.EPERM)]
    # Los argumentos de clone3 están en memoria y no se ven desde aquí; sin ella se usa `clone`.
    steps += [_step(_EQUAL, partly["clone3"], 0, 1), _refuse(errno.ENOSYS)]
    new_namespace = [_step(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _refuse(errno.EPERM)]
    other_family = [_step(_EQUAL, f, len(_FAMILIES) - i, 0) for i, f in enumerate(_FAMILIES)]
    other_family += [_refuse(errno.EAFNOSUPPORT)]
    for call, check in (("clone", new_namespace), ("socket", other_family)):
        check = [_step(_LOAD, _FIRST_ARGUMENT), *check, _step(_RETURN, _ALLOW)]
        steps += [_step(_EQUAL, partly[call], 0, len(check)), *check]
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refuse(error: int) -> bytes:
    return _step(_RETURN, _ERROR | error)
