"""docs/foreign.md: the record as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
COLUMNS = ("kernel", "repository", "commit", "made by", "runs", "verdict", "real", "harmless")
INTRODUCTION = """# Foreign kernels

The simulator runs kernels that others have written, from their public repositories, as they are. This repeats it, where
FOLDER has each repository as a folder OWNER+NAME at the commit of the table:

    python -m benchmarks.foreign FOLDER --write

Every kernel's files are held against that commit by their content. Its cases, with references in float64, are in
`benchmarks/foreign`. A finding is *real* where the kernel is wrong on some order of events, or for arguments that its
host code admits. It is *harmless* where what it says is so and nothing comes of it. A run is a case on one schedule and
seed. Witnesses are in `benchmarks/results/foreign.json`.
"""


def as_markdown(rows: Sequence[Row]) -> str:
    lines = [INTRODUCTION, _summary(rows), "", f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for row in rows:
        counts = [sum(f["judgment"] == judgment for f in row["findings"]) for judgment in ("real", "harmless")]
        cells = [row["kernel"], row["repository"], row["commit"][:12], row["made_by"], row["runs"], row["verdict"]]
        lines.append(f"| {' | '.join(str(cell) for cell in (*cells, *counts))} |")
    lines += _findings(rows, "real", "Real faults") + _findings(rows, "harmless", "Harmless findings")
    return "\n".join(lines) + "\n"


def _summary(rows: Sequence[Row]) -> str:
    clean = sum(row["verdict"] == "clean" for row in rows)
    made = sum(row["made_by"] != "hand" for row in rows)
    runs = sum(row["runs"] for row in rows)
    return f"{len(rows)} kernels, {made} of them made by a tool, in {runs} runs: {clean} without a finding."


def _findings(rows: Sequence[Row], judgment: str, title: str) -> list[str]:
    lines: list[str] = []
    for row in rows:
        groups: dict[tuple[str, str], list[Row]] = {}
        for finding in row["findings"]:
            if finding["judgment"] == judgment:
                groups.setdefault((finding["id"], finding["why"]), []).append(finding)
        for (id_, why), found in groups.items():
            places = sorted({(p["path"], p["line"]) for f in found for p in f["places"]})
            at = ", ".join(f"`{path.rpartition('/')[2]}:{line}`" for path, line in places)
            lines += [f"- **{row['kernel']}**: `{id_}` at {at}. {why}"]
            if judgment == "real":
                lines += _witness(found)
    return ["", f"## {title}", "", *lines] if lines else []


def _witness(found: Sequence[Row]) -> list[str]:
    shown = next((f for f in found if "witness" in f), found[0])
    way = f"replay `{shown['replay']}`" if "replay" in shown else f"schedule {shown['schedule']}, seed {shown['seed']}"
    return [f"  Case {shown['case']}, {way}: {shown['message']}"]
