"""What `tlxgen show --roofline` predicts over the SM clocks that a kernel was measured to take on a Hopper GPU.

    python -m benchmarks.roofline_clocks predict benchmarks/results/roofline_clocks_h200.json     (no GPU)
    python -m benchmarks.roofline_clocks measure benchmarks/results/roofline_clocks_h200.json --json OUT.json

KERNELS are named, and predicted, before they are measured. Each is captured with all that its call launches between two
kernels that store clock64 of each SM, and replayed in turns with its other configs. What two such kernels take alone is
subtracted, and of a call with more than one kernel the share of the first by torch's profiler counts. Clocks do not
depend on how fast the clock is, except where memory bounds a kernel: there the prediction is taken at the clock that
the SMs had, by the GPU's nanoseconds between the same stamps. The config that the module picks is measured twice: how
much the two differ is the noise. Exit status 1 where a prediction is above what was measured.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl

from benchmarks.clock import clock
from tlxgen.families import Kernels, Structure, kernels_of
from tlxgen.loading import load_file
from tlxgen.roofline import GPUS

ROOT = Path(__file__).parent.parent
GPU = GPUS["sm90"]  # at its highest clock
PLACES = 5  # in memory, that the inputs have one after the other
REPEATS = 9  # of a launch at each place
TIE = 0.02  # configs that are nearer to each other have changed places from one H200 to another

HISTORY = "no_targets_no_contextual_no_max_attn_len_no_min_full_attn"

# A spec, a structure and a shape; the configs that are compared are all that the module has.
KERNELS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("hopper_gemm", "hopper_gemm_cooperative", (4096, 4096, 4096)),
    ("hopper_gemm", "hopper_gemm_pingpong", (4096, 4096, 4096)),
    ("hopper_gemm_fp8", "hopper_gemm_fp8_e4m3_cooperative", (4096, 4096, 4096)),
    ("hopper_attention_fwd", "hopper_attention_fwd_none", (4, 32, 32, 4096, 4096)),
    ("hopper_attention_fwd", "hopper_attention_fwd_causal", (4, 32, 32, 4096, 4096)),
    ("hopper_attention_fwd_d64", "hopper_attention_fwd_d64_none_replicate2_registers240", (4, 32, 32, 4096, 4096)),
    ("hopper_attention_bwd", "hopper_attention_bwd_none_together", (4, 32, 32, 4096, 4096)),
    ("hopper_attention_bwd", "hopper_attention_bwd_causal_together", (4, 32, 32, 4096, 4096)),
    ("hopper_attention_bwd_d64", "hopper_attention_bwd_d64_none_together", (4, 32, 32, 4096, 4096)),
    ("hopper_layer_norm", "hopper_layer_norm_grid", (8192, 8192)),
    ("hopper_rms_norm", "hopper_rms_norm_grid", (8192, 8192)),
    # What is above was measured before tasks' waits were part of the model, what follows after.
    ("hopper_gemm", "hopper_gemm_cooperative", (5120, 3072, 8192)),
    ("hopper_gemm", "hopper_gemm_pingpong", (2048, 8192, 3072)),
    ("hopper_attention_fwd_d96", "hopper_attention_fwd_d96_none", (4, 16, 16, 6144, 6144)),
    ("hopper_attention_fwd_d256", "hopper_attention_fwd_d256_causal", (2, 16, 16, 8192, 8192)),
    ("hopper_attention_fwd_d192_dv128", "hopper_attention_fwd_d192_dv128_none", (2, 32, 32, 4096, 4096)),
    (
        "hopper_attention_fwd_d64",
        "hopper_attention_fwd_d64_none_replicate3_registers160_no_keep",
        (2, 32, 32, 6144, 6144),
    ),
    ("hopper_attention_bwd", "hopper_attention_bwd_none_together", (2, 16, 16, 8192, 8192)),
    # After the rates of L2 and of loads had been read off these.
    ("hopper_gemm_fp8", "hopper_gemm_fp8_e4m3_cooperative", (8192, 3072, 6144)),
    ("hopper_attention_fwd", "hopper_attention_fwd_causal", (1, 24, 24, 16384, 16384)),
    ("hopper_attention_bwd_d64", "hopper_attention_bwd_d64_causal_together", (2, 24, 24, 6144, 6144)),
    ("hopper_attention_bwd", "hopper_attention_bwd_causal_together", (1, 32, 32, 12288, 12288)),
    ("hopper_rms_norm", "hopper_rms_norm_grid", (24576, 4096)),
    # Of the families that had no work items before, the first structure that ships, each of a shape of its family.
    ("hopper_gdpa", "hopper_gdpa_raw_none", (32, 8, 8, 2048, 2048)),
    ("hopper_gdpa_bwd", "hopper_gdpa_bwd_raw_none", (32, 8, 8, 2048, 2048)),
    ("hopper_hstu", f"hopper_hstu_causal_{HISTORY}", (256, 4, 4, 2048, 2048)),
    ("hopper_hstu_bwd", f"hopper_hstu_bwd_causal_{HISTORY}", (256, 4, 4, 2048, 2048)),
    ("hopper_grouped_gemm", "hopper_grouped_gemm_col_cooperative", (8, 2048, 4096, 4096)),
    ("hopper_grouped_gemm_weights", "hopper_grouped_gemm_weights", (8, 2048, 4096, 4096)),
    ("hopper_attention_decode", "hopper_attention_decode_lengths_replicate1", (32, 64, 8, 1, 8192)),
    ("hopper_attention_bwd_dq", "hopper_attention_bwd_dq_none_head_dim128", (4, 32, 32, 4096, 4096)),
    ("hopper_attention_fwd_packed", "hopper_attention_fwd_packed_head_dim64_none_top_left", (4, 32, 32, 4096, 4096)),
    ("hopper_layer_norm_bwd", "hopper_layer_norm_bwd", (8192, 8192)),
    ("hopper_rms_norm_bwd", "hopper_rms_norm_bwd", (16384, 4096)),
    ("hopper_mx_quantize", "hopper_mx_quantize_rows_grid", (8192, 8192)),
    # After the order of tiles had become part of the model.
    ("hopper_gemm", "hopper_gemm_pingpong", (6144, 4096, 5120)),
    ("hopper_gemm", "hopper_gemm_cooperative", (8192, 8192, 2048)),
    ("hopper_gemm", "hopper_gemm_pingpong", (3072, 12288, 4096)),
    # After the last change of that: what L2 keeps of B follows from random replacement.
    ("hopper_gemm", "hopper_gemm_pingpong", (7168, 5120, 4096)),
    ("hopper_gemm", "hopper_gemm_cooperative", (6144, 6144, 3072)),
    ("hopper_gemm", "hopper_gemm_pingpong", (4096, 10240, 2560)),
    # After what is measured of wgmmas, barriers and loads (tlxgen/roofline/latencies.py) had become part of the model.
    ("hopper_gemm", "hopper_gemm_cooperative", (7168, 4096, 4096)),
    ("hopper_gemm", "hopper_gemm_pingpong", (4096, 7168, 7168)),
    ("hopper_gemm", "hopper_gemm_cooperative", (3072, 9216, 6144)),
    ("hopper_gemm_fp8", "hopper_gemm_fp8_e4m3_cooperative", (6144, 6144, 4096)),
    ("hopper_attention_fwd", "hopper_attention_fwd_none", (2, 24, 24, 6144, 6144)),
    (
        "hopper_attention_fwd_d64",
        "hopper_attention_fwd_d64_causal_replicate3_registers160_no_keep",
        (2, 32, 32, 8192, 8192),
    ),
    ("hopper_attention_fwd_d96", "hopper_attention_fwd_d96_causal", (2, 32, 32, 6144, 6144)),
    ("hopper_attention_fwd_d256", "hopper_attention_fwd_d256_none", (2, 16, 16, 4096, 4096)),
    ("hopper_attention_fwd_d192_dv128", "hopper_attention_fwd_d192_dv128_causal", (2, 16, 16, 8192, 8192)),
    ("hopper_attention_bwd_d64", "hopper_attention_bwd_d64_none_together", (1, 48, 48, 4096, 4096)),
    # Other structures and shapes, small and ragged ones too; what they showed of fp8, grouped GEMM and multiply-adds
    # beside products is in the model now.
    ("hopper_gemm", "hopper_gemm_cooperative", (1024, 1024, 1024)),
    ("hopper_gemm", "hopper_gemm_pingpong", (2048, 2048, 2048)),
    ("hopper_gemm", "hopper_gemm_cooperative", (256, 8192, 8192)),
    ("hopper_gemm", "hopper_gemm_cooperative", (3000, 5056, 4096)),
    ("hopper_gemm", "hopper_gemm_pingpong", (8192, 1024, 8192)),
    ("hopper_gemm_fp8", "hopper_gemm_fp8_e4m3_cooperative", (2048, 2048, 2048)),
    ("hopper_gemm_fp8_exact", "hopper_gemm_fp8_exact", (4096, 4096, 4096)),
    ("hopper_gemm_layouts", "hopper_gemm_layouts_col_row_replicate2_shared", (4096, 4096, 4096)),
    ("hopper_gemm_pipelined", "hopper_gemm_pipelined_persistent", (4096, 4096, 4096)),
    ("hopper_gemm_swiglu", "hopper_gemm_swiglu_pingpong_tma", (4096, 4096, 4096)),
    ("hopper_attention_fwd", "hopper_attention_fwd_none", (1, 8, 8, 1024, 1024)),
    ("hopper_attention_fwd", "hopper_attention_fwd_causal", (16, 16, 16, 1024, 1024)),
    ("hopper_attention_fwd", "hopper_attention_fwd_none", (2, 32, 8, 8192, 8192)),
    ("hopper_attention_fwd_d64", "hopper_attention_fwd_d64_none_replicate2_registers240", (1, 16, 16, 2048, 2048)),
    ("hopper_attention_fwd_d64", "hopper_attention_fwd_d64_causal_replicate2_registers240", (4, 32, 32, 4096, 4096)),
    ("hopper_attention_fwd_fp8", "hopper_attention_fwd_fp8_head_dim128_none_dense", (4, 32, 32, 4096, 4096)),
    ("hopper_attention_fwd_fp8", "hopper_attention_fwd_fp8_head_dim64_causal_dense", (4, 32, 32, 4096, 4096)),
    ("hopper_attention_fwd_packed", "hopper_attention_fwd_packed_head_dim96_none_top_left", (4, 32, 32, 4096, 4096)),
    (
        "hopper_attention_fwd_packed",
        "hopper_attention_fwd_packed_head_dim64_causal_bottom_right",
        (4, 32, 32, 4096, 4096),
    ),
    ("hopper_attention_bwd", "hopper_attention_bwd_causal_together", (4, 16, 16, 2048, 2048)),
    ("hopper_attention_bwd_d96", "hopper_attention_bwd_d96_none_together", (4, 16, 16, 4096, 4096)),
    ("hopper_attention_bwd_d256", "hopper_attention_bwd_d256_none", (2, 16, 16, 4096, 4096)),
    ("hopper_attention_bwd_d192_dv128", "hopper_attention_bwd_d192_dv128_causal", (2, 16, 16, 4096, 4096)),
    ("hopper_gdpa", "hopper_gdpa_gelu_none", (32, 8, 8, 2048, 2048)),
    ("hopper_gdpa", "hopper_gdpa_silu_none", (32, 8, 8, 2048, 2048)),
    ("hopper_gdpa_bwd", "hopper_gdpa_bwd_gelu_none", (32, 8, 8, 2048, 2048)),
    ("hopper_grouped_gemm", "hopper_grouped_gemm_row_pingpong", (64, 256, 2048, 7168)),
    ("hopper_grouped_gemm_fp8", "hopper_grouped_gemm_fp8_promote", (8, 2048, 4096, 4096)),
    ("hopper_attention_decode", "hopper_attention_decode_dense_replicate1", (64, 32, 8, 1, 4096)),
    ("hopper_mx_quantize", "hopper_mx_quantize_both_grid", (8192, 8192)),
    ("hopper_layer_norm", "hopper_layer_norm_grid", (32768, 1024)),
    ("hopper_rms_norm", "hopper_rms_norm_grid", (4096, 16384)),
    # After the items of each SM, what L2 keeps from launch to launch, and fences had become part of the model.
    ("hopper_layer_norm", "hopper_layer_norm_grid", (4096, 4096)),
    ("hopper_rms_norm", "hopper_rms_norm_grid", (8192, 2048)),
    ("hopper_rms_norm_bwd", "hopper_rms_norm_bwd", (4096, 4096)),
    ("hopper_rms_norm_residual", "hopper_rms_norm_residual_grid", (8192, 4096)),
    ("hopper_rms_norm_residual_bwd", "hopper_rms_norm_residual_bwd", (8192, 4096)),
    ("hopper_mx_quantize", "hopper_mx_quantize_rows_grid", (4096, 4096)),
    ("hopper_attention_decode", "hopper_attention_decode_dense_replicate1", (8, 32, 8, 1, 4096)),
    ("hopper_attention_bwd_alibi", "hopper_attention_bwd_alibi_none_together", (2, 16, 16, 4096, 4096)),
    ("hopper_attention_bwd_keys", "hopper_attention_bwd_keys_causal_bottom_right", (8, 16, 16, 2048, 4096)),
    (
        "hopper_attention_bwd_packed",
        "hopper_attention_bwd_packed_head_dim64_none_top_left_together",
        (8, 16, 16, 4096, 4096),
    ),
    ("hopper_attention_bwd_ordered", "hopper_attention_bwd_ordered_head_dim128_none_dense", (2, 16, 16, 4096, 4096)),
    ("hopper_attention_bwd_dq_packed", "hopper_attention_bwd_dq_packed_none_top_left", (8, 16, 16, 2048, 2048)),
    ("hopper_attention_fwd_alibi", "hopper_attention_fwd_alibi_causal", (2, 32, 32, 4096, 4096)),
    ("hopper_attention_fwd_bias", "hopper_attention_fwd_bias_none_like_q", (2, 16, 16, 2048, 2048)),
    ("hopper_attention_fwd_fp8_d256", "hopper_attention_fwd_fp8_d256_none", (2, 16, 16, 4096, 4096)),
    ("hopper_attention_fwd_masks", "hopper_attention_fwd_masks_none_top_left_keys", (16, 16, 16, 2048, 2048)),
    (
        "hopper_attention_fwd_schedules",
        "hopper_attention_fwd_schedules_none_grid_overlap_no_turns",
        (4, 16, 16, 4096, 4096),
    ),
    ("hopper_gemm_any_rows", "hopper_gemm_any_rows_row_col", (2000, 5001, 3000)),
    ("hopper_gemm_cluster", "hopper_gemm_cluster_m2_cooperative_leader", (4096, 8192, 4096)),
    ("hopper_gemm_epilogue", "hopper_gemm_epilogue_scale_bias_gelu_subtiles1_tma", (4096, 4096, 4096)),
    ("hopper_gemm_fp8_block", "hopper_gemm_fp8_block_pingpong", (4096, 7168, 2048)),
    ("hopper_gemm_prefetch", "hopper_gemm_prefetch_row_row_n2_pingpong", (4096, 4096, 8192)),
    ("hopper_grouped_gemm_columns", "hopper_grouped_gemm_columns_pingpong", (16, 1024, 4096, 2048)),
    ("hopper_grouped_gemm_fp8_block", "hopper_grouped_gemm_fp8_block_offs_pingpong", (16, 512, 4096, 7168)),
    ("hopper_grouped_gemm_swiglu", "hopper_grouped_gemm_swiglu_cooperative", (8, 1024, 2048, 4096)),
    ("hopper_linear", "hopper_linear_row_col_no_ops_cooperative", (2048, 4096, 11008)),
)


@triton.jit  # type: ignore
def stamp(clock_ptr):  # type: ignore
    """Stores the number of the SM that each CTA is on, its clock64, and the GPU's nanoseconds."""
    sm = tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    now = clock()
    ns = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
    tl.store(clock_ptr + tl.program_id(0) * 3, sm.to(tl.int64))
    tl.store(clock_ptr + tl.program_id(0) * 3 + 1, now)
    tl.store(clock_ptr + tl.program_id(0) * 3 + 2, ns)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=("predict", "measure"))
    parser.add_argument("record", type=Path)
    parser.add_argument("--json", type=Path, help="with measure: write here (default: into the record)")
    parser.add_argument("--only", default="", metavar="REGEX", help="with predict: structures whose names it matches")
    options = parser.parse_args()
    if options.what == "predict":
        chosen = (kernel for kernel in KERNELS if re.search(options.only, kernel[1]))
        write(options.record, {"rows": [row for kernel in chosen for row in predicted_rows(*kernel)]})
        return 0
    record = json.loads(options.record.read_text())
    kernels = groupby(record["rows"], key=lambda row: (row["structure"], row["shape"]))
    measured = [found for _, rows in kernels for found in clocks_of(list(rows))]
    for row, (clocks, us, share, again) in zip(record["rows"], measured, strict=True):
        row |= {"clocks": round(clocks), "us": round(us, 2), "mhz": round(clocks / us), "share": round(share, 3)}
        row |= {"again": round(again)} if again else {}
        row["ratio"] = round(at_clock(row) / clocks, 3)
        figures = f"{row['predicted']:9} {row['clocks']:9} {row['mhz']:5} {row['ratio']:.3f} {row['by']}"
        print(f"{row['structure']:54} {row['config']} {figures}", flush=True)
    record["device"] = torch.cuda.get_device_name()
    record["summary"] = summary(record["rows"])
    print(record["summary"])
    write(options.json or options.record, record)
    return int(any(row["ratio"] > 1 for row in record["rows"]))


