"""Reads files of a git revision into a folder of their own, without a change of the working tree or the index."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlxgen import lock
from tlxgen.build import folder_of
from tlxgen.errors import ReviewError, SpecError
from tlxgen.project import root_of
from tlxgen.spec import read as read_spec

SPEC_SUFFIXES = (".yaml", ".yml")
TIMEOUT_S = 30.0
# A git hook runs with these set for its own repository. They are removed, so that git finds the requested one.
_HOOK_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
_OBJECT = re.compile(rb"(?P<oid>[0-9a-f]+) (?P<kind>blob|tree) (?P<size>[0-9]+)")


@dataclass(frozen=True)
class Entry:
    """A file or a folder of a commit: its object id, and the file's bytes; None for a folder."""

    oid: str
    data: bytes | None


class Repository:
    """The git repository around a folder. Raises ReviewError when there is none, or no git."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        found = _git(folder, "rev-parse", "--show-toplevel")
        if found.returncode:
            raise ReviewError(f"{folder.absolute()} is not in a git repository that can be read: {_said(found)}")
        self.top = Path(os.fsdecode(found.stdout).rstrip("\n"))

    def has(self, revision: str) -> bool:
        """Whether `revision` names a commit."""
        return self._commit(revision) is not None

    def entry(self, revision: str, path: str) -> Entry | None:
        """The entry of `revision` at `path` (posix, from the top), links followed; None if there is none."""
        commit = self._commit(revision)
        if commit is None:
            raise ReviewError(f"{revision!r} is not a commit of {self.top}")
        if "\n" in path:  # it would be two requests
            return None
        query = os.fsencode(f"{commit}:{'' if path == '.' else path}\n")
        found = _git(self.top, "cat-file", "--batch", "--follow-symlinks", stdin=query)
        if found.returncode:
            raise ReviewError(f"git cannot read {revision}:{path}: {_said(found)}")
        head, _, body = found.stdout.partition(b"\n")
        there = _OBJECT.fullmatch(head)
        if there is None:
            return None
        return Entry(there["oid"].decode(), body[: int(there["size"])] if there["kind"] == b"blob" else None)

    def files(self, tree: Entry) -> list[str]:
        """The names in a folder."""
        found = _git(self.top, "ls-tree", "-z", "--name-only", tree.oid)
        if found.returncode:
            raise ReviewError(f"git cannot list a folder of {self.top}: {_said(found)}")
        return [os.fsdecode(name) for name in found.stdout.split(b"\0") if name]

    def objects(self, revision: str, folder: str) -> dict[str, str]:
        """Path from the folder -> object id, for the files of a revision in a folder (from the top) and below."""
        below = [f"{folder}/"] if folder else []
        found = _git(self.top, "ls-tree", "-r", "-z", "--full-tree", str(self._commit(revision)), *below)
        if found.returncode:
            raise ReviewError(f"git cannot list {revision}: {_said(found)}")
        objects = {}
        for line in found.stdout.split(b"\0")[:-1]:
            head, _, name = line.partition(b"\t")
            mode, kind, oid = head.split()
            if kind == b"blob" and mode != b"120000":  # links are skipped, since their targets are files themselves
                objects[os.fsdecode(name)[len(below[0]) if below else 0 :]] = oid.decode()
        return objects

    def contents(self, oids: Iterable[str]) -> dict[str, bytes]:
        """Object id -> bytes of files, read by one process."""
        wanted = sorted(oids)
        found = _git(self.top, "cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in wanted).encode())
        if found.returncode:
            raise ReviewError(f"git cannot read files of {self.top}: {_said(found)}")
        contents, at = {}, 0
        for oid in wanted:
            end = found.stdout.index(b"\n", at)
            there = _OBJECT.fullmatch(found.stdout[at:end])
            if there is None:
                raise ReviewError(f"{self.top} has no object {oid}", remedy="a shallow or partial clone lacks files")
            first = end + 1
            at = first + int(there["size"]) + 1
            contents[oid] = found.stdout[first : at - 1]
        return contents

    def known(self, folder: Path) -> list[str]:
        """The paths, from the folder, of the files of the working tree below it that git does not ignore."""
        found = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
        if found.returncode:
            raise ReviewError(f"git cannot list {folder}: {_said(found)}")
        return [os.fsdecode(name) for name in found.stdout.split(b"\0") if name]

    def short(self, revision: str) -> str:
        """The abbreviated name of a revision's commit, with the first line of its message."""
        found = _git(self.top, "log", "-1", "--format=%h: %s", str(self._commit(revision)))
        return found.stdout.decode(errors="replace").strip()

    def archive(self, revision: str, paths: Sequence[str]) -> bytes:
        """A tar file of those of some paths (from the top) that a revision has."""
        found = _git(self.top, "archive", "--format=tar", str(self._commit(revision)), "--", *paths)
        if found.returncode:
            raise ReviewError(f"git cannot archive {revision}: {_said(found)}")
        return found.stdout

    def from_top(self, path: str) -> str:
        """`path` after `REV:`, from the top of the repository. As in git, ./ and ../ start at the folder."""
        if not path.startswith(("./", "../")):
            return os.path.normpath(path)
        return self.inside(self._folder / path)

    def inside(self, path: Path) -> str:
        """A path of the file system, from the top of the repository. Raises ReviewError for one outside."""
        real = Path(os.path.abspath(path))
        real = real.parent.resolve() / real.name  # git uses the real name of the folder, but the link's name of a file
        if not real.is_relative_to(self.top):
            raise ReviewError(f"{path} is not in the repository {self.top}")
        return real.relative_to(self.top).as_posix()

    def _commit(self, revision: str) -> str | None:
        if revision.startswith("-"):  # git would take it for an option
            return None
        found = _git(self.top, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        return None if found.returncode else found.stdout.decode().strip()


@dataclass(frozen=True)
class Snapshot:
    """The files of a revision that one comparison needs, below `root`, which replaces the top of the repository."""

    repository: Repository
    revision: str
    root: Path

    @staticmethod
    def take(repository: Repository, revision: str, path: str, into: Path) -> Snapshot:
        """Copies `path` (from the top) of `revision` below the empty folder `into`, with the files that belong to it.

        These are, for a spec, its parents, its tuned file and its lock; for a generated module, its lock; for a folder,
        its modules, lock, specs and generated folders. Raises ReviewError for a path that the revision does not have.
        """
        # The top's own name is kept, since a spec's lock is elsewhere if the spec's folder is named `specs`.
        snapshot = Snapshot(repository, revision, into.resolve() / (repository.top.name or "top"))
        entry = repository.entry(revision, path)
        if entry is None:
            remedy = "paths after REV: are from the top of the repository; begin one with ./ to start from here"
            raise ReviewError(f"{revision} has no {path}", remedy=remedy)
        if entry.data is None:
            snapshot._folder(path, entry)
            return snapshot
        snapshot._write(path, entry.data)
        if path.endswith(SPEC_SUFFIXES):
            snapshot._follow(path)
        else:
            snapshot._fetch_lock(snapshot.at(path).parent)
        return snapshot

    def _folder(self, path: str, entry: Entry, *, inner: bool = True) -> None:
        """Copies the modules, lock and specs of a folder and, with `inner`, its generated folders."""
        self.at(path).mkdir(parents=True, exist_ok=True)
        for name in self.repository.files(entry):
            place = os.path.normpath(f"{path}/{name}")
            if name.endswith(".py") or name == lock.NAME:
                self._fetch(place)
            elif name.endswith(SPEC_SUFFIXES) and self._fetch(place):
                self._follow(place)
            elif inner and (below := self._generated(place)):
                self._folder(place, below, inner=False)

    def _generated(self, path: str) -> Entry | None:
        """The generated folder at a path; None if there is none."""
        entry = self.repository.entry(self.revision, path)
        return entry if entry and entry.data is None and lock.NAME in self.repository.files(entry) else None

    def _follow(self, spec: str) -> None:
        """Copies the files that belong to a spec."""
        self._follow_extends(spec)
        self._follow_tuned(spec)
        self._fetch_lock(folder_of(self.at(spec), None))

    def at(self, path: str) -> Path:
        """The place in the snapshot of `path`, which is given from the top of the repository."""
        return self.root / path

    def renamed(self, message: str) -> str:
        """`message` with paths of this snapshot replaced by REV:path."""
        return message.replace(f"{self.root.as_posix()}/", f"{self.revision}:")

    def _follow_extends(self, path: str) -> None:
        """Copies the parents. The spec loader reports faults of their texts."""
        while True:
            try:
                given = read_spec(self.at(path)).data.get("extends")
            except SpecError:
                return
            if not isinstance(given, str) or not given.strip():
                return
            parent = os.path.normpath(os.path.join(os.path.dirname(path), given))
            if os.path.isabs(given) or parent.split("/")[0] == "..":
                text = f"{self.revision}:{path} extends {given}, which is outside the repository"
                raise ReviewError(text, remedy="only files of the revision itself can be read at it")
            if self.at(parent).exists() or not self._fetch(parent):
                return  # a cycle, or a missing parent: the loader reports it with its location
            path = parent

    def _follow_tuned(self, path: str) -> None:
        """Copies the file that `tuned` names. The spec loader reports a missing file or faults of it."""
        try:
            given = read_spec(self.at(path)).data.get("tuned")
        except SpecError:
            return
        if not isinstance(given, str) or not given.strip():
            return
        place = Path(os.path.normpath(root_of(self.at(path)) / given))
        if not place.is_relative_to(self.root):
            text = f"{self.revision}:{path} has {given} as its tuned file, which is outside the repository"
            raise ReviewError(text, remedy="only files of the revision itself can be read at it")
        self._fetch(place.relative_to(self.root).as_posix())

    def _fetch_lock(self, folder: Path) -> None:
        if folder.is_relative_to(self.root):
            self._fetch((folder.relative_to(self.root) / lock.NAME).as_posix())

    def _fetch(self, path: str) -> bool:
        """Copies a file, if the revision has it."""
        entry = self.repository.entry(self.revision, path)
        if entry is None or entry.data is None:
            return False
        self._write(path, entry.data)
        return True

    def _write(self, path: str, data: bytes) -> None:
        self.at(path).parent.mkdir(parents=True, exist_ok=True)
        self.at(path).write_bytes(data)


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Runs git without prompts and optional locks. Raises ReviewError if git is missing or does not end."""
    environment = {k: v for k, v in os.environ.items() if k not in _HOOK_VARIABLES}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    command = ["git", "-C", str(folder), *arguments]
    try:
        return subprocess.run(
            command, input=stdin, capture_output=True, timeout=TIMEOUT_S, env=environment, check=False
        )
    except FileNotFoundError:
        raise ReviewError("git is not installed, so no revision can be read", remedy="compare files instead") from None
    except subprocess.TimeoutExpired:
        raise ReviewError(f"git {arguments[0]} in {folder} did not end within {TIMEOUT_S:g} s") from None
    except OSError as error:
        raise ReviewError(f"git cannot be run: {error}") from None


def _said(result: subprocess.CompletedProcess[bytes]) -> str:
    lines = result.stderr.decode(errors="replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else f"git ended with {result.returncode}"
