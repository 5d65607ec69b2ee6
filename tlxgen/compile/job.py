"""What is compiled and what comes back. Every class goes to JSON and back unchanged.

LEAF module: imports nothing of tlxgen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Arch = Literal["sm90", "sm100"]
Constant = int | bool | float | str | None
Json = dict[str, Any]

# Opcode classes of SASS worth a column in a report; a kernel lists those that it has, and "total" (NOPs included).
OPCODES = (
    *("HGMMA", "QGMMA", "IGMMA", "WARPGROUP"),  # Hopper tensor cores
    *("UTCHMMA", "UTCQMMA", "UTCIMMA", "UTCOMMA", "UTCBAR", "UTCCP", "LDTM", "STTM"),  # Blackwell, and TMEM
    *("HMMA", "QMMA", "IMMA"),  # mma.sync
    *("UTMALDG", "UTMASTG", "UTMAREDG", "UTMACMDFLUSH", "UBLKCP"),  # TMA
    *("SYNCS", "BAR", "ELECT", "USETMAXREG", "UCGABAR_ARV", "UCGABAR_WAIT", "UGETNEXTWORKID"),  # hand-offs
    *("LDSM", "STSM", "LDS", "STS", "LDGSTS", "LDG", "STG", "RED", "REDG", "ATOMG"),  # memory
    *("LDL", "STL"),  # spills
    *("MUFU", "SHFL"),  # what a softmax is made of
)


@dataclass(frozen=True)
class Argument:
    """A parameter of the kernel. `type` is Triton's: "tensordesc<bf16[64, 64]>", "*bf16", "i32" or "constexpr"."""

    name: str
    type: str


@dataclass(frozen=True)
class Job:
    """One kernel of one generated file, for one architecture.

    `id` is the caller's; it names the outcome. `module` is the path of the .py file, `kernel` a function in it.
    `constants` gives a value for each constexpr parameter. `divisible` names the integer and pointer arguments
    specialised as divisible by 16. `num_warps` is the default task's. `cluster` counts CTAs.
    """

    id: str
    module: str
    kernel: str
    arch: Arch
    arguments: tuple[Argument, ...]
    constants: Mapping[str, Constant]
    divisible: tuple[str, ...] = ()
    num_warps: int = 4
    num_stages: int = 1
    cluster: tuple[int, int, int] = (1, 1, 1)
    maxnreg: int | None = None

    def to_json(self) -> Json:
        return asdict(self) | {"constants": dict(self.constants)}

    @classmethod
    def from_json(cls, data: Json) -> Job:
        """Raises KeyError or TypeError on what to_json did not write."""
        arguments = tuple(Argument(**a) for a in data["arguments"])
        rest = {"arguments": arguments, "divisible": tuple(data["divisible"]), "cluster": _triple(data["cluster"])}
        return cls(**(data | rest))


@dataclass(frozen=True)
class Resources:
    """What a kernel takes, as read from ptxas -v, the PTX, Triton's metadata and the SASS.

    `registers`: a thread, at launch (of a kernel with setmaxnreg: the budget, not the need of a task). `stack_bytes`,
    spills: a thread. `smem_bytes`: dynamic, a CTA. `tmem_columns`: of 512. `named_barriers`: of 16. `mbarriers`:
    mbarrier.init in the PTX. `warps`: a CTA, padding included. `cluster`: CTAs. `maxnreg`: the PTX directive.
    `setmaxnreg`: distinct ("inc" | "dec", registers), sorted. `sass`: instructions an opcode class (see OPCODES) and
    "total"; None, like `sass_sha256` and `releases`, where nvdisasm is missing. `loops`: the same for each innermost
    loop. `releases`: what `tlxgen.sass.check` says of loads in flight, as JSON.
    """

    registers: int
    stack_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    smem_bytes: int
    tmem_columns: int
    named_barriers: int
    mbarriers: int
    warps: int
    cluster: tuple[int, int, int]
    maxnreg: int | None
    setmaxnreg: tuple[tuple[str, int], ...]
    sass: Mapping[str, int] | None
    cubin_bytes: int
    ptx_sha256: str
    sass_sha256: str | None
    cubin_sha256: str
    loops: tuple[Mapping[str, int], ...] = ()
    releases: Mapping[str, Any] | None = None

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Json) -> Resources:
        """Raises KeyError, TypeError or ValueError on what to_json did not write."""
        setmaxnreg = tuple((str(action), int(count)) for action, count in data["setmaxnreg"])
        made = {"cluster": _triple(data["cluster"]), "setmaxnreg": setmaxnreg, "loops": tuple(data["loops"])}
        return cls(**(data | made))


@dataclass(frozen=True)
class Outcome:
    """What became of a job: `resources`, or an `error` of one line.

    `error` ends in (file:line) of the generated source where that is known; `detail` is the whole log. `seconds` is
    wall time of this job, imports of torch and triton excluded; 0 where `cached`, which also tells a job that shared
    another's compilation. Where the module could not be `imported`, or has no such kernel, nothing was compiled.
    `kept` is the path, but for ".cubin" and ".json", of the cubin and of what launches it, where one asked for these.
    """

    job: str
    resources: Resources | None
    error: str = ""
    detail: str = field(default="", repr=False)
    seconds: float = 0.0
    cached: bool = False
    imported: bool = True
    kept: str = ""

    @property
    def ok(self) -> bool:
        return self.resources is not None

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Json) -> Outcome:
        """Raises KeyError, TypeError or ValueError on what to_json did not write."""
        resources = data["resources"]
        return cls(**(data | {"resources": None if resources is None else Resources.from_json(resources)}))


def _triple(values: list[int]) -> tuple[int, int, int]:
    x, y, z = values
    return (x, y, z)
