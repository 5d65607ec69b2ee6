# bake: {"STAGES": 4}
@triton.jit
def _slot(count, STAGES: tl.constexpr, base):
    return base + count % STAGES


@triton.jit
def kernel(a, STAGES: tl.constexpr):
    x = _slot(_slot(1, STAGES, 2), STAGES, 0)
    y = _slot(1, base=2, STAGES=STAGES)
    z = _slot(1, 4, 2)
# output
@triton.jit
def _slot(count, base):
    return base + count % 4


@triton.jit
def kernel(a):
    x = _slot(_slot(1, 2), 0)
    y = _slot(1, base=2)
    z = _slot(1, 2)
