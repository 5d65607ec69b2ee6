"""`tlxgen build` for people: a progress bar while it works, then one line a spec."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from tlxgen.build import Built, Step, build
from tlxgen.errors import SpecErrors, TlxgenError


def run(specs: list[Path], out: Path | None, check: bool) -> int:
    """Builds each spec; returns 0, or 1 when `check` found something stale. Raises the errors of all specs at once."""
    done: list[Built] = []
    faults: list[TlxgenError] = []
    with ExitStack() as stack:
        step = _bar(stack)
        for spec in specs:
            try:
                done.append(build(spec, out=out, check=check, on_step=step(spec)))
                print(_line(done[-1], check))
            except TlxgenError as error:
                faults.append(error)
    for built in done:
        if check and built.diff:
            print(built.diff)
    if faults:
        raise faults[0] if len(faults) == 1 else SpecErrors(faults)
    return int(check and any(not b.up_to_date for b in done))


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
    state = "up to date" if built.up_to_date else ("stale" if check else f"{len(built.changed)} files written")
    variants = f"{built.variants} variants, {built.rejected} rejected"
    return f"{built.spec}: {state} ({len(built.modules)} modules, {variants})"
