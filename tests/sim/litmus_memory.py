"""Small kernels about aliased memory, tensor memory and tcgen05; a constexpr that is false breaks the rule."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def aliased(out, ORDER: tl.constexpr):
    first = tlx.local_alloc((64, 64), tl.float32, 1)
    second = tlx.local_alloc((64, 64), tl.float32, 1, reuse=first)
    read = tlx.alloc_barriers(1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(first[0], tl.full((64, 64), 1.0, tl.float32))
            value = tlx.local_load(first[0])
            tlx.barrier_arrive(read[0])
            tl.store(out, tl.max(tl.max(value, 0), 0))
        with tlx.async_task(num_warps=4):
            if ORDER:
                tlx.barrier_wait(read[0], 0)
            tlx.local_store(second[0], tl.full((64, 64), 2.0, tl.float32))
            tl.store(out + 1, tl.max(tl.max(tlx.local_load(second[0]), 0), 0))


@triton.jit
def grouped(out, SHARED: tl.constexpr):
    """Two tasks, each with a buffer of its own, in one storage: apart if distinct, in one place if shared."""
    spec = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    left = tlx.local_alloc((64, 64), tl.float16, 2, reuse=spec)
    right = tlx.local_alloc((64, 64), tl.float16, 2, reuse=spec)
    if SHARED:
        spec.set_buffer_overlap(tlx.reuse_group(left, right, group_type=tlx.reuse_group_type.shared))
    else:
        spec.set_buffer_overlap(tlx.reuse_group(left, right, group_type=tlx.reuse_group_type.distinct))
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(left[1], tl.full((64, 64), 1.0, tl.float16))
            tl.store(out, tl.max(tl.max(tlx.local_load(left[1]), 0), 0))
        with tlx.async_task(num_warps=4):
            tlx.local_store(right[1], tl.full((64, 64), 2.0, tl.float16))
            tl.store(out + 1, tl.max(tl.max(tlx.local_load(right[1]), 0), 0))


@triton.jit
def tensor_core(
    out,
    WAIT: tl.constexpr,
    WARP_BARRIER: tl.constexpr,
    KEEP: tl.constexpr,
    OWN_THREAD: tl.constexpr,
    MMAS: tl.constexpr,
):
    """MMAS products of ones are added up, issued by one thread, or by two with nothing between them."""
    a = tlx.local_alloc((128, 64), tl.float16, 1)
    b = tlx.local_alloc((64, 64), tl.float16, 1)
    acc = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)
    ready = tlx.alloc_barriers(1, arrive_count=1)
    done = tlx.alloc_warp_barrier(1, num_warps=1) if WARP_BARRIER else tlx.alloc_barriers(1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.local_store(a[0], tl.full((128, 64), 1.0, tl.float16))
            tlx.local_store(b[0], tl.full((64, 64), 1.0, tl.float16))
            tlx.fence("async_shared")
            tlx.barrier_arrive(ready[0])
            if not OWN_THREAD:
                tlx.async_dot(a[0], b[0], acc[0], use_acc=False, force_async=True)
            if not KEEP:
                tlx.local_store(a[0], tl.full((128, 64), 0.0, tl.float16))
            if WAIT:
                tlx.barrier_wait(done[0], 0)
            tl.store(out, tl.max(tl.max(tlx.local_load(acc[0]), 0), 0))
        with tlx.async_task(num_warps=1):
            tlx.barrier_wait(ready[0], 0)
            for i in tl.static_range(MMAS):
                tlx.async_dot(a[0], b[0], acc[0], use_acc=i > 0, force_async=True)
            tlx.tcgen05_commit(done[0])


@triton.jit
def columns(out, NUM: tl.constexpr):
    acc = tlx.local_alloc((128, 256), tl.float32, NUM, tlx.storage_kind.tmem)
    tlx.local_store(acc[NUM - 1], tl.full((128, 256), 3.0, tl.float32))
    tl.store(out, tl.max(tl.max(tlx.local_load(acc[NUM - 1]), 0), 0))


@triton.jit
def columns_of_half(out, HALF: tl.constexpr, WHOLE: tl.constexpr, ROWS: tl.constexpr):
    """Accumulators of 64 or 128 rows and 64 columns between two that take all lanes of 64 columns each."""
    first = tlx.local_alloc((128, 64), tl.float32, WHOLE, tlx.storage_kind.tmem)
    a = tlx.local_alloc((ROWS, 64), tl.float32, HALF, tlx.storage_kind.tmem)
    b = tlx.local_alloc((ROWS, 64), tl.float32, HALF, tlx.storage_kind.tmem)
    last = tlx.local_alloc((128, 64), tl.float32, WHOLE, tlx.storage_kind.tmem)
    tlx.local_store(first[0], tl.full((128, 64), 1.0, tl.float32))
    tlx.local_store(a[HALF - 1], tl.full((ROWS, 64), 2.0, tl.float32))
    tlx.local_store(b[HALF - 1], tl.full((ROWS, 64), 3.0, tl.float32))
    tlx.local_store(last[0], tl.full((128, 64), 4.0, tl.float32))
    tl.store(out, tl.max(tl.max(tlx.local_load(first[0]), 0), 0))
    tl.store(out + 1, tl.max(tl.max(tlx.local_load(a[HALF - 1]), 0), 0))
    tl.store(out + 2, tl.max(tl.max(tlx.local_load(b[HALF - 1]), 0), 0))
    tl.store(out + 3, tl.max(tl.max(tlx.local_load(last[0]), 0), 0))


@triton.jit
def scaled(out, KEEP: tl.constexpr, WAIT: tl.constexpr):
    """tmem_copy and the MMA that reads its scales are ordered by their thread; what the copy reads is in flight."""
    a = tlx.local_alloc((128, 128), tl.float8e4nv, 1)
    b = tlx.local_alloc((128, 128), tl.float8e4nv, 1)
    packed = tlx.local_alloc((2, 256), tl.uint8, 1)
    a_scale = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)
    b_scale = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)
    acc = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)
    done = tlx.alloc_barriers(1, arrive_count=1)
    tlx.local_store(a[0], tl.full((128, 128), 1.0, tl.float8e4nv))
    tlx.local_store(b[0], tl.full((128, 128), 1.0, tl.float8e4nv))
    tlx.local_store(packed[0], tl.full((2, 256), 128, tl.uint8))  # 2 ** (128 - 127)
    tlx.fence("async_shared")
    tlx.tmem_copy(packed[0], a_scale[0])
    tlx.tmem_copy(packed[0], b_scale[0])
    tlx.async_dot_scaled(a[0], b[0], acc[0], a_scale[0], "e4m3", b_scale[0], "e4m3", use_acc=False, mBarriers=[done[0]])
    if not KEEP:
        tlx.local_store(packed[0], tl.full((2, 256), 127, tl.uint8))
    if WAIT:
        tlx.barrier_wait(done[0], 0)
    tl.store(out, tl.max(tl.max(tlx.local_load(acc[0]), 0), 0))


@triton.jit
def scaled_in_place(out, APART: tl.constexpr):
    """The MMA's scales lie in the first of two slots of aliased memory; its D in the second one, or over them."""
    a = tlx.local_alloc((128, 128), tl.float8e4nv, 1)
    b = tlx.local_alloc((128, 128), tl.float8e4nv, 1)
    packed = tlx.local_alloc((2, 256), tl.uint8, 1)
    spec = tlx.storage_alias_spec(storage=tlx.storage_kind.tmem)
    acc = tlx.local_alloc((128, 128), tl.float32, 2, tlx.storage_kind.tmem, reuse=spec)
    a_scale = tlx.local_alloc((128, 4), tl.uint8, 2, tlx.storage_kind.tmem, reuse=spec)
    b_scale = tlx.local_alloc((128, 4), tl.uint8, 2, tlx.storage_kind.tmem, reuse=spec)
    spec.set_buffer_overlap(
        tlx.reuse_group(acc, tlx.reuse_group(a_scale, b_scale, group_type=tlx.reuse_group_type.distinct))
    )
    done = tlx.alloc_barriers(1, arrive_count=1)
    tlx.local_store(a[0], tl.full((128, 128), 1.0, tl.float8e4nv))
    tlx.local_store(b[0], tl.full((128, 128), 1.0, tl.float8e4nv))
    tlx.local_store(packed[0], tl.full((2, 256), 128, tl.uint8))  # 2 ** (128 - 127)
    tlx.fence("async_shared")
    tlx.tmem_copy(packed[0], a_scale[0])
    tlx.tmem_copy(packed[0], b_scale[0])
    d = acc[1] if APART else acc[0]
    tlx.async_dot_scaled(a[0], b[0], d, a_scale[0], "e4m3", b_scale[0], "e4m3", use_acc=False, mBarriers=[done[0]])
    tlx.barrier_wait(done[0], 0)
    tl.store(out, tl.max(tl.max(tlx.local_load(d), 0), 0))


