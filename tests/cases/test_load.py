"""Declarations: every fault at its place, all of them in one run; what is text is evaluated in any order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tlxgen.cases import Case, load
from tlxgen.errors import SpecErrors, TlxgenError

GOOD = """\
kernel: scale_kernel
grid: ["cdiv(n, BLOCK)"]
args:
  x_ptr: {tensor: [n], dtype: fp32}
  y_ptr: {output: [n], dtype: fp32}
  n: rows * 10
  factor: 3
sizes: {rows: 7}
constexprs: {BLOCK: "32 if n > 100 else 16"}
reference: x * factor
"""

# name -> (what is replaced, by what, "line:column", words of the message)
FAULTS: dict[str, tuple[str, str, str, str]] = {
    "unknown key": ("grid:", "grit:", "2:1", "unknown key 'grit'; did you mean 'grid'?"),
    "unknown key of an argument": ("{tensor: [n]", "{tensr: [n]", "4:11", "unknown key 'tensr' in args.x_ptr"),
    "unknown dtype": ("[n], dtype: fp32}\n  y", "[n], dtype: fp23}\n  y", "4:31", "did you mean 'fp32'?"),
    "unknown name": ("rows * 10", "row * 10", "6:6", "unknown name 'row'; did you mean 'rows'?"),
    "text for a number": ("factor: 3", "factor: relu", "7:11", "for the text itself write {value: relu}"),
    "a circle": ("rows: 7", "rows: n", "6:6", "this goes in a circle: rows -> n -> rows"),
    "a size of zero": ("rows: 7", "rows: 0", "4:20", "n is 0; a whole number from 1 is needed"),
    "a size that is no number": ("rows: 7", "rows: 7 / 4", "4:20", "n is 17.5; a whole number"),
    "two kinds": ("{tensor: [n]", "{value: 1, tensor: [n]", "4:", "not several"),
    "no kind": ("{tensor: [n], dtype", "{fill: ones, dtype", "4:", "say what this argument is"),
    "a block of another rank": ("{tensor: [n]", "{tensor: [n], block: [8, 8]", "4:24", "one number for each of the 1"),
    "fill and range": ("{tensor: [n]", "{tensor: [n], fill: 1, range: [0, 1]", "4:33", "fill or range, not both"),
    "no grid": ('grid: ["cdiv(n, BLOCK)"]', "num_warps: 8", "1:1", "missing key 'grid'"),
    "a grid of four": ('["cdiv(n, BLOCK)"]', "[1, 1, 1, 1]", "2:7", "at most 3 items"),
    "neither kernel nor call": ("kernel: scale_kernel", "sms: 2", "1:1", "say what to run"),
    "both kernel and call": ("kernel: scale_kernel", "kernel: a\ncall: b", "2:1", "a kernel or a call, not both"),
    "argument and constexpr": ("{BLOCK:", "{n: 3, BLOCK:", "6:3", "n is also in constexprs"),
    "a reference that is no Python": ("x * factor", "x * * factor", "10:16", "reference is not a Python expression"),
    "a reference for no output": ("x * factor", "{x_ptr: x}", "10:13", "'x_ptr' is no output; those are y_ptr"),
    "a duplicate key": ("  factor: 3", "  n: 3", "7:3", "duplicate key 'n'"),
    "not YAML": ("{rows: 7}", "{rows: 7", "", "not valid YAML"),
    "a negative tolerance": ("reference:", "tolerance: {rtol: -1}\nreference:", "10:19", "at least 0"),
    "cases that are a list": ("reference:", "cases: [a]\nreference:", "10:8", "cases must be a mapping"),
    "an unknown key in a case": ("reference:", "cases: {a: {n: 3}}\nreference:", "10:13", "unknown key 'n'"),
    "a wrong argument in a case": ("reference:", "cases: {a: {args: {n: m}}}\nreference:", "10:23", "unknown name 'm'"),
    "another kind of file": ("kernel:", "file: kernel.cu\nkernel:", "1:7", "the Python file of the kernel"),
}  # fmt: skip


def declared(folder: Path, text: str) -> Path:
    path = folder / "k.verify.yaml"
    path.write_text(text)
    return path


def only(folder: Path, text: str) -> Case:
    (case,) = load(declared(folder, text))
    return case


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_its_place_and_a_remedy(name: str, tmp_path: Path) -> None:
    old, new, place, words = FAULTS[name]
    assert old in GOOD
    with pytest.raises(TlxgenError) as caught:
        load(declared(tmp_path, GOOD.replace(old, new, 1)))
    text = str(caught.value)
    assert words in text and f"k.verify.yaml:{place}" in text, text


def test_all_faults_come_at_once_and_each_once(tmp_path: Path) -> None:
    text = GOOD.replace("grid:", "grit:").replace("fp32", "fp23").replace("reference:", "refrence:")
    with pytest.raises(SpecErrors) as caught:
        load(declared(tmp_path, text + "cases: {a: {}, b: {}}\n"))
    assert [e.location.line for e in caught.value.errors if e.location] == [2, 4, 5, 10]


def test_a_fault_that_follows_from_another_is_not_told(tmp_path: Path) -> None:
    with pytest.raises(SpecErrors) as caught:
        load(declared(tmp_path, GOOD.replace("rows: 7", "rows: nope")))
    assert len(caught.value.errors) == 1


def test_values_are_evaluated_in_the_order_they_need(tmp_path: Path) -> None:
    case = only(tmp_path, GOOD)
    assert case.values == {"rows": 7, "n": 70, "factor": 3, "BLOCK": 16}
    assert case.name == "scale_kernel" and case.file == tmp_path / "k.py"
    assert case.sizes(case.declared.grid or ()) == (5,)


def test_cases_merge_over_the_rest_and_one_with_its_own_function_stands_alone(tmp_path: Path) -> None:
    text = GOOD + "cases:\n  big: {sizes: {rows: 20}, num_warps: 8}\n  other: {call: plain, args: {x: 1}}\n"
    big, other = load(declared(tmp_path, text))
    assert (big.name, big.values["n"], big.values["BLOCK"]) == ("big", 200, 32) and big.declared.num_warps == 8
    assert (other.declared.function, other.values, other.declared.reference) == ("plain", {"x": 1}, None)


def test_null_removes_and_extends_inherits(tmp_path: Path) -> None:
    declared(tmp_path, GOOD)
    child = tmp_path / "child.verify.yaml"
    child.write_text("extends: k.verify.yaml\nfile: k.py\nreference: null\nargs: {n: 3}\n")
    (case,) = load(child)
    assert case.values["n"] == 3 and case.declared.reference is None and case.file == tmp_path / "k.py"
