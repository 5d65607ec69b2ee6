"""The arguments of a GEMM: those of its kernels, and those of its host function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from tlxgen.plan import Host, HostArgument, KernelArgument, Launch, Parameter
from tlxgen.plan.arguments import address, descriptor, scalar

from .facts import GemmFacts, Operand
from .groups import Groups
from .ops import OpTensor
from .spec import GemmSpec

ROW_MAJOR = "; this kernel takes {0} row-major: {0}.contiguous() is"
COLUMN_MAJOR = "; this kernel takes {0} column-major: {0}.T.contiguous().T is"


def launches(spec: GemmSpec, facts: GemmFacts, parameters: list[Parameter]) -> tuple[Launch, ...]:
    """The kernels of this variant as an aligned problem launches them (every extent a multiple of 16)."""
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    arguments = tuple(_gemm(spec, facts))
    gemm = Launch("kernel", arguments, kept, facts.num_warps, (facts.cluster, 1, 1))
    if not facts.split:
        return (gemm,)
    constants = tuple(c for c in kept if c[0] == "SPLIT_K")
    return (gemm, Launch("reduce_kernel", tuple(_reduce(facts)), constants, 4, launched=spec.schedule.split_k > 1))


def _gemm(spec: GemmSpec, facts: GemmFacts) -> Iterator[KernelArgument]:
    out_type = "fp32" if spec.schedule.split_k > 1 else facts.c_dtype.signature
    out = "target" if facts.split else "out"  # where K is cut, sums go to a workspace
    for o in facts.operands:
        describe = "describe_padded" if o.tile.padded else "describe"
        view, remedy = ("t", ROW_MAJOR) if o.row_major else ("t.T", COLUMN_MAJOR)
        element = o.tile.dtype.signature
        name, remedy, box = f"{o.name}_desc", remedy.format(o.name), tuple(o.tile.shape)
        if facts.groups:
            describe, box, view = facts.groups.descriptor(o.name, box, o.row_major)
            remedy = remedy.replace(".T", ".mT") if o.name in facts.groups.stacked else remedy
        yield descriptor(name, element, box, o.name, view=view, describe=describe, remedy=remedy)
    for s in facts.scales:
        yield descriptor(f"{s.name}_desc", s.tile.dtype.signature, s.tile.shape, s.name)
    if facts.tma_store:
        describe, box, view = "describe", (facts.rows, facts.columns), "t"
        if facts.groups:
            describe, box, view = facts.groups.descriptor("c", box)
        yield descriptor("c_desc", out_type, box, out, view=view, describe=describe)
    for tile in (facts.sums, facts.rest):
        if tile:
            yield descriptor(f"{tile.name}_desc", "fp32", tile.shape, "sums", view="t.view(-1, block_n)")
    if not facts.tma_store:
        yield address("c_ptr", out_type, out)
    if facts.helped:
        yield address("flags_ptr", "i32", "words")
    if facts.tail:
        yield from (address("sums_ptr", "fp32", "sums"), address("counts_ptr", "i32", "words"))
        yield address("c_ptr", out_type, out)
    if facts.prefetch:
        yield from (address(f"{o.name}_ptr", o.tile.dtype.signature, o.name) for o in facts.operands)
    if facts.groups and facts.groups.searched:
        yield address(f"{facts.groups.given}_ptr", "i32", facts.groups.given)
    yield from (address(f"{t.name}_ptr", t.signature, t.name) for t in facts.op_tensors)
    if facts.tail or not facts.tma_store:
        yield _size("stride_cm", "stride_target" if facts.split else "stride_cm")
    if facts.prefetch:
        yield from (_size(f"stride_{o.name}", f"{o.name}.stride({int(not o.row_major)})") for o in facts.operands)
        yield from (_count("first_rows", "first_rows"), _count("first_columns", "first_columns"))
    yield from _strides(facts)
    shared = facts.groups.vary if facts.groups else ""  # by groups: one kernel serves all totals
    for extent in ("m", "n", "k"):
        is_shared = extent == shared
        yield _count(extent.upper(), f"all_{extent}") if is_shared else _size(extent.upper(), extent)
    if facts.groups:
        yield _count("groups", "g")
        yield from (_size(name, name) for name in filter(None, [facts.groups.more]))
    else:
        yield _count("group_reciprocal", "reciprocal(group_m * tiles_n)")
        yield _count("last_reciprocal", "reciprocal((tiles_m - 1) % group_m + 1)")
    if facts.tail:
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
    yield from (_size("M", "m"), _size("N", "n"))
    if facts.stochastic:
        yield _count("seed", "seed")


def _strides(facts: GemmFacts) -> Iterator[KernelArgument]:
    """Row strides of what the operations take."""
    return (_size(t.stride, f"{t.name}.stride(0)") for t in facts.op_tensors if t.strided)


def _size(name: str, value: str) -> KernelArgument:
    return scalar(name, value, divisible=True)


def _count(name: str, value: str) -> KernelArgument:
    """A number of whose value nothing is made when compiling: one kernel serves all."""
    return scalar(name, value, specialized=False)


def host(facts: GemmFacts) -> Host:
    """The host function's arguments."""
    if facts.groups:
        alike = {o.tile.dtype for o in facts.operands} == {facts.c_dtype} and facts.groups.given == "offs"
        operator = ("grouped_mm",) * (alike and facts.own_k)
        return Host(tuple(_grouped(facts, facts.groups)), ("g", "m", "n", "k"), companions=operator)
    packs = ("pack_scales",) * bool(facts.scales)
    return Host(tuple(_host(facts)), ("m", "n", "k"), ("seed",) * facts.stochastic, ("target",) * facts.split, packs)


