"""Runs an instrumented twin, in the simulator or on a GPU, and reads what its launch has recorded. Imports torch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tlxgen.bench.gpu import Gpu
from tlxgen.bench.timing import Figure, interleave
from tlxgen.cases.foreign import importing
from tlxgen.errors import ProfileError
from tlxgen.loading import load_file
from tlxgen.profile.instrument import STAMPS
from tlxgen.profile.records import Recorded, read
from tlxgen.sim import DEVICE, SMS, Finding, Session, load_module, verify

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Cost:
    """Microseconds a launch, in turns: of the plain kernel and of its twin."""

    plain: Figure
    twin: Figure

    @property
    def more(self) -> float:
        """By which part of the plain kernel's time the twin takes longer."""
        return self.twin.us / self.plain.us - 1


def _stamps(module: ModuleType) -> ModuleType:
    """What a twin has imported from beside it."""
    return sys.modules[module.stamped.__module__]


def _recorded(launches: list[Any], unit: str) -> Recorded:
    if not launches:
        raise ProfileError("the host function launched no instrumented kernel: this problem has nothing to compute")
    one = launches[-1]
    words = one.buffer.as_subclass(torch.Tensor).cpu().numpy()
    return read(words, one.stamps, kernel=one.kernel, ctas=one.ctas, cluster=one.cluster, room=one.records, unit=unit)


def simulate(
    path: Path, problem: Any, spec: Any, shape: Shape, config: int, arch: str, *, seed: int, records: int | None
) -> tuple[Recorded | None, list[str]]:
    """Runs the twin in the file `path` in the simulator, on inputs drawn from `seed`: what it recorded, in steps, and
    the findings of the run, in lines. Nothing is recorded where it does not come to its end."""
    with importing(path):
        module = load_module(path, arch)
    held: list[Any] = []

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        tensors = problem.inputs(spec, shape, DEVICE)
        with _stamps(module).collect(records) as launches:
            problem.launch(module, spec, shape, tensors, module.CONFIGS[config])
        held.extend(launches)

    report = verify(program, [("random", seed)], sms=SMS, arch=arch)
    found = [seen for seen in report.seen if not _of_stamps(seen.finding)]
    return (_recorded(held, "step") if held else None), [str(seen) for seen in found]


def _of_stamps(finding: Finding) -> bool:
    """Whether a finding is about the stamps alone: they may be stored before the launch before has ended, as nothing
    else touches their buffer."""
    return finding.id == "before-grid-wait" and all(Path(p.path).name == STAMPS for p in finding.places)


def on_gpu(
    paths: tuple[Path, Path], how: Any, tensors: Mapping[str, Any], spec: Any, shape: Shape, config: int | None,
    *, records: int | None, turns: int,
) -> tuple[Recorded, Cost]:  # fmt: skip
    """Runs the modules in two files, the plain one and its twin, on the GPU: what the twin recorded when it was warm,
    and what stamping costs, by CUDA graphs of both in turns. Raises ProfileError where there is no room for stamps."""
    gpu = Gpu(torch.cuda.current_device())
    modules = [load_file(path) for path in paths]
    calls: list[Callable[[], Any]] = []
    for module in modules:
        row = None if config is None else module.CONFIGS[config]
        calls.append(how.call(module, spec, shape, tensors, row))
    plain, twin = calls
    expected, made = _kept(plain()), _kept(twin())
    if any(not torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in zip(expected, made, strict=True)):
        text = "note: the outputs of the twin differ from the plain kernel's, as those of kernels with atomics may"
        print(text, file=sys.stderr)
    us = gpu.roughly(plain)
    figures = interleave({"plain": gpu.timer([plain], us), "twin": gpu.timer([twin], us)}, turns=turns)
    return recorded(modules[1], twin, records), Cost(figures["plain"], figures["twin"])


def recorded(module: ModuleType, twin: Callable[[], Any], records: int | None = None) -> Recorded:
    """What a call of `twin`, whose kernel is in `module`, records. Raises ProfileError where there is no room."""
    try:
        with _stamps(module).collect(records) as launches:
            twin()
            torch.cuda.synchronize()
    except (ValueError, torch.OutOfMemoryError) as error:
        raise ProfileError(f"no room for the stamps: {error}", remedy="--records N asks for less") from None
    return _recorded(launches, "clock")


def _kept(results: Any) -> list[torch.Tensor]:
    """Copies of what a host function returned."""
    many = results if isinstance(results, tuple) else (results,)
    return [t.contiguous().clone() for t in many if isinstance(t, torch.Tensor)]
