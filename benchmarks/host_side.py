"""The host side of generated kernels on the GPU at hand, beside torch: eager calls, torch.compile, threads, devices.

    python benchmarks/host_side.py times compile threads devices --json benchmarks/results/host_side_h200.json
    python benchmarks/host_side.py packages times       what a change of the host's Python is measured by

times: microseconds of the host for a warm eager call that allocates its results, while the GPU takes all that it
is given: without gradients the host function, with inputs that require grad the operator, forward and backward. The
second figure of each is of bursts that begin right after a wait for the GPU: of their 40 calls the first finds the
thread asleep and its caches cold, whoever is called. Meta's tutorial is called with one config of its own, since its
autotuner would be timed with it otherwise.
norms: the same of norms alone; an RMSNorm that returns rstd is built first.
packages: the same of packages without Triton beside the modules that they stand for; `python benchmarks/package_gpu.py
--make` makes them, with no GPU.
compile: torch.compile(fullgraph=True), static, dynamic and mode="reduce-overhead", against eager results.
threads: 8 threads, a stream each, the same and different shapes, from the first call on, against torch.
devices: two devices in turns from one thread, and torch.nn.DataParallel.
profile: the kernels that run in a call, which are the module's own and memset, of host functions and operators.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # its workers find no GPU through fbtriton

import torch

from tlxgen.bench.gpu import Gpu
from tlxgen.build import build
from tlxgen.families.gemm.benchmark import tutorial
from tlxgen.loading import load_file

GENERATED = Path(__file__).resolve().parents[1] / "generated"
PACKAGES = GENERATED.parent / ".packages"
ROUNDS, THREADS, REPEATS = 5, 8, 200
TUTORIAL_CONFIG = {
    "BM": 128,
    "BN": 256,
    "BK": 64,
    "GROUP_SIZE_M": 8,
    "NUM_STAGES": 3,
    "NUM_MMA_WARPS": 8,
    "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": True,
    "NUM_CTAS": 1,
}
Run = Callable[[], Any]
sdpa = torch.nn.functional.scaled_dot_product_attention


def function(spec: str, module: str, name: str = "") -> Any:
    """A generated host function, of a fresh import."""
    return getattr(load_file(GENERATED / spec / f"{module}.py"), name or spec)


def attention() -> Any:
    """The causal operator: a generated forward with its backward."""
    forward = function("hopper_attention_fwd", "hopper_attention_fwd_causal")
    return function("hopper_attention_bwd", "hopper_attention_bwd_causal_together", "attention")(forward)


def layer_norm() -> Any:
    return function("hopper_layer_norm", "hopper_layer_norm_grid", "hopper_layer_norm")


def layer_norm_operator() -> Any:
    """A generated forward with its backward, called as torch's."""
    return function("hopper_layer_norm_bwd", "hopper_layer_norm_bwd", "norm")(layer_norm())


def gemm() -> Any:
    return function("hopper_gemm_tuned", "__init__", "hopper_gemm_tuned")


def tensor(*shape: int, grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16).requires_grad_(grad)


# --- host time ------------------------------------------------------------------------------------------------------


def plain() -> dict[str, tuple[Run, Run]]:
    """Without gradients: (ours, torch's or Meta's)."""
    a, b, c = (tensor(1024, 1024) for _ in "abc")
    q, k, v = (tensor(2, 8, 1024, 128) for _ in "qkv")
    forward = function("hopper_attention_fwd", "hopper_attention_fwd_causal")
    backward = function("hopper_attention_bwd", "hopper_attention_bwd_causal_together")
    multiply, norm, w, bias, (out, lse) = gemm(), layer_norm(), tensor(1024), tensor(1024), forward(q, k, v)
    dout = torch.randn_like(out)
    like = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, True)
    arguments = (dout, q, k, v, like[0], like[1], like[2], like[3], like[4], like[5], 0.0, True, like[6], like[7])
    found: dict[str, tuple[Run, Run]] = {
        "gemm": (lambda: multiply(a, b), lambda: torch.mm(a, b)),
        "gemm, out given": (lambda: multiply(a, b, out=c), lambda: torch.mm(a, b, out=c)),
        "layer norm": (lambda: norm(a, w, bias), lambda: torch.nn.functional.layer_norm(a, (1024,), w, bias)),
        "attention forward": (lambda: forward(q, k, v), lambda: sdpa(q, k, v, is_causal=True)),
        "attention backward": (
            lambda: backward(q, k, v, out, lse, dout),
            lambda: torch.ops.aten._scaled_dot_product_flash_attention_backward(*arguments),
        ),
    }
    if (path := tutorial("hopper_gemm_ws")) is not None:
        matmul, (half_a, half_b) = load_file(path).matmul, (a.half(), b.half())
        theirs = lambda: matmul(half_a, half_b, config=TUTORIAL_CONFIG)  # noqa: E731
        found["gemm, beside Meta's hopper_gemm_ws"] = (lambda: multiply(a, b), theirs)
    return found


