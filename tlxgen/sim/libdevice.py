"""libdevice: CUDA's mathematical functions by name. Results are torch's, which differ from CUDA's by 1 or 2 ulp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .arith import scalar
from .findings import UnsupportedOp
from .machine import machine

_SAME = {  # torch has them under the same name
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "ceil", "copysign", "cos", "cosh", "erf",
    "erfc", "erfinv", "exp", "exp2", "expm1", "floor", "fmod", "hypot", "isinf", "isnan", "lgamma", "log", "log10",
    "log1p", "log2", "nextafter", "pow", "remainder", "rsqrt", "signbit", "sin", "sinh", "sqrt", "tan", "tanh",
    "trunc",
}  # fmt: skip
_OTHER: dict[str, Callable[..., torch.Tensor]] = {
    "add_rn": torch.add, "sub_rn": torch.sub, "mul_rn": torch.mul, "div_rn": torch.div, "sqrt_rn": torch.sqrt,
    "rsqrt_rn": torch.rsqrt, "rcp_rn": torch.reciprocal, "fast_dividef": torch.div, "fast_expf": torch.exp,
    "fast_logf": torch.log, "fast_log2f": torch.log2, "fast_log10f": torch.log10, "fast_sinf": torch.sin,
    "fast_cosf": torch.cos, "fast_tanf": torch.tan, "fast_powf": torch.pow, "rint": torch.round,
    "nearbyint": torch.round, "finitef": torch.isfinite, "isfinited": torch.isfinite,
    "saturatef": lambda x: x.clamp(0.0, 1.0).nan_to_num(0.0),
    "cbrt": lambda x: x.sign() * x.abs().pow(1 / 3), "fdim": lambda x, y: (x - y).clamp(min=0),
    "fma": lambda x, y, z: (x.double() * y.double() + z.double()).to(x.dtype),
    "llrint": lambda x: torch.round(x).to(torch.int64),
    "float_as_int": lambda x: x.view(torch.int32), "int_as_float": lambda x: x.view(torch.float32),
    "float2int_rn": lambda x: torch.round(x).to(torch.int32), "float2int_rz": lambda x: x.to(torch.int32),
    "float2int_rd": lambda x: x.floor().to(torch.int32), "float2int_ru": lambda x: x.ceil().to(torch.int32),
    "int2float_rn": lambda x: x.float(),
}  # fmt: skip
_OTHER["fma_rn"] = _OTHER["fma"]


class Libdevice:
    """The module `libdevice` of a simulated kernel. An unknown name is an error that names it."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(torch, name) if name in _SAME else _OTHER.get(name)
        if function is None:
            raise UnsupportedOp(f"libdevice.{name}", machine().here())

        def operation(*operands: Any) -> Any:
            known = [x.dtype for x in operands if isinstance(x, torch.Tensor)]
            kind = known[0] if known else None
            tensors = [x if isinstance(x, torch.Tensor) else _as_tensor(x, kind) for x in operands]
            return scalar(function(*tensors))

        return operation


def _as_tensor(value: Any, kind: torch.dtype | None) -> torch.Tensor:
    if kind is None:
        kind = torch.float32 if isinstance(value, float) else torch.int32
    return torch.tensor(value, dtype=kind)
