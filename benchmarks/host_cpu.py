"""What the Python of a warm call costs, without a GPU: host functions on CPU tensors, a launcher that does nothing.

    python benchmarks/host_cpu.py [--generated DIR] [--generated OTHER] [--calls NAME] [--rounds 15] [--json FILE]

Everything but the kernel, the driver and CUDA's allocator is what runs on a GPU: figures are to be compared with one
another on one machine, before and after a change of templates/lib. `--generated` given twice compares the generated
folders of two checkouts: their calls are timed in turns, in one process. Microseconds of the thread a call: the least
and the median of the rounds. Packages are the text that `tlxgen package` writes, without cubins; they need
cuda-bindings. `--calls` is a part of the name of the calls that are timed.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib.util
import json
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from tlxgen.loading import load_file

GENERATED = Path(__file__).resolve().parents[1] / "generated"
CALLS = 1000
CPU = torch.device("cpu")
PACKAGED = ("hopper_gemm", "hopper_layer_norm", "hopper_attention_bwd")
Run = Callable[[], Any]


def pretend() -> None:
    """CUDA is the CPU, and its current stream is 7."""
    from triton.runtime.driver import driver

    utils = SimpleNamespace(launch=lambda *told: None, get_current_device=lambda: 0)
    driver.set_active(SimpleNamespace(utils=utils, get_current_stream=stream_of))
    cuda: Any = torch.cuda
    cuda.device, cuda.device_count, cuda.current_device = lambda _: contextlib.nullcontext(), lambda: 1, lambda: 0
    cuda.is_current_stream_capturing = lambda: False
    cuda.get_device_properties = lambda *_: SimpleNamespace(multi_processor_count=132)
    cuda.synchronize = lambda *_: None
    torch._C._dynamo.guards._empty_strided_cuda = torch._C._dynamo.guards._empty_strided_cpu
    torch._C._cuda_getCurrentRawStream = stream_of


def stream_of(index: int) -> int:
    return 7


def function(generated: Path, spec: str, module: str, name: str = "") -> Any:
    """A host function, generated or of a package, whose folder takes tensors on the CPU for those on a GPU."""
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
    if hasattr(module, "cuLaunchKernelEx"):
        module.cuLaunchKernelEx = lambda config, function, parameters, extra: (module.cuda.CUresult.CUDA_SUCCESS,)
        module.TensorMap = lambda described, told: lambda address: [bytes(128), *described.shape, *described.strides]
        module.make_context, module.Launch.by_triton = lambda: None, functools.partialmethod(by_cubin, module)


def by_triton(launch: Any, arguments: Any, varying: Any) -> None:
    """As if Triton had compiled and launched the kernel."""
    launch.meta, launch.fixed = [None] * len(launch.described), (1, False, False, *[None] * 5, "annotations", "types")


def by_cubin(launch: Any, launcher: Any, arguments: Any, varying: Any) -> None:
    """As if a package had a cubin for these arguments, and had launched it."""
    kinds = {torch.Tensor: "*", int: "i32", float: "fp32"}
    types = [kinds.get(type(a)) or f"tensordesc<bf16[{', '.join('1' for _ in a.shape)}]>" for a in arguments]
    kernel = SimpleNamespace(layout=launcher.Layout(types))
    cubin = SimpleNamespace(kernel=kernel, threads=128, shared=0, descriptors=[{}] * len(types), entry="kernel")
    pdl = bool(launch.options.get("launch_pdl"))
    launch.fixed, launch.maps = launcher.Fixed(cubin, launcher.cuda.CUfunction(1), launch.grid, pdl), {}


def packaged(generated: Path, made: Path) -> Path:
    """The folder of packages, without cubins, of these generated folders."""
    from tlxgen.package import host

    launcher = Path(host.__file__).with_name("launcher.py")
    own = generated.parent / "tlxgen" / "package" / "launcher.py"  # that of another checkout, if it is one
    for spec in PACKAGED:
        (made / spec).mkdir(parents=True)
        for path in (generated / spec).glob("*.py"):
            text = path.read_text()
            kernels = re.findall(r"^def (\w+_kernel)\(", text, re.M)
            text = host.of_host(text) if path.name == "_host.py" else host.of_module(text, kernels)
            (made / spec / path.name).write_text(text)
        shutil.copy(own if own.is_file() else launcher, made / spec / "_launcher.py")
        (made / spec / "manifest.json").write_text("{}")
    return made


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
    rms = "hopper_rms_norm_residual"
    rooted = of(f"{rms}_bwd", f"{rms}_bwd", "norm")(of(rms, f"{rms}_grid"))
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
    ga, gc, gw, gb = (t.clone().requires_grad_() for t in (a, c, w, bias))
    gq, gk, gv = (t.clone().requires_grad_() for t in (q, k, v))
    mine, roots, theirs = normed(ga, (256,), gw, gb), rooted(ga, gc, (256,), gw), attend(gq, gk, gv, is_causal=True)
    dmine, dtheirs, droots = torch.randn_like(mine), torch.randn_like(theirs), tuple(map(torch.randn_like, roots))
    found |= {
        "layer norm, inputs require grad": lambda: normed(ga, (256,), gw, gb),
        "layer norm, backward": lambda: torch.autograd.grad(mine, (ga, gw, gb), dmine, retain_graph=True),
        "RMSNorm with residual, inputs require grad": lambda: rooted(ga, gc, (256,), gw),
        "RMSNorm with residual, backward": lambda: torch.autograd.grad(roots, (ga, gc, gw), droots, retain_graph=True),
        "attention, inputs require grad": lambda: attend(gq, gk, gv, is_causal=True),
        "attention operator, backward": lambda: torch.autograd.grad(theirs, (gq, gk, gv), dtheirs, retain_graph=True),
    }
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        return found
    of = functools.partial(function, packaged(generated, Path(tempfile.mkdtemp())))
    of_gemm = of("hopper_gemm", "hopper_gemm_cooperative")
    of_norm = of("hopper_layer_norm", "hopper_layer_norm_grid", "hopper_layer_norm")
    of_back = of("hopper_attention_bwd", "hopper_attention_bwd_causal_together")
    return found | {
        "package, GEMM": lambda: of_gemm(a, b),
        "package, layer norm": lambda: of_norm(a, w, bias),
        "package, attention backward": lambda: of_back(q, k, v, out, lse, dout),
    }


def timed(run: Run) -> float:
    """Microseconds of this thread a call."""
    for _ in range(20):
        run()
    begin = time.thread_time()
    for _ in range(CALLS):
        run()
    return (time.thread_time() - begin) / CALLS * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generated", type=Path, action="append", help="the folder of generated packages")
    parser.add_argument("--calls", default="", help="a part of the names of the calls that are timed")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    pretend()
    folders = [path.resolve() for path in given.generated or [GENERATED]]
    found = [runs(folder) for folder in folders]
    names = [name for name in found[0] if given.calls in name]
    figures: dict[str, list[list[float]]] = {name: [[] for _ in found] for name in names}
    for _ in range(given.rounds):
        for name in names:
            for us, of in zip(figures[name], found, strict=True):
                us.append(timed(of[name]))
    for name, each in figures.items():
        print(f"{name:40} " + "   ".join(f"{min(us):6.2f} {statistics.median(us):6.2f}" for us in each))
    if given.json:
        given.json.write_text(
            json.dumps({"folders": [*map(str, given.generated or ["generated"])], "us": figures}) + "\n"
        )


if __name__ == "__main__":
    main()
