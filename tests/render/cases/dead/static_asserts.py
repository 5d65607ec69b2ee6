@triton.jit
def kernel(a, BLOCK_N: tl.constexpr):
    tl.static_assert(True, "baked")
    tl.static_assert(BLOCK_N >= 32, "at least 32")
    tl.static_assert(False, "a row that never was")
    tl.device_assert(True, "another's business")
    store(a)
# output
@triton.jit
def kernel(a, BLOCK_N: tl.constexpr):
    tl.static_assert(BLOCK_N >= 32, "at least 32")
    tl.static_assert(False, "a row that never was")
    tl.device_assert(True, "another's business")
    store(a)
