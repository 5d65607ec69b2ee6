"""GDPA of facebookresearch/ads_model_kernel_library (gdpa_megakernel): attention with an activation for the softmax,
for sequences of many lengths, with norms in front and behind that a cluster of all heads computes."""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.foreign._folder import foreign

os.environ |= {"ADS_MKL_DISABLE_AUTOTUNE": "1", "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS": "1"}  # as its README says
gdpa = foreign("facebookresearch/ads_model_kernel_library", "gdpa_megakernel/src/tlx_gdpa_megakernel.py")
EPS = 1e-5
ACTIVATIONS = {
    "fast_gelu": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu, "relu_square": lambda x: F.relu(x) ** 2,
}  # fmt: skip


def starts(lengths):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32, device="cuda")


def _all(q, k, v, lengths, keys, balanced=False, tuned=False, activation="fast_gelu", **options):
    """`tuned`: over all configs that it is tuned over, and not its tests' one."""
    os.environ["ADS_MKL_DISABLE_AUTOTUNE"] = str(int(not tuned))
    for cached in (gdpa.get_num_sms, gdpa.get_cuda_autotune_config, gdpa._get_autotune_kernel):
        cached.cache_clear()
    at = starts(lengths)
    on_cpu = at.cpu() if balanced else None
    return gdpa._tlx_generalized_dot_product_attention(
        q, k, v, at, starts(keys), max(lengths), max(keys), activation=activation, cpu_query_offset=on_cpu, **options
    )


def forward(q, k, v, lengths, keys, norms="", **options):
    return _all(q, k, v, lengths, keys, **options, **_options(norms, q))[0]


def _attend(q, k, v, lengths, keys, activation):
    act = ACTIVATIONS[activation]
    parts = zip(q.split(lengths), k.split(keys), v.split(keys), strict=True)
    every = [(act(a.transpose(0, 1) @ b.permute(1, 2, 0)) @ c.transpose(0, 1)).transpose(0, 1) for a, b, c in parts]
    return torch.cat(every)


def _rms(x):
    flat = x.flatten(1)
    return (flat * torch.rsqrt(flat.square().mean(1, keepdim=True) + EPS)).view_as(x)


def _layer(x):
    return F.layer_norm(x.flatten(1), (x[0].numel(),), None, None, EPS).view_as(x)


def reference(q, k, v, lengths, keys, activation="fast_gelu", norms=""):
    """`norms`: "layer": a layer norm of Q in front, whose result is added to O; "rms" behind; "residual": Q is added to
    the end."""
    normed = _layer(q) if "layer" in norms else q
    out = _attend(normed, k, v, lengths, keys, activation)
    if "layer" in norms:
        out = out + normed
    out = _rms(out) if "rms" in norms else out
    return out + q if "residual" in norms else out


def backward(q, k, v, grad, lengths, keys, activation="fast_gelu", norms=""):
    """With norms, of what the kernel's own forward has saved; without, its backward needs nothing of it."""
    o, extra = q, {}
    if norms:
        options = _options(norms, q)
        o, rrms, before, mean, rstd = _all(q, k, v, lengths, keys, activation=activation, **options)
        o = before if before.numel() else o  # what its autograd saves: without the residual
        options.pop("residual", None)
        extra = {"rrms_out": rrms, "ln_mean_out": mean, "ln_rstd_out": rstd, **options}
    gdpa.get_num_sms.cache_clear()
    return gdpa.tlx_generalized_dot_product_attention_backward(
        grad, q, k, v, o, starts(lengths), starts(keys), len(keys), q.shape[1], q.shape[1] // k.shape[1], max(lengths),
        max(keys), q.shape[2], q.shape[2], activation_enum_int=gdpa.activation_string_to_int(activation), **extra
    )[:3]  # fmt: skip


def _options(norms, q):
    layer = "layer" in norms
    options = {"fused_rms_norm": "rms" in norms, "fused_layernorm": layer, "fused_q_residual_add": layer}
    return options | ({"fused_residual_add": True, "residual": q} if "residual" in norms else {})


def gradients(q, k, v, grad, lengths, keys, activation="fast_gelu", norms=""):
    with torch.enable_grad():
        leaves = [x.detach().requires_grad_() for x in (q, k, v)]
        return torch.autograd.grad(reference(*leaves, lengths, keys, activation, norms), leaves, grad)
