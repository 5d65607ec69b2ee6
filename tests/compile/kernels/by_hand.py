"""Kernels as somebody writes them, with their host code; see test_launched."""

import os
import signal

import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy(x_desc, y_desc, N, BLOCK: tl.constexpr):
    """y = x, BLOCK rows and columns at a time: one task loads with TMA, the other stores."""
    tiles = tlx.local_alloc((BLOCK, BLOCK), tl.float16, 2)
    full = tlx.alloc_barriers(2, arrive_count=1)
    empty = tlx.alloc_barriers(2, arrive_count=1)
    row = tl.program_id(0) * BLOCK
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(tl.cdiv(N, BLOCK)):
                slot, phase = i % 2, (i // 2) & 1
                tlx.barrier_wait(full[slot], phase)
                tlx.async_descriptor_store(y_desc, tiles[slot], [row, i * BLOCK])
                tlx.async_descriptor_store_wait(0)
                tlx.barrier_arrive(empty[slot])
        with tlx.async_task(num_warps=1, num_regs=24):
            for i in range(tl.cdiv(N, BLOCK)):
                slot, phase = i % 2, (i // 2) & 1
                tlx.barrier_wait(empty[slot], phase ^ 1)
                tlx.barrier_expect_bytes(full[slot], BLOCK * BLOCK * 2)
                tlx.async_descriptor_load(x_desc, tiles[slot], [row, i * BLOCK], full[slot])


def copied(x):
    y = torch.empty_like(x)
    descriptors = [TensorDescriptor(t, list(x.shape), [x.shape[1], 1], [64, 64]) for t in (x, y)]
    copy[(triton.cdiv(x.shape[0], 64),)](*descriptors, x.shape[1], BLOCK=64)
    return y


@triton.jit
def fill(y, n, value, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, value, mask=i < n)


@triton.jit
def bad(y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK + 1)
    tl.store(y + i, i, mask=i < n)


def abort(specialisation):
    """Names a kernel, and takes the compiler with it."""
    os.kill(os.getpid(), signal.SIGABRT)


@triton.jit(repr=abort)
def crash(y):
    tl.store(y, 1)


def plain():
    """No function of Triton's."""
    return 1


@triton.jit
def unknown(y):
    tl.store(y, plain())


def pruned(configs, named_args, **kwargs):
    return [config for config in configs if config.kwargs["BLOCK"] < named_args["n"]]


@triton.autotune(
    configs=[triton.Config({"BLOCK": size}, num_warps=size // 32) for size in (128, 256, 2048)],
    key=["n"],
    prune_configs_by={"early_config_prune": pruned},
)
@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def tuned(y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(y + i, i)
    else:
        tl.store(y + i, i, mask=i < n)


def ones():
    return torch.ones(1000, device="cuda")


def test_copy():
    x = torch.randn(100, 200, device="cuda", dtype=torch.float16)
    torch.testing.assert_close(copied(x), x)


def test_alike():
    for n in (1000, 1001, 960):
        fill[(8,)](ones(), n, 0.5, BLOCK=128)


def test_tuned():
    tuned[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](ones(), 1000)


def test_bad():
    bad[(1,)](ones(), 1000, BLOCK=128)
    fill[(8,)](ones(), 1000, 0.5, BLOCK=128)


def test_unknown():
    unknown[(1,)](ones())


def test_crash():
    crash[(1,)](ones())
    fill[(8,)](ones(), 1000, 0.5, BLOCK=128)


def test_checks():
    y = ones()
    fill[(8,)](y, 1000, 2, BLOCK=128)
    assert (y == 2).all()


def test_nothing():
    pass


def test_raises():
    fill[(8,)](ones(), 1000, 0.5, BLOCK=128)
    raise ValueError("so")


def test_option():
    fill[(8,)](ones(), 1000, 0.5, BLOCK=128, num_wraps=4)


def test_leaves():
    os._exit(3)
