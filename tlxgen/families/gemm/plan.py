"""From a gemm spec to its plan: which roles and rings there are. Barriers and budgets follow from those in `plan`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tlxgen.arch import ARCHS, DTYPES, Sm100
from tlxgen.plan import Launch, Parameter, Plan, Reason, Size, Tile, Use, complete
from tlxgen.plan.registers import split_registers

from . import blackwell, hopper
from .facts import GemmFacts, Operand
from .spec import GemmSpec

CONFIG_AXES = {
    "tile.m": "BLOCK_M",
    "tile.n": "BLOCK_N",
    "tile.k": "BLOCK_K",
    "rings.ab.stages": "STAGES",
    "rings.c.stages": "C_STAGES",
    "rings.acc.stages": "ACC_STAGES",
    "schedule.group_m": "GROUP_M",
    "schedule.split_k": "SPLIT_K",
}
BLAME = {
    "smem": "rings.ab.stages",
    "ring-depth": "rings.ab.stages",
    "mbarrier-bytes": "tile.k",
    "registers": "tasks.mma.registers",
    "accumulator": "tile.n",
    "instruction": "tile.n",
    "threads": "tasks.mma.warps",
    "named-barriers": "tasks.mma.order",
    "tmem": "rings.acc.stages",
    "wgmma-m": "tile.m",
    "wgmma-n": "tile.n",
    "wgmma-k": "tile.k",
    "tcgen05-m": "tile.m",
    "tcgen05-n": "tile.n",
    "tcgen05-k": "tile.k",
    "mx": "problem.scaling",
    "tma-box": "tile.k",
    "subtile": "epilogue.subtiles",
}
MEANING = {
    "BLOCK_M": "rows of a tile of C",
    "BLOCK_N": "columns of a tile of C",
    "BLOCK_K": "extent of K in a ring slot",
    "STAGES": "slots of the operand ring",
    "C_STAGES": "staging buffers of C a replica",
    "ACC_STAGES": "accumulators in tensor memory",
    "GROUP_M": "tile rows of a swizzle group",
    "SPLIT_K": "parts that K is cut into",
}
CAPTURE_BYTES = 256  # 112 to 176 measured
ALIGNMENT_BYTES = 128  # barrier arrays start at multiples of 16
TMEM_BYTES = 112  # where tcgen05.alloc puts the address, and captures of tasks that have arguments more
CLC_BYTES = 80  # a response of 16 bytes, aligned, and captures
MARK_BYTES = 128  # a count that a whole task is told of, and captures of tasks that have arguments more
VECTOR_SCRATCH = 256  # elements: a vector of a subtile's rows or columns, at most


def build(spec: GemmSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool], split: bool) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`.

    `guards` are the values of the guards in this variant, `baked` the parameters that are constants of the source, and
    `split` says whether any variant of this structure cuts K (its source then carries the workspace).
    """
    sizes = _sizes(spec)
    facts = _facts(spec, sizes, split)
    arch = hopper if spec.arch == "sm90" else blackwell
    names = {facts.store_guard: "store", facts.scheduler_guard: "scheduler"}
    optional = frozenset(names[guard] for guard, on in guards.items() if on)
    possible = frozenset(names[guard] for guard in guards)
    roles, all_roles = arch.roles(spec, facts, optional), arch.roles(spec, facts, possible)
    if facts.clc:
        facts = replace(facts, consumers=blackwell.consumers(all_roles, guards, baked, facts.cluster))
    parameters = [Parameter(n, s.value, MEANING[n], n in baked) for n, s in sizes.items()]
    parameters += [Parameter(g, v, "whether the guarded task is there", g in baked) for g, v in guards.items()]
    return complete(
        Plan(
            name=spec.name,
            family="gemm",
            arch=ARCHS[spec.arch],
            roles=roles,
            possible_roles=all_roles,
            rings=arch.rings(spec, facts, sizes, optional),
            parameters=tuple(parameters),
            specialized=spec.tasks.specialized,
            cluster=(facts.cluster, 1, 1),
            compiler_smem=_compiler_smem(spec, facts),
            spare_smem=_spare_smem(facts),
            **arch.arguments(spec, facts, sizes),
            facts=facts,
            launches=_launches(spec, facts, parameters),
            reasons=(*arch.rules(spec, facts, sizes), *_rules(spec, facts)),
        )
    )


