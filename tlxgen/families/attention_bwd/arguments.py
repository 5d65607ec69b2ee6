"""The arguments of backward attention: of its kernels and of its host function. The family of dQ alone shares them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol

from tlxgen.arch import DType
from tlxgen.families.attention.weights import Weights
from tlxgen.families.attention_fwd import arguments as forward
from tlxgen.plan import Host, HostArgument, KernelArgument, Launch, Parameter, Size
from tlxgen.plan.arguments import address, descriptor, scalar

from . import mx

if TYPE_CHECKING:
    from .facts import BackwardFacts, GradientFacts

EXTENTS = ("batches", "heads", "kv_heads", "n_q", "n_k")
BHN = {"b": 0, "h": 1, "n": 2}  # axes of a dense tensor
NUMBERS = {"lse_log2": "t[0]", "delta": "t[1]"}  # of each row, in one tensor


class Facts(Protocol):
    """What both families decide alike."""

    @property
    def dtype(self) -> DType: ...
    @property
    def out(self) -> DType: ...
    @property
    def scaled(self) -> bool: ...
    @property
    def columns(self) -> int: ...
    @property
    def columns_v(self) -> int: ...
    @property
    def gradients(self) -> tuple[str, ...]: ...
    @property
    def by_tile(self) -> bool: ...
    @property
    def ordered(self) -> bool: ...
    @property
    def apart(self) -> bool: ...
    @property
    def packed(self) -> bool: ...
    @property
    def sink(self) -> bool: ...
    @property
    def dbias(self) -> str: ...
    @property
    def zeros(self) -> bool: ...


def launches(facts: BackwardFacts, parameters: Sequence[Parameter]) -> tuple[Launch, ...]:
    """The kernel itself, then those before and after it, as an aligned problem launches them."""
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    main = Launch("kernel", tuple(_main(facts)), kept, facts.warps, (facts.ctas, 1, 1))
    before = prepare(facts, sums=facts.dq) if facts.softmax else Launch("prepare_kernel", tuple(_zeros()), (), 4)
    after = [_finish(facts)] if facts.sums else []
    after += [_sink()] if facts.sink else []
    return main, before, *after, *([_dbias(facts)] if facts.dbias == "added" else [])


def _main(facts: BackwardFacts) -> Iterator[KernelArgument]:
    operands = (("q", "q", facts.own), ("k", "k", facts.keys), ("v", "v", facts.keys), ("do", "dout", facts.own))
    for name, tensor, rows in operands:
        for columns, tail in _widths(facts.slices_v if name in ("v", "do") else facts.slices):
            yield matrix(f"{name}{tail}", tensor, facts, rows, columns)
    if facts.by_sequence:  # for the products that add up over it: of two CTAs the columns that each multiplies by
        half = facts.head_dim // facts.ctas
        apart = "_columns" if facts.scaled else ""
        for name, of, rows in (("q", "q", facts.queries), ("k", "k", facts.keys), ("do", "dout", facts.queries)):
            yield _box(f"{name}_columns", facts.dtype.signature, (rows, half), of + apart, facts.packed)
    if facts.scaled:
        yield from mx.descriptors()
    if facts.softmax:
        # Of packed sequences they lie in whole tiles, with zeros past an end.
        box, part = ((1, facts.queries), "") if facts.packed else ((1, 1, facts.queries), ", ..., :n_q")
        for i, name in enumerate(("lse", "delta")):
            yield descriptor(f"{name}_desc", "fp32", box, "numbers", view=f"t[{i}{part}]")
    if facts.bias:
        yield descriptor(
            "bias_desc", facts.bias.signature, (1, 1, facts.queries, facts.keys), "attn_mask", view="unrepeated(t)"
        )
    if facts.dbias == "stored":
        yield descriptor("dbias_desc", facts.dtype.signature, (1, 1, *facts.scores[::-1]), "dbias")
    elif facts.dbias == "added":
        yield descriptor("dbias_desc", "fp32", (1, 1, *facts.scores[::-1]), "bias_sums", view="t[..., :n_k]")
    if facts.dq:
        for name, columns in facts.dq_tiles.items():
            yield _box(name, "fp32", (facts.part[0] // facts.ctas, columns), "total", facts.packed)
    yield from _gradients(facts)
    yield from (address(f"{name}_ptr", "i32", name) for name in facts.lists("q"))
    yield from forward.addresses(facts)
    if facts.ordered:
        yield _adds()
    if facts.softmax:
        yield from scales(facts)
    else:
        yield from _factors(facts)
    yield from forward.extents(facts)
    yield from _list_sizes(facts)
    if facts.bias:
        yield scalar("bias_unit", "1 / scale", "fp32")
        yield from (scalar(f"BIAS_{x}", f"differs(attn_mask, {i})", specialized=False) for i, x in enumerate("BH"))
    if facts.dbias == "added":
        yield from (
            scalar(f"DBIAS_{x}", f"int(attn_mask.shape[{i}] > 1)", specialized=False) for i, x in enumerate("BH")
        )
    yield from sizes(facts, longest=("k",) if facts.packed and not facts.ordered else ("q", "k"))
    if facts.by_tile:
        together = "heads_together(n_q)" if facts.apart else "heads_together(n_q, kv_heads, heads)"
        if facts.whole_groups:
            together = f"whole_groups({together}, batches * {'heads' if facts.apart else 'kv_heads'})"
        yield scalar("GROUP_H", together)


def _list_sizes(facts: BackwardFacts) -> Iterator[KernelArgument]:
    """How far apart lists of batch entries, of heads and of columns of blocks are."""
    for name in facts.lists("q"):
        if name == "q_num_blocks":
            yield from (
                scalar(f"LISTS_{x}", f"lists_apart({name})[{i}]", specialized=False) for i, x in enumerate("BH")
            )
        elif name.endswith("indices"):
            size = name.replace("q_indices", "rows").upper()
            yield scalar(size, f"{name}.shape[3]", specialized=False)


def _gradients(facts: BackwardFacts) -> Iterator[KernelArgument]:
    """Of dK and dV, or of the sums that heads of Q apart add theirs to."""
    for i, name in enumerate(("dk", "dv")):
        for columns, tail in _widths(facts.grad_widths):
            box = facts.grad[0], columns
            if facts.apart:
                yield _box(f"{name}{tail}", "fp32", box, "key_sums", facts.packed, view=f"t[{i}]")
            else:
                yield _box(f"{name}{tail}", facts.out.signature, box, name, facts.packed)


def _widths(slices: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Columns of the boxes of a tensor whose tiles lie in such buffers, and what a descriptor's name has more."""
    return zip(dict.fromkeys(slices), ("", "_tail"), strict=False)


