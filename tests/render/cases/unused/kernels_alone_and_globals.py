import triton


@triton.jit
def kernel(a):
    return a


@triton.jit
def _helper(a):
    return a
# output
import triton


@triton.jit
def kernel(a):
    return a
