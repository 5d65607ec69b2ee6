"""From an attention_bwd spec to its plan: which roles and rings there are. Barriers and budgets follow in `plan`.

A CTA holds the K and V of a tile of keys and walks the queries that see them, all heads of Q that share the keys. A row
of scores is a key, a column a query.
"""

from __future__ import annotations

from collections.abc import Mapping

from tlxgen.arch import ARCHS, DTYPES
from tlxgen.families import kit
from tlxgen.plan import Plan, Signal, Use, complete

from . import arguments, blackwell, hopper
from .axes import AXES
from .facts import BackwardFacts, GradientFacts
from .spec import KeysSpec


def build(spec: KeysSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`."""
    facts = facts_of(spec)
    sizes = kit.sizes(AXES, spec)
    parameters = tuple(kit.parameters(AXES, spec, guards=guards, baked=baked))
    arch = hopper if spec.arch == "sm90" else blackwell
    roles = arch.roles(spec, facts)
    return complete(
        Plan(
            name=spec.name,
            family=spec.kernel,
            arch=ARCHS[spec.arch],
            roles=roles,
            possible_roles=roles,
            rings=arch.rings(spec, facts, sizes),
            turns=(),
            cluster=(facts.ctas, 1, 1),
            parameters=parameters,
            compiler_smem=(Use("captures and alignment", arch.smem(spec)),),
            **arch.arguments(spec, facts),
            facts=facts,
            host=arguments.host(facts),
            launches=arguments.launches(facts, parameters),
            signals=_signals(facts),
            rules=tuple(arch.rules(spec, facts)),
            reasons=tuple(arch.reasons(facts)),
        )
    )


def _signals(facts: BackwardFacts) -> tuple[Signal, ...]:
    """By which CTAs add to a tile of dQ in the order of keys: each replica its part, each of two CTAs its rows."""
    if not facts.ordered:
        return ()
    by = "reduce" if facts.tensor_memory else "mma"
    return (Signal("adds", "adds_ptr", by, by, "turn", words=facts.adders),)


def facts_of(spec: KeysSpec) -> BackwardFacts:
    """The decisions about a spec."""
    arch = hopper if spec.arch == "sm90" else blackwell
    return BackwardFacts(
        dtype=DTYPES[spec.problem.dtype],
        head_dim=spec.problem.head_dim,
        head_dim_v=spec.head_dim_v,
        queries=spec.queries,
        keys=spec.tile.n,
        gradients=spec.gradients,
        lengths=spec.lengths,
        ordered=spec.ordered,
        apart=spec.apart,
        dbias=spec.dbias,
        **spec.weights,
        **arch.decisions(spec),
    )


__all__ = ["BackwardFacts", "GradientFacts", "build", "facts_of"]
