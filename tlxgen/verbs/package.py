"""`tlxgen package`: writes the modules and the cubins of a spec as a Python package that runs without Triton."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tlxgen import digest, lock
from tlxgen.compile import Toolchain, named
from tlxgen.errors import TlxgenError, ToolchainError
from tlxgen.package import Compiler, Compiling, Cubin, Row, Source, cpp, cubins_of, manifest, write
from tlxgen.project import from_here
from tlxgen.review.progress import bar
from tlxgen.verbs.compile import Kernel, all_kernels
from tlxgen.words import counted
from tlxgen.working import Working, of_spec


def run(
    spec: Path,
    arch: Sequence[str],
    out: Path | None,
    workers: int | None,
    timeout_s: float,
    cpp_out: Path | None = None,
    toolchain: str = "fbtriton",
) -> int:
    """Writes the package into `out`, its C++ form into `cpp_out`, and prints their contents. Returns 0.

    `toolchain` is the name of what compiles.

    Raises TlxgenError.
    """
    if out is None and cpp_out is None:
        raise TlxgenError("a package needs a folder", remedy="--out FOLDER for Python, --cpp FOLDER for C++")
    if out and cpp_out and out.resolve() == cpp_out.resolve():
        raise TlxgenError(f"--out and --cpp are both {out}; they need a folder each")
    by = named(toolchain)
    version = by.check()
    with of_spec(spec) as work, TemporaryDirectory(prefix="tlxgen-") as keep:
        kernels = all_kernels(work)
        source = _source(work, kernels, arch)
        rows = [row_of(kernel) for kernel in kernels]
        with bar(0, "compiling") as shown:
            compiling = Compiling(
                Path(keep),
                workers,
                timeout_s,
                by,
                on_found=shown.expect,
                on_done=lambda done: shown.advance(done.job.split(" | ")[0]),
            )
            cubins = cubins_of(rows, compiling)
        compiler = Compiler(by.name, version, _release(by, source.arch))
        # This comes before anything is written, as it may be refused.
        made = cpp.sources(source, manifest(source, rows, cubins, compiler), cubins) if cpp_out else None
        written: list[tuple[Path, int, str]] = []
        if out:
            written.append((out, write(out, source, rows, cubins, compiler), f"pip install {from_here(out)}"))
        if made:
            assert cpp_out
            cpp.write(cpp_out, made)
            written.append((cpp_out, made.size, f"{from_here(cpp_out)}/README.md says how it is built"))
    for folder, size, what_next in written:
        _print(folder, source, rows, cubins, size)
        print(what_next)
    for error in made.refused if made else ():
        print(f"not in C++: {error}")
    return 0


def row_of(kernel: Kernel) -> Row:
    """A kernel as `cubins_of` takes it."""
    arguments = [a for a in kernel.launch.arguments if a.specialized]
    return Row(
        kernel.job,
        specialized=tuple(a.name for a in arguments),
        single=tuple(a.name for a in arguments if a.single),
        strides=tuple(a.name for a in arguments if "stride" in a.value),
    )


def _source(work: Working, kernels: Sequence[Kernel], arch: Sequence[str]) -> Source:
    """The parts of the package. Raises TlxgenError for another architecture than the spec's."""
    own = kernels[0].plan.arch.name
    if others := [name for name in arch if name != own]:
        raise TlxgenError(
            f"{work.spec} is for {own}, and has no kernels for {', '.join(others)}",
            remedy=f"--arch {own}; a spec for {others[0]} needs a separate package",
        )
    modules = {path.name: path.read_text(encoding="utf-8") for path in sorted(work.folder.glob("*.py"))}
    digests = {"lock": digest.of_file(work.generated / lock.NAME), **work.digests}
    return Source(work.folder.name, from_here(work.spec).as_posix(), own, modules, digests)


def _release(toolchain: Toolchain, arch: str) -> tuple[int, int]:
    """The CUDA release of the ptxas that compiles for an architecture."""
    tools = toolchain.tools()
    found = tools.ptxas if arch == "sm90" else tools.ptxas_blackwell
    if found is None:
        raise ToolchainError(f"{toolchain.name}'s wheel lacks the ptxas for {arch}")
    said = subprocess.run([found, "--version"], check=True, capture_output=True, text=True, timeout=60).stdout
    release = re.search(r"release (\d+)\.(\d+)", said)
    if release is None:
        raise ToolchainError(f"{found.name} --version does not say of which release it is")
    return int(release[1]), int(release[2])


def _print(out: Path, source: Source, rows: Sequence[Row], cubins: Sequence[Sequence[Cubin]], size: int) -> None:
    distinct = len({cubin.sha256 for some in cubins for cubin in some})
    kernels = len({row.job.kernel for row in rows})
    held = f"{counted(kernels, 'kernel')} in {counted(len(rows), 'config')}, {counted(distinct, 'cubin')}"
    print(f"{from_here(out)}: {source.name} for {source.arch}: {held}, {size / 1e6:.1f} MB")
