"""The lock of a spec, which is checked in beside the modules. It records what was generated from which inputs, and the
results of other verbs.

`build` writes it. `compile` and `verify` each add a section to a structure, for the module that they have read. A
section is valid for the code that it was made from: `compiled` for the device code, whose digest is `device`, and
`verified` for all that the simulator runs, whose digest is `subject`. A build keeps a section while that digest is
unchanged, and drops it otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tlxgen import digest
from tlxgen.errors import Location, LockError
from tlxgen.files import read_regular, write_atomic
from tlxgen.loading import HOST
from tlxgen.project import from_here

NAME = "lock.json"
PACKAGE = "__init__.py"  # imports the folder's public functions
ONE_LINE = 5  # depth of a compiled kernel's figures: structures, name, compiled, kernels, key
Lock = dict[str, Any]

# A merge conflict as git marks it. The part in the middle, if there is one, is the common ancestor.
_CONFLICT = re.compile(
    r"^<{7}(?: [^\n]*)?\n(.*?)^(?:\|{7}(?: [^\n]*)?\n.*?^)?={7}\n(.*?)^>{7}(?: [^\n]*)?(?:\n|\Z)", re.M | re.S
)


def read(folder: Path) -> Lock:
    """The lock in `folder`, which is empty if there is none. Raises LockError for a file that is not a lock."""
    found = sides(folder)
    if len(found) > 1:
        where = Location(from_here(folder / NAME).as_posix(), 1, 1)
        remedy = "tlxgen build resolves it: it rewrites the lock and keeps valid results of compile and verify"
        raise LockError("the lock has a merge conflict", location=where, remedy=remedy)
    return found[0] if found else {}


def sides(folder: Path) -> tuple[Lock, ...]:
    """The locks in `folder`: none, one, or those of both sides of a merge conflict.

    Raises LockError for another file.
    """
    path = folder / NAME
    try:
        text = read_regular(path).decode()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except UnicodeDecodeError:
        raise _error(path, 1, 1, "it is not UTF-8") from None
    except OSError as error:
        raise _error(path, 1, 1, error.strerror or str(error)) from None
    if not _CONFLICT.search(text):
        return (_parsed(path, text),)
    both = [_CONFLICT.sub(lambda found, n=n: found[n], text) for n in (1, 2)]  # type: ignore[misc]
    found: list[Lock] = []
    for text in both:
        try:
            found.append(_parsed(path, text))
        except LockError:
            continue
    if not found:
        raise _error(path, 1, 1, "it has a merge conflict, and neither side of it can be read alone")
    return (found[0], found[-1])


def parsed(data: bytes) -> Lock:
    """Parses a lock. Raises ValueError if the bytes are not a lock."""
    found = json.loads(data)
    if fault := _fault(found):
        raise ValueError(fault)
    return found  # type: ignore[no-any-return]


def conflicts(data: bytes) -> bool:
    """Whether a merge left a conflict in a file."""
    return _CONFLICT.search(data.decode(errors="replace").replace("\r\n", "\n")) is not None


def _parsed(path: Path, text: str) -> Lock:
    try:
        lock = json.loads(text)
    except json.JSONDecodeError as error:
        raise _error(path, error.lineno, error.colno, f"it is not JSON: {error.msg}") from None
    except RecursionError:
        raise _error(path, 1, 1, "it is nested too deep") from None
    except ValueError as error:  # an integer of thousands of digits
        raise _error(path, 1, 1, str(error)) from None
    if fault := _fault(lock):
        raise _error(path, 1, 1, fault)
    return lock  # type: ignore[no-any-return]


def _error(path: Path, line: int, column: int, what: str) -> LockError:
    remedy = "restore it from version control; or build --force rewrites it, without results of compile and verify"
    where = Location(from_here(path).as_posix(), line, column)
    return LockError(f"this is not a lock that tlxgen wrote: {what}", location=where, remedy=remedy)


def _fault(lock: Any) -> str:
    """Why a JSON value does not have the form of a lock; empty if it has."""
    if not isinstance(lock, dict):
        return "it is not a mapping"
    for key in ("spec", "structures", "rejected"):
        if not isinstance(lock.get(key), dict):
            return f"{key!r} is not a mapping"
    for key in ("package", "functions"):
        if not isinstance(lock.get(key, {}), dict):
            return f"{key!r} is not a mapping"
    if not isinstance(lock["rejected"].get("count"), int):
        return "'rejected.count' is not a number"
    for name, entry in lock["structures"].items():
        where = f"structures.{name}"
        if not isinstance(entry, dict):
            return f"{where!r} is not a mapping"
        if not isinstance(entry.get("source"), str) or not isinstance(entry.get("variants"), int):
            return f"{where!r} has no 'source' that is text, or no 'variants' that is a number"
        for key in ("values", "baked", "compiled", "verified"):
            if not isinstance(entry.get(key, {}), dict):
                return f"'{where}.{key}' is not a mapping"
    return ""


def made(lock: Lock) -> dict[str, str | None]:
    """Name -> digest of the files that a build made; None where an older lock has no digest."""
    files: dict[str, str | None] = {f"{name}.py": entry["source"] for name, entry in lock.get("structures", {}).items()}
    if lock:
        files[HOST] = lock.get("host")
    if "dispatcher" in lock:  # of an older lock
        files[PACKAGE] = lock["dispatcher"]
    files.update(lock.get("package", {}))
    return files


def to_bytes(lock: Lock) -> bytes:
    """The lock's text. Keys keep their order, and a compiled kernel is on one line, so that diffs are readable."""
    return (_text(lock, 0) + "\n").encode()


