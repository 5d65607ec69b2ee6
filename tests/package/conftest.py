"""Packages of small specs, the modules that they stand for, and a stand-in for NVIDIA's driver."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# One config each of shipped specs: what is added to them.
SPECS = {
    "gemm": ("hopper_gemm", {"tasks.mma.split": "cooperative", "tile.n": 128, "rings.ab.stages": 4}),
    "pdl": (
        "hopper_gemm_pdl",
        {
            "schedule.kind": "grid",
            "cluster": "{n: 2}",
            "tasks.mma.split": "cooperative",
            "tile": "{m: 64, n: 64}",  # and one consumer, and few operations: it is compiled a dozen times
            "tasks.mma.replicate": 1,
            "epilogue.ops": "[bias]",
        },
    ),
    "layer_norm": ("hopper_layer_norm", {"schedule.kind": "grid", "tile": "{m: 1, n: 256}", "cluster.n": 1}),
    "attention": (
        "hopper_attention_fwd",
        {
            "mask.kind": "causal",
            "problem.head_dim": 32,  # and one consumer, of few rows: it is compiled nine times, and more by Triton
            "tile": "{m: 64, n: 32}",
            "tasks.mma.replicate": 1,
            "tasks.mma.turns": "none",
        },
    ),
    "norm_bwd": (  # two kernels and their workspace, in little time to compile 31 times
        "hopper_rms_norm_bwd",
        {"tile": "{m: 8, n: 64}", "cluster.n": 1, "rings.rows.stages": 0, "tasks.reduce": "{}"},
    ),
}
ONLY_PYTHON = {"norm_bwd"}


def lacking() -> str:
    """What this machine lacks for tests that compile packages and launch them on a stand-in; empty for nothing."""
    for name in ("torch", "triton", "cuda.bindings"):
        try:
            if importlib.util.find_spec(name) is None:
                return f"no {name}"
        except ModuleNotFoundError:
            return f"no {name}"
    if shutil.which("gcc") is None or not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "Triton builds its launcher with gcc and Python.h"
    return ""


@dataclass(frozen=True)
class Made:
    """A package, its C++ form and the generated folder of one spec; `start` runs a process on the stand-in driver."""

    name: str
    package: Path
    cpp: Path | None
    generated: Path
    start: Callable[..., Any]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder for what is compiled once for all workers."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "packages"
    folder.mkdir(exist_ok=True)
    return folder


@contextlib.contextmanager
def once(done: Path) -> Iterator[bool]:
    """Whether this process is to make what `done` marks; the others wait until it is made."""
    with FileLock(f"{done}.lock"):
        yield not done.exists()
        done.touch()


@pytest.fixture(scope="session")
def driver(shared: Path) -> Path:
    """The folder of the stand-in driver."""
    spec = importlib.util.find_spec("triton")
    assert spec and spec.origin
    include = Path(spec.origin).parent / "backends" / "nvidia" / "include"
    folder = shared / "driver"
    with once(shared / "driver.done") as missing:
        if missing:
            folder.mkdir(exist_ok=True)
            options = ["-O1", "-w", "-shared", "-fPIC", "-Wl,-Bsymbolic", f"-I{include}"]
            library = folder / "libcuda.so.1"
            subprocess.run(["gcc", *options, str(HERE / "libcuda.c"), "-o", library], check=True, timeout=600)
            shutil.copy(library, folder / "libcuda.so")
    return folder


def cache_of(driver: Path) -> Path:
    """Triton's cache, in which the compiler leaves what it makes for packages: where `beside.py` then asks Triton for
    the same source, types, constants, attributes and options, it finds that; for any other, Triton compiles anew."""
    return driver / "cache"


@pytest.fixture(scope="session")
def made(shared: Path, driver: Path) -> Callable[[str], Made]:
    """Makes the package of a spec in SPECS, once for all workers: the tests do not change it."""
    from tlxgen.build import contents
    from tlxgen.compile import batch
    from tlxgen.package import folder
    from tlxgen.verbs import package as verb

    environment_of = batch._environment
    of_host = functools.cache(folder.of_host)  # of all of them it makes the same of the same text

    def keeping(scratch: str) -> dict[str, str]:
        return environment_of(scratch) | {"TRITON_CACHE_DIR": str(cache_of(driver))}

    def start(*command: Any, timeout: float = 1800) -> Any:
        environment = os.environ | {
            "LD_LIBRARY_PATH": str(driver),
            "TRITON_LIBCUDA_PATH": str(driver),
            "TRITON_CACHE_DIR": str(cache_of(driver)),
            "TRITON_DISABLE_LINE_INFO": "1",  # as cubins of packages are compiled: else the same code is another file
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        }
        words = [sys.executable, *map(str, command), str(driver)]
        run = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=timeout)
        assert run.returncode == 0, run.stderr[-3000:]
        return json.loads(run.stdout.splitlines()[-1])

    def make(which: str) -> Made:
        name, root = f"small_{which}", shared / which
        generated, cpp = root / "generated" / name, None if which in ONLY_PYTHON else root / f"{name}_cpp"
        with once(shared / f"{which}.done") as missing:
            if missing:
                base, axes = SPECS[which]
                spec = root / "specs" / f"{name}.yaml"
                shutil.copytree(ROOT / "specs", root / "specs", dirs_exist_ok=True)
                lines = [f"extends: {base}.yaml", f"name: {name}", "variants:", "  axes:"]
                spec.write_text("\n".join([*lines, *(f"    {a}: [{value}]" for a, value in axes.items())]) + "\n")
                generated.mkdir(parents=True, exist_ok=True)
                for file, data in contents(spec).items():
                    (generated / file).write_bytes(data)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(batch, "_environment", keeping)
                    patch.setattr(folder, "of_host", of_host)
                    verb.run(spec, ["sm90"], root / name, None, 600, cpp)
        return Made(name, root / name, cpp, generated, start)

    return make
