"""Where the repositories of foreign kernels lie: a folder that the user names, with a folder OWNER+NAME for each."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType

from tlxgen.loading import load_file

FOLDER = "TLXGEN_FOREIGN"  # the environment variable that names it


def root(repository: str, commit: str = "") -> Path:
    return place(Path(os.environ[FOLDER]), repository, commit)


def place(folder: Path, repository: str, commit: str) -> Path:
    """OWNER+NAME@COMMIT, of its first 12 digits, where that is there, so that there may be several; else OWNER+NAME."""
    name = repository.replace("/", "+")
    exact = folder / f"{name}@{commit[:12]}"
    return exact if exact.is_dir() else folder / name


def foreign(repository: str, path: str) -> ModuleType:
    """A module of a repository, imported from its own folder as its tests do."""
    file = _file(repository, path)
    sys.path.insert(0, str(file.parent))
    return importlib.import_module(file.stem)


def foreign_file(repository: str, path: str, commit: str = "") -> ModuleType:
    """The same by itself: for a file whose name is no module's, or that of several."""
    return load_file(_file(repository, path, commit))


def _file(repository: str, path: str, commit: str = "") -> Path:
    file = root(repository, commit) / path
    if not file.is_file():
        raise FileNotFoundError(f"{file}: ${FOLDER} is the folder that holds the repositories")
    return file


def package(name: str, repository: str, path: str) -> None:
    """Makes `import name` find a folder of a repository, which has another place in the tree that it was taken from."""
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        module = sys.modules.setdefault(".".join(parts[:i]), ModuleType(".".join(parts[:i])))
        if not hasattr(module, "__path__"):
            module.__path__ = []
    module.__path__ = [str(root(repository) / path)]
