"""El comando `python -m benchmarks [NOMBRE…]`."""

import argparse
import importlib
import pkgutil

import torch

import benchmarks
from benchmarks import _report


def main() -> None:
    modules = pkgutil.iter_modules(benchmarks.__path__)
    available = [m.name for m in modules if m.name[0] != "_" and not m.ispkg]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("names", nargs="*", metavar="NOMBRE", help=", ".join(available))
    parser.add_argument("--device", default="cpu", help="cpu (la de por defecto), cuda o mps")
    parser.add_argument("--threads", type=int, default=1, help="hilos de torch; por defecto, 1")
    parser.add_argument(
        "--label", default="", metavar="ETIQUETA", help="guarda aparte lo de otra máquina: amd"
    )
    options = parser.parse_args()
    if unknown := set(options.names) - set(available):
        parser.error(f"no existe {', '.join(sorted(unknown))}; las hay: {', '.join(available)}")
    torch.set_num_threads(options.threads)
    for name in options.names or available:
        module = importlib.import_module(f"benchmarks.{name}")
        with torch.no_grad():
            rows = module.run(options.device)
        _report.publish(name, module.__doc__, rows, options.device, options.label)


if __name__ == "__main__":
    main()
