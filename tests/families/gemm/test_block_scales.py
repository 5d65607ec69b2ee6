"""Scales of 1 x 128 of A and of 128 x 128 of B: numbers on the simulator beside float64, and what is refused."""

from __future__ import annotations

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
from tlxgen.sim import DEVICE, Session, load_module  # noqa: E402
from tlxgen.spec import load  # noqa: E402

from .test_fix_up import Form  # noqa: E402

TEXT = """kernel: gemm
name: scaled
arch: sm90
problem: {a: {dtype: e4m3}, b: {dtype: e4m3, layout: col}, scaling: block}
tile: {m: 64, n: 64}
tasks: {mma: {replicate: 1}}
rings: {ab: {stages: 2}}
"""


@pytest.fixture(scope="module")
def scaled(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return made_of(tmp_path_factory.mktemp("scaled"), TEXT)


def made_of(folder: Path, text: str) -> ModuleType:
    (folder / "scaled.yaml").write_text(text)
    return load_module(build(folder / "scaled.yaml", out=folder / "generated").folder / "scaled.py")


def operands(m: int, n: int, k: int) -> tuple[Any, ...]:
    """A, B in fp8 and their scales, of which no two are alike."""
    torch.manual_seed(m + n + k)
    wide = -(-k // 16) * 16
    a, b = (torch.randn(rows, wide).to(torch.float8_e4m3fn)[:, :k] for rows in (m, n))
    blocks = -(-n // 128), -(-k // 128)
    return a, b.T, torch.rand(m, blocks[1]) + 0.5, torch.rand(*blocks) + 0.5


def exact(a: Any, b: Any, a_scale: Any, b_scale: Any) -> Any:
    """Block by block, as DeepGEMM's reference is written: each product of 128 of K by both scales."""
    total = torch.zeros(a.shape[0], b.shape[1], dtype=torch.float64)
    columns = b_scale.double().repeat_interleave(128, 0)[: b.shape[1]]
    for i, first in enumerate(range(0, a.shape[1], 128)):
        part = a.double()[:, first : first + 128] @ b.double()[first : first + 128]
        total += part * a_scale.double()[:, i, None] * columns[None, :, i]
    return total


def run(function: Callable[..., Any], *given: Any, **more: Any) -> Any:
    with Session("random", 0).active():
        tensors = [on_device(x) for x in given]
        return function(*tensors, **{name: x.to(DEVICE) for name, x in more.items()}).double().cpu()


def on_device(x: Any) -> Any:
    """With the strides that it has."""
    whole = x.as_strided((x.untyped_storage().nbytes() // x.element_size(),), (1,), 0).clone().to(DEVICE)
    return whole.as_strided(x.shape, x.stride(), x.storage_offset())


@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 1, 1), (70, 200, 300), (65, 129, 128), (3, 64, 129), (130, 72, 640)], ids=str
)
def test_each_block_has_its_own_scales(scaled: ModuleType, m: int, n: int, k: int) -> None:
    given = operands(m, n, k)
    found, wanted = run(scaled.scaled, *given), exact(*given)
    assert float((found - wanted).norm()) < 4e-3 * float(wanted.norm())


@pytest.mark.parametrize("order", ["rows", "columns", "apart"])
def test_scales_may_lie_in_any_order(scaled: ModuleType, order: str) -> None:
    """DeepGEMM has those of A with rows as neighbours; a slice of larger scales has gaps."""
    a, b, a_scale, b_scale = operands(70, 200, 300)
    if order == "columns":
        a_scale, b_scale = a_scale.T.contiguous().T, b_scale.T.contiguous().T
    if order == "apart":
        a_scale, b_scale = apart(a_scale), apart(b_scale)
    found, wanted = run(scaled.scaled, a, b, a_scale, b_scale), exact(a, b, a_scale, b_scale)
    assert float((found - wanted).norm()) < 4e-3 * float(wanted.norm())


def apart(x: Any) -> Any:
    """The same amid NaN."""
    return torch.full((len(x) + 2, 7), float("nan"))[: len(x), 2:5].copy_(x)


def test_an_infinite_scale_stays_in_its_rows(scaled: ModuleType) -> None:
    a, b, a_scale, b_scale = operands(70, 72, 256)
    a_scale[5, 1] = float("inf")
    found = run(scaled.scaled, a, b, a_scale, b_scale)
    assert not found[5].isfinite().any()
    assert found[[i for i in range(70) if i != 5]].isfinite().all()


def test_what_follows_a_k_of_zero_is_made_of_zeros(tmp_path: Path) -> None:
    made = made_of(tmp_path, TEXT + "epilogue: {ops: [bias]}\n")
    a, b, a_scale, b_scale = operands(5, 64, 16)
    bias = torch.randn(64)
    found = run(made.scaled, a[:, :0], b[:0], a_scale[:, :0], b_scale[:, :0], bias=bias)
    torch.testing.assert_close(found, bias.bfloat16().double().expand(5, 64))


PROBLEM = {"problem": {"a": {"dtype": "e4m3"}, "b": {"dtype": "e4m3", "layout": "col"}, "scaling": "block"}}
ONE = {**PROBLEM, "tile": {"m": 64, "n": 64}, "tasks.mma.replicate": 1, "rings.ab.stages": 3}
PAIR = {**PROBLEM, "tile": {"m": 128, "n": 128}, "rings.ab.stages": 3}
FORMS: dict[str, dict[str, Any]] = {
    "pair": PAIR,
    "pair_apart": {**PAIR, "rings.ab.full": "separate", "tasks.mma.order": "mbarrier", "rings.ab.stages": 5},
    "pair_alone": {**PAIR, "rings.ab.stages": 1},
    "once": {**PAIR, "schedule.kind": "grid"},
    "drawn": {**ONE, "tasks.mma": {"split": "pingpong", "replicate": 2}, "schedule.kind": "dynamic"},
    "along_n": {**ONE, "cluster.n": 2},
    "along_m": {**PAIR, "cluster.m": 2, "rings.ab.empty": "warp"},
    "copied": {**ONE, "tasks.load.by": "pointers"},
}


@pytest.mark.parametrize("form", FORMS)
def test_scales_of_a_come_with_the_slot(form: str, tmp_path: Path) -> None:
    """Whoever loads and multiplies, in whatever order: slots go round, and CTAs lie beyond the last row and column."""
    made = Form(form, FORMS[form], tmp_path)
    for shape in ((130, 136, 700), (200, 72, 1024)):
        report = made.run(shape, sms=4)
        assert not report.seen, str(report)


def test_pairs_of_products_are_issued_in_turn(tmp_path: Path) -> None:
    named, mbarrier, alone = (
        Form(name, FORMS[name], tmp_path).path.read_text() for name in ("pair", "pair_apart", "pair_alone")
    )
    loop = named[named.index("# Two slots at a time") :]
    words = (
        "named_barrier_wait(",
        "products = tlx.async_dot(",
        "next_products = tlx.async_dot(",
        "named_barrier_arrive(",
    )
    assert sorted(words, key=loop.index) == list(words)
    assert "barrier_wait(mma_turn[1 - replica]" in mbarrier
    assert "take turns" not in alone and "named_barrier" not in alone


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tlx.async_load_wait_group(LAG)", "tlx.async_load_wait_group(LAG + 1)"),
        (
            "ab_full = tlx.alloc_barriers(STAGES, arrive_count=2)",
            "ab_full = tlx.alloc_barriers(STAGES, arrive_count=1)",
        ),
        ("LAG: tl.constexpr = STAGES // 2 - 1", "LAG: tl.constexpr = STAGES - 1"),
        ("tl.static_range(LAG)", "tl.static_range(LAG - 1)"),
        ("- row - BLOCK_M // 2, a_scale", "- row, a_scale"),
        ("tlx.named_barrier_arrive(4, 256)", "pass"),
    ],
    ids=["not_there_yet", "not_waited_for", "too_late", "last_slots", "rows_beyond", "nobody_begins"],
)
def test_a_fault_is_found(old: str, new: str, tmp_path: Path) -> None:
    made = Form("pair_deep", {**PAIR, "rings.ab.stages": 4}, tmp_path)
    made.mutated(old, new)
    assert made.fails((130, 136, 1280), sms=1)


