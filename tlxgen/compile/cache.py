"""Resources kept by content. Fails closed: what has no fingerprint is not kept, what cannot be read is made anew."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import sys
from pathlib import Path

from tlxgen.files import write_atomic

from .job import Job, Resources

# Part of every key. Raise it when read.py, or the way in which child.py compiles, changes what a Resources says.
VERSION = 4

_COVERED = frozenset({"torch", "triton"}) | sys.stdlib_module_names


def content(job: Job, source: bytes) -> str:
    """A digest of what is compiled: the source's text and every field of the job but its id and the file's path."""
    fields = {k: v for k, v in job.to_json().items() if k not in ("id", "module")}
    text = json.dumps([hashlib.sha256(source).hexdigest(), fields], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def key(content_digest: str, source: bytes, toolchain: str | None) -> str | None:
    """The name of the entry; None if the toolchain has no fingerprint or the source imports what no digest covers."""
    if toolchain is None or not _self_contained(source):
        return None
    return hashlib.sha256(f"{VERSION} {toolchain} {content_digest}".encode()).hexdigest()


def _self_contained(source: bytes) -> bool:
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return False
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    if any(node.level for node in froms):
        return False
    return {name.partition(".")[0] for name in [*names, *(n.module or "" for n in froms)]} <= _COVERED


def load(folder: Path, name: str) -> Resources | None:
    """The entry, or None if there is none or it is damaged."""
    try:
        entry = json.loads(_path(folder, name).read_text(encoding="utf-8"))
        return Resources.from_json(entry["resources"]) if entry["key"] == name else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store(folder: Path, name: str, resources: Resources) -> None:
    """Keeps an entry. An unwritable folder costs time, no result."""
    with contextlib.suppress(OSError):
        entry = json.dumps({"key": name, "resources": resources.to_json()})
        write_atomic(_path(folder, name), entry.encode())


def _path(folder: Path, name: str) -> Path:
    return folder / name[:2] / f"{name}.json"
