"""Standard streams that may be full, closed or missing. A failure gives one error, and no second one at Python's exit.

LEAF module: imports nothing of tlxgen but its errors.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO, cast

from tlxgen.errors import TlxgenError


class OutputError(TlxgenError):
    """The output of a verb could not be written. `is_closed`: its reader has ended, as `head` does."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"cannot write the output: {error.strerror or error}")
        self.is_closed = isinstance(error, BrokenPipeError)


def _write(stream: TextIO, text: str) -> int:
    """Writes, with question marks for characters that the stream's encoding does not have."""
    try:
        return stream.write(text)
    except UnicodeEncodeError as error:
        return stream.write(text.encode(error.encoding, "replace").decode(error.encoding))


class Output:
    """A text stream whose writes raise OutputError, so that no library handles their failure."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return _write(self._stream, text)
        except OSError as error:
            raise OutputError(error) from error

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputError(error) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Errors:
    """A text stream for messages. A message that cannot be written is lost, but the exit status is kept."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            _write(self._stream, text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """Replaces sys.stderr by an Errors, and missing standard streams by the null device.

    Otherwise the next file that is opened would get the number of a missing stream, and a child would print into it.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    before = sys.stderr
    sys.stderr = cast(TextIO, Errors(before or io.StringIO()))
    try:
        yield
    finally:
        sys.stderr = before


@contextlib.contextmanager
def output() -> Iterator[None]:
    """Replaces sys.stdout by an Output, and flushes it at the end.

    Raises OutputError, and TlxgenError when the process was started without a standard output.
    """
    before = sys.stdout
    if before is None:
        raise TlxgenError("standard output is closed", remedy="send it to a file, or to /dev/null")
    sys.stdout = cast(TextIO, Output(before))
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OutputError:
        _give_up(before)
        raise
    finally:
        sys.stdout = before


def _give_up(stdout: TextIO) -> None:
    """Discards further output, since the rest of the buffer would fail again at Python's exit."""
    with contextlib.suppress(OSError, ValueError):  # a stream in memory has no number
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stdout.fileno())
        os.close(null)
