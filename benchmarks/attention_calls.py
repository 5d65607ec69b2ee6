"""The problems of `attention_speed`, and who computes them: generated functions, FlashAttention 4, torch's kernels.

A call takes what `Inputs` has and returns its results in our order and layout, so that they can be compared.
"""

from __future__ import annotations

import functools
import importlib
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tlxgen.families.attention.common import pairs
from tlxgen.loading import load_file

GENERATED = Path(__file__).parents[1] / "generated"
Run = Callable[[], Any]


@dataclass(frozen=True)
class Problem:
    """`way`: forward, backward or decode. `lengths`: of packed sequences; batch and keys are then ignored.

    `window`: so many keys before that of its row each query sees, and none after; the last row is that of the last key.
    """

    way: str
    batch: int
    heads: int
    kv_heads: int
    n: int
    keys: int
    d: int = 128
    dv: int = 128
    causal: bool = False
    lengths: tuple[int, ...] = ()
    window: int | None = None

    @property
    def name(self) -> str:
        heads = f"H{self.heads}" if self.heads == self.kv_heads else f"H{self.heads}/{self.kv_heads}"
        size = f"N{self.n}" if self.n == self.keys else f"N{self.n}x{self.keys}"
        if self.lengths:
            size = f"N{min(self.lengths)}-{max(self.lengths)} packed"
        wide = f"D{self.d}" if self.d == self.dv else f"D{self.d}/{self.dv}"
        mask = " causal" if self.causal and self.way != "decode" else ""
        if self.window is not None:
            mask = f" window {self.window}"
        return f"{self.way} B{self.batch} {heads} {size} {wide}{mask}"

    @property
    def seen(self) -> int:
        """Pairs of a query and a key that is seen, of a head over the batch."""
        seen = functools.partial(pairs, mask="causal" if self.causal else "none", window=(0, 0))
        if self.lengths:
            return sum(seen(n, n, bottom_right=True) for n in self.lengths)
        if self.window is not None:
            return self.batch * pairs(self.n, self.keys, mask="window", bottom_right=True, window=self.sides)
        return self.batch * seen(self.n, self.keys, bottom_right=self.way == "decode")

    @property
    def sides(self) -> tuple[int, int]:
        """Keys that a query sees before and after that of its row."""
        assert self.window is not None
        return self.window, 0

    @property
    def flops(self) -> float:
        forward = 2.0 * self.heads * self.seen * (self.d + self.dv)
        return forward if self.way != "backward" else forward + self.heads * self.seen * (4.0 * self.d + 2.0 * self.dv)

    @property
    def bytes_moved(self) -> float:
        """Of all operands, each once."""
        rows, keys = (sum(self.lengths),) * 2 if self.lengths else (self.batch * self.n, self.batch * self.keys)
        both = self.heads * rows + self.kv_heads * keys
        return 2.0 * both * (self.d + self.dv) * (2 if self.way == "backward" else 1)

    @property
    def kind(self) -> tuple[Any, ...]:
        """What kernels are compiled for: Triton's are special for 1 and for multiples of 16."""
        sizes = (self.batch, self.heads, self.kv_heads, self.n, self.keys)
        special = tuple(1 if x == 1 else 16 if x % 16 == 0 else 0 for x in sizes)
        return (self.way, special, self.heads // self.kv_heads, self.d, self.dv, self.causal, bool(self.lengths),
                self.window is not None)  # fmt: skip


@dataclass(frozen=True)
class Inputs:
    """Tensors of a problem, heads before rows. out and lse are FlashAttention 2's, whoever's backward is timed."""

    problem: Problem
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)

    def __getattr__(self, name: str) -> torch.Tensor:
        return self.tensors[name]

    @functools.cached_property
    def by_rows(self) -> dict[str, torch.Tensor]:
        """Contiguous with rows before heads, as FlashAttention has them."""
        packed = self.problem.lengths
        operands = {x: t for x, t in self.tensors.items() if x in ("q", "k", "v", "out", "dout")}
        return {x: t if packed else t.transpose(1, 2).contiguous() for x, t in operands.items()}

    @property
    def sums(self) -> tuple[Any, ...]:
        """cu_seqlens of queries and of keys, and the longest of each."""
        p = self.problem
        return (self.cu, self.cu, p.n, p.keys) if p.lengths else (None, None, p.n, p.keys)


def drawn(problem: Problem, device: Any, seed: int = 0) -> Inputs:
    """Random inputs; the gradient and the forward's results, for a backward."""
    torch.manual_seed(seed)
    p = problem
    rows = (sum(p.lengths),) if p.lengths else None

    def operand(heads: int, n: int, width: int) -> torch.Tensor:
        size = (*rows, heads, width) if rows else (p.batch, heads, n, width)
        return torch.randn(size, device=device).to(torch.bfloat16)

    made = {
        "q": operand(p.heads, p.n, p.d),
        "k": operand(p.kv_heads, p.keys, p.d),
        "v": operand(p.kv_heads, p.keys, p.dv),
    }
    if p.lengths:
        ends = torch.tensor([0, *p.lengths]).cumsum(0).to(torch.int32)
        made["cu"] = ends.to(device)
    return Inputs(p, made)


