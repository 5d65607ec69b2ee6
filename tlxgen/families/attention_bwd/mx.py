"""sm100: MXFP8, whose operands have a power of two for each 32 elements, and what does not go together with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, Protocol

from tlxgen.arch import DTYPES, DType, Sm100
from tlxgen.families import kit
from tlxgen.plan import Drain, Fill, HostArgument, KernelArgument, Ring, Size, Tile
from tlxgen.plan.arguments import descriptor
from tlxgen.spec import Fault, choices

SCALING = choices(
    none="Nothing.",
    mx="sm100: a power of two for each 32 elements along the dimension that a product contracts. Q, K and dO come "
    "twice, with scales along the head dimension and along the sequence; V along the head dimension. P has one scale, "
    "dS one for 32 x 32 elements. The tensor core multiplies them in: MXFP8.",
)

# dS is read by both products from shared memory, since scales lie where dP and dS lay in tensor memory.
DEFAULTS: Mapping[str, Any] = {"rings": {"ds": {"operand": "smem"}}}

LIFT = 8  # P is multiplied by 2 to this power, so that e4m3 has all of its bits down to 2**-14
BLOCK, UNIT = Sm100.mx_block, Sm100.mx_rows
TWICE = ("q", "k", "do")  # operands that come with scales along the sequence, too


def asked(problem: Any) -> bool:
    """Whether the text of a spec asks for MX scales."""
    return isinstance(problem, Mapping) and problem.get("scaling") == "mx"


class Spec(Protocol):
    """What of a spec decides whether its operands can have scales."""

    @property
    def arch(self) -> str: ...
    @property
    def problem(self) -> Any: ...
    @property
    def mask(self) -> Any: ...
    @property
    def softmax(self) -> Any: ...
    @property
    def tasks(self) -> Any: ...
    @property
    def rings(self) -> Any: ...
    @property
    def scaled(self) -> bool: ...
    @property
    def lengths(self) -> str: ...
    @property
    def pair(self) -> bool: ...
    @property
    def dq_place(self) -> str: ...


def faults_of(spec: Spec) -> list[Fault]:
    """What e4m3 needs, and what MX scales do not go together with."""
    problem, mma, parts, warps = spec.problem, spec.tasks.mma, spec.tasks.compute.parts, spec.tasks.compute.warps
    if not spec.scaled:
        text = "e4m3 needs scales: problem.scaling is mx, on sm100"
        return kit.faults.where(("problem.dtype", problem.dtype == "e4m3", text))
    read = "scales lie where dP lay until dQ takes its place: both products read dS from shared memory"
    return kit.faults.where(
        ("problem.scaling", spec.arch != "sm100", "MX scales are multiplied in by tcgen05: they are of sm100"),
        ("problem.dtype", problem.dtype != "e4m3", f"MX scales belong to e4m3, not to {problem.dtype}"),
        (
            "problem.head_dim",
            problem.head_dim != UNIT,
            f"MX scales come in blocks of {UNIT}: so is the head dimension",
        ),
        ("problem.lengths", spec.lengths != "dense", "blocks of scales along a sequence do not end where it does"),
        ("mask.kind", spec.mask.kind == "window", "with MX scales a query sees all keys, or those up to its own"),
        ("softmax.softcap", spec.softmax.softcap, "with MX scales scores have no cap"),
        ("softmax.expression", spec.softmax.expression, "with MX scales nothing modifies scores"),
        ("softmax.sink", spec.softmax.sink, "with MX scales rows have no sink"),
        ("cluster.n", spec.pair, "scales of two CTAs would need columns that their dQ takes: 1"),
        ("tasks.mma.order", mma.order != "dk_dq_dp", "dQ takes the place of the scales for S and dK, and then of dP"),
        ("tasks.compute.warps", warps != 8, f"a thread has 32 elements of a block's row: 8 warps, not {warps}"),
        ("tasks.compute.parts", parts != 2, f"blocks of dS are found in halves of its columns: 2 parts, not {parts}"),
        ("rings.ds.operand", spec.rings.ds.operand != "smem", read),
        ("rings.dq.reuse", spec.dq_place != "dp", "scores, dP and sums fill tensor memory: dQ takes the place of dP"),
    )


def scale(name: str) -> Tile:
    """The MX scales of a tile of 128 rows, or, along the sequence, of 128 columns, as they lie in memory: 512 bytes."""
    one = Size.literal(1)
    return Tile(f"{name}_scale", (one, one, one, Size.literal(2), Size.literal(256)), DTYPES["e8m0"])


def scales_of_ds() -> tuple[Tile, ...]:
    """Those of blocks of dS^T, which the products for dK and dQ read in different orders."""
    return tuple(replace(scale(name), of="q_scale") for name in ("ds", "ds_turned"))


def places(empty: Literal["leader", "warp"]) -> tuple[Ring, Ring]:
    """The MX scales in tensor memory, all of which scores, dP and sums take: where these have been read.

    Those for S and dK lie in the place of dP, until dQ takes it. Those for dQ, dP and dV lie behind P. The task of the
    exponentials says when it has read dP, and when it has read S.
    """
    mma, read = Fill("mma", "copy"), (Drain("compute"),)

    def place(name: str, over: str, *tiles: str) -> Ring:
        made = tuple(factor(t) for t in tiles)
        ring = Ring(name, made, Size.literal(1), mma, read, empty, space="tmem", alias=over)
        return replace(ring, reshaped=True, slotwise=True, behind=True)

    return (
        place("sf_s", "s", "ds_turned", "k_columns", "v", "do", "do_columns"),
        place("sf_dp", "dp", "k", "q", "ds", "q_columns"),
    )


def factor(name: str) -> Tile:
    """The scales of a tile in tensor memory."""
    return Tile(f"sf_{name}", (Size.literal(UNIT), Size.literal(UNIT // BLOCK)), DTYPES["e8m0"])


# What each product multiplies, whose scales it reads.
FACTORS: Mapping[str, tuple[str, str]] = {
    "s": ("k", "q"),
    "dp": ("v", "do"),
    "dv": ("p", "do_columns"),
    "dk": ("ds", "q_columns"),
    "dq": ("ds_turned", "k_columns"),
}


def operands() -> Iterator[tuple[str, str, bool]]:
    """Each operand that has scales: its name, that of the host's argument, and whether they are along the sequence."""
    host = {"q": "q", "k": "k", "v": "v", "do": "dout"}
    yield from ((name, of, False) for name, of in host.items())
    yield from ((f"{name}_columns", f"{host[name]}_columns", True) for name in TWICE)


