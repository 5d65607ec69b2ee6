"""Writes the record of a run as JSON, CSV, a markdown table and a plot."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from tlxgen.errors import ToolchainError
from tlxgen.files import write_atomic

from .comparison import Row

Json = dict[str, Any]


@dataclass(frozen=True)
class Record:
    """Rows, and the circumstances of the measurement: command, device, versions, conditions before and after."""

    head: Json
    rows: tuple[Row, ...]

    def write(self, *, json_path: Path | None, csv_path: Path | None, markdown: Path | None, plot: Path | None) -> None:
        """Writes the files whose paths are given. Raises ToolchainError for a plot without matplotlib."""
        if json_path:
            write_atomic(json_path, self.as_json().encode())
        if csv_path:
            write_atomic(csv_path, self.as_csv().encode())
        if markdown:
            write_atomic(markdown, self.as_markdown().encode())
        if plot:
            _plot(self, plot)

    def as_json(self) -> str:
        rows = ",\n  ".join(json.dumps(_rounded(row.to_json())) for row in self.rows)
        return json.dumps(self.head, indent=1)[:-2] + ',\n "rows": [\n  ' + rows + "\n ]\n}\n"

    def as_csv(self) -> str:
        out = io.StringIO()
        writer = csv.DictWriter(out, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        for row in self.rows:
            writer.writerow({**_rounded(row.to_json()), "shape": text(row.shape)})
        return out.getvalue()

    def as_markdown(self) -> str:
        lines = [f"| {' | '.join(COLUMNS)} |", "|" + " --- |" * len(COLUMNS)]
        lines += [f"| {' | '.join(c.replace('|', '/') for c in cells(row))} |" for row in self.rows]
        return "\n".join([*(f"{key}: {value}  " for key, value in self.head.items()), "", *lines, ""])


COLUMNS = (
    "shape",
    "kernel",
    "config",
    "ms",
    "TFLOP/s",
    "GB/s",
    "speedup",
    "chain ms",
    "speedup in a chain",
    "spread",
    "host us",
    "",
)


def cells(row: Row) -> tuple[str, ...]:
    """A row of a table, as text."""
    if row.latency is None:
        return text(row.shape), row.name, row.config, *[""] * 8, row.error
    numbers = (
        f"{row.latency:.4f}",
        f"{row.tflops:.1f}",
        f"{row.gbps:.0f}",
        "" if row.speedup is None else f"{row.speedup:.3f}",
        "" if row.chain is None else f"{row.chain:.4f}",
        "" if row.chain_speedup is None else f"{row.chain_speedup:.3f}",
        f"{row.spread:.1%}",
        "" if row.host_us is None else f"{row.host_us:.1f}",
    )
    return text(row.shape), row.name, row.config, *numbers, "noisy" if row.noisy else ""


def text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _rounded(row: Json) -> Json:
    return {k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in row.items()}


MOST_BARS = 16  # limit of the groups in a bar chart


def _scatter(record: Record, path: Path) -> None:
    """Plots the speed relative to the baseline against arithmetic intensity, with one point a shape."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for name in dict.fromkeys(row.name for row in record.rows):
        mine = [row for row in record.rows if row.name == name and row.gbps and ratio(row)]
        if any(ratio(row) != 1 for row in mine):  # the baseline itself is the line at 1
            axes.scatter([(r.tflops or 0) * 1e3 / (r.gbps or 1) for r in mine], [*map(ratio, mine)], s=14, label=name)
    axes.axhline(1, color="gray", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlabel("FLOP a byte")
    axes.set_ylabel("speed over the baseline, in a chain")
    axes.set_title(str(record.head.get("device", "")))
    axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)


def ratio(row: Row) -> float | None:
    """The speed of a row relative to the baseline: in a chain or, if no chain was timed, back to back."""
    return row.speedup if row.chain_speedup is None else row.chain_speedup


def require_plot(path: Path) -> None:
    """Raises ToolchainError if matplotlib is missing, or cannot write this kind of file."""
    try:
        import matplotlib
    except ImportError:
        raise ToolchainError("matplotlib is not installed", remedy="run: pip install tlxgen[plot]") from None
    matplotlib.use("Agg")
    from matplotlib.backend_bases import FigureCanvasBase

    kinds = FigureCanvasBase.get_supported_filetypes()
    if path.suffix and path.suffix[1:].lower() not in kinds:
        raise ToolchainError(f"no plot is written as {path.suffix}: {path}", remedy=f"there are {', '.join(kinds)}")


def _plot(record: Record, path: Path) -> None:
    """Plots TFLOP/s as bars, one group a shape. Many shapes are plotted as one point each."""
    require_plot(path)
    from matplotlib import pyplot

    shapes = list(dict.fromkeys(row.shape for row in record.rows))
    if len(shapes) > MOST_BARS:
        _scatter(record, path)
        return
    names = list(dict.fromkeys(row.name for row in record.rows))
    figure, axes = pyplot.subplots(figsize=(max(6, 1.5 * len(shapes)), 4.5), layout="constrained")
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        best = [max((r.tflops or 0 for r in record.rows if (r.name, r.shape) == (name, s)), default=0) for s in shapes]
        axes.bar([x + i * width for x in range(len(shapes))], best, width, label=name)
    axes.set_xticks(
        [x + 0.4 - width / 2 for x in range(len(shapes))], [text(s) for s in shapes], rotation=30, ha="right"
    )
    axes.set_ylabel("TFLOP/s")
    axes.set_title(str(record.head.get("device", "")))
    axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    pyplot.close(figure)
