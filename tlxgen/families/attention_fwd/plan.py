"""From an attention_fwd spec to its plan: which roles and rings there are. Barriers and budgets follow in `plan`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tlxgen.arch import ARCHS, DTYPES
from tlxgen.families import kit
from tlxgen.plan import Plan, Rule, Size, Use, complete
from tlxgen.plan.rule import at_least, divisor_of

from . import arguments, blackwell, hopper
from .axes import AXES
from .facts import AttentionFacts, Operand
from .spec import ForwardSpec


def build(spec: ForwardSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool]) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`."""
    sizes = kit.sizes(AXES, spec)
    if baked.get("BIAS_STAGES") == 1:
        sizes["BIAS_STAGES"] = Size.literal(1)  # there is no slot to count
    facts = _facts(spec, sizes)
    parameters = kit.parameters(AXES, spec, guards=guards, baked=baked)
    arch = hopper if spec.arch == "sm90" else blackwell
    roles = arch.roles(spec, facts)
    captures, conversion = arch.smem(spec)
    return complete(
        Plan(
            name=spec.name,
            family=spec.kernel,
            arch=ARCHS[spec.arch],
            roles=roles,
            possible_roles=roles,
            rings=arch.rings(spec, facts, sizes),
            parameters=tuple(parameters),
            work=facts.work,
            compiler_smem=(Use("captures and alignment", captures), Use("layout conversion", conversion)),
            **arch.arguments(spec, facts),
            facts=facts,
            host=arguments.host(facts),
            launches=(arguments.launch(facts, sizes, parameters),),
            rules=(*arch.rules(spec, facts, sizes), *_key_slots(spec, facts, sizes), *_blocks(facts, sizes)),
        )
    )


def _key_slots(spec: ForwardSpec, facts: AttentionFacts, sizes: dict[str, Size]) -> Iterator[Rule]:
    if spec.rings.kv.storage == "shared" and facts.overlap:
        slots = sizes["KV_STAGES"]
        needed = "tiles of K and of V are held at a time, 2 slots at least"
        yield Rule("ring-depth", at_least(slots, 2), f"KV_STAGES = {slots.value}: ", needed)


def _blocks(facts: AttentionFacts, sizes: dict[str, Size]) -> Iterator[Rule]:
    """An item lies in one row of blocks, and a tile of keys in one block."""
    if facts.blocks:
        m, n = sizes["BLOCK_M"], sizes["BLOCK_N"]
        for rule, size, whole, what in (
            ("block-m", m, facts.blocks.m, "queries"),
            ("block-n", n, facts.blocks.n, "keys"),
        ):
            found = f"{size.text} = {size.value}: "
            yield Rule(rule, divisor_of(size, whole), found, f"a block's {whole} {what} are whole tiles")


def _facts(spec: ForwardSpec, sizes: dict[str, Size]) -> AttentionFacts:
    shared = spec.rings.kv.storage == "shared"
    kv = _hint(spec.cache.kv)
    return AttentionFacts(
        dtype=DTYPES[spec.problem.dtype],
        out=DTYPES[spec.out_dtype],
        head_dim=spec.problem.head_dim,
        head_dim_v=spec.head_dim_v,
        rows=sizes["BLOCK_M"] // spec.tasks.mma.replicate,
        replicas=spec.tasks.mma.replicate,
        overlap=spec.tasks.mma.overlap,
        in_parts=spec.rings.o.parts > 1,
        keep_q=spec.tasks.mma.keep == "q",
        source=spec.schedule.kind,
        lengths=spec.problem.lengths,
        operands=(
            Operand("q", spec.slices, "q", _hint(spec.cache.q)),
            Operand("k", spec.slices, "kv" if shared else "k", kv),
            Operand("v", spec.slices_v, "kv" if shared else "v", kv),
            Operand("o", spec.slices_o, "o", _hint(spec.cache.o)),
        ),
        **spec.weights,
        **(blackwell.decisions(spec) if spec.arch == "sm100" else {}),
    )


def _hint(eviction: str) -> str:
    return "" if eviction == "none" else eviction
