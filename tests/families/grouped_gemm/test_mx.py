"""MX scales of groups, in blocks of each group's own, on the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.grouped_gemm.built import Built
from tlxgen.families.grouped_gemm.spec import GroupedGemmSpec

PROBLEM = "scaling: mx, a: {dtype: e4m3}, b: {dtype: e5m2, layout: col}"
TEXT = f"problem: {{{PROBLEM}}}\ntile: {{n: 128, k: 128}}\n"
SIZES = (0, 1, 127, 0, 0, 300, 129, 3, 0)
IN_TMEM = "rings: {scale: {space: tmem}}\n"


@pytest.mark.parametrize(
    "more",
    [
        "",
        IN_TMEM + "cluster: {m: 2}\nschedule: {kind: clc}\n",
        "epilogue: {ops: [bias, swiglu]}\ntasks: {epilogue: {}}\n",
    ],
)
def test_scales_of_rows_of_any_size(more: str, tmp_path: Path) -> None:
    report = Built(tmp_path, TEXT + more, "sm100").run((0, 136, 160), SIZES)
    assert not report.seen, "\n".join(map(str, report.seen))


def test_scales_where_no_group_has_rows(tmp_path: Path) -> None:
    assert not Built(tmp_path, TEXT, "sm100").run((0, 136, 160), (0, 0)).seen


def test_scales_by_the_sizes_of_groups_and_of_batches(tmp_path: Path) -> None:
    given = f"problem: {{given: split_sizes, {PROBLEM}}}\ntile: {{n: 128, k: 128}}\n"
    assert not Built(tmp_path, given, "sm100").run((0, 136, 160), SIZES, runs=(("random", 0),)).seen
    batches = f"problem: {{vary: none, {PROBLEM}}}\ntile: {{n: 128, k: 128}}\n"
    assert not Built(tmp_path, batches, "sm100").run((3, 200, 136, 160), runs=(("random", 0),)).seen


FAULTS = (
    ("scales without padding", "blocks += tl.cdiv(end - begin, 128)", "blocks = end // 128"),
    ("scales of the group before", "blocks += tl.cdiv(end - begin, 128)", "blocks += 0"),
    ("scales of another tile", "[0, blocks + tile_m * (BLOCK_M // 128),", "[0, blocks,"),
    ("scales of the first group's B", "[group, column // 128,", "[0, column // 128,"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f[0].replace(" ", "_"))
def test_a_fault_is_found(fault: tuple[str, str, str], tmp_path: Path) -> None:
    built = Built(tmp_path, TEXT, "sm100").mutant(*fault[1:])
    assert built.run((0, 136, 160), (70, 0, 1, 260), runs=(("random", 0),)).seen


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ({"vary": "n"}, "m or none"),
        ({"given": "psum"}, "offs or split_sizes"),
        ({"given": "masked_m"}, "offs or split_sizes"),
        ({"a": {"dtype": "e2m1"}}, "e4m3 or e5m2"),
    ],
)
def test_what_does_not_go_with_scales(problem: dict[str, Any], words: str) -> None:
    base = {"scaling": "mx", "a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}}
    said = {"kernel": "grouped_gemm", "name": "g", "arch": "sm100", "problem": base | problem}
    with pytest.raises(ValueError, match=words):
        GroupedGemmSpec.model_validate({**said, "tile": {"n": 128, "k": 128}})
