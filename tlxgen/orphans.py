"""Folders in generated/ whose spec is gone. `build` names them, and removes them with --prune."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tlxgen import lock
from tlxgen.errors import EditedError, Location, LockError, TlxgenError
from tlxgen.generated import Folder, alone
from tlxgen.project import from_here

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Orphan:
    """A folder that a build made of a spec that no longer exists."""

    folder: Path
    spec: Path

    def remove(self, *, force: bool = False) -> tuple[str, ...]:
        """Removes the files of builds, and the folder if it is then empty. Returns the names of files that are left.

        Raises EditedError, before anything is removed, for edited files, unless `force`.
        """
        try:
            with alone(self.folder):
                there = Folder.read(self.spec, self.folder, (), any_lock=force)
                edited = there.edited({})
                if edited and not force:
                    where = Location((from_here(self.folder) / edited[0]).as_posix(), 1, 1)
                    text = f"{', '.join(edited)}: edited by hand since the last build, so the folder is not removed"
                    raise EditedError(
                        text, location=where, remedy="move the file, or remove it too: build --prune --force"
                    )
                for name in [*there.files, lock.NAME]:
                    (self.folder / name).unlink(missing_ok=True)
                shutil.rmtree(self.folder / "__pycache__", ignore_errors=True)
                left = tuple(sorted(path.name for path in self.folder.iterdir()))
                if not left:
                    self.folder.rmdir()
                return left
        except OSError as error:
            raise TlxgenError(f"cannot remove {self.folder}: {error}") from error


def orphans(roots: Iterable[Path]) -> list[Orphan]:
    """The orphans in the folders generated/ of projects, in order."""
    found = (_orphan(root, path) for root in roots for path in _folders(root / "generated"))
    return [orphan for orphan in found if orphan is not None]


def _folders(generated: Path) -> list[Path]:
    return sorted(path.parent for path in generated.glob(f"*/{lock.NAME}"))


def _orphan(root: Path, folder: Path) -> Orphan | None:
    """A folder as an orphan; None if its spec exists. The spec is first looked for by name, so few locks are read."""
    beside = (root / place / f"{folder.name}{suffix}" for place in ("specs", ".") for suffix in SUFFIXES)
    if any(path.exists() for path in beside):
        return None
    try:
        owners = [root / owner for one in lock.sides(folder) for owner in list(one["spec"])[:1]]
    except LockError:  # the owner of the folder is unknown
        return None
    if not owners or any(owner.exists() for owner in owners):
        return None
    return Orphan(folder, owners[0])
