"""Packages beside the generated modules that they stand for, on one H200: bits, kernel time, host time, first result.

    python benchmarks/package_gpu.py --make     with no GPU: makes .packages/ (git ignores it)
    python benchmarks/package_gpu.py [SPEC ..]  on the H200, where .packages/ has come along: about 130 s for all

Child processes in which importing triton and tlxgen raises run the packages: time from import to a first result,
digests of results, graphs, streams, threads, and the error for each thing that is wrong. Another one replays graphs in
turns: of a package, of the generated module, of the module again and of the package again, so that neither is the one
that was captured first. How far the ratio of two graphs of one is from 1 is what the measurement cannot tell. Host time
is measured in processes of their own, packages and modules in turns, and in one process in turns.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import importlib
import importlib.util
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / ".packages"
SPECS = ("hopper_gemm", "hopper_gemm_tuned", "hopper_layer_norm", "hopper_attention_fwd", "hopper_attention_bwd")

ONLY = os.environ.get("PACKAGE_GPU_ONLY", "").split()  # what the command names, for its child processes
MADE = [spec for spec in ONLY or SPECS if (PACKAGES / spec).is_dir()]

Make = Callable[[], tuple[Any, ...]]


def cases() -> Iterator[tuple[str, str, str, Make]]:
    """Of packages that were made: spec, function, shape, and what makes the arguments."""
    return (case for case in all_cases() if case[0] in MADE)


def all_cases() -> Iterator[tuple[str, str, str, Make]]:
    import torch

    def randn(*shape: int, dtype: Any = torch.bfloat16) -> Any:
        return torch.randn(*shape, device="cuda", dtype=torch.float32).to(dtype)

    def matrices(m: int, n: int, k: int) -> tuple[Any, ...]:
        whole = -n % 8  # rows of b begin at multiples of 16 bytes
        return randn(m, k + -k % 8)[:, :k], randn(k, n + whole)[:, :n]

    def norm(rows: int, columns: int) -> tuple[Any, ...]:
        return randn(rows, columns), randn(columns), randn(columns)

    def attention(b: int, h: int, kv: int, n: int) -> tuple[Any, ...]:
        return randn(b, h, n, 128), randn(b, kv, n, 128), randn(b, kv, n, 128)

    def backward(b: int, h: int, kv: int, n: int, causal: bool) -> tuple[Any, ...]:
        q, k, v = attention(b, h, kv, n)
        k_all, v_all = (x.float().repeat_interleave(h // kv, 1) for x in (k, v))
        scores = q.float() @ k_all.mT / math.sqrt(128)
        if causal:
            scores.masked_fill_(torch.ones(n, n, dtype=torch.bool, device="cuda").triu(1), -math.inf)
        lse = scores.logsumexp(-1)
        out = ((scores - lse[..., None]).exp_() @ v_all).to(torch.bfloat16)
        return q, k, v, out, lse, randn(b, h, n, 128)

    for m, n, k in ((4096, 4096, 4096), (1000, 1111, 520), (1, 8, 8), (1, 4096, 4096), (64, 64, 64)):
        yield "hopper_gemm", "hopper_gemm", f"{m}x{n}x{k}", lambda m=m, n=n, k=k: matrices(m, n, k)
    for m, n, k in ((4096, 4096, 4096), (8192, 8192, 1024), (64, 8192, 4096), (1, 8192, 4096), (1000, 1001, 999)):
        yield "hopper_gemm_tuned", "hopper_gemm_tuned", f"{m}x{n}x{k}", lambda m=m, n=n, k=k: matrices(m, n, k)
    for rows, columns in ((8192, 8192), (3000, 5000), (999, 1001), (77, 20000), (1, 8192)):
        yield "hopper_layer_norm", "hopper_layer_norm", f"{rows}x{columns}", lambda r=rows, c=columns: norm(r, c)
    for shape in ((4, 32, 8, 2048), (1, 1, 1, 333), (1, 8, 8, 512), (2, 4, 2, 333), (2, 16, 16, 1000)):
        for mask in ("none", "causal"):
            name = f"hopper_attention_fwd_{mask}"
            yield "hopper_attention_fwd", name, f"{mask} {shape}", lambda s=shape: attention(*s)
    for shape in ((2, 16, 4, 2048), (1, 1, 1, 333), (1, 8, 8, 512), (2, 4, 2, 333), (2, 16, 16, 1000)):
        for mask in ("none", "causal"):
            name, causal = f"hopper_attention_bwd_{mask}", mask == "causal"
            yield "hopper_attention_bwd", name, f"{mask} {shape}", lambda s=shape, c=causal: backward(*s, c)


SMALL = {  # by spec: arguments whose kernel is short, so that the host is what a call takes
    "hopper_gemm": "1x8x8",
    "hopper_gemm_tuned": "64x8192x4096",
    "hopper_layer_norm": "999x1001",
    "hopper_attention_fwd": "causal (1, 1, 1, 333)",
    "hopper_attention_bwd": "causal (1, 1, 1, 333)",
}

FIRST = ("hopper_gemm_tuned", "hopper_attention_fwd")  # whose first result is timed


def packaged(spec: str, folder: Path = PACKAGES) -> Any:
    """A package, imported under its own name."""
    path = str(folder / spec)
    if path not in sys.path:
        sys.path.insert(0, path)
    return importlib.import_module(spec)


def generated(spec: str) -> Any:
    """The folder of generated/ as a package."""
    return under(f"of_generated_{spec}", ROOT / "generated" / spec)


def under(name: str, folder: Path, module: str = "") -> Any:
    """A folder as a package of that name, or a module of it."""
    if name not in sys.modules:
        init = folder / "__init__.py"
        found = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
        assert found and found.loader
        loaded = importlib.util.module_from_spec(found)
        sys.modules[name] = loaded
        found.loader.exec_module(loaded)
    return importlib.import_module(f".{module}", name) if module else sys.modules[name]


def each(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def digests(results: Any) -> list[str]:
    """A digest of each result's bits."""
    import torch

    torch.cuda.synchronize()
    return [hashlib.sha256(r.contiguous().cpu().view(torch.uint8).numpy().tobytes()).hexdigest() for r in each(results)]


