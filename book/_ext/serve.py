"""Sirve el libro en http://localhost:8000 y lo rehace con cada cambio (make serve).

Usa la misma configuración que `jupyter-book build`: un conf.py, en _build, que lee _config.yml.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "_build"
CONF = """
from pathlib import Path
from jupyter_book.config import get_final_config

root = Path({root!r})
config, _ = get_final_config(
    user_yaml=root / "_config.yml",
    cli_config={{"external_toc_path": str(root / "_toc.yml"), "latex_individualpages": False}},
    sourcedir=root,
)
# Sphinx cuenta estas rutas desde la carpeta de este archivo.
for name in ("html_static_path", "templates_path", "bibtex_bibfiles"):
    config[name] = [str(root / path) for path in config[name]]
for name in ("html_logo", "html_favicon"):
    config[name] = str(root / config[name])
config["nb_execution_cache_path"] = str(root / "_build" / ".jupyter_cache")
globals().update(config)
"""


def write_configuration() -> Path:
    folder = BUILD / "serve" / "conf"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conf.py").write_text(CONF.format(root=str(ROOT)), encoding="utf-8")
    return folder


def command(port: int) -> list[str]:
    """El comando de sphinx-autobuild: vigila el libro, los cuadernos y la biblioteca."""
    ignored = r"(/|^)(_build|\.venv|\.git|__pycache__|[^/]*_cache|[^/]*\.tmp)(/|$)"
    return [
        *(sys.executable, "-m", "sphinx_autobuild", "--port", str(port)),
        *("--re-ignore", ignored),
        *("--conf-dir", str(write_configuration())),
        *("--doctree-dir", str(BUILD / "serve" / "doctrees")),
        str(ROOT),
        str(BUILD / "serve" / "html"),
    ]


if __name__ == "__main__":
    # Mientras se escribe, un capítulo a medias no esconde los demás.
    os.environ.setdefault("COURSE_DRAFT", "1")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    sys.exit(os.spawnv(os.P_WAIT, sys.executable, command(port)))
