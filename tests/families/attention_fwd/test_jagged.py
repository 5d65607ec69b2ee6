"""Sequences end to end as users may have them, in the simulator: many empty ones in a row, and a part of a batch."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.sim import Session, load_module  # noqa: E402

GENERATED = Path(__file__).parents[3] / "generated"
DEVICE = torch.device("cuda")
MODULES = {"gdpa": "hopper_gdpa_raw_none", "softmax": "hopper_attention_fwd_masks_none_top_left_packed"}


def lengths(seed: int) -> list[int]:
    """Runs of empty sequences, which a search that looks at 32 passes in one, two or three steps, and a few others."""
    rng = random.Random(seed)
    found = []
    for _ in range(4):
        found += [0] * rng.choice((0, 1, 31, 32, 33, 64, 70))
        found += [rng.choice((1, 5, 127, 128, 129, 260)) for _ in range(rng.randint(1, 3))]
    return found + [0] * rng.choice((0, 31, 32, 40))


def attended(kind: str, q: Any, k: Any, v: Any) -> Any:
    scores = torch.einsum("nhd,mhd->hnm", q.double(), k.double())
    weights = scores if kind == "gdpa" else torch.softmax(scores * q.shape[2] ** -0.5, 2)
    return torch.einsum("hnm,mhd->nhd", weights, v.double())


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("seed", range(3))
def test_each_sequence_is_found(kind: str, seed: int) -> None:
    """Rows before the first sequence, and behind the last one, belong to none, and stay as they are."""
    sizes, before, behind = lengths(seed), 7 * (seed % 2), 3
    starts = torch.tensor([before, *sizes]).cumsum(0).to(torch.int32)
    total, name = before + sum(sizes) + behind, MODULES[kind]
    torch.manual_seed(seed)
    q, k, v = (torch.randn(total, 2, 128).to(torch.bfloat16) / 8 for _ in range(3))
    session = Session("random", seed, sms=1 + 2 * seed)
    path = next(p for p in GENERATED.glob("*/*.py") if p.stem == name)
    host = getattr(load_module(path), path.parent.name)
    options = {"qk_scale": 1.0} if kind == "gdpa" else {"scale": 128**-0.5}
    with session.active():
        given = [x.to(DEVICE) for x in (q, k, v, starts, starts)]
        out = torch.full_like(given[0], 5.0)
        host(*given, max(sizes), **options, out=out)
        found = out.cpu().double()
    assert not session.findings.all
    assert bool((found[:before] == 5).all()) and bool((found[total - behind :] == 5).all())
    for at, size in zip(starts.tolist(), sizes, strict=False):
        rows = slice(at, at + size)
        expected = attended(kind, q[rows], k[rows], v[rows])
        torch.testing.assert_close(found[rows], expected, atol=0.02, rtol=0.02)
