"""What L2 is asked for before a kernel may read, in the simulator: the lines of the first tiles' first slots, once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.sim.support import kernels, run_case, source  # noqa: E402
from tlxgen.families import Structure  # noqa: E402
from tlxgen.sim import ops_tma  # noqa: E402

NAME = "hopper_gemm_prefetch"
LINE = 64  # bf16 elements of 128 bytes
SMS = 4
# In order: more rows of tiles than a group has; one row; K shorter than what is asked for; fewer tiles than CTAs.
SHAPES = ((1300, 264, 200), (64, 1032, 136), (300, 520, 72), (128, 136, 264))


def wanted(
    constants: dict[str, int], cluster_n: int, shape: tuple[int, ...], sms: int = SMS
) -> tuple[set[int], set[int], int]:
    """Rows of A and columns of B of the tiles that are first, and how far along K their first two slots reach."""
    m, n, k = shape
    block_m, block_n = constants["BLOCK_M"], constants["BLOCK_N"] * cluster_n
    tiles_m, tiles_n = -(-m // block_m), -(-n // block_n)
    group = min(tiles_m, constants["GROUP_M"])
    rows, columns = set(), set()
    for item in range(min(tiles_m * tiles_n, sms // cluster_n)):
        band, within = divmod(item, group * tiles_n)
        high = min(group, tiles_m - band * group)
        row, column = (band * group + within % high) * block_m, within // high * block_n
        rows |= set(range(row, min(row + block_m, m)))
        columns |= set(range(column, min(column + block_n, n)))
    return rows, columns, min(k, 2 * constants["BLOCK_K"])


def asks(
    structure: Structure,
    shape: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
    sms: int = SMS,
    name: str = NAME,
) -> list[list[int]]:
    """Of A and of B, the elements at which the lines begin that a run asks for."""
    asked: dict[tuple[int, int], list[int]] = {}  # by where the operand lies
    find = ops_tma.addresses

    def noted(pointer: Any, mask: Any, what: str, hint: bool = False) -> Any:
        at, kept = find(pointer, mask, what, hint)
        asked.setdefault(pointer.extent, []).extend((at[kept] - pointer.extent[0]).tolist())
        return at, kept

    monkeypatch.setattr(ops_tma, "addresses", noted)
    at = f"{name}/{structure.name}"
    report = run_case(at, source(at), 0, shape, (("random", 0),), sms=sms)
    assert not report.seen
    m, n, _ = shape
    longest_first = sorted(asked, key=lambda extent: extent[1] - extent[0], reverse=True)
    return [asked[extent] for extent in (longest_first if m > n else longest_first[::-1])]


@pytest.mark.parametrize("structure", kernels(NAME).structures, ids=lambda s: s.name)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_first_tiles_are_asked_for_and_each_line_once(
    structure: Structure, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asks(structure, shape, monkeypatch)
    variant = structure.variants[0]
    assert variant.spec and variant.plan and len(asked) == 2
    rows, columns, depth = wanted(dict(variant.plan.launches[0].constants), variant.spec.cluster.n, shape)
    for (operand, along), starts in zip((("a", rows), ("b", columns)), asked, strict=True):
        k_major = getattr(variant.spec.problem, operand).layout == ("row" if operand == "a" else "col")
        count = Counter(starts)
        assert max(count.values()) == 1, "asked for twice"
        stride = row_stride(shape, operand, k_major)
        covered = {divmod(start, stride) for start in count}
        inner, outer = (range(depth), along) if k_major else (along, range(depth))
        assert {(row, x // LINE * LINE) for row in outer for x in inner} == covered


@pytest.mark.parametrize("structure", kernels(NAME).structures[:1], ids=lambda s: s.name)
def test_first_tiles_that_reach_into_a_second_group_are_asked_for_and_at_most_that_group(
    structure: Structure, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, sms = (2500, 100, 136), 12
    variant = structure.variants[0]
    assert variant.plan
    constants = dict(variant.plan.launches[0].constants)
    rows, _, _ = wanted(constants, 1, shape, sms)
    stride = row_stride(shape, "a", True)
    starts, _ = asks(structure, shape, monkeypatch, sms)
    found = {start // stride for start in starts}
    assert len(starts) == len(set(starts)) and rows < found
    assert found <= set(range(2 * constants["GROUP_M"] * constants["BLOCK_M"]))


@pytest.mark.parametrize("shape", [(70, 130, 1100), (1, 72, 260)], ids=str)
def test_ctas_of_a_cluster_along_k_ask_for_the_beginning_of_their_parts(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, name = 4, "hopper_matmul"
    wants = {"problem.a.layout": "row", "problem.b.layout": "col", "cluster.k": parts, "tasks.mma.replicate": 1}
    structure = next(s for s in kernels(name).structures if wants.items() <= s.values.items())
    variant = structure.variants[0]
    assert variant.plan
    constants = dict(variant.plan.launches[0].constants)
    rows, columns, _ = wanted(constants, 1, shape, 2)  # two clusters
    block = constants["BLOCK_K"]
    part = -(-shape[2] // (block * parts)) * block
    depths = {k for begin in range(0, shape[2], part) for k in range(begin, min(begin + 2 * block, shape[2]))}
    asked = asks(structure, shape, monkeypatch, 2 * parts + 1, name)  # some SMs make no whole cluster
    assert len(asked) == 2
    for along, starts in zip((rows, columns), asked, strict=True):
        assert len(starts) == len(set(starts)), "asked for twice"
        stride = row_stride(shape, "a", True)
        assert {divmod(start, stride) for start in starts} == {(row, k // LINE * LINE) for row in along for k in depths}


def row_stride(shape: tuple[int, ...], operand: str, k_major: bool) -> int:
    """Elements from a row in memory to the next: rows are multiples of 16 bytes."""
    m, n, k = shape
    extent = k if k_major else m if operand == "a" else n
    return -(-extent // 8) * 8
