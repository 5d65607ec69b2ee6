"""Which schedule, tile and hints suit a norm, beside torch, torch.compile, quack and a copy of the same bytes.

    python benchmarks/norm_speed.py [rms,layer] [--shapes 8192x8192,...] [--budget 120] [--json FILE]

Each candidate is a spec of its own, made and built here. Children compile all that is to be timed, on all CPUs, and
fill the caches of Triton, torch.compile and quack; a baseline whose child has not ended in time is left out, so that
none of them can hang the run. Then each problem is timed in one interleaved run, and the numbers of every candidate are
checked before. A ratio is over the best of the baselines of that run.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # its workers find no GPU through fbtriton

Shape = tuple[int, int]
SHAPES: tuple[Shape, ...] = ((8192, 8192), (4096, 32768), (1024, 131072), (32768, 1024), (65536, 512), (3000, 5000))
COMPILERS = 12  # children that compile candidates
WARM_SHARE = 0.5  # of the budget, that children may take


@dataclass(frozen=True)
class Candidate:
    """One spec. `hints` has x, y and p, for evict_first on x or y, and for programmatic dependent launch."""

    kind: str
    m: int
    n: int
    warps: int
    cluster: int = 1
    hints: str = ""
    registers: int | None = None
    parts: int = 1  # of n columns, where the kind is staged

    def name(self, norm: str) -> str:
        registers = f"_r{self.registers}" if self.registers else ""
        hints = f"_{self.hints}" if self.hints else ""
        parts = f"x{self.parts}" if self.kind == "staged" else ""
        return f"{norm}_{self.kind}_{self.m}x{self.n}{parts}_w{self.warps}_c{self.cluster}{registers}{hints}"

    def spec(self, norm: str) -> dict[str, Any]:
        """The spec, as the shipped ones of each norm: a layer norm with bias and statistics, RMSNorm with y alone."""
        full = norm == "layer"
        registers = self.registers or (80 if full and self.kind == "looped" and self.n > 256 * self.warps else None)
        return {
            "kernel": "norm_fwd",
            "name": self.name(norm),
            "arch": "sm90",
            "problem": {"norm": norm, "bias": full, "stats": full},
            "schedule": {"kind": self.kind, "pdl": "p" in self.hints},
            "tile": {"m": self.m, "n": self.n},
            "cluster": {"n": self.cluster},
            "tasks": {"reduce": {"warps": self.warps, "registers": registers}},
            "rings": {"x": self.parts},
            "cache": {k: "evict_first" for k in "xy" if k in self.hints},
        }


def candidates(shape: Shape) -> Iterator[Candidate]:
    """What may be best for a problem, by where x is held, how many threads have a row, and how they load and store."""
    _, n = shape
    if n <= 1024:
        for held, warps in ((512, 1), (1024, 1), (1024, 2), (2048, 2), (2048, 4)):
            yield from (Candidate("grid", max(held // n, 1), n, warps, 1, hints) for hints in ("", "p"))
        yield from (Candidate("grid", 1024 // n, n, 1, 1, hints) for hints in ("x", "yp"))
        yield Candidate("grid", 2048 // n, n, 1, 1, "p", 104)
    elif n < 8192:
        yield from (Candidate("persistent", 1, 8192, w, 1, hints) for w, hints in ((8, ""), (8, "p"), (16, "")))
        yield Candidate("grid", 1, 8192, 8, 1, "p")
        yield from looped(1, "x", (1024, 4), (512, 2))
        yield from looped(1, "xp", (2048, 8), (1024, 4))
        yield from (staged(n, 1, *of) for of in (("", 1024, 4), ("p", 1024, 4), ("p", 512, 2)))
    elif n == 8192:
        yield from (Candidate("grid", 1, n, 8, 1, hints) for hints in ("", "x", "p"))
        yield from (Candidate("grid", 1, n, 8, 1, "", 96), Candidate("persistent", 1, n, 8))
        yield from (*looped(1, "x", (2048, 8), (4096, 8), (4096, 16), (1024, 4)), *looped(1, "", (2048, 8)))
        yield from looped(1, "xp", (2048, 8))
        yield from (staged(n, 1, *of) for of in (("", 2048, 8), ("p", 2048, 8), ("p", 1024, 4), ("", 4096, 16)))
    elif n == 32768:
        yield from (*looped(1, "x", (2048, 8), (4096, 16)), *looped(2, "x", (2048, 8), (4096, 8)))
        yield from (*looped(2, "", (2048, 8)), *looped(2, "xp", (2048, 8)), *looped(4, "x", (2048, 8)))
        yield from (staged(n, 2, *of) for of in (("", 2048, 8), ("p", 2048, 8)))
        yield from (staged(n, 4, "p", 2048, 8), staged(n, 1, "", 4096, 16))
        yield Candidate("persistent", 1, 16384, 16, 2)
    else:
        yield from (*looped(8, "x", (2048, 8), (4096, 8), (4096, 16)), *looped(4, "x", (2048, 8)))
        yield from (*looped(8, "", (2048, 8)), *looped(8, "xp", (2048, 8)))
        yield from (staged(n, 8, *of) for of in (("", 2048, 8), ("p", 2048, 8), ("", 1024, 4), ("", 4096, 16)))
        yield from (staged(n, 4, "", 4096, 16), Candidate("grid", 1, 16384, 16, 8))


def looped(cluster: int, hints: str, *tiles: tuple[int, int]) -> Iterator[Candidate]:
    """Rows read twice, of tiles of so many columns and warps."""
    return (Candidate("looped", 1, columns, warps, cluster, hints) for columns, warps in tiles)


def staged(n: int, cluster: int, hints: str, columns: int, warps: int) -> Candidate:
    """Rows of n columns in SMEM, in as many parts as they need."""
    return Candidate("staged", 1, columns, warps, cluster, hints, parts=-(-n // (columns * cluster)))


# --- what is built, and what is compiled before -----------------------------------------------------------------------


def build(norms: list[str], shapes: list[Shape], work: Path) -> None:
    """Modules of all candidates, in `work`; those that the plan rejects have none."""
    folder = work / "specs"
    folder.mkdir(parents=True, exist_ok=True)
    for norm in norms:
        for one in {c for shape in shapes for c in candidates(shape)}:
            path = folder / f"{one.name(norm)}.yaml"
            path.write_text(json.dumps(one.spec(norm)))  # which is YAML
            if not fits(path):
                path.unlink()
    subprocess.run([sys.executable, "-m", "tlxgen", "build", str(folder), "--out", str(work / "made")], check=True)


def fits(spec: Path) -> bool:
    from tlxgen.families import kernels_of

    return bool(kernels_of(spec).structures)


def made(norm: str, shape: Shape, work: Path) -> Iterator[tuple[str, Path]]:
    """Names and spec files of the candidates for a problem that there are."""
    for one in dict.fromkeys(candidates(shape)):
        path = work / "specs" / f"{one.name(norm)}.yaml"
        if path.exists():
            yield one.name(norm), path


def caller(name: str, spec: Path, work: Path) -> tuple[Any, Callable[[Shape, Any], Any]]:
    """A candidate's spec, and what makes the call to time of a problem and its tensors."""
    from tlxgen.families import kernels_of
    from tlxgen.families.norm_fwd import benchmark
    from tlxgen.loading import load_file

    module = load_file(work / "made" / name / f"{name}.py")
    parsed = kernels_of(spec).structures[0].variants[0].spec
    return parsed, lambda shape, tensors: benchmark.call(module, parsed, shape, tensors, module.CONFIGS[0])


