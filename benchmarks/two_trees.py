"""Times generated kernels of two checkouts in turns on the GPU at hand: whether a change made them faster, or slower.

    python -m benchmarks.two_trees OTHER [--only REGEX] [--shapes AxBxC ...] [--json FILE]

OTHER is a checkout, or a folder with its `generated/`. Of each module that both have and that differs, the fastest
config of one is held against that of the other, on the shapes that its family can have, by default those of the spec.
Kernels run in CUDA graphs, one launch each, between two that note the clock. A gain is the other's time over ours; the
other is timed twice, and `noise` is the ratio. Child processes compile first. Whether results are right is
`tlxgen check`'s to judge: here it is only said whether they are the same, bit by bit.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.roofline_clocks import ROOT, between, known

Shape = tuple[int, ...]
Run = Callable[[], Any]


def differing(other: Path, only: str) -> list[tuple[str, str]]:
    """Spec and module of what both trees have, and differs."""
    found = []
    for theirs in sorted(other.glob("*/*.py")):
        spec, name = theirs.parent.name, theirs.stem
        ours = ROOT / "generated" / spec / theirs.name
        if name.startswith("_") or not re.search(only, name) or not ours.exists():
            continue
        if ours.read_bytes() != theirs.read_bytes():
            found.append((spec, name))
    return found


def runs(other: Path, spec: str, name: str, shape: Shape) -> tuple[list[Run], list[Run]]:
    """A call of each config: of the other tree's module, and of ours, on the same inputs."""
    import torch

    from tlxgen.loading import load_file

    kernels, structure = known(spec, name)
    family, values = kernels.family, structure.variants[0].spec
    torch.manual_seed(0)
    inputs = family.problem().inputs(values, shape, torch.device("cuda"))
    call = family.benchmark().call
    modules = (load_file(tree / spec / f"{name}.py") for tree in (other, ROOT / "generated"))
    theirs, ours = ([call(m, values, shape, inputs, config) for config in m.CONFIGS] for m in modules)
    return theirs, ours


def compiled(job: tuple[Path, str, str, Shape]) -> str:
    """Launches both once, in a child process, so that Triton's cache has them."""
    import torch

    try:
        for some in runs(*job):
            for run in some:
                run()
        torch.cuda.synchronize()
    except Exception as error:
        return f"{job[2]}: {type(error).__name__}: {error}"[:300]
    return ""


def row(other: Path, spec: str, name: str, shape: Shape) -> dict[str, Any]:
    import torch

    theirs, ours = runs(other, spec, name, shape)
    results = [_first(run()) for run in (theirs[0], ours[0])]
    same = torch.equal(results[0].view(torch.uint8), results[1].view(torch.uint8))
    nothing, *us = (us for _, us in between([lambda: None, *theirs, *ours, *theirs]))
    us = [x - nothing for x in us]
    first, mine, again = us[: len(theirs)], us[len(theirs) : -len(theirs)], us[-len(theirs) :]
    before, after = (min(first) + min(again)) / 2, min(mine)
    figures = {"other": round(before, 2), "ours": round(after, 2), "gain": round(before / after, 3)}
    return {"module": name, "shape": shape, **figures, "noise": round(min(again) / min(first), 3), "same": same}


def _first(result: Any) -> Any:
    return (result[0] if isinstance(result, (tuple, list)) else result).contiguous().clone()


def shapes_of(spec: str, name: str, given: Sequence[Shape]) -> Sequence[Shape]:
    """Those given that have as many extents as the family's, or the spec's own."""
    kernels, structure = known(spec, name)
    extents = len(kernels.family.problem_extents)
    return [s for s in given if len(s) == extents] or list(structure.variants[0].spec.check.shapes)


def timed(other: Path, modules: Sequence[tuple[str, str]], given: Sequence[Shape]) -> Iterator[dict[str, Any]]:
    for spec, name in modules:
        gains = []
        for shape in shapes_of(spec, name, given):
            try:
                found = row(other, spec, name, tuple(shape))
            except Exception as error:
                print(f"{name} {shape}: {type(error).__name__}: {error}"[:300], flush=True)
                continue
            gains.append(math.log(found["gain"]))
            print(json.dumps(found), flush=True)
            yield found
        if gains:
            print(f"{name}: geometric mean {math.exp(sum(gains) / len(gains)):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("--only", default="", help="of modules whose names this is found in")
    parser.add_argument("--shapes", nargs="*", default=[], help="such as 4096x4096x4096")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    other = arguments.other / "generated" if (arguments.other / "generated").is_dir() else arguments.other
    modules = differing(other, arguments.only)
    given = [tuple(int(n) for n in text.split("x")) for text in arguments.shapes]
    jobs = [(other, spec, name, tuple(shapes_of(spec, name, given)[0])) for spec, name in modules]
    with multiprocessing.get_context("spawn").Pool(8) as pool:
        for fault in pool.imap_unordered(compiled, jobs):
            print(fault, end="\n" if fault else "", flush=True)
    rows = list(timed(other, modules, given))
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows}, indent=1))


if __name__ == "__main__":
    main()
