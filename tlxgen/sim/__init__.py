"""Executes TLX source on the CPU and finds what is wrong with it. Knows kernels, not specs.

`verify` runs a program (host code that launches kernels) on several schedules; `verify_case` a generated module.
It does not model layouts, registers, compiler faults, weak memory, and most hazards between the warps of one task.
"""

from tlxgen.cudalike import DEVICE

from .delays import Delays
from .engine import SCHEDULES, Schedule
from .explore import Budget
from .findings import CATALOGUE, Finding, Findings, NoSuchConfig, Place, UnsupportedOp
from .launch import SMS, Session, load_module
from .machine import Limits
from .runs import RUNS, Report, Run, Seen, Way, verify, verify_case
from .script import ReplayError, Script
from .transform import Meter
from .verdict import BarrierFacts, Verdict, diagnose
from .witness import Witness, explain, sample, witness

__all__ = [
    "BarrierFacts",
    "Budget",
    "CATALOGUE",
    "DEVICE",
    "Delays",
    "Finding",
    "Findings",
    "Limits",
    "Meter",
    "NoSuchConfig",
    "Place",
    "ReplayError",
    "Report",
    "Run",
    "RUNS",
    "SCHEDULES",
    "SMS",
    "Schedule",
    "Script",
    "Seen",
    "Session",
    "UnsupportedOp",
    "Verdict",
    "Way",
    "Witness",
    "diagnose",
    "explain",
    "load_module",
    "sample",
    "verify",
    "verify_case",
    "witness",
]
