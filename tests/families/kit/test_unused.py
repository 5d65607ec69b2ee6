"""A value of an axis of which no variant is left is told, with why; one of which a single variant is left is not."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tlxgen.errors import SpecWarning
from tlxgen.families import kernels_of
from tlxgen.spec import variants

HEAD = "kernel: gemm\nname: k\narch: sm90\n"


def told(folder: Path, text: str) -> list[str]:
    (folder / "k.yaml").write_text(HEAD + text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernels_of(folder / "k.yaml")
    return [str(w.message).removeprefix(f"{folder}/") for w in caught if issubclass(w.category, SpecWarning)]


def test_a_value_that_nothing_is_left_of(tmp_path: Path) -> None:
    text = "variants: {axes: {rings.ab.stages: [2, 9], tile.n: [128, 256], cluster.n: [1, 2]}}\n"
    assert told(tmp_path, text) == ["k.yaml:4:40: no variant is left with rings.ab.stages=9: 4 rejected, by smem 4"]


def test_one_reason_is_given_in_full(tmp_path: Path) -> None:
    none = "variants: {axes: {tile.n: [128, 64]}, exclude: [tile.n >= 64]}\n"
    assert told(tmp_path, none) == []  # nothing is left at all: that is an error of its own
    (text,) = told(tmp_path, "variants: {axes: {tile.n: [128, 64], tile.k: [64]}, exclude: [tile.n == 128]}\n")
    words = "no variant is left with tile.n=128: exclude: tile.n == 128 is true (tile.n = 128)"
    assert text == f"k.yaml:4:28: {words}"


def test_of_a_product_too_large_to_be_listed_examples_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(variants, "MAX_LISTED", 1000)
    monkeypatch.setattr(variants.Expansion, "points", property(lambda self: pytest.fail("all points were listed")))
    values = "[" + ", ".join(map(str, range(1, 50))) + "]"
    axes = f"{{tile.n: [128, 64], schedule.group_m: {values}, rings.ab.stages: {values}}}"
    text = f"variants: {{axes: {axes}, require: [tile.n == 64, schedule.group_m == 8, rings.ab.stages == 2]}}\n"
    found = told(tmp_path, text)
    assert len(found) == 1 + 48 + 48
    assert found[0] == "k.yaml:4:28: no variant is left with tile.n=128: 97 rejected, by require 97"


@pytest.mark.parametrize(
    "axes",
    [
        "{rings.ab.stages: [2, 4, 6], tile.n: [128, 256]}",  # 6 with 128 alone
        "{tile: [{m: 64}, {m: 128}], tasks.mma.replicate: [1, 2]}",  # mappings
        "{epilogue.ops: [[], [bias]]}",
    ],
)
def test_a_value_of_which_some_are_left(axes: str, tmp_path: Path) -> None:
    assert told(tmp_path, f"variants: {{axes: {axes}}}\n") == []


@pytest.mark.parametrize(
    "spec", ["blackwell_gemm_epilogue", "hopper_gemm", "hopper_attention_fwd_d64", "hopper_rms_norm"]
)
def test_shipped_specs_have_no_such_value(spec: str) -> None:
    path = Path(__file__).parents[3] / "specs" / f"{spec}.yaml"
    with warnings.catch_warnings():
        warnings.simplefilter("error", SpecWarning)
        assert kernels_of(path).kept
