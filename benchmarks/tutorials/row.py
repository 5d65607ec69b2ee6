"""A tutorial kernel of the fbtriton wheel as the simulator runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal

import torch
import triton.language.extra.tlx as tlx

from benchmarks.tutorials.quantize import as_torchao
from tlxgen.sim import RUNS, Report, Run, Session, load_module, verify

Pairs = list[tuple[torch.Tensor, torch.Tensor]]  # results and their references in float32


@dataclass(frozen=True)
class Tutorial:
    """One kernel in one configuration, through its own host function, source unmodified.

    `module` is the stem of its file in the wheel's tutorials; `run` makes inputs, calls the host function inside the
    session and returns results with references; `tolerance` is a relative error by the Frobenius norm; `warnings` says
    for every warning that is expected why it is benign, `defects` for every error what is wrong with the kernel.
    """

    name: str
    arch: Literal["sm90", "sm100"]
    module: str
    run: Callable[[ModuleType, Session], Pairs]
    tolerance: float
    warnings: Mapping[str, str] = field(default_factory=dict)
    defects: Mapping[str, str] = field(default_factory=dict)

    def check(self, module: ModuleType, session: Session) -> None:
        """Runs the kernel of `module`, which may be a copy with changes; results that are wrong are findings."""
        for result, reference in self.run(module, session):
            with torch._C.DisableTorchFunction():
                got, wanted = (x.as_subclass(torch.Tensor).double() for x in (result, reference))
                error = float((got - wanted).norm() / wanted.norm())
            if not error <= self.tolerance:  # NaN too
                session.findings.add("wrong-numbers", f"relative error {error:.1e}, allowed {self.tolerance:.0e}")

    def unexplained(self, report: Report) -> list[str]:
        """The findings that the row does not explain, as text."""
        return [str(s) for s in report.seen if s.finding.id not in {**self.warnings, **self.defects}]


@cache
def load(module: str, arch: str) -> ModuleType:
    """A tutorial, imported once a process: one has its configs by the hundred thousand."""
    with as_torchao():
        return load_module(Path(tlx.__path__[0]) / "tutorials" / f"{module}.py", arch)


def simulate(row: Tutorial, runs: Sequence[Run] = RUNS) -> Report:
    """Runs a row; results that differ from their references are findings too."""
    module = load(row.module, row.arch)
    return verify(lambda session: row.check(module, session), runs, arch=row.arch)
