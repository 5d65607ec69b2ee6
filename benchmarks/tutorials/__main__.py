"""Runs the tutorials' rows on many schedules and prints a table: `python -m benchmarks.tutorials --seeds 20`."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.tutorials import attention, gemm
from benchmarks.tutorials.row import Tutorial, simulate
from tlxgen.sim import SCHEDULES, Report


@dataclass(frozen=True)
class Outcome:
    """A row, and what its runs found."""

    row: Tutorial
    report: Report

    @property
    def findings(self) -> dict[str, str]:
        """Each id with how often (at how many places) and why, or that it is not explained."""
        why = {**self.row.warnings, **self.row.defects}
        counts = Counter(s.finding.id for s in self.report.seen)
        return {f"{count} {id}": why.get(id, "NOT EXPLAINED") for id, count in counts.items()}

    def as_json(self) -> dict[str, Any]:
        seen = [{"finding": str(s.finding), "schedule": s.schedule, "seed": s.seed} for s in self.report.seen]
        return {
            "kernel": self.row.name, "runs": self.report.runs, "seconds": round(self.report.seconds, 2),
            "steps": self.report.steps, "unexplained": self.row.unexplained(self.report), "seen": seen,
        }  # fmt: skip

    def as_line(self) -> str:
        found = "; ".join(f"{what} ({why})" for what, why in self.findings.items()) or "none"
        return f"| {self.row.name} | {self.report.runs} | {found} | {self.report.seconds / self.report.runs:.2f} |"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tutorials", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1, help="runs of each schedule")
    parser.add_argument("--schedules", nargs="+", choices=SCHEDULES, default=list(SCHEDULES))
    parser.add_argument("--only", default="", help="rows whose name holds this text")
    parser.add_argument("--json", type=Path, help="write everything that was found to this file")
    return parser.parse_args()


def main() -> int:
    """Exit status 1 when a row has a finding that it does not explain."""
    options = _arguments()
    runs = [(schedule, seed) for schedule in options.schedules for seed in range(options.seeds)]
    outcomes: list[Outcome] = []
    print("| kernel | runs | findings | seconds a run |\n|---|---|---|---|", flush=True)
    for row in (*attention.ROWS, *gemm.ROWS):
        if options.only in row.name:
            outcomes.append(Outcome(row, simulate(row, runs)))
            print(outcomes[-1].as_line(), flush=True)
    if options.json:
        options.json.write_text(json.dumps([o.as_json() for o in outcomes], indent=1) + "\n")
    return int(any(o.row.unexplained(o.report) for o in outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
