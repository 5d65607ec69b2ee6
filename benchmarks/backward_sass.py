"""SASS of the generated attention backward for sm100 beside that of the fbtriton wheel, on one CTA and two.

    python -m benchmarks.backward_sass --json benchmarks/results/backward_sass_sm100.json       (a table beside it, .md)

Both are compiled offline, the wheel's as it is. Counted are instructions of the loops over queries, a step's of each
task: of 128 queries, and of 64 in the wheel's kernel for one CTA, which has no other tile. The further tries of waits,
which the compiler moves out of the loops, are in none. Exit status 1 when a kernel of ours spills, or has more SYNCS
and BAR for 128 queries than theirs, or another number of MMAs with the same tile.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.equivalence import Theirs
from tlxgen.compile import Job, Resources, check_triton, compile_all
from tlxgen.families import kernels_of
from tlxgen.files import write_atomic
from tlxgen.verbs.compile import job_of
from tlxgen.working import of_spec

ROOT = Path(__file__).parent.parent
QUERIES = 128  # what all are compared for
WORK = {"multiply": "UTCHMMA", "compute": "MUFU", "load": "UTMALDG", "reduce": "UTMAREDG"}
SHOWN = ("MMA", "SYNCS", "BAR", "UTCBAR", "LDTM", "STTM", "LDS", "STS", "UTMALDG", "UTMAREDG", "LDL", "STL", "total")
RESOURCES = ("registers", "spill_store_bytes", "spill_load_bytes", "smem_bytes")


@dataclass(frozen=True)
class Row:
    """The same schedule, by ours and by theirs: a structure of a spec, their CTAs, queries a step and mask."""

    name: str
    spec: str
    structure: str
    ctas: int
    queries: int
    stage: int  # of theirs: 1 has no mask, 3 is causal

    def ours(self) -> Job:
        path = ROOT / "specs" / f"{self.spec}.yaml"
        kernels = kernels_of(path)
        with of_spec(path) as working:
            one = kernels.structure(self.structure)
            variant = one.variants[0]
            assert variant.plan
            job = job_of(working.path(one.name), variant, variant.plan.launches[0])
        generated = ROOT / "generated" / self.spec / f"{one.name}.py"
        return Job(**{**job.__dict__, "id": f"{self.name}, ours", "module": str(generated)})

    def theirs(self) -> Job:
        m, half, own = self.queries, 128 // self.ctas, self.queries // self.ctas
        boxes = {
            "desc_q": f"bf16[1, 1, {m}, {half}]", "desc_k": "bf16[1, 1, 128, 128]", "desc_v": "bf16[1, 1, 128, 128]",
            "desc_do": f"bf16[1, 1, {m}, {half}]", "desc_dq": f"fp32[1, 1, {m}, {32 // self.ctas}]",
            "desc_dk": "bf16[1, 1, 128, 64]", "desc_dv": "bf16[1, 1, 128, 64]", "desc_m": f"fp32[{m}]",
            "desc_delta": f"fp32[{m}]", "desc_kt": f"bf16[1, 1, {128 * self.ctas}, {half}]",
            "desc_qt": f"bf16[1, 1, {own}, 128]", "desc_dot": f"bf16[1, 1, {own}, 128]",
        }  # fmt: skip
        types = {name: f"tensordesc<{box}>" for name, box in boxes.items()}
        types |= {"sm_scale": "fp32", "M_ptr": "*fp32", "delta_ptr": "*fp32", "H": "i32", "Z": "i32", "N_CTX": "i32"}
        constants = {
            "BLOCK_M1": m, "BLOCK_N1": 128, "BLK_SLICE_FACTOR": 2, "HEAD_DIM": 128, "NUM_BUFFERS_KV": 1,
            "NUM_BUFFERS_Q": 3 - self.ctas, "NUM_BUFFERS_DO": 1, "NUM_BUFFERS_DS": 1, "NUM_BUFFERS_TMEM": 1,
            "NUM_COMPUTE_SLICES": 2, "DQ_REDUCE_STAGES": 2, "DQ_REDUCE_NCOL": 32, "DKV_STORE_NCOL": 64,
            "STAGE": self.stage, "GROUP_SIZE_M": 1, "USE_WARP_BARRIER": self.ctas == 1,
            "EPILOGUE_SUBTILE": 4 * self.ctas, "NUM_CTAS": self.ctas,
        }  # fmt: skip
        file, kernel = "blackwell_fa_ws_pipelined_persistent", "_attn_bwd_ws"
        types |= dict.fromkeys(constants, "constexpr")
        job = Theirs(file, kernel, types, constants, self.ctas, ("H", "Z", "N_CTX", "M_ptr", "delta_ptr")).job(
            f"{self.name}, theirs", "sm100"
        )
        return Job(**{**job.__dict__, "num_warps": 8})


ROWS = (
    Row("two CTAs", "blackwell_attention_bwd_2cta", "blackwell_attention_bwd_2cta_head_dim128_none", 2, 128, 1),
    Row(
        "two CTAs, causal", "blackwell_attention_bwd_2cta", "blackwell_attention_bwd_2cta_head_dim128_causal", 2, 128, 3
    ),
    Row("one CTA", "blackwell_attention_bwd", "blackwell_attention_bwd_none", 1, 64, 1),
)


def step(found: Resources, queries: int, ctas: int) -> dict[str, dict[str, float]]:
    """What each task has in a step, for 128 queries; of several loops of a task, the one with the most of its work.

    Of two CTAs, a loop without any work is the relay's if it waits and tells, and is none of the switch between tasks.
    """
    tasks: dict[str, Mapping[str, int]] = {}
    for loop in found.loops:
        name = next((task for task, opcode in WORK.items() if loop.get(opcode)), "")
        if not name and ctas > 1 and loop.get("SYNCS") and not loop.get("USETMAXREG") and not loop.get("BAR"):
            name = "relay"
        if name and loop.get(WORK.get(name, "SYNCS"), 0) >= tasks.get(name, {}).get(WORK.get(name, "SYNCS"), 0):
            tasks[name] = loop
    made = {}
    for name, loop in tasks.items():
        counts = Counter(loop)
        counts["MMA"] = counts.pop("UTCHMMA", 0)
        made[name] = {what: counts[what] * QUERIES / queries for what in SHOWN}
    return made


def side(found: Resources, queries: int, ctas: int) -> dict[str, object]:
    tasks = step(found, queries, ctas)
    total = {what: sum(task[what] for task in tasks.values()) for what in SHOWN}
    return {"tasks": tasks, "step": total, **{name: getattr(found, name) for name in RESOURCES}}


def faults(row: Row, ours: Mapping, theirs: Mapping) -> list[str]:
    found = [f"{name}: {ours[name]}" for name in RESOURCES[1:3] if ours[name]]
    mine, other = ours["step"], theirs["step"]
    if row.queries == QUERIES and mine["MMA"] != other["MMA"]:
        found.append(f"{mine['MMA']:g} MMAs a step, theirs {other['MMA']:g}")
    if mine["SYNCS"] + mine["BAR"] > other["SYNCS"] + other["BAR"]:
        found.append(f"SYNCS and BAR: {mine['SYNCS'] + mine['BAR']:g}, theirs {other['SYNCS'] + other['BAR']:g}")
    return found


def table(rows: list[dict]) -> str:
    lines = ["# SASS of the backward beside the wheel's", "", "Ours / theirs, for 128 keys a CTA and 128 queries.", ""]
    heads = ["schedule", *SHOWN, *(name.replace("_", " ") for name in RESOURCES)]
    lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        a, b = row["ours"], row["theirs"]
        cells = [f"{a['step'][what]:g} / {b['step'][what]:g}" for what in SHOWN]
        cells += [f"{a[name]} / {b[name]}" for name in RESOURCES]
        lines.append(f"| {row['name']} | {' | '.join(cells)} |")
    lines += ["", "SYNCS + BAR of each task:", "", "| schedule | task | ours | theirs |", "|---|---|---|---|"]
    for row in rows:
        for task in (*WORK, "relay"):
            pair = [row[of]["tasks"].get(task) for of in ("ours", "theirs")]
            cells = ["-" if t is None else f"{t['SYNCS']:g} + {t['BAR']:g}" for t in pair]
            if any(pair):
                lines.append(f"| {row['name']} | {task} | {cells[0]} | {cells[1]} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path, help="write the counts there, and the table beside it")
    options = parser.parse_args()
    triton, jobs = check_triton(), [job for row in ROWS for job in (row.ours(), row.theirs())]
    outcomes = {o.job: o for o in compile_all(jobs, workers=1)}
    rows: list[dict] = []
    for row in ROWS:
        both = {}
        for of, queries in (("ours", QUERIES), ("theirs", row.queries)):
            outcome = outcomes[f"{row.name}, {of}"]
            if outcome.resources is None:
                print(outcome.detail, file=sys.stderr)
                return 1
            both[of] = side(outcome.resources, queries, row.ctas)
        rows.append({"name": row.name, **both, "faults": faults(row, both["ours"], both["theirs"])})
    print(table(rows))
    for row in rows:
        print(*(f"{row['name']}: {fault}" for fault in row["faults"]), sep="\n")
    if options.json:
        record = {"command": "python -m benchmarks.backward_sass", "triton": triton, "rows": rows}
        write_atomic(options.json, (json.dumps(record, indent=1) + "\n").encode())
        write_atomic(options.json.with_suffix(".md"), table(rows).encode())
    return int(any(row["faults"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
