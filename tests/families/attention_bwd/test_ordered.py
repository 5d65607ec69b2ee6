"""Adds to dQ in one order: where every add must follow the last one, the simulator finds none that does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant  # noqa: E402
from tests.sim.support import run_case, run_mutant, source  # noqa: E402
from tlxgen.families.attention_bwd import problem  # noqa: E402
from tlxgen.sim import globalorder  # noqa: E402
from tlxgen.sim.globalmem import GlobalMemory  # noqa: E402

from .specs import plan_of, spec_of  # noqa: E402

DENSE = "blackwell_attention_bwd_ordered/blackwell_attention_bwd_ordered_head_dim128_none_dense"
CAUSAL = "blackwell_attention_bwd_ordered/blackwell_attention_bwd_ordered_head_dim64_causal_dense"
WINDOW = "blackwell_attention_bwd_ordered/blackwell_attention_bwd_ordered_head_dim128_window_dense"
PACKED = "blackwell_attention_bwd_ordered/blackwell_attention_bwd_ordered_head_dim128_window_packed"
PAIR = "blackwell_attention_bwd_2cta_ordered/blackwell_attention_bwd_2cta_ordered_head_dim64_none"
HOPPER = "hopper_attention_bwd_ordered/hopper_attention_bwd_ordered_head_dim128_none_dense"
HOPPER_WINDOW = "hopper_attention_bwd_ordered/hopper_attention_bwd_ordered_head_dim128_window_dense"
SHAPES = {
    DENSE: (1, 2, 1, 200, 300),
    CAUSAL: (1, 1, 1, 140, 400),  # keys that no query sees
    WINDOW: (1, 1, 1, 300, 520),  # tiles of queries that the first keys are too far away from
    PACKED: (4, 1, 1, 260, 300),
    PAIR: (1, 1, 1, 200, 600),
    HOPPER: (1, 2, 1, 100, 300),
    HOPPER_WINDOW: (1, 1, 1, 300, 520),
}


@pytest.fixture
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adds to a number conflict with adds that nothing orders them after. Counts are numbers that may be added to."""
    follow = GlobalMemory._follow

    def judged(self: GlobalMemory, order: Any, kind: Any, flat: Any, *rest: Any) -> None:
        against = ("write", "read", "add") if flat.is_floating_point() else ("write", "read")
        monkeypatch.setitem(globalorder._AGAINST, "add", against)
        follow(self, order, kind, flat, *rest)

    monkeypatch.setattr(GlobalMemory, "_follow", judged)


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("at", SHAPES, ids=lambda at: at.partition("/")[2])
def test_adds_come_in_one_order(at: str) -> None:
    report = run_case(at, source(at), 0, SHAPES[at])
    assert not report.seen, report.seen[0].finding.message


AWAIT, END = "added < turn", "tl.atomic_add(word, 1"
FAULTS = (
    # Waits that are left out, or for too few.
    *(Mutant("the turn not awaited", at, AWAIT, "added < 0", 0, SHAPES[at]) for at in (DENSE, PAIR, HOPPER)),
    Mutant("the turn of the one before", DENSE, "key // 128)", "key // 128 - 1)", 0, SHAPES[DENSE]),
    Mutant("the turn of a CTA, not of a pair", PAIR, "pair_key // 256", "pair_key // 512", 0, SHAPES[PAIR]),
    Mutant("a window's first keys counted", WINDOW, " - max(row - LEFT, 0) // 128", "", 0, (1, 2, 2, 300, 520)),
    Mutant("a window's tiles counted from the next", WINDOW,
        "max(row - LEFT, 0) // 128", "(max(row - LEFT, 0) // 128 + 1)", 0, SHAPES[WINDOW]),
    # Turns that end early, or never.
    *(Mutant("a turn ends before its adds are there", at, "cp.async.bulk.wait_group 0; ", "", 0, SHAPES[at])
        for at in (DENSE, HOPPER)),
    *(Mutant("a turn never ends", at, END, "tl.atomic_add(word, 0", 0, SHAPES[at]) for at in (DENSE, HOPPER)),
    Mutant("a turn ends twice", DENSE, END, "tl.atomic_add(word, 2", 0, SHAPES[DENSE]),
    Mutant("the turn ends relaxed", DENSE, 'sem="release"', 'sem="relaxed"', 0, SHAPES[DENSE]),
    Mutant("the turn awaited without acquiring", DENSE, "ld.acquire", "ld.relaxed", 0, SHAPES[DENSE]),
    # Counts that are one another's, or begin with what was there.
    Mutant("one count for all heads", DENSE, "(batch * H + head) * tl.cdiv(N_Q, 128) + row",
        "(batch * H) * tl.cdiv(N_Q, 128) + row", 0, SHAPES[DENSE]),
    Mutant("one count for both halves of a pair", PAIR, " * 2 + cta", " * 2", 0, SHAPES[PAIR]),
    Mutant("counts not zeroed", DENSE, "tl.store(adds_ptr + tile, 0)", "pass", 0, SHAPES[DENSE]),
)  # fmt: skip


@pytest.mark.usefixtures("strict")
@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.name} {f.at.partition('/')[2]}".replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen


@pytest.mark.parametrize(("arch", "by", "words"), [("sm90", "mma", 2), ("sm100", "reduce", 1)])
def test_a_signal_of_the_plan_counts_the_adds(arch: str, by: str, words: int) -> None:
    plan = plan_of({"arch": arch, "rings.dq.adds": "ordered"})
    (signal,) = plan.signals
    assert (signal.by, signal.to, signal.words, signal.turns) == (by, by, words, True)
    assert {"await adds", "signal adds"} <= {str(step) for role in plan.roles for step in role.steps}


def test_sequences_without_a_softmax_have_no_order() -> None:
    with pytest.raises(ValidationError, match="no kernel before this one knows their tiles"):
        spec_of({"arch": "sm100", "rings.dq.adds": "ordered"}, "gdpa_bwd")


def test_above_a_head_dim_of_128_there_is_no_order() -> None:
    with pytest.raises(ValidationError, match="above a head_dim of 128 no turn is handed on"):
        spec_of({"problem.head_dim": 256, "rings.dq.adds": "ordered"})


def test_of_ordered_adds_every_run_gives_the_same_bits() -> None:
    assert problem.reproducible(spec_of({"rings.dq.adds": "ordered"}), "dq")
    assert not problem.reproducible(spec_of({}), "dq")
