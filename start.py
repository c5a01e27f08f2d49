"""Prepara el curso en esta carpeta y lo abre en JupyterLab: `python start.py`.

La primera vez instala la biblioteca y JupyterLab en `.venv`, que está aquí mismo; las demás, abre.
Con `--no-open` solo prepara. Usa nada más que lo que trae Python.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv"
PROGRAMS = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
PYTHON = PROGRAMS / ("python.exe" if os.name == "nt" else "python")
WHEELHOUSE = HERE / "wheelhouse"
MARK = ENVIRONMENT / ".student"


def requirements() -> str:
    """Lo que se instala; en Linux con GPU de NVIDIA, el torch que la usa en lugar del de CPU."""
    files = [HERE / name for name in ("requirements-student.txt", "requirements.txt")]
    text = next(path for path in files if path.is_file()).read_text(encoding="utf-8")
    if sys.platform == "linux" and shutil.which("nvidia-smi") and not WHEELHOUSE.is_dir():
        lines = [line for line in text.splitlines() if not line.startswith("--extra-index-url")]
        text = "\n".join(lines).replace("+cpu", "") + "\n"
    return text


def install(text: str) -> None:
    """Crea el entorno, si falta, e instala en él."""
    if not PYTHON.is_file():
        print("Preparo el entorno, en .venv…", flush=True)
        venv.create(ENVIRONMENT, with_pip=True)
    listed = ENVIRONMENT / "student.txt"
    listed.write_text(text, encoding="utf-8")
    offline = ["--no-index", "--find-links", str(WHEELHOUSE)] if WHEELHOUSE.is_dir() else []
    print("Instalo la biblioteca y JupyterLab: un par de minutos…", flush=True)
    # Sin compilar de antemano: ocupa bastante menos, y cada módulo se compila la primera vez.
    # Y sin insistir tanto: con un índice que no contesta, pip espera minutos por cada paquete.
    options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--retries=2", *offline]
    command = [str(PYTHON), "-m", "pip", "install", *options, "-r", str(listed)]
    subprocess.run(command, cwd=HERE, check=True)


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036  Quien lo ejecuta puede tener otro.
        sys.exit(f"Hace falta Python 3.11 o posterior, y este es {sys.version.split()[0]}.")
    text = requirements()
    # La biblioteca de una carpeta nueva puede tener el mismo número: cuenta también su contenido.
    parts = [text.encode(), *(path.read_bytes() for path in sorted(HERE.glob("*.whl")))]
    ready = hashlib.sha256(b"".join(parts)).hexdigest()
    try:
        if not MARK.is_file() or MARK.read_text() != ready:
            install(text)
            MARK.write_text(ready)
        subprocess.run([str(PYTHON), "-m", "course_lib.cli", "doctor", "--student"], check=True)
    except subprocess.CalledProcessError as error:
        if ".venv" not in str(error.cmd) or sys.platform != "linux" or PYTHON.is_file():
            sys.exit("No se pudo: arriba está el motivo. Cuando lo corrijas, repite la orden.")
        sys.exit("Falta venv. En Debian y Ubuntu: sudo apt-get install python3-venv")
    if "--no-open" in sys.argv[1:]:
        return
    print("Abro JupyterLab; para cerrarlo, Ctrl+C aquí.", flush=True)
    lab = [str(PYTHON), "-m", "jupyterlab", f"--ServerApp.root_dir={HERE}"]
    subprocess.run([*lab, "--LabApp.default_url=/lab/tree/exercises"], cwd=HERE, check=False)


if __name__ == "__main__":
    main()
