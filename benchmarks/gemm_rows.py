"""Rows that TMA cannot address, a linear layer with its gradients, and fp8 with scales of blocks, beside torch.

    python benchmarks/gemm_rows.py [--only rows,linear,block] [--seconds 480] [--json FILE]
    python benchmarks/gemm_rows.py --dry          # no GPU: builds, and runs small shapes on the simulator

Packages are built into a temporary folder. Each call is held against float64 (fp32 where that takes long), repeated 20
times on the same inputs, to the bit, and timed by graph replay in turns with torch, on inputs that are cold in L2. What
is not begun after `--seconds` is left out. A line is JSON.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

from tlxgen.build import build
from tlxgen.sim import DEVICE, Session, load_module

SPECS = Path(__file__).resolve().parents[1] / "specs"
REPEATS, TURNS, CALLS = 20, 9, 12
BEYOND_L2 = 128 << 20

# M, N, K, elements between the end of a row and the next of A and of B, and how far A begins behind an aligned address.
ROWS = [
    (4096, 50257, 4096, 0, 0, 0),  # logits of a vocabulary, W row-major
    (8192, 50257, 768, 0, 0, 0),
    (4096, 4096, 50257, 0, 0, 0),  # its gradient by the input
    (4096, 4095, 4096, 0, 0, 0),
    (4096, 4096, 4095, 0, 0, 0),
    (4095, 4095, 4095, 0, 0, 0),
    (4096, 4098, 4096, 0, 0, 0),  # copies of 4 bytes
    (4096, 4100, 4096, 0, 0, 0),  # of 8
    (2048, 4096, 4098, 0, 0, 0),
    (4096, 4096, 4096, 0, 0, 1),  # rows of whole chunks, from an odd address on
    (128, 50257, 4096, 0, 0, 0),
    (1, 50257, 4096, 0, 0, 0),
    (1, 1, 1, 0, 0, 0),
    (333, 1111, 777, 1, 3, 5),
]
ORDERS = [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")]
LINEAR = [(8192, 4096, 4096), (4096, 14336, 4096), (1000, 1024, 520), (2048, 1001, 4096)]
BLOCK = [
    (4096, 2112, 7168),
    (4096, 7168, 2048),
    (4096, 4096, 7168),
    (64, 2112, 7168),
    (128, 7168, 16384),
    (1, 129, 144),
]
DRY_ROWS = [(5, 7, 9, 1, 0, 3)]
DRY_LINEAR = [(72, 40, 80)]
DRY_BLOCK = [(70, 130, 272)]


def package(name: str, folder: Path, dry: bool) -> Any:
    made = build(SPECS / f"{name}.yaml", out=folder).folder
    if dry:
        return load_module(made / "__init__.py")
    sys.path.insert(0, str(made.parent))
    return importlib.import_module(made.name)


def matrix(rows: int, columns: int, gap: int, offset: int, order: str, device: Any) -> torch.Tensor:
    """bf16, amid NaN, as it lies in memory where rows (or, of order col, columns) are contiguous."""
    if order == "col":
        return matrix(columns, rows, gap, offset, "row", device).T
    stride = columns + gap
    whole = torch.full((rows * stride + offset,), float("nan"), dtype=torch.bfloat16, device=device)
    view = whole.as_strided((rows, columns), (stride, 1), offset)
    return view.copy_(torch.randn(rows, columns, device=device).to(torch.bfloat16))


def error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """Relative, in the norm."""
    return float((found.double() - wanted.double()).norm() / (wanted.double().norm() or 1))


def seconds(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Of a call each, by graphs in turns: what of L2 was theirs is overwritten before."""
    cold = torch.empty(BEYOND_L2 // 4, dtype=torch.int32, device="cuda")
    graphs = {}
    for name, call in calls.items():
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            for _ in range(CALLS):
                cold.zero_()
                call()
    empty = torch.cuda.CUDAGraph()
    with torch.cuda.graph(empty):
        for _ in range(CALLS):
            cold.zero_()
    graphs[""] = empty
    taken: dict[str, list[float]] = {name: [] for name in graphs}
    for _ in range(TURNS):
        for name, graph in graphs.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            taken[name].append(begin.elapsed_time(end) / CALLS * 1e-3)
    return {name: median(times) - median(taken[""]) for name, times in taken.items() if name}


def measured(calls: dict[str, Callable[[], Any]], dry: bool) -> dict[str, Any]:
    """Whether the first call repeats to the bit, and microseconds of all."""
    ours = next(iter(calls.values()))
    first = ours()
    same = all(torch.equal(first, ours()) for _ in range(2 if dry else REPEATS))
    times = {} if dry else seconds(calls)
    ratio = times["torch"] / times["tlxgen"] if "torch" in times else None
    return {"repeats": same, "us": {name: round(t * 1e6, 2) for name, t in times.items()}, "ratio": ratio}


def rows(folder: Path, dry: bool, device: Any) -> Iterator[dict[str, Any]]:
    made = package("hopper_gemm_any_rows", folder, dry)
    for a_order, b_order in ORDERS:
        suffix = ("_a_col" if a_order == "col" else "") + ("_b_col" if b_order == "col" else "")
        function = getattr(made, f"hopper_gemm_any_rows{suffix}")
        for m, n, k, a_gap, b_gap, offset in DRY_ROWS if dry else ROWS:
            a, b = matrix(m, k, a_gap, offset, a_order, device), matrix(k, n, b_gap, 0, b_order, device)
            exact = a.double() @ b.double() if m * n * k < 1e11 else a.float() @ b.float()
            calls = {"tlxgen": lambda f=function, x=a, y=b: f(x, y), "torch": lambda x=a, y=b: torch.mm(x, y)}
            yield {"shape": [m, n, k], "orders": [a_order, b_order], "offset": offset, "gaps": [a_gap, b_gap]} | {
                "error": error(function(a, b), exact),
                "error_of_torch": None if dry else error(torch.mm(a, b), exact),
                **measured(calls, dry),
            }


def linear(folder: Path, dry: bool, device: Any) -> Iterator[dict[str, Any]]:
    made = package("hopper_linear", folder, dry)
    for m, n, k in DRY_LINEAR if dry else LINEAR:
        x, weight = (torch.randn(r, k, device=device).to(torch.bfloat16).requires_grad_() for r in (m, n))
        bias = torch.randn(n, device=device).to(torch.bfloat16).requires_grad_()
        gradient = torch.randn(m, n, device=device).to(torch.bfloat16)
        for ops, function in (("", made.hopper_linear), ("bias", made.hopper_linear_bias)):
            leaves = [x, weight, bias][: 3 if ops else 2]
            ours = partial(step, partial(ours_of, function, x, weight, bias if ops else None), leaves, gradient)
            theirs = partial(step, partial(functional, x, weight, bias if ops else None), leaves, gradient)
            exact = [t.detach().float().requires_grad_() for t in leaves]
            wanted = step(partial(functional, *exact), exact, gradient.float())
            line = {
                "shape": [m, n, k],
                "ops": ops,
                "errors": [error(f, w) for f, w in zip(ours(), wanted, strict=True)],
            }
            yield line if dry else line | eager({"tlxgen": ours, "torch": theirs})


functional = torch.nn.functional.linear


def ours_of(function: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    made: torch.Tensor = function(x, weight.mT) if bias is None else function(x, weight.mT, bias=bias)
    return made


def step(forward: Callable[[], torch.Tensor], leaves: list[torch.Tensor], gradient: torch.Tensor) -> Any:
    return torch.autograd.grad(forward(), leaves, gradient)


def eager(calls: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Microseconds of a step, forward and backward, in turns: as a model runs it, host time included."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(TURNS):
        for name, call in calls.items():
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            torch.cuda.synchronize()
            if turn:
                taken[name].append((time.perf_counter() - begin) / CALLS)
    times = {name: median(each) for name, each in taken.items()}
    return {"us": {n: round(t * 1e6, 1) for n, t in times.items()}, "ratio": times["torch"] / times["tlxgen"]}


def block(folder: Path, dry: bool, device: Any) -> Iterator[dict[str, Any]]:
    function = package("hopper_gemm_fp8_block", folder, dry).hopper_gemm_fp8_block
    for m, n, k in DRY_BLOCK if dry else BLOCK:
        a, b = (torch.randn(r, k, device=device).to(torch.float8_e4m3fn) for r in (m, n))
        along, across = -(-k // 128), -(-n // 128)
        a_scale = (torch.rand(along, m, device=device) + 0.5).T
        b_scale = torch.rand(across, along, device=device) + 0.5
        full_a = a.float() * a_scale.repeat_interleave(128, 1)[:, :k]
        full_b = b.float() * b_scale.repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]
        calls: dict[str, Callable[[], Any]] = {"tlxgen": lambda x=a, y=b, s=a_scale, t=b_scale: function(x, y.T, s, t)}
        with contextlib.suppress(Exception):  # of a torch, or a CUDA, without scales of blocks
            theirs = lambda x=a, y=b, s=a_scale, t=b_scale.T: torch._scaled_mm(x, y.T, s, t, out_dtype=torch.bfloat16)  # noqa: E731
            if not dry:
                theirs()
                calls["torch"] = theirs
        found, wanted = calls["tlxgen"](), full_a.double() @ full_b.double().T
        yield {"shape": [m, n, k], "error": error(found, wanted), **measured(calls, dry)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="rows,linear,block")
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--dry", action="store_true")
    options = parser.parse_args()
    begun, lines = time.monotonic(), []
    torch.manual_seed(0)
    parts = {"rows": rows, "linear": linear, "block": block}
    session = Session("eager", 0).active() if options.dry else contextlib.nullcontext()
    with tempfile.TemporaryDirectory() as folder, session:
        for name in options.only.split(","):
            if options.dry and name == "linear":
                continue  # gradients on the simulator: tests/families/gemm/test_gradients.py
            for line in parts[name](Path(folder), options.dry, DEVICE if options.dry else torch.device("cuda")):
                lines.append({"part": name, **line})
                print(json.dumps(lines[-1]), flush=True)
                if time.monotonic() - begun > options.seconds:
                    break
    if options.json:
        options.json.write_text(json.dumps(lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
