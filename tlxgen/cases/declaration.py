"""The model of a case file. It imports no torch, and only the bases of spec models."""

from __future__ import annotations

import math
import re
from typing import Any, Literal

from pydantic import Field, model_validator

from tlxgen.spec import SpecFault, SpecModel

DTYPES = {
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "float16": "float16",
    "bfloat16": "bfloat16", "float32": "float32", "float64": "float64", "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint8": "uint8", "bool": "bool",
}  # fmt: skip

Dtype = Literal[
    "fp16", "bf16", "fp32", "fp64", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2",
    "int8", "int16", "int32", "int64", "uint8", "bool",
]  # fmt: skip
Size = int | str  # text is an expression
Scalar = bool | int | float | str | None  # text is an expression
MODULE_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # package.module:function, of a reference
MOST_CTAS = 16  # of a cluster, on any architecture here
KINDS = ("tensor", "output", "value")


class Argument(SpecModel):
    """One of `tensor` (an input of this shape), `output` (of this shape), `value` (anything, as it is), or `dtype`
    alone (the type itself, as triton spells it)."""

    tensor: tuple[Size, ...] | None = None
    output: tuple[Size, ...] | None = None
    value: Any = None
    dtype: Dtype = "float16"
    block: tuple[Size, ...] | None = None  # makes it a TensorDescriptor
    strides: tuple[Size, ...] | None = None  # in elements; default row-major
    fill: Literal["normal", "zeros", "ones", "arange"] | float | None = None
    range: tuple[float, float] | None = None  # uniform, the second excluded

    @property
    def shape(self) -> tuple[Size, ...] | None:
        return self.output if self.tensor is None else self.tensor

    @property
    def kind(self) -> str:
        return next((kind for kind in KINDS if kind in self.model_fields_set), "dtype")

    @model_validator(mode="after")
    def _one_kind(self) -> Argument:
        given = [kind for kind in KINDS if kind in self.model_fields_set]
        if len(given) > 1:
            raise SpecFault(
                *(((kind,), f"an argument is one of {', '.join(KINDS)}, not several") for kind in given[1:])
            )
        if not given and self.model_fields_set != {"dtype"}:
            raise SpecFault(((), f"say what this argument is: one of {', '.join(KINDS)}"))
        if self.kind in ("value", "dtype"):
            if extra := sorted(self.model_fields_set - {self.kind}):
                raise SpecFault(*(((key,), f"{key} is for tensors, and this is a {self.kind}") for key in extra))
        elif self.fill is not None and self.range is not None:
            raise SpecFault((("range",), "give fill or range, not both"))
        elif self.range is not None and self.range[0] > self.range[1]:
            raise SpecFault((("range",), f"a range is [low, high], and {self.range[0]} is more than {self.range[1]}"))
        elif text := self._unfit():
            raise SpecFault((("fill",), text))
        for key in ("block", "strides"):
            given_lengths = getattr(self, key)
            if given_lengths is not None and len(given_lengths) != len(self.shape or ()):
                raise SpecFault(((key,), f"{key} needs one number for each of the {len(self.shape or ())} dimensions"))
        return self

    def _unfit(self) -> str:
        """Why elements of an integer type cannot have the value of `fill`; empty if they can."""
        bits = re.fullmatch(r"(u?)int(\d+)", DTYPES[self.dtype])
        if bits is None or isinstance(self.fill, str | None):
            return ""
        low, high = (0, 2 ** int(bits[2])) if bits[1] else (-(2 ** (int(bits[2]) - 1)), 2 ** (int(bits[2]) - 1))
        fits = low <= self.fill < high and self.fill == int(self.fill)
        return "" if fits else f"{self.dtype} has no value {self.fill}"


class Tolerance(SpecModel):
    """|result - reference| <= atol + rtol * |reference|, element by element."""

    rtol: float = Field(default=0.0, ge=0)
    atol: float = Field(default=0.0, ge=0)


class Declaration(SpecModel):
    """One case, with what it inherits."""

    file: str | None = None  # of the kernel, relative to this one; default: the .py of the same name
    kernel: str | None = None
    call: str | None = None
    grid: tuple[Size, ...] | None = Field(default=None, min_length=1, max_length=3)
    num_warps: int = Field(default=4, ge=1, le=32)
    ctas_per_cga: tuple[int, int, int] = (1, 1, 1)
    sms: int | None = Field(default=None, ge=1, le=1024)
    arch: Literal["sm90", "sm100"] = "sm90"
    config: int | None = Field(default=None, ge=0)
    sizes: dict[str, Size] = {}
    args: dict[str, Scalar | Argument] = {}
    constexprs: dict[str, Scalar | Argument] = {}
    reference: str | dict[str, str] | None = None
    tolerance: Tolerance | None = None

    @property
    def function(self) -> str:
        return self.kernel or self.call or ""

    @property
    def tensors(self) -> dict[str, Argument]:
        """The arguments that are tensors, in order."""
        return {n: a for n, a in self.args.items() if isinstance(a, Argument) and a.shape is not None}

    @model_validator(mode="after")
    def _whole(self) -> Declaration:
        faults: list[tuple[tuple[str | int, ...], str]] = []
        if self.num_warps & (self.num_warps - 1):
            faults.append((("num_warps",), f"a CTA has a power of two of warps, not {self.num_warps}"))
        if min(self.ctas_per_cga) < 1 or math.prod(self.ctas_per_cga) > MOST_CTAS:
            text = f"a cluster has 1 to {MOST_CTAS} CTAs, and none of its extents is 0"
            faults.append((("ctas_per_cga",), text))
        if self.kernel is None and self.call is None:
            faults.append(((), "say what to run: kernel (a jit function, launched) or call (a host function)"))
        if self.kernel is not None and self.call is not None:
            faults.append((("call",), "a case has a kernel or a call, not both"))
        if self.kernel is not None and self.grid is None:
            faults.append((("kernel",), "missing key 'grid': how many programs the kernel is launched with"))
        if self.call is not None and self.kernel is None:
            for key in ("grid", "num_warps", "ctas_per_cga", "constexprs"):
                if key in self.model_fields_set:
                    faults.append(((key,), f"{key} is for a kernel; {self.call} launches its own"))
        for name, argument in self.constexprs.items():
            if isinstance(argument, Argument) and argument.shape is not None:
                faults.append((("constexprs", name), "a constexpr is no tensor"))
        if self.tolerance is not None and self.reference is None:
            faults.append((("tolerance",), "there is no reference to be near to"))
        faults += [(("args", n), f"{n} is also in constexprs") for n in self.args if n in self.constexprs]
        faults += [
            (("sizes", n), f"{n} is also an argument") for n in self.sizes if n in {*self.args, *self.constexprs}
        ]
        if faults:
            raise SpecFault(*faults)
        return self
