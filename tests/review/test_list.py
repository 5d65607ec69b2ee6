"""`tlxgen list`: an overview that stays short and quick, and every variant for who asks."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tlxgen.errors import NoVariantError, ReviewError
from tlxgen.families import Family, kernels_of
from tlxgen.review import tables
from tlxgen.review.listing import Wanted, print_variants

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))
pytestmark = pytest.mark.filterwarnings("ignore::tlxgen.errors.SpecWarning")

HEAD = "kernel: gemm\nname: k\narch: sm90\n"
MIXED = (
    HEAD
    + "variants:\n  axes: {tasks.mma.split: [cooperative, pingpong], tile.n: [128, 256], rings.ab.stages: [2, 4, 9]}\n"
    "  require: [tile.n == 128 or rings.ab.stages != 9]\n"
)
RULE = "require: tile.n == 128 or rings.ab.stages != 9"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "k.yaml"
    path.write_text(MIXED)
    return path


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.stem)
def test_the_overview_of_every_shipped_spec_is_short(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_variants(spec, Wanted())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 100 and max(map(len, lines)) <= tables.PIPED_WIDTH


def test_the_spec_with_the_most_variants_plans_only_those_that_its_conditions_leave(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A count of the work: the overview took 80 s, most of it for variants that nobody asked for."""
    planned: list[object] = []
    plan = Family.plan
    monkeypatch.setattr(Family, "plan", lambda *given, **more: planned.append(given) or plan(*given, **more))
    largest = ROOT / "specs" / "hopper_gemm_tuned.yaml"
    print_variants(largest, Wanted())
    kernels = kernels_of(largest)
    capsys.readouterr()
    assert len(kernels.expansion) > 50_000 and len(kernels.expansion.judged) < 3_000 and len(planned) < 4_000
    assert "points" not in vars(kernels.expansion) and "rejected" not in vars(kernels)


def test_a_line_a_structure_and_a_line_a_rule(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_variants(spec, Wanted())
    out = capsys.readouterr().out
    first, *lines = (line.strip() for line in out.splitlines())
    assert first == "k: 12 variants; 6 kept in 2 structures, 6 rejected"
    cells = [line.split(maxsplit=2) for line in lines if line]
    assert [c[:2] for c in cells if c[0].startswith("k_")] == [["k_cooperative", "4"], ["k_pingpong", "2"]]
    counted = {" ".join(c[1:]).partition(": needs")[0]: int(c[0]) for c in cells if c[0].isdecimal()}
    kernels = kernels_of(spec)
    assert {rule.partition(": mma holds")[0]: n for rule, n in counted.items()} == dict(kernels.rules)
    assert kernels.rules[RULE] == 2 and "needs 311" in out, "with the numbers of the first"


def test_a_spec_of_many_structures_and_rules_is_short_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conditions = ", ".join(f"schedule.group_m != {n}" for n in range(1, 41))
    axes = "{schedule.prefetch: [" + ", ".join(map(str, range(2, 9))) + "], tile.n: [64, 128], "
    axes += "cache.a: [none, evict_first, evict_last], cache.b: [none, evict_first, evict_last], "
    axes += "schedule.group_m: [" + ", ".join(map(str, range(1, 42))) + "]}"
    path = tmp_path / "k.yaml"
    path.write_text(
        f"{HEAD}schedule: {{pdl: true}}\ntasks: {{mma: {{registers: null}}}}\n"
        f"variants:\n  axes: {axes}\n  require: [{conditions}]\n"
    )
    print_variants(path, Wanted())
    out = capsys.readouterr().out
    assert len(out.splitlines()) <= 100 and "and 3 more" in out and "and 15 more" in out


@pytest.mark.parametrize(("rule", "count"), [("smem", 3), ("require", 2), ("stages != 9", 2), (None, 6)])
def test_rejected_variants_of_a_rule(
    rule: str | None, count: int, spec: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_variants(spec, Wanted(rejected=True, rule=rule))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == count
    assert all(line.startswith("tasks.mma.split=") and (rule or "") in line for line in lines)


def test_a_rule_that_rejects_nothing(spec: Path) -> None:
    with pytest.raises(ReviewError, match="no variant is rejected by a rule 'tmem'") as caught:
        print_variants(spec, Wanted(rejected=True, rule="tmem"))
    assert "require, smem" in caught.value.remedy


@pytest.mark.parametrize("wanted", [Wanted(), Wanted(kept=True), Wanted(rejected=True), Wanted(True, True, "smem")])
def test_json_has_what_is_asked_for(wanted: Wanted, spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_variants(spec, wanted, as_json=True)
    record = json.loads(capsys.readouterr().out)
    kernels = kernels_of(spec)
    assert record["variants"] == {"kept": 6, "rejected": 6, "left_out": 0}
    assert record["rejected"]["rules"] == dict(kernels.rules)
    everything = not (wanted.kept or wanted.rejected)
    listed = [v["values"] for s in record["structures"] for v in s.get("variants", ())]
    assert listed == ([dict(v.values) for v in kernels.kept] if wanted.kept or everything else [])
    if wanted.rejected or everything:
        told = Counter(reason.partition(":")[0] for v in record["rejected"]["variants"] for reason in v["reasons"])
        assert told["smem"] == kernels.rules["smem"] and (wanted.rule or len(record["rejected"]["variants"]) == 6)
    else:
        assert "variants" not in record["rejected"]


def test_a_tuned_spec_says_what_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_variants(ROOT / "specs" / "hopper_gemm_fp8_tuned.yaml", Wanted())
    first = capsys.readouterr().out.splitlines()[0]
    assert "that fit left out (tuned/h200/hopper_gemm_fp8_tuned.yaml has the winners)" in first
    kernels = kernels_of(ROOT / "specs" / "hopper_gemm_fp8_tuned.yaml")
    assert len(kernels.kept) + kernels.rejections + kernels.left_out >= len(kernels.expansion)


def test_nothing_kept_is_told_after_the_list(spec: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec.write_text(MIXED + "  exclude: [tile.m == 128]\n")
    with pytest.raises(NoVariantError):
        print_variants(spec, Wanted())
    assert "0 kept in 0 structures, 12 rejected" in capsys.readouterr().out


def test_the_rule_may_stand_before_the_spec_and_needs_its_option(spec: Path) -> None:
    def tlxgen(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "tlxgen", "list", *words], capture_output=True, text=True, cwd=ROOT
        )

    before, after = tlxgen("--rejected", "smem", str(spec)), tlxgen(str(spec), "--rejected", "smem")
    assert before.returncode == after.returncode == 0 and before.stdout == after.stdout != ""
    alone = tlxgen(str(spec), "smem")
    assert alone.returncode == 2 and "--rejected" in alone.stderr
