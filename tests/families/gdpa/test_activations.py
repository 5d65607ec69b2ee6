"""The lines of device code of activations compute the functions of the reference; none has a weight for no score."""

from __future__ import annotations

import types

import pytest
import torch

from tlxgen.families.attention.activations import ACTIVATIONS
from tlxgen.families.gdpa.problem import FUNCTIONS

TL = types.SimpleNamespace(maximum=lambda a, b: torch.clamp(a, min=b) if isinstance(b, float) else torch.maximum(a, b))
TL.minimum = lambda a, b: torch.clamp(a, max=b)


def computed(name: str, x: torch.Tensor) -> torch.Tensor:
    lines = [line.format(half="0.5") for line in ACTIVATIONS[name].code] or ["return x"]
    scope = {"tl": TL, "tanh": torch.tanh}
    exec("def f(x):\n" + "\n".join(f"    {line}" for line in lines), scope)
    return scope["f"](x)  # type: ignore[operator, no-any-return]


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_code_is_the_function(name: str) -> None:
    x = torch.linspace(-40, 40, 80001, dtype=torch.float64)
    error = (computed(name, x) - FUNCTIONS[name](x)).abs() / x.abs().clamp(min=1)
    assert error.max() < (3e-5 if name == "gelu" else 1e-6)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_score_that_does_not_count_has_no_weight(name: str) -> None:
    assert computed(name, torch.zeros(1)) == 0
