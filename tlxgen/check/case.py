"""One case on a GPU: fresh inputs, poisoned output, a float64 reference, and every repeat the same bits.

Knows no family: `problem` is a family's module of inputs, reference, tolerance and launch.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from . import numerics


def run(
    problem: Any, module: ModuleType, spec: Any, shape: tuple[int, ...], config: Any, repeats: int, seed: int
) -> dict[str, Any]:
    """Runs the case `repeats` times; returns {passed, error, worst, text}. Errors of the kernel are the caller's."""
    device = torch.device("cuda", torch.cuda.current_device())
    torch.manual_seed(seed)
    tensors = problem.inputs(spec, shape, device)
    reference, scale = problem.reference(spec, tensors)
    first: torch.Tensor | None = None
    for repeat in range(repeats):
        out, strays = problem.launch(module, spec, shape, tensors, config)
        if strays:
            return _failed(f"repeat {repeat}: {strays} elements written outside C")
        if first is None:
            first = out.clone()
            verdict = numerics.compare(out, reference, scale, problem.tolerance(spec))
            if not verdict.passed:
                return _failed(verdict.text, verdict.error, verdict.worst)
        elif not numerics.same_bits(out, first):
            verdict = numerics.compare(out, reference, scale, problem.tolerance(spec))
            return _failed(f"repeat {repeat} differs from the first; {verdict.text}", verdict.error, verdict.worst)
    return {"passed": True, "error": verdict.error, "worst": verdict.worst, "text": verdict.text}


def _failed(text: str, error: float | None = None, worst: tuple[int, int] | None = None) -> dict[str, Any]:
    return {"passed": False, "error": error, "worst": worst, "text": text}
