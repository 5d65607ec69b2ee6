"""Writes random GEMM specs that fit, one variant each, to check combinations that nobody would think of.

    python benchmarks/random_specs.py FOLDER --count 80 --seed 1
    tlxgen compile FOLDER
    tlxgen check FOLDER --json RESULT          (on a Hopper GPU)

The same seed gives the same specs for as long as the same ones fit.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

from tlxgen import families
from tlxgen.errors import TlxgenError
from tlxgen.spec import load

OPS = ["bias", "relu", "gelu", "silu", "residual", "scale", "scale_rowwise"]
HINTS = ["none", "evict_first", "evict_last"]


def draw(rng: random.Random) -> dict[str, Any]:
    """A spec drawn from every axis of the family, without its name; many do not fit."""
    fp8 = rng.random() < 0.2
    a = rng.choice(["e4m3", "e5m2"] if fp8 else ["fp16", "bf16"])
    b = rng.choice(["e4m3", "e5m2"]) if fp8 else a
    layouts = ("row", "col") if fp8 else (rng.choice(["row", "col"]), rng.choice(["row", "col"]))
    spec: dict[str, Any] = {
        "problem": {
            "a": {"dtype": a, "layout": layouts[0]},
            "b": {"dtype": b, "layout": layouts[1]},
            "c": {"dtype": rng.choice(["fp16", "bf16", "fp32"])},
        },
        "tile": {"m": rng.choice([64, 128, 256]), "n": rng.choice([32, 64, 128, 256]), "k": rng.choice([32, 64, 128])},
        "rings": {
            "ab": {
                "stages": rng.randint(2, 6),
                "full": rng.choice(["shared", "separate"]),
                "empty": rng.choice(["leader", "warp"]),
            },
            "c": {"stages": rng.randint(1, 3), "empty": rng.choice(["leader", "warp"])},
        },
        "schedule": {
            "kind": rng.choice(["grid", "persistent", "persistent"]),
            "group_m": rng.choice([1, 2, 5, 8]),
            "split_k": rng.choice([1, 1, 2, 4, 7]),
        },
        "cache": {name: rng.choice(HINTS) for name in "abc"},
        "epilogue": {
            "ops": rng.sample(OPS, rng.choice([0, 0, 1, 2, 3])),
            "subtiles": rng.choice([1, 2, 4]),
            "store": rng.choice(["tma", "tma", "direct"]),
        },
    }
    return spec | (specialized(rng) if rng.random() < 0.85 else pipelined(rng))


def specialized(rng: random.Random) -> dict[str, Any]:
    mma = {
        "replicate": rng.choice([1, 2]),
        "split": rng.choice(["cooperative", "pingpong"]),
        "order": rng.choice(["named", "mbarrier"]),
        "in_flight": rng.choice([0, 1]),
        "registers": rng.choice([None, 232, 240, 208]),
        "warps": rng.choice([4, 4, 4, 8]),
    }
    part: dict[str, Any] = {"tasks": {"mma": mma}, "cluster": rng.choice([{}, {}, {"m": 2}, {"n": 2}])}
    if rng.random() < 0.3:
        part["tasks"]["epilogue"] = {"warps": rng.choice([1, 4])}
        part["guards"] = {"EPILOGUE_TASK": rng.choice([True, False, "keep"])}
    return part


def pipelined(rng: random.Random) -> dict[str, Any]:
    return {"tasks": {"specialized": False, "mma": {"warps": rng.choice([4, 8]), "in_flight": rng.choice([0, 1])}}}


def fits(path: Path) -> bool:
    """Whether a variant of the spec is left after planning."""
    try:
        document = load(path)
        return bool(families.of(document).kernels(document).structures)
    except TlxgenError:
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    rng, made, drawn = random.Random(arguments.seed), 0, 0
    while made < arguments.count:
        drawn += 1
        name = f"random_{made:03}"
        path = arguments.folder / f"{name}.yaml"
        # JSON is YAML; nothing is lost by writing it so.
        path.write_text(json.dumps({"kernel": "gemm", "name": name, "arch": "sm90", **draw(rng)}, indent=1))
        if fits(path):
            made += 1
        else:
            path.unlink()
    print(f"{made} of {drawn} drawn specs fit")


if __name__ == "__main__":
    main()
