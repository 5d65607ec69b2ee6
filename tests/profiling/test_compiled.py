"""What the compiler makes of twins: the plain kernel's products, copies, waits and hand-offs, and stamps where they
were written."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.profiling.conftest import structures
from tlxgen.compile import Job, Resources, compile_all
from tlxgen.profile.compiled import differences, job_of_twin
from tlxgen.verbs.compile import job_of

needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")

CHOSEN = [
    ("hopper_gemm", "hopper_gemm_cooperative"),
    ("hopper_attention_fwd", "hopper_attention_fwd_causal"),
    ("hopper_attention_bwd", "hopper_attention_bwd_none_together"),
    ("hopper_rms_norm", "hopper_rms_norm_grid"),
    ("hopper_grouped_gemm", "hopper_grouped_gemm_row_pingpong"),
    ("blackwell_gemm", "blackwell_gemm_persistent"),
]


def jobs(twins: Path, spec: str, name: str) -> list[Job]:
    variant = structures(spec)[name].variants[-1]
    assert variant.plan
    plain = job_of(twins.parent / "plain" / f"{name}.py", variant, variant.plan.launches[0])
    return [plain, job_of_twin(plain, twins / f"{name}.py")]


@needs_triton
@pytest.mark.compiles
@pytest.mark.parametrize(("spec", "name"), CHOSEN)
def test_but_for_its_stamps_a_twin_compiles_to_the_same(
    spec: str, name: str, folder: Callable[[str, str], Path]
) -> None:
    found = []
    for outcome in compile_all(jobs(folder(spec, name), spec, name), workers=2, timeout_s=300, cache=None):
        assert outcome.resources, outcome.detail
        found.append(outcome.resources)
    plain, twin = found
    assert list(differences(plain, twin)) == []
    if plain.sass and twin.sass:
        assert twin.sass.get("STG", 0) >= plain.sass.get("STG", 0) + 5
        assert not twin.sass.get("STL")


def test_a_difference_is_told() -> None:
    plain = Resources(
        168, 0, 0, 0, 1000, 0, 2, 4, 12, (1, 1, 1), None, (("inc", 232),), {"HGMMA": 8, "SYNCS": 9}, 1, "", "", ""
    )
    twin = replace(plain, sass={"HGMMA": 8, "SYNCS": 10, "STG": 3}, spill_store_bytes=8, mbarriers=5, setmaxnreg=())
    assert list(differences(plain, plain)) == []
    assert list(differences(plain, twin)) == [
        "SYNCS: 9, and 10 in the twin",
        "setmaxnreg: (('inc', 232),), and () in the twin",
        "mbarriers: 4, and 5 in the twin",
        "spills 8 B, and 0 B without stamps",
    ]
