"""Groups of every size, on the simulator: right numbers, no finding, and what no group has as it was."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.sim.support import kernels, source  # noqa: E402
from tlxgen.check import numerics  # noqa: E402
from tlxgen.families.gemm.model import Gpu  # noqa: E402
from tlxgen.families.grouped_gemm import problem  # noqa: E402
from tlxgen.sim import DEVICE, RUNS, Report, Session, load_module, verify_case  # noqa: E402

ROWS, TURNS = (
    "hopper_grouped_gemm/hopper_grouped_gemm_col_cooperative",
    "hopper_grouped_gemm/hopper_grouped_gemm_row_pingpong",
)
WEIGHTS, COLUMNS = (
    "hopper_grouped_gemm_weights/hopper_grouped_gemm_weights",
    "hopper_grouped_gemm_columns/hopper_grouped_gemm_columns_pingpong",
)
SIZES = (0, 1, 127, 0, 0, 260, 129, 3, 0)


def run(at: str, sizes: Sequence[int], shape: tuple[int, int, int], runs: Any = RUNS, sms: int = 4) -> Report:
    """A module on groups of these sizes; `shape` has M, N and K, of which that which varies is not looked at."""
    name, structure = at.split("/")
    variant = next(s for s in kernels(name).structures if s.name == structure).variants[0]

    def inputs(spec: Any, _: Any, device: Any) -> Any:
        extents = dict(zip("mnk", shape, strict=True))
        return problem.filled(spec, len(sizes), extents, torch.tensor(sizes, dtype=torch.int64), device)

    module = load_module(source(at), "sm90")
    own = SimpleNamespace(**{**vars(problem), "inputs": inputs})
    case = (own, module, variant.spec, (len(sizes), *shape), module.CONFIGS[0], numerics.compare)
    return verify_case(*case, runs, sms=sms, arch="sm90")


@pytest.mark.parametrize("at", [ROWS, TURNS])
def test_rows_of_any_size_by_several_seeds(at: str) -> None:
    report = run(at, SIZES, (0, 136, 72), tuple(("random", seed) for seed in range(8)))
    assert not report.seen, "\n".join(map(str, report.seen))
    assert report.runs == 8


@pytest.mark.parametrize("at", [ROWS, TURNS])
@pytest.mark.parametrize("columns", [129, 1])
def test_rows_of_c_that_are_padded(at: str, columns: int) -> None:
    """The host function allocates them, and between them nothing is written either."""
    assert not run(at, (5, 0, 130), (0, columns, 72), (("random", 0),)).seen


@pytest.mark.parametrize("at", [WEIGHTS, COLUMNS])
def test_what_else_varies(at: str) -> None:
    assert not run(at, (0, 1, 129, 0, 77, 0), (136, 136, 72)).seen


@pytest.mark.parametrize("at", [ROWS, WEIGHTS])
def test_all_groups_are_empty(at: str) -> None:
    """Of no rows nothing is written, and the gradient of no rows is zero."""
    assert not run(at, (0, 0, 0), (40, 136, 72), (("random", 0),)).seen


def test_more_groups_than_a_cta_looks_for_at_a_time() -> None:
    assert not run(ROWS, [0] * 300 + [7] + [0] * 100, (0, 136, 72), (("random", 0),)).seen


def called(at: str, **given: Any) -> Any:
    """What a host function makes of arguments on the simulated GPU."""
    module = load_module(source(at), "sm90")
    host = getattr(module, at.split("/")[0])
    with Session("eager", 0).active():
        arguments = {name: t.to(DEVICE) for name, t in given.items()}
        return torch.Tensor(host(**arguments).cpu())


def operands(groups: int, rows: int) -> dict[str, Any]:
    return {
        "a": torch.randn(rows, 64).to(torch.bfloat16),
        "b": torch.randn(groups, 128, 64).to(torch.bfloat16).mT,
    }


def test_no_groups_give_a_result_that_nobody_has_written() -> None:
    assert called(ROWS, **operands(0, 40), offs=torch.zeros(0, dtype=torch.int32)).shape == (40, 128)


@pytest.mark.parametrize("ends", [(10, 5, 300, 900), (-3, 20, 2**31 - 1, -(2**31))])
def test_ends_that_are_none_write_nothing_outside(ends: tuple[int, ...]) -> None:
    """Groups stay within the tensor, and one that ends before it begins is empty."""
    given = operands(4, 200)
    out = torch.full((203, 128), float("nan"), dtype=torch.bfloat16)
    module = load_module(source(ROWS), "sm90")
    with Session("eager", 0).active() as _:
        held = out.to(DEVICE)
        offs = torch.tensor(ends, dtype=torch.int32).to(DEVICE)
        module.hopper_grouped_gemm(given["a"].to(DEVICE), given["b"].to(DEVICE), offs, out=held[:200])
        written = ~torch.isnan(torch.Tensor(held.cpu().float())).any(1)
    inside, begin = torch.zeros(203, dtype=torch.bool), 0
    for end in ends:
        end = min(max(end, begin), 200)
        inside[begin:end] = True
        begin = end
    assert torch.equal(written, inside)


def test_a_k_of_zero_is_a_product_of_zeros_in_the_rows_of_groups() -> None:
    given = {"a": torch.zeros(20, 0).to(torch.bfloat16), "b": torch.zeros(2, 128, 0).to(torch.bfloat16).mT}
    made = called(ROWS, **given, offs=torch.tensor([3, 9], dtype=torch.int32))
    assert not made[:9].any()


def test_the_neighbours_of_a_group_are_not_added_up() -> None:
    """Infinities in another group's rows would be NaN in the sums, times the zeros beyond a group's end."""
    a, b = (torch.ones(140, n).to(torch.bfloat16) for n in (64, 128))
    for tensor in (a, b):
        tensor[:7], tensor[133:] = float("inf"), float("inf")
    made = called(WEIGHTS, a=a.T, b=b, offs=torch.tensor([7, 133, 140], dtype=torch.int32))
    assert (made[1] == 126).all()


def test_the_host_asks_the_device_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither sizes nor anything else: a call would wait, and could not be captured."""
    from tlxgen.cudalike import CudaLike

    module = load_module(source(ROWS), "sm90")
    monkeypatch.setattr(module, "sm_count", lambda index: 132)
    monkeypatch.setattr(module, "gpu_of", lambda index: Gpu("", 132))
    given = operands(4, 200) | {"offs": torch.tensor([10, 20, 20, 90], dtype=torch.int32)}
    given = {name: t.as_subclass(CudaLike) for name, t in given.items()}

    def asks(*_: Any) -> Any:
        raise AssertionError("the host looks at a value")

    for name in ("item", "tolist", "__int__", "__bool__", "__index__", "cpu", "numpy", "nonzero"):
        monkeypatch.setattr(torch.Tensor, name, asks)
    call = module.prepare(*given.values(), None, None)
    assert call.launches[0].grid[0] == 6  # an upper bound: two tiles of all rows, and one more for each group
