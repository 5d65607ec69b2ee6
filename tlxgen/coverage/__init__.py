"""Coverage of kernels' runs. The simulator counts it, and `verify` reports it. It imports nothing of tlxgen.

`seen` has the counters, `gaps` finds what has not been exercised, and `summary` is the short form of both.
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
