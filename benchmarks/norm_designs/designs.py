# ruff: noqa  (designs as they were measured; they go when the family has the ring schedule)
"""Candidates for each shape, and how one is called. A candidate is a dict; `launch(kind, norm, cand, tensors)` runs it."""

import os
from math import gcd

SMS = 132
SHAPES = [(8192, 8192), (4096, 32768), (1024, 131072), (32768, 1024), (65536, 512), (3000, 5000)]


def pow2(n):
    return 1 << (n - 1).bit_length()


def c(design, K=1, BM=1, w=8, occ=0, S=0, **more):
    """occ 0: a grid with one tile a program; else persistent with occ CTAs an SM."""
    return dict(design=design, K=K, BM=BM, w=w, occ=occ, S=S, **more)


def tiles(K, part, rows):
    """Of one tile size: grid, persistent, with rings. E elements a thread; threads an SM by occ."""
    out = []
    for E in (16, 32):
        w = part * rows // (32 * E)
        if not 4 <= w <= 32:
            continue
        of = dict(K=K, BM=rows, w=w)
        few, many = (
            max(1, 24 // w),
            max(1, (48 if E == 16 else 32) // w),
        )  # CTAs an SM: 768 threads, and what registers allow
        out += [c("plain", **of), c("plain", r=40 if E == 16 else 64, **of)]
        out += [c("plain", occ=many, **of), c("plain", occ=few, ahead=1, **of), c("plain", occ=many, ahead=1, **of)]
        if E == 16:
            out += [
                c("plain", occ=few, hoist=1, ahead=1, **of),
                c("cp", occ=few, S=3, hoist=1, **of),
                c("cp", occ=few, S=4, hoist=1, **of),
            ]
            out += [c("bulk", occ=max(1, 32 // (w + 4)), S=3, **of), c("bulk", occ=max(1, 24 // (w + 4)), S=4, **of)]
        else:
            out += [
                c("plain", pdl=1, **of),
                c("cp", occ=many, S=3, reload=1, **of),
                c("bulk", occ=max(1, 20 // (w + 4)), S=4, **of),
            ]
        out += [c("cp", occ=few, S=3, **of), c("cp", occ=many, S=2, **of), c("cp", occ=few, S=3, reload=1, **of)]
    out = [x for x in out if x["design"] != "bulk" or x["w"] <= 16]  # and a warpgroup for the producer
    return [x for x in out if not x["S"] or x["S"] * max(1, x["occ"]) * part * rows * 2 < 215000]


def pipes(M, N):
    """Candidates of `fwd_pipe` (PIPE=1 in the environment), and what they are to beat. `cl`: clusters, 0: all that fit."""
    if N == 131072:
        out = [
            c("pipe", K=8, w=w, occ=1, S=s, hoist=h, cl=n)
            for w, s, h in ((16, 6, 1), (16, 5, 2), (16, 6, 0), (16, 4, 1), (32, 5, 2))
            for n in (14, 15, 16)
        ]
        return (
            out
            + [c("pipe", K=8, w=w, occ=2, S=3, hoist=0) for w in (8, 16)]
            + [c("pipe", K=4, w=32, occ=1, S=3, hoist=0, cl=n) for n in (31, 32, 33)]
        )
    if N == 32768:
        out = [
            c("pipe", K=2, w=w, occ=1, S=s, hoist=h)
            for w, s, h in ((16, 6, 1), (16, 5, 2), (16, 6, 0), (16, 4, 1), (32, 5, 2))
        ]
        out += [
            c("pipe", K=4, w=w, occ=o, S=s, hoist=h)
            for w, o, s, h in ((8, 2, 6, 1), (8, 2, 4, 2), (8, 1, 8, 1), (8, 3, 4, 0))
        ]
        return out + [c("plain", K=2, w=16, occ=1, ahead=1)]
    if N == 8192:
        out = [c("pipe", K=2, w=4, occ=o, S=s, hoist=1) for o, s in ((4, 6), (3, 8), (2, 8))] + [
            c("pipe", K=2, w=8, occ=2, S=8, hoist=1)
        ]
        return out + [c("plain", w=8, r=64), c("plain", w=8, r=64, mask=1)]
    return (
        [c("plain", BM=2, w=2), c("plain", BM=4, w=2), c("plain", BM=4, w=2, pdl=1)]
        if N <= 1024
        else [c("plain", w=8, occ=3, ahead=1)]
    )


def forward(M, N):
    if os.environ.get("PIPE"):
        return pipes(M, N)
    if (M, N) == (3000, 5000):
        out = [c("plain", w=w, r=r) for w, r in ((4, 0), (8, 0), (16, 0), (8, 64), (8, 48), (16, 40), (32, 0))]
        out += [c("plain", w=w, pdl=1) for w in (8, 16)] + [c("plain", BM=2, w=16), c("plain", BM=2, w=8)]
        out += [c("plain", K=5, BM=b, w=w) for b, w in ((1, 1), (1, 2), (2, 4), (4, 8))]
        out += [
            c("plain", w=w, occ=o, ahead=a)
            for w, o, a in ((8, 4, 0), (8, 5, 0), (8, 3, 1), (8, 2, 1), (16, 2, 1), (16, 3, 0))
        ]
        out += [c("plain", w=16, occ=o, hoist=1, ahead=1) for o in (1, 2)] + [
            c("cp", w=16, occ=o, S=s, hoist=1) for o, s in ((2, 3), (1, 4))
        ]
        return out + [
            c("cp", w=w, occ=o, S=s, reload=r)
            for w, o, s, r in ((8, 3, 3, 0), (8, 4, 3, 0), (8, 4, 2, 1), (16, 2, 3, 1), (8, 3, 3, 1))
        ]
    if N <= 1024:
        out = (
            tiles(1, N, 8192 // N)
            + tiles(1, N, 4096 // N)
            + [c("plain", BM=2048 // N, w=4), c("plain", BM=2048 // N, w=2)]
        )
        out += [
            c("plain", BM=1, w=1),
            c("plain", BM=2, w=1),
            c("plain", BM=4, w=2),
            c("plain", BM=4, w=1),
            c("plain", BM=4, w=2, pdl=1),
        ]
        return out
    ks = {8192: (1, 2), 32768: (2, 4), 131072: (8, 16)}[N]
    out = [x for K in ks for x in tiles(K, N // K, 1)]
    if N == 8192:
        out += [c("plain", w=8, r=64, mask=1), c("cp", w=8, occ=4, S=3, reload=1, mask=1)]
        out += [
            c("plain", w=32),
            c("plain", BM=2, w=16),
            c("plain", K=2, BM=2, w=8),
            c("plain", w=8, xe=""),
            c("plain", w=8, ye="evict_first"),
        ]
    if N == 32768:
        out += [
            c("plain", w=32),
            c("plain", w=32, occ=1),
            c("cp", w=32, occ=1, S=3),
            c("cp", w=32, occ=1, S=2, reload=1),
            c("plain", K=8, w=8),
        ]
    if N == 131072:
        out += [
            c("cp", K=16, w=8, occ=4, S=3, reload=1, mask=1),
            c("cp", K=16, w=8, occ=4, S=2, reload=1),
            c("cp", K=16, w=8, occ=2, S=4, reload=1),
        ]
        out += [
            c("plain", K=4, w=32),
            c("cp", K=4, w=32, occ=1, S=3),
            c("cp", K=4, w=32, occ=1, S=2, reload=1),
            c("plain", K=16, BM=2, w=16),
        ]
    return out


def backward(M, N):
    """dw and db are sums in registers: 2 fp32 an element of the tile, so tiles are small: 8 or 16 elements a thread."""
    if (M, N) == (3000, 5000):
        out = [
            c("plain", w=w, occ=o, ahead=a) for w, o, a in ((8, 1, 1), (16, 1, 0), (16, 1, 1), (32, 1, 0), (32, 1, 1))
        ]
        out += [c("cp", w=w, occ=o, S=s) for w, o, s in ((8, 1, 3), (16, 1, 3), (16, 1, 4), (32, 1, 3))]
        out += [
            c("cp", w=w, occ=o, S=s, reload=1)
            for w, o, s in ((8, 2, 3), (16, 1, 4), (16, 2, 3), (32, 1, 3), (32, 2, 2), (8, 3, 2))
        ]
        return out + [
            c("plain", K=5, w=4, occ=5),
            c("cp", K=5, w=4, occ=5, S=3, reload=1),
            c("cp", K=5, w=2, occ=8, S=3),
        ]
    if N <= 1024:
        out = []
        for e, w, o in ((8192, 8, 1), (8192, 16, 1), (4096, 8, 2), (4096, 4, 2), (2048, 4, 4), (8192, 32, 1)):
            out += [c("plain", BM=e // N, w=w, occ=o, ahead=a) for a in (0, 1)]
            out += [c("cp", BM=e // N, w=w, occ=o, S=s) for s in (3, 4)] + [
                c("cp", BM=e // N, w=w, occ=o, S=3, reload=1)
            ]
            if 4 <= w <= 16:
                out.append(c("bulk", BM=e // N, w=w, occ=o, S=4))
        out += [
            c("cp", BM=e // N, w=w, occ=o, S=s, reload=1)
            for e, w, o, s in ((4096, 8, 3, 3), (8192, 16, 2, 3), (4096, 8, 4, 2), (2048, 4, 6, 3))
        ]
        return out
    ks = {8192: (1, 2), 32768: (4, 8), 131072: (16, 8)}[N]
    out = []
    for K in ks:
        part = N // K
        sets = {
            4096: ((4, 2), (8, 2), (8, 3), (8, 4)),
            8192: ((8, 1), (16, 1), (16, 2), (32, 1)),
            16384: ((16, 1), (32, 1)),
        }[part]
        for w, o in sets:
            most = 215000 // (o * part * 4)
            if o * w <= 16:
                out += [c("plain", K=K, w=w, occ=o, ahead=a) for a in (0, 1)]
                out += [c("bulk", K=K, w=w, occ=o, S=min(4, most))]
            out += [
                c("cp", K=K, w=w, occ=o, S=s, reload=r)
                for s in (2, 3, 4)
                for r in (0, 1)
                if s <= most and (r or o * w <= 16)
            ]
    if N == 8192:
        out += [c("plain", w=32, occ=1), c("cp", w=32, occ=1, S=3)]
    return out


def name(cand):
    """Short and unique."""
    return " ".join([cand["design"], *(f"{k}{v}" for k, v in cand.items() if k != "design" and v not in (0, ""))])


def chunk(N, K, vec):
    """Columns of a CTA: N / K, rounded up to whole vectors."""
    return -(-N // (K * vec)) * vec


def call(kind, norm, cand, M, N):
    """(kernel name, constexprs, options, grid, partial rows, C) of a candidate."""
    K, BM = cand["K"], cand["BM"]
    vec = gcd(N, 8)
    C = chunk(N, K, vec)
    BN = max(pow2(C), 8)
    tiles = -(-M // BM)
    clusters = tiles if not cand["occ"] else max(1, min(tiles, SMS * cand["occ"] // K))
    if cand.get("cl"):
        clusters = min(clusters, cand["cl"])
    even = BN * K == N and not cand.get("mask")
    consts = dict(LN=norm == "ln", HAS_B=norm == "ln", BLOCK_M=BM, BLOCK_N=BN, K=K, VEC=vec)
    design = cand["design"]
    xe, ye = cand.get("xe", "evict_first"), cand.get("ye", "")
    if kind == "fwd":
        if design != "bulk":
            consts |= dict(
                EVEN=even, ROWS_EVEN=M % BM == 0, HOIST=cand.get("hoist", 0), XEVICT=xe, PDL=bool(cand.get("pdl"))
            )
        consts |= dict(YEVICT=ye)
        if design == "plain":
            consts |= dict(AHEAD=bool(cand.get("ahead")))
        else:
            consts |= dict(STAGES=cand["S"])
    else:
        if design != "bulk":
            consts |= dict(EVEN=even, XEVICT=xe)
        consts |= dict(AHEAD=bool(cand.get("ahead"))) if design == "plain" else dict(STAGES=cand["S"])
    if design == "cp":
        consts |= dict(RELOAD=bool(cand.get("reload")))
    if design == "pipe" and K == 1:
        raise ValueError("pipe: clusters only")
    if design == "bulk" and (not even or M % BM or (BM > 1 and K > 1)):
        raise ValueError("bulk: shape")
    options = dict(num_warps=cand["w"])
    if K > 1:
        options["ctas_per_cga"] = (K, 1, 1)
    limit = cand.get("r") or (
        65536 // (cand["occ"] * 32 * (cand["w"] + 4 * (design == "bulk"))) // 8 * 8 if cand["occ"] else 0
    )
    if 0 < limit < 255:
        options["maxnreg"] = limit
    if cand.get("pdl"):
        options["launch_pdl"] = True
    return f"{kind}_{design}", consts, options, (clusters * K,), clusters, C
