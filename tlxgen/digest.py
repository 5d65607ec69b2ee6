"""SHA-256 of texts, files and trees. LEAF module: imports nothing of tlxgen but files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from tlxgen.files import read_regular


def of_bytes(data: bytes) -> str:
    """Hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def of_text(text: str) -> str:
    return of_bytes(text.encode())


def of_file(path: Path) -> str | None:
    """Digest of a file's bytes; None when there is no such file."""
    try:
        return of_bytes(read_regular(path))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def of_files(files: Mapping[str, Path]) -> str:
    """Digest of the names and the bytes of `files`, whatever their order."""
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(name.encode() + b"\0" + of_bytes(path.read_bytes()).encode() + b"\n")
    return digest.hexdigest()


def of_tree(root: Path, patterns: Iterable[str]) -> str:
    """Digest of the files under `root` that match."""
    found = (path for pattern in patterns for path in root.glob(pattern) if path.is_file())
    return of_files({path.relative_to(root).as_posix(): path for path in found})
