"""Prints tables on a terminal, or in markdown for a review comment."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

PIPED_WIDTH = 200  # columns of output that is not a terminal


@dataclass
class Table:
    """Rows of text under headings. `note` is a line below the title.

    With `one_line`, a row is one line, whose last cell is cut at the width. `records` are the rows as data, for JSON.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    note: str = ""
    one_line: bool = False
    records: list[dict[str, object]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        self.rows.append(tuple(str(c) for c in cells))
        self.records.append(dict(zip((key(name) for name in self.columns), cells, strict=True)))

    def to_json(self) -> dict[str, object]:
        """The table as data. A part that only its first row shows is in all of its rows."""
        rows: list[dict[str, str]] = []
        for row in self.rows:
            cells = dict(zip(self.columns, row, strict=True))
            if rows and cells.get("part") == "":
                cells["part"] = rows[-1]["part"]
            rows.append(cells)
        return {"title": self.title, "note": self.note, "rows": rows}

    def markdown(self) -> str:
        escaped = [[c.replace("|", "\\|").replace("\n", " ") for c in row] for row in self.rows]
        lines = [
            "| " + " | ".join(row) + " |" for row in ([list(self.columns)] + [["---"] * len(self.columns)] + escaped)
        ]
        note = [self.note, ""] if self.note else []
        return "\n".join([f"**{self.title}**", "", *note, *lines, ""])


def key(name: str) -> str:
    """The JSON key for the name of a table or column: bytes_a_phase for 'bytes a phase'."""
    return "_".join(re.findall(r"\w+", name.lower()))


def console(stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = shutil.get_terminal_size((PIPED_WIDTH, 24)).columns if stream.isatty() else PIPED_WIDTH
    return Console(file=stream, width=width, highlight=False)


def show(tables: Sequence[Table], *, markdown: bool = False) -> None:
    """Prints the tables that have rows."""
    out = console()
    for table in (t for t in tables if t.rows):
        if markdown:
            print(table.markdown())
            continue
        title: Text | None = Text(table.title)
        if table.note:  # printed above the table, which would wrap it to its own width
            out.print(Text(table.title, style="bold"), Text(table.note), sep="\n")
            title = None
        drawn = RichTable(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
        for i, name in enumerate(table.columns):
            if table.one_line:
                cut = i == len(table.columns) - 1
                width = None if cut else max(len(cell) for cell in (name, *(row[i] for row in table.rows)))
                drawn.add_column(name, overflow="ellipsis", no_wrap=True, min_width=width)
            else:
                drawn.add_column(name, overflow="fold")
        for row in table.rows:
            drawn.add_row(*(Text(c) for c in row))
        out.print(drawn)
