"""SASS of generated kernels beside that of the fbtriton wheel's tutorials, at the same tile, stages and subtiles.

    python benchmarks/equivalence.py --json benchmarks/results/equivalence_sm100.json      (with a table beside it, .md)

Both are compiled offline, the tutorials out of the wheel as they are. Counted are instructions an opcode class: in the
kernel, and for each tile (of K in a GEMM, of keys in attention) in the innermost loops of the roles that go from tile
to tile: those that multiply and that load, and in attention those of softmax and correction (see role_of). A loop
counts for as many tiles as it has of its role's own work: MMAs, TMA loads, exponentials, stores of O to TMEM. The
further tries of waits, which the compiler moves out of the loops, are in none. Where a role has more loops than
replicas, as the softmax of a causal kernel has for tiles with a mask and without, a tile goes through one of them:
their mean counts.

Exit status 1 when a kernel of ours has more SYNCS and BAR a tile than its tutorial, other MMAs a tile, or spills: any
bytes in a GEMM, more bytes stored or reloaded than by the tutorial in attention, where all tutorials spill. ROWS lists
what is compared.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from benchmarks.tutorials.quantize import torchao_at
from tlxgen import __version__
from tlxgen.build import build
from tlxgen.compile import Argument, Job, Resources, check_triton, compile_all
from tlxgen.families import kernels_of
from tlxgen.files import write_atomic
from tlxgen.verbs.compile import job_of

Counts = Mapping[str, int]
TUTORIALS = "triton.language.extra.tlx"
PRODUCTS = ("UTCHMMA", "UTCQMMA", "UTCOMMA", "HGMMA", "QGMMA")
WORK = {"multiply": PRODUCTS, "load": ("UTMALDG",), "softmax": ("MUFU",), "correction": ("STTM",)}  # of a role's tile
TILE_COLUMNS = ("SYNCS", "BAR", "UTCBAR", "STL", "LDL")
COLUMNS = ("SYNCS", "BAR", "UTCBAR", "UTCCP", "UTMALDG", "UTMASTG", "LDTM", "UGETNEXTWORKID", "total")


@dataclass(frozen=True)
class Theirs:
    """A kernel of a tutorial: its file's stem, and what it is launched with; `divisible` are multiples of 16."""

    module: str
    kernel: str
    arguments: Mapping[str, str]  # their types
    constants: Mapping[str, int | bool]
    ctas: int = 1
    divisible: tuple[str, ...] = ("M", "N", "K")

    def job(self, name: str, arch: Literal["sm90", "sm100"]) -> Job:
        arguments = tuple(Argument(*argument) for argument in self.arguments.items())
        path, cluster = str(tutorials() / f"{self.module}.py"), (self.ctas, 1, 1)
        return Job(name, path, self.kernel, arch, arguments, dict(self.constants), self.divisible, cluster=cluster)


@dataclass(frozen=True)
class Family:
    """What the rows of a family have in common. `head`: how each of its specs begins, short of name and architecture.

    `tile`: what a tile is of. `replicas`: loops of a role that a tile goes through; all that there are where absent.
    `may_spill`: as much as the tutorial.
    """

    head: Mapping[str, Any]
    tile: str
    replicas: Mapping[str, int] = field(default_factory=dict)
    may_spill: bool = False


@dataclass(frozen=True)
class Row:
    """A schedule, by ours and by theirs. `why` explains what differs.

    In the SASS of one replica, a tile has so many MMAs (`products`) and TMA loads (`loads`); in attention also, in ours
    and in theirs, MUFU (`exponentials`) and, of all groups, stores of O to TMEM (`rescales`), which differ in width.
    """

    name: str
    arch: Literal["sm90", "sm100"]
    ours: Mapping[str, Any]  # a spec, short of its head
    theirs: Theirs | None
    products: int
    loads: int
    why: str
    family: Family
    exponentials: tuple[int, int] = (0, 0)
    rescales: tuple[int, int] = (0, 0)

    def work(self, ours: bool) -> dict[str, int]:
        """Instructions of WORK that a tile has, for each role that goes from tile to tile."""
        exponentials, rescales = (pair[0 if ours else 1] for pair in (self.exponentials, self.rescales))
        work = {"multiply": self.products, "load": self.loads}
        return work | {"softmax": exponentials, "correction": rescales} if exponentials else work


