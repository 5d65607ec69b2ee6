"""Measures GEMM kernels on shapes chosen for the model of time, for benchmarks/fit_gemm.py.

    python -m benchmarks.gemm_times FOLDER... --json $OUT/gemm_times.json [--seconds 480] [--random 200] [--seed 0]

Each config of each module in the folders (of `tlxgen build`) is timed on shapes beside torch, in turns, in a chain with
another kernel between, whose own time is taken off, on inputs that are not in L2. Where modules take several layouts of
operands, each shape has one of them, drawn by the seed; rows are as long as the shape says, so that TMA cannot address
some. Configs that a first look shows to be far behind are left out of a shape. Shapes come in a random order, and
the file is written after each, so that a run that is cut short leaves a fair sample. Needs a GPU; child processes
compile first, as many at a time as there are cores.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import math
import multiprocessing
import os
import random
import re
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tlxgen.families.gemm.model import CUT, Cut, Gpu, Kernel, Times, Types
from tlxgen.loading import load_file

Shape = tuple[int, int, int]
TURNS = 5
LARGEST = 4e12  # FLOP: 6 ms
BEHIND = 1.4  # times the fastest that a first look may find, of what takes longer than a host's launch
HOST_US = 60.0
WRONG = 8e-3  # relative to torch's product, which is rounded as ours is


class Candidate(NamedTuple):
    """One config of one module."""

    kernel: Kernel
    name: str
    host: Any
    config: Any
    module: Any


def modules(folders: Sequence[Path], only: str = "") -> list[Path]:
    """Those of the folders in whose names the pattern is found."""
    return [path for folder in folders for path in sorted(folder.glob("[!_]*.py")) if re.search(only, path.stem)]


def candidates(paths: Iterable[Path]) -> Iterator[Candidate]:
    for path in paths:
        module = load_file(path)
        host = next(x for name, x in vars(module).items() if hasattr(x, "operator") and path.stem.startswith(name))
        for kernel, config in zip(module.KERNELS, module.CONFIGS, strict=True):
            yield Candidate(kernel, path.stem, host, config, module)


def of_layouts(found: Iterable[Candidate]) -> list[tuple[list[Candidate], Times]]:
    """The candidates that take the same layout of operands, and their times."""
    layouts: dict[Types, list[Candidate]] = {}
    for candidate in found:
        layouts.setdefault(candidate.module.TIMES.types, []).append(candidate)
    made = []
    for types, same in layouts.items():
        times = type(same[0].module.TIMES)([candidate.kernel for candidate in same], types, same[0].module.RATES)
        made.append((same, times))
    return made


def layout_of(types: Types) -> str:
    return " ".join("row" if row_major else "col" for row_major in (types.a_along_k, not types.b_along_k))


def compile_all(wanted: Mapping[Path, Iterable[Shape]]) -> None:
    """Has child processes launch each module's configs on a problem of each kind, so that Triton's cache has them."""
    jobs = [(path, kind) for path, shapes in wanted.items() for kind in dict.fromkeys(map(kind_of, shapes))]
    random.Random(0).shuffle(jobs)
    with multiprocessing.get_context("spawn").Pool(min(14, os.cpu_count() or 2), maxtasksperchild=None) as pool:
        for path, text in pool.imap_unordered(_launched, jobs):
            if text:
                print(f"{path}: {text}", flush=True)


def kind_of(shape: Shape) -> Shape:
    """A small shape for which Triton compiles the same kernels: with 1 where this has it, and like powers of two."""
    m, n, k = (x if x == 1 else 16 + math.gcd(x, 16) % 16 for x in shape)
    return m, n, k


def _launched(job: tuple[Path, Shape]) -> tuple[str, str]:
    import torch

    path, shape = job
    try:
        for candidate in candidates([path]):
            with contextlib.suppress(ValueError):  # of strides that it cannot take
                candidate.host(*operands(shape, candidate.module.TIMES.types), config=candidate.config)
        torch.cuda.synchronize()
    except Exception as error:
        return path.stem, f"{shape}: {type(error).__name__}: {error}"[:300]
    return path.stem, ""


def operands(shape: Shape, types: Types) -> tuple[Any, Any]:
    import torch

    def operand(rows: int, columns: int, row_major: bool) -> Any:
        made = torch.randn((rows, columns) if row_major else (columns, rows), device="cuda", dtype=torch.bfloat16)
        return made if row_major else made.T

    m, n, k = shape
    return operand(m, k, types.a_along_k), operand(k, n, not types.b_along_k)


def drawn(count: int, seed: int) -> list[Shape]:
    """Random shapes by the distribution of `tlxgen bench --random`, but for the largest."""
    from tlxgen.families.gemm.benchmark import drawn as draw

    rng, found = random.Random(seed), dict[Shape, None]()
    while len(found) < count:
        shape = draw(None, rng)  # type: ignore[arg-type]
        if shape and 2.0 * shape[0] * shape[1] * shape[2] < LARGEST:
            found[shape] = None
    return [*found]


def design(seed: int) -> list[Shape]:
    """Some 60 shapes: as users have them, with odd strides, and around whole rounds of tiles on 132 SMs."""
    rng = random.Random(seed)
    extents = (256, 320, 512, 768, 1024, 1536, 2048, 3072, 4096, 5120, 7168, 8192, 11008, 14336, 16384)
    usual = [(_rows(rng), rng.choice(extents), rng.choice(extents)) for _ in range(40)]
    odd = [(max(m, 64), n + rng.choice((0, 8, 16, 32)), k + rng.choice((0, 8, 16, 32))) for m, n, k in usual[:14]]
    rounds = [
        *(
            (128 * 11, 128 * 12, 2048),
            (128 * 11, 128 * 13, 2048),
            (128 * 22, 128 * 12, 1024),
            (128 * 23, 128 * 12, 1024),
        ),
        *(
            (1536, 1536, 1536),
            (640, 640, 640),
            (128, 16384, 512),
            (16384, 256, 256),
            (64, 64 * 132, 4096),
            (192, 8192, 1024),
        ),
    ]
    found = [
        shape for shape in dict.fromkeys((*usual, *odd, *rounds)) if 2.0 * shape[0] * shape[1] * shape[2] < LARGEST
    ]
    rng.shuffle(found)
    return found


def _rows(rng: random.Random) -> int:
    """Log-uniform from 1 to 16,384, or a power of two up to 256."""
    return round(2 ** rng.uniform(0, 14)) if rng.random() < 0.7 else 2 ** rng.randint(0, 8)


def group(
    source: str,
    times: Times,
    shape: Shape,
    pitches: Sequence[int],
    us: Mapping[Kernel, float],
    cuts: Mapping[Kernel, Cut] | None = None,
) -> dict[str, Any]:
    """What fit_gemm reads of one shape: each kernel by what sets it apart, and its microseconds; how tiles were cut."""
    rows = []
    for kernel, value in us.items():
        apart = {x: v for x, v in kernel._asdict().items() if v != kernel._field_defaults.get(x)}
        cut = {"cut": list(cuts[kernel])} if cuts and kernel in cuts else {}
        rows.append({**apart, "us": round(value, 3), **cut})
    types = times.types._asdict()
    return {"from": source, "chain": True, "types": types, "shape": shape, "pitches": list(pitches), "kernels": rows}


def write(path: Path, device: str, groups: Sequence[Mapping[str, Any]]) -> None:
    rows = ",\n".join("  " + json.dumps(entry) for entry in groups)
    path.write_text(f'{{\n "device": {json.dumps(device)},\n "groups": [\n{rows}\n ]\n}}\n')


def measure(
    found: Sequence[Candidate], shape: Shape, gpu: Any, turns: int
) -> tuple[dict[Kernel, float], float, float, Any]:
    """Microseconds of each kernel, of torch and of torch again, and the operands; of equal kernels the faster one."""
    import torch

    from tlxgen.bench.timing import interleave

    m, n, k = shape
    inputs = [operands(shape, found[0].module.TIMES.types) for _ in range(gpu.sets(2.0 * (m * k + k * n)))]
    out = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    right = torch.mm(*inputs[0]).float()
    norm = float(right.norm())
    runs: dict[str, list[Any]] = {}
    looks: dict[str, float] = {}
    for i, candidate in enumerate(found):
        call = functools.partial(candidate.host, config=candidate.config)
        runs[str(i)] = [functools.partial(call, a, b, out=out) for a, b in inputs]
        out.fill_(float("nan"))
        try:
            runs[str(i)][0]()
        except ValueError:  # of strides that it cannot take
            continue
        off = float((out.float() - right).norm()) / norm
        if not off < WRONG:
            print(f"wrong numbers: {candidate.name} on {shape}: {off:.1e}", flush=True)
            continue
        looks[str(i)] = gpu.roughly(runs[str(i)][0])
    most = max(HOST_US, BEHIND * min(looks.values(), default=0.0))
    timers = {name: gpu.chain(runs[name], max(5.0, look)) for name, look in looks.items() if look <= most}
    for name in ("torch", "torch again"):
        torchs = [functools.partial(torch.mm, a, b, out=out) for a, b in inputs]
        timers[name] = gpu.chain(torchs, max(5.0, gpu.roughly(torchs[0])))
    timers["link"] = gpu.link()
    figures = interleave(timers, turns=turns)
    link = figures["link"].us
    us: dict[Kernel, float] = {}
    for i, candidate in enumerate(found):
        if str(i) in timers:
            us[candidate.kernel] = min(us.get(candidate.kernel, float("inf")), figures[str(i)].us - link)
    operand = inputs[0]
    del timers
    gpu.release()
    return us, figures["torch"].us - link, figures["torch again"].us - link, operand


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--only", default="", help="only modules in whose names this pattern is found: _col_(row|col)_")
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--random", type=int, default=0, help="so many shapes as `bench --random` draws them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shapes", default="", help="only these, such as 31x456x448,2x512x528")
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    begin = time.monotonic()
    given = [tuple(map(int, text.split("x"))) for text in arguments.shapes.split(",") if text]
    shapes: list[Any] = given or [*design(arguments.seed), *drawn(arguments.random, arguments.seed)]
    rng = random.Random(arguments.seed)
    rng.shuffle(shapes)
    layouts = of_layouts(candidates(modules(arguments.folders, arguments.only)))
    drawn_layouts = [rng.choice(layouts) for _ in shapes]
    wanted: dict[Path, list[Shape]] = {}
    for shape, (found, _) in zip(shapes, drawn_layouts, strict=True):
        for path in {Path(candidate.module.__file__) for candidate in found}:
            wanted.setdefault(path, []).append(shape)
    compile_all(wanted)
    print(f"compiled after {time.monotonic() - begin:.0f} s", flush=True)
    from tlxgen.bench.gpu import Gpu as Bench

    gpu = Bench()
    groups: list[dict[str, Any]] = []
    source = f"gemm_times.py, seed {arguments.seed}"
    ratios: list[tuple[float, float]] = []
    for shape, (found, times) in zip(shapes, drawn_layouts, strict=True):
        if time.monotonic() - begin > arguments.seconds:
            break
        us, torch_us, again, operand = measure(found, shape, gpu, arguments.turns)
        if not us:
            continue
        pitches = found[0].module.pitches_of(*operand)
        device = Gpu(gpu.name, gpu.sms)
        estimates = dict(zip(times.kernels, times(shape, device, pitches), strict=True))
        cuts = {k: times.cut(i, shape, device, pitches) for i, k in enumerate(times.kernels) if k.tail in CUT}
        picked, best = min(us, key=estimates.__getitem__), min(us, key=us.__getitem__)
        ratios.append((torch_us / us[picked], torch_us / us[best]))
        text = f"picked {us[picked]:.1f}, best {us[best]:.1f}, torch {torch_us:.1f} (again {again:.1f}) us"
        print(f"{shape} {layout_of(times.types)}: {text}, {time.monotonic() - begin:.0f} s", flush=True)
        row = group(source, times, shape, pitches, us, cuts)
        groups.append({**row, "torch_us": round(torch_us, 3), "again_us": round(again, 3)})
        write(arguments.json, gpu.name, groups)
    for what, values in zip(("picked", "best"), zip(*ratios, strict=True), strict=True):
        order = sorted(values)
        fifth = order[len(order) // 20]
        print(f"{what}: geometric mean {statistics.geometric_mean(values):.3f}, 5th {fifth:.3f}, least {order[0]:.3f}")


if __name__ == "__main__":
    main()
