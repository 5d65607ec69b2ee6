"""Whether the compiler makes the same of an instrumented twin as of its plain kernel, but for the stamps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tlxgen.compile import Argument, Job, Resources

# What a twin must have as often as its plain kernel: tensor cores, TMA, and all that waits or hands on.
SAME = (
    *("HGMMA", "QGMMA", "IGMMA", "WARPGROUP", "UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA", "UTCBAR", "UTCCP"),
    *("UTMALDG", "UTMASTG", "UTMAREDG", "UTMACMDFLUSH", "UBLKCP", "LDGSTS", "REDG", "ATOMG"),
    *("SYNCS", "BAR", "USETMAXREG", "UCGABAR_ARV", "UCGABAR_WAIT", "UGETNEXTWORKID"),
)
ARGUMENTS = (Argument("stamps_ptr", "*i32"), Argument("stamps_last", "i32"))


def job_of_twin(plain: Job, module: Path) -> Job:
    """What compiles the twin in the file `module` of a kernel that `plain` compiles."""
    runtime = sum(argument.type != "constexpr" for argument in plain.arguments)
    return replace(
        plain,
        id=f"{plain.id} | twin",
        module=str(module),
        arguments=(*plain.arguments[:runtime], *ARGUMENTS, *plain.arguments[runtime:]),
        divisible=(*plain.divisible, ARGUMENTS[0].name),
    )


def differences(plain: Resources, twin: Resources) -> Iterator[str]:
    """What of a twin is not as it is in its plain kernel, and should be, a line each."""
    for opcode in SAME if plain.sass and twin.sass else ():
        before, after = ((kernel.sass or {}).get(opcode, 0) for kernel in (plain, twin))
        if before != after:
            yield f"{opcode}: {before}, and {after} in the twin"
    if plain.setmaxnreg != twin.setmaxnreg:
        yield f"setmaxnreg: {plain.setmaxnreg}, and {twin.setmaxnreg} in the twin"
    for what in ("named_barriers", "mbarriers", "warps", "tmem_columns"):
        if getattr(plain, what) != getattr(twin, what):
            yield f"{what}: {getattr(plain, what)}, and {getattr(twin, what)} in the twin"
    if twin.spill_store_bytes > plain.spill_store_bytes:
        yield f"spills {twin.spill_store_bytes} B, and {plain.spill_store_bytes} B without stamps"
