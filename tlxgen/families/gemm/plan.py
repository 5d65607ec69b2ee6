"""From a gemm spec to its plan: which roles and rings there are. Barriers and budgets follow from those in `plan`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tlxgen.arch import ARCHS, DTYPES, Arch, Sm90, Sm100
from tlxgen.families import kit
from tlxgen.plan import Plan, Reason, Rule, Signal, Size, Tile, Use, Work, complete
from tlxgen.plan.pieces import BOX, UNIT, Piece, narrow, pieces, units, whole_boxes
from tlxgen.plan.registers import split_registers
from tlxgen.plan.rule import at_least, equal

from . import arguments, blackwell, hopper
from .axes import AXES
from .facts import GemmFacts, Operand
from .groups import Groups
from .ops import OPS
from .sizes import POINTERS
from .spec import GemmSpec

MARK_BYTES = 128  # a count that a whole task is told of, and captures of tasks that have arguments more, as of boxes
LAST_BYTES = 112  # of each further consumer that is told of a count itself
EDGE_BYTES = 16  # of each consumer that has a descriptor more, of the sums of rows that are left
VECTOR_SCRATCH = 256  # elements: a vector of a subtile's rows or columns, at most


def build(
    spec: GemmSpec,
    *,
    guards: Mapping[str, bool],
    baked: Mapping[str, int | bool],
    split: bool,
    paired: bool = False,
    groups: Groups | None = None,
) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`.

    `guards` are the values of the guards in this variant, `baked` the parameters that are constants of the source, and
    `split` says whether any variant of this structure cuts K (its source then carries the workspace), and `paired`
    whether all of them may have the products of two slots under way (facts.paired). `groups` are a grouped GEMM's.
    """
    sizes = kit.sizes(AXES, spec)
    facts = replace(_facts(spec, sizes, split), paired=paired, groups=groups)
    arch = hopper if spec.arch == "sm90" else blackwell
    names = {facts.store_guard: "store", facts.scheduler_guard: "scheduler"}
    optional = frozenset(names[guard] for guard, on in guards.items() if on)
    possible = frozenset(names[guard] for guard in guards)
    roles = arch.roles(spec, facts, optional)
    all_roles = roles if optional == possible else arch.roles(spec, facts, possible)
    parameters = kit.parameters(AXES, spec, guards=guards, baked=baked)
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
            work=_work(spec, facts),
            signals=_signals(facts),
            compiler_smem=_compiler_smem(spec, facts),
            spare_smem=_spare_smem(facts),
            **arch.arguments(spec, facts, sizes),
            facts=facts,
            host=arguments.host(facts),
            launches=arguments.launches(spec, facts, parameters),
            rules=(*arch.rules(spec, facts, sizes), *_rules(facts)),
            reasons=(*arch.reasons(spec, facts), *_boxes(spec, facts)),
        )
    )


def _work(spec: GemmSpec, facts: GemmFacts) -> Work:
    in_turns = facts.replicas if facts.pingpong else 1
    work = Work(facts.source, spec.schedule.tail, facts.cluster, in_turns, facts.scheduler_guard)
    if not (groups := facts.groups):
        return work
    work = replace(work, tail="grouped_split" if facts.tail else "grouped")
    if not groups.searched:
        return work
    tile = (
        "part_k"
        if facts.tail
        else {"m": f"BLOCK_M * {facts.cluster_m}", "n": f"BLOCK_N * {facts.cluster_n}"}.get(groups.vary, "")
    )
    told = (f"{groups.given}_ptr", "groups", groups.whole, "across", groups.more, tile.removesuffix(" * 1"))
    return replace(
        work,
        kind="grouped",
        numbers=facts.source,
        groups=tuple(filter(None, told)),
        alike=facts.own_k and not facts.tail,
        parted=facts.tail,
        blocks=Sm100.mx_rows if facts.scales else 0,
    )


