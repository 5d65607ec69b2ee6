"""The attention kernels of the fbtriton wheel's tutorials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Any

import torch

from tlxgen.sim import DEVICE, Session

from .row import Pairs, Tutorial

Options = Mapping[str, Any]
FORWARD = 2e-3  # relative error of fp16 results against float32 ones
BACKWARD = 5e-3


def _inputs(session: Session, shape: tuple[int, ...], count: int = 3, deviation: float = 0.5) -> list[torch.Tensor]:
    """Random fp16 tensors on the simulated GPU, of the session's seed."""
    torch.manual_seed(session.seed)
    return [(torch.randn(shape, device=DEVICE) * deviation).to(torch.float16) for _ in range(count)]


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """A copy for a reference: an ordinary tensor of float32."""
    with torch._C.DisableTorchFunction():
        return tensor.detach().as_subclass(torch.Tensor).float()


def _softmax_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, causal: bool) -> torch.Tensor:
    with torch._C.DisableTorchFunction():
        scores = q @ k.mT * scale
        if causal:
            hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(hidden, -math.inf)
        return scores.softmax(dim=-1) @ v


def _forward(
    module: ModuleType, session: Session, shape: tuple[int, ...], config: Options, causal: bool | None
) -> Pairs:
    q, k, v = _inputs(session, shape)
    scale = 0.5
    reference = _softmax_attention(plain(q), plain(k), plain(v), scale, bool(causal))
    arguments = (q, k, v, scale) if causal is None else (q, k, v, scale, causal)
    return [(plain(module.attention(*arguments, config=dict(config))), reference)]


def _backward(
    module: ModuleType, session: Session, shape: tuple[int, ...], forward: Options, backward: Any, causal: bool
) -> Pairs:
    """Through autograd; `backward` picks the config among those that the module tunes over."""
    q, k, v, grad = _inputs(session, shape, 4)
    scale = 0.5
    module._attn_fwd_ws.configs = [c for c in module.configs if forward.items() <= c.kwargs.items()]
    module._attn_bwd_ws.configs = backward(module)
    with torch.enable_grad():
        for tensor in (q, k, v):
            tensor.requires_grad_()
        out = module.attention(q, k, v, scale, causal)
        # not through autograd's engine, which would call it without the session's torch functions
        grads = module._attention.backward(out.grad_fn, grad)
    with torch._C.DisableTorchFunction(), torch.enable_grad():
        leaves = [plain(x).requires_grad_() for x in (q, k, v)]
        expected = _softmax_attention(*leaves, scale, causal)
        expected.backward(plain(grad))
    found = [(plain(out), expected.detach())]
    return found + [(plain(x), leaf.grad) for x, leaf in zip(grads[:3], leaves, strict=True)]


_HOPPER = {"BLOCK_M": 128, "BLOCK_N": 128, "NUM_MMA_WARPS": 8, "NUM_MMA_GROUPS": 2}
_BLACKWELL = {"BLOCK_M": 256, "BLOCK_N": 128, "NUM_BUFFERS_KV": 3, "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2}
_PERSISTENT = _BLACKWELL | {"NUM_BUFFERS_Q": 1}
_CLC = _PERSISTENT | {"NUM_MMA_SLICES": 2, "GROUP_SIZE_N": 1, "RESCALE_OPT": False, "USE_WHERE": False}
_FULL = _CLC | {"USE_WARP_BARRIER": False}


_TUNED = {"NUM_BUFFERS_KV": 3, "GROUP_SIZE_N": 1, "RESCALE_OPT": True, "USE_WHERE": False, "USE_WARP_BARRIER": True}


def _forward_row(
    name: str, arch: Any, config: Options, causal: bool | None = None, shape: tuple[int, ...] = (1, 2, 512, 128),
    module: str = "", warnings: Options | None = None,
) -> Tutorial:  # fmt: skip
    run = partial(_forward, shape=shape, config=config, causal=causal)
    return Tutorial(name, arch, module or name, run, FORWARD, warnings or {})


def _backward_row(name: str, causal: bool, backward: Any, shape: tuple[int, ...] = (1, 1, 256, 128)) -> Tutorial:
    module = "blackwell_fa_ws_pipelined_persistent"
    run = partial(_backward, shape=shape, forward=_TUNED, backward=backward, causal=causal)
    return Tutorial(f"{module} {name}", "sm100", module, run, BACKWARD)


def _one_cta(module: ModuleType, warp_barrier: bool) -> list[Any]:
    return [c for c in module.configs_bwd_1cta if c.kwargs["USE_WARP_BARRIER"] == warp_barrier]


def _two_ctas(module: ModuleType) -> list[Any]:
    return list(module.configs_bwd_2cta)


TUTORIALS: tuple[Tutorial, ...] = (
    _forward_row("hopper_fa_ws", "sm90", _HOPPER | {"NUM_BUFFERS": 2}),
    _forward_row("hopper_fa_ws_pipelined", "sm90", _HOPPER | {"NUM_BUFFERS": 2}),
    _forward_row("hopper_fa_ws_pipelined_pingpong", "sm90", _HOPPER | {"NUM_BUFFERS": 2}),
    _forward_row(
        "hopper_fa_ws_pipelined_pingpong_persistent", "sm90", _HOPPER | {"NUM_BUFFERS_Q": 1, "NUM_BUFFERS_KV": 2}
    ),
    _forward_row("blackwell_fa_ws", "sm100", _BLACKWELL),
    _forward_row("blackwell_fa_ws_persistent", "sm100", _PERSISTENT, False),
    _forward_row("blackwell_fa_ws_pipelined", "sm100", _BLACKWELL, False),
    _forward_row("blackwell_fa_clc", "sm100", _CLC, False),
    _forward_row("blackwell_fa_ws_pipelined_persistent", "sm100", _FULL, False),
    _backward_row("backward", False, partial(_one_cta, warp_barrier=False)),
    _backward_row("backward causal", True, partial(_one_cta, warp_barrier=False)),
    _backward_row("backward warp barriers", False, partial(_one_cta, warp_barrier=True)),
    _backward_row("backward 2-CTA", False, _two_ctas),
    _backward_row("backward 2-CTA causal", True, _two_ctas, (1, 1, 512, 128)),
)
