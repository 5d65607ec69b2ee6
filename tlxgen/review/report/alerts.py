"""Alerts for reviewers: resources that grew, instructions that disappeared, and missing proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .figures import Resources, Speed, resources, verified
from .modules import Change, Module

Weight = Literal["bad", "note", "good"]
SLOWER = 0.98  # ratio of speeds below which a time is reported
# SASS classes whose absence means that a kernel works in another way: products, TMA, barriers.
TELLING = ("HGMMA", "QGMMA", "UTCHMMA", "UTCQMMA", "UTCOMMA", "UTMALDG", "UTMASTG", "USETMAXREG", "WARPGROUP")


@dataclass(frozen=True)
class Alert:
    """A sentence, and the modules that it concerns. `weight` is its severity."""

    weight: Weight
    text: str
    modules: tuple[Module, ...] = ()


def alerts(change: Change, speeds: Sequence[Speed]) -> list[Alert]:
    """The alerts of a change, the most severe first."""
    found = [*_resources(change), *_proofs(change), *_locks(change), *_speeds(speeds), *_device(change)]
    order: tuple[Weight, ...] = ("bad", "note", "good")
    return sorted(found, key=lambda alert: order.index(alert.weight))


def _resources(change: Change) -> Iterator[Alert]:
    both = [(m, a, b) for m in change.structures() if (a := resources(m.a_entry)) and (b := resources(m.b_entry))]
    cases: list[tuple[Weight, str, Callable[[Resources, Resources], bool]]] = [
        ("bad", "spills are new, or more, in {}", lambda a, b: b.spills > a.spills),
        ("note", "a thread has more registers in {}", lambda a, b: b.registers > a.registers),
        ("note", "SMEM is more in {}", lambda a, b: b.smem > a.smem),
        ("note", "instructions are at least 10 % more in {}", lambda a, b: b.instructions > 1.1 * a.instructions),
        ("good", "spills are gone, or fewer, in {}", lambda a, b: b.spills < a.spills),
    ]
    for weight, text, applies in cases:
        if some := tuple(m for m, a, b in both if applies(a, b)):
            yield Alert(weight, text.format(_modules(some)), some)
    for name in TELLING:
        if some := tuple(m for m, a, b in both if a.classes.get(name) and not b.classes.get(name)):
            yield Alert("bad", f"{name} is gone from the SASS of {_modules(some)}", some)
    came = [m for m in change.structures() if m.state == "added" and (r := resources(m.b_entry)) and r.spills]
    if came:
        yield Alert("bad", f"registers spill in {_modules(came)} that came", tuple(came))


def _proofs(change: Change) -> Iterator[Alert]:
    now = [(m, verified(m.a_entry), verified(m.b_entry)) for m in change.structures() if m.state != "removed"]
    if some := tuple(m for m, _, b in now if b.state == "findings"):
        yield Alert("bad", f"verify has findings in {_modules(some)}", some)
    if some := tuple(m for m, a, b in now if a.state and not b.state):
        yield Alert("bad", f"there was a record of verify, and is none that holds, of {_modules(some)}", some)
    if some := tuple(m for m, a, b in now if not a.state and not b.state):
        yield Alert("note", f"there is no record of verify of {_modules(some)}", some)
    if some := tuple(m for m, a, b in now if b.gaps and not a.gaps):
        yield Alert("note", f"runs leave something unseen that they did not before, in {_modules(some)}", some)
    if now and all(b.state == "clean" for _, _, b in now):
        yield Alert("good", "every kernel module that differs has a clean record of verify")


def _locks(change: Change) -> Iterator[Alert]:
    if not change.modules and change.inputs:
        yield Alert("note", "no generated module differs, though files do that they are made of")
    touched = [m for m in change.structures() if m.state in ("changed", "renamed", "added")]
    stale = [m for m in touched if m.changed("device") and resources(m.a_entry) and not resources(m.b_entry)]
    if stale:
        text = "device code differs, and compile results are not there yet, of {}; tlxgen compile makes them"
        yield Alert("note", text.format(_modules(stale)), tuple(stale))


def _device(change: Change) -> Iterator[Alert]:
    both = [m for m in change.structures() if m.a_entry.get("device") and m.b_entry.get("device")]
    same = tuple(m for m in both if not m.changed("device"))
    if both and len(same) == len(both):
        yield Alert("good", f"the device code of all {len(both)} kernel modules is as it was")
    elif same:
        yield Alert("good", f"the device code of {len(same)} of {len(both)} kernel modules is as it was", same)


def _speeds(speeds: Sequence[Speed]) -> Iterator[Alert]:
    slower = [s for s in speeds if s.ratio and s.ratio < SLOWER]
    faster = [s for s in speeds if s.ratio and s.ratio > 1 / SLOWER]
    if slower:
        yield Alert("bad", f"{len(slower)} of {len(speeds)} recorded times are longer by 2 % and more")
    if faster:
        yield Alert("good", f"{len(faster)} of {len(speeds)} recorded times are shorter by 2 % and more")


def _modules(some: Sequence[Module]) -> str:
    return "1 module" if len(some) == 1 else f"{len(some)} modules"
