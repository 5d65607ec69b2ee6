"""A backward attention problem with numbers in it: inputs, reference, tolerance and launch.

That of every family of the backward: a spec says which gradients it has. Imports torch; the families do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.arch import DTYPES
from tlxgen.coverage import Waiver
from tlxgen.families.attention.inputs import GAP, Shape, heads_between_rows, shapes_of, strays
from tlxgen.families.attention_fwd.cost import window_of
from tlxgen.families.attention_fwd.problem import SOFTCAP, seen_of

from .spec import BackwardSpec, SoftmaxBackwardSpec

Tensors = dict[str, Any]
LIKE = {"dq": "q", "dk": "k", "dv": "v"}


def shapes(spec: BackwardSpec) -> tuple[Shape, ...]:
    """The shapes to check: the spec's own, and those that catch the usual faults."""
    return shapes_of(spec.check.shapes)


def simulated_shapes(spec: BackwardSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Problems that a CPU runs at once: fewer keys than queries; heads that share keys, ragged, with more steps than
    slots; one query and key; keys that under a causal mask no query sees, and tiles that one tile of queries does."""
    stages = max(constants.values())
    yield 2, 2, 2, 129, 65
    yield 1, 4, 2, min(stages + 1, 4) * 128 - 3, 261
    yield 1, 1, 1, 1, 1
    yield 1, 1, 1, 40, 300
    if spec.weights["mask"] == "window":  # two heads have the narrow one: no query sees the first keys, or the last
        yield 1, 2, 2, 40, 300


def unseen(spec: BackwardSpec) -> Iterator[Waiver]:
    """What no run can exercise, and why."""
    yield Waiver(("no-round",), r"for count in range\(steps \+ 1\)", "it is one more than the steps")
    if spec.arch == "sm100":
        yield Waiver(("no-round",), r"for count in range\(steps\)", "there is one step at least")
        yield Waiver(("one-round",), r"for count in range\(steps \+ 1\)", "there is one step at least")
        if spec.mask.kind == "none" or spec.mask.align == "bottom_right":
            yield Waiver(("empty",), "", "a CTA has some of the keys, a step some of the queries")
        return
    if spec.gradients == ("dq",) and spec.mask.kind == "window":
        yield Waiver(("no-round",), r"for count in range\(steps\)", "a tile of queries walks one of keys at least")
        return
    sees = "top_left" if spec.gradients == ("dq",) else "bottom_right"  # so the first query sees a key, a key the last
    if spec.mask.kind == "none" or (spec.mask.kind == "causal" and spec.mask.align == sees):
        why = "each query sees a key, or each key is seen by one"
        yield Waiver(("no-round",), r"for count in range\(steps\)", why)
        yield Waiver(("one-round",), r"for count in range\(steps \+ 1\)", why)


def inputs(spec: SoftmaxBackwardSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name. What lies between rows of 4-D tensors is NaN."""
    b, h, kv, n, m = shape
    d, dtype = spec.problem.head_dim, getattr(torch, DTYPES[spec.problem.dtype].torch)
    rows = {"q": (n, h), "k": (m, kv), "v": (m, kv), "dout": (n, h)}
    made: Tensors = {name: heads_between_rows((b,), *extents, d, dtype, device) for name, extents in rows.items()}
    if spec.mask.kind == "window":
        made["window"] = window_of(h)
    if spec.softmax.softcap:
        made["softcap"] = SOFTCAP
    out, made["lse"] = _forward(spec, made)
    made["out"] = heads_between_rows((b,), n, h, d, dtype, device)
    made["out"].copy_(out)
    return made


def _forward(spec: SoftmaxBackwardSpec, t: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    """O float64 and the log-sum-exp float32."""
    outs, sums = [], []
    for b, h, g in _each_head(t):
        x, _ = _scores(spec, t, b, h, g)
        lse = torch.logsumexp(x, dim=1)
        outs.append(_probabilities(x, lse) @ t["v"][b, g].double())
        sums.append(lse)
    lead = t["q"].shape[:2]
    return torch.stack(outs).unflatten(0, lead), torch.stack(sums).unflatten(0, lead).float()


def _each_head(t: Tensors) -> Iterator[tuple[int, int, int]]:
    """Batch entry, head of Q and the head of K that it shares; one at a time, since the scores of all would not fit."""
    batches, heads, ratio = t["q"].shape[0], t["q"].shape[1], t["q"].shape[1] // t["k"].shape[1]
    return ((b, h, h // ratio) for b in range(batches) for h in range(heads))


def _scores(spec: SoftmaxBackwardSpec, t: Tensors, b: int, h: int, g: int) -> tuple[torch.Tensor, torch.Tensor | float]:
    """Scores (Nq, Nk), -inf where a query does not see a key, and their derivative by Q K^T."""
    q, k = t["q"][b, h].double(), t["k"][b, g].double()
    scale = 1 / math.sqrt(q.shape[-1])
    x, slope = q @ k.T * scale, scale
    if spec.softmax.softcap:
        bent = torch.tanh(x / t["softcap"])
        x, slope = t["softcap"] * bent, scale * (1 - bent**2)
    return x.masked_fill(~seen_of(spec.weights, len(q), len(k), t, q.device), float("-inf")), slope


def _probabilities(x: torch.Tensor, lse: torch.Tensor) -> torch.Tensor:
    """exp(x - lse); of a row that sees no key, zeros."""
    return torch.exp(x - lse.clamp(min=-1e300)[:, None])


def launch(
    module: ModuleType, spec: BackwardSpec, shape: Shape, tensors: Tensors, config: Any
) -> tuple[dict[str, torch.Tensor], int]:
    """Runs the generated host function on gradients of NaN; returns them and the number of elements written outside."""
    buffers = {name: _around(tensors[of]) for name, of in _outputs(spec)}
    outputs = {name: inside for name, (_, inside) in buffers.items()}
    getattr(module, spec.name)(**tensors, **outputs, config=config)
    torch.cuda.synchronize()
    return outputs, sum(strays(whole, inside) for whole, inside in buffers.values())


def _outputs(spec: BackwardSpec) -> Iterator[tuple[str, str]]:
    """The gradients of a spec and what they are the gradients by."""
    return ((name, LIKE[name]) for name in spec.gradients)


def _around(like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor of NaN, and its part of the shape of `like`."""
    *lead, n, d = like.shape
    rows, width = (*lead, n + 3) if like.dim() == 4 else (lead[0] + 3, n), d + GAP // like.dtype.itemsize
    whole = torch.full((*rows, width), float("nan"), device=like.device, dtype=like.dtype)
    return whole, whole[tuple(map(slice, like.shape))]


def reference(spec: SoftmaxBackwardSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """Each gradient in float64, from the very values that the kernel reads, and the norm that an error is relative to.

    dS = P (dP - delta) is a difference: where both are nearly equal, as they are for few keys, dQ and dK are as exact
    as P dP is. They are held against a hundredth of what P dP alone would make, if that is more than their own norm.
    """
    grads = {name: torch.zeros(t[of].shape, dtype=torch.float64, device=t[of].device) for name, of in LIKE.items()}
    terms = {name: torch.zeros_like(grads[name]) for name in ("dq", "dk")}
    for b, h, g in _each_head(t):
        q, k, v, do = t["q"][b, h].double(), t["k"][b, g].double(), t["v"][b, g].double(), t["dout"][b, h].double()
        x, slope = _scores(spec, t, b, h, g)
        p = _probabilities(x, torch.logsumexp(x, dim=1))
        term = p * (do @ v.T)
        ds, term = slope * (term - p * term.sum(1, keepdim=True)), slope * term
        grads["dv"][b, g] += p.T @ do
        for made, factor in ((grads, ds), (terms, term)):
            made["dq"][b, h] += factor @ k
            made["dk"][b, g] += factor.T @ q
    scales = {name: max(float(x.norm()), float(terms.get(name, x).norm()) / 100) for name, x in grads.items()}
    return {name: (grads[name], scales[name]) for name in spec.gradients}


def tolerance(spec: BackwardSpec, output: str) -> float:
    """The largest error norm, relative to that of `reference`, that is right: twice what rounding P, dS, O costs."""
    if spec.check.rtol != "auto":
        return float(spec.check.rtol)
    return {"bf16": 1e-2, "fp16": 1.2e-3}[spec.problem.dtype]


def reproducible(spec: BackwardSpec, output: str) -> bool:
    """Whether every run gives the same bits: beside dK and dV, dQ is added up in whatever order its parts come."""
    return output != "dq" or len(spec.gradients) == 1
