"""Work lists, from which CTAs take their work items, and signals, by which CTAs synchronise through global memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .size import Size

Kind = Literal["grid", "persistent", "clc", "dynamic", "grouped"]
Tail = Literal["whole", "split", "helped", "grouped", "grouped_split"]


@dataclass(frozen=True)
class Work:
    """A work list: it yields the same items to every role of a CTA.

    `kind` names its part in `templates/lib/work/`. grid: one item a CTA. persistent: a CTA starts with the item of its
    own number and strides by the number of CTAs. clc: cluster launch control hands items out while the kernel runs.
    dynamic: CTAs draw items from a counter in global memory. grouped: items of all groups together, whose sizes only
    the device knows; `numbers` is the kind of list that item numbers come from.

    `tail` names the part that handles the tiles of the last wave. They are left whole, or cut along K into parts for
    all CTAs or for idle ones. Grouped tiles are left whole, or those of groups with a long K are cut. `cluster` CTAs
    take an item together, and `replicas` of the MMA role take items in turns. `asks` is the guard of the task that
    requests items, and `consumers` the number of tasks that read each response; both are for clc alone, and
    `plan.complete` sets the latter.

    The rest is for grouped items. `groups` are the arguments of the search for an item's group: the groups' sizes,
    their number, the extent that they share, and an item's share of it. If `alike`, every group has the same number of
    items, so that the host knows their total. If `parted`, an item is a part of a tile along the shared extent, and an
    empty group has items, too. `blocks` is the number of rows in a block of data, such as MX scales, of which each
    group has whole blocks; the position of a group's blocks is the number of blocks before it. `state` names what a
    task keeps from item to item: the group, the number of its first item, and its part of the shared extent.
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
    state: tuple[str, str, str, str] = ("group", "first", "begin", "end")

    @property
    def name(self) -> str:
        """The name for readers: the kind and, for grouped items, the kind of `numbers` if that is not persistent."""
        return f"{self.kind}, {self.numbers}" if self.numbers != "persistent" else self.kind

    @property
    def counter(self) -> str:
        """The kernel's argument for the counter from which CTAs draw items; empty without one.

        The counter must be zero when a kernel starts.
        """
        return "counter_ptr" if "dynamic" in (self.kind, self.numbers) else ""

    @property
    def told(self) -> dict[str, str]:
        """Of an item that is drawn, the tiles of the ring by which the other tasks learn of it, and what is in each.

        Of grouped items it is the number among those of the group, the group, and the group's part.
        """
        if self.kind != "grouped":
            return {"item": "index"}
        return {"item": "number"} | {name: name for name in self.state if name != self.state[1]}

    @property
    def single(self) -> bool:
        """Whether a CTA has one item, so that a ring that is used once an item is used once."""
        return self.kind == "grid"

    @property
    def together(self) -> str:
        """Source text that divides the number of a CTA by the number of CTAs that take an item together."""
        return f" // {self.cluster}" if str(self.cluster) != "1" else ""

    @property
    def clc(self) -> bool:
        return "clc" in (self.kind, self.numbers)


@dataclass(frozen=True)
class Signal:
    """Words in global memory (semaphores) by which a task tells tasks of other CTAs that its stores are visible.

    The role `by` signals, and the role `to` waits. `pointer` is the kernel's argument. There is one word a tile or, if
    `words` is more than 1, one for each replica of `by` that has rows of the tile. A word is complete after `expected`
    arrivals (an expression of the source).

    A word must be zero when a kernel starts, so the kernel resets it: the only waiter subtracts the arrival, or the
    last of `waiters` waiters resets the word. Waiters count themselves in the bits from `count_limit` on. If `last`, no
    role waits: the CTA that arrives last continues with what all have stored, and resets the word. If `all`, each CTA
    that arrives waits for all others, after its last arrival at any word, so that none waits for one that waits itself.
    It looks at the word `looks` times, and then leaves unless all have come: others may not have begun, for want of an
    SM. Who leaves is counted in the bits from `count_limit` on, before the last arrival, and who stays in the bits from
    its square on.

    Of a role that signals itself without a last one, CTAs take turns: each waits for the arrivals of all before it. The
    kernel before makes the words zero.
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
    all: bool = False
    looks: int = 128

    @property
    def counted(self) -> bool:
        """Whether it counts several arrivals or waiters; otherwise it is a flag from one task to one other."""
        return self.expected != "1" or self.waiters != "1"

    @property
    def turns(self) -> bool:
        """Whether CTAs take turns, in an order of their own."""
        return self.by == self.to and not self.last and not self.all

    @property
    def means(self) -> str:
        """A text for readers: how many arrivals of which role, which role waits, and what resets the word."""
        if self.turns:
            return f"an arrival of {self.by} for each turn, waited for by the next; made zero by the kernel before"
        arrivals = f"{self.expected} arrivals" if self.counted else "1 arrival"
        if self.last:
            return f"{arrivals} of {self.by}, of which the last goes on, and resets it"
        if self.all:
            return (
                f"{arrivals} of {self.by}, each of which waits for all or leaves; reset by the last of those that stay"
            )
        reset = f"the last of {self.waiters} waiters" if self.counted else "its waiter"
        return f"{arrivals} of {self.by}, waited for by {self.to}, reset by {reset}"
