"""Common functions of families whose problems (M, N) are row-major matrices: inputs, launches and tolerance.

The gaps between rows that a kernel must not access hold NaN. A family's `problem` can import `launch`, `shapes` and
`tolerance` as its own functions, and its `benchmark` can import `call`. This module imports torch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.arch import DTYPES

GAP = 64  # elements of NaN after each row of a result
CHUNK = 16  # bytes: TMA stores multiples of this, and rows must start at multiples of it
SHAPES = ((2048, 4096), (1000, 1111), (77, 3), (1, 1))  # whole tiles, ragged tiles, one element

Shape = tuple[int, ...]
Tensors = dict[str, Any]
Call = Callable[[], Any]
Baselines = Mapping[str, Callable[[Tensors], Call]]


def shapes(spec: Any) -> tuple[Shape, ...]:
    """The shapes to check: those of the spec, and shapes that find the usual faults."""
    return tuple(dict.fromkeys((*spec.check.shapes, *SHAPES)))


def random(rows: int, columns: int, dtype: str, device: torch.device) -> torch.Tensor:
    """Random numbers in rows that TMA can address."""
    view, _ = _poisoned((rows, columns), getattr(torch, DTYPES[dtype].torch), device)
    view.copy_(torch.randn(rows, columns, device=device))
    return view


def launch(
    module: ModuleType, spec: Any, shape: Shape, tensors: Tensors, config: Any
) -> tuple[dict[str, torch.Tensor], int]:
    """Runs the host function on results of NaN. Returns them, and the number of elements written outside of them.

    TMA writes whole chunks of 16 bytes, so a kernel may write up to the end of the last chunk of a row. A result of one
    dimension is one row. Only a module that uses TMA has a function `describe`.
    """
    host = getattr(module, spec.name)
    made = {n: _poisoned(like.shape, like.dtype, like.device) for n, like in _results(module, host, tensors).items()}
    results = {name: view for name, (view, _) in made.items()}
    host(**tensors, **results, config=config)
    torch.cuda.synchronize()
    chunk = CHUNK if hasattr(module, "describe") else 1
    return results, sum(_strays(view, whole, chunk) for view, whole in made.values())


def call(module: ModuleType, spec: Any, shape: Shape, tensors: Tensors, config: Any = None) -> Call:
    """A launch of the host function into results that are allocated once. Without `config` the module picks one."""
    host = getattr(module, spec.name)
    given = {**tensors, **_results(module, host, tensors)} | ({} if config is None else {"config": config})
    return lambda: host(**given)


def copying(x: torch.Tensor) -> Call:
    """A copy of x, to be timed. It returns no results to check."""
    source = x.contiguous()
    target = torch.empty_like(source)
    return lambda: (target.copy_(source), ())[1]


def tolerance(spec: Any, output: str) -> float:
    """The spec's `check.rtol`, or the largest relative error norm of results that are rounded once.

    Rounding changes an element by at most 0.5 units in the last place, and a matrix by about 0.2 in the norm.
    """
    if spec.check.rtol != "auto":
        return float(spec.check.rtol)
    return float(torch.finfo(getattr(torch, DTYPES[spec.problem.dtype].torch)).eps) / 2


def _results(module: ModuleType, host: Callable[..., Any], tensors: Tensors) -> dict[str, torch.Tensor]:
    """Results as the host function allocates them. They are its keyword arguments that `tensors` does not have."""
    made = module.outputs(**tensors)
    keywords = [p.name for p in inspect.signature(host).parameters.values() if p.kind is p.KEYWORD_ONLY]
    names = [name for name in keywords if name not in (*tensors, "config")]
    return dict(zip(names, made if isinstance(made, tuple) else (made,), strict=True))


def _poisoned(shape: Shape, kind: torch.dtype, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """A matrix or a row of NaN, and the whole memory around it, with gaps."""
    rows, columns = shape if len(shape) > 1 else (1, *shape)
    whole = torch.full((rows + 3, _chunks(columns, kind, CHUNK) + GAP), float("nan"), device=device, dtype=kind)
    return (whole[:rows, :columns] if len(shape) > 1 else whole[0, :columns]), whole


def _strays(view: torch.Tensor, whole: torch.Tensor, chunk: int) -> int:
    """The number of elements outside of `view` and of the last chunks of its rows that are not NaN any more."""
    written = ~torch.isnan(whole)
    written[: len(view) if view.dim() > 1 else 1, : _chunks(view.shape[-1], view.dtype, chunk)] = False
    return int(written.sum())


def _chunks(columns: int, kind: torch.dtype, chunk: int) -> int:
    step = max(chunk // int(kind.itemsize), 1)
    return columns + -columns % step
