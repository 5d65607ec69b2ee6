"""Small kernels, each for one rule of the simulator."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def integers(out, a, b):
    tl.store(out, a // b)
    tl.store(out + 1, a % b)
    tl.store(out + 2, a * 65536 * b)
    offsets = tl.arange(0, 2)
    tl.store(out + 3 + offsets, (a + offsets) // b)
    tl.store(out + 5 + offsets, (a + offsets) % b)
    tl.store(out + 7, (a.to(tl.int64) * 65536 * b // 65536).to(tl.int32))
    x = tl.arange(0, 2)
    y = x
    x += 5
    tl.store(out + 8 + offsets, y)


@triton.jit
def fresh_wait(parity: tl.constexpr):
    bars = tlx.alloc_barriers(1, arrive_count=1)
    tlx.barrier_wait(bars[0], parity)


@triton.jit
def over_arrival(out):
    bars = tlx.alloc_barriers(1, arrive_count=1)
    tlx.barrier_expect_bytes(bars[0], 64)
    tlx.barrier_arrive(bars[0])


@triton.jit
def hand_over(out, WAIT: tl.constexpr, FENCE: tl.constexpr):
    tile = tlx.local_alloc((64, 64), tl.float32, 1)
    bars = tlx.alloc_barriers(1, arrive_count=1)
    start = 3
    with tlx.async_tasks():
        with tlx.async_task("default"):
            start += 1
            tlx.local_store(tile[0], tl.full((64, 64), start, tl.float32))
            tlx.barrier_arrive(bars[0])
        with tlx.async_task(num_warps=4):
            if WAIT:
                tlx.barrier_wait(bars[0], 0)
            value = tlx.local_load(tile[0])
            tl.store(out, tl.max(tl.max(value, 0), 0) + start)


@triton.jit
def two_overruns(out):
    # The waiter may wake before or after the second phase: only bounded barriers are safe.
    bars = tlx.alloc_barriers(1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_arrive(bars[0])
            tlx.barrier_arrive(bars[0])
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(bars[0], 1)


@triton.jit
def early_arrival(source, out, WAIT: tl.constexpr):
    # The second phase's arrival may come before the first phase's bytes.
    tile = tlx.local_alloc((16, 16), tl.bfloat16, 2)
    bars = tlx.alloc_barriers(1, arrive_count=1)
    for i in range(2):
        tlx.barrier_expect_bytes(bars[0], 16 * 16 * 2)
        tlx.async_descriptor_load(source, tile[i], [0, 0], bars[0])
        if WAIT:
            tlx.barrier_wait(bars[0], i)


@triton.jit
def load_and_leave(source, out, WAIT: tl.constexpr):
    tile = tlx.local_alloc((16, 16), tl.bfloat16, 1)
    bars = tlx.alloc_barriers(1, arrive_count=1)
    tlx.barrier_expect_bytes(bars[0], 16 * 16 * 2)
    tlx.async_descriptor_load(source, tile[0], [0, 0], bars[0])
    if WAIT:
        tlx.barrier_wait(bars[0], 0)


@triton.jit
def copied(source, APART: tl.constexpr, FENCE: tl.constexpr):
    # A wgmma reads what cp.async has copied, by the same task or by another one.
    tile = tlx.local_alloc((64, 64), tl.bfloat16, 1)
    full = tlx.alloc_barriers(1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            at = source + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
            tlx.async_load(at, tile[0])
            tlx.async_load_commit_group()
            if FENCE == "before":
                tlx.fence("async_shared")
            tlx.async_load_wait_group(0)
            if FENCE == "after":
                tlx.fence("async_shared")
            tlx.barrier_arrive(full[0])
            if not APART:
                tlx.async_dot_wait(0, tlx.async_dot(tile[0], tile[0]))
        with tlx.async_task(num_warps=4):
            if APART:
                tlx.barrier_wait(full[0], 0)
                tlx.async_dot_wait(0, tlx.async_dot(tile[0], tile[0]))


@triton.jit
def unsupported(out):
    tl.cumsum(out, 0)


@triton.jit
def load_one(out, offset):
    tl.store(out, tl.load(out + offset))


@triton.jit
def pending(PENDINGS: tl.constexpr):
    tlx.async_descriptor_store_wait(PENDINGS)
    tlx.async_load_wait_group(PENDINGS)
    tlx.async_dot_wait(PENDINGS, tl.zeros((64, 64), tl.float32))


@triton.jit
def named(out, FIRST: tl.constexpr, SECOND: tl.constexpr):
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.named_barrier_wait(8, FIRST)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_arrive(8, SECOND)


@triton.jit
def per_thread(out, WARPS: tl.constexpr):
    bars = tlx.alloc_warp_barrier(1, num_warps=WARPS)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(bars[0], 0)
        with tlx.async_task(num_warps=2):
            tlx.barrier_arrive(bars[0])


@triton.jit
def too_much(out):
    tlx.local_alloc((128, 256), tl.float32, 2)


@triton.jit
def copy_box(source, target, row, column):
    copy_between(source, target, row, column, row, column)


@triton.jit
def copy_between(source, target, row_in, column_in, row_out, column_out):
    tile = tlx.local_alloc((16, 16), tl.bfloat16, 1)
    bars = tlx.alloc_barriers(1, arrive_count=1)
    tlx.barrier_expect_bytes(bars[0], 16 * 16 * 2)
    tlx.async_descriptor_load(source, tile[0], [row_in, column_in], bars[0])
    tlx.barrier_wait(bars[0], 0)
    tlx.async_descriptor_store(target, tile[0], [row_out, column_out])
    tlx.async_descriptor_store_wait(0)


@triton.jit
def rare_turn(out, ROUNDS: tl.constexpr, FIXED: tl.constexpr):
    # The reader's first turn is for the writer's arrival, its second for that of the default task, which comes late: on
    # the same named barrier, unless FIXED, so that the writer, when it is later still, is not waited for.
    tile = tlx.local_alloc((64, 64), tl.float32, 1)
    ping = tlx.alloc_barriers(1, arrive_count=1)
    pong = tlx.alloc_barriers(1, arrive_count=1)
    second: tl.constexpr = 9 if FIXED else 8
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(ROUNDS):
                tlx.barrier_arrive(ping[0])
                tlx.barrier_wait(pong[0], i & 1)
            tlx.named_barrier_arrive(second, 256)
        with tlx.async_task(num_warps=4):
            tlx.local_store(tile[0], tl.full((64, 64), 1, tl.float32))
            tlx.named_barrier_arrive(8, 256)
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_wait(8, 256)
            value = tlx.local_load(tile[0])
            tlx.named_barrier_wait(second, 256)
            tl.store(out, tl.max(tl.max(value, 0), 0))
        with tlx.async_task(num_warps=4):
            for i in range(ROUNDS):
                tlx.barrier_wait(ping[0], i & 1)
                tlx.barrier_arrive(pong[0])


@triton.jit
def first_name(out, WAIT: tl.constexpr, TAKE: tl.constexpr):
    """The product of a wgmma under the name that it had before it was waited for."""
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    b = tlx.local_alloc((64, 64), tl.float16, 1)
    tlx.local_store(a[0], tl.full((64, 64), 1.0, tl.float16))
    tlx.local_store(b[0], tl.full((64, 64), 2.0, tl.float16))
    tlx.fence("async_shared")
    product = tlx.async_dot(a[0], b[0])
    if TAKE:
        product = tlx.async_dot_wait(0, product)
    elif WAIT:
        tlx.async_dot_wait(0, product)
    doubled = product * 2.0
    tl.store(out, tl.max(tl.max(doubled, 0), 0))
    tlx.async_dot_wait(0, doubled)
