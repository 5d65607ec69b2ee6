import os
import torch.nn.functional as F
import math, triton
import side_effect  # noqa: F401
from typing import (
    Any,
    Sequence,
)

__all__ = ["_exported", "again"]

import again


@triton.jit
def _dead(x):
    return _deader(x)


@triton.jit
def _deader(x):
    return _dead(x)


@triton.jit
def helper(x):
    return x


@triton.jit
def kernel(x):
    return x


def _exported(): ...


def _private() -> Any: ...


@register
def _registered(): ...


def public(x: Sequence):
    kernel[(1,)](x)
# output
import triton
import side_effect  # noqa: F401
from typing import (
    Sequence,
)

__all__ = ["_exported", "again"]

import again


@triton.jit
def kernel(x):
    return x


def _exported(): ...


@register
def _registered(): ...


def public(x: Sequence):
    kernel[(1,)](x)
