"""What in a gemm spec does not go together: rules that span keys, each with the key that is blamed."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tlxgen.arch import ARCHS, DTYPES

if TYPE_CHECKING:
    from .spec import GemmSpec

WITH_TENSORS = ("bias", "residual", "scale", "scale_rowwise")
# What a generated module or its kernels define themselves, so that a spec may not give it a second meaning.
_IMPORTS = {
    "functools",
    "torch",
    "triton",
    "tl",
    "tlx",
    "knobs",
    "driver",
    "make_tensordesc_arg",
    "itertools",
}
_FUNCTIONS = {
    "ring_slot",
    "quotient",
    "reciprocal",
    "tile_at",
    "epilogue",
    "rounded",
    "halves",
    "quarters",
    "eighths",
    "tile_of",
    "trips_of",
    "first_extents",
    "prefetch_along_k",
    "prefetch_across_k",
    "slot_clocks",
    "part_of",
    "leave_part",
    "added",
    "finish",
    "add_up",
    "is_help",
    "is_helped",
    "last_item",
    "leave_mark",
    "await_mark",
    "last_round",
    "sm_count",
    "pick_config",
    "describe",
    "check",
    "pack_scales",
    "check_scales",
    "describe_scales",
    "describe_padded",
}
_HOST = {
    "clocks",
    "layout",
    "aligned",
    "prepare",
    "empty_cuda",
    "empty_rows",
    "row_stride",
    "workspace",
    "zeros",
    "keep",
    "run",
    "pick",
}
MODULE_NAMES = _IMPORTS | _FUNCTIONS | _HOST
_SIZES = {
    "M",
    "N",
    "K",
    "BLOCK_M",
    "BLOCK_N",
    "BLOCK_K",
    "STAGES",
    "C_STAGES",
    "ACC_STAGES",
    "GROUP_M",
    "SPLIT_K",
}
KERNEL_NAMES = _SIZES | {
    "SLOTS",
    "EXTENT",
    "LINE",
    "LINES",
    "CONFIGS",
    "LAUNCHES",
    "WORKSPACES",
    "ZEROS",
    "HEIGHT",
    "STRIPES",
    "APART",
    "AHEAD",
    "MODULES",
    "TUNED",
}

Fault = tuple[tuple[str | int, ...], str]


def of(spec: GemmSpec) -> list[Fault]:
    """Every fault of the spec."""
    tasks = _hopper(spec) if spec.arch == "sm90" else _blackwell(spec)
    return [*_names(spec), *_registers(spec), *tasks, *_operands(spec), *_cluster(spec), *_epilogue(spec)]


def _names(spec: GemmSpec) -> list[Fault]:
    faults: list[Fault] = []
    if spec.name in MODULE_NAMES or hasattr(builtins, spec.name):
        faults.append((("name",), f"the module needs the name {spec.name} for something else"))
    taken = set(KERNEL_NAMES)
    for name, task in (("epilogue", spec.tasks.epilogue), ("scheduler", spec.tasks.scheduler)):
        if task and task.guard in taken:
            faults.append((("tasks", name, "guard"), f"the kernel needs the name {task.guard} for something else"))
        taken |= {task.guard} if task else set()
    return faults


def _hopper(spec: GemmSpec) -> list[Fault]:
    """What sm90 cannot do, and what of its tasks does not go together."""
    mma, faults = spec.tasks.mma, list[Fault]()
    for path, there in _only_sm100(spec).items():
        if there:
            faults.append(
                (tuple(path.split(".")), "this is of sm100: sm90 has no tensor memory, no CLC, no MX and no cvt.rs")
            )
    if not spec.tasks.load.default:
        faults.append((("tasks", "load", "default"), "on sm90 the TMA producer is the default task"))
    if mma.promote and not DTYPES[spec.problem.a.dtype].is_fp8:
        text = f"wgmma adds up products of {spec.problem.a.dtype} in fp32: there is nothing to promote"
        faults.append((("tasks", "mma", "promote"), text))
    if mma.promote and not spec.tasks.specialized:
        faults.append((("tasks", "mma", "promote"), "sums are promoted by consumers: tasks.specialized must be true"))
    if mma.promote and mma.in_flight and "in_flight" in mma.model_fields_set:
        faults.append((("tasks", "mma", "in_flight"), "a slot's products are promoted when they are done: 0"))
    if mma.warps == 1:
        faults.append((("tasks", "mma", "warps"), "wgmma is issued by warpgroups: 4 or 8 warps, not 1"))
    if not spec.tasks.specialized:
        if spec.cluster.m * spec.cluster.n * spec.cluster.k > 1:
            faults.append((("cluster",), "the CTAs of a cluster need a producer each: tasks.specialized must be true"))
        if spec.tasks.epilogue:
            faults.append((("tasks", "epilogue"), "a store task needs tasks.specialized: true"))
        if mma.split == "pingpong":
            faults.append((("tasks", "mma", "split"), "pingpong needs two specialised consumers"))
        if "replicate" in mma.model_fields_set and mma.replicate != 1:
            faults.append((("tasks", "mma", "replicate"), "the un-specialised form has one task: replicate is 1"))
    elif mma.split == "pingpong":
        if mma.replicate != 2:
            faults.append((("tasks", "mma", "replicate"), f"pingpong is played by 2 replicas, not {mma.replicate}"))
        if spec.schedule.kind != "persistent":
            faults.append(
                (("schedule", "kind"), "pingpong alternates between tiles: it needs schedule.kind persistent")
            )
    if (tail := spec.schedule.tail) != "whole":
        faults += [(tuple(path.split(".")), f"schedule.tail is {tail}: {why}") for path, why in _beside_a_tail(spec)]
    if spec.schedule.prefetch:
        faults += [(("schedule", "prefetch"), why) for why in _against_a_prefetch(spec)]
    return faults


def _against_a_prefetch(spec: GemmSpec) -> Iterator[str]:
    """Why there is nothing to ask L2 for ahead."""
    if not spec.schedule.pdl:
        yield "L2 is asked while the kernel before still runs: schedule.pdl must be true"
    if spec.schedule.kind != "persistent":
        yield "CTAs that come later would ask for what has been read long since: schedule.kind must be persistent"
    if not spec.tasks.specialized:
        yield "consumers ask while the producer waits: tasks.specialized must be true"
    if spec.schedule.split_k > 1 or spec.cluster.k > 1:
        yield "tiles begin at the first slot of K only where K is whole: split_k and cluster.k must be 1"


def _beside_a_tail(spec: GemmSpec) -> Iterator[tuple[str, str]]:
    """What does not go with tiles that are left over and cut along K."""
    if spec.schedule.kind != "persistent":
        yield "schedule.kind", "only CTAs that stay have tiles that are left over: persistent"
    if not spec.tasks.specialized:
        yield "tasks.specialized", "the un-specialised form walks whole tiles: true"
    if spec.cluster.m * spec.cluster.n * spec.cluster.k > 1:
        yield "cluster", "the parts of a tile are for CTAs of their own: no cluster"
    if spec.schedule.split_k > 1:
        yield "schedule.split_k", "split_k cuts every tile already: 1"
    if spec.tasks.epilogue:
        yield "tasks.epilogue", "the consumers themselves store sums: no store task"
    if spec.epilogue.store != "tma":
        yield "epilogue.store", "sums leave by TMA from where C does: tma"
    if spec.schedule.tail == "helped" and spec.rings.ab.full == "separate":
        yield "rings.ab.full", "a slot of the ring brings a helper's sums as it brings A and B: shared"


def _only_sm100(spec: GemmSpec) -> dict[str, bool]:
    return {
        "tasks.scheduler": spec.tasks.scheduler is not None,
        "rings.acc": "acc" in spec.rings.model_fields_set,
        "schedule.kind": spec.schedule.kind == "clc",
        "cluster.protocol": "protocol" in spec.cluster.model_fields_set,
        "epilogue.interleave": spec.epilogue.interleave,
        "epilogue.subtiles": spec.epilogue.subtiles == 8,
        "problem.scaling": spec.problem.scaling == "mx",
        "epilogue.rounding": spec.epilogue.rounding == "stochastic",
    }


def _blackwell(spec: GemmSpec) -> list[Fault]:
    """What sm100 does otherwise than sm90, and what of its tasks does not go together."""
    tasks, mma, cluster, faults = spec.tasks, spec.tasks.mma, spec.cluster, list[Fault]()
    clc = spec.schedule.kind == "clc"
    for path, there, why in (
        ("tasks.specialized", not tasks.specialized, "tcgen05 has a warp of its own: tasks.specialized is true"),
        ("tasks.load.default", tasks.load.default, "the epilogue is the default task"),
        ("tasks.mma.warps", mma.warps != 1, f"one thread issues tcgen05: 1 warp, not {mma.warps}"),
        ("tasks.mma.split", mma.split == "pingpong", "accumulators in tensor memory overlap MMA and epilogue"),
        ("tasks.mma.order", "order" in mma.model_fields_set, "no replicas take turns"),
        ("tasks.mma.promote", mma.promote, "tcgen05 accumulates in fp32"),
        ("tasks.mma.in_flight", "in_flight" in mma.model_fields_set, "the tensor core itself releases a slot"),
        ("rings.ab.empty", spec.rings.ab.empty == "warp", "the tensor core releases a slot, and arrives once: leader"),
        ("cluster.n", cluster.n == 2, "two CTAs multiply together along M: cluster.m"),
        ("cluster.k", cluster.k > 1, "K is cut by schedule.split_k"),
        ("schedule.tail", spec.schedule.tail != "whole", "tiles that are left over stay whole: clc shares them out"),
        ("schedule.prefetch", spec.schedule.prefetch > 0, "nobody asks L2 ahead, as it has not been measured: 0"),
        ("cluster.multicast", cluster.multicast is not None, "two CTAs that multiply together load half of B each"),
        (
            "tasks.scheduler",
            tasks.scheduler and not clc,
            "the tiles of this schedule.kind need no scheduler: clc does",
        ),
        (
            "epilogue.interleave",
            spec.epilogue.interleave and mma.replicate != 2,
            "it is two row groups that store in turns",
        ),
    ):
        if there:
            faults.append((tuple(path.split(".")), f"on sm100 {why}"))
    return faults


def _registers(spec: GemmSpec) -> list[Fault]:
    """Register requests and guards."""
    mma, faults = spec.tasks.mma, list[Fault]()
    for path, registers in ((("tasks", "mma"), mma.registers), (("tasks", "epilogue"), _store_registers(spec))):
        if registers is not None and (registers % 8 or not 24 <= registers <= 240):
            faults.append(((*path, "registers"), f"setmaxnreg takes a multiple of 8 in 24..240, not {registers}"))
    names = {task.guard for task in (spec.tasks.epilogue, spec.tasks.scheduler) if task}
    for name in spec.guards:
        if name not in names:
            known = f"this spec has {', '.join(sorted(names))}" if names else "no task of this spec has a guard"
            hint = ", and the default task cannot have one" if name.startswith("LOAD") else ""
            faults.append((("guards", name), f"no task is guarded by {name}: {known}{hint}"))
    return faults


def _store_registers(spec: GemmSpec) -> int | None:
    return spec.tasks.epilogue.registers if spec.tasks.epilogue else None


def _operands(spec: GemmSpec) -> list[Fault]:
    faults = [*_types(spec), *(_scaled(spec) if spec.problem.scaling == "mx" else _layouts(spec))]
    for axis in ("m", "n", "k"):
        extent = getattr(spec.tile, axis)
        if extent & (extent - 1):
            faults.append((("tile", axis), f"a tile extent is a power of two, not {extent}"))
    return faults


def _layouts(spec: GemmSpec) -> list[Fault]:
    a, b, faults = spec.problem.a, spec.problem.b, list[Fault]()
    transposable = ARCHS[spec.arch].transposable
    rule = "wgmma reads fp8 operands K-major only"
    if not transposable(DTYPES[a.dtype]) and a.layout != "row":
        faults.append((("problem", "a", "layout"), f"A of {a.dtype} must be row-major: {rule}"))
    if not transposable(DTYPES[b.dtype]) and b.layout != "col":
        faults.append((("problem", "b", "layout"), f"B of {b.dtype} must be column-major: {rule}"))
    return faults


def _scaled(spec: GemmSpec) -> list[Fault]:
    """What MX scales ask for."""
    faults: list[Fault] = []
    if spec.tasks.mma.replicate != 1:
        faults.append((("tasks", "mma", "replicate"), "with MX scales a tile is one row group"))
    if spec.problem.a.layout != "row" or spec.problem.b.layout != "col":
        faults.append((("problem", "scaling"), "MX scales lie along K: A is row-major, B column-major"))
    return faults


def _types(spec: GemmSpec) -> list[Fault]:
    """Which types go together, with MX scales and without."""
    types = {name: DTYPES[operand.dtype] for name, operand in (("a", spec.problem.a), ("b", spec.problem.b))}
    a, b = types.values()
    if spec.problem.scaling == "mx":
        return [
            (("problem", n, "dtype"), f"MX scales fp8 and fp4, not {t.name}") for n, t in types.items() if not t.is_mx
        ]
    faults: list[Fault] = []
    if "scale" in spec.rings.model_fields_set:
        faults.append((("rings", "scale"), "there are no scales: problem.scaling is none"))
    packed = [n for n, t in types.items() if t.values > 1]
    for name in packed:
        faults.append((("problem", name, "dtype"), "e2m1 comes with scales: problem.scaling must be mx"))
    if not packed and (a.bits != b.bits or (a != b and not a.is_fp8)):
        faults.append((("problem", "b", "dtype"), f"tensor cores cannot multiply {a.name} by {b.name}"))
    return faults


def _cluster(spec: GemmSpec) -> list[Fault]:
    m, n, multicast = spec.cluster.m, spec.cluster.n, spec.cluster.multicast
    if spec.arch == "sm100":
        return []
    if spec.cluster.k > 1:
        return list(_along_k(spec))
    if m * n > 2:
        return [(("cluster", "n"), f"a cluster has 1 or 2 CTAs, not {m} x {n}")]
    shared = "b" if m == 2 else "a" if n == 2 else None
    faults: list[Fault] = []
    for operand in multicast or ():
        if shared is None:
            faults.append((("cluster", "multicast"), "multicast needs a cluster of 2 CTAs (cluster.m or cluster.n)"))
        elif operand != shared:
            axis = "m" if m == 2 else "n"
            text = f"CTAs along {axis} hold different tiles of {operand}: only {shared} can be multicast"
            faults.append((("cluster", "multicast"), text))
    if multicast is not None and not multicast and shared:
        faults.append((("cluster", "multicast"), "a cluster that multicasts nothing does nothing: leave it out"))
    return faults


def _along_k(spec: GemmSpec) -> Iterator[Fault]:
    """What does not go with a cluster whose CTAs share a tile of C."""
    if spec.cluster.m * spec.cluster.n > 1:
        yield ("cluster", "k"), "the CTAs of a cluster lie along one of M, N and K"
    if spec.cluster.multicast:
        yield ("cluster", "multicast"), "CTAs along k load different parts of both operands: none can be multicast"
    if spec.schedule.split_k > 1:
        yield ("schedule", "split_k"), "cluster.k cuts K already: split_k is 1"
    if spec.tasks.epilogue:
        yield ("tasks", "epilogue"), "a CTA of a cluster along K stores its slice of the tile itself"
    if spec.epilogue.subtiles != 1:
        yield ("epilogue", "subtiles"), "a CTA of a cluster along K stores its slice of the tile whole: subtiles is 1"


def _epilogue(spec: GemmSpec) -> list[Fault]:
    faults: list[Fault] = []
    for i, op in enumerate(spec.epilogue.ops):
        if op in WITH_TENSORS and op in spec.epilogue.ops[:i]:
            faults.append((("epilogue", "ops", i), f"{op} takes a tensor of its own and can stand once"))
    if spec.epilogue.rounding == "stochastic" and spec.problem.c.dtype == "fp32":
        faults.append((("epilogue", "rounding"), "C in fp32 is what the accumulator is: there is nothing to round"))
    if spec.epilogue.store == "direct" and spec.tasks.epilogue:
        faults.append((("epilogue", "store"), "the store task stores by TMA: epilogue.store must be tma"))
    return faults
