"""Small kernels for operations of tl and tlx, each compared with what numpy, torch or the PTX manual say."""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx
from triton.language.extra import libdevice
from triton.language.extra.cuda.inline_ptx_lib import _fma_f32x2, tanh_approx_fp32
from triton.language.extra.subtile_ops import _join_n_2D, _split_n_2D


@triton.jit
def _either(x, y):
    return x | y


@triton.jit
def _larger(value, index, other, other_index):
    keep = value >= other
    return tl.where(keep, value, other), tl.where(keep, index, other_index)


@triton.jit
def _relu_or_double(x, limit):
    if x < limit:
        return 0.0
    return x * 2


@triton.jit
def shifts(out, count):
    offsets = tl.arange(0, 8)
    counts = tl.load(count + offsets)
    tl.store(out + offsets, -1 << counts)
    tl.store(out + 8 + offsets, (offsets - 4) >> counts)


@triton.jit
def promotions(half, out, scale):
    x = tl.load(half + tl.arange(0, 4))
    tl.store(out, (x * scale).dtype == tl.float32)  # a scalar of the kernel is float32
    tl.store(out + 1, (x * 3.0).dtype == tl.float16)  # a literal takes the tensor's type
    tl.store(out + 2, (x / x).dtype == tl.float32)
    tl.store(out + 3, (tl.arange(0, 4) * tl.program_id(0).to(tl.int64)).dtype == tl.int64)
    tl.store(out + 4, half.dtype.element_ty == tl.float16)


