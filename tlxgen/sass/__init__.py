"""Machine code as nvdisasm prints it, and a rule on it. Knows nothing of specs, plans or Triton."""

from .code import Code, Instruction, parse
from .flow import FlowError, successors
from .release import Early, Releases, check, told

__all__ = ["Code", "Early", "FlowError", "Instruction", "Releases", "check", "parse", "successors", "told"]
