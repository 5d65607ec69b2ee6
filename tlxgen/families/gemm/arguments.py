"""The arguments of a GEMM: those of its kernels, and those of its host function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from tlxgen.plan import Host, HostArgument, KernelArgument, Launch, Parameter, Size
from tlxgen.plan.arguments import address, descriptor, scalar
from tlxgen.plan.pieces import BOX, UNIT

from .facts import COUNTER, GemmFacts, Operand
from .groups import Groups
from .ops import OpTensor
from .spec import GemmSpec

BLOCKS = ((0, "across"), (1, "along"))  # the strides of scales of blocks: across K, and along it
BLOCKS_EACH = ((0, "each"), (1, "across"), (2, "along"))  # where each group has its own
ROW_MAJOR = "; this kernel takes {0} row-major: {0}.contiguous() is"
COLUMN_MAJOR = "; this kernel takes {0} column-major: {0}.T.contiguous().T is"


def launches(spec: GemmSpec, facts: GemmFacts, parameters: list[Parameter]) -> tuple[Launch, ...]:
    """The kernels of this variant as an aligned problem launches them (every extent a multiple of 16)."""
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    arguments = tuple(_gemm(spec, facts))
    told = (*kept, *_narrowest(facts, parameters)) if facts.pointers else kept
    gemm = Launch("kernel", arguments, told, facts.num_warps, (facts.cluster, 1, 1))
    if not facts.split:
        return (gemm,)
    constants = tuple(c for c in kept if c[0] == "SPLIT_K")
    return (gemm, Launch("reduce_kernel", tuple(_reduce(facts)), constants, 4, launched=spec.schedule.split_k > 1))


def _narrowest(facts: GemmFacts, parameters: list[Parameter]) -> tuple[tuple[str, int], ...]:
    """The narrowest copies that this variant is launched with: single elements, as far as registers have room."""
    size = {p.name: int(p.value) for p in parameters}
    across = {"VEC_A": size["BLOCK_M"], "VEC_B": size["BLOCK_N"]}
    room = facts.most_held * facts.num_warps * 32 // size["BLOCK_K"]
    copied = 4 // facts.a.tile.dtype.bytes
    narrowest: dict[str, int] = {}
    for name in reversed(facts.vectors):
        narrowest[name] = 1 if across[name] <= room else copied
        room -= across[name] if narrowest[name] == 1 else 0
    return tuple((name, narrowest[name]) for name in facts.vectors)


def _gemm(spec: GemmSpec, facts: GemmFacts) -> Iterator[KernelArgument]:
    out_type = "fp32" if spec.schedule.split_k > 1 else facts.c_dtype.signature
    out = "target" if facts.split else "out"  # where K is cut, sums go to a workspace
    for o in facts.by_tma:
        describe = "describe_padded" if o.tile.padded else "describe"
        view, remedy = ("t", ROW_MAJOR) if o.row_major else ("t.T", COLUMN_MAJOR)
        element = o.tile.dtype.signature
        remedy = remedy.format(o.name)
        for tile in o.tiles:
            box = (Size.literal(BOX), o.along_k) if tile.unit == UNIT else tuple(tile.shape)
            if facts.groups:
                describe, box, view = facts.groups.descriptor(o.name, box, o.row_major)
                remedy = remedy.replace(".T", ".mT") if o.name in facts.groups.stacked else remedy
            yield descriptor(f"{tile.name}_desc", element, box, o.name, view=view, describe=describe, remedy=remedy)
        for rows in facts.boxes[1:] if o.tile.unit == UNIT else ():
            yield descriptor(
                f"{o.name}_{rows}_desc", element, (Size.literal(rows), o.along_k), o.name, view=view, remedy=remedy
            )
        if o.edge:
            box = Size.literal(o.edge), o.along_k
            yield descriptor(f"{o.name}_edge_desc", element, box, o.name, view=view, remedy=remedy)
    for s in facts.scales:
        view = facts.groups.packed(s.name) if facts.groups else "t"
        yield descriptor(f"{s.name}_desc", s.tile.dtype.signature, s.tile.shape, s.name, view=view)
    if facts.tma_store:
        describe, box, view = "describe", (facts.stored_rows, facts.c_columns), "t"
        if facts.groups:
            describe, box, view = facts.groups.descriptor("c", box)
        yield descriptor("c_desc", out_type, box, out, view=view, describe=describe)
        if facts.whole and facts.exchange:
            yield descriptor("c_edge_desc", out_type, (Size.literal(UNIT), facts.c_columns), out)
        for columns in facts.boxes[1:] if facts.whole and not facts.exchange else ():
            yield descriptor(f"c_{columns}_desc", out_type, (facts.stored_rows, Size.literal(columns)), out)
    for sums in (facts.sums, facts.rest):
        if sums:
            yield descriptor(f"{sums.name}_desc", "fp32", sums.shape, "sums", view="t.view(-1, block_n)")
    if facts.sums and facts.whole:
        edge = Size.literal(UNIT), facts.sums.shape[1]
        yield descriptor("sums_edge_desc", "fp32", edge, "sums", view="t.view(-1, block_n)")
    if not facts.tma_store:
        yield address("c_ptr", out_type, out)
    if facts.helped:
        yield address("flags_ptr", "i32", "words")
    if facts.drawn:
        yield address("counter_ptr", "i32", "words")
    if facts.tail:
        counts = address("counts_ptr", "i32", "words", view=f"t[{COUNTER}:]" if facts.drawn else "t")
        yield from (address("sums_ptr", "fp32", "sums"), counts)
        yield address("c_ptr", out_type, out)
    addressed = facts.operands if facts.prefetch else facts.copied
    yield from (address(f"{o.name}_ptr", o.tile.dtype.signature, o.name) for o in addressed)
    if facts.groups and facts.groups.searched:
        yield address(f"{facts.groups.given}_ptr", "i32", facts.groups.given)
    if facts.block_scales:
        yield from (address(f"{name}_ptr", "fp32", name) for name in facts.scale_names)
    yield from (address(f"{t.name}_ptr", t.signature, t.name) for t in facts.op_tensors)
    if facts.groups and facts.tail:
        yield _size("stride_cg", "stride_cg")
    if facts.tail or not facts.tma_store:
        yield _size("stride_cm", "stride_target" if facts.split else "stride_cm")
    yield from (_size(f"stride_{o.name}", f"{o.name}.stride({int(not o.row_major)})") for o in addressed)
    if facts.prefetch:
        yield from (_count("first_rows", "first_rows"), _count("first_columns", "first_columns"))
    if facts.block_scales:
        for name in facts.scale_names:
            axes = BLOCKS_EACH if name[0] in facts.scales_apart else BLOCKS
            yield from (_size(f"{name}_{axis}", f"{name}.stride({i})") for i, axis in axes)
    yield from _strides(facts)
    shared = facts.groups.vary if facts.groups else ""  # by groups: one kernel serves all totals
    for extent in ("m", "n", "k"):
        is_shared = extent == shared
        of_one = extent == "m" and not facts.groups
        yield _count(extent.upper(), f"all_{extent}") if is_shared else _size(extent.upper(), extent, single=of_one)
    if facts.groups:
        yield _count("groups", "g")
        yield from (_size(name, name) for name in filter(None, [facts.groups.more]))
    else:
        yield _count("group_reciprocal", "reciprocal(group_m * tiles_n)")
        yield _count("last_reciprocal", "reciprocal((tiles_m - 1) % group_m + 1)")
    if facts.mma_adds:
        yield from (_count(n, n) for n in (*("num_whole", "tail_parts") * (not facts.groups), "part_tiles"))
    elif facts.tail:
        yield from (_count(n, n) for n in ("num_whole", "tail_parts", "num_workers", "part_tiles"))
        yield _count("fix_up_ctas", "shares")
    if facts.helped:
        yield from (_count("num_whole", "num_whole"), _count("helpers", "helpers"))
        yield _count("cta_reciprocal", "reciprocal(programs)")
        yield from (_count("helper_k_tiles", "lent"), _count("helper_items", "pieces"))
    if facts.stochastic:
        yield _count("seed", "seed")


def _reduce(facts: GemmFacts) -> Iterator[KernelArgument]:
    """The kernel that adds up the parts of K."""
    yield address("workspace_ptr", "fp32", "workspace")
    yield address("c_ptr", facts.c_dtype.signature, "out")
    yield from (address(f"{t.name}_ptr", t.signature, t.name) for t in facts.op_tensors)
    yield from (_size("slab_rows", "slabs // split"), _size("stride_wm", "stride_wm"), _size("stride_cm", "stride_cm"))
    yield from _strides(facts)
    yield from (_size("M", "m", single=True), _size("N", "n"))
    if facts.stochastic:
        yield _count("seed", "seed")


def _strides(facts: GemmFacts) -> Iterator[KernelArgument]:
    """Row strides of what the operations take."""
    return (_size(t.stride, f"{t.name}.stride(0)") for t in facts.op_tensors if t.strided)


def _size(name: str, value: str, *, single: bool = False) -> KernelArgument:
    return scalar(name, value, divisible=True, single=single)


def _count(name: str, value: str) -> KernelArgument:
    """A number of whose value nothing is made when compiling: one kernel serves all."""
    return scalar(name, value, specialized=False)


def host(facts: GemmFacts) -> Host:
    """The host function's arguments."""
    if facts.groups:
        return Host(tuple(_grouped(facts, facts.groups)), ("g", "m", "n", "k"), companions=_operators(facts))
    packs = ("pack_scales",) * bool(facts.scales)
    return Host(tuple(_host(facts)), ("m", "n", "k"), ("seed",) * facts.stochastic, ("target",) * facts.split, packs)


