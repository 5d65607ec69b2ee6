"""Calls after the first of a layout, on a Hopper GPU: they pass Triton by, and allocate C without the dispatcher."""

from __future__ import annotations

import importlib

import pytest

from .test_numbers import hopper

NAMES = [
    *("hopper_gemm.hopper_gemm_cooperative", "hopper_gemm.hopper_gemm_pingpong", "hopper_gemm_tuned"),
    "hopper_gemm_split_k.hopper_gemm_split_k_grid",
]
SHAPES = [(1024, 1024, 1024), (300, 1001, 512), (4096, 4096, 4096), (64, 16384, 4096), (8192, 8192, 1024)]


@pytest.mark.gpu
@pytest.mark.skipif(not hopper(), reason="no Hopper GPU here")
@pytest.mark.parametrize("name", NAMES)
def test_they_give_what_the_first_gave_in_memory_of_their_own(name: str) -> None:
    import torch

    multiply = getattr(importlib.import_module(f"generated.{name}"), name.partition(".")[0])
    for m, n, k in SHAPES:
        a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
        b = torch.randn(k, n + -n % 8, device="cuda", dtype=torch.bfloat16)[:, :n]
        first = multiply(a, b)
        assert torch.allclose(first.float(), a.float() @ b.float(), rtol=2e-2, atol=0.5)
        found = [multiply(a, b) for _ in range(3)]
        found.append(multiply(a.clone(), b))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            found.append(multiply(a, b))
        torch.cuda.synchronize()
        assert all(torch.equal(c, first) for c in found), f"{m}x{n}x{k}"
        assert len({c.data_ptr() for c in (first, *found)}) == 6
        assert {(c.stride(), c.dtype, c.device) for c in found} == {(first.stride(), first.dtype, first.device)}
        off = torch.randn(m * k + 1, device="cuda", dtype=torch.bfloat16)[1:].view(m, k)
        with pytest.raises(ValueError, match="a: data_ptr"):
            multiply(off, b)
