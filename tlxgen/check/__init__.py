"""Numerics on a GPU: every config of a spec on every shape, each structure in a child process with a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlxgen.errors import DeviceError

Result = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One structure to check. `shapes` empty: the family's."""

    spec: Path
    folder: Path
    structure: str
    repeats: int
    seed: int = 0
    shapes: tuple[tuple[int, ...], ...] = ()


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
    """Results of all jobs, in their order; a job that hangs or crashes is a failed case, and the others go on."""
    with ThreadPoolExecutor(max(1, workers)) as pool:
        done = []
        for results in pool.map(lambda job: _run(job, timeout_s), jobs):
            on_done(results)
            done += results
    return done


def _run(job: Job, timeout_s: float) -> list[Result]:
    request = {**vars(job), "spec": str(job.spec), "folder": str(job.folder)}
    child = subprocess.Popen(
        [sys.executable, "-m", "tlxgen.check.child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(json.dumps(request), timeout=timeout_s)
        fate = "" if child.returncode == 0 else f"child ended with {_status(child.returncode)}"
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        fate = f"hung: killed after {timeout_s:.0f} s"
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{") and line.endswith("}")]
    results = [line for line in lines if "passed" in line]
    if fate:
        begun = lines[-1].get("begin") if lines else None
        head = begun or {"structure": job.structure, "config": "", "shape": ()}
        text = " ".join([fate, *err.strip().splitlines()[-1:]])
        results.append({**head, "passed": False, "error": None, "worst": None, "text": text, "repeats": job.repeats})
    return results


def _status(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"
