"""The tensors of a case: made from a seed, outputs poisoned, and passed as the kernel wants them."""

from __future__ import annotations

from typing import Any

import torch

from tlxgen.cudalike import CudaLike

from .case import Case
from .declaration import DTYPES, Argument

INTEGERS = (0, 8)  # the range of integer inputs that say none
POISON = -0x5A  # of integer outputs; floating ones are NaN


def fill(case: Case, seed: int) -> dict[str, torch.Tensor]:
    """Every tensor of the case on the CPU, by name: inputs with random numbers of `seed`, outputs with poison."""
    generator = torch.Generator().manual_seed(seed)
    return {name: _tensor(case, argument, generator) for name, argument in case.declared.tensors.items()}


def _tensor(case: Case, argument: Argument, generator: torch.Generator) -> torch.Tensor:
    shape = case.sizes(argument.shape or ())
    dtype = getattr(torch, DTYPES[argument.dtype])
    if argument.strides is None:
        tensor = torch.empty(shape, dtype=dtype)
    else:
        tensor = torch.empty_strided(shape, case.sizes(argument.strides), dtype=dtype)
    return tensor.copy_(_numbers(argument, shape, dtype, generator))


def _numbers(argument: Argument, shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator) -> Any:
    floating = dtype.is_floating_point
    how, bounds = argument.fill, argument.range
    if how is None and bounds is None and argument.kind == "output":
        return torch.tensor(float("nan") if floating else POISON).to(dtype)
    if isinstance(how, (int, float)):
        return torch.tensor(how)
    if how in ("zeros", "ones"):
        return torch.tensor(float(how == "ones"))
    if how == "arange":
        return torch.arange(torch.Size(shape).numel()).reshape(shape)
    if bounds is None and floating:
        return torch.randn(shape, generator=generator)
    if floating:
        low, high = bounds or INTEGERS
        return low + (high - low) * torch.rand(shape, generator=generator)
    low, high = bounds or ((0, 2) if dtype is torch.bool else INTEGERS)
    return torch.randint(int(low), max(int(high), int(low) + 1), shape, generator=generator)


def as_argument(case: Case, name: str, given: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """What the function is passed for the argument `name`."""
    if not isinstance(given, Argument):
        return case.values[name]
    if given.kind == "value":
        return given.value
    if given.kind == "dtype":
        return _triton_dtype(DTYPES[given.dtype])
    tensor = tensors[name].as_subclass(CudaLike)
    if given.block is None:
        return tensor
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), list(case.sizes(given.block)))


def _triton_dtype(name: str) -> Any:
    import triton.language as tl

    return getattr(tl, {"float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5", "bool": "int1"}.get(name, name))
