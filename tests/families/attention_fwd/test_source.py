"""The shipped attention kernels as text: short, specialised, and standing alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "generated"
MODULES = sorted(ROOT.glob("hopper_attention_fwd*/h*.py"))
KERNEL_LINES = 220  # of the kernel and the functions that it calls, comments included


def kernel_lines(text: str) -> int:
    """Lines of all jitted functions."""
    functions = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.decorator_list]
    jitted = [f for f in functions if ast.unparse(f.decorator_list[0]) == "triton.jit"]
    return sum((f.end_lineno or 0) - f.decorator_list[0].lineno + 1 for f in jitted)


def read(name: str) -> str:
    return next(p for p in MODULES if p.stem == name).read_text()


def test_a_causal_persistent_kernel_of_consumers_in_turns_is_short() -> None:
    assert kernel_lines(read("hopper_attention_fwd_causal")) <= KERNEL_LINES


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_a_module_imports_torch_and_triton_alone(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} == {"_host", "math", "torch", "triton"}


def test_a_kernel_has_only_what_its_spec_asks_for() -> None:
    plain = read("hopper_attention_fwd_none")
    for word in ("sink", "cap", "cu_seqlens", "LEFT", "key_tiles", "static_range(3)", "n_q, n_k"):
        assert word not in plain.split("def clocks(")[0], word
    without = read("hopper_attention_fwd_softmax_none_no_softcap_no_sink_no_lse")
    rest = without[without.index("_no_lse_kernel(") :].lower()
    for word in ("else", "no_lse", '"lse": false'):  # a name, and what a backward asks for
        rest = rest.replace(word, "")
    assert "lse" not in rest.replace("false", "")


def test_whole_tiles_are_not_masked() -> None:
    """The mask stands once before the loop without a mask, and in the causal kernel in the first of its two parts."""
    assert read("hopper_attention_fwd_none").count("scores = visible(") == 1
    causal = read("hopper_attention_fwd_causal")
    assert causal.count("scores = visible(") == 2
    assert "if part == 0:\n                            scores = visible(" in causal


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_lines_are_short_except_in_the_table_of_configs(path: Path) -> None:
    long = [line for line in path.read_text().splitlines() if len(line) > 120]
    assert [line for line in long if not line.startswith("    triton.Config(")] == []


def test_q_that_is_kept_frees_its_slot_before_the_first_scores() -> None:
    lines = [line.strip() for line in read("hopper_attention_fwd_causal").splitlines()]
    (at,) = (i for i, line in enumerate(lines) if line.startswith("q_rows = tlx.local_load("))
    assert lines[at + 1].startswith('tlx.fence("async_shared")')
    assert lines[at + 2].startswith("tlx.barrier_arrive(q_empty[")
    assert sum("tlx.async_dot(q_rows, " in line for line in lines) == 2
