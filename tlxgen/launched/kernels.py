"""The kernels that hand-written files launch, and their compile results. It imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any

from tlxgen.compile import Outcome
from tlxgen.errors import TlxgenError
from tlxgen.verify import CaseJob, Job


@dataclass(frozen=True)
class Kernel:
    """One specialisation of a JIT function, as Triton would compile it for a launch.

    `key` tells it from others. `types` are Triton's, by parameter, "constexpr" among them; `constants` the values of
    those (text where JSON has no such value); `divisible` the parameters specialised as divisible by 16. `config` is
    the one of an autotuned kernel, counted among the `configs` that its pruning left.
    """

    key: str
    name: str
    path: str
    line: int
    arch: str
    types: dict[str, str]
    constants: dict[str, Any]
    divisible: tuple[str, ...]
    options: dict[str, Any]
    config: int | None = None
    configs: int = 0
    targets: tuple[str, ...] = ()  # those that launch it

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"divisible": list(self.divisible), "targets": list(self.targets)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Kernel:
        """Raises KeyError or TypeError on what to_json did not write."""
        return cls(**(data | {"divisible": tuple(data["divisible"]), "targets": tuple(data["targets"])}))


@dataclass
class Recording:
    """What one target launches. `error`: what kept it from being run, or run to its end; `notes`: what was left out."""

    target: str
    kernels: list[Kernel] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: TlxgenError | None = None


@dataclass(frozen=True)
class Compiled:
    """A kernel and what came of compiling it."""

    kernel: Kernel
    outcome: Outcome


def units(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs that share a process, so that what several of them launch is compiled once: the cases of a file."""
    alike = groupby(jobs, key=lambda job: (job.file, job.declared) if isinstance(job, CaseJob) else id(job))
    return [list(same) for _, same in alike]


def distinct(recordings: Sequence[Recording]) -> list[Kernel]:
    """Each kernel once, with all the targets that launch it, in the order of their first launches."""
    found: dict[str, Kernel] = {}
    for kernel in (k for recording in recordings for k in recording.kernels):
        earlier = found.get(kernel.key)
        targets = (*earlier.targets, *kernel.targets) if earlier else kernel.targets
        found[kernel.key] = replace(earlier or kernel, targets=tuple(dict.fromkeys(targets)))
    return list(found.values())
