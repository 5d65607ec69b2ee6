"""Measures GEMM kernels on shapes chosen for the model of time, for benchmarks/fit_gemm.py.

    python -m benchmarks.gemm_times FOLDER... --json $OUT/gemm_times.json [--seconds 480] [--random 200] [--seed 0]

Each config of each module in the folders (of `tlxgen build`, one layout of operands between them) is timed on each
shape beside torch, in turns, in a chain with another kernel between, whose own time is taken off, on inputs that are
not in L2. Configs that a first look shows to be far behind are left out of a shape. Shapes come in a random order, and
the file is written after each, so that a run that is cut short leaves a fair sample. Needs a GPU; child processes
compile first, as many at a time as there are cores.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import os
import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tlxgen.families.gemm.model import Cut, Gpu, Kernel, Times, Types
from tlxgen.loading import load_file

Shape = tuple[int, int, int]
TURNS = 5
LARGEST = 4e12  # FLOP: 6 ms
BEHIND = 1.4  # times the fastest that a first look may find, of what takes longer than a host's launch
HOST_US = 60.0
WRONG = 8e-3  # relative to torch's product, which is rounded as ours is
ALIGNED = (16, 24)  # extents that are, and are not, multiples of 16: kernels are compiled for each
FIRST_ROWS = (1, 16, 24)


class Candidate(NamedTuple):
    """One config of one module."""

    kernel: Kernel
    name: str
    host: Any
    config: Any
    module: Any


def candidates(folders: Sequence[Path]) -> Iterator[Candidate]:
    for folder in folders:
        for path in sorted(folder.glob("[!_]*.py")):
            module = load_file(path)
            host = next(x for name, x in vars(module).items() if hasattr(x, "operator") and path.stem.startswith(name))
            for kernel, config in zip(module.KERNELS, module.CONFIGS, strict=True):
                yield Candidate(kernel, path.stem, host, config, module)


def compile_all(folders: Sequence[Path]) -> None:
    """Has child processes launch each config on a problem of each kind, so that Triton's cache has it."""
    jobs = [(path, kind) for folder in folders for path in folder.glob("[!_]*.py") for kind in kinds()]
    random.Random(0).shuffle(jobs)
    with multiprocessing.get_context("spawn").Pool(min(14, os.cpu_count() or 2), maxtasksperchild=None) as pool:
        for path, text in pool.imap_unordered(_launched, jobs):
            if text:
                print(f"{path}: {text}", flush=True)


def kinds() -> list[Shape]:
    """Shapes for each of which Triton compiles kernels of their own."""
    return [(m, n, k) for m in FIRST_ROWS for n in ALIGNED for k in ALIGNED]


def _launched(job: tuple[Path, Shape]) -> tuple[str, str]:
    import torch

    path, shape = job
    try:
        for candidate in candidates([path.parent]):
            if candidate.name == path.stem:
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
    most = max(HOST_US, BEHIND * min(looks.values()))
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
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--random", type=int, default=0, help="so many shapes as `bench --random` draws them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shapes", default="", help="only these, such as 31x456x448,2x512x528")
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    begin = time.monotonic()
    compile_all(arguments.folders)
    print(f"compiled after {time.monotonic() - begin:.0f} s", flush=True)
    from tlxgen.bench.gpu import Gpu as Bench

    gpu, found = Bench(), [*candidates(arguments.folders)]
    groups: list[dict[str, Any]] = []
    source = f"gemm_times.py, seed {arguments.seed}"
    types, rates = found[0].module.TIMES.types, found[0].module.RATES
    times = type(found[0].module.TIMES)([candidate.kernel for candidate in found], types, rates)
    given = [tuple(map(int, text.split("x"))) for text in arguments.shapes.split(",") if text]
    shapes: list[Any] = given or [*design(arguments.seed), *drawn(arguments.random, arguments.seed)]
    random.Random(arguments.seed).shuffle(shapes)
    ratios: list[tuple[float, float]] = []
    for shape in shapes:
        if time.monotonic() - begin > arguments.seconds:
            break
        us, torch_us, again, operand = measure(found, shape, gpu, arguments.turns)
        pitches = found[0].module.pitches_of(*operand)
        device = Gpu(gpu.name, gpu.sms)
        estimates = dict(zip(times.kernels, times(shape, device, pitches), strict=True))
        cuts = {k: times.cut(i, shape, device, pitches) for i, k in enumerate(times.kernels) if k.tail == "last"}
        picked, best = min(us, key=estimates.__getitem__), min(us, key=us.__getitem__)
        ratios.append((torch_us / us[picked], torch_us / us[best]))
        text = f"picked {us[picked]:.1f}, best {us[best]:.1f}, torch {torch_us:.1f} (again {again:.1f}) us"
        print(f"{shape}: {text}, {time.monotonic() - begin:.0f} s", flush=True)
        row = group(source, times, shape, pitches, us, cuts)
        groups.append({**row, "torch_us": round(torch_us, 3), "again_us": round(again, 3)})
        write(arguments.json, gpu.name, groups)
    for what, values in zip(("picked", "best"), zip(*ratios, strict=True), strict=True):
        order = sorted(values)
        fifth = order[len(order) // 20]
        print(f"{what}: geometric mean {statistics.geometric_mean(values):.3f}, 5th {fifth:.3f}, least {order[0]:.3f}")


if __name__ == "__main__":
    main()
