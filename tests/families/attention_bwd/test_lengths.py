"""Sequences of their own lengths: FlashAttention's function of packed ones, and torch's of padded ones.

The kernels in the simulator beside autograd of a plain formula in float64; what torch.compile makes of the operators,
and what they refuse.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.attention_bwd.test_autograd import DEVICE, path_of, simulated  # noqa: E402
from tlxgen.families.attention_bwd import problem  # noqa: E402
from tlxgen.families.attention_fwd import problem as forward  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

from .specs import spec_of  # noqa: E402

Tensor = Any
FUSED, ALONE = "packed_head_dim128", "packed_kv"
BLACKWELL, PAIR = "blackwell packed_head_dim128", "blackwell 2cta_packed_head_dim128"
MASKS = ("none_top_left", "causal_bottom_right", "window_bottom_right")
WINDOW = (9, 3)


def attention_of(backward: str, mask: str, lengths: str = "packed") -> tuple[Session, Any, ModuleType]:
    """What a backward makes of the forward with its mask, on a simulated GPU, and its module."""
    chip, backward = backward.split() if " " in backward else ("hopper", backward)
    together = "_together" if chip == "hopper" and backward == FUSED else ""
    names = [f"bwd_{backward}_{mask}{together}", f"fwd_masks_{mask}_{lengths}"]
    names += [f"bwd_dq_{lengths}_{mask}"] * ("_kv" in backward)
    arch = {"hopper": "sm90", "blackwell": "sm100"}[chip]
    modules = [load_module(path_of(f"{chip}_attention_{name}"), arch) for name in names]
    session = Session("random", 0, arch=arch)
    for module in modules:
        simulated(module, session)
    prefixes = (f"{chip}_attention_fwd_masks", f"{chip}_attention_bwd_dq_{lengths}")
    hosts = [getattr(module, name) for module, name in zip(modules[1:], prefixes, strict=False)]
    return session, modules[0].attention(*hosts), modules[0]


def ends(lengths: list[int]) -> Tensor:
    return torch.tensor([sum(lengths[:i]) for i in range(len(lengths) + 1)], dtype=torch.int32)


def drawn(seed: int) -> tuple[list[int], list[int]]:
    """Lengths of queries and keys: none of either, one, more queries than keys and fewer, some tiles."""
    rng = random.Random(seed)
    pairs = [(0, 70), (33, 0), (1, 1), (140, 20), (9, 150)]
    pairs += [(rng.randint(0, 150), rng.randint(0, 150)) for _ in range(2)]
    rng.shuffle(pairs)
    queries, keys = zip(*pairs, strict=True)
    return [*queries], [*keys]


def probabilities(q: Tensor, k: Tensor, mask: str, scale: float) -> Tensor:
    """(H, Nq, Nk) of one sequence, by the definition; zeros for a query that sees no key."""
    n, m = len(q), len(k)
    x = torch.einsum("nhd,mhd->hnm", q, heads_of(k, q)) * scale
    away = torch.arange(n)[:, None] + m - n - torch.arange(m)[None, :]
    left, right = {"none": (10**6, 10**6), "causal": (10**6, 0), "window": WINDOW}[mask.partition("_")[0]]
    seen = (away <= left) & (away >= -right)
    p = torch.where(seen, torch.exp(x - x.detach().amax(2, keepdim=True)), 0.0) if m else x
    return p / p.sum(2, keepdim=True).clamp(min=1e-30)


def heads_of(k: Tensor, q: Tensor) -> Tensor:
    return k.repeat_interleave(q.shape[1] // k.shape[1], 1)


def attended(q: Tensor, k: Tensor, v: Tensor, mask: str, scale: float) -> Tensor:
    """O (N, H, D) of one sequence."""
    return torch.einsum("hnm,mhd->nhd", probabilities(q, k, mask, scale), heads_of(v, q))


def derived(q: Tensor, k: Tensor, v: Tensor, out: Tensor, dout: Tensor, mask: str, scale: float) -> tuple[Tensor, ...]:
    """dQ, dK and dV of one sequence."""
    p, delta = probabilities(q, k, mask, scale), (out * dout).sum(2).T[:, :, None]
    ds = p * (torch.einsum("nhd,mhd->hnm", dout, heads_of(v, q)) - delta) * scale
    by_head = torch.einsum("hnm,nhd->mhd", ds, q), torch.einsum("hnm,nhd->mhd", p, dout)
    by_keys = (x.unflatten(1, (k.shape[1], -1)).sum(2) for x in by_head)
    return torch.einsum("hnm,mhd->nhd", ds, heads_of(k, q)), *by_keys


def packed(q: Tensor, k: Tensor, v: Tensor, queries: list[int], keys: list[int], mask: str, scale: float) -> Tensor:
    cut = zip(q.split(queries), k.split(keys), v.split(keys), strict=True)
    return torch.cat([attended(*parts, mask, scale) for parts in cut])


def agree(found: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert float((a.double() - b).detach().norm() / b.detach().norm()) < 1e-2


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("backward", [FUSED, ALONE, BLACKWELL, PAIR])
def test_packed_sequences(backward: str, mask: str) -> None:
    session, attention, _ = attention_of(backward, mask)
    queries, keys = drawn(MASKS.index(mask))
    torch.manual_seed(1)
    given = [torch.randn(n, h, 128).to(torch.bfloat16) for n, h in ((sum(queries), 2), (sum(keys), 1), (sum(keys), 1))]
    weights = torch.randn(sum(queries), 2, 128).to(torch.bfloat16)
    options: dict[str, Any] = {"deterministic": backward == ALONE, "causal": "causal" in mask}
    options |= {"window_size": WINDOW} if "window" in mask else {}
    with session.active():
        leaves = [x.to(DEVICE).requires_grad_() for x in given]
        lengths = ends(queries).to(DEVICE), ends(keys).to(DEVICE), max(queries), max(keys)
        out = attention(*leaves, *lengths, softmax_scale=0.1, **options)
        found = out, *torch.autograd.grad(out, leaves, weights.to(DEVICE))
    exact = [x.double().requires_grad_() for x in given]
    expected = packed(*exact, queries, keys, mask, 0.1)
    agree(found, (expected, *torch.autograd.grad(expected, exact, weights.double())))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("backward", ["keys", "keys_kv"])
def test_key_lengths(backward: str, mask: str) -> None:
    """Keys past an entry's length have gradients of zero, whatever lies there."""
    session, attention, _ = attention_of(backward, mask, "keys")
    lengths = [90, 0, 1, 64]
    torch.manual_seed(2)
    given = [torch.randn(4, h, n, 128).to(torch.bfloat16) for h, n in ((2, 70), (1, 90), (1, 90))]
    weights = torch.randn(4, 2, 70, 128).to(torch.bfloat16)
    options: dict[str, Any] = {"window": WINDOW} if "window" in mask else {"is_causal": "causal" in mask}
    with session.active():
        leaves = [x.to(DEVICE).requires_grad_() for x in given]
        there = torch.tensor(lengths, dtype=torch.int32).to(DEVICE)
        out = attention(*leaves, enable_gqa=True, key_lengths=there, **options)
        found = out, *torch.autograd.grad(out, leaves, weights.to(DEVICE))
    exact = [x.double().requires_grad_() for x in given]
    rows = [x.transpose(1, 2) for x in exact]
    cut = [(q, k[:n], v[:n]) for q, k, v, n in zip(*rows, lengths, strict=True)]
    expected = torch.stack([attended(*parts, mask, 128**-0.5) for parts in cut]).transpose(1, 2)
    agree(found, (expected, *torch.autograd.grad(expected, exact, weights.double())))
    for gradient in found[2:]:
        assert not any(bool(gradient[i, :, n:].any()) for i, n in enumerate(lengths))


