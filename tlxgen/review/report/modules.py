"""The differences of two trees: generated modules with their entries in locks, and the inputs of the generator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from tlxgen import lock
from tlxgen.loading import HOST
from tlxgen.review.folders import ALIKE

from .trees import Tree

State = Literal["changed", "added", "removed", "renamed", "records"]
Sort = Literal["kernels", "host code", "package", "specs", "templates", "tuned files", "generator"]
INPUTS: dict[str, Sort] = {  # first folder of a path -> sort
    "specs": "specs",
    "templates": "templates",
    "tuned": "tuned files",
    "tlxgen": "generator",
}
GENERATED: tuple[Sort, ...] = ("kernels", "host code", "package")


@dataclass(frozen=True, eq=False)
class Module:
    """A file of a generated folder, or an input of the generator, on both sides. Its path is None where it is missing.

    `a_entry` and `b_entry` are the locks' entries of a structure's module, or empty. `like` is, for an added module,
    the path in B of the module that its text is compared with, or None. In the `state` records only the lock's entry
    differs, not the text.
    """

    folder: str
    name: str
    sort: Sort
    state: State
    a: str | None
    b: str | None
    a_entry: Mapping[str, Any]
    b_entry: Mapping[str, Any]
    family: str = ""
    like: str | None = None

    @property
    def path(self) -> str:
        return self.b or self.a or ""

    def changed(self, key: str) -> bool:
        """Whether both locks have the digest `key`, with different values."""
        old, new = self.a_entry.get(key), self.b_entry.get(key)
        return bool(old and new and old != new)


@dataclass
class Change:
    """All differences: `modules` of generated folders, and `inputs` of the generator. `texts` are by side and path, and
    `others` is the number of other files that differ, by first folder."""

    modules: list[Module] = field(default_factory=list)
    inputs: list[Module] = field(default_factory=list)
    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    locks: dict[tuple[str, str], lock.Lock] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)

    def text(self, side: Literal["a", "b"], path: str | None) -> str:
        return self.texts.get((side, path), "") if path else ""

    def structures(self) -> list[Module]:
        return [m for m in self.modules if m.sort == "kernels"]


def change(a: Tree, b: Tree) -> Change:
    """The differences of two sides."""
    found = Change()
    differing = [p for p in sorted({*a.files, *b.files}) if a.files.get(p) != b.files.get(p)]
    folders = {_folder(path) for tree in (a, b) for path in tree.files if path.endswith(lock.NAME)}
    generated = [p for p in differing if _folder(p) in folders and p.endswith((".py", lock.NAME))]
    touched = sorted({_folder(path) for path in generated})
    for side, tree in (("a", a), ("b", b)):
        _read_locks(found, side, tree, touched)
        wanted = [p for p in generated if p.endswith(".py")]
        if side == "b":  # candidates that an added module is compared with
            came = {_folder(p) for p in wanted if p not in a.files}
            wanted += [p for folder in came for p in b.files if _folder(p) == folder and p.endswith(".py")]
        found.texts |= {(side, p): data.decode(errors="replace") for p, data in tree.read(wanted).items()}
    families, files = _families(found), _by_folder(generated)
    for folder in touched:
        found.modules += _modules(found, folder, a, b, files[folder], families.get(folder, ""))
    _inputs(found, a, b, [p for p in differing if p not in set(generated)])
    return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _at(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def _read_locks(found: Change, side: str, tree: Tree, folders: Sequence[str]) -> None:
    for path, data in tree.read(_at(folder, lock.NAME) for folder in folders).items():
        try:
            found.locks[side, _folder(path)] = lock.parsed(data)
        except (ValueError, RecursionError) as error:
            found.remarks.append(f"{tree.shown}: {path} is left out: {str(error).splitlines()[0]}")


def _by_folder(paths: Sequence[str]) -> dict[str, list[str]]:
    """Folder -> its Python files."""
    files: dict[str, list[str]] = {}
    for path in paths:
        files.setdefault(_folder(path), []).extend([path] if path.endswith(".py") else [])
    return files


def _modules(found: Change, folder: str, a: Tree, b: Tree, files: Sequence[str], family: str) -> Iterator[Module]:
    entries = {s: found.locks.get((s, folder), {}).get("structures", {}) for s in ("a", "b")}
    went = [p for p in files if p not in b.files and _sort(p) == "kernels"]
    came = [p for p in files if p not in a.files and _sort(p) == "kernels"]
    moved = dict(_renamed(found, went, came, entries))
    for path in files:
        name = PurePosixPath(path).stem
        if path in moved.values():
            continue
        old, new = path if path in a.files else None, moved.get(path) or (path if path in b.files else None)
        state: State = "renamed" if path in moved else "added" if not old else "removed" if not new else "changed"
        shown = PurePosixPath(new).stem if new else name
        before, after = entries["a"].get(name, {}) if old else {}, entries["b"].get(shown, {}) if new else {}
        like = _most_alike(found, folder, path, b, set(came)) if state == "added" else None
        yield Module(folder, shown, _sort(path), state, old, new, before, after, family, like)
    seen = {PurePosixPath(p).stem for p in files}
    for name, after in entries["b"].items():
        before = entries["a"].get(name)
        path = _at(folder, f"{name}.py")
        if name not in seen and before is not None and _records(before) != _records(after):
            yield Module(folder, name, "kernels", "records", path, path, before, after, family)


def _records(entry: Mapping[str, Any]) -> Any:
    """The sections of a lock that other verbs wrote, without seals and digests, which mean nothing to readers."""
    compiled = {k: v for k, v in (entry.get("compiled") or {}).items() if k != "seal"}
    verified = entry.get("verified") or {}
    return (
        compiled,
        {k: verified.get(k) for k in ("cases", "runs", "coverage", "findings", "schedules")},
        entry.get("plan"),
    )


def _sort(path: str) -> Sort:
    name = PurePosixPath(path).name
    return "host code" if name == HOST else "package" if name.startswith("_") else "kernels"


def _families(found: Change) -> dict[str, str]:
    """Folder -> family, from the template in a module's header: 'template gemm/module.py.j2'."""
    families: dict[str, str] = {}
    for (_, path), text in found.texts.items():
        if _folder(path) not in families and "\ntemplate " in text[:600]:
            families[_folder(path)] = text[:600].partition("\ntemplate ")[2].split()[0].split("/")[0]
    return families


