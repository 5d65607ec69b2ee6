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


def of_fp16(text: str) -> str:
    """The same products in fp16."""
    row, col = "dtype: fp16", "dtype: fp16, layout: col"
    a, b = (col if f"{name}: {{layout: col}}" in text else row for name in "ab")
    return f"problem: {{{'vary: k, ' * ('vary' in text)}a: {{{a}}}, b: {{{b}}}, c: {{dtype: fp16}}}}\n"


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
    gradients(modules, order, summed, torch.bfloat16)


def test_gradients_in_fp16(tmp_path: Path) -> None:
    own = {name: module(tmp_path, NAMES.get(name, "by_b"), of_fp16(text)) for name, text in TEXTS.items()}
    gradients(own, "col", False, torch.float16)


def gradients(modules: dict[str, ModuleType], order: str, summed: bool, dtype: torch.dtype) -> None:
    session = Session("random", 0)
    for one in modules.values():
        simulated(one, session)
    grouped_mm = operator(modules, "col", "row")
    torch.manual_seed(0)
    a, weights = torch.randn(ROWS, 72).to(dtype), torch.randn(4, 136, 72).to(dtype)
    weights = weights if order == "col" else weights.mT.contiguous()
    factors = torch.ones(OFFS[-1], 136) if summed else torch.randn(OFFS[-1], 136)
    with session.active():
        given = [x.to(DEVICE).requires_grad_() for x in (a, weights)]
        b = given[1].mT if order == "col" else given[1]
        out = grouped_mm(given[0], b, offs=torch.tensor(OFFS, dtype=torch.int32, device=DEVICE))[: OFFS[-1]]
        loss = out.sum() if summed else (out * factors.to(dtype).to(DEVICE)).sum()
        found = [g.double().cpu() for g in torch.autograd.grad(loss, given)]
    exact = [x.double().requires_grad_() for x in (a, weights)]
    b = exact[1].mT if order == "col" else exact[1]
    made = torch.cat([exact[0][part] @ b[i] for i, part in enumerate(parts(OFFS))])
    wanted = torch.autograd.grad((made * factors.to(dtype).double()).sum(), exact)
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


# --- scaled operands --------------------------------------------------------------------------------------------------

ROWWISE = torch.nn.functional.ScalingType.RowWise
FP8 = "a: {dtype: e4m3}, b: {dtype: e4m3, layout: col}"
SCALED = {
    "fast": f"problem: {{{FP8}}}\n",
    "exact": f"problem: {{{FP8}}}\ntasks: {{mma: {{promote: true}}}}\n",
    "n": f"problem: {{vary: n, {FP8}}}\n",
    "none": f"problem: {{vary: none, {FP8}}}\ntasks: {{mma: {{promote: true}}}}\n",
}


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ModuleType]:
    folder = tmp_path_factory.mktemp("scaled")
    stores = {"n": ", store: direct"}
    return {
        name: module(folder, name, f"{text}epilogue: {{ops: [scale_rowwise]{stores.get(name, '')}}}\n")
        for name, text in SCALED.items()
    }


def host_functions(scaled: dict[str, ModuleType], *names: str) -> list[Any]:
    return [getattr(scaled[name], name) for name in names or scaled]


def fp8(*shape: int) -> Any:
    return torch.randn(*shape).to(torch.float8_e4m3fn)


def scaled_operands(vary: str) -> dict[str, Any]:
    """Operands and scales as torch's operator has them, of 3 groups."""
    lead = {"m": (150,), "n": (3, 40), "none": (3, 40)}[vary]
    columns = {"m": (3, 48), "n": (150,), "none": (3, 48)}[vary]
    made = {"mat_a": fp8(*lead, 64), "mat_b": fp8(*columns, 64).mT}
    return made | {"scale_a": torch.rand(lead) + 0.5, "scale_b": torch.rand(columns) + 0.5}


