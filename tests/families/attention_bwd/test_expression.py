"""Scores that an expression modifies: gradients by the kernels, faults in derivatives, and what goes together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.attention_bwd.test_autograd import DEVICE, path_of, simulated  # noqa: E402
from tests.sim.mutants import Mutant  # noqa: E402
from tests.sim.support import run_mutant  # noqa: E402
from tlxgen.families.attention_bwd import problem  # noqa: E402
from tlxgen.families.attention_fwd import problem as forward  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

from .specs import plan_of, spec_of  # noqa: E402

CPU = torch.device("cpu")
ALIBI = "score + 2**(-8 * (head + 1) / heads) * (k - q)"
BENT = "20 * tanh(score / 20) - abs(q - k) / 64"
SHAPE = (1, 2, 1, 130, 200)
TANH = "hopper_attention_bwd_tanh/hopper_attention_bwd_tanh_causal"
WHERE = "hopper_attention_bwd_where/hopper_attention_bwd_where_none"


@pytest.mark.parametrize("text", [ALIBI, BENT, "where(q + k > n_q, score * abs(score), score - head - batch)"])
@pytest.mark.parametrize("lengths", ["dense", "packed"])
def test_the_reference_is_autograds_of_the_forwards_reference(text: str, lengths: str) -> None:
    features = {"softmax.expression": text, "mask.kind": "causal", "problem.lengths": lengths}
    t = problem.inputs(spec_of(features), (3, 2, 1, 30, 40), CPU)
    leaves = {x: t[x].double().requires_grad_() for x in "qkv"}
    (out, _), _ = forward.reference(spec_of(features, "attention_fwd"), t | leaves).values()
    expected = torch.autograd.grad(out, [*leaves.values()], t["dout"].double())
    for (found, _), gradient in zip(problem.reference(spec_of(features), t).values(), expected, strict=True):
        torch.testing.assert_close(found, gradient)


def alibi(q: Any, k: Any, v: Any) -> Any:
    """By the usual formula, of two heads, in float64."""
    k, v = (x.repeat_interleave(2, 1) for x in (k, v))
    slopes = torch.tensor([2.0**-4, 2.0**-8], dtype=torch.float64)[None, :, None, None]
    apart = torch.arange(k.shape[2])[None, :] - torch.arange(q.shape[2])[:, None]
    x = q @ k.mT * q.shape[-1] ** -0.5 + slopes * apart
    return torch.softmax(x.masked_fill(apart > 0, float("-inf")), -1) @ v


def test_gradients_of_alibi_by_the_operator() -> None:
    backward = load_module(path_of("hopper_attention_bwd_alibi_causal_together"))
    host = load_module(path_of("hopper_attention_fwd_alibi_causal"))
    session = Session("random", 0)
    for module in (backward, host):
        simulated(module, session)
    attention = backward.attention(host.hopper_attention_fwd_alibi)
    torch.manual_seed(5)
    given = [torch.randn(1, h, n, 128).to(torch.bfloat16) for h, n in ((2, 70), (1, 90), (1, 90))]
    weights = torch.randn(1, 2, 70, 128).to(torch.bfloat16)
    with session.active():
        leaves = [x.to(DEVICE).requires_grad_() for x in given]
        out = attention(*leaves, is_causal=True, enable_gqa=True)
        found = out, *torch.autograd.grad(out, leaves, weights.to(DEVICE))
    exact = [x.double().requires_grad_() for x in given]
    expected = alibi(*exact)
    for a, b in zip(found, (expected, *torch.autograd.grad(expected, exact, weights.double())), strict=True):
        assert float((a.double() - b).detach().norm() / b.detach().norm()) < 1e-2


def test_a_forward_with_another_expression_is_refused() -> None:
    backward = load_module(path_of("hopper_attention_bwd_alibi_causal_together"))
    plain = load_module(path_of("hopper_attention_fwd_causal")).hopper_attention_fwd
    with pytest.raises(ValueError, match="expression"):
        backward.attention(plain)


FAULTS = (
    Mutant("a derivative of another power", TANH, "1.0 - t0 * t0", "1.0 - t0", 0, SHAPE),
    Mutant("a derivative left out", TANH, "p * slope.to(DTYPE)", "p", 0, (1, 2, 1, 400, 400)),
    Mutant("a distance of the wrong sign", WHERE, "+ (n_k - n_q)))", "+ (n_q - n_k)))", 0, SHAPE),
    Mutant("the derivative of the other case", WHERE, "64.0, 0.5, 1.0)", "64.0, 1.0, 0.5)", 0, SHAPE),
    Mutant("places of another tile", WHERE, "row, key, N_Q, N_K, scale_log2, tlx", "0, key, N_Q, N_K, scale_log2, tlx",
           0, SHAPE),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen


def test_positions_past_an_end_are_hidden_whatever_they_are() -> None:
    for mask in ("none", "causal"):
        plan = plan_of({"softmax.expression": "score - log(n_q - q)", "mask.kind": mask})
        assert not plan.reasons and plan.facts.modified and not plan.facts.sloped  # type: ignore[attr-defined]


@pytest.mark.parametrize("kernel", ["attention_bwd", "attention_bwd_dq", "attention_fwd"])
def test_an_expression_and_the_cap_do_not_go_together(kernel: str) -> None:
    with pytest.raises(ValidationError, match=r"cap \* tanh\(score / cap\)"):
        spec_of({"softmax.expression": BENT, "softmax.softcap": True}, kernel)


def test_an_expression_has_no_bias_and_keeps_no_q() -> None:
    with pytest.raises(ValidationError, match="would see their sum as the score"):
        spec_of({"softmax.expression": BENT, "softmax.bias": "like_q"}, "attention_fwd")
    assert spec_of({"softmax.expression": BENT}, "attention_fwd").tasks.mma.keep == "none"
    assert spec_of({}, "attention_fwd").tasks.mma.keep == "q"


@pytest.mark.parametrize(("text", "names"), [(ALIBI, ["scale", "scale_log2"]), (BENT, ["scale"])])
def test_a_kernel_has_the_factor_of_scores_that_the_expression_reads(text: str, names: list[str]) -> None:
    for kernel, own in (("attention_fwd", names[-1:]), ("attention_bwd", names)):
        arguments = [a.name for a in plan_of({"softmax.expression": text}, kernel).launches[0].arguments]
        assert [a for a in arguments if a.startswith("scale")] == own
