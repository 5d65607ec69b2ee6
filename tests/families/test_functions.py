"""What people import of a spec: one function a meaning, by a name that stays as the axes grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxgen import families
from tlxgen.errors import SpecError
from tlxgen.families import Function
from tlxgen.families.functions import Words

HEADS = {
    "attention_fwd": "kernel: attention_fwd\nname: f\narch: sm90\n",
    "gemm": "kernel: gemm\nname: f\narch: sm90\ntile: {n: 128}\n",
    "norm_fwd": "kernel: norm_fwd\nname: f\narch: sm90\n",
}
SPECS = sorted((Path(__file__).parents[2] / "specs").glob("*.yaml"))


def functions(folder: Path, kernel: str, axes: str = "", more: str = "") -> dict[str, Function]:
    """Those of a spec, by all their names but the spec's own part."""
    path = folder / "f.yaml"
    path.write_text(HEADS[kernel] + more + (f"variants: {{axes: {{{axes}}}}}\n" if axes else ""))
    made = families.functions(families.kernels_of(path))
    return {suffix: function for function in made for suffix in (function.suffix, *function.others)}


def test_structures_that_compute_the_same_are_one_function(tmp_path: Path) -> None:
    axes = "tasks.mma.split: [cooperative, pingpong], schedule.kind: [persistent, grid], epilogue.store: [tma, direct]"
    (function,) = functions(tmp_path, "gemm", axes).values()
    assert (function.name, function.chooses, function.module, len(function.structures)) == ("f", True, "_f", 6)


def test_a_single_structure_is_the_function_itself(tmp_path: Path) -> None:
    (function,) = functions(tmp_path, "gemm").values()
    assert (function.name, function.chooses, function.module) == ("f", False, "f")


def test_what_is_computed_is_in_the_name_and_the_specs_own_needs_none(tmp_path: Path) -> None:
    found = functions(tmp_path, "attention_fwd", "mask.kind: [none, causal]")
    assert {suffix: function.values["mask.kind"] for suffix, function in found.items()} == {
        "": "none",
        "_none": "none",
        "_causal": "causal",
    }
    assert found[""] is found["_none"]


GROWING = (
    "",
    "mask.kind: [none, causal]",
    "mask.kind: [causal, none, window]",
    "mask.kind: [none, causal], problem.head_dim: [128, 64]",
    "problem.dtype: [fp16, bf16], problem.head_dim: [64, 128], mask.kind: [causal, none]",
    "schedule.kind: [grid, persistent], mask.kind: [none, causal], problem.dtype: [bf16, fp16]",
)


@pytest.mark.parametrize("more", ["", "mask: {kind: causal}\n"])
def test_a_name_means_the_same_whatever_other_axes_and_values_there_are(tmp_path: Path, more: str) -> None:
    meant: dict[str, tuple[str, ...]] = {}
    for axes in GROWING:
        for suffix, function in functions(tmp_path, "attention_fwd", axes, more).items():
            spec = function.structures[0].variants[0].spec
            computed = tuple(map(str, families.load("attention_fwd").computed(spec).values()))
            assert meant.setdefault(suffix, computed) == computed, suffix
    assert {"", "_none", "_causal", "_fp16", "_head_dim64"} <= {*meant}


@pytest.mark.parametrize(("before", "after"), [(0, 1), (0, 2), (1, 2), (1, 3), (1, 4), (1, 5)])
def test_no_name_is_lost_where_an_axis_or_a_value_is_added(tmp_path: Path, before: int, after: int) -> None:
    names = [{*functions(tmp_path, "attention_fwd", GROWING[i])} for i in (before, after)]
    assert names[0] <= names[1]


def test_what_the_spec_does_not_say_itself_has_no_name_of_its_own(tmp_path: Path) -> None:
    found = functions(tmp_path, "gemm", "epilogue.ops: [[bias], [bias, relu]]")
    assert {*found} == {"_bias", "_bias_relu"}


def test_the_only_function_has_the_specs_name_whatever_it_computes(tmp_path: Path) -> None:
    (plain, named) = functions(tmp_path, "gemm", "epilogue.ops: [[bias]]").items()
    assert (plain[0], named[0]) == ("", "_bias") and plain[1] is named[1]


def test_values_that_several_keys_can_have_are_told_apart(tmp_path: Path) -> None:
    axes = "problem.a.layout: [row, col], problem.b.layout: [row, col]"
    assert {"_a_col", "_b_col", "_a_col_b_col"} <= {*functions(tmp_path, "gemm", axes)}
    found = functions(tmp_path, "norm_fwd", "problem.dtype: [bf16, fp32], problem.weight: [same, fp32]")
    assert {"_dtype_fp32", "_weight_fp32", "_dtype_fp32_weight_fp32"} <= {*found}


@pytest.mark.parametrize("name", ["gemm", "attention_fwd", "attention_bwd", "attention_bwd_dq", "norm_fwd"])
def test_no_two_values_of_a_family_have_the_same_word(name: str) -> None:
    words = Words.of(families.load(name))
    said = [words.of_value(path, text) for path, texts in words.texts.items() for text in sorted(texts)]
    assert len(said) == len({*said}) > 5


@pytest.mark.parametrize("name", ["gemm", "attention_fwd", "attention_bwd", "attention_bwd_dq", "norm_fwd"])
def test_what_a_family_says_that_it_computes_is_in_its_model(name: str) -> None:
    family = families.load(name)
    assert all(any(f"{known}.".startswith(f"{path}.") for known in Words.of(family).texts) for path in family.computes)


def test_what_no_axis_decides_cannot_be_two_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A family whose model derives what is computed from how it is."""
    family = families.load("gemm")
    monkeypatch.setattr(type(family), "computed", lambda self, spec: {"kind": spec.schedule.kind})
    with pytest.raises(SpecError, match="two different things that the axes make would both be called f"):
        functions(tmp_path, "gemm", "schedule.kind: [grid, persistent]")


@pytest.mark.parametrize("spec", [s for s in SPECS if "tuned" not in s.stem], ids=lambda path: path.stem)
def test_functions_of_what_ships_take_the_same_arguments(spec: Path) -> None:
    for function in families.functions(families.kernels_of(spec)):
        hosts = [s.plan.host for s in function.structures]
        taken = {tuple((a.name, a.schema, a.default, a.keyword, a.dtypes) for a in host.arguments) for host in hosts}
        assert len(taken) == 1 and len({host.companions for host in hosts}) == 1
