"""The coverage of a target as data, for records and pages. docs/verify.md describes the keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .gaps import Waiver, points, summary_of, waived
from .seen import Coverage, Function

Shown = Callable[[str], str]  # a path -> the path to show


def to_json(coverage: Coverage, waivers: Sequence[Waiver], shown: Shown) -> dict[str, Any]:
    """The whole coverage as data, with paths replaced by `shown`."""
    found = waived(points(coverage), waivers)
    functions = sorted(coverage.live(), key=lambda f: (f.outline.path, f.outline.line))
    return {
        "summary": summary_of(found).to_json(),
        "sms": sorted(coverage.sms) if coverage.asked else [],
        "missing": [gap.to_json(shown) for gap in found if gap.missing and not gap.reason],
        "excepted": [gap.to_json(shown) for gap in found if gap.reason],
        "functions": [_function(function, shown) for function in functions],
        "rings": [
            {"name": u.name, "kind": u.kind, "path": shown(u.path), "line": u.line, "uses": u.slots, "looped": u.looped}
            for u in coverage.uses.values()
        ],
        "kernels": [
            {
                "name": k.name,
                "path": shown(k.place[0]),
                "line": k.place[1],
                "launches": k.launches,
                "ctas": k.ctas,
                "items": k.items if k.has_items else None,
                "steals": k.steals if k.asks else None,
                "ranks": {str(size): ranks for size, ranks in sorted(k.ranks.items())},
            }
            for k in coverage.kernels.values()
        ],
        "tiles": [
            {"path": shown(path), "line": line, "tiles": t} for (path, line), t in sorted(coverage.tiles.items())
        ],
    }


def _function(function: Function, shown: Shown) -> dict[str, Any]:
    outline = function.outline
    statements = outline.statements
    return {
        "name": outline.name,
        "path": shown(outline.path),
        "line": outline.line,
        "statements": [
            [s.line, s.end, None if function.baked_out(s) else count]
            for s, count in zip(statements, function.counts, strict=True)
        ],
        "branches": [
            {"line": statements[b.statement].line, "text": b.text, "fixed": bool(b.fixed), "taken": function.taken(b)}
            for b in outline.branches
        ],
        "loops": [
            {
                "line": loop.begin,
                "text": loop.text,
                "items": loop.items,
                "fixed": loop.fixed,
                "rounds": function.trips[3 * i : 3 * i + 3],
            }
            for i, loop in enumerate(outline.loops)
        ],
        "predicates": [
            {"line": p.line, "operation": p.operation, "text": p.text, "taken": function.outcomes[2 * i : 2 * i + 2]}
            for i, p in enumerate(outline.predicates)
            if p.operation
        ],
    }
