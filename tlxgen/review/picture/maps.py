"""Maps of shared and tensor memory, to scale. Aliases are drawn below the buffers whose place they take."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .canvas import MONO, Canvas
from .facts import Facts
from .text import plural, size

BAR, RULER, ROW = 26.0, 20.0, 17.0
HUES = 8  # number of colours, used in turns


@dataclass(frozen=True)
class Part:
    """A range of a memory: its start, its length, its buffer, and the buffer that it aliases, if any."""

    what: str
    first: int
    count: int
    of: str
    over: str = ""


def smem(facts: Facts) -> tuple[list[Part], int]:
    """Shared memory tile by tile in the order of the plan, then its other uses; and its size.

    Sizes are to scale, but positions are not addresses, since the compiler places buffers.
    """
    budget = next(b for b in facts["budgets"] if b["name"] == "SMEM")
    parts: list[Part] = []
    end = 0
    for ring in facts["rings"]:
        if ring["space"] != "smem" or ring["alias"]:
            continue
        for tile in ring["tiles"]:
            for _ in range(ring["slots"] * ring["banks"] * ring["copies"]):
                parts.append(Part(tile["name"], end, tile["smem"], ring["name"]))
                end += tile["smem"]
    for use in budget["uses"]:
        if not use["what"].startswith("ring "):
            parts.append(Part("", end, use["amount"], use["what"]))
            end += use["amount"]
    return [*parts, *_aliases(facts, parts)], budget["limit"]


def _aliases(facts: Facts, parts: list[Part]) -> Iterator[Part]:
    """The tiles of rings that alias others: one after the other from the first buffer on, or slot by slot."""
    for ring in facts["rings"]:
        if ring["space"] != "smem" or not ring["alias"]:
            continue
        root = _root(facts, ring)
        under = [p for p in parts if p.of == root and (not ring["over"] or p.what == ring["over"])]
        for tile in ring["tiles"]:
            count = ring["slots"] * ring["banks"] * ring["copies"]
            slotwise = ring["over"] or tile["smem"] * count > sum(p.count for p in under)
            at = under[0].first if under else 0
            for i in range(min(count, len(under)) if slotwise else count):
                first = under[i].first if slotwise else at + i * tile["smem"]
                yield Part(tile["name"], first, tile["smem"], ring["name"], ring["over"] or ring["alias"])


def _root(facts: Facts, ring: Facts) -> str:
    """The ring that owns the buffers of `ring`."""
    rings = {r["name"]: r for r in facts["rings"]}
    name = ring["alias"]
    for _ in rings:
        name = rings[name]["alias"] if name in rings and rings[name]["alias"] else name
    return str(name)


def tmem(facts: Facts) -> tuple[list[Part], int]:
    """The used columns of tensor memory, and their total number; empty without such memory."""
    limit = next((b["limit"] for b in facts["budgets"] if b["name"] == "TMEM"), 0)
    owner = {t["name"]: r["name"] for r in facts["rings"] if r["space"] == "tmem" for t in r["tiles"]}
    parts = []
    for c in facts["tmem"]:
        name = c["what"].partition("[")[0]
        parts.append(Part(name, c["first"], c["count"], owner.get(name, c["what"]), c["over"]))
    return parts, limit


def draw(
    canvas: Canvas, x: float, y: float, width: float, facts: Facts, what: str, changed: Collection[str] = ()
) -> float:
    """Draws the map of "SMEM" or "TMEM". Returns the y below it."""
    parts, limit = smem(facts) if what == "SMEM" else tmem(facts)
    if not limit:
        return y
    used = max((p.first + p.count for p in parts), default=0)
    top = max(limit, used)
    title = "Shared memory" if what == "SMEM" else "Tensor memory"
    canvas.text(x, y, title, "h", (_sum(what, used, limit), "over" if used > limit else "s"))
    y += 10
    hues = _hues(parts)
    rows = _rows(parts)
    canvas.rect(x, y, width * limit / top, BAR, "free")
    for part, row in zip(parts, rows, strict=True):
        left, wide = x + width * part.first / top, width * part.count / top
        kind = f"part hue{hues[part.of]}" if part.of in hues else "part other"
        canvas.begin(kind + (" changed" if f"ring:{part.of}" in changed else ""), _tip(what, part))
        canvas.rect(left, y + row * (BAR + 2), max(wide, 0.8), BAR, "cell")
        if part.what and len(part.what) * MONO + 4 <= wide:
            canvas.text(left + wide / 2, y + row * (BAR + 2) + 17, part.what, "m mid")
        canvas.end()
    y += (max(rows, default=0) + 1) * (BAR + 2)
    _ruler(canvas, x, y, width, top, limit, what)
    return _key(canvas, x, y + RULER + 16, width, parts, hues, what, limit - used)


def _sum(what: str, used: int, limit: int) -> str:
    unit = "B" if what == "SMEM" else "columns of 128 lanes x 32 bits"
    note = "; sizes to scale, in the order of the plan" if what == "SMEM" else ""
    over = f", {used - limit:,} too many" if used > limit else ""
    return f"{used:,} of {limit:,} {unit}{over}{note}"


def _tip(what: str, part: Part) -> str:
    where = f"{part.count:,} B" if what == "SMEM" else f"columns {part.first} to {part.first + part.count - 1}"
    name = f"{part.of}: {part.what}" if part.what else part.of
    return f"{name}, {where}" + (f", in the place of {part.over}" if part.over else "")


def _hues(parts: list[Part]) -> dict[str, int]:
    """Ring -> colour. Other uses of memory have none."""
    rings = dict.fromkeys(p.of for p in parts if p.what)
    return {name: i % HUES for i, name in enumerate(rings)}


def _rows(parts: list[Part]) -> list[int]:
    """The row of each part: the first row that is free at its range."""
    ends: list[list[tuple[int, int]]] = []
    rows = []
    for part in parts:
        first, last = part.first, part.first + part.count
        start = 1 if part.over else 0
        row = next(
            (i for i in range(start, len(ends)) if all(last <= a or first >= b for a, b in ends[i])),
            max(len(ends), start),
        )
        while len(ends) <= row:
            ends.append([])
        ends[row].append((first, last))
        rows.append(row)
    return rows


def _ruler(canvas: Canvas, x: float, y: float, width: float, top: int, limit: int, what: str) -> None:
    step = 32 * 1024 if what == "SMEM" else limit // 8
    for mark in range(0, top + 1, step):
        at = x + width * mark / top
        canvas.path([(at, y), (at, y + 4)], "tick")
        label = f"{mark // 1024}" if what == "SMEM" else str(mark)
        if mark + step > top and what == "SMEM":
            label += " KiB"
        canvas.text(at, y + 15, label, "s mid" if mark else "s")


def _key(
    canvas: Canvas, x: float, y: float, width: float, parts: list[Part], hues: dict[str, int], what: str, left: int
) -> float:
    """Draws the key of colours with their sizes, in as many columns as fit."""
    entries: dict[tuple[str, str, str], list[int]] = {}
    for part in parts:
        entries.setdefault((part.of, part.what, part.over.partition("[")[0]), []).append(part.count)
    told = []
    for (of, name, over), counts in entries.items():
        label = f"{of}.{name}" if name and name != of else of
        amount = size(counts[0]) if what == "SMEM" else plural(counts[0], "column")
        times = f"{len(counts)} x {amount}" if len(counts) > 1 else amount
        told.append((of, f"{label}: {times}" + (f", in the place of {over}" if over else "")))
    told.append(("", f"free: {size(left) if what == 'SMEM' else plural(left, 'column')}")) if left > 0 else None
    wide = max(len(text) for _, text in told) * MONO + 28
    columns = max(1, int(width // wide))
    for i, (of, text) in enumerate(told):
        at, line = x + i % columns * wide, y + i // columns * ROW
        kind = f"part hue{hues[of]}" if of in hues else "part other" if of else "part"
        canvas.begin(kind)
        canvas.rect(at, line - 9, 11, 11, "cell" if of else "free")
        canvas.end()
        canvas.text(at + 17, line, text, "m")
    return y + (len(told) + columns - 1) // columns * ROW + 8
