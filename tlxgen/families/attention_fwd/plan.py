"""From an attention_fwd spec to its plan: which roles and rings there are. Barriers and budgets follow in `plan`."""

from __future__ import annotations

from collections.abc import Mapping

from tlxgen.arch import ARCHS, DTYPES
from tlxgen.plan import Launch, Parameter, Plan, Size, Use, complete

from . import blackwell, hopper
from .facts import AttentionFacts, Operand
from .spec import AttentionSpec

CONFIG_AXES = {
    "tile.m": "BLOCK_M",
    "tile.n": "BLOCK_N",
    "rings.q.stages": "Q_STAGES",
    "rings.kv.stages": "KV_STAGES",
}
BLAME = {
    "smem": "rings.kv.stages",
    "ring-depth": "rings.kv.stages",
    "registers": "tasks.mma.registers",
    "accumulator": "tile.n",
    "instruction": "tile.n",
    "threads": "tasks.mma.replicate",
    "named-barriers": "tasks.mma.turns",
    "tmem": "tile.n",
    "wgmma-m": "tile.m",
    "wgmma-n": "tile.n",
    "tcgen05-m": "tile.m",
    "tcgen05-n": "tile.n",
    "slices": "rings.s.slices",
    "overlap": "tasks.mma.overlap",
    "alias": "rings.o.reuse",
}
MEANING = {
    "BLOCK_M": "queries a CTA",
    "BLOCK_N": "keys of a tile",
    "Q_STAGES": "buffers of Q a consumer",
    "KV_STAGES": "slots of the rings of K and V",
}
# Registers a thread beside scores, probabilities and accumulator: maximum, sum, addresses, counters (ptxas reports).
WORKING_REGISTERS = 32


def build(spec: AttentionSpec, *, baked: Mapping[str, int | bool]) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`."""
    sizes = _sizes(spec)
    facts = _facts(spec, sizes)
    parameters = [Parameter(n, s.value, MEANING[n], n in baked) for n, s in sizes.items()]
    arch = hopper if spec.arch == "sm90" else blackwell
    roles = arch.roles(spec, facts)
    captures, conversion = arch.smem(spec)
    return complete(
        Plan(
            name=spec.name,
            family="attention_fwd",
            arch=ARCHS[spec.arch],
            roles=roles,
            possible_roles=roles,
            rings=arch.rings(spec, facts, sizes),
            parameters=tuple(parameters),
            compiler_smem=(Use("captures and alignment", captures), Use("layout conversion", conversion)),
            working_registers=WORKING_REGISTERS,
            **arch.arguments(spec, facts),
            facts=facts,
            launches=(_launch(spec, facts, sizes, parameters),),
            reasons=tuple(arch.rules(spec, facts)),
        )
    )


def _sizes(spec: AttentionSpec) -> dict[str, Size]:
    values = {"BLOCK_M": spec.tile.m, "BLOCK_N": spec.tile.n}
    if spec.schedule.kind != "grid":
        values["Q_STAGES"] = spec.rings.q.stages
    values["KV_STAGES"] = spec.rings.kv.stages
    return {name: Size.of(name, value) for name, value in values.items()}


def _facts(spec: AttentionSpec, sizes: dict[str, Size]) -> AttentionFacts:
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
        keep_q=spec.tasks.mma.keep == "q",
        source=spec.schedule.kind,
        mask=spec.mask.kind,
        bottom_right=spec.mask.align == "bottom_right" and spec.mask.kind != "none",
        lengths=spec.problem.lengths,
        softcap=spec.softmax.softcap,
        sink=spec.softmax.sink,
        lse=spec.softmax.lse,
        operands=(
            Operand("q", spec.problem.head_dim, "q", _hint(spec.cache.q)),
            Operand("k", spec.problem.head_dim, "kv" if shared else "k", kv),
            Operand("v", spec.head_dim_v, "kv" if shared else "v", kv),
            Operand("o", spec.head_dim_v, "o", _hint(spec.cache.o)),
        ),
        **(blackwell.decisions(spec) if spec.arch == "sm100" else {}),
    )


def _hint(eviction: str) -> str:
    return "" if eviction == "none" else eviction


def _arguments(spec: AttentionSpec, facts: AttentionFacts, sizes: dict[str, Size]) -> tuple[tuple[str, str], ...]:
    """The kernel's run-time arguments in order, with the types that a launch passes."""
    rows = {"q": facts.rows, "k": sizes["BLOCK_N"], "v": sizes["BLOCK_N"], "o": facts.rows}
    leading = (1, 1, 1) if facts.packed else (1, 1)
    arguments = []
    for o in facts.operands:
        tile = (rows[o.name].value, o.head_dim)
        box = (*leading, *(reversed(tile) if o.name == "v" and facts.keys_last else tile))
        kind = (facts.out if o.name == "o" else facts.dtype).signature
        arguments.append((f"{o.name}_desc", f"tensordesc<{kind}[{', '.join(map(str, box))}]>"))
    pointers = [("lse_ptr", "*fp32")] * facts.lse + [("sink_ptr", "*fp32")] * facts.sink
    pointers += {
        "dense": [],
        "keys": [("key_lengths_ptr", "*i32")],
        "packed": [("cu_seqlens_q_ptr", "*i32"), ("cu_seqlens_k_ptr", "*i32")],
    }[facts.lengths]
    scalars = ["cap", "scale_log2"] if facts.softcap else ["scale_log2"]
    heads = ["HEADS", "H", "H_PER_KV"] if facts.told else ["B", "H", "H_KV"]
    sizes_of = ["LEFT", "RIGHT"] * facts.window + [*heads, "N_Q"]
    sizes_of += {"dense": ["N_K"], "keys": [], "packed": ["T_Q"] * facts.lse}[facts.lengths] + ["GROUP_H"]
    sizes_of += ["num_items", "step"] * (facts.told and facts.persistent)
    return (*arguments, *pointers, *((s, "fp32") for s in scalars), *((s, "i32") for s in sizes_of))


def _launch(spec: AttentionSpec, facts: AttentionFacts, sizes: dict[str, Size], parameters: list[Parameter]) -> Launch:
    arguments = _arguments(spec, facts, sizes)
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    divisible = tuple(name for name, kind in arguments if kind.startswith("*") or name in ("N_Q", "N_K", "T_Q"))
    return Launch(f"{spec.name}_kernel", arguments, kept, divisible, 4)
