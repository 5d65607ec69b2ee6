"""Which Triton is installed, whether it is the one that compiles TLX, and where its tools are.

fbtriton and stock triton own the same `triton/` folder and overwrite each other's files without a word from pip.
Nothing here imports triton into this process: a broken one may crash on import.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from tlxgen.errors import ToolchainError

FBTRITON = "fbtriton==3.7.4"
REMEDY = f"run: pip install --force-reinstall --no-deps {FBTRITON}"

# Larger files are compared by size only: hashing libtriton.so takes seconds, on a cold disk a minute.
HASHED_BYTES = 1 << 20

# Leftovers of fbtriton make `import triton.language.extra.tlx` succeed on a stock libtriton: ask the library.
_PROBE = """
import json, triton
from triton._C import libtriton
print(json.dumps({
    "version": getattr(triton, "__version__", None),
    "tlx": hasattr(libtriton, "tlx"),
    "utlx": any("utlx_" in name for name in dir(getattr(getattr(libtriton, "ir", None), "builder", None))),
}))
"""


@dataclass(frozen=True)
class Tools:
    """The binaries that the fbtriton wheel brings; None for one that it lacks. No PATH, no environment variable."""

    ptxas: Path | None
    ptxas_blackwell: Path | None
    nvdisasm: Path | None
    cuobjdump: Path | None


def package() -> Path:
    """The folder of the triton that an import would take. Raises ToolchainError if there is none, or only its ruins."""
    try:
        spec = importlib.util.find_spec("triton")
    except ValueError:  # a module that someone put in sys.modules without a spec
        spec = None
    if spec is None:
        raise ToolchainError("triton is not installed, and TLX kernels compile with fbtriton only", remedy=REMEDY)
    if spec.origin is None:  # a namespace package: `pip uninstall triton` left only what fbtriton alone has
        places = ", ".join(spec.submodule_search_locations or [])
        raise ToolchainError(f"triton at {places} is half uninstalled: it has no __init__.py", remedy=REMEDY)
    return Path(spec.origin).parent


def tools(triton: Path | None = None) -> Tools:
    """Where the binaries of a wheel are: of the one whose package is the folder `triton`, by default the installed one.

    Raises ToolchainError if there is no triton.
    """
    folder = (triton or package()) / "backends" / "nvidia" / "bin"

    def find(name: str) -> Path | None:
        return folder / name if (folder / name).is_file() else None

    return Tools(find("ptxas"), find("ptxas-blackwell"), find("nvdisasm"), find("cuobjdump"))


def check_torch() -> None:
    """Raises ToolchainError when torch is not installed. Does not import it."""
    if importlib.util.find_spec("torch") is None:
        raise ToolchainError("torch is not installed", remedy="run: pip install torch, then fbtriton (see README)")


def check_triton() -> str:
    """The version of an fbtriton that works ("3.7.4+fb"). ToolchainError says what is wrong and what mends it."""
    folder = package()
    if fingerprint() is not None and (version := static_version(folder)):
        return version  # every file is as fbtriton's wheel had it: no need to load 530 MB to ask
    return _judge(folder, _probe())


def fingerprint() -> str | None:
    """A digest of all in the installed fbtriton that determines a cubin; None if unknown: then nothing may be cached.

    It is the wheel's RECORD (a sha256 a file) once the files on disk agree with it: in full up to HASHED_BYTES, by size
    above. An editable or source install has no such RECORD, and one overwritten by stock triton does not agree.
    """
    try:
        folder = package()
    except ToolchainError:
        return None
    return _fingerprint(folder)


@lru_cache(maxsize=8)
def _fingerprint(folder: Path) -> str | None:
    try:
        dist = importlib.metadata.distribution("fbtriton")
    except importlib.metadata.PackageNotFoundError:
        return None
    record = dist.read_text("RECORD")
    root = Path(str(dist.locate_file("")))
    if not record or (root / "triton").resolve() != folder.resolve():
        return None
    rows = recorded(record, root, lambda path: path.startswith("triton/"))
    return hashlib.sha256("\n".join(rows).encode()).hexdigest() if rows else None


def recorded(record: str, root: Path, wanted: Callable[[str], bool]) -> list[str]:
    """The rows of a RECORD that have a hash and a wanted path, in order; none if a file below `root` does not agree."""
    rows = sorted(row for row in csv.reader(record.splitlines()) if len(row) == 3 and wanted(row[0]))
    hashed = [row for row in rows if row[1]]  # pip lists the .pyc it made without a hash
    agree = all(_intact(root / path, digest, size) for path, digest, size in hashed)
    return [",".join(row) for row in hashed] if agree else []


def identity() -> str:
    """`fingerprint` or, where the files are not those of a wheel, a digest of where they lie, their sizes and when they
    were changed: good for a cache on this machine. Raises ToolchainError if there is no triton."""
    return fingerprint() or _changed(package())


@lru_cache(maxsize=8)
def _changed(folder: Path) -> str:
    tools = (folder / "backends" / "nvidia" / "bin").glob("*")
    files = sorted({*folder.rglob("*.py"), *folder.rglob("*.so"), *tools})
    rows = (f"{path} {(stat := path.stat()).st_size} {stat.st_mtime_ns}" for path in files)
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def name_cache(toolchain: str) -> None:
    """Has Triton name the entries of its cache by `toolchain` in this process; for a cache folder of tlxgen's own.

    Triton itself hashes all its libraries, 530 MB in one of them, in every process that compiles or launches. Imports
    triton.
    """
    module: Any = importlib.import_module("triton.runtime.cache")
    if hasattr(module, "triton_key"):
        module.triton_key = lambda: toolchain


def _intact(path: Path, digest: str, size: str) -> bool:
    """Whether a file is as its row of RECORD says."""
    try:
        if path.stat().st_size != int(size):
            return False
        if int(size) > HASHED_BYTES:
            return True
        algorithm, _, expected = digest.partition("=")
        found = hashlib.new(algorithm, path.read_bytes()).digest()
    except (OSError, ValueError):
        return False
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode() == expected


def static_version(folder: Path) -> str | None:
    """`triton.__version__`, read without an import."""
    found = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)", (folder / "__init__.py").read_text(), re.MULTILINE)
    return found[1] if found else None


@dataclass(frozen=True)
class _Answer:
    version: str | None
    tlx: bool
    utlx: bool
    failure: str = ""  # the last line of an import that failed


@lru_cache(maxsize=1)
def _probe() -> _Answer:
    """Asks the installed triton itself, in a child process: a mixed install may crash."""
    # The child must look where this process looks, and not in its own working directory first.
    setup = f"import sys; sys.path[:] = {sys.path!r}\n"
    try:
        command = [sys.executable, "-c", setup + _PROBE]
        run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return _Answer(None, False, False, "import triton did not end within 300 s")
    if run.returncode == 0:
        try:
            return _Answer(**json.loads(run.stdout.splitlines()[-1]))
        except (ValueError, IndexError, TypeError):
            pass
    lines = run.stderr.strip().splitlines() or [f"import triton ended with status {run.returncode}"]
    return _Answer(None, False, False, lines[-1])


def _judge(folder: Path, answer: _Answer) -> str:
    """The version of a good triton, or ToolchainError for each way in which one is wrong."""
    if answer.failure:
        raise ToolchainError(f"triton at {folder} does not load: {answer.failure}", remedy=REMEDY)
    if answer.version is None:
        raise ToolchainError(f"triton at {folder} is half uninstalled: it has no __version__", remedy=REMEDY)
    if answer.tlx:
        return answer.version
    if answer.utlx:
        message = f"triton {answer.version} at {folder} has uTLX, which compiles a part of TLX only"
    elif _installed("fbtriton"):
        message = f"stock triton {answer.version} overwrote fbtriton in {folder}"
    else:
        message = f"triton {answer.version} at {folder} is stock triton, without TLX"
    raise ToolchainError(message, remedy=REMEDY)


def _installed(distribution: str) -> bool:
    try:
        importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
