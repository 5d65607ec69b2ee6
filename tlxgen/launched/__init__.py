"""Compiles hand-written kernels as their own host code launches them: `tlxgen compile` without a plan.

A child process runs the host code with the simulator's tensors, records each launch instead of executing it, and
compiles what is distinct among them.
"""

from .batch import compile_launched
from .kernels import Compiled, Kernel, Recording, units

__all__ = ["Compiled", "Kernel", "Recording", "compile_launched", "units"]
