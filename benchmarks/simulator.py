"""Times the simulator, with and without race detection: seconds of CPU a run, the best of some, on one core.

    python benchmarks/simulator.py [--repeats 7]

The kernel is the cooperative GEMM under generated/, 512 x 512 x 256 on 4 SMs, with its first config. The runs take
turns; the first of each kind, which imports and transforms, does not count. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import torch

from tlxgen import families
from tlxgen.sim import DEVICE, Session, load_module
from tlxgen.sim.case import Case, Recorded
from tlxgen.sim.launch import Scheduled
from tlxgen.sim.order import Order
from tlxgen.sim.trace import Trace
from tlxgen.spec import load

ROOT = Path(__file__).parents[1]
SHAPE = (512, 512, 256)


def program() -> tuple[Callable[[Session], None], list[float]]:
    """What launches the kernel once, and where it notes the seconds of each launch."""
    document = load(ROOT / "specs" / "hopper_gemm.yaml")
    family = families.of(document)
    structure = next(s for s in family.kernels(document).structures if s.name.endswith("cooperative"))
    module = load_module(ROOT / "generated" / "hopper_gemm" / f"{structure.name}.py")
    problem, spec = family.problem(), structure.variants[0].spec

    def run(session: Session) -> None:
        torch.manual_seed(session.seed)
        tensors = problem.inputs(spec, SHAPE, DEVICE)
        start = time.process_time()
        problem.launch(module, spec, SHAPE, tensors, module.CONFIGS[0])
        seconds.append(time.process_time() - start)

    seconds: list[float] = []
    return run, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    run, seconds = program()
    kinds = {
        "races": lambda: Case(run).run(Scheduled("random", 0), 0),
        "no races": lambda: Case(run, races=False).run(Scheduled("random", 0), 0),
        "races, traced": lambda: Case(run).run(Recorded(Scheduled("random", 0), Trace), 0),
        "races, order": lambda: Case(run).run(Recorded(Scheduled("random", 0), Order), 0),
    }
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for turn in range(repeats + 1):
        for kind, call in kinds.items():
            session = call()
            assert not session.findings.all
            if turn:
                times[kind].append(seconds[-1])
    best = {kind: round(min(values), 4) for kind, values in times.items()}
    for kind, value in best.items():
        print(f"{kind:14} {value:.3f} s   {value / best['no races']:.2f} x")
    print(json.dumps({"shape": SHAPE, "steps": session.steps, "seconds": best}))


if __name__ == "__main__":
    main()
