"""Attention modules beside cuDNN on a Hopper GPU, kernel time by CUDA-graph replay.

    python benchmarks/attention_speed.py MODULE.py [...] --json RESULT.json [--rows 0 3] [--workers 14]

A module is a generated one, forward or backward, told by what its host function takes; `causal` in its name says that
it has the causal mask. Each of its configs is a contender on each row of its head dimension, and cuDNN's kernel is one
more. All contenders of a row, of both directions, run in turn in each round, in another order each time, and the median
counts. Results are compared with cuDNN's: `error` is the relative Frobenius norm of the difference, the largest of all
outputs. FLOPs: 4 B H N^2 D forward, 2.5 times that backward, half of it under the causal mask.
"""

from __future__ import annotations

import argparse
import inspect
import json
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from tlxgen.loading import load_file

Row = tuple[int, int, int, int, bool]  # B, H, N, D, causal
ROWS: tuple[Row, ...] = (
    (4, 32, 4096, 128, False),
    (4, 32, 8192, 128, False),
    (2, 32, 16384, 128, False),
    (4, 32, 4096, 128, True),
    (2, 32, 16384, 128, True),
    (4, 32, 4096, 64, False),
    (4, 32, 4096, 64, True),
)
BACKWARD = ["q", "k", "v", "out", "lse", "dout"]


@dataclass(frozen=True)
class Contender:
    """One config of a module's host function."""

    name: str
    backward: bool
    causal: bool
    run: Callable[..., Any]

    def takes(self, row: Row, inputs: Inputs) -> bool:
        """Whether it is for that row; the host function knows its head dimension."""
        if self.causal != row[4]:
            return False
        try:
            self(inputs)
        except ValueError:
            return False
        return True

    def __call__(self, inputs: Inputs) -> Any:
        return self.run(*inputs.backward if self.backward else inputs.forward)


@dataclass(frozen=True)
class Inputs:
    """Tensors of a row; out and lse are cuDNN's, so that nobody's backward depends on its own forward."""

    forward: tuple[torch.Tensor, ...]
    backward: tuple[torch.Tensor, ...]


