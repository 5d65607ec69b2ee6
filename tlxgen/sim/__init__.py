"""Executes TLX source on the CPU and finds what is wrong with it. Knows kernels, not specs.

`verify` runs a program (host code that launches kernels) on several schedules; `verify_case` a generated module.
What it does not see: layouts, registers, compiler faults, weak memory, and hazards between the warps of one task.
"""

from .engine import SCHEDULES, Schedule
from .findings import CATALOGUE, Finding, Findings, NoSuchConfig, Place, UnsupportedOp
from .launch import DEVICE, SMS, Session, load_module
from .machine import Limits
from .verify import RUNS, Report, Run, Seen, verify, verify_case

__all__ = [
    "CATALOGUE",
    "DEVICE",
    "Finding",
    "Findings",
    "Limits",
    "NoSuchConfig",
    "Place",
    "Report",
    "Run",
    "RUNS",
    "SCHEDULES",
    "SMS",
    "Schedule",
    "Seen",
    "Session",
    "UnsupportedOp",
    "load_module",
    "verify",
    "verify_case",
]
