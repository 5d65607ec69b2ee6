"""What a variant's kernel is: roles, rings, barriers and sizes, before any text is written.

A *ring* is a multi-buffered set of tiles; a *role* is a task that fills or drains rings. Nobody writes a barrier: the
full and the empty barrier of a ring follow from who fills and who drains it (`barriers.py`), and so do the budgets
(`budget.py`). LEAF of the plan: imports only `arch`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tlxgen.arch import Arch, DType

_SUM, _PRODUCT, _ATOM = range(3)


@dataclass(frozen=True)
class Size:
    """A non-negative integer that has both a value, for this variant, and a text, for the source of its structure.

    `Size.of("BLOCK_M", 128) // 2` has the value 64 and the text `BLOCK_M // 2`: the kernel is written in names, the
    budgets are computed in numbers, and the two cannot disagree.
    """

    text: str
    value: int
    rank: int = _ATOM

    @staticmethod
    def of(name: str, value: int) -> Size:
        return Size(name, value)

    @staticmethod
    def literal(value: int) -> Size:
        return Size(str(value), value)

    def _as(self, rank: int) -> str:
        return self.text if self.rank >= rank else f"({self.text})"

    def __mul__(self, other: Size | int) -> Size:
        other = other if isinstance(other, Size) else Size.literal(other)
        if other.text == "1":
            return self
        if self.text == "1":
            return other
        # a // 2 * b and a * (b // 2) are different numbers: a right operand that is itself a product keeps its bracket
        return Size(f"{self._as(_PRODUCT)} * {other._as(_ATOM)}", self.value * other.value, _PRODUCT)

    def __floordiv__(self, other: int) -> Size:
        if other == 1:
            return self
        return Size(f"{self._as(_PRODUCT)} // {other}", self.value // other, _PRODUCT)

    def __add__(self, other: Size | int) -> Size:
        other = other if isinstance(other, Size) else Size.literal(other)
        return Size(f"{self.text} + {other.text}", self.value + other.value, _SUM)

    def __str__(self) -> str:
        return self.text


def total(sizes: list[Size]) -> Size:
    """The sum of one or more sizes."""
    result = sizes[0]
    for size in sizes[1:]:
        result = result + size
    return result


@dataclass(frozen=True)
class Tile:
    """One operand of a ring's slot: `whole` elements of `dtype`, cut along `axis` into `groups` buffers.

    `of` is the tensor whose type the source gives it where several tensors pass through the same buffers; a tile that
    is `internal` is of no tensor, and the source names its type. `padded`: TMA leaves a gap after each 8 bytes, so that
    it takes twice its bytes of SMEM.
    """

    name: str
    whole: tuple[Size, ...]
    dtype: DType
    groups: int = 1
    axis: int = 0
    of: str = ""
    padded: bool = False
    internal: bool = False

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
        result = self.whole[0]
        for extent in self.whole[1:]:
            result = result * extent
        return result * self.dtype.bytes

    @property
    def smem_bytes(self) -> int:
        """What all the groups in one slot take of SMEM."""
        return self.bytes.value * (2 if self.padded else 1)

    @property
    def tmem_columns(self) -> int:
        """Columns of tensor memory that one buffer takes. Blocks of 128 x 4 MX scales take 4, each quarter of the lanes
        has all of them."""
        if self.dtype.name == "e8m0":
            return self.shape[0].value // 32 * (self.shape[1].value // 4)
        return self.shape[-1].value * self.dtype.bits // 32


@dataclass(frozen=True)
class Fill:
    """Who fills a ring's slots: a role, by TMA loads or MMAs that complete on the full barrier, by its own stores, or
    by tcgen05 copies from SMEM, which are in order with the MMAs of the same task that read them and need no barrier.

    `ctas`: the loads of so many CTAs complete on the full barrier of the first of them, the leader. `remote`: the role
    fills, in each of `ctas` CTAs, one of a tile's groups in each of them, by stores that complete on the full barrier.
    `parts`: each replica of the role stores a part of the slot, and all of them read the whole.
    """

    role: str
    kind: Literal["tma", "store", "parts", "commit", "copy", "remote"]
    ctas: int = 1

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
        }[self.kind]


@dataclass(frozen=True)
class Drain:
    """Who releases a slot: `arrivals` a use by each of `replicas` replicas of a role in each of `ctas` CTAs.

    `until` names the ring whose tile takes the slot's place before the release, which comes when that tile has left.
    `by`: the task itself arrives, or the tensor core does when the MMAs that read the slot are complete. `at`: where;
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
    by: Literal["arrive", "commit"] = "arrive"
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
    full, before it reads the slots of all. `parts`: a slot is published in so many parts, each on a barrier of its own.
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
    parts: int = 1
    full_barrier: Barrier | None = None  # set by plan.barriers.derive
    empty_barrier: Barrier | None = None
    ready_barrier: Barrier | None = None

    @property
    def barriers(self) -> tuple[Barrier, ...]:
        """Its barrier arrays, in the order of the source."""
        return tuple(b for b in (self.full_barrier, self.empty_barrier, self.ready_barrier) if b)

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
        return sum(t.smem_bytes for t in self.tiles) * self.slots.value


