"""Scores changed by an expression: generated attention beside torch's compiled flex_attention, in turns on a GPU.

    python -m benchmarks.attention_flex [--only REGEX] [--json FILE]

Forward and backward of three shipped expressions, without a mask and causal. Both sides run in CUDA graphs, one call
each, between two kernels that note the clock; torch is timed twice, which gives the noise. A ratio is flex_attention's
time over ours, `off` how far the results are from each other, relative to the norm of flex_attention's. Child processes
compile first.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # its workers find no GPU through fbtriton

import torch
import torch._functorch.config
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from benchmarks.roofline_clocks import ROOT, between
from tlxgen.loading import load_file

Score = Callable[..., torch.Tensor]
Run = Callable[[], Any]
SHAPES = {  # expression: B, H, Hkv, N, D of each problem
    "alibi": ((4, 32, 8, 4096, 128),),
    "where": ((4, 32, 32, 4096, 64),),
    "tanh": ((4, 32, 32, 4096, 64),),
}


def score_of(expression: str, heads: int) -> Score:
    """The expression of the spec, as flex_attention takes it."""
    slopes = 2.0 ** (-8.0 * torch.arange(1, heads + 1, device="cuda") / heads)

    def alibi(score: torch.Tensor, batch: Any, head: Any, q: Any, k: Any) -> torch.Tensor:
        return score + slopes[head] * (k - q)

    def where(score: torch.Tensor, batch: Any, head: Any, q: Any, k: Any) -> torch.Tensor:
        return torch.where((k - q).abs() > 64, score / 2, score - 1)

    def tanh(score: torch.Tensor, batch: Any, head: Any, q: Any, k: Any) -> torch.Tensor:
        return 20 * torch.tanh(score / 20) - (q - k).abs() / 64

    return {"alibi": alibi, "where": where, "tanh": tanh}[expression]


def causal_mask(n: int) -> BlockMask:
    return create_block_mask(lambda b, h, q, k: q >= k, None, None, n, n, device="cuda")


def captured() -> torch.cuda.Stream:
    """The stream that graphs are captured in."""
    if torch.cuda.graph.default_capture_stream is None:
        torch.cuda.graph.default_capture_stream = torch.cuda.Stream()
    return torch.cuda.graph.default_capture_stream


def generated(way: str, expression: str, mask: str) -> Callable[..., Any]:
    """The function of the package, or of its dispatcher for the mask."""
    name = f"hopper_attention_{way}_{expression}"
    folder = ROOT / "generated" / name
    file = folder / (f"_{name}{'_causal' if mask == 'causal' else ''}.py")
    return getattr(load_file(file if file.exists() else folder / f"{name}_{mask}.py"), name)


def calls(expression: str, mask: str, shape: tuple[int, ...]) -> dict[str, tuple[Run, Run]]:
    """Of each way, flex_attention's call and ours."""
    b, h, h_kv, n, d = shape
    torch.manual_seed(0)
    q, k, v, dout = (torch.randn(b, heads, n, d, dtype=torch.bfloat16, device="cuda") for heads in (h, h_kv, h_kv, h))
    inputs = [x.requires_grad_() for x in (q, k, v)]
    mine = [x.detach() for x in inputs]
    flex = torch.compile(flex_attention, dynamic=False)
    more = {"score_mod": score_of(expression, h), "enable_gqa": h != h_kv}
    more |= {"block_mask": causal_mask(n)} if mask == "causal" else {}
    with torch.cuda.stream(captured()):  # a backward runs in the stream of its forward
        theirs = flex(*inputs, **more)
    torch.cuda.synchronize()
    forward, backward = generated("fwd", expression, mask), generated("bwd", expression, mask)
    out, lse = forward(*mine)
    return {
        "forward": (lambda: flex(*inputs, **more).detach(), lambda: forward(*mine)[0]),
        "backward": (
            lambda: torch.autograd.grad(theirs, inputs, dout, retain_graph=True),
            lambda: backward(*mine, out, lse, dout),
        ),
    }


def off(theirs: Any, ours: Any) -> float:
    """The largest difference of their results, by its norm."""
    pairs = zip(*((x if isinstance(x, (tuple, list)) else (x,)) for x in (theirs, ours)), strict=True)
    return max(float((x.float() - y.float()).norm() / x.float().norm()) for x, y in pairs)


def compiled(job: tuple[str, str, tuple[int, ...]]) -> str:
    """Runs both once, in a child process, so that the caches have them."""
    torch._functorch.config.donated_buffer = False
    try:
        for theirs, ours in calls(*job).values():
            theirs(), ours()
        torch.cuda.synchronize()
    except Exception as error:
        return f"{job}: {type(error).__name__}: {error}"[:400]
    return ""


def rows(jobs: list[tuple[str, str, tuple[int, ...]]]) -> list[dict[str, Any]]:
    found = []
    for expression, mask, shape in jobs:
        try:
            for way, (theirs, ours) in calls(expression, mask, shape).items():
                apart = off(theirs(), ours())
                nothing, *us = (us for _, us in between([lambda: None, theirs, ours, theirs]))
                first, mine, again = (x - nothing for x in us)
                row: dict[str, Any] = {"expression": expression, "mask": mask, "way": way, "shape": shape}
                row |= {"ours": round(mine, 1), "flex": round(first, 1), "ratio": round(first / mine, 3)}
                found.append(row | {"noise": round(again / first, 3), "off": round(apart, 5)})
                print(found[-1], flush=True)
        except Exception as error:
            print(f"{expression} {mask} {shape}: {type(error).__name__}: {error}"[:400], flush=True)
        torch.cuda.empty_cache()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="of rows whose expression and mask this is found in")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch._functorch.config.donated_buffer = False  # a backward is repeated
    masks, wanted = ("none", "causal"), re.compile(arguments.only)
    jobs = [(name, mask, shape) for name, shapes in SHAPES.items() for mask in masks for shape in shapes]
    jobs = [job for job in jobs if wanted.search(f"{job[0]} {job[1]}")]
    with multiprocessing.get_context("spawn").Pool(len(jobs)) as pool:
        for fault in pool.imap_unordered(compiled, jobs):
            print(fault, end="\n" if fault else "", flush=True)
    found = rows(jobs)
    for way in ("forward", "backward"):
        ratios = [row["ratio"] for row in found if row["way"] == way]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"{way}: {len(ratios)} rows, geometric mean {mean:.3f}, least {min(ratios):.3f}")
    if arguments.json:
        versions = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
        arguments.json.write_text(json.dumps({"versions": versions, "rows": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
