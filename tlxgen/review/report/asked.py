"""Run as a script: prints the facts of plans of the tlxgen that PYTHONPATH names, which may be of an older revision.

Reads {"facts": path of picture/facts.py, "specs": [{"spec": path, "structures": {name: values}}]} from standard input
and prints {"spec\\nname": facts or null}. Attributes with other names in an older tlxgen are left out.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any


def _facts_module(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("facts_of_plans", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _readers() -> Any:
    try:
        from tlxgen.plan import sketch
    except ImportError:
        return _drains
    return getattr(sketch, "readers", None) or getattr(sketch, "_readers", None) or _drains


def _drains(plan: Any, ring: Any) -> list[str]:
    return [drain.role for drain in ring.drains] or [ring.fill.role]


def _registers(plan: Any) -> dict[str, int]:
    try:
        from tlxgen.review.registers import granted

        return granted(plan)
    except Exception:
        return {role.name: role.registers for role in plan.roles if role.registers}


def _plans(path: str, structures: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The first plan of each structure: of the points that have its values, or else of the whole spec."""
    from tlxgen import families
    from tlxgen.spec import load

    document = load(Path(path))
    missing = {}
    for name, values in structures.items():
        try:
            yield name, _alone(families.of(document), document, name, values)
        except Exception:  # its interfaces differ, so the whole spec is planned below
            missing[name] = values
    if missing:
        with _first_plans(document):
            kernels = families.of(document).kernels(document)
        for structure in kernels.structures:
            if structure.name in missing:
                yield structure.name, structure.variants[0].plan


def _alone(family: Any, document: Any, name: str, values: dict[str, str]) -> Any:
    variants = document.data.get("variants") or {}
    won = _won(document, name)
    if document.tuned and not won:
        raise LookupError("which of its points are kept follows from all of them")
    axes = {path: _kept(path, some, values) for path, some in (variants.get("axes") or {}).items()}
    for path in axes:
        if won and all(path in each for each in won):
            axes[path] = [v for v in axes[path] if any(each[path] == v for each in won)]
    data = {**document.data, "variants": {**variants, "axes": axes}}
    alone = replace(document, data=data, tuned=None)
    with _first_plans(None if won else alone):
        kernels = family.kernels(alone)
    found = [s for s in kernels.structures if s.values == values]
    (structure,) = found or kernels.structures  # with several it would be ambiguous
    fits = (v for v in structure.variants if not won or any(_has(v.values, each) for each in won))
    return next(fits).plan


@contextmanager
def _first_plans(document: Any) -> Iterator[None]:
    """Plans a structure once, until its first variant fits: the others then have the same plan, and nobody reads it.

    Does nothing without a document, for one with a tuned file, whose variants are chosen by their plans, and in an
    older tlxgen that plans in another way.
    """
    from tlxgen.families.base import Family

    plan = getattr(Family, "plan", None)
    if document is None or document.tuned or plan is None:
        yield
        return
    fitting: dict[int, tuple[Any, Any]] = {}

    @functools.wraps(plan)
    def once(self: Any, *given: Any, **named: Any) -> Any:
        structure = named.get("baked")  # one object for all variants of a structure
        if structure is None:
            return plan(self, *given, **named)
        if id(structure) not in fitting:
            found = plan(self, *given, **named)
            if found.reasons:
                return found
            fitting[id(structure)] = structure, found  # kept, so that no other object gets its id
        return fitting[id(structure)][1]

    Family.plan = once  # type: ignore[method-assign]
    try:
        yield
    finally:
        Family.plan = plan  # type: ignore[method-assign]


def _has(values: Any, wanted: dict[str, Any]) -> bool:
    return all(values[path] == value for path, value in wanted.items() if path in values)


def _won(document: Any, name: str) -> list[dict[str, Any]]:
    """The values of each winner of a structure in a tuned file. Its other points are not in a module."""
    classes = document.tuned.data["classes"] if document.tuned else []
    return [c["winner"]["values"] for c in classes if c["winner"]["structure"] == name]


def _kept(path: str, values: list[Any], wanted: dict[str, str]) -> list[Any]:
    """The values of an axis that a structure has."""
    inside = {key[len(path) + 1 :]: text for key, text in wanted.items() if key.startswith(path + ".")}
    if path in wanted:
        return [v for v in values if _text(v) == wanted[path]]
    if inside:
        return [v for v in values if all(_text(_within(v, key)) == text for key, text in inside.items())]
    return values


def _text(value: Any) -> str:
    """A value in the form of locks."""
    if isinstance(value, (list, tuple)):
        return "+".join(map(_text, value))
    if isinstance(value, dict):
        return "+".join(f"{key}_{_text(inner)}" for key, inner in value.items())
    return "" if value is None else str(value)


def _within(value: Any, path: str) -> Any:
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def main() -> None:
    asked = json.load(sys.stdin)
    warnings.simplefilter("ignore")
    # Each spec asks for the families that packages bring along, and reads the files of all packages.
    importlib.metadata.entry_points = functools.cache(importlib.metadata.entry_points)  # type: ignore[assignment]
    facts_of, readers = _facts_module(asked["facts"]).facts_of, _readers()
    found = {}
    for each in asked["specs"]:
        try:
            for name, plan in _plans(each["spec"], each["structures"]):
                found[each["spec"] + "\n" + name] = facts_of(plan, _registers(plan), readers)
        except Exception as error:  # the error of one spec does not affect others
            print(f"{each['spec']}: {error}".splitlines()[0], file=sys.stderr)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
