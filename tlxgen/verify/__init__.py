"""Jobs of `tlxgen verify`, each run in a bounded child process: generated modules, declared cases, host functions."""

from .job import CaseJob, FunctionJob, Job, Limits, Result, StructureJob
from .pool import verify_all
from .targets import is_hand_written, jobs_of

__all__ = [
    "CaseJob",
    "FunctionJob",
    "Job",
    "Limits",
    "Result",
    "StructureJob",
    "is_hand_written",
    "jobs_of",
    "verify_all",
]
