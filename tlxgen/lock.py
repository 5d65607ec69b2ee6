"""The lock of a spec: what was generated from what, and what the compiler made of it. Checked in beside the modules.

`build` writes it; `compile` adds, for each structure, what it measured. A measurement belongs to the device code that
it was made of, whose digest is `device`: a build keeps it while that digest stands and drops it otherwise. A change
of a module's host side drops nothing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tlxgen.files import write_atomic

NAME = "lock.json"
ONE_LINE = 5  # depth of a compiled kernel's figures: structures, name, compiled, kernels, key
Lock = dict[str, Any]


def read(folder: Path) -> Lock:
    """The lock in `folder`; an empty one when there is none, or none that can be read."""
    try:
        return of_bytes((folder / NAME).read_bytes())
    except OSError:
        return {}


def of_bytes(data: bytes | None) -> Lock:
    """The lock that is written so; an empty one when there is none, or none that can be read."""
    try:
        lock = json.loads(data or b"")
    except ValueError:
        return {}
    return lock if isinstance(lock, dict) else {}


def to_bytes(lock: Lock) -> bytes:
    """The lock's text: keys in the order given and a compiled kernel on one line, so that its diff reads well."""
    return (_text(lock, 0) + "\n").encode()


def _text(value: Any, depth: int) -> str:
    if not isinstance(value, dict) or not value or depth == ONE_LINE:
        return json.dumps(value)
    indent = " " * (depth + 1)
    items = [f"{indent}{json.dumps(key)}: {_text(item, depth + 1)}" for key, item in value.items()]
    return "{\n" + ",\n".join(items) + "\n" + " " * depth + "}"


def write(folder: Path, lock: Lock) -> None:
    write_atomic(folder / NAME, to_bytes(lock))


def carry_over(new: Lock, old: Lock) -> Lock:
    """`new` with the compile results of `old` whose device code is still the same."""
    before = old.get("structures") or {}
    for name, entry in new["structures"].items():
        last = before.get(name) or {}
        if last.get("device") == entry["device"] and "compiled" in last:
            entry["compiled"] = last["compiled"]
    return new
