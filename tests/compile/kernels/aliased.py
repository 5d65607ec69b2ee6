"""A task that stores into one buffer of shared memory and touches another, in the same place or beside it."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def aliased(x_ptr, y_ptr, MODE: tl.constexpr, ALIASED: tl.constexpr):
    """MODE: what comes after the store into the one, 0 a load of the other, 1 a store, 2 a load of the one, a store."""
    one = tlx.local_alloc((64, 64), tl.float16, 1)
    if ALIASED:  # noqa: SIM108
        other = tlx.local_alloc((32, 64), tl.float32, 1, reuse=one)
    else:
        other = tlx.local_alloc((32, 64), tl.float32, 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rows = tl.arange(0, 64)
            tl.store(y_ptr + 4096 + rows, rows.to(tl.float32))
        with tlx.async_task(num_warps=4):
            halves = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
            floats = tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :]
            tlx.local_store(one[0], tl.load(x_ptr + halves))
            if MODE == 0:
                tl.store(y_ptr + floats, tlx.local_load(other[0]))
            if MODE == 1:
                tlx.local_store(other[0], tl.load(y_ptr + floats))
            if MODE == 2:
                before = tlx.local_load(one[0])
                tlx.local_store(other[0], tl.load(y_ptr + floats))
                tl.store(x_ptr + halves, before)
