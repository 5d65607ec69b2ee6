"""Rows of A that are the columns of one wgmma, of any multiple of 8: run in every form, and with faults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.errors import SpecErrors  # noqa: E402
from tlxgen.families.gemm.model import Gpu, Kernel, Rates, Times, Types  # noqa: E402
from tlxgen.plan.size import Count  # noqa: E402
from tlxgen.sim import RUNS  # noqa: E402

from .matrix import kernels_of, spec_of  # noqa: E402
from .test_fix_up import Form  # noqa: E402

WHOLE = {
    "tasks.mma.exchange": True,
    "tasks.mma.columns": "whole",
    "tasks.mma.replicate": 1,
    "tile": {"m": 88, "n": 64, "k": 64},
    "rings.ab.stages": 3,
    "epilogue.subtiles": 1,
}
TWO = {**WHOLE, "tile": {"m": 136, "n": 128, "k": 64}, "tasks.mma.replicate": 2}
COLUMN = {"problem": {"b": {"layout": "col"}}}
FORMS: dict[str, dict[str, Any]] = {
    "one": WHOLE,
    "two": {**TWO, **COLUMN, "rings.ab.empty": "warp"},
    "ops": {**WHOLE, "tile.m": 72, "epilogue.ops": ["bias", "gelu", "residual"]},
    "fp16": {**WHOLE, "problem": {x: {"dtype": "fp16"} for x in "abc"}, "tasks.mma.in_flight": 0},
    "power_of_two": {**WHOLE, "tile.m": 128, "rings.c.stages": 2},
    "all_boxes": {**TWO, "tile.m": 248, "rings.c.stages": 2, "rings.ab.stages": 2},
    "share_a": {**WHOLE, **COLUMN, "cluster.n": 4},
    "share_b": {**TWO, "cluster.m": 2},
    "drawn": {**WHOLE, "schedule.kind": "dynamic", "rings.ab.full": "separate"},
}
SHAPES = [(200, 264, 136), (70, 40, 72), (137, 129, 64)]


@pytest.mark.parametrize("name", FORMS)
def test_numbers_and_protocol(name: str, tmp_path: Path) -> None:
    form = Form(name, FORMS[name], tmp_path)
    for shape in SHAPES:
        report = form.run(shape, runs=RUNS[:2])
        assert not report.seen, str(report)


FAULTS = [
    ("a slot released before its product is done", "whole_wait(1, acc)", "whole_wait(2, acc)"),
    ("the last product read before it is done", "whole_wait(0, acc)", "whole_wait(1, acc)"),
    ("the next slot's rows", "a_tiles[slot * (BLOCK_M // 8)]", "a_tiles[slot * (BLOCK_M // 8) + 1]"),
    ("a box that lies too low", "[row + BLOCK_M // 32 * 32, ", "[row + BLOCK_M // 32 * 32 + 8, "),
    ("blocks stored in another order", "tl.trans(acc[box * 8 + unit])", "tl.trans(acc[box * 8 + 7 - unit])"),
    (
        "the last rows stored over the first",
        "[row + BLOCK_M // 64 * 64 + unit * 8, column]",
        "[row + unit * 8, column]",
    ),
]


@pytest.mark.parametrize(("name", "old", "new"), FAULTS, ids=[f[0].replace(" ", "_") for f in FAULTS])
def test_a_fault_is_found(name: str, old: str, new: str, tmp_path: Path) -> None:
    form = Form("one", WHOLE, tmp_path)
    form.mutated(old, new)
    assert form.run((200, 200, 264)).seen, name


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"tasks.mma.exchange": False, "tile.m": 128, "tile.n": 128}, "rows of A are the columns of the instruction"),
        ({"tile.m": 100}, "a multiple of 8, at least 64"),
        ({"tile.m": 56}, "a multiple of 8, at least 64"),
        ({"tile.n": 128}, "each consumer has the 64 rows of a wgmma: 64"),
        ({"tile.k": 128}, "a row of a slot is a line of 128 bytes: 64"),
        ({"problem": {"a": {"layout": "col"}}}, "K is contiguous in a: row"),
        ({"schedule.tail": "split", "schedule.fix_up": "last"}, "sums of parts are not made of blocks: whole"),
        ({"epilogue.store": "direct"}, "blocks leave by TMA: tma"),
    ],
)
def test_what_does_not_go_with_it(change: dict[str, Any], text: str, tmp_path: Path) -> None:
    with pytest.raises(SpecErrors) as raised:
        kernels_of(spec_of("wrong", {**WHOLE, **change}), tmp_path)
    assert text in str(raised.value)


def test_all_widths_are_one_structure(tmp_path: Path) -> None:
    axes = {"tile.m": [72, 80, 136, 144, 192]}
    made = kernels_of({**spec_of("widths", {**WHOLE, "rings.ab.stages": 2}), "variants": {"axes": axes}}, tmp_path)
    assert [len(s.variants) for s in made.structures] == [5]


def test_a_count_is_a_number_with_a_text() -> None:
    import pickle

    count = pickle.loads(pickle.dumps(Count(11, "(BLOCK_M // 8)")))
    assert (count, str(count), f"{count}", count + 1) == (11, "(BLOCK_M // 8)", "(BLOCK_M // 8)", 12)


def test_of_widths_with_as_many_tiles_the_model_estimates_the_narrow_ones(tmp_path: Path) -> None:
    from tlxgen.families.gemm import cost

    kernels = [Kernel((64, m, 64), 7, swap=True, whole=True) for m in range(72, 256, 8)]
    rates: Rates = cost.RATES
    times = Times(kernels, Types(2, 2, 2, True, False), rates)((300, 4096, 4096), Gpu("", 132))
    worth = [k.tile[1] for k, us in zip(kernels, times, strict=True) if us < float("inf")]
    assert worth == [72, 80, 88, 96, 104, 112, 120, 152, 160, 168]  # 5 tiles, 4, 3 and 2
