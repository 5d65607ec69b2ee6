"""The mutators: libcst visitors, each with one kind of fault. A mutator sees one kernel function at a time."""

from .base import Mutator
from .conditions import Completions, Conditions, Masks, Multicasts, Remotes
from .counts import ArriveCounts, ExpectedBytes, Pendings, Slots, Threads
from .numbers import Assignments, Bounds, Counters, Initialisations, Offsets, Operands
from .places import Aliases, Counts, Indices, NamedIds, Phases
from .statements import Drops, Duplicates, Later, Sooner

MUTATORS: tuple[type[Mutator], ...] = (
    Drops,
    Duplicates,
    Sooner,
    Later,
    ArriveCounts,
    Pendings,
    ExpectedBytes,
    Threads,
    Slots,
    Phases,
    Indices,
    Counts,
    NamedIds,
    Aliases,
    Operands,
    Conditions,
    Masks,
    Remotes,
    Multicasts,
    Completions,
    Bounds,
    Offsets,
    Assignments,
    Counters,
    Initialisations,
)

__all__ = ["MUTATORS", "Mutator"]
