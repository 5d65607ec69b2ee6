"""Generated source to cubin, with no GPU: resources, digests, and the toolchain that makes them.

Knows TLX source, not specs. Triton is imported in child processes only.
"""

from .job import Argument, Job, Outcome, Resources
from .pool import compile_all
from .toolchain import Tools, check_torch, check_triton, fingerprint, tools

__all__ = [
    "Argument",
    "Job",
    "Outcome",
    "Resources",
    "Tools",
    "check_torch",
    "check_triton",
    "compile_all",
    "fingerprint",
    "tools",
]
