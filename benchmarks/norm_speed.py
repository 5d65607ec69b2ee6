"""Which schedule and config suit a norm or its backward, beside torch, torch.compile, quack and a copy of the bytes.

    python benchmarks/norm_speed.py [forward|backward] [--norms rms,layer] [--shapes 8192x8192,...] [--json FILE]

A candidate is a config of a module that is built here, or the module's own pick. A child for each problem compiles,
checks the numbers of everything that it is to time and captures its graphs, all children at a time. Then they time, one
after the other, each in one interleaved run. A baseline that cannot be set up in time is left out, and so is a child
that is not ready in `--seconds`: nothing can hang the run. A ratio is over the best of the baselines of that run.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import functools
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # its workers find no GPU through fbtriton

Shape = tuple[int, int]
Config = dict[str, int]
SHAPES: tuple[Shape, ...] = ((8192, 8192), (4096, 32768), (1024, 131072), (32768, 1024), (65536, 512), (3000, 5000))
SPECS = Path(__file__).resolve().parents[1] / "specs"
BASELINE_S = 40  # seconds that the first call of a baseline may take, which compiles
TIMING_S = 20  # seconds that the timing of one problem may take


@dataclass(frozen=True)
class Module:
    """A shipped spec, or its one structure with some keys changed; `edits` of its source are for what no key says."""

    spec: str
    name: str
    keys: tuple[tuple[str, Any], ...] = ()
    edits: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """Its spec, which is YAML."""
        changed: dict[str, Any] = {"name": self.name}
        if self.keys:
            changed["variants"] = {"axes": {}, "require": []}
        for key, value in self.keys:
            *outer, last = key.split(".")
            at = changed
            for part in outer:
                at = at.setdefault(part, {})
            at[last] = value
        return json.dumps({"extends": str(SPECS / f"{self.spec}.yaml")} | changed)


@dataclass(frozen=True)
class Candidate:
    """A config of a module; without constants the module's own pick."""

    module: Module
    constants: tuple[tuple[str, int], ...] = ()
    warps: int = 0
    registers: int = 0

    @property
    def name(self) -> str:
        if not self.constants:
            return self.module.name
        return (
            f"{self.module.name} " + " ".join(str(v) for _, v in self.constants) + f" w{self.warps} r{self.registers}"
        )


FIRST = 'eviction_policy="evict_first")'
HINTS: dict[str, tuple[tuple[str, str], ...]] = {
    "loads": (("mask=inside, other=0.0)", f"mask=inside, other=0.0, {FIRST}"),),
    "stores": (("y_ptr.dtype.element_ty), mask=inside)", f"y_ptr.dtype.element_ty), mask=inside, {FIRST}"),),
}
HINTS["both"] = HINTS["loads"] + HINTS["stores"]

# --- candidates of the forward ----------------------------------------------------------------------------------------


