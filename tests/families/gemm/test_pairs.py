"""Promoted products: those of two slots are under way where registers and ring have room for both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxgen.families import Structure, kernels_of

FP8 = "kernel: gemm\nname: p\narch: sm90\nproblem: {a: {dtype: e4m3}, b: {dtype: e4m3, layout: col}}\n"


def structures(folder: Path, rest: str) -> tuple[Structure, ...]:
    path = folder / "p.yaml"
    path.write_text(FP8 + rest)
    return kernels_of(path).structures


@pytest.mark.parametrize(
    ("tile", "paired"), [("n: 128, k: 128", True), ("n: 64, k: 64", True), ("n: 128, k: 256", False)]
)
def test_narrow_tiles_of_short_slots_are_paired(tmp_path: Path, tile: str, paired: bool) -> None:
    (one,) = structures(
        tmp_path, f"tile: {{{tile}}}\ntasks: {{mma: {{promote: true}}}}\nrings: {{ab: {{stages: 3}}}}\n"
    )
    assert one.plan.facts.paired is paired  # type: ignore[union-attr]
    (consumer,) = (role for role in one.plan.roles if role.name == "mma")
    rows_and_columns = 64 * one.variants[0].spec.tile.n // 128  # type: ignore[union-attr]
    assert consumer.holds and consumer.holds.accumulator == (3 if paired else 2) * rows_and_columns


def test_configs_that_share_a_source_are_paired_together_or_not_at_all(tmp_path: Path) -> None:
    rest = "tile: {n: 128}\ntasks: {mma: {promote: true}}\nrings: {ab: {stages: 3}}\n"
    (both,) = structures(tmp_path, rest + "variants: {axes: {tile.k: [128, 256]}}\n")
    assert len(both.variants) == 2 and not any(v.plan.facts.paired for v in both.variants if v.plan)  # type: ignore[union-attr]


def test_a_ring_of_one_slot_has_no_pairs(tmp_path: Path) -> None:
    (one,) = structures(tmp_path, "tile: {n: 128}\ntasks: {mma: {promote: true}}\nrings: {ab: {stages: 1}}\n")
    assert one.plan.facts.paired is False  # type: ignore[union-attr]


def test_where_registers_have_no_room_for_two_slots_one_is_under_way(tmp_path: Path) -> None:
    rest = "tile: {n: 128}\ntasks: {mma: {promote: true, registers: 184}}\nrings: {ab: {stages: 3}}\n"
    (one,) = structures(tmp_path, rest)
    assert one.plan.facts.paired is False  # type: ignore[union-attr]
