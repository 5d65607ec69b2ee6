"""What was verified, as the lock records it: of which code, by which simulator, how, and what was found."""

from .fingerprint import Simulator, simulator_of
from .record import SECTION, Finding, Record, State, Want, read, state_of

__all__ = ["SECTION", "Finding", "Record", "Simulator", "State", "Want", "read", "simulator_of", "state_of"]
