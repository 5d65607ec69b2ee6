"""The shipped backward of norms as text: short, and with only what their specs ask for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "generated"
MODULES = sorted(p for name in ("*layer_norm_bwd", "*rms_norm_bwd") for p in ROOT.glob(f"{name}/[!_]*norm*.py"))
KERNEL_LINES = 230  # of the kernels and the functions that they call, comments included


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_a_module_is_short_and_standalone(path: Path) -> None:
    tree = ast.parse(path.read_text())
    jitted = [
        n for n in tree.body if isinstance(n, ast.FunctionDef) and "triton.jit" in map(ast.unparse, n.decorator_list)
    ]
    assert jitted and sum((n.end_lineno or 0) - n.lineno + 2 for n in jitted) <= KERNEL_LINES
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    assert {name.split(".")[0] for name in imported} - {"functools"} == {"torch", "triton"}


def test_a_kernel_has_only_what_its_spec_asks_for() -> None:
    texts = {p.stem: p.read_text() for p in MODULES}
    for word in ("mean", "bias"):
        assert word not in texts["hopper_rms_norm_bwd"].split("def shape_of")[0], word
    for word in ("weight_ptr", "finish_kernel", "columns_kernel", "sums_ptr"):
        assert word not in texts["blackwell_layer_norm_bwd_fp32_no_weight"].split("def shape_of")[0], word
    assert "columns_kernel" not in texts["blackwell_layer_norm_bwd_fp16_bias"]
