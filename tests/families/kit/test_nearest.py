"""What does not fit comes with the nearest change that does: true, because it is planned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tlxgen.errors import NoVariantError
from tlxgen.families import Kernels, kernels_of, nearest

# kernel, arch, further lines of the spec -> line and column of what is blamed, and the proposal
CASES: dict[str, tuple[str, str, str, str, str]] = {
    "gemm, SMEM": ("gemm", "sm90", "rings: {ab: {stages: 9}}", "4:22", "rings.ab.stages: 4 fits; so does tile.n: 64"),
    "gemm, an accumulator": ("gemm", "sm90", "tile: {m: 256, n: 256}", "4:19", "tile.n: 128 fits; so does tile.m: 128"),
    "gemm, registers": (
        *("gemm", "sm90", "tasks: {mma: {registers: 120}}", "4:26"),
        "tasks.mma.registers: 160 fits; so does tile.n: 128",
    ),
    "gemm, two keys": (
        *("gemm", "sm90", "tasks: {mma: {warps: 8}, epilogue: {warps: 4}}", "4:22"),
        "tasks.mma.warps: 4 and tile.n: 192 together fit",
    ),
    "gemm, TMEM by row groups": (
        *("gemm", "sm100", "rings: {ab: {stages: 3}}\ntasks: {mma: {replicate: 2}}", "5:26"),
        "tasks.mma.replicate: 1 fits; so does rings.acc.stages: 1",
    ),
    "gemm, TMEM by slots": (
        *("gemm", "sm100", "rings: {acc: {stages: 4}}", "4:23"),
        "rings.acc.stages: 2 fits; so does tile.n: 128",
    ),
    "attention_fwd, SMEM": (
        *("attention_fwd", "sm90", "rings: {kv: {stages: 4}}", "4:22"),
        "rings.kv.stages: 2 fits; so does tile.n: 64",
    ),
    "attention_fwd, registers": ("attention_fwd", "sm90", "tile: {n: 256}", "4:11", "tile.n: 128 fits"),
    "attention_fwd, a key that says what is computed": (
        *("attention_fwd", "sm90", "problem: {head_dim: 256}", "4:21"),
        "tile.n: 32 fits",
    ),
    "attention_fwd, sm100": (
        *("attention_fwd", "sm100", "rings: {kv: {stages: 9}}", "4:22"),
        "rings.kv.stages: 3 fits; so does tile.n: 32",
    ),
    "attention_bwd, SMEM": (
        *("attention_bwd", "sm90", "rings: {q: {stages: 4}, do: {stages: 3}}", "4:21"),
        "rings.q.stages: 3 fits; so does rings.do.stages: 2",
    ),
    "attention_bwd, registers": (
        *("attention_bwd", "sm90", "tasks: {mma: {keep: kv}}", "4:21"),
        "tasks.mma.keep: none fits",
    ),
    "attention_bwd_dq, SMEM": (
        *("attention_bwd_dq", "sm90", "rings: {kv: {stages: 4}}", "4:22"),
        "rings.kv.stages: 2 fits; so does tile.n: 64",
    ),
    "norm_fwd, registers": (
        *("norm_fwd", "sm90", "tasks: {reduce: {warps: 1}}", "4:25"),
        "tasks.reduce.warps: 2 fits; so does tile.n: 4096",
    ),
    "norm_fwd, columns": ("norm_fwd", "sm90", "tile: {n: 65536}", "4:11", "tile.n: 32768 fits"),
}


def rejected(folder: Path, kernel: str, arch: str, text: str) -> Kernels:
    (folder / "k.yaml").write_text(f"kernel: {kernel}\nname: k\narch: {arch}\n{text}\n")
    kernels = kernels_of(folder / "k.yaml")
    assert not kernels.structures
    return kernels


@pytest.mark.parametrize("case", CASES)
def test_the_nearest_change_is_proposed_and_what_it_changes_is_blamed(case: str, tmp_path: Path) -> None:
    *spec, place, proposed = CASES[case]
    with pytest.raises(NoVariantError) as told:
        rejected(tmp_path, *spec).some()
    assert told.value.remedy == proposed
    where = told.value.location
    assert where and f"{where.line}:{where.column}" == place


@pytest.mark.parametrize("case", CASES)
def test_what_is_proposed_fits(case: str, tmp_path: Path) -> None:
    kernel, arch, text, *_ = CASES[case]
    kernels = rejected(tmp_path, kernel, arch, text)
    found = nearest.changes(kernels.family, kernels.document, kernels.rejected[0])
    assert found
    for change in found:
        axes = ", ".join(f"{path}: [{value}]" for path, value in change.values.items())
        (tmp_path / "k.yaml").write_text(
            f"kernel: {kernel}\nname: k\narch: {arch}\n{text}\nvariants: {{axes: {{{axes}}}}}\n"
        )
        assert len(kernels_of(tmp_path / "k.yaml").kept) == 1, str(change)


def test_a_proposal_meets_the_conditions_of_the_spec(tmp_path: Path) -> None:
    text = "rings: {ab: {stages: 9}}\nvariants: {require: [rings.ab.stages < 3], exclude: [tile.n < 256]}"
    (tmp_path / "k.yaml").write_text(f"kernel: gemm\nname: k\narch: sm90\n{text.replace('< 3', '!= 4')}\n")
    kernels = kernels_of(tmp_path / "k.yaml")
    first = next(iter(nearest.changes(kernels.family, kernels.document, kernels.rejected[0])))
    assert first.values == {"rings.ab.stages": 3}


def test_nothing_is_searched_for_where_nothing_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[Any] = []
    monkeypatch.setattr(nearest, "changes", lambda *given, **how: searched.append(given) or [])
    (tmp_path / "k.yaml").write_text(
        "kernel: gemm\nname: k\narch: sm90\nvariants: {axes: {rings.ab.stages: [3, 9, 20], tile.n: [128, 256]}}\n"
    )
    kernels = kernels_of(tmp_path / "k.yaml").some()
    assert len(kernels.rejected) == 4 and not searched
    rejected(tmp_path, "gemm", "sm90", "rings: {ab: {stages: 9}}")
    assert not searched