def _operators(facts: GemmFacts) -> tuple[str, ...]:
    """Operators that a grouped GEMM has the arguments of torch's for."""
    if not facts.groups or facts.groups.given != "offs":
        return ()
    types = {o.tile.dtype.name for o in facts.operands}
    if facts.own_k:
        return ("grouped_mm",) * (types == {facts.c_dtype.name})
    scaled = types == {"e4m3"} and (facts.ops == ("scale_rowwise",) or (facts.scales and not facts.ops))
    return (*("pack_scales",) * bool(facts.scales), *("scaled_grouped_mm", "aten_scaled_grouped_mm") * bool(scaled))


def _host(facts: GemmFacts) -> Iterator[HostArgument]:
    packed = "\nA byte has two values of e2m1, the one of lower K in its low half."
    for o in facts.operands:
        along_k = f"K / {o.tile.dtype.values}" if o.packed else "K"
        stored = along_k.lower().replace("/", "//")
        shapes = (f"(M, {along_k})", f"(m, {stored})") if o.name == "a" else (f"({along_k}, N)", f"({stored}, n)")
        strides = "at any stride" if o in facts.copied else "its leading stride a multiple of 16 bytes"
        meaning = f"{shapes[0]} {o.tile.dtype.torch}, {_order(o)}-major, {strides}."
        meaning += packed if o.name == "b" and any(x.packed for x in facts.operands) else ""
        yield HostArgument(o.name, meaning, shape=shapes[1], dtypes=(o.tile.dtype.torch,), general=o in facts.copied)
    for s, rows in zip(facts.scales, ("M", "N"), strict=False):
        meaning = f"what pack_scales makes of the scales ({rows}, K / 32); K is a multiple of {facts.k_multiple}."
        shape = f"(1, triton.cdiv({rows.lower()}, 128), triton.cdiv(k, 128), 2, 256)"
        yield HostArgument(s.name, meaning, shape=shape, dtypes=("uint8",), wants="contiguous")
    yield from _block_scales(facts, "(M, K", "(m, k", "")
    yield from (_operation(t) for t in facts.op_tensors)
    if facts.stochastic:
        meaning = "0 to 2**31 - 1; the same seed gives the same bits."
        yield HostArgument("seed", meaning, schema="int", default="0", keyword=True)
    padded = bool(facts.tma_store or facts.split)
    more = ", rows then padded to a multiple of 16 bytes" if padded else ""
    meaning = f"{_stored('(M, N)', facts)} {facts.c_dtype.torch}, row-major; allocated when absent{more}."
    types, shape = (facts.c_dtype.torch,), _stored("(m, n)", facts)
    yield HostArgument("out", meaning, "Tensor", "None", True, shape, types, "rows", result=True, padded=padded)


