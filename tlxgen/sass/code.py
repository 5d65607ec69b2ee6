"""SASS as `nvdisasm -c -hex` prints it, with the control bits of each instruction. LEAF module: stdlib only.

An instruction of sm_70 and later is one 128-bit word. Bits 41 to 57 of its high half say when it may issue and what it
signals (CuAssembler's "CuInsParser", and MaxAs' "Control Codes" for the same fields of Maxwell):

    41..44  cycles to stall           49..51  scoreboard that is released when the operands have been read, 7 for none
    45      yield                     52..57  scoreboards that must be at zero before it issues, a bit each
    46..48  scoreboard that is released when the result is there, 7 for none
"""

from __future__ import annotations

import re
from dataclasses import dataclass

NONE = 7  # the number of no scoreboard

_LABEL = re.compile(r"^([.$\w]+):\s*$")
_TARGET = re.compile(r"`\(([^)]+)\)")
_INDIRECT = re.compile(r'\(\*"BRANCH_TARGETS ([^"]+)"\*\)')
_GUARD = re.compile(r"^(@!?U?P\w+)\s+")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: its address in bytes, its guard ("@!P0" or ""), and its text without the guard.

    `write` and `read` are the scoreboards that it raises when it issues and that fall when its result is there, and
    when its operands have been read; None for neither. `waits` are those that must be at zero before it issues.
    """

    address: int
    guard: str
    text: str
    write: int | None
    read: int | None
    waits: frozenset[int]

    @property
    def opcode(self) -> str:
        """With its modifiers: "SYNCS.ARRIVE.TRANS64.A1T0"."""
        return self.text.partition(" ")[0]

    @property
    def base(self) -> str:
        """Without them: "SYNCS"."""
        return self.opcode.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.guard} {self.text}".strip()


@dataclass(frozen=True)
class Code:
    """The instructions of a kernel, and the positions in them that labels name."""

    instructions: tuple[Instruction, ...]
    labels: dict[str, int]

    def targets(self, position: int) -> list[int]:
        """The positions that an instruction names by their labels, those of a jump table included."""
        text = self.instructions[position].text
        indirect = _INDIRECT.search(text)
        names = indirect[1].split(",") if indirect else _TARGET.findall(text)
        return [self.labels[name] for name in names if name in self.labels]


def parse(text: str) -> Code:
    """Reads what nvdisasm printed. Raises ValueError for an instruction whose 128 bits are not all there."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    begun: tuple[int, str] | None = None  # of the instruction whose high half is on the next line
    for line in text.splitlines():
        shown, hex_, word = line.rpartition("/* 0x")
        if not hex_:
            if found := _LABEL.match(line):
                labels[found[1]] = len(instructions)
            continue
        shown = shown.strip()
        if begun is None:
            if not shown.startswith("/*"):
                raise ValueError(f"nvdisasm printed half an instruction: {line.strip()}")
            address, _, rest = shown[2:].partition("*/")
            begun = int(address, 16), rest.strip().removesuffix(";").rstrip()
        else:
            instructions.append(_instruction(*begun, int(word.split()[0], 16)))
            begun = None
    if begun is not None or not instructions:
        raise ValueError("nvdisasm printed no whole instruction")
    return Code(tuple(instructions), labels)


def _instruction(address: int, text: str, high: int) -> Instruction:
    guard = found[1] if (found := _GUARD.match(text)) else ""
    write, read, waits = high >> 46 & 7, high >> 49 & 7, high >> 52 & 63
    return Instruction(
        address,
        guard,
        " ".join(text[len(guard) :].split()),
        None if write == NONE else write,
        None if read == NONE else read,
        frozenset(n for n in range(6) if waits >> n & 1) if waits else _NO_WAIT,
    )


_NO_WAIT: frozenset[int] = frozenset()
