# ruff: noqa  (designs as they were measured; they go when the family has the ring schedule)
"""Prototype kernels: layer norm and RMSNorm, forward and backward, in designs that bench_norm.py compares.

A CTA holds `C` columns (BLOCK_N >= C, a power of two) of BLOCK_M rows; K CTAs of a cluster hold a row. Statistics of a
row: each CTA makes the sum S_r and the squares M2_r about its own mean, and one round trip carries both to all CTAs:
mean = sum S_r / N, M2 = sum (M2_r + n_r (mean_r - mean)^2), added in rank order in every CTA.

Slots of the exchange: two, used in turns. A peer fills slot i + 2 only after it has passed exchange i + 1, for which it
needed what this CTA sends after it has read slot i. So no empty barrier is needed.

Strides sx, sy are in vectors of VEC elements, so that the compiler knows what divides them.
"""

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def _exchange(a, b, red, bars, count, rank, BLOCK_M: tl.constexpr, K: tl.constexpr):
    """Sends (a, b), [BLOCK_M] each, to all CTAs of the cluster; waits for theirs. Returns the slot's first buffer."""
    slot = count % 2
    full = bars[slot]
    tlx.barrier_expect_bytes(full, BLOCK_M * 8 * K)
    both = tl.join(a, b)
    for peer in tl.static_range(K):
        tlx.async_remote_shmem_store(dst=red[slot * K + rank], src=both, remote_cta_rank=peer, barrier=full)
    tlx.barrier_wait(full, (count // 2) & 1)
    return slot * K


@triton.jit
def _width(rank, C, N):
    return tl.minimum(tl.maximum(N - rank * C, 0), C)


@triton.jit
def _stats(x, inside, red, bars, count, rank, C, N, LN: tl.constexpr, BLOCK_M: tl.constexpr, K: tl.constexpr):
    """Mean and sum of squares about it (RMSNorm: about zero) of whole rows, from this CTA's part `x` in fp32."""
    n = _width(rank, C, N).to(tl.float32)
    if LN:
        s = tl.sum(x, 1)
        own = s / tl.maximum(n, 1.0)
        d = tl.where(inside, x - own[:, None], 0.0)
        m2 = tl.sum(d * d, 1)
        if K == 1:
            return own, m2
        base = _exchange(s, m2, red, bars, count, rank, BLOCK_M, K)
        total = tl.zeros([BLOCK_M], tl.float32)
        for peer in tl.static_range(K):
            ps, _ = tl.split(tlx.local_load(red[base + peer]))
            total += ps
        mean = total / N
        m2 = tl.zeros([BLOCK_M], tl.float32)
        for peer in tl.static_range(K):
            ps, pm = tl.split(tlx.local_load(red[base + peer]))
            pn = _width(peer, C, N).to(tl.float32)
            pd = ps / tl.maximum(pn, 1.0) - mean
            m2 += pm + pn * pd * pd
        return mean, m2
    else:
        m2 = tl.sum(x * x, 1)
        if K == 1:
            return m2, m2
        base = _exchange(m2, m2, red, bars, count, rank, BLOCK_M, K)
        m2 = tl.zeros([BLOCK_M], tl.float32)
        for peer in tl.static_range(K):
            pm, _ = tl.split(tlx.local_load(red[base + peer]))
            m2 += pm
        return m2, m2


@triton.jit
def _sums(a, b, red, bars, count, rank, BLOCK_M: tl.constexpr, K: tl.constexpr):
    """Sums over the cluster of two values a row, in rank order."""
    if K == 1:
        return a, b
    base = _exchange(a, b, red, bars, count, rank, BLOCK_M, K)
    sa = tl.zeros([BLOCK_M], tl.float32)
    sb = tl.zeros([BLOCK_M], tl.float32)
    for peer in tl.static_range(K):
        pa, pb = tl.split(tlx.local_load(red[base + peer]))
        sa += pa
        sb += pb
    return sa, sb


@triton.jit
def _load(
    base,
    stride,
    rows,
    cols,
    M,
    end,
    VEC: tl.constexpr,
    EVEN: tl.constexpr,
    ROWS_EVEN: tl.constexpr,
    EVICT: tl.constexpr,
):
    p = base + rows.to(tl.int64)[:, None] * (stride * VEC) + cols[None, :]
    if EVEN and ROWS_EVEN:
        return tl.load(p, eviction_policy=EVICT)
    elif EVEN:
        return tl.load(p, mask=(rows < M)[:, None], other=0.0, eviction_policy=EVICT)
    elif ROWS_EVEN:
        return tl.load(p, mask=(cols < end)[None, :], other=0.0, eviction_policy=EVICT)
    else:
        return tl.load(p, mask=(rows < M)[:, None] & (cols < end)[None, :], other=0.0, eviction_policy=EVICT)


@triton.jit
def _store(
    base,
    stride,
    rows,
    cols,
    M,
    end,
    v,
    VEC: tl.constexpr,
    EVEN: tl.constexpr,
    ROWS_EVEN: tl.constexpr,
    EVICT: tl.constexpr,
):
    p = base + rows.to(tl.int64)[:, None] * (stride * VEC) + cols[None, :]
    if EVEN and ROWS_EVEN:
        tl.store(p, v, eviction_policy=EVICT)
    else:
        tl.store(p, v, mask=(rows < M)[:, None] & (cols < end)[None, :], eviction_policy=EVICT)


@triton.jit
def _vector(base, cols, end, EVEN: tl.constexpr):
    if EVEN:
        return tl.load(base + cols, eviction_policy="evict_last")
    else:
        return tl.load(base + cols, mask=cols < end, other=0.0, eviction_policy="evict_last")


@triton.jit
def _finish(x, inside, w, b, Y, MEAN, RSTD, sy, rows, cols, M, N, C, end, eps, red, bars, count, rank,
            LN: tl.constexpr, HAS_B: tl.constexpr, VEC: tl.constexpr, EVEN: tl.constexpr, ROWS_EVEN: tl.constexpr,
            BLOCK_M: tl.constexpr, HOIST: tl.constexpr, W, B, K: tl.constexpr, YEVICT: tl.constexpr):  # fmt: skip
    """From a tile of x to y, mean and rstd in memory."""
    mean, m2 = _stats(x.to(tl.float32), inside, red, bars, count, rank, C, N, LN, BLOCK_M, K)
    rstd = tl.rsqrt(m2 / N + eps)
    if HOIST == 0:
        w = _vector(W, cols, end, EVEN)
        b = _vector(B, cols, end, EVEN) if HAS_B else w
    if LN:
        y = (x.to(tl.float32) - mean[:, None]) * rstd[:, None] * w.to(tl.float32)[None, :]
    else:
        y = x.to(tl.float32) * rstd[:, None] * w.to(tl.float32)[None, :]
    if HAS_B:
        y += b.to(tl.float32)[None, :]
    _store(Y, sy, rows, cols, M, end, y.to(Y.dtype.element_ty), VEC, EVEN, ROWS_EVEN, YEVICT)
    first = (rows < M) & (rank == 0)
    if LN:
        tl.store(MEAN + rows, mean, mask=first)
    tl.store(RSTD + rows, rstd, mask=first)


@triton.jit
def fwd_plain(X, W, B, Y, MEAN, RSTD, M, N, C, sx, sy, eps,
              LN: tl.constexpr, HAS_B: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, K: tl.constexpr,
              VEC: tl.constexpr, EVEN: tl.constexpr, ROWS_EVEN: tl.constexpr, HOIST: tl.constexpr,
              AHEAD: tl.constexpr, XEVICT: tl.constexpr, YEVICT: tl.constexpr, PDL: tl.constexpr):  # fmt: skip
    """Loads to registers. HOIST: weights before the loop; AHEAD: the next tile is loaded before this one is reduced."""
    pid = tl.program_id(0)
    rank = 0
    red = tlx.local_alloc((BLOCK_M, 2), tl.float32, 2 * K)
    bars = tlx.alloc_barriers(2, arrive_count=1)
    if K > 1:
        rank = tlx.cluster_cta_rank()
        tlx.fence_mbarrier_init_cluster()
        tlx.cluster_barrier()
    cols = tl.multiple_of(rank * C, VEC) + tl.arange(0, BLOCK_N)
    end = tl.multiple_of(tl.minimum(N, rank * C + C), VEC)
    inside = (cols < end)[None, :] if not EVEN else tl.full([1, BLOCK_N], True, tl.int1)
    tiles = tl.cdiv(M, BLOCK_M)
    step = tl.num_programs(0) // K
    tile = pid // K
    if HOIST == 1:
        w = _vector(W, cols, end, EVEN)
        b = _vector(B, cols, end, EVEN) if HAS_B else w
    if PDL:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    if HOIST == 0:
        w = 0
        b = 0
    count = 0
    if AHEAD:
        x = _load(X, sx, tile * BLOCK_M + tl.arange(0, BLOCK_M), cols, M, end, VEC, EVEN, False, XEVICT)
    for t in range(tile, tiles, step):
        rows = t * BLOCK_M + tl.arange(0, BLOCK_M)
        if AHEAD:
            current = x
            x = _load(X, sx, rows + step * BLOCK_M, cols, M, end, VEC, EVEN, False, XEVICT)
        else:
            current = _load(X, sx, rows, cols, M, end, VEC, EVEN, ROWS_EVEN, XEVICT)
        if HOIST == 2:
            w = _vector(W, cols, end, EVEN)
            b = _vector(B, cols, end, EVEN) if HAS_B else w
        _finish(current, inside, w, b, Y, MEAN, RSTD, sy, rows, cols, M, N, C, end, eps, red, bars, count, rank, LN,
                HAS_B, VEC, EVEN, ROWS_EVEN, BLOCK_M, HOIST, W, B, K, YEVICT)  # fmt: skip
        count += 1


@triton.jit
def _issue(X, sx, rows, cols, M, end, buf, VEC: tl.constexpr, EVEN: tl.constexpr, XEVICT: tl.constexpr):
    p = X + rows.to(tl.int64)[:, None] * (sx * VEC) + cols[None, :]
    if EVEN:
        mask = (rows < M)[:, None] & (cols >= 0)[None, :]
    else:
        mask = (rows < M)[:, None] & (cols < end)[None, :]
    tlx.async_load(p, buf, mask=mask, other=0.0, eviction_policy=XEVICT)
    tlx.async_load_commit_group()


@triton.jit
def fwd_cp(X, W, B, Y, MEAN, RSTD, M, N, C, sx, sy, eps,
           LN: tl.constexpr, HAS_B: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, K: tl.constexpr,
           VEC: tl.constexpr, EVEN: tl.constexpr, ROWS_EVEN: tl.constexpr, HOIST: tl.constexpr, STAGES: tl.constexpr,
           RELOAD: tl.constexpr, XEVICT: tl.constexpr, YEVICT: tl.constexpr, PDL: tl.constexpr):  # fmt: skip
    """A ring of STAGES tiles filled by cp.async, persistent. RELOAD: x is read from SMEM again after the statistics."""
    rank = 0
    ring = tlx.local_alloc((BLOCK_M, BLOCK_N), X.dtype.element_ty, STAGES)
    red = tlx.local_alloc((BLOCK_M, 2), tl.float32, 2 * K)
    bars = tlx.alloc_barriers(2, arrive_count=1)
    if K > 1:
        rank = tlx.cluster_cta_rank()
        tlx.fence_mbarrier_init_cluster()
        tlx.cluster_barrier()
    cols = tl.multiple_of(rank * C, VEC) + tl.arange(0, BLOCK_N)
    end = tl.multiple_of(tl.minimum(N, rank * C + C), VEC)
    inside = (cols < end)[None, :] if not EVEN else tl.full([1, BLOCK_N], True, tl.int1)
    tiles = tl.cdiv(M, BLOCK_M)
    step = tl.num_programs(0) // K
    tile = tl.program_id(0) // K
    lanes = tl.arange(0, BLOCK_M)
    if PDL:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    for s in tl.static_range(STAGES - 1):
        _issue(X, sx, (tile + s * step) * BLOCK_M + lanes, cols, M, end, ring[s], VEC, EVEN, XEVICT)
    if HOIST == 1:
        w = _vector(W, cols, end, EVEN)
        b = _vector(B, cols, end, EVEN) if HAS_B else w
    if HOIST == 0:
        w = 0
        b = 0
    count = 0
    for t in range(tile, tiles, step):
        rows = t * BLOCK_M + lanes
        tlx.async_load_wait_group(STAGES - 2)
        x = tlx.local_load(ring[count % STAGES])
        ahead = count + STAGES - 1
        _issue(X, sx, rows + (STAGES - 1) * step * BLOCK_M, cols, M, end, ring[ahead % STAGES], VEC, EVEN, XEVICT)
        if HOIST == 2:
            w = _vector(W, cols, end, EVEN)
            b = _vector(B, cols, end, EVEN) if HAS_B else w
        if RELOAD:
            mean, m2 = _stats(x.to(tl.float32), inside, red, bars, count, rank, C, N, LN, BLOCK_M, K)
            rstd = tl.rsqrt(m2 / N + eps)
            if HOIST == 0:
                wl = _vector(W, cols, end, EVEN)
                bl = _vector(B, cols, end, EVEN) if HAS_B else wl
            else:
                wl = w
                bl = b
            z = tlx.local_load(ring[count % STAGES]).to(tl.float32)
            if LN:
                z = z - mean[:, None]
            y = z * rstd[:, None] * wl.to(tl.float32)[None, :]
            if HAS_B:
                y += bl.to(tl.float32)[None, :]
            _store(Y, sy, rows, cols, M, end, y.to(Y.dtype.element_ty), VEC, EVEN, ROWS_EVEN, YEVICT)
            first = (rows < M) & (rank == 0)
            if LN:
                tl.store(MEAN + rows, mean, mask=first)
            tl.store(RSTD + rows, rstd, mask=first)
        else:
            _finish(x, inside, w, b, Y, MEAN, RSTD, sy, rows, cols, M, N, C, end, eps, red, bars, count, rank, LN,
                    HAS_B, VEC, EVEN, ROWS_EVEN, BLOCK_M, HOIST, W, B, K, YEVICT)  # fmt: skip
        count += 1
    tlx.async_load_wait_group(0)


@triton.jit
def _partial(x, inside, n, LN: tl.constexpr):
    """Of a CTA's columns: the sum and the squares about its own mean; RMSNorm: the squares, twice."""
    if LN:
        s = tl.sum(x, 1)
        d = tl.where(inside, x - (s / tl.maximum(n, 1.0))[:, None], 0.0)
        return s, tl.sum(d * d, 1)
    else:
        q = tl.sum(x * x, 1)
        return q, q


@triton.jit
def _send(s, q, red, bars, count, rank, BLOCK_M: tl.constexpr, K: tl.constexpr):
    slot = count % 4
    tlx.barrier_expect_bytes(bars[slot], BLOCK_M * 8 * K)
    both = tl.join(s, q)
    for peer in tl.static_range(K):
        tlx.async_remote_shmem_store(dst=red[slot * K + rank], src=both, remote_cta_rank=peer, barrier=bars[slot])


@triton.jit
def _receive(red, bars, count, C, N, LN: tl.constexpr, BLOCK_M: tl.constexpr, K: tl.constexpr):
    """Mean and squares of whole rows; parts are added in rank order (Chan et al.)."""
    slot = count % 4
    tlx.barrier_wait(bars[slot], (count // 4) & 1)
    mean = tl.zeros([BLOCK_M], tl.float32)
    m2 = tl.zeros([BLOCK_M], tl.float32)
    for peer in tl.static_range(K):
        s, q = tl.split(tlx.local_load(red[slot * K + peer]))
        if LN:
            n = _width(peer, C, N).to(tl.float32)
            apart = s / tl.maximum(n, 1.0) - mean
            part = n / tl.minimum(N, (peer + 1) * C)
            mean += apart * part
            m2 += q + apart * apart * (n - n * part)
        else:
            m2 += q
    return mean, m2


@triton.jit
def fwd_pipe(X, W, B, Y, MEAN, RSTD, M, N, C, sx, sy, eps,
             LN: tl.constexpr, HAS_B: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, K: tl.constexpr,
             VEC: tl.constexpr, EVEN: tl.constexpr, ROWS_EVEN: tl.constexpr, HOIST: tl.constexpr,
             STAGES: tl.constexpr, XEVICT: tl.constexpr, YEVICT: tl.constexpr, PDL: tl.constexpr):  # fmt: skip
    """Persistent clusters; a ring of STAGES tiles filled by cp.async; the sums of tile i + 1 are sent before those of
    tile i are awaited, so that no exchange is waited for. HOIST 1: weights in registers; 2: in SMEM; 0: from L2.

    Four slots of sums: who has those of use i of all knows that all have sent i, and so have read i - 2; it then
    sends i + 2, which therefore must not lie over i or i - 1."""
    rank = 0
    ring = tlx.local_alloc((BLOCK_M, BLOCK_N), X.dtype.element_ty, STAGES)
    red = tlx.local_alloc((BLOCK_M, 2), tl.float32, 4 * K)
    bars = tlx.alloc_barriers(4, arrive_count=1)
    if HOIST == 2:
        wb = tlx.local_alloc((1, BLOCK_N), W.dtype.element_ty, 2)
    tlx.fence_mbarrier_init_cluster()
    tlx.cluster_barrier()
    rank = tlx.cluster_cta_rank()
    cols = tl.multiple_of(rank * C, VEC) + tl.arange(0, BLOCK_N)
    end = tl.multiple_of(tl.minimum(N, rank * C + C), VEC)
    inside = (cols < end)[None, :] if not EVEN else tl.full([1, BLOCK_N], True, tl.int1)
    n = _width(rank, C, N).to(tl.float32)
    tiles = tl.cdiv(M, BLOCK_M)
    step = tl.num_programs(0) // K
    tile = tl.program_id(0) // K
    lanes = tl.arange(0, BLOCK_M)
    if HOIST == 2:
        tlx.async_load(W + cols[None, :], wb[0], mask=(cols < end)[None, :], other=0.0, eviction_policy="evict_last")
        tlx.async_load(B + cols[None, :], wb[1], mask=(cols < end)[None, :], other=0.0, eviction_policy="evict_last")
    for s in tl.static_range(STAGES):
        _issue(X, sx, (tile + s * step) * BLOCK_M + lanes, cols, M, end, ring[s], VEC, EVEN, XEVICT)
    if HOIST == 1:
        w = _vector(W, cols, end, EVEN)
        b = _vector(B, cols, end, EVEN) if HAS_B else w
    tlx.async_load_wait_group(STAGES - 1)
    s0, q0 = _partial(tlx.local_load(ring[0]).to(tl.float32), inside, n, LN)
    _send(s0, q0, red, bars, 0, rank, BLOCK_M, K)
    count = 0
    for t in range(tile, tiles, step):
        rows = t * BLOCK_M + lanes
        tlx.async_load_wait_group(STAGES - 2)
        if t + step < tiles:
            s1, q1 = _partial(tlx.local_load(ring[(count + 1) % STAGES]).to(tl.float32), inside, n, LN)
            _send(s1, q1, red, bars, count + 1, rank, BLOCK_M, K)
        mean, m2 = _receive(red, bars, count, C, N, LN, BLOCK_M, K)
        rstd = tl.rsqrt(m2 / N + eps)
        z = tlx.local_load(ring[count % STAGES]).to(tl.float32)
        if LN:
            z = z - mean[:, None]
        y = z * rstd[:, None]
        if HOIST == 1:
            y = y * w.to(tl.float32)[None, :]
            if HAS_B:
                y += b.to(tl.float32)[None, :]
        elif HOIST == 2:
            y = y * tlx.local_load(wb[0]).to(tl.float32)
            if HAS_B:
                y += tlx.local_load(wb[1]).to(tl.float32)
        else:
            y = y * _vector(W, cols, end, EVEN).to(tl.float32)[None, :]
            if HAS_B:
                y += _vector(B, cols, end, EVEN).to(tl.float32)[None, :]
        _store(Y, sy, rows, cols, M, end, y.to(Y.dtype.element_ty), VEC, EVEN, ROWS_EVEN, YEVICT)
        first = (rows < M) & (rank == 0)
        if LN:
            tl.store(MEAN + rows, mean, mask=first)
        tl.store(RSTD + rows, rstd, mask=first)
        _issue(X, sx, rows + STAGES * step * BLOCK_M, cols, M, end, ring[count % STAGES], VEC, EVEN, XEVICT)
        count += 1
    tlx.async_load_wait_group(0)


@triton.jit
def fwd_bulk(X, W, B, Y, MEAN, RSTD, M, N, C, sx, sy, eps,
             LN: tl.constexpr, HAS_B: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, K: tl.constexpr,
             VEC: tl.constexpr, STAGES: tl.constexpr, YEVICT: tl.constexpr):  # fmt: skip
    """Specialised: one warp fills the ring by cp.async.bulk, the default task reduces. Needs N == K * BLOCK_N, and
    BLOCK_M == 1 or K == 1 and dense rows; M a multiple of BLOCK_M."""
    ring = tlx.local_alloc((BLOCK_M * BLOCK_N,), X.dtype.element_ty, STAGES)
    x_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    x_empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    red = tlx.local_alloc((BLOCK_M, 2), tl.float32, 2 * K)
    bars = tlx.alloc_barriers(2, arrive_count=1)
    if K > 1:
        tlx.fence_mbarrier_init_cluster()
        tlx.cluster_barrier()
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rank = 0
            if K > 1:
                rank = tlx.cluster_cta_rank()
            cols = tl.multiple_of(rank * C, VEC) + tl.arange(0, BLOCK_N)
            inside = tl.full([1, BLOCK_N], True, tl.int1)
            w = _vector(W, cols, N, True)
            b = _vector(B, cols, N, True) if HAS_B else w
            count = 0
            for t in range(tl.program_id(0) // K, tl.cdiv(M, BLOCK_M), tl.num_programs(0) // K):
                rows = t * BLOCK_M + tl.arange(0, BLOCK_M)
                slot = count % STAGES
                tlx.barrier_wait(x_full[slot], (count // STAGES) & 1)
                x = tl.reshape(tlx.local_load(ring[slot]), [BLOCK_M, BLOCK_N])
                tlx.barrier_arrive(x_empty[slot])
                _finish(x, inside, w, b, Y, MEAN, RSTD, sy, rows, cols, M, N, C, N, eps, red, bars, count, rank, LN,
                        HAS_B, VEC, True, True, BLOCK_M, 1, W, B, K, YEVICT)  # fmt: skip
                count += 1
        with tlx.async_task(num_warps=1, num_regs=24):
            rank = 0
            if K > 1:
                rank = tlx.cluster_cta_rank()
            count = 0
            for t in range(tl.program_id(0) // K, tl.cdiv(M, BLOCK_M), tl.num_programs(0) // K):
                slot = count % STAGES
                tlx.barrier_wait(x_empty[slot], ((count // STAGES) & 1) ^ 1)
                tlx.barrier_expect_bytes(x_full[slot], BLOCK_M * BLOCK_N * 2)
                start = X + (t * BLOCK_M).to(tl.int64) * (sx * VEC) + rank * BLOCK_N
                tlx.async_load(start, ring[slot], bulk=True, barrier=x_full[slot])
                count += 1


@triton.jit
def _grads(x, dy, w, mean, rstd, dw, db, DX, sd, rows, cols, M, N, end, red, bars, count, rank, LN: tl.constexpr,
           HAS_B: tl.constexpr, VEC: tl.constexpr, EVEN: tl.constexpr, BLOCK_M: tl.constexpr, K: tl.constexpr):  # fmt: skip
    """One tile of the backward: stores dx, returns the sums of dw and db so far. Columns outside have dy = 0."""
    x = x.to(tl.float32)
    dy = dy.to(tl.float32)
    if LN:
        x = x - mean[:, None]
    xhat = x * rstd[:, None]
    wdy = dy * w.to(tl.float32)[None, :]
    c1 = tl.sum(wdy * xhat, 1)
    c2 = tl.sum(wdy, 1) if LN else c1
    c1, c2 = _sums(c1, c2, red, bars, count, rank, BLOCK_M, K)
    dx = wdy - xhat * (c1 / N)[:, None]
    if LN:
        dx -= (c2 / N)[:, None]
    dx = dx * rstd[:, None]
    _store(DX, sd, rows, cols, M, end, dx.to(DX.dtype.element_ty), VEC, EVEN, False, "")
    dw += dy * xhat
    if HAS_B:
        db += dy
    return dw, db


@triton.jit
def _row(P, rows, M):
    return tl.load(P + rows, mask=rows < M, other=0.0)


@triton.jit
def bwd_plain(X, W, DY, MEAN, RSTD, DX, DW, DB, M, N, C, sx, sy,
              LN: tl.constexpr, HAS_B: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, K: tl.constexpr,
              VEC: tl.constexpr, EVEN: tl.constexpr, AHEAD: tl.constexpr, XEVICT: tl.constexpr):  # fmt: skip
    """Persistent; dw and db of all rows of a CTA in registers, then a row of partial sums a cluster."""
    rank = 0
    red = tlx.local_alloc((BLOCK_M, 2), tl.float32, 2 * K)
    bars = tlx.alloc_barriers(2, arrive_count=1)
    if K > 1:
        rank = tlx.cluster_cta_rank()
        tlx.fence_mbarrier_init_cluster()
        tlx.cluster_barrier()
    cols = tl.multiple_of(rank * C, VEC) + tl.arange(0, BLOCK_N)
    end = tl.multiple_of(tl.minimum(N, rank * C + C), VEC)
    step = tl.num_programs(0) // K
    tile = tl.program_id(0) // K
    w = _vector(W, cols, end, EVEN)
    dw = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    db = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    lanes = tl.arange(0, BLOCK_M)
    if AHEAD:
        x = _load(X, sx, tile * BLOCK_M + lanes, cols, M, end, VEC, EVEN, False, XEVICT)
        dy = _load(DY, sy, tile * BLOCK_M + lanes, cols, M, end, VEC, EVEN, False, XEVICT)
        rstd = _row(RSTD, tile * BLOCK_M + lanes, M)
        mean = _row(MEAN, tile * BLOCK_M + lanes, M) if LN else rstd
    count = 0
    for t in range(tile, tl.cdiv(M, BLOCK_M), step):
        rows = t * BLOCK_M + lanes
        if AHEAD:
            cx = x
            cdy = dy
            cr = rstd
            cm = mean
            later = rows + step * BLOCK_M
            x = _load(X, sx, later, cols, M, end, VEC, EVEN, False, XEVICT)
            dy = _load(DY, sy, later, cols, M, end, VEC, EVEN, False, XEVICT)
            rstd = _row(RSTD, later, M)
            mean = _row(MEAN, later, M) if LN else rstd
        else:
            cx = _load(X, sx, rows, cols, M, end, VEC, EVEN, False, XEVICT)
            cdy = _load(DY, sy, rows, cols, M, end, VEC, EVEN, False, XEVICT)
            cr = _row(RSTD, rows, M)
            cm = _row(MEAN, rows, M) if LN else cr
        dw, db = _grads(cx, cdy, w, cm, cr, dw, db, DX, sx, rows, cols, M, N, end, red, bars, count, rank, LN, HAS_B,
                        VEC, EVEN, BLOCK_M, K)  # fmt: skip
        count += 1
    part = tile.to(tl.int64) * N + cols
    tl.store(DW + part, tl.sum(dw, 0), mask=cols < end)
    if HAS_B:
        tl.store(DB + part, tl.sum(db, 0), mask=cols < end)


@triton.jit
def bwd_cp(X, W, DY, MEAN, RSTD, DX, DW, DB, M, N, C, sx, sy,
           LN: tl.constexpr, HAS_B: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, K: tl.constexpr,
           VEC: tl.constexpr, EVEN: tl.constexpr, STAGES: tl.constexpr, RELOAD: tl.constexpr,
           XEVICT: tl.constexpr):  # fmt: skip
    """As bwd_plain, with rings of x and dy filled by cp.async. RELOAD: they, and w, are read again after the sums."""
    rank = 0
    xs = tlx.local_alloc((BLOCK_M, BLOCK_N), X.dtype.element_ty, STAGES)
    dys = tlx.local_alloc((BLOCK_M, BLOCK_N), X.dtype.element_ty, STAGES)
    red = tlx.local_alloc((BLOCK_M, 2), tl.float32, 2 * K)
    bars = tlx.alloc_barriers(2, arrive_count=1)
    if K > 1:
        rank = tlx.cluster_cta_rank()
        tlx.fence_mbarrier_init_cluster()
        tlx.cluster_barrier()
    cols = tl.multiple_of(rank * C, VEC) + tl.arange(0, BLOCK_N)
    end = tl.multiple_of(tl.minimum(N, rank * C + C), VEC)
    step = tl.num_programs(0) // K
    tile = tl.program_id(0) // K
    lanes = tl.arange(0, BLOCK_M)
    for s in tl.static_range(STAGES - 1):
        _issue2(X, DY, sx, sy, (tile + s * step) * BLOCK_M + lanes, cols, M, end, xs[s], dys[s], VEC, EVEN, XEVICT)
    if not RELOAD:
        w = _vector(W, cols, end, EVEN)
    dw = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    db = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    rstd = _row(RSTD, tile * BLOCK_M + lanes, M)
    mean = _row(MEAN, tile * BLOCK_M + lanes, M) if LN else rstd
    count = 0
    for t in range(tile, tl.cdiv(M, BLOCK_M), step):
        rows = t * BLOCK_M + lanes
        cr = rstd
        cm = mean
        rstd = _row(RSTD, rows + step * BLOCK_M, M)
        mean = _row(MEAN, rows + step * BLOCK_M, M) if LN else rstd
        tlx.async_load_wait_group(STAGES - 2)
        x = tlx.local_load(xs[count % STAGES])
        dy = tlx.local_load(dys[count % STAGES])
        a = (count + STAGES - 1) % STAGES
        later = rows + (STAGES - 1) * step * BLOCK_M
        _issue2(X, DY, sx, sy, later, cols, M, end, xs[a], dys[a], VEC, EVEN, XEVICT)
        if RELOAD:
            wl = _vector(W, cols, end, EVEN)
            xhat = x.to(tl.float32) * cr[:, None]
            if LN:
                xhat = (x.to(tl.float32) - cm[:, None]) * cr[:, None]
            wdy = dy.to(tl.float32) * wl.to(tl.float32)[None, :]
            c1 = tl.sum(wdy * xhat, 1)
            c2 = tl.sum(wdy, 1) if LN else c1
            c1, c2 = _sums(c1, c2, red, bars, count, rank, BLOCK_M, K)
            dy2 = tlx.local_load(dys[count % STAGES]).to(tl.float32)
            xh2 = tlx.local_load(xs[count % STAGES]).to(tl.float32)
            if LN:
                xh2 = xh2 - cm[:, None]
            xh2 = xh2 * cr[:, None]
            dx = dy2 * _vector(W, cols, end, EVEN).to(tl.float32)[None, :] - xh2 * (c1 / N)[:, None]
            if LN:
                dx -= (c2 / N)[:, None]
            _store(DX, sx, rows, cols, M, end, (dx * cr[:, None]).to(DX.dtype.element_ty), VEC, EVEN, False, "")
            dw += dy2 * xh2
            if HAS_B:
                db += dy2
        else:
            dw, db = _grads(x, dy, w, cm, cr, dw, db, DX, sx, rows, cols, M, N, end, red, bars, count, rank, LN, HAS_B,
                            VEC, EVEN, BLOCK_M, K)  # fmt: skip
        count += 1
    tlx.async_load_wait_group(0)
    part = tile.to(tl.int64) * N + cols
    tl.store(DW + part, tl.sum(dw, 0), mask=cols < end)
    if HAS_B:
        tl.store(DB + part, tl.sum(db, 0), mask=cols < end)


@triton.jit
def _issue2(X, DY, sx, sy, rows, cols, M, end, xb, dyb, VEC: tl.constexpr, EVEN: tl.constexpr, XEVICT: tl.constexpr):
    r = rows.to(tl.int64)[:, None]
    if EVEN:
        mask = (rows < M)[:, None] & (cols >= 0)[None, :]
    else:
        mask = (rows < M)[:, None] & (cols < end)[None, :]
    tlx.async_load(X + r * (sx * VEC) + cols[None, :], xb, mask=mask, other=0.0, eviction_policy=XEVICT)
    tlx.async_load(DY + r * (sy * VEC) + cols[None, :], dyb, mask=mask, other=0.0, eviction_policy=XEVICT)
    tlx.async_load_commit_group()


@triton.jit
def bwd_bulk(X, W, DY, MEAN, RSTD, DX, DW, DB, M, N, C, sx, sy,
             LN: tl.constexpr, HAS_B: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, K: tl.constexpr,
             VEC: tl.constexpr, STAGES: tl.constexpr):  # fmt: skip
    """As fwd_bulk: one warp fills rings of x and dy by cp.async.bulk. The same conditions."""
    xs = tlx.local_alloc((BLOCK_M * BLOCK_N,), X.dtype.element_ty, STAGES)
    dys = tlx.local_alloc((BLOCK_M * BLOCK_N,), X.dtype.element_ty, STAGES)
    x_full = tlx.alloc_barriers(STAGES, arrive_count=1)
    x_empty = tlx.alloc_barriers(STAGES, arrive_count=1)
    red = tlx.local_alloc((BLOCK_M, 2), tl.float32, 2 * K)
    bars = tlx.alloc_barriers(2, arrive_count=1)
    if K > 1:
        tlx.fence_mbarrier_init_cluster()
        tlx.cluster_barrier()
    with tlx.async_tasks():
        with tlx.async_task("default"):
            rank = 0
            if K > 1:
                rank = tlx.cluster_cta_rank()
            tile = tl.program_id(0) // K
            step = tl.num_programs(0) // K
            lanes = tl.arange(0, BLOCK_M)
            cols = tl.multiple_of(rank * C, VEC) + tl.arange(0, BLOCK_N)
            w = _vector(W, cols, N, True)
            dw = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
            db = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
            rstd = _row(RSTD, tile * BLOCK_M + lanes, M)
            mean = _row(MEAN, tile * BLOCK_M + lanes, M) if LN else rstd
            count = 0
            for t in range(tile, tl.cdiv(M, BLOCK_M), step):
                rows = t * BLOCK_M + lanes
                cr = rstd
                cm = mean
                rstd = _row(RSTD, rows + step * BLOCK_M, M)
                mean = _row(MEAN, rows + step * BLOCK_M, M) if LN else rstd
                slot = count % STAGES
                tlx.barrier_wait(x_full[slot], (count // STAGES) & 1)
                x = tl.reshape(tlx.local_load(xs[slot]), [BLOCK_M, BLOCK_N])
                dy = tl.reshape(tlx.local_load(dys[slot]), [BLOCK_M, BLOCK_N])
                tlx.barrier_arrive(x_empty[slot])
                dw, db = _grads(x, dy, w, cm, cr, dw, db, DX, sx, rows, cols, M, N, N, red, bars, count, rank, LN,
                                HAS_B, VEC, True, BLOCK_M, K)  # fmt: skip
                count += 1
            part = tile.to(tl.int64) * N + cols
            tl.store(DW + part, tl.sum(dw, 0))
            if HAS_B:
                tl.store(DB + part, tl.sum(db, 0))
        with tlx.async_task(num_warps=1, num_regs=24):
            rank = 0
            if K > 1:
                rank = tlx.cluster_cta_rank()
            count = 0
            for t in range(tl.program_id(0) // K, tl.cdiv(M, BLOCK_M), tl.num_programs(0) // K):
                slot = count % STAGES
                tlx.barrier_wait(x_empty[slot], ((count // STAGES) & 1) ^ 1)
                tlx.barrier_expect_bytes(x_full[slot], 2 * BLOCK_M * BLOCK_N * 2)
                row = (t * BLOCK_M).to(tl.int64)
                tlx.async_load(X + row * (sx * VEC) + rank * BLOCK_N, xs[slot], bulk=True, barrier=x_full[slot])
                tlx.async_load(DY + row * (sy * VEC) + rank * BLOCK_N, dys[slot], bulk=True, barrier=x_full[slot])
                count += 1


@triton.jit
def bwd_sum(PW, PB, DW, DB, P, N, HAS_B: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    """dw and db: the partial sums, in a fixed order."""
    cols = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    inside = cols < N
    w = tl.zeros([BLOCK_P, BLOCK_C], tl.float32)
    b = tl.zeros([BLOCK_P, BLOCK_C], tl.float32)
    for p in range(0, P, BLOCK_P):
        rows = p + tl.arange(0, BLOCK_P)
        at = rows.to(tl.int64)[:, None] * N + cols[None, :]
        mask = (rows < P)[:, None] & inside[None, :]
        w += tl.load(PW + at, mask=mask, other=0.0)
        if HAS_B:
            b += tl.load(PB + at, mask=mask, other=0.0)
    tl.store(DW + cols, tl.sum(w, 0).to(DW.dtype.element_ty), mask=inside)
    if HAS_B:
        tl.store(DB + cols, tl.sum(b, 0).to(DB.dtype.element_ty), mask=inside)
