"""Kernels and host functions for the cases of this folder's tests."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr, SHIFT: tl.constexpr = 0):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor + SHIFT, mask=at < n)


@triton.jit
def split_kernel(x_ptr, low_ptr, high_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(low_ptr + at, x - 1)
    tl.store(high_ptr + at, x + 1)


@triton.jit
def add_kernel(x_ptr, y_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y_ptr + at, tl.load(y_ptr + at) + tl.load(x_ptr + at))


def keep_small(configs, named_args, **kwargs):
    return [c for c in configs if c.kwargs["BLOCK"] <= named_args["n"]]


@triton.autotune(
    configs=[triton.Config({"BLOCK": size}) for size in (128, 16, 32, 64)],
    key=["n"],
    prune_configs_by={"early_config_prune": keep_small},
)
@triton.jit
def tuned_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * 0 + BLOCK, mask=at < n)


def scale(x, factor=2.0, activation=None):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 64),)](x, y, n, factor, BLOCK=64)
    return torch.relu(y) if activation == "relu" else y


def both(x):
    low, high = torch.empty_like(x), torch.empty_like(x)
    split_kernel[(1,)](x, low, high, N=64)
    return low, high


def expected(x_ptr, **others):
    return x_ptr * 3


def plain(x):
    return x
