"""The counters of coverage, over all runs of one target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Place = tuple[str, int]  # path and line
# Whether constexprs alone decide a condition, or a part of it that is joined to the rest by `and` or `or`.
Fixed = Literal["", "yes", "and", "or"]


@dataclass(frozen=True)
class Guard:
    """The branch or loop around a statement, where constants of the config decide whether it is executed.

    `branch` and `loop` count those of the outline; the other is -1."""

    branch: int = -1
    outcome: bool = True
    loop: int = -1


@dataclass(frozen=True)
class Statement:
    """Lines that run together. `names` are those in it or, for a block, in its first lines."""

    line: int
    end: int
    guard: Guard | None
    names: frozenset[str]


@dataclass(frozen=True)
class Branch:
    """An `if`: its statement, and the first ones of its two blocks (-1: there is no such block)."""

    statement: int
    body: int
    orelse: int
    fixed: Fixed
    parts: tuple[int, ...]  # predicates that are the constant parts of the condition
    text: str
    signals: bool  # whether it decides on a wait or an arrival


@dataclass(frozen=True)
class Loop:
    """A loop: its statement, the first one of its block, and its first and last line. `items`: an iteration is a work
    item of the CTA."""

    statement: int
    body: int
    begin: int
    end: int
    fixed: bool
    items: bool
    text: str


@dataclass(frozen=True)
class Predicate:
    """The predicate of an operation (`pred=`), or a constant part of a condition (`operation` is empty)."""

    statement: int
    line: int
    operation: str
    text: str


@dataclass(frozen=True)
class Outline:
    """The countable parts of a function's source."""

    path: str
    name: str
    line: int
    statements: tuple[Statement, ...]
    branches: tuple[Branch, ...]
    loops: tuple[Loop, ...]
    predicates: tuple[Predicate, ...]


@dataclass(eq=False)
class Function:
    """The counts of a function: how often each statement ran, how often each loop had 0, 1 and more iterations, and how
    often each predicate was false and true. `mentions` are the functions that its names refer to."""

    outline: Outline
    counts: list[int]
    trips: list[int]
    outcomes: list[int]
    mentions: dict[str, Place] = field(default_factory=dict)

    @classmethod
    def of(cls, outline: Outline) -> Function:
        return cls(
            outline, [0] * len(outline.statements), [0] * (3 * len(outline.loops)), [0] * (2 * len(outline.predicates))
        )

    def add(self, other: Function) -> None:
        """Adds other counts of the same function."""
        for mine, its in ((self.counts, other.counts), (self.trips, other.trips), (self.outcomes, other.outcomes)):
            mine[:] = _sum(mine, its)
        self.mentions |= other.mentions

    @property
    def entered(self) -> bool:
        return any(self.counts)

    def taken(self, branch: Branch) -> tuple[int, int]:
        """How often a condition was false, and true."""
        came, true = self.counts[branch.statement], self.counts[branch.body]
        return (self.counts[branch.orelse] if branch.orelse >= 0 else max(0, came - true)), true

    def decided(self, branch: Branch, outcome: bool) -> bool:
        """Whether constants prevent a condition, which was evaluated, from being `outcome`."""
        if not branch.fixed or not self.counts[branch.statement] or self.taken(branch)[outcome]:
            return False
        if branch.fixed == "yes":
            return True
        needed = branch.fixed == "and"  # the value of all constant parts for which the rest decides
        stuck = any(self.outcomes[2 * p + (not needed)] and not self.outcomes[2 * p + needed] for p in branch.parts)
        return stuck and outcome is needed

    def baked_out(self, statement: Statement) -> bool:
        """Whether a statement is dead for the constants of all configs that ran."""
        guard = statement.guard
        if guard is None:
            return False
        if guard.loop >= 0:
            loop = self.outline.loops[guard.loop]
            at, out = loop.statement, self.counts[loop.statement] > 0 and not self.counts[loop.body]
        else:
            branch = self.outline.branches[guard.branch]
            at, out = branch.statement, self.decided(branch, guard.outcome)
        return out or self.baked_out(self.outline.statements[at])


