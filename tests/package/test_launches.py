"""What the driver is told by a package is what Triton's launcher tells it for the generated module, to the byte."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.package.conftest import Made, lacking

HERE = Path(__file__).resolve().parent

pytestmark = [pytest.mark.compiles, pytest.mark.skipif(bool(lacking()), reason=lacking())]


WHICH = ("gemm", "pdl", "layer_norm", "attention", "norm_bwd")


def module_of(it: Made) -> Path:
    return next(it.generated.glob("small_*.py"))


@pytest.fixture(scope="module")
def heard(made: Callable[[str], Made]) -> Any:
    """What the driver is told of all of them, in one process."""
    all_made = {which: made(which) for which in WHICH}
    words = [word for which, it in all_made.items() for word in (module_of(it), it.package, which)]
    return all_made["gemm"].start(HERE / "beside.py", *words)


@pytest.mark.parametrize("which", WHICH)
def test_the_driver_hears_the_same(made: Callable[[str], Made], heard: Any, which: str) -> None:
    """The code's digest, grid, block, shared memory, stream, attributes and every parameter, encoded descriptors among
    them: at the first launch of a layout, at the next by what was kept, and at other addresses."""
    seen = heard[which]
    assert len(seen) >= 3
    for what, (packaged_first, packaged, packaged_elsewhere, at_first, kept, elsewhere) in seen.items():
        assert at_first == kept, what
        assert packaged_first == at_first, what
        assert packaged == at_first, what
        assert elsewhere != at_first, what
        assert packaged_elsewhere == elsewhere, what
    launched = [launch for runs in seen.values() for launch in runs[0]]
    assert all(launch["stream"] == 77 and launch["parameters"] for launch in launched)
    overlapped = {bool(launch["attributes"]) for launch in launched}
    assert (
        overlapped == {'"launch_pdl": True' in module_of(made(which)).read_text()} == {which in ("pdl", "layer_norm")}
    )


def test_what_it_says_and_refuses_alone(made: Callable[[str], Made], tmp_path: Path) -> None:
    it = made("gemm")
    damaged = shutil.copytree(it.package, tmp_path / "package")  # by the test
    seen = it.start(HERE / "alone.py", damaged, it.name)
    assert seen["modules"] == []  # of triton and tlxgen
    assert seen["launches"] == [1, 1]
    assert seen["thread"] == "launched"
    kernel, package = "small_gemm_kernel", "small_gemm"
    expected = {
        "old torch": f"ImportError: {package} needs torch 2.4 or newer; this is torch 2.3.1+cu121",
        "torch without CUDA": f"RuntimeError: {package} needs a build of torch for CUDA; ",
        "tensors of the CPU": "ValueError: a: on cpu, expected a CUDA device",
        "one of the CPU": "ValueError: b: on cpu, expected a CUDA device",
        "other type": "TypeError: a: torch.float32, expected torch.bfloat16",
        "other shape": "ValueError: a (64, 64) @ b (128, 64): expected (M, K) @ (K, N)",
        "misaligned": "ValueError: a: data_ptr() is 2 bytes past a multiple of 16; TMA needs one; a.clone() has one",
        "another package's config": "ValueError: config: Config, expected an entry of this",
        "another architecture": f"RuntimeError: {package} holds cubins for sm90, compute capability 9.0; device",
        "old driver": f"RuntimeError: {package} needs an NVIDIA driver for CUDA 12.0 or newer; the one here",
        "damaged": f"RuntimeError: {package}: CUBIN.gz is damaged: Error -3 while decompressing data: ",
        "another": f"RuntimeError: {package}: CUBIN.gz is damaged: its SHA-256 differs; install it again",
        "missing": f"RuntimeError: {package}: cannot read CUBIN.gz: No such file or directory; install it again",
        "refused": f"RuntimeError: {package}: {kernel}: CUDA_ERROR_INVALID_IMAGE, a reason",
        "too little shared memory": f"RuntimeError: {package}: {kernel} takes",
        "wide integer": f"ValueError: {kernel}: M is 4294967296; the cubins of {package} take 32 bits",
        "other element": f"TypeError: {kernel}: a_desc is of torch.float16; the cubins",
        "unknown config": f"ValueError: {kernel}: {package} has no cubin for",
    }
    for what, text in expected.items():
        assert seen["errors"][what].startswith(text), what
    assert {*seen["errors"]} == {*expected}


def test_the_wheel_holds_all_that_runs(made: Callable[[str], Made], tmp_path: Path) -> None:
    """Built by hatchling, as pip would."""
    import os
    import zipfile

    wheel_of = pytest.importorskip("hatchling.build").build_wheel
    it = made("gemm")
    here = os.getcwd()
    os.chdir(it.package)
    try:
        name = wheel_of(str(tmp_path))
    finally:
        os.chdir(here)
    held = {*zipfile.ZipFile(tmp_path / name).namelist()}
    for path in (it.package / it.name).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(it.package).as_posix() in held
    assert any(file.endswith(".cubin.gz") for file in held)
