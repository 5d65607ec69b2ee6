"""Files that are never half-written. LEAF module."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from .errors import TlxgenError

SUFFIX = ".tlxgen-tmp"


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
    """The bytes of a file. OSError also for what is no regular file: reading a pipe would wait for whoever writes."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(path))
    return path.read_bytes()


def nearest_folder(path: Path) -> Path:
    """The folder that `path` would be made in: the nearest above it that exists."""
    return next(folder for folder in path.absolute().parents if folder.exists())


def try_to_write(path: Path, size: int = 1) -> None:
    """Writes so many bytes where the file `path` would be made, and removes them. Raises OSError if that fails.

    What exists is not touched, and no folder is left behind.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    folder = nearest_folder(path)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=f".{path.name}.", suffix=SUFFIX) as file:
        file.write(b"\0" * size)
        file.flush()
        os.fsync(file.fileno())


def require_writable(path: Path) -> None:
    """Raises TlxgenError where `write_atomic` could not write, before there is anything to write. Leaves nothing."""
    try:
        try_to_write(path)
    except OSError as error:
        raise TlxgenError(f"{path} cannot be written: {error.strerror or error}") from None


def sweep(folder: Path) -> None:
    """Removes what a killed run left behind in `folder`."""
    for leftover in folder.glob(f".*{SUFFIX}"):
        leftover.unlink(missing_ok=True)
