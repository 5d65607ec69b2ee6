"""Code that is not ours: what it raises, as one error with the place in its own file."""

from __future__ import annotations

import contextlib
import linecache
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import triton

from tlxgen.errors import Location, TlxgenError
from tlxgen.sim import Place, Session, machine
from tlxgen.sim.findings import KernelFault, Stop
from tlxgen.sim.repeatable import out_of_memory
from tlxgen.sim.transform import has_source

_KERNEL = str(Path(machine.__file__))
_TORCH = Path(torch.__file__).parent
_CUDA = str(_TORCH / "cuda")
_TESTING = (str(_TORCH / "testing"), str(_TORCH.parent / "numpy" / "testing"))
_STANDARD = str(Path(os.__file__).parent)
_LIBRARIES = (str(Path(machine.__file__).parents[1]), str(_TORCH))
_TRITON = str(Path(triton.__file__).parent)  # but for the kernels in its wheel


class ForeignError(TlxgenError):
    """A file that cannot be imported, or host code that raised, left the process, or asked for a real GPU."""


def is_kernel(value: Any) -> bool:
    """Whether a value is a triton.jit function, autotuned or not."""
    from triton.runtime.jit import KernelInterface

    return isinstance(value, KernelInterface) and hasattr(value, "arg_names")


@contextlib.contextmanager
def importing(path: Path) -> Iterator[None]:
    """Imports of a user's file: from its own folder, as `python FILE` does; whatever it raises is a ForeignError."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    except (MemoryError, TlxgenError):
        raise
    except SyntaxError as error:
        text = (error.text or "").rstrip("\n")
        where = Location(shown(error.filename or str(path)), error.lineno or 1, error.offset or 1, text)
        raise ForeignError(f"not Python: {error.msg}", location=where) from None
    except BaseException as error:
        raise _foreign(error, f"importing {path.name} ", path) from None


@contextlib.contextmanager
def attributed(session: Session) -> Iterator[None]:
    """Host code and the kernels that it launches.

    What a kernel's own Python raises is a finding, and so is a failed assertion of the host code; anything else that
    host code raises is a ForeignError.
    """
    try:
        yield
    except (Stop, KernelFault, TlxgenError, MemoryError):
        raise
    except BaseException as error:
        text = _words(error)
        if out_of_memory(error):
            raise MemoryError(text) from None
        places = [Place(f.filename, f.lineno or 0) for f in _own_frames(error)[-1:]]
        if any(f.filename == _KERNEL for f in traceback.extract_tb(error.__traceback__)):
            session.findings.stop("kernel-error", text, places)
        if _is_a_check(error):
            session.findings.stop("wrong-numbers", f"the file's own check failed: {text}", places)
        raise _foreign(error, "the host code ", None) from None


def shown(path: str) -> str:
    """A path as messages have it: relative when it lies below the working directory."""
    absolute, here = Path(path).resolve(), Path.cwd()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else str(path)


def _foreign(error: BaseException, who: str, path: Path | None) -> ForeignError:
    frames, where = _own_frames(error), None
    if frames:
        last = frames[-1]
        line, column = last.lineno or 1, (getattr(last, "colno", None) or 0) + 1
        where = Location(shown(last.filename), line, column, linecache.getline(last.filename, line).rstrip("\n"))
    elif path is not None:
        where = Location(shown(str(path)), 1, 1)
    if isinstance(error, SystemExit):
        return ForeignError(f"{who}left the process: exit({error.code!r})", location=where)
    if type(error).__name__ == "Skipped":
        return ForeignError(f"{who}skipped itself: {error}", location=where)
    remedy = ""
    if _is_of_cuda(error):
        remedy = "the simulator stands for torch and triton.language on a GPU, not for the CUDA runtime"
    return ForeignError(f"{who}raised {_words(error)}", location=where, remedy=remedy)


def _is_of_cuda(error: BaseException) -> bool:
    """Whether torch.cuda raised it: there is no GPU here."""
    frames = traceback.extract_tb(error.__traceback__)
    return "CUDA" in _words(error) or any(f.filename.startswith(_CUDA) for f in frames)


def _own_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """The frames of an exception that belong neither to tlxgen nor to a library, outermost first."""
    return [f for f in traceback.extract_tb(error.__traceback__) if not _is_library(f.filename)]


def _is_library(path: str) -> bool:
    if path.startswith(_TRITON):
        return "tutorials" not in path
    return (
        not has_source(path)
        or path.startswith(_LIBRARIES)
        or (path.startswith(_STANDARD) and "site-packages" not in path)
    )


def _is_a_check(error: BaseException) -> bool:
    """Whether it is an assertion of the file itself, or of a library for tests that it calls."""
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    return isinstance(error, AssertionError) and (last.startswith(_TESTING) or not _is_library(last))


def _words(error: BaseException) -> str:
    try:
        text = " ".join(str(error).split())[:400]
    except Exception:  # of the exception's own __str__
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