@pytest.mark.parametrize("which", ["a_scale", "b_scale"])
def test_scales_of_another_shape_are_named(scaled: ModuleType, which: str) -> None:
    given = dict(zip(("a", "b", "a_scale", "b_scale"), operands(70, 200, 300), strict=True))
    given[which] = given[which][:, :2]
    with pytest.raises(ValueError, match=rf"{which}: shape \({'70' if which == 'a_scale' else '2'}, 2\), expected"):
        run(lambda *x: scaled.scaled(*x), *given.values())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("tile: {n: 256}\n", "all columns of a tile have one scale: at most 128"),
        ("tile: {k: 64}\n", "a slot has the products that one scale is for: 128"),
        ("tasks: {mma: {promote: false}}\n", "products are scaled as they are added to the sums: true"),
        ("schedule: {split_k: 2}\n", "consumers know where K begins for whole tiles alone: 1"),
        ("schedule: {tail: split}\n", "consumers know where K begins for whole tiles alone: whole"),
        ("arch: sm100\n", "scales of blocks are those of MX: mx"),
        ("problem: {a: {dtype: bf16}, b: {dtype: bf16}, scaling: block}\n", "scales are those of fp8, not of bf16"),
    ],
)
def test_what_does_not_go_with_it_is_said(more: str, words: str, tmp_path: Path) -> None:
    lines = {line.partition(":")[0]: line for line in (TEXT + more).splitlines()}
    kept = {**lines, "tasks": lines["tasks"] if "promote" in more else ""}
    (tmp_path / "x.yaml").write_text("\n".join(line for line in kept.values() if line) + "\n")
    document = load(tmp_path / "x.yaml")
    with pytest.raises(SpecErrors, match=words):
        families.of(document).kernels(document)