def compile_part(norms: list[str], shapes: list[Shape], work: Path, part: int) -> None:
    """Runs every so many-th candidate once, on few rows: what it compiles depends on their number modulo 16 alone."""
    import torch

    from tlxgen.families.norm_fwd import problem

    todo = [(*one, shape) for norm in norms for shape in shapes for one in made(norm, shape, work)]
    for name, path, (m, n) in todo[part::COMPILERS]:
        parsed, call = caller(name, path, work)
        few = (16 + m % 16, n)
        call(few, problem.inputs(parsed, few, torch.device("cuda")))()
    torch.cuda.synchronize()


def warm_baselines(norm: str, shape: Shape, work: Path) -> None:
    """Calls each baseline once, and notes that it can be called."""
    import torch

    from tlxgen.families.norm_fwd import benchmark, problem

    _, path = next(made(norm, shape, work))
    parsed = caller(path.stem, path, work)[0]
    tensors = problem.inputs(parsed, shape, torch.device("cuda"))
    for name, make in sorted(benchmark.baselines(parsed).items()):
        try:
            make(tensors)()
            torch.cuda.synchronize()
        except Exception as error:  # one that this host lacks something for
            print(f"{norm} {shape} {name}: {type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
            continue
        (work / f"ready_{norm}_{shape[0]}x{shape[1]}_{name}").touch()


def warm(norms: list[str], shapes: list[Shape], work: Path, seconds: float) -> None:
    """Lets children compile everything; ends those that are not done in time."""
    names, sizes = ",".join(norms), ",".join(f"{m}x{n}" for m, n in shapes)
    calls = [[names, "--shapes", sizes, "--part", str(i)] for i in range(COMPILERS)]
    calls += [[norm, "--shapes", f"{m}x{n}", "--baselines"] for norm in norms for m, n in shapes]
    command, end = [sys.executable, __file__, "--work", str(work)], time.monotonic() + seconds
    with (work / "children.log").open("w") as log:
        children = [subprocess.Popen([*command, *call], stderr=log, stdout=log) for call in calls]
    for child, call in zip(children, calls, strict=True):
        try:
            if child.wait(max(0.1, end - time.monotonic())):
                print(f"failed, see {work / 'children.log'}: {' '.join(call)}")
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            print(f"not done in time: {' '.join(call)}")


# --- what is timed ----------------------------------------------------------------------------------------------------


def measure(norm: str, shape: Shape, work: Path, turns: int) -> list[dict[str, Any]]:
    """The rows of one problem, in microseconds; `ratio`: speed over the best baseline; `copy`: over a copy of x."""
    from tlxgen.bench.comparison import Case, time_problem
    from tlxgen.bench.gpu import Gpu
    from tlxgen.bench.spec import Bench
    from tlxgen.families.norm_fwd import benchmark

    device, found = Gpu(), list(made(norm, shape, work))
    name, path = found[0]
    problem = Bench(path, work / "made" / name).problem(shape, device.device)
    parsed, wrong = caller(name, path, work)[0], problem.wrong
    problem = replace(problem, wrong=lambda t, out: "" if out is None else wrong(t, out))
    cases = [Case("copy", copy)]
    ready = {p.name.rpartition("_")[2] for p in work.glob(f"ready_{norm}_{shape[0]}x{shape[1]}_*")}
    cases += [Case(n, make, baseline=True) for n, make in benchmark.baselines(parsed).items() if n in ready]
    cases += [Case(n, functools.partial(caller(n, p, work)[1], shape)) for n, p in found]
    rows = time_problem(problem, cases, device, turns=turns)
    device.release()
    times = {row.name: row.latency * 1e3 for row in rows if row.latency is not None}
    best = min((times[c.name] for c in cases if c.baseline and c.name in times), default=float("nan"))
    for row in rows:
        if row.error:
            print(f"{row.name}: {row.error}")
    return [
        asdict(row) | {"norm": norm, "us": us, "ratio": best / us, "copy": times.get("copy", float("nan")) / us}
        for row in rows
        if (us := times.get(row.name))
    ]


def copy(tensors: Any) -> Callable[[], None]:
    source = tensors["x"].contiguous()
    target = source.clone()

    def run() -> None:
        target.copy_(source)

    return run


def table(norm: str, shape: Shape, rows: list[dict[str, Any]]) -> None:
    print(f"\n{norm} {shape[0]}x{shape[1]}")
    for row in sorted(rows, key=lambda r: r["us"]):
        figures = f"{row['us']:8.2f} us  {row['copy']:6.1%} of a copy  {row['ratio']:.3f} of the best"
        print(f"  {row['name']:44} {figures}{'  noisy' if row['noisy'] else ''}")
    sys.stdout.flush()


def problems(text: str) -> list[Shape]:
    return [(int(m), int(n)) for m, n in (one.split("x") for one in text.split(","))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("norms", nargs="?", default="rms,layer")
    parser.add_argument("--shapes", type=problems, default=list(SHAPES))
    parser.add_argument("--budget", type=float, default=120.0, help="seconds")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", type=Path, help="where specs and modules lie, or are to; by default a new folder")
    parser.add_argument("--prepare", action="store_true", help="only build what is to be timed, which needs no GPU")
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--baselines", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    norms = given.norms.split(",")
    if given.part is not None:
        compile_part(norms, given.shapes, given.work, given.part)
    elif given.baselines:
        warm_baselines(norms[0], given.shapes[0], given.work)
    else:
        compare(norms, given)


def compare(norms: list[str], given: argparse.Namespace) -> None:
    begin = time.monotonic()
    work = given.work or Path(tempfile.mkdtemp(prefix="norm_speed_"))
    build(norms, given.shapes, work)  # at once, where it has been prepared
    if given.prepare:
        return
    warm(norms, given.shapes, work, WARM_SHARE * given.budget)
    print(f"built and compiled in {time.monotonic() - begin:.0f} s")
    rows: list[dict[str, Any]] = []
    for shape in given.shapes:
        for norm in norms:
            if time.monotonic() - begin > given.budget:
                print(f"no time left for {norm} {shape}")
                continue
            of_one = measure(norm, shape, work, given.turns)
            table(norm, shape, of_one)
            rows += of_one
            if given.json:
                given.json.write_text(json.dumps({"command": " ".join(sys.argv), "rows": rows}, indent=1))
    print(f"done in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
