"""`python -m tlxgen.verify.simulate`: runs a job in the simulator, in a process that may be killed. Imports torch.

A request is {job, runs, memory, timeout_s, trace, prints, skeleton}. The answers are {"begin": ...} before a step that
may hang, {"report": ...} after each run with {"coverage": ...} of all runs so far, {"witness": ...} for the first
finding of each id, {"cases": ...} of a structure when all runs are done, {"verdict": ...} if there are findings,
{"print": ...} for the target's output, and {"error": ...} for a run that failed. A skeleton is {"skeleton": ...}.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tlxgen import cases
from tlxgen.bounded.serve import Say, lift_memory_limit, limit_memory, serve
from tlxgen.cases.foreign import shown
from tlxgen.coverage import Waiver, to_json
from tlxgen.errors import TlxgenError
from tlxgen.files import write_atomic
from tlxgen.sim import Budget, Delays, Place, Report, Script, Verdict, Way, diagnose, explain, sample
from tlxgen.sim.repeatable import out_of_memory

from . import functions, structures
from .verification import GIB, error_to_json

WORK = 50_000  # limit of the steps for shortening a run to a finding: a few seconds
PRINTED = 50_000  # limit of the shown characters of a target's output
_limited: list[int] = []  # the limit of this process, which is set once


def handle(request: dict[str, Any], say: Say) -> None:
    """Runs one job and reports after each run, so that findings before a hang are kept."""
    if not _limited:
        limit_memory(request["memory"])
        _limited.append(request["memory"])
    try:
        say({"begin": "importing"})
        if request["skeleton"]:
            job = request["job"]
            say({"skeleton": functions.skeleton_of(Path(job["file"]), job["name"], job["arch"])})
            return
        prints = _Prints(say, PRINTED if request["prints"] else 0)
        sys.stdout = prints
        verify, waivers = _prepare(request["job"])
        told, trace, total = set[str](), None, Report()
        for kind, value in request["runs"]:
            way, name = _way(kind, value)
            say({"begin": name})
            prints.run = name
            report = verify(way)
            prints.run = ""
            say({"report": _to_json(report)})
            total.add(report)
            say({"coverage": to_json(total.coverage, waivers, shown)})
            say({"begin": "shortening the way to a finding"})
            for seen, story in explain(report, told, WORK):
                about = {"id": seen.finding.id, "places": _places(seen.finding.places)}
                say({"witness": {**about, "replay": str(story.script), "text": story.text}})
                trace = trace or story.json
        if isinstance(verify, structures.Prepared):
            say({"cases": list(verify.cases), "sms": sorted(verify.sms)})
        say({"begin": "looking for the cause"})
        if verdict := diagnose(total):
            say({"verdict": _verdict_to_json(verdict)})
        if request["trace"]:
            write_atomic(Path(request["trace"]), (json.dumps(trace or sample(report)) + "\n").encode())
    except TlxgenError as error:
        say({"error": error_to_json(error)})
    except Exception as error:
        if not out_of_memory(error):
            raise
        lift_memory_limit()
        text = f"it needs more than {request['memory'] / GIB:g} GiB of memory beyond torch and triton"
        say({"error": error_to_json(TlxgenError(text, remedy="--memory GIB gives it more"))})


class _Prints(io.TextIOBase):
    """The target's standard output. During a run it sends lines to the parent, at most `left` characters."""

    def __init__(self, say: Say, left: int) -> None:
        self._say, self._left, self._line, self.run = say, left, "", "importing"
        self.buffer = _Bytes(self)

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.run and self._left > 0:
            whole, _, self._line = (self._line + text).rpartition("\n")
            if whole or text.endswith("\n"):
                self._say({"print": self.run, "text": whole[: self._left] + "\n"})
                self._left -= len(whole) + 1
                if self._left <= 0:
                    self._say({"print": self.run, "text": "... and more, which is left out\n"})
        return len(text)


class _Bytes(io.RawIOBase):
    """The same for bytes, as sys.stdout.buffer."""

    def __init__(self, prints: _Prints) -> None:
        self._prints = prints

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._prints.write(bytes(data).decode(errors="replace"))
        return len(data)


def _way(kind: Any, value: Any) -> tuple[Way, str]:
    """The way of a run, and its name."""
    if kind == "replay":
        return Script.parse(value), "replay"
    if kind == "exhaustive":
        return Budget(steps=value), "all orders"
    if kind == "delays":
        return Delays(), "delays"
    return (kind, value), f"schedule {kind}, seed {value}"


def _places(places: Iterable[Place]) -> list[dict[str, Any]]:
    return [{"path": shown(p.path), "line": p.line} for p in places]


def _verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    finding = verdict.seen.finding
    barriers = [
        {
            "array": b.array,
            "slots": b.slots,
            "places": _places([b.place]),
            "count": b.count,
            "arrivals": list(b.arrivals),
            "expected": b.expected,
            "brought": b.brought,
        }
        for b in verdict.barriers
    ]
    return {
        "cause": verdict.cause,
        "places": _places(dict.fromkeys(verdict.places)),
        "proof": verdict.proof,
        "finding": {"id": finding.id, "places": _places(finding.places)},
        "barriers": barriers,
    }


def _prepare(job: dict[str, Any]) -> tuple[Callable[[Way], Report], Sequence[Waiver]]:
    """A function that runs the job on one schedule and seed, on a list of decisions, or in all orders; and waivers for
    what it need not exercise."""
    config = job["config"]
    if job["kind"] == "structure":
        given = [(i, tuple(shape)) for i, shape in job["cases"]] if job["cases"] is not None else None
        return structures.prepare(Path(job["spec"]), job["structure"], Path(job["module"]), config, given)
    if job["kind"] == "case":
        declared = Path(shown(job["declared"]))
        case = next(c for c in cases.load(declared) if c.name == job["name"])
        return functions.prepare_case(case, config), ()
    return functions.prepare_function(Path(job["file"]), job["name"], config, job["arch"]), ()


def _to_json(report: Report) -> dict[str, Any]:
    seen = [
        {
            "id": s.finding.id,
            "severity": s.finding.severity,
            "message": s.finding.message,
            "places": _places(s.finding.places),
            "schedule": s.way,
            "seed": s.seed,
            "sms": s.case.sms if s.case and report.coverage.asked else None,
            "fix": s.finding.fix,
        }
        for s in report.seen
    ]
    counts = {key: getattr(report, key) for key in ("runs", "steps", "states", "searches", "limits", "seconds")}
    return {**counts, "findings": seen}


if __name__ == "__main__":
    serve(handle)
