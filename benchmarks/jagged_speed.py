"""GDPA and HSTU, both ways, beside our own softmax attention of the same sizes, on the Hopper GPU at hand.

    python -m benchmarks.jagged_speed --json $OUT/jagged_speed.json [--seconds 300] [--peer FOLDER] [--only REGEX]

Every kernel of a row is timed in turns, back to back by CUDA-graph replay, on one set of inputs: more than L2 holds but
in the smallest row. A ratio is our rate over that of softmax attention, FLOPs counted alike. Forward, softmax attention
has the same packed sequences; backward, sequences of the mean length, not packed. `--peer` is a checkout of
generative-recommenders, whose Triton kernel of HSTU is then timed too. Numbers are `tlxgen check`'s to judge. Child
processes compile first.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import multiprocessing
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

GENERATED = Path(__file__).parents[1] / "generated"
ACTIVATIONS = ("raw", "relu", "leaky_relu", "relu_square", "hardswish", "silu", "fast_gelu", "gelu")
PLAIN = "_causal_no_targets_no_contextual_no_max_attn_len_no_min_full_attn"
HEADS, DIM = 4, 128
MODULES = {
    **{f"gdpa {name}": f"hopper_gdpa/hopper_gdpa_{name}_none" for name in ACTIVATIONS},
    **{f"gdpa_bwd {name}": f"hopper_gdpa_bwd/hopper_gdpa_bwd_{name}_none" for name in ACTIVATIONS},
    "hstu": f"hopper_hstu/hopper_hstu{PLAIN}",
    "hstu_bwd": f"hopper_hstu_bwd/hopper_hstu_bwd{PLAIN}",
    "softmax": "hopper_attention_fwd_masks/hopper_attention_fwd_masks_none_top_left_packed",
    "softmax causal": "hopper_attention_fwd_masks/hopper_attention_fwd_masks_causal_top_left_packed",
    "softmax_bwd": "hopper_attention_bwd/hopper_attention_bwd_none_together",
    "softmax_bwd causal": "hopper_attention_bwd/hopper_attention_bwd_causal_together",
}
Run = Callable[[], Any]


def host(name: str) -> Any:
    """The host function of a module, by its name in MODULES."""
    from tlxgen.loading import load_file

    path = GENERATED / f"{MODULES[name]}.py"
    return getattr(load_file(path), path.parent.name)


def jagged(lengths: list[int]) -> dict[str, Any]:
    """Random operands of packed sequences."""
    import torch

    ends = torch.tensor([0, *lengths]).cumsum(0).to(device="cuda", dtype=torch.int32)
    made: dict[str, Any] = {
        name: torch.randn(sum(lengths), HEADS, DIM, device="cuda", dtype=torch.bfloat16)
        for name in ("q", "k", "v", "dout")
    }
    return made | {"cu": ends, "most": max(lengths)}


def calls(lengths: list[int], wanted: tuple[str, ...]) -> dict[str, Run]:
    """A call of each module on sequences of these lengths; the backward of softmax attention has the mean length."""
    import torch

    t = jagged(lengths)
    forward = (t["q"], t["k"], t["v"], t["cu"], t["cu"], t["most"])
    backward = (t["q"], t["k"], t["v"], t["dout"], t["cu"], t["cu"], t["most"], t["most"])
    factors = {"hstu": {"alpha": DIM**-0.5, "attn_scale": 1.0 / t["most"]}, "gdpa": {"qk_scale": 1.0 / t["most"]}}
    factors["softmax"] = {}
    runs: dict[str, Run] = {}
    for name in wanted:
        kind, _, way = name.split()[0].partition("_")
        function = host(name)
        if kind == "softmax" and way:
            mean = sum(lengths) // len(lengths)
            size = (len(lengths), HEADS, mean, DIM)
            q, k, v, dout = (torch.randn(size, device="cuda", dtype=torch.bfloat16) for _ in range(4))
            attend = torch.ops.aten._scaled_dot_product_flash_attention
            out, lse = attend(q, k, v, 0.0, "causal" in name)[:2]
            grads = {f"d{x}": torch.empty_like(q) for x in "qkv"}
            runs[name] = bound(function, (q, k, v, out, lse, dout), grads)
        elif way:
            grads = {f"d{x}": torch.empty_like(t[x]) for x in "qkv"}
            runs[name] = bound(function, backward, grads | factors[kind])
        else:
            runs[name] = bound(function, forward, {"out": torch.empty_like(t["q"])} | factors[kind])
    return runs


def bound(function: Any, given: tuple[Any, ...], options: dict[str, Any]) -> Run:
    return lambda: function(*given, **options)


def compiled(name: str) -> str:
    """Launches a module once, in a child process, so that Triton's cache has it."""
    import torch

    try:
        calls([100, 260], (name,))[name]()
        torch.cuda.synchronize()
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"[:400]
    return ""


