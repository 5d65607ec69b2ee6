"""Runs code that may hang, crash, eat memory or flood its output, in a child process that none of that gets out of.

`Child` is the parent's side, `serve` (in tlxgen.bounded.serve) the child's. Requests and messages are JSON lines.
"""

from .child import LOG_FILE, Answer, Child, Frame
from .cpus import cpus
from .many import run_all, run_each
from .nursery import Nursery, end_kept, kept

__all__ = ["LOG_FILE", "Answer", "Child", "Frame", "Nursery", "cpus", "end_kept", "kept", "run_all", "run_each"]
