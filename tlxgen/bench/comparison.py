"""Times one problem: every candidate of a comparison on the same inputs, in one interleaved run.

This module knows no family and no GPU. A `Case` makes the calls, and the device is an object with `gpu.Gpu`'s methods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from .timing import TURNS, Figure, Timer, interleave

Run = Callable[[], Any]
Tensors = dict[str, Any]
SHORT_US = 8.0  # below it, times in a chain are compared without subtracting the rest of the chain
ROUGH_US = 30.0  # least time for sizing a replay: an eager launch cannot be measured below the host's time


class Device(Protocol):
    """The methods of a device that `time_problem` uses; see `gpu.Gpu`."""

    name: str
    device: Any

    def sets(self, bytes_moved: float) -> int: ...
    def roughly(self, run: Run) -> float: ...
    def timer(self, runs: Sequence[Run], us: float) -> Timer: ...
    def chain(self, runs: Sequence[Run], us: float) -> Timer: ...
    def link(self) -> Timer: ...
    def host_us(self, run: Run) -> float: ...
    def conditions(self) -> dict[str, float]: ...


@dataclass(frozen=True)
class Case:
    """A candidate. `make(tensors)` returns the call to time, and `check` says what is wrong with the call's results."""

    name: str
    make: Callable[[Tensors], Run]
    config: str = ""
    baseline: bool = False


@dataclass(frozen=True)
class Row:
    """A candidate's figures on one shape; `error` in place of figures if it failed. Metric names follow TritonBench.

    `latency` is in ms, `gbps` in 1e9 bytes/s, `speedup` over the first baseline of the same run; `host_us` is the
    host's time for an eager launch. These are of launches back to back, where a kernel may overlap its own next launch.
    `chain` is the time in ms in a chain, with a small kernel after each launch, less the time of the small kernels.
    `chain_speedup` is over the same baseline; below SHORT_US it compares whole chains. `spread` is of `latency` and
    `chain_spread` of `chain_speedup`; both are relative standard deviations of one replay.
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
    chain: float | None = None
    chain_speedup: float | None = None
    chain_spread: float | None = None
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Problem:
    """One shape of one kernel: fresh inputs, their work, and a check that says what is wrong with an output, or ""."""

    shape: tuple[int, ...]
    flops: float
    bytes_moved: float
    inputs: Callable[[], Tensors]
    wrong: Callable[[Tensors, Any], str]


def _silent(step: str) -> None:
    """Does nothing with the name of a step."""


def time_problem(
    problem: Problem,
    cases: Sequence[Case],
    device: Device,
    *,
    turns: int = TURNS,
    seed: int = 0,
    chain: bool = True,
    on_step: Callable[[str], None] = _silent,
) -> list[Row]:
    """A row for each case, in their order. A case that fails has a row with an error, and the others are timed.

    All are timed back to back and, with `chain`, also in a chain with another kernel, in the same turns. `on_step` is
    called before each step: before the first call of each case, which may compile, and before the timing.
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
            us = max(ROUGH_US, device.roughly(runs[0]))
            timers[case.name] = device.timer(runs, us)
            if chain:
                timers[_chained(case.name)] = device.chain(runs, us)
            hosts[case.name] = device.host_us(runs[0])
        except Exception as error:  # any error of a candidate is its result
            errors[case.name] = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    on_step(f"timing {len(hosts)} in turns")
    if timers and chain:
        timers[LINK] = device.link()
    figures = interleave(timers, turns=turns, seed=seed) if timers else {}
    first = next((c.name for c in cases if c.baseline and c.name in figures), None)
    rows = [_row(problem, c, figures, first, hosts.get(c.name), errors.get(c.name, "")) for c in cases]
    return [_with_chain(row, figures, first) for row in rows] if chain else rows


LINK = "the chain without"


def _chained(name: str) -> str:
    return f"{name} in a chain"


def _row(
    problem: Problem,
    case: Case,
    figures: Mapping[str, Figure],
    first: str | None,
    host: float | None,
    error: str,
) -> Row:
    figure = None if error else figures.get(case.name)
    if figure is None:
        return Row(problem.shape, case.name, case.config, error=error, accuracy=False if "wrong" in error else None)
    return Row(
        shape=problem.shape,
        name=case.name,
        config=case.config,
        latency=figure.us / 1e3,
        tflops=problem.flops / figure.us / 1e6,
        gbps=problem.bytes_moved / figure.us / 1e3,
        speedup=figures[first].us / figure.us if first else None,
        accuracy=True,
        spread=figure.spread,
        noisy=figure.noisy,
        host_us=host,
    )


def _with_chain(row: Row, figures: Mapping[str, Figure], first: str | None) -> Row:
    """The row with its figures in a chain, or unchanged if it has none."""
    whole = figures.get(_chained(row.name))
    if whole is None or row.latency is None:
        return row
    link = figures[LINK]
    own = max(whole.us - link.us, 0.0)
    row = replace(row, chain=own / 1e3, noisy=row.noisy or whole.noisy)
    if first is None:
        return row
    base = figures[_chained(first)]
    short = min(own, base.us - link.us) < SHORT_US
    rest = 0.0 if short else link.us
    speedup = (base.us - rest) / (whole.us - rest)
    spread = math.hypot(*(f.spread * f.us / (f.us - rest) for f in (whole, base)))
    return replace(row, chain_speedup=speedup, chain_spread=spread)
