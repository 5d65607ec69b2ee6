"""Checks numerics on a GPU: all configs of a spec on all shapes, with a child process and time limit a structure."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlxgen.bounded import Child, run_all
from tlxgen.errors import DeviceError

CHILD = "tlxgen.check.checker"

Result = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One structure to check. Empty `shapes` mean the family's. With `peers`, torch's own kernels are run, too."""

    spec: Path
    folder: Path
    structure: str
    repeats: int
    seed: int = 0
    shapes: tuple[tuple[int, ...], ...] = ()
    peers: bool = False


def require_device(arch: str, capability: tuple[int, int], verb: str = "check") -> str:
    """Name of the GPU that `verb` runs on.

    Raises DeviceError when there is none of this architecture, and says what runs without one.
    """
    remedy = "without one: tlxgen verify SPEC runs the kernels on the CPU, tlxgen compile SPEC proves that they compile"
    import torch

    if not torch.cuda.is_available():
        raise DeviceError(f"no GPU here; tlxgen {verb} runs {arch} kernels on one", remedy=remedy)
    found = torch.cuda.get_device_capability()
    name: str = torch.cuda.get_device_name()
    if found != capability:
        raise DeviceError(
            f"{name} has capability {found[0]}.{found[1]}; {arch} is {capability[0]}.{capability[1]}", remedy=remedy
        )
    return name


def check_all(
    jobs: Sequence[Job], *, workers: int, timeout_s: float, on_done: Callable[[list[Result]], None]
) -> list[Result]:
    """The results of all jobs, in their order. A job that hangs or crashes is a failed case; the others continue."""
    done: list[Result] = []
    results = run_all(CHILD, jobs, lambda child, job: _run(child, job, timeout_s), workers=workers, alone=_always)
    with contextlib.closing(results):
        for result in results:
            on_done(result)
            done += result
    return done


def _always(job: Job) -> bool:
    """Always true: each job has a new process, so that what a kernel leaves on the GPU cannot affect the next job."""
    return True


def _run(child: Child, job: Job, timeout_s: float) -> list[Result]:
    request = {**vars(job), "spec": str(job.spec), "folder": str(job.folder), "timeout_s": timeout_s}
    answer = child.ask(request, timeout_s)
    results = [m for m in answer.messages if "passed" in m]
    if answer.fate:
        begun = answer.messages[-1].get("begin") if answer.messages else None
        head = begun or {"structure": job.structure, "config": "", "shape": ()}
        text = " ".join(filter(None, (answer.fate, answer.last_line)))
        results.append({**head, "passed": False, "error": None, "worst": None, "text": text, "repeats": job.repeats})
    return results
