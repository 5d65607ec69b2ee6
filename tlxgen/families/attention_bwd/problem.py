"""A backward attention problem with numbers in it: inputs, reference, tolerance and launch.

That of every family of the backward: a spec says which gradients it has. Imports torch; the families do not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any, cast

import torch

from tlxgen.arch import DTYPES
from tlxgen.coverage import Waiver
from tlxgen.families.attention.expressions.reference import modified
from tlxgen.families.attention.inputs import GAP, Shape, heads_between_rows, shapes_of, strays
from tlxgen.families.attention.sequences import lengths, window_of
from tlxgen.families.attention_fwd import sparse
from tlxgen.families.attention_fwd.problem import SOFTCAP, bias_of, cumulated, seen_of
from tlxgen.families.attention_fwd.problem import lists as lists_of

from . import quantised
from .spec import BackwardSpec, SoftmaxBackwardSpec

Tensors = dict[str, Any]
LIKE = {"dq": "q", "dk": "k", "dv": "v"}
BY_KEYS = frozenset({"k", "v", "dk", "dv", "k_columns"})
BY_ROWS = BY_KEYS | {"q", "out", "lse", "dout", "dq", "q_columns", "dout_columns"}
BY_HEADS = frozenset({"sink", "dsink"})
BY_PAIRS = frozenset({"attn_mask", "dbias"})
FAR = (-16.0, 8.0)  # what Q, by the root of head_dim, and K have in one dimension: a score of -128


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
    if spec.scaled:
        yield 1, 2, 1, 200, 1  # with one key, delta is dP and dS is zero: a wrong scale of dO in any row shows
    if spec.lengths != "dense":  # sequences of their own lengths, more keys than queries and fewer
        yield from ((4, 2, 1, 150, 150), (4, 1, 1, 260, 70), (3, 1, 1, 1, 140))
    if spec.weights.get("blocks"):
        yield 2, 2, 1, 395, 395  # lists of each batch entry and head
    if spec.dbias == "added":
        yield 2, 4, 2, 130, 194  # matrices that are for all batch entries and heads
    if spec.ordered:
        yield 1, 1, 1, 300, 520  # tiles of queries that several CTAs add to, under every mask
    if spec.weights["mask"] == "window":  # two heads have the narrow one: no query sees the first keys, or the last
        yield 1, 2, 2, 40, 300
    if spec.weights["mask"] == "window" and spec.weights.get("modified"):
        yield 1, 1, 1, 130, 300  # the wide one: tiles of which no score is hidden, or past an end


def unseen(spec: BackwardSpec) -> Iterator[Waiver]:
    """What no run can exercise, and why."""
    yield Waiver(("no-round",), r"for count in range\(steps \+ 1\)", "it is one more than the steps")
    if spec.weights.get("sink"):
        yield Waiver(("no-round",), r"for (batch|tile) in range", "there is a batch entry, and it has a query")
        yield Waiver(("second-round",), r"for tile in range", "that takes more than 8192 queries")
    if spec.dbias != "none":
        yield Waiver(("no-round",), r"for key in range\(0, ", "there is a key")
    if spec.arch == "sm100":
        yield Waiver(("no-round",), r"for count in range\(steps\)", "there is one step at least")
        yield Waiver(("one-round",), r"for count in range\(steps \+ 1\)", "there is one step at least")
        if spec.mask.kind == "none" or spec.mask.align == "bottom_right":
            yield Waiver(("empty",), "", "a CTA has some of the keys, a step some of the queries")
        return
    if spec.gradients == ("dq",) and spec.mask.kind == "window":
        yield Waiver(("no-round",), r"for count in range\(steps\)", "a tile of queries walks one of keys at least")
        return
    if blocks := spec.weights.get("blocks"):
        if spec.lengths == "dense":
            yield Waiver(("no-round",), r"for list in range\(lists\)", "each head has a list")
        if blocks.full:
            yield Waiver(("one-round",), r"for list in range\(lists\)", "each head has two lists")
        yield Waiver(("one-round",), r"for at in range\(blocks \* ", "a block has several steps")
        return
    sees = "top_left" if spec.gradients == ("dq",) else "bottom_right"  # so the first query sees a key, a key the last
    if spec.mask.kind == "none" or (spec.mask.kind == "causal" and spec.mask.align == sees):
        why = "each query sees a key, or each key is seen by one"
        yield Waiver(("no-round",), r"for count in range\(steps\)", why)
        yield Waiver(("one-round",), r"for count in range\(steps \+ 1\)", why)


def inputs(spec: SoftmaxBackwardSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name. What lies between rows is NaN."""
    b, h, kv, n, m = shape
    d, dv, packed = spec.problem.head_dim, spec.head_dim_v, spec.lengths == "packed"
    dtype = getattr(torch, DTYPES[spec.problem.dtype].torch)
    q_lengths, k_lengths = lengths(b, n, 0), lengths(b, m, 1)
    rows, lead = ((sum(q_lengths), sum(k_lengths)), ()) if packed else ((n, m), (b,))
    extents = {"q": (rows[0], h, d), "k": (rows[1], kv, d), "v": (rows[1], kv, dv), "dout": (rows[0], h, dv)}
    made: Tensors = {name: heads_between_rows(lead, *x, dtype, device) for name, x in extents.items()}
    if n > m > 1:  # the last query is far from all keys: if a row past the end of K counted, exp(0 - lse) is infinite
        by_row = made["q"] if packed else made["q"].transpose(1, 2)
        last = [end - 1 for end in itertools.accumulate(q_lengths) if end] if packed else -1
        by_row[..., last, :, 0], made["k"][..., 0] = FAR[0] * math.sqrt(d), FAR[1]
    if packed:
        made |= {f"cu_seqlens_{x}": cumulated(y, device) for x, y in (("q", q_lengths), ("k", k_lengths))}
        made |= {"max_seqlen_q": n, "max_seqlen_k": m}
    if spec.lengths == "keys":
        made["key_lengths"] = torch.tensor(k_lengths, dtype=torch.int32, device=device)
    if spec.mask.kind == "window":
        made["window"] = window_of(h)
    if spec.softmax.softcap:
        made["softcap"] = SOFTCAP
    if spec.weights.get("sink"):
        made["sink"] = torch.randn(h, device=device)
    if spec.scaled:
        made |= quantised.inputs(made)
    if spec.weights.get("bias"):
        made["attn_mask"] = bias_of(cast(Any, spec), shape, device)[: None if n % 2 else 1]
        if spec.dbias == "stored":
            made["attn_mask"] = made["attn_mask"].expand(b, h, n, m)
    if spec.weights.get("blocks"):
        made |= lists(spec, shape, device)
    made["out"] = heads_between_rows(lead, rows[0], h, dv, out_dtype(spec), device)
    made["lse"] = torch.empty((h, rows[0]) if packed else (b, h, n), device=device)
    attend(spec, made)
    return made


