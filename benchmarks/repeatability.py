"""Many launches of generated kernels on the same inputs on a GPU: does any output ever differ from the first?

    python benchmarks/repeatability.py specs/hopper_attention_fwd.yaml [--only NAME] --seconds 2 --json RESULT.json

For each structure, config and shape: how many launches, and how many of them gave other bits than the first, with the
number of elements. `tlxgen check` repeats 20 times and compares with a reference; a race that the hardware loses once
in many thousands needs more. Outputs whose sums have no order (TMA additions) are left out. Exit status 1 when one
differed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import triton

from tlxgen.families import kernels_of
from tlxgen.loading import load_file

BATCH = 50  # launches between two looks at what they gave


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("specs", nargs="+", type=Path)
    parser.add_argument("--generated", type=Path, default=Path("generated"))
    parser.add_argument("--only", default="", help="structures whose names contain it")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each config and shape")
    parser.add_argument("--shapes", type=int, default=2, help="so many of the shapes that the spec is checked on")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    rows = []
    for name, launch in launches(options):
        rows.append({"kernel": name, **repeat(launch, options.seconds)})
        print(f"{name}: {rows[-1]['different']} of {rows[-1]['launches']} differ", flush=True)
    if options.json:
        head = {"device": torch.cuda.get_device_name(), "seconds": options.seconds, "kernels": rows}
        options.json.write_text(json.dumps(head, indent=1) + "\n")
    sys.exit(any(row["different"] for row in rows))


def launches(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[], list[torch.Tensor]]]]:
    """(Name, one launch) for each structure, config and shape; the launches of one share their inputs."""
    device = torch.device("cuda")
    for path in options.specs:
        kernels = kernels_of(path)
        problem = kernels.family.problem()
        for structure in (s for s in kernels.structures if options.only in s.name):
            module = load_file(options.generated / path.stem / f"{structure.name}.py")
            for number, (variant, config) in enumerate(zip(structure.variants, module.CONFIGS, strict=True)):
                for shape in problem.shapes(variant.spec)[: options.shapes]:
                    torch.manual_seed(0)
                    tensors = problem.inputs(variant.spec, shape, device)
                    name = f"{structure.name}#{number} {'x'.join(map(str, shape))}"
                    yield name, _launch(problem, module, variant.spec, shape, tensors, config)


def _launch(problem: Any, module: Any, spec: Any, shape: Any, tensors: Any, config: Any) -> Callable[[], Any]:
    def launch() -> list[torch.Tensor]:
        outputs, _ = problem.launch(module, spec, shape, tensors, config)
        return [out for name, out in outputs.items() if problem.reproducible(spec, name)]

    return launch


def repeat(launch: Callable[[], list[torch.Tensor]], seconds: float) -> dict[str, Any]:
    """How many launches there were, how many gave other bits than the first, and in how many elements."""
    first = [out.clone() for out in launch()]
    done, elements, end = 0, list[int](), time.monotonic() + seconds
    while time.monotonic() < end:
        counts = [sum((a != b).sum() for a, b in zip(launch(), first, strict=True)) for _ in range(BATCH)]
        found = torch.stack([torch.as_tensor(c) for c in counts]).tolist()
        done += BATCH
        elements += [int(count) for count in found if count]
    return {"launches": done, "different": len(elements), "elements": elements[:20]}


if __name__ == "__main__":
    main()
