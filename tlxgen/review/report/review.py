"""A review: the data about a change of specs, templates or generator that a page or a comment shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from . import alerts, figures, hunks, modules, planned, trees


@dataclass
class Review:
    """All data of a page. `sources` are groups of modules, and `inputs` groups of the generator's inputs."""

    a: str
    b: str
    change: modules.Change
    sources: list[hunks.Group]
    inputs: list[hunks.Group]
    plans: planned.Plans
    compiled: list[figures.Figures]
    speeds: list[figures.Speed]
    alerts: list[alerts.Alert]

    @property
    def remarks(self) -> list[str]:
        """Remarks on what could not be compared."""
        return [*self.change.remarks, *self.plans.remarks]

    @property
    def distinct(self) -> int:
        """The number of different hunks of the generated modules."""
        return len({hunk for group in self.sources for hunk in group.hunks})


def made(given: Sequence[str]) -> Review:
    """The review of the two sides that the command line names."""
    a, b = trees.sides(given)
    change = modules.change(a, b)
    with TemporaryDirectory(prefix="tlxgen-review-") as temporary:
        asked = planned.Asked(change, (a, b), Path(temporary))  # the children run while texts are compared
        try:
            sources = hunks.groups(change, change.modules)
            inputs = hunks.groups(change, change.inputs)
            compiled, speeds = figures.compiled(change), figures.speeds(a, b)
            plans = asked.plans()
        finally:
            asked.close()
    return Review(a.shown, b.shown, change, sources, inputs, plans, compiled, speeds, alerts.alerts(change, speeds))
