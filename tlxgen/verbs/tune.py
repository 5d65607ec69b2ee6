"""`tlxgen tune` for people: a bar with the best so far, the winners as a table, and the tuned file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tlxgen import families, stamp
from tlxgen.bounded import cpus
from tlxgen.errors import TlxgenError
from tlxgen.families.kit.extents import written
from tlxgen.files import write_atomic
from tlxgen.project import root_of
from tlxgen.review.tables import Table, show
from tlxgen.spec import load
from tlxgen.tune import earlier, worker
from tlxgen.tune import lab as labs
from tlxgen.tune.classes import classes
from tlxgen.tune.results import Results
from tlxgen.tune.search import Effort, Outcome
from tlxgen.tune.space import Shape, Space, space_of
from tlxgen.tune.table import Won, render
from tlxgen.tune.tuning import Budget, Progress, default_path, device, effort_of, known_device, require, tune

H200_SMS = 132  # what a dry run ranks for


@dataclass(frozen=True)
class Options:
    """What the command line says. `module` is the program of the child processes."""

    shapes: tuple[Shape, ...] = ()
    budget_s: float | None = None
    seed: int = 0
    workers: int | None = None
    candidates: int | None = None
    exhaustive: bool = False
    dask: str | None = None
    out: Path | None = None
    timeout_s: float = 30.0
    module: str = worker.MODULE


def run(spec: Path, options: Options) -> int:
    """Tunes and writes the file; 0, or 1 when the budget left a class without a winner."""
    document, workers = load(spec, tuned=False), options.workers or cpus()
    with ExitStack() as stack:
        family = families.of(document).name
        if options.dask:
            pools = labs.dask_pools(options.dask, workers, family, options.module)
        else:
            pools = labs.local_pools(workers, len(worker.gpus()), family, options.module)
        stack.callback(pools.close)
        known = known_device()
        asked = None if known else pools.start()  # they import torch while the variants are enumerated
        with ThreadPoolExecutor(1) as beside:  # CUDA's driver takes half a second to start
            asking = beside.submit(lambda: known or device(options.module, asked))
            space = space_of(document)
        found = asking.result()
        require(space, found)
        shapes = _shapes(space, options.shapes)
        path = options.out or default_path(root_of(spec), found.name, spec)
        before = earlier.read(path, space, found)
        results = Results(stamp.cache_folder() / "tune" / "results", found.name, found.versions)
        limits = labs.Limits(measure_s=options.timeout_s, workers=workers)
        lab = labs.Lab(space, found, results, pools, limits=limits, seed=options.seed, module=options.module)
        effort = effort_of(options.candidates, options.exhaustive, space)
        budget = Budget.of(options.budget_s)
        step = _bar(stack, len(classes(shapes)), effort)
        won = tune(
            space, lab, shapes, effort=effort, seed=options.seed, budget=budget, at_once=2 * pools.gpus, on_step=step
        )
    write_atomic(path, render(space, found, _shown(spec), options.seed, won, before).encode())
    _print(space, won)
    missing, kept = len(classes(shapes)) - len(won), set(before.classes) - {w.shape_class for w in won}
    print(
        f"wrote {path}"
        + (f"; kept {len(kept)} shape classes of earlier runs" if kept else "")
        + (f"; {len(before.gone)} are gone, whose winners the spec no longer has" if before.gone else "")
        + (f"; {missing} shape classes got nothing of the budget" if missing else "")
    )
    return int(missing > 0)


def dry_run(spec: Path, options: Options) -> int:
    """Ranks and compiles what would be measured first; 0 if all of it compiles within its plan."""
    from tlxgen.compile import check_triton
    from tlxgen.tune.dry import compile_best

    check_triton()
    space = space_of(load(spec, tuned=False))
    shapes = _shapes(space, options.shapes)
    rejected = ", ".join(f"{rule} {count}" for rule, count in space.rejected.items()) or "none"
    print(f"{len(space.candidates)} variants fit; rejected by the plan, by rule: {rejected}")
    found = compile_best(space, shapes, H200_SMS, options.candidates or 4, options.workers, 120)
    table = Table("Ranked first", ("variant", "ranked first for", "registers", "spill B", "SMEM B", "what"))
    for entry in found:
        resources = entry.outcome.resources
        numbers: tuple[object, ...] = ("", "", "")
        if resources:
            spilled = resources.spill_store_bytes + resources.spill_load_bytes
            numbers = (resources.registers, spilled, resources.smem_bytes)
        ranked = " ".join("x".join(map(str, shape)) for shape in entry.shapes)
        table.add(entry.candidate.label, ranked, *numbers, entry.outcome.error)
    show([table])
    failed = sum(not entry.outcome.ok for entry in found)
    print(
        f"{len(found) - failed} of {len(found)} compile; not measured, because there is no GPU in a dry run: any time"
    )
    return int(failed > 0)


def _shapes(space: Space, given: Sequence[Shape]) -> tuple[Shape, ...]:
    """Raises TlxgenError for shapes that are none of the family's, and when there are none."""
    shapes = tuple(given) or space.family.shapes
    for shape in shapes:
        if fault := space.family.wrong_shape(shape):
            raise TlxgenError(f"{written(shape)} is not a shape of {space.family.name}: {fault}")
    if not shapes:
        raise TlxgenError(f"the family {space.family.name} has no shapes of its own", remedy="name some by --shapes")
    return shapes


def _shown(spec: Path) -> str:
    return Path(os.path.relpath(spec.resolve(), root_of(spec))).as_posix()


def _bar(stack: ExitStack, count: int, effort: Effort) -> Progress:
    """A bar over all candidates on a terminal; elsewhere a line for each step, with the seconds since the first."""
    total, begun = count * (effort.ranked + effort.drawn), time.monotonic()
    done: dict[Shape, int] = {}
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        progress = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
        task = progress.add_task("", total=total)

        def update(completed: int, text: str) -> None:
            progress.update(task, completed=completed, description=text)
    else:

        def update(completed: int, text: str) -> None:
            print(f"[{time.monotonic() - begun:5.1f} s] {completed} of {total}: {text}", file=sys.stderr, flush=True)

    def step(shape_class: Shape, outcome: Outcome) -> None:
        done[shape_class] = len(outcome.results) + len(outcome.faults)
        if outcome.order:
            best = outcome.order[0]
            name = "x".join(map(str, shape_class))
            update(sum(done.values()), f"{name}: {1 / outcome.score(best):.3f} {best.label}")

    return step


def _print(space: Space, classes_won: Sequence[Won]) -> None:
    table = Table("Winners", ("shape", "us", "TFLOP/s", "speedup", "variant", "measured", "faults"))
    for won in classes_won:
        best = won.outcome.order[0]
        for shape in won.shapes:
            result = won.outcome.results[best.key][shape]
            assert result.us is not None
            tflops = space.family.flops(best.variant.spec, shape) / result.us / 1e6
            speedup = f"{1 / result.score:.3f}" if result.baseline_us else ""
            counts = len(won.outcome.results), len(won.outcome.faults)
            table.add("x".join(map(str, shape)), f"{result.us:.2f}", f"{tflops:.0f}", speedup, best.label, *counts)
    show([table])
