"""Runs of generated modules: seeds, and persistent kernels. That each is clean, its record says: see tests/proof."""

from __future__ import annotations

from tests.sim.support import run_case, source

RAGGED = (300, 264, 200)


def test_a_seed_is_a_run_and_another_seed_another() -> None:
    at = "hopper_gemm/hopper_gemm_pingpong"
    first, again, other = (run_case(at, source(at), 0, RAGGED, (("starved", seed),)).steps for seed in (5, 5, 6))
    assert first == again != other


def test_few_sms_make_persistent_kernels_loop() -> None:
    at = "hopper_gemm/hopper_gemm_cooperative"
    report = run_case(at, source(at), 0, (1400, 520, 72), (("random", 0), ("lazy", 0)))
    assert not report.seen
