"""The number of CPUs, that is, of processes to run at a time. It imports nothing of tlxgen."""

from __future__ import annotations

import os


def cpus() -> int:
    """The CPUs that this process may use: in a container fewer than the machine has."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        return os.cpu_count() or 1
