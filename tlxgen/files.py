"""Files that are never half-written. LEAF module."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

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


def sweep(folder: Path) -> None:
    """Removes what a killed run left behind in `folder`."""
    for leftover in folder.glob(f".*{SUFFIX}"):
        leftover.unlink(missing_ok=True)
