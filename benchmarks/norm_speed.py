"""Which schedule and tile suit a norm, beside torch, torch.compile, quack and a copy of the same bytes.

    python benchmarks/norm_speed.py [rms,layer] [--shapes 8192x8192,...] [--seconds 75] [--json FILE]

Each candidate is a spec of its own, made and built here. A child for each problem compiles, checks the numbers of
everything that it is to time and captures its graphs, all children at a time. Then they time, one after the other, each
in one interleaved run. A baseline that cannot be set up in time is left out, and so is a child that is not ready in
`--seconds`: nothing can hang the run. A ratio is over the best of the baselines of that run.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import json
import os
import signal
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
BASELINE_S = 40  # seconds that the first call of a baseline may take, which compiles
TIMING_S = 20  # seconds that the timing of one problem may take


@dataclass(frozen=True)
class Candidate:
    """One spec. `pdl`: programmatic dependent launch."""

    kind: str
    m: int
    n: int
    warps: int
    cluster: int = 1
    pdl: bool = False
    registers: int | None = None
    parts: int = 1  # of n columns, where the kind is staged

    def name(self, norm: str) -> str:
        registers = f"_r{self.registers}" if self.registers else ""
        pdl = "_p" if self.pdl else ""
        parts = f"x{self.parts}" if self.kind == "staged" else ""
        return f"{norm}_{self.kind}_{self.m}x{self.n}{parts}_w{self.warps}_c{self.cluster}{registers}{pdl}"

    def spec(self, norm: str) -> dict[str, Any]:
        """The spec, as the shipped ones of each norm: a layer norm with bias and statistics, RMSNorm with y alone."""
        full = norm == "layer"
        registers = self.registers or (80 if full and self.kind == "looped" and self.n > 256 * self.warps else None)
        return {
            "kernel": "norm_fwd",
            "name": self.name(norm),
            "arch": "sm90",
            "problem": {"norm": norm, "bias": full, "stats": full},
            "schedule": {"kind": self.kind, "pdl": self.pdl},
            "tile": {"m": self.m, "n": self.n},
            "cluster": {"n": self.cluster},
            "tasks": {"reduce": {"warps": self.warps, "registers": registers}},
            "rings": {"x": self.parts},
        }


def candidates(shape: Shape) -> Iterator[Candidate]:
    """What may be best for a problem, by where x is held, how many threads have a row, and how they load and store."""
    _, n = shape
    both = (False, True)
    if n <= 1024:
        for held, warps in ((512, 1), (1024, 1), (1024, 2), (2048, 2), (2048, 4)):
            yield from (Candidate("grid", max(held // n, 1), n, warps, 1, pdl) for pdl in both)
        yield Candidate("grid", 2048 // n, n, 1, 1, True, 104)
    elif n < 8192:
        yield from (Candidate("persistent", 1, 8192, w, 1, pdl) for w, pdl in ((8, False), (8, True), (16, False)))
        yield Candidate("grid", 1, 8192, 8, 1, True)
        yield from looped(1, False, (1024, 4), (512, 2))
        yield from looped(1, True, (2048, 8), (1024, 4))
        yield from (staged(n, 1, *of) for of in ((False, 1024, 4), (True, 1024, 4), (True, 512, 2)))
    elif n == 8192:
        yield from (Candidate("grid", 1, n, 8, 1, pdl) for pdl in both)
        yield from (Candidate("grid", 1, n, 8, 1, False, 96), Candidate("persistent", 1, n, 8))
        yield from looped(1, False, (2048, 8), (4096, 8), (4096, 16), (1024, 4))
        yield from looped(1, True, (2048, 8))
        yield from (staged(n, 1, *of) for of in ((False, 2048, 8), (True, 2048, 8), (True, 1024, 4), (False, 4096, 16)))
    elif n == 32768:
        yield from (*looped(1, False, (2048, 8), (4096, 16)), *looped(2, False, (2048, 8), (4096, 8)))
        yield from (*looped(2, True, (2048, 8)), *looped(4, False, (2048, 8)))
        yield from (staged(n, 2, *of) for of in ((False, 2048, 8), (True, 2048, 8)))
        yield from (staged(n, 4, True, 2048, 8), staged(n, 1, False, 4096, 16))
        yield Candidate("persistent", 1, 16384, 16, 2)
    else:
        yield from (*looped(8, False, (2048, 8), (4096, 8), (4096, 16)), *looped(4, False, (2048, 8)))
        yield from looped(8, True, (2048, 8))
        yield from (staged(n, 8, pdl, 2048, 8) for pdl in both)
        yield from (staged(n, 8, False, *of) for of in ((1024, 4), (4096, 16)))
        yield from (staged(n, 4, False, 4096, 16), Candidate("grid", 1, 16384, 16, 8))


def looped(cluster: int, pdl: bool, *tiles: tuple[int, int]) -> Iterator[Candidate]:
    """Rows read twice, of tiles of so many columns and warps."""
    return (Candidate("looped", 1, columns, warps, cluster, pdl) for columns, warps in tiles)


def staged(n: int, cluster: int, pdl: bool, columns: int, warps: int) -> Candidate:
    """Rows of n columns in SMEM, in as many parts as they need."""
    return Candidate("staged", 1, columns, warps, cluster, pdl, parts=-(-n // (columns * cluster)))


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


# --- what a child does: one problem -----------------------------------------------------------------------------------


class TooLong(Exception):
    """A baseline is not set up in time."""


def problem_rows(norm: str, shape: Shape, work: Path, turns: int) -> list[dict[str, Any]]:
    """The rows of one problem, in microseconds; `ratio`: speed over the best baseline; `copy`: over a copy of x.

    Everything is set up first; the timing begins when the parent says so.
    """
    from tlxgen.bench.comparison import Case, time_problem
    from tlxgen.bench.gpu import Gpu
    from tlxgen.bench.spec import Bench
    from tlxgen.families.norm_fwd import benchmark

    class Shared(Gpu):
        """A GPU that others use while replays are set up: what they would measure then is taken from the bytes."""

        def roughly(self, run: Any) -> float:
            run()
            return max(problem.bytes_moved / 4e6, 1.0)

        def host_us(self, run: Any, lead: int = 0) -> float:
            return float("nan")

    device, found = Shared(), list(made(norm, shape, work))
    name, path = found[0]
    problem = Bench(path, work / "made" / name).problem(shape, device.device)
    parsed, wrong, inputs = caller(name, path, work)[0], problem.wrong, problem.inputs
    problem = replace(
        problem,
        inputs=lambda: {n: t.contiguous() if hasattr(t, "contiguous") else t for n, t in inputs().items()},
        wrong=lambda tensors, out: "" if out is None else wrong(tensors, out),
    )
    cases = [Case("copy", copy), *(Case(n, functools.partial(caller(n, p, work)[1], shape)) for n, p in found)]
    cases += [Case(n, in_time(make), baseline=True) for n, make in benchmark.baselines(parsed).items()]
    rows = time_problem(problem, cases, device, turns=turns, on_step=functools.partial(wait_for_turn, work))
    times = {row.name: row.latency * 1e3 for row in rows if row.latency is not None}
    best = min((times[c.name] for c in cases if c.baseline and c.name in times), default=float("nan"))
    figures = [asdict(row) | {"norm": norm, "us": times.get(row.name)} for row in rows]
    for row in figures:
        row["ratio"], row["copy"] = (of / row["us"] if row["us"] else None for of in (best, times.get("copy", best)))
    return figures


def in_time(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A baseline's maker that raises TooLong where its first call, which compiles, takes longer than BASELINE_S."""

    def late(*_: object) -> None:
        raise TooLong(f"more than {BASELINE_S} s")

    def made_in_time(tensors: Any) -> Any:
        signal.signal(signal.SIGALRM, late)
        signal.alarm(BASELINE_S)
        try:
            run = make(tensors)
            run()
        finally:
            signal.alarm(0)
        return run

    return made_in_time


