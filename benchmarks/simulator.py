"""Times the simulator, with and without race detection: seconds of CPU a run, the best of some, on one core.

    python benchmarks/simulator.py [--repeats 7]
    python benchmarks/simulator.py --repeats 40 --against OTHER --json benchmarks/results/simulator_speed.json

The kernels are those of KERNELS, under generated/, with their first config, on 4 SMs. The runs of each take turns; the
first of each kind, which imports and transforms, does not count. Each ends with a line of JSON.

`--against OTHER`, a checkout of another commit: both simulators, each with its own kernels, take turns in two processes
on one core, and `ratio` is ours to theirs. Seconds vary with what else a machine does, so two things are counted that
do not: instructions of Python that a run executes, and, with `--instructions K`, those of the machine in user mode that
a run of kernel K executes, by valgrind (what more runs add, so that imports cancel; ten minutes a kernel).
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from tlxgen import families
from tlxgen.sim import DEVICE, Session, load_module
from tlxgen.sim.launch import Scheduled
from tlxgen.sim.order import Order
from tlxgen.sim.trace import Trace
from tlxgen.spec import load

Shape = tuple[int, ...]
KERNELS: tuple[tuple[str, str, Shape], ...] = (  # spec, structure, problem
    ("hopper_gemm", "hopper_gemm_cooperative", (512, 512, 256)),
    ("hopper_attention_fwd", "hopper_attention_fwd_none", (1, 2, 2, 512, 512)),
    ("hopper_attention_bwd", "hopper_attention_bwd_none_together", (1, 2, 2, 256, 256)),
)
KINDS = ("races", "no races", "races, traced", "races, order")
COUNTED_RUNS = 3  # whose instructions are counted
Program = tuple[Callable[[Session], None], list[float]]


def _repeatable() -> Any:
    """The module of `Case` and `Recorded`: it was named `case` at 68b44f48."""
    names = (p.stem for p in Path(sys.modules["tlxgen.sim"].__path__[0]).glob("*.py"))
    return importlib.import_module("tlxgen.sim." + ("repeatable" if "repeatable" in names else "case"))


def program(name: str, kernel: str, shape: Shape) -> Program:
    """What launches the kernel once, and where it notes the seconds of each launch. Of the tree that is imported."""
    root = Path(families.__file__).parents[2]
    document = load(root / "specs" / f"{name}.yaml")
    family = families.of(document)
    # Trees of before have the backward under a shorter name.
    structure = next(s for s in family.kernels(document).structures if kernel.startswith(s.name))
    module = load_module(root / "generated" / name / f"{structure.name}.py")
    problem, spec = family.problem(), structure.variants[0].spec

    def run(session: Session) -> None:
        torch.manual_seed(session.seed)
        tensors = problem.inputs(spec, shape, DEVICE)
        start = time.process_time()
        problem.launch(module, spec, shape, tensors, module.CONFIGS[0])
        seconds.append(time.process_time() - start)

    seconds: list[float] = []
    return run, seconds


def once(it: Program, kind: str) -> tuple[float, int]:
    """Seconds and steps of one run."""
    run, seconds = it
    case, random = _repeatable(), Scheduled("random", 0)
    watches = {"races, traced": Trace, "races, order": Order}
    director = case.Recorded(random, watches[kind]) if kind in watches else random
    session = case.Case(run, races=kind != "no races").run(director, 0)
    assert not session.findings.all
    return seconds[-1], session.steps


def measure(it: Program, repeats: int, head: dict[str, Any]) -> None:
    """Times one kernel and prints what it took."""
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for turn in range(repeats + 1):
        for kind in KINDS:
            seconds, steps = once(it, kind)
            if turn:
                times[kind].append(seconds)
    best = {kind: round(min(values), 4) for kind, values in times.items()}
    for kind, value in best.items():
        print(f"{kind:14} {value:.3f} s   {value / best['no races']:.2f} x")
    print(json.dumps({**head, "steps": steps, "seconds": best}))


# Against another tree.


def serve() -> None:
    """Answers `KERNEL KIND`, as numbers, with seconds and steps of one run, a line each."""
    made = [program(*kernel) for kernel in KERNELS]
    for line in sys.stdin:
        kernel, kind = map(int, line.split())
        print(json.dumps(once(made[kernel], KINDS[kind])), flush=True)


def _command(tree: Path, *options: str, before: Sequence[str] = ()) -> dict[str, Any]:
    """How this script runs with the code of a tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONHASHSEED": "0"}
    return {"args": [*before, sys.executable, __file__, *options], "env": environment, "cwd": tree}


