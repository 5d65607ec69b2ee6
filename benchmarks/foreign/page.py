"""docs/foreign.md: the record as people read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
COLUMNS = ("kernel", "file", "repository", "commit", "made by", "runs", "verdict", "real", "harmless")
PLACES = 4  # that a finding is shown at
LONGEST = 200  # characters of a message, or of a list of decisions
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
        counts = [len(_groups(row, judgment)) for judgment in ("real", "harmless")]
        file = "/".join(next(iter(row["files"])).split("/")[-2:])
        cells = [row["kernel"], f"`{file}`", row["repository"], row["commit"][:12], row["made_by"], row["runs"]]
        cells.append(row["verdict"])
        lines.append(f"| {' | '.join(str(cell) for cell in (*cells, *counts))} |")
    if any("note" in row for row in rows):
        lines += ["", *(f"- **{row['kernel']}**: {row['note']}" for row in rows if "note" in row)]
    lines += _findings(rows, "real", "Real faults") + _findings(rows, "harmless", "Harmless findings")
    return "\n".join(lines) + "\n"


def _summary(rows: Sequence[Row]) -> str:
    clean = sum(row["verdict"] == "clean" for row in rows)
    made = sum(row["made_by"] != "hand" for row in rows)
    runs = sum(row["runs"] for row in rows)
    return f"{len(rows)} kernels, {made} of them made by a tool, in {runs} runs: {clean} without a finding."


def _groups(row: Row, judgment: str) -> dict[tuple[str, str], list[Row]]:
    """The findings that are judged so, those of one kind and one reason together."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for finding in row["findings"]:
        if finding["judgment"] == judgment:
            groups.setdefault((finding["id"], finding["why"]), []).append(finding)
    return groups


def _findings(rows: Sequence[Row], judgment: str, title: str) -> list[str]:
    lines: list[str] = []
    for row in rows:
        for (id_, why), found in _groups(row, judgment).items():
            lines.append(f"- **{row['kernel']}**: `{id_}`{_at(found)}. {why}")
            if judgment == "real":
                lines += _witness(found)
    return ["", f"## {title}", "", *lines] if lines else []


def _at(found: Sequence[Row]) -> str:
    places = sorted({(p["path"], p["line"]) for f in found for p in f["places"]})
    named = [f"`{path.rpartition('/')[2]}:{line}`" for path, line in places[:PLACES]]
    more = [f"{len(places) - PLACES} more"] if len(places) > PLACES else []
    return f" at {', '.join(named + more)}" if named else ""


def _witness(found: Sequence[Row]) -> list[str]:
    shown = next((f for f in found if "witness" in f), found[0])
    way = f"replay `{shown['replay']}`" if "replay" in shown else f"schedule {shown['schedule']}, seed {shown['seed']}"
    way = way if len(way) <= LONGEST else "replay in the record"
    message = shown["message"] if len(shown["message"]) <= LONGEST else f"{shown['message'][:LONGEST]}..."
    return [f"  Case {shown['case']}, {way}: {message}"]
