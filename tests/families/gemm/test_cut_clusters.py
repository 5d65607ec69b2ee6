"""Tiles cut along K whose CTAs are clusters that share loads of a part: run, also with faults, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from benchmarks.pruning import candidates, report  # noqa: E402
from tlxgen.cudalike import CudaLike  # noqa: E402
from tlxgen.families.gemm.cuts import Cuts  # noqa: E402
from tlxgen.families.gemm.model import Cut, Gpu  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402
from tlxgen.sim import RUNS  # noqa: E402
from tlxgen.spec import load  # noqa: E402
from tlxgen.tune.dry import compile_candidates  # noqa: E402
from tlxgen.tune.space import space_of  # noqa: E402
from tlxgen.verify.sms import counts_for  # noqa: E402
from tlxgen.verify.structures import cluster_of  # noqa: E402

from .matrix import kernels_of, spec_of  # noqa: E402
from .test_fix_up import EACH, LAST, SMS, Form, _cut  # noqa: E402

COLUMN = {"problem": {"b": {"layout": "col"}}}
PAIR = {**LAST, "tile": {"m": 128, "n": 64, "k": 32}}
FEW = {**LAST, "tile": {"m": 32, "n": 64, "k": 32}, "tasks.mma.exchange": True}
FORMS: dict[str, dict[str, Any]] = {
    "m2": {**PAIR, "cluster.m": 2, "epilogue.ops": ["bias", "relu"]},
    "n2": {**PAIR, **COLUMN, "cluster.n": 2, "tasks.load.edge_rows": 32},
    "n4": {**PAIR, "cluster.n": 4, "problem": {"a": {"layout": "col"}, "b": {"layout": "col"}}},
    "leader": {**PAIR, "cluster.m": 2, "rings.ab.empty": "leader", "rings.ab.full": "separate"},
    "turns": {**PAIR, "cluster.m": 2, "tasks.mma.split": "pingpong"},
    "alone": {**PAIR, "tile.m": 64, "cluster.n": 2, "tasks.mma.replicate": 1, "problem.c.dtype": "fp32"},
    "three": {**PAIR, "tile.m": 192, "cluster.m": 2, "tasks.mma.replicate": 3},
    "few_m2": {**FEW, **COLUMN, "cluster.m": 2, "tasks.load.edge_rows": 8},
    "few_n2": {**FEW, "cluster.n": 2},
    "tall_m2": {**FEW, "tile.m": 96, "cluster.m": 2},
    "tall_n2": {**FEW, "tile.m": 160, "cluster.n": 2},
    "ahead": {**PAIR, "cluster.m": 2, "schedule.pdl": True, "schedule.prefetch": 2},
    "each_m2": {**PAIR, **EACH, "cluster.m": 2, "epilogue.ops": ["bias", "relu"]},
    "each_n2": {**PAIR, **EACH, "cluster.n": 2},
    "each_few": {**FEW, **EACH, "cluster.n": 2},
    "each_few_n4": {**FEW, **EACH, "cluster.n": 4},
}
# (form, shape, parts): tiles that fill the clusters, one that has a CTA beyond M or N, and one beyond most of it; parts
# that fill the waves and others.
CASES = [
    ("m2", (200, 72, 200), 3),
    ("m2", (1, 64, 320), 8),
    ("m2", (261, 64, 330), 5),
    ("n2", (200, 72, 200), 3),
    ("n2", (67, 129, 328), 10),
    ("n4", (130, 264, 136), 2),
    ("leader", (300, 64, 330), 5),
    ("turns", (200, 120, 330), 5),
    ("turns", (300, 64, 264), 3),
    ("alone", (70, 72, 328), 10),
    ("three", (200, 72, 328), 4),
    ("few_m2", (67, 72, 328), 6),
    ("few_n2", (33, 72, 512), 16),
    ("tall_m2", (100, 72, 200), 3),
    ("tall_n2", (161, 72, 200), 4),
    ("ahead", (300, 72, 200), 2),
    ("each_m2", (300, 64, 330), 6),
    ("each_m2", (1, 64, 320), 8),
    ("each_n2", (200, 72, 200), 3),
    ("each_few", (17, 136, 328), 6),
    ("each_few_n4", (17, 264, 200), 2),
]


@pytest.mark.parametrize(("form", "shape", "parts"), CASES, ids=[f"{c[0]}-{c[2]}" for c in CASES])
def test_numbers_and_protocol(form: str, shape: tuple[int, int, int], parts: int, tmp_path: Path) -> None:
    report = Form(form, FORMS[form], tmp_path).run(shape, parts)
    assert not report.seen, str(report)


@pytest.mark.parametrize("form", ["m2", "turns", "each_n2"])
def test_some_tiles_stay_whole(form: str, tmp_path: Path) -> None:
    """The first clusters have whole tiles, those that follow parts of others, and some have both."""
    for whole in (4, 2):
        report = Form(form, FORMS[form], tmp_path).run((500, 128, 200), 3, RUNS[:3], whole=whole)
        assert not report.seen, str(report)


@pytest.mark.parametrize("form", ["m2", "each_n2"])
def test_a_part_may_have_no_k(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are more parts than K has tiles for, the last ones add zeros."""
    monkeypatch.setattr("tests.families.gemm.test_fix_up._cut", lambda module, parts, whole: _given(module, parts))
    report = Form(form, FORMS[form], tmp_path).run((200, 72, 5 * 32), 4, RUNS[:3])
    assert not report.seen, str(report)


