"""What a plan needs that stock Triton with the plug-in triton-utlx lacks; docs/toolchains.md has reproducers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from .model import Plan, Reason

RULES = ("utlx-cluster", "utlx-clc", "utlx-warps", "utlx-storage", "utlx-tmem", "utlx-scales", "utlx-builder")


def missing(plan: Plan) -> Iterator[Reason]:
    """A reason for each cause why stock Triton 3.8.0 with triton-utlx 3.8.0.post16 does not compile the plan."""
    if (ctas := math.prod(plan.cluster)) > 1:
        text = f"the {ctas} CTAs of a cluster arrive on each other's barriers; stock Triton lacks tlx.remote_view"
        yield Reason("utlx-cluster", text)
    if plan.work.clc:
        yield Reason("utlx-clc", "work items come by CLC; stock Triton lacks tlx.clc_producer")
    yield from _warps(plan)
    yield from _storages(plan)
    if "UTCCP" in plan.expected_opcodes:  # copies of scales to tensor memory
        yield Reason("utlx-scales", "products have block scales; stock Triton does not compile tlx.async_dot_scaled")
    if plan.builder:
        yield Reason("utlx-builder", f"the kernel calls {' and '.join(plan.builder)} of fbtriton's builder")


def _warps(plan: Plan) -> Iterator[Reason]:
    """Tensors of any task get the layout of the default task's number of warps."""
    if not plan.specialized:
        return
    default = plan.default_role
    for role in plan.roles:
        multiplies = plan.arch.name == "sm90" and any(step.kind == "multiply" for step in role.steps)
        if role.warps != default.warps and (multiplies or plan.work.counter):
            what = "multiplies" if multiplies else "reads the number of its next work item"
            text = f"{role.name} {what} with {role.warps} warps, the default task, {default.name}, has {default.warps}"
            yield Reason("utlx-warps", f"{text}; stock Triton compiles equal numbers")


def _storages(plan: Plan) -> Iterator[Reason]:
    places = [r for r in plan.rings if not r.slotwise and plan.overlays(r)]
    if names := ", ".join(r.name for r in places if r.space == "tmem"):
        yield Reason("utlx-tmem", f"rings take the place of {names} in TMEM; stock Triton compiles that for SMEM only")
    if len(shared := [r.name for r in places if r.space == "smem"]) > 1:
        text = f"rings take the places of {' and '.join(shared)}; stock Triton compiles one set_buffer_overlap a kernel"
        yield Reason("utlx-storage", text)
    for ring in places:
        buffers = ring.slots.value * ring.banks * ring.tiles[0].groups
        if ring.space == "smem" and buffers & (buffers - 1):
            text = (
                f"rings take the place of {ring.name}, {buffers} buffers; stock Triton compiles a power of two of them"
            )
            yield Reason("utlx-storage", text)
