"""Kernels of facebookexperimental/triton's sched2tlx: what it makes of a schedule, and what people wrote beside it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from triton.tools.tensor_descriptor import TensorDescriptor

from benchmarks.foreign._folder import foreign_file

EXAMPLES = "third_party/tlx/tools/sched2tlx/examples"


def example(path: str) -> ModuleType:
    return foreign_file("facebookexperimental/triton", f"{EXAMPLES}/{path}.py")


def sms() -> int:
    return torch.cuda.get_device_properties(0).multi_processor_count


def empty(x, *shape, dtype=None):
    return torch.empty(shape, device="cuda", dtype=dtype or x.dtype)


def simple_gemm_generated(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = empty(a, m, n)
    strides = (*a.stride(), *b.stride(), *c.stride())
    example("case1_simple_gemm/generated").gemm_kernel[(m // 128, n // 128)](a, b, c, m, n, k, *strides, num_warps=4)
    return c


def simple_gemm(a, b):
    return example("case1_simple_gemm/handwritten").gemm(a, b)


def persistent_gemm(a, b, file, n_tile=128, **more):
    """Tiles of 128 rows, or two side by side where the file divides them."""
    (m, k), n = a.shape, b.shape[1]
    c = empty(a, m, n)
    blocks = ((a, [128, 64]), (b.T.contiguous(), [n_tile, 64]), (c, [128, n_tile]))
    descriptors = [TensorDescriptor.from_tensor(t, block) for t, block in blocks]
    rows = 128 * more.get("NUM_MMA_GROUPS", 1)
    shape = {"NUM_SMS": sms(), "BLOCK_M": rows, "BLOCK_N": n_tile, "BLOCK_K": 64}
    example(file).matmul_kernel[(sms(),)](*descriptors, m, n, k, **shape, **more)
    return c


def persistent_gemm_unbuffered(a, b):
    return persistent_gemm(a, b, "case10_persistent_gemm_data_partition/handwritten", NUM_SMEM_BUFFERS=2, num_warps=4)


def persistent_gemm_partitioned(a, b):
    file = "case10_persistent_gemm_data_partition/handwritten_data_partition"
    return persistent_gemm(a, b, file, 256, NUM_SMEM_BUFFERS=2, NUM_MMA_GROUPS=2, num_warps=4)


def scaled_mm(a, b, scale_a, scale_b):
    """Scales of A lie column by column."""
    module = example("case9_scaled_mm/blockwise/handwritten")
    return module.blackwell_scaled_mm_ws(a, b, scale_a.T.contiguous().T, scale_b, scale_mode="blockwise")


def scaled_mm_reference(a, b, scale_a, scale_b):
    parts = zip(a.split(128, 1), b.split(128, 1), scale_a.T, scale_b.T, strict=True)
    return sum(x @ y.mT * s[:, None] * t.repeat_interleave(128)[None, :] for x, y, s, t in parts)


def attention(q, k, v, file):
    z, h, n, d = q.shape
    out, lse = torch.empty_like(q), empty(q, z * h, n, dtype=torch.float32)
    flat = [t.view(-1, d) for t in (q, k, v, out)]
    module = example(f"case3_FA/{file}")
    if file == "generated":
        module.fa_fwd_kernel_nows[(n // 128, z * h)](*flat, lse, d**-0.5, z * h, n, num_warps=4)
    else:
        blocks = {"BLOCK_M": 128, "BLOCK_N": 64, "HEAD_DIM": d}
        module.fa_fwd_kernel[(n // 128, z * h)](*flat, lse, d**-0.5, z, h, n, **blocks)
    return out, lse


def attention_reference(q, k, v):
    scores = q @ k.mT * q.shape[-1] ** -0.5
    lse = torch.logsumexp(scores, -1)
    return scores.softmax(-1) @ v, lse.flatten(0, 1) * 1.4426950408889634


def attention_backward(q, k, v, do, file):
    """q is scaled already; sums are in base 2."""
    h, n, d = q.shape
    out, lse, delta = _backward_inputs(q, k, v, do)
    dq, dk, dv = torch.zeros_like(q), torch.empty_like(k), torch.empty_like(v)
    arguments = (q, k, v, do, dq, dk, dv, lse, delta, d, d, n)
    module = example(f"case4_FA_bwd/{file}")
    if file == "generated":
        module.fa_bwd_dkdv_5mma[(n // 128, h)](*arguments, num_warps=4)
    else:
        module.fa_bwd_dkdv_ws[(n // 128, h)](*arguments, 128, 128, d)
    return dq, dk, dv


def _backward_inputs(q, k, v, do):
    scores = q.float() @ k.float().mT
    out = scores.softmax(-1) @ v.float()
    lse = torch.logsumexp(scores, -1) * 1.4426950408889634
    return out, lse.contiguous(), (do.float() * out.to(q.dtype).float()).sum(-1).contiguous()


def attention_backward_reference(q, k, v, do):
    p = (q @ k.mT).softmax(-1)
    dp = do @ v.mT
    ds = p * (dp - (dp * p).sum(-1, keepdim=True))
    return ds @ k, ds.mT @ q, p.mT @ do


def addmm(a, b, bias, file):
    (m, k), n = a.shape, b.shape[1]
    c = empty(a, m, n)
    blocks = ((a, [128, 64]), (b, [64, 128]), (bias, [128, 128]), (c, [128, 128]))
    descriptors = [TensorDescriptor.from_tensor(t, block) for t, block in blocks]
    kernel = example(f"case5_addmm_bias/{file}").addmm_persistent_2d_bias
    if file == "generated":
        kernel[(sms(),)](*descriptors, m, n, k, num_warps=4)
    else:
        kernel[(sms(),)](*descriptors, m, n, k, NUM_SMS=sms(), BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
    return c


def layernorm(x, weight, bias):
    (m, n), y = x.shape, torch.empty_like(x)
    kernel = example("case6_layernorm/handwritten").layernorm_fwd_tma
    shape = {"row_stride": x.stride(0), "N": n, "BLOCK_M": 8, "BLOCK_N": 512, "NUM_PERSIST": sms()}
    kernel[(sms(),)](x, weight, bias, y, m, 1e-5, **shape)
    return y


def wgrad_bias(dout, act, file):
    (m, ko), ni = dout.shape, act.shape[1]
    dw, db = empty(dout, ko, ni), empty(dout, ko, dtype=torch.float32)
    module = example(f"case7_wgrad_bias/{file}")
    if file == "generated":
        module.wgrad_bias_nows[(sms(),)](dout, act, dw, db, m, ko, ni, num_warps=4)
    else:
        module.wgrad_bias_ws[(sms(),)](dout, act, dw, db, m, ko, ni, BLOCK_KO=128, BLOCK_NI=128, BLOCK_M=64)
    return dw, db


def triple_gemm(a1, b1, a2, b2, a3, b3):
    (m, k), n = a1.shape, b1.shape[1]
    c = [empty(a, m, n) for a in (a1, a2, a3)]
    kernel = example("case8_multiphase_gemm/generated").triple_gemm_nows
    kernel[(m // 128, n // 128)](a1, b1, c[0], a2, b2, c[1], a3, b3, c[2], m, n, k, num_warps=4)
    return tuple(c)


def wait_order(x, y, w1, w2, v, rounds):
    ctas = x.shape[0] // 128 // rounds
    out = empty(x, ctas * 128, v.shape[1])
    example("case11_wait_order/generated").wait_order_kernel_nows[(ctas,)](
        x, y, w1, w2, v, out, 1.0, rounds, num_warps=4
    )
    return out


def wait_order_reference(x, y, w1, w2, v, rounds):
    ctas = x.shape[0] // 128 // rounds
    s1, s2 = ((t @ w.mT).view(ctas, rounds, 128, -1) for t, w in ((x, w1), (y, w2)))
    return ((torch.exp2(s1) - s2).half().double() @ v).sum(1).flatten(0, 1)
