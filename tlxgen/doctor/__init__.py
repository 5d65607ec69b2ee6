"""What of tlxgen works on this machine, and what mends the rest: `tlxgen doctor`."""

from .checks import CHECKS, Check, State, examine
from .needs import NEEDS, lacking

__all__ = ["CHECKS", "NEEDS", "Check", "State", "examine", "lacking"]
