"""The present state of a spec's folder under generated/: files of builds, edited files, and the folder's lock file.

A file of a build is recognised by its digest. The folder's lock has the digests of the last build, and stamps in the
user's cache have those of builds on this machine. So a fresh clone or another branch does not look like an edit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from tlxgen import digest, lock, stamp
from tlxgen.errors import LockError, TlxgenError
from tlxgen.files import read_regular
from tlxgen.project import real


@dataclass(frozen=True)
class Folder:
    """The contents of a spec's folder. `locks`: its lock, those of both sides of a merge conflict, or none."""

    path: Path
    files: Mapping[str, bytes | None]  # by name, for requested names and those of builds
    locks: Sequence[lock.Lock]
    known: Mapping[str, frozenset[str]]  # digests of what builds on this machine made, by name

    @staticmethod
    def read(spec: Path, path: Path, names: Iterable[str], *, any_lock: bool = False) -> Folder:
        """Reads the files of `names`, the lock and all files that it names. `any_lock` ignores an invalid one.

        Raises LockError, and TlxgenError for a file that cannot be read.
        """
        locks = locks_of(path, any_lock=any_lock)
        before = {name for one in locks for name in lock.made(one)}
        return Folder(path, {n: _bytes(path / n) for n in {*names, *before}}, locks, stamp.made(spec, path))

    @property
    def in_conflict(self) -> bool:
        """Whether a merge left the lock in conflict."""
        return len(self.locks) > 1

    def edited(self, new: Mapping[str, bytes]) -> tuple[str, ...]:
        """The files that are neither as a build made them nor as in `new`.

        Files with a merge conflict do not count, since each of their sides has been committed.
        """
        there = {name: data for name, data in self.files.items() if data is not None and name != lock.NAME}
        return tuple(
            sorted(
                name
                for name, data in there.items()
                if data != new.get(name) and not self._is_built(name, data) and not lock.conflicts(data)
            )
        )

    def _is_built(self, name: str, data: bytes) -> bool:
        recorded = [made[name] for one in self.locks if name in (made := lock.made(one))]
        if None in recorded:  # by a version of tlxgen that kept no digest of it
            return True
        digests = {digest.of_bytes(data), digest.of_bytes(data.replace(b"\r\n", b"\n"))}  # as with CRLF
        return not digests.isdisjoint({*recorded, *self.known.get(name, ())})


def locks_of(folder: Path, *, any_lock: bool = False) -> Sequence[lock.Lock]:
    """The lock in `folder`, those of both sides of a merge conflict, or none.

    Raises LockError for a file that is not a lock, unless `any_lock`, which ignores it.
    """
    try:
        return lock.sides(folder)
    except LockError:
        if not any_lock:
            raise
        return ()


def alone(folder: Path) -> AbstractContextManager[object]:
    """A context in which no other process writes to `folder`. Without a writable cache there is no lock file.

    Raises OSError if another process holds it for a minute.
    """
    from filelock import FileLock

    path = stamp.cache_folder() / "locks" / f"{digest.of_text(str(real(folder)))}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return nullcontext()
    return FileLock(path, timeout=60)


def _bytes(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise TlxgenError(f"cannot read {path}: {error.strerror}") from error
