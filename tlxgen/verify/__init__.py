"""Jobs of `tlxgen verify`: generated modules, declared cases and host functions, each in a bounded child process."""

from .parallel import skeleton, verify_all
from .targets import cases_in, is_function, is_hand_written, jobs_of, must_exist, split
from .verification import (
    CHANCE,
    SCHEDULES,
    Arch,
    Case,
    CaseJob,
    FunctionJob,
    Job,
    Limits,
    Result,
    Run,
    Schedule,
    StructureJob,
    Way,
)

__all__ = [
    "CHANCE",
    "SCHEDULES",
    "Arch",
    "Case",
    "CaseJob",
    "FunctionJob",
    "Job",
    "Limits",
    "Result",
    "Run",
    "Schedule",
    "StructureJob",
    "Way",
    "cases_in",
    "is_function",
    "is_hand_written",
    "jobs_of",
    "must_exist",
    "skeleton",
    "split",
    "verify_all",
]
