"""Lo que el libro afirma con números: dónde, con qué registro, contra quién y qué queda.

Se escribe en `benchmarks/claims.toml`, una entrada por afirmación:

- `page` y `says`: la página, y las palabras con que lo dice, tal como se leen en ella;
- `figure`: el lugar del registro de un experimento, como en el rol `record`; o bien `record`, que
  nombra una medición (o «página»: se calcula al construirla), con sus `seeds`;
- `rival`: contra quién; con `figure`, si falta, es el del registro;
- `verdict`: uno de `VERDICTS`. Lo que «se retiró» no puede seguir en la página;
- `why`: lo que haya que explicar.
"""

import json
import tomllib
from collections import Counter
from typing import Any

from benchmarks._report import RESULTS
from benchmarks.experiments._record import RECORDS, written

CLAIMS = RESULTS.parent / "claims.toml"
TABLE = RESULTS / "claims.md"
VERDICTS = ("se sostiene", "cambió", "se retiró", "por probar")
HEADER = ("página", "afirmación", "registro", "rival", "semillas", "intervalo", "veredicto")


def read_claims() -> list[dict[str, Any]]:
    """Las afirmaciones, en el orden en que están escritas.

    Errores:
        ValueError: a una le falta algo, o su veredicto no existe.
    """
    claims = tomllib.loads(CLAIMS.read_text("utf-8"))["claim"]
    for claim in claims:
        if not {"page", "says", "verdict"} <= claim.keys() or claim["verdict"] not in VERDICTS:
            raise ValueError(f"claims.toml: se esperaba page, says y uno de {VERDICTS}: {claim}")
        if ("figure" in claim) == ({"record", "seeds", "rival"} <= claim.keys()):
            raise ValueError(f"claims.toml: se esperaba figure, o record, seeds y rival: {claim}")
    return claims


def as_markdown(claims: list[dict[str, Any]]) -> str:
    """La tabla, con la cuenta de los veredictos."""
    counts = Counter(claim["verdict"] for claim in claims)
    said = ", ".join(f"{counts[verdict]} «{verdict}»" for verdict in VERDICTS)
    lines = [HEADER, [":--"] * len(HEADER), *map(_row, claims)]
    return (
        "# Lo que el libro afirma con números\n\n"
        f"Son {len(claims)} afirmaciones: {said}. «Por probar»: no se ha medido contra el rival "
        "que podría desmentirla, con su propia tasa y cinco semillas. La tabla sale de "
        "`benchmarks/claims.toml`; `python -m benchmarks.experiments --claims` la rehace.\n\n"
        + "\n".join(f"| {' | '.join(line)} |" for line in lines)
        + "\n"
    )


def _row(claim: dict[str, Any]) -> list[str]:
    verdict = f"{claim['verdict']}: {claim['why']}" if "why" in claim else claim["verdict"]
    if "figure" not in claim:
        evidence = [claim["record"], claim["rival"], str(claim["seeds"]), "—"]
    else:
        name, rival, *place = claim["figure"].split("/")
        record = json.loads((RECORDS / f"{name}.json").read_text("utf-8"))
        tuned = place[0] in ("tried", "chosen")
        seeds = str(record["tuning_seeds"] if tuned else len(record["seeds"]))
        shown = _figure(record, rival, place)
        evidence = [f"experiments/{name}", claim.get("rival", rival), seeds, shown]
    return [claim["page"], f"«{claim['says']}»", *evidence, verdict]


def _figure(record: dict[str, Any], rival: str, place: list[str]) -> str:
    measure, *part = place
    if measure in ("parameters", "chosen"):
        return str(record["rivals"][rival][measure])
    if measure == "tried":
        grid = list(map(str, record["rivals"][rival]["grid"]))
        found = record["rivals"][rival]["tried"][grid.index(part[0])]
        return written(found, record["measures"][record["chosen_by"]]).strip()
    found = record["rivals"][rival][part[0] if part else "test"][measure]
    unit = record["measures"][measure]
    return f"{written(found, unit)} {unit}".strip()


def save() -> None:
    """Rehace la tabla."""
    TABLE.write_text(as_markdown(read_claims()), encoding="utf-8")
