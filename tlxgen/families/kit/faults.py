"""Checks for faults that specs of all families can have, in names, guards, targets, registers and extents."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tlxgen.arch import Arch
from tlxgen.spec import CommonSpec, Fault

from . import names as taken
from .axes import Axis

Rule = tuple[str, object, str]  # the dotted path that is blamed, whether the rule is broken, and why


def where(*rules: Rule) -> list[Fault]:
    """Returns a fault for each of the rules that is broken."""
    return [(tuple(path.split(".")), why) for path, broken, why in rules if broken]


def foreign(*rules: Rule) -> list[Fault]:
    """The same for keys that belong to another target. The remedy is to remove the key, so that its default applies."""
    return [(path, f"{why}; remove the key") for path, why in where(*rules)]


def name(spec: CommonSpec) -> Iterator[Fault]:
    """Yields a fault for a name that a generated module, or Python, defines itself."""
    template = taken.TEMPLATE.format(kernel=spec.kernel)
    if spec.name in taken.of_modules(taken.folder(type(spec).__module__), template) or hasattr(builtins, spec.name):
        yield ("name",), f"the module needs the name {spec.name} for something else"


def guards(spec: CommonSpec, axes: Sequence[Axis] = (), of: Mapping[str, str] | None = None) -> Iterator[Fault]:
    """Yields faults for guards that no task has, or whose names the kernel uses itself.

    `of` maps the path that names a guard to the guard, for the spec's optional tasks; None for a family without guards.
    """
    template = taken.TEMPLATE.format(kernel=spec.kernel)
    known = {*taken.of_constants(taken.folder(type(spec).__module__), template), *(a.parameter for a in axes)}
    for path, guard in (of or {}).items():
        if guard in known:
            yield tuple(path.split(".")), f"the kernel needs the name {guard} for something else"
        known.add(guard)
    own = sorted((of or {}).values())
    for given in spec.guards:
        if given not in own:
            has = "no task of this family has a guard" if of is None else "no task of this spec has a guard"
            has = f"this spec has {', '.join(own)}" if own else has
            hint = ", and the default task cannot have one" if given.startswith("LOAD") and of is not None else ""
            yield ("guards", given), f"no task is guarded by {given}: {has}{hint}"


def target(spec: CommonSpec, *archs: str) -> Iterator[Fault]:
    """Yields a fault for a target that the family does not support."""
    if spec.arch not in archs:
        text = f"the {spec.kernel} family does not target {spec.arch} yet; it targets {', '.join(archs)}"
        yield ("arch",), text


def registers(requests: Mapping[str, int | None]) -> Iterator[Fault]:
    """Yields faults for register requests, by dotted path, that setmaxnreg does not accept. None is no request."""
    least, most, step = Arch.setmaxnreg_min, Arch.setmaxnreg_max, Arch.setmaxnreg_step
    for path, asked in requests.items():
        if asked is not None and (asked % step or not least <= asked <= most):
            yield tuple(path.split(".")), f"setmaxnreg takes a multiple of {step} in {least}..{most}, not {asked}"


def powers_of_two(spec: object, paths: Iterable[str], what: str) -> Iterator[Fault]:
    """Yields faults for extents that are not powers of two. `what` names one, such as "a tile extent"."""
    for path in paths:
        value = Axis(path).of(spec)
        if value & (value - 1):
            yield tuple(path.split(".")), f"{what} is a power of two, not {value}"