def descriptors() -> Iterator[KernelArgument]:
    """Of the scales of all operands, (B, H, rows / 128, columns / 128, 2, 256) in the 5 dimensions of TMA."""
    for name, of, _ in operands():
        yield descriptor(f"{name}_scale_desc", "u8", (1, 1, 1, 2, 256), f"{of}_scale", view="t.flatten(0, 1)")


def host_arguments(dtype: DType, head_dim: int) -> Iterator[HostArgument]:
    """Operands quantised along the sequence, and the scales of all, as mx_quantize makes them."""
    kind, extents = (dtype.torch,), {False: "batches, heads, n_q", True: "batches, kv_heads, n_k"}
    for of, product in READ_BY.items():
        meaning = f"as {of.removesuffix('_columns')}, the same numbers quantised along the sequence, for {product}."
        yield HostArgument(of, meaning, shape=f"({extents[of[0] == 'k']}, {head_dim})", dtypes=kind)
    for _, of, turned in operands():
        keys = of[0] in "kv"
        lead, rows, letters = ("kv_heads", "n_k", "Hkv Nk") if keys else ("heads", "n_q", "H Nq")
        heads, letter = letters.split()
        blocks, words = f"triton.cdiv({rows}, {UNIT})", f"{letter} / {UNIT}"
        order, said = ("1, " + blocks, "1, " + words) if turned else (blocks + ", 1", words + ", 1")
        along = f", of {of}.mT: a scale for 32 rows." if turned else ALONG_D if of == "q" else ", likewise."
        meaning = f"(B, {heads}, {said}, 2, 256){along}"
        shape, types = f"(batches, {lead}, {order}, 2, 256)", ("float8_e8m0fnu", "uint8")
        yield HostArgument(f"{of}_scale", meaning, shape=shape, dtypes=types, wants="contiguous")


READ_BY = {"q_columns": "dk = dS^T q", "k_columns": "dq = dS k", "dout_columns": "dv = P^T dout"}
ALONG_D = (
    " float8_e8m0fnu or uint8: a scale for 32 elements along D, in blocks\nof 512 bytes for 128 rows and 4 scales, as "
    "mx_quantize makes them; what fills up a block is not NaN."
)
