"""Builds many specs in worker processes, each of which makes whole folders.

What one spec has rendered, formatted and parsed serves the next ones of its process.
"""

from __future__ import annotations

import copyreg
import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tlxgen import stamp
from tlxgen.build import Built, build, collect_seldom, folder_of
from tlxgen.errors import SpecErrors, TlxgenError

Outcome = tuple["Built | TlxgenError", list[warnings.WarningMessage]]
FROM = 4  # least number of specs to build for which workers are started

# As its errors: pickle would call it with its text. It stands here as records of the simulator depend on `errors`.
copyreg.pickle(SpecErrors, lambda error: (SpecErrors, (error.errors,)))


@dataclass(frozen=True)
class Ahead:
    """The builds that workers make, by spec. The others are up to date, or too few."""

    pending: Mapping[Path, Future[Outcome]]

    def result(self, spec: Path) -> Built | None:
        """The build of a spec; None if no worker makes it. Shows its warnings. Raises what it raised."""
        if spec not in self.pending:
            return None
        built, noted = self.pending[spec].result()
        for note in noted:
            warnings.showwarning(note.message, note.category, note.filename, note.lineno)
        if isinstance(built, TlxgenError):
            raise built
        return built


def start(stack: ExitStack, specs: Sequence[Path], out: Path | None, *, check: bool, force: bool) -> Ahead:
    """Starts to build those of `specs` that are not up to date, the largest first. `stack` ends the workers."""
    waiting = [s for s in specs if check or not stamp.is_current(s, folder_of(s, out), stamp.templates())]
    workers = min(os.cpu_count() or 1, len(waiting))
    if len(waiting) < FROM or workers < 2:
        return Ahead({})
    waiting.sort(key=lambda spec: -len([*folder_of(spec, out).glob("*.py")]))
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=collect_seldom)
    stack.callback(pool.shutdown, cancel_futures=True)
    return Ahead({spec: pool.submit(_build, spec, out, check, force) for spec in waiting})


def _build(spec: Path, out: Path | None, check: bool, force: bool) -> Outcome:
    with warnings.catch_warnings(record=True) as noted:
        try:
            return build(spec, out=out, check=check, force=force), noted
        except TlxgenError as error:
            return error, noted
