"""Shipped kernels on a Hopper GPU. Elsewhere these skip; their results on an H200 are in benchmarks/results/."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NAMES = [
    *("hopper_gemm", "hopper_gemm_cluster", "hopper_gemm_split_k"),
    *("hopper_attention_fwd", "hopper_attention_fwd_masks", "hopper_attention_fwd_softmax"),
]
SPECS = Path(__file__).resolve().parents[2] / "specs"


def hopper() -> bool:
    torch = pytest.importorskip("torch")
    return torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)


@pytest.mark.gpu
@pytest.mark.skipif(not hopper(), reason="no Hopper GPU here")
@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_right(name: str) -> None:
    command = [sys.executable, "-m", "tlxgen", "check", str(SPECS / f"{name}.yaml"), "--repeats", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.skipif(hopper(), reason="this machine has a Hopper GPU")
def test_without_a_gpu_check_says_what_else_can_be_run() -> None:
    command = [sys.executable, "-m", "tlxgen", "check", str(SPECS / "hopper_gemm.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "no GPU" in done.stderr
    assert "tlxgen compile" in done.stderr
    assert "Traceback" not in done.stderr
