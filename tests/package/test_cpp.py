"""The C++ form of a package: what the driver hears of it is what it hears of the Python form, to the byte, and errors
have the same words."""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.package.conftest import HERE, ROOT, Made, lacking


def _lacking() -> str:
    if importlib.util.find_spec("tvm_ffi") is None:
        return "no tvm_ffi"
    return "no g++" if shutil.which("g++") is None else lacking()


needs_all = [pytest.mark.compiles, pytest.mark.skipif(bool(_lacking()), reason=_lacking())]


@functools.cache
def config(which: str) -> list[str]:
    """What tvm-ffi says that a build needs."""
    command = [sys.executable, "-m", "tvm_ffi.config", which]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.split()


def include_of_cuda() -> Path:
    spec = importlib.util.find_spec("triton")
    assert spec and spec.origin
    return Path(spec.origin).parent / "backends" / "nvidia" / "include"


def compiled(target: Path, *sources: Path, options: tuple[str, ...]) -> Path:
    """Built as a package's README says, and with no warning of its own."""
    includes = config("--cxxflags"), config("--ldflags")
    system = [re.sub("^-I", "-isystem", one) for one in [*includes[0], f"-I{include_of_cuda()}"]]
    command = ["g++", "-O1", "-Wall", "-Wextra", "-Werror", *map(str, sources), "-o", target, *options, *system]
    run = subprocess.run(
        [*map(str, command), *includes[1], "-ltvm_ffi", "-ldl"], capture_output=True, text=True, timeout=900
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return target


@pytest.fixture(scope="module")
def library(made: Callable[[str], Made], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Builds the library of a package, once for the tests of this file: they do not change it."""

    @functools.cache
    def build(which: str) -> Path:
        it = made(which)
        assert it.cpp
        sources = it.cpp / f"{it.name}.cc", it.cpp / f"{it.name}_cubins.cc"
        return compiled(tmp_path_factory.mktemp(which) / "it.so", *sources, options=("-shared", "-fPIC"))

    return build


@pytest.mark.parametrize("which", ["gemm", "pdl", "layer_norm", "attention"])
class TestLaunches:
    pytestmark = needs_all

    def test_the_driver_hears_the_same(
        self, made: Callable[[str], Made], library: Callable[[str], Path], which: str
    ) -> None:
        """Each launch of each config with the cubin's digest, grid, block, shared memory, stream, attributes and every
        parameter; what is filled in; and errors, but for calls of torch that they name in Python."""
        it = made(which)
        module = next(path for path in it.generated.glob("small_*.py")).stem
        seen = it.start(HERE / "cpp_beside.py", it.package, it.name, module, library(which), which)
        launched = 0
        for what, (python, *others) in seen.items():
            launched += len(python["launches"])
            for cpp in others:
                assert cpp["launches"] == python["launches"], what
                assert cpp["written"] == python["written"], what
                assert (cpp["error"] == "") == (python["error"] == ""), (what, cpp["error"], python["error"])
                assert python["error"].replace("torch.", "").startswith(cpp["error"].replace("torch.", "")), what
        assert launched >= 3
        if which == "gemm":
            assert seen["no columns of a, config 0"][1]["filled"] == 256 * 384
            assert {"other type, config 0", "out is a, config 0"} <= {w for w, runs in seen.items() if runs[0]["error"]}
        if which == "attention":
            assert seen["no keys, config 0"][1]["written"] == [0.0, float("-inf")]


class TestExample:
    pytestmark = needs_all

    def test_it_builds_launches_and_sees_that_nothing_ran(
        self, made: Callable[[str], Made], driver: Path, tmp_path: Path
    ) -> None:
        """The stand-in runs no kernel, so C keeps its NaN, and the example has to say that it is wrong."""
        it = made("gemm")
        assert it.cpp
        source = (ROOT / "examples" / "cpp" / "gemm.cc").read_text()
        source = source.replace("<hopper_gemm.h>", f"<{it.name}.h>")
        source = source.replace("hopper_gemm::hopper_gemm_cooperative_0", f"{it.name}::{it.name}_0")
        (tmp_path / "gemm.cc").write_text(source)
        program = compiled(
            tmp_path / "gemm",
            tmp_path / "gemm.cc",
            it.cpp / f"{it.name}.cc",
            it.cpp / f"{it.name}_cubins.cc",
            options=(f"-I{it.cpp}", f"-L{driver}", "-lcuda"),
        )
        libraries = os.pathsep.join([str(driver), *config("--libdir")])
        environment = os.environ | {"LD_LIBRARY_PATH": libraries, "STANDIN_HEARD": str(tmp_path / "heard")}
        run = subprocess.run([program, "256", "128", "64"], env=environment, capture_output=True, text=True, timeout=60)
        assert run.stdout == "C of 256 x 128 x 64: 896 elements are wrong\n", run.stderr
        assert run.returncode == 1
        heard = (tmp_path / "heard").read_text()
        assert heard == f"{it.name}_kernel grid 2 1 1 block 384 1 1 stream 77\n"
        run = subprocess.run([program, "256", "127", "64"], env=environment, capture_output=True, text=True, timeout=60)
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr.startswith("ValueError: out: rows of 127 elements are 254 bytes")


class TestRefusals:
    pytestmark = needs_all

    def test_another_gpu_an_old_driver_and_a_refused_cubin(
        self, made: Callable[[str], Made], library: Callable[[str], Path]
    ) -> None:
        it = made("gemm")
        seen = it.start(HERE / "cpp_alone.py", library("gemm"), it.name)
        package = it.name
        kernel = f"{package}_kernel"
        assert seen == {
            "another architecture": f"{package} holds cubins for sm90, compute capability 9.0; device 0 has 10.0",
            "refused": f"{package}: {kernel}: error 200 of the driver, a reason",
            "too little shared memory": f"{package}: {kernel} takes 147656 bytes of shared memory; a block here has "
            "100000",
            "capturing": "",
            "new thread": "",
            "old driver": f"{package} needs an NVIDIA driver for CUDA 12.0 or newer; the one here is for 11.8",
        }
