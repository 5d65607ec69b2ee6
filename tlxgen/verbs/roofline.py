"""`tlxgen show --roofline`: prints what bounds each structure of a spec, in clocks a tile, and least times."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tlxgen.errors import ReviewError
from tlxgen.families import Family, Kernels, Structure, Variant, kernels_of
from tlxgen.plan.budget import register_file
from tlxgen.record import head
from tlxgen.review.tables import Table, show
from tlxgen.roofline import GPUS, Bound, Gpu, Launch, Work, bound_of, units
from tlxgen.roofline.items import items_of
from tlxgen.working import of_spec

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Roofline:
    """The roofline of a structure's first config: the counts of its launches, and the bounds of problems."""

    structure: Structure
    variant: Variant
    launches: tuple[Launch, ...]
    bounds: dict[Shape, Bound]


def print_roofline(
    spec: Path, only: str | None = None, shapes: Sequence[str] = (), *, sms: int | None = None, mhz: int | None = None,
    as_json: bool = False,
) -> None:  # fmt: skip
    """Prints, for each structure, the work of each unit of an SM, and the least time of each shape.

    The default shapes are the family's. Raises ReviewError for an unknown structure, or if nothing can be counted, and
    TlxgenError for an invalid shape.
    """
    kernels = kernels_of(spec).some()
    names = [s.name for s in kernels.structures]
    if only is not None and only not in names:
        raise ReviewError(f"no structure {only!r} in {spec}", remedy=f"it has {', '.join(names)}")
    asked = kernels.family.read_shapes(shapes) or list(kernels.family.shapes)
    gpu = GPUS[kernels.structures[0].plan.arch.name]
    gpu = gpu._replace(sms=sms or gpu.sms, mhz=mhz or gpu.mhz)
    found, passed = rooflines(spec, kernels, only, asked, gpu)
    if not found:
        text = f"{', '.join(passed)}: the plan does not say what its work items are, so a tile cannot be counted apart"
        raise ReviewError(text, remedy="split K, and masks that arguments decide, have no roofline")
    if as_json:
        about = {"name": kernels.name, "gpu": gpu._asdict(), "without": passed}
        print(json.dumps({**head("show"), **about, "rooflines": [_record(r, gpu.mhz) for r in found]}))
        return
    for one in found:
        print(f"{one.structure.name}; the numbers: {one.variant.label}\n")
        show([*(_units(one, launch) for launch in one.launches), _times(one, gpu.mhz, f"{gpu.name}, {gpu.sms} SMs")])
    if passed:
        print(f"without a roofline, because the plan does not say what its work items are: {', '.join(passed)}")


def rooflines(
    spec: Path, kernels: Kernels, only: str | None, shapes: Sequence[Shape], gpu: Gpu
) -> tuple[list[Roofline], list[str]]:
    """The rooflines of all structures, or of `only` one, and the names of structures that cannot be counted."""
    found, passed = [], []
    with of_spec(spec) as working:
        for structure in kernels.structures:
            if only in (None, structure.name):
                one = of_structure(working.path(structure.name), kernels.family, structure, shapes, gpu)
                found.append(one) if one else passed.append(structure.name)
    return found, passed


def of_structure(
    path: Path, family: Family, structure: Structure, shapes: Sequence[Shape], gpu: Gpu
) -> Roofline | None:
    """The roofline of the first config of the module in `path` that accepts the shapes, or of the first config.

    None if nothing can be counted.
    """
    from tlxgen.roofline.measure import measure  # imports torch

    work = getattr(items_of(family), "work", lambda plan, shape: None)
    for config, variant in enumerate(structure.variants):
        assert variant.plan
        taken = [shape for shape in shapes if work(variant.plan, shape) is not None]
        if shapes[0] in taken:
            probed = measure(path, family, variant, config, shapes[0])
            if probed is None:
                return None
            bounds = {shape: predicted(family, variant, probed.at(shape, gpu.sms), shape, gpu) for shape in taken}
            return Roofline(structure, variant, tuple(probed.at(shapes[0], gpu.sms)), bounds)
    return None


def predicted(family: Family, variant: Variant, launches: Sequence[Launch], shape: Shape, gpu: Gpu) -> Bound:
    """The least clocks of the first launch, which does the problem's work, where the same launch came before and L2
    keeps some of what it moved. Other launches are left out."""
    assert variant.plan
    cost = items_of(family)
    order = cost.order(variant.plan, shape, gpu.sms) if hasattr(cost, "order") else ()
    work = Work(*cost.work(variant.plan, shape))._replace(order=order)
    # Sequences may be shorter than the longest, which `bytes_moved` takes all for.
    moved = getattr(cost, "least_bytes", family.bytes_moved)(variant.spec, shape)
    return bound_of(launches[0], work, variant.plan.arch, gpu, moved)


def _units(one: Roofline, launch: Launch) -> Table:
    assert one.variant.plan
    arch, plan = one.variant.plan.arch, one.variant.plan
    counts, what = (launch.round, "round of the inner loop") if any(launch.round.values) else (launch.item, "work item")
    rows = units(counts, arch)
    most = max(u.clocks or 0.0 for u in rows)
    table = Table(f"{launch.kernel}, a {what}", ("unit", "count", "of", "clocks", "share", "besides, an item"))
    for unit, besides in zip(rows, units(launch.item, arch), strict=True):
        clocks = "" if unit.clocks is None else round(unit.clocks, 1)
        share = "" if unit.clocks is None or not most else f"{unit.clocks / most:.0%}"
        more = round(besides.amount) if counts is launch.round else ""
        table.add(unit.name, round(unit.amount), unit.what, clocks, share, more)
    bounding = next(u.name for u in rows if u.clocks == most)
    held = register_file(plan)
    table.note = f"bound by {bounding}: {most:.0f} clocks; registers held: {held} of {arch.registers} an SM"
    if launch.pace and counts is launch.round:
        table.note += f"; a round takes {launch.pace.round:.0f} clocks with the waits of tasks for each other"
    return table


def _times(one: Roofline, mhz: int, where: str) -> Table:
    table = Table("Least times", ("shape", "clocks", "microseconds", "bound by"))
    table.note = f"{where} at {mhz} MHz; a launch takes longer where the clock is lower"
    for shape, bound in one.bounds.items():
        table.add("x".join(map(str, shape)), round(bound.clocks), f"{bound.clocks / mhz:.2f}", bound.by)
    return table


def _record(one: Roofline, mhz: int) -> dict[str, Any]:
    assert one.variant.plan
    arch = one.variant.plan.arch
    return {
        "structure": one.structure.name,
        "values": dict(one.variant.values),
        "launches": [
            {
                "kernel": launch.kernel,
                "round": [u._asdict() for u in units(launch.round, arch)],
                "item": [u._asdict() for u in units(launch.item, arch)],
                "pace": asdict(launch.pace) if launch.pace else None,
            }
            for launch in one.launches
        ],
        "bounds": [
            {"shape": list(shape), "clocks": bound.clocks, "us": bound.clocks / mhz, "by": bound.by}
            for shape, bound in one.bounds.items()
        ],
    }
