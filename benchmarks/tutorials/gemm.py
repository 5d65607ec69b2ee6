"""GEMM, grouped GEMM, layernorm and vector kernels.

Not here, as no TLX: blackwell-triton-addmm-2cta_test (`tl.dot(two_ctas=True)`, which the compiler makes an exchange
between CTAs) and testing/multi_cta_layer_norm (`tl.range(multi_cta=True)`, likewise).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from copy import deepcopy
from functools import partial
from typing import Any
from unittest import mock

import torch

from benchmarks.tutorials.row import Pairs, Tutorial
from tlxgen.sim import DEVICE

HALF = 5e-4  # fp16 results of products accumulated in fp32
SPLIT = 1e-3  # with partial sums in fp16
SM100, SM90 = "sm100", "sm90"
Shape = tuple[int, int, int]
Runner = Callable[[Any, Any], Pairs]

FENCED = {"missing-fence": "the compiler fences a task's own stores before a TMA store reads them (FenceInsertion.cpp)"}
EVERY_CTA = {"redundant-write": "every CTA of the cluster stores the same mean and deviation of a row"}


def _rows(m: int, n: int) -> torch.Tensor:
    return torch.randn(m, n, dtype=torch.float16, device=DEVICE)


# GEMM.


def _matmul(shape: Shape, function: str = "matmul", columns: str = "", **options: Any) -> Runner:
    """A @ B; the operands named in `columns` are column-major."""

    def run(module: Any, session: Any) -> Pairs:
        torch.manual_seed(session.seed)
        m, n, k = shape
        a = _rows(k, m).T if "a" in columns else _rows(m, k)
        b = _rows(n, k).T if "b" in columns else _rows(k, n)
        out = getattr(module, function)(a, b, **deepcopy(options))  # host functions take things out of their config
        return [(out, a.float() @ b.float())]

    return run


BLACKWELL_WS: Mapping[str, Any] = {
    "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "NUM_SMEM_BUFFERS": 3,
    "NUM_TMEM_BUFFERS": 2, "NUM_MMA_GROUPS": 1, "EPILOGUE_SUBTILE": 1, "NUM_CTAS": 1, "SPLIT_K": 1,
    "INTERLEAVE_EPILOGUE": 0,
}  # fmt: skip
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
TWO_CTAS: Mapping[str, Any] = {"NUM_CTAS": 2, "ctas_per_cga": (2, 1, 1)}
TWO_GROUPS: Mapping[str, Any] = {"NUM_MMA_GROUPS": 2, "BLOCK_SIZE_M": 256}
RAGGED, EVEN = (504, 392, 200), (512, 384, 512)


def _ws(
    module: str, arch: Any, base: Mapping[str, Any], name: str, shape: Shape = RAGGED, columns: str = "",
    warnings: Mapping[str, str] = FENCED, defects: Mapping[str, str] | None = None, **changes: Any,
) -> Tutorial:  # fmt: skip
    """A warp-specialised GEMM with some values of its config changed."""
    run = _matmul(shape, columns=columns, config={**base, **changes})
    tolerance = SPLIT if changes.get("SPLIT_K", 1) > 1 else HALF
    return Tutorial(f"{module}, {name}", arch, module, run, tolerance, warnings, defects or {})


_blackwell = partial(_ws, "blackwell_gemm_ws", SM100, BLACKWELL_WS)
_hopper = partial(_ws, "hopper_gemm_ws", SM90, HOPPER_WS, warnings={})
_clc = partial(_ws, "blackwell_gemm_clc", SM100, CLC, warnings={})


def _plain(module: str, arch: Any, run: Runner, **more: Any) -> Tutorial:
    return Tutorial(module, arch, module, run, HALF, **more)


BLACKWELL = (
    _plain(
        "blackwell_gemm_pipelined", SM100, _matmul(RAGGED, config=PIPELINED), warnings=FENCED,
        defects={"pending-at-exit": "the CTA exits without waiting for its TMA store, which reads its shared memory"},
    ),
    _plain("blackwell_gemm_2cta", SM100, _matmul((1024, 256, 256))),
    _clc("base", (504, 392, 264)),  # 5 tiles of K: with a multiple of the slots no counter would have to be kept
    _clc("warp barriers", USE_WARP_BARRIER=True),
    _blackwell("base"),
    *(_blackwell(f"{n} subtiles", EPILOGUE_SUBTILE=n) for n in (2, 4, 8)),
    _blackwell("2 MMA groups", **TWO_GROUPS),
    _blackwell("2 MMA groups, interleaved", EPILOGUE_SUBTILE=4, INTERLEAVE_EPILOGUE=1, **TWO_GROUPS),
    _blackwell("split-K 3", EVEN, SPLIT_K=3),
    _blackwell(
        "split-K 3, ragged M", (504, 384, 512), SPLIT_K=3,
        defects={
            "global-write-conflict": "the last row tile of a part runs over into the workspace of the next part",
            "wrong-numbers": "the next part's first rows may be lost to it",
        },
    ),
    _blackwell(
        "split-K 4 of 5 K tiles", (512, 256, 320), SPLIT_K=4,
        defects={"wrong-numbers": "the last part has no K tiles and is skipped, but what it never wrote is added"},
    ),
    _blackwell("warp barriers", EPILOGUE_SUBTILE=2, USE_WARP_BARRIER=True),
    _blackwell("2 CTAs", BLOCK_SIZE_N=256, **TWO_CTAS),
    _blackwell("2 CTAs, odd tiles of M", (600, 392, 200), **TWO_CTAS),
    _blackwell("2 CTAs, 2 MMA groups, split-K 2", EVEN, SPLIT_K=2, **TWO_GROUPS, **TWO_CTAS),
    _blackwell("column-major A and B", columns="ab"),
    _blackwell("column-major B, 2 CTAs", columns="b", **TWO_CTAS),
)  # fmt: skip

HOPPER = (
    _hopper("base"),
    _hopper("no subtiles", EPILOGUE_SUBTILE=False),
    _hopper("2 CTAs", **TWO_CTAS),
    _hopper(
        "2 CTAs, odd tiles of M", (360, 392, 200),
        defects={"wrong-numbers": "a cluster's tiles may be of two columns of tiles, yet it loads one B for both"},
        **TWO_CTAS,
    ),
    _hopper("warp barriers", USE_WARP_BARRIER=True),
    _hopper("column-major A and B", columns="ab"),
    _hopper("column-major B, 2 CTAs", columns="b", **TWO_CTAS),
    Tutorial("hopper_gemm_ws, skinny, TMA", SM90, "hopper_gemm_ws", _matmul((128, 64, 2048)), SPLIT),
    Tutorial("hopper_gemm_ws, skinny, cp.async", SM90, "hopper_gemm_ws", _matmul((64, 64, 8256)), SPLIT),
    _plain("hopper_gemm_pipelined", SM90, _matmul(RAGGED, config=PIPELINED)),
    _plain("hopper-persistent-gemm-ws-cooperative", SM90, _matmul(RAGGED, "matmul_tlx_ws_persistent")),
    _plain("hopper-persistent-gemm-ws-pingpong", SM90, _matmul(RAGGED, "matmul_tlx_ws_persistent")),
)  # fmt: skip


# Autotuned kernels whose host functions take no config.


def _only(kernel: Any, values: Mapping[str, Any], **shape: int) -> AbstractContextManager[object]:
    """While it lasts, an autotuned kernel has the one config that has these values; `shape` is for its pruning."""
    found = next(c for c in kernel.configs if values.items() <= c.all_kwargs().items())
    if shape:
        (found,) = kernel.early_config_prune([deepcopy(found)], {}, **shape)
    return mock.patch.object(kernel, "configs", [found])


SQUARE = ((200, 192, 192), (128, 128, 128), (72, 64, 64), (40, 320, 320))
WHOLE = ((128, 256, 64), (64, 128, 192))
TLX = "group_gemm_tlx_fn", "grouped_matmul_tlx_kernel"
TLX_GROUPED: Mapping[str, Any] = {
    "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "NUM_SMEM_BUFFERS": 2, "EPILOGUE_SUBTILE": 2,
}  # fmt: skip


def _grouped(
    name: str, function: str, kernel: str, sizes: tuple[Shape, ...], transposed: bool = False, **config: Any
) -> Tutorial:
    """A group of products of sizes (M, N, K); `transposed` B is N x K."""

    def run(module: Any, session: Any) -> Pairs:
        torch.manual_seed(session.seed)
        a = [_rows(m, k) for m, _, k in sizes]
        b = [_rows(n, k) if transposed else _rows(k, n) for _, n, k in sizes]
        with _only(getattr(module, kernel), config):
            results = getattr(module, function)(a, b)
        factors = [y.float().T if transposed else y.float() for y in b]
        return [(out, x.float() @ y) for out, x, y in zip(results, a, factors, strict=True)]

    return Tutorial(f"blackwell-grouped-gemm, {name}", SM100, "blackwell-grouped-gemm_test", run, HALF)


GROUPED = (
    _grouped("TLX", *TLX, SQUARE, NUM_CTAS=1, **TLX_GROUPED),
    _grouped("TLX, 2 CTAs", *TLX, SQUARE, NUM_CTAS=2, **TLX_GROUPED),
    _grouped("Triton", "group_gemm_fn", "grouped_matmul_kernel", WHOLE, BLOCK_SIZE_M=64, BLOCK_SIZE_N=128),
    _grouped(
        "Triton, TMA", "group_gemm_tma_fn", "grouped_matmul_tma_kernel", SQUARE, transposed=True, BLOCK_SIZE_N=128
    ),
)


def _layernorm(
    module: str,
    host: str,
    kernel: str,
    name: str,
    size: tuple[int, int],
    *,
    defects: dict[str, str] | None = None,
    **config: int,
) -> Tutorial:
    """Rows of `size` (rows, columns), normalised by clusters of CTAs along N."""

    def run(module: Any, session: Any) -> Pairs:
        torch.manual_seed(session.seed)
        x, weight, bias = _rows(*size), _rows(1, size[1])[0], _rows(1, size[1])[0]
        with _only(getattr(module, kernel), config, M=size[0], N=size[1]):
            out, mean, rstd = getattr(module, host)(x, weight, bias)
        plain = x.float()
        middle, spread = plain.mean(1), 1 / (plain.var(1, unbiased=False) + 1e-5).sqrt()
        wanted = (plain - middle[:, None]) * spread[:, None] * weight.float() + bias.float()
        return [(out, wanted), (mean, middle), (rstd, spread)]

    return Tutorial(f"{module}, {name}", SM100, module, run, HALF, EVERY_CTA, defects or {})


_inline = partial(_layernorm, "blackwell-multi-cta-layernorm_test", "multi_cta_layernorm", "kernel_layernorm_multi_cta")
_persistent = partial(
    _layernorm,
    "blackwell_multi_cta_layernorm_ws_test",
    "multi_cta_layernorm_ws",
    "kernel_layernorm_multi_cta_ws",
    defects={
        "remote-before-start": "no cluster barrier before the first st.async to the peer, and fbtriton puts none there"
    },
)
LAYERNORM = (
    _inline("2 CTAs, ragged", (3, 16392), num_reduction_ctas=2, BLOCK_SIZE_M=2),
    _inline("4 CTAs", (2, 32768), num_reduction_ctas=4, BLOCK_SIZE_M=1),
    _persistent("ragged", (7, 1000), num_reduction_ctas=2, BLOCK_SIZE_M=2),
    _persistent("whole rows", (5, 2048), num_reduction_ctas=2, BLOCK_SIZE_M=1),
)


def _add(module: Any, session: Any) -> Pairs:
    torch.manual_seed(session.seed)
    x, y, a, b = (torch.rand(3000, device=DEVICE) for _ in range(4))
    pairs: Pairs = []
    for function in (module.add2, module.add2_warp_specialized):
        pairs += zip(function(x, y, a, b), (x + y, a + b), strict=True)
    return pairs


ROWS = (*BLACKWELL, *HOPPER, *GROUPED, *LAYERNORM, Tutorial("vector-add2", SM90, "vector-add2", _add, 1e-6))
