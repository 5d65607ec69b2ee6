"""A program that can be run repeatedly, on any schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from .change import Change
from .engine import Chooser
from .findings import KernelFault, Key
from .launch import SMS, Director, Session
from .machine import Limits
from .script import Logged
from .watch import Watch

_OF_THE_KERNEL = (TypeError, ValueError, NameError, AttributeError, RuntimeError, IndexError, KeyError)


def out_of_memory(error: BaseException) -> bool:
    """Whether an exception says that memory is exhausted. torch has no class of its own for it on the CPU."""
    if isinstance(error, RuntimeError):
        return "DefaultCPUAllocator" in str(error)
    return isinstance(error, MemoryError)


@dataclass(frozen=True)
class Case:
    """Host code, which launches kernels and may add findings, and the simulated machine that it runs on."""

    program: Callable[[Session], None]
    sms: int = SMS
    config: int = 0
    limits: Limits = field(default_factory=Limits)
    arch: str = "sm90"
    races: bool = True
    change: Change | None = None  # applied to the kernel

    def run(self, director: Director, seed: int, until: Key | Literal["error"] | None = None) -> Session:
        """Runs the program once, up to the finding `until` or the first error. Raises UnsupportedOp. Other exceptions
        of the program are findings."""
        session = Session(
            seed=seed,
            sms=self.sms,
            config=self.config,
            limits=self.limits,
            arch=self.arch,
            director=director,
            until=until,
            races=self.races,
            change=self.change,
        )
        with session.active():
            try:
                self.program(session)
            except KernelFault as fault:
                session.findings.add("kernel-error", str(fault), session.places_of(fault))
            except _OF_THE_KERNEL as error:
                if out_of_memory(error):
                    raise MemoryError(str(error)) from None
                text = f"{type(error).__name__}: {error}"
                session.findings.add("kernel-error", text, session.places_of(error))
        return session


@dataclass
class Recorded:
    """A director that records the decisions of each launch, and makes a watch if a function for it is given."""

    director: Director
    watcher: Callable[[], Watch] | None = None
    logs: list[list[str]] = field(default_factory=list)

    def chooser(self, launch: int) -> Chooser:
        self.logs.append([])
        return Logged(self.director.chooser(launch), self.logs[-1])

    def watch(self, launch: int) -> Watch | None:
        return self.watcher() if self.watcher else self.director.watch(launch)