def write(path: Path, data: dict[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1) + "\n")


def at_clock(row: dict[str, Any]) -> float:
    """What is predicted at the clock that the SMs had: memory needs its time, which is fewer clocks of slower SMs."""
    if row["by"] != "DRAM":
        return float(row["predicted"])
    return max(float(row["others"]), row["predicted"] * row["mhz"] / GPU.mhz)


def known(spec: str, structure: str) -> tuple[Kernels, Structure]:
    kernels = kernels_of(ROOT / "specs" / f"{spec}.yaml").some()
    return kernels, next(s for s in kernels.structures if s.name == structure)


def predicted_rows(spec: str, name: str, shape: tuple[int, ...]) -> list[dict[str, Any]]:
    """A row for each config of the structure; `others`: where memory takes no time."""
    from tlxgen.roofline.measure import measure
    from tlxgen.verbs.roofline import predicted
    from tlxgen.working import of_spec

    kernels, structure = known(spec, name)
    rows = []
    with of_spec(ROOT / "specs" / f"{spec}.yaml") as working:
        for config, variant in enumerate(structure.variants):
            probed = measure(working.path(name), kernels.family, variant, config, shape)
            if probed:
                bound = predicted(kernels.family, variant, probed.at(shape, GPU.sms), shape, GPU)
                others = predicted(kernels.family, variant, probed.at(shape, GPU.sms), shape, GPU._replace(mhz=1))
                row = {"spec": spec, "structure": name, "shape": shape, "config": config, "values": variant.label}
                rows.append(row | {"predicted": round(bound.clocks), "others": round(others.clocks), "by": bound.by})
                print(rows[-1], flush=True)
    return rows


