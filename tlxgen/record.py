"""What every JSON record of a verb begins with. LEAF module."""

from __future__ import annotations

from typing import Any

from tlxgen import __version__


def head(verb: str, version: int = 1) -> dict[str, Any]:
    """The first keys of a record: `version` is another when a key of it changes its meaning or goes."""
    return {"version": version, "tlxgen": __version__, "verb": verb}