def matrix(name: str, of: str, facts: Facts, rows: Size | int, columns: int = 0) -> KernelArgument:
    """The descriptor of a tensor (B, H, N, D), or (T, H, D) of sequences: a box has so many rows of one head."""
    return _box(name, facts.dtype.signature, (rows, columns or facts.columns), of, facts.packed)


def _box(
    name: str, element: str, box: tuple[Size | int, int], of: str, packed: bool, view: str = "t"
) -> KernelArgument:
    if packed:
        return descriptor(f"{name}_desc", element, (1, 1, 1, *box), of, view=view, describe="describe_ragged")
    return descriptor(f"{name}_desc", element, (1, 1, *box), of, view=view)


def _factors(facts: BackwardFacts) -> Iterator[KernelArgument]:
    """What scores, dQ and dK, and dV are multiplied by. Where rows have factors, P and dS are, and dV no more."""
    if facts.alpha:
        yield scalar("half_alpha", "alpha / 2", "fp32")
    yield scalar("scale", _scale(facts), "fp32")
    if facts.alpha and not facts.row_factors:
        yield scalar("factor", facts.factor, "fp32")


def _scale(facts: BackwardFacts) -> str:
    """What the host multiplies dQ and dK by."""
    if facts.softmax:
        return "scale"
    return " * ".join(["alpha"] * facts.alpha + [facts.factor] * (not facts.row_factors))


def scales(facts: Weights) -> Iterator[KernelArgument]:
    of_scores = tuple(forward.exponents(facts))
    if all(a.name != "scale" for a in of_scores):
        yield scalar("scale", "scale", "fp32")
    yield from of_scores


