"""Many targets on a few child processes: what they launch is recorded first, then compiled, each bounded in time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from tlxgen.bounded import Answer, Child, cpus, kept, run_each
from tlxgen.compile import Outcome
from tlxgen.compile.batch import outcome_in
from tlxgen.errors import TlxgenError
from tlxgen.verify import Job
from tlxgen.verify.verification import error_from_json, to_json

from .kernels import Compiled, Kernel, Recording, distinct, units

CHILD = "tlxgen.launched.child"

# Variables that change a cubin or what a compiler prints; the host code finds all others.
_KNOBS = ("TRITON_", "PTXAS_", "MLIR_", "LLVM_", "NVPTX_", "DISABLE_")


class LaunchError(TlxgenError):
    """Host code that hung, crashed, or left the process before its launches were recorded."""


def compile_launched(
    jobs: Sequence[Job],
    *,
    config: int | None = None,
    workers: int | None = None,
    timeout_s: float = 120,
    on_found: Callable[[int], None] | None = None,
    on_done: Callable[[str], None] | None = None,
) -> list[tuple[list[Recording], list[Compiled]]]:
    """For each of `units(jobs)` what its targets launch, and each distinct kernel of those compiled, in that order.

    `config` chooses one config of autotuned kernels; None takes a case's own, or each that the pruning leaves.
    `timeout_s` is wall time of each target's host code and of each kernel. `on_found` is called
    with how many kernels a unit has, `on_done` with the name of each that is done; both from any thread.
    """
    each = units(jobs)
    done: dict[int, tuple[list[Recording], list[Compiled]]] = {}

    def work(child: Child, jobs: Sequence[Job]) -> tuple[list[Recording], list[Compiled]]:
        unit = _Unit(child, jobs, config, timeout_s)
        recordings = unit.record()
        made: list[Compiled] = []
        kernels = distinct(recordings)
        if on_found is not None:
            on_found(len(kernels))
        for kernel in kernels:
            made.append(Compiled(kernel, unit.compile(kernel)))
            if on_done is not None:
                on_done(kernel.name)
        return recordings, made

    count = min(workers or cpus(), max(1, len(each)))
    nursery = kept(_inherited())
    running = run_each(
        lambda stop: Child(CHILD, stop, nursery=nursery, scratch=_environment),
        each,
        work,
        workers=count,
        alone=lambda unit: True,
    )
    with contextlib.closing(running) as results:
        done.update(results)
    return [done[position] for position in range(len(each))]


class _Unit:
    """Targets that one child serves. A child that a compiler has taken with it is started again, and told them anew."""

    def __init__(self, child: Child, jobs: Sequence[Job], config: int | None, timeout_s: float) -> None:
        self._child, self._jobs, self._config, self._timeout_s = child, jobs, config, timeout_s
        self._lost = False

    def record(self) -> list[Recording]:
        """What each target launches."""
        return [self._record(job) for job in self._jobs]

    def _record(self, job: Job) -> Recording:
        request = {"record": to_json(job), "config": self._config, "cwd": os.getcwd()}
        answer = self._child.ask(request, self._timeout_s)
        recording = Recording(job.target)
        for message in answer.messages:
            if "kernel" in message:
                recording.kernels.append(Kernel.from_json({**message["kernel"], "targets": [job.target]}))
            elif "note" in message:
                recording.notes.append(message["note"])
            elif "error" in message:
                recording.error = error_from_json(message["error"])
        if answer.fate:
            self._lost = True  # with what it had recorded of other targets
            recording.error = _error(answer)
        return recording

    def compile(self, kernel: Kernel) -> Outcome:
        """The outcome of one of the kernels that were recorded."""
        if self._lost:
            self._lost = False
            for job in self._jobs:
                if job.target in kernel.targets:
                    self._record(job)
        answer = self._child.ask({"compile": kernel.key}, self._timeout_s)
        self._lost = bool(answer.fate)
        return outcome_in(answer, kernel.key)


def _error(answer: Answer) -> LaunchError:
    remedy = "--timeout SECONDS gives it longer" if answer.fate.startswith("timed out") else ""
    said = f": {answer.last_line}" if answer.last_line else ""
    return LaunchError(f"{answer.fate}{said}", remedy=remedy)


def _environment(scratch: str) -> dict[str, str]:
    """A child's environment: none of the compilers' knobs but ours."""
    return _inherited() | {
        "TRITON_ALWAYS_COMPILE": "1",
        "TRITON_CACHE_DIR": str(Path(scratch, "cache")),
        "TRITON_DISABLE_LINE_INFO": "1",
        "TMPDIR": scratch,
    }


def _inherited() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(_KNOBS)}
