"""What takes the place of a softmax where weights are a function of each score alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Activation:
    """A function of a block `x` of scores in fp32, by lines of device code; f(0) is 0.

    In the lines, `{half}` stands for what half of the scores' factor is called. `slope`: those that return the function
    and its derivative.
    """

    meaning: str
    code: tuple[str, ...]
    slope: tuple[str, ...]

    @property
    def by_tanh(self) -> bool:
        return any("tanh(" in line for line in self.code)


# Half of 1 + tanh: a sigmoid, by one instruction.
_GATED = "return half * tanh({inner}) + half"
# tanh of an odd polynomial is within 1e-4 of erf; what is left of the product's error is below 3e-5.
_ERF = "((-0.00035151705 * square + 0.03700565) * square + 0.7975079) * x"

ACTIVATIONS = {
    "raw": Activation("x", (), ("return x, tl.full(x.shape, 1.0, tl.float32)",)),
    "relu": Activation(
        "max(x, 0)", ("return tl.maximum(x, 0.0)",), ("return tl.maximum(x, 0.0), tl.where(x > 0.0, 1.0, 0.0)",)
    ),
    "leaky_relu": Activation(
        "x, or x / 100 where it is negative",
        ("return tl.maximum(x, 0.01 * x)",),
        ("return tl.maximum(x, 0.01 * x), tl.where(x > 0.0, 1.0, 0.01)",),
    ),
    "relu_square": Activation(
        "max(x, 0)**2", ("x = tl.maximum(x, 0.0)", "return x * x"), ("x = tl.maximum(x, 0.0)", "return x * x, x + x")
    ),
    "hardswish": Activation(
        "x * min(max(x + 3, 0), 6) / 6",
        ("return x * tl.minimum(tl.maximum(x * 0.16666667 + 0.5, 0.0), 1.0)",),
        (
            "gate = tl.minimum(tl.maximum(x * 0.16666667 + 0.5, 0.0), 1.0)",
            "return x * gate, gate + tl.where((gate > 0.0) & (gate < 1.0), x * 0.16666667, 0.0)",
        ),
    ),
    "silu": Activation(
        "x * sigmoid(x)",
        ("half = x * {half}", _GATED.format(inner="half")),
        (
            "half = x * {half}",
            "gate = 0.5 * tanh(half) + 0.5",
            "weight = (half + half) * gate",
            "return weight, gate + weight - weight * gate",
        ),
    ),
    "fast_gelu": Activation(
        "x * (1 + tanh(0.7978845608 x + 0.0356774081 x**3)) / 2",
        ("half = x * {half}", _GATED.format(inner="(0.0356774081 * (x * x) + 0.7978845608) * x")),
        (
            "gate = 0.5 * tanh((0.0356774081 * (x * x) + 0.7978845608) * x) + 0.5",
            "bend = 0.2140644486 * (x * x) + 1.5957691216",
            "return x * gate, gate + x * (gate - gate * gate) * bend",
        ),
    ),
    "gelu": Activation(
        "x * Phi(x)",
        (
            "half = x * {half}",
            "square = tl.minimum(x * x, 30.0)  # beyond, it is 1",
            _GATED.format(inner=_ERF),
        ),
        (
            "square = tl.minimum(x * x, 30.0)  # beyond, it is 1",
            f"gate = 0.5 * tanh({_ERF}) + 0.5",
            "return x * gate, gate + 0.3989422804 * x * tl.exp2(-0.7213475204 * x * x)",
        ),
    ),
}
