"""The page of coverage: the source of targets with what ran, self-contained, for light and dark screens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from .summary import Summary

Seen = Mapping[str, Any]  # as `to_json` gives it


def page(targets: Sequence[tuple[str, Seen]], sources: Mapping[str, Sequence[str]]) -> str:
    """The page of targets by their names, in their order; `sources` are the lines of files, by the paths in `targets`.
    A file that is not among them is shown without its text."""
    from jinja2 import Environment, StrictUndefined

    text = resources.files(__package__).joinpath("page.html.j2").read_text()
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(text)
    return template.render(targets=[_target(i, name, seen, sources) for i, (name, seen) in enumerate(targets)])


def _target(number: int, name: str, seen: Seen, sources: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    summary = Summary.from_json(seen["summary"])

    def linked(one: Seen) -> dict[str, Any]:
        at = _id(number, one["path"], one["line"])
        return {"subject": "", "what": "", "reason": "", **one, "id": at}

    return {
        "id": f"t{number}",
        "name": name,
        "line": "; ".join(summary.missing) and f"Not seen: {'; '.join(summary.missing)}.",
        "counts": summary.counts,
        "sms": seen["sms"],
        "missing": [linked(gap) for gap in seen["missing"]],
        "excepted": [linked(gap) for gap in seen["excepted"]],
        "kernels": seen["kernels"],
        "rings": [linked(ring) for ring in seen["rings"]],
        "functions": [_function(number, f, seen, sources.get(f["path"], ())) for f in seen["functions"]],
    }


def _function(number: int, function: Seen, seen: Seen, source: Sequence[str]) -> dict[str, Any]:
    counts: dict[int, Any] = {}
    firsts: set[int] = set()
    for first, last, count in function["statements"]:
        for line in range(first, last + 1):
            counts[line] = count if line not in counts or count is None else max(counts[line] or 0, count)
        firsts.add(first)
    notes = _notes(function, seen)
    rows = []
    for line in range(function["line"], max(counts, default=function["line"]) + 1):
        known = line in counts
        kind = "" if not known else "out" if counts[line] is None else "hit" if counts[line] else "miss"
        rows.append(
            {
                "id": _id(number, function["path"], line),
                "line": line,
                "kind": kind,
                "count": counts[line] if line in firsts and counts[line] is not None else "",
                "text": source[line - 1] if line <= len(source) else "",
                "note": "; ".join(notes[line]),
            }
        )
    return {"name": function["name"], "path": function["path"], "rows": rows}


def _notes(function: Seen, seen: Seen) -> dict[int, list[str]]:
    """Line -> notes beside it."""
    notes: dict[int, list[str]] = defaultdict(list)
    for loop in function["loops"]:
        if not loop["fixed"] and any(loop["rounds"]):
            zero, one, more = loop["rounds"]
            notes[loop["line"]].append(f"rounds: 0 in {zero}, 1 in {one}, more in {more}")
    for branch in function["branches"]:
        false, true = branch["taken"]
        if not branch["fixed"] and false + true:
            notes[branch["line"]].append(f"true {true}, false {false}")
    for predicate in function["predicates"]:
        false, true = predicate["taken"]
        notes[predicate["line"]].append(f"predicate true {true}, false {false}")
    for access in seen["tiles"]:
        if access["path"] == function["path"]:
            inside, across, outside = access["tiles"]
            notes[access["line"]].append(f"tiles: {inside} inside, {across} ragged, {outside} outside")
    return notes


def _id(number: int, path: str, line: int) -> str:
    return f"t{number}-{path}-{line}"
