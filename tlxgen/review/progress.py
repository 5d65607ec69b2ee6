"""A progress bar on the terminal. Nothing is drawn in a pipe, where it would be noise in a log."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .tables import console


class Bar:
    """The progress of a task. Without a terminal it draws nothing."""

    def __init__(self, total: int, what: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        # Standard output is not redirected, since it may be a pipe while the bar is on a terminal.
        self._drawn = Progress(
            *columns, console=console(stderr=True), transient=True, redirect_stdout=False, disable=not on_terminal()
        )
        self._task = self._drawn.add_task(what, total=total)

    def advance(self, text: str | None = None) -> None:
        """Counts one more step as done. `text` says what is being done."""
        self._drawn.update(self._task, advance=1, description=text)

    def expect(self, more: int) -> None:
        """Adds `more` steps to the total."""
        known = next(task.total or 0 for task in self._drawn.tasks if task.id == self._task)
        self._drawn.update(self._task, total=known + more)

    def reach(self, completed: int, text: str) -> None:
        """Sets the number of completed steps."""
        self._drawn.update(self._task, completed=completed, description=text)

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """A context without the bar on the screen, in which lines can be printed."""
        self._drawn.stop()
        try:
            yield
        finally:
            self._drawn.start()


def on_terminal() -> bool:
    """Whether standard error is a terminal that can show a bar."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def bar(total: int, what: str) -> Iterator[Bar]:
    """A bar on standard error, which is removed at the end."""
    made = Bar(total, what)
    made._drawn.start()
    try:
        yield made
    finally:
        made._drawn.stop()
