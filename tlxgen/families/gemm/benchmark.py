"""How a GEMM is timed: a call to time, and what to hold it against. Imports torch."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from triton.runtime.autotuner import Autotuner
from triton.testing import do_bench_cudagraph

from tlxgen.arch import DTYPES
from tlxgen.families.kit.draw import log_uniform

from .problem import Shape, Tensors, arguments, c_columns
from .spec import GemmSpec

Run = Callable[[], torch.Tensor]
Baseline = Callable[[Tensors], Run]
SLOW_BASELINES = ("tlx_hopper_gemm_ws",)  # its autotuner compiles for minutes: timed when asked for by name
TUTORIAL_MS = 2  # of each of ten replays by which its autotuner picks a config; its own 100 ms take a minute a shape


def call(module: ModuleType, spec: GemmSpec, shape: Shape, tensors: Tensors, config: Any = None) -> Run:
    """A launch of the generated host function, into one C where its rows allow that; `config` None lets it pick."""
    host = getattr(module, spec.name)
    m, n = shape[0], c_columns(spec, shape[1])
    dtype = DTYPES[spec.problem.c.dtype]
    given: dict[str, Any] = {} if config is None else {"config": config}
    if n * dtype.bytes % 16 == 0:
        given["out"] = torch.empty((m, n), dtype=getattr(torch, dtype.torch), device=tensors["a"].device)
    given |= arguments(module, tensors)
    return lambda: host(**given)


WEIGHTS = (  # (N, K) of the linear layers of common language models
    *((4096, 4096), (6144, 4096), (14336, 4096), (28672, 4096), (4096, 14336)),  # Llama 3 8B
    *((8192, 8192), (10240, 8192), (28672, 8192), (57344, 8192), (8192, 28672)),  # Llama 3 70B
    *((3584, 3584), (4608, 3584), (18944, 3584), (37888, 3584), (3584, 18944)),  # Qwen 2.5 7B
    *((5120, 5120), (7168, 5120), (27648, 5120), (5120, 27648)),  # Qwen 2.5 32B
    *((1536, 7168), (24576, 1536), (32768, 512), (7168, 16384), (4096, 7168), (7168, 2048)),  # DeepSeek V3
)
LARGEST = 6e12  # FLOP: some 10 ms


def drawn(spec: GemmSpec, rng: random.Random) -> Shape | None:
    """A random shape as users have them, or None for one that is too large.

    M is log-uniform from 1 to 16,384 (70 %) or a power of two up to 256. N and K are those of a language model's layer
    (40 %) or log-uniform from 256 to 16,384, multiples of 8, 64 or 128.
    """
    m = log_uniform(rng, 1, 16384) if rng.random() < 0.7 else 2 ** rng.randint(0, 8)
    if rng.random() < 0.4:
        n, k = rng.choice(WEIGHTS)
    else:
        n, k = (log_uniform(rng, 256, 16384, rng.choice((8, 64, 128))) for _ in range(2))
    return (m, n, k) if 2.0 * m * n * k < LARGEST else None


def baselines(spec: GemmSpec) -> Mapping[str, Baseline]:
    """What to compare with, the one that ratios refer to first; those that are not installed are left out."""
    ops, a, b = spec.epilogue.ops, spec.problem.a, spec.problem.b
    if spec.problem.scaling == "mx":
        return {}
    if DTYPES[a.dtype].is_fp8:
        if ops != ("scale_rowwise",):
            return {}
        fast, exact = ("torch._scaled_mm", _fast), ("torch._scaled_mm exact", _exact)
        return dict([exact, fast] if spec.tasks.mma.promote else [fast, exact])  # the first is of the same accuracy
    found: dict[str, Baseline] = {"torch": lambda t: _torch(spec, t)}
    if not ops and a.layout == b.layout == "row" and spec.problem.c.dtype != "fp32":
        if spec.arch == "sm90" and (path := tutorial("hopper_gemm_ws")) is not None:
            found["tlx_hopper_gemm_ws"] = lambda t: _tutorial(path, t)
        if importlib.util.find_spec("quack"):
            found["quack"] = _quack
    return found


def peers(spec: GemmSpec, shape: Shape, tensors: Tensors) -> Mapping[str, Callable[[], Mapping[str, torch.Tensor]]]:
    """torch's own kernel of the same accuracy for these arguments, where it has one."""
    found = {name: run for name, run in baselines(spec).items() if name.startswith("torch")}
    return {name: lambda run=run: {"c": run(tensors)()} for name, run in list(found.items())[:1]}  # type: ignore[misc]


def _torch(spec: GemmSpec, t: Tensors) -> Run:
    """cuBLAS, and each operation of the epilogue as torch has it."""
    kind = getattr(torch, DTYPES[spec.problem.c.dtype].torch)
    out = torch.empty((t["a"].shape[0], t["b"].shape[1]), dtype=kind, device=t["a"].device)
    steps = [_EAGER[op] for op in spec.epilogue.ops]
    a, b, same = t["a"], t["b"], kind == t["a"].dtype

    def run() -> torch.Tensor:
        c = torch.mm(a, b, out=out) if same else torch.mm(a, b, out_dtype=kind)
        for step in steps:
            c = step(c, t)
        return c

    return run


_EAGER: dict[str, Callable[[torch.Tensor, Tensors], torch.Tensor]] = {
    "bias": lambda c, t: c.add_(t["bias"]),
    "relu": lambda c, t: c.relu_(),
    "gelu": lambda c, t: torch.nn.functional.gelu(c),
    "silu": lambda c, t: torch.nn.functional.silu(c, inplace=True),
    "swiglu": lambda c, t: torch.nn.functional.silu(c[..., ::2]) * c[..., 1::2],
    "residual": lambda c, t: c.add_(t["residual"]),
    "scale": lambda c, t: c.mul_(t["scale"]),
    "scale_rowwise": lambda c, t: c.mul_(t["scale_a"][:, None]).mul_(t["scale_b"][None, :]),
}


def _fast(t: Tensors) -> Run:
    """Rowwise FP8 accumulated by wgmma alone, which keeps about 14 bits of a sum's mantissa."""
    return _scaled(t, fast=True)


def _exact(t: Tensors) -> Run:
    """Rowwise FP8 whose sums are added up in fp32 every few products."""
    return _scaled(t, fast=False)


def _scaled(t: Tensors, fast: bool) -> Run:
    a, b, scale_a, scale_b = t["a"], t["b"], t["scale_a"][:, None], t["scale_b"][None, :]
    return lambda: torch._scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.bfloat16, use_fast_accum=fast)


def tutorial(name: str) -> Path | None:
    """The file of one of the tutorials that fbtriton's wheel brings; None when it lacks it."""
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "language" / "extra" / "tlx" / "tutorials" / f"{name}.py"
    return path if path.is_file() else None


def _tutorial(path: Path, t: Tensors) -> Run:
    """Meta's tutorial, with the configs that its own autotuner picks, from shorter replays; its C is fp16 always."""
    module = _load(path)
    return lambda: module.matmul(t["a"], t["b"])


@functools.cache
def _load(path: Path) -> Any:
    """Once a process: what its autotuner has found must last from one input to the next."""
    spec = importlib.util.spec_from_file_location(f"tlx_tutorial_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for found in vars(module).values():
        if isinstance(found, Autotuner):
            found._do_bench = functools.partial(do_bench_cudagraph, rep=TUTORIAL_MS)
    return module


def _quack(t: Tensors) -> Run:
    gemm = importlib.import_module("quack.gemm_interface").gemm
    return lambda: gemm(t["a"], t["b"], tuned=False)
