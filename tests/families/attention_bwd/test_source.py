"""The shipped backward kernels as text: short, specialised, and standing alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3] / "generated"
MODULES = sorted(p for p in ROOT.glob("*_attention_bwd*/*.py") if not p.stem.startswith("_"))
KERNEL_LINES = {"hopper": 235, "blackwell": 300}  # of a module's kernels and functions, comments included
MORE = {  # by words of a module's name
    "2cta": 115,  # two CTAs load rows and columns, exchange dS and add up dQ of both
    "softcap": 20,  # under a mask: the cap, its derivative, and which of both count
    "packed": 35,  # where sequences lie, coordinates one a line
    "keys": 5,
    "sink": 30,  # its gradient
    "ordered": 45,  # turns of CTAs at dQ, and the counts that they wait for
    "heads": 25,  # apart: sums of dK and dV, zeros for them, and all three gradients rounded
    "apart": 25,
    "alibi": 12,  # modified scores, and where none counts
    "tanh": 30,  # and their derivative
    "where": 30,
    "mxfp8": 200,  # seven operands with scales, and dS quantised along rows and columns
    "d192": 40,  # operands, dK and dV in several buffers, each with its load, product or store
    "d96": 40,  # in two buffers
    "d256": 25,
}
MORE_ON_BLACKWELL = {"features": 10, "keys": 5, "packed": 20}  # the load task works out bounds of its own, too
UNBROKEN = ("    triton.Config(", "    lambda ", "        lambda ")  # black breaks no list of a lambda's parameters


def kernel_lines(text: str) -> int:
    """Lines of all jitted functions."""
    functions = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.decorator_list]
    jitted = [f for f in functions if ast.unparse(f.decorator_list[0]) == "triton.jit"]
    return sum((f.end_lineno or 0) - f.decorator_list[0].lineno + 1 for f in jitted)


def read(name: str) -> str:
    return next(p for p in MODULES if p.stem == name).read_text()


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.stem)
def test_a_module_is_short_and_imports_torch_and_triton_alone(path: Path) -> None:
    tree = ast.parse(path.read_text())
    imported = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module or "" for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert {name.split(".")[0] for name in imported} - {"functools"} == {"_host", "math", "torch", "triton"}
    words = path.stem.replace("no_softcap", "").split("_")
    features = [MORE, MORE_ON_BLACKWELL] if words[0] == "blackwell" else [MORE]
    more = sum(lines for feature in features for word, lines in feature.items() if word in words)
    assert kernel_lines(path.read_text()) <= KERNEL_LINES[words[0]] + more
    long = [line for line in path.read_text().splitlines() if len(line) > 120]
    assert [line for line in long if not line.startswith((*UNBROKEN, "roles "))] == []


def test_a_kernel_has_only_what_its_spec_asks_for() -> None:
    plain = read("hopper_attention_bwd_none_together")
    for word in ("GROUP_H", "place =", "heads_together", "row = first"):
        assert word not in plain, word
    alone = read("hopper_attention_bwd_kv_causal_head_dim128").split("def hopper_attention_bwd_kv(")[0]
    for word in ("named_barrier", "store_reduce", "ds_tiles", "sum_ptr", "finish"):
        assert word not in alone, word


def test_a_product_stands_once_in_its_task_and_counts_of_steps_say_of_which_step_it_is() -> None:
    for name in ("blackwell_attention_bwd_causal", "blackwell_attention_bwd_d64_none"):
        text = read(name)
        assert text.count("tlx.async_dot(") == 5
        assert (text.count("if count < steps:"), text.count("if count > 0:")) == (2, 1)
        assert "by_thread" not in text and "places" not in text


def test_one_arrival_one_wait_and_one_fence_hand_ds_over_in_a_step() -> None:
    for name in ("hopper_attention_bwd_causal_together", "hopper_attention_bwd_d64_causal_together"):
        lines = [line.strip() for line in read(name).splitlines()]
        (at,) = (i for i, line in enumerate(lines) if line.startswith("tlx.barrier_arrive(ds_full["))
        assert lines[at - 1].startswith('tlx.fence("async_shared")')
        assert sum(line.startswith("tlx.barrier_wait(ds_full[") for line in lines) == 1


def test_one_fence_and_one_meeting_hand_ds_over_in_a_step() -> None:
    for dim in (64, 128):
        name = f"hopper_attention_bwd_schedules_head_dim{dim}_named_stages1"
        lines = [line.strip() for line in read(name).splitlines()]
        (at,) = (i for i, line in enumerate(lines) if line.startswith("tlx.named_barrier_wait("))
        assert lines[at - 1].startswith('tlx.fence("async_shared")')


@pytest.mark.parametrize(
    "spec, wide, narrow",
    [
        ("hopper_attention_bwd_features", *(f"head_dim{d}_window_bottom_right_softcap" for d in (64, 128))),
        ("hopper_gdpa_bwd", "silu_none", "silu_window"),
        ("hopper_gdpa_bwd", "gelu_none", "fast_gelu_none"),
    ],
)
def test_slopes_wait_in_fp32_where_registers_suffice(spec: str, wide: str, narrow: str) -> None:
    for name, rounds in ((wide, False), (narrow, True)):
        text = (ROOT / spec / f"{spec}_{name}.py").read_text()
        (line,) = (line for line in text.splitlines() if line.endswith("half the registers until dP is there"))
        assert line.count(".to(DTYPE)") == 1 + rounds
