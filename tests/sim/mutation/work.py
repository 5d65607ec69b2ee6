"""Outcomes of an earlier run, so that one which was cut off can go on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

import tlxgen.sim

from .execute import Outcome
from .mutant import Mutant, apply
from .subjects import Subject


class Work:
    """A file with a line for each outcome; believed while the simulator, the cases and the mutant are the same. `runs`
    names those that are not the defaults."""

    def __init__(self, path: Path | None, runs: str = "") -> None:
        self._path, self._runs = path, runs
        self._known: dict[str, Outcome] = {}
        for line in path.read_text().splitlines() if path and path.exists() else ():
            key, fields = json.loads(line)
            self._known[key] = Outcome(**{**fields, "ids": tuple(fields["ids"])})

    def known(self, subject: Subject, mutant: Mutant) -> Outcome | None:
        """What an earlier run found."""
        return self._known.get(self._key(subject, mutant)) if self._path else None

    def add(self, subject: Subject, mutant: Mutant, outcome: Outcome) -> None:
        """Appends an outcome, unless it is there."""
        key = self._key(subject, mutant)
        if self._path and key not in self._known:
            self._known[key] = outcome
            with self._path.open("a") as file:
                file.write(json.dumps([key, asdict(outcome)]) + "\n")

    def _key(self, subject: Subject, mutant: Mutant) -> str:
        parts = (_simulator(), str(subject.cases), apply(subject.text, mutant.edits), *filter(None, [self._runs]))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def _simulator() -> str:
    folder = Path(tlxgen.sim.__path__[0])
    return "\0".join(p.read_text() for p in sorted(folder.glob("*.py")))
