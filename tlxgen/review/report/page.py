"""The page of a review: one self-contained file, for light and dark screens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from tlxgen import __version__
from tlxgen.review.picture.draw import STYLE, drawing
from tlxgen.words import counted, printable

from . import colours
from .figures import Resources, verified
from .figures import resources as resources_of
from .hunks import Group, Hunk
from .modules import Module
from .planned import MOST, PlanChange
from .review import Review
from .summary import counts

CONTEXT = 3  # unchanged lines beside a hunk
LINES = 6_000  # limit of the shown lines of source; modules beyond it are only named
INPUT_LINES = 3_000  # the same limit for specs, templates and generator
FOLDED = 500_000  # limit of the characters of unchanged lines that can be unfolded
PICTURES = 16  # limit of the changes of plans that are drawn
LISTED = 400  # limit of the groups of figures


def page(review: Review) -> str:
    """The page as HTML."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    text = resources.files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8")
    style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["safe_html"] = Markup
    diffs = _Diffs(LINES)
    sources = [diffs.group(group) for group in review.sources]
    made_of = _Diffs(INPUT_LINES, diffs)
    return environment.from_string(text).render(
        version=__version__,
        style=f"{style}\n{STYLE}\n{colours.css()}",
        a=printable(review.a),
        b=printable(review.b),
        counts=list(counts(review)),
        alerts=[(alert.weight, alert.text, listed(alert.modules)) for alert in review.alerts],
        remarks=review.remarks,
        plans=[_plan(i, change) for i, change in enumerate(review.plans.changes)],
        most=MOST,
        alike=listed(review.plans.alike),
        unplanned=listed(review.plans.unplanned),
        inputs=[made_of.group(group) for group in review.inputs],
        sources=sources,
        hidden=diffs.hidden,
        figures=[(listed(some.modules), some.rows) for some in review.compiled[:LISTED]],
        more_figures=max(0, len(review.compiled) - LISTED),
        speeds=[_speed(speed) for speed in review.speeds],
        modules=[_module(module, review) for module in sorted(review.change.structures(), key=lambda m: m.path)],
        others=", ".join(f"{name}: {count}" for name, count in sorted(review.change.others.items())),
    )


def listed(modules: Sequence[Module]) -> dict[str, Any]:
    """Modules by folder, without the folder's name in front of each."""
    folders: dict[str, list[str]] = {}
    for module in modules:
        name = module.name.removeprefix(f"{PurePosixPath(module.folder).name}_")
        folders.setdefault(module.folder, []).append(name)
    several = len(folders) > 1
    count = counted(len(modules), "module") + (f" in {len(folders)} folders" if several else "")
    return {"count": count, "number": len(modules), "folders": folders}


def _plan(number: int, change: PlanChange) -> dict[str, Any]:
    drawn = number < PICTURES
    marks = change.marks

    def picture(facts: Mapping[str, Any] | None, side: str) -> str:
        title = f"the plan of {change.modules[0].name} in {side}"
        return drawing(title, facts, marks if change.a and change.b else ()) if facts and drawn else ""

    return {
        "id": f"plan{number}",
        "modules": listed(change.modules),
        "first": change.modules[0].name,
        "state": "" if change.rows else "came" if change.b else "went",
        "rows": [(part, *row) for part, row in change.rows],
        "a": picture(change.a, "A"),
        "b": picture(change.b, "B"),
        "drawn": drawn,
    }


def _speed(speed: Any) -> dict[str, Any]:
    ratio = speed.ratio
    return {
        "source": PurePosixPath(speed.source).name,
        "what": speed.what,
        "shape": speed.shape,
        "a": f"{speed.a:,.1f}" if speed.a else "",
        "b": f"{speed.b:,.1f}" if speed.b else "",
        "ratio": f"{ratio:.3f}" if ratio else "",
        "kind": "" if not ratio else "worse" if ratio < 0.98 else "better" if ratio > 1.02 else "",
    }


def _module(module: Module, review: Review) -> dict[str, Any]:
    a, b = resources_of(module.a_entry), resources_of(module.b_entry)
    old, new = verified(module.a_entry), verified(module.b_entry)
    group = next((i for i, g in enumerate(review.sources) if module in g.modules), None)
    return {
        "name": module.name,
        "folder": module.folder,
        "state": module.state,
        "group": group,
        "device": "other" if module.changed("device") else "same" if module.a_entry.get("device") else "",
        "resources": [_turned(key, a, b) for key in ("registers", "spills", "smem", "instructions")],
        "verified": {"text": str(new) if module.state != "removed" else "", "kind": _proof(old.state, new.state)},
        "gaps": new.gaps,
    }