def wait_for_turn(work: Path, step: str) -> None:
    """Says that a child is ready to time, and waits until it may."""
    if step.startswith("timing"):
        (work / f"ready_{os.getpid()}").touch()
        while not (work / f"go_{os.getpid()}").exists():
            time.sleep(0.01)


def copy(tensors: Any) -> Callable[[], None]:
    source = tensors["x"]
    target = source.clone()

    def run() -> None:
        target.copy_(source)

    return run


# --- what the parent does ---------------------------------------------------------------------------------------------


def timed(norms: list[str], shapes: list[Shape], work: Path, given: argparse.Namespace) -> None:
    """Starts a child for each problem, and lets one after the other time what it has set up."""
    for old in (*work.glob("ready_*"), *work.glob("go_*")):
        old.unlink()
    end = time.monotonic() + given.seconds
    rows: list[dict[str, Any]] = []
    children = []
    for shape, norm in itertools.product(shapes, norms):
        of = f"{norm}_{shape[0]}x{shape[1]}"
        call = [norm, "--shapes", f"{shape[0]}x{shape[1]}", "--turns", str(given.turns), "--child", of]
        with (work / f"{of}.log").open("w") as log:
            command = [sys.executable, __file__, "--work", str(work), *call]
            children.append((of, subprocess.Popen(command, stdout=log, stderr=log)))
    while time.monotonic() < end and not all(_is_ready(work, child) for _, child in children):
        time.sleep(0.05)
    for child in (child for _, child in children if not _is_ready(work, child)):
        child.kill()  # it would disturb the others
        child.wait()
    for of, child in children:
        if child.poll() is None:
            (work / f"go_{child.pid}").touch()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(TIMING_S)
        path = work / f"{of}.json"
        if child.poll() is None or child.returncode or not path.exists():
            child.kill()
            child.wait()
            print(f"\n{of}: no figures; the end of its log:\n{(work / f'{of}.log').read_text()[-600:]}")
            continue
        table(of, json.loads(path.read_text()))
        rows += json.loads(path.read_text())
        if given.json:
            given.json.write_text(json.dumps({"command": " ".join(sys.argv), "rows": rows}, indent=1))


