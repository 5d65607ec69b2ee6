"""Gradients of a softmax with sinks: by the kernels in the simulator, beside autograd of a plain formula in float64."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.attention_bwd.test_autograd import DEVICE, path_of, simulated  # noqa: E402
from tests.sim.mutants import Mutant  # noqa: E402
from tests.sim.support import run_mutant  # noqa: E402
from tlxgen.families import kernels_of  # noqa: E402
from tlxgen.families.attention_bwd import problem  # noqa: E402
from tlxgen.families.attention_fwd import problem as forward  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

from .specs import data_of, spec_of  # noqa: E402

Tensor = Any
PACKED = "hopper_attention_bwd_sink/hopper_attention_bwd_sink_qkv_causal_packed"
SEQUENCES = (4, 2, 1, 150, 150)


def attended(q: Tensor, k: Tensor, v: Tensor, sink: Tensor, causal: bool) -> Tensor:
    shared = q.shape[1] // k.shape[1]
    x = q @ k.repeat_interleave(shared, 1).mT * q.shape[-1] ** -0.5
    if causal:
        seen = torch.arange(x.shape[-1])[None, :] <= torch.arange(x.shape[-2])[:, None]
        x = x.masked_fill(~seen, float("-inf"))
    logits = torch.cat([x, sink[None, :, None, None].expand(*x.shape[:3], 1)], -1)
    return torch.softmax(logits, -1)[..., :-1] @ v.repeat_interleave(shared, 1)


@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize("backward", ["qkv", "kv"])
def test_gradients_of_a_forward_with_sinks(backward: str, mask: str) -> None:
    names = [f"bwd_sink_{backward}_{mask}_dense", f"fwd_softmax_{mask}_no_softcap_sink_lse"]
    names += [f"bwd_dq_{mask}_head_dim128"] * (backward == "kv")
    modules = [load_module(path_of(f"hopper_attention_{name}")) for name in names]
    session = Session("random", 0)
    for module in modules:
        simulated(module, session)
    prefixes = ("hopper_attention_fwd_softmax", "hopper_attention_bwd_dq")
    hosts = [getattr(module, name) for module, name in zip(modules[1:], prefixes, strict=False)]
    attention = modules[0].attention(*hosts)
    torch.manual_seed(4)
    given = [torch.randn(2, h, n, 128).to(torch.bfloat16) for h, n in ((4, 70), (2, 90), (2, 90))]
    given.append(torch.tensor([2.0, -1.0, float("-inf"), 9.0]))
    weights = torch.randn(2, 4, 70, 128).to(torch.bfloat16)
    with session.active():
        q, k, v, sink = leaves = [x.to(DEVICE).requires_grad_() for x in given]
        out = attention(q, k, v, is_causal=mask == "causal", enable_gqa=True, sink=sink)
        found = out, *torch.autograd.grad(out, leaves, weights.to(DEVICE))
    exact = [x.double().requires_grad_() for x in given]
    expected = attended(*exact, mask == "causal")
    for a, b in zip(found, (expected, *torch.autograd.grad(expected, exact, weights.double())), strict=True):
        assert a.shape == b.shape
        assert float((a.double() - b).detach().norm() / b.detach().norm()) < 1e-2


@pytest.mark.parametrize("lengths", ["dense", "packed"])
def test_the_reference_is_autograds_of_the_forwards(lengths: str) -> None:
    values = {"problem.lengths": lengths, "mask.kind": "causal", "softmax.sink": True, "softmax.softcap": True}
    t = problem.inputs(spec_of(values), (4, 4, 2, 50, 60), torch.device("cpu"))
    leaves = {x: t[x].double().requires_grad_() for x in ("q", "k", "v", "sink")}
    (out, _), _ = forward.reference(spec_of(values, "attention_fwd"), t | leaves).values()
    expected = torch.autograd.grad(out, [*leaves.values()], t["dout"].double())
    found = problem.reference(spec_of(values), t)
    assert list(found) == ["dq", "dk", "dv", "dsink"]
    for (made, _), gradient in zip(found.values(), expected, strict=True):
        torch.testing.assert_close(made, gradient)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-tl.sum(tl.where(inside", "tl.sum(tl.where(inside"),
        ("sink_ptr + head", "sink_ptr"),
        ("part_ptr + tl.program_id(0)", "part_ptr + head"),
        ("(batch * H + head).to(tl.int64) * TILES", "(batch * H).to(tl.int64) * TILES"),
        ("for batch in range(B)", "for batch in range(B - 1)"),
        ("mask=tiles < TILES", "mask=tiles < TILES - 1"),
    ],
)
def test_a_fault_is_found(old: str, new: str, tmp_path: Any) -> None:
    assert run_mutant(Mutant("sink", PACKED, old, new, 0, SEQUENCES), tmp_path).seen


@pytest.mark.parametrize("name", ["my_sink", "sink", "finish"])
def test_a_module_may_be_named_like_one_of_its_kernels(name: str, tmp_path: Path) -> None:
    spec = tmp_path / f"{name}.yaml"
    spec.write_text(json.dumps(data_of({"name": name, "softmax.sink": True})))
    plan = kernels_of(spec).some().structures[0].plan
    assert plan.launch("sink").kernel == f"{name}_sink_kernel"
    assert plan.launch("finish").kernel == f"{name}_finish_kernel"