def sizes(facts: Facts, longest: Sequence[str] = ("q", "k")) -> Iterator[KernelArgument]:
    """Of batch entries the kernel is told where it orders items by their work."""
    if facts.by_tile:
        yield scalar("B", "batches", single=True)
    yield from (scalar("H", "heads", single=True), scalar("H_KV", "kv_heads", single=True))
    yield from (scalar(f"N_{side.upper()}", f"n_{side}", divisible=True) for side in longest)


def numbers() -> Iterator[KernelArgument]:
    """The addresses of the numbers of each row."""
    return (address(f"{name}_ptr", "fp32", "numbers", view=part) for name, part in NUMBERS.items())


def prepare(facts: Facts, sums: bool) -> Launch:
    """The kernel that makes the numbers of each row, and zeros where dQ is added up if `sums`."""
    kind, packed = facts.dtype.signature, facts.packed
    arguments = [address("o_ptr", facts.out.signature, "out"), address("do_ptr", kind, "dout")]
    arguments += [address("do_scale_ptr", "u8", "dout_scale", view="t.view(torch.uint8)")] * facts.scaled
    arguments += [address("lse_ptr", "fp32", "lse")]
    arguments += numbers()
    arguments += [address("sum_ptr", "fp32", "total")] * sums
    arguments += [address("key_sum_ptr", "fp32", "key_sums")] * facts.apart
    arguments += [_adds()] * facts.ordered
    if facts.dbias == "added":
        arguments.append(address("bias_sum_ptr", "fp32", "bias_sums"))
    elif facts.zeros:
        arguments.append(address("dbias_ptr", kind, "dbias"))
    arguments += [address("sink_ptr", "fp32", "sink"), address("part_ptr", "fp32", "parts")] * facts.sink
    arguments += [address("cu_seqlens_q_ptr", "i32", "cu_seqlens_q")] * packed
    axes = {"h": 1, "n": 0} if packed else BHN
    arguments += [s for name, of in (("o", "out"), ("do", "dout")) for s in _strides(f"stride_{name}", of, axes)]
    arguments += [scalar("H", "heads", single=True), scalar("N_Q", "n_q", divisible=True)]
    arguments += [scalar("T_Q", "len(q)", divisible=True)] * packed
    arguments += [scalar("KEY_SUMS", f"2 * {_key_rows(facts)} * kv_heads", divisible=True)] * facts.apart
    if facts.dbias == "added":
        arguments += [
            scalar("BIAS_ROWS", "bias_sums.shape[0] * bias_sums.shape[1] * n_q", divisible=True),
            _sum_stride(),
        ]
    elif facts.zeros:
        arguments += [*_strides("stride_dbias", "dbias", BHN), scalar("N_K", "n_k", divisible=True)]
    return Launch("prepare_kernel", (*arguments, row_stride(facts)), (), 4)


def _key_rows(facts: Facts) -> str:
    """How many keys a head of K has, of all batch entries: the host's expression."""
    return "len(k)" if facts.packed else "batches * n_k"


def _adds() -> KernelArgument:
    """The address of the counts of CTAs that have added to a tile of dQ."""
    return address("adds_ptr", "i32", "adds")


def _sink() -> Launch:
    """The kernel that adds up what the programs of the one before have of the sinks' gradients."""
    parts, sums = address("part_ptr", "fp32", "parts"), address("dsink_ptr", "fp32", "dsink")
    sizes = scalar("B", "batches"), scalar("H", "heads"), scalar("TILES", "parts.shape[2]")
    return Launch("sink_kernel", (parts, sums, *sizes), (), 4)


def _dbias(facts: Facts) -> Launch:
    """The kernel that rounds the sums of the bias's gradient: a program has some rows of a matrix."""
    yields = [address("bias_sum_ptr", "fp32", "bias_sums"), address("dbias_ptr", facts.dtype.signature, "dbias")]
    yields += _strides("stride_", "dbias", BHN)
    yields += [
        scalar("H", "attn_mask.shape[1]"),
        scalar("N_Q", "n_q", divisible=True),
        scalar("N_K", "n_k", divisible=True),
    ]
    return Launch("bias_kernel", (*yields, _sum_stride()), (), 4)