def _host(facts: GemmFacts) -> Iterator[HostArgument]:
    packed = "\nA byte has two values of e2m1, the one of lower K in its low half."
    for o in facts.operands:
        along_k = f"K / {o.tile.dtype.values}" if o.packed else "K"
        stored = along_k.lower().replace("/", "//")
        shapes = (f"(M, {along_k})", f"(m, {stored})") if o.name == "a" else (f"({along_k}, N)", f"({stored}, n)")
        meaning = f"{shapes[0]} {o.tile.dtype.torch}, {_order(o)}-major, its leading stride a multiple of 16 bytes."
        meaning += packed if o.name == "b" and any(x.packed for x in facts.operands) else ""
        yield HostArgument(o.name, meaning, shape=shapes[1], dtypes=(o.tile.dtype.torch,))
    for s, rows in zip(facts.scales, ("M", "N"), strict=False):
        meaning = f"what pack_scales makes of the scales ({rows}, K / 32); K is a multiple of {facts.k_multiple}."
        shape = f"(1, triton.cdiv({rows.lower()}, 128), triton.cdiv(k, 128), 2, 256)"
        yield HostArgument(s.name, meaning, shape=shape, dtypes=("uint8",), wants="contiguous")
    yield from (_operation(t) for t in facts.op_tensors)
    if facts.stochastic:
        meaning = "0 to 2**31 - 1; the same seed gives the same bits."
        yield HostArgument("seed", meaning, schema="int", default="0", keyword=True)
    padded = bool(facts.tma_store or facts.split)
    more = ", rows then padded to a multiple of 16 bytes" if padded else ""
    meaning = f"(M, N) {facts.c_dtype.torch}, row-major; allocated when absent{more}."
    types = (facts.c_dtype.torch,)
    yield HostArgument("out", meaning, "Tensor", "None", True, "(m, n)", types, "rows", result=True, padded=padded)


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
    if groups.more == "alignment":
        meaning = "each group begins at a multiple of it; what lies between is neither written nor looked at."
        yield HostArgument("alignment", meaning, schema="int", default="128", keyword=True)
    of_all = {groups.vary.upper(): f"all_{groups.vary}"}
    yield from (_operation(t, of_all) for t in facts.op_tensors)
    more = ", rows then padded to a multiple of 16 bytes" if facts.tma_store else ""
    left = "; what no group has is left as it is" if groups.vary in ("m", "n") else ""
    types, shape = (facts.c_dtype.torch,), groups.host("c")
    meaning = f"{groups.shape('c')} {types[0]}, row-major{left}; allocated when absent{more}."
    padded = facts.tma_store
    yield HostArgument("out", meaning, "Tensor", "None", True, shape, types, "rows", result=True, padded=padded)


def _order(operand: Operand) -> str:
    return "row" if operand.row_major else "column"


def _operation(tensor: OpTensor, of_all: Mapping[str, str] | None = None) -> HostArgument:
    """`of_all`: what the host calls extents that groups share, if not by the letter."""
    sizes = [(of_all or {}).get(extent, extent.lower()) for extent in tensor.shape]
    meaning = f"({', '.join(tensor.shape)}) {' or '.join(tensor.dtypes)}, {tensor.meaning}."
    shape = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"
    wants: Literal["rows", "contiguous"] = "rows" if tensor.strided else "contiguous"
    return HostArgument(tensor.name, meaning, keyword=True, shape=shape, dtypes=tensor.dtypes, wants=wants)
