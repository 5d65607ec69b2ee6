from __future__ import annotations
from dataclasses import dataclass

@dataclass(frozen=True)
class RegisterSplit:
    maxnreg: int
    default: int | None
    partitions: tuple[int, ...]
    applied: bool
    reason: str
    setmaxnreg: tuple[tuple[str, int], ...]

def split_registers(default_warps, partitions):
    extra = sum(w for w, _ in partitions); groups = -(-extra // 4)
    total = default_warps + 4 * groups
    maxnreg = 65536 // total // 32 // 8 * 8
    if not any(r for _, r in partitions):
        return RegisterSplit(min(maxnreg, 255), None, tuple(maxnreg for _ in partitions), False, "no task asks for registers", ())
    order = sorted(partitions, key=lambda p: -p[0])
    left = maxnreg * total * 32; g = []
    warps = 0; cur = 0
    for w, r in order + [(1, 24)] * (4 * groups - extra):
        if warps % 4 == 0: cur = 0
        cur = max(cur, r or 0); warps += w
        if warps % 4 == 0: left -= cur * (w if w >= 4 else 4) * 32
    share = left // (default_warps * 32) // 8 * 8 if left > 0 else -1
    ok = share >= 24
    return RegisterSplit(maxnreg, share, tuple(r for _, r in partitions), ok, "" if ok else f"{maxnreg} x {total} warps; default would get {share}", ())