def tutorials() -> Path:
    """The folder of the wheel's tutorials."""
    spec = importlib.util.find_spec(TUTORIALS)
    assert spec and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "tutorials"


def _spec(row: Row) -> dict[str, Any]:
    return {**row.family.head, "name": "ours", "arch": row.arch, **row.ours}


def our_job(row: Row, folder: Path) -> Job:
    """Builds the row's spec under `folder`. Raises SpecErrors; ValueError if it is rejected."""
    path = folder / row.name.replace(" ", "_").replace(",", "") / "ours.yaml"
    path.parent.mkdir()
    path.write_text(json.dumps(_spec(row)))
    built, kernels = build(path, out=path.parent / "generated"), kernels_of(path)
    if len(kernels.kept) != 1:
        raise ValueError(f"{row.name}: {[v.reasons for v in kernels.rejected]}")
    (structure,) = kernels.structures
    (variant,) = structure.variants
    assert variant.plan
    job = job_of(built.folder / f"{structure.name}.py", variant, variant.plan.launches[0])
    return Job(**{**job.__dict__, "id": f"{row.name}, ours"})


def products(counts: Counts) -> int:
    return sum(counts.get(name, 0) for name in PRODUCTS)


def role_of(loop: Counts) -> str | None:
    """Whose innermost loop this is. Softmax and correction both load from TMEM and store to it; softmax has MUFU."""
    if products(loop):
        return "multiply"
    if loop.get("UTMALDG"):
        return "load"
    if loop.get("LDTM") and loop.get("STTM"):
        return "softmax" if loop.get("MUFU") else "correction"
    return None


def per_tile(row: Row, found: Resources, ours: bool) -> dict[str, float]:
    """Instructions a tile, summed over the roles and their replicas, and how many loops these are.

    MMAs, by which tiles are told, are those of a pass: were one side's loop unrolled, or of other MMAs, that shows.
    Raises ValueError for a role without a loop for each replica, and for a loop of a part of a tile.
    """
    each, loops, mma = dict.fromkeys(TILE_COLUMNS, 0.0), 0, 0.0
    for role, work in row.work(ours).items():
        mine = [loop for loop in found.loops if role_of(loop) == role]
        amounts = [sum(loop.get(name, 0) for name in WORK[role]) for loop in mine]
        replicas = row.family.replicas.get(role, len(mine))
        if not mine or len(mine) % replicas or any(amount % work for amount in amounts):
            raise ValueError(f"{row.name}: {amounts} {' or '.join(WORK[role])} in {role} loops, a tile has {work}")
        times = replicas / len(mine)
        for loop, amount in zip(mine, amounts, strict=True):
            tiles = amount / work
            for name in TILE_COLUMNS:
                each[name] += loop.get(name, 0) / tiles * times
            mma += products(loop) * times
        loops += len(mine)
    return each | {"MMA": mma, "loops": loops}


def figures(row: Row, found: Resources, ours: bool) -> dict[str, Any]:
    """What the table says of one kernel."""
    counts = found.sass or {}
    whole = {"MMA": products(counts)} | {name: counts.get(name, 0) for name in COLUMNS}
    spills = {"spill_store_bytes": found.spill_store_bytes, "spill_load_bytes": found.spill_load_bytes}
    resources = {"registers": found.registers, **spills, "smem_bytes": found.smem_bytes}
    return {"kernel": whole, "tile": per_tile(row, found, ours), **resources}


def faults(row: Row, ours: Mapping[str, Any], theirs: Mapping[str, Any] | None) -> list[str]:
    """What of a kernel of ours is below the bar."""
    found = []
    stored, loaded = ours["spill_store_bytes"], ours["spill_load_bytes"]
    if not row.family.may_spill and (stored or loaded):
        found.append(f"spills {stored} B, reloads {loaded} B")
    if theirs is not None:
        mine, others, tile = ours["tile"], theirs["tile"], row.family.tile
        if stored > theirs["spill_store_bytes"] or loaded > theirs["spill_load_bytes"]:
            other = f"{theirs['spill_store_bytes']} B and {theirs['spill_load_bytes']} B"
            found.append(f"spills {stored} B and reloads {loaded} B, the tutorial {other}")
        if mine["MMA"] != others["MMA"]:
            found.append(f"{mine['MMA']} MMAs a tile of {tile}, the tutorial has {others['MMA']}")
        if mine["SYNCS"] + mine["BAR"] > others["SYNCS"] + others["BAR"]:
            found.append(f"more SYNCS and BAR a tile of {tile} than the tutorial")
    return found


