"""`tlxgen show`: any variant by its values, with the budget that it exceeds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tlxgen.errors import NoVariantError, ReviewError, SpecError, SpecErrors
from tlxgen.families import kernels_of
from tlxgen.review.show import print_plans

pytestmark = pytest.mark.filterwarnings("ignore::tlxgen.errors.SpecWarning")

HEAD = "kernel: gemm\nname: k\narch: sm90\n"
SPEC = (
    HEAD + "tasks: {epilogue: {}}\nguards: {EPILOGUE_TASK: keep}\nvariants:\n"
    "  axes: {cluster: [{m: 1}, {m: 2}, {n: 2}], tile.n: [128, 256], rings.ab.stages: [4, 9]}\n"
    "  exclude: [tile.n == 256 and cluster.n == 2]\n"
)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "k.yaml"
    path.write_text(SPEC)
    return path


def shown(spec: Path, *settings: str, only: str | None = None) -> list[dict[str, Any]]:
    """The plans that are shown, as data."""
    import contextlib
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_plans(spec, only, settings, as_json=True)
    plans: list[dict[str, Any]] = json.loads(out.getvalue())["plans"]
    return plans


def budget(plan: dict[str, Any], resource: str) -> dict[str, Any]:
    return next(row for row in plan["budgets"] if row["resource"] == resource)


def test_a_kept_variant_is_shown_as_it_is_in_its_structure(spec: Path) -> None:
    without = shown(spec)
    assert [p["structure"] for p in without] == [s.name for s in kernels_of(spec).structures]
    chosen = shown(spec, "cluster.n=2", "EPILOGUE_TASK=false")
    assert [p["structure"] for p in chosen] == ["k_n2"]
    assert chosen[0]["values"] == {"cluster": {"n": 2}, "tile.n": 128, "rings.ab.stages": 4, "EPILOGUE_TASK": False}
    assert not chosen[0]["reasons"] and {p["name"]: p["value"] for p in chosen[0]["parameters"]}["BLOCK_N"] == 128


def test_a_rejected_variant_is_shown_with_the_budget_that_it_exceeds(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (plan,) = shown(spec, "rings.ab.stages=9")
    assert plan["structure"] is None and plan["reasons"][0].startswith("smem: needs ")
    smem = budget(plan, "SMEM")
    assert smem["used"] > smem["limit"] and smem["left"] == f"{smem['used'] - smem['limit']} too many"
    print_plans(spec, None, ["rings.ab.stages=9"])
    out = capsys.readouterr().out
    assert out.startswith("rejected: cluster=m_1, tile.n=128, rings.ab.stages=9") and " too many" in out


def test_every_label_that_list_prints_can_be_given(spec: Path) -> None:
    kernels = kernels_of(spec)
    for variant in (*kernels.kept, *kernels.rejected):
        (plan,) = shown(spec, variant.label)
        assert plan["values"].items() >= variant.values.items()
        assert set(plan["reasons"]) >= set(variant.reasons)
        assert bool(plan["structure"]) == (not variant.reasons)


def test_a_variant_that_a_condition_rejects_has_its_budgets(spec: Path) -> None:
    (plan,) = shown(spec, "tile.n=256, cluster=n_2, rings.ab.stages=9")
    assert [reason.partition(":")[0] for reason in plan["reasons"]] == ["exclude", "smem", "instruction"]
    assert "too many" in str(budget(plan, "SMEM")["left"])


@pytest.mark.parametrize(
    ("setting", "where", "value"),
    [
        ("rings.ab.stages=3", "STAGES", 3),  # not among the axis' values
        ("tile.k=128", "BLOCK_K", 128),  # no axis
        ("schedule={group_m: 4}", "GROUP_M", 4),
    ],
)
def test_a_value_that_the_spec_does_not_have(setting: str, where: str, value: int, spec: Path) -> None:
    plans = shown(spec, setting)
    assert plans and all({p["name"]: p["value"] for p in plan["parameters"]}[where] == value for plan in plans)


def test_a_key_of_an_axis_of_mappings(spec: Path) -> None:
    """The axis has {m: 1}, {m: 2} and {n: 2}: `cluster.k` is set in each."""
    spec.write_text(HEAD + "variants:\n  axes: {cluster: [{m: 1}, {m: 2}, {n: 2}], tile.n: [128]}\n")
    (plan,) = shown(spec, "cluster.k=2")
    assert plan["values"]["cluster"] == {"m": 1, "k": 2} and plan["structure"]


def test_what_a_task_holds_stands_beside_what_it_gets(spec: Path) -> None:
    spec.write_text(HEAD + "tasks: {mma: {replicate: 1}}\nvariants: {axes: {tile.m: [64, 128]}}\n")
    (plan,) = shown(spec, "tile.m=128")
    row = budget(plan, "registers of mma")
    assert row["used"] > row["limit"] == 232 and str(row["left"]).endswith("too many")
    assert "accumulator 256" in row["for"] and plan["reasons"][0].startswith("accumulator: ")
    file = budget(plan, "register file")
    assert file["used"] <= file["limit"] and "256 a thread at launch, then load 256, mma 232" in file["for"]


def test_the_only_variant_of_a_spec_is_shown_where_it_is_rejected(
    spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec.write_text(HEAD + "rings: {ab: {stages: 9}}\n")
    with pytest.raises(NoVariantError):
        print_plans(spec)
    out = capsys.readouterr().out
    assert out.startswith("rejected: the only variant\n    smem: needs ") and "Budgets" in out


@pytest.mark.parametrize(
    ("setting", "error", "words"),
    [
        ("tile.n", ReviewError, "gives no key a value"),
        ("=3", ReviewError, "gives no key a value"),
        ("tile.q=3", SpecErrors, "--set:3:5: unknown axis 'tile.q'; did you mean"),
        ("name=other", SpecErrors, "--set:3:5: unknown axis 'name'"),
        ("tile.k=deep", SpecErrors, "--set:3:14: expected an integer, got the text 'deep' (tile.k)"),
        ("tile.n=[128", SpecError, "not valid YAML"),
        ("tile.n=128, tile.n=256", ReviewError, "tile.n is given twice"),
        ("NO_TASK=true", SpecErrors, "no task is guarded by NO_TASK"),
        ("tile.m=64, tasks.mma.split=pingpong, tasks.mma.replicate=1", SpecErrors, "pingpong is played by 2 replicas"),
    ],
)
def test_settings_that_no_variant_can_have(
    setting: str, error: type[Exception], words: str, spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(error) as caught:
        print_plans(spec, None, [setting])
    assert words in str(caught.value) and not capsys.readouterr().out


def test_a_tuned_spec_shows_what_did_not_win() -> None:
    root = Path(__file__).parents[2]
    values = "rings.ab.stages=6, tile.n=128, tile.k=256, epilogue.subtiles=2, rings.c.stages=2"
    (plan,) = shown(root / "specs" / "hopper_gemm_fp8_exact_tuned.yaml", values)
    assert plan["structure"] is None and any(r.startswith("require: ") for r in plan["reasons"])
    assert "too many" in str(budget(plan, "SMEM")["left"])
