"""What stamps of the clock cost: of instrumented twins the SASS beside the plain kernels', and the time on a GPU.

    python benchmarks/instrumented.py sass --out benchmarks/results/instrumented-sass.md    # no GPU; some minutes
    python benchmarks/instrumented.py gpu --out OUT       # on a Hopper GPU, in less than 150 s; a folder

`gpu` holds the figures against the bars: at most 5 % slower, intervals that add up to a task's time within 2 %. With
`--variants` other ways of stamping (stamp_variants.py) stand beside them, which tell where the cost lies.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stamp_variants import DEFAULT, FIRST, SOFT, UNREAD, VARIANTS, WAITS, WITHOUT, reordered, thinned, variant

from tlxgen import stamp
from tlxgen.bench.timing import interleave
from tlxgen.compile import Job, Resources, compile_all
from tlxgen.families import kernels_of
from tlxgen.loading import load_file
from tlxgen.profile.compiled import SAME, differences, job_of_twin
from tlxgen.profile.folder import files_of, twins, write
from tlxgen.profile.instrument import STAMPS, instrument, shared_stamps, table_name
from tlxgen.profile.times import times_of
from tlxgen.review.tables import Table
from tlxgen.verbs.compile import job_of
from tlxgen.working import of_spec

SPECS = Path(__file__).parents[1] / "specs"
COMPILED = [
    ("hopper_gemm", "hopper_gemm_cooperative"),
    ("hopper_gemm", "hopper_gemm_pingpong"),
    ("hopper_attention_fwd", "hopper_attention_fwd_none"),
    ("hopper_attention_fwd", "hopper_attention_fwd_causal"),
    ("hopper_attention_bwd", "hopper_attention_bwd_none_together"),
    ("hopper_attention_bwd", "hopper_attention_bwd_causal_together"),
    ("hopper_rms_norm", "hopper_rms_norm_grid"),
    ("hopper_grouped_gemm", "hopper_grouped_gemm_row_pingpong"),
    ("blackwell_gemm", "blackwell_gemm_persistent"),
]
SHOWN = ("HGMMA", "UTCHMMA", "UTMALDG", "UTMASTG", "UTMAREDG", "BAR", "SYNCS")
MEASURED = [
    ("hopper_gemm", "hopper_gemm_cooperative", "8192x8192x4096"),
    ("hopper_gemm", "hopper_gemm_pingpong", "8192x8192x4096"),
    ("hopper_attention_fwd", "hopper_attention_fwd_none", "4x16x16x4096x4096"),
    ("hopper_attention_fwd", "hopper_attention_fwd_causal", "4x16x16x4096x4096"),
    ("hopper_attention_bwd", "hopper_attention_bwd_none_together", "4x16x16x4096x4096"),
    ("hopper_attention_bwd", "hopper_attention_bwd_causal_together", "4x16x16x4096x4096"),
]
SLOWER, SUM, TIME_S = 0.05, 0.02, 140
PROCESSES, TURNS = 16, 30


def _compiled(spec: str, name: str, workers: int) -> tuple[Resources, Resources]:
    """The last config of a structure, plain and with stamps. Raises RuntimeError where one does not compile."""
    path = SPECS / f"{spec}.yaml"
    structure = kernels_of(path).structure(name)
    with of_spec(path) as work, tempfile.TemporaryDirectory() as folder:
        write(files_of(work, twins(work, [structure])), Path(folder))
        variant = structure.variants[-1]
        assert variant.plan
        plain = job_of(work.path(name), variant, variant.plan.launches[0])
        jobs: list[Job] = [plain, job_of_twin(plain, Path(folder) / f"{name}.py")]
        cache = stamp.cache_folder() / "compiled"
        found = []
        for outcome in compile_all(jobs, workers=workers, timeout_s=300, cache=cache):
            if outcome.resources is None:
                raise RuntimeError(f"{outcome.job}: {outcome.error}")
            found.append(outcome.resources)
        return found[0], found[1]


def _sass_rows(workers: int) -> Iterator[tuple[object, ...]]:
    for spec, name in COMPILED:
        plain, twin = _compiled(spec, name, workers)
        wrong = "; ".join(differences(plain, twin)) or "nothing"
        for what, kernel in (("plain", plain), ("twin", twin)):
            sass = kernel.sass or {}
            stamps = sass.get("STG", 0) - (plain.sass or {}).get("STG", 0)
            counts = [sass.get(opcode, 0) for opcode in (*SHOWN, "total")]
            moves = ", ".join(f"{action} {count}" for action, count in kernel.setmaxnreg) or "none"
            yield name, what, *counts, stamps, kernel.spill_store_bytes, kernel.smem_bytes, moves, wrong


def sass(out: Path, workers: int) -> int:
    of_each = (*SHOWN, "all", "STG more", "spill B", "SMEM B", "setmaxnreg")
    columns = ("kernel", "which", *of_each, "differs in")
    table = Table("SASS of instrumented twins beside the plain kernels", columns)
    held = ", ".join(SAME)
    table.note = f"The last config of each. Held against each other: setmaxnreg, barriers, warps, spills, {held}."
    for row in _sass_rows(workers):
        table.add(*row[:-1], row[-1] if row[1] == "twin" else "")
        print(*row[:2], row[-1], file=sys.stderr, flush=True)
    out.write_text(table.markdown())
    return 0


def gpu(out: Path, kernels: Sequence[str], variants: Sequence[str], time_s: float) -> int:
    """Times plain kernels and their twins in turns, each twin with every variant of stamps; holds the default's to the
    bars. Every kernel is compiled in a process of its own first, all of them at the same time."""
    out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="stamps-") as folder, ExitStack() as stack:
        cases = [
            _case(stack, Path(folder), *measured, variants) for measured in MEASURED if _chosen(measured[1], kernels)
        ]
        _compile_all(cases, Path(folder))
        print(f"compiled after {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        columns = ("kernel", "shape", "stamps", "us", "slower %", "accounted %", "spread %", "bars")
        table = Table("Instrumented kernels on a GPU", columns)
        records: list[object] = []
        failed = False
        for case in cases:
            if time.monotonic() - start > time_s:
                print(f"{case.name}: no time left", file=sys.stderr)
                failed = True
                continue
            for row in _measured(case):
                bars = "" if row.variant not in (DEFAULT, WAITS) else "met" if row.met else "missed"
                failed |= bars == "missed"
                told = f"{100 * row.told:.2f}" if row.told else ""
                figures = (f"{row.us:.1f}", f"{100 * row.more:.2f}", told, f"{100 * row.spread:.2f}")
                table.add(case.name, "x".join(map(str, case.shape)), row.variant, *figures, bars)
                records.append(asdict(row))
            (out / "instrumented.md").write_text(table.markdown())
            (out / "instrumented.json").write_text(json.dumps(records, indent=1))
    print(table.markdown())
    return int(failed)


def _chosen(name: str, parts: Sequence[str]) -> bool:
    return any(part in name for part in parts)


@dataclass(frozen=True)
class _Case:
    """A structure on a problem, with its plain module and, for each variant of stamps, the file of its twin."""

    spec: Path
    name: str
    shape: tuple[int, ...]
    plain: Path
    twins: dict[str, Path]


@dataclass(frozen=True)
class _Row:
    """What a variant costs, and how much of a task's time its stamps account for: that of the worst task."""

    kernel: str
    variant: str
    us: float
    more: float
    spread: float
    told: float | None
    full: int
    notes: list[str]

    @property
    def met(self) -> bool:
        exact = self.told is not None and abs(self.told - 1) <= SUM
        return self.more <= SLOWER and exact and not self.full and not self.notes


