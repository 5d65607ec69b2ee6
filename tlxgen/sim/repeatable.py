"""A program that can be run again, on any schedule."""

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
    """Whether an exception says that there is no more memory; torch has none of its own for that."""
    if isinstance(error, RuntimeError):
        return "DefaultCPUAllocator" in str(error)
    return isinstance(error, MemoryError)


@dataclass(frozen=True)
class Case:
    """Host code that launches kernels and may add findings of its own, and what it runs on."""

    program: Callable[[Session], None]
    sms: int = SMS
    config: int = 0
    limits: Limits = field(default_factory=Limits)
    arch: str = "sm90"
    races: bool = True
    change: Change | None = None  # that is made to the kernel

    def run(self, director: Director, seed: int, until: Key | Literal["error"] | None = None) -> Session:
        """One run, ended by the finding `until`, or by the first error. Raises UnsupportedOp; other exceptions of the
        program are findings."""
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
    """A director, with the decisions of each launch, and a watch of one's own if one gives a function for it."""

    director: Director
    watcher: Callable[[], Watch] | None = None
    logs: list[list[str]] = field(default_factory=list)

    def chooser(self, launch: int) -> Chooser:
        self.logs.append([])
        return Logged(self.director.chooser(launch), self.logs[-1])

    def watch(self, launch: int) -> Watch | None:
        return self.watcher() if self.watcher else self.director.watch(launch)
