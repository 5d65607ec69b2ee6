"""Gaps: what runs have not exercised, as data and in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from .seen import Coverage, Function, Kernel, Loop, Statement
from .summary import Summary

Kind = Literal[
    "line", "ring", "second-item", "steal", "predicate", "second-round", "branch", "one-item", "refusal", "rank",
    "ragged", "one-round", "no-round", "no-item", "empty",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)  # the worst first
_OF = {  # what each is counted as
    "line": "lines", "ring": "rings", "steal": "steals", "refusal": "steals", "predicate": "predicates",
    "branch": "branches", "rank": "ranks", "ragged": "tiles", "empty": "tiles",
    "second-item": "items", "one-item": "items", "no-item": "items",
    "second-round": "loops", "one-round": "loops", "no-round": "loops",
}  # fmt: skip
_PART = re.compile(r"^(full|empty)_|_(full|empty|fulls|empties|tiles|buffers?|bufs?|bars?|barriers?)$")


@dataclass(frozen=True)
class Waiver:
    """A reason why gaps of some kinds are allowed, for subjects whose beginning matches the pattern. A subject is the
    text of a loop or a condition, the name of a ring, or the name of a kernel."""

    kinds: tuple[Kind, ...]
    subject: str
    reason: str

    def covers(self, gap: Gap) -> bool:
        return gap.kind in self.kinds and re.match(self.subject, gap.subject) is not None


@dataclass(frozen=True)
class Gap:
    """One thing that runs can exercise. `missing`: no run has exercised it. `reason` is that of a waiver, if one covers
    it."""

    kind: Kind
    path: str
    line: int
    subject: str
    missing: bool
    end: int = 0  # the last line
    extra: str = ""
    reason: str = ""

    def to_json(self, shown: Callable[[str], str]) -> dict[str, Any]:
        """The gap as data."""
        data: dict[str, Any] = {"kind": self.kind, "path": shown(self.path), "line": self.line}
        data |= {"end": self.end} if self.kind == "line" else {"subject": self.subject}
        data |= {"what": self.extra} if self.extra else {}
        return data | ({"reason": self.reason} if self.reason else {})


def points(coverage: Coverage) -> Iterator[Gap]:
    """Everything that runs can exercise, and whether it is missing."""
    for function in coverage.live():
        yield from _of_function(function)
    for uses in coverage.uses.values():
        if uses.looped:
            yield Gap("ring", uses.path, uses.line, uses.name, not uses.wrapped, extra=uses.kind)
    for kernel in coverage.kernels.values():
        yield from _of_kernel(kernel)
    if coverage.tiles:
        (path, line), *_ = coverage.tiles
        for i, kind in ((1, "ragged"), (2, "empty")):
            yield Gap(kind, path, line, "", not any(t[i] for t in coverage.tiles.values()))  # type: ignore[arg-type]


def waived(found: Iterable[Gap], waivers: Sequence[Waiver]) -> list[Gap]:
    """The same gaps. Missing ones that a waiver covers have its reason."""
    made = []
    for gap in found:
        reasons = [w.reason for w in waivers if gap.missing and w.covers(gap)]
        made.append(replace(gap, reason=reasons[0]) if reasons else gap)
    return made


def summary_of(found: Sequence[Gap]) -> Summary:
    """The short form of all points."""
    counts: dict[str, tuple[int, int]] = {}
    for kind in dict.fromkeys(_OF[kind] for kind in KINDS):
        some = [gap for gap in found if _OF[gap.kind] == kind and not gap.reason]
        if some:
            counts[kind] = sum(not gap.missing for gap in some), len(some)
    reasons = [gap.reason for gap in found if gap.reason]
    return Summary(counts, tuple(_words(found)), len(reasons), tuple(sorted(set(reasons))))


def _of_function(function: Function) -> Iterator[Gap]:
    outline = function.outline
    live = [not function.baked_out(s) for s in outline.statements]
    for statement, count, is_live in zip(outline.statements, function.counts, live, strict=True):
        if is_live:
            yield Gap("line", outline.path, statement.line, outline.name, not count, end=statement.end)

    def came(statement: int) -> bool:
        return live[statement] and function.counts[statement] > 0

    for branch in outline.branches:
        if came(branch.statement) and not function.decided(branch, False):
            false, true = function.taken(branch)
            if true and not function.decided(branch, True):  # a condition that was never true is reported by its lines
                extra = "signal" if branch.signals else ""
                yield Gap("branch", outline.path, _line(outline.statements, branch.statement), branch.text, not false,
                          extra=extra)  # fmt: skip
    for i, predicate in enumerate(outline.predicates):
        if predicate.operation and came(predicate.statement):
            for value in (False, True):
                missing = not function.outcomes[2 * i + value]
                extra = str(value).lower()
                yield Gap("predicate", outline.path, predicate.line, predicate.text, missing, extra=extra)
    for i, loop in enumerate(outline.loops):
        if came(loop.statement) and not loop.fixed and not loop.items:
            line = _line(outline.statements, loop.statement)
            yield from _of_loop(outline.path, line, loop, function.trips[3 * i : 3 * i + 3])


def _of_loop(path: str, line: int, loop: Loop, trips: Sequence[int]) -> Iterator[Gap]:
    kinds: tuple[Kind, ...] = ("no-round", "one-round", "second-round")
    for kind, count in zip(kinds, trips, strict=True):
        yield Gap(kind, path, line, loop.text, not count)


def _of_kernel(kernel: Kernel) -> Iterator[Gap]:
    path, line = kernel.place
    items: tuple[Kind, ...] = ("no-item", "one-item", "second-item")
    for kind, count in zip(items, kernel.items, strict=True):
        if kernel.has_items:
            yield Gap(kind, path, line, kernel.name, not count)
    asked: tuple[Kind, ...] = ("refusal", "steal")
    for kind, count in zip(asked, kernel.steals, strict=True):
        if kernel.asks:
            yield Gap(kind, path, line, kernel.name, not count)
    for size, ranks in kernel.ranks.items():
        for rank, count in enumerate(ranks):
            if size > 1:
                yield Gap("rank", path, line, kernel.name, not count, extra=f"rank {rank} of clusters of {size}")


def _line(statements: Sequence[Statement], number: int) -> int:
    return statements[number].line


def _words(found: Sequence[Gap]) -> Iterator[str]:
    """Texts about what is missing, one a kind."""
    files = {gap.path for gap in found if gap.missing and not gap.reason}
    for kind in KINDS:
        some = [gap for gap in found if gap.kind == kind and gap.missing and not gap.reason]
        if some:
            yield _WORDS[kind](some, len(files) > 1)


def _ranges(some: Sequence[Gap], several: bool) -> str:
    """Lines in words: 12, 14-16."""
    spans: dict[str, list[list[int]]] = {}
    for gap in sorted(some, key=lambda gap: (gap.path, gap.line)):
        known = spans.setdefault(gap.path if several else "", [])
        if known and gap.line <= known[-1][1] + 1:
            known[-1][1] = max(known[-1][1], gap.end, gap.line)
        else:
            known.append([gap.line, max(gap.line, gap.end)])
    texts = []
    for path, known in spans.items():
        text = ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in known)
        texts.append(f"{text} of {path.rpartition('/')[2]}" if path else text)
    return ", ".join(texts)


def _lines(some: Sequence[Gap], several: bool) -> str:
    text = _ranges(some, several)
    return f"line{'s' if re.search('[-,]', text) else ''} {text} never ran"


def _rings(some: Sequence[Gap], several: bool) -> str:
    names = list(dict.fromkeys(stem(gap.subject) for gap in some))
    return f"ring{'s' if len(names) > 1 else ''} {', '.join(names)} never wrapped"


def stem(name: str) -> str:
    """The name of a ring, from that of its barriers or buffers: kv of kv_full, kv_empty and kv_tiles."""
    return _PART.sub("", name) or name


def _loops(never: str) -> Callable[[Sequence[Gap], bool], str]:
    def words(some: Sequence[Gap], several: bool) -> str:
        lines = _ranges([replace(gap, end=0) for gap in some], several)
        return f"loop{'s' if len(some) > 1 else ''} of line{'s' if len(some) > 1 else ''} {lines} never ran {never}"

    return words


def _decisions(what: str) -> Callable[[Sequence[Gap], bool], str]:
    def words(some: Sequence[Gap], several: bool) -> str:
        texts = []
        for value in ("true", "false"):
            of = [gap for gap in some if (gap.extra if gap.extra in ("true", "false") else "false") == value]
            if of:
                lines = _ranges([replace(gap, end=0) for gap in of], several)
                texts.append(f"{what} of line{'s' if len(of) > 1 else ''} {lines} never {value}")
        return ", ".join(texts)

    return words


def _named(text: str) -> Callable[[Sequence[Gap], bool], str]:
    def words(some: Sequence[Gap], several: bool) -> str:
        names = ", ".join(dict.fromkeys(gap.subject for gap in some))
        return f"{text} in {names}" if len(some) > 1 else text

    return words


_WORDS: Mapping[Kind, Callable[[Sequence[Gap], bool], str]] = {
    "line": _lines,
    "ring": _rings,
    "second-item": _named("no CTA took a second item"),
    "one-item": _named("no CTA took just one item"),
    "no-item": _named("no CTA was without an item"),
    "steal": _named("no work was stolen"),
    "refusal": _named("no request for work was refused"),
    "predicate": _decisions("predicate"),
    "branch": _decisions("the condition"),
    "rank": lambda some, several: ", ".join(f"{gap.extra} had no work" for gap in some),
    "ragged": lambda some, several: "no ragged tile",
    "empty": lambda some, several: "no tile wholly outside",
    "second-round": _loops("twice"),
    "one-round": _loops("just once"),
    "no-round": _loops("0 times"),
}
