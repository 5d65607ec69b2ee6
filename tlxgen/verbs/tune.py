"""`tlxgen tune`: shows a bar with the best candidate so far, prints the winners, and writes the tuned file."""

from __future__ import annotations

import functools
import json
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tlxgen import families, stamp
from tlxgen.bounded import cpus
from tlxgen.errors import TlxgenError
from tlxgen.families.kit.extents import form, written
from tlxgen.files import try_to_write, write_atomic
from tlxgen.project import root_of
from tlxgen.record import head
from tlxgen.review.progress import bar, on_terminal
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

if TYPE_CHECKING:
    from tlxgen.compile import Outcome as Compiled
    from tlxgen.tune.dry import Estimated

H200_SMS = 132  # the GPU that a dry run ranks for


@dataclass(frozen=True)
class Options:
    """The options of the command line. `module` is the Python module that child processes run."""

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
    as_json: bool = False
    only: str = ""  # the problem to tune of a spec with several: `problem.b.layout=col`


def run(spec: Path, options: Options) -> int:
    """Tunes and writes the file. Returns 0, or 1 if the budget left a class without a winner."""
    if options.exhaustive and options.candidates is not None:
        raise TlxgenError("--candidates has no effect beside --exhaustive, which measures every candidate")
    document, workers = load(spec, tuned=False), options.workers or cpus()
    stamp.require_cache()  # compiled kernels reach the measuring child through the cache
    if options.out:
        _require_writable(options.out)
    with ExitStack() as stack:
        family = families.of(document).name
        if options.dask:
            pools = labs.dask_pools(options.dask, workers, family, options.module)
        else:
            pools = labs.local_pools(workers, len(worker.gpus()), family, options.module)
        stack.callback(pools.close)
        known = known_device()
        asked = None if known else pools.start()  # children import torch while the variants are enumerated
        with ThreadPoolExecutor(1) as beside:  # CUDA's driver takes half a second to start
            asking = beside.submit(lambda: known or device(options.module, asked))
            space = space_of(document)
        found = asking.result()
        require(space, found)
        shapes, parts = _shapes(space, options.shapes), space.apart()
        chosen = _chosen(parts, options.only)
        path = options.out or default_path(root_of(spec), found.name, spec)
        _require_writable(path)
        before = earlier.read(path, parts, found)
        results = Results(stamp.cache_folder() / "tune" / "results", found.name, found.versions)
        limits = labs.Limits(measure_s=options.timeout_s, workers=workers)
        budget, won, count = Budget.of(options.budget_s), list[Won](), len(classes(shapes)) * len(chosen)
        step_of = _bar(stack, count, effort_of(options.candidates, options.exhaustive, space))
        for done, i in enumerate(chosen):
            part = parts[i]
            lab = labs.Lab(part, found, results, pools, limits=limits, seed=options.seed, module=options.module)
            found_here = tune(
                *(part, lab, shapes),
                effort=effort_of(options.candidates, options.exhaustive, part),
                seed=options.seed,
                budget=budget.share(len(chosen) - done),
                at_once=2 * pools.gpus,
                on_step=step_of(i),
            )
            won += [replace(one, part=i) for one in found_here]
    write_atomic(path, render(space, found, _shown(spec), options.seed, won, before).encode())
    winners = _winners(space, won)
    missing, kept = count - len(won), set(before.classes) - {w.key for w in won}
    if options.as_json:
        counts = {"kept": sorted(shape for shape, _ in kept), "gone": len(before.gone), "missing": missing}
        print(json.dumps({**_fits(space), "wrote": str(path), "winners": winners.records, **counts}, default=str))
        return int(missing > 0)
    show([winners])
    print(
        f"wrote {path}"
        + (f"; kept {len(kept)} shapes of earlier runs" if kept else "")
        + (f"; {len(before.gone)} are gone, whose winners the spec no longer has" if before.gone else "")
        + (f"; {missing} shapes got nothing of the budget" if missing else "")
    )
    return int(missing > 0)


def _require_writable(path: Path) -> None:
    """Raises TlxgenError, before the run starts, if the file cannot be written."""
    try:
        try_to_write(path)
    except OSError as error:
        raise TlxgenError(f"cannot write {path}: {error.strerror or error}") from error


def dry_run(spec: Path, options: Options) -> int:
    """Ranks the candidates of each shape and compiles those that would be measured first. Returns 0 if all compile."""
    from tlxgen.compile import check_triton
    from tlxgen.tune.dry import best, compile_candidates

    for name, given in (("dask", options.dask), ("budget", options.budget_s), ("out", options.out)):
        if given is not None:
            raise TlxgenError(f"--{name} has no effect beside --dry-run, which measures and writes nothing")
    check_triton()
    space = space_of(load(spec, tuned=False))
    shapes, parts = _shapes(space, options.shapes), space.apart()
    pairs = [(shape, parts[i]) for shape in shapes for i in _chosen(parts, options.only)]
    order = {(shape, part.label): best(part, shape, H200_SMS, options.candidates or 4) for shape, part in pairs}
    wanted = list({e.candidate.key: e.candidate for line in order.values() for e in line}.values())
    with bar(len(wanted), "compiling") as shown:
        found = compile_candidates(space, wanted, options.workers, 120, lambda outcome: shown.advance())
    outcomes = {candidate.key: outcome for candidate, outcome in zip(wanted, found, strict=True)}
    tables = [_ranking(space, shape, problem, line, outcomes) for (shape, problem), line in order.items()]
    failed = sum(not outcome.ok for outcome in found)
    if options.as_json:
        ranked = [
            {"shape": shape, **({"problem": problem} if problem else {}), "ranked": table.records}
            for (shape, problem), table in zip(order, tables, strict=True)
        ]
        print(json.dumps({**_fits(space), "shapes": ranked, "failed": failed}, default=str))
    else:
        rejected = ", ".join(f"{rule} {count}" for rule, count in space.rejected.items()) or "none"
        print(f"{len(space.candidates)} variants fit; rejected by the plan, by rule: {rejected}")
        show(tables)
        print(
            f"{len(found) - failed} of {len(found)} compile; nothing was measured. "
            f"Estimates are arithmetic on the plan, for {H200_SMS} SMs; only their order matters"
        )
    return int(failed > 0)


