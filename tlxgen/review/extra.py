"""Checks for libraries of the extra `review`. If one is missing, the error names the command that installs it."""

from __future__ import annotations

from importlib.util import find_spec

from tlxgen.errors import ToolchainError


def require(library: str, what: str) -> None:
    """Raises ToolchainError if `library`, which `what` (plural) need, is missing."""
    if find_spec(library) is None:
        remedy = "run: pip install 'tlxgen[review]'"
        raise ToolchainError(f"{library} is not installed, which {what} need", remedy=remedy)
