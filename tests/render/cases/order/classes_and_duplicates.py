import triton
import triton

import torch


def make():
    return Args()


class Args:
    pass


limit: int = 3
# output
import torch
import triton

limit: int = 3


class Args:
    pass


def make():
    return Args()
