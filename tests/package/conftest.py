"""Packages of small specs, the modules that they stand for, and a stand-in for NVIDIA's driver."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# One config each of shipped specs: what is added to them.
SPECS = {
    "gemm": ("hopper_gemm", {"tasks.mma.split": "cooperative", "tile.n": 128, "rings.ab.stages": 4}),
    "pdl": ("hopper_gemm_pdl", {"schedule.kind": "persistent", "cluster": "{n: 2}", "tasks.mma.split": "pingpong"}),
    "layer_norm": ("hopper_layer_norm", {"schedule.kind": "grid", "tile": "{m: 1, n: 2048}", "cluster.n": 1}),
    "attention": ("hopper_attention_fwd", {"mask.kind": "causal"}),
    "attention_bwd": ("hopper_attention_bwd", {"mask.kind": "causal"}),
}
ONLY_PYTHON = {"attention_bwd"}


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
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the stand-in driver."""
    spec = importlib.util.find_spec("triton")
    assert spec and spec.origin
    include = Path(spec.origin).parent / "backends" / "nvidia" / "include"
    folder = tmp_path_factory.mktemp("driver")
    for name in ("libcuda.so.1", "libcuda.so"):
        options = ["-O1", "-w", "-shared", "-fPIC", "-Wl,-Bsymbolic", f"-I{include}"]
        subprocess.run(["gcc", *options, str(HERE / "libcuda.c"), "-o", folder / name], check=True, timeout=600)
    return folder


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, driver: Path) -> Callable[[str], Made]:
    """Makes the package of a spec in SPECS, once."""
    from tlxgen.build import contents
    from tlxgen.verbs import package as verb

    root = tmp_path_factory.mktemp("packages")
    known: dict[str, Made] = {}

    def start(*command: Any, timeout: float = 1800) -> Any:
        environment = os.environ | {
            "LD_LIBRARY_PATH": str(driver),
            "TRITON_LIBCUDA_PATH": str(driver),
            "TRITON_CACHE_DIR": str(driver / "cache"),
            "TRITON_DISABLE_LINE_INFO": "1",  # as cubins of packages are compiled: else the same code is another file
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        }
        words = [sys.executable, *map(str, command), str(driver)]
        run = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=timeout)
        assert run.returncode == 0, run.stderr[-3000:]
        return json.loads(run.stdout.splitlines()[-1])

    def make(which: str) -> Made:
        if which not in known:
            base, axes = SPECS[which]
            name = f"small_{which}"
            spec = root / "specs" / f"{name}.yaml"
            spec.parent.mkdir(exist_ok=True)
            shutil.copytree(ROOT / "specs", root / "specs", dirs_exist_ok=True)
            lines = [f"extends: {base}.yaml", f"name: {name}", "variants:", "  axes:"]
            spec.write_text("\n".join([*lines, *(f"    {axis}: [{value}]" for axis, value in axes.items())]) + "\n")
            files = contents(spec)
            generated = root / "generated" / name
            generated.mkdir(parents=True)
            for file, data in files.items():
                (generated / file).write_bytes(data)
            cpp = None if which in ONLY_PYTHON else root / f"{name}_cpp"
            verb.run(spec, ["sm90"], root / name, None, 600, cpp)
            known[which] = Made(name, root / name, cpp, generated, start)
        return known[which]

    return make
