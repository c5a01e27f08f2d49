"""Cómo se cuenta: una tabla en la terminal, y los mismos números en JSON y Markdown."""

import datetime
import json
import platform
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


def publish(
    name: str, description: str, rows: list[dict[str, Any]], device: str, label: str = ""
) -> None:
    """Muestra las filas y las guarda; las de otro dispositivo u otra máquina, con su nombre."""
    kind = "" if device == "cpu" else torch.device(device).type
    stem = "-".join(filter(None, (name, kind, label)))
    title, *details = description.strip().split("\n\n")
    machine = describe_machine(device)
    Console().print(_terminal_table(title, rows))
    RESULTS.mkdir(exist_ok=True)
    record = {"name": name, "machine": machine, "rows": rows}
    (RESULTS / f"{stem}.json").write_text(
        json.dumps(record, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
    )
    page = [f"# {title}", *details, _markdown_table(rows), _markdown_machine(machine)]
    (RESULTS / f"{stem}.md").write_text("\n\n".join(page) + "\n", encoding="utf-8")


def describe_machine(device: str) -> dict[str, Any]:
    """Dice cuándo y dónde se midió."""
    on_gpu = torch.device(device).type == "cuda"
    return {
        "fecha": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "dispositivo": torch.cuda.get_device_name(device) if on_gpu else f"{device}: {_cpu()}",
        "hilos": torch.get_num_threads(),
        "torch": torch.__version__,
        "Python": platform.python_version(),
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _terminal_table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=title)
    for column, value in rows[0].items():
        table.add_column(column, justify="left" if isinstance(value, str) else "right")
    for row in rows:
        table.add_row(*map(_format, row.values()))
    return table


def _markdown_table(rows: list[dict[str, Any]]) -> str:
    sides = [":--" if isinstance(value, str) else "--:" for value in rows[0].values()]
    lines = [list(rows[0]), sides, *([_format(v) for v in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_machine(machine: dict[str, Any]) -> str:
    return "Medido con " + ", ".join(f"{key} {value}" for key, value in machine.items()) + "."


def _format(value: Any) -> str:
    """Tres cifras significativas sin notación científica; «—» si no se pudo medir."""
    if value is None:
        return "—"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
