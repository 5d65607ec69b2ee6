"""Targets of the command line: specs, case files, Python files, and functions in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tlxgen import cases
from tlxgen.cases import Case, sidecar
from tlxgen.errors import Location, SpecError
from tlxgen.spec.nearest import hint

from .verification import Arch, CaseJob, FunctionJob, Job


def is_hand_written(target: str) -> bool:
    """Whether a target is a Python file, a function of one, or a file of cases, and not a spec."""
    path, _, function = target.rpartition(":")
    return target.endswith((".py", cases.SUFFIX)) or (path.endswith(".py") and "/" not in function)


def is_function(target: str) -> bool:
    """Whether a target may be a function of a Python file, and not a case of one."""
    return is_hand_written(target) and not target.endswith(cases.SUFFIX)


def cases_in(folder: str) -> list[str]:
    """The case files in a folder; empty if it is not a folder."""
    path = Path(folder)
    return [str(p) for p in sorted(path.glob(f"*{cases.SUFFIX}"))] if os.path.isdir(path) else []


def split(target: str) -> tuple[Path, str]:
    """The Python file of a target, and the function that it names, if any."""
    name = "" if target.endswith(".py") else target.rpartition(":")[2]
    return Path(target if target.endswith(".py") else target.rpartition(":")[0]), name


def jobs_of(target: str, config: int | None, arch: Arch = "sm90") -> list[Job]:
    """The jobs of a hand-written target. `arch` is for functions; a case declares its own.

    Raises SpecError or SpecErrors for a missing file or function, or a faulty declaration.
    """
    if target.endswith(cases.SUFFIX):
        return _case_jobs(Path(target), cases.load(Path(target)), config)
    file, name = split(target)
    must_exist(file)
    declared = cases.cases_of(file)
    wanted = [c for c in declared if name in ("", c.name)] or [c for c in declared if c.declared.function == name]
    if wanted:
        return _case_jobs(sidecar(file), wanted, config)
    return [FunctionJob(file, name, config, arch)]


def _case_jobs(declared: Path, found: Sequence[Case], config: int | None) -> list[Job]:
    for case in found:
        must_exist(case.file, case)
    return [CaseJob(declared, case.file, case.name, config) for case in found]


def must_exist(file: Path, case: Case | None = None) -> None:
    """Raises SpecError for a Python file that does not exist."""
    if os.path.isfile(file):
        return
    if os.path.exists(file):
        text = (
            "this is a folder, not a Python file" if file.is_dir() else "this is a pipe or a device, not a Python file"
        )
    else:
        there = sorted(file.parent.glob("*.py"))[:1000] if os.path.isdir(file.parent) else []
        siblings = [p.name for p in there if p.name != file.name]  # a dangling link has the file's own name
        text = f"no such file{hint(file.name, siblings, noun='files')}"
    where = Location(file.as_posix(), 1, 1)
    if case is not None:
        text = f"the cases of {file.as_posix()}: {text}"
        where = case.document.where(("file",))
    raise SpecError(text, location=where)
