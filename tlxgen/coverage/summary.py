"""A summary of a target's coverage, for a lock and for one line of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SHOWN = 6  # limit of the parts of the line; the record has all


@dataclass(frozen=True)
class Summary:
    """The summary of all runs of one target.

    `counts` has, by kind (lines, rings, loops, branches, predicates, items, steals, ranks, tiles), the number of things
    that were exercised, and of all; kinds that the target does not have are left out. `missing` describes what was not
    exercised, the worst first, with one entry a kind. `excepted` is the number of things that were not exercised and
    that waivers cover; `counts` does not include them. `reasons` are those of the waivers, each once.

    As JSON, for locks and records: {"counts": {"lines": [211, 212], ...}, "missing": ["line 88 never ran"],
    "excepted": 3, "reasons": ["..."]}. The same runs give the same summary on every machine.
    """

    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    excepted: int = 0
    reasons: tuple[str, ...] = ()

    @property
    def full(self) -> bool:
        """Whether everything was exercised."""
        return not self.missing

    @property
    def line(self) -> str:
        """One line about what was not exercised; empty if nothing is missing."""
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
        """The inverse of `to_json`. Raises KeyError, TypeError or ValueError for other data."""
        counts = {str(kind): (int(seen), int(there)) for kind, (seen, there) in data["counts"].items()}
        reasons = data.get("reasons", ())  # which records had none of once
        return cls(counts, tuple(map(str, data["missing"])), int(data["excepted"]), tuple(map(str, reasons)))
