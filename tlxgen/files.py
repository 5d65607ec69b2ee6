"""Reads and writes files, such that no file is ever half-written. This module imports nothing of tlxgen."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from .errors import TlxgenError

SUFFIX = ".tlxgen-tmp"
SOURCES = (".py", ".yaml", ".yml")  # source files, which a record must not overwrite


def write_atomic(path: Path, data: bytes) -> None:
    """Writes beside `path`, then renames: a reader, or a later run after a kill, sees the old bytes or the new ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=SUFFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)  # by name: Windows has no fchmod
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_regular(path: Path) -> bytes:
    """The bytes of a file. Raises OSError also if it is not a regular file, since a read from a pipe would block."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
    return path.read_bytes()


def nearest_folder(path: Path) -> Path:
    """The nearest existing folder above `path`."""
    return next(folder for folder in path.absolute().parents if folder.exists())


def try_to_write(path: Path, size: int = 1) -> None:
    """Writes `size` bytes next to the future file `path`, and removes them. Raises OSError if that fails.

    Existing files are not changed, and no new folder stays.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    folder = nearest_folder(path)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", suffix=SUFFIX) as file:
        file.write(b"\0" * size)
        file.flush()
        os.fsync(file.fileno())


def require_writable(path: Path) -> None:
    """Raises TlxgenError if `write_atomic` could not write `path`, for a check beforehand. It leaves nothing behind."""
    try:
        try_to_write(path)
    except OSError as error:
        raise TlxgenError(f"{path} cannot be written: {error.strerror or error}") from None


def require_outputs(outputs: Mapping[str, Path | None], marks: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raises TlxgenError unless each option's file can be written without a loss, for a check beforehand.

    A file would be lost if two options name it, or if it is a source file. `marks` are texts near the beginning of a
    source file that an option may overwrite.
    """
    given = {option: path for option, path in outputs.items() if path is not None}
    first: dict[str, str] = {}
    for option, path in given.items():
        if (other := first.setdefault(os.path.realpath(path), option)) != option:
            raise TlxgenError(f"{other} and {option} name one file, {path}")
        if path.suffix in SOURCES and os.path.isfile(path) and not _is_marked(path, marks.get(option)):
            raise TlxgenError(f"{option} would overwrite {path}, which is a source", remedy="choose another name")
        require_writable(path)


def _is_marked(path: Path, mark: str | None) -> bool:
    with path.open("rb") as file:
        return mark is not None and mark.encode() in file.read(1000)


def sweep(folder: Path) -> None:
    """Removes what a killed run left behind in `folder`."""
    for leftover in folder.glob(f".*{SUFFIX}"):
        leftover.unlink(missing_ok=True)
