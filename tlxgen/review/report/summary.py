"""A review in a few numbers: how many modules differ, and how."""

from __future__ import annotations

from collections.abc import Iterator

from .figures import verified
from .review import Review


def counts(review: Review) -> Iterator[tuple[str, str]]:
    """The numbers of modules by kind, for the head of the page."""
    structures = review.change.structures()
    states = {state: sum(m.state == state for m in structures) for state in ("changed", "added", "removed", "renamed")}
    for state, count in states.items():
        if count or state == "changed":
            yield f"kernel modules {state}", str(count)
    device = sum(m.changed("device") for m in structures)
    yield "with other device code", str(device)
    other = len(review.change.modules) - len(structures)
    yield "files of host code and packages", str(other)
    yield "different hunks", str(review.distinct)
    yield "changes of plans", str(sum(bool(change.rows) for change in review.plans.changes))
    records = sum(m.state == "records" for m in structures)
    if records:
        yield "only with other records", str(records)
    now = [verified(m.b_entry) for m in structures if m.state != "removed"]
    if now:
        yield "with a clean record of verify", f"{sum(v.state == 'clean' for v in now)} of {len(now)}"
