"""The short form of a review, in markdown for a comment on a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tlxgen.words import counted, printable

from .hunks import Group
from .modules import Module
from .review import Review
from .summary import counts

MOST = 8  # limit of the lines of each kind
NAMED = 3  # limit of the named modules of a list
SIGNS = {"bad": "❗", "note": "▫️", "good": "✅"}


def text(review: Review) -> str:
    """The review in markdown."""
    lines = ["### Review of generated kernels", "", f"{_plain(review.a)} → {_plain(review.b)}", ""]
    if not (review.change.modules or review.change.inputs):
        return "\n".join([*lines, "No spec, template, generator file or generated module differs.", ""])
    numbers = list(counts(review))
    lines += [_row(what for what, _ in numbers), _row("---" for _ in numbers), _row(count for _, count in numbers), ""]
    lines += [f"- {SIGNS[a.weight]} {_plain(a.text[0].upper() + a.text[1:])}{_some(a.modules)}" for a in review.alerts]
    lines += [f"- {_plain(remark)}" for remark in review.remarks]
    for part in (_plans(review), _figures(review), _speeds(review), _sources(review)):
        if some := list(part):
            lines += ["", *some]
    return "\n".join([*lines, ""])


def _plans(review: Review) -> Iterator[str]:
    changes = [change for change in review.plans.changes if change.rows]
    for change in changes[:MOST]:
        rows = [
            f"{part.lower()}: {what} {old or 'none'} → {new or 'none'}" for part, (what, old, new, _) in change.rows
        ]
        more = f"; and {len(rows) - MOST} more" if len(rows) > MOST else ""
        yield f"- Plan of {_who(change.modules)}: {_plain('; '.join(rows[:MOST]))}{more}"
    yield from _more(len(changes), "change of a plan", "changes of plans")


def _figures(review: Review) -> Iterator[str]:
    found = [(row, some.modules) for some in review.compiled for row in some.rows]
    if found:
        yield from (_row(("figure", "A", "B", "change", "in")), _row(["---"] * 5))
    for row, modules in found[:MOST]:
        yield _row((*row, _who(modules)))
    yield from _more(len(found), "figure", "figures")


def _speeds(review: Review) -> Iterator[str]:
    timed = sorted((s for s in review.speeds if s.ratio), key=lambda s: s.ratio or 0)
    if timed:
        yield from (_row(("time, us", "shape", "A", "B", "A / B")), _row(["---"] * 5))
    for speed in timed[:MOST]:
        yield _row((speed.what, speed.shape, f"{speed.a:.1f}", f"{speed.b:.1f}", f"{speed.ratio:.3f}"))
    yield from _more(len(timed), "time", "times")


def _sources(review: Review) -> Iterator[str]:
    """Lines about the groups of modules, the largest ones first."""
    groups = [*review.inputs, *review.sources]
    ranked = sorted(groups, key=lambda group: -len(group.modules))
    for group in ranked[:MOST]:
        yield f"- {_who(group.modules)} ({group.modules[0].sort}, {group.modules[0].state}): {_sum(group)}"
    yield from _more(len(ranked), "group of files", "groups of files")


def _sum(group: Group) -> str:
    added, removed = sum(len(h.new) for h in group.hunks), sum(len(h.old) for h in group.hunks)
    places = dict.fromkeys(filter(None, (group.where(i) for i in range(len(group.hunks)))))
    inside = f" in {', '.join(f'`{name}`' for name in list(places)[:NAMED])}" if places else ""
    device = ", device code" if any(group.is_device(i) for i in range(len(group.hunks))) else ""
    return f"+{added} −{removed} lines, {counted(len(group.hunks), 'hunk')}{inside}{device}"


def _more(count: int, one: str, several: str) -> Iterator[str]:
    if count > MOST:
        yield f"\nAnd {count - MOST} more {one if count == MOST + 1 else several}."


def _some(modules: Sequence[Module]) -> str:
    return f": {_who(modules)}" if modules and len(modules) <= NAMED else ""


def _who(modules: Sequence[Module]) -> str:
    if len(modules) <= NAMED:
        return ", ".join(f"`{module.path}`" for module in modules)
    return f"{len(modules)} modules like `{modules[0].path}`"


def _row(cells: Iterable[object]) -> str:
    return "| " + " | ".join(_plain(str(cell)) for cell in cells) + " |"


def _plain(text: str) -> str:
    """Escapes text for markdown."""
    return re.sub(r"([|<>\\])", r"\\\1", printable(text)).replace("\n", " ")