def with_gradients() -> dict[str, tuple[Run, Run]]:
    """With inputs that require grad: (ours, torch's). A GEMM has no backward, and refuses them."""
    of_torch = torch.nn.functional.layer_norm
    x, w, bias = tensor(1024, 1024, grad=True), tensor(1024, grad=True), tensor(1024, grad=True)
    q, k, v = (tensor(2, 8, 1024, 128, grad=True) for _ in "qkv")
    attend, norm = attention(), layer_norm_operator()
    mine, theirs = attend(q, k, v, is_causal=True), sdpa(q, k, v, is_causal=True)
    normed, normed_by_torch = norm(x, (1024,), w, bias), of_torch(x, (1024,), w, bias)
    dout, dnormed = torch.randn_like(mine), torch.randn_like(normed)

    def gradients(out: torch.Tensor, by: tuple[torch.Tensor, ...], dout: torch.Tensor) -> Run:
        return lambda: torch.autograd.grad(out, by, dout, retain_graph=True)

    return {
        "layer norm": (lambda: norm(x, (1024,), w, bias), lambda: of_torch(x, (1024,), w, bias)),
        "layer norm, backward": (
            gradients(normed, (x, w, bias), dnormed),
            gradients(normed_by_torch, (x, w, bias), dnormed),
        ),
        "attention operator, forward": (lambda: attend(q, k, v, is_causal=True), lambda: sdpa(q, k, v, is_causal=True)),
        "attention operator, backward": (gradients(mine, (q, k, v), dout), gradients(theirs, (q, k, v), dout)),
    }


def rms_norm_with_stats() -> Any:
    """A forward for hopper_rms_norm_bwd; what ships without a residual returns y alone."""
    folder, name = Path(tempfile.mkdtemp()), "rms_norm_with_stats"
    spec = {
        "extends": str(GENERATED.parent / "specs" / "hopper_rms_norm.yaml"),
        "name": name,
        "problem": {"stats": True},
    }
    (folder / f"{name}.yaml").write_text(json.dumps(spec))
    build(folder / f"{name}.yaml", out=folder)
    return getattr(load_file(folder / name / f"{name}_grid.py"), name)


def of_norms() -> dict[str, tuple[Run, Run]]:
    """Layer norm and RMSNorm with inputs that require grad, forward and backward: (ours, torch's)."""
    found: dict[str, tuple[Run, Run]] = {}
    x, w, bias = tensor(1024, 1024, grad=True), tensor(1024, grad=True), tensor(1024, grad=True)
    for name, rest in (("layer_norm", (w, bias)), ("rms_norm", (w,))):
        spec = f"hopper_{name}_bwd"
        forward = layer_norm() if name == "layer_norm" else rms_norm_with_stats()
        ours = function(spec, spec, "norm")(forward)
        theirs = getattr(torch.nn.functional, name)
        dy = torch.randn_like(x)

        def calls(norm: Any, rest: Any = rest, dy: torch.Tensor = dy) -> tuple[Run, Run]:
            out = norm(x, (1024,), *rest)
            return lambda: norm(x, (1024,), *rest), lambda: torch.autograd.grad(out, (x, *rest), dy, retain_graph=True)

        for way, *both in zip(("forward", "backward"), calls(ours), calls(theirs), strict=True):
            found[f"{name}, {way}"] = both[0], both[1]
    return found


def norms() -> Iterator[tuple[str, bool, dict[str, Any]]]:
    x, w, bias = tensor(1024, 1024), tensor(1024), tensor(1024)
    norm, of_torch = layer_norm(), torch.nn.functional.layer_norm
    yield from compared(
        "no gradients", {"layer_norm": (lambda: norm(x, w, bias), lambda: of_torch(x, (1024,), w, bias))}
    )
    yield from compared("require grad", of_norms())
    yield guarded("norms: gradients beside torch's, eager and by a graph", _gradients_of_norms)


