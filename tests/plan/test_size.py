"""A size's text and value agree, whatever the arithmetic that made it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlxgen.arch import DTYPES
from tlxgen.plan import Size, Tile
from tlxgen.plan.size import total

NAMES = {"BLOCK_M": 128, "BLOCK_N": 96, "STAGES": 5, "ONE": 1}
atoms = st.sampled_from([Size.of(n, v) for n, v in NAMES.items()]) | st.integers(1, 9).map(Size.literal)
grown: Callable[[st.SearchStrategy[Size]], st.SearchStrategy[Size]] = lambda sizes: st.one_of(  # noqa: E731
    st.builds(Size.__mul__, sizes, sizes | st.integers(1, 9)),
    st.builds(Size.__add__, sizes, sizes | st.integers(1, 9)),
    st.builds(Size.__floordiv__, sizes, st.integers(1, 9)),
)
sizes = st.recursive(atoms, grown, max_leaves=12)


@given(sizes)
def test_the_text_means_the_value(size: Size) -> None:
    assert eval(size.text, dict(NAMES)) == size.value


@given(st.lists(sizes, min_size=1, max_size=4))
def test_a_total_is_the_sum_of_its_parts(parts: list[Size]) -> None:
    assert total(parts).value == sum(p.value for p in parts) == eval(total(parts).text, dict(NAMES))


M = Size.of("BLOCK_M", 128)


@pytest.mark.parametrize(
    ("size", "text", "value"),
    [
        (M * 1, "BLOCK_M", 128),
        (Size.literal(1) * M, "BLOCK_M", 128),
        (M // 1, "BLOCK_M", 128),
        (M // 2 * 2, "BLOCK_M // 2 * 2", 128),
        (M * (M // 2), "BLOCK_M * (BLOCK_M // 2)", 8192),
        ((M + 2) * 3, "(BLOCK_M + 2) * 3", 390),
        ((M + 2) // 3, "(BLOCK_M + 2) // 3", 43),
        (M + M * 2, "BLOCK_M + BLOCK_M * 2", 384),
    ],
)
def test_brackets_stand_only_where_they_are_needed(size: Size, text: str, value: int) -> None:
    assert (str(size), size.value) == (text, value)


@pytest.mark.parametrize(("axis", "shape"), [(0, (64, 96)), (1, (128, 48))])
def test_a_tile_is_cut_along_its_axis_and_its_bytes_are_those_of_all_its_groups(
    axis: int, shape: tuple[int, int]
) -> None:
    tile = Tile("a", (M, Size.of("BLOCK_N", 96)), DTYPES["bf16"], groups=2, axis=axis)
    assert tuple(s.value for s in tile.shape) == shape
    assert tile.bytes.value == 2 * shape[0] * shape[1] * 2
    assert tile.bytes.text == "BLOCK_M * BLOCK_N * 2"
