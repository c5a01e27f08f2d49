"""El comando `python -m benchmarks.experiments NOMBRE…`."""

import argparse
import importlib
import os
import pkgutil

import torch
from rich.console import Console
from rich.markdown import Markdown

from benchmarks import experiments
from benchmarks.experiments import _claims, _record, _running


def main() -> None:
    available = [m.name for m in pkgutil.iter_modules(experiments.__path__) if m.name[0] != "_"]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.experiments", description=experiments.__doc__
    )
    parser.add_argument("names", nargs="*", metavar="NOMBRE", help=", ".join(available))
    parser.add_argument("--device", default="cpu", help="cpu (la de por defecto), cuda o mps")
    parser.add_argument(
        "--jobs", type=int, help="entrenamientos a la vez: en la CPU, uno por núcleo; si no, uno"
    )
    parser.add_argument(
        "--claims", action="store_true", help="solo rehace la tabla de lo que el libro afirma"
    )
    options = parser.parse_args()
    if bool(options.names) == options.claims:
        parser.error(f"se esperaba un experimento o --claims; los hay: {', '.join(available)}")
    if unknown := set(options.names) - set(available):
        parser.error(f"no existe {', '.join(sorted(unknown))}; los hay: {', '.join(available)}")
    on_cpu = torch.device(options.device).type == "cpu"
    jobs = (os.cpu_count() if on_cpu else 1) if options.jobs is None else options.jobs
    if jobs < 1:
        parser.error(f"--jobs: se esperaba al menos 1 y llegó {jobs}")
    for name in options.names:
        module = f"{experiments.__name__}.{name}"
        found = _running.run_all(module, options.device, jobs)
        record = _record.make_record(
            name,
            importlib.import_module(module).__doc__,
            _running.load(module),
            found,
            options.device,
        )
        _record.save(record)
        Console().print(Markdown(_record.as_markdown(record)))
    _claims.save()


if __name__ == "__main__":
    main()
