"""What runs of kernels have exercised: gathered by the simulator, told by `verify`. LEAF: imports nothing of tlxgen.

`seen` is what is counted while kernels run, `gaps` what has not been seen by then, `summary` the short form of both.
"""

from .gaps import Gap, Waiver, points, summary_of, waived
from .record import to_json
from .seen import Branch, Coverage, Fixed, Function, Guard, Kernel, Loop, Outline, Predicate, Statement, Uses
from .summary import Summary

__all__ = [
    "Branch",
    "Coverage",
    "Fixed",
    "Function",
    "Gap",
    "Guard",
    "Kernel",
    "Loop",
    "Outline",
    "Predicate",
    "Statement",
    "Summary",
    "Uses",
    "Waiver",
    "points",
    "summary_of",
    "to_json",
    "waived",
]
