"""Lists of blocks in the backward: torch's BlockMask, blocks that no list names, and faults of the walk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from torch.nn.attention.flex_attention import create_block_mask  # noqa: E402

from tests.sim.mutants import Mutant  # noqa: E402
from tests.sim.support import run_mutant  # noqa: E402
from tlxgen.cudalike import CudaLike  # noqa: E402
from tlxgen.families.attention_bwd import cost, problem, roofline  # noqa: E402
from tlxgen.families.attention_fwd import sparse  # noqa: E402
from tlxgen.families.attention_fwd.problem import seen_of  # noqa: E402
from tlxgen.sim import DEVICE, Session, load_module  # noqa: E402

from .specs import plan_of, spec_of  # noqa: E402
from .test_autograd import path_of  # noqa: E402

NAME = "hopper_attention_bwd_blocks"
AT = f"{NAME}/{NAME}_head_dim128_{{}}"
CAUSAL, WINDOW, SMALL = AT.format("causal_full"), AT.format("window_full"), f"{NAME}/{NAME}_head_dim64_causal_full"
BLOCKS = {"mask.blocks.m": 128, "mask.blocks.n": 128}
SHAPE = (2, 2, 1, 395, 395)  # lists of each batch entry and head, ragged
CPU = torch.device("cpu")

FAULTS = (
    Mutant("one list for all heads", CAUSAL, "head * LISTS_H", "first_head * LISTS_H", 0, SHAPE, 2),
    Mutant("one list for all entries", CAUSAL, "batch * LISTS_B + ", "", 0, SHAPE, 2),
    Mutant("lists of the first keys", CAUSAL, " + key // 128", "", 0, SHAPE, 2),
    Mutant("the loader walks full blocks first", CAUSAL, "uncut = list % 2 == 1", "uncut = list % 2 == 0", 0, SHAPE),
    Mutant("full blocks are cut", CAUSAL, " & (not uncut)", "", 0, SHAPE),
    Mutant("a window cuts full blocks", WINDOW, " & (not uncut)", "", 0, SHAPE),
    Mutant("rows of full lists as of partial ones", CAUSAL, "* FULL_ROWS", "* (FULL_ROWS - 1)", 0, SHAPE, 2),
    Mutant("the first half of each block", CAUSAL, " + at % 2 * 64", "", 0, SHAPE, 2),
    Mutant("no list of the last head", SMALL, "range(lists)", "range(lists - 2)", 0, SHAPE, 2),
    Mutant("the next Q of another slot", CAUSAL, "count += 1\n            # The scores", "# The scores", 0, SHAPE),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen


@pytest.mark.parametrize("kind", ["none", "causal", "window"])
def test_the_reference_is_autograds_where_lists_say_what_is_seen(kind: str) -> None:
    spec, shape = spec_of(BLOCKS | {"mask.kind": kind}), (2, 4, 2, 301, 251)
    t, made = problem.inputs(spec, shape, CPU), sparse.kinds(spec, shape)
    blocks = (
        torch.tensor(made).expand(2, 4, -1, -1).repeat_interleave(128, 2).repeat_interleave(128, 3)[:, :, :301, :251]
    )
    plain = seen_of(spec.weights, 301, 251, t, CPU)
    seen = (blocks == sparse.FULL) | (blocks == sparse.PARTIAL) & plain
    q, k, v = (t[x].double().requires_grad_() for x in "qkv")
    x = q @ k.repeat_interleave(2, 1).mT / 128**0.5
    p = torch.softmax(x.masked_fill(~seen, -1e30), -1) * seen
    expected = torch.autograd.grad(p @ v.repeat_interleave(2, 1), (q, k, v), t["dout"].double())
    for (found, _), gradient in zip(problem.reference(spec, t).values(), expected, strict=True):
        torch.testing.assert_close(found, gradient)
    assert cost.flops(spec, shape) == 2 * int(seen.sum()) * 5 * 128


def test_the_operator_takes_torchs_block_mask_and_knows_its_gradients() -> None:
    """Head 1 sees no key of the second block, and no query sees the keys of the third: their gradients are zero."""

    def rule(b: Any, h: Any, i: Any, j: Any) -> Any:
        return (i >= j) & ((h == 0) | (j < 128)) & (j < 256)

    mask = create_block_mask(rule, None, 2, 300, 300, device="cpu")
    for name in ("kv", "full_kv", "q", "full_q"):
        for x in ("num_blocks", "indices"):
            setattr(mask, f"{name}_{x}", getattr(mask, f"{name}_{x}").as_subclass(CudaLike))
    backward, forward = (
        load_module(path_of(f"{NAME}_head_dim128_causal_full")),
        path_of("hopper_attention_fwd_blocks_causal_full"),
    )
    attend = backward.attention(load_module(forward).hopper_attention_fwd_blocks)
    with Session("random", 0).active():
        shapes = (1, 2, 300, 128), (1, 1, 300, 128), (1, 1, 300, 128)
        leaves = [torch.randn(s, device=DEVICE).to(torch.bfloat16).requires_grad_() for s in shapes]
        found = torch.autograd.grad(attend(*leaves, block_mask=mask, enable_gqa=True).sum(), leaves)
        with pytest.raises(ValueError, match="score_mod: expected None"):
            attend(*leaves, lambda *x: x[0], mask, enable_gqa=True)
        with pytest.raises(TypeError, match="block_mask: NoneType"):
            attend(*leaves, enable_gqa=True)
        mask.BLOCK_SIZE = (64, 128)
        with pytest.raises(ValueError, match=r"BLOCK_SIZE \(64, 128\); these kernels have \(128, 128\)"):
            attend(*leaves, block_mask=mask, enable_gqa=True)
    at = torch.arange(300)
    seen = torch.stack([rule(0, torch.tensor(h), at[:, None], at[None]) for h in range(2)])
    exact = [x.detach().as_subclass(torch.Tensor).double().requires_grad_() for x in leaves]
    out = torch.nn.functional.scaled_dot_product_attention(*exact, attn_mask=seen[None], enable_gqa=True)
    found = [x.as_subclass(torch.Tensor).double() for x in found]
    for a, b in zip(found, torch.autograd.grad(out.sum(), exact), strict=True):
        assert float((a - b).norm() / b.norm()) < 1e-2
    assert not found[1][0, 0, 256:].any() and not found[2][0, 0, 256:].any()


def test_a_forward_with_other_blocks_does_not_go_with_it() -> None:
    backward, forward = (
        load_module(path_of(f"{NAME}_head_dim128_causal_full")),
        load_module(path_of("hopper_attention_fwd_causal")),
    )
    with pytest.raises(ValueError, match="blocks None, here"):
        backward.attention(forward.hopper_attention_fwd)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"arch": "sm100"}, "lists of blocks are for sm90; remove the key"),
        ({"problem.lengths": "packed"}, "sequences end to end have none"),
        ({"problem.gradients": "kv"}, "attention_bwd_dq, which would make dQ, walks no lists"),
        ({"rings.dq.adds": "ordered"}, "rings.dq.adds must be any"),
        ({"schedule.heads": "apart"}, "schedule.heads must be together"),
        ({"problem.head_dim": 256}, "no register is left to walk lists with"),
        ({"mask.blocks.m": 96}, "96: a step has 64 queries"),
        ({"mask.blocks.n": 64}, "64: a CTA has 128 keys"),
    ],
)
def test_what_does_not_go_with_lists_is_refused_with_its_reason(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec_of(BLOCKS | values)


def test_a_padded_batch_walks_no_list_past_its_end() -> None:
    plan = plan_of(BLOCKS | {"problem.lengths": "keys"})
    assert not plan.reasons and roofline.work(plan, SHAPE) is None