@pytest.mark.parametrize("vary", ["m", "n", "none"])
@pytest.mark.parametrize("which", ["aten", "functional"])
def test_scaled_products_are_those_of_a_loop(scaled: dict[str, ModuleType], vary: str, which: str) -> None:
    functions = host_functions(scaled)
    torch.manual_seed(0)
    given, own = scaled_operands(vary), parts((10, 10, 150))
    offs = {} if vary == "none" else {"offs": torch.tensor([10, 10, 150], dtype=torch.int32)}
    with Session("eager", 0).active():
        on = {name: t.to(DEVICE) for name, t in (given | offs).items()}
        if which == "aten":
            made = scaled["fast"].aten_scaled_grouped_mm(*functions)(
                *(on[name] for name in given), offs=on.get("offs"), use_fast_accum=vary == "n"
            )
        else:
            scales = ([on["scale_a"]], ROWWISE, on["scale_b"], [ROWWISE])
            made = scaled["fast"].scaled_grouped_mm(*functions)(
                on["mat_a"], on["mat_b"], *scales, offs=on.get("offs"), use_fast_accum=True, contraction_dim=(-1, -2)
            )
        made = torch.Tensor(made.float().cpu())
    a, b = given["mat_a"].float() * given["scale_a"][..., None], given["mat_b"].float() * given["scale_b"][..., None, :]
    wanted = {
        "m": lambda: torch.cat([a[part] @ b[i] for i, part in enumerate(own)]),
        "n": lambda: torch.cat([a[i] @ b[:, part] for i, part in enumerate(own)], 1),
        "none": lambda: a @ b,
    }[vary]()
    assert made.shape == wanted.shape
    assert float((made - wanted).norm()) < 1e-2 * float(wanted.norm())


def test_sums_in_fp32_are_by_the_function_that_has_them(scaled: dict[str, ModuleType]) -> None:
    """torch's use_fast_accum is False unless somebody says otherwise."""
    ran: list[str] = []
    given = {**scaled_operands("m"), "offs": torch.tensor([10, 10, 150], dtype=torch.int32)}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fast", "exact"):
            patch.setattr(scaled[name], "run", lambda *_, name=name: ran.append(name) or torch.zeros(0))
        multiply = scaled["fast"].aten_scaled_grouped_mm(*host_functions(scaled, "fast", "exact"))
        multiply(**dict(zip(("self", "mat2", "scale_a", "scale_b", "offs"), given.values(), strict=True)))
        multiply(*list(given.values())[:4], given["offs"], use_fast_accum=True)
    assert ran == ["exact", "fast"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"scale_recipe_a": torch.nn.functional.ScalingType.TensorWise},
            "scale_recipe_a: .*these kernels take .*RowWise",
        ),
        ({"scale_recipe_b": [ROWWISE, ROWWISE]}, "scale_recipe_b: "),
        ({"swizzle_a": torch.nn.functional.SwizzleType.SWIZZLE_32_4_4}, "swizzle_a: .*NO_SWIZZLE"),
        ({"bias": 1}, "bias: expected None"),
        ({"offs": None}, "offs: expected for operands of ranks 2 and 3"),
        ({"output_dtype": torch.float32}, "these kernels give torch.bfloat16"),
        ({"contraction_dim": (-2, -1)}, "contraction_dim: "),
        ({}, "use_fast_accum: False, and no function here adds up products in fp32"),
        ({"mat_b": torch.zeros(64, 48).to(torch.float8_e4m3fn)}, "no function here multiplies them"),
    ],
)
def test_what_scaled_products_refuse(scaled: dict[str, ModuleType], given: dict[str, Any], words: str) -> None:
    made = scaled_operands("m")
    arguments = {**made, "scale_recipe_a": ROWWISE, "scale_recipe_b": ROWWISE, "offs": torch.zeros(3), **given}
    with pytest.raises(ValueError, match=words):
        scaled["fast"].scaled_grouped_mm(*host_functions(scaled, "fast"))(**arguments)


