"""Times the simulator, with and without race detection: seconds of CPU a run, the best of some, on one core.

    python benchmarks/simulator.py [--repeats 7]

The kernels are those of KERNELS, under generated/, with their first config, on 4 SMs. The runs of each take turns; the
first of each kind, which imports and transforms, does not count. Each ends with a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tlxgen import families
from tlxgen.sim import DEVICE, Session, load_module
from tlxgen.sim.launch import Scheduled
from tlxgen.sim.order import Order
from tlxgen.sim.repeatable import Case, Recorded
from tlxgen.sim.trace import Trace
from tlxgen.spec import load

ROOT = Path(__file__).parents[1]
Shape = tuple[int, ...]
KERNELS: tuple[tuple[str, str, Shape], ...] = (  # spec, structure, problem
    ("hopper_gemm", "hopper_gemm_cooperative", (512, 512, 256)),
    ("hopper_attention_fwd", "hopper_attention_fwd_none", (1, 2, 2, 512, 512)),
    ("hopper_attention_bwd", "hopper_attention_bwd_none", (1, 2, 2, 256, 256)),
)


def program(name: str, kernel: str, shape: Shape) -> tuple[Callable[[Session], None], list[float]]:
    """What launches the kernel once, and where it notes the seconds of each launch."""
    document = load(ROOT / "specs" / f"{name}.yaml")
    family = families.of(document)
    structure = next(s for s in family.kernels(document).structures if s.name == kernel)
    module = load_module(ROOT / "generated" / name / f"{kernel}.py")
    problem, spec = family.problem(), structure.variants[0].spec

    def run(session: Session) -> None:
        torch.manual_seed(session.seed)
        tensors = problem.inputs(spec, shape, DEVICE)
        start = time.process_time()
        problem.launch(module, spec, shape, tensors, module.CONFIGS[0])
        seconds.append(time.process_time() - start)

    seconds: list[float] = []
    return run, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name, kernel, shape in KERNELS:
        print(kernel)
        measure(*program(name, kernel, shape), repeats, {"kernel": kernel, "shape": shape})


def measure(run: Callable[[Session], None], seconds: list[float], repeats: int, head: dict[str, Any]) -> None:
    """Times one kernel and prints what it took."""
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
    print(json.dumps({**head, "steps": session.steps, "seconds": best}))


if __name__ == "__main__":
    main()
