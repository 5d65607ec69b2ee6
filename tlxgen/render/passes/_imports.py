"""The order of imports."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from tlxgen.render.passes._tree import dotted

FUTURE, STDLIB, THIRD_PARTY, RELATIVE = range(4)


@dataclass
class Import:
    """One import statement: `names` are (name, asname); `statement` is the line as written, None after a merge."""

    module: str
    is_from: bool
    names: list[tuple[str, str]]
    statement: cst.SimpleStatementLine | None
    comments: list[cst.EmptyLine] = field(default_factory=list)

    @property
    def section(self) -> int:
        root = self.module.split(".")[0]
        if not root:
            return RELATIVE
        if root == "__future__":
            return FUTURE
        return STDLIB if root in sys.stdlib_module_names else THIRD_PARTY

    @property
    def key(self) -> tuple[object, ...]:
        aliased = self.is_from and bool(self.names[0][1])
        names = [_member_key(name) for name in self.names] if aliased else []
        return (self.section, self.is_from, self.module.lower(), self.module, aliased, names, self.names[0][1])

    def line(self) -> cst.SimpleStatementLine:
        if self.statement is not None:
            return self.statement
        names = ", ".join(f"{name} as {asname}" if asname else name for name, asname in self.names)
        parsed = cst.parse_statement(f"from {self.module} import {names}" if self.is_from else f"import {names}")
        assert isinstance(parsed, cst.SimpleStatementLine)
        return parsed.with_changes(leading_lines=self.comments)


def is_import(statement: cst.CSTNode) -> bool:
    """Whether a top-level line holds imports only."""
    return isinstance(statement, cst.SimpleStatementLine) and all(
        isinstance(small, (cst.Import, cst.ImportFrom)) for small in statement.body
    )


def sort_imports(lines: Sequence[cst.SimpleStatementLine]) -> list[Import]:
    """The imports in isort's order, with duplicates merged. A line that does not change keeps its node."""
    merged: dict[tuple[object, ...], Import] = {}
    for new in (one for line in lines for one in _imports(line)):
        aliased = bool(new.names[0][1])
        same = (new.module, new.is_from, new.names[0] if aliased or new.names[0][0] == "*" else None)
        old = merged.setdefault(same, new)
        if old is not new:
            old.comments += new.comments
            extra = [name for name in new.names if name not in old.names]
            if extra:
                old.names += extra
                old.statement = None
            elif new.comments:
                old.statement = old.statement and old.statement.with_changes(leading_lines=old.comments)
    for one in merged.values():
        ordered = sorted(one.names, key=_member_key)
        if ordered != one.names:
            one.names, one.statement = ordered, None
    return sorted(merged.values(), key=lambda one: one.key)


def _imports(line: cst.SimpleStatementLine) -> Iterator[Import]:
    """The imports of a line, one a module. As in isort, `from x import a, b as c` is two: `a`, and `b as c`."""
    comments = list(line.leading_lines)
    groups = [group for small in line.body for group in _groups(small)]
    for module, is_from, names in groups:
        yield Import(module, is_from, names, line if len(groups) == 1 else None, comments)
        comments = []


def _groups(small: cst.BaseSmallStatement) -> Iterator[tuple[str, bool, list[tuple[str, str]]]]:
    if isinstance(small, cst.Import):
        for alias in small.names:
            yield dotted(alias.name), False, [_name(alias)]
        return
    assert isinstance(small, cst.ImportFrom)
    module = "." * len(small.relative) + dotted(small.module)
    if isinstance(small.names, cst.ImportStar):
        yield module, True, [("*", "")]
        return
    names = [_name(alias) for alias in small.names]
    plain = [name for name in names if not name[1]]
    if plain:
        yield module, True, plain
    for name in names:
        if name[1]:
            yield module, True, [name]


def _name(alias: cst.ImportAlias) -> tuple[str, str]:
    return dotted(alias.name), dotted(alias.asname.name) if alias.asname else ""


def _member_key(name: tuple[str, str]) -> tuple[object, ...]:
    """The sort key of isort and ruff: constants, then classes, then all others."""
    own = name[0]
    rank = 0 if own.isupper() and len(own) > 1 else 1 if own[:1].isupper() else 2
    return (rank, own.lower(), own, name[1])
