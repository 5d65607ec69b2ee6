"""A function that takes operands in any layout, on a Hopper GPU: numbers of what it picks, and its gradients."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import pytest

from .test_numbers import hopper

SHAPES = [(1024, 1024, 1024), (1, 4096, 4096), (48, 4096, 4096), (300, 1001, 513), (4096, 1, 512), (3000, 5000, 520)]
ORDERS = [*itertools.product(("row", "col"), repeat=2)]


def matrix(rows: int, columns: int, order: str) -> Any:
    import torch

    if order == "col":
        return matrix(columns, rows, "row").T
    return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)


@pytest.mark.gpu
@pytest.mark.skipif(not hopper(), reason="no Hopper GPU here")
@pytest.mark.parametrize(("a_order", "b_order"), ORDERS)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_products_and_gradients_are_torchs_and_lie_as_the_operands(a_order: str, b_order: str, compiled: bool) -> None:
    import torch

    multiply = importlib.import_module("generated.hopper_gemm_tuned").hopper_gemm_tuned
    call = torch.compile(multiply, fullgraph=True) if compiled else multiply
    for m, n, k in SHAPES[:3] if compiled else SHAPES:
        leaves = [matrix(m, k, a_order).requires_grad_(), matrix(k, n, b_order).requires_grad_()]
        out = call(*leaves)
        factors = torch.randn_like(out)
        found = [out, *torch.autograd.grad((out * factors).sum(), leaves)]
        exact = [x.detach().double().requires_grad_() for x in leaves]
        product = exact[0] @ exact[1]
        wanted = [product, *torch.autograd.grad((product * factors.double()).sum(), exact)]
        for one, other in zip(found, wanted, strict=True):
            assert float((one.double() - other).norm()) <= 5e-3 * float(other.norm()), f"{m}x{n}x{k}"
        assert [multiply(*(x.detach() for x in leaves)).equal(out.detach()) for _ in range(3)] == [True] * 3