GEMM = Family({"kernel": "gemm", "problem": {name: {"dtype": "fp16"} for name in ("a", "b", "c")}}, "K")
FP8 = {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}, "c": {"dtype": "fp16"}, "scaling": "mx"}
MX = Family({"kernel": "gemm", "problem": FP8}, "K")
ATTENTION = Family(
    {"kernel": "attention_fwd", "problem": {"dtype": "fp16"}}, "keys", {"softmax": 2, "correction": 1}, may_spill=True
)
MXFP8 = Family(
    {"kernel": "attention_fwd", "problem": {"dtype": "e4m3", "scaling": "mx"}},
    "keys", {"softmax": 2, "correction": 1}, may_spill=True,
)  # fmt: skip
HINTS = {"a": "evict_last", "b": "evict_last", "c": "evict_first"}
WS: Mapping[str, int | bool] = {
    "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_SMEM_BUFFERS": 4,
    "NUM_TMEM_BUFFERS": 2, "NUM_MMA_GROUPS": 1, "EPILOGUE_SUBTILE": 4, "NUM_CTAS": 1, "SPLIT_K": 1,
    "INTERLEAVE_EPILOGUE": 0, "NUM_SMS": 148, "A_ROW_MAJOR": True, "B_ROW_MAJOR": True, "USE_WARP_BARRIER": False,
}  # fmt: skip
GROUPS = {"BLOCK_SIZE_M": 256, "NUM_MMA_GROUPS": 2, "NUM_SMEM_BUFFERS": 3, "NUM_TMEM_BUFFERS": 1}
HOPPER: Mapping[str, int | bool] = {
    "BM": 128, "BN": 256, "BK": 64, "GROUP_SIZE_M": 8, "NUM_STAGES": 4, "NUM_MMA_WARPS": 8, "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": True, "NUM_CTAS": 1, "NUM_SMS": 132, "USE_WARP_BARRIER": False, "A_ROW_MAJOR": True,
    "B_ROW_MAJOR": True,
}  # fmt: skip


def _arguments(**boxes: tuple[int, int]) -> dict[str, str]:
    """The run-time arguments of a GEMM whose TMA descriptors, of fp16, have these boxes."""
    descriptors = {f"{name}_desc": f"tensordesc<fp16[{rows}, {columns}]>" for name, (rows, columns) in boxes.items()}
    return descriptors | dict.fromkeys(("M", "N", "K"), "i32")


def _ws(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int], **changes: int | bool) -> Theirs:
    arguments, ctas = _arguments(a=a, b=b, c=c, workspace=c), int(changes.get("NUM_CTAS", 1))
    return Theirs("blackwell_gemm_ws", "matmul_kernel_tma_ws_blackwell", arguments, {**WS, **changes}, ctas)


def _hopper(b: tuple[int, int], **changes: int | bool) -> Theirs:
    arguments, ctas = _arguments(a=(64, 64), b=b, c=(64, 128)), int(changes.get("NUM_CTAS", 1))
    return Theirs("hopper_gemm_ws", "matmul_kernel_tlx_ws", arguments, {**HOPPER, **changes}, ctas)


TILE_OF_KEYS: Mapping[str, int | bool] = {
    "BLOCK_M": 256, "BLOCK_N": 128, "HEAD_DIM": 128, "NUM_BUFFERS_KV": 3, "NUM_BUFFERS_QK": 1, "NUM_MMA_GROUPS": 2,
}  # fmt: skip
WHOLE: Mapping[str, int | bool] = {"FP8_OUTPUT": False}
SLICED: Mapping[str, int | bool] = {
    "NUM_BUFFERS_Q": 1, "NUM_MMA_SLICES": 2, "GROUP_SIZE_N": 1, "RESCALE_OPT": False, "USE_WHERE": False,
    "USE_WARP_BARRIER": False,
}  # fmt: skip
CLC = {"NUM_SMS": 148, "NUM_CLC_STAGES": 1}


def _fa(module: str, constants: Mapping[str, int | bool], kernel: str = "_attn_fwd_ws") -> Theirs:
    """A tutorial's forward at the tile that all of them have, of fp16; STAGE 1 is without a mask, 3 causal."""
    arguments = {"sm_scale": "fp32", "M": "*fp32", "Z": "i32", "H": "i32", "N_CTX": "i32"}
    arguments |= {f"desc_{name}": "tensordesc<fp16[128, 128]>" for name in "qkvo"}
    return Theirs(module, kernel, arguments, {**TILE_OF_KEYS, **constants}, divisible=("M", "N_CTX"))


