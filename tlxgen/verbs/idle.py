"""Refuses options of `tlxgen verify` and `compile` that have no effect beside others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tlxgen.errors import SpecErrors, TlxgenError
from tlxgen.verify import CHANCE, is_function, is_hand_written

_ARCH = "--arch is of FILE.py:function; specs and cases say their own architecture"


def refuse_idle(targets: Sequence[str], **given: Any) -> None:
    """Raises TlxgenError for options that have no effect. An option that was not given is None or False."""
    faults = [TlxgenError(text) for text in _idle(targets, given)]
    if faults:
        raise faults[0] if len(faults) == 1 else SpecErrors(faults)


def refuse_idle_of_compile(targets: Sequence[str], *, config: int | None, arch: str | None) -> None:
    """The same for `tlxgen compile`."""
    if config is not None and not any(map(is_hand_written, targets)):
        raise TlxgenError("--config is of hand-written kernels; of specs and generated modules each config is compiled")
    if arch and not any(map(is_function, targets)):
        raise TlxgenError(_ARCH)


def refuse_idle_of_records(**given: Any) -> None:
    """The same for the options of `tlxgen verify` that concern records in locks."""
    faults = [TlxgenError(text) for text in _idle_of_records(given)]
    if faults:
        raise faults[0] if len(faults) == 1 else SpecErrors(faults)


def _idle_of_records(given: dict[str, Any]) -> Iterator[str]:
    told = {name for name, value in given.items() if value not in (None, False)}
    partial = ("schedule", "config", "replay", "exhaustive", "skeleton")
    if given["audit"] is not None:
        for name in ("changed", "any_simulator", "seeds", "arch", "trace", "strict", "show_prints", *partial):
            if name in told:
                yield f"--{name.replace('_', '-')} has no effect beside --audit, which runs records as they say"
        return
    for name in ("seed", "since"):
        if name in told:
            yield f"--{name} needs --audit, which draws records"
    if given["changed"]:
        for name in partial:
            if name in told:
                yield f"--{name} cannot be combined with --changed: a record covers all schedules and configs"
    elif given["any_simulator"]:
        yield "--any-simulator needs --changed, which looks for records"


def _idle(targets: Sequence[str], given: dict[str, Any]) -> Iterator[str]:
    if given["replay"]:
        for name in ("seeds", "schedule", "exhaustive"):
            if given[name]:
                yield f"--{name} has no effect beside --replay, which is one run"
    elif given["exhaustive"]:
        for name in ("seeds", "schedule"):
            if given[name]:
                yield f"--{name} has no effect beside --exhaustive, which runs every order"
    elif given["seeds"] and given["schedule"] not in (None, *CHANCE):
        yield f"--seeds has no effect beside --schedule {given['schedule']}, which has no chance in it"
    if given["arch"] and not any(map(is_function, targets)):
        yield _ARCH
