"""The gradients of GDPA and HSTU on sm100: what the plan leaves out, and faults put into generated kernels by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.attention_bwd.specs import plan_of
from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

SM100 = {"arch": "sm100"}
PLAIN = "blackwell_gdpa_bwd/blackwell_gdpa_bwd_relu_none"
WINDOW = "blackwell_gdpa_bwd/blackwell_gdpa_bwd_relu_window"
TARGETS = "blackwell_hstu_bwd/blackwell_hstu_bwd_causal_targets"
SHAPE = (3, 2, 1, 150, 260)  # sequences of their own lengths, heads that share K and V

FAULTS = (
    Mutant("no step where there is no query", PLAIN,
        "max(tl.cdiv(n_q, 128), 1)", "tl.cdiv(n_q, 128)", 0, (3, 1, 1, 1, 140)),
    Mutant("no step for keys that no query sees", TARGETS,
        "max(tl.cdiv(stop - first, 128), 1)", "max(tl.cdiv(stop - first, 128), 0)", 0, (3, 1, 1, 1, 140)),
    Mutant("a part of the columns masked as the first", WINDOW, "row + i * 64", "row", 0, SHAPE),
    Mutant("the edge of a part left out", WINDOW, "row + 63 - LEFT > key", "row - LEFT > key + 127", 0, SHAPE),
    Mutant("no meeting before P is stored", PLAIN, "tlx.named_barrier_wait(6, 256)", "pass", 0, SHAPE),
    Mutant("no meeting before dS is stored", PLAIN, "tlx.named_barrier_wait(7, 256)", "pass", 0, SHAPE),
    Mutant("P not awaited", TARGETS, "tlx.barrier_wait(p_full[0], phase)", "pass", 0, SHAPE),
    Mutant("dV without its factor", TARGETS, "* factor", "* 1.0", 0, SHAPE),
    Mutant("dK not scaled", PLAIN, "tlx.local_slice(dk_tiles[0], [0, i * 64], [128, 64])) * scale",
        "tlx.local_slice(dk_tiles[0], [0, i * 64], [128, 64])) * 1.0", 0, SHAPE),
    Mutant("dQ of the first head alone", PLAIN, "head += 1", "head += 0", 0, SHAPE),
    Mutant("keys past the end of a sequence", PLAIN, "if key < n_k:", "if key < N_K:", 0, SHAPE),
)  # fmt: skip


def test_a_function_of_each_score_has_no_numbers_of_rows() -> None:
    for kernel in ("gdpa_bwd", "hstu_bwd"):
        plan = plan_of(SM100, kernel)
        assert not plan.reasons
        assert "numbers" not in {r.name for r in plan.rings}
        assert {m.name: m.threads for m in plan.meetings} == {"s_read": 256, "dp_read": 256}
        assert not any("numbers" in str(s) for role in plan.roles for s in role.steps)


@pytest.mark.parametrize("order", ["dk_dq_dp", "dq_dk_dp", "dk_dp_dq"])
def test_orders_of_products_are_those_of_the_softmax(order: str) -> None:
    values = {**SM100, "problem.head_dim": 64, "tasks.mma.order": order}
    ours, theirs = plan_of(values, "gdpa_bwd"), plan_of(values)
    assert not ours.reasons
    assert ours.role("mma").steps == theirs.role("mma").steps


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
