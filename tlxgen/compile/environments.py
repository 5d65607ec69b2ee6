"""The Tritons that tlxgen compiles with: the installed fbtriton, and others in environments of their own.

Each of the others is a folder of tlxgen's cache that `install` fills by pip. It stands before everything else in the
path of the child processes that compile with it; torch and the rest stay those of this process's environment. Nothing
here imports triton, and nothing changes the environment that tlxgen runs in.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from tlxgen import stamp
from tlxgen.errors import ToolchainError

from . import toolchain as installed

State = Literal["ready", "absent", "damaged"]

INSTALL_S = 1800  # for pip to load 250 to 300 MB


@dataclass(frozen=True)
class Toolchain:
    """A row of the table. `requires`: pip's requirements, all of them exact and installed without what they ask for.

    `folder` is where its environment is, or would be. The default has none: it is the Triton installed beside tlxgen.
    `num_stages` is the option that kernels are compiled with: stock Triton, given more than 0, waits behind each wgmma
    of a loop for all of them, and fbtriton takes no 0 for Hopper.
    """

    name: str
    requires: tuple[str, ...]
    text: str
    num_stages: int = 1

    @property
    def is_default(self) -> bool:
        return self is DEFAULT

    @property
    def folder(self) -> Path:
        """Of one Python and one version of each distribution: what another has put there is not taken for it."""
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        versions = "-".join(requirement.partition("==")[2] for requirement in self.requires)
        return stamp.cache_folder() / "toolchains" / f"{self.name}-{versions}-{python}"

    @property
    def remedy(self) -> str:
        """The command that makes it, or makes it anew."""
        return installed.REMEDY if self.is_default else f"run: tlxgen doctor --install {self.name}"

    @property
    def state(self) -> State:
        if not self.folder.is_dir():
            return "absent"
        return "ready" if self.fingerprint() else "damaged"

    def check(self) -> str:
        """The version of its Triton ("3.8.0"). ToolchainError says what is wrong and what mends it."""
        if self.is_default:
            return installed.check_triton()
        if self.state == "absent":
            raise ToolchainError(f"the toolchain {self.name} ({self.text}) is not installed", remedy=self.remedy)
        if self.state == "damaged":
            raise ToolchainError(
                f"the toolchain {self.name} in {self.folder} is not what pip put there", remedy=self.remedy
            )
        return installed.static_version(self.folder / "triton") or "unknown"

    def tools(self) -> installed.Tools:
        """Where its binaries are. Raises ToolchainError if there is no triton."""
        return installed.tools(None if self.is_default else self.folder / "triton")

    def fingerprint(self) -> str | None:
        """A digest of all in it that determines a cubin; None if unknown: then nothing may be cached."""
        return installed.fingerprint() if self.is_default else _fingerprint(self.folder, self.requires)

    def environment(self) -> dict[str, str]:
        """What a child process that compiles with it has in its environment; see `enter`."""
        return {} if self.is_default else {SITE: str(self.folder)}


SITE = "TLXGEN_TOOLCHAIN_SITE"

DEFAULT = Toolchain("fbtriton", (installed.FBTRITON,), "Triton's fork with TLX")
TOOLCHAINS = (
    DEFAULT,
    Toolchain("fbtriton-3.8", ("fbtriton==3.8.0rc3",), "the next fbtriton, a release candidate"),
    Toolchain("utlx", ("triton==3.8.0", "triton-utlx==3.8.0.post16"), "stock Triton with the plug-in triton-utlx", 0),
)


def named(name: str) -> Toolchain:
    """The toolchain of that name. Raises ToolchainError."""
    found = {toolchain.name: toolchain for toolchain in TOOLCHAINS}
    if name not in found:
        raise ToolchainError(f"no toolchain {name!r}", remedy=f"toolchains: {', '.join(found)}")
    return found[name]


def enter() -> None:
    """In a child process, before anything imports triton: takes what `Toolchain.environment` names.

    A .pth file, by which triton-utlx hooks itself in, is read in folders of Python's own only, and where one asks.
    """
    folder = os.environ.get(SITE)
    if folder:
        import site

        sys.path.insert(0, folder)
        site.addsitedir(folder)


def install(toolchain: Toolchain) -> Path:
    """Makes the environment by pip, beside its place and then renamed; the folder. Raises ToolchainError."""
    if toolchain.is_default:
        raise ToolchainError(
            f"{toolchain.name} is the Triton beside tlxgen, and has no environment of its own", remedy=toolchain.remedy
        )
    folder = toolchain.folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{toolchain.name}-", dir=folder.parent) as scratch:
            made = Path(scratch, "site")
            _pip(toolchain, made)
            shutil.rmtree(folder, ignore_errors=True)
            made.rename(folder)
    except OSError as error:
        raise ToolchainError(f"cannot make {folder}: {error.strerror or error}", remedy="make room") from error
    _fingerprint.cache_clear()
    toolchain.check()
    return folder


def _pip(toolchain: Toolchain, folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command = [*pip, "--no-compile", "--only-binary=:all:", "--target", str(folder), *toolchain.requires]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise ToolchainError(f"pip did not end within {INSTALL_S} s", remedy="try again") from error
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if line.startswith("ERROR")] or run.stderr.splitlines()
        reason = lines[-1] if lines else f"status {run.returncode}"
        raise ToolchainError(
            f"pip cannot install {' '.join(toolchain.requires)}: {reason}",
            remedy="these are wheels for Linux x86-64 on PyPI; see docs/toolchains.md",
        )


@lru_cache(maxsize=8)
def _fingerprint(folder: Path, requires: Sequence[str]) -> str | None:
    """As `tlxgen.compile.fingerprint`, of every distribution that the environment is made of."""
    found = {d.metadata["Name"]: d for d in importlib.metadata.distributions(path=[str(folder)])}
    digests = []
    for requirement in requires:
        name, _, version = requirement.partition("==")
        dist = found.get(name)
        record = dist.read_text("RECORD") if dist is not None and dist.version == version else None
        rows = installed.recorded(record or "", folder, lambda path: not path.startswith(".."))
        if not rows:
            return None
        digests += rows
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()