def _gradients_of_norms() -> dict[str, Any]:
    """Relative errors, of rows whose number no 16 bytes divide; a graph has the forward and the backward."""
    norm, of_torch, worst = layer_norm_operator(), torch.nn.functional.layer_norm, 0.0
    leaves = tensor(1021, 1000, grad=True), tensor(1000, grad=True), tensor(1000, grad=True)
    dy = torch.randn_like(leaves[0])

    def results(norm: Any) -> tuple[torch.Tensor, ...]:
        out = norm(leaves[0], (1000,), *leaves[1:])
        return out.detach(), *torch.autograd.grad(out, leaves, dy)

    side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        eager = [results(norm) for _ in range(5)]
    side.synchronize()
    with torch.cuda.graph(graph):
        captured = results(norm)
    for seed in range(3):
        torch.manual_seed(seed)
        with torch.no_grad():
            leaves[0].normal_()
        graph.replay()
        eager.append(results(norm))
        for found in (eager[-1], captured):
            for a, b in zip(found, results(of_torch), strict=True):
                worst = max(worst, float((a.float() - b.float()).norm() / b.float().norm()))
    assert worst < 1e-2, worst
    return {"worst": worst}


def of_packages() -> dict[str, tuple[Run, Run]]:
    """Of those that were made, without gradients: (the package's, the module's)."""
    x, w, bias = tensor(1024, 1024), tensor(1024), tensor(1024)
    q, k, v, out, dout = (tensor(2, 8, 1024, 128) for _ in range(5))
    lse = torch.zeros(2, 8, 1024, device="cuda")
    calls: dict[str, tuple[str, tuple[torch.Tensor, ...]]] = {
        "hopper_gemm": ("cooperative", (x, x.clone())),
        "hopper_layer_norm": ("grid", (x, w, bias)),
        "hopper_attention_fwd": ("causal", (q, k, v)),
        "hopper_attention_bwd": ("causal_together", (q, k, v, out, lse, dout)),
    }
    found: dict[str, tuple[Run, Run]] = {}
    for spec, (which, given) in calls.items():
        folder, module = PACKAGES / spec / spec, f"{spec}_{which}"
        if folder.is_dir():
            packaged, own = getattr(load_file(folder / f"{module}.py"), spec), function(spec, module)
            found[spec] = (functools.partial(packaged, *given), functools.partial(own, *given))
    return found


def packages() -> Iterator[tuple[str, bool, dict[str, Any]]]:
    """`their_us` is the module's."""
    found = of_packages()
    yield f"packages in .packages: {len(found)}", bool(found), {}
    yield from compared("package", found)


def times() -> Iterator[tuple[str, bool, dict[str, Any]]]:
    yield from compared("no gradients", plain())
    yield from compared("require grad", with_gradients())


def compared(kind: str, pairs: dict[str, tuple[Run, Run]]) -> Iterator[tuple[str, bool, dict[str, Any]]]:
    gpu, rng = Gpu(), random.Random(0)
    found: dict[str, list[list[tuple[float, float]]]] = {name: [[], []] for name in pairs}
    for _ in range(ROUNDS):
        for name in rng.sample(list(pairs), len(pairs)):
            for i in rng.sample((0, 1), 2):
                run = pairs[name][i]
                found[name][i].append((gpu.host_us(run), gpu.host_us(run, lead=0)))
    for name, both in found.items():
        (ours, woken), (theirs, theirs_woken) = (map(statistics.median, zip(*one, strict=True)) for one in both)
        after_a_wait = {"us_after_a_wait": woken, "their_us_after_a_wait": theirs_woken}
        yield f"{kind}: {name}", True, {"us": ours, "their_us": theirs, "ratio": ours / theirs, **after_a_wait}


# --- torch.compile --------------------------------------------------------------------------------------------------


def compiled() -> Iterator[tuple[str, bool, dict[str, Any]]]:
    multiply, attend, norm, normed = gemm(), attention(), layer_norm(), layer_norm_operator()
    forward = function("hopper_attention_fwd", "hopper_attention_fwd_causal")
    cases: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[torch.Tensor, ...]], bool]] = {
        "gemm": (lambda a, b: multiply(a + 1, b) * 2, lambda n: (tensor(n, 256), tensor(256, 512)), False),
        "attention forward": (lambda q, k, v: forward(q, k, v)[0] + 1, lambda n: _qkv(n), False),
        "layer norm": (lambda x, w, b: norm(x * 2, w, b)[0] + 1, lambda n: (tensor(n, 512), *_weights()), False),
        "layer norm both ways": (
            lambda x, w, b: normed(x * 2, (512,), w, b) + 1,
            lambda n: (tensor(n, 512, grad=True), tensor(512, grad=True), tensor(512, grad=True)),
            True,
        ),
        "attention both ways": (lambda q, k, v: attend(q, k, v, is_causal=True) * 2, lambda n: _qkv(n, True), True),
    }
    modes: dict[str, dict[str, Any]] = {
        "static": {"dynamic": False},
        "dynamic": {"dynamic": True},
        "reduce-overhead": {"mode": "reduce-overhead"},
    }
    for name, (call, make, grad) in cases.items():
        for mode, options in modes.items():
            torch._dynamo.reset()
            yield guarded(f"compile {mode}: {name}", lambda: _agrees(call, make, grad, options))  # noqa: B023


