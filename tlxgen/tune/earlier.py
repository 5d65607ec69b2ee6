"""Reads what earlier runs wrote about classes that this run does not tune. It stays in the file unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tlxgen.errors import TlxgenError
from tlxgen.families.tuned import same
from tlxgen.spec.renamed import values as values_now

from .lab import Device
from .space import Shape, Space

Key = tuple[Shape, int]  # a class, and the number of the part of the spec (of what is computed) that it belongs to


@dataclass(frozen=True)
class Earlier:
    """Classes with their text, faults with their class and text, and classes whose winner the spec no longer has."""

    classes: Mapping[Key, str] = field(default_factory=dict)
    faults: tuple[tuple[Key, str], ...] = ()
    gone: tuple[Shape, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)


def read(path: Path, parts: Sequence[Space], device: Device) -> Earlier:
    """Reads the file at `path`, if there is one. `parts` are the parts of a spec's space that compute the same thing.

    Raises TlxgenError if the file is not a table of this kernel and device, so that it is not overwritten.
    """
    space = parts[0]
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Earlier()
    except (OSError, UnicodeDecodeError) as error:
        raise _refused(path, str(error)) from None
    try:
        data: Any = YAML(typ="safe", pure=True).load(text)
        told = {"kernel": data["kernel"], "device": data["device"]}
        rows, faults = data["classes"], data["faults"]
        shapes = [_shape(row) for row in rows]
        values = [values_now(row["winner"]["values"], space.family.renamed) for row in rows]
        blocks, fault_blocks = _blocks(text, "- class:"), _blocks(text, "- fault:")
        failed = [(tuple(fault["shape"]), values_now(fault["values"], space.family.renamed)) for fault in faults]
    except (YAMLError, AttributeError, KeyError, TypeError, ValueError):
        raise _refused(path, "it is not a table of tlxgen tune") from None
    if told != {"kernel": space.name, "device": device.name}:
        raise _refused(path, f"it is the table of {told['kernel']} on {told['device']}")
    if len(blocks) != len(rows) or len(fault_blocks) != len(faults):
        raise _refused(path, "it is not as tlxgen tune writes it")
    of = [_part(v, parts) for v in values]
    keys = [(shape, _part(v, parts) or 0) for shape, v in failed]
    return Earlier(
        {(shape, i): block for shape, block, i in zip(shapes, blocks, of, strict=True) if i is not None},
        tuple(zip(keys, fault_blocks, strict=True)),
        tuple(shape for shape, i in zip(shapes, of, strict=True) if i is None),
        dict(data.get("versions") or {}),
    )


def _part(values: Any, parts: Sequence[Space]) -> int | None:
    """The number of the part that has a candidate with these values; None if none has."""
    own = parts[0].family.own(parts[0].document)
    found = (i for i, part in enumerate(parts) if any(same(c.values, values, own) for c in part.candidates))
    return next(found, None)


def _shape(row: Any) -> Shape:
    """The shape of a row: the one that was measured or, if a run measured several together, their class."""
    measured = [tuple(each["shape"]) for each in row["winner"].get("shapes", ())]
    return measured[0] if len(measured) == 1 else tuple(row["class"])


def _refused(path: Path, why: str) -> TlxgenError:
    return TlxgenError(f"{path} would be overwritten: {why}", remedy="move it away, or name another file with --out")


def _blocks(text: str, begin: str) -> list[str]:
    """The entries of a list that start in column 0 with `begin`, each with the indented lines below it."""
    blocks: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith(begin):
            inside = True
            blocks.append([line])
        elif inside and line.startswith(" "):
            blocks[-1].append(line)
        else:
            inside = False
    return ["\n".join(block) for block in blocks]
