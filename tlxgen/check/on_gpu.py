"""Checks one case on a GPU: fresh inputs, poisoned outputs, a float64 reference, and equal bits in every repeat.

An output that is summed in no fixed order must be correct in every repeat, but its bits may differ. This module knows
no family: `problem` is a family's module with inputs, reference, tolerance, launch and, optionally, `reproducible`;
`peers`, from the family's benchmark, are torch's own kernels for the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch

from . import numerics

Outputs = Mapping[str, torch.Tensor]
Peers = Callable[[Any, tuple[int, ...], Any], Mapping[str, Callable[[], Outputs]]]
FACTOR = 2.0  # limit of our error over that of the most exact peer
SMALL = 1e-2  # share of the tolerance that a peer's error counts for at least, as fp32 sums may cancel to almost 0


def run(
    problem: Any,
    module: ModuleType,
    spec: Any,
    shape: tuple[int, ...],
    config: Any,
    repeats: int,
    seed: int,
    peers: Peers | None = None,
) -> dict[str, Any]:
    """Runs the case `repeats` times. Returns {passed, error, worst, text} and, with peers, {peers}: the errors of each
    output by peer. Exceptions of the kernel are not caught."""
    device = torch.device("cuda", torch.cuda.current_device())
    torch.manual_seed(seed)
    tensors = problem.inputs(spec, shape, device)
    reference = problem.reference(spec, tensors)
    reproducible = getattr(problem, "reproducible", lambda spec, output: True)
    first: dict[str, torch.Tensor] = {}
    worst: dict[str, Any] = {"error": 0.0, "worst": None, "text": "nothing to compare"}
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
            if repeated and reproducible(spec, name):
                text = f"{name}: repeat {repeat} differs from the first; {verdict.text}"
                return _failed(text, verdict.error, verdict.worst)
            if not verdict.passed:
                return _failed(f"{name}: {verdict.text}", verdict.error, verdict.worst)
            first[name] = out.clone()
            if verdict.error >= worst["error"]:
                worst = {"error": verdict.error, "worst": verdict.worst, "text": f"{name}: {verdict.text}"}
    if peers is None:
        return {"passed": True, **worst}
    least = {name: SMALL * problem.tolerance(spec, name) for name in first}
    beside = _beside(peers(spec, shape, tensors), first, reference, least)
    for name, errors in beside.items():
        if errors["ratio"] > FACTOR:
            text = f"{name}: error {errors['ours']:.2e} is {errors['ratio']:.2f} times that of torch's own kernel"
            return _failed(text, worst["error"], worst["worst"]) | {"peers": beside}
    return {"passed": True, **worst, "peers": beside}


def _beside(
    peers: Mapping[str, Callable[[], Outputs]],
    ours: Outputs,
    reference: Mapping[str, tuple[torch.Tensor, float]],
    least: Mapping[str, float],
) -> dict[str, dict[str, float]]:
    """For each output that a peer also has: our error, each peer's error, and the ratio of ours to the least of theirs.

    A peer's error counts for at least `least`, and at least the error of the reference rounded to the output's dtype. A
    peer that refuses the arguments is left out.
    """
    found: dict[str, dict[str, float]] = {}
    for peer, call in peers.items():
        try:
            theirs = call()
        except RuntimeError:
            continue
        for name in ours.keys() & theirs.keys():
            found.setdefault(name, {})[peer] = numerics.distance(theirs[name], *reference[name])
    for name, errors in found.items():
        exact, scale = reference[name]
        rounded = numerics.distance(exact.to(ours[name].dtype), exact, scale)
        best = max(min(errors.values()), rounded, least[name])
        errors["ours"] = numerics.distance(ours[name], exact, scale)
        errors["ratio"] = errors["ours"] / best
    return found


def _failed(text: str, error: float | None = None, worst: tuple[int, int] | None = None) -> dict[str, Any]:
    return {"passed": False, "error": error, "worst": worst, "text": text}