@pytest.mark.parametrize("form", ["m2", "n2", "n4", "alone", "tall_n2"])
def test_what_verify_runs_is_cut_in_each_way(form: str, tmp_path: Path) -> None:
    """On the shapes and the numbers of SMs that `tlxgen verify` has: no parts, and few, some and many, which the kernel
    adds up by a loop each, of all rows of a tile; of one row few and many."""
    made = Form(form, FORMS[form], tmp_path)
    (structure,) = made.kernels.structures
    variant, module = structure.variants[0], load_file(made.path)
    shapes = made.kernels.family.problem().simulated_shapes(variant.spec, module.CONFIGS[0].kwargs, SMS)
    found: set[tuple[bool, int]] = set()
    for shape in shapes:
        for sms in counts_for(cluster_of(variant)):
            parts = Cuts(module.TIMES).cut(0, shape, Gpu("", sms)).parts
            found.add((shape[0] == 1, next(most for most in (1, 4, 8, 16) if parts <= most)))
    assert found >= {(False, 1), (False, 4), (False, 8), (False, 16), (True, 1), (True, 4), (True, 16)}


@pytest.mark.parametrize(
    ("values", "waived"),
    [
        ({"cluster.n": 2, "problem": {"a": {"layout": "col"}, "b": {"layout": "col"}}}, "lines"),
        ({"cluster.m": 2}, "lines"),
        ({"cluster.n": 2}, r"rows \* LINES"),
        ({"cluster.m": 2, "problem": {"a": {"layout": "col"}, "b": {"layout": "col"}}}, r"rows \* LINES"),
    ],
)
def test_lines_that_a_cluster_shares_are_prefetched_in_one_round(
    values: dict[str, Any], waived: str, tmp_path: Path
) -> None:
    """Of an operand that CTAs of a cluster share, along K or across it, a worker of the first wave has 128 lines."""
    wide = {**PAIR, "tile": {"m": 128, "n": 128, "k": 64}, "schedule.pdl": True, "schedule.prefetch": 2}
    made = kernels_of(spec_of("ahead", {**wide, "rings.ab.stages": 3, **values}), tmp_path)
    patterns = [w.subject for w in made.family.problem().unseen(made.structures[0].variants[0].spec)]
    found = {x for x in ("lines", r"rows \* LINES") if any(f"128, {x}, workers" in p for p in patterns)}
    assert found == {waived}


def _given(module: Any, parts: int) -> None:
    _cut(module, parts, 0)
    module.TIMES.cut = lambda *_: (0, parts, 2)


FAULTS = [
    ("both CTAs count as one", "m2", "((tile - num_whole) * 2 + cta)", "((tile - num_whole) * 2)"),
    ("counts of two tiles", "m2", "(tile - num_whole) * 2 + cta)", "(tile - num_whole) + cta)"),
    ("sums in the place of the other CTA's", "n2", "((index - num_whole) * 2 + cta)", "((index - num_whole) * 2)"),
    ("sums of the other CTA added up", "n2", "tail_parts * 2 + cta)", "tail_parts * 2 + (cta ^ 1))"),
    ("parts of both CTAs added up", "n2", "BLOCK_M * BLOCK_N * 2", "BLOCK_M * BLOCK_N"),
    ("a CTA takes the other's items", "m2", "step = tl.num_programs(0) // 2", "step = tl.num_programs(0)"),
    ("CTAs begin at items of their own", "m2", "tl.program_id(0) // 2, num_items", "tl.program_id(0), num_items"),
    ("a slot filled while the other CTA reads it", "m2", "remote_cta_rank=cta ^ 1", "remote_cta_rank=cta"),
    ("the other CTA's share is of other tiles", "each_n2", "tl.program_id(0) // 2 + tl.cdiv", "1 + tl.cdiv"),
    ("the other CTA is not awaited", "each_n2", "% 256 < tail_parts", "% 256 < tail_parts - 1"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "form", "old", "new"), FAULTS, ids=[f[0].replace(" ", "_") for f in FAULTS])
