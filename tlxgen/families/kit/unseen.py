"""Waivers for what no run of a generated kernel can exercise, with reasons. `verify` does not count it as missing.

A family's `problem` module has a function `unseen(spec)`, which returns these waivers and the family's own.
"""

from __future__ import annotations

from tlxgen.coverage import Waiver

GRID = Waiver(("no-item",), "", "the host function launches no more CTAs than there are items")
SPIN = Waiver(
    ("no-round", "one-round", "second-round"), r"while (found|counts|added) ", "how long it spins is up to the schedule"
)
