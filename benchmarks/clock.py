"""The clock of an SM, for kernels of benchmarks."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit  # type: ignore
def clock():  # type: ignore
    """clock64 of the SM, read once by each thread, in the order of the source."""
    return tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
