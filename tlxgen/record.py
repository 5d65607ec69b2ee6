"""The first keys of every JSON record of a verb."""

from __future__ import annotations

from typing import Any

from tlxgen import __version__


def head(verb: str, version: int = 1) -> dict[str, Any]:
    """The first keys of a record. `version` is raised when a key is removed or changes its meaning."""
    return {"version": version, "tlxgen": __version__, "verb": verb}
