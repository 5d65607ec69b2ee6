"""The attention kernels of the fbtriton wheel's tutorials."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from tlxgen.sim import DEVICE, Session
from tlxgen.sim.mx import BLOCK

from .quantize import MXTensor, dequantized
from .row import Pairs, Tutorial

Options = dict[str, Any]
# Relative errors against float32: the rounding of results, and of what is rounded on the way
FORWARD, BACKWARD, BF16 = 1e-3, 2e-3, 5e-3
MXFP8, MXFP8_BACKWARD = 5e-2, 0.1  # P and dS are fp8; the backward's operands too


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


def _mxfp8_inputs(module: ModuleType, session: Session, shape: tuple[int, ...]) -> tuple[Any, list[torch.Tensor]]:
    """The tutorial's own inputs, and what q, k and v are after quantisation."""
    torch.manual_seed(session.seed)
    quantized = module.generate_attention_inputs(shape, DEVICE, torch.float8_e4m3fn)
    exact = []
    with torch._C.DisableTorchFunction():
        for (data, scale, _), along_rows in zip(quantized, (False, False, True), strict=True):
            values, scale = (x.as_subclass(torch.Tensor) for x in (data, scale))
            matrix = values.reshape(-1, shape[-1])
            found = dequantized(matrix.T, scale).T if along_rows else dequantized(matrix, scale)
            exact.append(found.reshape(shape))
    return quantized, exact


def _mxfp8(module: ModuleType, session: Session, shape: tuple[int, ...], config: Options, causal: bool) -> Pairs:
    (q, k, v), exact = _mxfp8_inputs(module, session, shape)
    out = module.attention(q[0], k[0], v[0], q[1], k[1], v[1], 0.5, causal, config=dict(config))
    q_exact, k_exact, v_exact = exact
    return [(plain(out), _softmax_attention(q_exact, k_exact, v_exact, 0.5, causal))]


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
        expected = _softmax_attention(leaves[0], leaves[1], leaves[2], scale, causal)
        expected.backward(plain(grad))
    found = [(plain(out), expected.detach())]
    return found + [(plain(x), leaf.grad) for x, leaf in zip(grads[:3], leaves, strict=True)]


def _mxfp8_operand(module: ModuleType, ref: torch.Tensor, columns: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """An operand of the backward kernel, in blocks along rows or columns, and its scales."""
    batches, heads, length, width = ref.shape
    flat = ref.reshape(-1, width)
    mx = MXTensor.to_mx((flat.T if columns else flat).contiguous(), torch.float8_e4m3fn, "rceil", True)
    data = (mx.qdata.T if columns else mx.qdata).reshape(ref.shape).contiguous()
    rows, inner = (width, length) if columns else (length, width)
    return data, module.swizzled_to_tma_preshuffled(mx.scale, rows, inner, BLOCK, batches * heads)


def _mxfp8_backward(module: ModuleType, session: Session, shape: tuple[int, ...], causal: bool) -> Pairs:
    """Against gradients of what the quantised tensors stand for."""
    torch.manual_seed(session.seed)
    scale, saved = 0.5, []
    (q, k, v) = module.generate_attention_inputs(shape, DEVICE, torch.float8_e4m3fn)
    grad = torch.randn(shape, dtype=torch.bfloat16, device=DEVICE)
    context = SimpleNamespace(save_for_backward=lambda *tensors: saved.extend(tensors))
    module._attention.forward(context, q[0], k[0], v[0], q[1], k[1], v[1], scale, causal)
    out, maxima = saved[3:]
    by_columns = [_mxfp8_operand(module, x, columns=True) for x in (q[2], k[2], grad)]
    by_rows = [_mxfp8_operand(module, x, columns=False) for x in (v[2], grad)]
    (q_dk, q_dk_scale), (k_dq, k_dq_scale), (do_dv, do_dv_scale) = by_columns
    (v_bwd, v_scale), (do, do_scale) = by_rows
    grads = module.attention_bwd(
        do, do_dv, q[0], q_dk, k[0], k_dq, v_bwd, out, maxima, q[1], q_dk_scale, k[1], k_dq_scale, v_scale, do_scale,
        do_dv_scale, scale, do_bf16=grad, causal=causal,
    )  # fmt: skip
    with torch._C.DisableTorchFunction(), torch.enable_grad():
        leaves = [plain(x[2]).requires_grad_() for x in (q, k, v)]
        _softmax_attention(leaves[0], leaves[1], leaves[2], scale, causal).backward(plain(grad))
    return [(plain(x), leaf.grad) for x, leaf in zip(grads, leaves, strict=True)]


def _ragged(lengths: tuple[int, ...]) -> torch.Tensor:
    """Where sequences of these lengths begin, and the end."""
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int64, device=DEVICE)