def _block_scales(facts: GemmFacts, rows: str, sizes: str, each: str) -> Iterator[HostArgument]:
    """Scales of blocks: A's shape for people and in the host's terms, but for what closes it; B's for `each` group."""
    if not facts.block_scales:
        return
    n, k = (f"triton.cdiv({extent}, {facts.scale_block})" for extent in "nk")
    of_a = f"{rows} / 128) float32, rounded up: of each row of A, for 128 elements of K."
    of_b = f"({each}N / 128, K / 128) float32, rounded up: of 128 columns of B and 128 elements of K."
    yield HostArgument("a_scale", of_a, shape=f"{sizes.removesuffix('k')}{k})", dtypes=("float32",))
    yield HostArgument("b_scale", of_b, shape=f"({each.lower()}{n}, {k})", dtypes=("float32",))


def _grouped(facts: GemmFacts, groups: Groups) -> Iterator[HostArgument]:
    """Those of a grouped GEMM: extents that the groups share are those of the tensors, m, n and k a mean of theirs."""
    for o in facts.operands:
        lines = f"its leading strides multiples of 16 bytes, {_order(o)}-major{groups.each(o.name)}."
        types = (o.tile.dtype.torch,)
        yield HostArgument(
            o.name, f"{groups.shape(o.name)} {types[0]}, {lines}", shape=groups.host(o.name), dtypes=types
        )
    if groups.searched:
        meaning = f"(G) int32, on the device: {groups.says}"
        yield HostArgument(groups.given, meaning, shape="(g,)", dtypes=("int32",), wants="contiguous")
    for s, rows in zip(facts.scales, ("M", "N"), strict=False):
        own = s.name == "a_scale" and groups.searched
        shape = f"(*tensor_of({s.name}, '{s.name}').shape[:1], triton.cdiv(k, 128) * 4)"
        meaning = "(R, K / 32, rounded up to 4), R: the rows of all groups, of each rounded up to 128"
        if not own:
            shape = f"(g, triton.cdiv({rows.lower()}, 128) * 128 * triton.cdiv(k, 128) * 4)"
            meaning = f"(G, {rows} rounded up to 128 times K / 32 rounded up to 4)"
        meaning += " uint8 or float8_e8m0fnu, in blocks as pack_scales makes them of a group; "
        meaning += f"K is a multiple of {facts.k_multiple}."
        yield HostArgument(s.name, meaning, shape=shape, dtypes=("uint8", "float8_e8m0fnu"), wants="contiguous")
    yield from _block_scales(facts, groups.shape("a")[:-1], groups.host("a")[:-1], "G, ")
    if groups.more == "alignment":
        meaning = "each group begins at a multiple of it; what lies between is neither written nor looked at."
        yield HostArgument("alignment", meaning, schema="int", default="128", keyword=True)
    of_all = {groups.vary.upper(): f"all_{groups.vary}"}
    yield from (_operation(t, of_all) for t in facts.op_tensors)
    more = ", rows then padded to a multiple of 16 bytes" if facts.tma_store else ""
    left = "; what no group has is left as it is" if groups.vary in ("m", "n") else ""
    types, shape = (facts.c_dtype.torch,), _stored(groups.host("c"), facts)
    meaning = f"{_stored(groups.shape('c'), facts)} {types[0]}, row-major{left}; allocated when absent{more}."
    padded = facts.tma_store
    yield HostArgument("out", meaning, "Tensor", "None", True, shape, types, "rows", result=True, padded=padded)


def _stored(shape: str, facts: GemmFacts) -> str:
    """The shape of C, of which an operation may have halved the columns."""
    return shape.replace("N)", "N / 2)").replace("n)", "n // 2)") if facts.halved else shape


def _order(operand: Operand) -> str:
    return "row" if operand.row_major else "column"


def _operation(tensor: OpTensor, of_all: Mapping[str, str] | None = None) -> HostArgument:
    """`of_all`: what the host calls extents that groups share, if not by the letter."""
    sizes = [(of_all or {}).get(extent, extent.lower()) for extent in tensor.shape]
    meaning = f"({', '.join(tensor.shape)}) {' or '.join(tensor.dtypes)}, {tensor.meaning}."
    shape = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"
    wants: Literal["rows", "contiguous"] = "rows" if tensor.strided else "contiguous"
    return HostArgument(tensor.name, meaning, keyword=True, shape=shape, dtypes=tensor.dtypes, wants=wants)
