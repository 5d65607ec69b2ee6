"""Faults put into backward kernels of two Blackwell CTAs by hand: the simulator finds each."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.mutants import Mutant
from tests.sim.support import run_mutant

OWN = "blackwell_attention_bwd_2cta/blackwell_attention_bwd_2cta_head_dim64_none"
CAUSAL = "blackwell_attention_bwd_2cta/blackwell_attention_bwd_2cta_head_dim64_causal"
FULL = "blackwell_attention_bwd_2cta/blackwell_attention_bwd_2cta_head_dim128_none"  # dQ beside P
STORED = "blackwell_attention_bwd_2cta_orders/blackwell_attention_bwd_2cta_orders_head_dim64_s_dk_dp_dq"
OVER = "blackwell_attention_bwd_2cta_orders/blackwell_attention_bwd_2cta_orders_head_dim64_dp_dk_dq_dp"
SQUARE = (1, 2, 1, 300, 200)  # more steps than slots, heads that share K and V, ragged
LONG = (1, 1, 1, 300, 400)  # two pairs, of which the second begins later

BOTH, ONE = "arrive_count=2)  # by", "arrive_count=1)  # by"
KEPT = "tlx.barrier_wait(ds_empty[0], phase ^ 1)"
DQ_READ = "tlx.barrier_wait(dq_empty[0], previous_phase ^ 1)"
SENT = "tlx.async_remote_shmem_copy(ds_tiles[cta], sent_tiles[0], cta ^ 1, ds_full[0])"
FENCE = 'tlx.fence("async_shared")'


def counted(name: str, count: int) -> str:
    return f"{name} = tlx.alloc_barriers(1, arrive_count={count})"


FAULTS = (
    # Counts and bytes of two CTAs.
    *(Mutant(f"{name} counts one CTA", OWN, counted(name, 2), counted(name, 1), 0, SQUARE)
        for name in ("p_full", "ds_tmem_full", "ds_ready", "dq_empty")),
    Mutant("dS counts its own stores alone", OWN, counted("ds_full", 2), counted("ds_full", 1), 0, SQUARE),
    Mutant("half of the bytes of dS", OWN, "(ds_full[0], 16384)", "(ds_full[0], 8192)", 0, SQUARE),
    Mutant("bytes of dS of both halves", OWN, "(ds_full[0], 16384)", "(ds_full[0], 32768)", 0, SQUARE),
    Mutant("bytes of dS not expected", OWN, "tlx.barrier_expect_bytes(ds_full[0], 16384)", "pass", 0, SQUARE),
    Mutant("bytes of Q of one CTA", OWN,
        "(q_full[q_slot], 64 * 64 * 2 * 2,", "(q_full[q_slot], 64 * 64 * 2,", 0, SQUARE),
    Mutant("Q expected by both CTAs", OWN,
        "(q_full[q_slot], 64 * 64 * 2 * 2, pred=cta == 0)", "(q_full[q_slot], 64 * 64 * 2 * 2)", 0, SQUARE),
    Mutant("columns of K of one CTA awaited", OWN, "128 * 2 * 32 * 2 * 2,", "128 * 2 * 32 * 2,", 0, SQUARE),
    Mutant("P told to its own CTA", OWN,
        "tlx.barrier_arrive(p_full[0], remote_cta_rank=0)", "tlx.barrier_arrive(p_full[0])", 0, SQUARE),
    Mutant("dQ released in its own CTA", OWN,
        "tlx.barrier_arrive(dq_empty[0], remote_cta_rank=0)", "tlx.barrier_arrive(dq_empty[0])", 0, SQUARE),
    Mutant("the relay tells its own CTA", OWN,
        "tlx.barrier_arrive(ds_ready[0], remote_cta_rank=0)", "tlx.barrier_arrive(ds_ready[0])", 0, SQUARE),
    Mutant("the sums told to one CTA", OWN,
        "tlx.tcgen05_commit(sums_full[0], two_ctas=True)", "tlx.tcgen05_commit(sums_full[0])", 0, SQUARE),
    Mutant("the second CTA issues", OWN, "if cta == 0:", "if cta == 1:", 0, SQUARE),
    # dS released early, or sent where it is still read.
    Mutant("dS not acquired", OWN, KEPT, "pass", 0, SQUARE),
    Mutant("dS not acquired, by remote stores", STORED, KEPT, "pass", 0, SQUARE),
    Mutant("dS released by the product before", OWN,
        "mBarriers=[dp_full[0], do_empty[do_slot]]",
        "mBarriers=[dp_full[0], do_empty[do_slot], ds_empty[0]]", 0, SQUARE),
    Mutant("dS never released", OWN, "mBarriers=[dq_full[0], ds_empty[0]]", "mBarriers=[dq_full[0]]", 0, SQUARE),
    Mutant("dS not awaited", OWN, "tlx.barrier_wait(ds_ready[0], previous_phase)", "pass", 0, SQUARE),
    Mutant("the relay does not wait", OWN, "tlx.barrier_wait(ds_full[0], phase)", "pass", 0, SQUARE),
    Mutant("dQ published with the keys of one CTA", OWN, "force_async=True", "mBarriers=[dq_full[0]]", 0, SQUARE),
    Mutant("sent to itself", OWN, SENT, SENT.replace("cta ^ 1", "cta"), 0, SQUARE),
    Mutant("sent where the other's own lies", OWN, SENT, SENT.replace("ds_tiles[cta]", "ds_tiles[cta ^ 1]"), 0, SQUARE),
    Mutant("never sent", OWN, SENT, "pass", 0, SQUARE),
    Mutant("the other half kept", OWN, "if cta == i:", "if cta != i:", 0, SQUARE),
    Mutant("no fence before dS is sent", OWN,
        f"{FENCE}\n                tlx.barrier_expect", "tlx.barrier_expect", 0, SQUARE),
    Mutant("no fence behind the other's stores", STORED,
        f"{FENCE}  # the tensor core sees the other", "pass  #", 0, SQUARE),
    # Tiles that are alive in one place.
    Mutant("dQ and the next S where dQ is still read", FULL, DQ_READ, "pass", 0, SQUARE),
    Mutant("dQ where S is still read", FULL, "tlx.barrier_wait(p_full[0], phase)", "pass", 0, SQUARE),
    Mutant("dQ over P", FULL,
        "group_type=tlx.reuse_group_type.distinct", "group_type=tlx.reuse_group_type.shared", 0, SQUARE),
    Mutant("dP where dQ is still read", OVER, "tlx.barrier_wait(dq_empty[0], phase ^ 1)", "pass", 0, SQUARE),
    Mutant("dQ where dQ is still read", OWN, DQ_READ, "pass", 0, SQUARE),
    Mutant("no meeting before P is stored", FULL, "tlx.named_barrier_wait(7, 256)", "pass", 0, SQUARE),
    Mutant("dQ stored while it leaves", OWN,
        "tlx.async_descriptor_store_wait(2)", "tlx.async_descriptor_store_wait(3)", 0, SQUARE),
    # Where things lie.
    Mutant("dQ of the other CTA's rows", OWN,
        "[batch, head, row + cta * 64, half", "[batch, head, row, half", 0, SQUARE),
    Mutant("halves of the columns the other way round", OWN,
        "half * 32 + i * 16]", "(1 - half) * 32 + i * 16]", 0, SQUARE),
    Mutant("keys of the first CTA in both", OWN, "pair_key + cta * 128", "pair_key", 0, SQUARE),
    Mutant("columns of dO of the first CTA in both", OWN,
        f"do_columns_tiles[do_slot],\n{' ' * 20}[batch, head, row, cta * 32]",
        f"do_columns_tiles[do_slot],\n{' ' * 20}[batch, head, row, 0]", 0, SQUARE),
    Mutant("each CTA begins at its own first query", CAUSAL, "first = pair_key //", "first = key //", 0, LONG),
    Mutant("Q of this step for dK", OWN, "ring_slot(count - 1, Q_STAGES)", "ring_slot(count, Q_STAGES)", 0, SQUARE),
)  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name.replace(" ", "_"))
def test_a_fault_is_found(fault: Mutant, tmp_path: Path) -> None:
    assert run_mutant(fault, tmp_path).seen
