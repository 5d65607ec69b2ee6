"""The first line names the cause: faults of many kinds, in kernels of every family and one written by hand."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from tests.sim import litmus
from tests.sim.mutants import (
    ACQUIRE,
    BYTES,
    CLUSTER,
    CLUSTER_PING,
    COOP,
    FENCE,
    FULL,
    LAST,
    PIPE,
    RELEASE,
    STORE,
    SUMS,
    SUMS_LOOP,
    Mutant,
)  # fmt: skip
from tests.sim.support import run_mutant
from tlxgen.sim import DEVICE, Report, Session, diagnose, verify

FWD = "hopper_attention_fwd/hopper_attention_fwd_none"
BWD = "hopper_attention_bwd/hopper_attention_bwd_none_together"
TCGEN = "blackwell_gemm/blackwell_gemm_persistent"
NORM = "hopper_rms_norm/hopper_rms_norm_grid"
ATTENTION = (1, 1, 1, 200, 328)
BACKWARD = (1, 1, 1, 128, 128)


@dataclass(frozen=True)
class Fault:
    """A mutant, and what the first line says of it: a pattern, and the line's own source."""

    at: str
    old: str
    new: str
    says: str
    line: str = ""  # text of the line that is shown first
    shape: tuple[int, ...] = (400, 264, 328)
    proven: bool = True  # the change that mends it has been run
    config: int = 0


