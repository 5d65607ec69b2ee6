"""Faults that the default settings once missed, though other seeds, numbers of SMs or shapes showed them.

Each is found now, and within the first of the default runs: by a problem whose counters do not come back to where they
began, by several numbers of SMs, or by what the simulator looks at.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from benchmarks.planted_faults import FAULTS, W_CLC
from benchmarks.tutorials.gemm import CLC, _matmul
from tests.sim.mutation.execute import default_runs, execute
from tests.sim.mutation.generate import mutants
from tests.sim.mutation.subjects import Subject, generated, of_row, row_of

FIRST = default_runs()[:3]  # of each there are as many runs as numbers of SMs


@dataclass(frozen=True)
class Missed:
    """A mutant, by its mutator and a regular expression for what it does; it must show a finding of `ids`."""

    at: str
    kind: str
    what: str
    ids: set[str]

    @property
    def subject(self) -> Subject:
        return generated(self.at) if "/" in self.at else of_row(row_of(self.at))


PERSISTENT = "hopper_fa_ws_pipelined_pingpong_persistent"
MISSED = (
    # The problem had as many K tiles, and tiles of keys, as a multiple of the slots.
    Missed(W_CLC, "count", r"processed_k_iters .* -> pass", {"deadlock"}),
    Missed(PERSISTENT, "initialisation", r"accum_cnt_kv = 0 in each round", {"deadlock"}),
    # No item had fewer tiles of keys than the ring has slots.
    Missed(PERSISTENT, "sooner", r".*\(q_fulls\[q_bufIdx\], .* before .*wait\(q_empties", {"over-arrival"}),
    # The box lay so far outside that memory for its indices did not suffice.
    Missed("hopper_grouped_gemm/hopper_grouped_gemm_row_pingpong", "operands", r"x <-> y", {"out-of-bounds"}),
    # All heads of a small problem had room in L2 together.
    Missed(
        "hopper_attention_bwd/hopper_attention_bwd_causal_together", "assignment", r"tiles = .* \+ 1$",
        {"wrong-numbers"},
    ),
    # A fence before the wait for cp.async counted as one after it.
    Missed(
        "hopper_gemm_any_rows/hopper_gemm_any_rows_row_row", "sooner",
        r"tlx\.fence\(.* before tlx\.async_load_wait_group\(LAG", {"missing-fence"},
    ),
    # An MMA read its scales where it wrote its own sums.
    Missed(
        "blackwell_attention_fwd_mxfp8/blackwell_attention_fwd_mxfp8_none", "index",
        r"async_dot_scaled sf_k_tiles: 0 -> 1$", {"async-lifetime"},
    ),
    # Of many keys O is nearly zero, and so is delta, whatever the scales of dO.
    Missed(
        "blackwell_attention_bwd_mxfp8/blackwell_attention_bwd_mxfp8_causal", "slots",
        r"scale_ptrs \+= .*: 128 -> \(128 [+-] 1\)$", {"wrong-numbers"},
    ),
)  # fmt: skip


@pytest.mark.parametrize("missed", MISSED, ids=lambda m: f"{m.kind} {m.at}")
def test_a_mutant_that_was_missed_is_found(missed: Missed) -> None:
    subject = missed.subject
    found = [m for m in mutants([(subject.at, subject.text)], missed.kind) if re.match(missed.what, m.what)]
    assert found
    for mutant in found:
        outcome = execute(subject, mutant, FIRST)
        assert outcome.verdict == "caught" and missed.ids & set(outcome.ids), (mutant.name, outcome)


# With one tile for each of four SMs no CTA takes a second one.
FOUR_TILES = of_row(replace(row_of(W_CLC), run=_matmul((256, 256, 264), config=CLC)))
SECOND_ITEM = (
    "wheel: stale answer, the phase flips once",
    "wheel: request before the answer is read by all",
    "wheel: TMEM acquired with the phase of the first round",
    "wheel: accumulator kept over tiles",
)


@pytest.mark.parametrize("name", SECOND_ITEM)
def test_a_fault_of_a_second_item_is_found_where_there_are_four_tiles(name: str) -> None:
    fault = next(f for f in FAULTS if f.name == name)
    (case,) = FOUR_TILES.cases
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FOUR_TILES.path.name
        path.write_text(fault.planted(FOUR_TILES.text))
        assert FOUR_TILES.verify(path, case, FIRST[:1]).errors
        assert not FOUR_TILES.verify(path, case, FIRST[:1], 4).errors, "four SMs alone show it: no test of the others"
