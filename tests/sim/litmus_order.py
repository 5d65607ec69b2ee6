"""CTAs that order themselves through atomics on global memory: kernels for test_global_order.py."""

from __future__ import annotations

import triton
import triton.language as tl
import triton.language.extra.tlx as tlx


@triton.jit
def message(data, flag, out, RELEASE: tl.constexpr, ACQUIRE: tl.constexpr):
    """CTA 0 leaves data and says so; CTA 1 waits for that, and reads."""
    offsets = tl.arange(0, 16)
    if tl.program_id(0) == 0:
        tl.store(data + offsets, offsets)
        tl.atomic_xchg(flag, 1, sem=RELEASE)
    else:
        while tl.atomic_cas(flag, 1, 0, sem=ACQUIRE) != 1:
            pass
        tl.store(out + offsets, tl.load(data + offsets))


@triton.jit
def early(data, flag, out):
    """CTA 0 says so before it has left all of the data."""
    offsets = tl.arange(0, 16)
    if tl.program_id(0) == 0:
        tl.store(data + offsets, offsets, mask=offsets < 15)
        tl.atomic_xchg(flag, 1, sem="release")
        tl.store(data + offsets, offsets, mask=offsets == 15)
    else:
        while tl.atomic_cas(flag, 1, 0, sem="acquire") != 1:
            pass
        tl.store(out + offsets, tl.load(data + offsets))


@triton.jit
def chain(data, flags, out):
    """Each CTA adds to what the one before has left."""
    cta = tl.program_id(0)
    offsets = tl.arange(0, 16)
    total = tl.zeros((16,), tl.int32) + cta
    if cta > 0:
        while tl.atomic_cas(flags + cta - 1, 1, 0, sem="acquire") != 1:
            pass
        total += tl.load(data + (cta - 1) * 16 + offsets)
    tl.store(data + cta * 16 + offsets, total)
    tl.atomic_xchg(flags + cta, 1, sem="release")
    tl.store(out + cta, tl.sum(total, axis=0))


@triton.jit
def last_adds_up(data, counter, out, CTAS: tl.constexpr):
    """Who comes last, by a count of all, reads what each has left."""
    offsets = tl.arange(0, 16)
    tl.store(data + tl.program_id(0) * 16 + offsets, offsets)
    if tl.atomic_add(counter, 1) == CTAS - 1:
        total = tl.zeros((16,), tl.int32)
        for cta in range(CTAS):
            total += tl.load(data + cta * 16 + offsets)
        tl.store(out + offsets, total)


@triton.jit
def by_tma(data_desc, flag, out_desc, WAIT: tl.constexpr, MEET: tl.constexpr):
    """CTA 0 stores by TMA, waits until its buffer has been read, and by PTX for more; then its warps may meet."""
    tile = tlx.local_alloc((16, 16), tl.float32, 1)
    bar = tlx.alloc_barriers(1, arrive_count=1)
    if tl.program_id(0) == 0:
        tlx.local_store(tile[0], tl.zeros((16, 16), tl.float32))
        tlx.fence("async_shared")
        tlx.async_descriptor_store(data_desc, tile[0], [0, 0])
        tlx.async_descriptor_store_wait(0)
        tl.inline_asm_elementwise(WAIT, "=r", [], tl.int32, is_pure=False, pack=1)
        if MEET:
            tl.debug_barrier()
        tl.atomic_xchg(flag, 1, sem="release")
    else:
        while tl.atomic_cas(flag, 1, 0, sem="acquire") != 1:
            pass
        tlx.barrier_expect_bytes(bar[0], 16 * 16 * 4)
        tlx.async_descriptor_load(data_desc, tile[0], [0, 0], bar[0])
        tlx.barrier_wait(bar[0], 0)
        tlx.fence("async_shared")
        tlx.async_descriptor_store(out_desc, tile[0], [0, 0])
        tlx.async_descriptor_store_wait(0)


@triton.jit
def nobody_says_so(flag, out):
    while tl.atomic_cas(flag, 1, 0, sem="acquire") != 1:
        pass
    tl.store(out, 1)


@triton.jit
def gives_up(flag, out):
    """Looks ten times."""
    seen = 0
    for _ in range(10):
        seen += tl.atomic_add(flag, 0, sem="acquire")
    tl.store(out + tl.program_id(0), seen)
