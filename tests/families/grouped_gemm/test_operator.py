"""The operator for torch: torch's grouped_mm by generated kernels, with its gradients, on the simulator."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.norm_bwd.test_autograd import simulated  # noqa: E402
from tlxgen.build import build  # noqa: E402
from tlxgen.sim import DEVICE, Session, load_module  # noqa: E402

OFFS = (3, 3, 140, 150)  # an empty group, and rows beyond all
ROWS = 153


TEXTS = {
    "col": "problem: {b: {layout: col}}\n",
    "row": "",
    "k": "problem: {vary: k, a: {layout: col}}\n",
}
NAMES = {"col": "forward", "row": "by_a", "n": "columns", "none": "batched", "biased": "biased"}


def module(folder: Path, name: str, more: str, arch: str = "sm90") -> ModuleType:
    """The module of a spec with one variant."""
    text = f"kernel: grouped_gemm\nname: {name}\narch: {arch}\ntile: {{n: 128}}\n{more}"
    (folder / f"{name}.yaml").write_text(text)
    return load_module(build(folder / f"{name}.yaml", out=folder / "generated").folder / f"{name}.py", arch)


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModuleType]:
    folder = tmp_path_factory.mktemp("grouped")
    return {
        **{name: module(folder, NAMES.get(name, "by_b"), text) for name, text in TEXTS.items()},
        "n": module(folder, "columns", "problem: {vary: n}\nepilogue: {store: direct}\n"),
        "none": module(folder, "batched", "problem: {vary: none}\n"),
        "biased": module(folder, "biased", "epilogue: {ops: [bias]}\n"),
    }


def operator(modules: dict[str, ModuleType], *names: str) -> Any:
    return modules["k"].grouped_mm(*(getattr(modules[n], NAMES[n]) for n in names))


def parts(offs: tuple[int, ...]) -> list[slice]:
    return [slice(begin, end) for begin, end in zip((0, *offs[:-1]), offs, strict=True)]


@pytest.mark.parametrize("order", ["col", "row"])
@pytest.mark.parametrize("summed", [False, True], ids=["weighted", "expanded"])
def test_gradients_are_those_of_a_loop_of_products(modules: dict[str, ModuleType], order: str, summed: bool) -> None:
    session = Session("random", 0)
    for one in modules.values():
        simulated(one, session)
    grouped_mm = operator(modules, "col", "row")
    torch.manual_seed(0)
    a, weights = torch.randn(ROWS, 72).to(torch.bfloat16), torch.randn(4, 136, 72).to(torch.bfloat16)
    weights = weights if order == "col" else weights.mT.contiguous()
    factors = torch.ones(OFFS[-1], 136) if summed else torch.randn(OFFS[-1], 136)
    with session.active():
        given = [x.to(DEVICE).requires_grad_() for x in (a, weights)]
        b = given[1].mT if order == "col" else given[1]
        out = grouped_mm(given[0], b, offs=torch.tensor(OFFS, dtype=torch.int32, device=DEVICE))[: OFFS[-1]]
        loss = out.sum() if summed else (out * factors.to(torch.bfloat16).to(DEVICE)).sum()
        found = [g.double().cpu() for g in torch.autograd.grad(loss, given)]
    exact = [x.double().requires_grad_() for x in (a, weights)]
    b = exact[1].mT if order == "col" else exact[1]
    made = torch.cat([exact[0][part] @ b[i] for i, part in enumerate(parts(OFFS))])
    wanted = torch.autograd.grad((made * factors.to(torch.bfloat16).double()).sum(), exact)
    assert float((out.double().cpu() - made.detach()).norm()) < 1e-2 * float(made.norm())
    assert float((found[0] - wanted[0])[: OFFS[-1]].norm()) < 1e-2 * float(wanted[0].norm())
    assert float((found[1] - wanted[1]).norm()) < 1e-2 * float(wanted[1].norm())
    assert not found[1][1].any()  # of the empty group


def test_all_forms_of_torch_go_to_a_kernel(modules: dict[str, ModuleType]) -> None:
    grouped_mm = operator(modules, "row", "n", "none")
    torch.manual_seed(0)
    x, y = torch.randn(3, 72, 64).to(torch.bfloat16), torch.randn(3, 64, 72).to(torch.bfloat16)
    offs = torch.tensor([10, 10, 64], dtype=torch.int32)
    with Session("eager", 0).active():
        on = [t.to(DEVICE) for t in (x, y, offs)]
        found = {
            "none": grouped_mm(on[0], on[1]),
            "n": grouped_mm(on[0], on[1][0], offs=on[2]),
            "k": grouped_mm(on[1][0].t().contiguous().t()[:, :64], on[1][1], offs=on[2]),
            "m": grouped_mm(on[0][0], on[1], offs=on[2]),
        }
        found = {name: torch.Tensor(t.float().cpu()) for name, t in found.items()}
    x, y = x.float(), y.float()
    own = parts((10, 10, 64))
    wanted = {
        "none": x @ y,
        "n": torch.cat([x[i] @ y[0][:, part] for i, part in enumerate(own)], 1),
        "k": torch.stack([y[0][:, part] @ y[1][part] for part in own]),
        "m": torch.cat([x[0][part] @ y[i] for i, part in enumerate(own)]),
    }
    for name, exact in wanted.items():
        made = found[name][:, : exact.shape[1]] if name == "n" else found[name][: len(exact)]
        assert float((made - exact).norm()) < 1e-2 * float(exact.norm()), name


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("order", ["col", "row"])
def test_torch_compile_sees_one_operator_each_way(
    modules: dict[str, ModuleType], order: str, dynamic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions of torch stand in for the kernels."""

    def rows(a: Any, b: Any, offs: Any, *_: Any) -> Any:
        made = torch.zeros(len(a), -(-b.shape[-1] // 8) * 8, dtype=a.dtype)[:, : b.shape[-1]]
        for i, part in enumerate(parts(tuple(offs.tolist()))):
            made[part] = a[part] @ b[i]
        return made

    def sums(a: Any, b: Any, offs: Any, *_: Any) -> Any:
        assert a.stride(0) == 1 and b.stride(1) == 1
        return torch.stack([a[:, part] @ b[part] for part in parts(tuple(offs.tolist()))])

    for name, run in (("col", rows), ("row", rows), ("k", sums)):
        monkeypatch.setattr(modules[name], "run", run)
    grouped_mm = torch.compile(operator(modules, "col", "row"), backend="aot_eager", fullgraph=True, dynamic=dynamic)
    a, weights = torch.randn(ROWS, 72).to(torch.bfloat16), torch.randn(4, 136, 72).to(torch.bfloat16)
    weights = weights if order == "col" else weights.mT.contiguous()
    offs, factors = torch.tensor(OFFS, dtype=torch.int32), torch.randn(ROWS, 136).to(torch.bfloat16)
    found, wanted = [], []
    for product, results in ((grouped_mm, found), (lambda x, y, offs: rows(x, y, offs), wanted)):
        x, y = a.clone().requires_grad_(), weights.clone().requires_grad_()
        b = y.mT if order == "col" else y
        out = product(x, b, offs=offs)
        results += [out, *torch.autograd.grad((out * factors).sum(), (x, y))]
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0.02, atol=0.3)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"bias": 1}, ValueError, "bias: expected None"),
        ({"out_dtype": torch.float32}, ValueError, "these kernels give torch.bfloat16"),
        ({"offs": None}, ValueError, "offs: expected"),
        ({"mat_b": torch.zeros(72)}, ValueError, "no function here multiplies them"),
        ({"mat_a": 1}, TypeError, "mat_a: int"),
    ],
)
def test_what_is_refused(
    modules: dict[str, ModuleType], given: dict[str, Any], error: type[Exception], words: str
) -> None:
    a, b = torch.zeros(8, 72).to(torch.bfloat16), torch.zeros(2, 72, 136).to(torch.bfloat16)
    arguments: dict[str, Any] = {"mat_a": a, "mat_b": b, "offs": torch.zeros(2, dtype=torch.int32), **given}
    with pytest.raises(error, match=words):
        operator(modules, "row")(**arguments)


def test_a_function_of_another_kind_is_refused(modules: dict[str, ModuleType]) -> None:
    with pytest.raises(TypeError, match="expected the host function of a generated grouped GEMM"):
        modules["k"].grouped_mm(print)
    with pytest.raises(ValueError, match=r"biased does not go with this module: ops \['bias'\], here \[\]"):
        operator(modules, "biased")