@dataclass(eq=False)
class Uses:
    """A ring of buffers or an array of barriers: the largest number of uses of each slot by one CTA of one launch (a
    phase of a barrier, a fill of a buffer). `looped`: it is used in a loop whose trip count is not constant."""

    kind: Literal["ring", "barrier"]
    name: str
    path: str
    line: int
    slots: list[int]
    looped: bool

    @property
    def wrapped(self) -> bool:
        """Whether a slot was used more than once."""
        return max(self.slots, default=0) > 1

    def add(self, other: Uses) -> None:
        """Adds other uses of the same one."""
        size = max(len(self.slots), len(other.slots))
        mine, its = ([*u.slots, *[0] * (size - len(u.slots))] for u in (self, other))
        self.slots = [max(pair) for pair in zip(mine, its, strict=True)]
        self.looped |= other.looped


@dataclass(eq=False)
class Kernel:
    """The counts of a kernel's launches: CTAs by their number of items (0, 1, more), requests of cluster launch control
    that were refused and granted, and, by cluster size, the CTAs of each rank that had work."""

    name: str
    place: Place
    launches: int = 0
    ctas: int = 0
    has_items: bool = False
    items: list[int] = field(default_factory=lambda: [0, 0, 0])
    asks: bool = False
    steals: list[int] = field(default_factory=lambda: [0, 0])
    ranks: dict[int, list[int]] = field(default_factory=dict)
    accesses: bool = False

    def add(self, other: Kernel) -> None:
        """Adds other counts of the same kernel."""
        self.launches += other.launches
        self.ctas += other.ctas
        self.has_items |= other.has_items
        self.asks |= other.asks
        self.items = _sum(self.items, other.items)
        self.steals = _sum(self.steals, other.steals)
        for size, ranks in other.ranks.items():
            self.ranks[size] = _sum(self.ranks.get(size, [0] * size), ranks)


@dataclass(eq=False)
class Coverage:
    """The coverage of one target's runs. `tiles` has, by the line of an access to global memory, how often the accessed
    tile was inside of the tensor (or mask), across its edge, and wholly outside. `sms` are the numbers of SMs of its
    GPUs, and `asked` says whether the target depends on that number."""

    functions: dict[Place, Function] = field(default_factory=dict)
    kernels: dict[Place, Kernel] = field(default_factory=dict)
    uses: dict[tuple[str, str, int, str], Uses] = field(default_factory=dict)
    tiles: dict[Place, list[int]] = field(default_factory=dict)
    sms: set[int] = field(default_factory=set)
    asked: bool = False
    _in_loop: dict[Place, bool] = field(default_factory=dict)

    def function(self, outline: Outline) -> Function:
        """The counters of a function."""
        place = outline.path, outline.line
        known = self.functions.get(place)
        if known is None or known.outline is not outline:
            known = self.functions[place] = Function.of(outline)
        return known

    def kernel(self, name: str, place: Place) -> Kernel:
        """The counters of a kernel's launches."""
        return self.kernels.setdefault(place, Kernel(name, place))

    def use(self, uses: Uses) -> None:
        """Adds a CTA's uses of a ring."""
        key = uses.kind, uses.path, uses.line, uses.name
        if key in self.uses:
            self.uses[key].add(uses)
        else:
            self.uses[key] = uses

    def add(self, other: Coverage) -> None:
        """Adds the coverage of other runs of the target."""
        for place, function in other.functions.items():
            mine = self.function(function.outline)
            if mine is not function:
                mine.add(function)
            self.functions[place] = mine
        for kernel in other.kernels.values():
            self.kernel(kernel.name, kernel.place).add(kernel)
        for uses in other.uses.values():
            self.use(Uses(uses.kind, uses.name, uses.path, uses.line, list(uses.slots), uses.looped))
        for place, counts in other.tiles.items():
            self.tiles[place] = _sum(self.tiles.get(place, [0, 0, 0]), counts)
        self.sms |= other.sms
        self.asked |= other.asked

    def in_loop(self, path: str, line: int) -> bool:
        """Whether a line is in a loop whose trip count is not constant."""
        key = path, line
        if key not in self._in_loop:
            self._in_loop[key] = any(
                loop.begin < line <= loop.end and not loop.fixed
                for (file, _), function in self.functions.items()
                if file == path
                for loop in function.outline.loops
            )
        return self._in_loop[key]

    def live(self) -> Iterable[Function]:
        """The functions that ran, and those to which a statement refers that is not dead."""
        mentioned = {
            function.mentions[name]
            for function in self.functions.values()
            if function.entered
            for statement in function.outline.statements
            if not function.baked_out(statement)
            for name in statement.names & function.mentions.keys()
        }
        for place, function in self.functions.items():
            if function.entered or place in mentioned:
                yield function


def _sum(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return [a + b for a, b in zip(one, other, strict=True)]
