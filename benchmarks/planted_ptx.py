"""Releases that come too early, planted in PTX: an arrive is moved up to, or before, the loads that it must follow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ARRIVE = re.compile(r"^\s*(?:@!?%p\d+ )?mbarrier\.arrive\.(?!expect_tx)")
_LOADS = {
    "TMEM": re.compile(r"^\s*tcgen05\.ld\."),
    "SMEM": re.compile(r"^\s*(?:@!?%p\d+ )?(?:ld\.shared|ldmatrix)\."),
}
_EDGE = re.compile(r"try_wait|test_wait|^\$L__BB\d+_\d+:|^\s*(?:@!?%p\d+ )?bra\b|mbarrier\.arrive|tcgen05\.commit")
_DEFINES = re.compile(r"\s*([a-z][\w.]*)\s+(%\w+),(.*)")
_REGISTER = re.compile(r"%(?:r|p|rd)\d+")
BEFORE, BEHIND = "before the first load", "behind the last load, before it is waited for"


@dataclass(frozen=True)
class Plant:
    """PTX with one release moved. `loads`: of which space; `release`: of this CTA or of a cluster's."""

    ptx: str
    loads: str
    release: str
    where: str


def plants(ptx: str) -> Iterator[Plant]:
    """Each arrive with the loads that it follows in a stretch without a wait, a jump or another release.

    It is moved before the first of them, and behind the last one of TMEM without the waits for loads in between: an
    arrive in the own CTA behind a load of SMEM is in order.
    """
    lines = ptx.splitlines()
    for number, line in enumerate(lines):
        if not _ARRIVE.match(line):
            continue
        start = number
        while not _EDGE.search(lines[start - 1]):
            start -= 1
        loads = {space: [n for n in range(start, number) if found.match(lines[n])] for space, found in _LOADS.items()}
        release = "another CTA" if "shared::cluster" in line else "own CTA"
        either = sorted(n for some in loads.values() for n in some)
        if not either:
            continue
        space = "TMEM" if loads["TMEM"] else "SMEM"
        if (moved := _moved(lines, number, either[0])) is not None:
            yield Plant(moved, space, release, BEFORE)
        last = either[-1] + 1
        if (loads["TMEM"] or release != "own CTA") and (moved := _moved(lines, number, last)) is not None:
            yield Plant(moved, space, release, BEHIND)


def _moved(lines: list[str], number: int, to: int) -> str | None:
    """The lines with one of them further up, and with it what computes its operands; None where a load does."""
    needed = set(_REGISTER.findall(lines[number]))
    taken = [number]
    for above in range(number - 1, to - 1, -1):
        if (defines := _DEFINES.match(lines[above])) and defines[2] in needed:
            if defines[1].startswith(("ld", "mov.s32", "tcgen05")):
                return None
            taken.append(above)
            needed |= set(_REGISTER.findall(defines[3]))
    moved = sorted(taken)
    rest = [line for n, line in enumerate(lines[to:], to) if n not in moved]
    return "\n".join([*lines[:to], *(lines[n] for n in moved), *rest]) + "\n"