def _case(stack: ExitStack, folder: Path, spec: str, name: str, shape: str, variants: Sequence[str]) -> _Case:
    work = stack.enter_context(of_spec(SPECS / f"{spec}.yaml"))
    structure = kernels_of(work.spec).some().structure(name)
    found = {}
    for number, stamps in enumerate(variants):
        files = files_of(work, twins(work, [structure], waits=stamps == WAITS))
        files[STAMPS] = variant(shared_stamps(), stamps).encode()
        if stamps == FIRST:
            made = instrument(reordered(work.path(name).read_text()), structure.plan, structure.baked)
            files |= {f"{name}.py": made.text.encode(), table_name(name): made.table.encode()}
        files[f"{name}.py"] = thinned(files[f"{name}.py"].decode(), stamps).encode()
        place = folder / f"{name}-{number}" / spec
        write(files, place)
        found[stamps] = place / f"{name}.py"
    return _Case(work.spec, name, tuple(map(int, shape.split("x"))), work.path(name), found)


def _call(case: _Case, path: Path) -> tuple[Callable[[], Any], Any]:
    """A launch of the module in the file `path` on the case's problem, and the module."""
    import torch

    kernels = kernels_of(case.spec).some()
    spec = kernels.structure(case.name).variants[0].spec
    torch.manual_seed(0)
    tensors = kernels.family.problem().inputs(spec, case.shape, torch.device("cuda", torch.cuda.current_device()))
    module = load_file(path)
    return kernels.family.benchmark().call(module, spec, case.shape, tensors, None), module


