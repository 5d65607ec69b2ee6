"""Cases that run: what a kernel or host function is passed, and what its outputs are held against."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from tlxgen.cases import Tolerance, load
from tlxgen.cases.execute import verify_case
from tlxgen.cases.numbers import difference
from tlxgen.errors import TlxgenError
from tlxgen.sim import Report, Run

HERE = Path(__file__).parent
ONE: tuple[Run, ...] = (("random", 0),)
SCALE = """\
kernel: scale_kernel
grid: ["cdiv(n, BLOCK)"]
args: {x_ptr: {tensor: [n], dtype: fp32}, y_ptr: {output: [n], dtype: fp32}, n: 70, factor: 3}
constexprs: {BLOCK: 16}
reference: x * factor
"""
SPLIT = """\
kernel: split_kernel
grid: [1]
args: {x_ptr: {tensor: [8], dtype: int32}, low_ptr: {output: [8], dtype: int32}, high_ptr: {output: [8], dtype: int32}}
constexprs: {N: 8}
"""
TUNED = """\
kernel: tuned_kernel
grid: ["cdiv(n, BLOCK)"]
args: {x_ptr: {tensor: [n]}, y_ptr: {output: [n]}, n: 64}
"""
CALL = "call: scale\nargs: {x: {tensor: [100], dtype: fp32}}\n"

CLEAN = {
    "a kernel": SCALE,
    "a default of a constexpr": SCALE.replace("BLOCK: 16", "BLOCK: 16, SHIFT: 2").replace("* factor", "* factor + 2"),
    "a function of the file as reference": SCALE.replace("x * factor", "expected(x_ptr)"),
    "a function of a module as reference": SCALE.replace("x * factor", "kernels:expected"),
    "several outputs, a tuple": SPLIT + "reference: (x - 1, x + 1)\n",
    "several outputs, by name": SPLIT + "reference: {high_ptr: x + 1, low_ptr: x - 1}\n",
    "several outputs, one of them": SPLIT + "reference: {high_ptr: x + 1}\n",
    "an output with a value to begin with": SPLIT.replace("split_kernel", "add_kernel").replace(
        "low_ptr: {output: [8], dtype: int32}, high_ptr: {output: [8]", "y_ptr: {output: [8], fill: 5"
    )
    + "reference: x + 5\n",
    "an autotuned kernel's first config": TUNED + "reference: x * 0 + 16\n",
    "an autotuned kernel's third config": TUNED + "reference: x * 0 + 64\nconfig: 2\n",
    "a host function": CALL + "reference: x * 2\n",
    "a host function with a value": CALL.replace("}}", "}, factor: -2, activation: {value: relu}}")
    + "reference: torch.relu(-2 * x)\n",
    "a host function that returns two": CALL.replace("scale", "both").replace("100", "64")
    + "reference: (x - 1, x + 1)\n",
    "a strided input": CALL.replace("[100]", "[10, 10], strides: [10, 1], range: [2, 3]") + "reference: x * 2\n",
    "no reference": SCALE.replace("reference: x * factor\n", ""),
}

FINDINGS = {
    "a wrong result": (SCALE.replace("x * factor", "x * 2"), "wrong-numbers", "y_ptr: 70 of 70 elements differ"),
    "an output not covered": (SCALE.replace("output: [n]", "output: [n + 2]").replace("reference: x * factor", ""),
                              "output-unwritten", "y_ptr: 2 of 72 elements were never written"),
    "out of bounds": (SCALE.replace("tensor: [n]", "tensor: [n - 1]"), "out-of-bounds", "1 elements outside"),
    "a wrong host function": (CALL + "reference: x * 3\n", "wrong-numbers", "result: 99 of 100 elements differ"),
}  # fmt: skip

ERRORS = {
    "another shape": (SCALE.replace("x * factor", "x[:5]"), "5:12", "the reference for y_ptr has the shape 5, y_ptr"),
    "no such kernel": (SCALE.replace("kernel: scale", "kernel: scales"), "1:9", "did you mean 'scale_kernel'?"),
    "a kernel that is none": (SCALE.replace("kernel: scale_kernel", "kernel: plain"), "1:9",
                              "plain is a plain function, not a triton.jit kernel"),
    "an argument too many": (SCALE.replace("n: 70", "n: 70, m: 3"), "3:85", "no argument 'm'"),
    "a misspelt constexpr": (SCALE.replace("{BLOCK: 16}", "{BLOCK: 16, SHFT: 1}"), "4:25", "did you mean 'SHIFT'?"),
    "missing arguments": (SCALE.replace(", factor: 3", "").replace("* factor", "* 3").replace("{BLOCK: 16}", "{}")
                          .replace("cdiv(n, BLOCK)", "1"), "1:9", "missing arguments of scale_kernel: factor, BLOCK"),
    "a constexpr among the arguments": (SCALE.replace("n: 70", "n: 70, SHIFT: 0"), "3:85", "belongs under constexprs"),
    "an unknown name in the grid": (SCALE.replace("cdiv(n, BLOCK)", "cdiv(n, BLCK)"), "2:8", "did you mean 'BLOCK'?"),
    "a reference that raises": (SCALE.replace("x * factor", "x @ nope"), "5:12", "NameError: name 'nope'"),
    "a reference of too many": (SCALE.replace("x * factor", "(x, x)"), "5:12", "gives 2 tensors for 1 outputs: y_ptr"),
    "a reference that is a number": (SCALE.replace("x * factor", "1.5 * 2"), "5:12", "is a float, not a tensor"),
    "a config that is not left": (TUNED + "config: 3\n", "", "no config 3: tuned_kernel has 3 configs (0 to 2)"),
    "a call of a kernel": (CALL.replace("scale", "scale_kernel"), "1:7", "scale_kernel is a kernel"),
    "a call that lacks arguments": ("call: plain\nargs: {y: 1}\n", "1:7", "missing argument of plain: x"),
    "a host function that raises": (CALL.replace("tensor: [100]", "value: 3").replace(", dtype: fp32", ""), "",
                                    "the host code raised TypeError"),
}  # fmt: skip


def verify(folder: Path, text: str) -> Report:
    shutil.copy(HERE / "kernels.py", folder)
    path = folder / "kernels.verify.yaml"
    path.write_text(text)
    (case,) = load(path)
    return verify_case(case, ONE)


@pytest.mark.parametrize("name", CLEAN)
def test_a_case_is_clean(name: str, tmp_path: Path) -> None:
    report = verify(tmp_path, CLEAN[name])
    assert not report.seen, str(report)
    assert report.runs == 1


@pytest.mark.parametrize("name", FINDINGS)
def test_a_case_is_not_clean(name: str, tmp_path: Path) -> None:
    text, id, words = FINDINGS[name]
    report = verify(tmp_path, text)
    assert report.ids == {id}, str(report)
    assert words in str(report)


@pytest.mark.parametrize("name", ERRORS)
def test_a_case_does_not_fit_its_function(name: str, tmp_path: Path) -> None:
    text, place, words = ERRORS[name]
    with pytest.raises(TlxgenError) as caught:
        verify(tmp_path, text)
    assert words in str(caught.value) and (not place or f"kernels.verify.yaml:{place}" in str(caught.value)), str(
        caught.value
    )


def test_a_reference_without_memory_is_no_fault_of_the_reference(tmp_path: Path) -> None:
    full = "x.new_empty(1 << 50)"  # torch raises a RuntimeError that names its allocator
    with pytest.raises(MemoryError, match="DefaultCPUAllocator"):
        verify(tmp_path, SCALE.replace("x * factor", full))


def test_inputs_are_fresh_for_each_seed_and_the_same_for_the_same(tmp_path: Path) -> None:
    from tlxgen.cases.tensors import fill

    path = tmp_path / "k.verify.yaml"
    path.write_text(SCALE)
    (case,) = load(path)
    first, again, other = (fill(case, seed) for seed in (1, 1, 2))
    assert torch.equal(first["x_ptr"], again["x_ptr"]) and not torch.equal(first["x_ptr"], other["x_ptr"])
    assert bool(first["y_ptr"].isnan().all())


def test_differences_know_nan_infinity_and_the_tolerance() -> None:
    nan, inf = float("nan"), float("inf")
    want = torch.tensor([1.0, nan, inf, 100.0], dtype=torch.float64)
    allowed = Tolerance(rtol=0.01, atol=0.0)
    assert not difference(torch.tensor([1.0, nan, inf, 101.0]), want, allowed)
    assert "at [3] it is 101.5, not 100 (allowed: off by 1)" in difference(
        torch.tensor([1.0, nan, inf, 101.5]), want, allowed
    )
    assert "1 of 4 elements differ (1 are NaN)" in difference(torch.tensor([nan, nan, inf, 100.0]), want, allowed)
    assert "at [2]" in difference(torch.tensor([1.0, nan, -inf, 100.0]), want, allowed)
    assert "at [1]" in difference(torch.tensor([1.0, 0.0, inf, 100.0]), want, allowed)