def _weights() -> tuple[torch.Tensor, torch.Tensor]:
    return tensor(512), tensor(512)


def _qkv(n: int, grad: bool = False) -> tuple[torch.Tensor, ...]:
    return tuple(tensor(2, 4, n, 128, grad=grad) for _ in "qkv")


def _agrees(call: Callable[..., Any], make: Any, grad: bool, options: dict[str, Any]) -> dict[str, Any]:
    one = torch.compile(call, fullgraph=True, **options)
    worst = 0.0
    for n in (256, 512, 512, 384):
        tensors = make(n)
        both = []
        for run in (call, one):
            torch.compiler.cudagraph_mark_step_begin()
            out = run(*tensors)
            grads = torch.autograd.grad(out.float().square().sum(), tensors) if grad else ()
            both.append([x.detach().clone() for x in (out, *grads)])
        worst = max(worst, *(float((x - y).float().norm() / y.float().norm()) for x, y in zip(*both, strict=True)))
    assert worst < 5e-3, worst
    return {"worst": worst}


# --- threads and devices --------------------------------------------------------------------------------------------


def threads() -> Iterator[tuple[str, bool, dict[str, Any]]]:
    for same in (False, True):
        for name, fresh in (("gemm", _gemms), ("layer norm", _norms), ("attention", _attentions)):
            what = f"threads, {'same shapes' if same else 'a shape each'}: {name}"
            yield guarded(what, lambda: _at_once(fresh(), same))  # noqa: B023


def _gemms() -> Callable[[int], tuple[Run, torch.Tensor]]:
    multiply = gemm()

    def case(i: int) -> tuple[Run, torch.Tensor]:
        a, b = tensor(512 + 136 * i, 1024), tensor(1024, 2048)
        return lambda: multiply(a, b), torch.mm(a, b)

    return case


def _norms() -> Callable[[int], tuple[Run, torch.Tensor]]:
    norm = layer_norm()

    def case(i: int) -> tuple[Run, torch.Tensor]:
        x, w, b = tensor(300 + 77 * i, 512 * (i + 1)), tensor(512 * (i + 1)), tensor(512 * (i + 1))
        return lambda: norm(x, w, b)[0], torch.nn.functional.layer_norm(x, (512 * (i + 1),), w, b)

    return case


def _attentions() -> Callable[[int], tuple[Run, torch.Tensor]]:
    attend = attention()

    def case(i: int) -> tuple[Run, torch.Tensor]:
        q, k, v = (tensor(1, 4, 384 + 72 * i, 128, grad=True) for _ in "qkv")

        def gradient(call: Any) -> torch.Tensor:
            out = call(q, k, v, is_causal=True)
            return torch.cat([out.flatten(), *(g.flatten() for g in torch.autograd.grad(out, (q, k, v), q.detach()))])

        return lambda: gradient(attend), gradient(sdpa).detach()

    return case


def _at_once(case: Callable[[int], tuple[Run, torch.Tensor]], same: bool) -> dict[str, Any]:
    """Calls from threads that begin together; the first is nobody's second."""
    cases = [case(0 if same else i) for i in range(THREADS)]
    torch.cuda.synchronize()
    wrong, errors, gate = [0] * THREADS, [""] * THREADS, threading.Barrier(THREADS)

    def work(i: int) -> None:
        run, right = cases[i]
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                gate.wait()
                for _ in range(REPEATS):
                    found = run().detach()
                    wrong[i] += int(not float((found - right).float().norm() / right.float().norm()) < 1e-2)
        except Exception as error:
            errors[i] = f"{type(error).__name__}: {error}"[:300]

    workers = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    torch.cuda.synchronize()
    assert not any(wrong) and not any(errors), f"{sum(wrong)} wrong; {next(filter(None, errors), '')}"
    return {"calls": THREADS * REPEATS}