def test_torch_compile_sees_one_operator_of_scaled_operands(
    scaled: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    def products(a: Any, b: Any, offs: Any, scale_a: Any, scale_b: Any, *_: Any) -> Any:
        a, b = a.float() * scale_a[:, None], b.float() * scale_b[:, None]
        return torch.cat([a[part] @ b[i] for i, part in enumerate(parts(tuple(offs.tolist())))]).to(torch.bfloat16)

    monkeypatch.setattr(scaled["exact"], "run", products)
    given = {**scaled_operands("m"), "offs": torch.tensor([10, 10, 150], dtype=torch.int32)}
    a, b, scale_a, scale_b, offs = given.values()
    multiply = scaled["exact"].scaled_grouped_mm(scaled["exact"].exact)
    compiled = torch.compile(multiply, backend="aot_eager", fullgraph=True)
    found = compiled(a, b, scale_a, ROWWISE, scale_b, ROWWISE, offs=offs)
    assert torch.equal(found, products(a, b, offs, scale_a, scale_b))


MX = "problem: {scaling: mx, a: {dtype: e4m3}, b: {dtype: e4m3, layout: col}}\ntile: {n: 128, k: 128}\n"


def blocked(scales: Any) -> Any:
    """Scales (rows, K / 32) in torch's blocks: 128 rows by 4, of which 32 rows lie together."""
    rows, columns = -(-len(scales) // 128), -(-scales.shape[1] // 4)
    padded = torch.zeros(rows * 128, columns * 4, dtype=scales.dtype)
    padded[: len(scales), : scales.shape[1]] = scales
    blocks = padded.view(rows, 128, columns, 4).permute(0, 2, 1, 3)
    return blocks.reshape(-1, 4, 32, 4).transpose(1, 2).reshape(rows * 128, columns * 4)


@pytest.mark.parametrize("which", ["aten", "functional"])
def test_products_of_mx_scales_in_torchs_blocks(which: str, tmp_path: Path) -> None:
    text = f"kernel: grouped_gemm\nname: mx\narch: sm100\n{MX}"
    (tmp_path / "mx.yaml").write_text(text)
    own = load_module(build(tmp_path / "mx.yaml", out=tmp_path / "generated").folder / "mx.py", "sm100")
    torch.manual_seed(0)
    ends, k = (10, 10, 150), 160
    a, b = fp8(150, k), fp8(3, 136, k)
    scale_a, scale_b = (torch.randint(123, 131, (*x.shape[:-1], k // 32)).to(torch.uint8) for x in (a, b))
    scales = (
        torch.cat([blocked(scale_a[part]) for part in parts(ends)]).view(torch.float8_e8m0fnu),
        torch.stack([blocked(x).flatten() for x in scale_b]).view(torch.float8_e8m0fnu),
    )
    functional = torch.nn.functional
    recipe, swizzle = functional.ScalingType.BlockWise1x32, functional.SwizzleType.SWIZZLE_32_4_4
    with Session("eager", 0).active():
        x, y, offs = a.to(DEVICE), b.to(DEVICE).mT, torch.tensor(ends, dtype=torch.int32).to(DEVICE)
        first, second = (t.view(torch.uint8).to(DEVICE) for t in scales)
        if which == "aten":
            made = own.aten_scaled_grouped_mm(own.mx)(x, y, first, second, offs)
        else:
            multiply = own.scaled_grouped_mm(own.mx)
            with pytest.raises(ValueError, match=r"scale_recipe_a: .*BlockWise1x32"):
                multiply(x, y, first, ROWWISE, second, recipe, swizzle, swizzle, offs=offs)
            with pytest.raises(ValueError, match=r"swizzle_b: None; these kernels take .*SWIZZLE_32_4_4"):
                multiply(x, y, first, recipe, second, recipe, swizzle, offs=offs)
            made = multiply(x, y, first, recipe, second, recipe, swizzle, swizzle, offs=offs)
        made = torch.Tensor(made.float().cpu())
    wide = [v.float() * torch.exp2(s.float() - 127).repeat_interleave(32, -1) for v, s in ((a, scale_a), (b, scale_b))]
    wanted = torch.cat([wide[0][part] @ wide[1][i].T for i, part in enumerate(parts(ends))])
    assert float((made - wanted).norm()) < 1e-2 * float(wanted.norm())
