"""Rings: multi-buffered tiles that tasks hand to each other, with their barriers and the position of a role in them.

This module imports only `arch` and sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from tlxgen.arch import DType

from .size import Size


@dataclass(frozen=True)
class Tile:
    """One operand of a ring's slot: `whole` elements of `dtype`, cut along `axis` into `groups` buffers.

    `of` names the tensor whose dtype the source uses for the tile, where several tensors use the same buffers. An
    `internal` tile belongs to no tensor, so the source spells its dtype. In a `padded` tile TMA leaves a gap of 8 bytes
    after each 8 bytes, so it takes twice its bytes of SMEM. In a `halved` tile of tensor memory, lanes 64 and up hold
    the right half of its 64 rows, as an MMA of two CTAs leaves them. A `view` is the preceding tile in another shape,
    and takes no space itself. A `copied` tile comes by the filler's own cp.async copies, where TMA brings the others.
    A tile that is the `tail` of another holds the columns that follow those of the other. Where the number of groups
    depends on a constant of the kernel, `unit` is the extent of each.
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
    tail: str = ""
    unit: int = 0
    copied: bool = field(default=False, repr=False)  # plans without it keep their digest

    @property
    def tensor(self) -> str:
        return self.of or self.name

    @property
    def shape(self) -> tuple[Size, ...]:
        """The extents of one buffer, which are also those of the box of one TMA copy, in elements."""
        along = Size.literal(self.unit) if self.unit else self.whole[self.axis] // self.groups
        return tuple(along if i == self.axis else s for i, s in enumerate(self.whole))

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
        """Bytes of SMEM that all the groups in one slot take."""
        return 0 if self.view else self.bytes.value * (2 if self.padded else 1)

    @property
    def tmem_columns(self) -> int:
        """Columns of tensor memory that one buffer takes.

        A block of 128 x 4 MX scales takes 4 columns, since each quarter of the lanes has a copy of all its scales.
        """
        if self.dtype.name == "e8m0":
            return self.shape[0].value // 32 * (self.shape[1].value // 4)
        return self.shape[-1].value * self.dtype.bits // (64 if self.halved else 32)


@dataclass(frozen=True)
class Slice:
    """The part of an operand's columns that one buffer of a slot holds: a group of a tile, from column `begin` on."""

    tile: Tile
    group: int
    begin: int

    @property
    def extent(self) -> Size:
        return self.tile.shape[1]


@dataclass(frozen=True)
class Fill:
    """The role that fills a ring's slots, and by what instructions (`kind`).

    tma: TMA loads that complete on the full barrier; those of `ctas` CTAs complete on the barrier of the first, the
    leader. commit: MMAs, whose commit arrives on the full barrier; those of the leader fill the slots of `ctas` CTAs.
    store: the role's own stores. parts: each replica of the role stores a part of the slot, and all replicas read the
    whole. copy: tcgen05 copies from SMEM, which need no barrier, since the MMAs that read them are issued later by the
    same task. remote: in each of `ctas` CTAs the role stores one of a tile's groups into each CTA, and these stores
    complete on the full barrier. gather: likewise, but the role stores one tile into each CTA, where a slot has a
    buffer for the tile of every CTA. async: the role's own cp.async copies; the role waits for them and then publishes
    the slot if another role drains it. exchange: the role stores one of the two groups of the first tile itself, and
    the same role of the other of two CTAs sends the other group, whose bytes complete on the full barrier.
    """

    role: str
    kind: Literal["tma", "store", "parts", "commit", "copy", "remote", "gather", "exchange", "async"]
    ctas: int | Size = 1

    @property
    def cta_count(self) -> int:
        return self.ctas if isinstance(self.ctas, int) else self.ctas.value

    @property
    def means(self) -> str:
        """What fills it, in words for users."""
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
class Sharing:
    """The CTAs of a cluster that share a tile and load it in turns: `ctas` of them, whose ranks lie `stride` apart.

    Both are powers of two. `number` is the source's name for the number of a CTA among them.
    """

    ctas: int
    stride: int = 1
    number: str = "cta"

    @property
    def others(self) -> tuple[int, ...]:
        """What a CTA's rank is combined with, by exclusive or, for the rank of each other CTA."""
        return tuple(i * self.stride for i in range(1, self.ctas))


