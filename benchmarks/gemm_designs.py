"""Designs of GEMM kernels that hopper_matmul might ship, beside what it ships and cuBLAS, on shapes where it is behind.

    python -m benchmarks.gemm_designs --json $OUT/gemm_designs.json [--seconds 190] [--dry]
        [--behind benchmarks/results/gemm_random_h100.json --below 0.93 --least-m 129] [--shipped 3] [--designs REGEX]
        [--random 30 --seed 101 --least-m 97 --most-m 1100] [--most 9] [--drawn 300 --seed 146 --spread 3]

Each design is a spec, built into a temporary folder, whose kernels are timed on the shapes that it is for; so are the
kernels of generated/hopper_matmul that its model puts first, and its own pick. All of a shape take turns, in a chain
with another kernel between two launches, whose time is taken off, on inputs that are not in L2. The file has groups as
benchmarks/fit_gemm.py reads them, with the name of the design of each kernel. Needs a GPU; `--dry` builds and lists.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import functools
import json
import math
import multiprocessing
import os
import random
import re
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.gemm_kinds import COMMON, DESIGNS, SHAPES
from benchmarks.gemm_random import PACKAGE, addressable, function, problems
from benchmarks.gemm_times import WRONG, Candidate, Shape, candidates, drawn, group, operands, write
from tlxgen.families.gemm.cost import CORRECTION, RATES
from tlxgen.families.gemm.model import CUT, Gpu, Kernel, Times, Types

TURNS = 5
SHOWN = 6  # designs of a shape that are printed
HELD = 8.0  # microseconds below which the chains themselves are compared


def spec_of(name: str, layouts: Sequence[str]) -> dict[str, Any]:
    """The spec of a design for some layouts of A and B."""
    design = DESIGNS[name]
    spec: dict[str, Any] = {"kernel": "gemm", "name": f"design_{name}", "arch": "sm90"}
    for path, value in (*COMMON.items(), *design.values.items()):
        at = spec
        *parents, last = path.split(".")
        for parent in parents:
            at = at.setdefault(parent, {})
        at[last] = copy.deepcopy(value)
    wanted = (f"[tile.m, tile.n, tile.k, rings.ab.stages] in {[list(t) for t in design.tiles]}",)
    a_of, b_of = ([*dict.fromkeys(x.split()[i] for x in layouts)] for i in (0, 1))
    kept = " or ".join(
        f"(problem.a.layout == '{a}' and problem.b.layout == '{b}')" for a, b in (x.split() for x in layouts)
    )
    m, n, k, stages = ([*dict.fromkeys(column)] for column in zip(*design.tiles, strict=True))
    axes = {"problem.a.layout": a_of, "problem.b.layout": b_of, "tile.m": m, "tile.n": n, "tile.k": k}
    spec["variants"] = {"axes": {**axes, "rings.ab.stages": stages}, "require": [*wanted, kept]}
    return spec


def wanted(shape: Shape, layout: str) -> list[str]:
    return [x for x, made in DESIGNS.items() if re.search(BEST.designs, x) and made.where(*shape, layout)]


def build(folder: Path, shapes: Sequence[tuple[Shape, str]]) -> None:
    """The packages of all designs below `folder`, for the layouts that their shapes have."""
    (folder / "specs").mkdir(parents=True)
    layouts: dict[str, dict[str, None]] = defaultdict(dict)
    for shape, layout in shapes:
        for name in wanted(shape, layout):
            layouts[name][layout] = None
    for name, some in layouts.items():
        (folder / "specs" / f"design_{name}.yaml").write_text(json.dumps(spec_of(name, [*some])))
    with multiprocessing.get_context("spawn").Pool(min(12, (os.cpu_count() or 2) // 2)) as pool:
        for text in pool.imap_unordered(_built, sorted((folder / "specs").glob("*.yaml"))):
            if text:
                print(text, flush=True)


def _built(path: Path) -> str:
    from tlxgen.build import build as build_spec

    try:
        build_spec(path)
    except Exception as error:
        return f"{path.stem}: {type(error).__name__}: {error}"
    return ""


@dataclasses.dataclass
class Wanted:
    """Which kernels are timed: of the shipped ones those estimated to take at most `likely` times the best."""

    shipped: int = 3
    expected: int = 0  # more of the shipped ones, which are expected to take least by estimates that are corrected
    spread: int = 0  # more, drawn from all others that are likely
    most: int = 1 << 30
    alike: int = 1 << 30  # of one design
    likely: float = 1.25
    designs: str = ""
    alone: bool = False  # without the function's own pick, and without torch a second time
    load_by: Sequence[str] = ("tma", "pointers", "pointers_a", "pointers_b")


BEST = Wanted()


def random_rows(count: int, seed: int, least_m: int, most_m: int) -> list[tuple[Shape, str]]:
    """Shapes with so many rows, as `gemm_random` draws them, A by rows, B by both, N and K multiples of 16.

    One kernel then serves all shapes whose M is odd, or all of the others, so that little is compiled.
    """
    some = [x for x in drawn(40 * count, seed) if least_m <= x[0] <= most_m and x[1] % 16 == x[2] % 16 == 0]
    return [(shape, f"row {('row', 'col')[i % 2]}") for i, shape in enumerate(some[:count])]


def any_rows(count: int, seed: int) -> list[tuple[Shape, str]]:
    """Shapes and layouts as `gemm_random` draws them, with rows that TMA can address.

    N and K are both multiples of 16 or neither is, so that less is compiled.
    """
    some = [(s, x) for s, x in problems(3 * count, seed) if addressable({"shape": s, "layout": x})]
    return [(s, x) for s, x in some if s[1] % 16 == s[2] % 16][:count]


def behind(record: Path, below: float, least_m: int) -> list[tuple[Shape, str]]:
    """The shapes of a record of gemm_random, with rows that TMA can address, where a pick was behind; worst first."""
    found = []
    for row in json.loads(record.read_text())["rows"]:
        (m, n, k), (a, b) = row["shape"], row["layout"].split()
        rows_of = (k if a == "row" else m, n if b == "row" else k, n)
        if row["ratio"] < below and m >= least_m and not any(x % 8 for x in rows_of):
            found.append((row["ratio"], (m, n, k), row["layout"]))
    return [(shape, layout) for _, shape, layout in sorted(found)]


class Found(NamedTuple):
    name: str
    candidate: Candidate


def label(kernel: Kernel) -> str:
    m, n = kernel.tile[1::-1] if kernel.swap else kernel.tile[:2]
    return f"{m}x{n}x{kernel.tile[2]}s{kernel.stages}"


def told(kernel: Kernel) -> str:
    """What sets a kernel that ships apart from the others."""
    parts = [label(kernel)]
    parts += [kernel.tail] * (kernel.tail != "whole") + ["swap"] * kernel.swap + ["turns"] * kernel.overlap
    parts += [f"{axis}{ctas}" for axis, ctas in zip("mnk", kernel.cluster, strict=True) if ctas > 1]
    parts += [kernel.load_by] * (kernel.load_by != "tma")
    return " ".join(parts)


def designs(folder: Path) -> dict[str, dict[Types, list[Candidate]]]:
    """The kernels of each design by the layout of operands."""
    found: dict[str, dict[Types, list[Candidate]]] = {}
    for name in DESIGNS:
        at = folder / "generated" / f"design_{name}"
        by_types = found.setdefault(name, {})
        for candidate in candidates(sorted(at.glob("[!_]*.py"))) if at.exists() else ():
            by_types.setdefault(candidate.module.TIMES.types, []).append(candidate)
    return found


def types_of(layout: str) -> Types:
    a, b = layout.split()
    return Types(2, 2, 2, a == "row", b == "col")


def of_model(shape: Shape, layout: str) -> tuple[Types, Gpu, tuple[float, float]]:
    """Types, device and pitches, as the model is told of them."""
    (m, n, k), (a, b) = shape, layout.split()
    return types_of(layout), Gpu("", 132), (float(2 * (k if a == "row" else m)), float(2 * (n if b == "row" else k)))


def shipped(shape: Shape, layout: str) -> Iterator[Candidate]:
    """Of the kernels of hopper_matmul those that the model puts first, and with few rows all of few rows."""
    types, gpu, pitches = of_model(shape, layout)
    known = [c for c in _shipped() if c.module.TIMES.types == types]
    model = Times([c.kernel for c in known], types, RATES, CORRECTION)
    times = model(shape, gpu, pitches)
    order = sorted(range(len(known)), key=times.__getitem__)
    likely = [i for i in order if times[i] <= BEST.likely * times[order[0]] and known[i].kernel.load_by in BEST.load_by]
    likely, others = likely[: BEST.shipped], likely[BEST.shipped :]
    if BEST.expected:
        given = model.given(shape, gpu, pitches)
        some = sorted((*likely, *others), key=lambda i: model.corrected(i, *given))[: BEST.expected]
        likely += [i for i in some if i not in likely]
        others = [i for i in others if i not in likely]
    likely += random.Random(str(shape)).sample(others, min(BEST.spread, len(others)))
    if layout.startswith("col") and shape[0] <= 32:
        apart = [i for i in order if times[i] < math.inf and i not in likely]
        likely += [i for i in apart if known[i].kernel.load_by == "pointers_a" or known[i].kernel.cluster[1] == 4]
    yield from (known[i] for i in likely)


@functools.cache
def _shipped() -> tuple[Candidate, ...]:
    return tuple(candidates(sorted(PACKAGE.glob("[!_]*.py"))))


def of_shape(shape: Shape, layout: str, made: Mapping[str, Mapping[Types, Sequence[Candidate]]]) -> list[Found]:
    found = [Found(f"ships {told(c.kernel)}", c) for c in shipped(shape, layout)]
    some: list[Found] = []
    for name in wanted(shape, layout):
        some += [Found(f"{name} {label(c.kernel)}", c) for c in made[name].get(types_of(layout), ())]
    return found + (some if BEST.most >= len(some) else first(some, shape, layout))


def first(some: Sequence[Found], shape: Shape, layout: str) -> list[Found]:
    """Those that the model puts first, but for kernels that cut tiles and would leave these whole."""
    _, *given = of_model(shape, layout)
    times, taken = dict[float, Found](), defaultdict[str, int](int)
    for one in some:
        estimate, index = one.candidate.module.TIMES, one.candidate.module.CONFIGS.index(one.candidate.config)
        if one.candidate.kernel.tail not in CUT or estimate.cut(index, shape, *given).parts > 1:
            times[estimate(shape, *given)[index]] = one
    found = []
    for us in sorted(times):
        design = times[us].name.split()[0]
        taken[design] += 1
        found += [times[us]] * (taken[design] <= BEST.alike)
    return found[: BEST.most]


def compile_ahead(jobs: Mapping[tuple[Path, Shape], set[int]], seconds: float) -> None:
    """Has child processes launch configs of modules on small problems of the kinds of their shapes."""
    order = list(jobs.items())
    random.Random(0).shuffle(order)
    with multiprocessing.get_context("spawn").Pool(min(15, os.cpu_count() or 2)) as pool:
        waiting = [pool.apply_async(_launched, (path, kind, sorted(which))) for (path, kind), which in order]
        end = time.monotonic() + seconds
        for one in waiting:
            try:
                if text := one.get(max(0.1, end - time.monotonic())):
                    print(text, flush=True)
            except multiprocessing.TimeoutError:
                print("compiling ahead took too long", flush=True)
                return


def _launched(path: Path, kind: Shape, which: Sequence[int]) -> str:
    import torch

    try:
        found = [*candidates([path])]
        for i in which:
            found[i].host(*operands(kind, found[i].module.TIMES.types), config=found[i].config)
        torch.cuda.synchronize()
    except Exception as error:
        return f"{path.stem} {kind}: {type(error).__name__}: {error}"[:300]
    return ""


def jobs_of(plan: Sequence[tuple[Shape, str, list[Found]]]) -> dict[tuple[Path, Shape], set[int]]:
    jobs: dict[tuple[Path, Shape], set[int]] = defaultdict(set)
    for shape, _, found in plan:
        for _, candidate in found:
            index = candidate.module.CONFIGS.index(candidate.config)
            jobs[Path(candidate.module.__file__), kind_of(shape)].add(index)
    return jobs


def kind_of(shape: Shape) -> Shape:
    """A small shape for which Triton compiles the same kernels, with rows that TMA can address."""
    m, n, k = (x if x == 1 else 16 if x % 16 == 0 else 24 for x in shape)
    return m, n, k


def timed(
    shape: Shape, layout: str, found: Sequence[Found], host: Any, gpu: Any
) -> tuple[dict[str, float], float, Any]:
    """Microseconds in the chain of each design, of the function's own pick, and of torch; the link's; the operands."""
    import torch

    from tlxgen.bench.timing import interleave

    m, n, k = shape
    types = types_of(layout)
    inputs = [operands(shape, types) for _ in range(gpu.sets(2.0 * (m * k + k * n)))]
    out = torch.empty((m, n), device="cuda", dtype=torch.bfloat16)
    right = torch.mm(*inputs[0]).float()
    norm = float(right.norm())
    calls: dict[str, Any] = {} if BEST.alone else {"picked": functools.partial(host, out=out)}
    calls |= {name: functools.partial(c.host, config=c.config, out=out) for name, c in found}
    timers = {}
    for name, call in calls.items():
        out.fill_(float("nan"))
        try:
            call(*inputs[0])
        except Exception as error:
            print(f"{name} on {shape} {layout}: {type(error).__name__}: {error}"[:200], flush=True)
            continue
        off = float((out.float() - right).norm()) / norm
        if not off < WRONG:
            print(f"WRONG numbers: {name} on {shape} {layout}: {off:.1e}", flush=True)
            continue
        runs = [functools.partial(call, a, b) for a, b in inputs]
        timers[name] = gpu.chain(runs, max(5.0, gpu.roughly(runs[0])))
    for name in ("torch", *(["again"] if not BEST.alone else [])):
        runs = [functools.partial(torch.mm, a, b, out=out) for a, b in inputs]
        timers[name] = gpu.chain(runs, max(5.0, gpu.roughly(runs[0])))
    timers["link"] = gpu.link()
    figures = {name: figure.us for name, figure in interleave(timers, turns=TURNS).items()}
    link = figures.pop("link")
    operand = inputs[0]
    del timers
    gpu.release()
    return figures, link, operand


def kernels_of(call: Callable[[], Any]) -> list[str]:
    """The names of the kernels that a call launches, or none where they cannot be seen."""
    import torch

    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
            call()
            torch.cuda.synchronize()
    except RuntimeError:
        return []
    found = [x for x in profiler.events() if x.device_type == torch.autograd.DeviceType.CUDA]
    return sorted({x.name[:120] for x in found if not x.name.startswith("Mem")})


def measured(plan: Sequence[tuple[Shape, str, list[Found]]], file: Path, end: float) -> None:
    import torch

    from tlxgen.bench.gpu import Gpu as Bench

    gpu, host = Bench(), function(PACKAGE.resolve())
    groups: list[dict[str, Any]] = []
    ratios: dict[str, list[float]] = {"picked": [], "best of all": []}
    for shape, layout, found in plan:
        if time.monotonic() > end:
            print("no time is left", flush=True)
            break
        figures, link, operand = timed(shape, layout, found, host, gpu)
        of_name = {name: c for name, c in found if name in figures}
        if not of_name:
            continue
        module = next(iter(of_name.values())).module
        pitches, types = module.pitches_of(*operand), types_of(layout)
        us = {name: figures[name] - link for name in figures}
        entry = group("gemm_designs.py", module.TIMES, shape, pitches, {c.kernel: 0.0 for c in of_name.values()})
        rows_of = []
        for name, candidate in of_name.items():
            one = group("", module.TIMES, shape, pitches, {candidate.kernel: us[name]})["kernels"][0]
            if candidate.kernel.tail in CUT:
                times = candidate.module.TIMES
                cut = times.cut(
                    candidate.module.CONFIGS.index(candidate.config), shape, Gpu(gpu.name, gpu.sms), pitches
                )
                one["cut"] = list(cut)
            plain = {} if "plain" not in name else {"specialized": False}
            rows_of.append({"design": name, **plain, **one})
        assert types == module.TIMES.types
        if not BEST.alone:
            entry |= {"cublas": kernels_of(functools.partial(torch.mm, *operand))}
        entry |= {"kernels": rows_of, "torch_us": us["torch"]}
        entry |= {f"{name}_us": us[name] for name in ("again", "picked") if name in us}
        groups.append({k: round(v, 3) if isinstance(v, float) else v for k, v in entry.items()})
        write(file, gpu.name, groups)
        off = link if us["torch"] < HELD else 0.0
        ratio = {name: (us["torch"] + off) / (value + off) for name, value in us.items()}
        best = sorted(of_name, key=us.__getitem__)
        ratios["picked"] += [ratio["picked"]] if "picked" in ratio else []
        ratios["best of all"].append(max(ratio[best[0]], ratio.get("picked", 0.0)))
        shown = ", ".join(f"{name} {us[name]:.2f}" for name in best[:SHOWN])
        told = f"torch {us['torch']:.2f}"
        if not BEST.alone:
            told += f" ({us['again']:.2f}) picked {us['picked']:.2f} ({ratio['picked']:.2f})"
        print(f"{'x'.join(map(str, shape))} {layout}: {told} best {ratio[best[0]]:.2f}: {shown}", flush=True)
    for what, values in ratios.items():
        if values:
            print(f"{what}: geometric mean {statistics.geometric_mean(values):.3f}, least {min(values):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("gemm_designs.json"))
    parser.add_argument("--seconds", type=float, default=190)
    parser.add_argument("--shapes", type=int, default=len(SHAPES), help="only the first so many")
    parser.add_argument("--behind", type=Path, help="a record of gemm_random, whose shapes are taken instead")
    parser.add_argument("--below", type=float, default=0.93)
    parser.add_argument("--least-m", type=int, default=1)
    parser.add_argument("--most-m", type=int, default=1 << 30)
    parser.add_argument("--random", type=int, help="so many random shapes with rows from --least-m to --most-m instead")
    parser.add_argument("--drawn", type=int, help="so many random shapes in all layouts instead")
    parser.add_argument("--expected", type=int, default=0, help="so many more that ship, by corrected estimates")
    parser.add_argument("--spread", type=int, default=0, help="so many more likely kernels that ship, at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--given", default="", help="these instead, such as 258x448x15104:row:col,100x64x512:row:row")
    parser.add_argument("--shipped", type=int, default=3)
    parser.add_argument("--likely", type=float, default=1.25)
    parser.add_argument("--most", type=int, default=BEST.most, help="only so many designs of a shape, by the model")
    parser.add_argument("--alike", type=int, default=BEST.alike, help="only so many tiles of one design")
    parser.add_argument("--alone", action="store_true", help="no pick of the function, and torch once")
    parser.add_argument("--only-tma", action="store_true", help="no kernels whose threads copy operands")
    parser.add_argument("--designs", default="", help="only designs in whose names this pattern is found; - for none")
    parser.add_argument("--dry", action="store_true", help="without a GPU: builds, and lists what would be timed")
    given = parser.parse_args()
    begin = time.monotonic()
    BEST.shipped, BEST.likely, BEST.designs = given.shipped, given.likely, given.designs
    BEST.most, BEST.alike, BEST.spread, BEST.expected = given.most, given.alike, given.spread, given.expected
    BEST.alone = given.alone
    if given.only_tma:
        BEST.load_by = ("tma",)
    shapes = [*SHAPES]
    if given.given:
        parts = [text.split(":") for text in given.given.split(",")]
        shapes = [(tuple(map(int, shape.split("x"))), f"{a} {b}") for shape, a, b in parts]  # type: ignore[misc]
    elif given.random:
        shapes = random_rows(given.random, given.seed, given.least_m, given.most_m)
    elif given.drawn:
        shapes = any_rows(given.drawn, given.seed)
    elif given.behind:
        shapes = behind(given.behind, given.below, given.least_m)
    shapes = shapes[: len(shapes) if given.drawn else given.shapes]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(folder, shapes)
        made = designs(folder)
        plan = [(shape, layout, of_shape(shape, layout, made)) for shape, layout in shapes]
        jobs = jobs_of(plan)
        count = sum(len(found) for _, _, found in plan)
        print(f"{len(plan)} shapes, {count} times, {sum(map(len, jobs.values()))} kernels to compile, built after "
              f"{time.monotonic() - begin:.0f} s", flush=True)  # fmt: skip
        if given.dry:
            for shape, layout, found in plan:
                print(shape, layout, ", ".join(name for name, _ in found))
            return
        compile_ahead(jobs, given.seconds / 2)
        print(f"compiled after {time.monotonic() - begin:.0f} s", flush=True)
        measured(plan, given.json, begin + given.seconds)


if __name__ == "__main__":
    main()
