"""A mutant: a kernel's source with one fault in it, as edits of the text. LEAF module: needs no libcst."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, order=True)
class Edit:
    """Replaces the characters `start` up to `end` of a source."""

    start: int
    end: int
    text: str


def apply(source: str, edits: Iterable[Edit]) -> str:
    """The source with all edits made; they may not overlap."""
    made, at = [], 0
    for edit in sorted(edits):
        if edit.start < at:
            raise ValueError(f"edits overlap at character {edit.start}")
        made += [source[at : edit.start], edit.text]
        at = edit.end
    return "".join([*made, source[at:]])


@dataclass(frozen=True)
class Mutant:
    """One fault in generated/AT.py, made by the mutator `kind` in the statement at `line`; `what` says it in a line.
    `loop` is the header of the innermost loop around the statement, else "after" and that of the loop before it, or
    nothing; `role` that of the task, after the comment before it; `statement` that which is mutated, or its header."""

    at: str
    kind: str
    line: int
    function: str
    what: str
    edits: tuple[Edit, ...]
    loop: str = ""
    role: str = ""
    statement: str = ""

    @property
    def name(self) -> str:
        """Unique among the mutants of all modules."""
        return f"{self.at.split('/')[1]}:{self.line} {self.kind}: {self.what}"

    def json(self) -> dict[str, Any]:
        """For a file; `of` reads it back."""
        edits = [[e.start, e.end, e.text] for e in self.edits]
        return {**{k: v for k, v in self.__dict__.items() if k != "edits"}, "edits": edits}

    @staticmethod
    def of(read: dict[str, Any]) -> Mutant:
        """What `json` gave."""
        return Mutant(**{**read, "edits": tuple(Edit(*e) for e in read["edits"])})
