"""How right the plan's pruning is: a random sample of a space, kept and rejected alike, compiled offline.

    python benchmarks/pruning.py specs/hopper_gemm_tuned.yaml --sample 200 --json benchmarks/results/NAME.json

Of a variant that the plan keeps, a failed compilation, SMEM beyond the limit, or a spill is a fault of the plan.
Of one that it rejects, a compilation that would have fitted, without a spill, is a loss. Variants that the spec itself
excludes are in neither count. Needs no GPU; what has been compiled once comes from the cache.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from tlxgen.compile import Outcome, check_triton
from tlxgen.families import Variant
from tlxgen.families.base import structure_key
from tlxgen.spec import load
from tlxgen.tune.dry import compile_candidates
from tlxgen.tune.space import Candidate, Space, options_of, space_of


def candidates(space: Space) -> list[Candidate]:
    """Every variant that has a plan, kept or rejected, with the module of its structure."""
    kernels = space.family.kernels(space.document)
    sources = {structure_key(space.family, c.variant.spec): c for c in space.candidates if c.variant.spec}
    found = list(space.candidates)
    for variant in kernels.rejected:
        like = sources.get(structure_key(space.family, variant.spec)) if variant.spec else None
        if like and variant.plan:
            key = f"{like.structure} {variant.label}"
            found.append(replace(like, variant=variant, options=options_of(variant.plan), key=key))
    return found


def fits(variant: Variant, outcome: Outcome) -> str:
    """ "" if the variant compiles and fits, else why not."""
    assert variant.plan
    found, limit = outcome.resources, variant.plan.arch.smem_bytes
    if found is None:
        return outcome.error
    if found.smem_bytes > limit:
        return f"{found.smem_bytes} of {limit} B of SMEM"
    if found.spill_store_bytes + found.spill_load_bytes:
        return f"spills {found.spill_store_bytes} B"
    return ""


def report(sample: list[Candidate], outcomes: list[Outcome]) -> dict[str, Any]:
    """Counts, and every case in which plan and compiler disagree."""
    rows = [(c, fits(c.variant, o)) for c, o in zip(sample, outcomes, strict=True)]
    kept = [(c, why) for c, why in rows if not c.variant.reasons]
    rejected = [(c, why) for c, why in rows if c.variant.reasons]
    rules = Counter(r.partition(":")[0] for c, _ in rejected for r in c.variant.reasons)
    return {
        "kept": len(kept),
        "kept_that_fail": [{"variant": c.label, "why": why} for c, why in kept if why],
        "rejected": len(rejected),
        "rules": dict(sorted(rules.items())),
        "rejected_that_fit": [{"variant": c.label, "reasons": c.variant.reasons} for c, why in rejected if not why],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("spec", type=Path)
    parser.add_argument("--sample", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    version = check_triton()
    space = space_of(load(arguments.spec, tuned=False))
    everything = sorted(candidates(space), key=lambda c: c.label)
    sample = random.Random(arguments.seed).sample(everything, min(arguments.sample, len(everything)))
    found = report(sample, compile_candidates(space, sample, arguments.workers, 120))
    lost = len(found["rejected_that_fit"]) / max(1, found["rejected"])
    print(f"{len(everything)} variants with a plan; {len(sample)} compiled by fbtriton {version}")
    print(f"kept: {found['kept']}, of which {len(found['kept_that_fail'])} fail")
    print(f"rejected: {found['rejected']}, of which {len(found['rejected_that_fit'])} would have fitted ({lost:.1%})")
    for row in found["kept_that_fail"] + found["rejected_that_fit"]:
        print(f"    {row}")
    if arguments.json:
        head = {"command": " ".join(["python", *sys.argv]), "fbtriton": version, "variants": len(everything)}
        arguments.json.write_text(json.dumps({**head, **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