def _compile_all(cases: Sequence[_Case], folder: Path) -> None:
    """Launches every kernel once in a process of its own, which leaves it in Triton's cache."""
    jobs = [(case, path) for case in cases for path in (case.plain, *case.twins.values())]
    running: list[tuple[Path, subprocess.Popen[bytes]]] = []
    for number, (case, path) in enumerate(jobs):
        while sum(process.poll() is None for _, process in running) >= PROCESSES:
            time.sleep(0.1)
        given = folder / f"{number}.json"
        given.write_text(json.dumps([str(case.spec), case.name, case.shape, str(case.plain), str(path)]))
        running.append((path, subprocess.Popen([sys.executable, __file__, "one", "--out", str(given)])))
    for path, process in running:
        if process.wait():
            print(f"{path}: did not run", file=sys.stderr)


def _one(given: Path) -> int:
    import torch

    spec, name, shape, plain, path = json.loads(given.read_text())
    _call(_Case(Path(spec), name, tuple(shape), Path(plain), {}), Path(path))[0]()
    torch.cuda.synchronize()
    return 0


def _measured(case: _Case) -> Iterator[_Row]:
    import torch

    from tlxgen.bench.gpu import Gpu
    from tlxgen.profile import launches

    gpu = Gpu(torch.cuda.current_device())
    plain, _ = _call(case, case.plain)
    calls = {name: _call(case, path) for name, path in case.twins.items()}
    expected = _tensors(plain())
    notes = {name: _differences(expected, _tensors(call())) for name, (call, _) in calls.items()}
    us = gpu.roughly(plain)
    runs = {"plain": plain} | {name: call for name, (call, _) in calls.items()}
    timers = {name: gpu.timer([run], us) for name, run in runs.items()}
    figures = interleave(timers, turns=TURNS)
    base = figures["plain"]
    yield _Row(case.name, "none (plain)", base.us, 0.0, base.spread, None, 0, [])
    counted: list[list[tuple[str, str, float]]] = []
    for name, (call, module) in calls.items():
        told, full, said = None, 0, notes[name]
        if name not in UNREAD and not name.startswith((WITHOUT, SOFT)):
            recorded = launches.recorded(module, call)
            tasks = times_of(recorded)
            told, full = max((task.told for task in tasks), key=lambda share: abs(share - 1)), recorded.full
            if [task.task for task in tasks] != list(recorded.tasks):
                said.append(f"only {len(tasks)} of {len(recorded.tasks)} tasks recorded anything")
            if any((r.clocks[1:] < r.clocks[:-1]).any() or r.clocks[-1] > r.clock[1] for r in recorded.records):
                said.append("clocks go backwards")
            counted.append(
                [(task.task, o.what, o.times) for task in tasks for o in sorted(task.operations, key=lambda o: o.what)]
            )
            if counted[-1] != counted[0] and name != WAITS:
                said.append("operations are counted otherwise")
        figure = figures[name]
        for line in said:
            print(f"{case.name}, {name}: {line}", file=sys.stderr)
        yield _Row(case.name, name, figure.us, figure.us / base.us - 1, figure.spread, told, full, said)


def _tensors(results: Any) -> list[Any]:
    many = results if isinstance(results, tuple) else (results,)
    return [t.float().clone() for t in many if hasattr(t, "float")]


def _differences(expected: list[Any], made: list[Any]) -> list[str]:
    """What is not as it was: sums in another order may differ a little."""
    worst = max(float((a - b).abs().max() / a.abs().max()) for a, b in zip(expected, made, strict=True))
    return [f"a result differs by {worst:.1e} of the largest"] if not worst <= 1e-2 else []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("sass", "gpu", "one"), help="one is what gpu starts")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--variants", nargs="*", default=[DEFAULT, WAITS], help=f"of stamps, for gpu: {VARIANTS}")
    parser.add_argument("--kernels", nargs="*", help="for gpu: those whose names have one of these in them")
    parser.add_argument("--seconds", type=float, default=TIME_S, help="after them gpu begins with no other kernel")
    given = parser.parse_args()
    if given.what == "one":
        return _one(given.out)
    return (
        sass(given.out, given.workers)
        if given.what == "sass"
        else gpu(given.out, given.kernels or [""], given.variants, given.seconds)
    )


if __name__ == "__main__":
    raise SystemExit(main())
