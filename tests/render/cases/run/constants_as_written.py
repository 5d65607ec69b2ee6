# bake: {"BLOCK_M": 128, "STAGES": 4}
@triton.jit
def kernel(a_desc, seed, n, BLOCK_M: tl.constexpr, STAGES: tl.constexpr):
    bits = tl.randint4x(seed, n) & (2**31 - 1)
    words = max(n, 1 << 18), 32 * 1024 // n, -(2**31)
    tiles = tlx.local_alloc((BLOCK_M // 2, 64), tlx.dtype_of(a_desc), STAGES * 2)
    tlx.barrier_expect_bytes(full[0], 128 * 64 * 2 + BLOCK_M * 4)
    tlx.barrier_expect_bytes(full[1], 64 * 128 * 2 + 64 * 4)
    if BLOCK_M * 64 * 2 > 8 * 1024:
        half = 128 // 2, 64 * 1, 7 + 0, 1 + 2 % 2
    whole = 2**25 // BLOCK_M, 4 * 2 * STAGES, min(32 * 1024, BLOCK_M), n * (2 - 1)
    store(bits, words, tiles, half, whole)


def host(a, out, config):
    kernel[(1,)](a, 2**31 - 1, 1 << 20, BLOCK_M=config.kwargs["BLOCK_M"] * 2, STAGES=2 * 2)
# output
@triton.jit
def kernel(a_desc, seed, n):
    bits = tl.randint4x(seed, n) & (2**31 - 1)
    words = max(n, 1 << 18), 32 * 1024 // n, -(2**31)
    tiles = tlx.local_alloc((64, 64), tlx.dtype_of(a_desc), 8)
    tlx.barrier_expect_bytes(full[0], 16896)
    tlx.barrier_expect_bytes(full[1], 64 * 128 * 2 + 64 * 4)
    half = 64, 64, 7, 1
    whole = 262144, 32, 128, n
    store(bits, words, tiles, half, whole)


def host(a, out, config):
    kernel[(1,)](a, 2**31 - 1, 1 << 20)