@dataclass(frozen=True)
class Drain:
    """The role that releases a slot, with `arrivals` a use from each of `replicas` replicas in each of `ctas` CTAs.

    `by` says what arrives. arrive: the task itself. commit: the tensor core, when the MMAs that read the slot are
    complete. once: nothing, since the slot is filled once. `at` says where: in each CTA, or in the first alone, the
    leader. Each CTA releases the slot to `others`, which are ranks as in `Sharing`: by default the first `ctas` of the
    cluster. `until` names the ring whose tile takes the slot's place before the release; the slot is released after
    that tile has left it.

    With `via`, no arrival is needed: the barriers of these rings, passed in this order once a use, lead from this role
    to the filler. (The tensor core executes the products of one thread in order, so a role that both reads the slot by
    MMAs and fills it by MMAs needs no `via` ring in between.) With `after`, its first name is the role that reads the
    slot, and the barriers of the rings named next lead from that reader to this role.
    """

    role: str
    replicas: int = 1
    ctas: int = 1
    arrivals: int = 1
    until: str = ""
    by: Literal["arrive", "commit", "once"] = "arrive"
    at: Literal["each", "leader"] = "each"
    others: tuple[int, ...] = field(default=(), repr=False)  # plans without it keep their digest
    via: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.others and len(self.others) != self.ctas - 1:
            raise ValueError(f"{self.role} of {self.ctas} CTAs releases to {len(self.others)} others")

    @property
    def released_to(self) -> tuple[int, ...]:
        """The other CTAs that hear of a release, by the exclusive or of their ranks and the CTA's own."""
        return self.others or Sharing(self.ctas).others


@dataclass(frozen=True)
class Barrier:
    """A derived mbarrier array, one barrier a slot.

    `kind`: `tx` completes on bytes, `commit` on a commit of the tensor core, `leader` on one arrival a task, `warp` on
    one arrival a thread. `count` is the arrive count of the hardware, `arrivals` the number of calls of barrier_arrive
    in a phase, and `who` describes the arrivals for readers.
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
    `banks` is the number of copies of the ring, one for each replica that has its own.

    `alias` names the ring whose buffers it uses: buffer for buffer or, if `reshaped`, bank for bank as tiles of another
    shape or dtype. `budget` checks that this is safe. If `slotwise`, the tiles of the two rings take turns in each
    slot. If `behind`, its tiles use the columns of the slot that the preceding ring's tiles leave free. `over` names
    the one tile of the other ring whose place it takes; the two rings then share their barriers, and each use of a slot
    belongs to one ring or the other. `stores` is the number of TMA stores by which a buffer leaves.

    `rendezvous` is the number of CTAs that tell the first of them that their slot is full, before that CTA reads all
    their slots; a `relay` is the role that tells it. `parts` is the number of parts in which a slot is published, each
    on a barrier of its own. If `item`, a work item is one use of the ring; otherwise each step of an item is one.
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
        """The barrier arrays that the ring declares, in the order of the source."""
        if self.over:  # it uses the barriers of the ring whose slots it takes
            return ()
        return tuple(b for b in (self.full_barrier, self.empty_barrier, self.ready_barrier) if b)

    def tile(self, name: str) -> Tile:
        return next(t for t in self.tiles if t.name == name)

    def columns(self, name: str) -> tuple[Slice, ...]:
        """The buffers of a slot that hold the columns of an operand, in order: those of its tile and of the tail."""
        found: list[Slice] = []
        for tile in (t for t in self.tiles if name in (t.name, t.tail)):
            first, width = sum(c.extent.value for c in found), tile.shape[1].value
            groups = range(tile.groups if tile.axis == 1 else 1)
            found += [Slice(tile, group, first + group * width) for group in groups]
        return tuple(found)

    @property
    def told(self) -> tuple[Tile, ...]:
        """The tiles whose bytes complete on the full barrier."""
        return tuple(t for t in self.tiles if not t.copied)

    @property
    def copies(self) -> Size:
        """How many buffers a slot has for each tile, or for each group of a tile that is cut into groups."""
        return Size.literal(1) * (self.fill.ctas if self.fill.kind == "gather" else 1)

    @property
    def released_remotely(self) -> bool:
        """Whether a peer CTA of the cluster arrives on this ring's empty barriers."""
        return any(d.ctas > 1 for d in self.drains)

    @property
    def released_to(self) -> tuple[int, ...]:
        """The peer CTAs on whose empty barriers a CTA arrives, by the exclusive or of their ranks and its own."""
        return max((d.released_to for d in self.drains), key=len, default=())

    @property
    def released_at_leader(self) -> bool:
        """Whether slots are released on the empty barriers of the first CTA alone."""
        return any(d.at == "leader" for d in self.drains)

    @property
    def smem_bytes(self) -> int:
        return 0 if self.alias or self.space != "smem" else self.bank_bytes * self.banks

    @property
    def bank_bytes(self) -> int:
        """Bytes of all slots of one bank, even if the buffers are those of another ring."""
        return sum(t.smem_bytes for t in self.tiles) * self.slots.value * self.copies.value


