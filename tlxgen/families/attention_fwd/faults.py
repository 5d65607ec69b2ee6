"""What in an attention_fwd spec does not go together: rules that span keys, each with the key that is blamed."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from tlxgen.families.attention import shape_faults

if TYPE_CHECKING:
    from .spec import AttentionSpec

# What a generated module or its kernel defines itself, so that a spec may not give it a second meaning.
_IMPORTS = {"functools", "math", "torch", "triton", "tl", "tlx", "create_ragged_descriptor", "to_ragged_indices"}
_KERNEL = {"ring_slot", "item_at", "sequence", "ragged", "key_tiles", "visible", "capped", "softmax"}
_TENSOR_MEMORY = {"risen"}
_HOST = {
    "sm_count",
    "pick_config",
    "describe",
    "check",
    "heads_together",
    "like_queries",
    "keys_last",
    "check_lengths",
    "lengths_of",
}
MODULE_NAMES = _IMPORTS | _KERNEL | _TENSOR_MEMORY | _HOST

Fault = tuple[tuple[str | int, ...], str]


def of(spec: AttentionSpec) -> list[Fault]:
    """Every fault of the spec."""
    tasks = _hopper(spec) if spec.arch == "sm90" else _blackwell(spec)
    narrow = _fp8(spec) if spec.problem.dtype == "e4m3" else []
    return [*_names(spec), *_registers(spec), *tasks, *_rings(spec), *narrow, *shape_faults(spec.check.shapes)]


def _names(spec: AttentionSpec) -> list[Fault]:
    faults: list[Fault] = []
    if spec.name in MODULE_NAMES or hasattr(builtins, spec.name):
        faults.append((("name",), f"the module needs the name {spec.name} for something else"))
    for name in spec.guards:
        faults.append((("guards", name), f"no task is guarded by {name}: no task of this family has a guard"))
    return faults


def _registers(spec: AttentionSpec) -> list[Fault]:
    faults: list[Fault] = []
    for name, registers in (("mma", spec.tasks.mma.registers), ("softmax", spec.tasks.softmax.registers)):
        if registers is not None and (registers % 8 or not 24 <= registers <= 240):
            text = f"setmaxnreg takes a multiple of 8 in 24..240, not {registers}"
            faults.append((("tasks", name, "registers"), text))
    return faults


def _hopper(spec: AttentionSpec) -> list[Fault]:
    """What sm90 cannot do, and what of its tasks does not go together."""
    tasks, mma = spec.tasks, spec.tasks.mma
    only_sm100 = "this is of sm100: on sm90 a consumer keeps scores, probabilities and O in its registers"
    return _where(
        ("tasks.softmax", "softmax" in tasks.model_fields_set, only_sm100),
        ("tasks.store", tasks.store is not None, only_sm100),
        ("rings.s", "s" in spec.rings.model_fields_set, only_sm100),
        ("softmax.rescale", spec.softmax.rescale != "always", only_sm100),
        ("schedule.kind", spec.schedule.kind == "clc", "this is of sm100: sm90 has no cluster launch control"),
        ("tasks.load.default", not tasks.load.default, "on sm90 the TMA producer is the default task"),
        ("tasks.mma.warps", mma.warps != 4, f"wgmma is issued by a warpgroup: 4 warps, not {mma.warps}"),
        (
            "tasks.mma.turns",
            mma.turns != "none" and mma.replicate == 1,
            "one consumer has nobody to take turns with: turns must be none",
        ),
    )


def _blackwell(spec: AttentionSpec) -> list[Fault]:
    """What sm100 does otherwise than sm90, and what of its tasks does not go together."""
    tasks, mma = spec.tasks, spec.tasks.mma
    return _where(
        ("tasks.load.default", tasks.load.default, "on sm100 the correction is the default task"),
        ("tasks.mma.warps", mma.warps != 1, f"on sm100 one thread issues tcgen05: 1 warp, not {mma.warps}"),
        ("tasks.mma.turns", mma.turns != "none", "on sm100 no consumers take turns: one thread multiplies for all"),
        ("tasks.mma.keep", mma.keep != "none", "on sm100 tcgen05 takes Q from shared memory: keep must be none"),
        (
            "tasks.mma.overlap",
            mma.overlap and mma.replicate != 2,
            f"on sm100 it is two groups that are interleaved, not {mma.replicate}: overlap must be false",
        ),
        (
            "rings.o.reuse",
            spec.rings.o.reuse == "q" and spec.schedule.kind == "grid",
            "on sm100 the correction puts O in Q's place and then releases Q: a CTA of a grid releases nothing",
        ),
        (
            "tasks.store",
            spec.rings.o.reuse == "q" and tasks.store is not None,
            "O leaves through Q's buffer, and the correction releases that: no store task",
        ),
        ("rings.kv.empty", spec.rings.kv.empty == "warp", "on sm100 the tensor core releases a slot: leader"),
    )


def _fp8(spec: AttentionSpec) -> list[Fault]:
    """What comes of V having contiguous keys, as wgmma reads operands of 8 bits, and of O being wider than they are."""
    lengths, rings = spec.problem.lengths, spec.rings
    return _where(
        ("problem.dtype", spec.arch != "sm90", "e4m3 attention is for sm90"),
        ("problem.lengths", lengths == "packed", "the keys of e4m3 V are contiguous: sequences cannot lie end to end"),
        ("rings.kv.storage", rings.kv.storage == "shared", "tiles of K and of V^T differ in e4m3: they need two rings"),
        ("rings.o.reuse", rings.o.reuse == "q", "O is bf16 and wider than Q: it cannot take Q's place"),
    )


def _where(*rules: tuple[str, bool, str]) -> list[Fault]:
    """A fault for each (path, whether it is broken, text) that is."""
    return [(tuple(path.split(".")), text) for path, broken, text in rules if broken]


def _rings(spec: AttentionSpec) -> list[Fault]:
    faults: list[Fault] = []
    n = spec.tile.n
    if n & (n - 1):
        faults.append((("tile", "n"), f"a tile of keys is a power of two, not {n}"))
    if spec.tile.m % spec.tasks.mma.replicate or (r := spec.tile.m // spec.tasks.mma.replicate) & (r - 1):
        text = f"{spec.tile.m} rows among {spec.tasks.mma.replicate} consumers: each needs the same power of two"
        faults.append((("tile", "m"), text))
    if spec.rings.kv.storage == "shared" and spec.problem.head_dim != spec.head_dim_v:
        text = f"rows of K ({spec.problem.head_dim}) and of V ({spec.head_dim_v}) differ: they cannot share a ring"
        faults.append((("rings", "kv", "storage"), text))
    if spec.rings.o.reuse == "q" and spec.problem.head_dim != spec.head_dim_v:
        text = f"rows of Q ({spec.problem.head_dim}) and of O ({spec.head_dim_v}) differ: O cannot take Q's place"
        faults.append((("rings", "o", "reuse"), text))
    if spec.schedule.kind == "grid" and spec.rings.q.stages != 1:
        faults.append((("rings", "q", "stages"), "a CTA of a grid loads Q once: stages is 1"))
    return faults
