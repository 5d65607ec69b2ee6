"""One check for each thing that a verb may need. None raises; what takes torch or triton runs in a child process."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Literal

from tlxgen import __version__, families, stamp
from tlxgen.bench import device as readings
from tlxgen.compile import TOOLCHAINS, check_torch, check_triton
from tlxgen.compile.toolchain import FBTRITON, REMEDY, tools
from tlxgen.errors import CacheError, ToolchainError

State = Literal["ok", "absent", "fault"]
LEAST = (3, 10)  # of Python
CHILD_SECONDS = 120  # for an import of torch on a cold disk

_TORCH = """
import json, torch
names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
capabilities = [torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count())]
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "names": names, "at": capabilities}))
"""
ARCHES = {(9, 0): "sm90", (10, 0): "sm100"}


@dataclass(frozen=True)
class Check:
    """What was found. absent: it is not here, which is no fault of this machine. fault: `remedy` mends it."""

    name: str
    state: State
    text: str
    remedy: str = ""


def examine() -> list[Check]:
    """Every check, in the order of CHECKS, and one for each plug-in."""
    checks = [check() for check in CHECKS]
    torch = _torch()
    return [*checks, *_of_torch(torch), _gpu(torch), *_toolchains(), *_plug_ins()]


def _python() -> Check:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()} ({sys.executable})"
    if sys.version_info[:2] < LEAST:
        return Check("python", "fault", found, f"install Python {'.'.join(map(str, LEAST))} or later")
    return Check("python", "ok", found)


def _tlxgen() -> Check:
    """The package with its templates, and the version of black that is a part of the bytes of generated files."""
    found = f"{__version__} in {stamp.PACKAGE}"
    if not (stamp.templates() / "lib" / "_host.py").is_file():
        return Check("tlxgen", "fault", f"{found}, without its templates", "run: pip install --force-reinstall tlxgen")
    try:
        pinned = next((r for r in metadata.requires("tlxgen") or () if r.startswith("black==")), "")
        black = f"black=={metadata.version('black')}"
    except metadata.PackageNotFoundError:  # run from a folder, without an installation
        return Check("tlxgen", "ok", found)
    if pinned and pinned != black:
        return Check(
            "tlxgen", "fault", f"{found}, beside {black}: generated files differ", f"run: pip install {pinned}"
        )
    return Check("tlxgen", "ok", found)


def _cache() -> Check:
    folder = stamp.cache_folder()
    try:
        stamp.require_cache()
    except CacheError as error:
        return Check("cache folder", "fault", error.message, error.remedy)
    return Check("cache folder", "ok", str(folder))


def _git() -> Check:
    where = shutil.which("git")
    if not where:
        return Check("git", "absent", "not found: tlxgen diff compares files, and no revisions", "install git")
    return Check("git", "ok", where)


def _compiler() -> Check:
    where = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if not where:
        return Check("C compiler", "absent", "not found: triton builds its launcher with one", "install gcc")
    return Check("C compiler", "ok", where)


def _triton() -> Check:
    try:
        return Check("triton", "ok", f"fbtriton {check_triton()}")
    except ToolchainError as error:
        remedy = error.remedy if platform.system() == "Linux" else f"{FBTRITON} is for Linux: use a container or WSL 2"
        return Check("triton", "fault", error.message, remedy)


def _ptxas() -> Check:
    try:
        found = tools()
    except ToolchainError:
        return Check("ptxas", "fault", "comes with fbtriton, which is not installed", REMEDY)
    needed = {"ptxas": found.ptxas, "nvdisasm": found.nvdisasm, "ptxas-blackwell": found.ptxas_blackwell}
    lacking = [name for name, path in needed.items() if path is None]
    if lacking:
        return Check("ptxas", "fault", f"fbtriton's wheel lacks {', '.join(lacking)}", REMEDY)
    return Check("ptxas", "ok", str(found.ptxas))


def _driver() -> Check:
    if version := readings.driver():
        return Check("driver", "ok", f"NVIDIA {version}")
    return Check("driver", "absent", "nvidia-smi does not answer", "install NVIDIA's driver, on a machine with a GPU")


def _bindings() -> Check:
    try:
        return Check("cuda-bindings", "ok", metadata.version("cuda-bindings"))
    except metadata.PackageNotFoundError:
        text = "none: packages of `tlxgen package` are made without, and run with it"
        return Check("cuda-bindings", "absent", text, "run: pip install cuda-bindings")


CHECKS: tuple[Callable[[], Check], ...] = (
    *(_python, _tlxgen, _cache, _git, _triton, _ptxas, _compiler, _driver),
    _bindings,
)


def _torch() -> dict[str, Any] | ToolchainError:
    """What torch says of itself and of the GPUs that it may use, in a process of its own."""
    try:
        check_torch()
    except ToolchainError as error:
        return error
    setup = f"import sys; sys.path[:] = {sys.path!r}"  # where this process looks, not what lies in its folder
    try:
        child = subprocess.run(
            [sys.executable, "-c", setup + _TORCH], capture_output=True, text=True, timeout=CHILD_SECONDS, check=False
        )
        return dict(json.loads(child.stdout.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        text = f"import torch did not end within {CHILD_SECONDS} s"
    except (ValueError, IndexError, OSError):
        lines = child.stderr.strip().splitlines() or [f"it ended with status {child.returncode}"]
        text = f"torch does not import: {lines[-1]}"
    return ToolchainError(text, remedy="run: pip install --force-reinstall torch, then fbtriton (see README)")


def _of_torch(torch: dict[str, Any] | ToolchainError) -> Iterator[Check]:
    if isinstance(torch, ToolchainError):
        yield Check("torch", "fault", torch.message, torch.remedy)
        yield Check("torch for CUDA", "absent", "there is no torch")
        return
    yield Check("torch", "ok", torch["version"])
    if torch["cuda"]:
        yield Check("torch for CUDA", "ok", f"CUDA {torch['cuda']}")
    elif readings.driver():
        remedy = "install a CUDA build of torch (pytorch.org), then fbtriton again"
        yield Check("torch for CUDA", "fault", "torch is a build for CPUs, and here is a GPU", remedy)
    else:
        yield Check("torch for CUDA", "absent", "torch is a build for CPUs")


def _gpu(torch: dict[str, Any] | ToolchainError) -> Check:
    told = torch if isinstance(torch, dict) else {}
    found = [(name, tuple(at)) for name, at in zip(told.get("names", ()), told.get("at", ()), strict=True)]
    if not found:
        if listed := readings.listed():
            remedy = "see the checks of torch, and CUDA_VISIBLE_DEVICES"
            return Check("GPU", "fault", f"{listed[0].name} is here, and torch does not see it", remedy)
        return Check("GPU", "absent", "none: build, verify and compile work without")
    texts = [f"{name} ({ARCHES.get(at, 'neither sm90 nor sm100')})" for name, at in found]
    usable = any(at in ARCHES for _, at in found)
    return Check("GPU", "ok" if usable else "absent", ", ".join(dict.fromkeys(texts)))


def _toolchains() -> Iterator[Check]:
    """A check for each Triton with an environment of its own."""
    for toolchain in TOOLCHAINS:
        if toolchain.is_default:
            continue
        state = toolchain.state
        text = f"{' with '.join(toolchain.requires)}, for compile --toolchain {toolchain.name}"
        found: State = {"ready": "ok", "absent": "absent", "damaged": "fault"}[state]  # type: ignore[assignment]
        said = text if state == "ready" else f"{state}: {text}"
        yield Check(f"toolchain {toolchain.name}", found, said, "" if state == "ready" else toolchain.remedy)


def _plug_ins() -> Iterator[Check]:
    """A check for each family from outside."""
    good, broken = families.loaded()
    for name in families.plug_ins():
        if name in good:
            yield Check(f"plug-in {name}", "ok", type(good[name]).__module__)
    for name, error in broken.items():
        yield Check(f"plug-in {name}", "fault", error.message, error.remedy)
