"""A function that takes operands in any layout that its package has: who is launched, numbers, and how it compiles."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from torch._dynamo.testing import CompileCounterWithBackend  # noqa: E402

from tests.families.gemm.test_any_rows import part, run  # noqa: E402
from tlxgen.build import build  # noqa: E402
from tlxgen.sim import load_module  # noqa: E402

TEXT = """kernel: gemm
name: product
arch: sm90
tile: {m: 64, n: 64, k: 32}
tasks: {mma: {replicate: 1}}
rings: {ab: {stages: 2}}
variants:
  axes:
    problem.a.layout: [row, col]
    problem.b.layout: [row, col]
    schedule.pdl: [false, true]
"""
ORDERS = [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")]
SUFFIX = {("row", "row"): "", ("row", "col"): "_b_col", ("col", "row"): "_a_col", ("col", "col"): "_a_col_b_col"}


def package(folder: Path, text: str = TEXT) -> ModuleType:
    (folder / "product.yaml").write_text(text)
    return load_module(build(folder / "product.yaml", out=folder / "generated").folder / "__init__.py")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return package(tmp_path_factory.mktemp("layouts"))


@pytest.fixture
def lead(made: ModuleType) -> ModuleType:
    """The module of the function that has the spec's name."""
    module = importlib.import_module("._product", made.__name__)
    module.CALLS.clear()
    return module


def matrix(rows: int, columns: int, order: str, kind: Any = torch.bfloat16) -> Any:
    """One whose rows, or columns, begin at multiples of 16 bytes."""
    if order == "col":
        return matrix(columns, rows, "row", kind).T
    return part(rows, columns, columns + -columns % 8, 0, kind)


@pytest.mark.parametrize("a_order", ["row", "col"])
@pytest.mark.parametrize("b_order", ["row", "col"])
def test_who_multiplies_operands_as_they_lie(made: ModuleType, lead: ModuleType, a_order: str, b_order: str) -> None:
    torch.manual_seed(0)
    for m, n, k in ((70, 72, 40), (65, 9, 33)):
        a, b = matrix(m, k, a_order), matrix(k, n, b_order)
        exact = a.double() @ b.double()
        found = run(made.product, a, b)
        assert float((found - exact).norm()) <= 5e-3 * float(exact.norm())
    kernels = {launch.kernel.__name__ for call in lead.CALLS.values() for launch in call.launches}
    assert kernels and all(name.startswith(f"product_{a_order}_{b_order}_") for name in kernels)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (1, 72, 40), (72, 1, 40), (72, 40, 1), (1, 1, 40)])
def test_a_vector_is_taken_as_tma_can_address_it(made: ModuleType, m: int, n: int, k: int) -> None:
    """One row, or column, lies in both layouts; one of them begins at multiples of 16 bytes."""
    torch.manual_seed(0)
    for a_order, b_order in ORDERS:
        for a, b in (
            (matrix(m, k, a_order), matrix(k, n, b_order)),
            (part(m, k, k, 0, torch.bfloat16), part(n, k, k, 0, torch.bfloat16).T) if 1 in (m, n) else (None, None),
        ):
            if a is not None:
                exact = a.double() @ b.double()
                assert float((run(made.product, a, b) - exact).norm()) <= 5e-3 * float(exact.norm()), (a_order, b_order)


def test_a_call_of_a_known_layout_asks_nobody(
    made: ModuleType, lead: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    prepare = lead.prepare
    monkeypatch.setattr(lead, "prepare", lambda a, b, out: asked.append(tuple(a.stride())) or prepare(a, b, out))
    for order in ("row", "col", "row", "col"):
        run(made.product, matrix(64, 32, order), matrix(32, 64, "row"))
    assert asked == [(32, 1), (1, 64)] and len(lead.CALLS) == 2


def test_what_lies_in_no_layout_is_named(made: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"a: stride 2 where TMA needs 1.*a\.contiguous\(\) is"):
        run(made.product, matrix(64, 64, "row")[:, ::2], matrix(32, 64, "col"))
    with pytest.raises(ValueError, match=r"b: stride of 33 elements along dimension 0 is 66 bytes"):
        run(made.product, matrix(64, 32, "col"), part(64, 32, 33, 0, torch.bfloat16).T)


def test_it_says_so(made: ModuleType) -> None:
    lines = made.product.__doc__.splitlines()
    assert sum("bfloat16, row- or column-major, " in line for line in lines) == 2
    for (a_order, b_order), suffix in [*SUFFIX.items()][1:]:
        said = getattr(made, f"product{suffix}").__doc__
        assert f"a: (M, K) bfloat16, {'row' if a_order == 'row' else 'column'}-major" in said
        assert f"b: (K, N) bfloat16, {'row' if b_order == 'row' else 'column'}-major" in said


def test_a_layout_that_the_package_lacks_is_named(tmp_path: Path) -> None:
    more = "  require: [\"problem.a.layout == 'row' or problem.b.layout == 'row'\"]\n"
    with pytest.raises(ValueError, match=r"a lies in layout col, b in col: expected one of \[\('row', 'row'\)"):
        run(package(tmp_path, TEXT + more).product, matrix(64, 32, "col"), matrix(32, 64, "col"))


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize(("a_order", "b_order"), ORDERS)
def test_compiled_it_is_one_graph_whose_gradients_lie_as_the_operands(
    lead: ModuleType, monkeypatch: pytest.MonkeyPatch, a_order: str, b_order: str, dynamic: bool
) -> None:
    """torch stands in for the kernels."""
    torch._dynamo.reset()
    monkeypatch.setattr(lead, "run", lambda a, b, out: lead.outputs(a, b).copy_(a.float() @ b.float()))
    counter = CompileCounterWithBackend("aot_eager")
    compiled = torch.compile(lambda a, b: lead.product(a, b) * 2, backend=counter, fullgraph=True, dynamic=dynamic)
    for m in (24, 32):
        torch.manual_seed(m)
        given = [matrix(m, 40, a_order), matrix(40, 48, b_order)]
        found, wanted = [], []
        for function, results in ((compiled, found), (lambda a, b: lead.product(a, b) * 2, wanted)):
            leaves = [x.detach().clone().requires_grad_() for x in given]
            out = function(*leaves)
            results += [out, *torch.autograd.grad(out.square().sum(), leaves)]
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other)
            assert one.stride() == other.stride()
        assert [g.stride() for g in wanted[1:]] == [x.stride() for x in given]
    assert counter.frame_count == (1 if dynamic else 2)
