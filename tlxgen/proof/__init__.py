"""Records of verification in locks: the code, the simulator, the runs, and the findings."""

from .fingerprint import Simulator, simulator_of
from .record import SECTION, Finding, Record, State, Want, read, state_of

__all__ = ["SECTION", "Finding", "Record", "Simulator", "State", "Want", "read", "simulator_of", "state_of"]
