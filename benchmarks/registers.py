"""Where GEMM kernels spill beside their accumulators, against the plan's estimate of the registers that they need.

    python -m benchmarks.registers --json benchmarks/results/registers_gemm.json

Compiles the tiles whose accumulators leave little room, with each epilogue, subtile, tail, store and type of C, for
an even split of the registers and for consumers with some of the producer's. What a tile needs beside its accumulator
(hopper.py, ops.py) was fitted to such compiles; a new fbtriton may need other numbers. Needs no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.pruning import candidates, fits
from tlxgen.compile import check_triton
from tlxgen.spec import load
from tlxgen.tune.dry import compile_candidates
from tlxgen.tune.space import space_of

OPS = (
    [],
    ["bias"],
    ["scale_rowwise"],
    ["residual"],
    ["bias", "gelu"],
    ["silu"],
    ["relu"],
    ["scale"],
    ["scale_rowwise", "residual"],
    ["bias", "gelu", "residual"],
)
TAILS = ["whole", "split", "helped"]


def specs() -> Iterator[dict[str, Any]]:
    """A spec for each epilogue, with what goes with it."""
    for ops in OPS:
        yield spec(ops, None, {"schedule.tail": TAILS})
        yield spec(ops, 208, {"schedule.tail": TAILS})
        yield spec(ops, None, {"epilogue.store": ["direct"]})
        yield spec(ops, None, {"schedule.tail": TAILS[:2], "problem.c.dtype": ["fp32"]})


def spec(ops: list[str], registers: int | None, axes: dict[str, list[str]]) -> dict[str, Any]:
    common = {"tasks.mma.split": ["cooperative", "pingpong"], "tile.m": [128, 256], "tile.n": [128, 256]}
    return {
        "kernel": "gemm",
        "name": "survey",
        "arch": "sm90",
        "epilogue": {"ops": ops},
        "tasks": {"mma": {"registers": registers}},
        "tile": {"k": 64},
        "rings": {"ab": {"stages": 3, "empty": "warp"}, "c": {"stages": 1}},
        "variants": {"axes": {**common, "epilogue.subtiles": [1, 2, 4], **axes}},
    }


def survey(data: dict[str, Any], workers: int | None) -> list[dict[str, Any]]:
    """A row for each variant that fits in SMEM and whose accumulators leave registers."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "survey.yaml")
        path.write_text(json.dumps(data))
        space = space_of(load(path, tuned=False))
        room = [c for c in candidates(space) if {r.partition(":")[0] for r in c.variant.reasons} <= {"accumulator"}]
        room = [c for c in room if max(r.holds.accumulator for r in c.plan.roles) <= 128]
        outcomes = compile_candidates(space, room, workers, 120)
    about = {"ops": data["epilogue"]["ops"], "registers": data["tasks"]["mma"]["registers"]}
    return [
        {**about, "variant": c.variant.label, "kept": not c.variant.reasons, "compiled": fits(c.variant, o) or "fits"}
        for c, o in zip(room, outcomes, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    version, rows = check_triton(), list[dict[str, Any]]()
    for data in specs():
        rows += survey(data, arguments.workers)
        print(f"{len(rows)} compiled", file=sys.stderr, flush=True)
    wrong = [r for r in rows if r["kept"] != (r["compiled"] == "fits")]
    spilled, kept = sum(r["compiled"] != "fits" for r in rows), sum(r["kept"] for r in wrong)
    print(f"{len(rows)} compiled by fbtriton {version}: {spilled} spill, of which the plan keeps {kept};")
    print(f"of the other {len(rows) - spilled} it rejects {len(wrong) - kept}")
    for row in wrong:
        print(f"    {row}")
    if arguments.json:
        head = {"command": " ".join(["python -m benchmarks.registers", *sys.argv[1:]]), "fbtriton": version}
        lines = ",\n".join(json.dumps(row) for row in rows)
        arguments.json.write_text(json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
