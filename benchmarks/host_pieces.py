"""What the host's time of a warm call is made of, on the GPU at hand: allocations, checks, launches, autograd alone.

    python benchmarks/host_pieces.py [--json benchmarks/results/host_pieces_h200.json]

Microseconds of the host, as `host_side.py times` measures them: the median of bursts of 40 calls, the second figure
that of bursts that begin right after a wait for the GPU. Each piece is timed in five turns, in another order each time.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import host_side
import torch
from torch._C._dynamo import guards

from tlxgen.bench.gpu import Gpu

Run = Callable[[], Any]


class Nothing(torch.autograd.Function):
    """A node of Python that computes nothing: what autograd itself takes."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, w, b)
        return y.detach()

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, w, b = ctx.saved_tensors
        return x.detach(), w.detach(), b.detach(), None


def memory() -> dict[str, Run]:
    """Allocations, each freed at once, and views of one."""
    empty, view, kept = guards._empty_strided_cuda, guards._reinterpret_tensor, torch.empty(1 << 11, device="cuda")

    def one_for_two() -> Any:
        whole = empty((2048,), (1,), torch.float32)
        return view(whole, (1024,), (1,), 0), view(whole, (1024,), (1,), 1024)

    return {
        "allocation, 2 MiB": lambda: empty((1024, 1024), (1024, 1), torch.bfloat16),
        "allocation, 4 KiB": lambda: empty((1024,), (1,), torch.float32),
        "two allocations, 4 KiB": lambda: (empty((1024,), (1,), torch.float32), empty((1024,), (1,), torch.float32)),
        "one allocation, two views": one_for_two,
        "view": lambda: view(kept, (1024,), (1,), 1024),
    }


def queries(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> dict[str, Run]:
    """What is asked of tensors, of torch and of the driver."""
    given = (x, w, b)
    sizes, strides = [list(t.shape) for t in given], [list(t.stride()) for t in given]
    alike = guards.TensorGuards(*given, dynamic_dims_sizes=sizes, dynamic_dims_strides=strides).check
    return {
        "nothing": lambda: None,
        "guards of three tensors": lambda: alike(x, w, b),
        "addresses of three tensors": lambda: (x.data_ptr(), w.data_ptr(), b.data_ptr()),
        "is_compiling": torch.compiler.is_compiling,
        "is_current_stream_capturing": torch.cuda.is_current_stream_capturing,
        "_cuda_isCurrentStreamCapturing": torch._C._cuda_isCurrentStreamCapturing,
        "current stream": lambda: torch._C._cuda_getCurrentRawStream(0),
        "current_device": torch.cuda.current_device,
        "_cuda_getDevice": torch._C._cuda_getDevice,
    }


def launches(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> dict[str, Run]:
    """Launches alone, as often as a call has them, and whole calls."""
    q, k, v, do = (host_side.tensor(2, 8, 1024, 128) for _ in range(4))
    norm, square = host_side.layer_norm(), host_side.tensor(1024, 1024)
    multiply = host_side.function("hopper_gemm", "hopper_gemm_cooperative")
    attend = host_side.function("hopper_attention_fwd", "hopper_attention_fwd_causal")
    attend_back = host_side.function("hopper_attention_bwd", "hopper_attention_bwd_causal_together")
    norm_back = host_side.function("hopper_layer_norm_bwd", "hopper_layer_norm_bwd")
    out, lse = attend(q, k, v)
    dy, (_, mean, rstd) = torch.randn_like(x), norm(x, w, b)
    forward, backward = torch.ops.aten.native_layer_norm, torch.ops.aten.native_layer_norm_backward
    _, their_mean, their_rstd = forward(x, (1024,), w, b, 1e-5)
    calls: dict[str, tuple[Any, tuple[torch.Tensor, ...]]] = {
        "layer norm": (norm, (x, w, b)),
        "layer norm, backward": (norm_back, (dy, x, w, mean, rstd)),
        "GEMM": (multiply, (x, square)),
        "attention forward": (attend, (q, k, v)),
        "attention backward": (attend_back, (q, k, v, out, lse, do)),
    }
    found: dict[str, Run] = {
        "torch's native_layer_norm": lambda: forward(x, (1024,), w, b, 1e-5),
        "torch's native_layer_norm_backward": lambda: backward(
            dy, x, (1024,), their_mean, their_rstd, w, b, [True, True, True]
        ),
    }
    for name, (function, given) in calls.items():
        found[f"call: {name}"] = lambda function=function, given=given: function(*given)
        found[f"launch alone: {name}"] = alone(function, given)
    return found


def alone(function: Any, given: tuple[torch.Tensor, ...]) -> Run:
    """The launches of a call; `results` keeps the memory that they write."""
    for _ in range(5):
        results = function(*given)
    (call,) = sys.modules[function.__module__].CALLS.values()  # type: ignore[attr-defined]
    known = [*call.known.values()][-1]

    def run(results: Any = results) -> None:
        for told in known:
            call.launch(*told)

    return run


def autograd(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> dict[str, Run]:
    """Nodes that launch nothing, of Python and of C++, and both norms' backward."""
    gx, gw, gb = (t.detach().clone().requires_grad_() for t in (x, w, b))
    y, apply = torch.empty_like(x), super(torch.autograd.Function, Nothing).apply
    out, viewed, dy = apply(gx, gw, gb, y), gx.view(-1), torch.randn_like(x)
    norm, of_torch = host_side.layer_norm_operator(), torch.nn.functional.layer_norm
    mine, theirs, flat = norm(gx, (1024,), gw, gb), of_torch(gx, (1024,), gw, gb), dy.view(-1)

    def gradients(of: torch.Tensor, by: tuple[torch.Tensor, ...], dy: torch.Tensor) -> Run:
        return lambda: torch.autograd.grad(of, by, dy, retain_graph=True)

    return {
        "autograd: a node of Python, forward": lambda: apply(gx, gw, gb, y),
        "autograd: a node of Python, backward": gradients(out, (gx, gw, gb), dy),
        "autograd: a node of C++, backward": gradients(viewed, (gx,), flat),
        "autograd: layer norm, forward": lambda: norm(gx, (1024,), gw, gb),
        "autograd: torch's layer norm, forward": lambda: of_torch(gx, (1024,), gw, gb),
        "autograd: layer norm, backward": gradients(mine, (gx, gw, gb), dy),
        "autograd: torch's layer norm, backward": gradients(theirs, (gx, gw, gb), dy),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    gpu, rng = Gpu(), random.Random(0)
    given = host_side.tensor(1024, 1024), host_side.tensor(1024), host_side.tensor(1024)
    pieces = memory() | queries(*given) | launches(*given) | autograd(*given)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in pieces}
    for _ in range(options.rounds):
        for name in rng.sample(list(pieces), len(pieces)):
            found[name].append((gpu.host_us(pieces[name]), gpu.host_us(pieces[name], lead=0)))
    rows = {name: [*map(statistics.median, zip(*us, strict=True))] for name, us in found.items()}
    for name, (us, woken) in rows.items():
        print(f"{name:45} {us:7.2f} {woken:7.2f}")
    if options.json:
        record = {"command": "python benchmarks/host_pieces.py", "device": gpu.name, "versions": gpu.versions()}
        options.json.write_text(json.dumps({**record, "us, and after a wait": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
