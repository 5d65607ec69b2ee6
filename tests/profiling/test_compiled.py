"""What the compiler makes of twins: the plain kernel's products, copies, waits and hand-offs, and stamps where they
were written."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.profiling.conftest import ROOT, structures
from tlxgen.compile import Job, Resources, compile_all
from tlxgen.profile.compiled import differences, job_of_twin
from tlxgen.verbs.compile import job_of

needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")

CHOSEN = {  # of shipped specs, and a size that compiles in a second
    "hopper_gemm": {"tasks.mma.split": "cooperative", "tile.n": 64},
    "hopper_attention_fwd": {"mask.kind": "causal", "problem.head_dim": 32, "tile.n": 32},
    "hopper_attention_bwd": {"mask.kind": "none", "schedule.heads": "together", "problem.head_dim": 64},
    "hopper_rms_norm": {"schedule.kind": "grid", "tile": "{m: 8, n: 256}", "cluster.n": 1},
    "hopper_grouped_gemm": {"problem.b.layout": "row", "tasks.mma.split": "pingpong", "tile.n": 64},
    "blackwell_gemm": {"schedule.kind": "persistent", "tile.n": 64},
}


def small(folder: Path, base: str) -> str:
    """Writes a spec of one variant of `base`; its path."""
    shutil.copytree(ROOT / "specs", folder)
    lines = [f"extends: {base}.yaml", f"name: small_{base}", "variants:", "  axes:"]
    path = folder / f"small_{base}.yaml"
    path.write_text("\n".join([*lines, *(f"    {axis}: [{value}]" for axis, value in CHOSEN[base].items())]) + "\n")
    return str(path)


def jobs(twins: Path, spec: str, name: str) -> list[Job]:
    variant = structures(spec)[name].variants[-1]
    assert variant.plan
    plain = job_of(twins.parent / "plain" / f"{name}.py", variant, variant.plan.launches[0])
    return [plain, job_of_twin(plain, twins / f"{name}.py")]


@needs_triton
@pytest.mark.compiles
@pytest.mark.parametrize("base", CHOSEN)
def test_but_for_its_stamps_a_twin_compiles_to_the_same(
    base: str, folder: Callable[[str, str], Path], tmp_path: Path
) -> None:
    spec = small(tmp_path / "specs", base)
    (name,) = structures(spec)
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