def _renamed(
    found: Change, went: Sequence[str], came: Sequence[str], entries: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Pairs of renamed modules of a folder: those with the same values, then the most similar of the others."""
    left = list(came)
    old = {p: _lines(found.texts.get(("a", p), "")) for p in went}
    new = {p: _lines(found.texts.get(("b", p), "")) for p in came}
    for path in went:
        values = entries["a"].get(PurePosixPath(path).stem, {}).get("values")
        same = [p for p in left if values and entries["b"].get(PurePosixPath(p).stem, {}).get("values") == values]
        alike = sorted((-_alike(old[path], new[p]), p) for p in left)
        best = same[:1] or [p for ratio, p in alike[:1] if -ratio >= ALIKE]
        if best:
            left.remove(best[0])
            yield path, best[0]


def _most_alike(found: Change, folder: str, path: str, b: Tree, came: set[str]) -> str | None:
    """The module of the folder that an added one is compared with: an earlier one, or one added before it."""
    mine = _lines(found.texts.get(("b", path), ""))
    others = [p for p in sorted(b.files) if _folder(p) == folder and p.endswith(".py") and _sort(p) == _sort(path)]
    others = [p for p in others if p not in came or p < path]
    ranked = sorted((-_alike(mine, _lines(found.texts.get(("b", p), ""))), p) for p in others if p != path)
    return ranked[0][1] if ranked and -ranked[0][0] >= ALIKE else None


def _lines(text: str) -> Counter[str]:
    return Counter(filter(None, map(str.strip, text.splitlines())))


def _alike(a: Counter[str], b: Counter[str]) -> float:
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 1.0


def _inputs(found: Change, a: Tree, b: Tree, paths: Sequence[str]) -> None:
    told = [p for p in paths if p.split("/")[0] in INPUTS and "/" in p]
    for side, tree in (("a", a), ("b", b)):
        found.texts |= {(side, p): data.decode(errors="replace") for p, data in tree.read(told).items()}
    for path in told:
        old, new = (path if path in tree.files else None for tree in (a, b))
        state: State = "added" if not old else "removed" if not new else "changed"
        name = PurePosixPath(path).name
        found.inputs.append(Module(_folder(path), name, INPUTS[path.split("/")[0]], state, old, new, {}, {}))
    found.others.update(p.split("/")[0] for p in paths if p not in set(told))
