"""`python -m tlxgen.verify.child`: runs a job in the simulator, in a process that may be killed. Imports torch.

A request is {job, runs, memory, timeout_s}. The answer: {"begin": ...} before what may hang, {"report": ...} after each
run, {"error": ...} instead of what could not be run.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tlxgen import cases
from tlxgen.bounded.serve import Say, lift_memory_limit, limit_memory, serve
from tlxgen.cases.foreign import out_of_memory, shown
from tlxgen.errors import TlxgenError
from tlxgen.sim import Report, Run

from . import functions, structures
from .job import GIB, error_to_json

_limited: list[int] = []  # what this process has been limited to: once is for all


def handle(request: dict[str, Any], say: Say) -> None:
    """Runs one job, run by run, so that what was found before a hang is kept."""
    if not _limited:
        limit_memory(request["memory"])
        _limited.append(request["memory"])
    try:
        say({"begin": "importing"})
        verify = _prepare(request["job"])
        for schedule, seed in request["runs"]:
            say({"begin": f"schedule {schedule}, seed {seed}"})
            say({"report": _to_json(verify((schedule, seed)))})
    except TlxgenError as error:
        say({"error": error_to_json(error)})
    except Exception as error:
        if not out_of_memory(error):
            raise
        lift_memory_limit()
        text = f"it needs more than {request['memory'] / GIB:g} GiB of memory beyond torch and triton"
        say({"error": error_to_json(TlxgenError(text, remedy="--memory GIB gives it more"))})


def _prepare(job: dict[str, Any]) -> Callable[[Run], Report]:
    """What runs the job on one schedule and seed."""
    config = job["config"]
    if job["kind"] == "structure":
        return structures.prepare(Path(job["spec"]), job["structure"], Path(job["module"]), config)
    if job["kind"] == "case":
        declared = Path(shown(job["declared"]))
        case = next(c for c in cases.load(declared) if c.name == job["name"])
        return functions.prepare_case(case, config)
    return functions.prepare_function(Path(job["file"]), job["name"], config, job["arch"])


def _to_json(report: Report) -> dict[str, Any]:
    seen = [
        {
            "id": s.finding.id,
            "severity": s.finding.severity,
            "message": s.finding.message,
            "places": [{"path": shown(p.path), "line": p.line} for p in s.finding.places],
            "schedule": s.schedule,
            "seed": s.seed,
            "fix": s.finding.fix,
        }
        for s in report.seen
    ]
    return {"runs": report.runs, "steps": report.steps, "seconds": report.seconds, "findings": seen}


if __name__ == "__main__":
    serve(handle)
