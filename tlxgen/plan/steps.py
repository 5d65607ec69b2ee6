"""The steps of a task, in order, as data: the synchronisation in its source, and in words what it computes between."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast, get_args

Kind = Literal[
    "acquire",  # waits until a slot of a ring is free
    "expect",  # says how many bytes will complete on a slot
    "load",  # issues the TMA load of a tile
    "load_wait",  # waits for asynchronous copies of its own
    "wait",  # waits until a slot is full
    "publish",  # says that a slot is full
    "release",  # says that a slot is free
    "rendezvous",  # tells the first CTA of a cluster that a slot is full, which waits for all
    "send",  # stores into the CTAs of the cluster
    "copy",  # copies to tensor memory
    "multiply",  # issues a product, by its result
    "wgmma_wait",  # waits for a product
    "fence",  # orders ordinary stores and loads with those of the TMA engine and the tensor core
    "store",  # issues the TMA store of a tensor
    "store_wait",  # waits until TMA stores have left their buffers
    "take",  # waits for its turn
    "hand",  # hands the turn on
    "meet",  # waits for the other replicas
    "signal",  # tells other CTAs by a word in global memory
    "await",  # waits for such a word
    "ask",  # asks for a work item
    "next",  # reads which work item is next
    "reset",  # leaves the counter of work items as the next launch needs it
    "start",  # waits for the kernel before in the stream
    "prefetch",  # asks L2 for an operand
    "do",  # computes: in words, and not compared with the source
]


@dataclass(frozen=True)
class Step:
    """One step of a task: `on` names a ring, a tile, a product, a turn or a signal.

    `under_way` is the number of later products or stores that may still be in flight when the step ends. `when` is the
    guard under which the step is executed, or `not` and the guard.
    """

    kind: Kind
    on: str = ""
    under_way: str = ""
    when: str = ""

    def __str__(self) -> str:
        words = self.on if self.kind == "do" else f"{self.kind} {self.on}".strip()
        under_way = f" ({self.under_way} under way)" if self.under_way not in ("", "0") else ""
        return words + under_way + (f" if {self.when}" if self.when else "")


def steps(*texts: str, when: str = "") -> tuple[Step, ...]:
    """Parses steps: "acquire ab", "wgmma_wait acc 1", "store_wait C_STAGES - 1"; ": words" describes a computation.

    An empty text gives no step. Raises ValueError for a text that does not start with a kind of step.
    """
    return tuple(_step(text, when) for text in texts if text)


def _step(text: str, when: str) -> Step:
    kind, _, rest = text.partition(" ")
    if kind == ":":
        return Step("do", rest, when=when)
    if kind not in get_args(Kind):
        raise ValueError(f"{text!r} begins with no kind of step")
    if kind == "store_wait":
        return Step("store_wait", under_way=rest or "0", when=when)
    on, _, under_way = rest.partition(" ")
    return Step(cast(Kind, kind), on, (under_way or "0") if kind == "wgmma_wait" else "", when)


def merged(found: Iterable[Step]) -> tuple[Step, ...]:
    """The steps without repetitions of the preceding one, as the loads of a tile's groups or of each replica are."""
    return tuple(step for step, _ in itertools.groupby(found))


def compared(declared: Iterable[Step], constants: Mapping[str, int | bool]) -> tuple[Step, ...]:
    """The declared steps that should be in the source, where `constants` are the baked guards and parameters."""
    there = (s for s in declared if s.kind != "do" and _there(s.when, constants))
    return merged(replace(s, when="", under_way=_folded(s.under_way, constants)) for s in there)


def _there(when: str, constants: Mapping[str, int | bool]) -> bool:
    guard = when.removeprefix("not ")
    return guard not in constants or bool(constants[guard]) == (guard == when)


def _folded(text: str, constants: Mapping[str, int | bool]) -> str:
    """Folds "N - 1" to a number if N is a constant of the source."""
    name, minus, one = text.partition(" - ")
    return str(constants[name] - int(one)) if minus and name in constants else text