def _signals(facts: GemmFacts) -> tuple[Signal, ...]:
    """By which a CTA learns that others have stored their sums over a part of K of its tile."""
    if facts.helped:
        return (Signal("marks", "flags_ptr", "mma", "load", words=facts.row_groups),)
    if facts.last_adds:  # a replica adds up its own rows
        parts = "num_parts" if facts.groups else "tail_parts"
        return (Signal("counts", "counts_ptr", "mma", "mma", parts, words=facts.row_groups, last=True),)
    if facts.each_adds:
        return (Signal("counts", "counts_ptr", "mma", "mma", "tail_parts", facts.row_groups, "tail_parts", all=True),)
    parts = "tail_parts" + (f" * {facts.row_groups}" if facts.row_groups > 1 else "")
    return (Signal("counts", "counts_ptr", "mma", "load", parts, waiters="fix_up_ctas"),) if facts.tail else ()


def _facts(spec: GemmSpec, sizes: dict[str, Size], split: bool) -> GemmFacts:
    mma, tasks = spec.tasks.mma, spec.tasks
    pingpong = mma.split == "pingpong"
    replicas = mma.replicate if tasks.specialized else 1
    groups = 1 if pingpong else replicas
    a, b = _operands(spec, sizes, groups)
    down, across = (1, groups) if mma.exchange else (groups, 1)
    rows, columns = sizes["BLOCK_M"] // down, sizes["BLOCK_N"] // across
    shared, whole = rows if mma.exchange else columns, mma.columns == "whole"
    unit, box = Size.literal(UNIT), Size.literal(BOX)
    parts = (Piece("", None, unit, 1),) if whole else pieces(shared, spec.epilogue.subtiles)
    last = parts[-1].extent // (parts[-1].slices * spec.cluster.k)
    high, columns = (box if whole else last, columns) if mma.exchange else (rows, box if whole else last)
    c_dtype = DTYPES[spec.problem.c.dtype]
    stored = columns // 2 if any(OPS[op].halves for op in spec.epilogue.ops) else columns
    tensor_memory = spec.arch == "sm100"
    return GemmFacts(
        a=a,
        b=b,
        c_dtype=c_dtype,
        staged=Tile("c", (high, stored), DTYPES["fp32"] if spec.schedule.split_k > 1 else c_dtype),
        c_eviction=_hint(spec.cache.c),
        pingpong=pingpong,
        in_flight=0 if mma.promote else mma.in_flight,
        promote=mma.promote,
        replicas=1 if tensor_memory else replicas,
        row_groups=groups,
        rows=rows,
        columns=columns,
        subtiles=sum(part.slices for part in parts),
        pieces=parts,
        whole=whole,
        width=rows if mma.exchange else sizes["BLOCK_N"],
        tma_store=spec.epilogue.store == "tma",
        store_guard=tasks.epilogue.guard if tasks.epilogue else None,
        source=spec.schedule.kind,
        split=split,
        sums=_sums(spec, high, columns if mma.exchange else sizes["BLOCK_N"]),
        rest=_rest(a, sizes) if spec.schedule.tail == "helped" else None,
        fix_up=spec.schedule.fix_up,
        exchange=mma.exchange,
        cluster_m=spec.cluster.m,
        cluster_n=spec.cluster.n,
        cluster_k=spec.cluster.k,
        pdl=spec.schedule.pdl,
        prefetch=spec.schedule.prefetch if tasks.specialized else 0,
        ops=spec.epilogue.ops,
        num_warps=tasks.load.warps if tasks.specialized else mma.warps,
        adder_registers=_adder_registers(spec, replicas),
        tensor_memory=tensor_memory,
        scales=_scales(spec, sizes, groups) if spec.problem.scaling == "mx" else (),
        scale_columns=spec.rings.scale.space == "tmem",
        stochastic=spec.epilogue.rounding == "stochastic",
        interleave=spec.epilogue.interleave,
        scheduler_guard=tasks.scheduler.guard if tasks.scheduler else None,
        protocol=spec.cluster.protocol if tensor_memory and spec.cluster.m == 2 else None,
        block_scales=spec.problem.scaling == "block",
        pointers=POINTERS[tasks.load.by],
    )


