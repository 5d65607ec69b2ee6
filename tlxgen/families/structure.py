"""Structures, their variants, and their names, which are made from the values in which structures differ."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tlxgen.plan import Plan
from tlxgen.spec import CommonSpec, DataPath

Value = int | bool
LONGEST = 40  # characters of a word in a name: an expression may be an axis value


@dataclass(frozen=True)
class Variant:
    """One point of a spec's axes: the values of axes and guards, its spec and plan, and the reasons against it.

    `blamed` has, for a variant without a plan, the path in the document of the key that caused each reason.
    """

    values: Mapping[str, Any]
    spec: CommonSpec | None
    plan: Plan | None
    reasons: tuple[str, ...]
    blamed: tuple[DataPath, ...] = ()

    @property
    def label(self) -> str:
        return ", ".join(f"{k}={text_of(v)}" for k, v in self.values.items()) or "the only variant"


@dataclass(frozen=True)
class Structure:
    """The variants that share one source. They differ only in the values of constexpr parameters."""

    name: str  # the module's name
    values: Mapping[str, Any]  # values of the axes in which it differs from other structures
    plan: Plan  # the plan that the source is rendered from; every guard is on, so it has all roles
    baked: Mapping[str, Value]  # parameters that are constants of the source
    variants: tuple[Variant, ...] = field(repr=False)  # the variants that fit, in the order of the axes
    tuned: Mapping[tuple[int, ...], int] = field(default_factory=dict)  # shape -> index of its fastest variant
    tuned_on: tuple[str, int] = ("", 0)  # name and number of SMs of the device of the measurement
    family: str = ""

    def variant_of(self, constants: Mapping[str, Value]) -> tuple[Variant, bool]:
        """The variant of a row of CONFIGS, and whether it has exactly these constants.

        For a row that was written by hand, the variant is the one with the most constants in common.
        """

        def alike(variant: Variant) -> int:
            own = constants_of(variant)
            return sum(own.get(name) == value for name, value in constants.items())

        found = max(self.variants, key=alike)
        return found, constants_of(found) == dict(constants)


def by_problem(structures: Sequence[Structure], computed: Callable[[Any], Any]) -> list[list[Structure]]:
    """Groups structures that compute the same thing (for which `computed` returns the same), in their order.

    Structures of two architectures are never in one group, since no device can launch both.
    """
    sets: dict[str, list[Structure]] = {}
    for structure in structures:
        spec = structure.variants[0].spec
        assert spec
        sets.setdefault(repr((spec.arch, computed(spec))), []).append(structure)
    return [*sets.values()]


def constants_of(variant: Variant) -> dict[str, Value]:
    """The constants in a variant's row of CONFIGS."""
    return {p.name: p.value for p in variant.plan.parameters if not p.baked} if variant.plan else {}


def names(name: str, apart: Sequence[Mapping[str, Any]]) -> list[str]:
    """A module name for each structure: the spec's name, and the values in which the structure differs."""
    varying = {p for values in apart for p in values if len({text_of(v.get(p)) for v in apart}) > 1}
    made = ["_".join([name, *(slug(p, v) for p, v in values.items() if p in varying)]) for values in apart]
    taken: set[str] = set()
    for i, candidate in enumerate(made):
        numbered = (f"{candidate}_{n}" for n in itertools.count(2))
        made[i] = next(name for name in itertools.chain([candidate], numbered) if name not in taken)
        taken.add(made[i])
    return made


def slug(path: str, value: Any) -> str:
    """The word for a value in a name."""
    last = path.rsplit(".", 1)[-1]
    if isinstance(value, bool):
        return last if value else f"no_{last}"
    if isinstance(value, (int, float)):
        return f"{last}{value}".replace(".", "p").replace("-", "m")
    word = text_of(value)
    if word == "none" and last != "kind":
        return f"no_{last}"
    made = "".join(c if c.isalnum() else "_" for c in word).strip("_").lower() or f"no_{last}"
    return made if len(made) <= LONGEST else re.sub("_+", "_", made)[:LONGEST].strip("_")


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The keys and values that an axis value sets. A value that is a mapping sets several keys."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(f"{path}.{key}", inner)
    else:
        yield path, value


def text_of(value: Any) -> str:
    """A value as it is compared and shown."""
    if isinstance(value, (list, tuple)):
        return "+".join(text_of(v) for v in value)
    if isinstance(value, dict):
        return "+".join(f"{k}_{text_of(v)}" for k, v in value.items())
    return "" if value is None else str(value)
