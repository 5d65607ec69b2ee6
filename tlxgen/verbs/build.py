"""`tlxgen build` for people: a progress bar while it works, then one line a spec."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from tlxgen.build import Built, Step, build, prepare
from tlxgen.errors import SpecErrors, TlxgenError

T = TypeVar("T")


def run(specs: list[Path], out: Path | None, check: bool) -> int:
    """Builds each spec; returns 0, or 1 when `check` found something stale. Raises the errors of all specs at once."""

    def one(spec: Path, step: Step | None) -> Built:
        built = build(spec, out=out, check=check, on_step=step)
        _tell(built, check)
        return built

    done = _each(specs, one)
    for built in done:
        if check and built.diff:
            print(built.diff)
    return int(check and any(not b.up_to_date for b in done))


def run_verified(specs: list[Path], out: Path | None) -> int:
    """Builds the specs if the simulator finds nothing wrong with what would be written; else writes nothing at all.

    Returns 0; 1 for findings that are errors, 2 for what could not be run. Raises the errors of all specs at once.
    """
    from tlxgen.verbs import verify

    prepared = _each(specs, lambda spec, step: prepare(spec, out=out, on_step=step))
    with tempfile.TemporaryDirectory(prefix="tlxgen-verify-") as folder:
        status = verify.prepared_are_clean(prepared, Path(folder), verify.Options())
    if status:
        print("nothing is written")
        return status
    for one in prepared:
        _tell(one.write(), check=False)
    return 0


def _each(specs: list[Path], make: Callable[[Path, Step | None], T]) -> list[T]:
    """`make(spec, step)` for each spec, with a bar. Raises the errors of all of them at once."""
    done: list[T] = []
    faults: list[TlxgenError] = []
    with ExitStack() as stack:
        step = _bar(stack)
        for spec in specs:
            try:
                done.append(make(spec, step(spec)))
            except TlxgenError as error:
                faults.append(error)
    if faults:
        raise faults[0] if len(faults) == 1 else SpecErrors(faults)
    return done


def _bar(stack: ExitStack) -> Callable[[Path], Step | None]:
    """What gives each spec its bar; draws only on a terminal, and imports rich only then."""
    if not sys.stderr.isatty():
        return lambda spec: None
    from rich.console import Console
    from rich.progress import Progress

    progress = stack.enter_context(Progress(console=Console(stderr=True), transient=True))

    def bar(spec: Path) -> Step:
        task = progress.add_task(spec.stem, total=None)
        return lambda done, total: progress.update(task, completed=done, total=total)

    return bar


def _tell(built: Built, check: bool) -> None:
    """A line about a spec; on stderr, what those must know who import its functions."""
    print(_line(built, check))
    for note in built.notes:
        print(f"{built.spec}: note: {note}", file=sys.stderr)


def _line(built: Built, check: bool) -> str:
    state = "up to date" if built.up_to_date else ("stale" if check else str(built.changes))
    variants = f"{built.variants} variants, {built.rejected} rejected"
    return f"{built.spec}: {state} ({len(built.modules)} modules, {variants})"