def _attention(name: str, kind: str, overlap: bool, theirs: Theirs, why: str, **ours: Any) -> Row:
    """`ours`: slices of P, whether a task stores O, and so on, where the tutorial has them."""
    tasks: dict[str, Any] = {"mma": {"overlap": overlap}} | ({"store": {}} if ours.get("store") else {})
    scores = {"slices": ours.get("slices", 1), "arrive": ours.get("arrive", "leader")}
    spec = {
        "mask": {"kind": "causal" if theirs.constants.get("STAGE") == 3 else "none"}, "schedule": {"kind": kind},
        "tile": {"m": 256, "n": 128}, "tasks": tasks, "rings": {"q": {"stages": 1}, "kv": {"stages": 3}, "s": scores},
    }  # fmt: skip
    return Row(name, "sm100", spec, theirs, 32, 4, why, ATTENTION, exponentials=(129, 129), rescales=(8, 4))


def _mxfp8(name: str, why: str, stage: int) -> Row:
    """The wheel's forward in MXFP8, with its config; `stage` as in `_fa`."""
    constants: dict[str, int | bool] = {
        **TILE_OF_KEYS, "NUM_BUFFERS_KV": 4, "NUM_BUFFERS_Q": 1, "NUM_Q_SCALE_TMEM_BUFFERS": 1,
        "NUM_KV_SCALE_TMEM_BUFFERS": 2, "GROUP_SIZE_N": 1, "RESCALE_OPT": True, "UNROLL_KV": True, "STAGE": stage,
    }  # fmt: skip
    arguments = {"sm_scale": "fp32", "desc_m": "tensordesc<fp32[128]>", "Z": "i32", "H": "i32"}
    arguments |= {f"desc_{name}": "tensordesc<fp8e4nv[128, 128]>" for name in "qkv"}
    arguments |= {"desc_o": "tensordesc<bf16[128, 128]>"}
    arguments |= {f"desc_{name}_scale": "tensordesc<u8[1, 1, 1, 2, 256]>" for name in "qkv"} | {"N_CTX": "i32"}
    theirs = Theirs(
        "blackwell_fa_ws_pipelined_persistent_mxfp8", "_attn_fwd_mxf8_ws", arguments, constants, divisible=("N_CTX",)
    )
    spec = {
        "mask": {"kind": "causal" if stage == 3 else "none"}, "schedule": {"kind": "persistent"},
        "tile": {"m": 256, "n": 128}, "tasks": {"mma": {"overlap": True}, "store": {}, "softmax": {"registers": 168}},
        "rings": {"q": {"stages": 1}, "kv": {"stages": 4}},
    }  # fmt: skip
    return Row(name, "sm100", spec, theirs, 16, 4, why, MXFP8, exponentials=(129, 133), rescales=(8, 8))


