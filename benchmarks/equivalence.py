"""SASS of generated GEMMs beside that of the fbtriton wheel's tutorials, at the same tile, stages and subtiles.

    python benchmarks/equivalence.py --json benchmarks/results/equivalence_sm100.json      (with a table beside it, .md)

Both are compiled offline, the tutorials out of the wheel as they are. Counted are instructions an opcode class: in the
kernel, and for each K tile in the innermost loops that multiply and that load. Exit status 1 when a kernel of ours has
more SYNCS and BAR a K tile than its tutorial, other MMAs a K tile, or spills. ROWS lists what is compared.
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

from tlxgen import __version__
from tlxgen.build import build
from tlxgen.compile import Argument, Job, Resources, check_triton, compile_all
from tlxgen.files import write_atomic
from tlxgen.review.show import kernels_of
from tlxgen.verbs.compile import job_of

Counts = Mapping[str, int]
TUTORIALS = "triton.language.extra.tlx"
PRODUCTS = ("UTCHMMA", "UTCQMMA", "UTCOMMA", "HGMMA", "QGMMA")
COLUMNS = ("SYNCS", "BAR", "UTCBAR", "UTCCP", "UTMALDG", "UTMASTG", "LDTM", "UGETNEXTWORKID", "total")


@dataclass(frozen=True)
class Theirs:
    """A kernel of a tutorial: its file's stem, and what it is launched with; integers are multiples of 16."""

    module: str
    kernel: str
    arguments: Mapping[str, str]  # their types
    constants: Mapping[str, int | bool]
    ctas: int = 1

    def job(self, name: str, arch: Literal["sm90", "sm100"]) -> Job:
        arguments = tuple(Argument(*argument) for argument in self.arguments.items())
        divisible = tuple(n for n, kind in self.arguments.items() if kind == "i32")
        path, cluster = str(tutorials() / f"{self.module}.py"), (self.ctas, 1, 1)
        return Job(name, path, self.kernel, arch, arguments, dict(self.constants), divisible, cluster=cluster)


@dataclass(frozen=True)
class Row:
    """A schedule, by ours and by theirs. `products` and `loads`: MMAs and TMA loads of a K tile, in the SASS, of one
    task. `why` explains what differs."""

    name: str
    arch: Literal["sm90", "sm100"]
    ours: Mapping[str, Any]  # a spec, short of its head
    theirs: Theirs | None
    products: int
    loads: int
    why: str
    problem: Mapping[str, Any] = field(default_factory=dict)


def tutorials() -> Path:
    """The folder of the wheel's tutorials."""
    spec = importlib.util.find_spec(TUTORIALS)
    assert spec and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "tutorials"


def _spec(row: Row) -> dict[str, Any]:
    fp16 = {name: {"dtype": "fp16"} for name in ("a", "b", "c")}
    head = {"kernel": "gemm", "name": "ours", "arch": row.arch, "problem": dict(row.problem) or fp16}
    return head | dict(row.ours)


def our_job(row: Row, folder: Path) -> Job:
    """Builds the row's spec under `folder`. Raises SpecErrors; ValueError if it is rejected."""
    path = folder / f"{row.name.replace(' ', '_').replace(',', '')}.yaml"
    path.write_text(json.dumps(_spec(row)))
    built, kernels = build(path, out=folder / "generated"), kernels_of(path)
    if len(kernels.kept) != 1:
        raise ValueError(f"{row.name}: {[v.reasons for v in kernels.rejected]}")
    (structure,) = kernels.structures
    (variant,) = structure.variants
    assert variant.plan
    job = job_of(built.folder / f"{structure.name}.py", variant, variant.plan.launches[0])
    return Job(**{**job.__dict__, "id": f"{row.name}, ours"})


def products(counts: Counts) -> int:
    return sum(counts.get(name, 0) for name in PRODUCTS)


