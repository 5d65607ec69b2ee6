"""A bias in the backward: its gradient where one matrix is for many, what is refused, and faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant  # noqa: E402
from tests.sim.support import run_mutant  # noqa: E402
from tlxgen.families.attention_bwd import cost, problem  # noqa: E402
from tlxgen.sim import DEVICE, Session, load_module  # noqa: E402

from .specs import plan_of, spec_of  # noqa: E402
from .test_autograd import path_of, simulated  # noqa: E402

NAME = "hopper_attention_bwd_bias"
ADDED, STORED, CAUSAL = (f"{NAME}/{NAME}_{x}" for x in ("none_added", "none_stored", "causal_stored"))
OWN, SHARED, LONG = (2, 2, 2, 129, 65), (2, 4, 2, 130, 194), (1, 1, 1, 40, 300)
BIAS = {"softmax.bias": "like_q"}
CPU = torch.device("cpu")
LEFT = "tlx.async_descriptor_store_wait(0)"

FAULTS = (
    Mutant("the bias not awaited", ADDED, "tlx.barrier_wait(bias_full[0], next_bias_phase)", "pass", 0, OWN),
    Mutant("the bias never acquired", ADDED, "tlx.barrier_wait(bias_empty[0], bias_phase ^ 1)", "pass", 0, OWN),
    Mutant("the bias never released", ADDED, "tlx.barrier_arrive(bias_empty[0])", "pass", 0, OWN, 2),
    Mutant("keys of one replica", ADDED, "bias_tiles[0], [0, replica * 64]", "bias_tiles[0], [0, 0]", 0, OWN, 2),
    Mutant("a bias in other units", ADDED, "* bias_unit", "* 1.0", 0, OWN, 2),
    Mutant("one bias for all heads", ADDED, "head * BIAS_H", "0 * BIAS_H", 0, OWN),
    Mutant("one gradient for all heads", ADDED, "head * DBIAS_H", "0 * DBIAS_H", 0, OWN),
    Mutant("its gradient stored, not added", ADDED, 'row, key], store_reduce="add"', "row, key]", 0, SHARED),
    Mutant("sums that do not begin at zero", ADDED, "mask=there)\n\n\n@", "mask=keys < 0)\n\n\n@", 0, SHARED),
    Mutant("dQ stored while it leaves", ADDED, f"{LEFT}  # the bias's gradient has left", "pass", 0, SHARED),
    Mutant("it is stored while dQ leaves", ADDED, f"{LEFT}  # the part of dQ before has left", "pass", 0, SHARED),
    Mutant("rows that see nothing", STORED, 'lse = tl.where(lse > float("-inf"), lse, 0.0)', "pass", 0, OWN),
    Mutant("no fence before dS leaves", STORED, 'tlx.fence("async_shared")  # every', "pass  #", 0, OWN),
    Mutant("the keys of the first replica", STORED, "row, key]\n", "row, key - replica * 64]\n", 0, (1, 2, 1, 65, 129)),
    Mutant("no zeros where no query sees", CAUSAL, "& (keys < N_K))", "& (keys < 0))", 0, LONG),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen


@pytest.mark.parametrize("shape", [(2, 4, 2, 70, 90), (3, 4, 2, 65, 71)])
def test_the_reference_is_autograds_of_torchs_attention_with_a_mask(shape: tuple[int, int, int, int, int]) -> None:
    spec = spec_of(BIAS | {"softmax.dbias": "added"})
    t = problem.inputs(spec, shape, CPU)
    leaves = [t[x].double().requires_grad_() for x in ("q", "k", "v", "attn_mask")]
    q, k, v, mask = leaves
    x = q @ k.repeat_interleave(2, 1).mT / 128**0.5 + mask
    hidden = torch.isneginf(mask).expand(x.shape)
    out = torch.softmax(x.masked_fill(hidden, -1e30), -1).masked_fill(hidden, 0.0) @ v.repeat_interleave(2, 1)
    expected = torch.autograd.grad(out, leaves, t["dout"].double())
    found = problem.reference(spec, t)
    assert list(found) == ["dq", "dk", "dv", "dbias"] and t["attn_mask"].shape[0] == (shape[0] if shape[3] % 2 else 1)
    for (gradient, _), exact in zip(found.values(), expected, strict=True):
        torch.testing.assert_close(gradient, exact)


@pytest.mark.parametrize(("name", "lead"), [("added", (1, 2)), ("stored", (2, 2))])
def test_the_operator_knows_the_gradient_by_the_mask(name: str, lead: tuple[int, int]) -> None:
    backward = load_module(path_of(f"{NAME}_causal_{name}"))
    forward = load_module(path_of("hopper_attention_fwd_bias_causal_like_q"))
    session = Session("random", 0)
    for module in (backward, forward):
        simulated(module, session)
    attend = backward.attention(forward.hopper_attention_fwd_bias)
    with session.active():
        shapes = (2, 2, 70, 128), (2, 1, 72, 128), (2, 1, 72, 128), (*lead, 70, 72)
        leaves = [torch.randn(s).to(torch.bfloat16) for s in shapes]
        q, k, v, mask = (x.to(DEVICE).requires_grad_() for x in leaves)
        out = attend(q, k, v, mask, is_causal=True, enable_gqa=True)
        found = torch.autograd.grad(out.sum(), (q, k, v, mask))
        with pytest.raises(TypeError, match="attn_mask: NoneType, expected a tensor"):
            attend(q, k, v, is_causal=True, enable_gqa=True)
    q, k, v, mask = (x.double().requires_grad_() for x in leaves)
    x = (q @ k.mT / 128**0.5 + mask).masked_fill(torch.ones(70, 72).triu(1).bool(), float("-inf"))
    expected = torch.autograd.grad((x.softmax(-1) @ v).sum(), (q, k, v, mask))
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape and float((a.double() - b).norm() / b.norm()) < 1e-2


def test_a_constant_bias_has_no_gradient_and_says_so() -> None:
    backward = load_module(path_of(f"{NAME}_causal_no_dbias"))
    attend = backward.attention(
        load_module(path_of("hopper_attention_fwd_bias_causal_like_q")).hopper_attention_fwd_bias
    )
    q, mask = torch.zeros(1, 1, 8, 128, dtype=torch.bfloat16), torch.zeros(1, 1, 8, 8, dtype=torch.bfloat16)
    with pytest.raises(ValueError, match="attn_mask"):
        attend(q, q, q, mask.requires_grad_(), is_causal=True)


def test_a_gradient_that_is_given_has_whole_chunks() -> None:
    module = load_module(path_of(f"{NAME}_none_stored"))
    with Session("eager", 0).active():
        q, k = (torch.zeros(1, 1, n, 128, device=DEVICE).to(torch.bfloat16) for n in (8, 13))
        mask, dbias = (torch.zeros(1, 1, 8, 16, device=DEVICE).to(torch.bfloat16)[..., :13] for _ in range(2))
        given = (q, k, k, q, torch.zeros(1, 1, 8, device=DEVICE), q, mask)
        with pytest.raises(ValueError, match="dbias: rows of 13 elements are 26 bytes"):
            module.hopper_attention_bwd_bias(*given, dbias=dbias)
        *_, made = module.hopper_attention_bwd_bias(*given)
        assert made.shape == mask.shape and made.stride(2) == 16
        with pytest.raises(ValueError, match=r"attn_mask: shape \(1, 1, 8, 13\), expected \(1, 2, 8, 13\)"):
            module.hopper_attention_bwd_bias(*(x.repeat(1, 2, *[1] * (x.dim() - 2)) for x in given[:6]), mask)


@pytest.mark.parametrize("dbias", ["none", "stored", "added"])
def test_the_bias_has_a_slot_and_its_gradient_no_bytes_of_its_own(dbias: str) -> None:
    plan = plan_of(BIAS | {"softmax.dbias": dbias})
    ring, (queries, keys) = plan.ring("bias"), plan.ring("ds").tiles[0].shape
    assert not plan.reasons and ring.slots.value == 1 and ring.full_barrier and ring.full_barrier.bytes
    assert ring.full_barrier.bytes.value == 64 * 128 * 2 and (queries.value < keys.value) == (dbias == "stored")
    assert problem.reproducible(spec_of(BIAS | {"softmax.dbias": dbias}), "dbias") == (dbias == "stored")
    none = plan_of(BIAS)
    assert [r.smem_bytes for r in plan.rings] == [r.smem_bytes for r in none.rings]


def test_the_bytes_of_a_bias_and_of_its_gradient_are_counted() -> None:
    plain, constant, added = (spec_of(x) for x in ({}, BIAS, BIAS | {"softmax.dbias": "added"}))
    for shape, matrices in (((2, 4, 2, 40, 40), 1), ((2, 4, 2, 41, 41), 8)):
        once = matrices * shape[3] * shape[4] * 2
        assert cost.bytes_moved(constant, shape) - cost.bytes_moved(plain, shape) == once
        assert cost.bytes_moved(added, shape) - cost.bytes_moved(plain, shape) == 2 * once


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"arch": "sm100"}, "a bias is for sm90; remove the key"),
        ({"problem.lengths": "packed"}, "sequences end to end have no matrix"),
        ({"softmax.softcap": True}, "a soft cap would bend that"),
        ({"problem.head_dim": 64}, "SMEM that a head_dim of 128 has"),
        ({"tasks.mma.meet": "named"}, "with tasks.mma.meet: mbarrier"),
        ({"problem.gradients": "kv"}, "attention_bwd_dq, which would make dQ, adds no bias"),
        ({"rings.dq.adds": "ordered"}, "rings.dq.adds must be any"),
        ({"rings.dq.stages": 2}, "one buffer of dQ leaves room for a tile of the bias"),
        ({"schedule.heads": "apart"}, "schedule.heads must be together"),
        ({"mask.blocks.m": 128}, "a walk over lists leaves no registers"),
    ],
)
def test_what_does_not_go_with_a_bias_is_refused_with_its_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec_of(BIAS | values)


def test_a_gradient_by_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="nothing is added to scores: softmax.bias is none"):
        spec_of({"softmax.dbias": "added"})
