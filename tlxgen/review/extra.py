"""Libraries of the extra `review`: some verbs need them, and their absence is told with the command that mends it."""

from __future__ import annotations

from importlib.util import find_spec

from tlxgen.errors import ToolchainError


def require(library: str, what: str) -> None:
    """Raises ToolchainError without `library`, which `what` (plural) need."""
    if find_spec(library) is None:
        remedy = "run: pip install 'tlxgen[review]'"
        raise ToolchainError(f"{library} is not installed, which {what} need", remedy=remedy)
