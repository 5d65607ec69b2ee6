"""The kernels that are mutated, and the configs and shapes on which a mutant must show its fault."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import torch

from benchmarks.tutorials import attention, gemm
from benchmarks.tutorials.quantize import as_torchao
from benchmarks.tutorials.row import Tutorial as Row
from benchmarks.tutorials.row import load as load_tutorial
from tests.sim.support import ROOT, kernels
from tlxgen.check import numerics
from tlxgen.coverage import Coverage
from tlxgen.sim import DEVICE, RUNS, SMS, Limits, Report, Session, Way, load_module, verify, verify_case
from tlxgen.verify.sms import counts_for, turn_of
from tlxgen.verify.structures import cases_of, cluster_of, limits_of, loaded
from tlxgen.verify.varied import Varied

LIMITS = Limits(steps=100_000)
MOST_PARTS = 4  # of K: more cost minutes and are the same
Shape = tuple[int, ...]  # as the family's problem has it

# One module for each thing that a family's templates can do. GEMM on sm90: cooperation, turns on named barriers and on
# mbarriers, clusters of either kind with either barrier, a task that stores behind a kept guard, no tasks, parts of K,
# stores without TMA, operations of the epilogue, column-major operands on barriers of their own. On sm100: tensor
# memory, dynamic work, MMA of two CTAs by either protocol, groups, scales. Attention: turns with persistence and
# causal order, softmax in one round with the dots, one ring for K and V, O in Q's place, lengths in memory; backward
# with dQ added up and without; on sm100 each of its schedules, on either order of the dots. Norms: rows in registers,
# read ahead, twice, or from SMEM, and shared by clusters; backward with sums over rows. Jagged attention: an activation
# in the softmax's place, silu under a mask of targets, both ways. Decoding from pages, with sums of parts; quantised
# blocks. Exchanged operands, loads by threads, drawn items, scales of blocks; backward of attention packed, and on
# sm100; attention with MX scales, both ways. An activation and grouped CTA pairs on sm100; scales of blocks, columns
# in pairs, and CTAs that help others with their last tile.
GENERATED = (
    "hopper_gemm/hopper_gemm_cooperative",
    "hopper_gemm/hopper_gemm_pingpong",
    "hopper_gemm_pingpong/hopper_gemm_pingpong_mbarrier_in_flight1_separate",
    "hopper_gemm_cluster/hopper_gemm_cluster_m2_cooperative_leader",
    "hopper_gemm_cluster/hopper_gemm_cluster_n2_pingpong_warp",
    "hopper_gemm_store_task/hopper_gemm_store_task_cooperative_warp",
    "hopper_gemm_pipelined/hopper_gemm_pipelined_persistent",
    "hopper_gemm_split_k/hopper_gemm_split_k_persistent",
    "hopper_gemm_tail/hopper_gemm_tail_pingpong_bias_relu_subtiles2",
    "hopper_grouped_gemm/hopper_grouped_gemm_row_pingpong",
    "hopper_grouped_gemm_weights/hopper_grouped_gemm_weights",
    "hopper_gemm_epilogue/hopper_gemm_epilogue_scale_bias_gelu_subtiles4_direct",
    "hopper_gemm_epilogue/hopper_gemm_epilogue_relu_residual_subtiles2_tma",
    "hopper_gemm_layouts/hopper_gemm_layouts_col_col_replicate2_separate",
    "hopper_attention_fwd/hopper_attention_fwd_causal",
    "hopper_attention_fwd_schedules/hopper_attention_fwd_schedules_none_grid_no_overlap_no_turns",
    "hopper_attention_fwd_rings/hopper_attention_fwd_rings_shared_leader_q",
    "hopper_attention_fwd_masks/hopper_attention_fwd_masks_causal_bottom_right_packed",
    "hopper_attention_bwd/hopper_attention_bwd_causal_together",
    "hopper_attention_bwd_dq/hopper_attention_bwd_dq_none_head_dim64",
    "blackwell_gemm/blackwell_gemm_persistent",
    "blackwell_gemm_clc/blackwell_gemm_clc_warp",
    "blackwell_gemm_2cta/blackwell_gemm_2cta_leader_clc",
    "blackwell_gemm_2cta/blackwell_gemm_2cta_rendezvous_persistent",
    "blackwell_gemm_groups/blackwell_gemm_groups_interleave_subtiles4",
    "blackwell_mx_gemm/blackwell_mx_gemm_e4m3_m2_persistent",
    "blackwell_mx_gemm_fp4/blackwell_mx_gemm_fp4_e4m3_e2m1_m2_tmem",
    "blackwell_attention_fwd/blackwell_attention_fwd_causal",
    "blackwell_attention_fwd_schedules/blackwell_attention_fwd_schedules_none_persistent_no_overlap",
    "blackwell_attention_fwd_rings/blackwell_attention_fwd_rings_clc_shared_q",
    "hopper_gemm_cluster_k/hopper_gemm_cluster_k_k2_persistent_cooperative",
    "hopper_layer_norm/hopper_layer_norm_grid",
    "hopper_layer_norm/hopper_layer_norm_staged",
    "hopper_rms_norm/hopper_rms_norm_grid",
    "hopper_layer_norm_bwd/hopper_layer_norm_bwd",
    "hopper_gdpa/hopper_gdpa_hardswish_none",
    "hopper_gdpa_bwd/hopper_gdpa_bwd_hardswish_none",
    "hopper_hstu/hopper_hstu_causal_no_targets_contextual_max_attn_len_no_min_full_attn",
    "hopper_hstu_bwd/hopper_hstu_bwd_causal_no_targets_contextual_max_attn_len_no_min_full_attn",
    "hopper_attention_decode/hopper_attention_decode_lengths_replicate1",
    "hopper_mx_quantize/hopper_mx_quantize_both_persistent",
    "hopper_gemm_any_rows/hopper_gemm_any_rows_row_row",
    "hopper_matmul/hopper_matmul_row_row_tma_edge_rows32_cooperative_replicate1_exchange_n4_whole_after_subtiles1",
    "hopper_grouped_gemm_dynamic/hopper_grouped_gemm_dynamic_pingpong",
    "hopper_grouped_gemm_weights_split/hopper_grouped_gemm_weights_split",
    "hopper_attention_bwd_packed/hopper_attention_bwd_packed_head_dim64_causal_bottom_right_together",
    "blackwell_attention_bwd/blackwell_attention_bwd_causal",
    "blackwell_attention_bwd_2cta/blackwell_attention_bwd_2cta_head_dim64_none",
    "blackwell_attention_fwd_mxfp8/blackwell_attention_fwd_mxfp8_none",
    "blackwell_attention_bwd_mxfp8/blackwell_attention_bwd_mxfp8_causal",
    "blackwell_hstu_bwd/blackwell_hstu_bwd_causal_targets_contextual_max_attn_len",
    "blackwell_gdpa/blackwell_gdpa_relu_window",
    "blackwell_grouped_gemm_clc/blackwell_grouped_gemm_clc_m2",
    "hopper_gemm_fp8_block/hopper_gemm_fp8_block_cooperative",
    "hopper_gemm_swiglu/hopper_gemm_swiglu_cooperative_tma",
    "hopper_gemm_helped/hopper_gemm_helped_pingpong_prefetch2_bias_relu_subtiles4",
)
MOST_ELEMENTS = 300_000  # of a problem: rows of more are of the same configs and cost seconds a run


@dataclass(frozen=True)
class Case:
    """One config and shape of a subject. `number`: its place among those that `tlxgen verify` runs, on which its number
    of SMs depends."""

    config: int
    shape: Shape
    number: int = 0

    def __str__(self) -> str:
        return f"config {self.config}, {'x'.join(map(str, self.shape))}"


class Verify(Protocol):
    """Runs one case of a module on some schedules, each on as many SMs as `tlxgen verify` gives it, or on so many
    (clusters)."""

    def __call__(self, path: Path, case: Case, runs: Sequence[Way], sms: int | None = None) -> Report: ...


@dataclass(frozen=True)
class Subject:
    """A kernel module at `path`. `verify` runs one case of a copy of it, mutated or not."""

    at: str
    path: Path
    cases: tuple[Case, ...]
    verify: Verify = field(repr=False)
    ours: bool = True  # else no text of it may be written to a file of the project

    @property
    def text(self) -> str:
        return self.path.read_text()

    def lines(self) -> set[int]:
        """The lines that the cases execute."""
        found: set[int] = set()
        for case in self.cases:
            found |= executed(self.path, lambda case=case: self.verify(self.path, case, RUNS[-1:]))  # type: ignore[misc]
        return found


@cache
def generated(at: str) -> Subject:
    """A module under generated/, on what `tlxgen verify` runs."""
    name, structure = at.split("/")
    found = kernels(name)
    made = next(s for s in found.structures if s.name == structure)
    variants = made.variants
    path = ROOT / "generated" / f"{at}.py"
    problem, arch = found.family.problem(), found.structures[0].plan.arch.name
    leave = any(signal.looks for signal in made.plan.signals)

    def run(path: Path, case: Case, runs: Sequence[Way], sms: int | None = None) -> Report:
        report = Report()
        cluster = cluster_of(variants[case.config])
        for way in runs:
            turn = turn_of(way, case.number, cluster) if isinstance(way, tuple) else counts_for(cluster)[0]
            count = sms * cluster if sms else turn
            module = loaded(path, arch, count)
            limits = replace(limits_of(count, cluster) if leave else LIMITS, steps=LIMITS.steps)
            arguments = (variants[case.config].spec, case.shape, module.CONFIGS[case.config], numerics.compare)
            report.add(verify_case(problem, module, *arguments, (way,), sms=count, limits=limits, arch=arch))
        return report

    configs = [c.kwargs for c in load_module(path, arch).CONFIGS]
    points = [(v.spec, c) for v, c in zip(variants, configs, strict=True)]
    cases = [Case(*c, number) for number, c in enumerate(cases_of(problem, points))]
    cases = [c for c in cases if configs[c.config].get("SPLIT_K", 1) <= MOST_PARTS]
    if "norm" in at:
        cases = [c for c in cases if math.prod(c.shape) <= MOST_ELEMENTS]
    return Subject(at, path, tuple(sorted(cases, key=_cost)), run)


def _cost(case: Case) -> tuple[bool, int, int]:
    """Small problems of several tiles first: they show most faults."""
    return min(case.shape[-2:]) == 1, math.prod(case.shape), case.config


def executed(path: Path, run: Callable[[], Any]) -> set[int]:
    """The lines of a source that `run` executes in the simulator, which keeps line numbers."""
    import sys

    lines: set[int] = set()

    def in_function(frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            lines.add(frame.f_lineno)
        return in_function

    def on_call(frame: Any, event: str, _: Any) -> Any:
        return in_function if frame.f_code.co_filename == str(path) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        run()
    finally:
        sys.settrace(before)
    return lines


@dataclass(frozen=True)
class Tutorial:
    """A kernel of the fbtriton wheel: host function, options for it, shapes."""

    module: str
    function: str
    options: tuple[tuple[str, Any], ...] = ()
    shapes: tuple[Shape, ...] = ((384, 320, 512), (256, 512, 64), (1200, 200, 264))


_WS = {
    "BM": 128, "BN": 128, "BK": 64, "GROUP_SIZE_M": 8, "NUM_STAGES": 3, "NUM_MMA_WARPS": 8, "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": True, "NUM_CTAS": 1,
}  # fmt: skip
_PIPELINED = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_STAGES": 4}
TUTORIALS = (
    Tutorial("hopper-persistent-gemm-ws-cooperative", "matmul_tlx_ws_persistent"),
    Tutorial("hopper-persistent-gemm-ws-pingpong", "matmul_tlx_ws_persistent"),
    Tutorial("hopper_gemm_ws", "matmul", (("config", _WS),)),
    Tutorial("hopper_gemm_pipelined", "matmul", (("config", _PIPELINED),), ((384, 320, 512), (600, 200, 136))),
)


def tutorial(it: Tutorial) -> Subject:
    """A tutorial, on shapes of several tiles; fp16, (M, N, K) as elsewhere."""
    import triton.language.extra.tlx as tlx

    path = Path(tlx.__path__[0]) / "tutorials" / f"{it.module}.py"

    def run(path: Path, case: Case, runs: Sequence[Way], sms: int | None = None) -> Report:
        module = load_module(path, sms=sms or SMS)
        m, n, k = case.shape

        def program(session: Session) -> None:
            torch.manual_seed(session.seed)
            a = torch.randn(m, k, dtype=torch.float16, device=DEVICE)
            b = torch.randn(k, n, dtype=torch.float16, device=DEVICE)
            c = getattr(module, it.function)(a, b, **dict(it.options))
            reference = (a.double() @ b.double()).as_subclass(torch.Tensor)
            verdict = numerics.compare(c.as_subclass(torch.Tensor), reference, float(reference.norm()), 5e-4)
            if not verdict.passed:
                session.findings.add("wrong-numbers", verdict.text)

        return verify(program, runs, sms=sms or SMS, limits=LIMITS)

    cases = tuple(Case(0, shape) for shape in it.shapes)
    return Subject(f"tutorials/{it.module}", path, cases, run, ours=False)


# Rows of benchmarks/tutorials, one of each kind: dynamic work, MMA of two CTAs, attention on either architecture.
ROWS = (
    "blackwell_gemm_clc, base",
    "blackwell_gemm_2cta",
    "blackwell_gemm_ws, 2 MMA groups",
    "hopper_fa_ws_pipelined_pingpong_persistent",
    "blackwell_fa_ws_persistent causal",
    "blackwell_fa_clc causal, rescale",
)


def row_of(name: str) -> Row:
    """The row of that name."""
    return next(row for row in (*attention.ROWS, *gemm.ROWS) if row.name == name)


def of_row(row: Row) -> Subject:
    """A row's kernel, through its own host function, on some numbers of SMs; what the row explains does not count."""
    path = Path(str(load_tutorial(row.module, row.arch).__file__))

    def run(path: Path, case: Case, runs: Sequence[Way], sms: int | None = None) -> Report:
        def load(sms: int, noted: Coverage) -> ModuleType:
            with as_torchao():
                return load_module(path, row.arch, sms, noted)

        def check(way: Way, module: ModuleType, sms: int) -> Report:
            return verify(lambda s: row.check(module, s), (way,), sms=sms, arch=row.arch, limits=LIMITS)

        varied: Varied[ModuleType] = Varied(load, sms)
        report = Report()
        for way in runs:
            report.add(varied.run(way, partial(check, way)))
        report.seen = [s for s in report.seen if s.finding.id not in {**row.warnings, **row.defects}]
        return report

    return Subject(f"rows/{row.module}", path, (Case(0, ()),), run, ours=False)


def subjects(names: Sequence[str] = ()) -> Iterator[Subject]:
    """All generated ones, or those of all whose name contains one of `names`."""
    for at in GENERATED:
        if not names or any(n in at for n in names):
            yield generated(at)
    for it in TUTORIALS:
        if any(n in f"tutorials/{it.module}" for n in names):
            yield tutorial(it)
    for row in map(row_of, ROWS):
        if any(n in f"rows/{row.module}" for n in names):
            yield of_row(row)
