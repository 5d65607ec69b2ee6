"""Compares facts about two things. It is pure, and knows no specs and no plans."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, TypeVar

from .tables import Table

T = TypeVar("T")
Facts = Mapping[str, Mapping[str, object]]  # item -> field -> value; a field without a name is the item's own value
Row = tuple[str, str, str, str]  # what, value of A, value of B, change
Key = Callable[[T], Hashable]
Round = tuple[str, Key[T], Key[T]]  # name, key of A's, key of B's
Compiled = Mapping[str, Any]  # the "compiled" entry of a structure in a lock

COLUMNS = ("part", "what", "A", "B", "change")
BY_NAME, BY_AXES, BY_ORDER = "name", "axes", "order"


def differences(a: Facts, b: Facts) -> list[Row]:
    """(what, value in `a`, value in `b`, change) for each field that differs, and for each item that only one has.

    The change is the numeric one where both values are numbers, else changed, added or removed. Items and fields are in
    the order of `a`, then of `b`.
    """
    rows: list[Row] = []
    for item in dict.fromkeys([*a, *b]):
        if item not in a or item not in b:
            side = _summary(a.get(item) or b.get(item) or {})
            rows.append((item, side, "", "removed") if item in a else (item, "", side, "added"))
            continue
        for name in dict.fromkeys([*a[item], *b[item]]):
            old, new = a[item].get(name, ""), b[item].get(name, "")
            if old != new:
                rows.append((f"{item} {name}".strip(), str(old), str(new), _change(old, new)))
    return rows


def _summary(fields: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}".strip() for name, value in fields.items() if value not in ("", None)) or "yes"


def _change(old: object, new: object) -> str:
    if isinstance(old, (int, float)) and isinstance(new, (int, float)) and not isinstance(old, bool):
        return f"{new - old:+d}" if isinstance(new - old, int) else f"{new - old:+g}"
    return "added" if old == "" else "removed" if new == "" else "changed"


def sequences(what: str, a: Sequence[str], b: Sequence[str]) -> list[Row]:
    """A row for each item of a list that was changed, added or removed, with its number in the list that has it."""
    rows: list[Row] = []
    for tag, i, i_end, j, j_end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        olds, news = list(enumerate(a[i:i_end], i + 1)), list(enumerate(b[j:j_end], j + 1))
        for old, new in zip_longest(olds, news):
            number, change = (new or old)[0], "removed" if new is None else "added" if old is None else "changed"
            rows.append((f"{what} {number}", old[1] if old else "", new[1] if new else "", change))
    return rows


def matched(a: Sequence[T], b: Sequence[T], rounds: Iterable[Round[T]]) -> list[tuple[T | None, T | None, str]]:
    """Pairs of items with equal keys, round by round, with the round's name; then unpaired items with None.

    A round is a name, a key function for `a` and one for `b`. Among equal keys the first items are paired. The result
    is in the order of `a`, then of `b`.
    """
    partner: dict[int, tuple[int, str]] = {}
    for name, key_a, key_b in rounds:
        taken, waiting = {j for j, _ in partner.values()}, dict[Hashable, list[int]]()
        for j, item in enumerate(b):
            if j not in taken:
                waiting.setdefault(key_b(item), []).append(j)
        for i, item in enumerate(a):
            if i not in partner and (same := waiting.get(key_a(item))):
                partner[i] = same.pop(0), name
    pairs: list[tuple[T | None, T | None, str]] = []
    for i, item in enumerate(a):
        j, name = partner.get(i, (-1, ""))
        pairs.append((item, b[j] if name else None, name))
    taken = {j for j, _ in partner.values()}
    return pairs + [(None, item, "") for j, item in enumerate(b) if j not in taken]


def stripped(name: str, prefix: str) -> str:
    """`name` without the spec's name in front."""
    return "" if name == prefix else name.removeprefix(f"{prefix}_")


def add(table: Table, part: str, rows: Iterable[Row]) -> None:
    """Appends `rows` under the heading `part`, which only the first row shows."""
    for row in rows:
        table.add(part, *row)
        part = ""


def figures(a: Compiled | None, b: Compiled | None, name_a: str, name_b: str) -> list[Row]:
    """Each number that differs between two compile results. Kernels with the same difference share a row.

    Kernels are paired by name (without the spec's) and constants; those left with the same name, in order.
    """
    if not a or not b:
        return []
    units_a, units_b = list(_units(a)), list(_units(b))
    rounds = [
        (BY_NAME, lambda u: stripped(u[0], name_a), lambda u: stripped(u[0], name_b)),
        (BY_ORDER, lambda u: stripped(u[0], name_a).split(" ")[0], lambda u: stripped(u[0], name_b).split(" ")[0]),
    ]
    rows: dict[Row, list[str]] = {}
    pairs = [(x, y) for x, y, _ in matched(units_a, units_b, rounds) if x and y]
    for x, y in pairs:
        for row in differences({"": dict(_numbers(x[1]))}, {"": dict(_numbers(y[1]))}):
            rows.setdefault(row, []).append(stripped(y[0], name_b))
    total = sum(bool(x[0]) for x, _ in pairs)
    return [(f"{what}{_where(names, total)}", old, new, change) for (what, old, new, change), names in rows.items()]


def _where(names: Sequence[str], total: int) -> str:
    if len(names) == total or names == [""]:
        return f", all {total} kernels" if total > 1 and names != [""] else ""
    return f", {names[0]}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _units(compiled: Compiled) -> Iterator[tuple[str, Any]]:
    """The compiled kernels by name, and the other values of the entry."""
    kernels = compiled.get("kernels")
    if isinstance(kernels, Mapping):
        yield from kernels.items()
    yield "", {k: v for k, v in compiled.items() if k != "kernels" or not isinstance(kernels, Mapping)}


def _numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, int | float]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _numbers(item, (*path, str(key).replace("_", " ")))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _numbers(item, (*path, str(i)))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield " ".join(path), value


def by(name: str, key: Key[T]) -> Round[T]:
    """A round with one key for both sides."""
    return name, key, key
