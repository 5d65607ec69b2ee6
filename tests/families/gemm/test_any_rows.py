"""Rows that TMA cannot address: how wide copies are, numbers of every layout on the simulator, and who is chosen."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen import families  # noqa: E402
from tlxgen.build import build  # noqa: E402
from tlxgen.errors import SpecErrors  # noqa: E402
from tlxgen.loading import HOST, load_file  # noqa: E402
from tlxgen.sim import DEVICE, Session, load_module  # noqa: E402
from tlxgen.spec import load  # noqa: E402
from tlxgen.stamp import templates  # noqa: E402

LOAD = "tasks: {load: {by: pointers, warps: 8}, mma: {registers: 112}}\n"
TEXT = """kernel: gemm
name: product
arch: sm90
problem: {{a: {{dtype: {0}, layout: {1}}}, b: {{dtype: {0}, layout: {2}}}{4}}}
tile: {{n: 64, k: 32}}
rings: {{ab: {{stages: 3}}}}
{3}"""
DIRECT = "epilogue: {store: direct}\n"


def package(folder: Path, text: str) -> ModuleType:
    (folder / "product.yaml").write_text(text)
    return load_module(build(folder / "product.yaml", out=folder / "generated").folder / "__init__.py")


def part(rows: int, columns: int, stride: int, offset: int, kind: Any) -> Any:
    """A matrix whose rows lie `stride` apart, and that begins `offset` elements behind an aligned address, amid NaN."""
    whole = torch.full((rows * stride + offset + 16,), float("nan")).to(kind)
    return whole.as_strided((rows, columns), (stride, 1), offset).copy_(torch.randn(rows, columns).to(kind))


def run(function: Callable[..., Any], a: Any, b: Any, **more: Any) -> Any:
    with Session("random", 0).active():
        made = function(to(a), to(b), **{n: to(x) for n, x in more.items()})
        return made.double().cpu()


def to(x: Any) -> Any:
    """On the simulated device with the strides that it has, and as far behind an aligned address."""
    base = x.as_strided((x.untyped_storage().nbytes() // x.element_size(),), (1,), 0).clone()
    return base.to(DEVICE).as_strided(x.shape, x.stride(), x.storage_offset())


SHAPES = [(1, 1, 1), (3, 5, 2), (129, 67, 35), (2, 66, 98), (70, 12, 4)]


@pytest.mark.parametrize("a_order", ["row", "col"])
@pytest.mark.parametrize("b_order", ["row", "col"])
def test_numbers_of_every_layout_from_one_element_on(a_order: str, b_order: str, tmp_path: Path) -> None:
    made = package(tmp_path, TEXT.format("bf16", a_order, b_order, LOAD + DIRECT, ""))
    torch.manual_seed(0)
    for m, n, k in SHAPES:
        for gap, offset in ((0, 0), (1, 1), (2, 4), (8, 3)):
            kind = torch.bfloat16
            a = part(m, k, k + gap, offset, kind) if a_order == "row" else part(k, m, m + gap, offset, kind).T
            b = part(k, n, n + gap, offset, kind) if b_order == "row" else part(n, k, k + gap, offset, kind).T
            found, exact = run(made.product, a, b), a.double() @ b.double()
            assert float((found - exact).norm()) <= 5e-3 * float(exact.norm()), (m, n, k, gap, offset)


def test_out_may_have_any_rows(tmp_path: Path) -> None:
    made = package(tmp_path, TEXT.format("fp16", "row", "row", LOAD + DIRECT, ", c: {dtype: fp16}"))
    a, b = torch.randn(9, 17).half(), torch.randn(17, 33).half()
    out = part(9, 33, 35, 1, torch.float16)
    with Session("random", 0).active():
        given = to(out)
        made.product(to(a), to(b), out=given)
        found = given.double().cpu()
    assert float((found - a.double() @ b.double()).norm()) < 1e-3 * float(found.norm())


ONE = "tasks: {{load: {{by: pointers_{0}}}, mma: {{replicate: {1}, exchange: {2}, registers: null}}}}\n"
CUT = "schedule: {tail: split, fix_up: last}\nepilogue: {subtiles: 1}\n"


@pytest.mark.parametrize("copied", ["a", "b"])
@pytest.mark.parametrize("exchange", ["false", "true"])
@pytest.mark.parametrize(("a_order", "b_order"), [("row", "row"), ("col", "row"), ("row", "col"), ("col", "col")])
def test_one_operand_is_copied_and_tma_brings_the_other(
    copied: str, exchange: str, a_order: str, b_order: str, tmp_path: Path
) -> None:
    """Of whole tiles, and of a long K that is cut; copies of 1, 2 and 8 elements."""
    more = ONE.format(copied, 1 if exchange == "true" else 2, exchange) + CUT
    text = TEXT.format("bf16", a_order, b_order, more, "").replace("n: 64", "m: 128, n: 64")
    made, kind = package(tmp_path, text), torch.bfloat16
    torch.manual_seed(1)
    for m, n, k, gap in ((3, 40, 66, 0), (130, 66, 35, 1), (5, 9, 1500, 6)):
        shapes = {"a": (m, k) if a_order == "row" else (k, m), "b": (k, n) if b_order == "row" else (n, k)}
        odd = {x: (gap, gap) if x == copied else (-shapes[x][1] % 8, 0) for x in shapes}
        a, b = (part(*shapes[x], shapes[x][1] + odd[x][0], odd[x][1], kind) for x in shapes)
        a, b = a if a_order == "row" else a.T, b if b_order == "row" else b.T
        found, exact = run(made.product, a, b), a.double() @ b.double()
        assert float((found - exact).norm()) <= 5e-3 * float(exact.norm()), (m, n, k, gap)


@pytest.fixture
def host() -> ModuleType:
    return load_file(templates() / "lib" / HOST)


@pytest.mark.parametrize(
    ("columns", "stride", "offset", "elements"),
    [(64, 64, 0, 8), (64, 64, 8, 8), (64, 64, 4, 4), (64, 68, 0, 4), (62, 64, 0, 2), (64, 66, 0, 2), (64, 64, 2, 2)]
    + [(63, 64, 0, 1), (64, 65, 0, 1), (64, 64, 1, 1)],
)
def test_copies_are_as_wide_as_rows_allow(
    columns: int, stride: int, offset: int, elements: int, host: ModuleType
) -> None:
    matrix = part(4, columns, stride, offset, torch.bfloat16)
    assert matrix.data_ptr() % 16 == offset * 2 % 16
    assert host.copied_at_once(matrix, "a", "") == elements
    assert host.copied_at_once(matrix[:1], "a", "") >= elements


def test_what_is_not_contiguous_along_rows_is_refused(host: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"b: stride 4 where the kernel needs 1; b.T.contiguous\(\).T has it"):
        host.copied_at_once(torch.zeros(4, 4).T, "b", "b.T.contiguous().T")
    with pytest.raises(ValueError, match="a: rows are 33554432 bytes apart"):
        host.copied_at_once(torch.empty((1 << 23) + 1).as_strided((2, 1), (1 << 23, 1)), "a", "")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """A package that loads by TMA where it can."""
    axes = """variants:
  axes:
    tasks.load: [{by: pointers, warps: 8}, {by: pointers_a, warps: 8}, {by: tma}]
    epilogue.store: [tma, direct]
    rings.ab.full: [shared, separate]
  require:
    - (tasks.load.by == 'pointers') == (epilogue.store == 'direct')
    - (tasks.load.by == 'pointers_a') == (rings.ab.full == 'separate')
