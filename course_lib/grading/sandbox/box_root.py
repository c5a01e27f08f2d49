"""Lo que se ve del disco dentro de la caja: una lista cerrada, en rutas que no dicen nada.

Se ven los programas y bibliotecas del sistema, unas pocas carpetas de datos (fuentes, zonas
horarias), y Python: su intérprete, su biblioteca estándar y las carpetas de paquetes instalados.
Python se monta en `/python`, viva donde viva, y así lo que se ve no depende de dónde está el
entorno. De esas carpetas se tapa lo que no es un paquete ajeno: este curso, lo que
pip instala con `-e` y, si están dentro, las carpetas privadas de quien califica.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath

import course_lib

PYTHON = "/python"
INTERPRETER = f"{PYTHON}/bin/python3"
_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libexec")
_DATA = ("fonts", "fontconfig", "zoneinfo", "locale", "i18n", "ca-certificates", "terminfo")
_OPEN = ("--perms", "0755")
_OURS = ("course_lib", "course_lib-*", "__editable__*", "*.pth", "*.egg-link")
"""De una carpeta de paquetes, lo que es de este curso o lleva fuera de ella."""

Mount = tuple[Path, str]
"""Una carpeta o un archivo de fuera, sin enlaces, y dónde se ve dentro."""


class HiddenPathError(ValueError):
    """Algo privado está donde la caja tiene que mirar; el mensaje dice qué y qué hacer."""


def project_folder() -> Path:
    """La carpeta del proyecto o, si la biblioteca está instalada entre otros paquetes, la suya."""
    package = Path(course_lib.__file__).resolve().parent
    return package if package.parent in _package_folders() else package.parent


def bind_arguments(private: Iterable[Path]) -> list[str]:
    """Da las órdenes de bubblewrap que montan el sistema y Python, y tapan lo privado.

    Argumentos:
        private: carpetas y archivos que no se deben ver, además del proyecto.

    Errores:
        HiddenPathError: alguno es una de las carpetas que hay que montar.
    """
    mounts = _mounts()
    for path in _everything_private(private):
        if any(path == source for source, _ in mounts):
            raise HiddenPathError(
                f"«{path}» es una carpeta que la caja tiene que mostrar, porque ahí están Python o "
                f"el sistema: pon el proyecto, las entregas y la salida en otra."
            )
    # Las que bubblewrap crea para montar algo dentro quedan cerradas a otros usuarios.
    above = dict.fromkeys(str(x) for _, t in mounts for x in reversed(PurePath(t).parents))
    arguments = [x for folder in above if folder != "/" for x in (*_OPEN, "--dir", folder)]
    arguments += [x for source, target in mounts for x in ("--ro-bind", str(source), target)]
    for name in _SYSTEM:
        if Path("/", name).is_symlink():
            arguments += ["--symlink", str(Path("/", name).readlink()), f"/{name}"]
    covered: set[str] = set()
    for path in (*_everything_private(private), *_ours()):
        for target in _seen_at(path, mounts):
            if not any(_is_within(target, above) for above in covered):
                covered.add(target)
                arguments += _cover(path, target)
    return arguments


def packages() -> list[str]:
    """Las carpetas de paquetes, como se ven dentro."""
    return [_package_target(number) for number, _ in enumerate(_package_folders())]


def environment() -> dict[str, str]:
    """Lo que el intérprete necesita en su entorno para empezar en la caja."""
    shared = sysconfig.get_config_var("Py_ENABLE_SHARED") and not _from_system()
    return {"LD_LIBRARY_PATH": f"{PYTHON}/lib"} if shared else {}


def seen_from(private: Iterable[Path], root: Path) -> list[Path]:
    """Mira desde dentro si se ve algo privado; da lo que se ve.

    Argumentos:
        private: lo que no se debe ver, además del proyecto.
        root: la raíz de la caja (`/proc/PID/root`).
    """
    mounts, found = _mounts(), []
    for path in _everything_private(private):
        places = [str(path), *_seen_at(path, mounts)]
        if any(_is_same(path, Path(f"{root}{place}")) for place in places):
            found.append(path)
    return found


def _is_same(path: Path, place: Path) -> bool:
    try:
        return path.samefile(place)
    except OSError:
        return False


# Lo que se monta


def _mounts() -> list[Mount]:
    """Todo lo que se ve: lo que contiene, antes que lo contenido."""
    system = [Path("/", name) for name in _SYSTEM]
    system = [p for p in system if p.is_dir() and not p.is_symlink()]
    system += [p for name in _SYSTEM if (p := Path("/usr", name)).is_dir() and not p.is_symlink()]
    system += [p for name in _DATA if (p := Path("/usr/share", name)).is_dir()]
    return [*((path.resolve(), str(path)) for path in system), *_python_mounts()]


def _python_mounts() -> Iterator[Mount]:
    stdlib = Path(sysconfig.get_path("stdlib"))
    inside = stdlib.relative_to(sys.base_prefix)
    if _from_system():
        yield stdlib.resolve(), f"{PYTHON}/{inside}"
    else:  # con las bibliotecas compartidas que trae consigo
        folder = inside.parts[0]
        yield Path(sys.base_prefix, folder).resolve(), f"{PYTHON}/{folder}"
    yield Path(getattr(sys, "_base_executable", sys.executable)).resolve(), INTERPRETER
    for number, folder in enumerate(_package_folders()):
        yield folder, _package_target(number)


def _from_system() -> bool:
    return Path(sys.base_prefix).resolve() == Path("/usr")


def _package_folders() -> list[Path]:
    """Las carpetas de paquetes de donde importa este proceso, en su orden."""
    named = [Path(p) for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
    named.append(Path(sysconfig.get_path("purelib")))
    return list(dict.fromkeys(path.resolve() for path in named if path.is_dir()))


def _package_target(number: int) -> str:
    return f"{PYTHON}/packages{number}"


# Lo que se tapa


def _everything_private(private: Iterable[Path]) -> list[Path]:
    return list(dict.fromkeys([project_folder(), *(Path(path).resolve() for path in private)]))


def _ours() -> list[Path]:
    stdlib = Path(sysconfig.get_path("stdlib")).resolve()
    found = [p for p in (stdlib / "site-packages", stdlib / "dist-packages") if p.is_dir()]
    folders = _package_folders()
    return [*found, *(path for f in folders for name in _OURS for path in f.glob(name))]


def _seen_at(path: Path, mounts: list[Mount]) -> list[str]:
    """Da las rutas en que se vería dentro algo de fuera, si nadie lo tapa."""
    return [
        f"{target}/{path.relative_to(source)}"
        for source, target in mounts
        if path != source and path.is_relative_to(source)
    ]


def _is_within(path: str, above: str) -> bool:
    return path == above or path.startswith(f"{above}/")


def _cover(path: Path, target: str) -> list[str]:
    if path.is_dir():
        return ["--tmpfs", target, "--remount-ro", target]
    return ["--ro-bind", "/dev/null", target]
