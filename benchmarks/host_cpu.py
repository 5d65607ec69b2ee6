"""What the Python of a warm call costs, without a GPU: host functions on CPU tensors, a launcher that does nothing.

    python benchmarks/host_cpu.py [--generated DIR] [--rounds 15] [--json FILE]

Everything but the kernel, the driver and CUDA's allocator is what runs on a GPU: figures are to be compared with one
another on one machine, before and after a change of templates/lib, best in turns. Microseconds of the thread a call:
the least and the median of the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from tlxgen.loading import load_file

GENERATED = Path(__file__).resolve().parents[1] / "generated"
CALLS = 2000
CPU = torch.device("cpu")
Run = Callable[[], Any]


def pretend() -> None:
    """CUDA is the CPU, and its current stream is 7."""
    from triton.runtime.driver import driver

    utils = SimpleNamespace(launch=lambda *told: None, get_current_device=lambda: 0)
    driver.set_active(SimpleNamespace(utils=utils, get_current_stream=lambda index: 7))  # type: ignore[arg-type]
    cuda: Any = torch.cuda
    cuda.device, cuda.device_count, cuda.current_device = lambda _: contextlib.nullcontext(), lambda: 1, lambda: 0
    cuda.is_current_stream_capturing = lambda: False
    cuda.get_device_properties = lambda *_: SimpleNamespace(multi_processor_count=132)
    cuda.synchronize = lambda *_: None
    torch._C._dynamo.guards._empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cpu


def function(generated: Path, spec: str, module: str, name: str = "") -> Any:
    """A generated host function, whose folder takes tensors on the CPU for those on a GPU."""
    found = load_file(generated / spec / f"{module}.py")
    package = found.__name__.rpartition(".")[0]
    for loaded in [module for name, module in sys.modules.items() if name.startswith(f"{package}.")]:
        adapt(loaded)
    return getattr(found, name or spec)


def adapt(module: Any) -> None:
    if hasattr(module, "on_cuda"):
        module.on_cuda = lambda tensor, name: tensor.device
    if hasattr(module, "make_tensordesc_arg"):
        module.make_tensordesc_arg = lambda described, meta, base: [object()]
        module.in_this_thread = lambda: None
        module.Launch.by_triton = by_triton


def by_triton(launch: Any, arguments: Any, varying: Any) -> None:
    """As if Triton had compiled and launched the kernel."""
    launch.meta, launch.fixed = [None] * len(launch.described), (1, False, False, *[None] * 5, "annotations", "types")


def tensor(*shape: int, grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.bfloat16).requires_grad_(grad)


def runs(generated: Path) -> dict[str, Run]:
    """Warm calls by name; what needs gradients asks for them."""
    of = functools.partial(function, generated)
    a, b, c, w, bias = tensor(256, 256), tensor(256, 256), tensor(256, 256), tensor(256), tensor(256)
    q, k, v = (tensor(1, 2, 128, 128) for _ in "qkv")
    short = c[:64]
    multiply = of("hopper_gemm", "hopper_gemm_cooperative")
    forward = of("hopper_attention_fwd", "hopper_attention_fwd_causal")
    back = of("hopper_attention_bwd", "hopper_attention_bwd_causal_together")
    attend = of("hopper_attention_bwd", "hopper_attention_bwd_causal_together", "attention")(forward)
    norm = of("hopper_layer_norm", "hopper_layer_norm_grid", "hopper_layer_norm")
    normed = of("hopper_layer_norm_bwd", "hopper_layer_norm_bwd", "norm")(norm)
    out, lse = forward(q, k, v)
    dout = torch.randn_like(out)
    found: dict[str, Run] = {
        "GEMM": lambda: multiply(a, b),
        "GEMM, out given": lambda: multiply(a, b, out=c),
        "attention forward": lambda: forward(q, k, v),
        "attention backward": lambda: back(q, k, v, out, lse, dout),
        "layer norm": lambda: norm(a, w, bias),
        "layer norm, two shapes in turns (both)": lambda: (norm(a, w, bias), norm(short, w, bias)),
    }
    ga, gw, gb = (t.clone().requires_grad_() for t in (a, w, bias))
    gq, gk, gv = (t.clone().requires_grad_() for t in (q, k, v))
    mine, theirs = normed(ga, (256,), gw, gb), attend(gq, gk, gv, is_causal=True)
    dmine, dtheirs = torch.randn_like(mine), torch.randn_like(theirs)
    return found | {
        "layer norm, inputs require grad": lambda: normed(ga, (256,), gw, gb),
        "layer norm, backward": lambda: torch.autograd.grad(mine, (ga, gw, gb), dmine, retain_graph=True),
        "attention, inputs require grad": lambda: attend(gq, gk, gv, is_causal=True),
        "attention operator, backward": lambda: torch.autograd.grad(theirs, (gq, gk, gv), dtheirs, retain_graph=True),
    }


def timed(run: Run) -> float:
    """Microseconds of this thread a call."""
    for _ in range(50):
        run()
    begin = time.thread_time()
    for _ in range(CALLS):
        run()
    return (time.thread_time() - begin) / CALLS * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=Path, default=GENERATED, help="the folder of generated packages")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    pretend()
    found = runs(given.generated.resolve())
    rounds = [{name: timed(run) for name, run in found.items()} for _ in range(given.rounds)]
    figures = {name: [of[name] for of in rounds] for name in found}
    for name, us in figures.items():
        print(f"{name:40} {min(us):6.2f} {statistics.median(us):6.2f}")
    if given.json:
        given.json.write_text(json.dumps({"us": figures}, indent=1) + "\n")


if __name__ == "__main__":
    main()
