"""One case on a GPU: fresh inputs, poisoned output, a float64 reference, and every repeat the same bits.

An output that is added up in no fixed order need only be right in every repeat.
Knows no family: `problem` is a family's module of inputs, reference, tolerance, launch and what is reproducible.
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
    reference = problem.reference(spec, tensors)
    first: dict[str, torch.Tensor] = {}
    worst: dict[str, Any] = {}
    for repeat in range(repeats):
        outputs, strays = problem.launch(module, spec, shape, tensors, config)
        if strays:
            return _failed(f"repeat {repeat}: {strays} elements written outside of the outputs")
        for name, out in outputs.items():
            repeated = name in first
            if repeated and numerics.same_bits(out, first[name]):
                continue
            expected, scale = reference[name]
            verdict = numerics.compare(out, expected, scale, problem.tolerance(spec, name))
            if repeated and problem.reproducible(spec, name):
                text = f"{name}: repeat {repeat} differs from the first; {verdict.text}"
                return _failed(text, verdict.error, verdict.worst)
            if not verdict.passed:
                return _failed(f"{name}: {verdict.text}", verdict.error, verdict.worst)
            first[name] = out.clone()
            if verdict.error >= worst.get("error", 0.0):
                worst = {"error": verdict.error, "worst": verdict.worst, "text": f"{name}: {verdict.text}"}
    return {"passed": True, **worst}


def _failed(text: str, error: float | None = None, worst: tuple[int, int] | None = None) -> dict[str, Any]:
    return {"passed": False, "error": error, "worst": worst, "text": text}
