"""`tlxgen verify --skeleton`: writes first case files, as a start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tlxgen.cases import sidecar
from tlxgen.errors import TlxgenError
from tlxgen.files import require_writable, write_atomic
from tlxgen.verify import FunctionJob, Limits, is_function, must_exist, skeleton, split


def write_skeletons(targets: Sequence[str], limits: Limits) -> int:
    """Writes FILE.verify.yaml beside each FILE.py[:function].

    Raises TlxgenError, before anything is written, for a target of another kind, and for a file that exists.
    """
    files: dict[Path, FunctionJob] = {}
    for target in targets:
        if not is_function(target):
            raise TlxgenError(f"{target}: --skeleton is of FILE.py or FILE.py:function")
        file, name = split(target)
        must_exist(file)
        path = sidecar(file)
        if path.exists() or path in files:
            raise TlxgenError(f"{path} is there already: nothing is written")
        require_writable(path)
        files[path] = FunctionJob(file, name)
    for path, text in [(path, skeleton(job, limits)) for path, job in files.items()]:
        write_atomic(path, text.encode())
        print(f"{path} written: tlxgen verify {path}")
    return 0
