"""Tensors without memory compute like others, and say throughout that they are on the GPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tlxgen.cudalike import DEVICE  # noqa: E402
from tlxgen.tune.meta import OnGpu, WithoutMemory  # noqa: E402


def test_what_is_computed_from_them_is_on_the_gpu_too() -> None:
    with WithoutMemory():
        x = torch.rand(4, 8, device="cuda:0")
        made = [x + 0.5, x.to(torch.bfloat16) * 4, x.T, x[:, 2:], x.to(torch.float8_e4m3fn), torch.stack([x, x])]
        whole = torch.full((6, 16), float("nan"), device="cuda:0", dtype=torch.float8_e4m3fn)
        whole[:4, :8].copy_(x)
    assert all(isinstance(t, OnGpu) and t.device == DEVICE and t.data_ptr() % 4 == 0 for t in (x, *made, whole))
    assert [t.stride() for t in made[:3]] == [(8, 1), (8, 1), (1, 8)]
    assert [t.data_ptr() == x.data_ptr() for t in made] == [False, False, True, False, False, False]
    assert made[3].data_ptr() == x.data_ptr() + 8 and whole.data_ptr() % 256 == 0