def _proof(old: str, new: str) -> str:
    return "worse" if new == "findings" or (old and not new) else "better" if new == "clean" and not old else ""


def _turned(key: str, a: Resources | None, b: Resources | None) -> dict[str, str]:
    """A figure before and after."""
    old, new = getattr(a, key, None), getattr(b, key, None)
    if old is None or new is None or old == new:
        return {"text": "" if old is None and new is None else f"{new if new is not None else old:,}", "kind": ""}
    return {"text": f"{old:,} → {new:,}", "kind": "worse" if new > old else "better"}


class _Diffs:
    """The shown differences of text. Each hunk is shown once, and then referred to by its number."""

    def __init__(self, room: int, before: _Diffs | None = None) -> None:
        self._room = room
        self._first = len(before._numbers) if before else 0  # numbering continues after that of others
        self._numbers: dict[Hunk, int] = {}
        self._lines = 0
        self._folded = 0
        self.hidden = 0

    def group(self, group: Group) -> dict[str, Any]:
        """A group of modules with the same differences, with the blocks to show, or none beyond the limit of lines."""
        first = group.modules[0]
        new = [i for i, hunk in enumerate(group.hunks) if hunk not in self._numbers]
        added, removed = sum(len(h.new) for h in group.hunks), sum(len(h.old) for h in group.hunks)
        room = self._lines < self._room
        blocks = list(self._blocks(group, first.path)) if room else []
        self.hidden += 0 if room else len(new)
        return {
            "modules": listed(group.modules),
            "many": len(group.modules),
            "path": first.path,
            "sort": first.sort,
            "state": first.state,
            "family": first.family,
            "like": first.like,
            "renamed": first.a if first.state == "renamed" else None,
            "sum": f"+{added} −{removed}",
            "device": any(group.is_device(i) for i in range(len(group.hunks))),
            "blocks": blocks,
        }

    def _blocks(self, group: Group, path: str) -> Iterator[dict[str, Any]]:
        at = 0  # line of the new text up to which it is shown
        for i, (hunk, place) in enumerate(zip(group.hunks, group.places, strict=True)):
            if hunk in self._numbers:
                number = self._numbers[hunk]
                yield from self._unchanged(group, at, place.first_b)
                lines = f"+{len(hunk.new)} −{len(hunk.old)}"
                yield {"kind": "again", "number": number, "where": group.where(i), "text": lines}
                at = place.end_b
                continue
            self._numbers[hunk] = number = self._first + len(self._numbers) + 1
            above = max(at, place.first_b - CONTEXT)
            following = group.places[i + 1].first_b if i + 1 < len(group.places) else len(group.new)
            below = min(place.end_b + CONTEXT, following)
            yield from self._unchanged(group, at, above)
            yield {
                "kind": "hunk",
                "number": number,
                "where": group.where(i),
                "device": group.is_device(i),
                "text": "".join(self._rows(group, path, place, above, below)),
            }
            at = below
        yield from self._unchanged(group, at, len(group.new))

    def _rows(self, group: Group, path: str, place: Any, above: int, below: int) -> Iterator[str]:
        old = colours.coloured(path, group.old[place.first_a : place.end_a], group.old[: place.first_a])
        new = colours.coloured(path, group.new[above:below], group.new[:above])
        self._lines += len(old) + len(new)
        first, end = place.first_b - above, place.end_b - above
        yield from (_row("", i + above + 1, line) for i, line in enumerate(new[:first]))
        yield from (_row("d", i + place.first_a + 1, line) for i, line in enumerate(old))
        yield from (_row("a", i + place.first_b + 1, line) for i, line in enumerate(new[first:end]))
        yield from (_row("", i + place.end_b + 1, line) for i, line in enumerate(new[end:]))

    def _unchanged(self, group: Group, first: int, end: int) -> Iterator[dict[str, Any]]:
        if first >= end:
            return
        text = "\n".join(group.new[first:end])
        self._folded += len(text)
        shown = text if self._folded <= FOLDED else ""
        yield {"kind": "fold", "count": counted(end - first, "unchanged line"), "text": shown}


def _row(kind: str, number: int, line: str) -> str:
    return f'<i class="{kind or "s"}" data-n="{number}">{line or " "}</i>'