def _text(value: Any, depth: int) -> str:
    if not isinstance(value, dict) or not value or depth == ONE_LINE:
        return json.dumps(value)
    indent = " " * (depth + 1)
    items = [f"{indent}{json.dumps(key)}: {_text(item, depth + 1)}" for key, item in value.items()]
    return "{\n" + ",\n".join(items) + "\n" + " " * depth + "}"


def write(folder: Path, lock: Lock) -> None:
    write_atomic(folder / NAME, to_bytes(lock))


def sealed(entry: Mapping[str, Any], found: Mapping[str, Any], section: str = "compiled") -> dict[str, Any]:
    """Results about a structure with a seal, which is a digest of the results and of their code's digest.

    A merge of two locks may mix lines of both in one structure without a conflict. The seal is invalid then.
    """
    plain = {key: value for key, value in found.items() if key != "seal"}
    return {**plain, "seal": digest.of_text(json.dumps([entry.get(_SECTIONS[section]), plain]))}


def put(entry: dict[str, Any], section: str, result: Mapping[str, Any] | None) -> None:
    """Puts a result into a structure's entry, or removes it. Sections come last, in a fixed order."""
    found = {name: entry.pop(name) for name in _SECTIONS if name in entry}
    found.pop(section, None)
    if result is not None:
        found[section] = dict(result)
    entry.update({name: found[name] for name in _SECTIONS if name in found})


def holds(entry: Mapping[str, Any], old: Mapping[str, Any], section: str) -> bool:
    """Whether a section of the entry `old` is unchanged, and is about the same code as the entry `entry`.

    Of a record of verify that says what its runs were given, it is enough that kernels and launches are the same: it
    may still be a proof, and `verify --changed` finds that out.
    """
    found, of = old[section], _SECTIONS[section]
    whole = found == sealed(old, found, section) or (section == "compiled" and "seal" not in found)  # of an older lock
    alike = old.get(of) == entry.get(of) or (found.get("given") and old.get("device") == entry.get("device"))
    return bool(whole and of in entry and alike)


def carry_over(new: Lock, old: Sequence[Lock]) -> Lock:
    """`new` with the sections of `old` (of the first lock that has them) that are about the same code."""
    structures = {name: dict(entry) for name, entry in new["structures"].items()}
    for name, entry in structures.items():
        for section in _SECTIONS:
            entries = (lock.get("structures", {}).get(name, {}) for lock in old)
            if found := next((e[section] for e in entries if section in e and holds(entry, e, section)), None):
                entry[section] = sealed(entry, found, section)
    return {**new, "structures": structures}


_SECTIONS = {"compiled": "device", "verified": "subject"}  # section -> key of the digest of its code


def dropped(new: Lock, old: Sequence[Lock], section: str = "compiled") -> list[str]:
    """The structures of `new` whose results in `old` could not be kept, although their code is the same."""
    lost, of = [], _SECTIONS[section]
    for name, entry in new["structures"].items():
        before = [e for lock in old if (e := lock.get("structures", {}).get(name, {})).get(section)]
        if section not in entry and any(e.get(of) == entry[of] for e in before):
            lost.append(name)
    return lost
