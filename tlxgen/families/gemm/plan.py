"""From a gemm spec to its plan: which roles and rings there are. Barriers and budgets follow from those in `plan`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tlxgen.arch import ARCHS, DTYPES, DType, Sm90
from tlxgen.plan import Drain, Fill, Launch, Parameter, Plan, Reason, Ring, Role, Size, Tile, Turn, Use, complete

from .ops import OPS, OpTensor
from .spec import GemmSpec

CONFIG_AXES = {
    "tile.m": "BLOCK_M",
    "tile.n": "BLOCK_N",
    "tile.k": "BLOCK_K",
    "rings.ab.stages": "STAGES",
    "rings.c.stages": "C_STAGES",
    "schedule.group_m": "GROUP_M",
    "schedule.split_k": "SPLIT_K",
}
BLAME = {
    "smem": "rings.ab.stages",
    "ring-depth": "rings.ab.stages",
    "mbarrier-bytes": "tile.k",
    "registers": "tasks.mma.registers",
    "accumulator": "tile.n",
    "instruction": "tile.n",
    "threads": "tasks.mma.warps",
    "named-barriers": "tasks.mma.order",
    "wgmma-m": "tile.m",
    "wgmma-n": "tile.n",
    "wgmma-k": "tile.k",
    "tma-box": "tile.k",
    "subtile": "epilogue.subtiles",
}
MEANING = {
    "BLOCK_M": "rows of a tile of C",
    "BLOCK_N": "columns of a tile of C",
    "BLOCK_K": "extent of K in a ring slot",
    "STAGES": "slots of the operand ring",
    "C_STAGES": "staging buffers of C a replica",
    "GROUP_M": "tile rows of a swizzle group",
    "SPLIT_K": "parts that K is cut into",
}
WORKING_REGISTERS = 40  # a thread, beside the accumulator: addresses, counters, fragments (read off ptxas reports)
# One wgmma m64nNk16 holds N / 2 accumulator registers a thread; ptxas (C7602) asks for 26 more at the kernel's own
# register target, whatever setmaxnreg grants later.
INSTRUCTION_REGISTERS = 26
CAPTURE_BYTES = 256  # 112 to 176 measured
ALIGNMENT_BYTES = 128  # barrier arrays start at multiples of 16
VECTOR_SCRATCH = 256  # elements: a vector of a subtile's rows or columns, at most
REDUCE_TILE = (16, 256)  # rows and columns of C that a program of the split-K reduction sums


@dataclass(frozen=True)
class Operand:
    """A or B as the template needs it: how it lies in memory and in its ring."""

    name: str
    tile: Tile
    row_major: bool
    ring: str
    eviction: str
    multicast: bool


@dataclass(frozen=True)
class GemmFacts:
    """The decisions of the gemm family that its template reads beside the plan."""

    a: Operand
    b: Operand
    c_dtype: DType
    c_eviction: str
    pingpong: bool
    in_flight: int
    replicas: int
    row_groups: int  # slices of a tile's rows, one a cooperating replica
    rows: Size  # rows of C a replica holds
    columns: Size  # columns of C a subtile holds
    subtiles: int
    tma_store: bool
    store_guard: str | None
    persistent: bool
    split: bool  # whether a variant of this structure cuts K
    cluster_m: int
    cluster_n: int
    ops: tuple[str, ...]
    num_warps: int

    @property
    def cluster(self) -> int:
        return self.cluster_m * self.cluster_n

    @property
    def operands(self) -> tuple[Operand, Operand]:
        return self.a, self.b

    @property
    def op_tensors(self) -> tuple[OpTensor, ...]:
        return tuple(t for op in self.ops for t in OPS[op].tensors)

    @property
    def op_arguments(self) -> tuple[tuple[str, str], ...]:
        return tuple(argument for t in self.op_tensors for argument in t.arguments)

    @property
    def place(self) -> tuple[str, ...]:
        """What the operations must be told of where their block of C lies."""
        code = " ".join(line for op in self.ops for line in OPS[op].code)
        told = {"row": "rows", "column": "columns", "M": "M", "N": "N"}
        return tuple(name for name, word in told.items() if re.search(rf"\b{word}\b", code))

    @property
    def op_code(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((OPS[op].meaning, OPS[op].code) for op in self.ops)

    @property
    def reduce_rows(self) -> int:
        return REDUCE_TILE[0]

    @property
    def reduce_columns(self) -> int:
        return REDUCE_TILE[1]


def build(spec: GemmSpec, *, guards: Mapping[str, bool], baked: Mapping[str, int | bool], split: bool) -> Plan:
    """The plan of one variant. Never fails: what cannot be is in `Plan.reasons`.

    `guards` are the values of the guards in this variant, `baked` the parameters that are constants of the source, and
    `split` says whether any variant of this structure cuts K (its source then carries the workspace).
    """
    sizes = _sizes(spec)
    facts = _facts(spec, sizes, split)
    store_task = facts.store_guard is not None and guards[facts.store_guard]
    parameters = [Parameter(n, s.value, MEANING[n], n in baked) for n, s in sizes.items()]
    parameters += [Parameter(g, v, "whether the guarded task is there", g in baked) for g, v in guards.items()]
    return complete(
        Plan(
            name=spec.name,
            family="gemm",
            arch=ARCHS[spec.arch],
            roles=_roles(spec, facts, store_task),
            possible_roles=_roles(spec, facts, facts.store_guard is not None),
            rings=_rings(spec, facts, sizes, store_task),
            turns=_turns(spec, facts),
            parameters=tuple(parameters),
            specialized=spec.tasks.specialized,
            cluster=(facts.cluster, 1, 1),
            compiler_smem=_compiler_smem(spec, facts),
            accumulator_role="mma" if spec.tasks.specialized else "gemm",
            accumulator_registers=facts.rows.value * sizes["BLOCK_N"].value // (spec.tasks.mma.warps * 32),
            working_registers=WORKING_REGISTERS,
            instruction_registers=sizes["BLOCK_N"].value // 2 + INSTRUCTION_REGISTERS,
            expected_opcodes=_opcodes(facts),
            facts=facts,
            launches=_launches(spec, facts, parameters),
            reasons=tuple(_rules(spec, facts, sizes)),
        )
    )


def _sizes(spec: GemmSpec) -> dict[str, Size]:
    values = {
        "BLOCK_M": spec.tile.m,
        "BLOCK_N": spec.tile.n,
        "BLOCK_K": spec.tile.k,
        "STAGES": spec.rings.ab.stages,
        "C_STAGES": spec.rings.c.stages,
        "GROUP_M": spec.schedule.group_m,
        "SPLIT_K": spec.schedule.split_k,
    }
    if spec.epilogue.store == "direct":
        del values["C_STAGES"]
    return {name: Size.of(name, value) for name, value in values.items()}


def _facts(spec: GemmSpec, sizes: dict[str, Size], split: bool) -> GemmFacts:
    mma = spec.tasks.mma
    pingpong = mma.split == "pingpong"
    replicas = mma.replicate if spec.tasks.specialized else 1
    groups = 1 if pingpong else replicas
    a, b = _operands(spec, sizes, groups)
    return GemmFacts(
        a=a,
        b=b,
        c_dtype=DTYPES[spec.problem.c.dtype],
        c_eviction=_hint(spec.cache.c),
        pingpong=pingpong,
        in_flight=mma.in_flight,
        replicas=replicas,
        row_groups=groups,
        rows=sizes["BLOCK_M"] // groups,
        columns=sizes["BLOCK_N"] // spec.epilogue.subtiles,
        subtiles=spec.epilogue.subtiles,
        tma_store=spec.epilogue.store == "tma",
        store_guard=spec.tasks.epilogue.guard if spec.tasks.epilogue else None,
        persistent=spec.schedule.kind == "persistent",
        split=split,
        cluster_m=spec.cluster.m,
        cluster_n=spec.cluster.n,
        ops=spec.epilogue.ops,
        num_warps=4 if spec.tasks.specialized else mma.warps,
    )


def _hint(eviction: str) -> str:
    return "" if eviction == "none" else eviction


def _operands(spec: GemmSpec, sizes: dict[str, Size], groups: int) -> tuple[Operand, Operand]:
    separate = spec.rings.ab.full == "separate"
    block_m, block_n, block_k = sizes["BLOCK_M"], sizes["BLOCK_N"], sizes["BLOCK_K"]
    a_row, b_row = spec.problem.a.layout == "row", spec.problem.b.layout == "row"
    a_shape = (block_m, block_k) if a_row else (block_k, block_m)
    b_shape = (block_k, block_n) if b_row else (block_n, block_k)
    a = Tile("a", a_shape, DTYPES[spec.problem.a.dtype], groups, axis=0 if a_row else 1)
    b = Tile("b", b_shape, DTYPES[spec.problem.b.dtype])
    return (
        Operand("a", a, a_row, "a" if separate else "ab", _hint(spec.cache.a), spec.cluster.n == 2),
        Operand("b", b, b_row, "b" if separate else "ab", _hint(spec.cache.b), spec.cluster.m == 2),
    )


def _roles(spec: GemmSpec, facts: GemmFacts, store_task: bool) -> tuple[Role, ...]:
    mma = spec.tasks.mma
    tiles = "a and b tiles" if spec.rings.ab.full == "shared" else "a tiles and b tiles apart"
    output = f"C in {facts.subtiles} subtiles"
    store = f"store {output} by TMA" if facts.tma_store else f"store {output} from registers"
    epilogue = (*(OPS[op].meaning for op in facts.ops), store)
    multiply = ("wait for a slot", "wgmma on it", "release the slot before" if facts.in_flight else "release it")
    if not spec.tasks.specialized:
        steps = ("acquire a slot", f"load {tiles}", *multiply, *epilogue)
        return (Role("gemm", mma.warps, steps, default=True),)
    order = ("wait for its turn", *multiply, "hand the turn on") if facts.pingpong else multiply
    if store_task:
        epilogue = (*epilogue[:-1], f"publish {output}")
    roles = [
        Role("load", 4, ("acquire a slot", f"load {tiles}"), default=True),
        Role("mma", mma.warps, (*order, *epilogue), registers=mma.registers, replicas=facts.replicas),
    ]
    if store_task and spec.tasks.epilogue:
        registers = spec.tasks.epilogue.registers if mma.registers else None  # setmaxnreg: all tasks or none
        steps = ("wait for a subtile", "store it by TMA", "release it")
        roles.append(Role("store", spec.tasks.epilogue.warps, steps, registers=registers, guard=facts.store_guard))
    return tuple(roles)


def _rings(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size], store_task: bool) -> tuple[Ring, ...]:
    filler, consumer = ("load", "mma") if spec.tasks.specialized else ("gemm", "gemm")
    # Cooperating replicas all read a slot; of pingpong replicas, one does. A multicast slot is read in both CTAs.
    rings = []
    for name in dict.fromkeys(o.ring for o in facts.operands):
        members = [o for o in facts.operands if o.ring == name]
        ctas = facts.cluster if any(o.multicast for o in members) else 1
        drain = Drain(consumer, replicas=facts.row_groups, ctas=ctas)
        tiles = tuple(o.tile for o in members)
        rings.append(Ring(name, tiles, sizes["STAGES"], Fill(filler, "tma"), (drain,), spec.rings.ab.empty))
    if facts.tma_store:
        dtype = DTYPES["fp32"] if spec.schedule.split_k > 1 else facts.c_dtype
        tile = Tile("c", (facts.rows, facts.columns), dtype)
        drains = (Drain("store"),) if store_task else ()
        fill = Fill(consumer, "store")
        rings.append(Ring("c", (tile,), sizes["C_STAGES"], fill, drains, spec.rings.c.empty, banks=facts.replicas))
    return tuple(rings)


def _turns(spec: GemmSpec, facts: GemmFacts) -> tuple[Turn, ...]:
    if not facts.pingpong:
        return ()
    return (Turn("mma_turn", "mma", spec.tasks.mma.order, facts.replicas),)


def _opcodes(facts: GemmFacts) -> tuple[str, ...]:
    """What must be in the SASS: tensor core products, TMA loads and, unless C is stored from registers, TMA stores."""
    product = "QGMMA" if facts.a.tile.dtype.is_fp8 else "HGMMA"
    return (product, "UTMALDG", *(("UTMASTG",) if facts.tma_store else ()))


def _compiler_smem(spec: GemmSpec, facts: GemmFacts) -> tuple[Use, ...]:
    """What fbtriton allocates beside the rings: an upper bound, held against compiles in tests/families/gemm.

    Specialised tasks pass their captured values through SMEM; a block that is loaded or stored through pointers is
    brought to or from wgmma's register layout there, each replica in a place of its own.
    """
    block = facts.rows.value * facts.columns.value
    c_bytes = 4 if spec.schedule.split_k > 1 else facts.c_dtype.bytes
    scratch = [0 if facts.tma_store else block * c_bytes]
    if spec.schedule.split_k == 1:  # else the reduction applies the operations
        scratch += [t.largest_bytes * (block if t.strided else VECTOR_SCRATCH) for t in facts.op_tensors if t.shape]
    captures = CAPTURE_BYTES if spec.tasks.specialized else ALIGNMENT_BYTES
    return Use("captures and alignment", captures), Use("layout conversion", max(scratch) * facts.replicas)


def _kernel_arguments(spec: GemmSpec, facts: GemmFacts) -> tuple[tuple[str, str], ...]:
    """The kernel's run-time arguments in order, with the types that a launch of this variant passes."""
    out = "fp32" if spec.schedule.split_k > 1 else facts.c_dtype.signature
    a, b = (_descriptor(o.tile.dtype.signature, o.tile.shape) for o in facts.operands)
    if facts.tma_store:
        c = [("c_desc", _descriptor(out, (facts.rows, facts.columns)))]
    else:
        c = [("c_ptr", f"*{out}"), ("stride_cm", "i32")]
    return (("a_desc", a), ("b_desc", b), *c, *facts.op_arguments, ("M", "i32"), ("N", "i32"), ("K", "i32"))


