import torch

CONFIGS = [1, 2]


class Launch:
    """What LAUNCHES keeps."""

    def on(self, a):
        run = a.run
        return keep(self.known, run)


CACHE = {}  # by address
# What allocates.
empty = getattr(torch, "_empty", None)


def keep(known, key):
    return known.setdefault(key, key)


def gemm(a):
    return run(CACHE.get(a) or keep(CACHE, prepare(a)), a)


def run(launch, a):
    if not empty:
        return launch.on(a)
    return kernel[(1,)](a)


def prepare(a):
    return Launch(pick(a))


def pick(a):
    return CONFIGS[0]


@triton.jit
def slot(count):
    return count % DEPTH


DEPTH = tl.constexpr(4)


@triton.jit
def kernel(a):
    tile(a)
    slot(a)


@triton.jit
def second(a):
    tile(a)
    third(a)


@triton.jit
def third(a):
    return a


@triton.jit
def tile(a):
    return a
# output
import torch

CONFIGS = [1, 2]


@triton.jit
def tile(a):
    return a


DEPTH = tl.constexpr(4)


@triton.jit
def slot(count):
    return count % DEPTH


@triton.jit
def kernel(a):
    tile(a)
    slot(a)


@triton.jit
def third(a):
    return a


@triton.jit
def second(a):
    tile(a)
    third(a)


# What allocates.
empty = getattr(torch, "_empty", None)


def run(launch, a):
    if not empty:
        return launch.on(a)
    return kernel[(1,)](a)


def keep(known, key):
    return known.setdefault(key, key)


class Launch:
    """What LAUNCHES keeps."""

    def on(self, a):
        run = a.run
        return keep(self.known, run)


def pick(a):
    return CONFIGS[0]


def prepare(a):
    return Launch(pick(a))


CACHE = {}  # by address


def gemm(a):
    return run(CACHE.get(a) or keep(CACHE, prepare(a)), a)
