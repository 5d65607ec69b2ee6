"""What was seen of a target and what was not, short enough for a lock and for one line of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SHOWN = 6  # parts of the line; the record has all


@dataclass(frozen=True)
class Summary:
    """Of all runs of one target together. `counts`: by kind (lines, rings, loops, branches, predicates, items, steals,
    ranks, tiles), how many there are to be seen and how many of these were; a kind that the target does not have is not
    there. `missing`: what was not seen, in words, the worst first, one entry a kind. `excepted`: how many things were
    not seen for a reason that the family gives; they are not counted in `counts`. `reasons`: these, each once.

    As JSON, for locks and records: {"counts": {"lines": [211, 212], ...}, "missing": ["line 88 never ran"],
    "excepted": 3, "reasons": ["..."]}, the number seen before the number there. The same runs give the same summary on
    every machine.
    """

    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    excepted: int = 0
    reasons: tuple[str, ...] = ()

    @property
    def full(self) -> bool:
        """Whether all was seen that there is to see."""
        return not self.missing

    @property
    def line(self) -> str:
        """What was not seen, in one line; empty where nothing is missing."""
        if not self.missing:
            return ""
        more = len(self.missing) - SHOWN
        rest = [f"and {more} more kinds, in --json and --coverage"] if more > 0 else []
        return f"not seen: {'; '.join([*self.missing[:SHOWN], *rest])}"

    def to_json(self) -> dict[str, Any]:
        """The summary as data."""
        counts = {kind: list(pair) for kind, pair in self.counts.items()}
        data = {"counts": counts, "missing": list(self.missing), "excepted": self.excepted}
        return {**data, "reasons": list(self.reasons)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Summary:
        """The inverse of `to_json`. KeyError, TypeError, ValueError: it is none."""
        counts = {str(kind): (int(seen), int(there)) for kind, (seen, there) in data["counts"].items()}
        reasons = data.get("reasons", ())  # which records had none of once
        return cls(counts, tuple(map(str, data["missing"])), int(data["excepted"]), tuple(map(str, reasons)))
