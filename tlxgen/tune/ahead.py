"""Compiles the kernels of a bench in parallel, before it launches them from Triton's cache.

The children are those that compile for `tune`. A child takes seconds to start, so fewer kernels than FROM are compiled
by their launches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from tlxgen import digest
from tlxgen.bench.spec import Bench, Kernel
from tlxgen.compile.toolchain import identity, name_cache

from . import worker
from .space import options_of

FROM = 4
Json = dict[str, Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Target:
    """The GPU to compile for, how many compilers at a time, and the seconds that one kernel may take."""

    capability: tuple[int, int]
    sms: int
    workers: int
    limit_s: float = 120.0
    module: str = worker.MODULE


def compile_ahead(wanted: Sequence[tuple[Shape, Bench]], target: Target, on_done: Callable[[int, int], None]) -> None:
    """Compiles every kernel of a bench for its shape. Afterwards this process uses the cache that has the kernels.

    `on_done` is called with the number of kernels that are done and their total. An error of the compiler is reported
    by the kernel's launch.
    """
    tasks = [_task(bench, kernel, shape, target) for shape, bench in wanted for kernel in bench.launched()]
    if len(tasks) < FROM:
        return
    os.environ |= worker.shared_environment()
    name_cache(identity())
    with ThreadPoolExecutor(target.workers, "compile") as pool:
        running = [pool.submit(worker.compile_task, task) for task in tasks]
        for i, future in enumerate(as_completed(running)):
            future.result()
            on_done(i + 1, len(tasks))
    worker.SLOTS.close()


def _task(bench: Bench, kernel: Kernel, shape: Shape, target: Target) -> Json:
    text = kernel.path.read_text(encoding="utf-8")
    source = digest.of_text(text)
    options = options_of(kernel.variant.plan) if kernel.chosen and kernel.variant.plan else None
    spec = kernel.variant.spec.model_dump(mode="json", exclude_unset=True) if kernel.variant.spec else {}
    major, minor = target.capability
    return {
        "module": target.module,
        "family": bench.family.name,
        "sources": {source: text},
        "shape": list(shape),
        "candidate": {"key": kernel.name, "source": source, "options": options, "spec": spec},
        "capability": 10 * major + minor,
        "sms": target.sms,
        "limit_s": target.limit_s,
        "workers": target.workers,
    }