def _is_ready(work: Path, child: subprocess.Popen[bytes]) -> bool:
    return child.poll() is not None or (work / f"ready_{child.pid}").exists()


def table(of: str, rows: list[dict[str, Any]]) -> None:
    print(f"\n{of}")
    for row in sorted(rows, key=lambda r: r["us"] or float("inf")):
        if row["us"] is None:
            print(f"  {row['name']:44} {row['error'][:120]}")
            continue
        figures = f"{row['us']:8.2f} us  {row['copy']:6.1%} of a copy  {row['ratio']:.3f} of the best"
        print(f"  {row['name']:44} {figures}{'  noisy' if row['noisy'] else ''}")
    sys.stdout.flush()


def problems(text: str) -> list[Shape]:
    return [(int(m), int(n)) for m, n in (one.split("x") for one in text.split(","))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("norms", nargs="?", default="rms,layer")
    parser.add_argument("--shapes", type=problems, default=list(SHAPES))
    parser.add_argument("--seconds", type=float, default=75.0, help="after which a child that is not ready is left out")
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", type=Path, help="where specs and modules lie, or are to; by default a new folder")
    parser.add_argument("--prepare", action="store_true", help="only build what is to be timed, which needs no GPU")
    parser.add_argument(
        "--prepared", action="store_true", help="build nothing: --work has all, perhaps of another machine"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    norms, work, begin = given.norms.split(","), given.work, time.monotonic()
    if given.child:
        rows = problem_rows(norms[0], given.shapes[0], work, given.turns)
        (work / f"{given.child}.json").write_text(json.dumps(rows))
        return
    work = (work or Path(tempfile.mkdtemp(prefix="norm_speed_"))).resolve()
    if not given.prepared:
        build(norms, given.shapes, work)
    print(f"built in {time.monotonic() - begin:.0f} s", flush=True)
    if not given.prepare:
        timed(norms, given.shapes, work, given)
        print(f"done in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
