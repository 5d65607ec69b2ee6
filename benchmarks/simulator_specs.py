"""One table of what `tlxgen verify --json` recorded of several specs: a row for each kernel.

    for s in specs/blackwell_*gemm*.yaml; do
        tlxgen verify $s --seeds 20 --workers 1 --timeout 3000 --json records/$(basename $s .yaml).json
    done
    python benchmarks/simulator_specs.py records/*.json --json benchmarks/results/simulator_blackwell.json

A case is a config and a shape; each is run on every schedule and seed of its record. Exit status 1 when there is a
finding, or a kernel that was not run to its end.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tlxgen.files import write_atomic

Row = dict[str, Any]
COLUMNS = ("kernel", "cases", "seeds", "runs", "findings", "seconds")


def rows_of(record: dict[str, Any]) -> list[Row]:
    """A row for each target of a record. Seeds are those of a schedule that has chance in it."""
    ways = [way["schedule"] for way in record["runs"]]
    seeds = max(ways.count(schedule) for schedule in ways)
    rows = []
    for target in record["targets"]:
        row = {"kernel": target["target"], "cases": target["runs"] // len(ways), "seeds": seeds}
        rest = {"runs": target["runs"], "findings": len(target["findings"]), "seconds": round(target["seconds"])}
        rows.append(row | rest | ({"status": target["status"]} if target["status"] != "clean" else {}))
    return rows


def as_markdown(rows: Sequence[Row]) -> str:
    total = {name: sum(row[name] for row in rows) for name in ("cases", "runs", "findings", "seconds")}
    lines = [
        "# Generated kernels in the simulator",
        "",
        f"{len(rows)} kernels, {total['cases']} cases (a config and a shape), {total['runs']} runs, on the schedules "
        f"random and starved with so many seeds, lazy and eager: {total['findings']} findings, {total['seconds']} s. "
        "Written by `python benchmarks/simulator_specs.py`.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
        *(f"| {' | '.join(str(row[name]) for name in COLUMNS)} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    rows = [row for path in options.records for row in rows_of(json.loads(path.read_text()))]
    text = ",\n  ".join(json.dumps(row) for row in rows)
    write_atomic(options.json, f'{{"kernels": [\n  {text}\n]}}\n'.encode())
    write_atomic(options.json.with_suffix(".md"), as_markdown(rows).encode())
    return int(any(row["findings"] or "status" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main())
