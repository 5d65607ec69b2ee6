"""Summarises the rows of many shapes, and compares a record with an earlier one."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

from tlxgen.errors import TlxgenError
from tlxgen.review.tables import Table

from .comparison import Row
from .report import ratio, text

NOISE = 0.02  # relative difference between two timings of torch in one run
SPREADS = 3  # so many standard deviations of a ratio also count as noise


def of_rows(rows: Sequence[Row], together: Sequence[str] = ()) -> Table:
    """A table of the ratios to the baseline over all shapes, for each candidate and for those `together`."""
    table = Table(
        "Speed over the baseline of each shape, in a chain",
        ("kernel", "shapes", "geometric mean", "5th percentile", "least", "at least 1.0", "failed"),
    )
    groups = {name: [row for row in rows if row.name == name] for name in dict.fromkeys(row.name for row in rows)}
    if len(together) > 1:
        groups[f"these {len(together)} together"] = [row for row in rows if row.name in together]
    for name, mine in groups.items():
        ratios = sorted(r for row in mine if (r := ratio(row)) is not None)
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            share = sum(r >= 1 for r in ratios) / len(ratios)
            figures = (f"{mean:.3f}", f"{percentile(ratios, 5):.3f}", f"{ratios[0]:.3f}", f"{share:.0%}")
        else:
            figures = ("", "", "", "")
        table.add(name, len(mine), *figures, sum(bool(row.error) for row in mine) or "")
    return table


def percentile(ordered: Sequence[float], percent: float) -> float:
    """A percentile of ordered figures, by linear interpolation."""
    at = (len(ordered) - 1) * percent / 100
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def read(path: Path) -> list[Row]:
    """The rows of a record that `bench --json` wrote. Raises TlxgenError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = [Row(**{**row, "shape": tuple(row["shape"])}) for row in data["rows"]]
    except OSError as error:
        raise TlxgenError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise TlxgenError(f"{path} is not a record of tlxgen bench --json") from None
    if not any(ratio(row) for row in rows):
        raise TlxgenError(f"{path} has no ratio to a baseline: there is nothing to compare")
    return rows


def fallen(before: Sequence[Row], now: Sequence[Row]) -> Iterator[tuple[Row, float, float, float]]:
    """Rows whose ratio to the baseline fell by more than the noise: (row, ratio before, ratio now, noise)."""
    known = {(row.name, tuple(row.shape)): row for row in before}
    for row in now:
        earlier = known.get((row.name, tuple(row.shape)))
        was, is_ = ratio(earlier) if earlier else None, ratio(row)
        if earlier is None or was is None:
            continue
        noise = max(NOISE, SPREADS * math.hypot(_spread(row), _spread(earlier)))
        if is_ is None or is_ < was * (1 - noise):
            yield row, was, is_ or 0.0, noise


def _spread(row: Row) -> float:
    """The relative spread of a row's ratio to the baseline."""
    return (row.spread if row.chain_speedup is None else row.chain_spread) or 0.0


def against(before: Sequence[Row], now: Sequence[Row]) -> tuple[Table, bool]:
    """A table of the rows that fell, and whether any did. Raises TlxgenError if the records have no common row."""
    common = {(r.name, tuple(r.shape)) for r in before} & {(r.name, tuple(r.shape)) for r in now}
    if not common:
        raise TlxgenError("the two records have no kernel and shape in common")
    lower = list(fallen(before, now))
    table = Table(
        f"Slower beside the baseline than in the record: {len(lower)} of {len(common)}",
        ("shape", "kernel", "was", "is", "noise", ""),
    )
    for row, was, is_, noise in lower:
        table.add(text(row.shape), row.name, f"{was:.3f}", f"{is_:.3f}" if is_ else "", f"{noise:.1%}", row.error)
    return table, bool(lower)
