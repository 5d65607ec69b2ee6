"""Structures and their variants, and what they are called after: the values that set them apart."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tlxgen.plan import Plan
from tlxgen.spec import CommonSpec, DataPath

Value = int | bool


@dataclass(frozen=True)
class Variant:
    """One point of a spec's axes: the values of the axes and guards, its spec and plan, and why it cannot be, if so.

    `blamed`: of one without a plan, for each of the reasons the path of what brought it, in the document.
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
    """The variants that share one source, which differs among them only in the values of constexpr parameters."""

    name: str  # of the module
    values: Mapping[str, Any]  # of the axes that set it apart
    plan: Plan  # what the source is rendered from: every guard on, so that every role is there
    baked: Mapping[str, Value]  # parameters that the source holds as constants
    variants: tuple[Variant, ...] = field(repr=False)  # those that fit, in the order of the axes
    tuned: Mapping[tuple[int, ...], int] = field(default_factory=dict)  # shape -> the variant that was fastest on it
    tuned_on: tuple[str, int] = ("", 0)  # name and SMs of the device that this was measured on
    family: str = ""

    def variant_of(self, constants: Mapping[str, Value]) -> tuple[Variant, bool]:
        """The variant of a row of CONFIGS, and whether it has just these constants.

        For a row that somebody wrote by hand it is the variant that has most in common with it.
        """

        def alike(variant: Variant) -> int:
            own = constants_of(variant)
            return sum(own.get(name) == value for name, value in constants.items())

        found = max(self.variants, key=alike)
        return found, constants_of(found) == dict(constants)


def by_problem(structures: Sequence[Structure], computed: Callable[[Any], Any]) -> list[list[Structure]]:
    """Structures that compute the same, by what `computed` says of their specs, together, in the order in which they
    come. A kernel of another architecture computes something else: no device can launch both."""
    sets: dict[str, list[Structure]] = {}
    for structure in structures:
        spec = structure.variants[0].spec
        assert spec
        sets.setdefault(repr((spec.arch, computed(spec))), []).append(structure)
    return [*sets.values()]


def constants_of(variant: Variant) -> dict[str, Value]:
    """What a variant's row of CONFIGS says."""
    return {p.name: p.value for p in variant.plan.parameters if not p.baked} if variant.plan else {}


def names(name: str, apart: Sequence[Mapping[str, Any]]) -> list[str]:
    """A module name for each structure: the spec's name, and what sets the structure apart."""
    varying = {p for values in apart for p in values if len({text_of(v.get(p)) for v in apart}) > 1}
    made = ["_".join([name, *(slug(p, v) for p, v in values.items() if p in varying)]) for values in apart]
    taken: set[str] = set()
    for i, candidate in enumerate(made):
        numbered = (f"{candidate}_{n}" for n in itertools.count(2))
        made[i] = next(name for name in itertools.chain([candidate], numbered) if name not in taken)
        taken.add(made[i])
    return made


def slug(path: str, value: Any) -> str:
    """What a value is called in a name."""
    last = path.rsplit(".", 1)[-1]
    if isinstance(value, bool):
        return last if value else f"no_{last}"
    if isinstance(value, (int, float)):
        return f"{last}{value}".replace(".", "p").replace("-", "m")
    word = text_of(value)
    if word == "none" and last != "kind":
        return f"no_{last}"
    return "".join(c if c.isalnum() else "_" for c in word).strip("_").lower() or f"no_{last}"


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value of an axis, key by key: one that is a mapping sets several."""
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