FAULTS = {
    "count too small": Fault(
        COOP,
        "STAGES, arrive_count=2)",
        "STAGES, arrive_count=1)",
        r"ab_empty counts 1, and two arrive a phase: the task of line \d+ \(replicas 0 and 1\)",
        "ab_empty = ",
    ),
    "count too small, threads": Fault(
        CLUSTER_PING, "num_arrivals=2)", "num_arrivals=1)", r"ab_empty counts 128, and 256 threads arrive a phase"
    ),
    "count too small, peers": Fault(
        CLUSTER, "arrive_count=4)", "arrive_count=2)", r"ab_empty counts 2, and four arrive a phase: .* of a peer CTA"
    ),
    "count too large": Fault(
        COOP, "STAGES, arrive_count=2)", "STAGES, arrive_count=3)", r"ab_empty counts 3, and two arrive a phase"
    ),
    "count too large, full": Fault(
        COOP, "STAGES, arrive_count=1)", "STAGES, arrive_count=2)", r"ab_full counts 2, and one arrives a phase"
    ),
    "count too large, of attention": Fault(
        FWD,
        "v_empty = tlx.alloc_warp_barrier(KV_STAGES, num_warps=4, num_arrivals=2)",
        "v_empty = tlx.alloc_warp_barrier(KV_STAGES, num_warps=4, num_arrivals=3)",
        r"v_empty counts 384, and 256 threads arrive a phase",
        "v_empty = ",
        ATTENTION,
    ),
    "count too small, of a commit": Fault(
        TCGEN,
        "acc_empty = tlx.alloc_barriers(ACC_STAGES, arrive_count=1)",
        "acc_empty = tlx.alloc_barriers(ACC_STAGES, arrive_count=2)",
        r"acc_empty counts 2, and one arrives a phase",
    ),
    "wrong phase in the producer": Fault(
        COOP,
        "ab_empty[slot], phase ^ 1",
        "ab_empty[slot], phase",
        r"line \d+ waits for the wrong phase of ab_empty: the first wait .* is for parity 0, and blocks with 0 phases",
        "tlx.barrier_wait(ab_empty[slot], phase)",
    ),
    "wrong phase in the consumer": Fault(
        COOP,
        FULL,
        "tlx.barrier_wait(ab_full[slot], phase ^ 1)",
        r"line \d+ waits for the wrong phase of ab_full: .* is for parity 1, and passes at once with 0 phases complete",
        "tlx.barrier_wait(ab_full[slot], phase ^ 1)",
    ),
    "wrong phase in attention": Fault(
        FWD,
        "tlx.barrier_wait(v_full[v_slot], v_phase)",
        "tlx.barrier_wait(v_full[v_slot], v_phase ^ 1)",
        r"line \d+ waits for the wrong phase of v_full",
        "tlx.barrier_wait(v_full",
        ATTENTION,
    ),
    "wrong phase in the epilogue": Fault(
        TCGEN,
        "tlx.barrier_wait(acc_full[acc_slot], acc_phase)",
        "tlx.barrier_wait(acc_full[acc_slot], acc_phase ^ 1)",
        r"line \d+ waits for the wrong phase of acc_full",
    ),
    "a fixed phase": Fault(
        COOP, FULL, "tlx.barrier_wait(ab_full[slot], 0)", r"wrong phase of ab_full: the second wait .* is for parity 0"
    ),
    "bytes too few": Fault(
        COOP,
        BYTES,
        "BLOCK_M * BLOCK_K * 2)",
        r"ab_full expects 16384 bytes a phase \(line \d+\), and 32768 come",
        "tlx.barrier_expect_bytes(ab_full[slot], BLOCK_M * BLOCK_K * 2)",
    ),
    "bytes too many": Fault(
        COOP, BYTES, "BLOCK_M * BLOCK_K * 4 + BLOCK_K * BLOCK_N * 2)", r"ab_full expects 49152 bytes .* 32768 come"
    ),
    "bytes too few, of attention": Fault(
        BWD,
        "do_full[do_slot], 64 * 128 * 2 + 64 * 4)",
        "do_full[do_slot], 64 * 128 * 2)",
        r"do_full expects 16384 bytes a phase .* 16640 come",
        shape=BACKWARD,
    ),
    "bytes of one CTA": Fault(
        NORM,
        "BLOCK_M * 4 * CLUSTER)",
        "BLOCK_M * 4)",
        r"sums_full expects 4 bytes a phase .* 32 come",
        shape=(1, 100_000),
        config=10,
    ),
    "nobody expects": Fault(
        COOP,
        f"tlx.barrier_expect_bytes(ab_full[slot], {BYTES}",
        "pass",
        r"nobody expects bytes on ab_full: 32768 come",
        proven=False,
    ),
    "a multicast that is none": Fault(
        CLUSTER,
        "multicast_targets=[cta, cta ^ 1]",
        "multicast_targets=[cta]",
        r"ab_full expects 32768 bytes a phase .* 16384 come",
        proven=False,
    ),
    "a missing release": Fault(
        COOP,
        RELEASE,
        "pass",
        r"nobody ever arrives on ab_empty, .*: an arrive \(release\) is missing in the task of line \d+ \(replicas",
        proven=False,
    ),
    "a missing release at the end of a tile": Fault(
        COOP,
        LAST,
        "\n                pass",
        r"ab_empty is arrived on too seldom: .* waits for ab_full 10 times, and arrives",
        proven=False,
    ),
    "a missing commit": Fault(
        TCGEN,
        "tlx.tcgen05_commit(acc_full[acc_slot])",
        "pass",
        r"nobody ever arrives on acc_full, .*: a commit is missing in the task of line \d+",
        proven=False,
    ),
    "a release twice": Fault(COOP, LAST, f"{LAST}{LAST}", r"line \d+ arrives on ab_empty once too often"),
    "a release of what is not used": Fault(
        COOP,
        "if k > 0:",
        "if True:",
        r"line \d+ arrives on ab_empty\[3\] before its task has waited for",
        proven=False,
    ),
    "a missing acquire": Fault(
        COOP,
        ACQUIRE,
        "pass",
        r"the task of line \d+ never waits for ab_empty, on which the task of line \d+",
        proven=False,
    ),
    "a missing wait": Fault(
        COOP,
        FULL,
        "pass",
        r"the task of line \d+ .* never waits for ab_full, on which the load of line \d+ completes",
        proven=False,
    ),
    "a missing wait in one task": Fault(PIPE, FULL, "pass", r"the program never waits for ab_full", proven=False),
    "a missing wait in attention": Fault(
        FWD,
        "tlx.barrier_wait(q_full[q_slot], q_phase)",
        "pass",
        r"the task of line \d+ .* never waits for q_full, on which the load of line \d+ completes",
        "q_rows = ",
        ATTENTION,
        proven=False,
    ),
    "a wait for the wrong barrier": Fault(
        COOP,
        FULL,
        "tlx.barrier_wait(ab_empty[slot], phase)",
        r"and nobody waits for ab_full, .*: the wrong barrier",
        proven=False,
    ),
    "a missing fence": Fault(
        COOP,
        FENCE,
        "pass",
        r"a fence is missing: a TMA store reads c_tiles\[\d\]",
        "tlx.async_descriptor_store",
        proven=False,
    ),
    "a wrong slot of a barrier": Fault(
        COOP,
        "ab_empty[slot], phase ^ 1",
        "ab_empty[(slot + 1) % STAGES], phase ^ 1",
        r"line \d+ uses the wrong slot of ab_empty, one too far on",
        "tlx.barrier_wait(ab_empty",
    ),
    "a wrong slot of a ring": Fault(
        COOP,
        "b_tiles[slot], acc)",
        "b_tiles[(slot + 1) % STAGES], acc)",
        r"line \d+ uses the wrong slot of b_tiles, one too far on",
        "acc = tlx.async_dot",
    ),
    "slots counted anew": Fault(
        COOP,
        "                acc = tl.zeros",
        "                count = 0\n                acc = tl.zeros",
        r"slots of ab_full are counted in two ways: nobody has waited for the second fill",
        proven=False,
    ),
    "released before the product is done": Fault(
        COOP,
        "tlx.async_dot_wait(1, acc)",
        "tlx.async_dot_wait(2, acc)",
        r"line \d+ leaves 2 operations under way, and may",
        "acc = tlx.async_dot_wait(2, acc)",
    ),
    "stored before the copy has read": Fault(
        COOP,
        "tlx.async_descriptor_store_wait(C_STAGES - 1)",
        "pass",
        r"a wait for the TMA store of line \d+ is missing before line \d+",
        "tlx.local_store(c_tiles",
        proven=False,
    ),
    "aliases of two live tiles": Fault(
        BWD,
        "            tlx.async_descriptor_store_wait(0)  # dQ has left the buffers of dV and dK\n",
        "",
        r"two buffers that share their bytes are in use at a time: .* grad_tiles\[\d\] of CTA 0, whose bytes",
        "tlx.local_store(grad_tiles",
        BACKWARD,
        proven=False,
    ),
    "one buffer for two replicas": Fault(
        COOP,
        "c_slot = replica * C_STAGES +",
        "c_slot =",
        r"\(replicas 0 and 1\) use the same slot at line \d+",
        proven=False,
    ),
    "staging not acquired": Fault(
        STORE,
        "tlx.barrier_wait(c_empty[c_slot], c_phase ^ 1)",
        "pass",
        r"never waits for c_empty, on which",
        proven=False,
    ),
    "sums of peers not awaited": Fault(
        SUMS_LOOP,
        "tlx.barrier_wait(part_full[part_slot], part_phase)",
        "pass",
        r"never waits for part_full",
        proven=False,
    ),
    "a cluster that does not meet": Fault(
        SUMS,
        "tlx.cluster_barrier()",
        "pass",
        r"may not have started: a cluster barrier comes first",
        shape=(130, 72, 600),
        proven=False,
    ),
    "numbers alone": Fault(
        COOP,
        "[k * BLOCK_K, column]",
        "[(k + 1) * BLOCK_K, column]",
        r"no barrier, copy or buffer is at fault .*: indices, masks or arithmetic are",
        proven=False,
    ),
}


