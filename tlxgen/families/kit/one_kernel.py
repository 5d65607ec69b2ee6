"""The plan of a family whose variants are one kernel each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tlxgen.arch import ARCHS
from tlxgen.plan import Host, KernelArgument, Launch, Plan, Ring, Role, Use, complete
from tlxgen.spec import CommonSpec

from .axes import Axis, parameters


def plan(
    spec: CommonSpec,
    axes: Sequence[Axis],
    guards: Mapping[str, bool],
    baked: Mapping[str, int | bool],
    roles: Sequence[Role],
    rings: Sequence[Ring],
    arguments: Iterable[KernelArgument],
    host: Host,
    *,
    maxnreg: int | None = None,
    pdl: bool = False,
    **more: Any,
) -> Plan:
    """The complete plan of a variant without optional roles. `more` are further fields of `Plan`.

    It does not fail: a variant that cannot be built has `Plan.reasons`.
    """
    arch, every = ARCHS[spec.arch], tuple(parameters(axes, spec, guards=guards, baked=baked))
    kept = tuple((p.name, p.value) for p in every if not p.baked)
    warps = next(role.warps for role in roles if role.default)
    cluster = more.get("cluster", (1, 1, 1))
    launch = Launch("kernel", tuple(arguments), kept, warps, cluster, maxnreg=maxnreg, pdl=pdl)
    given: dict[str, Any] = {
        "turns": (),
        "compiler_smem": (Use("captures and alignment", arch.captures),),
        "launches": (launch,),
    }
    return complete(
        Plan(
            name=spec.name,
            family=spec.kernel,
            arch=arch,
            roles=tuple(roles),
            possible_roles=tuple(roles),
            rings=tuple(rings),
            parameters=every,
            host=host,
            **(given | more),
        )
    )
