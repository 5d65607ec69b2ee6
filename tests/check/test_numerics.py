"""What passes for the reference: small errors, its own infinities, and nothing unwritten."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tlxgen.check.numerics import compare  # noqa: E402

INF = float("inf")


def verdict(out: list[float], ref: list[float]) -> bool:
    reference = torch.tensor([ref], dtype=torch.float64)
    return compare(torch.tensor([out]), reference, 1.0, 1e-3).passed


@pytest.mark.parametrize(
    ("out", "passes"),
    [
        ([1.0, -INF], True),
        ([1.0005, -INF], True),
        ([1.1, -INF], False),
        ([1.0, INF], False),
        ([1.0, -1e30], False),
        ([1.0, float("nan")], False),
        ([-INF, -INF], False),
    ],
)
def test_an_infinity_passes_only_where_the_reference_has_it(out: list[float], passes: bool) -> None:
    assert verdict(out, [1.0, -INF]) is passes


def test_a_reference_with_nan_is_the_inputs_fault() -> None:
    with pytest.raises(ValueError, match="the reference has NaN"):
        verdict([1.0], [float("nan")])


def test_outputs_of_any_rank_are_compared_in_rows_of_their_last_dimension() -> None:
    ref = torch.zeros(2, 3, 70, 64, dtype=torch.float64)
    out = ref.float()
    out[1, 2, 69, 5] = 1.0
    found = compare(out, ref, 1.0, 1e-3)
    assert not found.passed and found.worst == ((2 * 3 * 70 - 1) // 64 * 64, 0)