WHY_WS = (
    "A and B of a slot share a barrier in ours, in the tutorial each has its own: a wait less where it multiplies, "
    "a wait and an expect less where it loads. The tutorial peels off the first K tile, whence twice the MMAs in "
    "the kernel, and releases the accumulator after each subtile, each time after task-wide syncs (BAR); ours once."
)
WHY_FACTOR = (
    "The factor by which O is rescaled goes through two slots of SMEM in ours, and what softmax waits for anyway shows "
    "that a slot has been read. In the tutorial it goes through a column of TMEM in the place of the scores, with an "
    "empty barrier: in each group an arrival of the correction, with its task-wide sync (BAR), and a wait of softmax "
    "more. "
)
WHY_FIRST = (
    "Ours takes the first tile, where keys past the end are masked and nothing is rescaled, out of the softmax loop, "
    "whence a larger kernel; the tutorial takes only an N_CTX that is a multiple of its tiles. "
)
WHY_STORE = (
    "Its O goes out through one buffer of the compiler's, in ours each group has its own (SMEM). Softmax has 184 "
    "registers in ours, 152 in the tutorial, which spills in its loop; ours does not (STL a tile). "
)
WHY_COMMIT = "It commits each group's O at every tile, ours at the last: two UTCBAR. "
WHY_SYNCHRONOUS = (
    "Of its products of P and V the first group's has neither a barrier nor force_async, and is waited for where it is "
    "issued: three SYNCS and a UTCBAR. "
)
WHY_FA = WHY_FACTOR + WHY_SYNCHRONOUS + WHY_FIRST + WHY_STORE
WHY_CAUSAL = "As without the mask; both have a softmax loop for tiles with a mask and one for those without."
WHY_SLICED = (
    "Both hand P on in two parts and have a task that stores O. " + WHY_FACTOR + "Of its products of P and V the first "
    "part of the second group's has neither a barrier nor force_async, and is waited for where it is issued: three "
    "SYNCS and a UTCBAR. The other BAR are the compiler's. Its softmax and correction multiply pairs of fp32 in inline "
    "PTX, which makes their loops shorter, and softmax, of 168 registers, spills in its loop; ours, of 184, does not. "
)
WHY_PERSISTENT = (
    "In fbtriton 3.7.4 this tutorial takes its tiles by cluster launch control, too (UGETNEXTWORKID), and has as "
    "many instructions of each class as blackwell_fa_clc. Ours goes round its tiles in strides of the grid. "
)
WHY_MXFP8 = (
    "P has one scale in ours; the tutorial finds one for each 32 keys (four MUFU in a tile's 133, 129 in ours). "
    + WHY_FACTOR
    + "That its columns of scores have been read, a named barrier tells the products' warp in the tutorial (two BAR), "
    "an mbarrier in ours. It rescales O only where a maximum has risen by more than a factor of 256. "
)
ROWS: tuple[Row, ...] = (
    Row(
        "ws", "sm100", {"tile": {"n": 256}, "cache": HINTS}, _ws((128, 64), (64, 256), (128, 64)), 4, 5, WHY_WS, GEMM,
    ),
    Row(
        "ws, warp barriers", "sm100", {"tile": {"n": 256}, "cache": HINTS, "rings": {"acc": {"empty": "warp"}}},
        _ws((128, 64), (64, 256), (128, 64), USE_WARP_BARRIER=True), 4, 5,
        "As ws; without the task-wide syncs of the release both have as many BAR.", GEMM,
    ),
    Row(
        "ws, 2 MMA groups", "sm100",
        {
            "tile": {"m": 256, "n": 256}, "cache": HINTS, "tasks": {"mma": {"replicate": 2}},
            "rings": {"ab": {"stages": 3, "full": "separate"}, "acc": {"stages": 1}},
        },
        _ws((128, 64), (64, 256), (128, 64), **GROUPS), 8, 6,
        "Both have barriers of A and B apart; the tutorial has one for each group's rows of A, and waits for each.",
        GEMM,
    ),
    Row(
        "ws, 2 MMA groups in turns", "sm100",
        {
            "tile": {"m": 256, "n": 256}, "cache": HINTS, "tasks": {"mma": {"replicate": 2}},
            "rings": {"ab": {"stages": 3, "full": "separate"}, "acc": {"stages": 1}}, "epilogue": {"interleave": True},
        },
        _ws((128, 64), (64, 256), (128, 64), INTERLEAVE_EPILOGUE=1, **GROUPS), 8, 6,
        "As before.", GEMM,
    ),
    Row(
        "ws, split-K 4", "sm100",
        {"tile": {"n": 256}, "cache": HINTS, "schedule": {"split_k": 4}, "rings": {"ab": {"stages": 3}}},
        _ws((128, 64), (64, 256), (128, 64), SPLIT_K=4, NUM_SMEM_BUFFERS=3), 4, 5,
        "As ws. Partial sums are fp32 in ours, fp16 in the tutorial: that is the SMEM of the staging buffers.", GEMM,
    ),
    Row(
        "2cta", "sm100", {"tile": {"n": 256}, "cache": HINTS, "cluster": {"m": 2}},
        _ws((128, 64), (64, 128), (128, 64), NUM_CTAS=2), 4, 3,
        "In the tutorial the second CTA tells the first of every slot; in ours the loads of both complete on the "
        "first's barrier, which it waits for anyway.", GEMM,
    ),
    Row(
        "2cta, rendezvous", "sm100",
        {"tile": {"n": 256}, "cache": HINTS, "cluster": {"m": 2, "protocol": "rendezvous"}},
        _ws((128, 64), (64, 128), (128, 64), NUM_CTAS=2), 4, 3,
        "The tutorial's protocol, with one barrier for A and B of a slot instead of two.", GEMM,
    ),
    Row(
        "clc", "sm100",
        {"tile": {"n": 256}, "schedule": {"kind": "clc"}, "rings": {"ab": {"stages": 3}}, "epilogue": {"subtiles": 2}},
        Theirs(
            "blackwell_gemm_clc", "matmul_kernel_tma_ws_blackwell_clc",
            _arguments(a=(128, 64), b=(64, 256), c=(128, 128)),
            {
                "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 256, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_SMEM_BUFFERS": 3,
                "NUM_TMEM_BUFFERS": 2, "EPILOGUE_SUBTILE": True, "NUM_SMS": 148, "NUM_CLC_STAGES": 1,
                "USE_WARP_BARRIER": False,
            },
        ),
        4, 5,
        "Ours commits the accumulator (UTCBAR); the tutorial waits for its last MMA and arrives itself (SYNCS). "
        "Ours has two staging buffers of C and waits for a store when it needs its buffer, and once more at the end "
        "(BAR); the tutorial has one and waits at once.", GEMM,
    ),
    Row(
        "mx", "sm100", {"tile": {"n": 256, "k": 128}, "rings": {"ab": {"stages": 3}, "acc": {"stages": 1}}}, None, 4, 4,
        "fbtriton 3.7.4 has no MX GEMM among its tutorials.", MX,
    ),
    Row(
        "mx, scales in TMEM", "sm100",
        {
            "tile": {"n": 256, "k": 128},
            "rings": {"ab": {"stages": 3}, "acc": {"stages": 1}, "scale": {"space": "tmem"}},
        },
        None, 4, 4, "The copies of scales are the compiler's or the kernel's own, and as many.", MX,
    ),
    Row(
        "Hopper, cooperative", "sm90",
        {"tile": {"n": 256}, "rings": {"ab": {"full": "separate"}}},
        _hopper((64, 256)), 4, 3,
        "Ours waits for one empty barrier of A's slot, which both groups of rows share, the tutorial for one each. "
        "Ours keeps a wgmma in flight past the end of the loop and gives the last slots back there: 8 BAR a tile.",
        GEMM,
    ),
    Row(
        "Hopper, 2 CTAs", "sm90", {"tile": {"n": 256}, "cluster": {"m": 2}, "rings": {"ab": {"full": "separate"}}},
        _hopper((64, 128), NUM_CTAS=2), 4, 3,
        "As before; releases go to both CTAs.", GEMM,
    ),
    _attention(
        "attention, grid", "grid", False, _fa("blackwell_fa_ws", WHOLE),
        WHY_FACTOR + WHY_COMMIT + WHY_FIRST + WHY_STORE,
    ),
    _attention(
        "attention, persistent", "persistent", False,
        _fa("blackwell_fa_ws_persistent", {**WHOLE, "NUM_BUFFERS_Q": 1, "STAGE": 1}), WHY_FA,
    ),
    _attention(
        "attention, persistent, causal", "persistent", False,
        _fa("blackwell_fa_ws_persistent", {**WHOLE, "NUM_BUFFERS_Q": 1, "STAGE": 3}), WHY_CAUSAL,
    ),
    _attention(
        "attention, grid, overlap", "grid", True, _fa("blackwell_fa_ws_pipelined", {**WHOLE, "STAGE": 1}), WHY_FA,
    ),
    _attention(
        "attention, grid, overlap, causal", "grid", True, _fa("blackwell_fa_ws_pipelined", {**WHOLE, "STAGE": 3}),
        WHY_CAUSAL,
    ),
    _attention(
        "attention, persistent, overlap", "persistent", True,
        _fa("blackwell_fa_ws_pipelined_persistent", {**SLICED, "STAGE": 1}),
        WHY_SLICED + WHY_FIRST + WHY_PERSISTENT, slices=2, store=True,
    ),
    _attention(
        "attention, persistent, overlap, causal", "persistent", True,
        _fa("blackwell_fa_ws_pipelined_persistent", {**SLICED, "GROUP_SIZE_N": 4, "STAGE": 3}),
        WHY_CAUSAL, slices=2, store=True,
    ),
    _attention(
        "attention, persistent, overlap, warp barriers", "persistent", True,
        _fa("blackwell_fa_ws_pipelined_persistent", {**SLICED, "USE_WARP_BARRIER": True, "STAGE": 1}),
        "As attention, persistent, overlap; without the task-wide syncs of arrivals, all BAR are the compiler's.",
        slices=2, store=True, arrive="warp",
    ),
    _attention(
        "attention, clc, overlap", "clc", True,
        _fa("blackwell_fa_clc", {**SLICED, **CLC, "STAGE": 1}, "_attn_fwd_clc"),
        WHY_SLICED + WHY_FIRST, slices=2, store=True,
    ),
    _attention(
        "attention, clc, overlap, causal", "clc", True,
        _fa("blackwell_fa_clc", {**SLICED, **CLC, "GROUP_SIZE_N": 4, "STAGE": 3}, "_attn_fwd_clc"),
        WHY_CAUSAL, slices=2, store=True,
    ),
    _mxfp8("attention in MXFP8", WHY_MXFP8, 1),
    _mxfp8("attention in MXFP8, causal", WHY_CAUSAL, 3),
)  # fmt: skip


