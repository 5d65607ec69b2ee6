"""Which cubins a package holds of a kernel: one for each way in which the values of its arguments change the code.

Triton compiles a kernel for each set of arguments that are multiples of 16. Most of them change nothing: of a GEMM by
TMA not one does. What counts is found by compiling without each in turn. An integer that is 1 is a constant to Triton,
and no parameter; a package has such code of the integers that are often 1.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from tlxgen.compile import Job, Outcome, Toolchain, compile_all, named
from tlxgen.errors import TlxgenError

_BYTES = {"i1": 1, "i32": 4, "u32": 4, "i64": 8, "u64": 8, "fp32": 4, "fp64": 8}  # the scalars that a launcher has


@dataclass(frozen=True)
class Row:
    """A kernel with the constants of one row of CONFIGS. `specialized`: arguments of whose values Triton makes code;
    among them `single`, which are often 1, and `strides`, which are aligned where rows are."""

    job: Job
    specialized: tuple[str, ...]
    single: tuple[str, ...] = ()
    strides: tuple[str, ...] = ()

    @property
    def aligned(self) -> frozenset[str]:
        """The addresses and integers that may be compiled as multiples of 16."""
        return frozenset(
            a.name for a in self.job.arguments if a.name in self.specialized and a.type.startswith(("*", "i", "u"))
        )

    @property
    def addresses(self) -> frozenset[str]:
        return frozenset(a.name for a in self.job.arguments if a.type.startswith("*"))

    @property
    def ones(self) -> list[frozenset[str]]:
        """The sets of integers to compile as 1: of those that often are, any of them together."""
        each = [name for name in self.single if name in self.aligned]
        return [frozenset(some) for count in range(1, len(each) + 1) for some in combinations(each, count)]


@dataclass(frozen=True)
class Cubin:
    """A kernel compiled for arguments of which those in `divisible` are multiples of 16, and those in `ones` are 1 and
    no parameters. `told`: what launches it."""

    divisible: frozenset[str]
    data: bytes
    sha256: str
    registers: int
    told: Mapping[str, Any]
    ones: frozenset[str] = frozenset()

    @property
    def asks(self) -> frozenset[tuple[str, int]]:
        """What it was compiled for: of each such argument its name, and the divisor or the value."""
        return frozenset({(name, 16) for name in self.divisible} | {(name, 1) for name in self.ones})


@dataclass(frozen=True)
class Compiling:
    """How cubins are made, and those that were. `keep`: an empty folder; the rest as `compile_all` has it."""

    keep: Path
    workers: int | None = None
    timeout_s: float = 120
    toolchain: Toolchain = field(default_factory=lambda: named("fbtriton"))
    on_found: Callable[[int], None] = lambda count: None
    on_done: Callable[[Outcome], None] | None = None
    made: dict[str, Cubin | str] = field(default_factory=dict)

    def __call__(self, jobs: Sequence[Job]) -> list[Cubin | str]:
        """Of each job a cubin, or why there is none. Raises TlxgenError for what takes more than a launcher brings."""
        missing = [job for job in {job.id: job for job in jobs}.values() if job.id not in self.made]
        self.on_found(len(missing))
        done = self.compiled(missing) if missing else []
        self.made.update((job.id, cubin) for job, cubin in zip(missing, done, strict=True))
        return [self.made[job.id] for job in jobs]

    def compiled(self, jobs: Sequence[Job]) -> list[Cubin | str]:
        done = compile_all(
            jobs,
            workers=self.workers,
            timeout_s=self.timeout_s,
            keep=self.keep,
            on_done=self.on_done,
            toolchain=self.toolchain,
        )
        return [_cubin(job, one) if one.ok else one.error for job, one in zip(jobs, done, strict=True)]


def cubins_of(rows: Sequence[Row], compiling: Compiling) -> list[list[Cubin]]:
    """For each row its cubins, those that ask for the most first.

    The last takes any, but for a kernel that the compiler refuses without alignment. Raises TlxgenError for one that it
    refuses at all.
    """
    counting = _counting(rows, compiling)
    wanted = [(row, *one) for row in rows for one in _wanted(row, counting[row.job.kernel])]
    made = compiling([compiled_for(*one) for one in wanted])
    found: dict[int, list[Cubin]] = defaultdict(list)
    for (row, divisible, ones), cubin in zip(wanted, made, strict=True):
        if isinstance(cubin, Cubin):
            found[id(row)].append(replace(cubin, ones=ones))
        elif divisible == row.aligned and not ones:
            raise TlxgenError(f"{row.job.id}: {cubin}")
    return [_distinct(found[id(row)]) for row in rows]


def _counting(rows: Sequence[Row], compiling: Compiling) -> dict[str, frozenset[str]]:
    """Of each kernel, the arguments whose alignment changes the code of its first row."""
    firsts = {row.job.kernel: row for row in reversed(rows)}
    pairs = [(name, divisible) for name, row in firsts.items() for divisible in (row.aligned, frozenset[str]())]
    digests = _digests(firsts, pairs, compiling)
    changing = {n: r for n, r in firsts.items() if digests[n, r.aligned] != digests[n, frozenset()]}
    pairs = [(name, row.aligned - {one}) for name, row in changing.items() for one in row.aligned]
    without = _digests(firsts, pairs, compiling)
    counting: dict[str, frozenset[str]] = dict.fromkeys(firsts, frozenset())
    for name, row in changing.items():
        alone = {one for one in row.aligned if without[name, row.aligned - {one}] != digests[name, row.aligned]}
        counting[name] = frozenset(alone) or row.aligned  # where only several together change it
    return counting


def _digests(
    firsts: Mapping[str, Row], pairs: Sequence[tuple[str, frozenset[str]]], compiling: Compiling
) -> dict[tuple[str, frozenset[str]], str]:
    made = compiling([compiled_for(firsts[name], divisible) for name, divisible in pairs])
    return {pair: one.sha256 if isinstance(one, Cubin) else "" for pair, one in zip(pairs, made, strict=True)}


def _wanted(row: Row, counting: frozenset[str]) -> list[tuple[frozenset[str], frozenset[str]]]:
    """What to compile a row for: arguments that are multiples of 16, and integers that are 1.

    With a 1, all that counts is aligned, or all but one extent, or all but the extents, or the addresses alone.
    """
    extents = counting - row.addresses - {*row.strides}
    but = [counting, *(counting - {name} for name in sorted(extents)), counting - extents, counting & row.addresses]
    with_ones = [(divisible - ones, ones) for ones in row.ones for divisible in but]
    return [*dict.fromkeys([*((divisible, frozenset[str]()) for divisible in _sets(row, counting)), *with_ones])]


def _sets(row: Row, counting: frozenset[str]) -> list[frozenset[str]]:
    """What to compile a row for: all that counts, all but one integer, all but the extents, the addresses alone, and
    nothing.

    Extents that are no multiples of 16 leave the strides of dense rows such multiples where columns are.
    """
    but_one = [counting - {name} for name in sorted(counting - row.addresses)]
    steady = counting & (row.addresses | {*row.strides})
    return [*dict.fromkeys([row.aligned, counting, *but_one, steady, counting & row.addresses, frozenset[str]()])]


def _distinct(cubins: Sequence[Cubin]) -> list[Cubin]:
    """Without those of which all that ask for less are the same. A launch takes the first whose arguments are aligned,
    so one that asks for more stands for itself although another, further down, is the same.
    """

    def differs(cubin: Cubin) -> bool:
        less = [other for other in cubins if other.asks < cubin.asks]
        return not less or any(other.sha256 != cubin.sha256 for other in less)

    return sorted(filter(differs, cubins), key=lambda cubin: (-len(cubin.asks), sorted(cubin.asks)))


def compiled_for(row: Row, divisible: frozenset[str], ones: frozenset[str] = frozenset()) -> Job:
    """What Triton compiles a row to for arguments of which those are multiples of 16, and those are 1."""
    names = tuple(a.name for a in row.job.arguments if a.name in divisible)
    what = f"{', '.join(names) or 'nothing'} aligned" + f", {', '.join(sorted(ones))} of 1" * bool(ones)
    arguments = tuple(replace(a, type="constexpr") if a.name in ones else a for a in row.job.arguments)
    constants = {**row.job.constants, **dict.fromkeys(sorted(ones), 1)}
    return replace(row.job, arguments=arguments, constants=constants, divisible=names, id=f"{row.job.id} | {what}")


def _cubin(job: Job, outcome: Outcome) -> Cubin:
    told = json.loads(Path(f"{outcome.kept}.json").read_text(encoding="utf-8"))
    if told["scratch"]:
        text = f"{job.kernel} takes {told['scratch']} bytes of global memory for itself, which a package does not bring"
        raise TlxgenError(text, remedy="a descriptor that a kernel makes itself is the usual reason")
    if told["cooperative"]:
        raise TlxgenError(f"{job.kernel} is for a cooperative launch, which a package does not make")
    expected = parameters_of(job)
    if told["parameters"] != expected:
        raise TlxgenError(f"{job.kernel} takes parameters of {told['parameters']} bytes; of its plan follow {expected}")
    assert outcome.resources
    data = Path(f"{outcome.kept}.cubin").read_bytes()
    return Cubin(frozenset(job.divisible), data, outcome.resources.cubin_sha256, outcome.resources.registers, told)


def parameters_of(job: Job) -> list[int]:
    """Bytes of each parameter that a cubin takes: of a descriptor itself, its extents and its strides; two addresses of
    scratch memory last. Raises TlxgenError for a scalar that a launcher does not have."""
    sizes: list[int] = []
    for argument in job.arguments:
        if argument.type.startswith("tensordesc"):
            rank = argument.type.count(",") + 1
            sizes += [128, *[4] * rank, *[8] * rank]
        elif argument.type.startswith("*"):
            sizes.append(8)
        elif argument.type != "constexpr":
            if argument.type not in _BYTES:
                raise TlxgenError(f"{job.kernel}: {argument.name} is of {argument.type}, which no launcher passes")
            sizes.append(_BYTES[argument.type])
    return [*sizes, 8, 8]
