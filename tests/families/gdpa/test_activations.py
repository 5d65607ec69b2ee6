"""The lines of device code of activations compute the functions of the reference; none has a weight for no score."""

from __future__ import annotations

import types
from typing import Any

import pytest
import torch

from tlxgen.families.attention.activations import ACTIVATIONS
from tlxgen.families.gdpa.problem import FUNCTIONS

TL = types.SimpleNamespace(maximum=lambda a, b: torch.clamp(a, min=b) if isinstance(b, float) else torch.maximum(a, b))
TL.minimum = lambda a, b: torch.clamp(a, max=b)
TL.where, TL.exp2, TL.full, TL.float32 = torch.where, torch.exp2, lambda s, x, _: torch.full(s, x), torch.float32


def computed(name: str, x: torch.Tensor) -> torch.Tensor:
    return by_lines(ACTIVATIONS[name].code or ("return x",), x)


def by_lines(code: tuple[str, ...], x: torch.Tensor) -> Any:
    lines = [line.format(half="0.5") for line in code]
    scope: dict[str, Any] = {"tl": TL, "tanh": torch.tanh}
    exec("def f(x):\n" + "\n".join(f"    {line}" for line in lines), scope)
    return scope["f"](x)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_code_is_the_function(name: str) -> None:
    x = torch.linspace(-40, 40, 80001, dtype=torch.float64)
    error = (computed(name, x) - FUNCTIONS[name](x)).abs() / x.abs().clamp(min=1)
    assert error.max() < (3e-5 if name == "gelu" else 1e-6)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_score_that_does_not_count_has_no_weight(name: str) -> None:
    assert computed(name, torch.zeros(1)) == 0


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_slope_is_the_derivative(name: str) -> None:
    x = (torch.linspace(-40, 40, 80000, dtype=torch.float64)).requires_grad_()  # without 0, where relu has two
    weight, slope = by_lines(ACTIVATIONS[name].slope, x.detach())
    exact = FUNCTIONS[name](x)
    (expected,) = torch.autograd.grad(exact.sum(), x)
    assert ((weight - exact).detach().abs() / x.detach().abs().clamp(min=1)).max() < (3e-5 if name == "gelu" else 1e-6)
    assert ((slope - expected).abs() / expected.abs().clamp(min=1)).max() < (1e-4 if name == "gelu" else 1e-6)