def per_k_tile(row: Row, found: Resources) -> dict[str, float]:
    """Instructions a K tile of the innermost loops that multiply, and of those that load, and how many loops these are.

    Replicas have a loop each, which are added up; a loop counts for as many K tiles as it multiplies or loads.
    """
    multiply = [(loop, products(loop) / row.products) for loop in found.loops if products(loop)]
    load = [(loop, loop["UTMALDG"] / row.loads) for loop in found.loops if loop.get("UTMALDG")]
    each = {n: sum(loop.get(n, 0) / tiles for loop, tiles in (*multiply, *load)) for n in ("SYNCS", "BAR", "UTCBAR")}
    return each | {"MMA": sum(products(loop) / tiles for loop, tiles in multiply), "tasks": len(multiply) + len(load)}


def figures(row: Row, found: Resources) -> dict[str, Any]:
    """What the table says of one kernel."""
    counts = found.sass or {}
    whole = {"MMA": products(counts)} | {name: counts.get(name, 0) for name in COLUMNS}
    spills = found.spill_store_bytes + found.spill_load_bytes
    resources = {"registers": found.registers, "spill_bytes": spills, "smem_bytes": found.smem_bytes}
    return {"kernel": whole, "k_tile": per_k_tile(row, found), **resources}


def faults(ours: Mapping[str, Any], theirs: Mapping[str, Any] | None) -> list[str]:
    """What of a kernel of ours is below the bar."""
    found = [f"{ours['spill_bytes']} B of spills"] if ours["spill_bytes"] else []
    if theirs is not None:
        mine, others = ours["k_tile"], theirs["k_tile"]
        if mine["MMA"] != others["MMA"]:
            found.append(f"{mine['MMA']} MMAs a K tile, the tutorial has {others['MMA']}")
        if mine["SYNCS"] + mine["BAR"] > others["SYNCS"] + others["BAR"]:
            found.append("more SYNCS and BAR a K tile than the tutorial")
    return found


FP8 = {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}, "c": {"dtype": "fp16"}, "scaling": "mx"}
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


WHY_WS = (
    "A and B of a slot share a barrier in ours, in the tutorial each has its own: a wait less where it multiplies, "
    "a wait and an expect less where it loads. The tutorial peels off the first K tile, whence twice the MMAs in "
    "the kernel, and releases the accumulator after each subtile, each time after task-wide syncs (BAR); ours once."
)
ROWS: tuple[Row, ...] = (
    Row(
        "ws", "sm100", {"tile": {"n": 256}, "cache": HINTS}, _ws((128, 64), (64, 256), (128, 64)), 4, 5, WHY_WS,
    ),
    Row(
        "ws, warp barriers", "sm100", {"tile": {"n": 256}, "cache": HINTS, "rings": {"acc": {"empty": "warp"}}},
        _ws((128, 64), (64, 256), (128, 64), USE_WARP_BARRIER=True), 4, 5,
        "As ws; without the task-wide syncs of the release both have as many BAR.",
    ),
    Row(
        "ws, 2 MMA groups", "sm100",
        {
            "tile": {"m": 256, "n": 256}, "cache": HINTS, "tasks": {"mma": {"replicate": 2}},
            "rings": {"ab": {"stages": 3, "full": "separate"}, "acc": {"stages": 1}},
        },
        _ws((128, 64), (64, 256), (128, 64), **GROUPS), 8, 6,
        "Both have barriers of A and B apart; the tutorial has one for each group's rows of A, and waits for each.",
    ),
    Row(
        "ws, 2 MMA groups in turns", "sm100",
        {
            "tile": {"m": 256, "n": 256}, "cache": HINTS, "tasks": {"mma": {"replicate": 2}},
            "rings": {"ab": {"stages": 3, "full": "separate"}, "acc": {"stages": 1}}, "epilogue": {"interleave": True},
        },
        _ws((128, 64), (64, 256), (128, 64), INTERLEAVE_EPILOGUE=1, **GROUPS), 8, 6,
        "As before.",
    ),
    Row(
        "ws, split-K 4", "sm100",
        {"tile": {"n": 256}, "cache": HINTS, "schedule": {"split_k": 4}, "rings": {"ab": {"stages": 3}}},
        _ws((128, 64), (64, 256), (128, 64), SPLIT_K=4, NUM_SMEM_BUFFERS=3), 4, 5,
        "As ws. Partial sums are fp32 in ours, fp16 in the tutorial: that is the SMEM of the staging buffers.",
    ),
    Row(
        "2cta", "sm100", {"tile": {"n": 256}, "cache": HINTS, "cluster": {"m": 2}},
        _ws((128, 64), (64, 128), (128, 64), NUM_CTAS=2), 4, 3,
        "In the tutorial the second CTA tells the first of every slot; in ours the loads of both complete on the "
        "first's barrier, which it waits for anyway.",
    ),
    Row(
        "2cta, rendezvous", "sm100",
        {"tile": {"n": 256}, "cache": HINTS, "cluster": {"m": 2, "protocol": "rendezvous"}},
        _ws((128, 64), (64, 128), (128, 64), NUM_CTAS=2), 4, 3,
        "The tutorial's protocol, with one barrier for A and B of a slot instead of two.",
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
        "(BAR); the tutorial has one and waits at once.",
    ),
    Row(
        "mx", "sm100", {"tile": {"n": 256, "k": 128}, "rings": {"ab": {"stages": 3}, "acc": {"stages": 1}}}, None, 4, 4,
        "fbtriton 3.7.4 has no MX GEMM among its tutorials.", problem=FP8,
    ),
    Row(
        "mx, scales in TMEM", "sm100",
        {
            "tile": {"n": 256, "k": 128},
            "rings": {"ab": {"stages": 3}, "acc": {"stages": 1}, "scale": {"space": "tmem"}},
        },
        None, 4, 4, "The copies of scales are the compiler's or the kernel's own, and as many.", problem=FP8,
    ),
    Row(
        "Hopper, cooperative", "sm90",
        {"tile": {"n": 256}, "rings": {"ab": {"full": "separate"}}},
        _hopper((64, 256)), 4, 3,
        "Ours waits for one empty barrier of A's slot, which both groups of rows share, the tutorial for one each. "
        "Ours keeps a wgmma in flight past the end of the loop and gives the last slots back there: 8 BAR a tile.",
    ),
    Row(
        "Hopper, 2 CTAs", "sm90", {"tile": {"n": 256}, "cluster": {"m": 2}, "rings": {"ab": {"full": "separate"}}},
        _hopper((64, 128), NUM_CTAS=2), 4, 3,
        "As before; releases go to both CTAs.",
    ),
)  # fmt: skip


