"""Matrix products with a norm in front or behind, or its backward, by clusters of CTAs that share the sums of rows
(facebookresearch/ads_model_kernel_library, multi_cta_norm_fusion)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.foreign._folder import foreign

os.environ["ADS_MKL_DISABLE_AUTOTUNE"] = "1"  # as its own tests do

_REPOSITORY, _FOLDER = "facebookresearch/ads_model_kernel_library", "multi_cta_norm_fusion/src"
_rms = foreign(_REPOSITORY, f"{_FOLDER}/tlx_matmul_rmsnorm.py")
_rms_back = foreign(_REPOSITORY, f"{_FOLDER}/tlx_matmul_rmsnorm_bwd.py")
_layer = foreign(_REPOSITORY, f"{_FOLDER}/tlx_matmul_layernorm.py")
_layer_back = foreign(_REPOSITORY, f"{_FOLDER}/tlx_matmul_layernorm_bwd.py")
_before = foreign(_REPOSITORY, f"{_FOLDER}/tlx_rmsnorm_matmul.py")
EPS = 1e-5


def matmul_rmsnorm(x, w):
    return _rms.tlx_matmul(x, w, fused_rms_norm=True)


def matmul_rmsnorm_reference(x, w):
    z = x @ w
    return z * torch.rsqrt(z.square().mean(-1, keepdim=True) + EPS)


def matmul_layernorm(x, w, weight, bias):
    return _layer._matmul_layernorm_fwd(x, w, weight, bias, EPS)


def matmul_layernorm_reference(x, w, weight, bias):
    z = x @ w
    mean, variance = z.mean(-1), z.var(-1, correction=0)
    rstd = torch.rsqrt(variance + EPS)
    return (z - mean[:, None]) * rstd[:, None] * weight + bias, mean, rstd


def rmsnorm_matmul(x, w):
    _before._get_num_sms.cache_clear()
    return _before.tlx_rmsnorm_matmul(x, w)


def rmsnorm_matmul_reference(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) @ w


def matmul_rmsnorm_backward(dy, w, normed, rrms):
    return _rms_back.tlx_matmul_rmsnorm_bwd(dy, w, h_norm=normed, rrms=rrms, fused_rms_norm_bwd=True)


def matmul_rmsnorm_backward_reference(dy, w, normed, rrms):
    grad = dy @ w
    return (grad - normed * (grad * normed).mean(-1, keepdim=True)) * rrms[:, None]


def matmul_layernorm_backward(dy, w, normed, rstd, weight=None):
    both = weight is not None
    return _layer_back.tlx_matmul_layernorm_bwd(
        dy, w, h_norm=normed, rstd=rstd, ln_weight=weight, fused_layer_norm_bwd=True, has_weight_bias=both
    )


def matmul_layernorm_backward_reference(dy, w, normed, rstd, weight=None):
    grad = dy @ w
    by_normed = grad if weight is None else grad * weight
    mean, along = by_normed.mean(-1, keepdim=True), (by_normed * normed).mean(-1, keepdim=True)
    dz = (by_normed - mean - normed * along) * rstd[:, None]
    return dz if weight is None else (dz, (grad * normed).sum(0), grad.sum(0))