@triton.jit
def unsigned(out):
    offsets = tl.arange(0, 4)
    x = offsets.to(tl.uint32) - 2
    tl.store(out + offsets, (x > 5).to(tl.int64))
    tl.store(out + 4 + offsets, (x // 3).to(tl.int64))
    tl.store(out + 8 + offsets, (x >> 28).to(tl.int64))


@triton.jit
def casts(values, out, bits, zero):
    offsets = tl.arange(0, 8)
    x = tl.load(values + offsets)
    tl.store(out + offsets, x.to(tl.float8e4nv).to(tl.float32))
    tl.store(bits + offsets, x.to(tl.int32, bitcast=True))
    tl.store(zero + offsets, x.to(tl.bfloat16, fp_downcast_rounding="rtz"))


@triton.jit
def reductions(values, out, place):
    rows, columns = tl.arange(0, 4), tl.arange(0, 8)
    x = tl.load(values + rows[:, None] * 8 + columns[None, :])
    tl.store(out + rows, tl.sum(x, 1))
    tl.store(out + 4 + rows, tl.max(x, axis=1))
    kept = tl.min(x, 0, keep_dims=True)
    tl.store(out + 8 + columns[None, :], kept)
    largest, at = tl.max(x, 1, return_indices=True)
    tl.store(place + rows, at)
    tl.store(place + 4 + rows, tl.argmin(x, 1))
    ids = tl.broadcast_to(columns[None, :], x.shape)
    _, last = tl.reduce((x, ids), 1, _larger)
    tl.store(place + 8 + rows, last)
    tl.store(place + 12, tl.reduce((x > 0).to(tl.int32) << columns[None, :], None, _either))
    tl.store(out + 16, tl.sum(x))


@triton.jit
def mapped(values, out):
    offsets = tl.arange(0, 8)
    x = tl.load(values + offsets)
    tl.store(out + offsets, tl.map_elementwise(_relu_or_double, x, 0.5))


@triton.jit
def shapes(out):
    x = tl.reshape(tl.arange(0, 16), (4, 4))
    offsets = tl.arange(0, 16)
    tl.store(out + offsets, tl.ravel(tl.flip(x, 1)))
    first, second = _split_n_2D(x, 2)
    tl.store(out + 16 + offsets, _join_n_2D((second, first)).reshape(16))
    i, j = tl.swizzle2d(offsets // 4, offsets % 4, 4, 4, 2)
    tl.store(out + 32 + offsets, i * 4 + j)
    tl.store(out + 48 + offsets, tl.trans(x).reshape(16))
    tl.store(out + 64 + tl.arange(0, 32), tl.interleave(offsets, offsets + 100))


@triton.jit
def packed(a, b, c, out):
    offsets = tl.arange(0, 64)
    x, y, z = tl.load(a + offsets), tl.load(b + offsets), tl.load(c + offsets)
    tl.store(out + offsets, _fma_f32x2(x, y, z))
    tl.store(out + 64 + offsets, tanh_approx_fp32(x))


@triton.jit
def asm(values, out, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr, DTYPE: tl.constexpr, PACK: tl.constexpr):
    offsets = tl.arange(0, 64)
    x = tl.load(values + offsets)
    made = tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [x], dtype=DTYPE, is_pure=True, pack=PACK)
    tl.store(out + offsets, made)


@triton.jit
def asm_of_two(a, b, out, TEXT: tl.constexpr):
    offsets = tl.arange(0, 64)
    x, y = tl.load(a + offsets), tl.load(b + offsets)
    tl.store(out + offsets, tl.inline_asm_elementwise(TEXT, "=r,r,r", [x, y], dtype=x.dtype, is_pure=True, pack=2))


@triton.jit
def scaled(values, exponents, inverses):
    offsets = tl.arange(0, 64)
    x = tl.load(values + offsets)
    e, inverse = tl.inline_asm_elementwise(
        """{ .reg .b16 p; .reg .b32 z, u; // z is the upper one
             mov.b32 z, 0; cvt.rp.satfinite.ue8m0x2.f32 p, z, $2; cvt.u32.u16 u, p;
             and.b32 $0, u, 0xFF; sub.u32 u, 254, u; shl.b32 $1, u, 23; }""",
        "=r,=f,f", [x], dtype=(tl.int32, tl.float32), is_pure=True, pack=1,
    )  # fmt: skip
    tl.store(exponents + offsets, e)
    tl.store(inverses + offsets, inverse)


@triton.jit
def dots(a, b, out):
    rows, columns = tl.arange(0, 16), tl.arange(0, 32)
    x = tl.load(a + rows[:, None] * 32 + columns[None, :])
    y = tl.load(b + columns[:, None] * 16 + rows[None, :])
    acc = tl.dot(x, y)
    tl.store(out + rows[:, None] * 16 + rows[None, :], tl.dot(x, y, acc))


@triton.jit
def count(counter, seen):
    tl.store(seen + tl.program_id(0), tl.atomic_add(counter, 2))


@triton.jit
def atomics(values, before):
    offsets = tl.arange(0, 4)
    tl.store(before + offsets, tl.atomic_add(values + offsets % 2, offsets, sem="relaxed"))
    tl.store(before + 4, tl.atomic_max(values + 2, 7))
    tl.store(before + 5, tl.atomic_cas(values + 3, 0, 9))
    tl.store(before + 6, tl.atomic_cas(values + 3, 0, 11))
    tl.store(before + 7, tl.atomic_xchg(values + 4, 5))
    tl.store(before + 8, tl.atomic_or(values + 5, 6, mask=tl.program_id(0) > 0))


@triton.jit
def device_library(values, out):
    offsets = tl.arange(0, 8)
    x = tl.load(values + offsets)
    tl.store(out + offsets, libdevice.tanh(x))
    tl.store(out + 8 + offsets, libdevice.fast_dividef(x, 3.0))
    tl.store(out + 16 + offsets, libdevice.fma(x, x, x))


@triton.jit
def warps(values, ballots, redux):
    offsets = tl.arange(0, 128)
    x = tl.load(values + offsets)
    tl.store(ballots + offsets, tlx.vote_ballot_sync(0xFFFFFFFF, x > 0))
    tl.store(redux + offsets, tlx.warp_redux(x, "abs_max"))


@triton.jit
def rounded(values, random, out, DTYPE: tl.constexpr):
    offsets = tl.arange(0, 256)
    made = tlx.stoch_round(tl.load(values + offsets), DTYPE, tl.load(random + offsets))
    tl.store(out + offsets, made.to(tl.float32))


@triton.jit
def gathered(values, places, out):
    offsets = tl.arange(0, 64)
    tile = tlx.local_alloc((64,), tl.float32, 2)
    at = tl.load(places + offsets)
    tlx.local_store(tile[0], tl.load(values + offsets))
    tl.store(out + offsets, tlx.local_gather(tile[0], at, 0))
    tlx.local_store(tile[1], tl.zeros((64,), tl.float32))
    tlx.local_scatter(tile[1], tl.load(values + offsets), at, 0)
    tl.store(out + 64 + offsets, tlx.local_load(tile[1]))


@triton.jit
def loops(out, start, stop):
    total = 0
    for i in tl.range(tl.load(start), tl.load(stop), 3, num_stages=2):
        total += i
    for i in tl.static_range(3):
        total += i * 100
    tl.device_print("total", total)
    tl.store(out, total)
    tl.store(out + 1, tlx.thread_id(0) + (tlx.clock64() >= 0).to(tl.int32))


@triton.jit
def special_registers(sm, times):
    cta = tl.program_id(0)
    tl.store(sm + cta, tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=True, pack=1))
    for i in tl.static_range(2):
        now = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
        low = tl.inline_asm_elementwise("mov.u32 $0, %clock;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
        tl.store(times + cta * 6 + i * 3, now)
        tl.store(times + cta * 6 + i * 3 + 1, low)
        tl.store(times + cta * 6 + i * 3 + 2, tlx.clock64())


@triton.jit
def reports_false(x):
    tl.device_assert(tl.load(x) > 5, "too small")


@triton.jit
def fenced(desc, FENCE: tl.constexpr):
    """One task stores, another lets TMA read: FENCE is none, "writer", "reader" or "before" the store."""
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    full = tlx.alloc_barriers(1, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            if FENCE == "before":
                tlx.fence("async_shared")
            tlx.local_store(tile[0], tl.full((16, 16), 3.0, tl.float32))
            if FENCE == "writer":
                tlx.fence("async_shared")
            tlx.barrier_arrive(full[0])
        with tlx.async_task(num_warps=1):
            tlx.barrier_wait(full[0], 0)
            if FENCE == "reader":
                tlx.fence("async_shared")
            tlx.async_descriptor_store(desc, tile[0], [0, 0])
            tlx.async_descriptor_store_wait(0)


@triton.jit
def pair(desc_a, desc_b, out, lanes, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, LHS: tl.constexpr):
    """D = A @ B of 64 rows by two CTAs, B split between them; `lanes` gets the same bytes as 128 lanes."""
    rank = tlx.cluster_cta_rank()
    a = tlx.local_alloc((M, K), tl.float16, 1)
    b = tlx.local_alloc((K, N // 2), tl.float16, 1)
    spec = tlx.storage_alias_spec(storage=tlx.storage_kind.tmem)
    acc = tlx.local_alloc((M, N), tl.float32, 1, tlx.storage_kind.tmem, reuse=spec)
    physical = tlx.local_alloc((2 * M, N // 2), tl.float32, 1, tlx.storage_kind.tmem, reuse=spec)
    spec.set_buffer_overlap(tlx.reuse_group(acc, physical, group_type=tlx.reuse_group_type.shared))
    left = tlx.local_alloc((M, K), tl.float16, 1, tlx.storage_kind.tmem)
    loaded = tlx.alloc_barriers(1, arrive_count=1)
    ready = tlx.alloc_barriers(1, arrive_count=2)
    done = tlx.alloc_barriers(1, arrive_count=1)
    tlx.barrier_expect_bytes(loaded[0], M * K * 2 + K * N)
    tlx.async_descriptor_load(desc_a, a[0], [rank * M, 0], loaded[0])
    tlx.async_descriptor_load(desc_b, b[0], [0, rank * (N // 2)], loaded[0])
    tlx.barrier_wait(loaded[0], 0)
    if LHS:
        tlx.local_store(left[0], tlx.local_load(a[0]))
    tlx.barrier_arrive(ready[0], 1, remote_cta_rank=0)
    if rank == 0:
        tlx.barrier_wait(ready[0], 0)
    if LHS:
        tlx.async_dot(left[0], b[0], acc[0], use_acc=False, mBarriers=[done[0]], two_ctas=True)
    else:
        tlx.async_dot(a[0], b[0], acc[0], use_acc=False, mBarriers=[done[0]], two_ctas=True)
    tlx.barrier_wait(done[0], 0)
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tl.store(out + (rank * M + rows)[:, None] * N + columns[None, :], tlx.local_load(acc[0]))
    rows, columns = tl.arange(0, 2 * M), tl.arange(0, N // 2)
    tl.store(lanes + (rank * 2 * M + rows)[:, None] * (N // 2) + columns[None, :], tlx.local_load(physical[0]))


@triton.jit
def truths(x, out, SCALAR: tl.constexpr):
    """`and`, `or` and `not` of blocks are those of their elements; of scalars they are Python's."""
    i = tl.arange(0, 8)
    a = tl.load(x + i) > 0
    tl.store(out + i, (a and i < 4 or i == 7).to(tl.float32))
    tl.store(out + 8 + i, (not a and (i != 1) and (i != 2)).to(tl.float32))
    if SCALAR and tl.load(x) > 0 or tl.load(x + 1) > 0 and not SCALAR:
        tl.store(out + 16, 1.0)
    if a.shape[0] == 4 and tl.load(x + 1000):  # the second is not looked at
        tl.store(out + 16, 2.0)


@triton.jit
def blocks(x, out, ROWS, COLUMNS, PAD: tl.constexpr):
    """A copy of the columns from 4 on, 4 at a time, transposed: what is not there is `PAD`."""
    source = tl.make_block_ptr(
        base=x, shape=(ROWS, COLUMNS), strides=(COLUMNS, 1), offsets=(0, 0), block_shape=(8, 4), order=(1, 0)
    )
    target = tl.make_block_ptr(out, (16, 8), (8, 1), (0, 0), (4, 8), (1, 0))
    source = tl.advance(source, (0, 4))
    for _ in range(2):
        block = tl.load(source, boundary_check=(0, 1), padding_option=PAD)
        tl.store(target, tl.trans(block), boundary_check=(0,))
        source = tl.advance(source, (0, 4))
        target = tl.advance(target, (4, 0))


@triton.jit
def flags(out, flag, SEND: tl.constexpr, LAST: tl.constexpr):
    """Everybody but CTA 0 waits for its flag, and reads what it has written before. Nothing but atomics orders them."""
    me = tl.program_id(0)
    if me == 0:
        tl.store(out, 7.0)
        tl.inline_asm_elementwise(SEND, "=r,l,r", [flag, 3], dtype=tl.int32, is_pure=False, pack=1)
    else:
        ready = tl.inline_asm_elementwise(
            "ld.relaxed.gpu.global.b32 $0, [$1];", "=r,l", [flag], dtype=tl.int32, is_pure=False, pack=1
        )
        while ready == 0:
            ready = tl.inline_asm_elementwise(
                "nanosleep.u32 50; ld.relaxed.gpu.global.b32 $0, [$1];", "=r,l", [flag], dtype=tl.int32,
                is_pure=False, pack=1,
            )  # fmt: skip
        tl.inline_asm_elementwise(LAST, "=r,l", [flag], dtype=tl.int32, is_pure=False, pack=1)
        tl.store(out + 4 + me, tl.load(out))


@triton.jit
def crowded_pair(out):
    """Four accumulators of 64 x 256, which fit into tensor memory only as 128 lanes each; a read that is too early."""
    a = tlx.local_alloc((64, 32), tl.float16, 1)
    b = tlx.local_alloc((32, 128), tl.float16, 1)
    early = tlx.local_alloc((16,), tl.float32, 1)
    accs = tlx.local_alloc((64, 256), tl.float32, 4, tlx.storage_kind.tmem)
    ready = tlx.alloc_barriers(1, arrive_count=2)
    done = tlx.alloc_barriers(4, arrive_count=1)
    rank = tlx.cluster_cta_rank()
    tl.store(out + tl.arange(0, 16), tlx.local_load(early[0]), mask=tl.arange(0, 16) < 0)
    tlx.local_store(a[0], tl.full((64, 32), 1.0, tl.float16))
    tlx.local_store(b[0], tl.full((32, 128), 1.0, tl.float16))
    tlx.fence("async_shared")
    tlx.barrier_arrive(ready[0], 1, remote_cta_rank=0)
    tlx.barrier_wait(ready[0], 0, pred=rank == 0)
    for i in tl.static_range(4):
        tlx.async_dot(a[0], b[0], accs[i], use_acc=False, mBarriers=[done[i]], two_ctas=True)
        tlx.barrier_wait(done[i], 0)


@triton.jit
def exponents(scales, desc, out):
    """Bytes of scales, by address and by TMA."""
    tile = tlx.local_alloc((16, 16), tl.uint8, 1)
    full = tlx.alloc_barriers(1, arrive_count=1)
    tlx.barrier_expect_bytes(full[0], 256)
    tlx.async_descriptor_load(desc, tile[0], [0, 0], full[0])
    tlx.barrier_wait(full[0], 0)
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out + at, tlx.local_load(tile[0]).to(tl.int32) + tl.load(scales + at).to(tl.int32))


@triton.jit
def reducing_boxes(sums, smallest, scale, out):
    """Boxes of 16 x 16 of every CTA, added up and compared in place; a scalar with dimensions."""
    pid = tl.program_id(0)
    added = tl.make_tensor_descriptor(sums, shape=[16, 16], strides=[16, 1], block_shape=[16, 16])
    least = tl.make_tensor_descriptor(smallest, shape=[16, 16], strides=[16, 1], block_shape=[16, 16])
    added.store([0, 0], tl.full((16, 16), pid + 1.0, tl.float32), store_reduce="add")
    added.atomic_add([0, 0], tl.full((16, 16), 10.0, tl.float32))
    least.atomic_min([0, 0], tl.full((16, 16), 5 - pid, tl.int32))
    rows = tl.arange(0, 16)[:, None]
    columns = tl.arange(0, 16)[None, :]
    if pid == 0:
        factor = tl.load(scale)
        tl.store(out + rows * 16 + columns, (rows + columns).to(tl.float32) * factor[None, :] + pid[None, None])
