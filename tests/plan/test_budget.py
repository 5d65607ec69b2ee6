"""Budgets are sums over the plan; what is over a limit is a reason that carries the numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tlxgen.arch import DTYPES
from tlxgen.plan import Budget, Fill, Holds, Plan, Role, Tile, Turn, Use, complete
from tlxgen.plan.budget import first_free_barrier, padding

from .toy import LOAD, MMA, STORE, plan, ring, size

STAGING = ring(
    name="c",
    tiles=(Tile("c", (size("M", 64), size("N", 128)), DTYPES["bf16"]),),
    slots=size("C_STAGES", 2),
    fill=Fill("mma", "store"),
    drains=(),
    banks=2,
)


def budget(plan: Plan, name: str) -> Budget:
    return next(b for b in plan.budgets if b.name == name)


def rules(plan: Plan) -> list[str]:
    return [r.rule for r in plan.reasons]


def test_smem_is_the_rings_the_mbarriers_and_what_the_compiler_adds() -> None:
    turn = Turn("turn", "mma", "mbarrier", 2)
    whole = complete(plan(rings=(ring(), STAGING), turns=(turn,), compiler_smem=(Use("scratch", 1000),)))
    operands, staging, mbarriers = 4 * 128 * 64 * 2, 2 * 2 * 64 * 128 * 2, (4 + 4 + 2) * 8
    assert budget(whole, "SMEM").used == operands + staging + mbarriers + 1000
    assert budget(whole, "SMEM").limit == 232448
    assert whole.reasons == ()


def test_a_plan_over_smem_is_rejected_with_need_limit_excess_and_parts() -> None:
    whole = complete(plan(rings=(ring(slots=size("STAGES", 15)),)))
    (reason,) = whole.reasons
    need = 15 * 16384 + 30 * 8
    assert reason.rule == "smem"
    for number in (need, 232448, need - 232448, 15 * 16384, 30 * 8):
        assert str(number) in reason.text


def test_the_last_byte_of_smem_may_be_used() -> None:
    exact = 232448 - 4 * 16384 - 8 * 8
    assert complete(plan(compiler_smem=(Use("scratch", exact),))).reasons == ()
    assert rules(complete(plan(compiler_smem=(Use("scratch", exact + 1),)))) == ["smem"]


def test_what_the_compiler_can_do_without_counts_unless_all_takes_more_than_256_kib() -> None:
    needed = 4 * 16384 + 8 * 8
    room = 232448 - needed
    spare = 256 * 1024 - needed
    for amount, used, rejected in ((room, 232448, []), (room + 1, 232449, ["smem"]), (spare + 1, needed, [])):
        whole = complete(plan(spare_smem=(Use("layout conversion", amount),)))
        assert budget(whole, "SMEM").used == used
        assert rules(whole) == rejected


@pytest.mark.parametrize(
    ("warps", "added"), [([4], []), ([4, 4], []), ([1], [2, 1]), ([4, 1], [2, 1]), ([2], [2]), ([2, 1], [1])]
)
def test_partitions_are_padded_to_warpgroups_by_powers_of_two(warps: list[int], added: list[int]) -> None:
    roles = [LOAD, *(Role(f"task{i}", w, ()) for i, w in enumerate(warps))]
    assert padding(roles) == added


def test_threads_count_replicas_and_padding() -> None:
    whole = complete(plan(roles=(LOAD, MMA, STORE)))
    assert budget(whole, "threads").used == 128 + 2 * 128 + 32 + 96


def test_too_many_threads_are_rejected_with_their_number() -> None:
    whole = complete(plan(roles=(LOAD, replace(MMA, warps=16))))
    assert "threads" in rules(whole)
    assert "needs 1152 of 1024 threads, 128 too many" in next(r.text for r in whole.reasons if r.rule == "threads")


def test_named_barriers_of_turns_come_after_those_that_the_compiler_takes() -> None:
    # 0: default task, 1: switch loop, 2..4: mma, mma, store, 5 and 6: the padding of 2 and of 1 warp
    whole = complete(plan(roles=(LOAD, MMA, STORE), turns=(Turn("turn", "mma", "named", 2),)))
    (turn,) = whole.turns
    assert first_free_barrier(whole) == turn.first_id == 7
    assert turn.threads == 2 * 128
    assert budget(whole, "named barriers").used == 9


def test_a_guarded_role_keeps_its_named_barrier_in_the_variant_without_it() -> None:
    turn = Turn("turn", "mma", "named", 2)
    without = complete(plan(possible_roles=(LOAD, MMA, replace(STORE, guard="STORE_TASK")), turns=(turn,)))
    assert without.turns[0].first_id == 7  # one source serves both variants, so the ids are those of the larger one


def test_two_turns_do_not_share_named_barriers() -> None:
    whole = complete(plan(turns=(Turn("one", "mma", "named", 2), Turn("two", "mma", "named", 2))))
    one, two = whole.turns
    assert two.first_id == one.first_id + 2


def test_mbarrier_turns_take_no_named_barrier() -> None:
    whole = complete(plan(turns=(Turn("turn", "mma", "mbarrier", 2),)))
    assert whole.turns[0].first_id == 0
    assert budget(whole, "named barriers").used == first_free_barrier(whole) == 4


def test_more_than_16_named_barriers_are_rejected() -> None:
    turns = tuple(Turn(f"turn{i}", "mma", "named", 2) for i in range(7))
    whole = complete(plan(turns=turns))
    assert rules(whole) == ["named-barriers"]
    assert "needs 18 of 16 barriers, 2 too many" in whole.reasons[0].text


def test_an_unspecialised_kernel_leaves_all_named_barriers_but_the_first() -> None:
    gemm = Role("gemm", 8, (), default=True)
    assert first_free_barrier(plan(roles=(gemm,), specialized=False)) == 1


def test_a_register_split_that_the_compiler_would_drop_is_rejected_and_says_so() -> None:
    whole = complete(plan(roles=(LOAD, replace(MMA, registers=248))))
    assert rules(whole) == ["registers"]
    # 65536 registers / 384 threads = 168 each; two groups of 128 x 248 leave 8 a thread
    assert "63488 of the 64512" in whole.reasons[0].text
    assert "leaves the default task 8 a thread where it needs 24" in whole.reasons[0].text


def test_registers_on_only_some_tasks_are_rejected() -> None:
    whole = complete(plan(roles=(LOAD, replace(MMA, registers=232), STORE)))
    assert rules(whole) == ["registers"]
    assert "2 of 3 tasks" in whole.reasons[0].text


@pytest.mark.parametrize(("warps", "rejected"), [(4, False), (8, True)])
def test_a_wide_wgmma_needs_the_registers_of_the_kernels_own_target(warps: int, rejected: bool) -> None:
    # N = 256: 128 + 26 registers a thread; 12 warps are compiled for 168, 20 for 96
    whole = complete(plan(roles=(LOAD, replace(MMA, warps=warps)), instruction_registers=154))
    assert rules(whole) == (["instruction"] if rejected else [])
    if rejected:
        assert "needs 154 registers a thread; 640 threads are compiled for 96" in whole.reasons[0].text


@pytest.mark.parametrize(("registers", "rejected"), [(None, True), (232, False)])
def test_an_accumulator_must_fit_what_its_role_is_granted(registers: int | None, rejected: bool) -> None:
    roles = (LOAD, replace(MMA, registers=registers, holds=Holds(128, 41)))
    whole = complete(plan(roles=roles))
    assert rules(whole) == (["accumulator"] if rejected else [])
    if rejected:
        assert "128 accumulator registers" in whole.reasons[0].text and "it gets 168" in whole.reasons[0].text


def test_a_role_without_an_accumulator_must_have_its_registers_too() -> None:
    whole = complete(plan(roles=(replace(LOAD, holds=Holds(working=250)), MMA)))
    assert [str(r) for r in whole.reasons] == ["registers: load needs about 250 registers a thread; it gets 168"]
    assert not complete(plan(roles=(LOAD, MMA))).reasons  # roles that say nothing hold nothing


def test_more_bytes_than_an_mbarrier_counts_are_rejected() -> None:
    huge = Tile("a", (size("M", 1024), size("K", 512)), DTYPES["bf16"])
    whole = complete(plan(rings=(ring(tiles=(huge,), slots=size("STAGES", 1)),)))
    assert rules(whole) == ["smem", "mbarrier-bytes"]
    assert "1048576 B, an mbarrier counts 1048575" in whole.reasons[1].text
