"""Small kernels about clusters and global memory; a constexpr that is false breaks the rule."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def pair(out, MEET: tl.constexpr, WAIT: tl.constexpr, NO_ENDING: tl.constexpr):
    """An MMA of two CTAs: the leader waits until both have filled their operands, both until it is done."""
    rank = tlx.cluster_cta_rank()
    a = tlx.local_alloc((128, 64), tl.float16, 1)
    b = tlx.local_alloc((64, 32), tl.float16, 1)
    acc = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)
    filled = tlx.alloc_barriers(1, arrive_count=2)
    done = tlx.alloc_barriers(1, arrive_count=1)
    with tlx.async_tasks(no_ending_cluster_sync=NO_ENDING):
        with tlx.async_task("default"):
            if WAIT or rank == 0:
                tlx.barrier_wait(done[0], 0)
                value = tl.max(tl.max(tlx.local_load(acc[0]), 0), 0)
                tl.store(out + rank, value)
        with tlx.async_task(num_warps=4):
            tlx.local_store(a[0], tl.full((128, 64), rank + 1, tl.float16))
            tlx.local_store(b[0], tl.full((64, 32), rank + 1, tl.float16))
            tlx.fence("async_shared")
            if MEET or rank == 0:
                tlx.barrier_arrive(filled[0], 1 if MEET else 2, remote_cta_rank=0)
            tlx.barrier_wait(filled[0], 0, pred=rank == 0)
            tlx.async_dot(a[0], b[0], acc[0], use_acc=False, mBarriers=[done[0]], two_ctas=True)


@triton.jit
def scaled_pair(out, MEET: tl.constexpr, WAIT: tl.constexpr):
    """MX scales copied to tensor memory for an MMA of two CTAs, which each copy their own."""
    rank = tlx.cluster_cta_rank()
    a = tlx.local_alloc((128, 128), tl.float8e4nv, 1)
    b = tlx.local_alloc((128, 64), tl.float8e4nv, 1)
    packed = tlx.local_alloc((2, 256), tl.uint8, 1)
    a_scale = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)
    b_scale = tlx.local_alloc((128, 4), tl.uint8, 1, tlx.storage_kind.tmem)
    acc = tlx.local_alloc((128, 128), tl.float32, 1, tlx.storage_kind.tmem)
    filled = tlx.alloc_barriers(1, arrive_count=2)
    done = tlx.alloc_barriers(1, arrive_count=1)
    tlx.local_store(a[0], tl.full((128, 128), 1.0, tl.float8e4nv))
    tlx.local_store(b[0], tl.full((128, 64), 1.0, tl.float8e4nv))
    if MEET:
        tlx.local_store(packed[0], tl.full((2, 256), 127 + rank, tl.uint8))
    tlx.fence("async_shared")
    tlx.barrier_arrive(filled[0], 1, remote_cta_rank=0)
    if not MEET:
        tlx.local_store(packed[0], tl.full((2, 256), 127 + rank, tl.uint8))
    tlx.barrier_wait(filled[0], 0, pred=rank == 0)
    tlx.tmem_copy(packed[0], a_scale[0])
    tlx.tmem_copy(packed[0], b_scale[0])
    tlx.async_dot_scaled(
        a[0], b[0], acc[0], a_scale[0], "e4m3", b_scale[0], "e4m3", use_acc=False, mBarriers=[done[0]], two_ctas=True
    )
    if WAIT:
        tlx.barrier_wait(done[0], 0)
    tl.store(out + rank, tl.max(tl.max(tlx.local_load(acc[0]), 0), 0))


@triton.jit
def regrouped_pair(out, ROWS: tl.constexpr):
    """B of 256 columns by two CTAs, its scales in tensor memory as ROWS x 2048 / ROWS bytes: 1 for the first 128
    columns, 2 and 4 for the first and the second half of K of the others."""
    rank = tlx.cluster_cta_rank()
    a = tlx.local_alloc((128, 256), tl.float8e4nv, 1)
    b = tlx.local_alloc((256, 128), tl.float8e4nv, 1)
    blocks = tlx.local_alloc((4, 2, 256), tl.uint8, 1)
    a_scale = tlx.local_alloc((128, 8), tl.uint8, 1, tlx.storage_kind.tmem)
    b_scale = tlx.local_alloc((ROWS, 2048 // ROWS), tl.uint8, 1, tlx.storage_kind.tmem)
    acc = tlx.local_alloc((128, 256), tl.float32, 1, tlx.storage_kind.tmem)
    filled = tlx.alloc_barriers(1, arrive_count=2)
    done = tlx.alloc_barriers(1, arrive_count=1)
    tlx.local_store(a[0], tl.full((128, 256), 1.0, tl.float8e4nv))
    tlx.local_store(b[0], tl.full((256, 128), 1.0, tl.float8e4nv))
    numbers = tl.arange(0, 4)[:, None, None]
    tlx.local_store(blocks[0], tl.broadcast_to((127 + tl.maximum(numbers - 1, 0)).to(tl.uint8), (4, 2, 256)))
    ones = tlx.local_alloc((2, 2, 256), tl.uint8, 1)
    tlx.local_store(ones[0], tl.full((2, 2, 256), 127, tl.uint8))
    tlx.fence("async_shared")
    tlx.barrier_arrive(filled[0], 1, remote_cta_rank=0)
    tlx.barrier_wait(filled[0], 0, pred=rank == 0)
    tlx.tmem_copy(ones[0], a_scale[0])
    tlx.tmem_copy(blocks[0], b_scale[0])
    tlx.async_dot_scaled(
        a[0], b[0], acc[0], a_scale[0], "e4m3", b_scale[0], "e4m3", use_acc=False, mBarriers=[done[0]], two_ctas=True
    )
    tlx.barrier_wait(done[0], 0)
    found = tlx.local_load(acc[0])
    columns = tl.arange(0, 256)[None, :]
    tl.store(out + 2 * rank, tl.sum(tl.where(columns < 128, found, 0.0)) / (128 * 128))
    tl.store(out + 2 * rank + 1, tl.sum(tl.where(columns < 128, 0.0, found)) / (128 * 128))


@triton.jit
def tiles(out, CONSUMERS: tl.constexpr, MULTI: tl.constexpr):
    """Two consumers of cluster launch control, of which one asks; `out[i]` becomes i."""
    context = tlx.clc_create_context(num_consumers=CONSUMERS)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tile = tl.program_id(0)
            empty = 1
            full = 0
            while tile != -1:
                tlx.clc_producer(context, empty, multi_ctas=MULTI)
                empty ^= 1
                tl.store(out + tile, tile.to(tl.float32))
                tile = tlx.clc_consumer(context, full, multi_ctas=MULTI)
                full ^= 1
        with tlx.async_task(num_warps=1):
            tile = tl.program_id(0)
            full = 0
            while tile != -1:
                tile = tlx.clc_consumer(context, full, multi_ctas=MULTI)
                full ^= 1


@triton.jit
def exchange(out, BARRIER: tl.constexpr, BYTES: tl.constexpr, RANK: tl.constexpr, MEET: tl.constexpr = True):
    """Each CTA gives its peer a vector, with a barrier that counts the bytes or without; MEET: once both are there."""
    rank = tlx.cluster_cta_rank()
    inbox = tlx.local_alloc((32,), tl.float32, 1)
    arrived = tlx.alloc_barriers(1, arrive_count=1)
    if MEET:
        tlx.cluster_barrier()
    value = tl.full((32,), rank + 1, tl.float32)
    tlx.barrier_expect_bytes(arrived[0], BYTES)
    if BARRIER:
        tlx.async_remote_shmem_store(dst=inbox[0], src=value, remote_cta_rank=RANK ^ rank, barrier=arrived[0])
        tlx.barrier_wait(arrived[0], 0)
    else:
        tlx.remote_shmem_store(dst=inbox[0], src=value, remote_cta_rank=RANK ^ rank)
    tl.store(out + rank, tl.max(tlx.local_load(inbox[0]), 0))


@triton.jit
def exchange_in_halves(out, FENCE: tl.constexpr, ARRIVE: tl.constexpr, WAIT: tl.constexpr, LATE: tl.constexpr):
    """As `exchange`, after a cluster barrier in two halves, the first relaxed. LATE: before the barrier a CTA
    also stores into global memory, and its peer reads that after it."""
    rank = tlx.cluster_cta_rank()
    inbox = tlx.local_alloc((32,), tl.float32, 1)
    arrived = tlx.alloc_barriers(1, arrive_count=1)
    tlx.barrier_expect_bytes(arrived[0], 128)
    if LATE:
        tl.store(out + 4 + rank, 1.0)
    if FENCE:
        tlx.fence_mbarrier_init_cluster()
    if ARRIVE:
        tl.inline_asm_elementwise(
            "barrier.cluster.arrive.relaxed.aligned; mov.b32 $0, 0;", "=r", [], tl.int32, is_pure=False, pack=1
        )
    value = tl.full((32,), rank + 1, tl.float32)
    if WAIT:
        tl.inline_asm_elementwise(
            "barrier.cluster.wait.aligned; mov.b32 $0, 0;", "=r", [], tl.int32, is_pure=False, pack=1
        )
    if LATE:
        value += tl.load(out + 5 - rank)
    tlx.async_remote_shmem_store(dst=inbox[0], src=value, remote_cta_rank=1 - rank, barrier=arrived[0])
    tlx.barrier_wait(arrived[0], 0)
    tl.store(out + rank, tl.max(tlx.local_load(inbox[0]), 0))


@triton.jit
def into_a_peer(out, BEFORE: tl.constexpr, AFTER: tl.constexpr):
    """CTA 0 stores into CTA 1, between cluster barriers after which it is there and before which it does not exit."""
    rank = tlx.cluster_cta_rank()
    inbox = tlx.local_alloc((32,), tl.float32, 1)
    if BEFORE:
        tlx.cluster_barrier()
    if rank == 0:
        tlx.remote_shmem_store(dst=inbox[0], src=tl.full((32,), 5.0, tl.float32), remote_cta_rank=1)
    if AFTER:
        tlx.cluster_barrier()
        tl.store(out, 1.0, mask=rank == 0)


@triton.jit
def lone_barrier(out):
    """Only CTA 0 uses the barrier that all initialise."""
    bars = tlx.alloc_barriers(1, arrive_count=1)
    rank = tlx.cluster_cta_rank()
    if rank == 0:
        tlx.barrier_arrive(bars[0])
        tlx.barrier_wait(bars[0], 0)
        tl.store(out, 1.0)


@triton.jit
def late_allocation(out):
    """A CTA stores into a buffer that its peer comes to later: memory is placed when the kernel is compiled."""
    rank = tlx.cluster_cta_rank()
    tlx.cluster_barrier()
    if rank == 1:
        tlx.cluster_barrier()
    inbox = tlx.local_alloc((32,), tl.float32, 1)
    if rank == 0:
        tlx.remote_shmem_store(dst=inbox[0], src=tl.full((32,), 5.0, tl.float32), remote_cta_rank=1)
        tlx.cluster_barrier()
    else:
        tl.store(out, tl.max(tlx.local_load(inbox[0]), 0))


@triton.jit
def sums(desc, ALL: tl.constexpr):
    """Every CTA adds ones to one box; if not ALL, the first one stores them."""
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    tlx.local_store(tile[0], tl.full((16, 16), 1.0, tl.float32))
    tlx.fence("async_shared")
    if ALL or tl.program_id(0) > 0:
        tlx.async_descriptor_store(desc, tile[0], [0, 0], store_reduce="add")
    else:
        tlx.async_descriptor_store(desc, tile[0], [0, 0])
    tlx.async_descriptor_store_wait(0)


@triton.jit
def neighbours(out, OWN: tl.constexpr, FIRST: tl.constexpr):
    """Each CTA reads an element, its own or the next one's, and writes its own, before or after."""
    i = tl.program_id(0)
    at = i if OWN else (i + 1) % tl.num_programs(0)
    if FIRST:
        value = tl.load(out + at)
        tl.store(out + i, value + 1.0)
    else:
        tl.store(out + i, 1.0)
        tl.store(out + 8 + i, tl.load(out + at))


