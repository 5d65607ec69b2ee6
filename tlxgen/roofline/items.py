"""Where a family says what its work items are."""

from __future__ import annotations

from typing import Any

from tlxgen.families import Family


def items_of(family: Family) -> Any:
    """The family's module with `work` and `probes`: `roofline`, or else `cost`, which may lack them."""
    return family.part("roofline") or family.part("cost")
