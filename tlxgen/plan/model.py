"""The plan of a variant: its roles, rings, barriers and sizes, before any source is rendered.

A *ring* is a multi-buffered set of tiles, and a *role* is a task that fills or drains rings. Families do not state
barriers: `barriers.py` derives the full and the empty barrier of a ring from the roles that fill and drain it, and
`budget.py` derives the budgets. This module imports `arch`, arguments, rings, rules and work lists.
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

    A named barrier counts threads, those that wait and those that arrive. An mbarrier counts one arrival.
    """

    name: str
    role: str
    kind: Literal["named", "mbarrier"]
    replicas: int
    first_id: int = 0
    threads: int = 0


@dataclass(frozen=True)
class Meeting:
    """A point in each step at which the replicas of a role, or the warps of its one replica, wait for each other.

    They use one named barrier. All replicas may read after the meeting what each has stored before it. A slot that all
    read between two meetings is free after the second, so a ring that the replicas fill and read in step needs two
    slots (`SLOTS`) and no barriers of its own. The warps of a role may overwrite after the meeting the tensor memory
    that they have read before it; `budget.warps_meet` finds the roles that need this.
    """

    SLOTS: ClassVar[int] = 2

    name: str
    role: str
    replicas: int
    id: int = 0
    threads: int = 0


@dataclass(frozen=True)
class Holds:
    """Registers a thread that a role needs at its peak: those of accumulators, and the working values beside them."""

    accumulator: int = 0
    working: int = 0


@dataclass(frozen=True)
class Role:
    """A task: its warps, its registers and, in order, what it acquires, does, publishes and releases.

    `in_flight` is the number of products that are still in flight when an iteration of the role's loop ends.
    """

    name: str
    warps: int
    steps: tuple[Step, ...]
    registers: int | None = None  # registers a thread, for setmaxnreg; None for the default task or without a request
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
    """A tl.constexpr parameter of the kernel. A baked one is replaced by its value in the source."""

    name: str
    value: int | bool
    meaning: str
    baked: bool = False


@dataclass(frozen=True)
class Reason:
    """Why a variant is rejected: the rule's id, and a sentence with the numbers."""

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
    """A resource: its limit, and each of the plan's uses of it."""

    name: str
    unit: str
    limit: int
    uses: tuple[Use, ...]

    @property
    def used(self) -> int:
        return sum(u.amount for u in self.uses)


@dataclass(frozen=True)
class Columns:
    """Adjacent columns of tensor memory (128 lanes of 32 bits each), their buffer, and the buffer that it aliases."""

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

    `kernel` is its name; a family gives it without the module's name in front. `launched` says whether this variant
    launches it. If not, other variants of its structure do.
    """

    kernel: str
    arguments: tuple[KernelArgument, ...]
    constants: tuple[tuple[str, int | bool], ...]
    num_warps: int
    cluster: tuple[int, int, int] = (1, 1, 1)
    launched: bool = True
    maxnreg: int | None = None  # limit of registers a thread, so that several CTAs fit on an SM
    pdl: bool = False  # programmatic dependent launch: it may start before the preceding kernel of the stream ends

    def of_kind(self, kind: str) -> tuple[KernelArgument, ...]:
        """The arguments of a kind (descriptors, addresses or scalars), in order."""
        return tuple(a for a in self.arguments if a.kind == kind)

    @property
    def divisible(self) -> tuple[str, ...]:
        """Names of the arguments whose value is a multiple of 16 for an aligned problem."""
        return tuple(a.name for a in self.arguments if a.divisible)

    @property
    def unspecialized(self) -> tuple[str, ...]:
        """Names of the arguments on whose values the compiler must not specialise the kernel."""
        return tuple(a.name for a in self.arguments if not a.specialized)


@dataclass(frozen=True)
class Plan:
    """One variant, resolved. `facts` are the family's own decisions, read by its template."""

    name: str
    family: str
    arch: type[Arch]
    roles: tuple[Role, ...]  # the roles of this variant, with guards applied
    possible_roles: tuple[Role, ...]  # the roles of the structure, with every guard on
    rings: tuple[Ring, ...]
    turns: tuple[Turn, ...]
    parameters: tuple[Parameter, ...]
    meetings: tuple[Meeting, ...] = ()
    specialized: bool = True
    cluster: tuple[int, int, int] = (1, 1, 1)
    compiler_smem: tuple[Use, ...] = ()  # bytes that the compiler adds: capture area, layout scratch
    spare_smem: tuple[Use, ...] = ()  # optional layout scratch: see SPARE_BYTES
    compiler_tmem: tuple[Use, ...] = ()  # columns that the compiler adds
    instruction_registers: int = 0  # registers a thread that the widest MMA instruction needs
    expected_opcodes: tuple[str, ...] = ()  # SASS classes that must be in the compiled kernel
    builder: tuple[str, ...] = ()  # functions of the compiler's builder that the kernel's own source calls
    work: Work = Work()
    signals: tuple[Signal, ...] = ()
    source_barriers: tuple[Barrier, ...] = ()  # barriers of a work list that hands out items while the kernel runs
    facts: object = None
    host: Host = Host()
    launches: tuple[Launch, ...] = ()
    budgets: tuple[Budget, ...] = ()
    rules: tuple[Rule, ...] = ()  # rules on its sizes, which the kernel asserts of its parameters
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
        """A role's position in a ring, in the names of the role's variables.

        `steps`: the role counts steps even if an item is one use of the ring.
        """
        found = self.ring(ring)
        once = found.item and self.work.single and not steps
        slotted = found.slots.text != "1" if slotted is None else slotted
        return Cursor(found, counter, prefix, bank, once=once, slotted=slotted)

    def cursors(self, rings: Iterable[str]) -> tuple[Cursor, ...]:
        """A role's positions in rings that it uses in step and that share one count."""
        return tuple(self.cursor(ring) for ring in rings)

    def products(self) -> Products:
        """A new counter of the products that a task has in flight, for use while its source is rendered."""
        return Products()

    def deep(self, ring: Ring) -> Size:
        """How many TMA stores of a task may be in flight when it fills the next buffer of `ring`.

        They are the stores of all its other buffers.
        """
        banks = max(1, ring.banks // self.role(ring.fill.role).replicas)  # a ring may be one replica's alone
        return (ring.slots * banks - 1) * ring.stores

    def turn(self, name: str) -> Turn:
        return next(t for t in self.turns if t.name == name)

    def meeting(self, name: str) -> Meeting:
        return next(m for m in self.meetings if m.name == name)

    def signal(self, name: str) -> Signal:
        return next(s for s in self.signals if s.name == name)

    def launch(self, name: str) -> Launch:
        """The launch of the auxiliary kernel `name`, which is given without the module's name in front."""
        module = self.launches[0].kernel.removesuffix("kernel")  # which may end like an auxiliary kernel's name
        return next(x for x in self.launches if x.kernel == f"{module}{name}_kernel")

    def overlays(self, ring: Ring) -> tuple[Ring, ...]:
        """The rings whose tiles of another shape take the place of `ring` slot by slot, one after the other."""
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
        """All barrier arrays: those of the rings and those of the work list."""
        return (*(b for r in self.rings for b in r.barriers), *self.source_barriers)

    @property
    def tile_bytes(self) -> Size:
        """Bytes of one slot of each ring that has buffers of its own, in sum."""
        return total([t.bytes for r in self.rings if not r.alias for t in r.tiles])

    def value(self, parameter: str) -> int | bool:
        return next(p.value for p in self.parameters if p.name == parameter)
