"""The plan of an attention_decode spec: a producer, a consumer, rings of K and V, arguments of two kernels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tlxgen.arch import Sm90
from tlxgen.families import kit
from tlxgen.families.attention.common import WORKING_REGISTERS
from tlxgen.plan import Drain, Fill, Holds, Launch, Plan, Ring, Role, Size, Tile, Use, Work
from tlxgen.plan.arguments import Host, HostArgument, KernelArgument, address, descriptor, scalar
from tlxgen.plan.rule import Rule, multiple_of
from tlxgen.plan.steps import Step, steps

from .spec import AXES, ROWS, DecodeSpec

REGISTERS = 240  # a thread of each of two consumers
EXTENTS = ("batches", "heads", "kv_heads", "n_q", "n_k")
AXES_OF = ("batch", "head", "query")  # of Q and O, and their strides


def build(spec: DecodeSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]) -> Plan:
    """The plan of one variant. It does not fail: a variant that cannot be built has `Plan.reasons`."""
    sizes, d = kit.sizes(AXES, spec), spec.problem.head_dim
    parameters = kit.parameters(AXES, spec, guards=guards, baked=baked)
    constants = tuple((p.name, p.value) for p in parameters if not p.baked)
    threads = 4 * Sm90.warp_threads
    # O, and scores of a tile; Q in registers, and probabilities.
    accumulators = ROWS * (d + spec.tile.n) // threads
    operands = ROWS * (d + spec.tile.n) * spec.dtype.bytes // 4 // threads
    block_n = tuple((n, v) for n, v in constants if n == "BLOCK_N")
    roles = (
        Role("load", 4, _load(spec), default=True),
        Role(
            "mma",
            spec.tasks.mma.warps,
            _multiply(),
            registers=REGISTERS if spec.replicas > 1 else None,  # an even split suffices for one
            replicas=spec.replicas,
            holds=Holds(accumulators, operands + WORKING_REGISTERS),
        ),
    )
    return kit.one_kernel.plan(
        spec,
        AXES,
        guards,
        baked,
        roles,
        tuple(_rings(spec, sizes)),
        (),
        Host(tuple(_host(spec)), EXTENTS),
        instruction_registers=Sm90.wgmma_registers(max(spec.tile.n, d)),
        expected_opcodes=("HGMMA", "UTMALDG"),
        compiler_smem=(
            Use("captures and alignment", Sm90.captures),
            Use("layout conversion of Q, and of O", spec.replicas * ROWS * d * 4),
        ),
        work=Work("grid"),
        rules=tuple(_rules(spec, sizes)),
        facts=spec,
        launches=(
            Launch("kernel", tuple(_kernel(spec, sizes)), constants, 4),
            Launch("combine_kernel", tuple(_combine(spec)), block_n, 1),
        ),
    )


def _load(spec: DecodeSpec) -> tuple[Step, ...]:
    if spec.paged:
        return steps("acquire k", "expect k", "acquire v", "expect v", "load k", "load v")
    return steps("acquire k", "expect k", "load k", "acquire v", "expect v", "load v")


def _multiply() -> tuple[Step, ...]:
    scores = steps("wait k", "multiply scores", "wgmma_wait scores", "release k", ": mask, softmax, rescale")
    product = steps("wait v", "multiply acc", "wgmma_wait acc", "release v")
    return (*steps(": Q to registers"), *scores, *product, *steps(": O, or its part, and the log-sum-exp"))


def _rules(spec: DecodeSpec, sizes: Mapping[str, Size]) -> Iterator[Rule]:
    if spec.by_keys:
        stages, each = sizes["KV_STAGES"], spec.replicas
        needed = f"each of {each} consumers that take tiles in turns has slots of its own, whose phases it sees all"
        yield Rule("slots-of-each", multiple_of(stages, each), f"{stages} = {stages.value} slots; ", needed)


def _rings(spec: DecodeSpec, sizes: Mapping[str, Size]) -> Iterator[Ring]:
    shape = sizes["BLOCK_N"], Size.literal(spec.problem.head_dim)
    for name in "kv":
        tile = Tile(name, shape, spec.dtype)
        drain = Drain("mma", replicas=1 if spec.by_keys else spec.replicas)  # those that read each tile
        yield Ring(name, (tile,), sizes["KV_STAGES"], Fill("load", "tma"), (drain,), "warp")


def _kernel(spec: DecodeSpec, sizes: Mapping[str, Size]) -> Iterator[KernelArgument]:
    box = 1, 1, sizes["BOX_N" if spec.paged else "BLOCK_N"], spec.problem.head_dim
    view = "t.transpose(1, 2)" if spec.paged else "t"
    for name in "kv":
        yield descriptor(f"{name}_desc", spec.dtype.signature, box, name, view=view)
    yield address("q_ptr", spec.dtype.signature, "q")
    yield from _results(spec)
    if spec.paged:
        yield address("block_table_ptr", "i32", "block_table")
    yield scalar("scale_log2", "scale * 1.4426950408889634", "fp32")
    yield scalar("H_KV", "kv_heads", single=True)
    yield from _sizes(spec)
    yield from _strides("q", "q")
    if spec.paged:
        yield scalar("PAGE", "page")
        yield scalar("PAGES", "block_table.shape[1]")


def _combine(spec: DecodeSpec) -> Iterator[KernelArgument]:
    yield from _results(spec)
    yield from _sizes(spec)


def _results(spec: DecodeSpec) -> Iterator[KernelArgument]:
    """The arguments for results, parts, and the lengths of sequences."""
    yield address("out_ptr", spec.dtype.signature, "out")
    yield address("lse_ptr", "fp32", "lse")
    yield address("parts_ptr", "fp32", "sums")
    if spec.has_lengths:
        yield address("seqlens_k_ptr", "i32", "seqlens_k")


def _sizes(spec: DecodeSpec) -> Iterator[KernelArgument]:
    yield from (scalar(name, value, single=True) for name, value in (("H", "heads"), ("N_Q", "n_q")))
    yield scalar("ROWS", "rows", specialized=False)
    if not spec.has_lengths:
        yield scalar("N_K", "n_k", divisible=True)
    yield scalar("SPLITS", "splits", specialized=False)
    yield from _strides("out", 'made.get("out", out)')


def _strides(name: str, tensor: str) -> Iterator[KernelArgument]:
    yield from (scalar(f"stride_{name}_{x}", f"{tensor}.stride({i})", divisible=True) for i, x in enumerate(AXES_OF))


def _host(spec: DecodeSpec) -> Iterator[HostArgument]:
    d, kind = spec.problem.head_dim, (spec.dtype.torch,)
    rows = "rows are contiguous"
    meaning = f"(B, H, Nq, {d}) {kind[0]}, {rows}; Hkv divides H."
    yield HostArgument("q", meaning, shape=f"(batches, heads, n_q, {d})", dtypes=kind)
    lead = ("pages, page, Hkv", "*k.shape[:2], kv_heads") if spec.paged else ("B, Hkv, Nk", "batches, kv_heads, n_k")
    also = "; page is a power of two from 16 to 256" if spec.paged else ""
    meaning = f"({lead[0]}, {d}) {kind[0]}, {rows}, all other strides multiples of 16 bytes{also}."
    if spec.has_lengths:
        meaning += "\nWhat lies past the end of a sequence in its last tile must be finite: it is multiplied by 0."
    yield HostArgument("k", meaning, shape=f"({lead[1]}, {d})", dtypes=kind)
    yield HostArgument("v", "likewise.", shape=f"({lead[1]}, {d})", dtypes=kind)
    if spec.has_lengths:
        most = "the keys of all pages of a row of block_table" if spec.paged else "Nk"
        meaning = f"(B,) int32 on the device, how many keys of each sequence are there, 0 to {most}."
        yield _vector("seqlens_k", meaning, "(batches,)")
    if spec.paged:
        meaning = "(B, pages of the longest sequence) int32 on the device, the pages of each sequence in order; those"
        yield _vector("block_table", meaning + "\npast its end are not read.", "(batches, block_table.shape[1])")
    yield HostArgument("scale", f"positive; 1 / sqrt({d}) when absent.", "float?", "None", True)
    meaning = f"(B, H, Nq, {d}) {kind[0]}, {rows}; allocated when absent."
    shape = f"(batches, heads, n_q, {d})"
    yield HostArgument("out", meaning, "Tensor", "None", True, shape, kind, result=True)
    meaning = "(B, H, Nq) float32, the log of the sum of exp(score) of each query; a query that sees no key has -inf,"
    meaning += "\nand 0 in out; allocated when absent."
    shape, kind = "(batches, heads, n_q)", ("float32",)
    yield HostArgument("lse", meaning, "Tensor", "None", True, shape, kind, "contiguous", result=True)


def _vector(name: str, meaning: str, shape: str) -> HostArgument:
    return HostArgument(name, meaning, keyword=True, shape=shape, dtypes=("int32",), wants="contiguous")