def arguments(index: int, make: Make) -> tuple[Any, ...]:
    import torch

    torch.manual_seed(index)
    return make()


def host_us(*functions: Callable[[], Any]) -> list[float]:
    """Microseconds of the host a call: medians of short rounds in turns, which the GPU's queue takes as they come."""
    import torch

    rounds: list[list[float]] = [[] for _ in functions]
    for _ in range(30):
        for kept, function in zip(rounds, functions, strict=True):
            torch.cuda.synchronize()
            for _ in range(4):  # a thread that has just waited needs time for its first call
                function()
            start = time.perf_counter()
            for _ in range(100):
                function()
            kept.append((time.perf_counter() - start) / 100 * 1e6)
    torch.cuda.synchronize()
    return [statistics.median(kept) for kept in rounds]


def small_cases() -> Iterator[tuple[str, Callable[[str], Any], tuple[Any, ...]]]:
    """Spec, what gives its function of a package or of generated/, and arguments whose kernel is short."""
    where = {"package": packaged, "module": modules}
    for index, (spec, name, shape, make) in enumerate(cases()):
        if shape == SMALL[spec]:
            yield spec, lambda of, s=spec, n=name: getattr(where[of](s), n), arguments(index, make)


def host(of: str) -> dict[str, Any]:
    """Host time of packages or of generated modules, alone in a process, and how the latest call was recognised."""
    if of == "package":
        refuse()
    told = {}
    for spec, function, given in small_cases():
        called = function(of)
        [us] = host_us(functools.partial(called, *given))
        told[spec] = {"us": us, **parts(called, given)}
    return told


def parts(function: Callable[..., Any], given: tuple[Any, ...]) -> dict[str, Any]:
    """Of a warm call: microseconds of its launches alone; whether its layout is recognised; sets of addresses kept."""
    import torch

    module = sys.modules[function.__module__]
    if not hasattr(module, "CALLS"):  # a function that hands over to another module's
        return {}
    call = [*module.CALLS.values()][-1]
    told = [*call.known.values()][-1]
    [us] = host_us(lambda: [call.launch(*one) for one in told])
    torch.cuda.synchronize()
    return {"launches": len(told), "launch_us": us, "alike": module.CALLS.latest[2] is call, "known": len(call.known)}


