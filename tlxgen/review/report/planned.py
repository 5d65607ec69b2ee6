"""The plans of both sides, each made by the side's own generator, and their differences.

For each side a child process imports that side's `tlxgen`, or this one if the side has none. If the generator itself
has changed, the present code could not show the older plans.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tlxgen.review import picture
from tlxgen.review.differences import Facts, Row, differences, sequences

from .modules import Change, Module
from .trees import Tree, blob

MOST = 80  # limit of the planned structures a side; the first of each spec come before the second of any
TIMEOUT_S = 120.0
_SCRIPT = Path(__file__).with_name("asked.py")
_OWN = Path(__file__).parents[3]  # the folder of the running package `tlxgen`


@dataclass
class PlanChange:
    """Modules whose plans have the same differences. The facts are those of the first."""

    modules: list[Module]
    rows: list[tuple[str, Row]]  # part and difference
    a: Mapping[str, Any] | None
    b: Mapping[str, Any] | None

    @property
    def marks(self) -> set[str]:
        """The changed items of a picture, in the names of `picture.draw`."""
        found = set()
        for part, (what, *_) in self.rows:
            name = what.split(" ")[0]
            found |= {f"role:{name}"} if part in ("Tasks", "Steps") else {f"ring:{name}"} if part == "Rings" else set()
            if part == "Barriers":
                found.add(f"ring:{name.rpartition('_')[0]}")
        return found


@dataclass
class Plans:
    """`changes` are the plans that differ, most modules first. In `alike` only digests differ, and no shown fact."""

    changes: list[PlanChange] = field(default_factory=list)
    alike: list[Module] = field(default_factory=list)
    unplanned: list[Module] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


class Asked:
    """Plans that two child processes are making."""

    def __init__(self, change: Change, trees: tuple[Tree, Tree], temporary: Path) -> None:
        self._wanted, self._left_out = _wanted(change)
        self._change, self._temporary = change, temporary
        self._children: dict[str, subprocess.Popen[str]] = {}
        for side, tree in zip("ab", trees, strict=True):
            if asked := list(_specs(change, side, tree, self._wanted)):
                into = temporary / side
                into.mkdir()
                self._children[side] = _start(
                    tree, asked, tree.placed(into, [one["spec"] for one in asked]), temporary / f"{side}.json"
                )

    def plans(self) -> Plans:
        """Waits for the plans."""
        plans = Plans(unplanned=list(self._left_out))
        facts = {side: self._facts(side, child, plans) for side, child in self._children.items()}
        found: dict[Any, PlanChange] = {}
        for module in self._wanted:
            a, b = (_of(facts.get(side, {}), self._change, side, module) for side in "ab")
            if (a is None and module.a) or (b is None and module.b):
                plans.unplanned.append(module)
                continue
            rows = [(part, row) for part, some in _differences(a, b) for row in some] if a and b else []
            if a and b and not rows:
                plans.alike.append(module)
                continue
            key = (module.folder, a is None) if not (a and b) else tuple(rows)
            found.setdefault(key, PlanChange([], rows, a, b)).modules.append(module)
        ranked = sorted(found.values(), key=lambda c: (not c.rows, -len(c.modules), c.modules[0].path))
        plans.changes = ranked
        return plans

    def _facts(self, side: str, child: subprocess.Popen[str], plans: Plans) -> dict[str, Any]:
        try:
            out, err = child.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            plans.remarks.append(f"plans of {side.upper()} are left out: they took longer than {TIMEOUT_S:g} s")
            return {}
        if child.returncode:
            said = err.strip().splitlines()[-1:] or [f"status {child.returncode}"]
            said = [self._named(side, line) for line in said]
            plans.remarks.append(f"plans of {side.upper()} are left out: its generator cannot be asked: {said[0]}")
            return {}
        plans.remarks += [f"plans of {side.upper()}: {self._named(side, line)}" for line in err.strip().splitlines()]
        found: dict[str, Any] = json.loads(out)
        return found

    def _named(self, side: str, line: str) -> str:
        """A message without the temporary folder of a revision."""
        return line.replace(f"{self._temporary / side}{os.sep}", "")

    def close(self) -> None:
        """Ends the child processes that are still running."""
        for child in self._children.values():
            if child.poll() is None:
                child.kill()
                child.communicate()


def _wanted(change: Change) -> tuple[list[Module], list[Module]]:
    """Structures that were added or removed, or whose plan changed: those to plan, and those beyond the limit."""
    turns: list[tuple[int, str, Module]] = []
    count: dict[str, int] = {}
    for module in change.structures():
        if module.changed("plan") or module.state in ("added", "removed"):
            count[module.folder] = count.get(module.folder, -1) + 1
            turns.append((count[module.folder], module.path, module))
    ordered = [module for _, _, module in sorted(turns, key=lambda turn: turn[:2])]
    return ordered[:MOST], ordered[MOST:]


def _specs(change: Change, side: str, tree: Tree, wanted: Sequence[Module]) -> Iterator[dict[str, Any]]:
    """The request to a side: specs with their structures and values."""
    asked: dict[str, dict[str, Any]] = {}
    for module in wanted:
        spec = _spec_of(change, side, module.folder)
        entry = module.a_entry if side == "a" else module.b_entry
        if spec in tree.files and (module.a if side == "a" else module.b) and entry:
            asked.setdefault(spec, {})[_name(module, side)] = entry.get("values") or {}
    yield from ({"spec": spec, "structures": structures} for spec, structures in asked.items())


def _name(module: Module, side: str) -> str:
    path = module.a if side == "a" else module.b
    return PurePosixPath(path or "").stem


def _spec_of(change: Change, side: str, folder: str) -> str:
    """The path of the spec that a lock names, from the root of the tree; empty if it is unknown."""
    named = list(change.locks.get((side, folder), {}).get("spec", {}))
    place = PurePosixPath(folder)
    own = next((path for path in named if PurePosixPath(path).stem == place.name), next(iter(named), ""))
    above = str(place.parent.parent)
    return own if not own or above == "." else f"{above}/{own}"


def _start(tree: Tree, asked: Sequence[Mapping[str, Any]], root: Path, question: Path) -> subprocess.Popen[str]:
    own = root if "tlxgen/__init__.py" in tree.files and not _is_this(tree) else _OWN
    path = os.pathsep.join([str(own), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    facts = Path(picture.__file__).with_name("facts.py")
    question.write_text(json.dumps({"facts": str(facts), "specs": list(asked)}))
    command = [sys.executable, "-c", _SCRIPT.read_text(encoding="utf-8")]
    with question.open() as given:
        return subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        )


def _is_this(tree: Tree) -> bool:
    """Whether the generator of a side is the running one, whose bytecode is cached."""
    theirs = {
        path: digest for path, digest in tree.files.items() if path.startswith("tlxgen/") and path.endswith(".py")
    }
    mine = {p.relative_to(_OWN).as_posix(): p for p in (_OWN / "tlxgen").rglob("*.py")}
    return theirs.keys() == mine.keys() and all(theirs[path] == blob(p.read_bytes()) for path, p in mine.items())


def _of(facts: Mapping[str, Any], change: Change, side: str, module: Module) -> dict[str, Any] | None:
    found: dict[str, Any] | None = facts.get(f"{_spec_of(change, side, module.folder)}\n{_name(module, side)}")
    return found


def _differences(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    facts_a, facts_b = dict(_parts(a)), dict(_parts(b))
    for part in facts_a:
        yield part, differences(facts_a[part], facts_b[part])
    steps = ({role["name"]: role["steps"] for role in side["roles"]} for side in (a, b))
    old, new = steps
    for name in (name for name in old if name in new):
        yield "Steps", sequences(f"{name} step", old[name], new[name])


def _parts(facts: Mapping[str, Any]) -> Iterator[tuple[str, Facts]]:
    yield (
        "Tasks",
        {r["name"]: {k: r[k] or "" for k in ("warps", "replicas", "registers", "guard")} for r in facts["roles"]},
    )
    yield "Rings", {ring["name"]: _ring(ring) for ring in facts["rings"]}
    barriers = [b for ring in facts["rings"] for b in (ring["full"], ring["empty"], ring["ready"]) if b]
    told = {"kind": "kind", "how many": "how_many", "count": "count", "bytes": "bytes"}
    yield "Barriers", {b["name"]: {k: b[told[k]] for k in told} for b in [*barriers, *facts["hand_out"]]}
    for name in ("turns", "meetings", "signals"):
        yield name.capitalize(), {one["name"]: {k: v for k, v in one.items() if k != "name"} for one in facts[name]}
    yield "Work list", {"": {**facts["work"], "cluster of CTAs": " x ".join(map(str, facts["cluster"]))}}
    yield (
        "Budgets",
        {b["name"]: {"": sum(u["amount"] for u in b["uses"]), "limit": b["limit"]} for b in facts["budgets"]},
    )
    yield "TMEM", {c["what"]: {"first": c["first"], "columns": c["count"], "over": c["over"]} for c in facts["tmem"]}


def _ring(ring: Mapping[str, Any]) -> dict[str, object]:
    fields: dict[str, object] = {key: ring[key] for key in ("slots", "banks", "space", "guard", "bytes")}
    fields["filled by"] = f"{ring['by']}, by {ring['means']}"
    fields["read by"] = ", ".join(ring["readers"])
    fields["in the place of"] = ring["over"] or ring["alias"]
    for tile in ring["tiles"]:
        shape = " x ".join(map(str, tile["shape"])) + (f" x {tile['groups']}" if tile["groups"] > 1 else "")
        fields[f"tile {tile['name']}"] = f"{shape} {tile['dtype']}"
    return fields
