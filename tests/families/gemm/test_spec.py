"""Combinations that a GEMM cannot have are refused at the key that is wrong; the numbers of a tile, by a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tlxgen import families
from tlxgen.errors import SpecError, SpecErrors
from tlxgen.families.gemm import Gemm
from tlxgen.families.gemm.spec import GemmSpec
from tlxgen.spec import load
from tlxgen.spec.expression import lookup
from tlxgen.spec.model import default_of
from tlxgen.spec.variants import expand

from .matrix import fits, kernels_of, spec_of

PINGPONG = {"tasks.mma.split": "pingpong"}
SM100 = {"arch": "sm100"}
PIPELINED = {"tasks.specialized": False, "tasks.mma.warps": 8}
FP8 = {"problem.a.dtype": "e4m3", "problem.b": {"dtype": "e4m3", "layout": "col"}}
TAIL = {"schedule.tail": "split"}
HELPED = {"schedule.tail": "helped"}
FEW = {"tasks.mma.exchange": True}
AHEAD = {"schedule.pdl": True, "schedule.prefetch": 2}
STORE_TASK = {"tasks.epilogue": {}, "tile.n": 128}
COLUMNS = {"tile.n": 192}
TWO = {"tasks.mma.replicate": 2}
TALL = {**FEW, "tile.m": 192}


def faults(folder: Path, values: dict[str, Any]) -> list[SpecError]:
    with pytest.raises(SpecErrors) as caught:
        kernels_of(spec_of("bad", values), folder)
    return caught.value.errors


MX = {**SM100, "problem": {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}, "scaling": "mx"}}

# (values, the key that is blamed, words of the message)
ILLEGAL: list[tuple[dict[str, Any], str, str]] = [
    ({"tasks.mma.replicate": 4}, "tasks.mma.replicate", "at most 3"),
    ({**PINGPONG, "tasks.mma.replicate": 3, "tile.m": 128}, "tasks.mma.replicate", "2 replicas, not 3"),
    ({**SM100, "tasks.mma.replicate": 3, "tile.m": 192}, "tasks.mma.replicate", "1 or 2 row groups, not 3"),
    ({"tasks.mma.replicate": 3, "tile.m": 128}, "tile.m", "64 rows each: a tile of 192, not of 128"),
    ({"tile.m": 192}, "tile.m", "a tile extent is a power of two, not 192"),
    ({**PINGPONG, "tasks.mma.replicate": 1}, "tasks.mma.replicate", "2 replicas, not 1"),
    ({**PINGPONG, "schedule.kind": "grid"}, "schedule.kind", "persistent"),
    ({**PIPELINED, **PINGPONG}, "tasks.mma.split", "two specialised consumers"),
    ({**PIPELINED, "tasks.mma.replicate": 2}, "tasks.mma.replicate", "one task"),
    ({**PIPELINED, "cluster.m": 2}, "cluster", "tasks.specialized must be true"),
    ({**PIPELINED, "tasks.epilogue": {}}, "tasks.epilogue", "tasks.specialized: true"),
    ({**TAIL, "schedule.kind": "grid"}, "schedule.kind", "only CTAs that stay"),
    ({**TAIL, **PIPELINED}, "tasks.specialized", "walks whole tiles"),
    ({**TAIL, "cluster.m": 2}, "cluster", "for CTAs of their own"),
    ({**TAIL, "schedule.split_k": 2}, "schedule.split_k", "cuts every tile already"),
    ({**TAIL, **STORE_TASK}, "tasks.epilogue", "no store task"),
    ({**TAIL, "epilogue.store": "direct"}, "epilogue.store", "by TMA from where C does"),
    ({**SM100, **TAIL}, "schedule.tail", "stay whole"),
    ({"schedule.fix_up": "last"}, "schedule.fix_up", "schedule.tail must be split"),
    ({**HELPED, "schedule.fix_up": "last"}, "schedule.fix_up", "schedule.tail must be split"),
    ({**SM100, "schedule.fix_up": "after"}, "schedule.fix_up", "on sm100 no tile is cut along K"),
    ({**FEW, **TWO, "tasks.mma.split": "pingpong"}, "tasks.mma.replicate", "1, or 2 that cooperate"),
    ({**FEW, "cluster.k": 2}, "cluster.k", "slices of columns, which are rows of the accumulator"),
    ({**FEW, **HELPED}, "schedule.tail", "turned in A's place"),
    ({**FEW, "epilogue.subtiles": 2}, "epilogue.subtiles", "rows of the accumulator"),
    ({**SM100, **FEW}, "tasks.mma.exchange", "on sm100 A's rows fill the instruction"),
    ({**SM100, "tasks.mma.columns": "whole"}, "tasks.mma.columns", "on sm100 the columns of a tile are a power of two"),
    ({**HELPED, "cluster.n": 2}, "cluster", "schedule.tail is helped: the parts of a tile"),
    ({**HELPED, "rings.ab.full": "separate"}, "rings.ab.full", "a helper's sums"),
    ({**SM100, **HELPED}, "schedule.tail", "stay whole"),
    ({"schedule.prefetch": 2}, "schedule.prefetch", "pdl must be true"),
    ({**AHEAD, "schedule.kind": "grid"}, "schedule.prefetch", "must be persistent"),
    ({**AHEAD, "schedule.split_k": 2}, "schedule.prefetch", "any part of K"),
    ({**SM100, **AHEAD}, "schedule.prefetch", "not been measured"),
    ({"tasks.mma.registers": 233}, "tasks.mma.registers", "multiple of 8"),
    ({"tasks.mma.registers": 16}, "tasks.mma.registers", "24..240"),
    ({"tasks.mma.registers": 256}, "tasks.mma.registers", "24..240"),
    ({"tasks.epilogue": {"registers": 25}}, "tasks.epilogue.registers", "multiple of 8"),
    ({"tasks.mma.warps": 6}, "tasks.mma.warps", "1, 4 or 8"),
    ({"tasks.epilogue": {"guard": "lower"}}, "tasks.epilogue.guard", "text that matches"),
    ({"guards": {"EPILOGUE_TASK": "keep"}}, "guards.EPILOGUE_TASK", "no task of this spec has a guard"),
    ({"guards": {"LOAD_TASK": "keep"}}, "guards.LOAD_TASK", "the default task cannot have one"),
    ({**STORE_TASK, "guards": {"STORE_TASK": True}}, "guards.STORE_TASK", "EPILOGUE_TASK"),
    ({"tasks.load.guard": "LOAD_TASK"}, "tasks.load.guard", "unknown key 'guard'"),
    ({"tasks.load.default": False}, "tasks.load.default", "is the default task"),
    ({"tasks.load.registers": 40}, "tasks.load.registers", "unknown key 'registers'"),
    ({**STORE_TASK, "epilogue.store": "direct"}, "epilogue.store", "must be tma"),
    ({"problem.a.dtype": "fp16"}, "problem.b.dtype", "cannot multiply fp16 by bf16"),
    ({"problem.b.dtype": "e4m3", "problem.b.layout": "col"}, "problem.b.dtype", "cannot multiply bf16 by e4m3"),
    ({**FP8, "problem.a.layout": "col"}, "problem.a.layout", "K-major only"),
    ({**FP8, "problem.b.layout": "row"}, "problem.b.layout", "K-major only"),
    ({"problem.a.dtype": "fp32"}, "problem.a.dtype", "expected 'fp16', 'bf16', 'e4m3', 'e5m2' or 'e2m1'"),
    ({"problem.accumulate": "bf16"}, "problem.accumulate", "fp32"),
    ({"schedule.kind": "clc"}, "schedule.kind", "of sm100"),
    ({"rings.acc": {"stages": 1}}, "rings.acc", "of sm100"),
    ({"tasks.mma.warps": 1}, "tasks.mma.warps", "4 or 8 warps"),
    ({"epilogue.subtiles": 8}, "epilogue.subtiles", "of sm100"),
    ({"epilogue.rounding": "stochastic"}, "epilogue.rounding", "of sm100"),
    (
        {**SM100, "epilogue.rounding": "stochastic", "problem.c.dtype": "fp32"},
        "epilogue.rounding",
        "nothing to round",
    ),
    ({**SM100, "tasks.mma.warps": 4}, "tasks.mma.warps", "1 warp, not 4"),
    ({**SM100, **PINGPONG}, "tasks.mma.split", "overlap MMA and epilogue"),
    ({**SM100, "tasks.specialized": False}, "tasks.specialized", "warp of its own"),
    ({**SM100, "tasks.load.default": True}, "tasks.load.default", "epilogue is the default"),
    ({**SM100, "tasks.mma.in_flight": 1}, "tasks.mma.in_flight", "releases a slot"),
    ({**SM100, "rings.ab.empty": "warp"}, "rings.ab.empty", "arrives once"),
    ({**SM100, "cluster.n": 2}, "cluster.n", "cluster.m"),
    ({**SM100, "tasks.scheduler": {}}, "tasks.scheduler", "clc does"),
    ({**SM100, "epilogue.interleave": True}, "epilogue.interleave", "two row groups"),
    (
        {**SM100, "schedule.kind": "clc", "tasks": {"epilogue": {"guard": "T"}, "scheduler": {"guard": "T"}}},
        "tasks.scheduler.guard",
        "for something else",
    ),
    ({**SM100, "problem.a.dtype": "e2m1"}, "problem.a.dtype", "comes with scales"),
    ({**SM100, "problem.b.dtype": "e2m1"}, "problem.b.dtype", "comes with scales"),
    ({**MX, "problem.b.dtype": "fp16"}, "problem.b.dtype", "fp8 and fp4, not fp16"),
    ({**MX, "problem.a.dtype": "e2m1", "problem.a.layout": "col"}, "problem.scaling", "lie along K"),
    ({**SM100, "rings.scale": {"space": "tmem"}}, "rings.scale", "there are no scales"),
    ({"cluster": {"m": 4, "n": 4}}, "cluster.n", "clusters of 8 CTAs, not of 4 x 4"),
    ({"cluster": {"m": 3}}, "cluster.m", "1, 2 or 4"),
    ({**SM100, "cluster": {"m": 4}}, "cluster.m", "two CTAs multiply together, not 4"),
    ({"cluster": {"k": 3}}, "cluster.k", "1, 2, 4 or 8"),
    ({"cluster": {"k": 2, "n": 2}}, "cluster.k", "along K, or along M and N"),
    ({"cluster": {"k": 2, "multicast": ["a"]}}, "cluster.multicast", "none can be multicast"),
    ({"cluster": {"k": 2}, "schedule.split_k": 2}, "schedule.split_k", "cuts K already"),
    ({"cluster": {"k": 2}, "epilogue.subtiles": 2}, "epilogue.subtiles", "stores its slice of the tile whole"),
    ({"cluster": {"k": 2}, **STORE_TASK}, "tasks.epilogue", "stores its slice of the tile itself"),
    ({**PIPELINED, "cluster": {"k": 2}}, "cluster", "tasks.specialized must be true"),
    ({**SM100, "cluster": {"k": 2}}, "cluster.k", "schedule.split_k"),
    ({"tasks.mma.promote": True}, "tasks.mma.promote", "nothing to promote"),
    ({**FP8, "tasks.mma.promote": True, "tasks.mma.in_flight": 1}, "tasks.mma.in_flight", "when they are done: 0"),
    ({**FP8, **PIPELINED, "tasks.mma.promote": True}, "tasks.mma.promote", "tasks.specialized must be true"),
    ({**SM100, **FP8, "tasks.mma.promote": True}, "tasks.mma.promote", "accumulates in fp32"),
    ({"cluster": {"multicast": ["a"]}}, "cluster.multicast", "needs a cluster of several"),
    ({"cluster": {"m": 2, "multicast": ["a"]}}, "cluster.multicast", "only b can be multicast"),
    ({"cluster": {"n": 2, "multicast": ["b"]}}, "cluster.multicast", "only a can be multicast"),
    ({"cluster": {"m": 2, "multicast": []}}, "cluster.multicast", "does nothing"),
    ({"epilogue.ops": ["bias", "relu", "bias"]}, "epilogue.ops.2", "can be used once"),
    ({"epilogue.ops": ["tanh"]}, "epilogue.ops.0", "got the text 'tanh'"),
    ({"epilogue.subtiles": 3}, "epilogue.subtiles", "1, 2, 4 or 8"),
    ({"tile.n": 144}, "tile.n", "a power of two, or shared by products: 96, 160, 192, 224, not 144"),
    ({**SM100, "tile.n": 192}, "tile.n", "a tile extent is a power of two, not 192"),
    ({**COLUMNS, **FEW}, "tasks.mma.exchange", "columns of C are rows of the instruction"),
    (
        {**FEW, "tile.m": 144},
        "tile.m",
        "rows of a tile are a power of two, or shared by products: 96, 160, 192, 224, not 144",
    ),
    ({**TALL, "tasks.load.by": "pointers_a"}, "tasks.load.by", "tile.m is 192: a copy is of one block"),
    ({**FEW, "tasks.mma.replicate": 3, "tile.m": 192}, "tasks.mma.replicate", "1, or 2 that cooperate"),
    ({**FEW, **TWO, "schedule": {"tail": "split", "fix_up": "last"}}, "schedule.tail", "each of several consumers"),
    ({**FEW, **TWO, "tasks.epilogue": {}}, "tasks.epilogue", "no store task"),
    ({**TALL, **HELPED}, "schedule.tail", "turned in A's place"),
    ({**TALL, **FP8, "tasks.mma.promote": True}, "tasks.mma.promote", "promoted into one accumulator"),
    ({**SM100, "tile.m": 192}, "tile.m", "a tile extent is a power of two, not 192"),
    ({**COLUMNS, **FP8, "tasks.mma.promote": True}, "tasks.mma.promote", "promoted into one accumulator"),
    ({**COLUMNS, "tasks.load.by": "pointers"}, "tasks.load.by", "a copy is of one block"),
    ({**COLUMNS, "schedule.tail": "split"}, "schedule.tail", "those of one accumulator"),
    ({**COLUMNS, "cluster": {"k": 2}}, "cluster.k", "slices of one accumulator"),
    ({"tile.m": 4}, "tile.m", "at least 8"),
    ({"rings.ab.stages": 0}, "rings.ab.stages", "at least 1"),
    ({"rings.ab.stages": 65}, "rings.ab.stages", "at most 64"),
    ({"schedule.split_k": 0}, "schedule.split_k", "at least 1"),
    ({"schedule.group_m": 0}, "schedule.group_m", "at least 1"),
    ({"cache.a": "evict_normal"}, "cache.a", "'none', 'evict_first' or 'evict_last'"),
    ({"name": "check"}, "name", "the module needs the name check"),
    ({"name": "min"}, "name", "the module needs the name min"),
    ({"tasks.epilogue": {"guard": "M"}}, "tasks.epilogue.guard", "the kernel needs the name M"),
    ({"tasks.epilogue": {"guard": "BLOCK_M"}}, "tasks.epilogue.guard", "the kernel needs the name BLOCK_M"),
    ({"bake": ["schedule.kind"]}, "bake.0", "not an axis that only changes constants"),
    ({"keep": ["tile.q"]}, "keep.0", "did you mean 'tile."),
]


@pytest.mark.parametrize(("values", "key", "words"), ILLEGAL, ids=[f"{i}-{c[1]}" for i, c in enumerate(ILLEGAL)])
def test_an_illegal_combination_is_one_error_at_its_key(
    tmp_path: Path, values: dict[str, Any], key: str, words: str
) -> None:
    spec = spec_of("bad", values)
    (tmp_path / "bad.yaml").write_text(json.dumps(spec, indent=1))
    document = load(tmp_path / "bad.yaml")
    with pytest.raises(SpecErrors) as caught:
        families.of(document).kernels(document)
    (error,) = caught.value.errors
    path = tuple(int(part) if part.isdigit() else part for part in key.split("."))
    assert words in error.message
    assert error.location and error.location.line == document.where(path, key=True).line


def test_every_fault_of_a_spec_is_told_in_one_run(tmp_path: Path) -> None:
    found = faults(tmp_path, {"tile.m": 96, "tasks.mma.registers": 233, **FP8, "problem.a.layout": "col"})
    assert len(found) == 3


def test_an_illegal_combination_among_axes_is_a_rejected_variant(tmp_path: Path) -> None:
    spec = spec_of("some", {"tile.n": 128})
    spec["variants"] = {"axes": {"schedule.kind": ["grid", "persistent"], "tasks.mma.split": ["pingpong"]}}
    kernels = kernels_of(spec, tmp_path)
    assert [v.values["schedule.kind"] for v in kernels.kept] == ["persistent"]
    (rejected,) = kernels.rejected
    assert rejected.reasons == ("pingpong alternates between tiles: it needs schedule.kind persistent or dynamic",)


def test_an_operation_without_a_tensor_may_stand_twice() -> None:
    assert fits(spec_of("twice", {"epilogue.ops": ["relu", "bias", "relu"]}))


@pytest.mark.parametrize("dtypes", [("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")])
def test_fp8_types_may_be_mixed(dtypes: tuple[str, str]) -> None:
    a, b = dtypes
    assert fits(spec_of("mixed", {"problem.a.dtype": a, "problem.b": {"dtype": b, "layout": "col"}}))


# (values, the rule, words with the numbers)
UNFIT: list[tuple[dict[str, Any], str, str]] = [
    ({"tile.m": 64}, "wgmma-m", "32 rows a replica (BLOCK_M // 2); 4 warps need 64"),
    ({"tile.n": 16, "epilogue.subtiles": 1}, "wgmma-n", "BLOCK_N = 16, wgmma takes 32 to 256"),
    ({"tile.m": 32}, "wgmma-m", "16 rows a replica (BLOCK_M // 2); 4 warps need 64"),
    ({"tile.m": 16, "tasks.mma.replicate": 1}, "wgmma-m", "16 rows a replica (BLOCK_M); 4 warps need 64"),
    ({**FEW, "tile.n": 32}, "wgmma-m", "32 columns a replica (BLOCK_N); 4 warps need 64 columns"),
    ({"tile.k": 16, **FP8}, "wgmma-k", "BLOCK_K = 16, one wgmma takes 32 B of K"),
    ({"rings.ab.stages": 1}, "ring-depth", "STAGES = 1 with 1 wgmma in flight"),
    ({**PIPELINED, "rings.ab.stages": 1, "tasks.mma.in_flight": 0}, "ring-depth", "loads a slot ahead"),
    ({"tile.n": 32, "epilogue.subtiles": 4}, "tma-box", "rows of a c box are 16 B, TMA needs 32"),
    ({**HELPED, "tile.n": 128}, "subtile", "64 columns a subtile (BLOCK_N // 2), 32 of sums (BLOCK_K // 2)"),
    ({"rings.ab.stages": 12}, "smem", "of 232448 B"),
    ({**PINGPONG, "tile.m": 256}, "accumulator", "512 accumulator registers"),
    ({"tasks.mma.warps": 8, "tasks.mma.registers": None, "tile.m": 256}, "instruction", "one wgmma needs 154"),
    ({"tasks.mma.warps": 8}, "registers", "drops the whole split"),
    ({"schedule.tail": "split", "tasks.mma.registers": 232}, "registers", "needs 80 registers a thread; it gets 40"),
    ({**TAIL, "schedule.fix_up": "last", "tasks.mma.registers": 72}, "registers", "mma adds up parts of tiles and"),
]


@pytest.mark.parametrize(("values", "rule", "words"), UNFIT, ids=[f"{i}-{c[1]}" for i, c in enumerate(UNFIT)])
def test_what_cannot_fit_is_rejected_by_its_rule_with_numbers(values: dict[str, Any], rule: str, words: str) -> None:
    model = GemmSpec.model_validate(spec_of("unfit", values))
    reasons = Gemm().plan(model, guards={}, baked={}, split=False).reasons
    assert rule in [r.rule for r in reasons]
    assert words in next(r.text for r in reasons if r.rule == rule)


def test_without_a_task_that_waits_for_its_slots_nothing_is_prefetched(tmp_path: Path) -> None:
    for values, asked in (({**AHEAD, **PIPELINED}, False), (AHEAD, True)):
        (structure,) = kernels_of(spec_of("a", values), tmp_path).structures
        steps = [step.kind for role in structure.plan.roles for step in role.steps]
        assert ("prefetch" in steps) == asked


def test_the_shortest_spec_fits() -> None:
    assert fits({"kernel": "gemm", "name": "short", "arch": "sm90"})


@pytest.mark.parametrize(
    "values",
    [{}, SM100, PINGPONG, HELPED, FEW, AHEAD, COLUMNS, {**TAIL, **TWO}, MX, {"tasks.load.by": "pointers"}],
    ids=str,
)
def test_a_fixed_default_is_the_same_whatever_else_is_said(values: dict[str, Any]) -> None:
    """Of an axis whose values leave it out, a condition is then decided before there is a spec."""
    spec = GemmSpec.model_validate(spec_of("a", values))
    assert GemmSpec.fixed
    for path in GemmSpec.fixed - {*values}:
        assert lookup(spec, path) == default_of(GemmSpec, path), path


@pytest.mark.parametrize("at", ["load", "tasks"])
def test_fixed_defaults_leave_the_same_variants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Also where an axis value says or leaves out what lies further down."""
    loads: list[dict[str, Any]] = [{}, {"edge_rows": 32}]
    inner = {"tasks.load": loads} if at == "load" else {"tasks": [{"load": load} for load in loads]}
    axes = {"cluster": [{"m": 1}, {"m": 2}, {"n": 2}], **inner, "tile.n": [128, 256]}
    require = ["cluster.n == 1 or tile.n == 128", "tasks.load.edge_rows == None or cluster.m * cluster.n == 1"]
    require.append("tasks.load.edge_rows == 32 or tile.n == 128")
    path = tmp_path / "a.yaml"
    path.write_text(json.dumps({**spec_of("a", {}), "variants": {"axes": axes, "require": require}}))
    early = expand(load(path), GemmSpec)
    monkeypatch.setattr(GemmSpec, "fixed", frozenset[str]())
    late = expand(load(path), GemmSpec)
    assert [(p.values, bool(p.spec)) for p in early.points] == [(p.values, bool(p.spec)) for p in late.points]
    assert all({*b.rejected} <= {*a.rejected} for a, b in zip(early.points, late.points, strict=True))
    assert len(early.judged) < len(late.judged)
