"""Backward attention with adds to dQ in order beside adds as they come, on a Hopper GPU.

    python -m benchmarks.backward_ordered --json benchmarks/results/backward_ordered_h100.json        (--dry: no GPU)

Each mask and shape: the kernel whose dQ is added up in any order, the one that adds in the order of keys, and that one
with a turn handed on earlier in the next step, and awaited later. The two kernels that need no order (dK and dV, then
dQ, at 7 products) run beside them. Times are medians of CUDA-graph replays, all in turn; `bits` says whether runs gave
the same dQ, `error` is the norm of its difference from the first.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
ROWS = ((4, 16, 4096, False), (2, 16, 16384, False), (4, 16, 4096, True), (2, 16, 16384, True))  # B, H, N, causal
D, REPEATS = 128, 6
END = "                if count > 0:\n                    end_turn(adds_ptr + adds)  # the next may add\n"
AWAIT = "                await_turn(adds_ptr + adds, key // 128)  # the adds of those before are there\n"
WEIGHTS, STORE = "                lse_log2 = tl.reshape(", "                tlx.local_store(dq_tiles["


def moved(text: str, line: str, before: str) -> str:
    """The source with a passage elsewhere. Raises ValueError where it or the place is not there once."""
    if text.count(line) != 1 or text.count(before) != 1:
        raise ValueError(f"{line.strip()!r} or {before.strip()!r} is not there once")
    return text.replace(line, "").replace(before, line + before)


def modules(causal: bool, folder: Path) -> dict[str, Path]:
    """The sources to compare, those with passages elsewhere under `folder`."""
    mask, generated = "causal" if causal else "none", ROOT / "generated"
    name = f"hopper_attention_bwd_ordered_head_dim128_{mask}_dense"
    path = generated / "hopper_attention_bwd_ordered" / f"{name}.py"
    text = path.read_text()
    found = {"any": generated / "hopper_attention_bwd" / f"hopper_attention_bwd_{mask}.py", "ordered": path}
    for variant, changed in (
        ("early end", moved(text, END, WEIGHTS)),
        ("late wait", moved(text, AWAIT, STORE)),
        ("both", moved(moved(text, END, WEIGHTS), AWAIT, STORE)),
    ):
        at = folder / variant.replace(" ", "_") / path.name
        at.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path.with_name("_host.py"), at.parent)
        at.write_text(changed)
        found[variant] = at
    return found


def two_kernels(causal: bool) -> tuple[Path, Path]:
    mask = "causal" if causal else "none"
    kv = ROOT / "generated/hopper_attention_bwd_kv" / f"hopper_attention_bwd_kv_{mask}_head_dim128.py"
    dq = ROOT / "generated/hopper_attention_bwd_dq" / f"hopper_attention_bwd_dq_{mask}_head_dim128.py"
    return kv, dq


def function_of(path: Path) -> Callable[..., Any]:
    """The host function of a generated module. Imports torch and triton."""
    import inspect

    from tlxgen.loading import load_file

    functions = inspect.getmembers(load_file(path), lambda f: inspect.isfunction(f) and hasattr(f, "operator"))
    return functions[0][1]  # type: ignore[no-any-return]


def inputs_of(batches: int, heads: int, length: int, causal: bool) -> tuple[Any, ...]:
    import torch

    q, k, v, dout = (torch.randn(batches, heads, length, D, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    out, lse = torch.ops.aten._scaled_dot_product_cudnn_attention(q, k, v, None, True, 0.0, causal, False)[:2]
    return q, k, v, out, lse.reshape(batches, heads, length).contiguous(), dout


def compile_one(path: Path) -> None:
    function_of(path)(*inputs_of(1, 2, 512, "causal" in path.stem))


def compile_all(paths: list[Path], workers: int) -> None:
    """Fills Triton's cache, each module in a process of its own; says which fail."""

    def one(path: Path) -> None:
        command = [sys.executable, "-m", "benchmarks.backward_ordered", "--compile", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd=ROOT)
        if done.returncode:
            print(f"{path.stem}: {(done.stderr.strip().splitlines() or ['died'])[-1]}", flush=True)

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, paths))


def measure(row: tuple[int, int, int, bool], folder: Path, rounds: int) -> dict[str, dict[str, Any]]:
    import torch

    from benchmarks.attention_speed import in_turns
    from tlxgen.bench.gpu import Gpu

    batches, heads, length, causal = row
    torch.manual_seed(0)
    given, gpu = inputs_of(*row), Gpu()
    calls: dict[str, Callable[[], Any]] = {
        n: partial(function_of(p), *given) for n, p in modules(causal, folder).items()
    }
    kv, dq = map(function_of, two_kernels(causal))
    calls["two kernels"] = lambda: (dq(*given), kv(*given))
    made: dict[str, dict[str, Any]] = {}
    first: Any = None
    for name, call in calls.items():
        results = [call()[0] for _ in range(REPEATS)]
        first = results[0] if first is None else first
        error = (results[0].float() - first.float()).norm() / first.float().norm()
        made[name] = {"bits": all(torch.equal(results[0], r) for r in results[1:]), "error": float(error)}
    timers = {name: gpu.chain([call], gpu.roughly(call)) for name, call in calls.items()} | {"link": gpu.link()}
    us = in_turns(timers, rounds)
    link = us.pop("link")
    flops = 10 * batches * heads * length**2 * D * (0.5 if causal else 1)
    for name, found in us.items():
        ms = (found - link) / 1e3
        made[name] |= {"ms": ms, "tflops": flops / ms / 1e9}
    return made


def table(records: list[dict[str, Any]]) -> str:
    lines = ["| B, H, N, mask | kernel | ms | TFLOP/s | of any order | same bits | error |", "|---" * 7 + "|"]
    for record in records:
        b, h, n, causal = record["row"]
        for name, found in record["kernels"].items():
            ratio = record["kernels"]["any"]["ms"] / found["ms"]
            cells = [f"{b}, {h}, {n}, {'causal' if causal else 'none'}", name, f"{found['ms']:.3f}"]
            cells += [
                f"{found['tflops']:.0f}",
                f"{ratio:.3f}",
                "yes" if found["bits"] else "no",
                f"{found['error']:.0e}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the record there")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--workers", type=int, default=14)
    parser.add_argument("--dry", action="store_true", help="make the sources, and measure nothing")
    parser.add_argument("--compile", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.compile:
        compile_one(options.compile)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records: list[dict[str, Any]] = []
        paths = [p for c in (False, True) for p in (*modules(c, folder).values(), *two_kernels(c))]
        if options.dry:
            print(*(f"{p.parent.name}/{p.name}: {len(p.read_text())} characters" for p in paths), sep="\n")
            return 0
        compile_all(paths, options.workers)
        for row in ROWS:
            records.append({"row": row, "kernels": measure(row, folder, options.rounds)})
            print(table(records[-1:]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(records, indent=1) + "\n")
    print(table(records))
    bars = [
        r["kernels"]["any"]["ms"] / r["kernels"]["ordered"]["ms"] >= (0.82 if r["row"][3] else 0.78) for r in records
    ]
    right = all(k["bits"] or name == "any" for r in records for name, k in r["kernels"].items())
    return int(not (all(bars) and right))


if __name__ == "__main__":
    sys.exit(main())
