"""Global memory between CTAs that wait for each other: what is ordered passes on all schedules; else it is a race."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.sim import litmus_order as kernels
from tlxgen.sim import DEVICE, RUNS, Limits, Report, Session, verify
from tlxgen.sim.engine import FRUITLESS


def ints(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.int32)


def run(kernel: Any, *arguments: Any, grid: int = 2, **constants: Any) -> tuple[Report, list[torch.Tensor]]:
    """What was found on all schedules, and the tensors after the last."""
    made: list[torch.Tensor] = []

    def program(session: Session) -> None:
        made[:] = [x.to(DEVICE) for x in arguments]
        kernel[(grid,)](*made, **constants)

    return verify(program, RUNS), made


def test_what_is_released_and_acquired_is_ordered() -> None:
    found, (*_, out) = run(kernels.message, ints(16), ints(1), ints(16), RELEASE="release", ACQUIRE="acquire")
    assert not found.seen, list(map(str, found.seen))
    assert out.tolist() == list(range(16))


@pytest.mark.parametrize("release, acquire", [("relaxed", "acquire"), ("release", "relaxed"), ("relaxed", "relaxed")])
def test_what_is_not_released_or_not_acquired_is_a_race(release: str, acquire: str) -> None:
    found, _ = run(kernels.message, ints(16), ints(1), ints(16), RELEASE=release, ACQUIRE=acquire)
    assert found.ids == {"global-race"}
    assert "nothing orders the two" in str(found.seen[0])


def test_what_is_stored_after_the_release_is_a_race() -> None:
    found, _ = run(kernels.early, ints(16), ints(1), ints(16))
    assert found.ids == {"global-race"}
    assert "1 elements" in str(found.seen[0])


def test_order_is_handed_on_from_cta_to_cta() -> None:
    found, (_, _, out) = run(kernels.chain, ints(6 * 16), ints(6), ints(6), grid=6)
    assert not found.seen, list(map(str, found.seen))
    assert out.tolist() == [16 * sum(range(cta + 1)) for cta in range(6)]


def test_who_comes_last_comes_after_all() -> None:
    found, (_, _, out) = run(kernels.last_adds_up, ints(5 * 16), ints(1), ints(16), grid=5, CTAS=5)
    assert not found.seen, list(map(str, found.seen))
    assert out.tolist() == [5 * i for i in range(16)]


@pytest.mark.parametrize(
    "wait, meet, ids",
    [
        ("cp.async.bulk.wait_group 0;", True, set()),
        ("cp.async.bulk.wait_group 0;", False, {"global-race"}),  # one warp has issued it, another one may say so
        ("cp.async.bulk.wait_group 1;", True, {"global-race"}),
        ("", True, {"global-race"}),  # all that TLX waits for is that the buffer has been read
        ("", False, {"global-race"}),
    ],
)
def test_a_store_by_tma_is_there_when_all_warps_know_that_it_is_written(wait: str, meet: bool, ids: set[str]) -> None:
    made: list[torch.Tensor] = []

    def program(session: Session) -> None:
        made[:] = [torch.ones(16, 16, device="cuda") for _ in range(2)]
        data, out = (TensorDescriptor(x, [16, 16], [16, 1], [16, 16]) for x in made)
        flag = torch.zeros(1, dtype=torch.int32, device="cuda")
        kernels.by_tma[(2,)](data, flag, out, WAIT=f"{wait} mov.b32 $0, 0;", MEET=meet)

    assert verify(program, RUNS).ids == ids
    assert ids or not made[1].any()


def test_who_waits_for_nobody_is_told_of() -> None:
    def program(session: Session) -> None:
        flag, out = (torch.zeros(1, dtype=torch.int32, device="cuda") for _ in range(2))
        kernels.nobody_says_so[(2,)](flag, out)

    found = verify(program, RUNS)
    assert found.ids == {"no-progress"}
    assert "without a change" in found.seen[0].finding.message
    assert found.steps < len(RUNS) * 5 * FRUITLESS  # a round of a loop and its poll, by two CTAs
    assert verify(program, RUNS, limits=Limits(steps=100)).ids == {"no-progress"}


def test_a_loop_that_gives_up_ends() -> None:
    found, (_, out) = run(kernels.gives_up, ints(1), ints(2) - 1)
    assert not found.seen, list(map(str, found.seen))
    assert out.tolist() == [0, 0]