def _sum_stride() -> KernelArgument:
    """From a row of the sums of the bias's gradient to the next: padded so that TMA can address them."""
    return scalar("SUM_STRIDE", "bias_sums.stride(2)", divisible=True)


def row_stride(facts: Facts) -> KernelArgument:
    """From the numbers of a head's rows to the next head's: padded so that TMA can address them."""
    return scalar("ROW_STRIDE", f"numbers.stride({1 if facts.packed else 2})", divisible=True)


def _zeros() -> Iterator[KernelArgument]:
    """Of the kernel that makes zeros where dQ is added up."""
    yield address("sum_ptr", "fp32", "total")
    yield from (scalar("H", "heads", single=True), scalar("N_Q", "len(q)", divisible=True))


def _finish(facts: BackwardFacts) -> Launch:
    """The kernel that rounds sums. Packed sequences are to it those of one batch entry."""
    return Launch("finish_kernel", tuple(_finish_all(facts) if facts.apart else _finish_dq(facts)), (), 4)


def _finish_dq(facts: BackwardFacts) -> Iterator[KernelArgument]:
    """Of the kernel that rounds the sums of dQ."""
    yield from (address("sum_ptr", "fp32", "total"), address("dq_ptr", facts.out.signature, "dq"))
    yield scalar("scale", _scale(facts), "fp32")
    yield from _strides("stride_", "dq", _axes(facts))
    yield scalar("H", "heads", single=True)
    yield scalar("N_Q", "len(q)" if facts.packed else "n_q", divisible=True)


def _finish_all(facts: BackwardFacts) -> Iterator[KernelArgument]:
    """The same of all gradients that are added up: programs of dK come first, then as many of dV, then those of dQ."""
    sums = {"dq": ("total", "t"), "dk": ("key_sums", "t[0]"), "dv": ("key_sums", "t[1]")}
    names = [name for name in sums if name in facts.sums]
    for name in names:
        yield address(f"{name}_sum_ptr", "fp32", sums[name][0], view=sums[name][1])
        yield address(f"{name}_ptr", facts.out.signature, name)
    yield scalar("scale", _scale(facts), "fp32")
    for name in names:
        yield from _strides(f"stride_{name}_", name, _axes(facts))
    if facts.dq:
        yield scalar("H", "heads", single=True)
        yield scalar("N_Q", "len(q)" if facts.packed else "n_q", divisible=True)
    yield scalar("H_KV", "kv_heads", single=True)
    yield scalar("N_K", "len(k)" if facts.packed else "n_k", divisible=True)
    yield scalar("KEY_TILES", "key_tiles")


def _axes(facts: BackwardFacts) -> Mapping[str, int]:
    """Axes of a gradient: packed sequences have no batch entries, and heads between their rows."""
    return {"b": 0, "h": 1, "n": 0} if facts.packed else BHN


def _strides(name: str, of: str, axes: Mapping[str, int]) -> Iterator[KernelArgument]:
    """Of batch entries, heads and rows, as far as there are such axes."""
    return (scalar(f"{name}{axis}", f"{of}.stride({i})", divisible=True) for axis, i in axes.items())


def host(facts: GradientFacts) -> Host:
    """The host function's arguments; n_q and n_k are of the longest. Of dK and dV a module also makes the operator, but
    not of MXFP8, whose dO somebody must quantise first."""
    companions = ("attention",) * ("dk" in facts.gradients and not facts.scaled)
    return Host(tuple(_host(facts)), EXTENTS, companions=companions)