@triton.jit
def descriptors(addresses, out, COUNT: tl.constexpr, SLOTS: tl.constexpr, STAGES: tl.constexpr):
    """Loads through a ring of STAGES, each with a descriptor of its own, made in a ring of SLOTS."""
    ring = tlx.allocate_tensor_descriptor(num=SLOTS)
    tiles = tlx.local_alloc((16, 16), tl.float32, STAGES)
    full = tlx.alloc_barriers(STAGES, arrive_count=1)
    empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(COUNT):
                tlx.barrier_wait(full[i % STAGES], (i // STAGES) & 1)
                value = tlx.local_load(tiles[i % STAGES])
                tlx.fence("async_shared")
                tlx.barrier_arrive(empty[i % STAGES])
                tl.store(out + i, tl.max(tl.max(value, 0), 0))
        with tlx.async_task(num_warps=1):
            for i in range(COUNT):
                base = tl.load(addresses + i).to(tl.pointer_type(tl.float32))
                slot = ring[i % SLOTS]
                tlx.make_tensor_descriptor(
                    desc_ptr=slot, base=base, shape=[16, 16], strides=[16, 1], block_shape=[16, 16]
                )
                desc = tlx.reinterpret_tensor_descriptor(desc_ptr=slot, block_shape=[16, 16], dtype=tl.float32)
                tlx.barrier_wait(empty[i % STAGES], (i // STAGES) & 1 ^ 1)
                tlx.barrier_expect_bytes(full[i % STAGES], 16 * 16 * 4)
                tlx.async_descriptor_load(desc, tiles[i % STAGES], [0, 0], full[i % STAGES])


@triton.jit
def scratch(source, out, UNROLL: tl.constexpr):
    """A descriptor made by one call again and again while loads use it, or by two calls."""
    tile = tlx.local_alloc((16, 16), tl.float32, 2)
    full = tlx.alloc_barriers(2, arrive_count=1)
    if UNROLL:
        first = tl.make_tensor_descriptor(source, shape=[16, 16], strides=[16, 1], block_shape=[16, 16])
        tlx.barrier_expect_bytes(full[0], 1024)
        tlx.async_descriptor_load(first, tile[0], [0, 0], full[0])
        second = tl.make_tensor_descriptor(source + 256, shape=[16, 16], strides=[16, 1], block_shape=[16, 16])
        tlx.barrier_expect_bytes(full[1], 1024)
        tlx.async_descriptor_load(second, tile[1], [0, 0], full[1])
    else:
        for i in range(2):
            desc = tl.make_tensor_descriptor(source + 256 * i, shape=[16, 16], strides=[16, 1], block_shape=[16, 16])
            tlx.barrier_expect_bytes(full[i], 1024)
            tlx.async_descriptor_load(desc, tile[i], [0, 0], full[i])
    for i in range(2):
        tlx.barrier_wait(full[i], 0)
        tl.store(out + i, tl.max(tl.max(tlx.local_load(tile[i]), 0), 0))


@triton.jit
def far(addresses, out, OFFSET: tl.constexpr):
    base = (tl.load(addresses) + OFFSET).to(tl.pointer_type(tl.float32))
    tl.store(out, tl.load(base))


@triton.jit
def bulk(source, out, BYTES: tl.constexpr, WAIT: tl.constexpr):
    line = tlx.local_alloc((64,), tl.float32, 1)
    full = tlx.alloc_barriers(1, arrive_count=1)
    tlx.barrier_expect_bytes(full[0], BYTES)
    tlx.async_load(source, line[0], bulk=True, barrier=full[0])
    if WAIT:
        tlx.barrier_wait(full[0], 0)
    tl.store(out, tl.max(tlx.local_load(line[0]), 0))


@triton.jit
def meeting_of_tasks(out, ALL: tl.constexpr, LAST: tl.constexpr):
    """Every task of both CTAs comes to the cluster barrier, which keeps a CTA for the arrival of its peer."""
    rank = tlx.cluster_cta_rank()
    free = tlx.alloc_barriers(1, arrive_count=1)
    turn = tlx.alloc_barriers(1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(turn[0], 0)
            if LAST:
                tlx.barrier_arrive(free[0], 1, remote_cta_rank=1 - rank)
                tlx.cluster_barrier()
            else:
                tlx.cluster_barrier()
                tlx.barrier_arrive(free[0], 1, remote_cta_rank=1 - rank)
            tl.store(out + rank, rank + 1.0)
        with tlx.async_task(num_warps=1):
            tlx.barrier_arrive(turn[0])
            tlx.cluster_barrier()
        with tlx.async_task(num_warps=1):
            if ALL:
                tlx.cluster_barrier()
            else:
                tlx.barrier_wait(free[0], 0)


@triton.jit
def meeting_outside(out, TASKS: tl.constexpr):
    """The programs meet, with or without tasks in between."""
    rank = tlx.cluster_cta_rank()
    box = tlx.local_alloc((4,), tl.float32, 1)
    came = tlx.alloc_barriers(1, arrive_count=1)
    tlx.cluster_barrier()
    if TASKS:
        with tlx.async_tasks():
            with tlx.async_task("default"):
                tlx.barrier_expect_bytes(came[0], 16)
            with tlx.async_task(num_warps=1):
                tlx.async_remote_shmem_store(box[0], tl.full((4,), rank + 1.0, tl.float32), 1 - rank, came[0])
    else:
        tlx.barrier_expect_bytes(came[0], 16)
        tlx.async_remote_shmem_store(box[0], tl.full((4,), rank + 1.0, tl.float32), 1 - rank, came[0])
    tlx.barrier_wait(came[0], 0)
    tl.store(out + rank, tl.max(tlx.local_load(box[0]), 0))
    tlx.cluster_barrier()
