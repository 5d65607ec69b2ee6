"""`triton.tlx.ops` of facebookexperimental/triton, which is newer than the fbtriton wheel: grouped GEMM in MXFP8."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from unittest import mock

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.foreign._folder import foreign_file
from benchmarks.foreign.tutorials import mx_exact
from tlxgen.sim.mx import scale_bytes, scale_values

COMMIT = "312e3ce4ae5727b5f91acf2b0ca5647b605eca47"


@cache
def kernels(path: str) -> ModuleType:
    return foreign_file("facebookexperimental/triton", f"third_party/tlx/ops/kernels/{path}.py", COMMIT)


def quantized(x):
    """Values in blocks of 32 along rows, and a scale for each block in the order of the blocks."""
    blocks = x.float().unflatten(-1, (-1, 32))
    scales = scale_bytes(blocks.abs().amax(dim=-1) / 448)
    values = (blocks / scale_values(scales).unsqueeze(-1)).to(torch.float8_e4m3fn).flatten(-2)
    return values.contiguous(), scales.view(torch.float8_e8m0fnu).contiguous()


def grouped_gemm(x, w, rows, ctas=1):
    """x @ w[g].T for each group g of `rows` rows; two CTAs a tile are for shapes that are larger than these."""
    module = kernels("grouped_gemm_mxfp8/sm100")
    (qx, sx), (qw, sw) = quantized(x), quantized(w)
    split = torch.tensor(rows, dtype=torch.int32, device="cuda")
    with mock.patch.object(module, "_select_num_ctas", lambda **_: ctas):
        return module.grouped_gemm_mxfp8(qx, sx, qw, sw, split)


def grouped_gemm_reference(x, w, rows):
    parts = x.split(rows)
    exact = [mx_exact(part[None, None])[0, 0] for part in parts]
    return torch.cat([a @ mx_exact(b[None, None])[0, 0].mT for a, b in zip(exact, w, strict=True)])
