"""The arguments of backward attention: of its kernels and of its host function. The family of dQ alone shares them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from tlxgen.arch import DType
from tlxgen.plan import Host, HostArgument, KernelArgument, Launch, Parameter, Size
from tlxgen.plan.arguments import address, descriptor, scalar

EXTENTS = ("batches", "heads", "kv_heads", "n_q", "n_k")
LOG2_E = "math.log2(math.e)"
ROW_STRIDE = "numbers.stride(2)"  # of the numbers of rows, padded so that TMA can address them
NUMBERS = {"lse_log2": "t[0]", "delta": "t[1]"}  # of each row, in one tensor


class Facts(Protocol):
    """What both families decide alike."""

    @property
    def dtype(self) -> DType: ...
    @property
    def head_dim(self) -> int: ...
    @property
    def gradients(self) -> tuple[str, ...]: ...
    @property
    def causal(self) -> bool: ...


class KeysFacts(Facts, Protocol):
    """What the kernel that walks queries decides beside."""

    @property
    def queries(self) -> int: ...
    @property
    def keys(self) -> int: ...
    @property
    def block(self) -> int: ...
    @property
    def dq(self) -> bool: ...


def launches(facts: KeysFacts, parameters: Sequence[Parameter]) -> tuple[Launch, ...]:
    """The kernel itself, then those before and after it, as an aligned problem launches them."""
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    main = Launch("kernel", tuple(_main(facts)), kept, 4)
    return main, prepare(facts, sums=facts.dq), *([_finish(facts)] if facts.dq else [])


def _main(facts: KeysFacts) -> Iterator[KernelArgument]:
    yield matrix("q", "q", facts, facts.queries)
    yield from (matrix(name, name, facts, facts.keys) for name in "kv")
    yield matrix("do", "dout", facts, facts.queries)
    for name, part in (("lse", "t[0, ..., :n_q]"), ("delta", "t[1, ..., :n_q]")):
        yield descriptor(f"{name}_desc", "fp32", (1, 1, facts.queries), "numbers", view=part)
    if facts.dq:
        yield descriptor("dq_desc", "fp32", (1, 1, facts.block, facts.block), "total")
    yield from (matrix(name, name, facts, facts.block) for name in ("dk", "dv"))
    yield from scales()
    yield from sizes(facts)
    if facts.causal:
        yield scalar("GROUP_H", "heads_together(n_q, kv_heads, heads)")


def matrix(name: str, of: str, facts: Facts, rows: Size | int) -> KernelArgument:
    """The descriptor of a tensor (B, H, N, D): a box has so many rows of one head."""
    return descriptor(f"{name}_desc", facts.dtype.signature, (1, 1, rows, facts.head_dim), of)


def scales() -> Iterator[KernelArgument]:
    yield from (scalar("scale", "scale", "fp32"), scalar("scale_log2", f"scale * {LOG2_E}", "fp32"))


def sizes(facts: Facts) -> Iterator[KernelArgument]:
    """Of batch entries the kernel is told where it orders items by their work."""
    if facts.causal:
        yield scalar("B", "batches")
    yield from (scalar("H", "heads"), scalar("H_KV", "kv_heads"))
    yield from (scalar("N_Q", "n_q", divisible=True), scalar("N_K", "n_k", divisible=True))


def numbers() -> Iterator[KernelArgument]:
    """The addresses of the numbers of each row."""
    return (address(f"{name}_ptr", "fp32", "numbers", view=part) for name, part in NUMBERS.items())


def prepare(facts: Facts, sums: bool) -> Launch:
    """The kernel that makes the numbers of each row, and zeros where dQ is added up if `sums`."""
    kind = facts.dtype.signature
    arguments = [address("o_ptr", kind, "out"), address("do_ptr", kind, "dout"), address("lse_ptr", "fp32", "lse")]
    arguments += numbers()
    arguments += [address("sum_ptr", "fp32", "total")] * sums
    arguments += [s for name, of in (("o", "out"), ("do", "dout")) for s in _strides(f"stride_{name}", of)]
    arguments += [scalar("H", "heads"), scalar("N_Q", "n_q", divisible=True)]
    return Launch("prepare_kernel", (*arguments, scalar("ROW_STRIDE", ROW_STRIDE, divisible=True)), (), 4)


def _finish(facts: Facts) -> Launch:
    """The kernel that rounds the sums of dQ."""
    addresses = address("sum_ptr", "fp32", "total"), address("dq_ptr", facts.dtype.signature, "dq")
    rest = (*_strides("stride_", "dq"), scalar("H", "heads"), scalar("N_Q", "n_q", divisible=True))
    return Launch("finish_kernel", (*addresses, scalar("scale", "scale", "fp32"), *rest), (), 4)


def _strides(name: str, of: str) -> Iterator[KernelArgument]:
    """Of batch entries, heads and rows."""
    return (scalar(f"{name}{axis}", f"{of}.stride({i})", divisible=True) for i, axis in enumerate("bhn"))


def host(facts: Facts) -> Host:
    """The host function's arguments; of dK and dV a module also makes the operator."""
    return Host(tuple(_host(facts)), EXTENTS, companions=("attention",) * ("dk" in facts.gradients))


def _host(facts: Facts) -> Iterator[HostArgument]:
    d, kind = facts.head_dim, (facts.dtype.torch,)
    queries, keys = f"(batches, heads, n_q, {d})", f"(batches, kv_heads, n_k, {d})"
    rows = "Rows are contiguous, all other strides multiples of 16 bytes."
    meaning = f"(B, H, Nq, {d}) {kind[0]}, as out and dout are; Hkv divides H. {rows}"
    yield HostArgument("q", meaning, shape=queries, dtypes=kind)
    yield HostArgument("k", f"(B, Hkv, Nk, {d}) {kind[0]}, as v is, likewise.", shape=keys, dtypes=kind)
    yield HostArgument("v", shape=keys, dtypes=kind)
    yield HostArgument("out", "what the forward has returned.", shape=queries, dtypes=kind, wants="rows")
    meaning = "(B, H, Nq) float32, contiguous: the log of the sum of exp(score), -inf for a query that sees no key."
    yield HostArgument("lse", meaning, shape="(batches, heads, n_q)", dtypes=("float32",), wants="contiguous")
    meaning, taken = "the gradient of a scalar by out.", "addressable_by_tma(dout)"
    yield HostArgument("dout", meaning, shape=queries, dtypes=kind, wants="rows", decoded=taken)
    yield HostArgument("scale", f"positive; 1 / sqrt({d}) when absent.", "float?", "None", True)
    meaning = f"where {'gradients go' if len(facts.gradients) > 1 else 'it goes'}; allocated when absent."
    for i, name in enumerate(facts.gradients):
        shape = queries if name == "dq" else keys
        yield HostArgument(name, meaning * (i == 0), "Tensor", "None", True, shape, kind, "rows", result=True)