def peers(folder: Path, lengths: list[int]) -> dict[str, Run]:
    """generative-recommenders' Triton kernel of HSTU, forward and backward, on sequences of these lengths."""
    import torch

    sys.path.insert(0, str(folder))
    theirs = importlib.import_module("generative_recommenders.ops.triton.triton_hstu_attention")
    t = jagged(lengths)
    q, k, v = (t[x].requires_grad_() for x in "qkv")
    offsets = t["cu"].long()

    def forward() -> Any:
        return theirs.triton_hstu_mha(t["most"], DIM**-0.5, q, k, v, offsets)

    return {"peer hstu": forward, "peer hstu_both": lambda: torch.autograd.grad(forward(), (q, k, v), t["dout"])}


def hstu_lengths(batch: int, most: int) -> list[int]:
    """Half of them uniform up to an eighth of the longest, half above its half."""
    import random

    rng = random.Random(batch + most)
    short = [rng.randint(1, most // 8) for _ in range(batch // 2)]
    long = [rng.randint(most // 2, most) for _ in range(batch - batch // 2)]
    found = [*short, *long]
    rng.shuffle(found)
    return found


def timed(lengths: list[int], wanted: tuple[str, ...], turns: int, peer: Path | None) -> dict[str, float]:
    """Microseconds of each."""
    from tlxgen.bench.gpu import Gpu
    from tlxgen.bench.timing import interleave

    gpu = Gpu()
    runs = calls(lengths, wanted)
    timers = {name: gpu.timer([run], max(30.0, gpu.roughly(run))) for name, run in runs.items()}
    if peer:
        for name, run in peers(peer, lengths).items():
            try:
                run()
                timers[name] = gpu.timer([run], max(30.0, gpu.roughly(run)))
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}"[:300], flush=True)
    figures = {name: figure.us for name, figure in interleave(timers, turns=turns).items()}
    if "peer hstu_both" in figures:
        figures["peer hstu_bwd"] = figures.pop("peer hstu_both") - figures["peer hstu"]
    del timers
    gpu.release()
    return figures


def problems() -> list[tuple[str, list[int], tuple[str, ...]]]:
    import random

    rng = random.Random(0)
    even, uneven = [1000] * 256, [rng.randint(1, 1000) for _ in range(256)]
    forward = tuple(f"gdpa {name}" for name in ACTIVATIONS)
    backward = tuple(f"gdpa_bwd {name}" for name in ACTIVATIONS)
    found = [
        ("gdpa, 256 x 1000", even, ("softmax", *forward)),
        ("gdpa_bwd, 256 x 1000", even, ("softmax_bwd", *backward)),
        ("gdpa, 256 x uniform to 1000", uneven, ("softmax", *forward)),
        ("gdpa_bwd, 256 x uniform to 1000", uneven, ("softmax_bwd", *backward)),
    ]
    for batch, most in ((32, 256), (32, 2048), (128, 1024), (512, 256), (512, 2048)):
        lengths = hstu_lengths(batch, most)
        found.append((f"hstu, {batch} x {most}", lengths, ("softmax causal", "softmax_bwd causal", "hstu", "hstu_bwd")))
    return found


def work(lengths: list[int], name: str) -> float:
    """Pairs of a query and a key, five products for two; what `softmax_bwd` has, of the mean length."""
    if name.startswith("softmax_bwd"):
        mean = sum(lengths) // len(lengths)
        return 2.5 * len(lengths) * mean * mean
    return (2.5 if "_bwd" in name else 1.0) * sum(n * n for n in lengths)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--only", default="", help="only problems in whose titles this pattern is found")
    given = parser.parse_args()
    begin = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(14) as pool:
        for text in pool.imap_unordered(compiled, MODULES):
            if text:
                print(text, flush=True)
    print(f"compiled after {time.monotonic() - begin:.0f} s", flush=True)
    from tlxgen.bench.gpu import Gpu

    gpu = Gpu()
    rows = []
    for title, lengths, wanted in problems():
        if time.monotonic() - begin > given.seconds:
            break
        if not re.search(given.only, title):
            continue
        us = timed(lengths, wanted, given.turns, given.peer if title.startswith("hstu") else None)
        rates = {name: 4 * HEADS * DIM * work(lengths, name) / value / 1e6 for name, value in us.items()}
        own = {way: rates.get(f"softmax{way}", rates.get(f"softmax{way} causal", math.nan)) for way in ("", "_bwd")}
        ratios = {name: rates[name] / own["_bwd" if "_bwd" in name else ""] for name in us}
        print(title, *(f"{name} {us[name]:.0f} us {ratios[name]:.2f}" for name in us), sep=", ", flush=True)
        rows.append({"problem": title, "us": us, "tflops": rates, "of_softmax": ratios})
        about = {"device": gpu.name, "versions": gpu.versions(), "command": "python -m benchmarks.jagged_speed"}
        given.json.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