class _Attend(torch.nn.Module):
    def __init__(self, call: Any) -> None:
        super().__init__()
        self.call = call

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
        return self.call(q, k, v, is_causal=True)


def devices() -> Iterator[tuple[str, bool, dict[str, Any]]]:
    if torch.cuda.device_count() < 2:
        yield "devices: skipped, there is one", True, {}
        return
    yield guarded("devices: in turns", _in_turns)
    yield guarded("devices: DataParallel, attention", lambda: _parallel(_Attend(attention()), 4))
    yield guarded("devices: DataParallel, gemm", lambda: _parallel(torch.nn.Linear(256, 512, bias=False), 2))


def _in_turns() -> dict[str, Any]:
    multiply, forward = gemm(), function("hopper_attention_fwd", "hopper_attention_fwd_causal")
    for i in range(20):
        device = f"cuda:{i % 2}"
        a, b = tensor(512, 512).to(device), tensor(512, 512).to(device)
        q = tensor(1, 2, 512, 128).to(device)
        torch.testing.assert_close(multiply(a, b), torch.mm(a, b), rtol=2e-2, atol=2e-1)
        torch.testing.assert_close(forward(q, q, q)[0], sdpa(q, q, q, is_causal=True), rtol=2e-2, atol=2e-2)
    return {"calls": 40}


def _parallel(module: torch.nn.Module, batches: int) -> dict[str, Any]:
    if isinstance(module, torch.nn.Linear):
        multiply, weight = gemm(), tensor(256, 512)
        inputs: tuple[torch.Tensor, ...] = (tensor(512, 256),)
        expected = inputs[0] @ weight

        class Multiply(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.register_buffer("weight", weight)

            def forward(self, a: torch.Tensor) -> Any:
                return multiply(a, self.weight)

        module = Multiply()
    else:
        inputs = tuple(tensor(batches, 4, 512, 128, grad=True) for _ in "qkv")
        expected = sdpa(*inputs, is_causal=True)
    both = torch.nn.DataParallel(module.cuda(), device_ids=[0, 1])
    for _ in range(5):
        out = both(*inputs)
        torch.testing.assert_close(out, expected, rtol=2e-2, atol=2e-1)
        if out.requires_grad:
            out.float().sum().backward()
    return {"calls": 5}


# --- profile --------------------------------------------------------------------------------------------------------


def profile() -> Iterator[tuple[str, bool, dict[str, Any]]]:
    for kind, pairs in (("no gradients", plain()), ("require grad", with_gradients())):
        for name, (run, _) in pairs.items():
            yield guarded(f"profile, {kind}: {name}", lambda: _kernels(run))  # noqa: B023


def _kernels(run: Run) -> dict[str, Any]:
    """What the GPU does in a warm call. A profiler's hook has launches go through Triton, which changes no kernel."""
    run()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for _ in range(3):
            run()
        torch.cuda.synchronize()
    names = sorted({event.name for event in profiler.events() if event.device_type == torch.autograd.DeviceType.CUDA})
    foreign = [name for name in names if not name.startswith("hopper_") and "memset" not in name.lower()]
    assert names and not foreign, foreign
    return {"kernels": " ".join(names)}


def guarded(what: str, run: Callable[[], dict[str, Any]]) -> tuple[str, bool, dict[str, Any]]:
    try:
        return what, True, run()
    except Exception as error:
        traceback.print_exc()
        return what, False, {"error": f"{type(error).__name__}: {error}"[:2000]}


SECTIONS = {
    "threads": threads,
    "compile": compiled,
    "times": times,
    "norms": norms,
    "packages": packages,
    "devices": devices,
    "profile": profile,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="+", choices=SECTIONS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: dict[str, Any] = {}
    for section in options.sections:
        start = time.perf_counter()
        for what, ok, told in SECTIONS[section]():
            rows[what] = {"ok": ok, **told}
            figures = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in told.items())
            print(f"{'ok  ' if ok else 'FAIL'} {what:<52} {figures[:160]}", flush=True)
        print(f"     {section}: {time.perf_counter() - start:.0f} s", flush=True)
    if options.json:
        gpu = Gpu()
        told = [argument for argument in sys.argv[1:] if argument not in ("--json", str(options.json))]
        record = {"command": " ".join(["python", "benchmarks/host_side.py", *told]), "device": gpu.name}
        options.json.write_text(json.dumps({**record, "versions": gpu.versions(), "rows": rows}, indent=1) + "\n")
    return int(not all(row["ok"] for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
