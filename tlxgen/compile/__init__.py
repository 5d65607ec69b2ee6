"""Generated source to cubin, with no GPU: resources, digests, and the toolchain that makes them.

Knows TLX source, not specs. Triton is imported in child processes only.
"""

from .batch import compile_all
from .environments import TOOLCHAINS, Toolchain, named
from .job import Argument, Job, Outcome, Resources
from .toolchain import Tools, check_torch, check_triton, fingerprint, tools

__all__ = [
    "Argument",
    "TOOLCHAINS",
    "Job",
    "Outcome",
    "Resources",
    "Toolchain",
    "Tools",
    "check_torch",
    "check_triton",
    "compile_all",
    "fingerprint",
    "named",
    "tools",
]