def out_dtype(spec: BackwardSpec) -> torch.dtype:
    """Of O and of the gradients."""
    found: torch.dtype = getattr(torch, DTYPES[spec.out_dtype].torch)
    return found


def plain(spec: BackwardSpec, t: Tensors) -> Tensors:
    """The tensors with what e4m3 numbers and scales stand for in their place."""
    return t | quantised.dequantised(t) if spec.scaled else t


def lists(spec: SoftmaxBackwardSpec, shape: Shape, device: torch.device) -> Tensors:
    """A BlockMask's lists for its backward, of the blocks that its forward's lists name."""
    of_rows = sparse.kinds(cast(Any, spec), shape)
    of_columns = [[[list(column) for column in zip(*head, strict=True)] for head in entry] for entry in of_rows]
    made = lists_of(of_columns, spec.weights["blocks"].full, device)
    return {name.replace("kv_", "q_"): x for name, x in made.items()}


def attend(spec: SoftmaxBackwardSpec, t: Tensors) -> None:
    """Fills O and the log-sum-exp in, as a forward has them of the other tensors."""
    wide = plain(spec, t)
    for of, place in zip(_each_head(t, wide), _places(t), strict=True):
        x, _ = _scores(spec, t, of, place)
        of["lse"].copy_(_log_sum(x, of))
        of["out"].copy_(_probabilities(x, of) @ of["v"].double())


