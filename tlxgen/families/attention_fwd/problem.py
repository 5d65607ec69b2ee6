"""A forward attention problem with numbers in it: inputs, reference, tolerance and launch.

Imports torch; the rest of the family does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.arch import DTYPES, Sm100
from tlxgen.coverage import Waiver
from tlxgen.families.attention.expressions.reference import modified
from tlxgen.families.attention.inputs import GAP, Shape, heads_between_rows, shapes_of, strays
from tlxgen.families.attention.sequences import lengths, window_of
from tlxgen.families.kit.unseen import GRID
from tlxgen.families.mx_quantize.reference import blocked

from . import sparse
from .spec import AttentionSpec, ForwardSpec

Tensors = dict[str, Any]
SOFTCAP = 3.0  # near to the scores of random inputs, so that it bends them
MX_BLOCK = Sm100.mx_block  # elements that share a scale
SHARP = 8  # so many times as large are the scores of some heads, where probabilities have few bits
LATE = 8.0  # so many times as long are the keys that are walked last, where O is rescaled lazily


def shapes(spec: ForwardSpec) -> tuple[Shape, ...]:
    """The shapes to check: the spec's own, and those that catch the usual faults."""
    return shapes_of(spec.check.shapes)


def simulated_shapes(spec: ForwardSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Problems that a CPU runs at once on `sms` SMs: fewer keys than queries; three items an SM, ragged, with more
    tiles of keys than slots, and fewer; two an SM, the first with as many as slots; one query and two tiles of keys; a
    head with so many tiles of keys that its slots of a short ring go round twice. Of packed sequences, more than there
    are CTAs, a tile each, so that a CTA's first item is of any; of those that are drawn, more empty ones than a search
    looks at, then as many with a tile each, of two heads that share K and V. The tile's sizes come from the config."""
    m, n, stages = (constants[name] for name in ("BLOCK_M", "BLOCK_N", "KV_STAGES"))
    yield 2, 2, 2, m + 1, n // 2 + 1
    yield 1, sms, max(sms // 2, 1), 2 * m + m // 2 - 3, min(stages + 1, 4) * n + 5
    yield 1, sms, 1, 2 * m - 3, min(stages, 4) * n - 3
    yield 1, 1, 1, 1, n + 1
    yield 1, 1, 1, *2 * ((2 * min(stages, 2) + 2) * n - 3,)
    if isinstance(spec, AttentionSpec) and spec.problem.lengths == "packed":
        yield 9, 1, 1, m - 3, n - 3
    if spec.schedule.kind == "dynamic":
        yield 70, 2, 1, 2, 2


def unseen(spec: ForwardSpec) -> Iterator[Waiver]:
    """What no run can exercise, and why."""
    yield GRID
    why = "an item has one tile of keys at least, which hides what it must not see"
    yield Waiver(("no-round",), r"for tile in range\(end - 1, (begin - 1|-1), -1\)", why)
    if spec.problem.lengths == "dense" and spec.tasks.mma.replicate == 1:
        yield Waiver(("empty",), "", "an item's one tile of queries has a row, and each of its tiles of keys has a key")


def inputs(spec: AttentionSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the generated host function, by name. What lies between rows is NaN."""
    b, h, _, n, m = shape
    q_lengths, k_lengths = lengths(b, n, 0), lengths(b, m, 1)
    made = operands(spec, shape, q_lengths, k_lengths, device)
    if spec.scaled:
        made |= scales(made, device)
    elif spec.problem.dtype == "e4m3":
        made["v"] = keys_last(made["v"])
    if spec.problem.lengths == "keys":
        made["key_lengths"] = torch.tensor(k_lengths, dtype=torch.int32, device=device)
    if spec.softmax.sink:
        made["sink"] = torch.randn(h, device=device)
    if spec.softmax.softcap:
        made["softcap"] = SOFTCAP
    if spec.bias:
        made["attn_mask"] = bias_of(spec, shape, device)
    if spec.mask.blocks:
        made |= lists(sparse.kinds(spec, shape), spec.mask.blocks.full, device)
    if spec.mask.kind == "window":
        made["window"] = window_of(h)
    if spec.softmax.rescale == "lazy":  # maxima rise a lot at the keys that come last, and little before
        packed = spec.problem.lengths == "packed"
        made["k"].narrow(0 if packed else 2, 0, (sum(k_lengths) if packed else m) // 2).mul_(LATE)
    return made


def operands(
    spec: ForwardSpec, shape: Shape, q_lengths: list[int], k_lengths: list[int], device: torch.device
) -> Tensors:
    """Q, K and V, and, of packed sequences of so many queries and keys, where they lie."""
    b, h, kv, n, m = shape
    d, dv, packed = spec.problem.head_dim, spec.head_dim_v, spec.problem.lengths == "packed"
    dtype = getattr(torch, DTYPES[spec.problem.dtype].torch)
    rows = (sum(q_lengths), sum(k_lengths)) if packed else (n, m)
    lead = () if packed else (b,)
    made: Tensors = {
        "q": heads_between_rows(lead, rows[0], h, d, dtype, device),
        "k": heads_between_rows(lead, rows[1], kv, d, dtype, device),
        "v": heads_between_rows(lead, rows[1], kv, dv, dtype, device),
    }
    if packed:
        made |= {"cu_seqlens_q": cumulated(q_lengths, device), "cu_seqlens_k": cumulated(k_lengths, device)}
        made["max_seqlen_q"] = n
    return made


def bias_of(spec: AttentionSpec, shape: Shape, device: torch.device) -> torch.Tensor:
    """Random numbers, some of them -inf, and all of some rows: for all batch entries, which are expanded, where queries
    are even, and for all heads where keys are."""
    b, h, _, n, m = shape
    dtype = getattr(torch, DTYPES[spec.bias].torch)
    gap = GAP // dtype.itemsize
    several = (b if n % 2 else 1, h if m % 2 else 1)
    whole = torch.full((*several, n, -(-m // gap) * gap + gap), float("nan"), device=device, dtype=dtype)
    view = whole[..., :m]
    view.copy_(torch.randn(*several, n, m, device=device))
    view[torch.rand(view.shape, device=device) < 0.1] = float("-inf")
    view[:, :, n // 2 :: 7] = float("-inf")
    return view.expand(b, *view.shape[1:])


def lists(kinds: sparse.Kinds, full: bool, device: torch.device) -> Tensors:
    """A BlockMask's lists of these blocks, in any order; what follows the named ones of a row is -1."""
    of = torch.tensor(kinds, device=device)
    made = {}
    for name, kind in (("kv", sparse.PARTIAL), ("full_kv", sparse.FULL))[: 1 + full]:
        named = of == kind
        order = torch.argsort(named * 2 + torch.rand(of.shape, device=device), dim=3, descending=True)
        counts = named.sum(3, keepdim=True)
        after = torch.arange(of.shape[3], device=device) >= counts
        made[f"{name}_num_blocks"] = counts[..., 0].int()
        made[f"{name}_indices"] = order.masked_fill(after, -1).int()
    return made


def blocks_seen(spec: AttentionSpec, t: Tensors, entry: int, head: int, seen: torch.Tensor) -> torch.Tensor:
    """(Nq, Nk): those pairs that lie in full blocks, and of those in partial ones what is `seen`."""
    blocks = spec.mask.blocks
    assert blocks
    found = torch.zeros_like(seen)
    for kind in ("", "full_")[: 1 + blocks.full]:
        counts, indices = (t[f"{kind}kv_{x}"] for x in ("num_blocks", "indices"))
        at = entry % counts.shape[0], head % counts.shape[1]
        for i, (count, row) in enumerate(zip(counts[at].tolist(), indices[at].tolist(), strict=True)):
            for j in row[:count]:
                block = slice(i * blocks.m, (i + 1) * blocks.m), slice(j * blocks.n, (j + 1) * blocks.n)
                found[block] = True if kind else seen[block]
    return found


def scales(operands: Tensors, device: torch.device) -> Tensors:
    """Random MX scales of Q and K along the head dimension, and of V along keys: in blocks, filled up with zeros.

    Those of Q and K are near 1, so that scores are those of a softmax that is neither flat nor one key's. Those of Q
    are SHARP times as large for every other head: against a maximum of such scores, those of other heads are lost in
    e4m3, so that one that is kept from another item shows.
    """
    made = {}
    for name, spread in (("q", 1), ("k", 1), ("v", 3)):
        b, h, rows, columns = (operands[name].mT if name == "v" else operands[name]).shape
        bytes_ = torch.randint(127 - spread, 127 + spread, (b, h, rows, -(-columns // MX_BLOCK)), device=device)
        if name == "q":
            bytes_[:, h % 2 :: 2] += int(math.log2(SHARP))
        packed = torch.cat([blocked(x) for x in bytes_.flatten(0, 1).to(torch.uint8)])
        made[f"{name}_scale"] = packed.view(b, h, *packed.shape[1:])
    return made


def dequantised(t: Tensors, name: str) -> torch.Tensor:
    """Q, K or V in float64, times its scales."""
    x = t[name].mT if name == "v" else t[name]
    packed, (b, h, rows, columns) = t[f"{name}_scale"], x.shape
    blocks = packed.reshape(b, h, *packed.shape[2:4], 32, 4, 4).permute(0, 1, 2, 5, 4, 3, 6)
    factors = torch.exp2(blocks.reshape(b, h, packed.shape[2] * 128, -1).double() - 127)
    wide = x.double() * factors.repeat_interleave(MX_BLOCK, 3)[:, :, :rows, :columns]
    return wide.mT if name == "v" else wide


def cumulated(lengths: list[int], device: torch.device) -> torch.Tensor:
    ends = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
    return torch.tensor(ends, dtype=torch.int32, device=device)


def keys_last(v: torch.Tensor) -> torch.Tensor:
    """V (B, Hkv, Nk, Dv) with contiguous keys, NaN between its columns."""
    b, h, keys, columns = v.shape
    pitch = (-(-keys // GAP) + 1) * GAP // v.element_size()
    whole = torch.full((b, h, columns, pitch), float("nan"), device=v.device, dtype=v.dtype)
    whole[..., :keys].copy_(v.transpose(2, 3))
    return whole[..., :keys].transpose(2, 3)


def launch(
    module: ModuleType, spec: ForwardSpec, shape: Shape, tensors: Tensors, config: Any
) -> tuple[dict[str, torch.Tensor], int]:
    """Runs the generated host function on outputs of NaN; returns them and the number of elements written outside."""
    q, v = tensors["q"], tensors["v"]
    dtype = getattr(torch, DTYPES[spec.out_dtype].torch)
    gap = GAP // dtype.itemsize
    packed = spec.problem.lengths == "packed"
    if packed:
        whole = torch.full((q.shape[0] + 3, q.shape[1], v.shape[-1] + gap), float("nan"), device=q.device, dtype=dtype)
        out = whole[: q.shape[0], :, : v.shape[-1]]
    else:
        b, h, n, _ = q.shape
        whole = torch.full((b, h, n + 3, v.shape[-1] + gap), float("nan"), device=q.device, dtype=dtype)
        out = whole[:, :, :n, : v.shape[-1]]
    arguments, outputs = dict(tensors), {"out": out}
    buffers = [(whole, out)]
    if spec.lse:
        lead = (q.shape[1], q.shape[0]) if packed else tuple(q.shape[:3])
        flat = torch.full((math.prod(lead) + 64,), float("nan"), device=q.device)
        outputs["lse"] = flat[: math.prod(lead)].view(lead)
        buffers.append((flat, flat[: math.prod(lead)]))
    getattr(module, spec.name)(**arguments, **outputs, config=config)
    torch.cuda.synchronize()
    return outputs, sum(strays(*pair) for pair in buffers)


def reference(spec: AttentionSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """Each output in float64, from the very values that the kernel reads, and the norm that an error is relative to.

    O's norm is its own; the log-sum-exp is good to an absolute error, whatever its size: its scale is that of ones.
    """
    t = t | {name: dequantised(t, name) for name in "qkv"} if spec.scaled else t
    parts = [_sequence(spec, t, i, *each) for i, each in enumerate(sequences(spec, t))]
    out, lse = together(spec, [o for o, _ in parts]), [x for _, x in parts]
    lse = torch.cat(lse, dim=1) if spec.problem.lengths == "packed" else torch.stack(lse)
    finite = lse[torch.isfinite(lse)]
    made = {"out": (out, float(out.norm())), "lse": (lse, max(float(finite.norm()), lse.numel() ** 0.5))}
    return made if spec.lse else {"out": made["out"]}


def sequences(spec: ForwardSpec, t: Tensors) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Q (H, Nq, D), K and V of each sequence or batch entry."""
    if spec.problem.lengths == "packed":
        for i in range(t["cu_seqlens_q"].numel() - 1):
            (a, b), (c, d) = (t[f"cu_seqlens_{x}"][i : i + 2].tolist() for x in "qk")
            yield t["q"][a:b].transpose(0, 1), t["k"][c:d].transpose(0, 1), t["v"][c:d].transpose(0, 1)
    else:
        for i in range(t["q"].shape[0]):
            n = int(t["key_lengths"][i]) if spec.problem.lengths == "keys" else t["k"].shape[2]
            yield t["q"][i], t["k"][i, :, :n], t["v"][i, :, :n]


def together(spec: ForwardSpec, parts: list[torch.Tensor]) -> torch.Tensor:
    """O of all sequences or entries, of O (H, Nq, Dv) of each."""
    return torch.cat(parts, dim=1).transpose(0, 1) if spec.problem.lengths == "packed" else torch.stack(parts)


def _sequence(
    spec: AttentionSpec, t: Tensors, entry: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """O (H, Nq, Dv) and log-sum-exp (H, Nq) of one sequence or batch entry."""
    ratio = q.shape[0] // k.shape[0]
    seen = seen_of(spec.weights, q.shape[1], k.shape[1], t, q.device)
    heads = []
    for h in range(q.shape[0]):  # head by head: the scores of all would not fit for long sequences
        x = q[h].double() @ k[h // ratio].double().T / math.sqrt(q.shape[-1])
        if spec.softmax.softcap:
            x = t["softcap"] * torch.tanh(x / t["softcap"])
        if spec.softmax.expression:
            x = modified(spec.softmax.expression, x, head=h, batch=entry, heads=q.shape[0])
        shown = blocks_seen(spec, t, entry, h, seen) if spec.mask.blocks else seen
        if spec.bias:
            x = x + t["attn_mask"].expand(-1, q.shape[0], -1, -1)[entry, h, :, : k.shape[1]].double()
        x = x.masked_fill(~shown, float("-inf"))
        if spec.softmax.sink:
            x = torch.cat([x, t["sink"][h].double().expand(x.shape[0], 1)], dim=1)
        lse = torch.logsumexp(x, dim=1) if x.shape[1] else x.new_full((x.shape[0],), float("-inf"))
        p = torch.exp(x - lse.clamp(min=-1e300)[:, None])[:, : k.shape[1]]
        heads.append((p @ v[h // ratio].double(), lse))
    return torch.stack([o for o, _ in heads]), torch.stack([x for _, x in heads])


def seen_of(weights: Mapping[str, Any], n: int, m: int, t: Tensors, device: torch.device) -> torch.Tensor:
    """(Nq, Nk): whether a query sees a key, by the facts of a mask."""
    if weights["mask"] == "none":
        return torch.ones(n, m, dtype=torch.bool, device=device)
    at = torch.arange(n, device=device)[:, None] + (m - n if weights["bottom_right"] else 0)
    keys = torch.arange(m, device=device)[None, :]
    if weights["mask"] == "causal":
        return keys <= at
    left, right = t["window"]
    return (at - left <= keys) & (keys <= at + right)


def tolerance(spec: ForwardSpec, output: str) -> float:
    """The largest error norm, relative to that of `reference`, that is right.

    What rounding probabilities and O to their type costs (bf16 2.4e-3, fp16 3e-4, e4m3 2.6e-2), doubled; the
    log-sum-exp is fp32 throughout, but for e4m3 on sm90, whose scores wgmma adds up with some 14 bits. Scales of MXFP8
    are powers of two and cost nothing; probabilities have one scale, and so the rounding of e4m3. An exponential by
    polynomial is off by up to 7.5e-5, and so is the logarithm of a sum that has no other. What an expression adds to a
    score may be larger than the logarithm, and is rounded as it is.
    """
    if output == "lse" and (spec.polynomial or spec.weights.get("modified")):
        return 1e-4
    if output == "lse":
        return 1e-3 if spec.problem.dtype == "e4m3" and not spec.scaled else 1e-5
    if spec.check.rtol != "auto":
        return float(spec.check.rtol)
    return {"bf16": 5e-3, "fp16": 6e-4, "e4m3": 5.5e-2}[spec.problem.dtype]
