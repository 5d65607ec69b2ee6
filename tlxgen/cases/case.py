"""One case, ready to run. Importing it needs no torch; `cases.execute` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tlxgen.errors import SpecError
from tlxgen.spec import Document, compile_expression
from tlxgen.spec.source import DataPath

from .declaration import Declaration, Size


@dataclass(frozen=True)
class Case:
    """`path` declares it, `file` holds its function. `values`: sizes, scalars and constexprs by name, evaluated."""

    name: str
    path: Path
    file: Path
    declared: Declaration
    document: Document = field(repr=False)
    values: dict[str, Any]

    def __str__(self) -> str:
        return self.name

    def sizes(self, given: Sequence[Size], more: dict[str, Any] | None = None) -> tuple[int, ...]:
        """What `given` is with the case's values, and `more`."""
        values = self.values | (more or {})
        return tuple(compile_expression(s).evaluate(values) if isinstance(s, str) else s for s in given)

    def fault(self, path: DataPath, message: str, *, key: bool = False) -> SpecError:
        """An error at `path` of the declaration."""
        return SpecError(message, location=self.document.where(path, key=key))
