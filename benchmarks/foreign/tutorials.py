"""Tutorials of facebookexperimental/triton that are newer than those of the fbtriton wheel."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.foreign._folder import foreign_file
from benchmarks.tutorials.quantize import MXTensor, as_torchao, dequantized

REPOSITORY = "facebookexperimental/triton"
MX_BLOCK = 32
LOG2E = 1.4426950408889634


@cache
def tutorial(name: str) -> ModuleType:
    with as_torchao():
        return foreign_file(REPOSITORY, f"third_party/tlx/tutorials/{name}.py")


def plain(x):
    return x.as_subclass(torch.Tensor).double()


# GEMM.


def gemm(a, b, columns="", **config):
    """Operands named in `columns` are column-major."""
    a = a.T.contiguous().T if "a" in columns else a
    b = b.T.contiguous().T if "b" in columns else b
    values = {
        "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_SMEM_BUFFERS": 3,
        "NUM_TMEM_BUFFERS": 2, "NUM_MMA_GROUPS": 1, "EPILOGUE_SUBTILE": 2, "NUM_CTAS": 1, "SPLIT_K": 1,
        "INTERLEAVE_EPILOGUE": 0,
    } | config  # fmt: skip
    if values["NUM_CTAS"] == 2:
        values["ctas_per_cga"] = (2, 1, 1)
    return tutorial("blackwell_gemm_ws").matmul(a, b, config=values)


def quantized(x):
    """Values in blocks of 32 along rows, and their scales as the tensor cores want them."""
    mx = MXTensor.to_mx(x, torch.float8_e4m3fn, "rceil", True)
    return mx.qdata, mx.scale


def gemm_mxfp8(a, b, **config):
    """a @ b.T of what is left of a and b after quantisation; that comes back, too, for the reference."""
    (qa, sa), (qb, sb) = quantized(a), quantized(b)
    return tutorial("blackwell_gemm_ws_mxfp8").matmul(
        qa, qb, sa.view(torch.float8_e8m0fnu), sb.view(torch.float8_e8m0fnu), config=config
    )


def gemm_mxfp8_reference(a, b):
    return dequantized(*quantized(a.float())).double() @ dequantized(*quantized(b.float())).double().T


def scaled_mm(a, b, scale_a, scale_b, mode, **options):
    """Scales of A lie column by column."""
    if scale_a.ndim == 2:
        scale_a = scale_a.T.contiguous().T
    return tutorial("blackwell_scaled_mm_ws").blackwell_scaled_mm_ws(a, b, scale_a, scale_b, scale_mode=mode, **options)


def scaled_mm_reference(a, b, scale_a, scale_b, mode):
    if mode == "rowwise":
        return a @ b.mT * scale_a[:, None] * scale_b[None, :]
    if mode == "tensorwise":
        return a @ b.mT * scale_a * scale_b
    parts = zip(a.split(128, 1), b.split(128, 1), scale_a.T, scale_b.T, strict=True)
    return sum(x @ y.mT * s[:, None] * t.repeat_interleave(128)[None, :] for x, y, s, t in parts)


# Attention.

FORWARD = {
    "BLOCK_M": 256, "BLOCK_N": 128, "NUM_BUFFERS_Q": 1, "NUM_BUFFERS_KV": 3, "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2,
    "NUM_MMA_SLICES": 2, "GROUP_SIZE_N": 1, "RESCALE_OPT": False, "USE_WHERE": False, "USE_WARP_BARRIER": False,
}  # fmt: skip


def attention(q, k, v, causal=False, **config):
    module = tutorial("blackwell_fa_ws_pipelined_persistent")
    return module.attention(q, k, v, 0.5, causal, config=FORWARD | config)


def softmax_attention(q, k, v, causal=False):
    scores = q @ k.mT * 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1) @ v


def attention_backward(q, k, v, do, ctas=1, causal=False, warp_barriers=False):
    """The gradients, from O and maxima of float32."""
    module = tutorial("blackwell_fa_ws_pipelined_persistent")
    tuner = module._attn_bwd_ws
    configs = module.configs_bwd_1cta if ctas == 1 else module.configs_bwd_2cta
    tuner.configs = [c for c in configs if c.kwargs["USE_WARP_BARRIER"] == warp_barriers]
    out, lse = forward(q.float(), k.float(), v.float(), causal)
    context = SimpleNamespace(
        saved_tensors=(q, k, v, out.to(q.dtype), lse), sm_scale=0.5, HEAD_DIM=q.shape[-1], causal=causal
    )
    return module._attention.backward(context, do)[:3]


def forward(q, k, v, causal):
    scores = q @ k.mT * 0.5
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(hidden, -torch.inf)
    return scores.softmax(-1) @ v, (scores.logsumexp(-1) * LOG2E).contiguous()


def attention_backward_reference(q, k, v, do, causal=False):
    scores = q @ k.mT * 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    p = scores.softmax(-1)
    dp = do @ v.mT
    ds = p * (dp - (dp * p).sum(-1, keepdim=True)) * 0.5
    return ds @ k, ds.mT @ q, p.mT @ do


# Attention in MXFP8.


def mx_operand(x, columns=False):
    """Values in blocks of 32 along rows or columns, and their scales as TMA loads them."""
    (batches, heads, length, width), flat = x.shape, x.reshape(-1, x.shape[-1]).float()
    data, scale = quantized((flat.T if columns else flat).contiguous())
    rows, inner = (width, length) if columns else (length, width)
    shuffled = tutorial("blackwell_fa_ws_pipelined_persistent_mxfp8").swizzled_to_tma_preshuffled(
        scale, rows, inner, MX_BLOCK, batches * heads
    )
    return (data.T if columns else data).reshape(x.shape).contiguous(), shuffled


def mx_exact(x, columns=False):
    """What is left of x after quantisation."""
    flat = x.reshape(-1, x.shape[-1]).float()
    found = dequantized(*quantized((flat.T if columns else flat).contiguous()))
    return (found.T if columns else found).reshape(x.shape).double()


MXFP8 = {
    "BLOCK_M": 256, "BLOCK_N": 128, "NUM_BUFFERS_Q": 1, "NUM_BUFFERS_KV": 4, "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2,
    "NUM_Q_SCALE_TMEM_BUFFERS": 1, "NUM_KV_SCALE_TMEM_BUFFERS": 2, "GROUP_SIZE_N": 1, "RESCALE_OPT": True,
    "UNROLL_KV": False,
}  # fmt: skip


def attention_mxfp8(q, k, v, causal=False, **config):
    (q, q_scale), (k, k_scale), (v, v_scale) = mx_operand(q), mx_operand(k), mx_operand(v, columns=True)
    module = tutorial("blackwell_fa_ws_pipelined_persistent_mxfp8")
    return module.attention(q, k, v, q_scale, k_scale, v_scale, 0.5, causal, config=MXFP8 | config)


def attention_mxfp8_reference(q, k, v, causal=False):
    return softmax_attention(mx_exact(q), mx_exact(k), mx_exact(v, columns=True), causal)


def attention_mxfp8_backward(q, k, v, do, causal=False):
    module = tutorial("blackwell_fa_ws_pipelined_persistent_mxfp8")
    out, lse = forward(*(mx_exact(x).float() for x in (q, k, v)), causal)
    by_rows = [mx_operand(x) for x in (q, k, v, do)]
    by_columns = [mx_operand(x, columns=True) for x in (q, k, do)]
    (q_rows, qs), (k_rows, ks), (v_rows, vs), (do_rows, dos) = by_rows
    (q_cols, qcs), (k_cols, kcs), (do_cols, docs) = by_columns
    return module.attention_bwd(
        do_rows, do_cols, q_rows, q_cols, k_rows, k_cols, v_rows, out.to(torch.bfloat16), lse, qs, qcs, ks, kcs, vs,
        dos, docs, 0.5, do_bf16=do, causal=causal,
    )  # fmt: skip


def attention_mxfp8_backward_reference(q, k, v, do, causal=False):
    """Of what is left of the operands of each product; P and dS are not rounded."""
    (qr, kr, vr, dor), (qc, kc, doc) = map(mx_exact, (q, k, v, do)), (mx_exact(x, columns=True) for x in (q, k, do))
    scores = qr @ kr.mT * 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    p = scores.softmax(-1)
    ds = p * (dor @ vr.mT - (do * (p @ vr)).sum(-1, keepdim=True)) * 0.5
    return ds @ kc, ds.mT @ qc, p.mT @ doc