def _descriptor(signature: str, shape: tuple[Size, ...]) -> str:
    return f"tensordesc<{signature}[{', '.join(str(s.value) for s in shape)}]>"


def _launches(spec: GemmSpec, facts: GemmFacts, parameters: list[Parameter]) -> tuple[Launch, ...]:
    """The kernels of this variant as an aligned problem launches them (every extent a multiple of 16)."""
    arguments = _kernel_arguments(spec, facts)
    kept = tuple((p.name, p.value) for p in parameters if not p.baked)
    gemm = Launch(f"{spec.name}_kernel", arguments, kept, _divisible(arguments), facts.num_warps, (facts.cluster, 1, 1))
    if spec.schedule.split_k == 1:
        return (gemm,)
    out = (("workspace_ptr", "*fp32"), ("c_ptr", f"*{facts.c_dtype.signature}"))
    strides = (("slab_rows", "i32"), ("stride_wm", "i32"), ("stride_cm", "i32"))
    reduce = (*out, *strides, *facts.op_arguments, ("M", "i32"), ("N", "i32"))
    constants = tuple(c for c in kept if c[0] == "SPLIT_K")
    return (gemm, Launch(f"{spec.name}_reduce_kernel", reduce, constants, _divisible(reduce), 4))


def _divisible(arguments: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(name for name, kind in arguments if kind == "i32" or kind.startswith("*"))


def _rules(spec: GemmSpec, facts: GemmFacts, sizes: dict[str, Size]) -> list[Reason]:
    """What wgmma, TMA and the pipeline ask of the numbers. Sums over the plan (SMEM, registers, ...) are in `plan`."""
    arch, mma, reasons = Sm90, spec.tasks.mma, list[Reason]()
    rows, columns, n = facts.rows.value, facts.columns.value, spec.tile.n
    least = arch.wgmma_m * mma.warps // arch.warpgroup_warps
    if rows < least:
        reasons.append(Reason("wgmma-m", f"{rows} rows a replica ({facts.rows.text}); {mma.warps} warps need {least}"))
    if not arch.wgmma_n_min <= n <= arch.wgmma_n_max:
        reasons.append(Reason("wgmma-n", f"BLOCK_N = {n}, wgmma takes {arch.wgmma_n_min} to {arch.wgmma_n_max}"))
    if spec.tile.k * facts.a.tile.dtype.bytes < arch.wgmma_k_bytes:
        reasons.append(Reason("wgmma-k", f"BLOCK_K = {spec.tile.k}, one wgmma takes {arch.wgmma_k_bytes} B of K"))
    if spec.rings.ab.stages <= facts.in_flight:
        text = f"STAGES = {spec.rings.ab.stages} with {facts.in_flight} wgmma in flight: no slot is left to load into"
        reasons.append(Reason("ring-depth", text))
    if not spec.tasks.specialized and spec.rings.ab.stages == 1:
        text = "STAGES = 1 in the un-specialised form: its one task loads a slot ahead of the one that it multiplies"
        reasons.append(Reason("ring-depth", text))
    for tile in [o.tile for o in facts.operands] + _staging(spec, facts):
        inner = tile.shape[-1].value * tile.dtype.bytes
        if inner < arch.tma_min_inner_bytes:
            text = f"rows of a {tile.name} box are {inner} B, TMA needs {arch.tma_min_inner_bytes}"
            reasons.append(Reason("tma-box", text))
    if columns < 8:
        reasons.append(Reason("subtile", f"{columns} columns a subtile ({facts.columns.text}), at least 8"))
    return reasons


def _staging(spec: GemmSpec, facts: GemmFacts) -> list[Tile]:
    if not facts.tma_store:
        return []
    dtype = DTYPES["fp32"] if spec.schedule.split_k > 1 else facts.c_dtype
    return [Tile("c", (facts.rows, facts.columns), dtype)]