def stood_in(mask: str) -> Any:
    """A packed backward's operator, functions of torch in the place of the kernels of both directions."""
    module: Any = load_file(path_of(f"hopper_attention_bwd_{FUSED}_{mask}_together"))

    def attend(q: Tensor, k: Tensor, v: Tensor, of_q: Tensor, of_k: Tensor, longest: int, *rest: Any) -> Any:
        made = packed(q, k, v, of_q.diff().tolist(), of_k.diff().tolist(), mask, rest[-2])
        return made, q.new_zeros(q.shape[1], len(q))

    def fake(q: Tensor, *_: Any) -> Any:
        return torch.empty_like(q), q.new_empty(q.shape[1], len(q))

    def gradients(
        q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, dout: Tensor, of_q: Tensor, of_k: Tensor, *rest: Any
    ) -> Any:
        queries, keys = of_q.diff().tolist(), of_k.diff().tolist()
        cut = (x.split(n) for x, n in ((q, queries), (k, keys), (v, keys), (out, queries), (dout, queries)))
        made = [derived(*parts, mask, rest[2]) for parts in zip(*cut, strict=True)]
        return tuple(torch.cat(parts) for parts in zip(*made, strict=True))

    def host() -> None: ...

    module.run = gradients
    schema = "(Tensor q, Tensor k, Tensor v, Tensor cu_seqlens_q, Tensor cu_seqlens_k, SymInt max_seqlen_q, "
    schema += "float? scale, int config) -> (Tensor, Tensor)"
    operator = module.Operator("stand_in_packed", schema, attend, fake, about=module.OPERATOR.about)
    host.operator = operator  # type: ignore[attr-defined]
    return module.attention(host)