# --- packages alone -------------------------------------------------------------------------------------------------


def refuse() -> None:
    """From here on nobody in this process can import triton or tlxgen, and torch does not find them either."""
    sys.modules["triton"] = sys.modules["tlxgen"] = None  # type: ignore[assignment]


def first(spec: str) -> float:
    """Seconds from the import of a package, cuda-bindings and all, to a first result; torch has a context."""
    refuse()
    import torch

    index, name, make = next((i, n, m) for i, (s, n, _, m) in enumerate(cases()) if s == spec)
    given = arguments(index, make)
    torch.cuda.synchronize()
    start = time.perf_counter()
    getattr(packaged(spec), name)(*given)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def alone() -> dict[str, Any]:
    refuse()
    import torch
    from cuda.bindings import driver

    seen: dict[str, Any] = {"bits": {}}
    torch.cuda.synchronize()
    seen["driver"] = int(driver.cuDriverGetVersion()[1])
    seen["bindings"] = importlib.import_module("cuda.bindings").__version__
    for index, (spec, name, shape, make) in enumerate(cases()):
        given = arguments(index, make)
        seen["bits"][f"{name} {shape}"] = digests(getattr(packaged(spec), name)(*given))
    seen["uses"] = uses()
    seen["errors"] = errors()
    seen["triton"] = [n for n, m in sys.modules.items() if m and n.partition(".")[0] in ("triton", "tlxgen")]
    return seen


