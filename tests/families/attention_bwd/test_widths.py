"""Head dimensions that are no powers of two, above 128, and of V other than of Q: plans, numbers, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.arch import Sm90  # noqa: E402
from tlxgen.build import build  # noqa: E402
from tlxgen.families.attention.common import columns_of  # noqa: E402
from tlxgen.families.attention_bwd import cost, problem  # noqa: E402
from tlxgen.families.attention_bwd.plan import BackwardFacts  # noqa: E402
from tlxgen.families.attention_fwd import problem as forward  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

from .specs import plan_of, spec_of  # noqa: E402

DEVICE = torch.device("cuda", 0)
BWD, DQ, FWD = "attention_bwd", "attention_bwd_dq", "attention_fwd"
NARROW_V = {"problem.head_dim": 192, "problem.head_dim_v": 128}


@pytest.mark.parametrize(("head_dim", "columns"), [(8, 64), (64, 64), (104, 128), (128, 128), (136, 256), (256, 256)])
def test_a_tile_has_the_least_power_of_two_that_holds_a_head(head_dim: int, columns: int) -> None:
    assert columns_of(head_dim) == columns
    q = plan_of({"problem.head_dim": head_dim}).ring("q").tile("q")
    assert q.shape[1].value == columns


@pytest.mark.parametrize("head_dim", [72, 96])
def test_heads_of_up_to_96_columns_lie_in_buffers_of_64_and_32(head_dim: int) -> None:
    """A consumer has the columns of one of them of dQ, in a ring of its own; dK and dV leave by both."""
    plan = plan_of({"problem.head_dim": head_dim})
    facts = cast(BackwardFacts, plan.facts)
    assert facts.slices == facts.slices_v == facts.grad_widths == (64, 32)
    assert (facts.columns, facts.row_block, facts.ahead, facts.tight) == (96, 128, True, False)
    assert (facts.dks, facts.dqs, facts.dq_tiles) == (("dk_0", "dk_1"), ("dq",), {"dq": 64, "dq_tail": 32})
    assert [(r.name, r.banks, r.slots.value) for r in plan.rings if r.name.startswith("dq")] == [
        ("dq", 1, 2),
        ("dq_tail", 1, 2),
    ]
    assert plan.deep(plan.ring("dq")).value == 1
    bytes_ = {r.name: r.smem_bytes for r in plan.rings}
    assert bytes_["k"] == bytes_["v"] == 128 * 96 * 2 and bytes_["grad"] == 2 * 64 * 96 * 2
    assert not plan.reasons


@pytest.mark.parametrize(
    "values",
    [
        {"problem.lengths": "keys"},
        {"problem.lengths": "packed"},
        {"problem.gradients": "kv"},
        {"rings.dq.adds": "ordered"},
        {"tasks.mma.meet": "named"},
    ],
)
def test_others_have_one_buffer_with_zeros_past_the_head(values: dict[str, Any]) -> None:
    facts = cast(BackwardFacts, plan_of({"problem.head_dim": 96, **values}).facts)
    assert facts.slices == (128,) and not facts.sliced


def test_consumers_of_wide_heads_share_out_columns() -> None:
    """64 keys, of which a sum of all 256 columns would take 128 registers of a thread; two would not fit."""
    plan = plan_of({"problem.head_dim": 256})
    facts = cast(BackwardFacts, plan.facts)
    assert (facts.keys, facts.queries, facts.scores, facts.grad) == (64, 64, (64, 32), (64, 128))
    assert (facts.dks, facts.dqs) == (("dk",), ("dq_0", "dq_1"))
    # K, V, two of Q and one of dO; P and dS, two each; a part of dQ for each consumer.
    tiles = 5 * 64 * 256 * 2 + 4 * 64 * 64 * 2 + 2 * 64 * 64 * 4
    numbers = 3 * 64 * 4
    assert sum(r.smem_bytes for r in plan.rings if not r.alias) == tiles + numbers
    assert not plan.reasons


def test_a_narrow_v_leaves_registers_for_keys_of_its_own() -> None:
    """D 192 and V of 128: tiles have as many columns, and a thread has 160 registers of dK and dV."""
    plan = plan_of({"problem.head_dim": 192, "problem.head_dim_v": 128})
    facts = cast(BackwardFacts, plan.facts)
    assert (facts.keys, facts.queries, facts.scores, facts.grad) == (128, 64, (64, 64), (64, 64))
    assert (facts.columns, facts.columns_v, facts.row_block) == (192, 128, 256)
    assert (facts.dks, facts.dvs) == (("dk_0", "dk_1", "dk_2"), ("dv_0", "dv_1"))
    q = plan.ring("q").tile("q")
    assert [s.value for s in q.shape] == [64, 64] and [c.begin for c in plan.ring("q").columns("q")] == [0, 64, 128]
    assert next(p.value for p in plan.parameters if p.name == "DO_STAGES") == 2
    assert not plan.reasons
    holds = plan.role("mma").holds
    assert holds and holds.accumulator == 64 * (192 + 128 + 64 + 32) // Sm90.warpgroup_threads


@pytest.mark.parametrize(("head_dim", "tiles"), [(136, {"dq": 64, "dq_tail": 32}), (256, {"dq": 128})])
def test_parts_of_dq_are_powers_of_two_and_all_columns(head_dim: int, tiles: dict[str, int]) -> None:
    plan = plan_of({"problem.head_dim": head_dim, "problem.head_dim_v": 72, "tile.n": 128})
    facts = cast(BackwardFacts, plan.facts)
    assert facts.dq_tiles == tiles
    assert facts.replicas * sum(tiles.values()) == facts.columns
    ends = [begin + facts.replicas * wide for _, begin, wide in facts.dq_places]
    assert [begin for _, begin, _ in facts.dq_places] == [0, *ends[:-1]]


def test_a_narrow_v_of_consumers_that_share_out_columns() -> None:
    plan = plan_of({"problem.head_dim": 192, "problem.head_dim_v": 128, "tile.n": 64})
    facts = cast(BackwardFacts, plan.facts)
    assert facts.grad == (64, 64) and facts.dks == ("dk_0", "dk_1") and facts.grads == 2
    assert not plan.reasons


@pytest.mark.parametrize(
    ("values", "rule", "words"),
    [
        ({"tile.n": 192}, "wgmma-m", "192 keys for 2 consumers"),
        ({"tile.n": 128}, "accumulator", "mma holds 304 accumulator registers"),
        ({"tile.m": 128}, "queries", "128 queries of a step; dQ of a consumer has 64 rows"),
        ({"rings.do.stages": 2}, "smem", "263"),
    ],
)
def test_what_does_not_fit_says_why(values: dict[str, Any], rule: str, words: str) -> None:
    reasons = {r.rule: r.text for r in plan_of({"problem.head_dim": 256, **values}).reasons}
    assert words in reasons[rule].replace(",", "")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"problem.head_dim": 128, "problem.head_dim_v": 64}, "up to a head_dim of 128 they are as wide"),
        ({"problem.head_dim": 256, "problem.head_dim_v": 64}, "half of each, 64 at least"),
        ({"problem.head_dim": 192, "problem.head_dim_v": 256}, "half of each, 64 at least"),
        ({"problem.head_dim": 256, "tasks.mma.meet": "named"}, "they meet on an mbarrier"),
        ({"problem.head_dim": 256, "tasks.mma.keep": "v"}, "none is its own, to be kept"),
        ({**NARROW_V, "tasks.mma.keep": "k"}, "fill the registers of a consumer: no rows of K or V are kept"),
        ({**NARROW_V, "tasks.mma.ahead": True}, "fill the registers of a consumer: no scores run ahead"),
        ({**NARROW_V, "tasks.mma.meet": "named"}, "fill the registers of a consumer: they meet on an mbarrier"),
        ({**NARROW_V, "rings.dq.adds": "ordered"}, "above a head_dim of 128 no turn is handed on"),
        ({"problem.head_dim": 96, "arch": "sm100"}, "on sm100 it is 64 or 128"),
    ],
)
def test_what_does_not_go_together_is_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec_of(values)


def test_the_work_of_a_narrow_v_is_its_own() -> None:
    shape = (1, 1, 1, 64, 64)
    both = spec_of({"problem.head_dim": 192, "problem.head_dim_v": 128})
    assert cost.flops(both, shape) == 2 * 64 * 64 * (3 * 192 + 2 * 128)
    rows = 64 * (2 * 192 + 2 * 128) + 64 * (2 * 192 + 2 * 128)  # Q, dQ, O, dO; K, dK, V, dV
    assert cost.bytes_moved(both, shape) == 2 * rows + 4 * 64


def right(kernel: str, lines: str, shape: tuple[int, ...], folder: Path, order: Any = "random") -> None:
    """Builds a spec with these problem keys and holds a launch on NaN against the reference."""
    path = folder / "some.yaml"
    path.write_text(f"kernel: {kernel}\nname: some\narch: sm90\n{lines}\n", encoding="utf-8")
    made = build(path, out=folder / "made").folder
    (file,) = (p for p in made.glob("some*.py"))
    families = {BWD: problem, DQ: problem, FWD: forward}
    how, spec = families[kernel], _spec(path)
    with Session(order, 1).active():
        tensors = how.inputs(spec, shape, DEVICE)
        results, strays = how.launch(load_module(file), spec, shape, tensors, None)
        assert strays == 0
        for name, (wanted, norm) in how.reference(spec, tensors).items():
            found = results[name].double()
            finite = wanted.isfinite()
            assert float((found - wanted)[finite].norm()) <= how.tolerance(spec, name) * norm, name


def _spec(path: Path) -> Any:
    from tlxgen.families import kernels_of

    return kernels_of(path).structures[0].variants[0].spec


@pytest.mark.parametrize(
    ("kernel", "lines", "shape"),
    [
        (BWD, "problem: {head_dim: 40}\nmask: {kind: causal}", (1, 2, 1, 70, 90)),
        (BWD, "problem: {head_dim: 72}", (1, 2, 1, 70, 150)),
        (BWD, "problem: {head_dim: 96}\nmask: {kind: window}\nsoftmax: {softcap: true}", (1, 2, 1, 150, 150)),
        (BWD, "problem: {head_dim: 88}\nmask: {kind: causal}\nschedule: {heads: apart}", (2, 2, 1, 130, 130)),
        (BWD, "problem: {head_dim: 96}\ntasks: {mma: {keep: v, ahead: false}}", (1, 2, 1, 130, 70)),
        (
            BWD,
            "problem: {head_dim: 104, lengths: packed}\nmask: {kind: causal, align: bottom_right}",
            (3, 2, 1, 90, 70),
        ),
        (BWD, "problem: {head_dim: 200, head_dim_v: 136}\nmask: {kind: causal}", (1, 2, 1, 100, 130)),
        (BWD, "problem: {head_dim: 192, head_dim_v: 72, gradients: kv}", (1, 1, 1, 70, 66)),
        (BWD, "problem: {head_dim: 192, head_dim_v: 128, gradients: kv}\ntile: {n: 64}", (1, 1, 1, 70, 66)),
        (BWD, "problem: {head_dim: 192, head_dim_v: 128}\ntile: {n: 64}\nmask: {kind: causal}", (1, 2, 1, 100, 130)),
        (BWD, "problem: {head_dim: 136, head_dim_v: 64}\nmask: {kind: causal}", (1, 2, 1, 130, 150)),
        (BWD, "problem: {head_dim: 192, head_dim_v: 128, lengths: keys}\nsoftmax: {softcap: true}", (2, 2, 1, 66, 200)),
        (BWD, "problem: {head_dim: 144, head_dim_v: 80, lengths: packed}\nmask: {kind: window}", (3, 2, 1, 90, 70)),
        (BWD, "problem: {head_dim: 256, lengths: keys}\nsoftmax: {softcap: true}", (2, 1, 1, 66, 130)),
        (DQ, "problem: {head_dim: 192, head_dim_v: 128}\ntile: {n: 64}", (1, 2, 1, 70, 90)),
        (DQ, "problem: {head_dim: 256}\ntile: {n: 32}\nmask: {kind: causal}", (1, 2, 1, 70, 90)),
        (FWD, "problem: {head_dim: 40}", (1, 2, 1, 70, 150)),
        (FWD, "problem: {head_dim: 192, head_dim_v: 72}\ntile: {n: 64}\nmask: {kind: causal}", (1, 2, 1, 130, 150)),
        (FWD, "problem: {head_dim: 104, lengths: packed}\nmask: {kind: causal}", (3, 2, 1, 90, 70)),
    ],
)
def test_columns_past_a_head_are_zeros_and_are_not_stored(
    kernel: str, lines: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    right(kernel, lines, shape, tmp_path)


@pytest.mark.parametrize("order", ["eager", "starved"])
def test_both_consumers_read_what_both_have_stored(order: str, tmp_path: Path) -> None:
    right(BWD, "problem: {head_dim: 256}", (1, 2, 1, 200, 70), tmp_path, order)


def test_registers_of_wide_heads_are_counted() -> None:
    """A thread has 64 x 128 of dK and of dV, 64 x 32 scores and a part of dQ, 64 x 64."""
    plan = plan_of({"problem.head_dim": 256})
    holds = plan.role("mma").holds
    assert holds and holds.accumulator == (2 * 64 * 128 + 64 * 32 + 64 * 64) // Sm90.warpgroup_threads
