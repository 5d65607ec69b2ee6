"""The root of a project, to which `generated/` and `tuned/` are relative, and paths in messages."""

from __future__ import annotations

import os
from pathlib import Path


def real(path: Path) -> Path:
    """The absolute path without symbolic links. Unlike Path.resolve it does not raise for a cycle of links."""
    return Path(os.path.realpath(path))


def root_of(spec: Path) -> Path:
    """The folder that generated and tuned paths are relative to: the one that holds `specs/`, or the spec's own."""
    folder = real(spec).parent
    return folder.parent if folder.name == "specs" else folder


def from_here(path: Path) -> Path:
    """A path for messages: relative if it is below the current folder."""
    absolute, here = real(path), Path.cwd()
    return absolute.relative_to(here) if absolute.is_relative_to(here) else path
