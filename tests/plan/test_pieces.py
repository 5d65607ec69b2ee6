"""An extent is the sum of its pieces, each a power of two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlxgen.plan import Size
from tlxgen.plan.pieces import form, pieces, shares
from tlxgen.plan.size import total


@given(st.integers(1, 4096), st.sampled_from((1, 2, 4, 8)))
def test_pieces_are_powers_of_two_side_by_side(extent: int, slices: int) -> None:
    found = pieces(Size.of("BLOCK_N", extent), slices)
    for piece in found:
        length = piece.extent.value
        assert length & (length - 1) == 0 and eval(piece.extent.text, {"BLOCK_N": extent}) == length
    begins = [piece.begin.value if piece.begin else 0 for piece in found]
    assert begins == [sum(p.extent.value for p in found[:i]) for i in range(len(found))]
    assert all(eval(p.begin.text, {"BLOCK_N": extent}) == p.begin.value for p in found if p.begin)
    assert total([piece.extent for piece in found]).value == extent
    assert len({piece.suffix for piece in found}) == len(found)


@given(st.integers(1, 4096), st.sampled_from((1, 2, 4, 8)))
def test_slices_are_alike_and_no_more_than_it_takes(extent: int, slices: int) -> None:
    found = pieces(Size.of("BLOCK_N", extent), slices)
    count, least = sum(piece.slices for piece in found), sum(shares(extent))
    assert len({(piece.extent.value, piece.slices)[0] / piece.slices for piece in found}) == 1
    assert count >= slices and (count == least or count < 2 * slices)


@pytest.mark.parametrize(
    ("extent", "parts", "word"),
    [
        (64, (1,), ""),
        (96, (2, 1), "thirds"),
        (160, (4, 1), "fifths"),
        (192, (2, 1), "thirds"),
        (224, (4, 2, 1), "sevenths"),
    ],
)
def test_extents_of_one_form_have_pieces_of_the_same_shares(extent: int, parts: tuple[int, ...], word: str) -> None:
    assert (shares(extent), form(extent)) == (parts, word)


def test_a_power_of_two_is_one_piece_that_has_no_name_of_its_own() -> None:
    (piece,) = pieces(Size.of("BLOCK_N", 128), 4)
    assert (piece.suffix, piece.begin, str(piece.extent), piece.slices) == ("", None, "BLOCK_N", 4)
