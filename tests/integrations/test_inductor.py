"""Products as candidates of max-autotune, on a CPU build of torch: candidates are eager products, registered as
generated ones are; the choice itself, which is by the clock, is a GPU's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tlxgen.integrations.inductor import node_of, register_choices, register_matmul, unregister_matmul
from tlxgen.loading import load_file

torch = pytest.importorskip("torch")
pytest.importorskip("torch._inductor.config")

ROOT = Path(__file__).resolve().parents[2]


class Product:
    """A product that writes into `out` and counts; it refuses what `fits` does not say."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.calls = 0
        self.shapes: list[tuple[int, ...]] = []
        self.refuses: tuple[int, ...] | None = None

    def __call__(self, a: Any, b: Any, *, out: Any) -> Any:
        if (*a.shape, b.shape[1]) == self.refuses:
            raise ValueError("a: a stride that TMA cannot address")
        self.calls += 1
        self.shapes.append((*a.shape, b.shape[1]))
        out.copy_(a.double() @ b.double())
        return out


@pytest.fixture
def inductor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A fresh compiler whose only candidates for mm are those of external_matmul."""
    from torch._inductor import config

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    torch._dynamo.reset()
    options = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "", "fx_graph_cache": False}
    with config.patch({**options, "autotune_local_cache": False, "external_matmul": []}), torch.no_grad():
        yield config
    torch._dynamo.reset()


def model(a: Any, b: Any) -> Any:
    return torch.relu(a @ b) + 1


def test_a_compiled_model_runs_the_candidate(inductor: Any) -> None:
    """It is in the list of choices, called by its name, and its result is the model's."""
    product = Product("only_product")
    register_matmul(product)
    a, b = torch.randn(48, 32), torch.randn(32, 64)
    run = torch.compile(model)
    found, code = torch._inductor.utils.run_and_get_code(run, a, b)
    torch.testing.assert_close(found, model(a, b))
    assert "extern_kernels.tlxgen_only_product(" in "".join(code)
    before = product.calls
    run(a, b)
    assert product.calls == before + 1
    assert {*product.shapes} == {(48, 32, 64)}


def test_it_is_a_choice_beside_torchs_own(inductor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list that autotuning gets has both; whichever it takes, the model's result is right."""
    from torch._inductor import config
    from torch._inductor.kernel import mm

    seen: list[list[str]] = []
    select = mm.autotune_select_algorithm

    def selecting(name: str, choices: Any, *rest: Any, **options: Any) -> Any:
        seen.append([choice.name for choice in choices])
        return select(name, choices, *rest, **options)

    monkeypatch.setattr(mm, "autotune_select_algorithm", selecting)
    product = Product("one_of_two")
    register_matmul(product)
    a, b = torch.randn(40, 32), torch.randn(32, 64)
    with config.patch(max_autotune_gemm_backends="ATEN"):
        torch.testing.assert_close(torch.compile(model)(a, b), model(a, b))
    assert seen == [["mm", "tlxgen_one_of_two"]]
    assert product.calls  # measured, chosen or not


def test_what_the_kernel_refuses_is_torchs(inductor: Any) -> None:
    product = Product("refusing")
    product.refuses = (24, 16, 8)
    register_matmul(product)
    a, b = torch.randn(24, 16), torch.randn(16, 8)
    torch.testing.assert_close(torch.compile(model)(a, b), model(a, b))
    assert product.calls == 0


def test_a_failing_launch_is_not_hidden() -> None:
    def broken(a: Any, b: Any, *, out: Any) -> Any:
        raise RuntimeError("the driver refused it")

    candidate = register_matmul(broken)
    try:
        with pytest.raises(RuntimeError, match="the driver refused it"):
            candidate(torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2))
    finally:
        unregister_matmul(candidate)


