"""The simulator's findings, which have stable ids, and the exceptions that end a run.

This module imports no other module of the simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

from tlxgen.errors import Location, TlxgenError

Severity = Literal["error", "warning"]


class Place(NamedTuple):
    """A line of kernel source. It is a tuple for speed, since every operation makes one and looks it up."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{Path(self.path).name}:{self.line}"


Key = tuple[str, tuple[Place, ...]]  # findings with the same id and places are one finding


# id -> (severity, remedy). The ids are part of the interface: they appear in JSON and in users' test suites.
CATALOGUE: dict[str, tuple[Severity, str]] = {
    "deadlock": ("error", "make whoever should arrive do so, as often as the barrier counts, before it waits itself"),
    "race-read-write": ("error", "order the two: the reader must wait on a barrier that the writer completes"),
    "race-write-write": ("error", "order the two writes, or give each a buffer of its own"),
    "async-lifetime": (
        "error",
        "wait for the asynchronous operation before its operand is overwritten or its result used",
    ),
    "parity-overrun": (
        "error",
        "a barrier may run one phase ahead of its waiters, not two: bound it by another barrier",
    ),
    "over-arrival": ("error", "the barrier's count is smaller than what arrives on it"),
    "tx-mismatch": ("error", "expect exactly the bytes of all the loads that complete on the barrier"),
    "out-of-bounds": ("error", "keep slots, addresses and allocations inside what was allocated"),
    "misaligned": ("error", "begin a TMA load at a multiple of 16 bytes of a row: else a GPU stops at it"),
    "uninitialised": ("warning", "write the buffer before it is read"),
    "pending-at-exit": ("error", "wait for all asynchronous operations before the task ends"),
    "remote-before-start": ("error", "a cluster barrier comes between the start of a CTA and what its peers do to it"),
    "remote-to-exited-cta": ("error", "a CTA must stay until the last access of its peers: wait for their arrivals"),
    "before-grid-wait": ("error", "with launch_pdl, a gdc_wait comes before the first access to global memory"),
    "warp-hazard": ("error", "a named barrier of all threads of the task between the two accesses"),
    "global-race": ("error", "what a CTA writes, another may read in a later launch only"),
    "global-write-conflict": ("error", "each byte of an output belongs to one CTA"),
    "redundant-write": ("warning", "the same values from several CTAs: let one of them write"),
    "output-unwritten": ("error", "cover the whole output: check tiles, masks and what makes a task leave early"),
    "wrong-numbers": ("error", "the result differs from the reference"),
    "missing-fence": (
        "warning",
        'fence("async_shared") between what a task stores or loads itself and the TMA or MMA that comes after',
    ),
    "barrier-misuse": ("error", "waiters and arrivers of a barrier must agree on its kind and thread count"),
    "no-progress": (
        "error",
        "end the loop: no task is left to change what it polls for, or the run reached its limit of steps",
    ),
    "kernel-error": ("error", "the kernel's own Python raised: it would not compile either"),
}


@dataclass(frozen=True)
class Finding:
    """One fault. `places` are the lines of the operations involved, first that of the one at which it was noticed."""

    id: str
    message: str
    places: tuple[Place, ...]

    @property
    def key(self) -> Key:
        return self.id, self.places

    @property
    def severity(self) -> Severity:
        return CATALOGUE[self.id][0]

    @property
    def fix(self) -> str:
        return CATALOGUE[self.id][1]

    def __str__(self) -> str:
        where = ", ".join(map(str, self.places))
        return f"{self.severity} {self.id}: {self.message} [{where}]; {self.fix}"


class Findings:
    """Collects findings. `listener` is called with each new finding, and may end the run.

    `races` says whether accesses to shared memory are compared.
    """

    def __init__(self, listener: Callable[[Finding], None] | None = None, races: bool = True) -> None:
        self.races = races
        self._found: dict[Key, Finding] = {}
        self._listener = listener

    def add(self, id: str, message: str, places: Iterable[Place] = ()) -> None:
        """Records a finding. The run continues."""
        finding = Finding(id, message, tuple(places))
        if finding.key in self._found:
            return
        self._found[finding.key] = finding
        if self._listener is not None:
            self._listener(finding)

    def stop(self, id: str, message: str, places: Iterable[Place] = ()) -> NoReturn:
        """Records a finding after which the run's results are meaningless, and ends the run."""
        self.add(id, message, places)
        raise Stop

    def forget(self, count: int) -> None:
        """Drops all but the first `count` findings, because the launch that showed the others starts again."""
        self._found = dict(list(self._found.items())[:count])

    @property
    def all(self) -> list[Finding]:
        return list(self._found.values())


class Stop(Exception):
    """Ends a run. The reason is among its findings."""


class KernelFault(Exception):
    """A use of an operation that the compiler would refuse (shapes, types). It becomes a `kernel-error`."""


class UnsupportedOp(TlxgenError):
    """An operation that the simulator does not model. It is never skipped, since the run would then prove nothing."""

    def __init__(self, name: str, place: Place | None) -> None:
        where = Location(place.path, place.line, 1) if place else None
        super().__init__(f"the simulator does not support {name}", location=where)


class GridTooLarge(TlxgenError):
    """A launch of more CTAs than the simulator can hold."""

    def __init__(self, kernel: str, ctas: int, limit: int) -> None:
        text = f"{kernel} is launched on {ctas} CTAs; the simulator takes at most {limit}"
        super().__init__(text, remedy="a smaller problem has the same tiles and hand-offs")


class NoSuchConfig(TlxgenError):
    """The requested config does not exist: the kernel has fewer configs for the arguments of a launch."""

    def __init__(self, kernel: str, index: int, count: int) -> None:
        have = "1 config (0)" if count == 1 else f"{count} configs (0 to {count - 1})"
        why = f"{kernel} has {have} for these arguments" if count else f"{kernel} is not autotuned"
        super().__init__(f"no config {index}: {why}")
