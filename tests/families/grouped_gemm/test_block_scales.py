"""Scales of 1 x 128 of A and of 128 x 128 of each B: numbers on the simulator beside float64, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.grouped_gemm.built import Built  # noqa: E402
from tlxgen.families.grouped_gemm.spec import GroupedGemmSpec  # noqa: E402
from tlxgen.sim import DEVICE, Session  # noqa: E402

FP8 = "a: {dtype: e4m3}, b: {dtype: e4m3, layout: col}, scaling: block"
SMALL = "tile: {m: 64, n: 64}\ntasks: {mma: {replicate: 1}}\nrings: {ab: {stages: 2}}\n"
TURNS = "tile: {m: 64, n: 128}\ntasks: {mma: {split: pingpong}}\nrings: {ab: {stages: 2}}\n"
SIZES = (0, 1, 63, 0, 0, 150, 65, 3, 0)
ONCE = (("random", 0),)


def text(more: str = SMALL, **problem: str) -> str:
    said = "".join(f"{key}: {value}, " for key, value in problem.items())
    return f"problem: {{{said}{FP8}}}\n{more}"


@pytest.mark.parametrize("given", ["offs", "split_sizes", "masked_m", "psum"])
@pytest.mark.parametrize("more", [SMALL, TURNS], ids=["one", "pingpong"])
def test_rows_of_any_size_by_several_seeds(given: str, more: str, tmp_path: Path) -> None:
    """K ends within a block, N within one or just behind one; what no group has stays as it was."""
    rows = (75, 136, 300) if given == "masked_m" else (0, 136, 300)  # masked: matrices of 150 rows, of which some count
    report = Built(tmp_path, text(more, given=given)).run(rows, SIZES, tuple(("random", seed) for seed in range(3)))
    assert not report.seen, "\n".join(map(str, report.seen))
    assert report.runs == 3


@pytest.mark.parametrize(("n", "k"), [(1, 1), (129, 128), (128, 129), (8, 640)], ids=str)
def test_blocks_that_are_not_whole(n: int, k: int, tmp_path: Path) -> None:
    assert not Built(tmp_path, text()).run((0, n, k), (5, 0, 70), ONCE).seen


def test_a_huge_group_among_empty_ones(tmp_path: Path) -> None:
    assert not Built(tmp_path, text()).run((0, 72, 136), [0] * 40 + [400] + [0] * 20 + [1], ONCE).seen


def test_scales_of_batches(tmp_path: Path) -> None:
    assert not Built(tmp_path, text(vary="none")).run((3, 70, 136, 300), runs=ONCE).seen


def test_scales_where_tiles_are_drawn(tmp_path: Path) -> None:
    assert not Built(tmp_path, text(SMALL + "schedule: {kind: dynamic}\n")).run((0, 136, 300), SIZES).seen


def operands(groups: int, rows: int, n: int, k: int, device: Any) -> dict[str, Any]:
    torch.manual_seed(0)
    a = torch.randn(rows, k).to(torch.float8_e4m3fn).to(device)
    b = torch.randn(groups, n, k).to(torch.float8_e4m3fn).to(device).mT
    blocks = -(-k // 128)
    return {
        "a": a,
        "b": b,
        "a_scale": (torch.rand(rows, blocks) + 0.5).to(device),
        "b_scale": (torch.rand(groups, -(-n // 128), blocks) + 0.5).to(device),
    }


def test_scales_may_lie_in_any_order(tmp_path: Path) -> None:
    """Rows as neighbours or far apart, and a slice of larger scales of each group: the numbers are the same."""
    module = Built(tmp_path, text()).module()
    with Session("random", 0).active():
        given = operands(3, 40, 136, 256, DEVICE)
        offs = torch.tensor([7, 7, 40], dtype=torch.int32).to(DEVICE)
        wanted = module.some(offs=offs, **given).cpu().float()
        given["a_scale"] = given["a_scale"].T.contiguous().T
        wide = torch.full((3, 4, 5), float("nan")).to(DEVICE)
        wide[:, 1:3, 2:4].copy_(given["b_scale"])
        given["b_scale"] = wide[:, 1:3, 2:4]
        found = module.some(offs=offs, **given).cpu().float()
    assert torch.equal(found, wanted)


def test_a_k_of_zero_is_a_product_of_zeros(tmp_path: Path) -> None:
    module = Built(tmp_path, text()).module()
    with Session("random", 0).active():
        given = operands(2, 20, 64, 128, DEVICE)
        given |= {"a": given["a"][:, :0], "b": given["b"][:, :0]}
        given |= {name: given[name][..., :0] for name in ("a_scale", "b_scale")}
        out = torch.full((20, 64), float("nan"), dtype=torch.bfloat16).to(DEVICE)
        module.some(offs=torch.tensor([3, 9], dtype=torch.int32).to(DEVICE), out=out, **given)
        found = out.cpu().float()
    assert not found[:9].any()
    assert found[9:].isnan().all()


@pytest.mark.parametrize(("name", "shape"), [("a_scale", r"\(20, 2\)"), ("b_scale", r"\(2, 2, 2\)")])
def test_scales_of_another_shape_are_named(name: str, shape: str, tmp_path: Path) -> None:
    module = Built(tmp_path, text()).module()
    with Session("random", 0).active():
        given = operands(2, 20, 136, 256, DEVICE)
        given[name] = given[name][..., :1]
        with pytest.raises(ValueError, match=rf"{name}: shape .* expected {shape}"):
            module.some(offs=torch.tensor([3, 9], dtype=torch.int32).to(DEVICE), **given)


FAULTS = (
    ("scales of the first group's B", "group.to(tl.int64) * b_scale_each", "0 * b_scale_each"),
    ("scales of rows of the first group", "_of_rows(a_scale_ptr, row, ", "_of_rows(a_scale_ptr, row - begin, "),
    ("scales of rows beyond the group", "end - row, a_scale_across", "end - row - 1, a_scale_across"),
    ("scales of the first columns", "column // 128 * b_scale_across", "0 * b_scale_across"),
    ("scales of the block before", "tl.cast(k + 1, tl.int64) * b_scale_along", "tl.cast(k, tl.int64) * b_scale_along"),
    ("scales that are not there yet", "tlx.async_load_wait_group(LAG)", "tlx.async_load_wait_group(LAG + 1)"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f[0].replace(" ", "_"))
def test_a_fault_is_found(fault: tuple[str, str, str], tmp_path: Path) -> None:
    built = Built(tmp_path, text()).mutant(*fault[1:])
    assert built.run((0, 136, 300), (70, 0, 1, 130), ONCE).seen


def test_masked_scales_are_of_the_group(tmp_path: Path) -> None:
    built = Built(tmp_path, text(given="masked_m")).mutant("group.to(tl.int64) * a_scale_each", "0 * a_scale_each")
    assert built.run((40, 64, 136), (70, 0, 1), ONCE).seen


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"vary": "n"}, "may begin within a block"),
        ({"a": {"dtype": "bf16"}, "b": {"dtype": "bf16"}}, "scales are those of fp8, not of bf16"),
    ],
)
def test_what_does_not_go_with_scales(changed: dict[str, Any], words: str) -> None:
    base = {"scaling": "block", "a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}}
    said = {"kernel": "grouped_gemm", "name": "g", "arch": "sm90", "problem": base | changed}
    with pytest.raises(ValueError, match=words):
        GroupedGemmSpec.model_validate(said)
