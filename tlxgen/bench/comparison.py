"""Times one problem: every candidate of a comparison on the same inputs, in one interleaved run.

Knows no family and no GPU: a `Case` makes the calls, and the device is whatever has the methods of `gpu.Gpu`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from .timing import TURNS, Figure, Timer, interleave

Run = Callable[[], Any]
Tensors = dict[str, Any]
ROUGH_US = 30.0  # at least, when sizing a replay: an eager launch cannot be measured to be shorter than the host takes


class Device(Protocol):
    """What `time_problem` asks of a device; see `gpu.Gpu`."""

    name: str
    device: Any

    def sets(self, bytes_moved: float) -> int: ...
    def roughly(self, run: Run) -> float: ...
    def timer(self, runs: Sequence[Run], us: float) -> Timer: ...
    def host_us(self, run: Run) -> float: ...
    def conditions(self) -> dict[str, float]: ...


@dataclass(frozen=True)
class Case:
    """A candidate: `make(tensors)` gives the call to time. `check` says what is wrong with what the call returned."""

    name: str
    make: Callable[[Tensors], Run]
    config: str = ""
    baseline: bool = False


@dataclass(frozen=True)
class Row:
    """A candidate's figures on one shape; `error` in place of figures if it failed. Metric names follow TritonBench.

    `latency` is in ms, `gbps` in 1e9 bytes/s, `speedup` over the first baseline of the same run; `host_us` is the
    host's time for an eager launch.
    """

    shape: tuple[int, ...]
    name: str
    config: str
    latency: float | None = None
    tflops: float | None = None
    gbps: float | None = None
    speedup: float | None = None
    accuracy: bool | None = None
    spread: float | None = None
    noisy: bool | None = None
    host_us: float | None = None
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Problem:
    """One shape of one kernel: fresh inputs, the work in them, and whether an output is right ("" if so)."""

    shape: tuple[int, ...]
    flops: float
    bytes_moved: float
    inputs: Callable[[], Tensors]
    wrong: Callable[[Tensors, Any], str]


def _silent(step: str) -> None:
    """Nobody is watching."""


def time_problem(
    problem: Problem,
    cases: Sequence[Case],
    device: Device,
    *,
    turns: int = TURNS,
    seed: int = 0,
    on_step: Callable[[str], None] = _silent,
) -> list[Row]:
    """A row for each case, in their order. A case that fails is a row with an error, and the others are timed.

    `on_step` hears of what comes next: each case before it is first called, which may compile, and then the timing.
    """
    tensors = [problem.inputs() for _ in range(device.sets(problem.bytes_moved))]
    timers: dict[str, Timer] = {}
    hosts: dict[str, float] = {}
    errors: dict[str, str] = {}
    for number, case in enumerate(cases, 1):
        on_step(f"{number} of {len(cases)}: {case.name}")
        try:
            runs = [case.make(t) for t in tensors]
            if wrong := problem.wrong(tensors[0], runs[0]()):
                errors[case.name] = f"wrong numbers: {wrong}"
                continue
            timers[case.name] = device.timer(runs, max(ROUGH_US, device.roughly(runs[0])))
            hosts[case.name] = device.host_us(runs[0])
        except Exception as error:  # a candidate's own: whatever it is, it is this candidate's result
            errors[case.name] = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    on_step(f"timing {len(timers)} in turns")
    figures = interleave(timers, turns=turns, seed=seed) if timers else {}
    first = next((figures[c.name] for c in cases if c.baseline and c.name in figures), None)
    return [_row(problem, c, figures.get(c.name), first, hosts.get(c.name), errors.get(c.name, "")) for c in cases]


def _row(
    problem: Problem, case: Case, figure: Figure | None, base: Figure | None, host: float | None, error: str
) -> Row:
    if figure is None:
        return Row(problem.shape, case.name, case.config, error=error, accuracy=False if "wrong" in error else None)
    return Row(
        shape=problem.shape,
        name=case.name,
        config=case.config,
        latency=figure.us / 1e3,
        tflops=problem.flops / figure.us / 1e6,
        gbps=problem.bytes_moved / figure.us / 1e3,
        speedup=base.us / figure.us if base else None,
        accuracy=True,
        spread=figure.spread,
        noisy=figure.noisy,
        host_us=host,
    )
