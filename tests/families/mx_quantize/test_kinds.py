"""CTAs of one tile and persistent ones: their plans, what of a spec they cannot have, and which a call takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.attention_bwd import specs  # noqa: E402
from tlxgen.families.mx_quantize import problem  # noqa: E402
from tlxgen.families.mx_quantize.cost import clocks  # noqa: E402
from tlxgen.plan import Plan  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

FOLDER = Path(__file__).parents[3] / "generated" / "hopper_mx_quantize"
DEVICE = torch.device("cuda", 0)
PERSISTENT = {"schedule.kind": "persistent", "tile.m": 128}
H200 = 132


def spec_of(values: dict[str, Any]) -> Any:
    return specs.spec_of(values, "mx_quantize")


def plan_of(values: dict[str, Any]) -> Plan:
    return specs.plan_of(values, "mx_quantize")


def test_a_tile_comes_as_boxes_of_32_rows_to_the_task_that_asked_for_it() -> None:
    ring = plan_of({**PERSISTENT, "rings.x.stages": 3}).ring("x")
    assert [size.value for size in ring.tile("x").shape] == [32, 128] and ring.tile("x").groups == 4
    assert ring.full_barrier and ring.full_barrier.bytes and ring.full_barrier.bytes.value == 128 * 128 * 2
    assert ring.empty_barrier and ring.empty_barrier.count == 1
    assert ring.smem_bytes == 3 * 128 * 128 * 2
    assert plan_of({}).rings == ()


def test_two_ctas_share_an_sm_unless_registers_say_otherwise() -> None:
    assert spec_of(PERSISTENT).ctas == 2
    assert spec_of({**PERSISTENT, "tasks.quantize.warps": 8}).registers == 128
    assert not plan_of(PERSISTENT).reasons
    (reason,) = plan_of({**PERSISTENT, "rings.x.stages": 4}).reasons
    assert str(reason).startswith("smem: 2 CTAs share an SM, by their registers, and take ")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({**PERSISTENT, "problem.along": "rows"}, "a persistent CTA stores x.T"),
        ({**PERSISTENT, "problem.columns": "same"}, "a persistent CTA stores x.T"),
        ({**PERSISTENT, "tile.m": 64}, "a tile of a persistent CTA has 128 rows"),
        ({"rings.x.stages": 3}, "x goes to registers"),
    ],
)
def test_what_persistent_ctas_cannot_have(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        spec_of(values)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((16384, 8192), "persistent"),
        ((4096, 4096), "persistent"),
        ((2048, 2048), "grid"),
        ((512, 512), "grid"),
        ((128, 265 * 128), "grid"),
    ],
)
def test_few_tiles_are_better_small(shape: tuple[int, int], kind: str) -> None:
    """And what is picked at run time is what is estimated here."""
    small = {"tile.m": 32, "tasks.quantize.warps": 2}
    estimates = {"grid": clocks(plan_of(small), shape, H200), "persistent": clocks(plan_of(PERSISTENT), shape, H200)}
    assert min(estimates, key=estimates.__getitem__) == kind
    for name, estimate in estimates.items():
        module = load_module(FOLDER / f"hopper_mx_quantize_both_{name}.py")
        assert module.clocks(module.CONFIGS[0], *shape, H200) == pytest.approx(estimate, rel=0.05)


@pytest.mark.parametrize(("columns", "launched"), [(256, "persistent"), (260, "grid")])
def test_rows_that_tma_cannot_address_go_to_ctas_of_one_tile(columns: int, launched: str) -> None:
    """On four SMs the estimate is for persistent CTAs in either case."""
    function = load_module(FOLDER / "_hopper_mx_quantize.py").hopper_mx_quantize
    session = Session("eager", 0)
    with session.active():
        x = torch.randn(1024, columns, device=DEVICE).to(torch.bfloat16)
        made = function(x)
    assert session.kernel == f"hopper_mx_quantize_both_{launched}_kernel"
    for got, (name, wanted) in zip(made, problem.results(spec_of({}), x.cpu()).items(), strict=True):
        assert torch.equal(got.cpu().view(torch.uint8), wanted.view(torch.uint8)), name


def test_a_persistent_kernel_names_the_stride_that_tma_cannot_address() -> None:
    module = load_module(FOLDER / "hopper_mx_quantize_both_persistent.py")
    with Session("eager", 0).active(), pytest.raises(ValueError, match="x: stride of 260 elements along dimension 0"):
        module.hopper_mx_quantize(torch.zeros(130, 260, dtype=torch.bfloat16, device=DEVICE))
