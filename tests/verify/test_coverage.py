"""`tlxgen verify` says what its runs have not exercised, and runs what asks for the SMs on one, a few and many."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from benchmarks.planted_faults import FAULTS
from tests.sim.support import ROOT, kernels, source
from tests.sim.support import written as put
from tlxgen.cli import app
from tlxgen.coverage import Summary, Waiver, points, summary_of, waived
from tlxgen.errors import TlxgenError
from tlxgen.families.structure import constants_of
from tlxgen.sim import Report, load_module
from tlxgen.verify import Run, structures
from tlxgen.verify.sms import COUNTS, counts_for, turn_of
from tlxgen.verify.verification import Case

RUNS: tuple[Run, ...] = (("random", 0), ("random", 1), ("starved", 0), ("starved", 1), ("lazy", 0), ("eager", 0))
HEAD = """
import functools
import torch, triton, triton.language as tl
import triton.language.extra.tlx as tlx

@functools.cache
def sms():
    return torch.cuda.get_device_properties("cuda").multi_processor_count

@triton.jit
def persistent(out, items, step):
    for item in range(tl.program_id(0), items, step):
        tl.store(out + item, BODY)
        if item > 100:
            tl.store(out, 0.0)
"""
HOST = """
def host():
    out = torch.zeros(ITEMS, device="cuda")
    step = min(SMS, ITEMS)
    persistent[(step,)](out, ITEMS, step)
    torch.testing.assert_close(out, torch.ones(ITEMS, device="cuda"))
