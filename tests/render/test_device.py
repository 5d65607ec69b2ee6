"""What changes a module's device digest, and what does not: whatever leaves PTX as it is must not."""

from __future__ import annotations

import pytest

from tlxgen.render.device import device_digest

SOURCE = '''
"""A module."""
import torch

SCALE = tl.constexpr(4)


@triton.jit
def helper(x):
    """Twice x."""
    return x * (2 * 64)


@triton.jit
def gemm_kernel(a, BLOCK_M: tl.constexpr):
    """A sketch."""
    tl.static_assert(BLOCK_M >= 64, "rows")
    store(a, helper(a) * SCALE)  # a comment


@triton.jit
def gemm_reduce_kernel(a):
    store(a, helper(a))


def gemm(a):
    gemm_kernel[(1,)](a, BLOCK_M=64)
'''
NAMES = ("gemm_kernel", "gemm_reduce_kernel")
HELPER = SOURCE[SOURCE.index("@triton.jit\ndef helper") : SOURCE.index("@triton.jit\ndef gemm_kernel")]


def digest(old: str = "", new: str = "") -> str:
    assert old in SOURCE
    return device_digest(SOURCE.replace(old, new) if old else SOURCE, NAMES, "launches")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # a comment", ""),
        ('    """A sketch."""\n', ""),
        ('    tl.static_assert(BLOCK_M >= 64, "rows")\n', ""),
        ("2 * 64", "128"),
        ("gemm_kernel[(1,)]", "torch.cuda.synchronize()\n    gemm_kernel[(2,)]"),
    ],
)
def test_what_changes_no_ptx_changes_nothing(old: str, new: str) -> None:
    assert digest(old, new) == digest()


def test_names_of_kernels_and_the_order_of_definitions_change_nothing() -> None:
    renamed = SOURCE.replace("gemm_", "gemm_pingpong_")
    assert device_digest(renamed, [n.replace("gemm_", "gemm_pingpong_") for n in NAMES], "launches") == digest()
    moved = SOURCE.replace(HELPER, "").replace("def gemm(a)", HELPER + "def gemm(a)")
    assert device_digest(moved, NAMES, "launches") == digest()
    assert device_digest(SOURCE, NAMES[::-1], "launches") != digest()  # another kernel is launched first
    assert device_digest(SOURCE, NAMES, "other launches") != digest()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2 * 64", "2 * 32"),
        ("2 * 64", "2 + 64"),
        ("tl.constexpr(4)", "tl.constexpr(8)"),
        ("store(a, helper(a))\n", "store(a, a)\n"),
        ("gemm_reduce_kernel(a)", "gemm_reduce_kernel(a, b)"),
        ("BLOCK_M: tl.constexpr", "BLOCK_M"),
        ("def helper", "def helped"),
    ],
)
def test_what_may_change_ptx_changes_it(old: str, new: str) -> None:
    assert digest(old, new) != digest()
