"""Packages in C++ on a GPU: built with g++ and the headers of tvm-ffi's wheel, run, and compared with torch in float64.

    python benchmarks/package_cpp_gpu.py --make    with no GPU: sources, the wheel and cuda.h in .packages/cpp
    python benchmarks/package_cpp_gpu.py           on the GPU, where .packages/ has come along: about 60 s

It builds one library a package, calls each function of it from Python by tvm-ffi, with tensors of torch on a stream of
its own, and builds and runs examples/cpp/gemm.cc, which needs no Python.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".packages" / "cpp"
FFI = "apache-tvm-ffi==0.1.15.post2"

# A spec, and which of its variants: a library holds the bytes of all cubins.
SPECS: dict[str, dict[str, str]] = {
    "hopper_gemm": {},
    "hopper_attention_fwd": {},
    "hopper_layer_norm": {"schedule.kind": "grid", "tile": "{m: 1, n: 2048}", "cluster.n": "1"},
}
SHAPES = {
    "hopper_gemm": ((4096, 4096, 4096), (1000, 1112, 520), (64, 8, 8)),
    "hopper_attention_fwd": ((2, 16, 4, 1024), (1, 2, 1, 333)),
    "hopper_layer_norm": ((4096, 2048), (77, 1001)),
}
RELATIVE = 2.0**-7  # a step of bf16, of the largest element


def make() -> None:
    triton = importlib.util.find_spec("triton")
    assert triton and triton.origin
    (FOLDER / "include").mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(triton.origin).parent / "backends" / "nvidia" / "include" / "cuda.h", FOLDER / "include")
    for_host = ["--no-deps", "--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp"]
    platforms = [f"--platform=manylinux_2_{minor}_x86_64" for minor in (17, 24, 28)]
    download = [sys.executable, "-m", "pip", "download", "-q", *for_host, *platforms, "-d", str(FOLDER), FFI]
    subprocess.run(download, check=True)
    for name, axes in SPECS.items():
        if not (FOLDER / name).is_dir():
            package(name, axes)


def package(name: str, axes: dict[str, str]) -> None:
    """Makes the C++ form of a spec, or of one variant of it."""
    spec = ROOT / "specs" / f"{name}.yaml"
    with tempfile.TemporaryDirectory() as temporary:
        if axes:
            rows = "".join(f"    {axis}: [{value}]\n" for axis, value in axes.items())
            shutil.copytree(ROOT / "specs", Path(temporary, "specs"))
            spec = Path(temporary, "one", f"{name}.yaml")
            spec.parent.mkdir()
            spec.write_text(f"extends: ../specs/{name}.yaml\nname: {name}\nvariants:\n  axes:\n{rows}")
            subprocess.run([sys.executable, "-m", "tlxgen", "build", str(spec)], cwd=temporary, check=True)
        words = ["package", str(spec), "--cpp", str(FOLDER / name), "--workers", "1"]
        subprocess.run([sys.executable, "-m", "tlxgen", *words], cwd=temporary if axes else ROOT, check=True)


# --- building -------------------------------------------------------------------------------------------------------


def wheel(into: Path) -> Path:
    """The folder of tvm-ffi, which is to build no part of torch: the wheel, unpacked, or the installed one."""
    os.environ["TVM_FFI_DISABLE_TORCH_C_DLPACK"] = "1"
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    for packed in FOLDER.glob(f"apache_tvm_ffi*-{python}-*.whl"):
        zipfile.ZipFile(packed).extractall(into)
        sys.path.insert(0, str(into))
        return into
    found = importlib.util.find_spec("tvm_ffi")
    assert found and found.origin
    return Path(found.origin).parents[1]


def config(of: Path, which: str) -> list[str]:
    command = [sys.executable, "-m", "tvm_ffi.config", which]
    environment = os.environ | {"PYTHONPATH": f"{of}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()


def build(sources: list[Path], target: Path, options: list[str]) -> float:
    """As README.md of a package says; seconds. Raises RuntimeError with what the compiler said."""
    start = time.monotonic()
    run = subprocess.run(
        ["g++", "-O2", *map(str, sources), "-o", str(target), *options], capture_output=True, text=True
    )
    if run.returncode:
        raise RuntimeError(run.stderr[-2000:])
    return time.monotonic() - start


# --- what functions compute -----------------------------------------------------------------------------------------


def close(found: Any, exact: Any) -> bool:
    """Within a step of bf16 of the largest element, and never NaN."""
    return bool(((found.double() - exact).abs() <= RELATIVE * exact.abs().max()).all())


def gemm(call: Callable[..., Any], m: int, n: int, k: int) -> bool:
    import torch

    a, b = (torch.randn(*s, device="cuda").bfloat16() for s in ((m, k), (k, n)))
    out = torch.full((m, n), math.nan, device="cuda", dtype=torch.bfloat16)
    call(a, b, out)
    return close(out, a.double() @ b.double())


def attention(call: Callable[..., Any], causal: bool, b: int, h: int, kv: int, n: int) -> bool:
    import torch

    q, k, v = (torch.randn(b, heads, n, 128, device="cuda").bfloat16() for heads in (h, kv, kv))
    out = torch.full_like(q, math.nan)
    lse = torch.full((b, h, n), math.nan, device="cuda")
    call(q, k, v, None, out, lse)
    keys, values = (x.double().repeat_interleave(h // kv, 1) for x in (k, v))
    scores = q.double() @ keys.mT / math.sqrt(128)
    if causal:
        scores.masked_fill_(torch.ones(n, n, dtype=torch.bool, device="cuda").triu(1), -math.inf)
    return close(out, scores.softmax(-1) @ values) and close(lse, scores.logsumexp(-1))


def layer_norm(call: Callable[..., Any], rows: int, columns: int) -> bool:
    import torch

    x, w, b = (torch.randn(*s, device="cuda").bfloat16() for s in ((rows, columns), (columns,), (columns,)))
    y = torch.full_like(x, math.nan)
    mean, rstd = (torch.full((rows,), math.nan, device="cuda") for _ in range(2))
    call(x, w, b, 1e-5, y, mean, rstd)
    exact = torch.nn.functional.layer_norm(x.double(), (columns,), w.double(), b.double(), 1e-5)
    return close(y, exact) and close(mean, x.double().mean(-1))


def runs(spec: str, function: str) -> Callable[..., bool]:
    if spec == "hopper_attention_fwd":
        return lambda call, *shape: attention(call, "causal" in function, *shape)
    return {"hopper_gemm": gemm, "hopper_layer_norm": layer_norm}[spec]


def functions(spec: str) -> Iterator[str]:
    """Those that the header declares."""
    yield from re.findall(r"^void (\w+)\(", (FOLDER / spec / f"{spec}.h").read_text(), re.MULTILINE)


def called(spec: str, library: Path) -> Iterator[tuple[str, str]]:
    """Each function on each shape: "right", or what went wrong."""
    import torch
    import tvm_ffi

    module = tvm_ffi.load_module(str(library))
    for function in functions(spec):
        for shape in SHAPES[spec]:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            try:
                with torch.cuda.stream(stream), tvm_ffi.use_raw_stream(tvm_ffi.device("cuda", 0), stream.cuda_stream):
                    right = runs(spec, function)(module[function], *shape)
                told = "right" if right else "WRONG"
            except Exception as error:
                told = f"{type(error).__name__}: {error}"[:300]
            yield f"{function} {shape}", told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--make", action="store_true", help="make .packages/cpp; needs no GPU")
    parser.add_argument("--build", action="store_true", help="only build; needs no GPU")
    options = parser.parse_args()
    if options.make:
        make()
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        site = wheel(folder / "site")
        flags = [
            *config(site, "--cxxflags"),
            f"-I{FOLDER / 'include'}",
            *config(site, "--ldflags"),
            "-ltvm_ffi",
            "-ldl",
        ]

        def library(spec: str) -> float:
            sources = [FOLDER / spec / f"{spec}{end}.cc" for end in ("", "_cubins")]
            return build(sources, folder / f"{spec}.so", ["-shared", "-fPIC", *flags])

        def example(of: str) -> float:
            sources = [ROOT / "examples" / "cpp" / "gemm.cc", *(FOLDER / of / f"{of}{e}.cc" for e in ("", "_cubins"))]
            return build(sources, folder / "gemm", [f"-I{FOLDER / of}", *flags, *driver()])

        with ThreadPoolExecutor() as pool:
            built = [(name, pool.submit(library, name)) for name in SPECS]
            built.append(("examples/cpp/gemm.cc", pool.submit(example, "hopper_gemm")))
            for name, future in built:
                print(f"built {name} in {future.result():.1f} s", flush=True)
        if options.build:
            return
        report(folder, config(site, "--libdir"))


def driver() -> list[str]:
    """The driver's library by its path: a host without CUDA's toolkit has no libcuda.so to link with."""
    ctypes.CDLL("libcuda.so.1")
    paths = (line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines())
    return [next(path for path in paths if "/libcuda.so" in path)]


def report(folder: Path, libraries: list[str]) -> None:
    wrong = 0
    for spec in SPECS:
        told = [*called(spec, folder / f"{spec}.so")]
        failed = [(what, said) for what, said in told if said != "right"]
        wrong += len(failed)
        print(f"{spec}: {len(told) - len(failed)} of {len(told)} calls are right")
        for what, said in failed:
            print(f"  {what}: {said}")
    environment = os.environ | {"LD_LIBRARY_PATH": os.pathsep.join([*libraries, os.environ.get("LD_LIBRARY_PATH", "")])}
    for shape in (("1024", "512", "256"), ("4096", "4096", "512")):
        run = subprocess.run([folder / "gemm", *shape], env=environment, capture_output=True, text=True, timeout=120)
        wrong += run.returncode != 0
        print(f"examples/cpp/gemm.cc: {run.stdout.strip() or run.stderr.strip()} (status {run.returncode})")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
