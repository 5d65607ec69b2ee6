def launch(a):
    return TABLE[a](a)


TABLE = {"gemm": _gemm}
NAMES = list(TABLE)
SIZE = 4


@triton.autotune(configs=_configs(SIZE), key=[])
@triton.jit
def kernel(a):
    return a


def _gemm(a):
    return kernel[(1,)](a)


def _configs(n):
    return []
# output
def _configs(n):
    return []


SIZE = 4


@triton.autotune(configs=_configs(SIZE), key=[])
@triton.jit
def kernel(a):
    return a


def _gemm(a):
    return kernel[(1,)](a)


TABLE = {"gemm": _gemm}


def launch(a):
    return TABLE[a](a)


NAMES = list(TABLE)
