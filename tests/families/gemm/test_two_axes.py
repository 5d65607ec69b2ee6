"""Clusters with CTAs along M and along N, which share tiles of B and of A: plans, source, runs, also with faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.grouped_gemm.built import Built  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402

from .matrix import kernels_of, spec_of  # noqa: E402
from .test_fix_up import EACH, LAST, Form  # noqa: E402

COLUMN = {"problem": {"b": {"layout": "col"}}}
TURNED = {"problem": {"a": {"layout": "col"}}}
BOTH = {"problem": {"a": {"layout": "col"}, "b": {"layout": "col"}}}
ALONE = {"tile": {"m": 64, "n": 64, "k": 32}, "tasks.mma.replicate": 1, "rings": {"ab": {"stages": 3, "empty": "warp"}}}
PAIR = {**ALONE, "tile": {"m": 128, "n": 64, "k": 32}, "tasks.mma.replicate": 2}
FEW = {**ALONE, "tile": {"m": 32, "n": 64, "k": 32}, "tasks.mma.exchange": True}
SQUARE, WIDE, HIGH = ({"cluster.m": m, "cluster.n": n} for m, n in ((2, 2), (2, 4), (4, 2)))
APART, LEADER = {"rings.ab.full": "separate"}, {"rings.ab.empty": "leader"}
AHEAD = {"schedule.pdl": True, "schedule.prefetch": 2, "tasks.load.edge_rows": 32}
FORMS: dict[str, dict[str, Any]] = {
    "square": {**ALONE, **SQUARE, "epilogue.ops": ["bias", "relu"]},
    "wide": {**ALONE, **WIDE, **COLUMN, **AHEAD},
    "high": {**ALONE, **HIGH, **TURNED},
    "pair": {**PAIR, **SQUARE, **BOTH},
    "pair_apart": {**PAIR, **WIDE, **APART, **LEADER},
    "high_apart": {**ALONE, **HIGH, **APART, **COLUMN, "tasks.load.edge_rows": 32},
    "turns": {**PAIR, **SQUARE, "tasks.mma.split": "pingpong"},
    "once": {**PAIR, **WIDE, "schedule": {"kind": "grid", "split_k": 2}},
    "few": {**FEW, **WIDE, **COLUMN, "tasks.load.edge_rows": 16},
    "few_pair": {**FEW, **HIGH, "tile": {"m": 32, "n": 128, "k": 32}, "tasks.mma.replicate": 2},
    "all_rows": {**FEW, **SQUARE, "tasks.mma.columns": "whole", "tile": {"m": 72, "n": 64, "k": 64}},
    "last": {**ALONE, **LAST, **SQUARE, "epilogue.ops": ["bias", "relu"]},
    "each": {**ALONE, **EACH, **WIDE, **COLUMN},
    "each_high": {**ALONE, **EACH, **HIGH, **APART, **AHEAD},
    "each_pair": {**PAIR, **EACH, **SQUARE, **TURNED},
    "each_few": {**FEW, **EACH, **WIDE},
}
# (form, shape, parts, SMs): tiles that fill the clusters, CTAs beyond M, beyond N and beyond both; more uses than
# slots; one cluster at a time, and several.
CASES = [
    ("square", (256, 128, 200), 0, 8),
    ("square", (130, 72, 200), 0, 16),
    ("wide", (67, 136, 200), 0, 8),
    ("high", (256, 72, 200), 0, 8),
    ("pair", (200, 200, 200), 0, 16),
    ("pair_apart", (130, 264, 200), 0, 8),
    ("high_apart", (70, 72, 264), 0, 8),
    ("turns", (512, 120, 200), 0, 16),
    ("once", (200, 264, 264), 0, 16),
    ("few", (33, 200, 200), 0, 8),
    ("few_pair", (67, 264, 200), 0, 16),
    ("all_rows", (200, 136, 264), 0, 16),
    ("last", (130, 72, 200), 4, 16),
    ("each", (67, 264, 200), 3, 16),
    ("each_high", (200, 72, 330), 5, 8),
    ("each_pair", (300, 120, 200), 3, 16),
    ("each_few", (40, 200, 200), 6, 16),
]


@pytest.mark.parametrize(("form", "shape", "parts", "sms"), CASES, ids=[f"{c[0]}-{c[1][0]}" for c in CASES])
def test_numbers_and_protocol(form: str, shape: tuple[int, int, int], parts: int, sms: int, tmp_path: Path) -> None:
    report = Form(form, FORMS[form], tmp_path).run(shape, parts, sms=sms)
    assert not report.seen, str(report)


@pytest.mark.parametrize("form", ["wide", "pair_apart", "few", "each"])
def test_by_several_seeds(form: str, tmp_path: Path) -> None:
    """CTAs of a cluster get far ahead of each other in some orders: of two tiles or more, of more uses than slots."""
    runs = (("random", 0), ("random", 1), ("starved", 2), ("starved", 3))  # the last finds the first fault below
    shape = (70 if form == "few" else 130, 264 if form == "pair_apart" else 136, 264)
    report = Form(form, FORMS[form], tmp_path).run(shape, 2 * (form == "each"), runs, sms=8)
    assert not report.seen and report.runs == 4, str(report)


GROUPS = {
    "m": ("b: {layout: col}", (0, 136, 72)),
    "n": ("a: {layout: col}}\nepilogue: {store: direct", (136, 0, 72)),
    "k": ("a: {layout: col}", (136, 200, 0)),
}


@pytest.mark.parametrize("vary", GROUPS)
def test_groups_are_taken_by_such_clusters(vary: str, tmp_path: Path) -> None:
    more, shape = GROUPS[vary]
    built = Built(tmp_path, f"tile: {{n: 64}}\ncluster: {{m: 2, n: 2}}\nproblem: {{vary: {vary}, {more}}}\n")
    assert not built.run(shape, (0, 1, 300, 129), sms=8).seen


def source_of(form: str, folder: Path) -> str:
    return Form(form, FORMS[form], folder).path.read_text()


def test_ctas_along_n_share_a_and_those_along_m_share_b(tmp_path: Path) -> None:
    """Ranks count along M first: CTA 5 of 2 x 4 has row 1 and column 2 of the cluster."""
    text = source_of("wide", tmp_path)
    assert "tile_m = tile_m * 2 + cta % 2\n    tile_n = tile_n * 4 + cta // 2\n" in text
    assert "cta_m, cta_n = cta % 2, cta // 2" in text
    loads = [text[at : at + 600] for at in range(len(text)) if text.startswith("tlx.async_descriptor_load(", at)]
    turns = [" ".join(load.split("pred=")[1].split("]")[0].split()) for load in loads]
    of_a, of_b = "multicast_targets=[cta, cta ^ 2, cta ^ 4, cta ^ 6", "multicast_targets=[cta, cta ^ 1"
    assert {turn.replace("(count & 3) == cta_n, ", "") for turn in turns[:2]} == {of_a}
    assert {turn.replace("(count & 1) == cta_m, ", "") for turn in turns[2:]} == {of_b}


def test_a_slot_of_both_is_released_to_all_and_one_of_each_to_those_that_share_it(tmp_path: Path) -> None:
    both, each = source_of("wide", tmp_path), source_of("pair_apart", tmp_path)
    assert released(both, "ab") == [1, 2, 3, 4, 5, 6, 7]
    assert released(each, "a") == [2, 4, 6] and released(each, "b") == [1]


def released(text: str, ring: str) -> list[int]:
    """The CTAs that a consumer releases a slot to first."""
    start = f"tlx.barrier_arrive({ring}_empty[last], remote_cta_rank=cta ^ "
    found = [int(line.split(start)[1].rstrip(")")) for line in text.splitlines() if start in line]
    return found[: len(found) // 2]


FAULTS = [
    ("released to its row and column alone", "square", None, ""),
    ("tiles of a column for all", "square", "cta % 2\n    tile_n", "0\n    tile_n"),
    ("a loaded by its row's number", "wide", "(count & 3) == cta_n", "(count & 3) == cta_m"),
    ("b loaded for a column", "square", "(count & 1) == cta_m,", "(count & 1) == cta_n,"),
    ("a goes to a column", "square", "multicast_targets=[cta, cta ^ 2]", "multicast_targets=[cta, cta ^ 1]"),
    ("rows and columns of the cluster swapped", "wide", "cta % 2, cta // 2", "cta // 4, cta % 4"),
    ("too few arrivals", "square", "num_arrivals=4)", "num_arrivals=3)"),
    ("too few arrivals of a row", "pair_apart", "STAGES, arrive_count=8)", "STAGES, arrive_count=6)"),
    ("too few arrivals of a column", "pair_apart", "STAGES, arrive_count=4)", "STAGES, arrive_count=2)"),
    ("nobody stays", "square", "for _ in range(STAGES):", "for _ in range(0):"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "form", "old", "new"), FAULTS, ids=[f[0].replace(" ", "_") for f in FAULTS])
def test_a_fault_is_found(name: str, form: str, old: str | None, new: str, tmp_path: Path) -> None:
    made = Form(form, FORMS[form], tmp_path)
    if old:
        made.mutated(old, new)
    else:  # an arrival of one that is a round ahead counts for one that still reads
        made.mutated("num_arrivals=4)", "num_arrivals=3)")
        made.mutated("tlx.barrier_arrive(ab_empty[last], remote_cta_rank=cta ^ 3)", "pass")
    assert made.fails((250, 264, 456), sms=8), f"{name}: nothing was found"


def test_a_launch_has_whole_clusters(tmp_path: Path) -> None:
    """As many as are at work at a time: 15 of eight CTAs on 132 SMs."""
    from tlxgen.cudalike import CudaLike
    from tlxgen.families.gemm.model import Gpu

    module: Any = load_file(Form("high", FORMS["high"], tmp_path).path)
    module.gpu_of, module.sm_count = lambda index: Gpu("", 132), lambda index: 132
    for (m, n), ctas in {(64, 64): 8, (257, 128): 16, (256, 129): 16, (4096, 4096): 120}.items():
        a, b = torch.zeros((64, m)).T, torch.zeros((64, n))
        call = module.prepare(*(x.to(torch.bfloat16).as_subclass(CudaLike) for x in (a, b)), None, None)
        assert call.launches[0].grid == (ctas, 1, 1)


REFUSED = [
    ({"cluster": {"m": 4, "n": 4}}, "any GPU takes clusters of 8 CTAs, not of 4 x 4"),
    ({"cluster": {"m": 2, "n": 8}}, "any GPU takes clusters of 8 CTAs, not of 2 x 8"),
    ({"cluster": {"m": 2, "n": 2, "k": 2}, "epilogue.subtiles": 1}, "along K, or along M and N"),
    ({**SQUARE, "cluster.multicast": ["a"]}, "both are multicast"),
    ({**SQUARE, "cluster.multicast": []}, "both are multicast"),
    ({**SQUARE, "tasks.load.by": "pointers_a", "rings.ab.full": "separate"}, "a CTA copies for itself: no cluster"),
    ({**SQUARE, "schedule.kind": "dynamic"}, "a CTA draws tiles for itself: no cluster"),
    ({**SQUARE, "schedule.tail": "split"}, "schedule.fix_up last or each"),
    ({**SQUARE, "schedule.tail": "helped"}, "CTAs of their own"),
    ({**SQUARE, "arch": "sm100", "tile": {"m": 128}}, "two CTAs multiply together along M"),
]


@pytest.mark.parametrize(("values", "why"), REFUSED)
def test_what_is_refused(values: dict[str, Any], why: str, tmp_path: Path) -> None:
    from tlxgen.errors import SpecErrors

    with pytest.raises(SpecErrors, match=why):
        kernels_of(spec_of("refused", {**PAIR, **values}), tmp_path)


@pytest.mark.parametrize("operands", [["a", "b"], ["b", "a"]])
def test_both_operands_may_be_named(operands: list[str], tmp_path: Path) -> None:
    kernels_of(spec_of("named", {**PAIR, **SQUARE, "cluster.multicast": operands}), tmp_path)


@pytest.mark.compiles
@pytest.mark.parametrize("form", ["wide", "pair_apart", "few_pair", "each_high"])
def test_compiles_as_planned(form: str, tmp_path: Path) -> None:
    import json

    from benchmarks.pruning import candidates, report
    from tlxgen.spec import load
    from tlxgen.tune.dry import compile_candidates
    from tlxgen.tune.space import space_of

    path = tmp_path / "full.yaml"
    path.write_text(json.dumps({**spec_of("full", FORMS[form]), "variants": {"axes": {"tile.n": [128]}}}))
    space = space_of(load(path, tuned=False))
    whole = candidates(space)
    found = report(whole, compile_candidates(space, whole, 1, 120))
    assert found["kept"] >= 1 and not found["kept_that_fail"]