def _host(facts: GradientFacts) -> Iterator[HostArgument]:
    d, dv, kind, packed = facts.head_dim, facts.head_dim_v, (facts.dtype.torch,), facts.packed
    made = (facts.out.torch,)
    lead_q, lead_kv = "batches, heads, n_q", "batches, kv_heads, n_k"
    lead, lead_k, rows = "B, H, Nq", "B, Hkv, Nk", "(batches, heads, n_q)"
    if packed:
        lead_q, lead_kv = "len(q), heads", "len(k), kv_heads"
        lead, lead_k, rows = "Tq, H", "Tk, Hkv", "(heads, len(q))"
    shapes = {"q": f"({lead_q}, {d})", "k": f"({lead_kv}, {d})"}
    shapes |= {"v": f"({lead_kv}, {dv})", "dout": f"({lead_q}, {dv})"}
    alike = "as out and dout are" if facts.softmax else "as dout is"
    if d != dv:
        alike += f", but for {dv} columns"
    if facts.scaled:
        alike = "quantised along D, as k, v and dout are"
    meaning = f"({lead}, {d}) {kind[0]}, {alike}{', sequences end to end' * packed}; Hkv divides H. "
    meaning += "Rows are contiguous, all other strides multiples of 16 bytes."
    yield HostArgument("q", meaning, shape=shapes["q"], dtypes=kind)
    as_v = "as v is" if d == dv else f"as v is, but for {dv} columns"
    yield HostArgument("k", f"({lead_k}, {d}) {kind[0]}, {as_v}, likewise.", shape=shapes["k"], dtypes=kind)
    yield HostArgument("v", shape=shapes["v"], dtypes=kind)
    if facts.softmax:
        meaning = f"what the forward has returned{', ' + made[0] if facts.scaled else ''}."
        yield HostArgument("out", meaning, shape=shapes["dout"], dtypes=made, wants="rows")
        meaning = f"({'H, Tq' if packed else lead}) float32, contiguous: the log of the sum of exp(score), "
        meaning += "-inf for a query that sees no key."
        yield HostArgument("lse", meaning, shape=rows, dtypes=("float32",), wants="contiguous")
    meaning, taken = "the gradient of a scalar by out.", "" if facts.scaled else "addressable_by_tma(dout)"
    wants: Literal["", "rows"] = "rows" if facts.softmax else ""
    yield HostArgument("dout", meaning, shape=shapes["dout"], dtypes=kind, wants=wants, decoded=taken)
    if facts.scaled:
        yield from mx.host_arguments(facts.dtype, facts.head_dim)
    yield from _lists(facts)
    if facts.bias:
        (matrix_,) = forward.bias(facts)
        yield replace(matrix_, shape="(batches, heads, n_q, n_k)") if facts.dbias == "stored" else matrix_
    yield from forward.lengths("qk") if packed else ()
    yield from forward.weighing(facts)
    yield from forward.mask(facts)
    yield from forward.row(facts, d)
    meaning = f"where {'gradients go' if len(facts.gradients) > 1 else 'it goes'}; allocated when absent."
    for i, name in enumerate(facts.gradients):
        shape = shapes[name[1]]
        yield HostArgument(name, meaning * (i == 0), "Tensor", "None", True, shape, made, "rows", result=True)
    if facts.dbias != "none":
        yield HostArgument("dbias", "", "Tensor", "None", True, "attn_mask.shape", kind, "rows", result=True)
    if facts.sink:
        shape, fp32 = "(heads,)", ("float32",)
        yield HostArgument("dsink", "", "Tensor", "None", True, shape, fp32, "contiguous", result=True)


def _lists(facts: GradientFacts) -> Iterator[HostArgument]:
    """Those of a BlockMask for its backward, by its names. What lies behind the counted indices is not read."""
    for name in facts.lists("q"):
        assert facts.blocks
        if name.endswith("num_blocks"):
            first = f'shared({name}, "{name}", batches, heads, triton.cdiv(n_k, {facts.blocks.n}))'
            shape = first if name == "q_num_blocks" else "q_num_blocks.shape"
            which = "in which all do" if name.startswith("full") else "in which the mask says which scores count"
            meaning = f"(B or 1, H or 1, Nk / {facts.blocks.n}) int32, how many blocks of {facts.blocks.m} queries by "
            meaning += f"{facts.blocks.n} keys a column of blocks has {which}."
        else:
            counts = name.replace("indices", "num_blocks")
            shape, meaning = f"(*{counts}.shape, *{name}.shape[-1:])", "(.., rows) int32: which, by their queries."
        yield HostArgument(name, meaning, shape=shape, dtypes=("int32",), wants="contiguous")
