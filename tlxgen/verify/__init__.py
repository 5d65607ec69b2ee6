"""Jobs of `tlxgen verify`, each run in a bounded child process: generated modules, declared cases, host functions."""

from .parallel import verify_all
from .targets import is_hand_written, jobs_of
from .verification import SCHEDULES, Arch, CaseJob, FunctionJob, Job, Limits, Result, Run, Schedule, StructureJob, Way

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
