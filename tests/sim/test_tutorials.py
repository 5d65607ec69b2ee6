"""Hopper GEMMs of the fbtriton wheel, unmodified, through their own host functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import triton.language.extra.tlx as tlx

from tlxgen.sim import DEVICE, Session, load_module, verify

FOLDER = Path(tlx.__path__[0])
WS = {
    "BM": 128, "BN": 128, "BK": 64, "GROUP_SIZE_M": 8, "NUM_STAGES": 3, "NUM_MMA_WARPS": 8, "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": True, "NUM_CTAS": 1,
}  # fmt: skip
PIPELINED = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_STAGES": 4}
CASES = [
    ("hopper-persistent-gemm-ws-cooperative", "matmul_tlx_ws_persistent", {}),
    ("hopper-persistent-gemm-ws-pingpong", "matmul_tlx_ws_persistent", {}),
    ("hopper_gemm_ws", "matmul", {"config": WS}),
    ("hopper_gemm_pipelined", "matmul", {"config": PIPELINED}),
]


@pytest.mark.parametrize(("name", "function", "options"), CASES, ids=[c[0] for c in CASES])
def test_a_tutorial_is_clean(name: str, function: str, options: dict[str, Any]) -> None:
    module = load_module(FOLDER / "tutorials" / f"{name}.py")

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        a = torch.randn(384, 320, dtype=torch.float16, device=DEVICE)
        b = torch.randn(320, 512, dtype=torch.float16, device=DEVICE)
        c = getattr(module, function)(a, b, **options)
        reference = (a.double() @ b.double()).as_subclass(torch.Tensor)
        error = (c.as_subclass(torch.Tensor).double() - reference).norm() / reference.norm()
        assert float(error) < 5e-4
        ran.append(session.launches)

    ran: list[int] = []
    report = verify(program)
    assert not report.seen, "\n".join(map(str, report.seen))
    assert ran == [1] * report.runs