def _each_head(t: Tensors, named: Mapping[str, torch.Tensor]) -> Iterator[dict[str, torch.Tensor]]:
    """Of each sequence and head of Q, what those of the named tensors have of it: views (N, D), (N,) or ().

    One at a time, since the scores of all would not fit.
    """
    packed = "cu_seqlens_q" in t
    heads, shared = t["q"].shape[1], t["q"].shape[1] // t["k"].shape[1]
    for i in range(t["cu_seqlens_q"].numel() - 1 if packed else t["q"].shape[0]):
        for h in range(heads):
            made = {
                name: _view(t, x, name, i, h, h // shared)
                for name, x in named.items()
                if name in BY_ROWS | BY_HEADS | BY_PAIRS
            }
            yield made | ({"kinds": _kinds(t, i, h)} if named is t and "q_num_blocks" in t else {})


def _kinds(t: Tensors, entry: int, head: int) -> torch.Tensor:
    """Of each block, a row for queries, as what the lists of a batch entry and head name it."""
    columns, rows = t["q_num_blocks"].shape[2], t["q_indices"].shape[3]
    made = torch.full((rows, columns), sparse.NONE, device=t["q"].device)
    for prefix, kind in (("q", sparse.PARTIAL), ("full_q", sparse.FULL)):
        if f"{prefix}_indices" in t:
            counts, indices = (t[f"{prefix}_{x}"] for x in ("num_blocks", "indices"))
            at = entry % counts.shape[0], head % counts.shape[1]
            for column, (count, named) in enumerate(zip(counts[at].tolist(), indices[at], strict=True)):
                made[named[:count].long(), column] = kind
    return made


def _places(t: Tensors) -> Iterator[tuple[int, int]]:
    """The sequence or batch entry, and the head of Q, of each that `_each_head` has."""
    batches = t["cu_seqlens_q"].numel() - 1 if "cu_seqlens_q" in t else t["q"].shape[0]
    return itertools.product(range(batches), range(t["q"].shape[1]))


def _view(t: Tensors, x: torch.Tensor, name: str, i: int, h: int, g: int) -> torch.Tensor:
    """What a tensor has of sequence or batch entry i and head h of Q, or g of K and V."""
    if name in BY_HEADS:
        return x[h]
    if name in BY_PAIRS:
        keys = int(t["key_lengths"][i]) if "key_lengths" in t else x.shape[3]
        return x[i % x.shape[0], h % x.shape[1], :, :keys]
    side = "k" if name in BY_KEYS else "q"
    head = g if side == "k" else h
    if f"cu_seqlens_{side}" in t:
        begin, end = t[f"cu_seqlens_{side}"][i : i + 2].tolist()
        return x[head, begin:end] if name == "lse" else x[begin:end, head]
    return x[i, head, : int(t["key_lengths"][i])] if side == "k" and "key_lengths" in t else x[i, head]


def _scores(
    spec: SoftmaxBackwardSpec, t: Tensors, of: Mapping[str, torch.Tensor], place: tuple[int, int]
) -> tuple[torch.Tensor, torch.Tensor | float]:
    """Scores (Nq, Nk) of a head, -inf where a query does not see a key, and their derivative by Q K^T."""
    q, k = of["q"].double(), of["k"].double()
    scale = 1 / math.sqrt(q.shape[-1])
    x, slope = q @ k.T * scale, scale
    if spec.softmax.softcap:
        bent = torch.tanh(x / t["softcap"])
        x, slope = t["softcap"] * bent, scale * (1 - bent**2)
    if "attn_mask" in of:
        x = x + of["attn_mask"].double()
    seen = seen_of(spec.weights, len(q), len(k), t, q.device)
    if "kinds" in of:
        seen = _in_blocks(spec, of["kinds"], seen)
    if spec.softmax.expression:
        x, slope = _modified(spec.softmax.expression, x, place, t["q"].shape[1])
        slope = (scale * slope).masked_fill(~seen, 0.0)
    return x.masked_fill(~seen, float("-inf")), slope


def _modified(text: str, scores: torch.Tensor, place: tuple[int, int], heads: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What an expression makes of a head's scaled scores, and its derivative by them, which is autograd's."""
    batch, head = place
    with torch.enable_grad():
        x = scores.detach().requires_grad_()
        made = modified(text, x, head=head, batch=batch, heads=heads)
        (slope,) = torch.autograd.grad(made.sum(), x)
    return made.detach(), slope


def _in_blocks(spec: SoftmaxBackwardSpec, kinds: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """The pairs of full blocks, and of those of partial blocks the ones `seen`."""
    blocks, (n, m) = spec.weights["blocks"], seen.shape
    kinds = kinds.repeat_interleave(blocks.m, 0).repeat_interleave(blocks.n, 1)[:n, :m]
    return (kinds == sparse.FULL) | (kinds == sparse.PARTIAL) & seen


def _log_sum(x: torch.Tensor, of: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Of each row of a head's scores, the log-sum-exp, the sink's among them; of no keys, too."""
    if "sink" in of:
        x = torch.cat([x, of["sink"].double().expand(len(x), 1)], dim=1)
    return torch.logsumexp(x, dim=1) if x.shape[1] else x.new_full((len(x),), float("-inf"))


def _probabilities(x: torch.Tensor, of: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """exp(x - lse); of a row that sees no key, zeros."""
    return torch.exp(x - _log_sum(x, of).clamp(min=-1e300)[:, None])


def launch(
    module: ModuleType, spec: BackwardSpec, shape: Shape, tensors: Tensors, config: Any
) -> tuple[dict[str, torch.Tensor], int]:
    """Runs the generated host function on gradients of NaN; returns them and the number of elements written outside."""
    buffers = {name: _around(tensors[of], out_dtype(spec)) for name, of in results_of(spec)}
    if spec.dbias == "stored" and tensors["attn_mask"].shape[3] % (GAP // tensors["attn_mask"].itemsize):
        del buffers["dbias"]  # TMA stores whole chunks: rows that are not are the host's own
    outputs = {name: inside for name, (_, inside) in buffers.items()}
    made = getattr(module, spec.name)(**tensors, **outputs, config=config)
    torch.cuda.synchronize()
    if spec.dbias != "none":
        outputs["dbias"] = made[len(spec.gradients)]
    return outputs, sum(strays(whole, inside) for whole, inside in buffers.values())


def results_of(spec: BackwardSpec) -> Iterator[tuple[str, str]]:
    """The gradients of a spec and what they are the gradients by."""
    yield from ((name, LIKE[name]) for name in spec.gradients)
    if spec.dbias != "none":
        yield "dbias", "attn_mask"
    if spec.weights.get("sink"):
        yield "dsink", "sink"


def _around(like: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """A tensor of NaN, and its part of the shape of `like`; of a vector, of its type too."""
    if like.dim() == 1:
        whole = torch.full((len(like) + GAP,), float("nan"), device=like.device, dtype=like.dtype)
        return whole, whole[: len(like)]
    *lead, n, d = like.shape
    gap = GAP // dtype.itemsize
    rows, width = (*lead, n + 3) if like.dim() == 4 else (lead[0] + 3, n), -(-d // gap) * gap + gap
    whole = torch.full((*rows, width), float("nan"), device=like.device, dtype=dtype)
    return whole, whole[tuple(map(slice, like.shape))]


def reference(spec: SoftmaxBackwardSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """Each gradient in float64, from the very values that the kernel reads, and the norm that an error is relative to.

    dS = P (dP - delta) is a difference: where both are nearly equal, as they are for few keys, dQ and dK are as exact
    as P dP is. They are held against a hundredth of what P dP alone would make, if that is more than their own norm.
    Beside a sink, O of a single key is rounded too, and so is delta by it: they are as exact as half of the norm of the
    terms of delta.
    """
    return gradients_of(spec, t)


def gradients_of(
    spec: SoftmaxBackwardSpec, t: Tensors, emulated: bool = False
) -> dict[str, tuple[torch.Tensor, float]]:
    """The same; if `emulated`, with P and dS of MXFP8 rounded as the kernel rounds them, up to the order of sums."""
    t = plain(spec, t)
    like = LIKE | ({"dsink": "sink"} if "sink" in t else {}) | ({"dbias": "attn_mask"} if "attn_mask" in t else {})
    grads = {name: torch.zeros(t[of].shape, dtype=torch.float64, device=t[of].device) for name, of in like.items()}
    terms: Tensors = {name: torch.zeros_like(grads[name]) for name in ("dq", "dk", "dsink", "dbias") if name in grads}
    doubts: Tensors = {name: torch.zeros_like(x) for name, x in terms.items()}
    sums_of = (_each_head(t, x) for x in (t, grads, terms, doubts))
    for of, made, parts, doubt, place in zip(*sums_of, _places(t), strict=True):
        q, k, v, do = (of[name].double() for name in ("q", "k", "v", "dout"))
        # Quantised along the sequence, where the sums over it ask for that.
        q_sum, k_sum, do_sum = (of.get(f"{name}_columns", of[name]).double() for name in ("q", "k", "dout"))
        x, slope = _scores(spec, t, of, place)
        p = _probabilities(x, of)
        term = p * (do @ v.T)
        if "sink" in of:
            p_sink = torch.exp(of["sink"].double() - _log_sum(x, of))
            made["dsink"] -= (p_sink * term.sum(1)).sum()
            parts["dsink"] += (p_sink[:, None] * term).abs().sum()
            rounded = (p @ v * do).norm(dim=1)
            doubt["dsink"] += (p_sink * rounded).norm()
            doubt["dq"] += slope * p * rounded[:, None] @ k
            if "dbias" in doubt:
                doubt["dbias"] += p * rounded[:, None]
            doubt["dk"] += (slope * p * rounded[:, None]).T @ q
        if "dbias" in made:
            made["dbias"] += term - p * term.sum(1, keepdim=True)
            parts["dbias"] += term
        ds, term = slope * (term - p * term.sum(1, keepdim=True)), slope * term
        if emulated:
            p, ds = quantised.rounded_weights(p), slope * quantised.rounded_gradients(ds / slope)
        made["dv"] += p.T @ do_sum
        for sums, factor in ((made, ds), (parts, term)):
            sums["dq"] += factor @ k_sum
            sums["dk"] += factor.T @ q_sum
    scales = {name: max(float(x.norm()), 1e-6) for name, x in grads.items()}
    for name, x in terms.items():
        scales[name] = max(scales[name], float(x.norm()) / 100, float(doubts[name].norm()) / 2)
    return {name: (grads[name], scales[name]) for name, _ in results_of(spec)}


def tolerance(spec: BackwardSpec, output: str) -> float:
    """The largest error norm, relative to that of `reference`, that is right: twice what rounding P, dS, O costs.

    Of MXFP8 that is 2.6e-2, whatever the gradient: e4m3 rounds P by one scale, dS by one for 32 x 32 elements.
    """
    if spec.check.rtol != "auto":
        return float(spec.check.rtol)
    return {"bf16": 1e-2, "fp16": 1.2e-3, "e4m3": 5.5e-2}[spec.problem.dtype]


def reproducible(spec: BackwardSpec, output: str) -> bool:
    """Whether every run gives the same bits: parts of dQ are added up as they come, unless in the order of keys, and so
    are dK and dV of heads of Q that have CTAs of their own."""
    if output in ("dk", "dv"):
        return not spec.apart
    if output == "dbias":
        return spec.dbias == "stored"
    return output != "dq" or len(spec.gradients) == 1 or spec.ordered
