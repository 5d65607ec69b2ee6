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
from typing import Any

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


def build(*arguments: object) -> None:
    run = subprocess.run(["g++", *map(str, arguments)], capture_output=True, text=True, timeout=900)
    assert run.returncode == 0, run.stderr[-3000:]


@functools.cache
def compiled(source: Path, optimized: bool, *options: str) -> Path:
    """The object of a source, as a package's README says, and with no warning of its own."""
    system = [re.sub("^-I", "-isystem", one) for one in [*config("--cxxflags"), f"-I{include_of_cuda()}"]]
    target = source.with_suffix(".o")
    warnings = ("-Wall", "-Wextra", "-Werror")
    build("-O1" if optimized else "-O0", *warnings, "-fPIC", "-c", source, "-o", target, *options, *system)
    return target


def linked(target: Path, *objects: Path, options: tuple[str, ...]) -> Path:
    build(*objects, "-o", target, *options, *config("--ldflags"), "-ltvm_ffi", "-ldl")
    return target


@pytest.fixture(scope="module")
def objects(made: Callable[[str], Made]) -> Callable[[str], list[Path]]:
    """Compiles the sources of a package once; those of one with an optimizer, which warns of more."""

    def objects(which: str) -> list[Path]:
        it = made(which)
        assert it.cpp
        return [compiled(it.cpp / f"{it.name}{part}.cc", which == "gemm") for part in ("", "_cubins")]

    return objects


@pytest.fixture(scope="module")
def library(objects: Callable[[str], list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Builds the library of a package, once for the tests of this file: they do not change it."""

    @functools.cache
    def library(which: str) -> Path:
        return linked(tmp_path_factory.mktemp(which) / "it.so", *objects(which), options=("-shared",))

    return library


WHICH = ("gemm", "pdl", "layer_norm", "attention")


@pytest.fixture(scope="module")
def heard(made: Callable[[str], Made], library: Callable[[str], Path]) -> Any:
    """What becomes of the calls of all of them, in one process."""
    words: list[object] = []
    for which in WHICH:
        it = made(which)
        module = next(path for path in it.generated.glob("small_*.py")).stem
        words += [it.package, it.name, module, library(which), which]
    return made("gemm").start(HERE / "cpp_beside.py", *words)


@pytest.mark.parametrize("which", WHICH)
class TestLaunches:
    pytestmark = needs_all

    def test_the_driver_hears_the_same(self, heard: Any, which: str) -> None:
        """Each launch of each config with the cubin's digest, grid, block, shared memory, stream, attributes and every
        parameter; what is filled in; and errors, but for calls of torch that they name in Python."""
        seen = heard[which]
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
        self, made: Callable[[str], Made], objects: Callable[[str], list[Path]], driver: Path, tmp_path: Path
    ) -> None:
        """The stand-in runs no kernel, so C keeps its NaN, and the example has to say that it is wrong."""
        it = made("gemm")
        assert it.cpp
        source = (ROOT / "examples" / "cpp" / "gemm.cc").read_text()
        source = source.replace("<hopper_gemm.h>", f"<{it.name}.h>")
        source = source.replace("hopper_gemm::hopper_gemm_cooperative_0", f"{it.name}::{it.name}_0")
        (tmp_path / "gemm.cc").write_text(source)
        own = compiled(tmp_path / "gemm.cc", True, f"-I{it.cpp}")
        program = linked(tmp_path / "gemm", own, *objects("gemm"), options=(f"-L{driver}", "-lcuda"))
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
