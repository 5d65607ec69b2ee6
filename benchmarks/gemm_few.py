"""Few rows, or few tiles with a long K: tiles cut along K, and operands that are exchanged, beside cuBLAS.

    python benchmarks/gemm_few.py [--layouts row,col] [--seconds 440] [--package generated/NAME] [--json FILE]
    python benchmarks/gemm_few.py --dry          # no GPU: builds, and prints how each shape is cut

Every config of CANDIDATES is timed on every shape, back to back and in a chain with another small kernel, all
candidates of a shape in turns with torch.matmul, on cold inputs; numbers are held against float64 first. `--package`:
also what its function picks. Kernels are compiled first, by child processes. What is not timed after `--seconds` is
left out. A line says how the host cuts the shape: tiles that stay whole, parts of each other one. Where the weights are
128 MB and more it has the bytes read over time in the chain, beside the rate of a copy, which reads and writes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from tlxgen.families.gemm.model import Gpu

Shape = tuple[int, int, int]
SHAPES: tuple[Shape, ...] = (
    (16, 1288, 6296),
    (135, 1536, 7168),
    (32, 3200, 3680),
    (1, 28672, 8192),
    (512, 512, 8192),
    (8, 4096, 14336),
    (16, 8192, 8192),
    (128, 3584, 3584),
    (1, 4096, 4096),
    (4, 14336, 4096),
    (32, 6144, 4096),
    (64, 8192, 8192),
    (64, 28672, 4096),
    (200, 2048, 16384),
    (256, 256, 4160),
    (777, 2048, 8192),
    (1536, 1536, 1536),
)
DRY_SHAPES: tuple[Shape, ...] = ((3, 200, 264), (40, 136, 520))
COMMON: dict[str, Any] = {
    "cache": {"c": "evict_first"},
    "rings": {"ab": {"empty": "warp"}},
    "schedule": {"pdl": True, "prefetch": 2},
}
LAST = {"tail": "split", "fix_up": "last"}
# Of each form: what its spec says beside COMMON, and (rows, columns, extent along K, slots) of its tiles.
CANDIDATES: dict[str, tuple[dict[str, Any], tuple[tuple[int, int, int, int], ...]]] = {
    "few_last": (
        {"schedule": LAST, "tasks": {"mma": {"registers": None, "exchange": True}}},
        ((32, 64, 128, 8), (32, 128, 128, 4), (64, 64, 128, 6), (64, 128, 128, 4)),
    ),
    "few_whole": (
        {"tasks": {"mma": {"registers": None, "exchange": True}}},
        ((32, 64, 128, 8), (32, 128, 128, 4), (64, 128, 128, 4)),
    ),
    "pair_last": (
        {
            "schedule": LAST,
            "tasks": {"mma": {"registers": None}},
            "epilogue": {"subtiles": 4},
            "rings": {"c": {"stages": 2}},
        },
        ((128, 128, 64, 6), (128, 64, 64, 8)),
    ),
}
REPLAYS = 9  # turns of each candidate
WEIGHTS = 128 << 20  # bytes of B from which on the rate of reading counts
KINDS = (
    (1, 264, 520),
    (16, 272, 528),
    (135, 264, 520),
)  # M of 1, of a multiple of 16, of neither: kernels of their own


def spec_of(form: str, layout: str) -> dict[str, Any]:
    """The spec of a form whose B is row- or column-major, with its tiles as axes."""
    own, tiles = CANDIDATES[form]
    spec: dict[str, Any] = {"kernel": "gemm", "name": f"few_{form}_{layout}", "arch": "sm90"}
    spec["problem"] = {"b": {"layout": layout}}
    for part in (COMMON, own):
        for key, value in part.items():
            spec[key] = {**spec.get(key, {}), **value}
    m, n, k, stages = ([*dict.fromkeys(column)] for column in zip(*tiles, strict=True))
    wanted = (f"(tile.m == {a} and tile.n == {b} and tile.k == {c} and rings.ab.stages == {d})" for a, b, c, d in tiles)
    axes = {"tile.m": m, "tile.n": n, "tile.k": k, "rings.ab.stages": stages}
    spec["variants"] = {"axes": axes, "require": [" or ".join(wanted)]}
    return spec


def build(folder: Path, layouts: Sequence[str]) -> None:
    """All candidates of the layouts, a package each, below `folder`."""
    from tlxgen.build import build as build_spec

    (folder / "specs").mkdir(parents=True, exist_ok=True)
    for layout in layouts:
        for form in CANDIDATES:
            spec = spec_of(form, layout)
            path = folder / "specs" / f"{spec['name']}.yaml"
            path.write_text(json.dumps(spec))
            build_spec(path)


def modules(folder: Path, layout: str) -> Iterator[tuple[str, ModuleType, Any]]:
    """The candidates of a layout: what each is called, its module and its config."""
    sys.path.insert(0, str(folder / "generated"))
    for form in CANDIDATES:
        name = spec_of(form, layout)["name"]
        module = import_module(f"{name}.{name}")
        for config in module.CONFIGS:
            size = "x".join(str(config.kwargs[x]) for x in ("BLOCK_M", "BLOCK_N", "BLOCK_K"))
            yield f"{form} {size} s{config.kwargs['STAGES']}", module, config


def function(module: ModuleType) -> Any:
    """The host function of a generated module."""
    return getattr(module, module.__name__.rpartition(".")[2])


def operands(shape: Shape, layout: str, device: str) -> dict[str, Any]:
    import torch

    m, n, k = shape
    a = torch.randn(m, k, device=device).bfloat16()
    b = torch.randn(*((n, k) if layout == "col" else (k, n)), device=device).bfloat16()
    return {"a": a, "b": b.T if layout == "col" else b}


def compiled(folder: Path, layouts: Sequence[str]) -> None:
    """Compiles all candidates by children, each of which runs one on a shape of each kind."""
    code = "from benchmarks import gemm_few as it; import sys; it.warm(sys.argv[1], sys.argv[2], int(sys.argv[3]))"
    jobs = [(layout, str(i)) for layout in layouts for i in range(sum(len(t) for _, t in CANDIDATES.values()))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])}

    def one(job: tuple[str, str]) -> None:
        done = subprocess.run(
            [sys.executable, "-c", code, str(folder), *job], env=environment, capture_output=True, text=True
        )
        if done.returncode:
            print(f"{' '.join(job)}: {done.stderr.strip().splitlines()[-1:]}", flush=True)

    with ThreadPoolExecutor(min(12, os.cpu_count() or 1)) as pool:
        list(pool.map(one, jobs))


def warm(folder: str, layout: str, number: int) -> None:
    """What such a child does."""
    import torch

    _, module, config = [*modules(Path(folder), layout)][number]
    for shape in KINDS:
        function(module)(**operands(shape, layout, "cuda"), config=config)
    torch.cuda.synchronize()


def wrong(tensors: dict[str, Any], c: Any) -> str:
    """What is wrong with a product; "" if nothing is."""
    exact = tensors["a"].double() @ tensors["b"].double()
    error = float((c.double() - exact).norm() / exact.norm())
    return "" if error < 4e-3 else f"relative error {error:.1e}"


def cuts(module: ModuleType, config: Any, shape: Shape, sms: int) -> str:
    """How the host cuts the shape, in words."""
    if not hasattr(module, "TIMES") or module.TIMES.kernels[0].tail not in ("last", "each"):
        return ""
    m, n = (-(-x // config.kwargs[f"BLOCK_{axis}"]) for x, axis in zip(shape[:2], "MN", strict=True))
    whole, parts, slots = module.TIMES.cut(module.CONFIGS.index(config), shape, Gpu("", sms))
    return f"{m * n} tiles, {whole} whole, others in {parts} parts of {slots} slots"


def dry(folder: Path, layouts: Sequence[str]) -> list[dict[str, Any]]:
    """All but the GPU: candidates are built and imported, and each stands for itself in the same rows."""
    from tlxgen.bench.comparison import Case, Problem, time_problem

    rows: list[dict[str, Any]] = []
    for layout in layouts:
        found = [*modules(folder, layout)]
        for shape in SHAPES:
            for name, module, config in found:
                print(f"{layout} {'x'.join(map(str, shape))} {name}: {cuts(module, config, shape, 132)}")
        cases = [Case("torch", lambda t: lambda: t["a"] @ t["b"], baseline=True)]
        cases += [Case(name, lambda t: lambda: t["a"] @ t["b"]) for name, _, _ in found]
        for shape in DRY_SHAPES:
            m, n, k = shape
            made = partial(operands, shape, layout, "cpu")
            problem = Problem(shape, 2.0 * m * n * k, 2.0 * k * n, made, wrong)
            timed = time_problem(problem, cases, StandIn(), turns=8)
            rows += [{"layout": layout, **row.to_json()} for row in timed]
    return rows


class StandIn:
    """A device that takes a microsecond for everything."""

    name, device = "stand-in", "cpu"

    def sets(self, bytes_moved: float) -> int:
        return 2

    def roughly(self, run: Any) -> float:
        run()
        return 1.0

    def timer(self, runs: Sequence[Any], us: float) -> Any:
        return lambda: 1.0

    def chain(self, runs: Sequence[Any], us: float) -> Any:
        return lambda: 3.0

    def link(self) -> Any:
        return lambda: 2.0

    def host_us(self, run: Any) -> float:
        return 1.0

    def conditions(self) -> dict[str, float]:
        return {}


def measured(folder: Path, layouts: Sequence[str], package: Path | None, end: float, file: Path | None) -> list[Any]:
    """Rows of all shapes until the time is over, written after each shape."""
    import torch

    from tlxgen.bench.comparison import Case, Problem, time_problem
    from tlxgen.bench.gpu import Gpu

    gpu, rows = Gpu(), list[dict[str, Any]]()
    copy = copy_rate()
    picks = None
    if package:
        sys.path.insert(0, str(package.parent.resolve()))
        picks = getattr(import_module(package.name), package.name)
    found = {layout: [*modules(folder, layout)] for layout in layouts}
    for shape in SHAPES:
        for layout, candidates in found.items():
            if time.monotonic() > end:
                return rows
            m, n, k = shape
            cases = [Case("torch", lambda t: lambda: torch.matmul(t["a"], t["b"]), baseline=True)]
            for name, module, config in candidates:
                call = function(module)
                cases.append(Case(name, lambda t, call=call, config=config: lambda: call(**t, config=config)))  # type: ignore[misc]
            if picks and layout == "row":
                cases.append(Case("picked", lambda t: lambda: picks(**t)))
            moved = 2.0 * (m * k + k * n + m * n)
            problem = Problem(shape, 2.0 * m * n * k, moved, partial(operands, shape, layout, "cuda"), wrong)
            timed = time_problem(problem, cases, gpu, turns=REPLAYS)
            how = {name: cuts(module, config, shape, gpu.sms) for name, module, config in candidates}
            rows += [{"layout": layout, "cut": how.get(r.name, ""), **r.to_json()} for r in timed]
            report(shape, layout, timed, how, 2.0 * k * n, copy)
            if file:
                file.write_text(json.dumps({"device": gpu.name, "copy_gbps": copy, "rows": rows}, indent=1))
    return rows


def copy_rate() -> float:
    """Bytes that a copy of a gigabyte reads and writes, in 1e9 a second."""
    import torch

    source = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    best = 0.0
    for _ in range(5):
        begin.record()
        target.copy_(source)
        end.record()
        end.synchronize()
        best = max(best, 2 * source.numel() / begin.elapsed_time(end) / 1e6)
    return best


def report(shape: Shape, layout: str, rows: Sequence[Any], how: dict[str, str], weights: float, copy: float) -> None:
    best = max((r for r in rows if r.chain_speedup and r.name != "torch"), key=lambda r: r.chain_speedup, default=None)
    for row in rows:
        if row.error:
            print(f"  {row.name}: {row.error}")
    if best is None:
        return
    told = (
        f"{'x'.join(map(str, shape)):>16} B {layout}: {best.chain_speedup:.3f} (back to back {best.speedup or 0:.3f})"
    )
    if weights >= WEIGHTS and best.chain:
        told += f", {weights / best.chain / 1e6:.0f} GB/s of {copy:.0f}"
    print(f"{told}  {best.name}; {how.get(best.name, '')}", flush=True)
    for row in rows:
        if row.name == "picked" and row.chain_speedup:
            print(f"{'':>16} picked: {row.chain_speedup:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Few rows, and few tiles with a long K, beside cuBLAS.")
    parser.add_argument("--layouts", default="row,col", help="major orders of B, with commas between")
    parser.add_argument("--seconds", type=float, default=440, help="after which no further shape is begun")
    parser.add_argument("--package", type=Path, help="a generated folder whose function's own pick is timed, too")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    parser.add_argument("--dry", action="store_true", help="without a GPU")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    layouts = arguments.layouts.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder, layouts)
        if arguments.dry:
            rows = dry(folder, layouts)
            print(f"{len(rows)} rows, {sum(bool(r['error']) for r in rows)} with an error")
            if arguments.json:
                arguments.json.write_text(json.dumps({"rows": rows}, indent=1))
            return
        compiled(folder, layouts)
        measured(folder, layouts, arguments.package, end, arguments.json)


if __name__ == "__main__":
    main()
