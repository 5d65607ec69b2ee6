"""Errors that a user can cause, one class a cause. The command line prints them without a traceback and exits with 2.

Control characters from files are escaped, so that messages cannot affect the terminal. Imports `words` alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tlxgen.words import printable


@dataclass(frozen=True, order=True)
class Location:
    """A place in a text file. `line` and `column` count from 1; `text` is that line, for the excerpt."""

    path: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{printable(self.path)}:{self.line}:{self.column}"

    def excerpt(self) -> str:
        """The line with a caret under the column; empty when the line is unknown or blank."""
        if not self.text.strip():
            return ""
        line, column = self.text.replace("\t", " "), self.column
        if len(line) > 160:  # a window around the column, so that one long line does not flood the terminal
            start = max(0, column - 80)
            line, column = line[start : start + 160], column - start
        return f"    {printable(line)}\n    {' ' * len(printable(line[: column - 1]))}^"

    def inside(self, text: str, offset: int) -> Location:
        """The location of `offset` in the scalar `text` that is here, if the line has it verbatim; else this one."""
        for quote in (0, 1):
            column = self.column - 1 + quote
            if self.text.startswith(text, column):
                return Location(self.path, self.line, column + 1 + offset, self.text)
        return self


class SpecNote(UserWarning):
    """A note for a spec's author on a spec that can be built. The command line prints it after `head`."""

    head = "note"


class RenamedWarning(SpecNote, FutureWarning):
    """A file uses a former name of a key or value."""


class SpecWarning(SpecNote):
    """Something in a spec has no effect, which was probably not intended."""

    head = "warning"


class TlxgenError(Exception):
    """Base of all errors that the user can correct.

    `location` is its place in a file, and `remedy` a sentence that says what to do.
    """

    exit_code = 2

    def __init__(self, message: str, *, location: Location | None = None, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.location = location
        self.remedy = remedy

    def __str__(self) -> str:
        message = printable(self.message, keep="\n")
        parts = [f"{self.location}: {message}" if self.location else message]
        if self.location and self.location.excerpt():
            parts.append(self.location.excerpt())
        if self.remedy:
            parts.append(f"    {printable(self.remedy, keep=chr(10))}")
        return "\n".join(parts)


class SpecError(TlxgenError):
    """One fault of a spec: syntax, an unknown key, a wrong type, an illegal combination."""


class SpecErrors(TlxgenError):
    """Every fault found in one run, in the order of the files' lines."""

    def __init__(self, errors: Iterable[TlxgenError]) -> None:
        self.errors = sorted(errors, key=lambda e: e.location or Location("", 0, 0))
        super().__init__("\n".join(str(e) for e in self.errors))

    def __str__(self) -> str:
        return self.message


class NoVariantError(TlxgenError):
    """Every variant of a spec was rejected; the message carries the reasons."""


class TemplateFault(TlxgenError):
    """A template failed to render, or rendered text that is not Python. It is a fault of a family, not of a spec."""


class StepError(TemplateFault):
    """A task of a rendered kernel does not synchronise as its plan says. It is a fault of a family, not of a spec."""


class ProfileError(TlxgenError):
    """A module that cannot be instrumented, or whose stamps cannot be read."""


class LockError(TlxgenError):
    """A lock.json that no build wrote, or that a merge left in conflict."""


class EditedError(TlxgenError):
    """A build would overwrite or remove a file that was edited by hand."""


class OvertakenError(SpecError):
    """A file that a build read has changed since, so that the result is out of date."""


class FamilyError(TlxgenError):
    """A plug-in does not load. It is a fault of its package, not of a spec."""


class ToolchainError(TlxgenError):
    """Triton without TLX, a missing compiler, a wrong torch."""


class CacheError(TlxgenError):
    """The cache folder cannot be written, and the verb needs it."""


class DeviceError(TlxgenError):
    """No GPU, or one of another architecture."""


class ReviewError(TlxgenError):
    """Something to be compared does not exist or cannot be read."""
