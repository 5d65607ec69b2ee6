# Header.
"""Doc."""
import torch
def launch(a):
    kernel[(1,)](a)


# The kernel.
@triton.jit
def kernel(a):
    _second(_first(a))


import sys
@triton.jit
def _first(a):
    return a


@triton.jit
def _second(a):
    return _first(a)


LIMIT = 4
if __name__ == "__main__":
    launch(LIMIT)
# output
# Header.
"""Doc."""

import sys

import torch

LIMIT = 4


@triton.jit
def _first(a):
    return a


@triton.jit
def _second(a):
    return _first(a)


# The kernel.
@triton.jit
def kernel(a):
    _second(_first(a))


def launch(a):
    kernel[(1,)](a)


if __name__ == "__main__":
    launch(LIMIT)
