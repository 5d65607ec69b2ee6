"""Where control may go in a kernel, and what may hold where it comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from .code import Code, Instruction

_ENDS = frozenset({"EXIT", "RET", "BRX", "BRXU", "JMX", "JMXU", "BPT", "KILL"})
_JUMPS = frozenset({"BRA", "JMP"})
_CONDITION = re.compile(r"\b!?U?P\d")  # among the operands of BRA: BRA.U !UP0, `(.L_x_1)
_FROM_ELSEWHERE = frozenset({"BSSY", "LEPC"})  # they name where threads meet again, and do not go there


class FlowError(Exception):
    """Control goes where the text does not say: a jump through a register without a table of its targets."""


def successors(code: Code) -> list[tuple[int, ...]]:
    """For each position the positions that may be next. Raises FlowError.

    A call goes to its function and to what follows it; the return is in the latter, and RET goes nowhere. Threads that
    meet again by BSYNC go on behind it.
    """
    found: list[tuple[int, ...]] = []
    last = len(code.instructions) - 1
    for position, instruction in enumerate(code.instructions):
        base = instruction.base
        named = [] if base in _FROM_ELSEWHERE or base == "RET" else code.targets(position)
        if base in ("BRX", "BRXU", "JMX", "JMXU") and not named:
            raise FlowError(f"{instruction.address:04x} {instruction}: its targets are not known")
        if position < last and not _leaves(instruction):
            named.append(position + 1)
        found.append(tuple(dict.fromkeys(named)))
    return found


def _leaves(instruction: Instruction) -> bool:
    """Whether no thread goes on behind an instruction."""
    if instruction.guard and instruction.guard not in ("@PT", "@UPT"):
        return False
    base = instruction.base
    if base in _ENDS:
        return True
    if base not in _JUMPS:
        return False
    conditional = any(part in instruction.opcode for part in (".DIV", ".CONV", ".ANY"))
    return not conditional and not _CONDITION.search(instruction.text.partition("`")[0])


@dataclass(frozen=True)
class Block:
    """Instructions that run in a row: those of them that matter, and the starts of the blocks that may be next."""

    events: tuple[int, ...]
    next: tuple[int, ...]


def blocks(code: Code, matters: Callable[[Instruction], bool]) -> dict[int, Block]:
    """The basic blocks of a kernel by the positions of their starts. Raises FlowError."""
    nexts = successors(code)
    starts = {0, *code.labels.values()}
    for position, follow in enumerate(nexts):
        if follow != (position + 1,):
            starts.update(follow)
            starts.add(position + 1)
    ordered = sorted(start for start in starts if start < len(nexts))
    found = {}
    for start, end in zip(ordered, [*ordered[1:], len(nexts)], strict=True):
        events = tuple(p for p in range(start, end) if matters(code.instructions[p]))
        found[start] = Block(events, nexts[end - 1])
    return found


State = TypeVar("State")


def forward(
    parts: Mapping[int, Block],
    entry: State,
    after: Callable[[int, State], State],
    joined: Callable[[State, State], State],
) -> dict[int, State]:
    """What may hold before each block that control reaches. `after` takes an event and what holds before it."""
    before = {0: entry}
    work = [0]
    while work:
        start = work.pop()
        state = before[start]
        for position in parts[start].events:
            state = after(position, state)
        for target in parts[start].next:
            known = before.get(target)
            new = state if known is None else joined(known, state)
            if known is None or new != known:
                before[target] = new
                work.append(target)
    return before
