"""Loads that may be in flight where their slot may be given back, by the scoreboards of the control bits.

What orders a load before a release differs by what is loaded and by how it is released; docs/sass.md has the sources.

- TMEM (LDTM): nothing but its scoreboard. tcgen05.ld is asynchronous in PTX, too, and tcgen05.wait::ld is what waits.
  The loads of a task's other warps count as well: one thread may arrive for all of them behind BAR.SYNC, which does not
  wait for scoreboards.
- SMEM (LDS, LDSM): a MEMBAR, which is half of fence.proxy.async, orders them before everything. An arrive in the own
  CTA goes down the same pipeline behind them, in order, and so does BAR.SYNC. That holds for threads which store into
  the slot then, but not for TMA, which has another way to SMEM. An arrive in another CTA, a commit, a TMA load and the
  cluster's barrier are not in order with them at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .code import Code, Instruction
from .flow import Block, blocks, forward
from .opcodes import LOCAL, REFILL, SMEM_LOADS, TMEM_LOADS, is_load, is_sync, release_of

_DEPBAR = re.compile(r"^DEPBAR\.LE SB(\d), (0x[0-9a-f]+)(?:, \{([\d,]+)\})?")
_MOST = 63  # that a scoreboard counts to


@dataclass(frozen=True)
class _State:
    """The loads in flight before an instruction: the own warp's, each with the least number of operations that raised
    its scoreboard since, and those of the task's other warps. `late`: those of SMEM that no BAR.SYNC came behind."""

    own: dict[int, int]
    others: frozenset[int] = frozenset()
    late: frozenset[int] = frozenset()

    def joined(self, other: _State) -> _State:
        own = dict(self.own)
        for load, younger in other.own.items():
            own[load] = min(younger, own.get(load, _MOST))
        return _State(own, self.others | other.others, self.late | other.late)


@dataclass(frozen=True)
class Flying:
    """A load that may be in flight at a release.

    `others`: in another warp of the task, from before a BAR.SYNC. `in_order`: other threads' stores come behind it all
    the same, and only TMA may not.
    """

    release: int
    load: int
    others: bool = False
    in_order: bool = False


def in_flight(code: Code) -> tuple[list[Flying], set[int]]:
    """What may be in flight at releases, and the positions of all loads and releases that control reaches.

    Raises FlowError.
    """
    parts = blocks(code, _matters)
    before = forward(parts, _State({}), lambda p, state: _after(code, p, state), _State.joined)
    found = [flying for start, state in before.items() for flying in _at_releases(code, parts[start], state)]
    return found, {position for start in before for position in parts[start].events}


def _at_releases(code: Code, block: Block, state: _State) -> Iterator[Flying]:
    for position in block.events:
        if how := release_of(code.instructions[position]):
            flying = _issued(code, position, state)
            for load in flying.own:
                if code.instructions[load].base in SMEM_LOADS:
                    yield Flying(position, load, in_order=how == LOCAL or load not in flying.late)
                elif how != REFILL:  # a TMA load writes SMEM alone
                    yield Flying(position, load)
            for load in flying.others - flying.own.keys() if how != REFILL else ():
                yield Flying(position, load, others=True)
        state = _after(code, position, state)


def _matters(instruction: Instruction) -> bool:
    if instruction.waits or instruction.write is not None or instruction.read is not None:
        return True
    return instruction.base in ("BAR", "MEMBAR", "DEPBAR", "UCGABAR_WAIT") or bool(release_of(instruction))


def _issued(code: Code, position: int, state: _State) -> _State:
    """The loads in flight when an instruction issues, by what it waits for."""
    waits = code.instructions[position].waits
    if not waits:
        return state
    own = {p: n for p, n in state.own.items() if code.instructions[p].write not in waits}
    return _State(own, state.others, state.late)


def _after(code: Code, position: int, state: _State) -> _State:
    """The loads in flight behind an instruction."""
    instruction = code.instructions[position]
    state = _issued(code, position, state)
    own, others, late = state.own, state.others, state.late
    if found := _DEPBAR.match(instruction.text):
        own = _counted(code, own, int(found[1]), int(found[2], 16), found[3] or "")
    elif instruction.base == "MEMBAR":
        own = {p: n for p, n in own.items() if code.instructions[p].base in TMEM_LOADS}
    if is_sync(instruction) or instruction.base == "UCGABAR_WAIT":
        # Other warps have run the same code up to here, and perhaps no further: in flight there is what is here.
        others, late = frozenset(p for p in own if code.instructions[p].base in TMEM_LOADS), frozenset()
    if own and (instruction.write is not None or instruction.read is not None):
        raised = (instruction.write, instruction.read)
        own = {p: min(_MOST, n + (code.instructions[p].write in raised)) for p, n in own.items()}
    if is_load(instruction):
        own, late = {**own, position: 0}, late | {position}
    return _State(own, others, late)


def _counted(code: Code, own: dict[int, int], scoreboard: int, at_most: int, empty: str) -> dict[int, int]:
    """What DEPBAR.LE leaves in flight: a scoreboard that counts in order down to `at_most`, and others to nothing."""
    none = {int(n) for n in empty.split(",") if n}

    def done(load: int, younger: int) -> bool:
        write = code.instructions[load].write
        return write in none or (write == scoreboard and younger >= at_most)

    return {load: younger for load, younger in own.items() if not done(load, younger)}
