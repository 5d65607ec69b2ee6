"""The figures of a change, from locks and records: compile results, verification, speed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tlxgen import proof
from tlxgen.coverage.summary import Summary
from tlxgen.review.differences import Row, figures

from .modules import Change, Module
from .trees import Tree

RESULTS = "benchmarks/results/"
QUIET = ("cubin bytes",)  # figures that change with every name


@dataclass(frozen=True)
class Resources:
    """The largest resources of a module's kernels. The number of SASS instructions is that of the largest kernel."""

    registers: int
    spills: int  # bytes stored and loaded
    stack: int
    smem: int
    tmem: int
    instructions: int
    classes: Mapping[str, int]  # SASS class -> the most of them in a kernel


@dataclass(frozen=True)
class Verified:
    """`state` is clean, findings, or empty without a valid record. `gaps` are what its runs have not exercised."""

    state: str = ""
    runs: int = 0
    gaps: str = ""
    simulator: str = ""

    def __str__(self) -> str:
        return f"{self.state}, {self.runs} runs" if self.state else "no record"


@dataclass(frozen=True)
class Speed:
    """A time on both sides, in microseconds; None on a side without one."""

    source: str
    what: str
    shape: str
    a: float | None
    b: float | None

    @property
    def ratio(self) -> float | None:
        """The speed of B over that of A."""
        return self.a / self.b if self.a and self.b else None


@dataclass(frozen=True)
class Figures:
    """Figures with the same difference in some modules."""

    modules: tuple[Module, ...]
    rows: tuple[Row, ...]


def resources(entry: Mapping[str, Any]) -> Resources | None:
    """The resources of a structure's compiled kernels in a lock."""
    compiled = entry.get("compiled")
    found = compiled.get("kernels") if isinstance(compiled, Mapping) else None
    kernels = [k for k in found.values() if isinstance(k, Mapping)] if isinstance(found, Mapping) else []
    if not kernels:
        return None

    def most(*keys: str) -> int:
        return max(sum(_integer(k.get(key)) for key in keys) for k in kernels)

    classes: dict[str, int] = {}
    for kernel in kernels:
        sass = kernel.get("sass")
        for name, count in sass.items() if isinstance(sass, Mapping) else ():
            classes[name] = max(classes.get(name, 0), _integer(count))
    total = classes.pop("total", 0)
    spills = most("spill_store_bytes", "spill_load_bytes")
    return Resources(
        most("registers"), spills, most("stack_bytes"), most("smem_bytes"), most("tmem_columns"), total, classes
    )


def _integer(value: Any) -> int:
    return value if isinstance(value, int) else 0


def verified(entry: Mapping[str, Any]) -> Verified:
    """The verification of a module in a lock, if the record is of the module's present text."""
    record = _record(entry)
    if record is None or record.subject != entry.get("subject"):
        return Verified()
    try:
        gaps = "; ".join(Summary.from_json(record.coverage).missing) if record.coverage else ""
    except (KeyError, TypeError, ValueError):
        gaps = ""
    state = "findings" if record.errors else "clean with warnings" if record.findings else "clean"
    return Verified(state, record.runs, gaps, record.simulator)


def _record(entry: Mapping[str, Any]) -> proof.Record | None:
    try:
        return proof.read(entry)
    except (KeyError, TypeError, ValidationError, ValueError):
        return None


def compiled(change: Change) -> list[Figures]:
    """The compile figures that differ. Those of the same modules are grouped, groups of most modules first."""
    found: dict[Row, list[Module]] = {}
    for module in change.structures():
        old, new = (_compiled(entry) for entry in (module.a_entry, module.b_entry))
        if old == new:
            continue
        a, b = (change.locks.get((side, module.folder), {}).get("name", "") for side in ("a", "b"))
        for row in figures(old, new, a, b):
            if not row[0].startswith(QUIET):
                found.setdefault(row, []).append(module)
    alike: dict[tuple[Module, ...], list[Row]] = {}
    for row, modules in found.items():
        alike.setdefault(tuple(modules), []).append(row)
    made = [Figures(modules, tuple(rows)) for modules, rows in alike.items()]
    return sorted(made, key=lambda f: (-len(f.modules), f.modules[0].path, f.rows))


def _compiled(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = entry.get("compiled")
    return found if isinstance(found, Mapping) else None


def speeds(a: Tree, b: Tree) -> list[Speed]:
    """Times of records of `tlxgen bench` and of tuned files that differ between the sides."""
    paths = [p for p in sorted({*a.files, *b.files}) if a.files.get(p) != b.files.get(p)]
    records = [p for p in paths if p.startswith(RESULTS) and p.endswith(".json")]
    tuned = [p for p in paths if p.startswith("tuned/") and p.endswith((".yaml", ".yml"))]
    texts = [tree.read([*records, *tuned]) for tree in (a, b)]
    found: list[Speed] = []
    for path in (*records, *tuned):
        reader = _bench if path in records else _tuned
        old, new = (dict(reader(side[path])) if path in side else {} for side in texts)
        for what, shape in dict.fromkeys([*old, *new]):
            before, after = old.get((what, shape)), new.get((what, shape))
            if before != after:
                found.append(Speed(path, what, shape, before, after))
    return found


def _bench(data: bytes) -> Iterator[tuple[tuple[str, str], float]]:
    """((kernel, shape), microseconds) of a record of `tlxgen bench`; nothing for another file."""
    try:
        record = json.loads(data)
        rows = (
            record["rows"]
            if isinstance(record, dict) and str(record.get("command", "")).startswith("tlxgen bench")
            else []
        )
        for row in rows:
            name = f"{row['name']} {row['config']}".strip()
            if isinstance(row["latency"], (int, float)):
                yield (name, " x ".join(map(str, row["shape"]))), row["latency"] * 1000
    except (ValueError, KeyError, TypeError):
        return


def _tuned(data: bytes) -> Iterator[tuple[tuple[str, str], float]]:
    """((kernel, shape), microseconds of the winner) of a file of `tlxgen tune`."""
    try:
        found = YAML(typ="safe").load(data)
        for entry in found["classes"]:
            for timed in entry["winner"]["shapes"]:
                yield (str(found["kernel"]), " x ".join(map(str, timed["shape"]))), float(timed["us"])
    except (YAMLError, ValueError, KeyError, TypeError):
        return