def test_names_are_taken_once_and_given_back(inductor: Any) -> None:
    candidate = register_matmul(Product("twice"))
    with pytest.raises(ValueError, match="tlxgen_twice: a candidate for mm has that name"):
        register_matmul(Product("twice"))
    assert register_matmul(Product("twice"), "another").__name__ == "another"
    unregister_matmul(candidate)
    assert [one.__name__ for one in inductor.external_matmul] == ["another"]


def test_a_function_comes_back_under_its_name(inductor: Any) -> None:
    """Inductor has one kernel of a name in a process: registered again, a function is the same candidate."""
    product = Product("returning")
    candidate = register_matmul(product)
    a, b = torch.randn(16, 8), torch.randn(8, 24)
    torch.compile(model)(a, b)
    unregister_matmul(candidate)
    torch._dynamo.reset()
    assert register_matmul(product) is candidate
    torch.testing.assert_close(torch.compile(model)(a, b), model(a, b))
    unregister_matmul(candidate)
    with pytest.raises(ValueError, match="tlxgen_returning: a candidate for mm of another function had that name"):
        register_matmul(Product("returning"))


def test_another_torch_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config

    monkeypatch.setattr(torch._inductor, "config", SimpleNamespace())
    assert config is not torch._inductor.config
    with pytest.raises(RuntimeError, match="has no torch._inductor.config.external_matmul"):
        register_matmul(Product("late"))


def test_a_generated_gemm_is_a_candidate(inductor: Any) -> None:
    """Of tensors of a CPU, which it refuses, torch's own product stands in; its operator is a node of the graph."""
    pytest.importorskip("triton.language.extra.tlx")
    module = load_file(ROOT / "generated" / "hopper_gemm" / "hopper_gemm_cooperative.py")
    register_matmul(module.hopper_gemm)
    a, b = torch.randn(32, 16).bfloat16(), torch.randn(16, 8).bfloat16()
    found, code = torch._inductor.utils.run_and_get_code(torch.compile(model), a, b)
    torch.testing.assert_close(found, model(a, b))
    assert "extern_kernels.tlxgen_hopper_gemm(" in "".join(code)
    assert node_of(module.hopper_gemm).__name__ == "tlxgen_hopper_gemm_cooperative"
    with torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True):
        made = node_of(module.hopper_gemm, 2)(
            torch.empty(32, 16, dtype=torch.bfloat16), torch.empty(16, 8, dtype=torch.bfloat16)
        )
    assert made.shape == (32, 8)


def test_choices_for_an_operator(inductor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A custom operator whose decompositions compete; the model computes what the operator does."""
    custom = pytest.importorskip("torch._inductor.kernel.custom_op")
    assert custom.register_custom_op_autotuning
    calls = []

    @torch.library.custom_op("tlxgen_test::product", mutates_args=())
    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b

    @product.register_fake
    def _(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a.new_empty(a.shape[0], b.shape[1])

    def plain(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        calls.append("plain")
        return a @ b

    def batched(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        calls.append("batched")
        return torch.bmm(a[None], b[None])[0]

    register_choices(product, [plain, batched])
    a, b = torch.randn(32, 16), torch.randn(16, 8)
    with inductor.patch(max_autotune_gemm=False, max_autotune=False):
        found = torch.compile(lambda a, b: product(a, b) + 1)(a, b)
    torch.testing.assert_close(found, a @ b + 1)
    assert {*calls} == {"plain", "batched"}


def test_a_function_that_chooses_has_no_configs() -> None:
    operator = SimpleNamespace(name="several", picks=(), node=lambda *given: given)
    assert node_of(SimpleNamespace(operator=operator))(1, 2) == (1, 2)
    with pytest.raises(ValueError, match="several chooses among modules"):
        node_of(SimpleNamespace(operator=operator), 0)
    one = SimpleNamespace(name="one", picks=(-1,), node=lambda *given: given)
    assert node_of(SimpleNamespace(operator=one), 3)(1, 2) == (1, 2, 3)
