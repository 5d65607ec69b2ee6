"""Candidates that hang, crash the context, run out of memory or give wrong numbers, in a tuning run on a GPU.

    python benchmarks/tune_faults.py specs/hopper_gemm_fp8_tuned.yaml --shape 4096x4096x4096 --json RESULT.json

The four that the estimate ranks first get host functions with one fault each, once they have memory to work on: they
compile like all others. The run must name the kind of each and write the file of a run from which the four are missing,
measured before (results are kept by content, so that the healthy ones have the same times in both). Exit status 1
otherwise.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tlxgen import digest
from tlxgen.spec import load
from tlxgen.tune import lab as labs
from tlxgen.tune import worker
from tlxgen.tune.results import Results
from tlxgen.tune.search import Outcome
from tlxgen.tune.space import Candidate, Shape, Space, space_of
from tlxgen.tune.table import render
from tlxgen.tune.tuning import Budget, device, effort_of, tune

FAULTS = {
    "hang": "torch.cuda._sleep(10**13)",
    "crash": "torch.zeros(1, device='cuda')[torch.tensor([10**6], device='cuda')]",
    "memory": "torch.empty(2**46, dtype=torch.int8, device='cuda')",
    "wrong": "out.view(torch.int16).bitwise_xor_(1 << 14)",  # a bit of each exponent
}
FAULTY = """

_healthy = {name}


def {name}(a, b, **options):
    out = _healthy(a, b, **options)
    if type(a) is torch.Tensor:  # not while it is only compiled
        {fault}
    return out
"""
LIMIT_S = 10.0  # of a step of a measurement, so that who hangs does not take long


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--shape", default="4096x4096x4096")
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--module", default=worker.MODULE, help=argparse.SUPPRESS)
    options = parser.parse_args()
    shape: Shape = tuple(int(extent) for extent in options.shape.split("x"))
    space, found = space_of(load(options.spec, tuned=False)), device(options.module)
    chosen = space.ranked((shape,), found.sms)[: len(FAULTS)]
    healthy = replace(space, candidates=tuple(c for c in space.candidates if c not in chosen))
    faulty = with_faults(space, chosen)
    with tempfile.TemporaryDirectory() as folder:
        results = Results(Path(folder), found.name, found.versions)
        files, outcomes = [], []
        for some in (healthy, faulty):
            pools = labs.local_pools(options.workers, len(worker.gpus()), space.family.name, options.module)
            limits = labs.Limits(measure_s=LIMIT_S, workers=options.workers)
            with closing(pools):
                lab = labs.Lab(some, found, results, pools, limits=limits, module=options.module)
                effort = effort_of(options.candidates, False, some)
                won = tune(some, lab, (shape,), effort=effort, seed=0, budget=Budget.of(None), at_once=1)
            files.append(classes_of(render(some, found, options.spec.name, 0, won)))
            outcomes.append(won[0].outcome)
    named = faults_of(outcomes[1])
    same = files[0] == files[1]
    print(f"faults {named}; the classes of the file are {'the same' if same else 'OTHERS'}")
    if options.json:
        record = {"device": found.name, "spec": options.spec.name, "shape": list(shape), "faults": named, "same": same}
        options.json.write_text(json.dumps(record, indent=1) + "\n")
    return int(sorted(named) != sorted(FAULTS) or not same)


def with_faults(space: Space, chosen: Sequence[Candidate]) -> Space:
    """The space whose `chosen` candidates have a fault each, in a module of its own."""
    sources, candidates = dict(space.sources), list(space.candidates)
    for candidate, fault in zip(chosen, FAULTS.values(), strict=True):
        text = space.sources[candidate.source] + FAULTY.format(name=space.name, fault=fault)
        source = digest.of_text(text)
        sources[source] = text
        place = candidates.index(candidate)
        candidates[place] = replace(candidate, source=source, key=digest.of_text(f"{candidate.key} {fault}"))
    return replace(space, candidates=tuple(candidates), sources=sources)


def faults_of(outcome: Outcome) -> dict[str, str]:
    """Kind of each fault that was found, and what was said about it."""
    return {str(result.fault): result.text for _, _, result in outcome.faults.values()}


def classes_of(text: str) -> str:
    """A tuned file without what is said of faults, and of how many variants were there and tried."""
    classes = text.partition("\nclasses:")[2].partition("\nfaults:")[0]
    return "\n".join(line for line in classes.splitlines() if not line.startswith("  tried:"))


if __name__ == "__main__":
    sys.exit(main())
