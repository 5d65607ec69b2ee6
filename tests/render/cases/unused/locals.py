@triton.jit
def _slot(count, SLOTS: tl.constexpr):
    """Where."""
    return count % SLOTS, count // SLOTS


@triton.jit
def _load(p):
    return tl.load(p)


@triton.jit
def kernel(a, b):
    # The slot of the first.
    slot, phase = _slot(a, 4)
    x, y = _slot(b, 4)
    z = _load(a)
    p, q = _load(a)
    one = two = tl.cdiv(a, 2)
    size: tl.constexpr = 4

    half = one // 2
    quarter = half // 2

    tl.store(b[phase], one)
    for unread, read in pairs(a):
        w = a; tl.store(b, read)


def launch(a):
    size = len(a)
    kernel[(1,)](a, a)
# output
@triton.jit
def _slot(count, SLOTS: tl.constexpr):
    """Where."""
    return count % SLOTS, count // SLOTS


@triton.jit
def _load(p):
    return tl.load(p)


@triton.jit
def kernel(a, b):
    # The slot of the first.
    _, phase = _slot(a, 4)
    z = _load(a)
    _, _ = _load(a)
    one = tl.cdiv(a, 2)

    tl.store(b[phase], one)
    for unread, read in pairs(a):
        tl.store(b, read)


def launch(a):
    kernel[(1,)](a, a)