def compare(rows: Sequence[Row], workers: int) -> list[dict[str, Any]]:
    """The table, a dictionary for each row. Raises ValueError for what does not compile."""
    with tempfile.TemporaryDirectory() as folder, torchao_at(Path(folder) / "stand_in"):
        jobs = [our_job(row, Path(folder)) for row in rows]
        jobs += [row.theirs.job(f"{row.name}, theirs", row.arch) for row in rows if row.theirs]
        outcomes = {o.job: o for o in compile_all(jobs, workers=workers, timeout_s=300)}
    for outcome in outcomes.values():
        if outcome.resources is None:
            raise ValueError(f"{outcome.job}: {outcome.error}")
    found = {name: outcome.resources for name, outcome in outcomes.items() if outcome.resources}
    table = []
    for row in rows:
        ours = figures(row, found[f"{row.name}, ours"], ours=True)
        theirs = figures(row, found[f"{row.name}, theirs"], ours=False) if row.theirs else None
        entry = {
            "name": row.name,
            "arch": row.arch,
            "tile": row.family.tile,
            "tutorial": row.theirs.module if row.theirs else None,
        }
        table.append({**entry, "ours": ours, "theirs": theirs, "faults": faults(row, ours, theirs), "why": row.why})
    return table


def as_markdown(table: Sequence[Mapping[str, Any]], head: str) -> str:
    """For people: ours / theirs in each column."""

    def pair(entry: Mapping[str, Any], *path: str) -> str:
        values = []
        for side in (entry["ours"], entry["theirs"]):
            for key in path:
                side = side[key] if side is not None else None
            values.append("-" if side is None else f"{side:g}")
        return " / ".join(values)

    tile, kernel = ("SYNCS", "BAR", "MMA", *TILE_COLUMNS[2:]), ("MMA", *COLUMNS)
    resources = {
        "registers": "registers", "spill_store_bytes": "spilled B", "spill_load_bytes": "reloaded B",
        "smem_bytes": "SMEM B",
    }  # fmt: skip
    lines = ["# SASS beside the tutorials", "", head]
    for of in dict.fromkeys(e["tile"] for e in table):
        names = ["schedule", *(f"{n} a tile of {of}" for n in tile), *kernel, *resources.values()]
        lines += ["", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
        for entry in (e for e in table if e["tile"] == of):
            cells = [pair(entry, "tile", n) for n in tile] + [pair(entry, "kernel", n) for n in kernel]
            cells += [pair(entry, n) for n in resources]
            lines.append(f"| {entry['name']} | {' | '.join(cells)} |")
    lines += ["", "## Differences", ""]
    lines += [f"- **{e['name']}**: {e['why'].strip()}" for e in table if e["why"]]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="rows whose name holds one of these; all without")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    rows = [r for r in ROWS if not options.names or any(n in r.name for n in options.names)]
    triton = check_triton()
    table = compare(rows, options.workers)
    head = f"tlxgen {__version__}, fbtriton {triton}; ours / theirs. Written by `python benchmarks/equivalence.py`."
    print(as_markdown(table, head))
    for entry in table:
        for fault in entry["faults"]:
            print(f"{entry['name']}: {fault}")
    if options.json:
        record = {"command": "python benchmarks/equivalence.py", "triton": triton, "rows": table}
        write_atomic(options.json, (json.dumps(record, indent=1) + "\n").encode())
        write_atomic(options.json.with_suffix(".md"), as_markdown(table, head).encode())
    return int(any(entry["faults"] for entry in table))


if __name__ == "__main__":
    sys.exit(main())
