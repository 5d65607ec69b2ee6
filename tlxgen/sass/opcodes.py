"""What instructions do to slots of TMEM and SMEM: who loads, who gives back, who waits. LEAF module but for `code`."""

from __future__ import annotations

from .code import Instruction

TMEM_LOADS = frozenset({"LDTM", "LDT"})
SMEM_LOADS = frozenset({"LDS", "LDSM"})
LOADS = TMEM_LOADS | SMEM_LOADS

# Whatever else reads or writes SMEM or TMEM.
_OTHERS = frozenset(
    {
        *("STS", "STSM", "ATOMS", "ST", "STAS", "REDAS", "LDGSTS", "STTM", "STT", "UGETNEXTWORKID"),
        *("UTMALDG", "UTMASTG", "UTMAREDG", "UBLKCP", "UBLKRED"),
        *("HGMMA", "QGMMA", "IGMMA", "BGMMA", "UTCCP"),
    }
)

LOCAL, REMOTE, COMMIT, CLUSTER = "arrive", "arrive in another CTA", "commit", "arrive of the cluster"
REFILL = "TMA load"


def never(instruction: Instruction) -> bool:
    """Whether a guard keeps an instruction from doing anything: ptxas has `@!PT LDS` for a delay."""
    return instruction.guard in ("@!PT", "@!UPT")


def is_load(instruction: Instruction) -> bool:
    """Whether an instruction loads from TMEM or SMEM, and signals on a scoreboard that it has."""
    return instruction.base in LOADS and instruction.write is not None and not never(instruction)


def touches(instruction: Instruction) -> bool:
    """Whether an instruction reads or writes TMEM or SMEM, mbarriers apart."""
    base = instruction.base
    mma = base.startswith("UTC") and base.endswith("MMA")
    return (base in LOADS or base in _OTHERS or mma) and not never(instruction)


def release_of(instruction: Instruction) -> str:
    """How an instruction may give back a slot, or fill it again; empty if it cannot."""
    parts = instruction.opcode.split(".")
    if parts[0] == "SYNCS" and "ARRIVE" in parts:
        return REMOTE if "RED" in parts else LOCAL
    if parts[0] == "ARRIVES":
        return LOCAL
    if parts[0] == "UTCBAR":
        return COMMIT
    if parts[0] in ("UTMALDG", "UBLKCP"):
        return REFILL
    return CLUSTER if parts[0] == "UCGABAR_ARV" else ""


def is_plain_arrive(instruction: Instruction) -> bool:
    """Whether an instruction arrives on an mbarrier without bytes to expect: A1T0 is one arrival, no transaction."""
    return release_of(instruction) in (LOCAL, REMOTE) and "A1T0" in instruction.opcode.split(".")


def is_wait(instruction: Instruction) -> bool:
    """Whether an instruction waits for a phase of an mbarrier, or for the cluster."""
    return "TRYWAIT" in instruction.opcode.split(".") or instruction.base == "UCGABAR_WAIT"


def is_sync(instruction: Instruction) -> bool:
    """Whether an instruction waits for other warps at a named barrier."""
    return instruction.base == "BAR" and "ARV" not in instruction.opcode.split(".")
