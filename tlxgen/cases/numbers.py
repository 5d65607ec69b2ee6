"""An output against its reference, element by element. As `torch.testing` compares, but it says what a kernel engineer
asks first: how many, where the worst, and what was allowed there."""

from __future__ import annotations

import torch

from .declaration import Tolerance

# Room for sums of a few thousand products of normal numbers in fp32, and for one rounding to the output's type.
DEFAULTS = {
    torch.float64: Tolerance(rtol=1e-7, atol=1e-7),
    torch.float32: Tolerance(rtol=1e-3, atol=1e-3),
    torch.float16: Tolerance(rtol=1e-2, atol=1e-2),
    torch.bfloat16: Tolerance(rtol=2e-2, atol=2e-2),
    torch.float8_e4m3fn: Tolerance(rtol=0.125, atol=0.125),
    torch.float8_e5m2: Tolerance(rtol=0.25, atol=0.25),
}


def tolerance_of(given: Tolerance | None, out: torch.Tensor) -> Tolerance:
    """What the case allows, or else what is usual for the output's type; integers must be equal."""
    return given or DEFAULTS.get(out.dtype, Tolerance())


def difference(out: torch.Tensor, expected: torch.Tensor, allowed: Tolerance) -> str:
    """How `out` differs from `expected` by more than allowed; empty when it does not. NaN equals only NaN."""
    if out.shape != expected.shape:
        return f"its shape is {dims(out)}, the reference's {dims(expected)}"
    got, want = out.double(), expected.double()
    room = allowed.atol + allowed.rtol * want.abs()
    near = ((got - want).abs() <= room) & want.isfinite()
    near |= (got == want) | (got.isnan() & want.isnan())
    wrong = int((~near).sum())
    if not wrong:
        return ""
    excess = ((got - want).abs() - room).nan_to_num(nan=float("inf")).masked_fill(near, -1.0)
    at = tuple(int(i) for i in torch.unravel_index(excess.argmax(), excess.shape))
    poisoned = int((got.isnan() & ~want.isnan()).sum())
    nan = f" ({poisoned} are NaN)" if poisoned else ""
    worst = (
        f"at {list(at)} it is {float(got[at]):.6g}, not {float(want[at]):.6g} (allowed: off by {float(room[at]):.2g})"
    )
    return f"{wrong} of {out.numel()} elements differ{nan}; {worst}"


def dims(tensor: torch.Tensor) -> str:
    """The shape as people write it."""
    return " x ".join(map(str, tensor.shape)) or "scalar"