def _adder_registers(spec: GemmSpec, replicas: int) -> int:
    """Those of a consumer where consumers add up the parts of a tile, of a producer elsewhere."""
    split = split_registers(spec.tasks.load.warps, [(spec.tasks.mma.warps, spec.tasks.mma.registers)] * replicas)
    if spec.schedule.fix_up != "after":
        return spec.tasks.mma.registers or split.maxnreg
    return split.default or split.maxnreg


def _sums(spec: GemmSpec, rows: Size, columns: Size) -> Tile | None:
    """A slice of the sums over a part of K, if tiles are cut: fp32 in the bytes of a subtile of C, of such a block."""
    if spec.schedule.tail == "whole":
        return None
    fp32 = DTYPES["fp32"]
    slices = spec.epilogue.subtiles * fp32.bytes // DTYPES[spec.problem.c.dtype].bytes
    if spec.tasks.mma.exchange:  # slices of the accumulator's columns are rows of C
        return Tile("sums", (rows // slices, columns), fp32)
    return Tile("sums", (rows, columns // slices), fp32)


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
    exchange, edge, pointers = spec.tasks.mma.exchange, spec.tasks.load.edge_rows or 0, POINTERS[spec.tasks.load.by]
    whole = spec.tasks.mma.columns == "whole"  # then the pieces lie one after the other, as groups of one tile
    a_parts = pieces(block_m) if exchange and not whole else ()
    a_shapes = [(part.extent, a_k) if a_row else (a_k, part.extent) for part in a_parts]
    a_shape = (block_m, a_k) if a_row else (a_k, block_m)
    # Two CTAs that multiply together load half of B's tile each; else a shared operand is loaded whole, by multicast.
    pair = spec.arch == "sm100" and spec.cluster.m == 2
    block_n = block_n // 2 if pair else block_n
    b_parts = () if exchange or whole else pieces(block_n)
    b_shapes = [(b_k, part.extent) if b_row else (part.extent, b_k) for part in b_parts]
    b_shape = (b_k, block_n) if b_row else (block_n, b_k)
    mixed = a_type.values != b_type.values  # tcgen05 reads fp4 beside fp8 as 16 values in 16 bytes, 8 of them a gap
    down, across = (1, groups) if exchange else (groups, 1)
    a = Tile("a", a_shape, a_type, down, axis=0 if a_row else 1, padded=mixed and a_type.values > 1)
    a = _in_boxes(a, block_m, a_k, a_row) if whole and exchange else a
    b_axis = 1 if across > 1 and b_row else 0
    b = Tile("b", b_shape, b_type, across, axis=b_axis, padded=mixed and b_type.values > 1)
    b = _in_boxes(b, block_n, b_k, not b_row) if whole and not exchange else b
    a_cut = tuple(Tile(f"a{part.suffix}", shape, a_type) for part, shape in zip(a_parts, a_shapes, strict=True))
    b_cut = tuple(Tile(f"b{part.suffix}", shape, b_type) for part, shape in zip(b_parts, b_shapes, strict=True))
    return (
        Operand(
            "a",
            a,
            a_row,
            "a" if separate else "ab",
            _hint(spec.cache.a),
            _shared_by(spec.cluster.n),
            a_cut[1:] and a_cut,
            0 if not a_row or "a" in pointers or narrow(block_m.value) or a.unit else edge,
        ),
        Operand(
            "b",
            b,
            b_row,
            "b" if separate else "ab",
            _hint(spec.cache.b),
            0 if pair else _shared_by(spec.cluster.m),
            b_cut[1:] and b_cut,
            0 if b_row or "b" in pointers or b.unit else edge,
        ),
    )


def _in_boxes(tile: Tile, width: Size, along_k: Size, k_major: bool) -> Tile:
    """A tile whose rows, or columns, are those of one wgmma.

    They lie in blocks of 8 where neighbours in memory are along K, or else in boxes of 64, the last of which may reach
    beyond the tile.
    """
    if k_major:
        return replace(tile, groups=units(width), unit=UNIT)
    count, extent = whole_boxes(width)
    return replace(tile, whole=(along_k, extent), groups=count, axis=1, unit=BOX)


def _shared_by(ctas: int) -> int:
    """How many CTAs a multicast load is for: those of a cluster along one axis, and none where it has one."""
    return ctas if ctas > 1 else 0


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
        Operand("a_scale", a, True, "a" if separate else "ab", _hint(spec.cache.a), 0),
        Operand("b_scale", b, True, "b" if separate else "ab", _hint(spec.cache.b), 0),
    )


def _compiler_smem(spec: GemmSpec, facts: GemmFacts) -> tuple[Use, ...]:
    """What fbtriton allocates beside the rings: an upper bound, held against compiles in tests/families/gemm.

    Specialised tasks pass their captured values through SMEM; a block that is loaded or stored through pointers is
    brought to or from wgmma's register layout there, each replica in a place of its own.
    """
    block = facts.stored_rows.value * facts.columns.value
    c_bytes = 4 if spec.schedule.split_k > 1 else facts.c_dtype.bytes
    scratch = [0 if facts.tma_store else block * c_bytes]
    if spec.schedule.split_k == 1:  # else the reduction applies the operations
        scratch += [t.largest_bytes * (block if t.strided else VECTOR_SCRATCH) for t in facts.op_tensors if t.shape]
    if facts.ops:
        scratch.append(_rest_bytes(facts))
    if facts.block_scales and facts.stored_rows.value > Sm90.wgmma_m:  # scales of more rows than one wgmma's
        scratch.append(facts.stored_rows.value * DTYPES["fp32"].bytes)
    if facts.mma_adds:  # where C's rows begin anywhere, a thread stores other elements than it has added up
        scratch.append(facts.share_elements * facts.c_dtype.bytes)
    captures = Arch.captures_of_few if spec.tasks.specialized else Arch.alignment
    captures += MARK_BYTES * (facts.cut_tail + facts.drawn + (facts.whole and not facts.exchange))
    captures += LAST_BYTES * (facts.replicas - 1) if facts.mma_adds else 0
    captures += EDGE_BYTES * facts.replicas * (facts.mma_adds and facts.whole)
    if facts.tensor_memory:
        captures += Sm100.tmem_address + (Sm100.clc_response if facts.clc else 0)
    return Use("captures and alignment", captures), Use("layout conversion", max(scratch) * facts.replicas)


def _spare_smem(facts: GemmFacts) -> tuple[Use, ...]:
    """Where nothing follows the product, fbtriton reads a helper's sums in wgmma's register layout, if it must."""
    return () if facts.ops else (Use("layout conversion of sums", _rest_bytes(facts) * facts.replicas),)


def _rest_bytes(facts: GemmFacts) -> int:
    """Of a helper's sums, those that a replica reads at a time."""
    return facts.rest.bytes.value // facts.rest.groups if facts.rest else 0


def _rules(facts: GemmFacts) -> Iterator[Rule]:
    """What an epilogue asks of the numbers."""
    columns = facts.c_columns
    found = f"{columns.value} columns a subtile ({columns.text})"
    yield Rule("subtile", at_least(columns, 8), f"{found}; ", "a subtile has at least 8 columns")
    if facts.rest:
        held = facts.rest.shape[1]
        needed = "a subtile is as wide as the sums in A's place"
        yield Rule("subtile", equal(columns, held), f"{found}, {held.value} of sums ({held.text}); ", needed)


def _boxes(spec: GemmSpec, facts: GemmFacts) -> Iterator[Reason]:
    """What TMA asks of the boxes. Sums over the plan (SMEM, registers, ...) are in `plan`."""
    least = ARCHS[spec.arch].tma_min_inner_bytes
    loaded = [tile for o in facts.by_tma for tile in o.tiles]
    for tile in (*loaded, *([facts.staged] if facts.tma_store else [])):
        inner = tile.shape[-1].value * tile.dtype.bytes
        if inner < least:
            yield Reason("tma-box", f"rows of a {tile.name} box are {inner} B, TMA needs {least}")
