"""A tuning run: one search a class, with several classes in parallel.

Classes are independent of each other, so the result does not depend on the number of GPUs and compilers.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tlxgen import stamp
from tlxgen.bench import cuda
from tlxgen.bench import device as readings
from tlxgen.errors import DeviceError, TlxgenError
from tlxgen.files import write_atomic
from tlxgen.tune.classes import classes

from . import worker
from .lab import Device, Lab
from .search import BATCH, Effort, Outcome, Search, expected
from .space import Candidate, Shape, Space
from .table import Won

Progress = Callable[[Shape, Outcome], None]


@dataclass(frozen=True)
class Budget:
    """The wall time in seconds that a run may take; None for no limit."""

    seconds: float | None
    start: float

    @classmethod
    def of(cls, seconds: float | None) -> Budget:
        return cls(seconds, time.monotonic())

    def share(self, among: int) -> Budget:
        """An equal share of the remaining time, for one of `among` searches."""
        now = time.monotonic()
        return Budget(None if self.seconds is None else (self.seconds - (now - self.start)) / among, now)

    def left(self) -> bool:
        return self.seconds is None or time.monotonic() - self.start < self.seconds


def tune(
    space: Space,
    lab: Lab,
    shapes: Sequence[Shape],
    *,
    effort: Effort,
    seed: int,
    budget: Budget,
    at_once: int,
    on_step: Progress = lambda shape_class, outcome: None,
) -> list[Won]:
    """Searches every class of `shapes`, `at_once` of them in parallel. The results are in the order of the classes.

    Classes with the most work start first, so that no long search is left at the end.

    Raises DeviceError when a GPU cannot be used at all, and TlxgenError for a class in which no candidate is healthy.
    """
    grouped = classes(shapes)
    spec = space.candidates[0].variant.spec

    def work(shape_class: Shape) -> float:
        return sum(space.family.flops(spec, shape) for shape in grouped[shape_class])

    order = sorted(grouped, key=work, reverse=True)
    ranked = {shape_class: space.ranked(grouped[shape_class], lab.device.sms) for shape_class in order}
    for shape_class, candidate in compile_order(
        {shape_class: expected(line, effort, seed) for shape_class, line in ranked.items()}, at_once
    ):
        for shape in grouped[shape_class]:
            lab.compile_ahead(candidate, shape, effort.turns)

    def one(shape_class: Shape) -> Won:
        members = grouped[shape_class]
        search = Search(
            ranked[shape_class],
            members,
            lab.measure,
            effort=effort,
            seed=seed,
            in_time=budget.left,
            on_step=lambda outcome: on_step(shape_class, outcome),
        )
        return Won(shape_class, members, search.run())

    pool = ThreadPoolExecutor(max(1, at_once), "class")
    try:
        futures = {shape_class: pool.submit(one, shape_class) for shape_class in order}
        done = [futures[shape_class].result() for shape_class in grouped]
    except BaseException:  # including KeyboardInterrupt: a thread would wait for a hanging child
        pool.shutdown(wait=False, cancel_futures=True)
        worker.SLOTS.close()
        raise
    pool.shutdown()
    return [won for won in done if _worth(won)]


def _worth(won: Won) -> bool:
    """Whether the class has a winner. Raises TlxgenError if there is none for another reason than the budget."""
    if not won.outcome.order and not won.outcome.stopped:
        kinds = sorted({str(result.fault) for _, _, result in won.outcome.faults.values()})
        shape = "x".join(map(str, won.shape_class))
        raise TlxgenError(f"no variant runs on {shape}: every one that was tried failed ({', '.join(kinds)})")
    return bool(won.outcome.order)


def compile_order(lines: Mapping[Shape, Sequence[Candidate]], at_once: int) -> Iterator[tuple[Shape, Candidate]]:
    """All candidates in about the order in which they are measured: batch by batch, for `at_once` classes at a time."""
    waiting = iter(lines)
    while side_by_side := list(itertools.islice(waiting, max(1, at_once))):
        for first in range(0, max(len(lines[c]) for c in side_by_side), BATCH):
            for shape_class in side_by_side:
                yield from ((shape_class, c) for c in lines[shape_class][first : first + BATCH])


def known_device() -> Device | None:
    """The GPU of this machine, if a child has described it before; otherwise None.

    The description is cached by nvidia-smi's identity of the GPU, which takes a tenth of the time, so a run that finds
    all its results in the cache never starts a child.
    """
    identity = _identity()
    try:
        known = Device.from_json(json.loads(_kept(identity).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    same = {k: v for k, v in known.versions.items() if k != "cuda"} == readings.versions()
    return known if identity and same else None


def device(module: str = worker.MODULE, asked: Future[dict[str, Any]] | None = None) -> Device:
    """The GPU of this machine and its versions, from the driver or else from a child, which may have been `asked`.

    Raises DeviceError when there is none.
    """
    found = cuda.describe() if module == worker.MODULE and worker.gpus() else None
    if not found:
        found = asked.result() if asked else worker.describe_task({"limit_s": worker.START_S, "module": module})
    if identity := _identity():
        with contextlib.suppress(OSError):
            write_atomic(_kept(identity), json.dumps(found).encode())
    return Device.from_json(found)


def _kept(identity: str) -> Path:
    return stamp.cache_folder() / "tune" / "devices" / f"{readings.slug(identity or 'unknown')}.json"


def _identity() -> str:
    """Name and driver of the first GPU that this process may use; empty if nvidia-smi is missing."""
    gpus = worker.gpus()
    return " ".join([readings.gpu_name(gpus[0]), readings.driver()]).strip() if gpus else ""


def require(space: Space, device: Device) -> None:
    """Raises DeviceError unless the space's kernels run on the device."""
    arch = space.candidates[0].plan.arch
    if device.capability != arch.capability:
        ours, theirs = (".".join(map(str, c)) for c in (arch.capability, device.capability))
        raise DeviceError(f"{device.name} has capability {theirs}; {arch.name} is {ours}")


def effort_of(ranked: int | None, exhaustive: bool, space: Space) -> Effort:
    """The default effort, an effort with `ranked` candidates, or the exhaustive one."""
    if exhaustive:
        return Effort.exhaustive(len(space.candidates))
    return Effort() if ranked is None else replace(Effort(), ranked=ranked, drawn=ranked // 3)


def default_path(root: Path, device_name: str, spec: Path) -> Path:
    """tuned/DEVICE/SPEC.yaml below the folder that holds specs/."""
    return root / "tuned" / readings.slug(device_name) / f"{spec.stem}.yaml"
