"""The files of a side of a review: those of a git revision, of the working tree, or of a folder."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlxgen.errors import ReviewError
from tlxgen.files import read_regular
from tlxgen.review.revision import Repository

USAGE = "tlxgen review [A [B]] or A..B; each is a revision of git or a folder, by default HEAD and the working tree"
PLANNED = ("specs", "tuned", "tlxgen")  # folders that a plan depends on
_SKIPPED = ("__pycache__", "node_modules")


@dataclass(frozen=True)
class Tree:
    """One side's files. `files` maps paths from the root to git's digests. `read` returns the bytes of paths."""

    shown: str
    files: Mapping[str, str]
    read: Callable[[Iterable[str]], dict[str, bytes]]
    # Returns the root as a folder: its own, or the given empty one, filled with the files that the specs' plans need.
    placed: Callable[[Path, Sequence[str]], Path]

    def below(self, folder: str) -> list[str]:
        """The files of a folder and of its subfolders."""
        return [path for path in self.files if path.startswith(f"{folder}/")]


def sides(given: Sequence[str]) -> tuple[Tree, Tree]:
    """The two sides that the command line names. Raises ReviewError for a name that is no revision and no folder."""
    words = list(given)
    if len(words) == 1 and ".." in words[0] and not os.path.isdir(words[0]):
        first, dots, second = words[0].partition("..")
        if second.startswith("."):
            remedy = "git merge-base A B names the commit where they parted"
            raise ReviewError(f"{words[0]}: three dots are not known here", remedy=remedy)
        words = [first or "HEAD", second or "HEAD"]
    if len(words) > 2:
        raise ReviewError(f"{len(words)} things cannot be reviewed against each other", remedy=USAGE)
    a, b = words[0] if words else "HEAD", words[1] if len(words) == 2 else None
    below = Path(b) if b is not None and os.path.isdir(b) else Path.cwd()
    if os.path.isdir(a):
        if b is None:
            raise ReviewError(f"{a} is a folder; the other one is missing", remedy=USAGE)
        return _side(a, below), _side(b, Path(a))
    left = _revision(a, below)
    if b is None:
        return left, _working("the working tree", Path.cwd())
    right = _side(b, Path.cwd())
    return left, right


def _side(word: str, place: Path) -> Tree:
    return _working(word, Path(word)) if os.path.isdir(word) else _revision(word, place)


def _revision(revision: str, place: Path) -> Tree:
    """The files of a revision in the folder `place`."""
    repository = Repository(place)
    if not repository.has(revision):
        where = f"{revision!r} is neither a folder nor a commit of {repository.top}"
        raise ReviewError(where, remedy=USAGE)
    prefix = repository.inside(place)
    objects = repository.objects(revision, "" if prefix == "." else prefix)
    if not objects:
        raise ReviewError(f"{revision} has no files in {prefix}")

    def read(paths: Iterable[str]) -> dict[str, bytes]:
        wanted = [path for path in paths if path in objects]
        found = repository.contents({objects[path] for path in wanted})
        return {path: found[objects[path]] for path in wanted}

    def placed(into: Path, specs: Sequence[str]) -> Path:
        wanted = dict.fromkeys([*PLANNED, *(spec.split("/")[0] for spec in specs)])
        folders = [name for name in wanted if any(path == name or path.startswith(f"{name}/") for path in objects)]
        inside = [name if prefix == "." else f"{prefix}/{name}" for name in folders]
        with tarfile.open(fileobj=io.BytesIO(repository.archive(revision, inside))) as archive:
            archive.extractall(into, filter="data")
        return into if prefix == "." else into / prefix

    return Tree(f"{revision} ({repository.short(revision)})", objects, read, placed)


def _working(shown: str, folder: Path) -> Tree:
    """The files of a folder; in a repository, those that git does not ignore."""
    paths = sorted(_listed(folder))

    def read(wanted: Iterable[str]) -> dict[str, bytes]:
        found = {}
        for path in wanted:
            try:
                found[path] = read_regular(folder / path)
            except OSError as error:
                if path in files:  # the file was removed meanwhile
                    raise ReviewError(f"cannot read {folder / path}: {error.strerror or error}") from None
        return found

    files: dict[str, str] = {}
    for path in paths:
        try:
            files[path] = blob(read_regular(folder / path))
        except OSError:  # a dangling link or a socket, which cannot be a spec or a module
            continue
    return Tree(shown, files, read, lambda into, specs: folder.absolute())


def _listed(folder: Path) -> Iterable[str]:
    try:
        known = Repository(folder).known(folder)
    except ReviewError:
        known = []
    return known or _walked(folder)  # a folder that git ignores as a whole is still reviewed


def _walked(folder: Path) -> Iterable[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
        below = os.path.relpath(place, folder)
        yield from (name if below == "." else f"{below.replace(os.sep, '/')}/{name}" for name in names)


def blob(data: bytes) -> str:
    """Git's digest of a file's bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
