"""What a variant's kernel is: roles, rings, barriers and sizes, before any text is written.

A *ring* is a multi-buffered set of tiles; a *role* is a task that fills or drains rings. Nobody writes a barrier: the
full and the empty barrier of a ring follow from who fills and who drains it (`barriers.py`), and so do the budgets
(`budget.py`). Imports `arch`, arguments, rings, rules and work lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tlxgen.arch import Arch

from .arguments import Host, KernelArgument
from .products import Products
from .rings import Barrier, Cursor, Ring
from .rule import Rule
from .size import Size, total
from .steps import Step
from .work import Signal, Work


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
    """A point in each step at which the replicas of a role wait for each other, by one named barrier; of one replica,
    its warps do.

    What each has stored before it, all may read after it. A slot that all read between two meetings is free after the
    second: a ring that they fill and read in step needs two slots, and no barriers of its own. What the warps of a role
    have read of tensor memory before it, they may overwrite after it: `budget.warps_meet` says which need to.
    """

    SLOTS: ClassVar[int] = 2

    name: str
    role: str
    replicas: int
    id: int = 0
    threads: int = 0


@dataclass(frozen=True)
class Holds:
    """Registers a thread that a role needs at its peak: accumulators of products, and what is worked with beside."""

    accumulator: int = 0
    working: int = 0


@dataclass(frozen=True)
class Role:
    """A task: its warps, its registers and, in order, what it acquires, does, publishes and releases.

    `in_flight`: of the products of its loop, how many are under way when it goes on to the next.
    """

    name: str
    warps: int
    steps: tuple[Step, ...]
    registers: int | None = None  # a thread, by setmaxnreg; None: the default task, or no request
    replicas: int = 1
    default: bool = False
    guard: str | None = None
    in_flight: int = 0
    holds: Holds = Holds()

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
    """One kernel of a variant: its arguments, and what the compiler is given.

    `kernel` is its name, which a family gives without that of the module. `launched`: by this variant; else only by
    others of its structure.
    """

    kernel: str
    arguments: tuple[KernelArgument, ...]
    constants: tuple[tuple[str, int | bool], ...]
    num_warps: int
    cluster: tuple[int, int, int] = (1, 1, 1)
    launched: bool = True
    maxnreg: int | None = None  # registers a thread at most, where several CTAs are to share an SM
    pdl: bool = False  # it starts before the kernel before it in the stream has ended

    def of_kind(self, kind: str) -> tuple[KernelArgument, ...]:
        """Its descriptors, addresses or scalars, in order."""
        return tuple(a for a in self.arguments if a.kind == kind)

    @property
    def divisible(self) -> tuple[str, ...]:
        """Arguments that an aligned problem passes as multiples of 16."""
        return tuple(a.name for a in self.arguments if a.divisible)

    @property
    def unspecialized(self) -> tuple[str, ...]:
        """Arguments of whose values the compiler makes nothing."""
        return tuple(a.name for a in self.arguments if not a.specialized)


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
    instruction_registers: int = 0  # a thread, that the widest MMA instruction needs at the kernel's register target
    expected_opcodes: tuple[str, ...] = ()  # SASS classes that must be in the compiled kernel
    work: Work = Work()
    signals: tuple[Signal, ...] = ()
    source_barriers: tuple[Barrier, ...] = ()  # of a work list that hands out items while the kernel runs
    facts: object = None
    host: Host = Host()
    launches: tuple[Launch, ...] = ()
    budgets: tuple[Budget, ...] = ()
    rules: tuple[Rule, ...] = ()  # of its sizes, which a kernel asserts of its parameters
    reasons: tuple[Reason, ...] = field(default=())
    tmem: tuple[Columns, ...] = ()

    @property
    def default_role(self) -> Role:
        return next(r for r in self.roles if r.default)

    def role(self, name: str) -> Role:
        return next(r for r in self.roles if r.name == name)

    def ring(self, name: str) -> Ring:
        return next(r for r in self.rings if r.name == name)

    def cursor(
        self,
        ring: str,
        counter: str = "count",
        prefix: str = "",
        bank: str | int = "",
        *,
        steps: bool = False,
        slotted: bool | None = None,
    ) -> Cursor:
        """Where a role is in a ring, by the names of its variables; `steps`: it counts steps of a ring of items."""
        found = self.ring(ring)
        once = found.item and self.work.single and not steps
        slotted = found.slots.text != "1" if slotted is None else slotted
        return Cursor(found, counter, prefix, bank, once=once, slotted=slotted)

    def cursors(self, rings: Iterable[str]) -> tuple[Cursor, ...]:
        """Where a role is in rings that it uses in step, by one count."""
        return tuple(self.cursor(ring) for ring in rings)

    def products(self) -> Products:
        """To count a task's products under way, while its source is written."""
        return Products()

    def deep(self, ring: Ring) -> Size:
        """How many TMA stores a task may have under way when it fills the next buffer of `ring`: all others' of its."""
        banks = ring.banks // self.role(ring.fill.role).replicas
        return ring.slots * banks - 1

    def turn(self, name: str) -> Turn:
        return next(t for t in self.turns if t.name == name)

    def meeting(self, name: str) -> Meeting:
        return next(m for m in self.meetings if m.name == name)

    def signal(self, name: str) -> Signal:
        return next(s for s in self.signals if s.name == name)

    def launch(self, name: str) -> Launch:
        """The launch of the kernel `name` beside the main one, without the module's name before it."""
        return next(x for x in self.launches if x.kernel.endswith(f"{name}_kernel"))

    def overlays(self, ring: Ring) -> tuple[Ring, ...]:
        """The rings that take the place of `ring` slot by slot, as tiles of another shape, one after the other."""
        found: list[Ring] = []
        for r in self.rings:
            if r.slotwise and r.alias in (ring.name, *(x.name for x in found)):
                found.append(r)
        return tuple(found)

    def lends(self, ring: Ring) -> bool:
        """Whether another ring's tiles of another shape lie in the SMEM of `ring`, bank for bank."""
        return any(r.alias == ring.name and r.reshaped and not r.slotwise and r.space == "smem" for r in self.rings)

    def has_ring(self, name: str) -> bool:
        return any(r.name == name for r in self.rings)

    @property
    def barriers(self) -> tuple[Barrier, ...]:
        """Every barrier array of its rings and of its tile source."""
        return (*(b for r in self.rings for b in r.barriers), *self.source_barriers)

    @property
    def tile_bytes(self) -> Size:
        """Bytes of a tile of each ring."""
        return total([t.bytes for r in self.rings if not r.alias for t in r.tiles])

    def value(self, parameter: str) -> int | bool:
        return next(p.value for p in self.parameters if p.name == parameter)