@pytest.mark.parametrize("compiled", [None, False, True], ids=["eager", "static", "dynamic"])
def test_torch_sees_one_operator_in_each_direction(compiled: bool | None) -> None:
    attention: Callable[..., Tensor] = stood_in("causal_bottom_right")
    queries, keys = drawn(7)
    torch.manual_seed(3)
    leaves = [torch.randn(n, h, 128).requires_grad_() for n, h in ((sum(queries), 4), (sum(keys), 2), (sum(keys), 2))]
    given = (*leaves, ends(queries), ends(keys), max(queries), max(keys))
    if compiled is None:
        torch.library.opcheck(attention.operator.node, (*given, 0.1))  # type: ignore[attr-defined]
    else:
        attention = torch.compile(attention, backend="aot_eager", fullgraph=True, dynamic=compiled)
    out = attention(*given, softmax_scale=0.1, causal=True)
    expected = packed(*leaves, queries, keys, "causal", 0.1)
    torch.testing.assert_close(out, expected)
    weights = torch.randn(out.shape)
    found, exact = (torch.autograd.grad(x, leaves, weights) for x in (out, expected))
    for a, b in zip(found, exact, strict=True):
        torch.testing.assert_close(a, b, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"causal": False}, "causal: no part of these kernels"),
        ({"dropout_p": 0.1, "window_size": (4, 0)}, "dropout_p, window_size"),
        ({"softcap": 3.0, "deterministic": True}, "softcap, deterministic"),
        ({"alibi_slopes": torch.ones(2), "return_attn_probs": True}, "alibi_slopes, return_attn_probs"),
        ({"block_table": torch.ones(2, 2)}, "block_table"),
    ],
)
def test_what_no_part_covers_is_named(options: dict[str, Any], words: str) -> None:
    _, attention, _ = attention_of(FUSED, "causal_bottom_right")
    q = torch.randn(3, 2, 128)
    with pytest.raises(NotImplementedError, match=words):
        attention(q, q, q, ends([3]), ends([3]), 3, 3, **{"causal": True, **options})


@pytest.mark.parametrize("lengths", ["keys", "packed"])
@pytest.mark.parametrize("mask", ["none", "causal", "window"])
def test_the_reference_is_autograds_of_the_forwards(lengths: str, mask: str) -> None:
    values = {"problem.lengths": lengths, "mask.kind": mask, "mask.align": "bottom_right", "softmax.softcap": True}
    t = problem.inputs(spec_of(values), (4, 2, 1, 50, 60), torch.device("cpu"))
    leaves = {x: t[x].double().requires_grad_() for x in "qkv"}
    (out, _), (lse, _) = forward.reference(spec_of(values, "attention_fwd"), t | leaves).values()
    torch.testing.assert_close(t["out"].double(), out.detach(), atol=1e-2, rtol=1e-2)
    torch.testing.assert_close(t["lse"].double(), lse.detach(), atol=1e-5, rtol=1e-5)
    expected = torch.autograd.grad(out, [*leaves.values()], t["dout"].double())
    for (found, _), gradient in zip(problem.reference(spec_of(values), t).values(), expected, strict=True):
        torch.testing.assert_close(found, gradient.nan_to_num())
