"""What the shipped sm100 attention kernels spill, as their locks have it from ptxas -v: no more than the tutorials."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxgen import lock
from tlxgen.families import kernels_of
from tlxgen.families.attention_fwd.facts import AttentionFacts

ROOT = Path(__file__).parents[3]
SPECS = sorted((ROOT / "specs").glob("blackwell_attention_fwd*.yaml"))
# Bytes stored and reloaded by the wheel's tutorials (benchmarks/equivalence.py), by schedule, overlap and whether there
# is a mask. A grid without overlap has no causal tutorial.
TUTORIALS = {
    ("grid", False, False): (68, 116),
    ("grid", False, True): (72, 72),
    ("grid", True, False): (72, 128),
    ("grid", True, True): (72, 72),
    ("persistent", False, False): (80, 124),
    ("persistent", False, True): (72, 76),
    ("persistent", True, False): (68, 108),
    ("persistent", True, True): (112, 200),
}
# Polynomials need registers besides, and no tutorial has them: so much more, by how many of 64 columns they make.
POLYNOMIAL = {0: (0, 0), 16: (0, 0), 32: (0, 20), 48: (48, 84)}


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_no_more_is_spilled_than_by_the_tutorial(spec: Path) -> None:
    structures = lock.read(ROOT / "generated" / spec.stem)["structures"]
    found, over = 0, []
    for structure in kernels_of(spec).structures:
        plan = structure.variants[0].plan
        assert plan and isinstance(plan.facts, AttentionFacts)
        facts = plan.facts
        tutorial = TUTORIALS["persistent" if facts.stays else "grid", facts.overlap, facts.mask != "none"]
        more = POLYNOMIAL[facts.polynomial]
        bar = tutorial[0] + more[0], tutorial[1] + more[1]
        for config, kernel in structures[structure.name]["compiled"]["kernels"].items():
            spilled = kernel["spill_store_bytes"], kernel["spill_load_bytes"]
            found += 1
            if spilled[0] > bar[0] or spilled[1] > bar[1]:
                over.append((structure.name, config, spilled, bar))
    assert found and not over