def _sizes(spec: GemmSpec) -> dict[str, Size]:
    values = {
        "BLOCK_M": spec.tile.m,
        "BLOCK_N": spec.tile.n,
        "BLOCK_K": spec.tile.k,
        "STAGES": spec.rings.ab.stages,
        "C_STAGES": spec.rings.c.stages,
        "ACC_STAGES": spec.rings.acc.stages,
        "GROUP_M": spec.schedule.group_m,
        "SPLIT_K": spec.schedule.split_k,
    }
    if spec.arch == "sm90":
        del values["ACC_STAGES"]
    if spec.epilogue.store == "direct":
        del values["C_STAGES"]
    return {name: Size.of(name, value) for name, value in values.items()}


def _facts(spec: GemmSpec, sizes: dict[str, Size], split: bool) -> GemmFacts:
    mma, tasks = spec.tasks.mma, spec.tasks
    pingpong = mma.split == "pingpong"
    replicas = mma.replicate if tasks.specialized else 1
    groups = 1 if pingpong else replicas
    a, b = _operands(spec, sizes, groups)
    rows, columns = sizes["BLOCK_M"] // groups, sizes["BLOCK_N"] // (spec.epilogue.subtiles * spec.cluster.k)
    c_dtype = DTYPES[spec.problem.c.dtype]
    tensor_memory = spec.arch == "sm100"
    return GemmFacts(
        a=a,
        b=b,
        c_dtype=c_dtype,
        staged=Tile("c", (rows, columns), DTYPES["fp32"] if spec.schedule.split_k > 1 else c_dtype),
        c_eviction=_hint(spec.cache.c),
        pingpong=pingpong,
        in_flight=0 if mma.promote else mma.in_flight,
        promote=mma.promote,
        replicas=1 if tensor_memory else replicas,
        row_groups=groups,
        rows=rows,
        columns=columns,
        subtiles=spec.epilogue.subtiles,
        tma_store=spec.epilogue.store == "tma",
        store_guard=tasks.epilogue.guard if tasks.epilogue else None,
        source=spec.schedule.kind,
        split=split,
        sums=_sums(spec, sizes, rows) if spec.schedule.tail != "whole" else None,
        rest=_rest(a, sizes) if spec.schedule.tail == "helped" else None,
        cluster_m=spec.cluster.m,
        cluster_n=spec.cluster.n,
        cluster_k=spec.cluster.k,
        pdl=spec.schedule.pdl,
        prefetch=spec.schedule.prefetch,
        ops=spec.epilogue.ops,
        num_warps=4 if tasks.specialized else mma.warps,
        producer_registers=_producer_registers(spec, replicas),
        tensor_memory=tensor_memory,
        scales=_scales(spec, sizes, groups) if spec.problem.scaling == "mx" else (),
        scale_columns=spec.rings.scale.space == "tmem",
        stochastic=spec.epilogue.rounding == "stochastic",
        interleave=spec.epilogue.interleave,
        scheduler_guard=tasks.scheduler.guard if tasks.scheduler else None,
        protocol=spec.cluster.protocol if tensor_memory and spec.cluster.m == 2 else None,
    )


def _producer_registers(spec: GemmSpec, replicas: int) -> int:
    split = split_registers(4, [(spec.tasks.mma.warps, spec.tasks.mma.registers)] * replicas)
    return split.default or split.maxnreg


