"""When a ring may use another's buffers: the only reader writes them, and releases them when they are free again."""

from __future__ import annotations

from typing import Any

import pytest

from tlxgen.arch import DTYPES
from tlxgen.plan import Drain, Fill, Plan, Ring, Tile, complete

from .toy import plan, ring, size

TILE = Tile("q", (size("M", 64), size("D", 128)), DTYPES["bf16"])
OUT = Tile("o", TILE.whole, TILE.dtype)


def with_alias(parent: dict[str, Any], child: dict[str, Any]) -> Plan:
    q = ring(**{"name": "q", "tiles": (TILE,), "drains": (Drain("mma", until="o"),), "banks": 2} | parent)
    fields = {"name": "o", "tiles": (OUT,), "fill": Fill("mma", "store"), "drains": (), "banks": 2, "alias": "q"}
    return complete(plan(rings=(q, ring(**fields | child))))


def reasons(made: Plan) -> list[str]:
    return [r.text for r in made.reasons if r.rule == "alias"]


def test_a_safe_alias_takes_no_memory() -> None:
    made = with_alias({}, {})
    assert reasons(made) == []
    assert [u.amount for u in made.budgets[0].uses if u.what.startswith("ring ")] == [4 * 2 * 64 * 128 * 2, 0]


def test_buffers_that_are_filled_once_are_free_when_they_have_been_read() -> None:
    assert reasons(with_alias({"drains": ()}, {})) == []


@pytest.mark.parametrize(
    ("parent", "child", "words"),
    [
        ({"drains": (Drain("mma"),)}, {}, "mma releases them before o has left"),
        ({"drains": (Drain("mma", replicas=2, until="o"),)}, {}, "2 x mma may still read them"),
        ({"drains": (Drain("load", until="o"),)}, {}, "1 x load may still read them when mma writes"),
        ({"banks": 1}, {}, "4 slots in 2 banks against 4 slots in 1 banks"),
        ({}, {"slots": size("S", 1)}, "1 slots in 2 banks"),
        ({}, {"tiles": (Tile("o", (size("M", 64), size("V", 64)), DTYPES["bf16"]),)}, "64 x 64 bf16 against 64 x 128"),
        ({}, {"tiles": (Tile("o", TILE.whole, DTYPES["fp32"]),)}, "64 x 128 fp32 against 64 x 128 bf16"),
        ({}, {"space": "tmem"}, "tmem against smem"),
    ],
)
def test_an_unsafe_alias_is_a_reason(parent: dict[str, Any], child: dict[str, Any], words: str) -> None:
    (text,) = reasons(with_alias(parent, child))
    assert text.startswith("o cannot take the buffers of q: ") and words in text


def test_the_ring_model_says_who_aliases_whom() -> None:
    made = with_alias({}, {})
    child: Ring = made.ring("o")
    assert child.alias == "q" and child.smem_bytes == 0 < made.ring("q").smem_bytes


REST = Tile("rest", (size("M", 64), size("D2", 64)), DTYPES["fp32"])
K_TILE = Tile("k", (size("D", 128), size("N", 128)), TILE.dtype)


def between_uses(**changes: Any) -> Plan:
    """Uses of `rest` between those of `qk`, in the place of q alone."""
    qk = ring(name="qk", tiles=(TILE, K_TILE))
    fields = {"name": "rest", "tiles": (REST,), "alias": "qk", "over": "q", "slotwise": True}
    return complete(plan(rings=(qk, ring(**fields | changes))))


def test_a_use_of_a_slot_may_be_of_one_ring_or_of_the_other() -> None:
    made = between_uses()
    assert reasons(made) == []
    full = made.ring("rest").full_barrier
    assert full and full.bytes and (full.name, full.bytes.value) == ("qk_full", 64 * 64 * 4)  # of its own tile alone
    assert made.ring("rest").barriers == () and made.ring("rest").smem_bytes == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tiles": (Tile("rest", (size("M", 64), size("D", 128)), DTYPES["fp32"]),)}, "32768 B of rest against 16384"),
        ({"drains": (Drain("mma", replicas=2),)}, "not used alike: drains"),
        ({"fill": Fill("mma", "tma")}, "not used alike: fill"),
        ({"slots": size("S", 2)}, "2 slots against 4"),
    ],
)
def test_a_ring_that_is_used_or_shaped_otherwise_may_not_share_slots(changes: dict[str, Any], words: str) -> None:
    (text,) = reasons(between_uses(**changes))
    assert text.startswith("rest cannot take the buffers of qk: ") and words in text
