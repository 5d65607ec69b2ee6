"""GEMM, grouped GEMM, layernorm and vector kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from copy import deepcopy
from typing import Any
from unittest import mock

import torch

from benchmarks.tutorials.row import Pairs, Tutorial
from tlxgen.sim import DEVICE

HALF = 5e-4  # fp16 results of products accumulated in fp32


def _matmul(
    shape: tuple[int, int, int], function: str = "matmul", columns: str = "", **options: Any
) -> Callable[..., Pairs]:
    """A @ B; the operands named in `columns` are column-major."""

    def run(module: Any, session: Any) -> Pairs:
        torch.manual_seed(session.seed)
        m, n, k = shape
        a = torch.randn(k, m, dtype=torch.float16, device=DEVICE).T if "a" in columns else _rows(m, k)
        b = torch.randn(n, k, dtype=torch.float16, device=DEVICE).T if "b" in columns else _rows(k, n)
        call = {name: dict(value) for name, value in options.items()}
        return [(getattr(module, function)(a, b, **call), _float(a) @ _float(b))]

    return run


def _rows(m: int, n: int) -> torch.Tensor:
    return torch.randn(m, n, dtype=torch.float16, device=DEVICE)


def _float(x: torch.Tensor) -> torch.Tensor:
    return x.float()


BLACKWELL_WS: Mapping[str, Any] = {
    "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_SMEM_BUFFERS": 3,
    "NUM_TMEM_BUFFERS": 2, "NUM_MMA_GROUPS": 1, "EPILOGUE_SUBTILE": 1, "NUM_CTAS": 1, "SPLIT_K": 1,
    "INTERLEAVE_EPILOGUE": 0,
}  # fmt: skip
TWO = {"NUM_CTAS": 2, "ctas_per_cga": (2, 1, 1)}
GROUPS = {"NUM_MMA_GROUPS": 2, "BLOCK_SIZE_M": 256}
CLC: Mapping[str, Any] = {
    "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_SMEM_BUFFERS": 2,
    "NUM_TMEM_BUFFERS": 2, "EPILOGUE_SUBTILE": True,
}  # fmt: skip
PIPELINED: Mapping[str, Any] = {
    "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_STAGES": 3,
}  # fmt: skip
HOPPER_WS: Mapping[str, Any] = {
    "BM": 128, "BN": 128, "BK": 64, "GROUP_SIZE_M": 8, "NUM_STAGES": 3, "NUM_MMA_WARPS": 8, "NUM_MMA_GROUPS": 2,
    "EPILOGUE_SUBTILE": True, "NUM_CTAS": 1,
}  # fmt: skip
RAGGED = (504, 392, 200)


def _blackwell_ws(name: str, shape: tuple[int, int, int] = RAGGED, columns: str = "", **changes: Any) -> Tutorial:
    run = _matmul(shape, columns=columns, config={**BLACKWELL_WS, **changes})
    return Tutorial(f"blackwell_gemm_ws, {name}", "sm100", "blackwell_gemm_ws", run, HALF)


def _hopper_ws(name: str, shape: tuple[int, int, int] = RAGGED, columns: str = "", **changes: Any) -> Tutorial:
    run = _matmul(shape, columns=columns, config={**HOPPER_WS, **changes})
    return Tutorial(f"hopper_gemm_ws, {name}", "sm90", "hopper_gemm_ws", run, HALF)


def _skinny(name: str, shape: tuple[int, int, int]) -> Tutorial:
    return Tutorial(f"hopper_gemm_ws, {name}", "sm90", "hopper_gemm_ws", _matmul(shape), HALF)


def _grouped(
    function: str, kernel: str, config: Mapping[str, Any], sizes: Any, transposed: bool = False
) -> Callable[..., Pairs]:
    """A group of products, of sizes (M, N, K)."""

    def run(module: Any, session: Any) -> Pairs:
        torch.manual_seed(session.seed)
        a = [_rows(m, k) for m, n, k in sizes]
        b = [_rows(n, k) if transposed else _rows(k, n) for m, n, k in sizes]
        with _only(getattr(module, kernel), config):
            results = getattr(module, function)(a, b)
        products = [_float(x) @ (_float(y).T if transposed else _float(y)) for x, y in zip(a, b, strict=True)]
        return list(zip(results, products, strict=True))

    return run


def _only(kernel: Any, values: Mapping[str, Any], **shape: int) -> AbstractContextManager[object]:
    """While it lasts, an autotuned kernel has the one config that has these values; `shape` is for its pruning."""
    found = next(c for c in kernel.configs if values.items() <= c.all_kwargs().items())
    if shape:
        (found,) = kernel.early_config_prune([deepcopy(found)], {}, **shape)
    return mock.patch.object(kernel, "configs", [found])


TLX_GROUPED: Mapping[str, Any] = {
    "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "NUM_SMEM_BUFFERS": 2, "EPILOGUE_SUBTILE": 2,
}  # fmt: skip
SQUARE = [(200, 192, 192), (128, 128, 128), (72, 64, 64), (40, 320, 320)]


def _grouped_row(name: str, *of: Any, **more: Any) -> Tutorial:
    return Tutorial(
        f"blackwell-grouped-gemm, {name}", "sm100", "blackwell-grouped-gemm_test", _grouped(*of, **more), HALF
    )


def _layernorm(function: str, kernel: str, rows: int, width: int, ctas: int, block: int) -> Callable[..., Pairs]:
    def run(module: Any, session: Any) -> Pairs:
        torch.manual_seed(session.seed)
        x, weight, bias = _rows(rows, width), _rows(1, width)[0], _rows(1, width)[0]
        chosen = {"num_reduction_ctas": ctas, "BLOCK_SIZE_M": block}
        with _only(getattr(module, kernel), chosen, M=rows, N=width):
            out, mean, rstd = getattr(module, function)(x, weight, bias)
        plain = _float(x)
        middle, spread = plain.mean(1), 1 / (plain.var(1, unbiased=False) + 1e-5).sqrt()
        reference = (plain - middle[:, None]) * spread[:, None] * _float(weight) + _float(bias)
        return [(out, reference), (mean, middle), (rstd, spread)]

    return run


def _layernorm_row(name: str, module: str, *of: Any) -> Tutorial:
    return Tutorial(f"{module}, {name}", "sm100", module, _layernorm(*of), HALF)


def _add(module: Any, session: Any) -> Pairs:
    torch.manual_seed(session.seed)
    x, y, a, b = (torch.rand(3000, device=DEVICE) for _ in range(4))
    pairs: Pairs = []
    for function in (module.add2, module.add2_warp_specialized):
        pairs += zip(function(x, y, a, b), (x + y, a + b), strict=True)
    return pairs


LN = "blackwell-multi-cta-layernorm_test", "multi_cta_layernorm", "kernel_layernorm_multi_cta"
LN_WS = "blackwell_multi_cta_layernorm_ws_test", "multi_cta_layernorm_ws", "kernel_layernorm_multi_cta_ws"
TLX = "group_gemm_tlx_fn", "grouped_matmul_tlx_kernel"

ROWS = (
    Tutorial("blackwell_gemm_pipelined", "sm100", "blackwell_gemm_pipelined", _matmul(RAGGED, config=PIPELINED), HALF),
    Tutorial("blackwell_gemm_2cta", "sm100", "blackwell_gemm_2cta", _matmul((512, 256, 256)), HALF),
    Tutorial("blackwell_gemm_clc", "sm100", "blackwell_gemm_clc", _matmul(RAGGED, config=CLC), HALF),
    Tutorial(
        "blackwell_gemm_clc, warp barriers",
        "sm100",
        "blackwell_gemm_clc",
        _matmul(RAGGED, config={**CLC, "USE_WARP_BARRIER": True}),
        HALF,
    ),
    _blackwell_ws("base"),
    *(_blackwell_ws(f"EPILOGUE_SUBTILE {n}", EPILOGUE_SUBTILE=n) for n in (2, 4, 8)),
    _blackwell_ws("2 MMA groups", **GROUPS),
    _blackwell_ws("interleaved", EPILOGUE_SUBTILE=4, INTERLEAVE_EPILOGUE=1, **GROUPS),
    _blackwell_ws("split-K 3", (512, 384, 512), SPLIT_K=3),
    _blackwell_ws("warp barriers", EPILOGUE_SUBTILE=2, USE_WARP_BARRIER=True),
    _blackwell_ws("2 CTAs", BLOCK_SIZE_N=256, **TWO),
    _blackwell_ws("2 CTAs, 2 MMA groups, split-K 2", (512, 384, 512), SPLIT_K=2, **GROUPS, **TWO),
    _blackwell_ws("column-major A and B", columns="ab"),
    _blackwell_ws("column-major B, 2 CTAs", columns="b", **TWO),
    _hopper_ws("base"),
    _hopper_ws("no subtiles", EPILOGUE_SUBTILE=False),
    _hopper_ws("2 CTAs", RAGGED, **TWO),
    _hopper_ws("warp barriers", USE_WARP_BARRIER=True),
    _hopper_ws("column-major A and B", columns="ab"),
    _hopper_ws("column-major B, 2 CTAs", RAGGED, columns="b", **TWO),
    _skinny("skinny, TMA", (128, 64, 2048)),
    _skinny("skinny, cp.async", (64, 64, 8256)),
    Tutorial("hopper_gemm_pipelined", "sm90", "hopper_gemm_pipelined", _matmul(RAGGED, config=PIPELINED), HALF),
    *(
        Tutorial(name, "sm90", name, _matmul(RAGGED, "matmul_tlx_ws_persistent"), HALF)
        for name in ("hopper-persistent-gemm-ws-cooperative", "hopper-persistent-gemm-ws-pingpong")
    ),
    _grouped_row("TLX", *TLX, {**TLX_GROUPED, "NUM_CTAS": 1}, SQUARE),
    _grouped_row("TLX, 2 CTAs", *TLX, {**TLX_GROUPED, "NUM_CTAS": 2}, SQUARE),
    _grouped_row(
        "Triton",
        "group_gemm_fn",
        "grouped_matmul_kernel",
        {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128},
        [(128, 256, 64), (64, 128, 192)],
    ),
    _grouped_row(
        "Triton, TMA",
        "group_gemm_tma_fn",
        "grouped_matmul_tma_kernel",
        {"BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64},
        SQUARE,
        transposed=True,
    ),
    _layernorm_row("2 CTAs", LN[0], *LN[1:], 3, 16392, 2, 2),
    _layernorm_row("4 CTAs, 1 row", LN[0], *LN[1:], 2, 32768, 4, 1),
    _layernorm_row("2 CTAs", LN_WS[0], *LN_WS[1:], 7, 1000, 2, 2),
    _layernorm_row("1 row", LN_WS[0], *LN_WS[1:], 5, 2048, 2, 1),
    Tutorial("vector-add2", "sm90", "vector-add2", _add, 1e-6),
)
