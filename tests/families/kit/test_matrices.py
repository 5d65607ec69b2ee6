"""What a host function writes outside of its results is counted, to the element where it does not store by TMA."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tlxgen.families.kit.matrices import launch  # noqa: E402


def written(beyond: int, **more: Any) -> int:
    """Strays of a host function that writes so many elements behind each row of its first result."""

    def host(x: Any, *, out: Any = None, total: Any = None, config: Any = None) -> None:
        torch.as_strided(out, (out.shape[0], out.shape[1] + beyond), out.stride()).fill_(1.0)
        total.copy_(x.sum(1))

    module: Any = SimpleNamespace(f=host, outputs=lambda x: (torch.empty_like(x), x.new_empty(len(x))), **more)
    results, strays = launch(module, SimpleNamespace(name="f"), (3, 5), {"x": torch.ones(3, 5)}, None)
    assert results["total"].tolist() == [5.0] * 3 and results["out"].eq(1.0).all()
    return strays


@pytest.mark.parametrize(("beyond", "by_tma", "otherwise"), [(0, 0, 0), (3, 0, 9), (4, 3, 12)])
def test_elements_outside_of_a_result_are_counted(
    beyond: int, by_tma: int, otherwise: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    assert written(beyond) == otherwise
    assert written(beyond, describe=None) == by_tma
