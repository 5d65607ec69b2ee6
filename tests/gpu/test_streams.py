"""Launches at once on a Hopper GPU: two streams, and replays of two graphs, of kernels whose CTAs work together."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from .test_numbers import hopper

GENERATED = Path(__file__).resolve().parents[2] / "generated"
SHAPES = [(1024, 8192, 8192), (3072, 3072, 3072), (4096, 4096, 4096), (500, 4000, 16000), (1000, 1104, 8000)]
MODULES = sorted(
    f"{spec}.{path.stem}"
    for spec in ("hopper_gemm_helped", "hopper_gemm_tail")
    for path in (GENERATED / spec).glob("*no_ops*.py")
)


@pytest.mark.gpu
@pytest.mark.skipif(not hopper(), reason="no Hopper GPU here")
@pytest.mark.parametrize("name", MODULES)
def test_sums_of_launches_that_run_at_once_do_not_mix_up(name: str) -> None:
    import torch

    multiply = getattr(importlib.import_module(f"generated.{name}"), name.partition(".")[0])
    for m, n, k in SHAPES:
        sets = []
        for _ in range(2):
            a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
            b = torch.randn(k, n, device="cuda", dtype=torch.bfloat16)
            sets.append((a, b))
        alone = [multiply(a, b) for a, b in sets]
        outs = [torch.empty_like(x) for x in alone]
        streams = [torch.cuda.Stream() for _ in sets]
        torch.cuda.synchronize()
        for _ in range(100):
            for stream, (a, b), out in zip(streams, sets, outs, strict=True):
                with torch.cuda.stream(stream):
                    multiply(a, b, out=out)
        torch.cuda.synchronize()
        assert all(map(torch.equal, outs, alone)), f"{m}x{n}x{k}"
        graphs = []
        for stream, (a, b), out in zip(streams, sets, outs, strict=True):
            graphs.append(torch.cuda.CUDAGraph())
            with torch.cuda.graph(graphs[-1], stream=stream):
                for _ in range(5):
                    multiply(a, b, out=out.zero_())
        for _ in range(40):
            for stream, graph in zip(streams, graphs, strict=True):
                with torch.cuda.stream(stream):
                    graph.replay()
        torch.cuda.synchronize()
        assert all(map(torch.equal, outs, alone)), f"{m}x{n}x{k}, replayed"
