@triton.jit
def _inner(x, DEPTH: tl.constexpr):
    return x


@triton.jit
def _outer(x, DEPTH: tl.constexpr, y, WIDTH: tl.constexpr = 1):
    return _inner(x, DEPTH) + _inner(y, DEPTH=2 * DEPTH)


@triton.jit
def _passed(x, DEPTH: tl.constexpr):
    return x


@triton.jit
def _starred(x, DEPTH: tl.constexpr):
    return x


@triton.jit
def kernel(x, STAGES: tl.constexpr, unused):
    y = _outer(x, STAGES, 2) + _outer(x, y=3, DEPTH=4, WIDTH=4)
    tl.store(x, tl.reduce(y, 0, _passed) + _starred(*y))


def launch(x):
    kernel[(1,)](x, STAGES=4, unused=1)
# output
@triton.jit
def _inner(x):
    return x


@triton.jit
def _outer(x, y):
    return _inner(x) + _inner(y)


@triton.jit
def _passed(x, DEPTH: tl.constexpr):
    return x


@triton.jit
def _starred(x, DEPTH: tl.constexpr):
    return x


@triton.jit
def kernel(x, STAGES: tl.constexpr, unused):
    y = _outer(x, 2) + _outer(x, y=3)
    tl.store(x, tl.reduce(y, 0, _passed) + _starred(*y))


def launch(x):
    kernel[(1,)](x, STAGES=4, unused=1)