def uses() -> dict[str, str]:
    """Graphs, streams, threads: "right", or what went wrong."""
    import torch

    gemm = packaged("hopper_gemm").hopper_gemm
    a, b = torch.randn(512, 512, device="cuda").bfloat16(), torch.randn(512, 384, device="cuda").bfloat16()
    wanted = gemm(a, b)
    torch.cuda.synchronize()

    def graph() -> bool:
        out = torch.zeros_like(wanted)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            gemm(a, b, out=out)
        captured.replay()
        torch.cuda.synchronize()
        return torch.equal(out, wanted)

    def first_in_graph() -> bool:
        """A shape, and a kernel, whose first launch is the capture."""
        x = torch.randn(2048, 2048, device="cuda").bfloat16()
        out = torch.zeros(2048, 2048, device="cuda", dtype=torch.bfloat16)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            gemm(x, x, out=out)
        captured.replay()
        torch.cuda.synchronize()
        return torch.equal(out, gemm(x, x))

    def streams() -> bool:
        made = []
        for stream in [torch.cuda.Stream() for _ in range(4)]:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                made += [gemm(a, b) for _ in range(20)]
        torch.cuda.synchronize()
        return all(torch.equal(one, wanted) for one in made)

    def threads() -> bool:
        wrong: list[object] = []

        def work() -> None:
            try:
                with torch.cuda.stream(torch.cuda.Stream()):
                    for _ in range(200):
                        out = gemm(a, b)
                    torch.cuda.current_stream().synchronize()
                    if not torch.equal(out, wanted):
                        wrong.append("other bits")
            except Exception as error:
                wrong.append(error)

        workers = [threading.Thread(target=work) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(30)
        if wrong:
            raise RuntimeError(wrong[0])
        return True

    def compiled() -> bool:
        """One node under torch.compile; Dynamo itself may want triton, so its eager backend."""
        function = torch.compile(lambda x, y: gemm(x, y) + 1, backend="eager", fullgraph=True)
        return torch.equal(function(a, b), wanted + 1)

    told = {}
    for use in (graph, first_in_graph, streams, threads, compiled):
        try:
            told[use.__name__] = "right" if use() else "wrong"
        except Exception as error:
            told[use.__name__] = f"{type(error).__name__}: {error}"[:200]
    return told


def errors() -> dict[str, str]:
    """What is said of each thing that can be wrong with a package, its driver, its torch and its arguments."""
    import torch

    a = torch.zeros(64, 64, device="cuda", dtype=torch.bfloat16)
    told = {}

    def say(what: str, call: Callable[[], Any]) -> None:
        try:
            call()
            told[what] = "NO ERROR"
        except Exception as error:
            told[what] = f"{type(error).__name__}: {error}"

    def spoil(what: str, change: Callable[[Path], None]) -> None:
        """Says what a copy of a package says that was changed."""
        name = f"spoilt_{what.replace(' ', '_')}"
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / name
            shutil.copytree(PACKAGES / "hopper_gemm" / "hopper_gemm", folder)
            change(folder)
            say(what, lambda: under(name, folder).hopper_gemm(a, a))

    def damage(folder: Path) -> None:
        for cubin in (folder / "cubins").iterdir():
            data = bytearray(cubin.read_bytes())
            data[len(data) // 2] ^= 1
            cubin.write_bytes(data)

    def no_cubin(folder: Path) -> None:
        """Files that are no cubins, although they are what the manifest says."""
        path, text = folder / "manifest.json", (folder / "manifest.json").read_text()
        for cubin in (folder / "cubins").iterdir():
            data = gzip.decompress(cubin.read_bytes())
            other = b"no ELF file" + data[11:]
            cubin.write_bytes(gzip.compress(other))
            text = text.replace(hashlib.sha256(data).hexdigest(), hashlib.sha256(other).hexdigest())
        path.write_text(text)

    def manifest(**changes: Any) -> Callable[[Path], None]:
        def change(folder: Path) -> None:
            path = folder / "manifest.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | changes))

        return change

    spoil("damaged cubin", damage)
    spoil("missing cubin", lambda folder: shutil.rmtree(folder / "cubins"))
    spoil("no cubin", no_cubin)
    spoil("another architecture", manifest(arch="sm100", capability=[10, 0]))
    spoil("old driver", manifest(driver=99000))
    version, torch.__version__ = torch.__version__, "2.3.1"
    spoil("old torch", lambda folder: None)
    torch.__version__ = version
    gemm = packaged("hopper_gemm").hopper_gemm
    say("tensors of the CPU", lambda: gemm(a.cpu(), a.cpu()))
    say("one of the CPU", lambda: gemm(a, a.cpu()))
    if torch.cuda.device_count() > 1:
        say("two devices", lambda: gemm(a, a.to("cuda:1")))
    return told


# --- beside generated modules ---------------------------------------------------------------------------------------


def beside(bits: dict[str, list[str]]) -> dict[str, Any]:
    import torch

    rows = {}
    for index, (spec, name, shape, make) in enumerate(cases()):
        given = arguments(index, make)
        ours, theirs = getattr(packaged(spec), name), getattr(modules(spec), name)
        result, again = theirs(*given), theirs(*given)
        wanted, repeated = digests(result), digests(again)
        found = bits[f"{name} {shape}"]
        same = [f == w for f, w in zip(found, wanted, strict=True)]
        unsteady = [w != r for w, r in zip(wanted, repeated, strict=True)]  # of sums in no fixed order
        near = [
            torch.allclose(x.float(), y.float(), rtol=2e-2, atol=2e-2)
            for x, y in zip(each(result), each(ours(*given)), strict=True)
        ]
        verdict = (
            "same bits"
            if all(same)
            else "same, but for sums in any order"
            if all(s or (u and n) for s, u, n in zip(same, unsteady, near, strict=True))
            else "OTHER BITS"
        )
        rows[f"{name} {shape}"] = [
            verdict,
            *kernel_us(*(functools.partial(function, *given) for function in (ours, theirs, theirs, ours))),
        ]
    host = {}
    for spec, function, given in small_cases():
        host[spec] = host_us(*(functools.partial(function(of), *given) for of in ("package", "module")))
    return {"rows": rows, "host": host}


_modules: dict[str, Any] = {}


def modules(spec: str) -> Any:
    if spec not in _modules:
        _modules[spec] = generated(spec)
    return _modules[spec]


def kernel_us(*functions: Callable[[], Any]) -> list[float]:
    """Microseconds of the GPU a call of each, by graphs of many calls that are replayed in turns: medians."""
    import torch

    graphs = []
    memory = torch.cuda.graph_pool_handle()  # results of all lie at the same addresses
    for function in functions:
        function()
        torch.cuda.synchronize()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(5):
            function()
        end.record()
        torch.cuda.synchronize()
        count = max(5, min(200, int(4000 / max(start.elapsed_time(end) * 1000 / 5, 1))))
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured, pool=memory):
            for _ in range(count):
                function()
        graphs.append((captured, count))
    times: list[list[float]] = [[] for _ in graphs]
    for round_ in range(30):
        for turn in range(len(graphs)):
            place = (round_ + turn) % len(graphs)  # none is always behind the same one
            captured, count = graphs[place]
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            captured.replay()
            end.record()
            torch.cuda.synchronize()
            times[place].append(start.elapsed_time(end) * 1000 / count)
    return [statistics.median(kept[3:]) for kept in times]


# --- the report -----------------------------------------------------------------------------------------------------


def child(what: str, given: Any = None, timeout: float = 120) -> Any:
    """What this file, run with `what`, answers; a text where it fails or takes too long."""
    command = [sys.executable, __file__, what]
    try:
        run = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"{what}: not done in {timeout} s"
    if run.returncode:
        return f"{what}: " + run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


def make() -> None:
    """Makes the packages anew."""
    for spec in SPECS:
        command = [sys.executable, "-m", "tlxgen", "package", f"specs/{spec}.yaml", "--out", str(PACKAGES / spec)]
        subprocess.run(command, cwd=ROOT, check=True)


def report() -> None:
    started = time.monotonic()
    seen = child("alone")
    if isinstance(seen, str):
        sys.exit(seen)
    firsts = {spec: child("first", spec, 60) for spec in MADE if spec in FIRST}
    firsts = {spec: f"{took:.3f}" if isinstance(took, float) else took[-300:] for spec, took in firsts.items()}
    hosts = [(of, child("host", of, 60)) for of in ("package", "module")]
    told = child("beside", seen["bits"], 280)
    print(
        f"driver {seen['driver']}, cuda-bindings {seen['bindings']}; modules of triton in the process: {seen['triton']}"
    )
    for what, text in {**seen["uses"], **seen["errors"]}.items():
        print(f"{what:22} {text}")
    for of, found in hosts:
        for spec, figures in found.items() if isinstance(found, dict) else [("", found)]:
            print(f"alone, {of:8} {spec:22} {figures}")
    if isinstance(told, str):
        sys.exit(told)
    print(f"\n{'call':48} {'package us':>10} {'again':>6} {'module':>8} {'again':>6} {'ratio':>6}  bits")
    for what, (verdict, ours, theirs, theirs_again, ours_again) in told["rows"].items():
        ratio = (ours + ours_again) / (theirs + theirs_again)
        again = ours_again / ours, theirs_again / theirs
        print(f"{what:48} {ours:10.2f} {again[0]:6.3f} {theirs:8.2f} {again[1]:6.3f} {ratio:6.3f}  {verdict}")
    print(f"\n{time.monotonic() - started:.0f} s")
    print(f"\n{'spec':24} {'host us':>8} {'module':>8} {'alone':>8} {'module':>8} {'first result s':>15} {'MB':>6}")
    for spec in MADE:
        alone_us = {of: [f[spec]["us"] for o, f in hosts if o == of and spec in f] for of in ("package", "module")}
        figures = [*told["host"][spec], *(min(us, default=math.nan) for us in alone_us.values())]
        print(
            f"{spec:24} {' '.join(f'{us:8.2f}' for us in figures)} {firsts.get(spec, '-'):>15} {megabytes(spec):6.2f}"
        )


def megabytes(spec: str) -> float:
    """The size of a package as it is installed."""
    files = (PACKAGES / spec / spec).rglob("*")
    return sum(f.stat().st_size for f in files if f.is_file() and "__pycache__" not in f.parts) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "what", nargs="*", help="specs; or one of alone, first, host, beside, as child processes run it"
    )
    parser.add_argument("--make", action="store_true", help="make .packages/; needs no GPU")
    options = parser.parse_args()
    if options.make:
        make()
        return
    answers = {"alone": lambda told: alone(), "first": first, "host": host, "beside": beside}
    if len(options.what) == 1 and options.what[0] in answers:
        print(json.dumps(answers[options.what[0]](json.load(sys.stdin))))
        return
    if unknown := {*options.what} - {*SPECS}:
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(SPECS)}")
    if options.what:
        os.environ["PACKAGE_GPU_ONLY"] = " ".join(options.what)
        MADE[:] = [spec for spec in MADE if spec in options.what]
    report()


if __name__ == "__main__":
    main()