"""
    text = TEXT.format("bf16", "row", "row", "tasks: {mma: {registers: 112}}\n" + axes, "")
    return package(tmp_path_factory.mktemp("both"), text)


@pytest.mark.parametrize(
    ("m", "n", "k", "offset", "by"),
    [
        (8, 64, 64, 0, {"a", "b"}),
        (9, 65, 64, 0, set()),
        (9, 65, 65, 0, set()),
        (9, 64, 65, 0, {"b"}),
        (9, 64, 64, 1, {"b"}),
    ],
    ids=["both addressable", "N odd", "N and K odd", "K odd", "an odd address of A"],
)
def test_tma_loads_what_it_can_address(both: ModuleType, m: int, n: int, k: int, offset: int, by: set[str]) -> None:
    a, b = part(m, k, k, offset, torch.bfloat16), part(k, n, n, 0, torch.bfloat16)
    chooser = importlib.import_module("._product", both.__name__)
    with Session("eager", 0).active():
        (launch,) = chooser.prepare(to(a), to(b), None).launches
    assert {name for name, _ in launch.described} - {"out"} == by
    found = run(both.product, a, b)
    assert float((found - a.double() @ b.double()).norm()) < 5e-3 * float(found.norm())


def test_a_tensor_of_the_same_layout_at_another_address_goes_another_way(both: ModuleType) -> None:
    """What is known of a layout was found out at one address."""
    b = torch.randn(64, 64).bfloat16()
    for offset in (0, 1, 0, 4):
        a = part(9, 64, 64, offset, torch.bfloat16)
        found = run(both.product, a, b)
        assert float((found - a.double() @ b.double()).norm()) < 5e-3 * float(found.norm())


def test_single_elements_go_with_tiles_that_registers_have_room_for() -> None:
    folder = Path(__file__).resolve().parents[3] / "specs"
    document = load(folder / "hopper_gemm_any_rows.yaml")
    for made in families.of(document).kernels(document).structures:
        room = [v for v in made.variants if v.plan and _held(v.plan) <= made.plan.facts.most_held]
        assert room


def _held(plan: Any) -> int:
    sizes = {p.name: p.value for p in plan.parameters}
    return (sizes["BLOCK_M"] + sizes["BLOCK_N"]) * sizes["BLOCK_K"] // (plan.facts.num_warps * 32)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("cluster: {m: 2}\n", "a CTA copies for itself: no cluster"),
        ("rings: {ab: {full: separate}}\n", "A and B of a slot are published together: shared"),
        ("schedule: {tail: split}\n", "a producer that copies has no registers left to add up parts: last"),
        ("schedule: {tail: helped}\nepilogue: {store: tma}\n", "a helper's sums come by TMA, in A's place"),
        ("schedule: {kind: dynamic}\n", "a producer that copies draws no tiles: persistent"),
    ],
)
def test_what_does_not_go_with_it_is_said(more: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(f"kernel: gemm\nname: x\narch: sm90\ntile: {{n: 128}}\n{LOAD}{more}")
    document = load(tmp_path / "x.yaml")
    with pytest.raises(SpecErrors, match=words):
        families.of(document).kernels(document)


def test_one_copied_operand_has_a_ring_of_its_own(tmp_path: Path) -> None:
    load_by = "tasks: {load: {by: pointers_b}}\nrings: {ab: {full: shared}}\n"
    (tmp_path / "x.yaml").write_text(f"kernel: gemm\nname: x\narch: sm90\ntile: {{n: 128}}\n{load_by}")
    document = load(tmp_path / "x.yaml")
    with pytest.raises(SpecErrors, match="TMA says when one operand is there, .* separate"):
        families.of(document).kernels(document)


def test_warps_of_a_producer_by_tma_are_four(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("kernel: gemm\nname: x\narch: sm90\ntile: {n: 128}\ntasks: {load: {warps: 8}}\n")
    document = load(tmp_path / "x.yaml")
    with pytest.raises(SpecErrors, match="one thread asks TMA for tiles, of a task of 4 warps"):
        families.of(document).kernels(document)


def test_gradients_of_any_rows_are_multiplied_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary of 13: C's gradient has odd rows, which the kernels take as they are; an expanded one is copied."""
    axes = "variants: {axes: {problem.a.layout: [row, col], problem.b.layout: [row, col]}}\n"
    made, asked = package(tmp_path, TEXT.format("bf16", "row", "col", LOAD + DIRECT + axes, "")), []
    for module, _ in {*made.FUNCTIONS.values()}:
        it = importlib.import_module(f".{module}", made.__name__)
        record = lambda a, b, *_: (asked.append((a.data_ptr(), b.data_ptr())), torch.mm(a, b))[1]  # noqa: E731
        monkeypatch.setattr(it, "run", record)
    x, weight = torch.randn(6, 8).bfloat16().requires_grad_(), torch.randn(13, 8).bfloat16().requires_grad_()
    gradient = torch.randn(6, 13).bfloat16()
    made.product(x, weight.mT).backward(gradient)
    assert asked[1][0] == asked[2][0] == gradient.data_ptr()
    torch.testing.assert_close(weight.grad, torch.mm(gradient.mT, x))
    made.product(x, weight.mT).sum().backward()
    assert asked[4][0] == asked[5][0] != gradient.data_ptr()
