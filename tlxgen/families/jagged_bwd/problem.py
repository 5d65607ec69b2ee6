"""Problems of the gradients of GDPA and HSTU: the forward's inputs, and autograd in float64 as the reference.

It imports torch; the rest of the families does not.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from tlxgen.coverage import Waiver
from tlxgen.families.attention.inputs import Shape, heads_between_rows
from tlxgen.families.attention.sequences import window_of
from tlxgen.families.attention_bwd import problem as backward
from tlxgen.families.attention_bwd.problem import LIKE, Tensors, launch, reproducible, tolerance
from tlxgen.families.hstu.problem import ordered

from .spec import JaggedBwdSpec

__all__ = ["inputs", "launch", "reference", "reproducible", "shapes", "simulated_shapes", "tolerance", "unseen"]


def _forward(spec: JaggedBwdSpec) -> Any:
    return importlib.import_module(f"tlxgen.families.{spec.forward.kernel}.problem")


def _fit(spec: JaggedBwdSpec, shape: Shape) -> Shape:
    return ordered(shape) if spec.forward.kernel == "hstu" else shape


def shapes(spec: JaggedBwdSpec) -> tuple[Shape, ...]:
    """The shapes to check: those of the spec, and shapes that find the usual faults."""
    return tuple(dict.fromkeys(_fit(spec, shape) for shape in backward.shapes(spec)))


def simulated_shapes(spec: JaggedBwdSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Those of attention_bwd; four sequences of their own lengths; as many queries as keys; one query, or none. Of HSTU
    so many keys more that the queries that see a tile of keys begin, or end, with the last or first of a tile: of few
    pairs, so that one of them shows."""
    for shape in backward.simulated_shapes(spec, constants, sms):
        yield _fit(spec, shape)
    yield from ((4, 2, 1, 150, 150), (1, 1, 1, 333, 333), (3, 1, 1, 1, 140))
    if spec.forward.kernel == "hstu":
        near = window_of(2)[0]
        yield from ((1, 2, 1, 66, 131), (1, 2, 1, 67, 130 + near))
        if spec.arch == "sm100":  # whose tiles of queries are twice as high
            yield from ((1, 1, 1, 128, 129), (1, 2, 1, 131, 130 + near))


def unseen(spec: JaggedBwdSpec) -> Iterator[Waiver]:
    """Waivers for what no run can exercise, with reasons."""
    yield Waiver(("no-round",), r"for count in range\(steps \+ 1\)", "it is one more than the steps")
    if spec.arch == "sm100":
        yield Waiver(("no-round",), r"for count in range\(steps\)", "there is one step at least")
        yield Waiver(("one-round",), r"for count in range\(steps \+ 1\)", "there is one step at least")


def inputs(spec: JaggedBwdSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name."""
    made: Tensors = _forward(spec).inputs(spec.forward, shape, device)
    rows, heads, columns = made["q"].shape
    dout = heads_between_rows((), rows, heads, columns, made["q"].dtype, device)
    return made | {"dout": dout, "max_seqlen_k": shape[-1]}


def reference(spec: JaggedBwdSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """Each gradient, by autograd of the forward's reference in float64, and its norm."""
    leaves = {name: t[name].double().requires_grad_() for name in LIKE.values()}
    ((out, _),) = _forward(spec).reference(spec.forward, t | leaves).values()
    found = torch.autograd.grad(out, [*leaves.values()], t["dout"].double())
    return {name: (x, max(float(x.norm()), 1e-6)) for name, x in zip(LIKE, found, strict=True)}