def _cross(module: ModuleType, session: Session, kernel: str, variant: str, config: int) -> Pairs:
    """HSTU cross attention of two ragged sequences: silu instead of softmax, divided by the longest length."""
    torch.manual_seed(session.seed)
    keys, queries, heads, width, longest = (200, 333), (40, 128), 2, 128, 384
    tuner = getattr(module, kernel)
    tuner.configs = [(_all_configs(tuner))[config]]
    q, k, v = (
        torch.empty(sum(n), heads, width, dtype=torch.bfloat16, device=DEVICE).uniform_(-1, 1)
        for n in (queries, keys, keys)
    )
    starts, starts_q = _ragged(keys), _ragged(queries)
    scale = 1 / math.sqrt(width)
    out = module.hstu_cross_mha(
        max_seq_len=longest, max_q_len=max(queries), alpha=scale, q=q, k=k, v=v, seq_offsets=starts,
        seq_offsets_q=starts_q, attn_scale=torch.ones(1), variant=variant,
    )  # fmt: skip
    with torch._C.DisableTorchFunction():
        parts = zip(plain(q).split(queries), plain(k).split(keys), plain(v).split(keys), strict=True)
        wanted = [
            torch.nn.functional.silu(a.transpose(0, 1) @ b.permute(1, 2, 0) * scale) @ c.transpose(0, 1) / longest
            for a, b, c in parts
        ]
        reference = torch.cat([x.transpose(0, 1) for x in wanted])
    return [(plain(out), reference)]


@cache
def _all_configs(tuner: Any) -> list[Any]:
    """What a kernel was tuned over before a row has picked one."""
    return list(tuner.configs)


def _gdpa(module: ModuleType, session: Session, config: int, keys: tuple[int, ...]) -> Pairs:
    """Three sequences of whole tiles. Keys in symmetric tiles: the kernel multiplies by them without transposing."""
    torch.manual_seed(session.seed)
    queries, heads, width = (256, 128, 256), 2, 128
    module.gdpa_kernel_tma_ws_blackwell.configs = [_all_configs(module.gdpa_kernel_tma_ws_blackwell)[config]]
    shapes = [(sum(n), heads, width) for n in (queries, keys, keys)]
    q, k, v = ((torch.rand(s, device=DEVICE) / 4).to(torch.bfloat16) for s in shapes)
    tiles = k.reshape(-1, width, heads, width)
    k = ((tiles + tiles.transpose(1, 3)) / 2).reshape(k.shape).contiguous()
    starts_q, starts = (_ragged(n).to(torch.int32) for n in (queries, keys))
    out = module.gdpa_forward_tlx(q, k, v, starts_q, starts, max_seq_len_q=256, max_seq_len_kv=384)
    with torch._C.DisableTorchFunction():
        parts = zip(plain(q).split(queries), plain(k).split(keys), plain(v).split(keys), strict=True)
        reference = torch.cat([_gelu_attention(*(x.transpose(0, 1) for x in part)).transpose(0, 1) for part in parts])
    return [(plain(out), reference)]


