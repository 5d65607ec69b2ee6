"""How fbtriton divides the register file among the tasks of a warp-specialised kernel.

This module models two passes of fbtriton 3.7.4: AllocateWarpGroups.cpp, which computes the registers of each task, and
ConvertWarpSpecializeToLLVM.cpp, which emits setmaxnreg. tests/compile/test_registers_against_ptx.py compares it with
the PTX of real compiles. It is pure and imports nothing of tlxgen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

REGISTER_FILE = 64 * 1024  # 32-bit registers of an SM
THREADS_PER_WARP = 32
WARPGROUP_WARPS = 4
FLOOR = 24  # operands of setmaxnreg: 24..256, a multiple of 8 [PTX ISA]
CEILING = 256
STEP = 8

Task = tuple[int, "int | None"]  # warps, requested registers a thread


@dataclass(frozen=True)
class RegisterSplit:
    """Registers a thread, in units of one 32-bit register.

    `maxnreg`: what each thread has at launch (the PTX .maxnreg where `applied`; 256 means 255).
    `default`: what the default task has while the tasks run; None where not `applied`.
    `partitions`: what each partition has, in the caller's order; `maxnreg` for each where not `applied`.
    `applied`: whether the compiler moves registers between the tasks. If not, `reason` says why, in numbers.
    `setmaxnreg`: the distinct ("inc" | "dec", registers) in the PTX, sorted.
    """

    maxnreg: int
    default: int | None
    partitions: tuple[int, ...]
    applied: bool
    reason: str
    setmaxnreg: tuple[tuple[str, int], ...]


@dataclass
class _Warpgroup:
    members: list[int]
    request: int = 0
    warps: int = 0


def split_registers(default_warps: int, partitions: Sequence[Task], *, exclusive: bool = False) -> RegisterSplit:
    """The split for a default task of `default_warps` and `partitions` of (warps, requested registers or None).

    Each replica of a task is one partition, in the order of the source. `exclusive` is the option of tlx.async_tasks
    under which the kernel never gives registers back. The function does not raise: where TLX would refuse or ignore
    the requests, the result is not `applied`.
    """
    groups = _warpgroups(partitions)
    workers = WARPGROUP_WARPS * -(-sum(w for w, _ in partitions) // WARPGROUP_WARPS)
    total = default_warps + workers
    maxnreg = min(CEILING, REGISTER_FILE // total // THREADS_PER_WARP // STEP * STEP)
    reason = _refusal(default_warps, [r for _, r in partitions])
    spent = sum(g.request * g.warps for g in groups)
    left = maxnreg * total - spent  # warps x registers; the 32 threads of a warp cancel out
    share = left // default_warps // STEP * STEP
    if not reason and (left <= 0 or share < FLOOR):
        reason = (
            f"the other tasks, padded to {workers} warps, take {spent * THREADS_PER_WARP} of the "
            f"{maxnreg * total * THREADS_PER_WARP} registers that {total} warps x {maxnreg} have; "
            f"that leaves the default task {max(0, share)} a thread where it needs {FLOOR}, "
            "and fbtriton drops the whole split without a word"
        )
    if reason:
        return RegisterSplit(maxnreg, None, (maxnreg,) * len(partitions), False, reason, ())
    granted = {index: g.request for g in groups for index in g.members}
    moves = _moves(maxnreg, default_warps, workers, share, [g.request for g in groups], exclusive)
    kept = tuple(_legal(granted[i]) for i in range(len(partitions)))
    return RegisterSplit(maxnreg, _legal(share), kept, True, "", moves)


def _refusal(default_warps: int, requests: Sequence[int | None]) -> str:
    """Why the compiler ignores the requests; empty if it follows them."""
    asked = [r for r in requests if r]
    if not asked:
        return "no task asks for registers"
    if len(asked) != len(requests):
        return f"{len(asked)} of {len(requests)} tasks beside the default one ask for registers; TLX wants all or none"
    for request in asked:
        if request % STEP or not FLOOR <= request <= CEILING:
            return f"a request of {request} registers is not a multiple of {STEP} in {FLOOR}..{CEILING}"
    if default_warps % WARPGROUP_WARPS:
        return f"the default task has {default_warps} warps; registers move between warpgroups of {WARPGROUP_WARPS}"
    return ""


def _warpgroups(partitions: Sequence[Task]) -> list[_Warpgroup]:
    """Packs partitions as AllocateWarpGroups does: padded to full warpgroups, widest first, source order among equals.

    A group requests the largest number that any of its members requests. Padding requests the minimum.
    """
    tasks = [(warps, request or 0) for warps, request in partitions]
    missing = -sum(w for w, _ in tasks) % WARPGROUP_WARPS
    tasks += [(size, FLOOR) for size in (2, 1) if missing & size]
    groups: list[_Warpgroup] = []
    first_warp = 0
    for index in sorted(range(len(tasks)), key=lambda i: -tasks[i][0]):
        warps, request = tasks[index]
        if first_warp % WARPGROUP_WARPS == 0:
            groups.append(_Warpgroup([]))
        group = groups[-1]
        group.members.append(index)
        group.request, group.warps = max(group.request, request), group.warps + warps
        first_warp += warps
    return groups


def _moves(
    maxnreg: int, default_warps: int, workers: int, default: int, requests: Sequence[int], exclusive: bool
) -> tuple[tuple[str, int], ...]:
    """The setmaxnreg instructions at kernel entry, at the entry of the tasks and, unless `exclusive`, at their end."""
    low = FLOOR  # of the workers while only the default task runs, which takes the rest up to the ceiling
    high = (maxnreg + (maxnreg - low) * workers // default_warps) // STEP * STEP
    if high > CEILING:
        high = CEILING
        low = (maxnreg - (high - maxnreg) * default_warps // workers) // STEP * STEP
    steps = [(maxnreg, high), (maxnreg, low), (high, default), *((low, request) for request in requests)]
    if not exclusive:
        steps += [(default, high), *((request, low) for request in requests)]
    clamped = [(_legal(a), _legal(b)) for a, b in steps]
    return tuple(sorted({("inc" if b > a else "dec", b) for a, b in clamped if a != b}))


def _legal(registers: int) -> int:
    return min(max(registers, FLOOR), CEILING) // STEP * STEP
