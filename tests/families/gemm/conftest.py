"""The modules of the whole matrix, rendered once for all workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from filelock import FileLock

from tlxgen.build import make
from tlxgen.loading import HOST

from .matrix import SPECS
from .source import Source


@pytest.fixture(scope="session")
def rendered(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder with a module for each structure of the matrix.

    They are made in this process: two others would each read, parse and format what one does once.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "matrix"
    with FileLock(f"{folder}.lock"):
        if not (folder / "done").exists():
            (folder / "specs").mkdir(parents=True, exist_ok=True)
            paths = [folder / "specs" / f"{spec['name']}.yaml" for spec in SPECS]
            for path, spec in zip(paths, SPECS, strict=True):
                path.write_text(json.dumps(spec))
            for path in paths:
                made = make(path, folder / "generated")
                for name in (*made.modules, HOST):
                    (folder / name).write_bytes(made.files[name])
            (folder / "done").touch()
    return folder


@pytest.fixture(scope="session")
def sources(rendered: Path) -> list[Source]:
    """Those modules, parsed, in the order of their names."""
    return [Source.read(path) for path in sorted(rendered.glob("*.py")) if path.name != HOST]