@triton.jit
def from_tensor_memory(out, APART: tl.constexpr):
    """An MMA whose A lies in the first of two slots of aliased memory; its D in the second one, or over it."""
    b = tlx.local_alloc((128, 128), tl.float16, 1)
    spec = tlx.storage_alias_spec(storage=tlx.storage_kind.tmem)
    acc = tlx.local_alloc((128, 128), tl.float32, 2, tlx.storage_kind.tmem, reuse=spec)
    a = tlx.local_alloc((128, 128), tl.float16, 2, tlx.storage_kind.tmem, reuse=spec)
    spec.set_buffer_overlap(tlx.reuse_group(acc, a))
    done = tlx.alloc_barriers(1, arrive_count=1)
    tlx.local_store(a[0], tl.full((128, 128), 1.0, tl.float16))
    tlx.local_store(b[0], tl.full((128, 128), 1.0, tl.float16))
    tlx.fence("async_shared")
    d = acc[1] if APART else acc[0]
    tlx.async_dot(a[0], b[0], d, use_acc=False, mBarriers=[done[0]])
    tlx.barrier_wait(done[0], 0)
    tl.store(out, tl.max(tl.max(tlx.local_load(d), 0), 0))


@triton.jit
def reaching(out, SLOTS: tl.constexpr, WAIT: tl.constexpr):
    """One view of several slots, which another task reads one by one."""
    rows = tlx.local_alloc((1, 32), tl.float32, 4)
    full = tlx.alloc_barriers(1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            if WAIT:
                tlx.barrier_wait(full[0], 0)
            for i in range(4):
                tl.store(out + i, tl.max(tl.max(tlx.local_load(rows[i]), 1), 0))
        with tlx.async_task(num_warps=1):
            values = tl.arange(0, SLOTS * 32) // 32
            all_rows = tlx.local_reinterpret(tlx.local_view(rows, 0), tl.float32, [SLOTS, 32])
            tlx.local_store(all_rows, tl.reshape(values.to(tl.float32), (SLOTS, 32)))
            tlx.barrier_arrive(full[0])