def test_a_fault_is_found(name: str, form: str, old: str, new: str, tmp_path: Path) -> None:
    made = Form(form, FORMS[form], tmp_path)
    made.mutated(old, new)
    assert made.fails((250, 72, 200), 3), f"{name}: nothing was found"


@pytest.mark.parametrize("form", ["m2", "n2", "n4"])
def test_a_launch_has_words_and_room_for_both_ctas(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_file(Form(form, FORMS[form], tmp_path).path)
    sms = 12
    monkeypatch.setattr(module, "gpu_of", lambda index: Gpu("", sms))
    _cut(module, 5, 0)
    ctas = int(form[1:])
    down, across = (ctas, 1) if form[0] == "m" else (1, ctas)
    at_once = sms if ctas == 2 else sms * 15 // 16 // ctas * ctas
    for m, n in ((128, 64), (500, 200), (1000, 72)):
        clusters = -(-m // (128 * down)) * -(-n // (64 * across))
        operands = [torch.zeros((m, 800)), torch.zeros((800, n))]
        operands[0] = operands[0] if form != "n4" else torch.zeros((800, m)).T
        operands[1] = operands[1] if form == "m2" else torch.zeros((n, 800)).T
        given = (x.to(torch.bfloat16).as_subclass(CudaLike) for x in operands)
        biases = [torch.zeros(n, dtype=torch.bfloat16).as_subclass(CudaLike)] if form == "m2" else []
        call = module.prepare(*given, *biases, None, module.CONFIGS[0])
        elements, words = call.workspace
        assert words >= 2 * clusters * ctas and elements >= clusters * ctas * 5 * 128 * 64
        assert call.launches[0].grid == (min(clusters * 5 * ctas, at_once), 1, 1)


def test_the_model_cuts_items_of_clusters(tmp_path: Path) -> None:
    """As many tiles stay whole, and are cut, as clusters have; a launch is as large as the GPU has room for."""
    for form in ("m2", "n4"):
        module = load_file(Form(form, FORMS[form], tmp_path).path)
        ctas = int(form[1:])
        for shape in ((1006, 304, 12248), (312, 2944, 1672), (3000, 3000, 8192), (128, 64, 64)):
            whole, parts, slots = module.TIMES.cut(0, shape, Gpu("", 132))
            assert whole % ctas == 0
            assert (parts - 1) * slots < -(-shape[2] // 32) <= parts * slots
        assert module.TIMES.cut(0, (128, 64, 16384), Gpu("", 132)) != Cut(ctas, 1, 512)


FULL = {"rings": {"ab": {"stages": 6, "empty": "warp"}, "c": {"stages": 2}}, "epilogue.subtiles": 4, "tile.n": 128}
SHIPPED = {"schedule.pdl": True, "schedule.prefetch": 2, "tasks.mma.registers": None, "tasks.load.edge_rows": 32}


@pytest.mark.compiles
@pytest.mark.parametrize("form", ["m2", "n4"])
def test_compiles_as_planned(form: str, tmp_path: Path) -> None:
    """Tiles of 128 x 128 with all of SMEM, without a spill."""
    values = {**FORMS[form], **SHIPPED, **FULL, "tile.k": 64, "problem": {}, "epilogue.ops": []}
    path = tmp_path / "full.yaml"
    path.write_text(json.dumps({**spec_of("full", values), "variants": {"axes": {"tile.n": [128]}}}))
    space = space_of(load(path, tuned=False))
    whole = candidates(space)
    found = report(whole, compile_candidates(space, whole, 1, 120))
    assert found["kept"] == 1 and not found["kept_that_fail"]


REFUSED = [
    ({"schedule.fix_up": "after", "cluster.m": 2}, "fix_up last or each"),
    ({"schedule": {"tail": "helped"}, "cluster.m": 2}, "CTAs of their own"),
    ({"cluster.k": 2, "epilogue.subtiles": 1}, "cluster.k cuts every tile already"),
]


@pytest.mark.parametrize(("values", "why"), REFUSED)
def test_what_is_refused(values: dict[str, Any], why: str, tmp_path: Path) -> None:
    from tlxgen.errors import SpecErrors

    with pytest.raises(SpecErrors, match=why):
        kernels_of(spec_of("refused", {**PAIR, **values}), tmp_path)


assert SMS == 4  # two clusters of two, or one of four
