"""The facts of a plan for pictures and the review page: those of `picture.facts`, by this generator's rules."""

from __future__ import annotations

from typing import Any

from tlxgen.plan import Plan
from tlxgen.plan.sketch import readers

from .picture.facts import facts_of
from .registers import granted


def facts(plan: Plan) -> dict[str, Any]:
    """The facts of a plan, in JSON's types."""
    return facts_of(plan, granted(plan), readers)