@dataclass(frozen=True)
class Turn:
    """An order between the replicas of a role: each waits for its turn, then hands it to the next.

    Named barriers count threads (waiters and arrivers of both sides); mbarriers count one arrival.
    """

    name: str
    role: str
    kind: Literal["named", "mbarrier"]
    replicas: int
    first_id: int = 0
    threads: int = 0


@dataclass(frozen=True)
class Meeting:
    """A point in each step at which the replicas of a role wait for each other, by one named barrier.

    What each has stored before it, all may read after it. A slot that all read between two meetings is free after the
    second: a ring that they fill and read in step needs two slots, and no barriers of its own.
    """

    name: str
    role: str
    replicas: int
    id: int = 0
    threads: int = 0


@dataclass(frozen=True)
class Role:
    """A task: its warps, its registers and, in order, what it acquires, does, publishes and releases."""

    name: str
    warps: int
    steps: tuple[str, ...]
    registers: int | None = None  # a thread, by setmaxnreg; None: the default task, or no request
    replicas: int = 1
    default: bool = False
    guard: str | None = None

    @property
    def threads(self) -> int:
        return self.warps * 32 * self.replicas


@dataclass(frozen=True)
class Parameter:
    """A tl.constexpr parameter of the kernel. Baked ones are substituted in the source and then folded away."""

    name: str
    value: int | bool
    meaning: str
    baked: bool = False


@dataclass(frozen=True)
class Reason:
    """Why a variant cannot be: the rule's id and a sentence with the numbers."""

    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


@dataclass(frozen=True)
class Use:
    """A share of a budget, for `tlxgen show`."""

    what: str
    amount: int


@dataclass(frozen=True)
class Budget:
    """A resource: its limit, what the plan needs of it, and for what."""

    name: str
    unit: str
    limit: int
    uses: tuple[Use, ...]

    @property
    def used(self) -> int:
        return sum(u.amount for u in self.uses)


@dataclass(frozen=True)
class Columns:
    """Neighbouring columns of tensor memory, 128 lanes of 32 bits each, what lies there and over what, if anything."""

    what: str
    first: int
    count: int
    over: str = ""

    def __str__(self) -> str:
        over = f" over {self.over}" if self.over else ""
        return f"{self.what} {self.first}..{self.first + self.count - 1}{over}"


@dataclass(frozen=True)
class Launch:
    """What the compiler is given for one kernel of a variant: argument types, constants and launch options."""

    kernel: str
    arguments: tuple[tuple[str, str], ...]  # (name, Triton signature type or "constexpr")
    constants: tuple[tuple[str, int | bool], ...]
    divisible: tuple[str, ...]  # arguments specialised as multiples of 16
    num_warps: int
    cluster: tuple[int, int, int] = (1, 1, 1)


@dataclass(frozen=True)
class Plan:
    """One variant, resolved. `facts` are the family's own decisions, read by its template."""

    name: str
    family: str
    arch: type[Arch]
    roles: tuple[Role, ...]  # those of this variant, guards applied
    possible_roles: tuple[Role, ...]  # those of the structure, every guard on: what the source's constants allow for
    rings: tuple[Ring, ...]
    turns: tuple[Turn, ...]
    parameters: tuple[Parameter, ...]
    meetings: tuple[Meeting, ...] = ()
    specialized: bool = True
    cluster: tuple[int, int, int] = (1, 1, 1)
    compiler_smem: tuple[Use, ...] = ()  # what the compiler adds: capture area, layout scratch
    spare_smem: tuple[Use, ...] = ()  # what it adds only where there is room: layout scratch that it can do without
    compiler_tmem: tuple[Use, ...] = ()  # columns that the compiler adds
    accumulator_role: str = ""
    accumulator_registers: int = 0  # a thread of that role, at the peak
    working_registers: int = 0  # a thread, beside the accumulator
    instruction_registers: int = 0  # a thread, that the widest MMA instruction needs at the kernel's register target
    expected_opcodes: tuple[str, ...] = ()  # SASS classes that must be in the compiled kernel
    source_barriers: tuple[Barrier, ...] = ()  # of a tile source that hands out work while the kernel runs
    facts: object = None
    launches: tuple[Launch, ...] = ()
    budgets: tuple[Budget, ...] = ()
    reasons: tuple[Reason, ...] = field(default=())
    tmem: tuple[Columns, ...] = ()

    @property
    def default_role(self) -> Role:
        return next(r for r in self.roles if r.default)

    def role(self, name: str) -> Role:
        return next(r for r in self.roles if r.name == name)

    def ring(self, name: str) -> Ring:
        return next(r for r in self.rings if r.name == name)

    def overlays(self, ring: Ring) -> tuple[Ring, ...]:
        """The rings in tensor memory that take the place of `ring`, as tiles of another shape."""
        return tuple(r for r in self.rings if r.alias == ring.name and r.reshaped and r.space == "tmem")

    def has_ring(self, name: str) -> bool:
        return any(r.name == name for r in self.rings)

    @property
    def barriers(self) -> tuple[Barrier, ...]:
        """Every barrier array of its rings and of its tile source."""
        return (*(b for r in self.rings for b in r.barriers), *self.source_barriers)

    def value(self, parameter: str) -> int | bool:
        return next(p.value for p in self.parameters if p.name == parameter)