def first_line(report: Report) -> str:
    return str(diagnose(report))


@pytest.mark.parametrize("name", FAULTS)
def test_the_first_line_names_the_cause(name: str, tmp_path: Path) -> None:
    fault = FAULTS[name]
    mutant = Mutant(name, fault.at, fault.old, fault.new, shape=fault.shape, config=fault.config)
    verdict = diagnose(run_mutant(mutant, tmp_path))
    assert verdict is not None
    assert re.search(fault.says, verdict.cause), verdict.cause
    assert bool(verdict.proof) == fault.proven, verdict
    assert str(verdict).startswith("most likely: ") and "\n" not in str(verdict) and len(verdict.cause) < 400
    if fault.line:
        place = verdict.places[0]
        assert Path(place.path).read_text().splitlines()[place.line - 1].strip().startswith(fault.line)


def test_facts_of_the_barrier_in_question_come_first(tmp_path: Path) -> None:
    fault = FAULTS["count too small"]
    verdict = diagnose(run_mutant(Mutant("", fault.at, fault.old, fault.new), tmp_path))
    assert verdict is not None
    first, second = verdict.barriers
    assert (first.array, first.count, first.expected) == ("ab_empty", 1, None)
    assert re.fullmatch(r"the task of line \d+ \(replica 0\): line \d+, 0\.5 a phase", first.arrivals[0])
    assert (second.array, second.count, second.expected, second.brought) == ("ab_full", 1, 32768, 32768)
    assert verdict.proof == "the same run has no error where it counts 2"


def test_a_verdict_is_the_same_each_time(tmp_path: Path) -> None:
    fault = FAULTS["a missing wait"]
    report = run_mutant(Mutant("", fault.at, fault.old, fault.new), tmp_path)
    assert str(diagnose(report)) == str(diagnose(report))


def test_a_change_mends_no_kernel_for_good() -> None:
    """What is tried is not left behind: the next run has the findings again."""

    def program(session: Session) -> None:
        litmus.named[(1,)](torch.zeros(1, device=DEVICE), FIRST=384, SECOND=384)

    report = verify(program)
    before = {s.finding.key for s in report.seen}
    assert diagnose(report) is not None
    assert {s.finding.key for s in verify(program).seen} == before


def test_who_comes_to_a_named_barrier_is_said() -> None:
    def program(session: Session) -> None:
        litmus.named[(1,)](torch.zeros(1, device=DEVICE), FIRST=384, SECOND=384)

    assert re.search(
        r"named barrier 8 of CTA 0: 256 of 384 threads have come: the task of", first_line(verify(program))
    )


def test_nothing_found_is_no_verdict() -> None:
    def program(session: Session) -> None:
        litmus.hand_over[(1,)](torch.zeros(1, device=DEVICE), WAIT=True, FENCE=True)

    report = verify(program)
    assert not report.seen and diagnose(report) is None


def test_work_is_limited_in_steps(tmp_path: Path) -> None:
    """Without any, nothing is tried, and the ledger alone has to say it."""
    fault = FAULTS["bytes too few"]
    report = run_mutant(Mutant("", fault.at, fault.old, fault.new), tmp_path)
    verdict = diagnose(report, 0)
    assert verdict is not None and not verdict.proof and "ab_full expects 16384 bytes" in verdict.cause


def test_a_case_is_as_it_was(tmp_path: Path) -> None:
    fault = FAULTS["wrong phase in the producer"]
    report = run_mutant(Mutant("", fault.at, fault.old, fault.new), tmp_path)
    case = report.seen[0].case
    assert case is not None and case.change is None and replace(case) == case
