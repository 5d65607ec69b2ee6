"""Where a role is in a ring: the slot and the phase of its use, in the source's names."""

from __future__ import annotations

from typing import Any

import pytest

from tlxgen.arch import DTYPES
from tlxgen.plan import Cursor, Drain, Fill, Plan, Role, Tile, Work
from tlxgen.plan.rings import Ring

from .toy import MMA, plan, ring, size


def cursor(fields: dict[str, Any] | None = None, work: Work | None = None, **where: Any) -> Cursor:
    made: Plan = plan(rings=(ring(**fields or {}),), work=work or Work("persistent"))
    return made.cursor("ab", **where)


ONE_SLOT = {"slots": size("1", 1)}


@pytest.mark.parametrize(
    ("made", "slot", "phase"),
    [
        (cursor(), "slot", "phase"),
        (cursor(prefix="q"), "q_slot", "q_phase"),
        (cursor(ONE_SLOT), "0", "phase"),
        (cursor(ONE_SLOT, bank="replica"), "replica", "phase"),
        (cursor().of("group"), "group * STAGES + slot", "phase"),
        (cursor().of("group", last=True), "slot + group * STAGES", "phase"),
        (cursor().of(0), "slot", "phase"),
        (cursor().of(1), "slot + STAGES", "phase"),
        (cursor().of(2), "slot + 2 * STAGES", "phase"),
        (cursor(ONE_SLOT).of(1), "1", "phase"),
        (cursor(bank="replica").first, "replica", "0"),
        (cursor().named("last"), "last", "phase"),
    ],
)
def test_slot_and_phase(made: Cursor, slot: str, phase: str) -> None:
    assert (made.slot, made.phase) == (slot, phase)


def test_what_a_cta_uses_once_an_item_is_used_once_where_it_has_one_item() -> None:
    of_items = {**ONE_SLOT, "item": True}
    assert cursor(of_items, Work("grid")).once and cursor(of_items, Work("grid")).phase == "0"
    assert not cursor(of_items, Work("persistent")).once
    assert not cursor(of_items, Work("grid"), steps=True).once
    assert not cursor(ONE_SLOT, Work("grid")).once


def test_a_slot_that_is_computed_where_it_stands() -> None:
    assert cursor().computed == "count % STAGES"
    assert cursor(bank="replica", counter="use").later(1).computed == "replica * STAGES + (use + 1) % STAGES"
    assert cursor(ONE_SLOT, bank="replica").computed == "replica"


@pytest.mark.parametrize(("uses", "text"), [(1, "count + 1"), (-1, "count - 1"), ("i", "count + i"), (0, "count")])
def test_later_uses(uses: str | int, text: str) -> None:
    assert cursor().later(uses).counted == text


@pytest.mark.parametrize(
    ("made", "index"),
    [
        (cursor(), "slot * 2"),
        (cursor(ONE_SLOT), "0"),
        (cursor(ONE_SLOT, bank="replica"), "replica * 2"),
    ],
)
def test_groups_of_a_tile_lie_side_by_side(made: Cursor, index: str) -> None:
    cut = Tile("a", (size("M", 128), size("K", 64)), DTYPES["bf16"], groups=2)
    assert made.index(cut) == index
    grouped = made.index(cut, "group")
    assert grouped == ("group" if index == "0" else f"{index} + group")
    assert made.index(made.ring.tiles[0]) == made.slot  # of one group


@pytest.mark.parametrize(
    ("bank", "i", "slot"), [(1, 2, "6"), ("replica", "i", "replica * 4 + i"), ("", "i", "i"), (0, 0, "0")]
)
def test_a_slot_in_parts_has_a_barrier_for_each(bank: str | int, i: str | int, slot: str) -> None:
    assert cursor({**ONE_SLOT, "parts": 4}, bank=bank).part(i).slot == slot


@pytest.mark.parametrize(
    ("slots", "banks", "replicas", "deep"),
    [(size("S", 4), 2, 2, "S - 1"), (size("1", 1), 2, 2, "0"), (size("1", 1), 2, 1, "1"), (size("2", 2), 1, 1, "1")],
)
def test_how_many_stores_may_be_under_way(slots: Any, banks: int, replicas: int, deep: str) -> None:
    """Each replica fills the buffers of its bank in turns; a task without replicas fills those of all banks."""
    role = MMA if replicas == 2 else Role("mma", 4, ())
    out: Ring = ring(slots=slots, fill=Fill("mma", "store"), drains=(), banks=banks)
    assert str(plan(roles=(role,), rings=(out,)).deep(out)) == deep


def test_a_ring_names_its_tiles() -> None:
    assert ring(drains=(Drain("mma"),)).tile("a").name == "a"
