"""hstu_mha, delta_hstu_mha and generalized_dot_product_attention: their gradients, by the kernels in the simulator,
beside autograd of a plain formula in float64; and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.attention_bwd.test_autograd import DEVICE, path_of, simulated  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

Tensor = Any
LENGTHS = [70, 0, 1, 150]
HSTU = "causal_targets_contextual_max_attn_len_min_full_attn"
PLAIN = "causal_no_targets_no_contextual_no_max_attn_len_no_min_full_attn"


def operators(family: str, variant: str) -> tuple[Session, Any, ModuleType]:
    """What the backward makes of the forward, on a simulated GPU, and its module."""
    session = Session("random", 0)
    modules = [load_module(path_of(f"hopper_{name}_{variant}")) for name in (family, f"{family}_bwd")]
    for module in modules:
        simulated(module, session)
    return session, modules[1].attention(getattr(modules[0], f"hopper_{family}")), modules[1]


def ends(lengths: list[int]) -> Tensor:
    return torch.tensor([sum(lengths[:i]) for i in range(len(lengths) + 1)])


def drawn(*rows: int, heads: tuple[int, ...] = (2, 2, 2)) -> list[Tensor]:
    torch.manual_seed(1)
    return [torch.randn(n, h, 128).to(torch.bfloat16) for n, h in zip(rows, heads, strict=True)]


def agree(session: Session, run: Callable[..., Tensor], plain: Callable[..., Tensor], given: list[Tensor]) -> None:
    """The results of both, and the gradients of a weighted sum of each."""
    with session.active():
        leaves = [x.to(DEVICE).requires_grad_() for x in given]
        out = run(*leaves)
        weights = torch.randn(out.shape).to(torch.bfloat16)
        found = out, *torch.autograd.grad(out, leaves, weights.to(DEVICE))
    exact = [x.double().requires_grad_() for x in given]
    expected = plain(*exact)
    for a, b in zip(found, (expected, *torch.autograd.grad(expected, exact, weights.double())), strict=True):
        assert a.shape == b.shape
        assert float((a.double() - b).detach().norm() / b.detach().norm()) < 1e-2


def sees(n: int, context: int, targets: int, near: int, full: int) -> Tensor:
    """The mask of HSTU as its definition has it."""
    most = n - max(context - 1, 0) - targets
    place = (torch.arange(n) - max(context - 1, 0)).clamp(0, most)
    away = place[:, None] - place[None, :]
    seen = torch.eye(n, dtype=torch.bool) | (away > 0)
    if near:
        seen &= (away <= near) | (place[:, None] >= most - full if full else torch.tensor(False))
    return seen | ((place[:, None] == 0) & (place[None, :] < most)) if context else seen


def hstu(
    q: Tensor, k: Tensor, v: Tensor, rows: list[int], targets: list[int], scale: float, *mask: int, alpha: float
) -> Tensor:
    """O of the last `rows` queries of each sequence."""
    outs, q_end, k_end = [], 0, 0
    for n, length, t in zip(rows, LENGTHS, targets, strict=True):
        a, b, c = (x[i : i + m].transpose(0, 1) for x, i, m in ((q, q_end, n), (k, k_end, length), (v, k_end, length)))
        seen = sees(length, mask[0], t, *mask[1:])[length - n :]
        outs.append((torch.nn.functional.silu(alpha * a @ b.transpose(1, 2)) * seen @ c * scale).transpose(0, 1))
        q_end, k_end = q_end + n, k_end + length
    return torch.cat(outs)


@pytest.mark.parametrize(
    ("targets", "context", "near", "full"), [(None, 0, 0, 0), ([20, 0, 1, 9], 3, 40, 5), ([0, 0, 0, 149], 4, 0, 0)]
)
def test_hstu_mha(targets: list[int] | None, context: int, near: int, full: int) -> None:
    session, (hstu_mha, _), _ = operators("hstu", HSTU)
    n, offsets = sum(LENGTHS), ends(LENGTHS)

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        given = None if targets is None else torch.tensor(targets).to(DEVICE)
        return hstu_mha(150, 0.1, q, k, v, offsets.to(DEVICE), True, 0.0, True, given, None, near, context, full)

    def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return hstu(q, k, v, LENGTHS, targets or [0] * 4, 1 / 150, context, near, full, alpha=0.1)

    agree(session, run, plain, drawn(n, n, n))


def test_delta_hstu_mha() -> None:
    """Of each sequence the last queries, as many of each; the keys of these are all of its own."""
    session, (_, delta_hstu_mha), _ = operators("hstu", HSTU)
    lengths, rows = [70, 20, 1, 150], 1
    offsets, keys = ends(lengths), sum(lengths)

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return delta_hstu_mha(150, 0.1, q, k, v, offsets.to(DEVICE), torch.tensor([1, 0, 1, 3]).to(DEVICE), 40, 2)

    def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        outs = []
        for i, (n, t) in enumerate(zip(lengths, [1, 0, 1, 3], strict=True)):
            seen, a = sees(n, 2, t, 40, 0)[-rows:], q[i * rows : (i + 1) * rows].transpose(0, 1)
            b, c = (x[offsets[i] : offsets[i + 1]].transpose(0, 1) for x in (k, v))
            outs.append((torch.nn.functional.silu(0.1 * a @ b.transpose(1, 2)) * seen @ c / 150).transpose(0, 1))
        return torch.cat(outs)

    agree(session, run, plain, drawn(4 * rows, keys, keys))


@pytest.mark.parametrize("broadcast", [False, True])
def test_generalized_dot_product_attention(broadcast: bool) -> None:
    """Also with queries that all sequences share, whose gradients are added up, and heads that share K and V."""
    session, attention, _ = operators("gdpa", "silu_none")
    rows, keys = [30, 0, 65, 1], [20, 5, 0, 131]
    shared = 40

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        offsets = ends(rows).to(DEVICE), ends(keys).to(DEVICE)
        longest = shared if broadcast else 65
        return attention(
            q * 128**-0.5, k, v, *offsets, longest, 131, qk_scale=0.5, activation="silu", broadcast_q=broadcast
        )

    def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q, outs = q * 128**-0.5, []
        for i in range(4):
            a = q if broadcast else q[ends(rows)[i] : ends(rows)[i + 1]]
            b, c = (x[ends(keys)[i] : ends(keys)[i + 1]].repeat_interleave(2, 1) for x in (k, v))
            p = torch.nn.functional.silu(torch.einsum("nhd,mhd->hnm", a, b))
            outs.append(0.5 * torch.einsum("hnm,mhd->nhd", p, c))
        return torch.cat(outs)

    agree(session, run, plain, drawn(shared if broadcast else sum(rows), sum(keys), sum(keys), heads=(2, 1, 1)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"causal": False}, "causal: no part"),
        ({"dropout_pr": 0.1}, "dropout_pr"),
        ({"num_targets": torch.ones(1), "max_attn_len": 3}, "num_targets, max_attn_len: no part"),
        ({"contextual_seq_len": 2, "min_full_attn_seq_len": 1}, "contextual_seq_len, min_full_attn_seq_len"),
        ({"attn_scale": torch.ones(3)}, "attn_scale"),
    ],
)
def test_what_no_part_of_hstu_covers_is_named(options: dict[str, Any], words: str) -> None:
    _, (hstu_mha, _), _ = operators("hstu", PLAIN)
    with pytest.raises(NotImplementedError, match=words):
        hstu_mha(3, 0.1, *drawn(3, 3, 3), torch.tensor([0, 3]), **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "activation: no part"),
        ({"activation": "silu", "is_causal": True, "attn_mask": torch.ones(3)}, "attn_mask, is_causal: no part"),
        ({"activation": "silu", "window_size": 4}, "window_size"),
        ({"activation": "silu", "use_start_end_offsets": True}, "use_start_end_offsets"),
        ({"activation": "silu", "ad_to_request_offset": torch.ones(1)}, "ad_to_request_offset"),
    ],
)
def test_what_no_part_of_gdpa_covers_is_named(options: dict[str, Any], words: str) -> None:
    _, attention, _ = operators("gdpa", "silu_none")
    with pytest.raises(NotImplementedError, match=words):
        attention(*drawn(3, 3, 3), *[torch.tensor([0, 3])] * 2, 3, 3, **options)


def test_a_forward_with_another_mask_is_refused() -> None:
    _, _, backward = operators("hstu", HSTU)
    plain = load_module(path_of(f"hopper_hstu_{PLAIN}"))
    with pytest.raises(ValueError, match="mask causal, here history causal targets context near full"):
        backward.attention(plain.hopper_hstu)


def test_torch_sees_the_operators() -> None:
    """Their shapes without running them."""
    _, attention, _ = operators("gdpa", "silu_none")
    q, k, v = (x.to("meta").requires_grad_() for x in drawn(3, 4, 4))
    offsets = torch.zeros(2, dtype=torch.int32, device="meta")
    out = attention.operator.node(q, k, v, offsets, offsets, 3, 4, 1.0)
    assert out.shape == q.shape and out.requires_grad