def with_gradient(inputs: Inputs) -> Inputs:
    """The same with out and lse of FlashAttention 2, and a random dout."""
    out, lse = flash_forward(inputs)()
    dout = torch.randn(out.shape, device=out.device).to(torch.bfloat16)
    return Inputs(inputs.problem, inputs.tensors | {"out": out, "lse": lse.contiguous(), "dout": dout})


# --- ours -----------------------------------------------------------------------------------------------------


def ours(inputs: Inputs, folders: Path = GENERATED) -> Run:
    """The shipped function of the problem with its own pick. Raises LookupError where there is none."""
    p = inputs.problem
    name, suffix = _function(p)
    function = _named(folders, name, suffix)
    return functools.partial(function, *_operands(inputs), **({} if p.window is None else {"window": p.sides}))


def ours_deterministic(inputs: Inputs, folders: Path = GENERATED) -> Run:
    """dQ by one kernel, dK and dV by another: the same bits every time."""
    p = inputs.problem
    name, suffix = _function(p)
    if p.lengths:
        names, suffixes = ("hopper_attention_bwd_dq_packed", "hopper_attention_bwd_packed_kv"), (suffix, suffix)
    else:
        base = name.removesuffix(f"_d{p.d}")
        wide = f"_head_dim{p.d}" if p.d != 128 else ""
        names, suffixes = (f"{base}_dq", f"{base}_kv"), (wide + suffix,) * 2
    dq, kv = (_named(folders, *which) for which in zip(names, suffixes, strict=True))
    given = _operands(inputs)

    def run() -> tuple[Any, ...]:
        return (dq(*given), *kv(*given))

    return run


def ours_heads(inputs: Inputs, folders: Path = GENERATED, *, heads: str) -> Run:
    """The backward whose heads of Q are `together` or `apart`, whatever the package would pick."""
    p = inputs.problem
    if p.lengths or p.d != p.dv or p.d not in (64, 128):
        raise LookupError("no package of both schedules")
    spec = "hopper_attention_bwd" + ("_d64" if p.d == 64 else "")
    name = f"{spec}_{'causal' if p.causal else 'none'}_{heads}"
    package = _package(folders, spec)
    module = importlib.import_module(f".{name}", package.__name__)
    return functools.partial(getattr(module, spec), *_operands(inputs))


def _function(p: Problem) -> tuple[str, str]:
    """The package, and what of the function's name follows the package's."""
    causal = "_causal" if p.causal else ""
    if p.way == "decode":
        return "hopper_attention_decode", "_dense"
    base = "hopper_attention_fwd" if p.way == "forward" else "hopper_attention_bwd"
    if p.lengths:
        packed = causal and causal + "_bottom_right"
        if p.d != p.dv:
            raise LookupError("packed, and V is not as wide as Q")
        if p.way == "forward":
            if p.d != 128:
                return f"{base}_packed", f"_head_dim{p.d}{packed}"
            return f"{base}_masks", f"_packed{packed}"
        return f"{base}_packed", (f"_head_dim{p.d}" if p.d != 128 else "") + packed
    if p.window is not None:
        if p.way == "forward":
            return f"{base}_masks", "_window_bottom_right"
        return f"{base}_features", (f"_head_dim{p.d}" if p.d != 128 else "") + "_window_bottom_right"
    if p.d == p.dv:
        return base + ("" if p.d == 128 else f"_d{p.d}"), causal
    return f"{base}_d{p.d}_dv{p.dv}", causal


def _named(folders: Path, package: str, suffix: str) -> Any:
    found = getattr(_package(folders, package), package + suffix, None)
    if found is None:
        raise LookupError(f"{package} has no {package}{suffix}")
    return found


@functools.cache
def _package(folders: Path, name: str) -> Any:
    """Of the folder, whatever other of that name there is."""
    if not (folders / name / "__init__.py").is_file():
        raise LookupError(f"no package {name}")
    return load_file(folders / name / "__init__.py")


def _operands(inputs: Inputs) -> tuple[Any, ...]:
    p = inputs.problem
    names = ("q", "k", "v") if p.way != "backward" else ("q", "k", "v", "out", "lse", "dout")
    given: tuple[Any, ...] = tuple(inputs.tensors[name] for name in names)
    if not p.lengths:
        return given
    longest = (p.n, p.keys) if p.way == "backward" else (p.n,)
    return (*given, inputs.cu, inputs.cu, *longest)


# --- FlashAttention 4 -----------------------------------------------------------------------------------------


def fa4(inputs: Inputs) -> Run:
    """The CuTe DSL kernels of flash-attn-4, without autograd."""
    p, t = inputs.problem, inputs.by_rows
    made = _fa4()
    options: dict[str, Any] = {"causal": p.causal}
    if p.lengths:
        options |= {"cu_seqlens_q": inputs.cu, "cu_seqlens_k": inputs.cu, "max_seqlen_q": p.n, "max_seqlen_k": p.keys}
    if p.way == "decode":
        options["num_splits"] = 0
    order = inputs.problem.lengths
    if p.way != "backward":

        def forward() -> tuple[torch.Tensor, ...]:
            out, lse = made._flash_attn_fwd(t["q"], t["k"], t["v"], return_lse=True, **options)[:2]
            return (out if order else out.transpose(1, 2)), lse

        return forward

    def backward() -> tuple[torch.Tensor, ...]:
        found = made._flash_attn_bwd(t["q"], t["k"], t["v"], t["out"], t["dout"], inputs.lse, **options)[:3]
        return tuple(x if order else x.transpose(1, 2) for x in found)

    return backward


