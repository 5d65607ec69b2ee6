"""Jobs of `tlxgen verify`, each run in a bounded child process: generated modules, declared cases, host functions."""

from .job import SCHEDULES, Arch, CaseJob, FunctionJob, Job, Limits, Result, Run, Schedule, StructureJob, Way
from .pool import verify_all
from .targets import is_hand_written, jobs_of

__all__ = [
    "SCHEDULES",
    "Arch",
    "CaseJob",
    "FunctionJob",
    "Job",
    "Limits",
    "Result",
    "Run",
    "Schedule",
    "StructureJob",
    "Way",
    "is_hand_written",
    "jobs_of",
    "verify_all",
]