def _sums(spec: GemmSpec, sizes: dict[str, Size], rows: Size) -> Tile:
    """A slice of the sums over a part of K: fp32 in the bytes of a subtile of C."""
    fp32 = DTYPES["fp32"]
    slices = spec.epilogue.subtiles * fp32.bytes // DTYPES[spec.problem.c.dtype].bytes
    return Tile("sums", (rows, sizes["BLOCK_N"] // slices), fp32)


def _rest(a: Operand, sizes: dict[str, Size]) -> Tile:
    """Of a helper's sums what fits in A's place in a slot of the ring."""
    fp32 = DTYPES["fp32"]
    columns = sizes["BLOCK_K"] // (fp32.bytes // a.tile.dtype.bytes)
    return Tile("rest", (sizes["BLOCK_M"], columns), fp32, a.tile.groups)


def _hint(eviction: str) -> str:
    return "" if eviction == "none" else eviction


def _operands(spec: GemmSpec, sizes: dict[str, Size], groups: int) -> tuple[Operand, Operand]:
    separate = spec.rings.ab.full == "separate"
    a_type, b_type = DTYPES[spec.problem.a.dtype], DTYPES[spec.problem.b.dtype]
    block_m, block_n = sizes["BLOCK_M"], sizes["BLOCK_N"]
    a_k, b_k = (sizes["BLOCK_K"] // t.values for t in (a_type, b_type))
    a_row, b_row = spec.problem.a.layout == "row", spec.problem.b.layout == "row"
    a_shape = (block_m, a_k) if a_row else (a_k, block_m)
    # Two CTAs that multiply together load half of B's tile each; else a shared operand is loaded whole, by multicast.
    pair = spec.arch == "sm100" and spec.cluster.m == 2
    block_n = block_n // 2 if pair else block_n
    b_shape = (b_k, block_n) if b_row else (block_n, b_k)
    mixed = a_type.values != b_type.values  # tcgen05 reads fp4 beside fp8 as 16 values in 16 bytes, 8 of them a gap
    a = Tile("a", a_shape, a_type, groups, axis=0 if a_row else 1, padded=mixed and a_type.values > 1)
    b = Tile("b", b_shape, b_type, padded=mixed and b_type.values > 1)
    return (
        Operand("a", a, a_row, "a" if separate else "ab", _hint(spec.cache.a), spec.cluster.n == 2),
        Operand("b", b, b_row, "b" if separate else "ab", _hint(spec.cache.b), spec.cluster.m == 2 and not pair),
    )


def _scales(spec: GemmSpec, sizes: dict[str, Size], groups: int) -> tuple[Operand, ...]:
    """The packed scales of a slot: blocks of 2 x 256 bytes for 128 rows and 128 elements of K, in 5 dimensions for TMA.

    Two CTAs that multiply together each read those of their rows of A and of all columns of B.
    """
    separate, e8m0, one = spec.rings.ab.full == "separate", DTYPES["e8m0"], Size.literal(1)
    along_k = sizes["BLOCK_K"] // Sm100.mx_k
    inner = (along_k, Size.literal(2), Size.literal(256))
    a = Tile("a_scale", (one, sizes["BLOCK_M"] // Sm100.mx_rows, *inner), e8m0, groups, axis=1)
    b = Tile("b_scale", (one, sizes["BLOCK_N"] // Sm100.mx_rows, *inner), e8m0)
    return (
        Operand("a_scale", a, True, "a" if separate else "ab", _hint(spec.cache.a), False),
        Operand("b_scale", b, True, "b" if separate else "ab", _hint(spec.cache.b), False),
    )


def _compiler_smem(spec: GemmSpec, facts: GemmFacts) -> tuple[Use, ...]:
    """What fbtriton allocates beside the rings: an upper bound, held against compiles in tests/families/gemm.

    Specialised tasks pass their captured values through SMEM; a block that is loaded or stored through pointers is
    brought to or from wgmma's register layout there, each replica in a place of its own.
    """
    block = facts.rows.value * facts.columns.value
    c_bytes = 4 if spec.schedule.split_k > 1 else facts.c_dtype.bytes
    scratch = [0 if facts.tma_store else block * c_bytes]
    if spec.schedule.split_k == 1:  # else the reduction applies the operations
        scratch += [t.largest_bytes * (block if t.strided else VECTOR_SCRATCH) for t in facts.op_tensors if t.shape]
    if facts.ops:
        scratch.append(_rest_bytes(facts))
    captures = CAPTURE_BYTES if spec.tasks.specialized else ALIGNMENT_BYTES
    captures += MARK_BYTES if facts.cut_tail else 0
    if facts.tensor_memory:
        captures += TMEM_BYTES + (CLC_BYTES if facts.clc else 0)
    return Use("captures and alignment", captures), Use("layout conversion", max(scratch) * facts.replicas)


def _spare_smem(facts: GemmFacts) -> tuple[Use, ...]:
    """Where nothing follows the product, fbtriton reads a helper's sums in wgmma's register layout, if it must."""
    return () if facts.ops else (Use("layout conversion of sums", _rest_bytes(facts) * facts.replicas),)


def _rest_bytes(facts: GemmFacts) -> int:
    """Of a helper's sums, those that a replica reads at a time."""
    return facts.rest.bytes.value // facts.rest.groups if facts.rest else 0


def _kernel_arguments(spec: GemmSpec, facts: GemmFacts) -> tuple[tuple[str, str], ...]:
    """The kernel's run-time arguments, with the types that a launch of this variant passes.

    In the order in which a launch has them: TMA descriptors, addresses, what a layout says, what varies.
    """
    out = "fp32" if spec.schedule.split_k > 1 else facts.c_dtype.signature
    tiles = {s.name: s for s in (*(o.tile for o in facts.operands), *(s.tile for s in facts.scales))}
    boxes = {name: (tile.dtype.signature, tile.shape) for name, tile in tiles.items()}
    boxes |= {"c": (out, (facts.rows, facts.columns))} if facts.tma_store else {}
    boxes |= {tile.name: (tile.dtype.signature, tile.shape) for tile in (facts.sums, facts.rest) if tile}
    descriptors = [(f"{name}_desc", _descriptor(*box)) for name, box in boxes.items()]
    addresses = [] if facts.tma_store else [("c_ptr", f"*{out}")]
    addresses += [("marks_ptr", "*i32")] if facts.helped else []
    addresses += [("sums_ptr", "*fp32"), ("counts_ptr", "*i32"), ("c_ptr", f"*{out}")] if facts.tail else []
    addresses += [(f"{o.name}_ptr", f"*{o.tile.dtype.signature}") for o in facts.operands if facts.prefetch]
    strides = ["stride_cm"] if facts.tail or not facts.tma_store else []
    strides += [f"stride_{o.name}" for o in facts.operands if facts.prefetch]
    pointers, op_strides = facts.op_pointers, facts.op_strides
    layout = [*strides, *facts.first, *op_strides, "M", "N", "K", *facts.walk, *facts.cutting]
    seed = [("seed", "i32")] if facts.stochastic else []
    return (*descriptors, *addresses, *pointers, *((name, "i32") for name in layout), *seed)


def _descriptor(signature: str, shape: tuple[Size, ...]) -> str:
    return f"tensordesc<{signature}[{', '.join(str(s.value) for s in shape)}]>"


def _launches(spec: GemmSpec, facts: GemmFacts, parameters: list[Parameter]) -> tuple[Launch, ...]:
    """The kernels of this variant as an aligned problem launches them (every extent a multiple of 16)."""
    arguments = _kernel_arguments(spec, facts)
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    any_value = frozenset(facts.unspecialized)
    divisible = _divisible(arguments, any_value)
    gemm = Launch(f"{spec.name}_kernel", arguments, kept, divisible, facts.num_warps, (facts.cluster, 1, 1))
    if spec.schedule.split_k == 1:
        return (gemm,)
    out = (("workspace_ptr", "*fp32"), ("c_ptr", f"*{facts.c_dtype.signature}"))
    layout = ("slab_rows", "stride_wm", "stride_cm", *facts.op_strides, "M", "N")
    varying = ("seed",) if facts.stochastic else ()
    reduce = (*out, *facts.op_pointers, *((name, "i32") for name in (*layout, *varying)))
    constants = tuple(c for c in kept if c[0] == "SPLIT_K")
    return (gemm, Launch(f"{spec.name}_reduce_kernel", reduce, constants, _divisible(reduce, any_value), 4))


def _divisible(arguments: tuple[tuple[str, str], ...], any_value: frozenset[str]) -> tuple[str, ...]:
    return tuple(n for n, kind in arguments if (kind == "i32" and n not in any_value) or kind.startswith("*"))


def _rules(spec: GemmSpec, facts: GemmFacts) -> Iterator[Reason]:
    """What TMA asks of the boxes. Sums over the plan (SMEM, registers, ...) are in `plan`."""
    least = ARCHS[spec.arch].tma_min_inner_bytes
    for tile in (*(o.tile for o in facts.operands), *([facts.staged] if facts.tma_store else [])):
        inner = tile.shape[-1].value * tile.dtype.bytes
        if inner < least:
            yield Reason("tma-box", f"rows of a {tile.name} box are {inner} B, TMA needs {least}")
    if facts.columns.value < 8:
        yield Reason("subtile", f"{facts.columns.value} columns a subtile ({facts.columns.text}), at least 8")
    if facts.rest and facts.columns.value != facts.rest.shape[1].value:
        held = f"{facts.rest.shape[1].value} columns of sums ({facts.rest.shape[1].text})"
        yield Reason(
            "subtile", f"{facts.columns.value} columns a subtile ({facts.columns.text}); A's place holds {held}"
        )