def _ranking(
    space: Space, shape: Shape, problem: str, line: Sequence[Estimated], outcomes: Mapping[str, Compiled]
) -> Table:
    """A table of a shape's candidates in their order, with the estimate and the compiler's result of each."""
    estimated = any(entry.clocks for entry in line)
    failed = any(not outcomes[entry.candidate.key].ok for entry in line)
    columns = ["order", *(["clocks, estimated", "of the first"] if estimated else []), "variant"]
    columns += ["registers at launch", "spill B", "SMEM B", *(["error"] if failed else [])]
    unestimated = "" if estimated else ", for which this family has no estimate"
    of = f" for {problem}" if problem else ""
    table = Table(f"{form(space.family.problem_extents)} = {written(shape)}{of}{unestimated}", tuple(columns))
    best = line[0].clocks if line else 0
    for i, entry in enumerate(line, start=1):
        outcome = outcomes[entry.candidate.key]
        resources = outcome.resources
        known = math.isfinite(entry.clocks)  # it is infinite for a variant that cannot run this shape
        ratio = f"{entry.clocks / best:.2f}" if known and best else ""
        guess = [round(entry.clocks) if known else "cannot run it", ratio] if estimated else []
        numbers: list[object] = [""] * 3
        if resources:
            spilled = resources.spill_store_bytes + resources.spill_load_bytes
            numbers = [resources.registers, spilled, resources.smem_bytes]
        table.add(i, *guess, entry.candidate.label, *numbers, *([outcome.error] if failed else []))
    return table


def _fits(space: Space) -> dict[str, Any]:
    """The number of a spec's variants that can be chosen, as data."""
    return {**head("tune"), "kernel": space.name, "fit": len(space.candidates), "rejected": dict(space.rejected)}


def _shapes(space: Space, given: Sequence[Shape]) -> tuple[Shape, ...]:
    """The shapes to tune. Raises TlxgenError for shapes that do not fit the family, and if there are none."""
    shapes = tuple(given) or space.family.shapes
    for shape in shapes:
        if fault := space.family.wrong_shape(shape):
            raise TlxgenError(f"{written(shape)} is not a shape of {space.family.name}: {fault}")
    if not shapes:
        raise TlxgenError(f"the family {space.family.name} has no shapes of its own", remedy="name some by --shapes")
    return shapes


def _chosen(parts: Sequence[Space], only: str) -> list[int]:
    """The numbers of the parts to tune: all, or those that match `only` (`PATH=VALUE, ...`).

    Raises TlxgenError if no part matches.
    """
    wanted = [tuple(map(str.strip, item.partition("=")[::2])) for item in only.split(",") if item.strip()]
    found = [i for i, part in enumerate(parts) if all(part.problem.get(path) == value for path, value in wanted)]
    if not found:
        there = "; ".join(filter(None, (part.label for part in parts))) or "its axes do not change what is computed"
        raise TlxgenError(f"--only {only!r} is none of what this spec computes", remedy=f"that is: {there}")
    return found


def _shown(spec: Path) -> str:
    return Path(os.path.relpath(spec.resolve(), root_of(spec))).as_posix()


def _bar(stack: ExitStack, count: int, effort: Effort) -> Callable[[int], Progress]:
    """A bar over all candidates on a terminal, or else a line for each step with the seconds since the first.

    Returns a function from a part of a space to the function that reports its progress.
    """
    total, begun = count * (effort.ranked + effort.drawn), time.monotonic()
    done: dict[tuple[int, Shape], int] = {}
    drawn = stack.enter_context(bar(total, "")) if on_terminal() else None

    def update(completed: int, text: str) -> None:
        if drawn:
            drawn.reach(completed, text)
        else:
            print(f"[{time.monotonic() - begun:5.1f} s] {completed} of {total}: {text}", file=sys.stderr, flush=True)

    def step(part: int, shape_class: Shape, outcome: Outcome) -> None:
        done[part, shape_class] = len(outcome.results) + len(outcome.faults)
        if outcome.order:
            best = outcome.order[0]
            update(sum(done.values()), f"{written(shape_class)}: {1 / outcome.score(best):.3f} {best.label}")

    return lambda part: functools.partial(step, part)


def _winners(space: Space, classes_won: Sequence[Won]) -> Table:
    """A table of the winner of each shape. Without a baseline it has no column for the speedup."""
    compared = any(r.baseline_us for won in classes_won for r in won.outcome.results[won.outcome.order[0].key].values())
    columns = (form(space.family.problem_extents), "us", "TFLOP/s", *(["speedup"] if compared else []))
    table = Table("Winners", (*columns, "variant", "measured", "faults"))
    for won in classes_won:
        best = won.outcome.order[0]
        for shape in won.shapes:
            result = won.outcome.results[best.key][shape]
            assert result.us is not None
            tflops = space.family.flops(best.variant.spec, shape) / result.us / 1e6
            speedup = [f"{1 / result.score:.3f}" if result.baseline_us else ""] if compared else []
            counts = len(won.outcome.results), len(won.outcome.faults)
            table.add(written(shape), f"{result.us:.2f}", f"{tflops:.0f}", *speedup, best.label, *counts)
    return table
