"""El registro: lo que salió, con intervalos, en JSON para las páginas y en Markdown para leerlo."""

import json
from collections.abc import Sequence
from math import isfinite, sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from scipy.stats import t

from benchmarks._report import RESULTS, describe_machine
from benchmarks.experiments._experiment import Experiment
from benchmarks.experiments._running import Outcome

RECORDS = RESULTS / "experiments"
CONFIDENCE = 0.95

Interval = dict[str, Any]


def interval(values: Sequence[float]) -> Interval:
    """La media de unas semillas y la mitad de su intervalo de confianza del 95 %.

        x̄ ± t₀.₉₇₅ · s / √n,   con n − 1 grados de libertad

    Con una sola semilla no hay intervalo: la mitad es None.

    Errores:
        ValueError: no hay valores, o uno no es finito.
    """
    if not values or not all(map(isfinite, values)):
        raise ValueError(f"Se esperaban números finitos y llegó {list(values)}.")
    half = None
    if len(values) > 1:
        quantile = t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)
        half = float(quantile * stdev(values) / sqrt(len(values)))
    return {"mean": fmean(values), "half_width": half, "values": list(values)}


def make_record(
    name: str, description: str, experiment: Experiment, found: dict[str, Outcome], device: str
) -> dict[str, Any]:
    """Reúne lo que dio cada semilla.

    `difference` compara con el primero, o con el que diga `against`, semilla por semilla: si su
    intervalo no contiene el cero, la diferencia no es cuestión de suerte. `along` es lo que se
    midió mientras se entrenaba.
    """
    title, *details = description.strip().split("\n\n")
    first, ours = next((name, outcome.runs) for name, outcome in found.items())
    runs = [run for outcome in found.values() for run in outcome.runs]
    rivals = {}
    for rival, outcome in found.items():
        against = experiment.rivals[rival].against or first
        rivals[rival] = {"against": against} | _summary(experiment, outcome, found[against].runs)
    return {
        "name": name,
        "title": title,
        "details": details,
        "machine": describe_machine(device)
        | {"fecha": max(run["date"] for run in runs), "hilos": 1},
        "minutes": round(sum(run["seconds"] for run in runs) / 60, 1),
        "seeds": list(experiment.seeds),
        "tuning_seeds": experiment.tuning_seeds,
        "sizes": dict(zip(("train", "validation", "test"), ours[0]["sizes"], strict=True)),
        "measures": dict(experiment.measures),
        "chosen_by": experiment.chosen_by,
        "rivals": rivals,
        "header": ["", *(f"{m}, {u}" if u else m for m, u in experiment.measures.items())],
        "rows": [
            [rival, *(written(summary["test"][m], u) for m, u in experiment.measures.items())]
            for rival, summary in rivals.items()
        ],
    }


def _summary(experiment: Experiment, outcome: Outcome, ours: list) -> dict[str, Any]:
    runs, tried = outcome

    def gather(part: str) -> dict[str, Interval]:
        return {m: interval([run[part][m] for run in runs]) for m in experiment.measures}

    def against(measure: str) -> Interval:
        pairs = zip(runs, ours, strict=True)
        return interval([a["test"][measure] - b["test"][measure] for a, b in pairs])

    grid, chosen = list(tried), runs[0]["setting"]
    best = experiment.chosen_by
    return {
        "grid": grid,
        "chosen": chosen,
        # En el borde de la rejilla: quizá más allá le fuera mejor.
        "at_edge": len(tried) > 1 and chosen in (grid[0], grid[-1]),
        "tried": [_if_finite([run[best] for run in figures]) for figures in tried.values()],
        "parameters": runs[0]["parameters"],
        "seconds": round(fmean(run["seconds"] for run in runs), 1),
        "validation": gather("validation"),
        "test": gather("test"),
        "difference": {measure: against(measure) for measure in experiment.measures},
        "curve": _mean_curve([run["curve"] for run in runs]),
        "along": {m: _mean_curve([run["along"][m] for run in runs]) for m in runs[0]["along"]},
    }


