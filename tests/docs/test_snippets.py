"""Snippets that call what a spec makes run as they stand, on the simulator's GPU."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.walkthrough import DOCS, ROOT, blocks

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.sim import DEVICE, Session  # noqa: E402


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A path whose packages are forgotten afterwards."""
    before = set(sys.modules)
    yield monkeypatch
    for name in set(sys.modules) - before:
        if name.partition(".")[0].startswith(("hopper_", "my_gemm")):
            del sys.modules[name]


def execute(code: str, names: dict[str, object]) -> dict[str, object]:
    """What a snippet leaves behind, with plain tensors."""
    importlib.invalidate_caches()
    with Session("eager", 0).active():
        exec(compile(code, "snippet", "exec"), names)
    return {n: v.as_subclass(torch.Tensor) if isinstance(v, torch.Tensor) else v for n, v in names.items()}


def tensor(*shape: int) -> torch.Tensor:
    with Session("eager", 0).active():
        return torch.randn(*shape, device=DEVICE).to(torch.bfloat16)


def plain(t: torch.Tensor) -> torch.Tensor:
    return t.as_subclass(torch.Tensor).float()


def test_my_gemm_is_called(my_gemm: Path, importable: pytest.MonkeyPatch) -> None:
    page = (DOCS / "first-spec.md").read_text()
    importable.syspath_prepend(str(my_gemm / "generated"))
    (code,) = [block for block in blocks(page, "python") if "import my_gemm" in block]
    a, b, bias = tensor(70, 136), tensor(72, 136).mT, tensor(72)
    c = execute(code, {"a": a, "b": b, "bias": bias})["c"]
    exact = torch.nn.functional.gelu(plain(a) @ plain(b) + plain(bias), approximate="tanh")
    assert torch.allclose(plain(c), exact, rtol=0.02, atol=0.05)


def test_grouped_mm_is_called(importable: pytest.MonkeyPatch) -> None:
    (code,) = [block for block in blocks((DOCS / "specs.md").read_text(), "python") if "grouped_mm" in block]
    for name in re.findall(r"^from (\w+) import", code, re.MULTILINE):
        importable.syspath_prepend(str(ROOT / "generated"))
        assert (ROOT / "generated" / name).is_dir()
    tokens, weights = tensor(100, 64), tensor(2, 72, 64)
    with Session("eager", 0).active():
        offs = torch.tensor([30, 100], dtype=torch.int32, device=DEVICE)
    out = execute(code, {"tokens": tokens, "weights": weights, "offs": offs})["out"]
    exact = torch.cat([plain(tokens)[:30] @ plain(weights)[0].T, plain(tokens)[30:] @ plain(weights)[1].T])
    assert torch.allclose(plain(out), exact, rtol=0.02, atol=0.05)


def test_attention_is_called(importable: pytest.MonkeyPatch) -> None:
    (code,) = [
        block for block in blocks((DOCS / "specs.md").read_text(), "python") if "hopper_attention_fwd import" in block
    ]
    importable.syspath_prepend(str(ROOT / "generated"))
    query, key, value = tensor(1, 2, 100, 128), tensor(1, 1, 100, 128), tensor(1, 1, 100, 128)
    out = execute(code, {"query": query, "key": key, "value": value})["out"]
    heads = [plain(t).expand(1, 2, 100, 128) for t in (key, value)]
    exact = torch.nn.functional.scaled_dot_product_attention(plain(query), *heads, is_causal=True)
    assert torch.allclose(plain(out), exact, rtol=0.02, atol=0.02)


def test_hstu_mha_is_called(importable: pytest.MonkeyPatch) -> None:
    """Two sequences, the last of which are targets: these see what is no target, and themselves."""
    (code,) = [block for block in blocks((DOCS / "specs.md").read_text(), "python") if "hstu_mha" in block]
    importable.syspath_prepend(str(ROOT / "generated"))
    lengths, targets = (40, 9), (4, 0)
    q, k, v = (tensor(sum(lengths), 1, 128) for _ in range(3))
    with Session("eager", 0).active():
        offsets, number = (torch.tensor(x, dtype=torch.int32, device=DEVICE) for x in ((0, 40, 49), targets))
    given = {"q": q, "k": k, "v": v, "seq_offsets": offsets, "num_targets": number, "max_seq_len": 40, "alpha": 0.1}
    out = execute(code, given)["out"]
    exact, start = [], 0
    for n, last in zip(lengths, targets, strict=True):
        a, b, c = (plain(x)[start : start + n, 0] for x in (q, k, v))
        seen = torch.ones(n, n).tril()
        seen[:, n - last :] = torch.eye(n)[:, n - last :]
        exact.append(torch.nn.functional.silu(0.1 * a @ b.T) * seen @ c / 40)
        start += n
    assert torch.allclose(plain(out)[:, 0], torch.cat(exact), rtol=0.02, atol=0.01)
