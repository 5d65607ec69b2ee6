# bake: {"BLOCK_M": 128, "GROUP": 8}
@triton.jit
def _inner(tile, BLOCK_M: tl.constexpr):
    return tile * BLOCK_M


@triton.jit
def _work(tile, BLOCK_M: tl.constexpr, GROUP: tl.constexpr):
    return _inner(tile // GROUP, BLOCK_M)


@triton.jit
def kernel(a, BLOCK_M: tl.constexpr, GROUP: tl.constexpr):
    x = _work(a, 2 * BLOCK_M, GROUP)
# output
@triton.jit
def _inner(tile, BLOCK_M: tl.constexpr):
    return tile * BLOCK_M


@triton.jit
def _work(tile, BLOCK_M: tl.constexpr):
    return _inner(tile // 8, BLOCK_M)


@triton.jit
def kernel(a):
    x = _work(a, 2 * 128)
