"""The shipped norms as text: short, and with only what their specs ask for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "generated"
MODULES = sorted(p for name in ("*layer_norm", "*rms_norm") for p in ROOT.glob(f"{name}/[!_]*norm*.py"))
KERNEL_LINES = 100  # of the kernel and the functions that it calls, comments included


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
    for word in ("mean", "bias_ptr", "ring_slot", "width"):
        assert word not in texts["hopper_rms_norm_grid"].split("def shape_of")[0], word
    for word in ("tl.load(x_ptr", "mean", "barrier"):
        assert word not in texts["hopper_rms_norm_staged"].split("if CLUSTER > 1")[0].partition("def hopper")[2], word
    for word in ("weight_ptr", "rstd_ptr", "load_vector"):
        assert word not in texts["blackwell_layer_norm_fp32_no_weight_grid"], word


def test_the_ctas_of_a_cluster_meet_without_a_fence_of_all_memory() -> None:
    """`tlx.cluster_barrier()` releases, for which ptxas waits until all stores of the CTA are visible to the GPU."""
    for path in MODULES:
        assert "cluster_barrier" not in path.read_text(), path.stem
