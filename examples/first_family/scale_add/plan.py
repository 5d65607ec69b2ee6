"""From a scale_add spec to its plan."""

from collections.abc import Mapping

from tlxgen.arch import DTYPES
from tlxgen.families import kit
from tlxgen.plan import Drain, Fill, Holds, Host, HostArgument, Plan, Ring, Role, Tile, Work
from tlxgen.plan.arguments import descriptor, scalar
from tlxgen.plan.steps import steps

from .spec import ScaleAddSpec

AXES = (
    kit.Axis("tile.m", "BLOCK_M", "rows of a tile", blame=("registers",)),
    kit.Axis("tile.n", "BLOCK_N", "columns of a tile"),
    kit.Axis("rings.ab", "STAGES", "slots for tiles of A and B", blame=("smem",)),
    kit.Axis("rings.c", "C_STAGES", "buffers for tiles of C"),
)


def build(spec: ScaleAddSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]) -> Plan:
    """The plan of one variant."""
    dtype = DTYPES[spec.problem.dtype]
    rows, columns, stages, buffers = kit.sizes(AXES, spec).values()
    a, b, c = (Tile(name, (rows, columns), dtype) for name in "abc")
    holds = Holds(working=rows.value * columns.value // 128 + 40)  # what compiles take: an element a register, and 40
    load = steps("acquire ab", "expect ab", "load a", "load b")
    add = steps("wait ab", "fence", "release ab", ": add", "store_wait C_STAGES - 1", "fence", "store c", "store_wait")
    roles = Role("load", 1, load), Role("add", 4, add, default=True, holds=holds)
    rings = (
        Ring("ab", (a, b), stages, Fill("load", "tma"), (Drain("add"),)),
        Ring("c", (c,), buffers, Fill("add", "store"), ()),
    )
    tensors = (descriptor(f"{x}_desc", dtype.signature, c.shape, x if x in "ab" else "out") for x in "abc")
    arguments = (*tensors, scalar("M", "m"), scalar("N", "n", divisible=True), scalar("alpha", "alpha", "fp32"))
    work, host = Work("persistent"), _host(dtype.torch)
    return kit.one_kernel.plan(spec, AXES, guards, baked, roles, rings, arguments, host, work=work, facts=dtype)


def _host(dtype: str) -> Host:
    """What people call: NAME(a, b, alpha, *, out=None)."""
    meaning = f"(M, N) {dtype}, row-major, its leading stride a multiple of 16 bytes"
    a, b = (HostArgument(x, f"{meaning}.", shape="(m, n)", dtypes=(dtype,)) for x in "ab")
    out = HostArgument("out", "likewise; made when absent.", "Tensor", "None", True, b.shape, b.dtypes, result=True)
    return Host((a, b, HostArgument("alpha", "a number.", "float"), out), ("m", "n"), varying=("alpha",))
