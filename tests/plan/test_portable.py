"""What stock Triton with triton-utlx lacks is a reason on the plan; benchmarks/results has what it compiled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tlxgen.families import Kernels, kernels_of
from tlxgen.plan import portable
from tlxgen.render.passes import run

ROOT = Path(__file__).parents[2]
ROWS = [json.loads(line) for line in (ROOT / "benchmarks/results/toolchains_sm90.jsonl").read_text().splitlines()]
UTLX = [row for row in ROWS if row["toolchain"] == "utlx"]


@pytest.mark.parametrize("spec", sorted({row["spec"] for row in UTLX if row["fails"]} | {"hopper_gemm"}))
def test_the_rules_reject_what_did_not_compile_and_nothing_else(spec: str) -> None:
    plans = {s.name: s.variants[0].plan for s in kernels_of(ROOT / "specs" / f"{spec}.yaml").structures}
    rows = [row for row in UTLX if row["spec"] == spec]
    assert rows
    for row in rows:
        plan = plans[row["structure"]]
        assert plan
        assert bool(list(portable.missing(plan))) == bool(row["fails"]), row


@pytest.mark.parametrize(
    ("spec", "rules"),
    [
        ("blackwell_gemm", set()),
        ("blackwell_gemm_clc", {"utlx-clc"}),
        ("blackwell_attention_fwd", {"utlx-tmem"}),
        ("blackwell_mx_gemm", {"utlx-scales", "utlx-cluster", "utlx-clc"}),
        ("hopper_gemm_helped", {"utlx-storage"}),
        ("hopper_gemm_any_rows", {"utlx-warps"}),
        ("hopper_gemm_tuned", {"utlx-storage"}),  # three consumers
        ("hopper_gemm_fp8_tuned", {"utlx-builder"}),
    ],
)
def test_a_rule_a_cause(spec: str, rules: set[str]) -> None:
    plans = [s.variants[0].plan for s in kernels_of(ROOT / "specs" / f"{spec}.yaml").structures]
    assert {reason.rule for plan in plans if plan for reason in portable.missing(plan)} >= rules
    assert rules or not any(list(portable.missing(plan)) for plan in plans if plan)


def made(tmp_path: Path, toolchain: str) -> Kernels:
    text = (ROOT / "specs/hopper_gemm_cluster.yaml").read_text()
    (tmp_path / "hopper_gemm.yaml").write_text((ROOT / "specs/hopper_gemm.yaml").read_text())
    spec = tmp_path / "one.yaml"
    spec.write_text(f"{text}\ntoolchain: {toolchain}\n")
    return kernels_of(spec)


def test_the_key_rejects_and_is_blamed(tmp_path: Path) -> None:
    assert made(tmp_path, "fbtriton").structures
    kernels = made(tmp_path, "utlx")
    assert not kernels.structures
    rules = {reason.rule for v in kernels.unfit if v.plan for reason in v.plan.reasons}
    assert "utlx-cluster" in rules
    assert all(kernels.family.blame[rule] == "toolchain" for rule in portable.RULES)


def test_for_utlx_loops_with_products_are_not_pipelined() -> None:
    source = "def kernel(n):\n    for k in range(n):\n        acc = tlx.async_dot(a, b, acc)\n    use(acc)\n"
    assert "num_stages" not in run(source, bake={})
    assert "for k in tl.range(n, num_stages=0):" in run(source, bake={}, toolchain="utlx")