def compare(rows: Sequence[Row], workers: int) -> list[dict[str, Any]]:
    """The table, a dictionary for each row. Raises ValueError for what does not compile."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = [our_job(row, Path(folder)) for row in rows]
        jobs += [row.theirs.job(f"{row.name}, theirs", row.arch) for row in rows if row.theirs]
        outcomes = {o.job: o for o in compile_all(jobs, workers=workers, timeout_s=300)}
    for outcome in outcomes.values():
        if outcome.resources is None:
            raise ValueError(f"{outcome.job}: {outcome.error}")
    found = {name: outcome.resources for name, outcome in outcomes.items() if outcome.resources}
    table = []
    for row in rows:
        ours = figures(row, found[f"{row.name}, ours"])
        theirs = figures(row, found[f"{row.name}, theirs"]) if row.theirs else None
        entry = {"name": row.name, "arch": row.arch, "tutorial": row.theirs.module if row.theirs else None}
        table.append({**entry, "ours": ours, "theirs": theirs, "faults": faults(ours, theirs), "why": row.why})
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

    tile, kernel = ("SYNCS", "BAR", "MMA", "UTCBAR"), ("MMA", *COLUMNS)
    names = ["schedule", *(f"{n} a K tile" for n in tile), *kernel, "registers", "spill B", "SMEM B"]
    lines = ["# SASS beside the tutorials", "", head, "", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for entry in table:
        cells = [pair(entry, "k_tile", n) for n in tile] + [pair(entry, "kernel", n) for n in kernel]
        cells += [pair(entry, n) for n in ("registers", "spill_bytes", "smem_bytes")]
        lines.append(f"| {entry['name']} | {' | '.join(cells)} |")
    lines += ["", "## Differences", ""]
    lines += [f"- **{e['name']}**: {e['why']}" for e in table if e["why"]]
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
