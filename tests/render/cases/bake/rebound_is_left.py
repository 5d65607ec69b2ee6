# bake: {"BLOCK": 64}
@triton.jit
def kernel(a, BLOCK: tl.constexpr):
    BLOCK = BLOCK // 2
    return BLOCK


def launch(a):
    kernel[(1,)](a, BLOCK=128)
# output
@triton.jit
def kernel(a, BLOCK: tl.constexpr):
    BLOCK = BLOCK // 2
    return BLOCK


def launch(a):
    kernel[(1,)](a, BLOCK=128)
