from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.build.project import Project
from tlxgen import lock
from tlxgen.cli import app
from tlxgen.errors import TlxgenError
from tlxgen.verbs import audit as audit_verb
from tlxgen.verbs import verify as verify_verb
from tlxgen.verify import Result as Verified
from tlxgen.verify import StructureJob

CASES = ((0, (1, 1, 64), 4), (0, (381, 264, 96), 4))
FINDING = {"id": "deadlock", "severity": "error", "message": "m", "schedule": "lazy", "seed": 0, "fix": "f"}


@dataclass
class Lab:
    """A project whose modules are run by a simulator that only counts: `ran` has the jobs, in their order.

    `finds` are the ids of what it finds, `steps` what it counts, `stuck` the structures that it cannot run.
    """

    project: Project
    ran: list[StructureJob] = field(default_factory=list)
    ways: list[Any] = field(default_factory=list)
    finds: tuple[str, ...] = ()
    severity: str = "error"
    steps: int = 7
    stuck: tuple[str, ...] = ()

    def verify_all(
        self,
        jobs: Sequence[StructureJob],
        ways: Sequence[Any],
        *options: object,
        on_done: Callable[[StructureJob, Verified], object] = lambda job, result: None,
    ) -> Iterator[Verified]:
        for job in jobs:
            self.ran.append(job)
            self.ways.append(job.ways or tuple(ways))
            place = {"path": str(job.module), "line": 5}
            found = [{**FINDING, "id": id, "severity": self.severity, "places": [place]} for id in self.finds]
            result = Verified(job.structure, found, CASES, runs=2 * len(self.ways[-1]), steps=self.steps)
            if job.structure in self.stuck:
                result.error = TlxgenError("it hung")
            on_done(job, result)
            yield result

    def invoke(self, *arguments: str) -> Result:
        self.ran.clear()
        self.ways.clear()
        result = CliRunner().invoke(app, list(arguments))
        if isinstance(result.exception, Exception) and not isinstance(result.exception, SystemExit | TlxgenError):
            raise result.exception
        return result

    @property
    def names(self) -> list[str]:
        """The structures that the last command has run."""
        return [job.structure for job in self.ran]

    def entry(self, name: str = "k") -> dict[str, Any]:
        found: dict[str, Any] = lock.read(self.project.folder("k"))["structures"][name]
        return found

    def alter(self, name: str, change: Callable[[dict[str, Any]], object], *, seal: bool = False) -> None:
        """Changes a record in the lock by hand, and its seal with it, as somebody could who knows how."""
        folder = self.project.folder("k")
        held = lock.read(folder)
        entry = held["structures"][name]
        change(entry["verified"])
        if seal:
            entry["verified"] = lock.sealed(entry, entry["verified"], "verified")
        lock.write(folder, held)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("TLXGEN_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    lab = Lab(Project(tmp_path / "project"))
    monkeypatch.setattr(verify_verb, "verify_all", lab.verify_all)
    monkeypatch.setattr(audit_verb, "verify_all", lab.verify_all)
    return lab
