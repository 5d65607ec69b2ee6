"""Problems (M, N) of row-major matrices: what their families say alike of inputs, launches and tolerance.

What lies between rows is NaN wherever nobody may read or write. Imports torch, so that only a family's `problem` and
`benchmark` import it: `launch`, `shapes` and `tolerance` are such modules' functions as they stand, and so is `call`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.arch import DTYPES

GAP = 64  # elements of NaN after each row of what a kernel writes
CHUNK = 16  # bytes: TMA stores nothing less, and addresses rows that begin at a multiple of them
SHAPES = ((2048, 4096), (1000, 1111), (77, 3), (1, 1))  # whole tiles, ragged ones, one element

Shape = tuple[int, ...]
Tensors = dict[str, Any]
Call = Callable[[], Any]
Baselines = Mapping[str, Callable[[Tensors], Call]]


def shapes(spec: Any) -> tuple[Shape, ...]:
    """The shapes to check: the spec's own, and those that catch the usual faults."""
    return tuple(dict.fromkeys((*spec.check.shapes, *SHAPES)))


def random(rows: int, columns: int, dtype: str, device: torch.device) -> torch.Tensor:
    """Random numbers in rows that TMA can address."""
    view, _ = _poisoned((rows, columns), getattr(torch, DTYPES[dtype].torch), device)
    view.copy_(torch.randn(rows, columns, device=device))
    return view


def launch(
    module: ModuleType, spec: Any, shape: Shape, tensors: Tensors, config: Any
) -> tuple[dict[str, torch.Tensor], int]:
    """Runs the host function on results of NaN; gives them, and how many elements were written outside of them.

    TMA writes whole chunks: up to the end of the last one of a row is the kernel's to write. A result of one dimension
    is a row. Only a module that uses TMA knows how to `describe` a tensor.
    """
    host = getattr(module, spec.name)
    made = {n: _poisoned(like.shape, like.dtype, like.device) for n, like in _results(module, host, tensors).items()}
    results = {name: view for name, (view, _) in made.items()}
    host(**tensors, **results, config=config)
    torch.cuda.synchronize()
    chunk = CHUNK if hasattr(module, "describe") else 1
    return results, sum(_strays(view, whole, chunk) for view, whole in made.values())


def call(module: ModuleType, spec: Any, shape: Shape, tensors: Tensors, config: Any = None) -> Call:
    """A launch of the host function into results that are made once; without `config` it picks one."""
    host = getattr(module, spec.name)
    given = {**tensors, **_results(module, host, tensors)} | ({} if config is None else {"config": config})
    return lambda: host(**given)


def copying(x: torch.Tensor) -> Call:
    """A copy of x to time, which has no results to check."""
    source = x.contiguous()
    target = torch.empty_like(source)
    return lambda: (target.copy_(source), ())[1]


def tolerance(spec: Any, output: str) -> float:
    """The largest error norm that is right, of results that are rounded once; or what the spec says.

    Rounding costs at most half of a unit in the last place, and a fifth of one in the norm.
    """
    if spec.check.rtol != "auto":
        return float(spec.check.rtol)
    return float(torch.finfo(getattr(torch, DTYPES[spec.problem.dtype].torch)).eps) / 2


def _results(module: ModuleType, host: Callable[..., Any], tensors: Tensors) -> dict[str, torch.Tensor]:
    """Results as the host function allocates them: its keyword arguments that the problem does not give."""
    made = module.outputs(**tensors)
    keywords = [p.name for p in inspect.signature(host).parameters.values() if p.kind is p.KEYWORD_ONLY]
    names = [name for name in keywords if name not in (*tensors, "config")]
    return dict(zip(names, made if isinstance(made, tuple) else (made,), strict=True))


def _poisoned(shape: Shape, kind: torch.dtype, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """A matrix of NaN, or a row, and all of the memory that it lies in."""
    rows, columns = shape if len(shape) > 1 else (1, *shape)
    whole = torch.full((rows + 3, _chunks(columns, kind, CHUNK) + GAP), float("nan"), device=device, dtype=kind)
    return (whole[:rows, :columns] if len(shape) > 1 else whole[0, :columns]), whole


def _strays(view: torch.Tensor, whole: torch.Tensor, chunk: int) -> int:
    """Elements that are NaN no more, outside of `view` and of what is stored with the ends of its rows."""
    written = ~torch.isnan(whole)
    written[: len(view) if view.dim() > 1 else 1, : _chunks(view.shape[-1], view.dtype, chunk)] = False
    return int(written.sum())


def _chunks(columns: int, kind: torch.dtype, chunk: int) -> int:
    step = max(chunk // int(kind.itemsize), 1)
    return columns + -columns % step
