import triton
import triton.language as tl

from ._host import number, positive


@triton.jit
def kernel(x_ptr):
    number = tl.program_id(0)
    tl.store(x_ptr + number, 1)


def host(x):
    kernel[(positive(x, "x"),)](x)
# output
import triton
import triton.language as tl

from ._host import positive


@triton.jit
def kernel(x_ptr):
    number = tl.program_id(0)
    tl.store(x_ptr + number, 1)


def host(x):
    kernel[(positive(x, "x"),)](x)
