"""Faults put into the generated decoding kernels by hand: the simulator finds each, if only by wrong numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

AT = "hopper_attention_decode/hopper_attention_decode_lengths_replicate1"
PAGED = "hopper_attention_decode/hopper_attention_decode_paged_replicate1"
BOTH = "hopper_attention_decode/hopper_attention_decode_lengths_replicate2"
KEYS = "hopper_attention_decode/hopper_attention_decode_lengths_head_dim64_replicate2_keys"
RELEASE = "tlx.barrier_arrive(k_empty[k_slot])"
SPLIT = 0, (2, 4, 1, 2, 1500)  # two sequences, one without keys, and parts of theirs
LONG = 0, (1, 2, 1, 3, 3400)  # slots go round

FAULTS = (
    Mutant("K not awaited", AT, "tlx.barrier_wait(k_full[k_slot], k_phase)", "pass", *LONG),
    Mutant("V's phase never turns", AT, "v_full[v_slot], v_phase)", "v_full[v_slot], 0)", *LONG),
    Mutant("K not released", AT, "tlx.barrier_arrive(k_empty[k_slot])", "pass", *LONG),
    Mutant("K overwritten as it is read", AT, "tlx.barrier_wait(k_empty[k_slot], k_phase ^ 1)", "pass", *LONG),
    Mutant("keys past the end", AT, "last = n_k - N_Q + query", "last = n_k + query", *SPLIT),
    Mutant("top-left", AT, "last = n_k - N_Q + query", "last = query", *SPLIT),
    Mutant("a tile twice", AT, "min((split + 1) * each, tiles)", "min((split + 1) * each + 1, tiles)", *SPLIT),
    Mutant("O so far not rescaled", AT, "acc = acc * alpha[:, None]", "pass", *LONG),
    Mutant("all parts in one place", AT, "place += split * total", "pass", *SPLIT),
    Mutant("parts of splits without keys", AT, "mask=which < used", "mask=which < SPLITS", 0, (3, 4, 1, 2, 1500)),
    Mutant("parts not weighed", AT, "weights[:, None] * parts", "parts", *SPLIT),
    Mutant("no mask", AT, "if tile >= unmasked", "if tile > unmasked", *SPLIT),
    Mutant("a mask that comes too late", AT, "max(n_k - N_Q + 1, 0)", "max(n_k, 0)", 0, (1, 2, 1, 3, 384)),
    Mutant("rows of another head", AT, "rows // N_Q", "rows // (N_Q + 1)", *SPLIT),
    Mutant("rows of the other consumer", BOTH, "row + replica * 64", "row", 0, (1, 2, 1, 40, 300)),
    Mutant("released by one consumer", BOTH, RELEASE, f"if replica == 0:\n{' ' * 24}{RELEASE}", 0, (1, 4, 1, 20, 3400)),
    Mutant("tiles of the other consumer", KEYS, "begin + replica, end, 2", "begin, end, 2", *LONG),
    Mutant("slots of the other consumer", KEYS, "count = replica", "count = 0", *LONG),
    Mutant("parts of both in one place", KEYS, "split * 2 + replica", "split * 2", *SPLIT),
    Mutant("half of the parts", KEYS, "SPLITS), 1)) * 2", "SPLITS), 1))", *SPLIT),
    Mutant("the page of another sequence", PAGED, "batch * PAGES + key", "key", 0, (3, 2, 1, 1, 300)),
    Mutant("the first tile of a page twice", PAGED, "key % PAGE", "0", 0, (1, 2, 1, 1, 300)),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