@dataclass(frozen=True)
class Cursor:
    """The position of a role in a ring: its count of uses, and the slot and phase that follow, in the source's names.

    `counter` is the variable that counts uses, and `offset` is added to it. The names of the variables of slot and
    phase start with `prefix`. `bank` is the role's own bank, where each replica has one; it is a number if the source
    is unrolled over the replicas. If `once`, a CTA uses each slot once, so that uses are not counted and the phase
    is 0. If `slotted`, the source keeps the slot in a variable; otherwise each bank has one slot. `at` is an expression
    that replaces the slot's name.
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
        """The expression for the number of the use."""
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
        """An expression that computes the slot of the role's bank in place."""
        if self.ring.slots.text == "1":
            return str(self.bank) or "0"
        count = f"({self.counted})" if self.offset else self.counted
        slot = f"{count} % {self.ring.slots}"
        return f"{self.bank} * {self.ring.slots} + {slot}" if self.bank else slot

    def of(self, bank: str | int, *, last: bool = False) -> Cursor:
        """The same slot of another bank. With `last`, the bank's offset is written behind the slot."""
        bare = replace(self, bank="", at="").slot
        if self.once or not self.slotted:
            return replace(self, bank=bank, at="")
        if isinstance(bank, str) and not last:
            return replace(self, at=f"{bank} * {self.ring.slots} + {bare}")
        apart = f"{self.ring.slots}" if bank == 1 else f"{bank} * {self.ring.slots}"
        return replace(self, at=f"{bare} + {apart}" if bank else bare)

    def own(self, bank: str) -> Cursor:
        """The position in the role's own bank; the macro `ring.position` adds the bank's offset to the slot."""
        return replace(self, bank=bank)

    def named(self, slot: str) -> Cursor:
        """The same position, where the source has another name for the slot."""
        return replace(self, at=slot)

    def later(self, uses: str | int, prefix: str | None = None) -> Cursor:
        """The position that many uses later, or earlier if negative."""
        text = f" - {-uses}" if isinstance(uses, int) and uses < 0 else f" + {uses}"
        return replace(self, offset=text if uses else "", prefix=self.prefix if prefix is None else prefix)

    @property
    def first(self) -> Cursor:
        """The position of the first use of all."""
        return replace(self, once=True, bank=self.bank or 0)

    def use(self, n: int) -> Cursor:
        """The slot of use `n`, counted from 0, for a role whose uses of the ring are all unrolled."""
        slots = self.ring.slots
        if slots.value == 1:
            return replace(self, at=str(self.bank) or "0")
        apart = f" + {n % slots.value}" if n % slots.value else ""
        return replace(self, at=f"{self.bank} * {slots}{apart}" if self.bank else str(n % slots.value))

    def part(self, i: str | int) -> Cursor:
        """The position of the barrier of part `i`, where a slot is published in parts."""
        parts = self.ring.parts
        if parts == 1:
            return self
        if isinstance(self.bank, int) and isinstance(i, int):
            return replace(self, at=str(self.bank * parts + i))
        return replace(self, at=f"{self.bank} * {parts} + {i}" if self.bank else str(i))

    def buffers(self, name: str) -> tuple[str, ...]:
        """The buffers of this slot that hold the columns of an operand, in order."""
        return tuple(f"{c.tile.name}_tiles[{self.index(c.tile, c.group)}]" for c in self.ring.columns(name))

    def index(self, tile: Tile, group: str | int = 0) -> str:
        """The index of the buffer that holds a group of a tile in this slot or, in a gather, the tile of a CTA."""
        buffers = self.ring.copies * tile.groups
        if buffers.text == "1":
            return self.slot
        if self.slot == "0":
            return str(group)
        return f"{self.slot} * {buffers}" + (f" + {group}" if str(group) != "0" else "")
