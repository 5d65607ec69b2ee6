"""A spec is planned once for all that ask for its variants one after the other, and again when a file of it changes."""

from __future__ import annotations

from pathlib import Path

from tlxgen.families import kernels_of

SPEC = "kernel: gemm\nname: some\narch: sm90\nvariants: {axes: {rings.ab.stages: [3, 4]}}\n"


def test_a_spec_is_planned_again_only_if_its_text_changes(tmp_path: Path) -> None:
    spec = tmp_path / "some.yaml"
    spec.write_text(SPEC)
    found = kernels_of(spec)
    assert kernels_of(spec) is found
    spec.write_text(SPEC.replace("[3, 4]", "[3]"))
    assert [len(x.structures[0].variants) for x in (found, kernels_of(spec))] == [2, 1]


def test_a_change_of_a_spec_that_is_extended_counts_too(tmp_path: Path) -> None:
    parent, child = tmp_path / "parent.yaml", tmp_path / "child.yaml"
    parent.write_text(SPEC)
    child.write_text("extends: parent.yaml\nname: other\nvariants: {axes: {rings.ab.stages: [3, 4]}}\n")
    before = kernels_of(child).structures[0].plan.arch.name
    parent.write_text(SPEC.replace("sm90", "sm100"))
    assert (before, kernels_of(child).structures[0].plan.arch.name) == ("sm90", "sm100")
