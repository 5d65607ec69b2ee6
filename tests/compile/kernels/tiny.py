"""Small TLX kernels for the tests: each compiles in well under a second."""

# ruff: noqa: F401  imports as in generated modules
import torch
import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def add_one(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, at < n) + 1, at < n)


@triton.jit
def tasks(
    out,
    FIRST_WARPS: tl.constexpr,
    FIRST_REPLICAS: tl.constexpr,
    FIRST_REGISTERS: tl.constexpr,
    SECOND_WARPS: tl.constexpr,
    SECOND_REPLICAS: tl.constexpr,
    SECOND_REGISTERS: tl.constexpr,
    EXCLUSIVE: tl.constexpr,
):
    """A default task and two others that hand nothing over: only their warps and registers matter."""
    with tlx.async_tasks(exclusive=EXCLUSIVE):
        with tlx.async_task("default"):
            tl.store(out, 1)
        with tlx.async_task(num_warps=FIRST_WARPS, replicate=FIRST_REPLICAS, registers=FIRST_REGISTERS):
            tl.store(out + 1, 2)
        with tlx.async_task(num_warps=SECOND_WARPS, replicate=SECOND_REPLICAS, registers=SECOND_REGISTERS):
            tl.store(out + 2, 3)
