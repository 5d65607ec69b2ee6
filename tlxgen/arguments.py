"""What verbs take on the command line: kinds of arguments, what is read off their texts, and what a shell completes."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from typer.core import TyperCommand, TyperGroup

from tlxgen.errors import SpecError, TlxgenError

LONGEST_S = 1_000_000  # of a limit of time: what waits can count so far

Specs = Annotated[list[Path], typer.Argument(metavar="SPEC...", help="Spec files, or folders of them.")]
Shapes = Annotated[
    Optional[list[str]],
    typer.Option("--shapes", help="A problem, such as 4096x4096x4096 (repeatable, or by commas); see below."),
]
Out = Annotated[Optional[Path], typer.Option("--out", help="Folder for generated/NAME. Default: beside specs/.")]


def words_for(incomplete: str) -> list[str]:
    """What a shell offers for `explain`."""
    from tlxgen.verbs.explain import complete

    return complete(incomplete)


def verbs_for(incomplete: str) -> list[str]:
    """What a shell offers for a verb."""
    from tlxgen.doctor import NEEDS

    return [name for name in NEEDS if name.startswith(incomplete)]


def kernels_for(incomplete: str) -> list[str]:
    """What a shell offers for a kernel family."""
    from tlxgen import families

    return [name for name in families.names() if name.startswith(incomplete)]


class OfShapes(TyperCommand):
    """A command whose help ends with what the extents of a shape are, family by family."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from tlxgen import families
        from tlxgen.families.kit.extents import meaning

        rows = []
        for name in families.names():
            with contextlib.suppress(Exception):  # a plug-in that does not load is told of where it is used
                rows += [(name, meaning(found))] if (found := families.load(name).problem_extents) else []
        with formatter.section("Shapes"):
            formatter.write_dl(rows)


class Verbs(TyperGroup):
    """The verbs. No argument is empty: it would be taken for the current folder, or for an option not given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for word in args:
            if not word.strip() or re.fullmatch(r"--[a-z-]+=\s*", word):
                of = f" {word.rstrip().rstrip('=')}" if word.strip() else ""
                raise typer.BadParameter(f"an empty argument{of}; is a variable of the shell not set?")
        return super().parse_args(ctx, args)


def shapes_of(texts: list[str] | None, spec: Path) -> list[tuple[int, ...]]:
    """Shapes of a spec's problem as the command line has them. Raises TlxgenError for another form."""
    if not texts:
        return []
    from tlxgen import families
    from tlxgen.spec import load

    return families.of(load(spec, tuned=False)).read_shapes(texts)


def seconds_of(text: str) -> float:
    """A time as the command line has it: 60, 60s, 10m, 1h. Raises TlxgenError for another form."""
    number, unit = (text[:-1], text[-1]) if text[-1:].isalpha() else (text, "s")
    scale = {"s": 1, "m": 60, "h": 3600}.get(unit)
    try:
        seconds = float(number) * (scale or 0)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise TlxgenError(f"{text!r} is not a time", remedy="write 60s, 10m or 1h")
    return seconds


def files_of(specs: list[Path]) -> list[Path]:
    """The files among `specs`, and those in its folders, in a fixed order. Raises SpecError for a folder without."""
    files: list[Path] = []
    for path in specs:
        inside = path.glob("*.yaml") if os.path.isdir(path) else [path]
        found = sorted(p for p in inside if p == path or not p.name.endswith(".verify.yaml"))
        if not found:
            raise SpecError(f"no spec in the folder {path}: it has no *.yaml")
        files += found
    return files
