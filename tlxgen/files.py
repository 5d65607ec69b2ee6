"""Files that are never half-written. LEAF module."""

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
SOURCES = (".py", ".yaml", ".yml")  # what people write, and no record is


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


def require_outputs(outputs: Mapping[str, Path | None], marks: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raises TlxgenError, before there is anything to write, unless each option's file can be written and none is lost.

    Lost would be the first of two that name one file, and a source. `marks`: what stands near the beginning of a
    file that an option may overwrite although it is a source.
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
