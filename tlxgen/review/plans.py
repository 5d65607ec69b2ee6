"""What pictures and the review page show of a plan: the facts of `picture.facts`, with this generator's rules."""

from __future__ import annotations

from typing import Any

from tlxgen.plan import Plan
from tlxgen.plan.sketch import readers

from .picture.facts import facts_of
from .registers import granted


def facts(plan: Plan) -> dict[str, Any]:
    """The facts of a plan, as JSON has them."""
    return facts_of(plan, granted(plan), readers)