"""


def written(folder: Path, body: str = "1.0", items: int = 3, sms: str = "sms()", head: str = "") -> Path:
    path = folder / "kernels.py"
    path.write_text(HEAD.replace("BODY", body) + head + HOST.replace("ITEMS", str(items)).replace("SMS", sms))
    return path


def verify(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["verify", "--workers", "1", *arguments])


def record(folder: Path, *arguments: str) -> dict[str, Any]:
    verify("--schedule", "random", "--json", str(folder / "found.json"), *arguments)
    data: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return data


def prepared(
    at: str, cases: Sequence[Case] | None = None, path: Path | None = None
) -> tuple[structures.Prepared, Sequence[Waiver]]:
    """A generated module, or a copy of it at `path`, as `verify` runs it; on some cases alone."""
    name, structure = at.split("/")
    return structures.prepare(ROOT / "specs" / f"{name}.yaml", structure, path or source(at), None, cases)


def test_host_code_that_asks_for_the_sms_is_run_on_several(tmp_path: Path) -> None:
    (target,) = record(tmp_path, f"{written(tmp_path)}:host")["targets"]
    assert target["status"] == "clean"
    assert target["coverage"]["sms"] == sorted(COUNTS)
    (kernel,) = target["coverage"]["kernels"]
    assert all(count > 0 for count in kernel["items"][1:])


def test_a_number_that_a_module_keeps_varies_too(tmp_path: Path) -> None:
    path = written(tmp_path, head="NUM_SMS = sms()\n", sms="NUM_SMS")
    (target,) = record(tmp_path, f"{path}:host")["targets"]
    assert target["coverage"]["sms"] == sorted(COUNTS)


def test_code_that_does_not_ask_runs_once(tmp_path: Path) -> None:
    (target,) = record(tmp_path, f"{written(tmp_path, sms='2')}:host")["targets"]
    assert target["runs"] == 2
    assert target["coverage"]["sms"] == []


def test_a_fault_of_a_third_item_is_found_by_default(tmp_path: Path) -> None:
    """With 4 SMs and 3 items no CTA takes a second one."""
    result = verify(f"{written(tmp_path, body='1.0 + (item >= 2 * step)')}:host")
    assert result.exit_code == 1
    assert "1 SM)" in result.output


def test_what_is_missing_is_one_line(tmp_path: Path) -> None:
    result = verify(f"{written(tmp_path, sms='3')}:host", "--schedule", "random")
    lines = [line for line in result.output.splitlines() if "not seen:" in line]
    assert lines == ["  not seen: line 15 never ran; no CTA took a second item; no CTA was without an item"]


def test_a_case_that_says_how_many_sms_runs_on_these(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "kernels.verify.yaml").write_text("call: host\nsms: 2\nargs: {}\ncases: {two: {}}\n")
    (target,) = record(tmp_path, str(tmp_path / "kernels.py"))["targets"]
    assert target["coverage"]["sms"] == [2]
    assert target["runs"] == 2


def test_a_run_on_another_number_of_sms_can_be_replayed(tmp_path: Path) -> None:
    path = written(tmp_path, body="1.0 + (item >= 2 * step)")
    (target,) = record(tmp_path, f"{path}:host")["targets"]
    (finding,) = target["findings"]
    assert finding["sms"] == 1
    again = verify(f"{path}:host", "--replay", f"{path}:host={finding['replay']}")
    assert again.exit_code == 1
    assert "wrong-numbers" in again.output


def test_the_page_shows_the_source_and_what_ran(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = verify(f"{written(tmp_path)}:host", "--coverage", str(page), "--schedule", "lazy")
    assert result.exit_code == 0
    text = page.read_text()
    rows = dict(re.findall(r'<tr id="[^"]*-(\d+)" class="(\w*)">', text))
    assert rows["13"] == "hit"
    assert rows["15"] == "miss"
    assert "tl.store(out + item, 1.0)" in text
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r'(src|href)="(?!#)', text)  # it needs nothing beside itself


def test_a_page_of_a_spec_has_the_source_that_it_makes(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    (tmp_path / "small.yaml").write_text("kernel: gemm\nname: small\narch: sm90\ntile: {n: 32, k: 16}\n")
    spec = str(tmp_path / "small.yaml")
    assert verify(spec, "--coverage", str(page), "--schedule", "lazy", "--config", "0").exit_code == 0
    assert "tlx.barrier_wait(" in page.read_text()


def test_a_page_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    result = verify(f"{written(tmp_path)}:host", "--coverage", str(tmp_path))
    assert isinstance(result.exception, TlxgenError)
    assert "cannot be written" in str(result.exception)
    assert "runs" not in result.output


def test_the_default_runs_of_a_shape_go_over_all_numbers_of_sms() -> None:
    for cluster in (1, 2, 4):
        for number in range(7):
            turns = {turn_of(run, number, cluster) for run in RUNS}
            assert turns == set(counts_for(cluster))
            assert all(n >= cluster and n % cluster == 0 for n in turns)


def test_a_summary_travels_as_json() -> None:
    summary = Summary({"lines": (3, 4), "rings": (1, 1)}, ("line 3 never ran",), 2, ("it is so",))
    assert Summary.from_json(json.loads(json.dumps(summary.to_json()))) == summary
    assert summary.line == "not seen: line 3 never ran"
    assert Summary({"lines": (3, 3)}).full


def test_a_config_runs_on_multiples_of_its_own_cluster() -> None:
    """And not of the largest that a variant of the structure has: on fewer SMs a CTA takes more rows."""
    at = "hopper_layer_norm_bwd/hopper_layer_norm_bwd"
    configs = load_module(source(at), "sm90").CONFIGS
    sizes = [config.kwargs["CLUSTER"] for config in configs]
    for size in (1, 2, 8):
        run, _ = prepared(at, [(sizes.index(size), (1, 8))])
        for way in RUNS:
            run(way)
        assert run.sms == set(counts_for(size))


def test_a_phase_that_is_right_for_two_rounds_is_reported(tmp_path: Path) -> None:
    """Of the sums that a cluster shares, which have two slots: a CTA must take seven rows."""
    fault = next(f for f in FAULTS if f.name == "phase of the sums of the first two rounds")
    text = source(fault.at).read_text()
    spec = next(s for s in kernels("hopper_layer_norm_bwd").structures if s.name == fault.at.split("/")[1])
    rows = [(v.spec, constants_of(v)) for v in spec.variants]
    config = next(i for i, (_, c) in enumerate(rows) if c["CLUSTER"] == 2 and c["BLOCK_N"] == 4096)
    shape, *_ = kernels("hopper_layer_norm_bwd").family.problem().simulated_shapes(*rows[config], 4)
    run, _ = prepared(fault.at, [(config, tuple(shape))], put(fault.at, fault.planted(text), tmp_path))
    assert any(run(way).errors for way in RUNS)


# At least one for each work list, kind of cluster, mask and schedule, with cheap runs; records have all.
FULL = (
    "hopper_gemm_pingpong/hopper_gemm_pingpong_mbarrier_in_flight1_separate",
    "hopper_gemm_pipelined/hopper_gemm_pipelined_grid",
    "hopper_gemm_pipelined/hopper_gemm_pipelined_persistent",
    "hopper_gemm_cluster_k/hopper_gemm_cluster_k_k2_grid_cooperative",
    "hopper_grouped_gemm_weights/hopper_grouped_gemm_weights",
    "hopper_grouped_gemm_given/hopper_grouped_gemm_given_masked_m",
    "hopper_attention_fwd/hopper_attention_fwd_causal",
    "hopper_attention_fwd_masks/hopper_attention_fwd_masks_window_top_left_dense",
    "hopper_attention_bwd_masks/hopper_attention_bwd_masks_bf16_head_dim128",
    "hopper_attention_bwd/hopper_attention_bwd_causal_together",
    "hopper_rms_norm/hopper_rms_norm_grid",
    "hopper_rms_norm_residual/hopper_rms_norm_residual_staged",
    "blackwell_gemm_2cta/blackwell_gemm_2cta_leader_clc",
    "blackwell_attention_fwd_masks/blackwell_attention_fwd_masks_window_bottom_right_keys",
    "blackwell_attention_fwd_dims/blackwell_attention_fwd_dims_bf16_head_dim64_head_dim_v128_replicate1_no_overlap",
    "blackwell_attention_fwd_schedules/blackwell_attention_fwd_schedules_none_persistent_no_overlap",
)


@pytest.mark.parametrize("at", FULL)
def test_generated_kernels_are_exercised_in_full(at: str) -> None:
    """Two of the six default runs are enough, so all six are; as soon as all is seen, it is."""
    run, waivers = prepared(at)
    report = Report()
    for seed in (0, 1):
        report.add(run(("random", seed)))
        summary = summary_of(waived(points(report.coverage), waivers))
        if summary.full:
            break
    assert not report.errors, str(report)
    assert summary.full, summary.line
    assert summary.counts["lines"][0] > 30
