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
from tlxgen.words import counted, printable

T = TypeVar("T")


def run(specs: list[Path], out: Path | None, check: bool) -> int:
    """Builds each spec; returns 0, or 1 when `check` found something stale. Raises the errors of all specs at once."""

    def one(spec: Path, step: Step | None) -> Built:
        built = build(spec, out=out, check=check, on_step=step)
        print(_line(built, check))
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
        print(_line(one.write(), check=False))
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


def _line(built: Built, check: bool) -> str:
    written = f"{counted(len(built.changed), 'file')} written to {_from_here(built.folder)}"
    state = "up to date" if built.up_to_date else ("stale" if check else written)
    modules, variants = counted(len(built.modules), "module"), counted(built.variants, "variant")
    return printable(f"{built.spec}: {state} ({modules}, {variants}, {built.rejected} rejected)")


def _from_here(folder: Path) -> Path:
    """A folder as people in the current one call it."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder
