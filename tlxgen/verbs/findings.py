"""Prints the findings of `tlxgen verify` on a target: first the verdict, then the state of the barriers, then the
findings that follow from it, folded."""

from __future__ import annotations

import linecache
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tlxgen.verify import Result
from tlxgen.words import counted

Found = Mapping[str, Any]  # a finding, a verdict or a place, as the record has it
ARRAYS = 6  # limit of the barrier arrays that are shown


def told(result: Result, every: bool) -> Iterator[str]:
    """Lines about the findings of a target: one of each kind or, with `every`, each finding with its witness."""
    verdict = result.verdict
    if verdict:
        yield f"most likely: {verdict['cause']}"
        yield from (f"    {_at(place)}  {_source(place)}".rstrip() for place in verdict["places"])
        if verdict["proof"]:
            yield f"    {verdict['proof']}"
        yield from _barriers(verdict["barriers"])
    if every or not verdict:
        for finding in result.findings:
            yield _line(finding)
            yield from _witness(result, finding)
        return
    first = next((f for f in result.findings if _same(f, verdict["finding"])), result.findings[0])
    yield _line(first)
    yield from _witness(result, next((f for f in result.findings if f["id"] == first["id"] and "witness" in f), first))
    yield from _folded([f for f in result.findings if f is not first])


def _barriers(arrays: Sequence[Found]) -> Iterator[str]:
    if not arrays:
        return
    yield "  barriers, who arrives on them and how often:"
    for one in arrays[:ARRAYS]:
        slots = f"[{one['slots']}]" if one["slots"] > 1 else ""
        sizes = "" if one["expected"] is None else f", expects {one['expected']} bytes, {one['brought']} come"
        yield f"    {one['array']}{slots} counts {one['count']}{sizes}  {_at(one['places'][0])}"
        yield from (f"        {arrival}" for arrival in one["arrivals"] or ("nobody arrives",))
    if len(arrays) > ARRAYS:
        yield f"    {len(arrays) - ARRAYS} more, on which nothing is odd"


def _folded(findings: Sequence[Found]) -> Iterator[str]:
    """One line for each kind, with its first finding."""
    if not findings:
        return
    kinds: dict[str, list[Found]] = {}
    for finding in findings:
        kinds.setdefault(finding["id"], []).append(finding)
    yield f"  {len(findings)} more, which may follow from it (--all prints each):"
    for some in kinds.values():
        more = f" (and {len(some) - 1} more)" if len(some) > 1 else ""
        yield f"    {_what(some[0], 160)}{more}"


def _what(finding: Found, most: int = 0) -> str:
    where = ", ".join(map(_at, finding["places"]))
    message = textwrap.shorten(finding["message"], most, placeholder=" ...") if most else finding["message"]
    return f"{finding['severity']} {finding['id']}: {message}" + (f" [{where}]" if where else "")


def _line(finding: Found) -> str:
    sms = f", {counted(finding['sms'], 'SM')}" if finding.get("sms") else ""
    run = f" (schedule {finding['schedule']}, seed {finding['seed']}{sms})"
    return f"{_what(finding)}; {finding['fix']}{'' if finding['schedule'] == 'replay' else run}"


def _witness(result: Result, finding: Found) -> Iterator[str]:
    if "witness" in finding:
        story = f"{finding['witness']}\nreplay: --replay {shlex.quote(result.target + '=' + finding['replay'])}"
        yield textwrap.indent(story, "  ")


def _same(finding: Found, other: Found) -> bool:
    return bool((finding["id"], finding["places"]) == (other["id"], other["places"]))


def _source(place: Found) -> str:
    return linecache.getline(place["path"], place["line"]).strip()[:100]


def _at(place: Found) -> str:
    """A place as path:line:column, which terminals and editors open. The column is that of the first character."""
    text = linecache.getline(place["path"], place["line"])
    return f"{place['path']}:{place['line']}:{len(text) - len(text.lstrip()) + 1}"
