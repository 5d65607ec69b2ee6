"""Files that are never half-written. LEAF module."""

from __future__ import annotations

import os
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
            os.fchmod(file.fileno(), 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def require_writable(path: Path) -> None:
    """Raises TlxgenError where `write_atomic` could not write, before there is anything to write. Leaves nothing."""
    if path.is_dir():
        raise TlxgenError(f"{path} cannot be written: it is a folder", remedy="name a file")
    folder = next(p for p in path.absolute().parents if p.exists())
    try:
        with tempfile.TemporaryFile(dir=folder, prefix=f".{path.name}."[:40]):
            pass
    except OSError as error:
        where = "" if folder == path.absolute().parent else f" in {folder}"
        raise TlxgenError(f"{path} cannot be written{where}: {error.strerror}") from None


def sweep(folder: Path) -> None:
    """Removes what a killed run left behind in `folder`."""
    for leftover in folder.glob(f".*{SUFFIX}"):
        leftover.unlink(missing_ok=True)
