"""Shapes of SVG as XML elements. Numbers have one format, so that equal pictures have equal bytes."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from xml.etree import ElementTree

from tlxgen.words import printable

MONO, SANS, BOLD = 6.7, 6.5, 7.9  # width of a letter in pixels, for a wide font
HEAD = 5.0  # length of an arrow's head


class Canvas:
    """A growing picture. Coordinates are pixels, from the top left."""

    def __init__(self) -> None:
        self.root = ElementTree.Element("g")
        self._open = [self.root]

    def begin(self, kind: str, tip: str = "") -> None:
        """Starts a group, with a tip that a browser shows."""
        group = ElementTree.SubElement(self._open[-1], "g", {"class": kind})
        if tip:
            ElementTree.SubElement(group, "title").text = printable(tip)
        self._open.append(group)

    def end(self) -> None:
        self._open.pop()

    def rect(self, x: float, y: float, width: float, height: float, kind: str, *, round_: float = 0) -> None:
        extents = {"x": x, "y": y, "width": width, "height": height, **({"rx": round_} if round_ else {})}
        self._add("rect", kind, {key: number(value) for key, value in extents.items()})

    def text(self, x: float, y: float, text: str, kind: str, then: tuple[str, str] = ("", "")) -> None:
        """A line of text. `then` continues it in another class."""
        line = self._add("text", kind, {"x": number(x), "y": number(y)})
        line.text = printable(text)
        if then[0]:
            ElementTree.SubElement(line, "tspan", {"class": then[1], "dx": "7"}).text = printable(then[0])

    def path(self, points: Sequence[tuple[float, float]], kind: str) -> None:
        data = " ".join(f"{'L' if i else 'M'}{number(x)} {number(y)}" for i, (x, y) in enumerate(points))
        self._add("path", kind, {"d": data})

    def arrow(self, x: float, y: float, leftwards: bool, kind: str) -> None:
        """The head of an arrow whose tip is at (x, y)."""
        back = x + (HEAD * 1.5 if leftwards else -HEAD * 1.5)
        data = f"M{number(x)} {number(y)} L{number(back)} {number(y - HEAD * 0.8)} "
        self._add("path", kind, {"d": f"{data}L{number(back)} {number(y + HEAD * 0.8)} Z"})

    def _add(self, tag: str, kind: str, attributes: dict[str, str]) -> ElementTree.Element:
        return ElementTree.SubElement(self._open[-1], tag, {"class": kind, **attributes})


def number(value: float) -> str:
    """A coordinate, to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def wrapped(text: str, width: float, letter: float = MONO) -> list[str]:
    """Wraps a text to lines of at most `width` pixels."""
    return textwrap.wrap(text, max(8, int(width / letter)), break_long_words=True) or [""]
