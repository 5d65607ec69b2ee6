"""Atomic operations on global memory. Each returns the value before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .addresses import addresses
from .arith import scalar
from .machine import machine

_Update = Callable[..., torch.Tensor]  # of the value before, and the operands


def _always(before: torch.Tensor, *operands: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(before, dtype=torch.bool)


def _atomic(
    what: str,
    pointer: Any,
    operands: Sequence[Any],
    mask: Any,
    sem: str | None,
    update: _Update,
    stores: _Update = _always,
) -> Any:
    """Performs an atomic operation. `stores` says which elements are stored, as only stores have release semantics."""
    m = machine()
    place = m.here()
    at, kept = addresses(pointer, mask, what)
    order, sem = m.memory.follow(m.hub), sem or "acq_rel"
    if sem != "relaxed":
        m.memory.synchronised = True
    m.hub.take("atomics")
    m.memory.record(pointer.flat, at[kept], m.worker.cta.number, place, reduces=True)
    key = m.memory.key(pointer.flat)
    if sem in ("acquire", "acq_rel"):
        order.acquire(key, at[kept].tolist())
    values = [torch.as_tensor(x).to(pointer.dtype).broadcast_to(at.shape) for x in operands]
    before = torch.zeros(at.shape, dtype=pointer.dtype)
    alone = at[kept].unique().numel() == int(kept.sum())
    for index in [kept] if alone else map(tuple, kept.nonzero().tolist()):  # those at one address one by one
        before[index] = pointer.flat[at[index]]
        pointer.flat[at[index]] = update(before[index], *(x[index] for x in values))
    if sem in ("release", "acq_rel"):
        order.release(key, at[kept & stores(before, *values)].tolist())
    if torch.equal(before[kept], pointer.flat[at[kept]]):
        m.hub.look_again()
    else:
        m.hub.changed()
        m.hub.pause()
    return scalar(before)


def _named(name: str, update: _Update) -> Callable[..., Any]:
    def operation(pointer: Any, val: Any, mask: Any = None, sem: str | None = None, scope: str | None = None) -> Any:
        return _atomic(f"tl.{name}", pointer, [val], mask, sem, update)

    operation.__name__ = name
    return operation


atomic_add = _named("atomic_add", torch.add)
atomic_max = _named("atomic_max", torch.maximum)
atomic_min = _named("atomic_min", torch.minimum)
atomic_and = _named("atomic_and", torch.bitwise_and)
atomic_or = _named("atomic_or", torch.bitwise_or)
atomic_xor = _named("atomic_xor", torch.bitwise_xor)
atomic_xchg = _named("atomic_xchg", lambda before, value: value)


def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: str | None = None, scope: str | None = None) -> Any:
    """Replaces values that equal `cmp` by `val`."""
    return _atomic("tl.atomic_cas", pointer, [cmp, val], None, sem, _exchanged, lambda before, cmp, val: before == cmp)


def _exchanged(before: torch.Tensor, wanted: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return torch.where(before == wanted, value, before)


def atomic_load(pointer: Any, sem: str) -> Any:
    """A load that is part of the order of atomics: PTX's `ld.relaxed` and `ld.acquire`."""
    return _atomic(f"ld.{sem}", pointer, [], None, sem, lambda before: before, lambda before: before != before)


_LOAD, _STORE = r"ld\.(relaxed|acquire|volatile)", r"st\.(relaxed|release|volatile)"
_REDUCE = r"(?:red|atom)\.(relaxed|acquire|release|acq_rel)"
_WHERE, _TYPE = r"(?:\.(?:cta|cluster|gpu|sys))?(?:\.global)?", r"\.[busf]32"


def _sem(text: str) -> str:
    return "relaxed" if text == "volatile" else text


# Memory accesses of inline PTX: a pattern of the name, and a function of its match, a pointer and values.
PTX: tuple[tuple[str, Callable[..., Any]], ...] = (
    (_LOAD + _WHERE + _TYPE, lambda found, at: atomic_load(at, _sem(found[1]))),
    (_STORE + _WHERE + _TYPE, lambda found, at, value: atomic_xchg(at, value, sem=_sem(found[1]))),
    (_REDUCE + _WHERE + r"\.add\.[us]32", lambda found, at, value: atomic_add(at, value, sem=found[1])),
    (_REDUCE + _WHERE + r"\.exch\.[bus]32", lambda found, at, value: atomic_xchg(at, value, sem=found[1])),
)