def forward(norm: str, shape: Shape) -> Iterator[Candidate]:
    """The package's own pick, and what may be better: other places of x, numbers of threads, and registers."""
    spec, n = f"hopper_{norm}_norm", shape[1]
    yield Candidate(Module(spec, spec))

    def one(
        kind: str, m: int, part: int, cluster: int, warps: int, registers: int, pdl: bool = True, hint: str = ""
    ) -> Candidate:
        keys = {"schedule.kind": kind, "schedule.pdl": pdl, "cluster.n": 8}  # other clusters are configs of the module
        name = f"{norm}_{kind}{'' if pdl else '_alone'}{'_' * bool(hint)}{hint}"
        module = Module(spec, name, tuple(keys.items()), HINTS.get(hint, ()))
        return Candidate(module, (("BLOCK_M", m), ("BLOCK_N", part), ("CLUSTER", cluster)), warps, registers)

    two = norm == "layer"  # weight and bias
    if n <= 1024:
        for warps in (w for w in (2, 4) if n >= 256 * w):  # a warp has whole chunks of one row
            yield from (one("grid", e * 32 * warps // n, n, 1, warps, r) for e, r in ((16, 64), (32, 80), (64, 128)))
        yield one("grid", 2048 // n, n, 1, 2, 80, False)
    elif n <= 8192:
        few = ((4, 168), (4, 128), (4, 96)) if two else ((4, 128), (4, 96), (4, 80))
        yield from (one("grid", 1, 8192, 1, *of) for of in (*few, (8, 48), (8, 64), (8, 80), (16, 40), (16, 64)))
        yield one("grid", 2, 8192, 1, 16, 64)
        yield one("grid", 1, 8192, 1, 8, 64, False)
        yield from (one("grid", 1, 8192, 1, 8, 64, hint=hint) for hint in HINTS)
        yield from (one("staged", 1, 4096, 2, 4, 80), one("grid", 1, 4096, 2, 8, 64))
    elif n <= 32768:
        yield from (one("staged", 1, 8192, 4, w, r) for w, r in ((4, 72), (4, 128), (8, 64), (8, 80)))
        yield from (one("staged", 1, 16384, 2, w, r) for w, r in ((8, 80), (8, 120), (16, 64)))
        yield from (one("staged", 2, 8192, 4, 8, 128 if two else 80), one("grid", 1, 32768, 1, 32, 64))
    else:
        yield from (one("staged", 1, 16384, 8, w, r) for w, r in ((8, 80), (8, 120), (16, 64)))
        yield from (one("staged", 2, 16384, 8, w, r) for w, r in ((8, 128), (16, 120)))
        yield one("staged", 1, 16384, 8, 8, 120, False)


# --- candidates of the backward ---------------------------------------------------------------------------------------


def backward(norm: str, shape: Shape) -> Iterator[Candidate]:
    """The module's own pick, and what may be better: other columns of a CTA, slots for rows, and what is read again."""
    module, n = Module(f"hopper_{norm}_norm_bwd", f"hopper_{norm}_norm_bwd"), shape[1]
    yield Candidate(module)

    def one(m: int, part: int, k: int, stages: int, warps: int, registers: int, again: int = 0) -> Candidate:
        values = ("BLOCK_M", m), ("BLOCK_N", part), ("CHUNKS", 1), ("CLUSTER", k), ("STAGES", stages)
        return Candidate(module, (*values, ("SUMS", 1), ("AGAIN", again)), warps, registers)

    if n <= 1024:
        warps = n // 256
        yield from (one(2, n, 1, s, warps, 128) for s in (2, 3))
        yield from (one(4, n, 1, s, warps, r) for s, r in ((3, 168), (2, 248)))
    elif n <= 8192:
        yield from (one(1, 4096, 2, s, 8, 128) for s in (2, 3))
        yield from (one(1, 8192, 1, 3, w, 128, again=w == 8) for w in (8, 16))
    elif n <= 32768:
        yield from (one(1, 4096, 8, s, 8, 128) for s in (2, 4))
        yield from (one(1, 16384, 2, s, 16, 128, again=1) for s in (2, 3))
    else:
        yield from (one(1, 16384, 8, s, 16, 128, again=1) for s in (2, 3))


CANDIDATES = {"forward": forward, "backward": backward}

# --- what is built ----------------------------------------------------------------------------------------------------


def build(modules: set[Module], work: Path) -> None:
    """Builds the modules in `work`."""
    folder = work / "specs"
    folder.mkdir(parents=True, exist_ok=True)
    for one in modules:
        (folder / f"{one.name}.yaml").write_text(one.text())
    subprocess.run([sys.executable, "-m", "tlxgen", "build", str(folder), "--out", str(work / "made")], check=True)
    for one in (one for one in modules if one.edits):
        for path in (work / "made" / one.name).glob(f"{one.name}*.py"):
            text = path.read_text()
            for old, new in one.edits:
                assert old in text, f"{path}: there is no {old}"
                text = text.replace(old, new)
            path.write_text(text)


def loaded(candidate: Candidate, work: Path) -> tuple[Any, Any, Any]:
    """A candidate's spec, family and module, and the config among the module's."""
    import triton

    from tlxgen.families import kernels_of
    from tlxgen.loading import load_file

    path = work / "specs" / f"{candidate.module.name}.yaml"
    kernels = kernels_of(path)
    folder = work / "made" / candidate.module.name
    package = folder / f"_{candidate.module.name}.py"  # of several modules
    module = _module(package if package.exists() else folder / f"{kernels.structures[0].name}.py", load_file)
    config = None
    if candidate.constants:
        constants = dict(candidate.constants)
        options = {"ctas_per_cga": (constants["CLUSTER"], 1, 1)} if constants["CLUSTER"] > 1 else {}
        config = triton.Config(
            constants, num_warps=candidate.warps, num_stages=1, maxnreg=candidate.registers, **options
        )
        module.CONFIGS.append(config)
    return kernels, module, config


@functools.cache
def _module(path: Path, load: Callable[[Path], Any]) -> Any:
    return load(path)


# --- what a child does: one problem -----------------------------------------------------------------------------------


class TooLong(Exception):
    """A baseline is not set up in time."""


def problem_rows(given: argparse.Namespace, norm: str, shape: Shape, work: Path) -> list[dict[str, Any]]:
    """The rows of one problem, in microseconds; `ratio`: speed over the best baseline; `copy`: over a copy.

    Everything is set up first; the timing begins when the parent says so.
    """
    from tlxgen.bench.comparison import Case, time_problem
    from tlxgen.bench.gpu import Gpu
    from tlxgen.bench.spec import Bench

    class Shared(Gpu):
        """A GPU that others use while replays are set up: what they would measure then is taken from the bytes."""

        def roughly(self, run: Any) -> float:
            run()
            return max(problem.bytes_moved / 4e6, 1.0)

        def host_us(self, run: Any, lead: int = 0) -> float:
            return float("nan")

    device, found = Shared(), candidates(given, norm, shape)
    kernels, _, _ = loaded(found[0], work)
    parsed, how = kernels.structures[0].variants[0].spec, kernels.family.benchmark()
    problem = Bench(work / "specs" / f"{found[0].module.name}.yaml", work / "made" / found[0].module.name).problem(
        shape, device.device
    )
    wrong, inputs, moved = problem.wrong, problem.inputs, problem.bytes_moved

    def checked(tensors: Any, out: Any) -> str:
        """One child at a time, since a reference takes much memory."""
        if out is None:
            return ""
        with (work / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            text = wrong(tensors, out)
            device.release()
        return text

    problem = replace(
        problem,
        inputs=lambda: {n: t.contiguous() if hasattr(t, "contiguous") else t for n, t in inputs().items()},
        wrong=checked,
    )

    def make(candidate: Candidate, tensors: Any) -> Any:
        its, module, config = loaded(candidate, work)
        return how.call(module, its.structures[0].variants[0].spec, shape, tensors, config)

    cases = [Case("copy", functools.partial(copy, int(moved)))]
    cases += [Case(one.name, functools.partial(make, one)) for one in found]
    baselines = {name: of for name, of in how.baselines(parsed).items() if name != "copy"}
    cases += [Case(name, in_time(of), baseline=True) for name, of in baselines.items()]
    step = functools.partial(wait_for_turn, work)
    rows = time_problem(problem, cases, device, turns=given.turns, chain=False, on_step=step)
    times = {row.name: row.latency * 1e3 for row in rows if row.latency is not None}
    best = min((times[name] for name in baselines if name in times), default=float("nan"))
    figures = [asdict(row) | {"norm": norm, "us": times.get(row.name)} for row in rows]
    for row in figures:
        row["ratio"], row["copy"] = (of / row["us"] if row["us"] else None for of in (best, times.get("copy", best)))
    return figures


def in_time(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A baseline's maker that raises TooLong where its first call, which compiles, takes longer than BASELINE_S. It
    returns nothing to check."""

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
        return lambda: (run(), None)[1]

    return made_in_time


def wait_for_turn(work: Path, step: str) -> None:
    """Says that a child is ready to time, and waits until it may."""
    print(f"{time.monotonic():.1f} {step}", flush=True)
    if step.startswith("timing"):
        (work / f"ready_{os.getpid()}").touch()
        while not (work / f"go_{os.getpid()}").exists():
            time.sleep(0.01)


def copy(moved: int, tensors: Any) -> Callable[[], None]:
    """Reads one half of `moved` bytes and writes the other."""
    import torch

    source, target = (torch.zeros(moved // 4, dtype=torch.bfloat16, device=tensors["x"].device) for _ in range(2))

    def run() -> None:
        target.copy_(source)

    return run


# --- what the parent does ---------------------------------------------------------------------------------------------


def timed(norms: Sequence[str], work: Path, given: argparse.Namespace) -> None:
    """Starts a child for each problem, and lets one after the other time what it has set up."""
    for old in (*work.glob("ready_*"), *work.glob("go_*")):
        old.unlink()
    end = time.monotonic() + given.seconds
    rows: list[dict[str, Any]] = []
    children = []
    for shape, norm in itertools.product(given.shapes, norms):
        of = f"{given.direction}_{norm}_{shape[0]}x{shape[1]}"
        call = [given.direction, "--norms", norm, "--shapes", f"{shape[0]}x{shape[1]}", "--turns", str(given.turns)]
        call += ["--picks"] * given.picks
        with (work / f"{of}.log").open("w") as log:
            command = [sys.executable, __file__, "--work", str(work), *call, "--child", of]
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
            told = [argument for argument in sys.argv if argument not in ("--json", str(given.json))]
            given.json.write_text(json.dumps({"command": " ".join(told), "rows": rows}, indent=1))


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


def candidates(given: argparse.Namespace, norm: str, shape: Shape) -> list[Candidate]:
    found = CANDIDATES[given.direction](norm, shape)
    return [*itertools.islice(found, 1)] if given.picks else [*found]


def problems(text: str) -> list[Shape]:
    return [(int(m), int(n)) for m, n in (one.split("x") for one in text.split(","))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("direction", nargs="?", choices=tuple(CANDIDATES), default="forward")
    parser.add_argument("--norms", type=lambda text: text.split(","), default=["rms", "layer"])
    parser.add_argument("--shapes", type=problems, default=list(SHAPES))
    parser.add_argument("--seconds", type=float, default=75.0, help="after which a child that is not ready is left out")
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--picks", action="store_true", help="time the modules' own picks and no other candidate")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", type=Path, help="where specs and modules lie, or are to; by default a new folder")
    parser.add_argument("--dry", action="store_true", help="build what is to be timed, and load it: needs no GPU")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    work, begin = given.work, time.monotonic()
    if given.child:
        rows = problem_rows(given, given.norms[0], given.shapes[0], work)
        (work / f"{given.child}.json").write_text(json.dumps(rows))
        return
    work = (work or Path(tempfile.mkdtemp(prefix="norm_speed_"))).resolve()
    todo = [c for n in given.norms for shape in given.shapes for c in candidates(given, n, shape)]
    build({one.module for one in todo}, work)
    print(f"{len(todo)} candidates, built in {time.monotonic() - begin:.0f} s", flush=True)
    if given.dry:
        for one in todo:
            loaded(one, work)
        return
    timed(given.norms, work, given)
    print(f"done in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