def _if_finite(values: list[float]) -> Interval | None:
    """Un ajuste que se probó y se rompió no tiene media."""
    return interval(values) if all(map(isfinite, values)) else None


def _mean_curve(curves: list) -> dict[str, list[float]] | None:
    """La pérdida al entrenar, en promedio de las semillas, con su intervalo."""
    if not all(curves):
        return None
    points = [interval([value for _, value in same]) for same in zip(*curves, strict=True)]
    return {
        "steps": [step for step, _ in curves[0]],
        "mean": [round(point["mean"], 5) for point in points],
        "half_width": [round(point["half_width"], 5) for point in points],
    }


def written(figure: Interval, unit: str = "") -> str:
    """«95.1 ± 0.4», en tanto por ciento, o «1.204 ± 0.013»."""
    scale, digits = (100, 1) if unit == "%" else (1, 3)
    parts = [part for part in (figure["mean"], figure["half_width"]) if part is not None]
    return " ± ".join(f"{scale * part:.{digits}f}" for part in parts).replace("-", "−")


def save(record: dict[str, Any], folder: Path = RECORDS) -> None:
    """Escribe el registro en JSON y en Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False)
    (folder / f"{record['name']}.json").write_text(text + "\n", encoding="utf-8")
    (folder / f"{record['name']}.md").write_text(as_markdown(record), encoding="utf-8")


def as_markdown(record: dict[str, Any]) -> str:
    """La página del registro."""
    best = record["chosen_by"]
    unit = record["measures"][best]
    sizes = record["sizes"]
    first = next(iter(record["rivals"]))
    # Los registros de antes no lo dicen: en ellos todos se comparan con el primero.
    against = {name: rival.get("against", first) for name, rival in record["rivals"].items()}
    whom = "diferencia con el primero" if set(against.values()) == {first} else "diferencia"
    head = [*record["header"], f"{best}: {whom}", "ajuste", "parámetros"]
    lines = [head, [":--"] + ["--:"] * (len(head) - 1)]
    for row, (name, rival) in zip(record["rows"], record["rivals"].items(), strict=True):
        edge = " (borde)" if rival["at_edge"] else ""
        setting = "—" if rival["chosen"] is None else f"{rival['chosen']}{edge}"
        difference = written(rival["difference"][best], unit)
        if against[name] != first:
            difference += f" con «{against[name]}»"
        shown = "—" if against[name] == name else difference
        lines.append([*row, shown, setting, str(rival["parameters"] or "—")])
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    tried = [
        f"- {name}: {'; '.join(_settings(rival, unit))}"
        for name, rival in record["rivals"].items()
        if len(rival["grid"]) > 1
    ]
    machine = ", ".join(f"{key} {value}" for key, value in record["machine"].items())
    parts = [
        f"# {record['title']}",
        *record["details"],
        table,
        f"Semillas: {', '.join(map(str, record['seeds']))}. Media e intervalo del 95 % (t de "
        "Student) entre semillas; la diferencia, por parejas. Ejemplos: "
        f"{sizes['train']} para entrenar, {sizes['validation']} de validación y {sizes['test']} "
        "de prueba.",
        f"En validación, {best} con cada ajuste ({_counted(record['tuning_seeds'])}):",
        "\n".join(tried),
        f"Medido con {machine}. Los entrenamientos de la tabla suman {record['minutes']} minutos "
        "de un hilo.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _counted(seeds: int) -> str:
    return "1 semilla" if seeds == 1 else f"{seeds} semillas"


def _settings(rival: dict[str, Any], unit: str) -> list[str]:
    pairs = zip(rival["grid"], rival["tried"], strict=True)
    means = (
        (s, written(found, unit).split(" ± ")[0] if found else "se rompe") for s, found in pairs
    )
    return [f"{setting} → {mean}" for setting, mean in means]