def main() -> None:
    options = _arguments()
    if options.compile:
        compile_one(options.modules[0])
        return
    compile_all(options.modules, options.workers)
    found = [c for path in options.modules for c in contenders(path)]
    record: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": []}
    for number in options.rows:
        for entry in measure(ROWS[number], found, options.rounds):
            record["rows"].append(entry)
            print(_line(entry), flush=True)
            options.json.write_text(json.dumps(record, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument("--json", type=Path, default=Path("attention_speed.json"))
    parser.add_argument("--rows", nargs="+", type=int, default=list(range(len(ROWS))))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def contenders(path: Path) -> Iterator[Contender]:
    """Those of a module: its host function, which has an operator, for each config."""
    module = load_file(path)
    ((_, function),) = inspect.getmembers(
        module, lambda value: inspect.isfunction(value) and hasattr(value, "operator")
    )
    parameters = list(inspect.signature(function).parameters)
    for i, config in enumerate(module.CONFIGS):
        run = partial(function, config=config)
        yield Contender(f"{path.stem}#{i}", parameters[: len(BACKWARD)] == BACKWARD, "causal" in path.stem, run)


def compile_all(paths: Sequence[Path], workers: int) -> None:
    """Fills Triton's cache, each module in a process of its own; says which fail."""

    def one(path: Path) -> None:
        command = [sys.executable, __file__, str(path), "--compile"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        if done.returncode:
            print(f"{path.stem}: {(done.stderr.strip().splitlines() or ['died'])[-1]}", flush=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, paths))


def compile_one(path: Path) -> None:
    for contender in contenders(path):
        for width in (64, 128):
            row = (2, 32, 1024, width, contender.causal)
            contender.takes(row, inputs_of(row))


def inputs_of(row: Row) -> Inputs:
    b, h, n, d, causal = row
    q, k, v, dout = (torch.randn(b, h, n, d, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    found = torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal, False)
    out, lse = found[:2]
    return Inputs((q, k, v), (q, k, v, out, lse.reshape(b, h, n).contiguous(), dout))


def cudnn_backward(row: Row, inputs: Inputs) -> Callable[[], Any]:
    leaves = [x.detach().requires_grad_() for x in inputs.forward]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=row[4])
    return lambda: torch.autograd.grad(out, leaves, inputs.backward[-1], retain_graph=True)


def cudnn_forward(row: Row, inputs: Inputs) -> Callable[[], Any]:
    return lambda: torch.ops.aten._scaled_dot_product_cudnn_attention(*inputs.forward, None, True, 0.0, row[4], False)[
        :2
    ]


def measure(row: Row, found: Sequence[Contender], rounds: int) -> Iterator[dict[str, Any]]:
    """One entry a direction that has contenders: milliseconds, TFLOP/s, and error of each."""
    stream = torch.cuda.Stream()
    torch.manual_seed(0)
    with torch.cuda.stream(stream):
        inputs = inputs_of(row)
        for backward in (False, True):
            mine = {c.name: partial(c, inputs) for c in found if c.backward == backward and c.takes(row, inputs)}
            if mine:
                baseline = (cudnn_backward if backward else cudnn_forward)(row, inputs)
                yield _entry(row, backward, {"cudnn": baseline, **mine}, stream, rounds)


def _entry(
    row: Row, backward: bool, calls: dict[str, Callable[[], Any]], stream: torch.cuda.Stream, rounds: int
) -> dict[str, Any]:
    exact = calls["cudnn"]()
    errors = {name: _error(call(), exact) for name, call in calls.items()}
    graphs = {name: _captured(call, stream) for name, call in calls.items()}
    times = _timed(graphs, stream, rounds)
    b, h, n, d, causal = row
    flops = 4 * b * h * n * n * d * (2.5 if backward else 1) * (0.5 if causal else 1)
    found = {
        name: {"ms": round(t, 4), "tflops": round(flops / t / 1e9, 1), "error": float(f"{errors[name]:.2g}")}
        for name, t in times.items()
    }
    return {"row": list(row), "pass": "bwd" if backward else "fwd", "contenders": found}


def _error(found: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]) -> float:
    pairs = [(a, e) for a, e in zip(found, exact, strict=False) if a.shape == e.shape and a.dtype == torch.bfloat16]
    return max(float((a.float() - e.float()).norm() / e.float().norm()) for a, e in pairs)


def _captured(call: Callable[[], Any], stream: torch.cuda.Stream) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    call()
    with torch.cuda.graph(graph, stream=stream):
        call()
    return graph


def _timed(graphs: dict[str, torch.cuda.CUDAGraph], stream: torch.cuda.Stream, rounds: int) -> dict[str, float]:
    """Median milliseconds of each. A round replays every graph once, in an order of its own; three warm up."""
    order, shuffle = list(graphs), random.Random(0)
    spans: dict[str, list[tuple[torch.cuda.Event, torch.cuda.Event]]] = {name: [] for name in order}
    for _ in range(rounds + 3):
        shuffle.shuffle(order)
        for name in order:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record(stream)
            graphs[name].replay()
            end.record(stream)
            spans[name].append((start, end))
    torch.cuda.synchronize()
    return {name: statistics.median(s.elapsed_time(e) for s, e in pairs[3:]) for name, pairs in spans.items()}


def _line(entry: dict[str, Any]) -> str:
    found = entry["contenders"]
    base = found["cudnn"]["ms"]
    ordered = sorted((c["ms"], name) for name, c in found.items() if name != "cudnn")
    cells = [f"{name} {base / ms:.3f} ({found[name]['error']:.0e})" for ms, name in ordered]
    return f"{entry['pass']} {entry['row']} cudnn {found['cudnn']['tflops']} TF/s: " + "; ".join(cells)


if __name__ == "__main__":
    main()
