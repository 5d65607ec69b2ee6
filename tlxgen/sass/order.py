"""Slots that are given back before they are read at all: a wait, an arrive with nothing in between, then the loads.

A task that waits for a slot and arrives before it has read or written TMEM or SMEM gives something back that it has not
used; a load that comes then, before the next wait, has no slot that is its own. Which slot an mbarrier guards is not in
the code, so that only the plain case is told: an arrive behind anything that was read or written is taken for right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .code import Code
from .flow import Block, blocks, forward
from .opcodes import TMEM_LOADS, is_load, is_plain_arrive, is_sync, is_wait, touches

_State = frozenset[tuple[int, bool]]
_OPEN: tuple[int, bool] = (-1, False)  # a wait, and nothing read or written since


@dataclass(frozen=True)
class Behind:
    """A load behind the arrive that gave its slot back."""

    release: int
    load: int


def read_behind(code: Code) -> list[Behind]:
    """The loads that come behind an arrive with nothing read or written before it. Raises FlowError.

    What may hold is a set: _OPEN, and each arrive that came upon it, with whether BAR.SYNC came behind. Data that other
    warps have stored in SMEM may be loaded behind that.
    """
    parts = blocks(code, lambda i: touches(i) or is_wait(i) or is_sync(i) or is_plain_arrive(i))
    nothing: _State = frozenset()
    before = forward(parts, nothing, lambda p, state: _after(code, p, state), frozenset.union)
    return sorted(
        {behind for start, state in before.items() for behind in _at_loads(code, parts[start], state)},
        key=lambda behind: (behind.release, behind.load),
    )


def _at_loads(code: Code, block: Block, state: _State) -> Iterator[Behind]:
    for position in block.events:
        if is_load(instruction := code.instructions[position]):
            tmem = instruction.base in TMEM_LOADS
            yield from (Behind(arrive, position) for arrive, synced in state if arrive >= 0 and (tmem or not synced))
        state = _after(code, position, state)


def _after(code: Code, position: int, state: _State) -> _State:
    instruction = code.instructions[position]
    if is_wait(instruction):
        return frozenset({_OPEN})
    if touches(instruction):
        return frozenset()
    if is_sync(instruction):
        return frozenset(one if one == _OPEN else (one[0], True) for one in state)
    return frozenset((position, False) if one == _OPEN else one for one in state)