def _gelu_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Twice gelu, by tanh, in place of the softmax."""
    return 2 * torch.nn.functional.gelu(q @ k.mT, approximate="tanh") @ v


_HOPPER = {"BLOCK_M": 128, "BLOCK_N": 128, "NUM_MMA_WARPS": 8, "NUM_MMA_GROUPS": 2}
_BLACKWELL = {"BLOCK_M": 256, "BLOCK_N": 128, "NUM_BUFFERS_KV": 3, "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2}
_PERSISTENT = _BLACKWELL | {"NUM_BUFFERS_Q": 1}
_CLC = _PERSISTENT | {"NUM_MMA_SLICES": 2, "GROUP_SIZE_N": 1, "RESCALE_OPT": False, "USE_WHERE": False}
_FULL = _CLC | {"USE_WARP_BARRIER": False}
_RESCALE = {"RESCALE_OPT": True}
_WARPS = {"USE_WARP_BARRIER": True}
_MXFP8 = _PERSISTENT | {
    "NUM_Q_SCALE_TMEM_BUFFERS": 1, "NUM_KV_SCALE_TMEM_BUFFERS": 2, "GROUP_SIZE_N": 1, "RESCALE_OPT": True,
}  # fmt: skip
_TUNED = {"NUM_BUFFERS_KV": 3, "GROUP_SIZE_N": 1, "RESCALE_OPT": True, "USE_WHERE": False, "USE_WARP_BARRIER": True}

_FIRST = {"uninitialised": "the first correction rescales an accumulator that the first MMA then overwrites"}
_FENCED = {
    "missing-fence": "the compiler fences shared-memory stores before a TMA store reads them (FenceInsertion.cpp)"
}
_BOTH = _FIRST | _FENCED
_GDPA_DEFECTS = {
    "race-read-write": "the epilogue reads o0 and o1 and does not wait for the last MMA into them (its FIXME)",
    "wrong-numbers": "what the epilogue reads lacks that MMA's part when the MMA is late",
    "async-lifetime": "the next tile overwrites o0_smem and o1_smem, which no one knows the TMA stores have read",
    "barrier-misuse": "nothing keeps an activation task from arriving for the next tile at named barrier 11 too early",
    "pending-at-exit": "the epilogue task ends without a wait for its TMA stores",
    "uninitialised": "after such an arrival o1_smem is stored before it was written; o0 is read before its only MMA",
}
_GDPA_ONE_TILE = {
    "deadlock": "the same missing wait: the release of o0 may overtake the wait for the one before, which never ends",
    "parity-overrun": "the same missing wait: the release of o0 and o1 may overtake the wait for the one before",
}


def _forward_row(
    name: str, arch: Any, config: Options, causal: bool | None = None, shape: tuple[int, ...] = (1, 2, 512, 128),
    warnings: Options = _FIRST, variant: str = "",
) -> Tutorial:  # fmt: skip
    run = partial(_forward, shape=shape, config=config, causal=causal)
    return Tutorial(f"{name} {variant}".strip(), arch, name, run, FORWARD, warnings)


def _hopper_row(name: str, buffers: Options, shapes: Sequence[tuple[int, ...]] = ((1, 2, 512, 128),)) -> Tutorial:
    """A row of several problems, one after the other."""
    rows = [_forward_row(name, "sm90", _HOPPER | buffers, shape=shape, warnings={}) for shape in shapes]
    return replace(rows[0], run=lambda module, session: [pair for row in rows for pair in row.run(module, session)])


def _clc_row(variant: str, config: Options, causal: bool, shape: tuple[int, ...] = (1, 3, 512, 128)) -> Tutorial:
    return _forward_row("blackwell_fa_clc", "sm100", _CLC | config, causal, shape, _BOTH, variant)


def _full_row(variant: str, config: Options, causal: bool, shape: tuple[int, ...] = (1, 2, 512, 128)) -> Tutorial:
    name = "blackwell_fa_ws_pipelined_persistent"
    return _forward_row(name, "sm100", _FULL | config, causal, shape, _BOTH, variant)


def _backward_row(variant: str, causal: bool, backward: Any, shape: tuple[int, ...] = (1, 1, 256, 128)) -> Tutorial:
    module = "blackwell_fa_ws_pipelined_persistent"
    run = partial(_backward, shape=shape, forward=_TUNED, backward=backward, causal=causal)
    return Tutorial(f"{module} backward {variant}", "sm100", module, run, BACKWARD, _BOTH)


def _one_cta(module: ModuleType, warp_barrier: bool) -> list[Any]:
    return [c for c in module.configs_bwd_1cta if c.kwargs["USE_WARP_BARRIER"] == warp_barrier]


def _two_ctas(module: ModuleType) -> list[Any]:
    return list(module.configs_bwd_2cta)


def _mxfp8_row(variant: str, causal: bool, shape: tuple[int, ...]) -> Tutorial:
    module = "blackwell_fa_ws_pipelined_persistent_mxfp8"
    run = partial(_mxfp8, shape=shape, config=_MXFP8, causal=causal)
    return Tutorial(f"{module} {variant}".strip(), "sm100", module, run, MXFP8, _BOTH)


def _mxfp8_backward_row(variant: str, causal: bool, shape: tuple[int, ...] = (1, 1, 256, 128)) -> Tutorial:
    module = "blackwell_fa_ws_pipelined_persistent_mxfp8"
    run = partial(_mxfp8_backward, shape=shape, causal=causal)
    return Tutorial(f"{module} backward {variant}".strip(), "sm100", module, run, MXFP8_BACKWARD, _BOTH)


def _cross_row(kernel: str, variant: str, config: int) -> Tutorial:
    run = partial(_cross, kernel=kernel, variant=variant, config=config)
    return Tutorial(f"blackwell-cross-attention {variant} {config}", "sm100", "blackwell-cross-attention", run, BF16)


def _gdpa_row(
    variant: str, config: int, keys: tuple[int, ...] = (256, 384, 256), warnings: Options = _FENCED,
    defects: Options = _GDPA_DEFECTS,
) -> Tutorial:  # fmt: skip
    run = partial(_gdpa, config=config, keys=keys)
    return Tutorial(f"blackwell-gdpa {variant}", "sm100", "blackwell-gdpa", run, BF16, warnings, defects)


ROWS: tuple[Tutorial, ...] = (
    _hopper_row("hopper_fa_ws", {"NUM_BUFFERS": 2}),
    _hopper_row("hopper_fa_ws_pipelined", {"NUM_BUFFERS": 2}),
    _hopper_row("hopper_fa_ws_pipelined_pingpong", {"NUM_BUFFERS": 2}),
    _hopper_row(
        "hopper_fa_ws_pipelined_pingpong_persistent",
        {"NUM_BUFFERS_Q": 1, "NUM_BUFFERS_KV": 2},
        # one tile of keys an item, and three: with a multiple of the slots no counter would have to be kept
        ((1, 5, 128, 128), (1, 2, 384, 128)),
    ),
    _forward_row("blackwell_fa_ws", "sm100", _BLACKWELL),
    _forward_row("blackwell_fa_ws_persistent", "sm100", _PERSISTENT, False, (1, 3, 512, 128)),
    _forward_row("blackwell_fa_ws_persistent", "sm100", _PERSISTENT, True, variant="causal"),
    _forward_row("blackwell_fa_ws_pipelined", "sm100", _BLACKWELL, False),
    _forward_row("blackwell_fa_ws_pipelined", "sm100", _BLACKWELL, True, variant="causal"),
    _clc_row("", {}, False),
    _clc_row("causal, rescale", _RESCALE, True),
    _clc_row("causal, rescale by where", _RESCALE | {"USE_WHERE": True}, True, (1, 3, 512, 64)),
    _full_row("", {}, False),
    _full_row("rescale, warp barriers", _RESCALE | _WARPS, False, (1, 3, 512, 128)),
    _full_row("causal, groups of 4", {"GROUP_SIZE_N": 4}, True, (1, 4, 512, 128)),
    _full_row(
        "causal, rescale by where, D 64", _RESCALE | {"USE_WHERE": True, "NUM_BUFFERS_KV": 6}, True, (1, 2, 512, 64)
    ),
    _full_row("causal, 64 rows a group", {"BLOCK_M": 128} | _RESCALE, True, (1, 2, 256, 128)),
    _backward_row("1 CTA", False, partial(_one_cta, warp_barrier=False)),
    _backward_row("1 CTA, causal", True, partial(_one_cta, warp_barrier=False)),
    _backward_row("1 CTA, warp barriers", False, partial(_one_cta, warp_barrier=True)),
    _backward_row("1 CTA, warp barriers, causal", True, partial(_one_cta, warp_barrier=True)),
    _backward_row("2 CTAs", False, _two_ctas),
    _backward_row("2 CTAs, causal", True, _two_ctas, (1, 1, 512, 128)),
    _mxfp8_row("", False, (1, 2, 512, 128)),
    _mxfp8_row("causal, D 64", True, (1, 2, 512, 64)),
    _mxfp8_backward_row("", False),
    _mxfp8_backward_row("causal", True),
    *(_cross_row("_attn_fwd_single_q", "tlx_single_q", i) for i in range(5)),
    *(_cross_row("_attn_fwd_pipeline", "tlx_pipeline", i) for i in range(3)),
    _cross_row("_attn_fwd_triton", "triton", 0),
    _cross_row("_attn_fwd_triton_spec", "triton_dyn_spec", 0),
    _gdpa_row("pingpong", 0),
    _gdpa_row("no pingpong", 2),
    _gdpa_row("one tile of keys", 0, (128, 128, 128), _FENCED, _GDPA_DEFECTS | _GDPA_ONE_TILE),
)