@functools.cache
def _fa4() -> Any:
    """Its compiled kernels are kept on disk, where those of child processes are found again."""
    os.environ.setdefault("FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED", "1")
    os.environ.setdefault("FLASH_ATTENTION_CUTE_DSL_CACHE_DIR", f"{tempfile.gettempdir()}/fa4_kernels")
    return importlib.import_module("flash_attn.cute.interface")


# --- torch ----------------------------------------------------------------------------------------------------


def flash_forward(inputs: Inputs) -> Run:
    """FlashAttention 2 as torch has it. A narrower V is filled up with zeros outside of the call."""
    p, t = inputs.problem, inputs.by_rows
    q, k, v = (t[x] for x in "qkv")
    v = torch.nn.functional.pad(v, (0, p.d - p.dv)) if p.dv < p.d else v

    def run() -> tuple[torch.Tensor, ...]:
        found = torch.ops.aten._flash_attention_forward(q, k, v, *inputs.sums, 0.0, p.causal, False, **_sides(p))
        out, lse = found[0][..., : p.dv], found[1]
        return (out if p.lengths else out.transpose(1, 2)), lse

    return run


def flash(inputs: Inputs) -> Run:
    p, t = inputs.problem, inputs.by_rows
    if p.d != p.dv:
        raise LookupError("V is not as wide as Q")
    if p.way != "backward":
        return flash_forward(inputs)
    q, k, v, out, dout = (t[x] for x in ("q", "k", "v", "out", "dout"))
    forward = torch.ops.aten._flash_attention_forward(q, k, v, *inputs.sums, 0.0, p.causal, False, **_sides(p))
    fixed = (inputs.lse, *inputs.sums, 0.0, p.causal, *forward[2:4])

    def run() -> tuple[torch.Tensor, ...]:
        found = torch.ops.aten._flash_attention_backward(dout, q, k, v, out, *fixed, **_sides(p))
        return tuple(x if p.lengths else x.transpose(1, 2) for x in found)

    return run


def _sides(p: Problem) -> dict[str, int]:
    """FlashAttention 2's window, whose last row is that of the last key."""
    return {} if p.window is None else dict(zip(("window_size_left", "window_size_right"), p.sides, strict=True))


def cudnn(inputs: Inputs) -> Run:
    """cuDNN's kernel as torch calls it: with heads that share K and V if it takes them, else with copies of these."""
    p = inputs.problem
    if p.lengths or p.way == "decode" or p.window is not None:
        raise LookupError("torch's call of cuDNN has no packed sequences nor windows, and masks at the top left")
    try:
        return _cudnn(inputs, 1)
    except RuntimeError:
        if p.heads == p.kv_heads:
            raise
        return _cudnn(inputs, p.heads // p.kv_heads)


def _cudnn(inputs: Inputs, copies: int) -> Run:
    """`copies` of each head of K and V are made outside of the call; their gradients are added up in it."""
    p, aten = inputs.problem, torch.ops.aten
    q, k, v = inputs.q, inputs.k, inputs.v
    if copies > 1:
        k, v = (x.repeat_interleave(copies, dim=1) for x in (k, v))

    def forward() -> Any:
        return aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, p.causal, False)

    out, lse, begins_q, begins_k, most_q, most_k, seed, offset, _ = forward()
    if p.way == "forward":
        return lambda: forward()[:2]
    fixed = (out, lse, seed, offset, None, begins_q, begins_k, most_q, most_k, 0.0, p.causal)

    def backward() -> tuple[torch.Tensor, ...]:
        dq, dk, dv = aten._scaled_dot_product_cudnn_attention_backward(inputs.dout, q, k, v, *fixed)
        if copies > 1:
            dk, dv = (x.unflatten(1, (-1, copies)).sum(2) for x in (dk, dv))
        return dq, dk, dv

    backward()
    return backward


# --- memory ---------------------------------------------------------------------------------------------------


def copy_by_driver(inputs: Inputs) -> Run:
    """A copy of K and V, which reads and writes as many bytes each."""
    return functools.partial(_copied, inputs, lambda to, of: to.copy_(of))


def copy_by_kernel(inputs: Inputs) -> Run:
    """The same by a kernel of threads."""
    return functools.partial(_copied, inputs, lambda to, of: torch.mul(of, 1, out=to))


def _copied(inputs: Inputs, how: Callable[[Any, Any], Any]) -> tuple[()]:
    for of in (inputs.k, inputs.v):
        how(_scratch(of.shape), of)
    return ()


@functools.cache
def _scratch(shape: Sequence[int]) -> torch.Tensor:
    return torch.empty(shape, device="cuda", dtype=torch.bfloat16)
