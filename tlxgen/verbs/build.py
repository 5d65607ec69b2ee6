"""`tlxgen build` for people: a progress bar while it works, then one line a spec."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from tlxgen.build import Built, build
from tlxgen.errors import TlxgenError


def run(specs: list[Path], out: Path | None, check: bool) -> int:
    """Builds each spec; returns 0, or 1 when `check` found something stale. Raises the errors of all specs at once."""
    done, faults = [], []
    with ExitStack() as stack:
        step = _bar(stack, len(specs))
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
        raise faults[0] if len(faults) == 1 else TlxgenError("\n".join(str(f) for f in faults))
    return int(check and any(not b.up_to_date for b in done))


def _bar(stack: ExitStack, specs: int):  # type: ignore[no-untyped-def]
    """A factory of step callbacks; draws only on a terminal, and imports rich only then."""
    if not sys.stderr.isatty():
        return lambda spec: None
    from rich.console import Console
    from rich.progress import Progress

    progress = stack.enter_context(Progress(console=Console(stderr=True), transient=True))

    def factory(spec: Path):  # type: ignore[no-untyped-def]
        task = progress.add_task(spec.stem, total=None)
        return lambda now, total: progress.update(task, completed=now, total=total)

    return factory


def _line(built: Built, check: bool) -> str:
    state = "up to date" if built.up_to_date else ("stale" if check else f"{len(built.changed)} files written")
    variants = f"{built.variants} variants, {built.rejected} rejected"
    return f"{built.spec}: {state} ({len(built.modules)} modules, {variants})"
