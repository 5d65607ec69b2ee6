"""Draws a plan: a lane for each task, a card for each ring between two lanes, steps, and maps of memory.

Lanes and cards are on a grid whose pitch is derived from the widest card, so that texts do not overlap.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any
from xml.etree import ElementTree

from . import maps, text
from .canvas import BOLD, MONO, SANS, Canvas, number, wrapped
from .facts import Facts
from .lanes import MEMORY, lane_of, order

STYLE = resources.files(__package__).joinpath("picture.css").read_text(encoding="utf-8")

MARGIN, GAP = 24.0, 30.0
LINE, CARD_HEAD, ROW_GAP = 15.0, 24.0, 26.0
SQUARE, MOST_SQUARES = 9.0, 16
LEAST_WIDTH = 820.0
_WORDS = {
    "tma": "filled by TMA",
    "store": "by stores",
    "parts": "by stores",
    "commit": "by MMAs",
    "copy": "by tcgen05 copies",
    "remote": "by remote stores",
    "gather": "by remote stores",
    "exchange": "by stores and the other CTA",
    "async": "by cp.async",
    "signal": "without a tile",
}


@dataclass(frozen=True)
class _Card:
    """The card of a ring, a signal or an order of replicas, from the lane `by` to the lanes `to`."""

    name: str
    kind: str
    by: str
    to: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    slots: str = ""
    squares: tuple[int, int] = (0, 0)  # banks, slots of each
    returned: bool = False
    tip: str = ""

    @property
    def height(self) -> float:
        return CARD_HEAD + LINE * len(self.lines) + 4

    @property
    def width(self) -> float:
        drawn = self.squares[0] * (self.squares[1] * (SQUARE + 2) + 3)
        head = 30 + BOLD * len(self.name) + SANS * len(self.slots) + drawn
        return max(head, *(MONO * len(line) + 24 for _, line in self.lines))


def page(title: str, plans: Sequence[tuple[str, str, Facts]]) -> bytes:
    """An SVG file with the pictures of plans, one below the other. `plans` are (heading, subheading, facts)."""
    drawn = [_drawn(facts, heading, note) for heading, note, facts in plans]
    width, height = max(w for _, w, _ in drawn), sum(h for _, _, h in drawn)
    root = _root(width, height, title)
    ElementTree.SubElement(root, "style").text = STYLE
    ElementTree.SubElement(root, "rect", {"class": "back", "width": "100%", "height": "100%"})
    top = 0.0
    for canvas, _, tall in drawn:
        canvas.root.set("transform", f"translate(0 {number(top)})")
        root.append(canvas.root)
        top += tall
    return ElementTree.tostring(root, encoding="unicode").encode() + b"\n"


def drawing(title: str, facts: Facts, changed: Collection[str] = ()) -> str:
    """An <svg> element for a page that has `STYLE`. `changed` are the marked items, as role:NAME and ring:NAME."""
    canvas, width, height = _drawn(facts, "", "", changed)
    root = _root(width, height, title)
    root.append(canvas.root)
    return ElementTree.tostring(root, encoding="unicode")


def _root(width: float, height: float, title: str) -> ElementTree.Element:
    size = {"width": number(width), "height": number(height), "viewBox": f"0 0 {number(width)} {number(height)}"}
    head = {"xmlns": "http://www.w3.org/2000/svg", "class": "plan", "role": "img", "aria-label": title}
    return ElementTree.Element("svg", {**head, **size})


def _drawn(facts: Facts, heading: str, note: str, changed: Collection[str] = ()) -> tuple[Canvas, float, float]:
    canvas, cards = Canvas(), _cards(facts)
    grid = _Grid.of(facts, cards)
    y = MARGIN
    if heading:
        canvas.text(MARGIN, y + 10, heading, "t")
        y += 18
        for line in wrapped(note, grid.width - 2 * MARGIN, SANS) if note else []:
            y += 15
            canvas.text(MARGIN, y, line, "s")
        y += 12
    y = _legend(canvas, facts, cards, y + 12)
    top = y
    y = _heads(canvas, facts, grid, y, changed)
    y, ends = y + 8, y + 8
    for card in cards:
        ends += card.height + ROW_GAP
    if cards:
        _lifelines(canvas, facts, grid, y - 8, ends - 2)
    for card in cards:
        _card(canvas, grid, card, y + ROW_GAP / 2, f"ring:{card.name}" in changed)
        y += card.height + ROW_GAP
    y = _steps(canvas, facts, grid, ends + 24) if facts["roles"] else top
    for what in ("SMEM", "TMEM"):
        y = maps.draw(canvas, MARGIN, y + 26, grid.width - 2 * MARGIN, facts, what, changed)
    return canvas, grid.width, y + MARGIN


def _cards(facts: Facts) -> list[_Card]:
    cards = []
    for ring in facts["rings"]:
        small = ring["banks"] * ring["slots"] <= MOST_SQUARES
        barriers = [b for b in (ring["full"], ring["ready"], ring["empty"]) if b]
        cards.append(
            _Card(
                ring["name"],
                ring["kind"],
                ring["by"],
                tuple(map(lane_of, ring["readers"])),
                tuple(text.card(ring)),
                text.slots(ring) + (f", {ring['space'].upper()}" if ring["space"] != "smem" else ""),
                (ring["banks"], ring["slots"]) if small else (0, 0),
                bool(ring["empty"]),
                "; ".join(f"{b['name']}: {b['how_many']} mbarriers, {b['who']}" for b in barriers),
            )
        )
    for other in text.between(facts):
        to, by = tuple(other["to"]), other["by"]
        cards.append(_Card(other["name"], "signal", by, to, tuple(other["lines"]), returned=other["returned"]))
    return cards


@dataclass(frozen=True)
class _Grid:
    """The positions of lanes and of the cards between them."""

    lanes: tuple[str, ...]
    card: float  # width of a card
    head: float  # width of a lane's head
    width: float

    @staticmethod
    def of(facts: Facts, cards: Sequence[_Card]) -> _Grid:
        lanes = order(facts)
        heads = [max(map(len, text.heading(r))) * SANS + 24 for r in facts["roles"]]
        heads += [len(text.title(r)) * BOLD + 24 for r in facts["roles"]]
        head = max(140.0, *heads) if heads else 140.0
        card = max([head - 2 * GAP, 190.0, *(c.width for c in cards)])
        alone = len(lanes) == 1 and bool(cards)
        width = 2 * MARGIN + head + max(len(lanes) - 1, 0) * (card + 2 * GAP)
        width += max(0.0, card + GAP - head / 2) if alone else 0.0
        return _Grid(tuple(lanes), card, head, max(width, LEAST_WIDTH))

    @property
    def pitch(self) -> float:
        return self.card + 2 * GAP

    def x(self, lane: str) -> float:
        return MARGIN + self.head / 2 + self.lanes.index(lane) * self.pitch

    def place(self, card: _Card) -> tuple[float, bool]:
        """The left edge of a card, and whether it is left of the lane that fills it."""
        at = self.lanes.index(card.by)
        others = [self.lanes.index(lane) for lane in card.to if lane != card.by]
        nearest = min(others, key=lambda i: (abs(i - at), i), default=None)
        last = at == len(self.lanes) - 1 and len(self.lanes) > 1
        left = nearest < at if nearest is not None else last
        centre = self.x(card.by) + (-self.pitch if left else self.pitch) / 2
        return centre - self.card / 2, left


def _legend(canvas: Canvas, facts: Facts, cards: Sequence[_Card], y: float) -> float:
    cluster = " x ".join(map(str, facts["cluster"]))
    place = f"{facts['family']} on {facts['arch']}" + (f", cluster {cluster}" if cluster != "1 x 1 x 1" else "")
    work = text.work(facts)
    canvas.text(MARGIN, y, f"{place}. Work: {work}." if work else f"{place}.", "s")
    y += 20
    x = MARGIN
    words = {_WORDS[card.kind]: card.kind for card in reversed(cards) if card.kind in _WORDS}
    for word, kind in reversed(words.items()):
        canvas.rect(x, y - 9, 4, 11, f"stripe {kind}")
        canvas.text(x + 9, y, word, "s")
        x += 28 + SANS * len(word)
    if any(card.returned for card in cards):
        canvas.path([(x, y - 4), (x + 22, y - 4)], "back-line")
        canvas.text(x + 28, y, "the slot goes back", "s")
    return y + 16


def _heads(canvas: Canvas, facts: Facts, grid: _Grid, y: float, changed: Collection[str]) -> float:
    roles = {role["name"]: role for role in facts["roles"]}
    tall = 26 + 15 * max((len(text.heading(role)) for role in roles.values()), default=1)
    for lane in grid.lanes:
        role, left = roles.get(lane), grid.x(lane) - grid.head / 2
        marked = " changed" if f"role:{lane}" in changed else ""
        canvas.begin(f"lane{marked}" if role else "lane memory")
        canvas.rect(left, y, grid.head, tall, "box", round_=6)
        canvas.text(grid.x(lane), y + 18, text.title(role) if role else lane, "h mid")
        for i, line in enumerate(text.heading(role) if role else ["TMA stores" if lane == MEMORY else ""]):
            canvas.text(grid.x(lane), y + 34 + 15 * i, line, "s mid")
        canvas.end()
    return y + tall


def _lifelines(canvas: Canvas, facts: Facts, grid: _Grid, y: float, end: float) -> None:
    """Draws a bar for each replica of a task, below its head."""
    replicas = {role["name"]: min(role["replicas"], 4) for role in facts["roles"]}
    for lane in grid.lanes:
        count = replicas.get(lane, 1)
        for i in range(count):
            at = grid.x(lane) + (i - (count - 1) / 2) * 8
            canvas.rect(at - 2.5, y, 5, end - y, "life" if lane in replicas else "life memory")


def _card(canvas: Canvas, grid: _Grid, card: _Card, y: float, changed: bool) -> None:
    left, leftwards = grid.place(card)
    right, middle, bottom = left + grid.card, y + 13, y + card.height
    near, far = (right, left) if leftwards else (left, right)
    source = grid.x(card.by)
    line, head = f"line {card.kind}", f"tip {card.kind}"
    canvas.path([(source, middle), (near, middle)], line)
    canvas.arrow(near, middle, leftwards, head)
    ahead = [x for lane in card.to if lane != card.by and ((x := grid.x(lane)) < source) == leftwards]
    behind = [x for lane in card.to if lane != card.by and ((x := grid.x(lane)) < source) != leftwards]
    for reached, edge, at in ((ahead, far, middle), (behind, near, middle + 14)):
        if reached:
            end = max(reached, key=lambda x: abs(x - source))
            canvas.path([(edge, at), (end, at)], line)
            for x in reached:
                canvas.arrow(x, at, end < edge, head)
    if card.by in card.to:
        canvas.path([(near, bottom - 11), (source, bottom - 11)], line)
        canvas.arrow(source, bottom - 11, not leftwards, head)
    if card.returned:
        for reached in (ahead, behind):
            if reached:
                end = max(reached, key=lambda x: abs(x - source))
                canvas.path([(end, bottom + 7), (source, bottom + 7)], "back-line")
                canvas.arrow(source, bottom + 7, end > source, "back-tip")
    _face(canvas, card, left, y, grid.card, changed)


def _face(canvas: Canvas, card: _Card, left: float, y: float, width: float, changed: bool) -> None:
    canvas.begin("card changed" if changed else "card", card.tip)
    canvas.rect(left, y, width, card.height, "box", round_=4)
    canvas.rect(left, y, 4, card.height, f"stripe {card.kind}")
    canvas.text(left + 12, y + 17, card.name, "h", (card.slots, "s"))
    banks, slots = card.squares
    at = left + width - 8 - banks * (slots * (SQUARE + 2) + 3) + 5
    for bank in range(banks):
        for i in range(slots):
            x = at + bank * (slots * (SQUARE + 2) + 3) + i * (SQUARE + 2)
            canvas.rect(x, y + 8, SQUARE, SQUARE, f"slot {card.kind}")
    for i, (kind, line) in enumerate(card.lines):
        canvas.text(left + 12, y + CARD_HEAD + 11 + LINE * i, line, f"m {kind}")
    canvas.end()


def _steps(canvas: Canvas, facts: Facts, grid: _Grid, y: float) -> float:
    """Draws the steps of each task below its lane."""
    canvas.text(MARGIN, y, "Steps, in order", "h")
    y, end = y + 18, y + 18
    room = grid.pitch - 16 if len(grid.lanes) > 1 else grid.width - 2 * MARGIN
    roles: dict[str, Any] = {role["name"]: role for role in facts["roles"]}
    for lane in grid.lanes:
        if lane not in roles:
            continue
        at = y
        left = grid.x(lane) - grid.head / 2
        mine = min(room, grid.width - MARGIN - left)
        for step in roles[lane]["steps"]:
            for i, line in enumerate(wrapped(step, mine - 14)):
                canvas.text(left + (14 if i else 0), at, line, f"m {_sort(step)}")
                at += 14
        end = max(end, at)
    return end


def _sort(step: str) -> str:
    """The sort of a step: one that waits, one that signals others, or one that works."""
    word = step.partition(" ")[0]
    if word in ("acquire", "wait", "load_wait", "wgmma_wait", "store_wait", "take", "await", "start", "rendezvous"):
        return "waits"
    if word in ("publish", "release", "hand", "signal", "meet"):
        return "tells"
    return "works"