@contextmanager
def _server(tree: Path) -> Iterator[Callable[[int, int], tuple[float, int]]]:
    process = subprocess.Popen(**_command(tree, "--serve"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin and process.stdout

    def ask(kernel: int, kind: int) -> tuple[float, int]:
        print(kernel, kind, file=process.stdin, flush=True)
        seconds, steps = json.loads(process.stdout.readline())
        return seconds, steps

    try:
        yield ask
    finally:
        process.stdin.close()
        process.wait()


def instructions(tree: Path, kernel: int) -> int:
    """Of the machine, of one run with races."""
    few, more = (_counted(tree, kernel, runs) for runs in (1, 1 + COUNTED_RUNS))
    return (more - few) // COUNTED_RUNS


def bytecodes(tree: Path, kernel: int) -> int:
    """Instructions of Python that one run with races executes, in all functions."""
    done = subprocess.run(
        **_command(tree, "--trace", "--kernel", str(kernel)), check=True, capture_output=True, text=True
    )
    return int(done.stdout)


def _traced(it: Program) -> int:
    """The same, of the tree that is imported. Every task is a greenlet, which has a trace function of its own."""
    from tlxgen.sim.engine import Hub

    count = 0
    spawn = Hub.spawn

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    def traced(hub: Any, task: Any, body: Callable[[], None]) -> None:
        def run() -> None:
            sys.settrace(trace)
            body()

        spawn(hub, task, run)

    once(it, "races")
    with mock.patch.object(Hub, "spawn", traced):
        sys.settrace(trace)
        try:
            once(it, "races")
        finally:
            sys.settrace(None)
    return count


def _counted(tree: Path, kernel: int, runs: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        tool = ("valgrind", "--tool=cachegrind", "--cache-sim=no", f"--cachegrind-out-file={folder}/out")
        options = ("--runs", str(runs), "--kernel", str(kernel))
        done = subprocess.run(**_command(tree, *options, before=tool), check=True, capture_output=True, text=True)
    found = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    assert found, done.stderr
    return int(found[1].replace(",", ""))


def versus(other: Path, repeats: int, counted: Collection[int]) -> list[dict[str, Any]]:
    """A row for each kernel and kind: the best of either tree, the runs one after the other; then what is counted, of
    the machine for the kernels `counted`."""
    rows = []
    ours = Path(families.__file__).parents[2]
    with _server(ours) as here, _server(other) as there:
        for number, (_, kernel, shape) in enumerate(KERNELS):
            for kind, name in enumerate(KINDS):
                turns = [(here(number, kind), there(number, kind)) for _ in range(repeats + 1)][1:]
                best = [min(run[side][0] for run in turns) for side in (0, 1)]
                row = {
                    "kernel": kernel, "shape": shape, "kind": name, "steps": [side[1] for side in turns[0]],
                    "seconds": [round(b, 4) for b in best], "ratio": round(best[0] / best[1], 3),
                }  # fmt: skip
                rows.append(row)
                print(f"{kernel:26} {name:14} {best[0]:.4f} s, {best[1]:.4f} s: {row['ratio']:.3f} x", flush=True)
    for number, (_, kernel, shape) in enumerate(KERNELS):
        for count, kernels in ((bytecodes, set(range(len(KERNELS)))), (instructions, counted)):
            if number in kernels:
                counts = [count(tree, number) for tree in (ours, other)]
                ratio = round(counts[0] / counts[1], 3)
                head = {"kernel": kernel, "shape": shape, "kind": "races"}
                rows.append({**head, count.__name__: counts, "ratio": ratio})
                print(f"{kernel:26} {count.__name__} {counts[0]:,}, {counts[1]:,}: {ratio:.3f} x", flush=True)
    return rows


def _commit(tree: Path) -> str:
    done = subprocess.run(["git", "-C", tree, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    return done.stdout.strip()[:8]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--against", type=Path, metavar="OTHER", help="a checkout of another commit")
    parser.add_argument("--json", type=Path, help="of --against")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(
        "--instructions", type=int, nargs="*", default=(), metavar="K", help="of these kernels, by number"
    )
    parser.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--kernel", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    if options.serve:
        serve()
    elif options.trace:
        print(_traced(program(*KERNELS[options.kernel])))
    elif options.runs:
        it = program(*KERNELS[options.kernel])
        for _ in range(options.runs):
            once(it, "races")
    elif options.against:
        rows = versus(options.against.resolve(), options.repeats, options.instructions)
        if options.json:
            head = {
                "command": f"python benchmarks/simulator.py --repeats {options.repeats} --against OTHER"
                + " ".join(["", "--instructions", *map(str, options.instructions)] if options.instructions else []),
                "commits": [_commit(Path(families.__file__).parents[2]), _commit(options.against)],
                "python": sys.version.split()[0], "torch": torch.__version__,
            }  # fmt: skip
            lines = ",\n  ".join(json.dumps(row) for row in rows)
            options.json.write_text(f'{json.dumps(head)[:-1]}, "rows": [\n  {lines}\n]}}\n')
    else:
        for name, kernel, shape in KERNELS:
            print(kernel)
            measure(program(name, kernel, shape), options.repeats, {"kernel": kernel, "shape": shape})


if __name__ == "__main__":
    main()
