"""Tiles of groups with a long K in parts: numbers, the same bits whoever ends last, and where sums lie."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.grouped_gemm.built import Built  # noqa: E402
from tlxgen.families.gemm.facts import LEAST_PART  # noqa: E402
from tlxgen.families.gemm.model import MOST_PARTS  # noqa: E402
from tlxgen.families.grouped_gemm.spec import GroupedGemmSpec  # noqa: E402
from tlxgen.sim import DEVICE, Session  # noqa: E402

WEIGHTS = "problem: {vary: k, a: {layout: col}}\n"
SMALL = "tile: {m: 64, n: 32, k: 16}\ntasks: {mma: {replicate: 1}}\nrings: {ab: {stages: 2}}\n"
TWO = "tile: {m: 128, n: 32, k: 16}\nrings: {ab: {stages: 2}}\n"
KINDS = {"dynamic": "kind: dynamic, ", "persistent": ""}
ONCE = (("random", 0),)
PART = LEAST_PART * 16  # of K, in these tiles


def built(folder: Path, more: str = SMALL, kind: str = "dynamic") -> Built:
    return Built(folder, f"{WEIGHTS}schedule: {{{KINDS[kind]}tail: split, fix_up: last}}\n{more}")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", [SMALL, TWO], ids=["one", "two"])
def test_groups_of_any_size_by_several_seeds(kind: str, more: str, tmp_path: Path) -> None:
    """Whole tiles, cut ones of two parts and of more, groups that end with a part, and empty ones between."""
    sizes = (0, 1, PART, 0, 2 * PART + 7, PART + 1, 33, 0)
    shape = (40 if more == SMALL else 72, 40, 0)
    report = built(tmp_path, more, kind).run(shape, sizes, tuple(("random", seed) for seed in range(3)))
    assert not report.seen, "\n".join(map(str, report.seen))
    assert report.runs == 3


@pytest.mark.parametrize("sms", [2, 6, 16])
def test_one_huge_group_among_tiny_ones(sms: int, tmp_path: Path) -> None:
    """As many parts as a group has at most: 4, 8 and more are added up each in a way of their own."""
    sizes = (3, 0, 20 * PART, 1, 0, 5)
    assert not built(tmp_path).run((64, 32, 0), sizes, ONCE, sms=sms).seen


def test_no_group_is_long(tmp_path: Path) -> None:
    assert not built(tmp_path).run((72, 40, 0), (5, 0, 100, PART, 17), ONCE).seen


def test_all_groups_are_empty(tmp_path: Path) -> None:
    assert not built(tmp_path).run((72, 40, 0), (0, 0, 0), ONCE).seen


def called(module: Any, sizes: tuple[int, ...], schedule: str, seed: int, out: Any = None) -> Any:
    torch.manual_seed(0)
    all_k = sum(sizes)
    a, b = torch.randn(all_k, 64).to(torch.bfloat16).T, torch.randn(all_k, 40).to(torch.bfloat16)
    offs = torch.tensor(list(itertools.accumulate(sizes)), dtype=torch.int32)
    with Session(schedule, seed, sms=4).active():
        given = {} if out is None else {"out": out(DEVICE)}
        made = module.some(a.T.to(DEVICE).T, b.to(DEVICE), offs.to(DEVICE), **given)
        return torch.Tensor(made.cpu().float())


def test_the_bits_do_not_depend_on_who_ends_last(tmp_path: Path) -> None:
    module, sizes = built(tmp_path).module(), (40, 3 * PART, 3, 2 * PART)
    first = called(module, sizes, "random", 0)
    for schedule, seed in (("random", 1), ("random", 2), ("starved", 0), ("lazy", 0)):
        assert torch.equal(called(module, sizes, schedule, seed), first)


def test_a_result_may_have_gaps_between_matrices(tmp_path: Path) -> None:
    """The parts of a cut tile are stored through C's own strides, those of a whole one by TMA."""
    module, sizes = built(tmp_path).module(), (40, 2 * PART)
    plain = called(module, sizes, "random", 0)

    def apart(device: Any) -> Any:
        return torch.full((2, 70, 48), float("nan"), dtype=torch.bfloat16).to(device)[:, 3:67, :40]

    assert torch.equal(called(module, sizes, "random", 0, out=apart), plain)


