"""Where the work items of a CTA come from, and the words in global memory by which CTAs hand something on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .size import Size

Kind = Literal["grid", "persistent", "clc", "dynamic", "grouped"]
Tail = Literal["whole", "split", "helped", "grouped", "grouped_split"]


@dataclass(frozen=True)
class Work:
    """A work list: it yields the same items to every role of a CTA.

    `kind` names its part in `templates/lib/work/`. grid: one item a CTA. persistent: every so many-th item. clc:
    cluster launch control hands items out while the kernel runs. dynamic: a counter in global memory does. grouped:
    items of all groups together, whose sizes only the device knows; their `numbers` come from one of the others. `tail`
    names the part that says what becomes of the tiles of the last wave: left whole, or cut along K, in parts for all
    CTAs or for those that have none; grouped tiles are left whole, or those of groups with a long K are cut. `cluster`
    CTAs take an item together; of the role that multiplies, `replicas` take items in turns. `asks` is the guard of a
    task that asks for items, `consumers` the number of tasks that read each answer: both for clc alone, and the latter
    is set by `plan.complete`. `groups`: of grouped items, what the search for an
    item's group is told: the groups' sizes, their number, the extent that they share, and what an item takes of it.
    `alike`: every group has as many items, so that the host knows how many there are. `parted`: an item is a part of a
    tile along the extent that groups share, and an empty group has items, too.
    `blocks`: what belongs to a group in whole blocks of so many rows, as MX scales do, is found by how many of them lie
    before it.
    """

    kind: Kind = "grid"
    tail: Tail = "whole"
    cluster: int | Size = 1
    replicas: int = 1
    asks: str | None = None
    consumers: Size = Size("0", 0)
    groups: tuple[str, ...] = ()
    numbers: Kind = "persistent"
    alike: bool = False
    parted: bool = False
    blocks: int = 0

    @property
    def name(self) -> str:
        """For people: the kind, and of grouped items where their numbers come from, unless that is every so many-th."""
        return f"{self.kind}, {self.numbers}" if self.numbers != "persistent" else self.kind

    @property
    def counter(self) -> str:
        """The kernel's argument by which CTAs draw items, a word that is zero when a kernel starts; empty without."""
        return "counter_ptr" if "dynamic" in (self.kind, self.numbers) else ""

    @property
    def single(self) -> bool:
        """Whether a CTA has one item: what is used once an item is then used once."""
        return self.kind == "grid"

    @property
    def together(self) -> str:
        """What divides the number of a CTA by those that take an item together."""
        return f" // {self.cluster}" if str(self.cluster) != "1" else ""

    @property
    def clc(self) -> bool:
        return "clc" in (self.kind, self.numbers)


@dataclass(frozen=True)
class Signal:
    """Words in global memory by which the tasks of one CTA tell those of others that what they have stored is there.

    `by` signals and `to` waits: names of roles. `pointer` is the kernel's argument; a word belongs to a tile, or, if
    `words` is more than 1, to each replica of `by` that has rows of it. It is complete after `expected` arrivals, in
    the source's terms. A word must be zero when a kernel starts: the only waiter takes the arrival away, or the last of
    `waiters` waiters, which count themselves in the bits from `count_limit` on, resets it. Where `last`, nobody waits:
    who arrives last goes on with what all have stored, and resets the word.
    """

    name: str
    pointer: str
    by: str
    to: str
    expected: str = "1"
    words: int = 1
    waiters: str = "1"
    scope: Literal["gpu"] = "gpu"
    count_limit: int = 256
    last: bool = False

    @property
    def counted(self) -> bool:
        """Whether it is a count, not a mark that one task leaves for one other."""
        return self.expected != "1" or self.waiters != "1"

    @property
    def means(self) -> str:
        """Who waits for how many of whom, and who resets it."""
        arrivals = f"{self.expected} arrivals" if self.counted else "1 arrival"
        if self.last:
            return f"{arrivals} of {self.by}, of which the last goes on, and resets it"
        reset = f"the last of {self.waiters} waiters" if self.counted else "its waiter"
        return f"{arrivals} of {self.by}, waited for by {self.to}, reset by {reset}"