def clocks_of(rows: Sequence[dict[str, Any]]) -> list[tuple[float, float, float, float]]:
    """Of configs of one structure on one problem: SM clocks of the kernel, microseconds of the call, the kernel's share
    of them, medians over PLACES, and of the config that the module picks the clocks once more. All configs have the
    same inputs, since a GEMM may take 5 % longer at one place in memory than at another."""
    kernels, structure = known(rows[0]["spec"], rows[0]["structure"])
    module = load_file(ROOT / "generated" / kernels.name / f"{structure.name}.py")
    problem, shape, spec = kernels.family.problem(), tuple(rows[0]["shape"]), structure.variants[0].spec
    make = kernels.family.benchmark().call
    picked = module.CONFIGS.index(module.pick_config(*shape, module.gpu_of(0))) if len(rows) > 1 else 0
    twice = next((at for at, row in enumerate(rows) if row["config"] == picked), 0)
    shares, found, kept = [], [], []
    for _ in range(PLACES):
        torch.manual_seed(0)
        made = problem.inputs(spec, shape, torch.device("cuda"))
        calls = [make(module, spec, shape, made, module.CONFIGS[row["config"]]) for row in (*rows, rows[twice])]
        kept.append((made, [call() for call in calls]))  # or the next tensors would have the same memory
        torch.cuda.synchronize()
        shares = shares or [share_of_first(call) for call in calls]
        (none, alone), *both = between([lambda: None, *calls])
        found.append([(clocks - none, us - alone) for clocks, us in both])
    medians = [
        [statistics.median(values) for values in zip(*of_config, strict=True)] for of_config in zip(*found, strict=True)
    ]
    *each, (again, _) = [(clocks * share, us * share) for (clocks, us), share in zip(medians, shares, strict=True)]
    seconds = [again if at == twice else 0.0 for at in range(len(rows))]
    return [(*row, share, second) for row, share, second in zip(each, shares[:-1], seconds, strict=True)]


