"""From a compiler's log to the one line that says what went wrong. LEAF module: stdlib only."""

from __future__ import annotations

import re
from collections.abc import Iterable

# Of MLIR, LLVM, ptxas and C: "loc(...): error: ...", "LLVM ERROR: ...", "ptxas fatal : ...", "Assertion `x' failed".
_TELLING = re.compile(r"\berror\b\s*:|LLVM ERROR|ptxas fatal|Assertion .* failed|line \d+; error", re.IGNORECASE)
_WIDTH = 300


def telling_line(log: str) -> str:
    """The first line of `log` that names an error, else an empty string."""
    return next((_shorten(line) for line in log.splitlines() if _TELLING.search(line)), "")


def one_line(lines: Iterable[str]) -> str:
    """The first line that says anything, shortened."""
    return next((_shorten(line) for line in lines if line.strip()), "")


def _shorten(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 3] + "..."
