"""Rings: multi-buffered tiles on their way between tasks, their barriers, and where a role is in one.

Imports only `arch` and sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tlxgen.arch import DType

from .size import Size


@dataclass(frozen=True)
class Tile:
    """One operand of a ring's slot: `whole` elements of `dtype`, cut along `axis` into `groups` buffers.

    `of` is the tensor whose type the source gives it where several tensors pass through the same buffers; a tile that
    is `internal` is of no tensor, and the source names its type. `padded`: TMA leaves a gap after each 8 bytes, so that
    it takes twice its bytes of SMEM. `halved`: in tensor memory, lanes 64 and up hold the right half of its 64 rows, as
    an MMA of two CTAs leaves them. A `view` is the tile before it by another shape, and takes nothing itself.
    """

    name: str
    whole: tuple[Size, ...]
    dtype: DType
    groups: int = 1
    axis: int = 0
    of: str = ""
    padded: bool = False
    internal: bool = False
    halved: bool = False
    view: bool = False

    @property
    def tensor(self) -> str:
        return self.of or self.name

    @property
    def shape(self) -> tuple[Size, ...]:
        """The extents of one buffer, which is also the box of one TMA copy."""
        return tuple(s // self.groups if i == self.axis else s for i, s in enumerate(self.whole))

    @property
    def bytes(self) -> Size:
        """Bytes of all the groups in one slot."""
        return self._bytes(self.whole)

    @property
    def group_bytes(self) -> Size:
        """Bytes of one buffer."""
        return self._bytes(self.shape)

    def _bytes(self, extents: tuple[Size, ...]) -> Size:
        result = extents[0]
        for extent in extents[1:]:
            result = result * extent
        return result * self.dtype.bytes

    @property
    def smem_bytes(self) -> int:
        """What all the groups in one slot take of SMEM."""
        return 0 if self.view else self.bytes.value * (2 if self.padded else 1)

    @property
    def tmem_columns(self) -> int:
        """Columns of tensor memory that one buffer takes. Blocks of 128 x 4 MX scales take 4, each quarter of the lanes
        has all of them."""
        if self.dtype.name == "e8m0":
            return self.shape[0].value // 32 * (self.shape[1].value // 4)
        return self.shape[-1].value * self.dtype.bits // (64 if self.halved else 32)


@dataclass(frozen=True)
class Fill:
    """Who fills a ring's slots: a role, by TMA loads or MMAs that complete on the full barrier, by its own stores, or
    by tcgen05 copies from SMEM, which are in order with the MMAs of the same task that read them and need no barrier.

    `ctas`: the loads of so many CTAs complete on the full barrier of the first of them, the leader; the MMAs of the
    leader fill the slots of so many; so many store, each its own slot, and tell the leader. `remote`: the role
    fills, in each of `ctas` CTAs, one of a tile's groups in each of them, by stores that complete on the full barrier.
    `gather`: likewise it stores one tile to each of them, where a slot has a buffer for the tile of every CTA.
    `exchange`: of the two groups of the first tile it stores one itself, and the same role of the other of two CTAs
    sends the other one, whose bytes complete on the full barrier.
    `parts`: each replica of the role stores a part of the slot, and all of them read the whole. `async`: the role's own
    asynchronous copies (cp.async), for which it waits itself, and then publishes where another role drains.
    """

    role: str
    kind: Literal["tma", "store", "parts", "commit", "copy", "remote", "gather", "exchange", "async"]
    ctas: int | Size = 1

    @property
    def cta_count(self) -> int:
        return self.ctas if isinstance(self.ctas, int) else self.ctas.value

    @property
    def means(self) -> str:
        """What fills it, in a word."""
        return {
            "tma": "TMA",
            "store": "stores",
            "parts": "stores of each replica",
            "commit": "MMAs",
            "copy": "tcgen05 copies",
            "remote": "remote stores",
            "gather": "stores to each CTA",
            "exchange": "stores, and bytes of the other CTA",
            "async": "asynchronous copies",
        }[self.kind]


@dataclass(frozen=True)
class Drain:
    """Who releases a slot: `arrivals` a use by each of `replicas` replicas of a role in each of `ctas` CTAs.

    `until` names the ring whose tile takes the slot's place before the release, which comes when that tile has left.
    `by`: the task itself arrives, or the tensor core does when the MMAs that read the slot are complete, or nobody does
    where the slot is filled `once`. `at`: where;
    in each of the CTAs, or in the first of them alone, the leader. `via`: nobody arrives; the filler comes to know by
    the barriers of these rings, the first of which the drainer fills or drains and the last the filler itself: each is
    passed on only after the one before it, once a use. What the tensor core does for one thread is done in order, so
    that a role that both reads the slot and fills it by MMAs knows by itself. `after`: it is another role that reads
    the slot, named first, and by the barriers of the rings named next the one that releases it learns that it has.
    """

    role: str
    replicas: int = 1
    ctas: int = 1
    arrivals: int = 1
    until: str = ""
    by: Literal["arrive", "commit", "once"] = "arrive"
    at: Literal["each", "leader"] = "each"
    via: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Barrier:
    """A derived mbarrier array, one barrier a slot.

    `kind`: `tx` completes on bytes, `commit` when the tensor core is done, `leader` on one arrival a task, `warp` on
    one arrival a thread. `count` is what the hardware counts; `arrivals` is how often the source calls barrier_arrive
    on it in a phase; `who` is for people.
    """

    name: str
    kind: Literal["tx", "commit", "leader", "warp"]
    slots: Size
    count: int
    arrivals: int
    warps: int
    who: str
    bytes: Size | None = None


@dataclass(frozen=True)
class Ring:
    """A multi-buffered edge of the dataflow graph.

    `slots` uses are in flight; use n occupies slot n % slots with phase (n // slots) & 1. The filler waits on the empty
    barrier with the phase flipped (the first pass is free), the drainer on the full barrier with the phase itself.
    `banks` rings of the same kind lie side by side, one for each replica that has its own.
    `alias` names the ring whose buffers it uses, one for one, or, if `reshaped`, bank for bank, as tiles of another
    shape or type; `budget` says when that is safe. `rendezvous`: so many CTAs tell the first of them that their slot is
    full, before it reads the slots of all; a `relay` is the role that tells it. `parts`: a slot is published in so many
    parts, each on a barrier of its own.
    `slotwise`: slot by slot, either ring's tiles lie in a place, in turns. `over` names the one tile of the other ring
    whose place it takes: the two then also share their barriers, and each use of a slot is of one or the other.
    `behind`: in that place it lies behind the tiles of the ring before it, in columns that these leave free.
    `item`: a work item is one use of it, not a step of an item. `stores`: TMA stores by which a buffer leaves.
    """

    name: str
    tiles: tuple[Tile, ...]
    slots: Size
    fill: Fill
    drains: tuple[Drain, ...]
    empty: Literal["leader", "warp"] = "leader"
    banks: int = 1
    guard: str | None = None
    space: Literal["smem", "tmem"] = "smem"
    alias: str | None = None
    reshaped: bool = False
    rendezvous: int = 0
    relay: str = ""
    parts: int = 1
    slotwise: bool = False
    over: str = ""
    behind: bool = False
    item: bool = False
    stores: int = 1
    full_barrier: Barrier | None = None  # set by plan.barriers.derive
    empty_barrier: Barrier | None = None
    ready_barrier: Barrier | None = None

    @property
    def barriers(self) -> tuple[Barrier, ...]:
        """The barrier arrays that it declares, in the order of the source."""
        if self.over:  # those of the ring whose slots it uses
            return ()
        return tuple(b for b in (self.full_barrier, self.empty_barrier, self.ready_barrier) if b)

    def tile(self, name: str) -> Tile:
        return next(t for t in self.tiles if t.name == name)

    @property
    def copies(self) -> Size:
        """How many buffers a slot has for each of its tiles, or for each group of one."""
        return Size.literal(1) * (self.fill.ctas if self.fill.kind == "gather" else 1)

    @property
    def released_remotely(self) -> bool:
        """Whether a peer CTA of the cluster arrives on this ring's empty barriers."""
        return any(d.ctas > 1 for d in self.drains)

    @property
    def released_at_leader(self) -> bool:
        """Whether it is in the first CTA alone that slots are released."""
        return any(d.at == "leader" for d in self.drains)

    @property
    def smem_bytes(self) -> int:
        return 0 if self.alias or self.space != "smem" else self.bank_bytes * self.banks

    @property
    def bank_bytes(self) -> int:
        """Bytes of all slots of one bank, whoever owns them."""
        return sum(t.smem_bytes for t in self.tiles) * self.slots.value * self.copies.value


@dataclass(frozen=True)
class Cursor:
    """Where a role is in a ring: its count of uses, and slot and phase that follow, in the source's names.

    `counter` is the variable that counts uses, `offset` what is added to it. `prefix` begins the names of the variables
    of slot and phase. `bank` is the role's own, where each replica has one; a number where the source is written
    once for each. `once`: a CTA uses each slot once, so that nothing is counted and the phase is 0. `slotted`: the
    source keeps the slot in a variable; else there is one slot a bank. `at` is a slot that has another name.
    """

    ring: Ring
    counter: str
    prefix: str = ""
    bank: str | int = ""
    offset: str = ""
    once: bool = False
    slotted: bool = True
    at: str = ""

    def variable(self, name: str) -> str:
        return f"{self.prefix}_{name}" if self.prefix else name

    @property
    def counted(self) -> str:
        """The number of the use."""
        return f"{self.counter}{self.offset}"

    @property
    def slot(self) -> str:
        if self.at:
            return self.at
        if self.once or not self.slotted:
            return str(self.bank) or "0"
        return self.variable("slot")

    @property
    def phase(self) -> str:
        return "0" if self.once else self.variable("phase")

    @property
    def computed(self) -> str:
        """The slot of the role's bank, computed where it stands."""
        if self.ring.slots.text == "1":
            return str(self.bank) or "0"
        count = f"({self.counted})" if self.offset else self.counted
        slot = f"{count} % {self.ring.slots}"
        return f"{self.bank} * {self.ring.slots} + {slot}" if self.bank else slot

    def of(self, bank: str | int, *, last: bool = False) -> Cursor:
        """The same slot of another bank, whose place the source adds `last` if it is written so."""
        bare = replace(self, bank="", at="").slot
        if self.once or not self.slotted:
            return replace(self, bank=bank, at="")
        if isinstance(bank, str) and not last:
            return replace(self, at=f"{bank} * {self.ring.slots} + {bare}")
        apart = f"{self.ring.slots}" if bank == 1 else f"{bank} * {self.ring.slots}"
        return replace(self, at=f"{bare} + {apart}" if bank else bare)

    def own(self, bank: str) -> Cursor:
        """Of the role's own bank: `ring.position` moves the slot there."""
        return replace(self, bank=bank)

    def named(self, slot: str) -> Cursor:
        """Where the source has another name for the slot."""
        return replace(self, at=slot)

    def later(self, uses: str | int, prefix: str | None = None) -> Cursor:
        """So many uses later, or earlier if negative."""
        text = f" - {-uses}" if isinstance(uses, int) and uses < 0 else f" + {uses}"
        return replace(self, offset=text if uses else "", prefix=self.prefix if prefix is None else prefix)

    @property
    def first(self) -> Cursor:
        """At the first use of all."""
        return replace(self, once=True, bank=self.bank or 0)

    def use(self, n: int) -> Cursor:
        """At the n-th use of all, from 0 on, of a role that is nowhere else in the ring."""
        slots = self.ring.slots
        if slots.value == 1:
            return replace(self, at=str(self.bank) or "0")
        apart = f" + {n % slots.value}" if n % slots.value else ""
        return replace(self, at=f"{self.bank} * {slots}{apart}" if self.bank else str(n % slots.value))

    def part(self, i: str | int) -> Cursor:
        """The barrier of one of the parts in which a slot is published."""
        parts = self.ring.parts
        if parts == 1:
            return self
        if isinstance(self.bank, int) and isinstance(i, int):
            return replace(self, at=str(self.bank * parts + i))
        return replace(self, at=f"{self.bank} * {parts} + {i}" if self.bank else str(i))

    def index(self, tile: Tile, group: str | int = 0) -> str:
        """Which of a tile's buffers has a group of this slot, or, of a gather, the tile of a CTA."""
        buffers = self.ring.copies * tile.groups
        if buffers.text == "1":
            return self.slot
        if self.slot == "0":
            return str(group)
        return f"{self.slot} * {buffers}" + (f" + {group}" if str(group) != "0" else "")
