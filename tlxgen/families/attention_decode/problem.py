"""Problems of decoding: inputs, reference, tolerance and launch. It imports torch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import torch

from tlxgen.coverage import Waiver
from tlxgen.families.attention.inputs import GAP, Shape, heads_between_rows, strays

from .spec import DecodeSpec

Tensors = dict[str, Any]
PAGE = 128  # keys of a page of a check
ROUND = 16  # splits that the second kernel adds up at a time
SHAPES: tuple[Shape, ...] = (
    (2, 16, 2, 1, 4096),
    (1, 1, 1, 1, 1),
    (3, 8, 1, 16, 1000),
    (5, 6, 2, 3, 777),
    (1, 4, 4, 5, 3),
    (64, 8, 8, 1, 300),
    (1, 64, 8, 2, 20000),
)


def shapes(spec: DecodeSpec) -> tuple[Shape, ...]:
    """The shapes to check: those of the spec, and shapes that find the usual faults."""
    given = tuple((int(b), int(h), int(g), int(n), int(m)) for b, h, g, n, m in spec.check.shapes)
    return tuple(dict.fromkeys((*given, *SHAPES)))


def simulated_shapes(spec: DecodeSpec, constants: Mapping[str, int], sms: int) -> Iterator[Shape]:
    """Few keys and one split; so many that slots go round in each of several, and that on many SMs there is one split
    more than is added up at once, of one tile; several tiles of rows; one key."""
    n, stages = constants["BLOCK_N"], constants["KV_STAGES"]
    yield 3, 4, 2, 3, 2 * n + 5
    yield 1, 4, 1, 2, (ROUND * -(-sms * (2 * stages + 1) // ROUND) + 1) * n - 3
    yield 2, 2, 1, 1, 16 * n
    yield 2 * sms, 5, 1, 16, n + 1
    yield 1, 1, 1, 1, 1


def unseen(spec: DecodeSpec) -> Iterator[Waiver]:
    """Waivers for what no run can exercise, with reasons."""
    yield Waiver(("empty",), "", "a tile of keys has a key that is there, and a tile of rows a row")
    if not spec.has_lengths:
        why = "of sequences of one length every split has keys, by the number that the host picks"
        yield Waiver(("no-round",), r"for (tile|first) in", why)
        yield Waiver(("branch",), "begin < end", why)


def inputs(spec: DecodeSpec, shape: Shape, device: torch.device) -> Tensors:
    """Fresh random arguments of the host function, by name. The gaps between rows hold NaN."""
    b, h, kv, n, m = shape
    d, kind = spec.problem.head_dim, getattr(torch, spec.dtype.torch)
    made: Tensors = {"q": heads_between_rows((b,), n, h, d, kind, device)}
    if spec.paged:
        each = -(-m // PAGE)
        pages = b * each + 3
        for name in "kv":
            made[name] = heads_between_rows((pages,), PAGE, kv, d, kind, device).transpose(1, 2)
        table = torch.randperm(pages, device=device)[: b * each].view(b, each)
        made["block_table"] = table.to(torch.int32)
    else:
        made |= {name: heads_between_rows((b,), m, kv, d, kind, device) for name in "kv"}
    if spec.has_lengths:
        made["seqlens_k"] = torch.tensor(lengths(b, m), dtype=torch.int32, device=device)
    if spec.paged:  # no sequence uses the pages past a sequence's end
        for row, length in zip(made["block_table"], lengths(b, m), strict=True):
            row[-(-length // PAGE) :] = -1
    return made


def lengths(batches: int, most: int) -> list[int]:
    """The lengths of the sequences: the largest, 0, 1, and some in between."""
    return [(most, 0, 1, most // 2, max(most - 1, 0), most // 3)[i % 6] for i in range(batches)]


def launch(
    module: ModuleType, spec: DecodeSpec, shape: Shape, tensors: Tensors, config: Any
) -> tuple[dict[str, torch.Tensor], int]:
    """Runs the host function on outputs of NaN; returns them and the number of elements written outside."""
    q = tensors["q"]
    b, h, n, d = q.shape
    whole = torch.full((b, h, n + 3, d + GAP // q.itemsize), float("nan"), device=q.device, dtype=q.dtype)
    flat = torch.full((b * h * n + 64,), float("nan"), device=q.device)
    results = {"out": whole[:, :, :n, :d], "lse": flat[: b * h * n].view(b, h, n)}
    getattr(module, spec.name)(**tensors, **results, config=config)
    torch.cuda.synchronize()
    return results, strays(whole, results["out"]) + strays(flat, results["lse"])


def sequence(spec: DecodeSpec, t: Tensors, i: int) -> tuple[torch.Tensor, torch.Tensor]:
    """K and V (Hkv, n, D) of one sequence."""
    length = int(t["seqlens_k"][i]) if spec.has_lengths else t["k"].shape[2]
    if not spec.paged:
        return t["k"][i, :, :length], t["v"][i, :, :length]
    pages = t["block_table"][i, : -(-length // t["k"].shape[1])].long()
    k, v = (t[name][pages].flatten(0, 1)[:length].transpose(0, 1) for name in "kv")
    return k, v


def reference(spec: DecodeSpec, t: Tensors) -> dict[str, tuple[torch.Tensor, float]]:
    """O and the log-sum-exp in float64, from the same values that the kernel reads, and the norm for their errors."""
    q = t["q"].double()
    out, lse = torch.zeros_like(q), q.new_full(q.shape[:3], float("-inf"))
    scale = t.get("scale", 1 / math.sqrt(q.shape[-1]))
    for i in range(q.shape[0]):
        k, v = (x.double().repeat_interleave(q.shape[1] // x.shape[0], 0) for x in sequence(spec, t, i))
        n, m = q.shape[2], k.shape[1]
        if not m:
            continue
        x = scale * q[i] @ k.transpose(1, 2)
        if spec.problem.causal:
            at = torch.arange(n, device=q.device)[:, None] + m - n
            x = x.masked_fill(torch.arange(m, device=q.device) > at, float("-inf"))
        lse[i] = torch.logsumexp(x, -1)
        out[i] = torch.exp(x - lse[i].clamp(min=-1e300)[..., None]) @ v
    finite = lse[lse.isfinite()]
    return {"out": (out, float(out.norm())), "lse": (lse, max(float(finite.norm()), lse.numel() ** 0.5))}


def tolerance(spec: DecodeSpec, output: str) -> float:
    """The largest error norm, relative to that of `reference`: twice the rounding error of probabilities and O."""
    if output == "lse":
        return 1e-5
    if spec.check.rtol != "auto":
        return float(spec.check.rtol)
    return {"bf16": 5e-3, "fp16": 6e-4}[spec.problem.dtype]
