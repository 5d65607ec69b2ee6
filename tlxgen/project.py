"""The root of a project: what its `generated/` and `tuned/` are relative to; and paths in messages. LEAF module."""

from __future__ import annotations

import os
from pathlib import Path


def real(path: Path) -> Path:
    """The absolute path without symbolic links, also of one that goes in a circle, where Path.resolve raises."""
    return Path(os.path.realpath(path))


def root_of(spec: Path) -> Path:
    """The folder that generated and tuned paths are relative to: the one that holds `specs/`, or the spec's own."""
    folder = real(spec).parent
    return folder.parent if folder.name == "specs" else folder


def from_here(path: Path) -> Path:
    """A path as people in the current folder call it: relative when it lies below."""
    absolute, here = real(path), Path.cwd()
    return absolute.relative_to(here) if absolute.is_relative_to(here) else path