def share_of_first(call: Callable[[], Any]) -> float:
    """The longest kernel's part of the time of all that a call launches."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(3):
            call()
        torch.cuda.synchronize()
    times = [e.device_time_total for e in profile.key_averages() if e.device_time_total]
    return float(max(times)) / math.fsum(times)


def between(calls: Sequence[Callable[[], Any]], before: Callable[[], Any] | None = None) -> list[tuple[float, float]]:
    """Clocks and microseconds between two stamps around each call: medians over SMs, and over replays of its graph, in
    turns with those of the others. `before` is what a graph launches before the first stamp."""
    ctas = 4 * torch.cuda.get_device_properties(0).multi_processor_count
    first, last = (torch.zeros((ctas, 3), dtype=torch.int64, device="cuda") for _ in range(2))
    stamp[(ctas,)](first, num_warps=1)
    torch.cuda.synchronize()
    graphs = []
    for call in calls:
        graphs.append(torch.cuda.CUDAGraph())
        with torch.cuda.graph(graphs[-1]):
            if before:
                before()
            stamp[(ctas,)](first, num_warps=1)
            call()
            stamp[(ctas,)](last, num_warps=1)
    taken: list[list[tuple[float, float]]] = [[] for _ in calls]
    for _ in range(REPEATS):
        for graph, some in zip(graphs, taken, strict=True):
            graph.replay()
            torch.cuda.synchronize()
            some.append(_passed(first, last))
    return [(statistics.median(c for c, _ in some), statistics.median(us for _, us in some)) for some in taken]


def _passed(first: torch.Tensor, last: torch.Tensor) -> tuple[float, float]:
    """Clocks and microseconds from the last stamp of the one launch to the first of the other on an SM, the medians
    over SMs."""
    at: list[dict[int, tuple[int, int]]] = []
    for table, most in ((first, max), (last, min)):
        found: dict[int, tuple[int, int]] = {}
        for sm, clocks, ns in table.tolist():
            found[sm] = most(found.get(sm, (clocks, ns)), (clocks, ns))
        at.append(found)
    both = [(at[1][sm][0] - clocks, at[1][sm][1] - ns) for sm, (clocks, ns) in at[0].items() if sm in at[1]]
    return statistics.median(c for c, _ in both), statistics.median(ns for _, ns in both) / 1e3


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the config of each kernel that its module picks for the shape: least, median and most; the largest difference
    between two measurements of one config; and how the order of configs is kept (Spearman): of clocks as they are, and
    with configs within TIE of each other in the order that is predicted."""
    ratios = sorted(row["ratio"] for row in rows if "again" in row)
    noise = max(abs(row["again"] / row["clocks"] - 1) for row in rows if "again" in row)
    stats = importlib.import_module("scipy.stats") if importlib.util.find_spec("scipy") else None
    ranks = {}
    for name in dict.fromkeys((row["structure"], tuple(row["shape"])) for row in rows):
        some = [row for row in rows if (row["structure"], tuple(row["shape"])) == name]
        if stats and len(some) > 3:
            predicted = [float(f"{row['predicted']:.4g}") for row in some]  # a clock more or less makes no order
            clocks = [row["clocks"] for row in some]
            kept = [stats.spearmanr(predicted, of).statistic for of in (clocks, told_apart(clocks, predicted))]
            ranks[f"{name[0]} {'x'.join(map(str, name[1]))}"] = [round(float(rank), 3) for rank in kept]
    stated = {"least": ratios[0], "median": statistics.median(ratios), "most": ratios[-1]}
    return stated | {"noise": round(noise, 4), "spearman": ranks}


def told_apart(clocks: Sequence[float], predicted: Sequence[float]) -> list[int]:
    """Places in the order of clocks. Those that are no more than TIE above the least of them are in that of what is
    predicted, alike where that is."""
    least = 0.0
    groups: dict[int, tuple[float, float]] = {}
    for at in sorted(range(len(clocks)), key=clocks.__getitem__):
        least = clocks[at] if clocks[at] > least * (1 + TIE) else least
        groups[at] = (least, predicted[at])
    order = sorted({*groups.values()})
    return [order.index(groups[at]) for at in range(len(clocks))]


if __name__ == "__main__":
    sys.exit(main())