@pytest.mark.parametrize("seed", range(2))
def test_sums_of_random_groups_lie_apart(seed: int, tmp_path: Path) -> None:
    """Their places follow from where groups begin, anywhere, and the workspace ends with the last one."""
    torch.manual_seed(seed)
    sizes = (torch.rand(9) ** 4 * 5 * PART).long().tolist()
    assert not built(tmp_path, SMALL, "persistent").run((64, 72, 0), sizes, ONCE, sms=8).seen


def test_the_host_bounds_parts_by_the_shape_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It never asks for the sizes; a part has half of a CTA's share of all K tiles, within limits."""
    from tlxgen.cudalike import CudaLike
    from tlxgen.families.gemm.model import Gpu

    module = built(tmp_path).module()
    monkeypatch.setattr(module, "sm_count", lambda index: 132)
    monkeypatch.setattr(module, "gpu_of", lambda index: Gpu("", 132))

    def part_tiles(groups: int, m: int, n: int, k: int) -> tuple[int, int]:
        a, b = torch.empty(k, m, dtype=torch.bfloat16).T, torch.empty(k, n, dtype=torch.bfloat16)
        given = (t.as_subclass(CudaLike) for t in (a, b, torch.empty(groups, dtype=torch.int32)))
        call = module.prepare(*given, None, None)
        return call.launches[0].constants[-1], call.workspace[0] // (64 * 32)

    assert part_tiles(8, 64, 32 * 66, 16 * 1024) == (256, 528)  # a share is 512 K tiles: four parts for each CTA
    assert part_tiles(8, 64, 32, 16 * 16384) == (16384 // MOST_PARTS, 2 * MOST_PARTS)  # one tile: of 16 parts at most
    assert part_tiles(8, 64, 32, 16 * 100) == (LEAST_PART, 6)


FAULTS = (
    ("parts in the order of tiles", "number // across", "number % 2"),
    ("a part that begins at the group", "first_k = part * part_tiles", "first_k = 0"),
    ("a part as long as the rest", "tl.minimum(end - begin - part * part_k, part_k)", "(end - begin - part * part_k)"),
    ("sums of groups in one place", "begin // (part_k // 2) * across", "0 * across"),
    ("sums of tiles in one place", "(number - part * across) * num_parts", "0"),
    ("the first group's C", "group.to(tl.int64) * stride_cg", "0 * stride_cg"),
    ("one part too few", "== num_parts - 1", "== num_parts - 2"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f[0].replace(" ", "_"))
def test_a_fault_is_found(fault: tuple[str, str, str], tmp_path: Path) -> None:
    faulty = built(tmp_path).mutant(fault[1], fault[2])
    assert faulty.run((64, 40, 0), (9, 2 * PART, 3 * PART + 5), ONCE).seen


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"problem": {}}, "tiles of groups are whole"),
        ({"schedule": {"tail": "split"}}, "nobody knows before which tiles have parts: last"),
        ({"schedule": {"tail": "helped"}}, "tiles of groups with a long K are cut: split"),
        ({"schedule": {"kind": "clc", "tail": "split", "fix_up": "last"}}, "only CTAs that stay"),
        ({"tasks": {"epilogue": {}}}, "no store task"),
    ],
)
def test_what_does_not_go_with_parts(changed: dict[str, Any], words: str) -> None:
    base = {
        "problem": {"vary": "k", "a": {"layout": "col"}},
        "schedule": {"kind": "dynamic", "tail": "split", "fix_up": "last"},
    }
    with pytest.raises(ValueError, match=words):
        GroupedGemmSpec.model_validate({"kernel": "grouped_gemm", "name": "g", "arch": "sm90", **base, **changed})
