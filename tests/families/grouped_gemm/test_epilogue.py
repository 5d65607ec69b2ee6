"""What follows the products of groups: gate and up, and what each group has of its own, on the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tests.families.grouped_gemm.built import Built  # noqa: E402
from tlxgen.families.gemm.spec import GemmSpec  # noqa: E402
from tlxgen.families.grouped_gemm.spec import GroupedGemmSpec  # noqa: E402
from tlxgen.sim import DEVICE, Session  # noqa: E402

SIZES = (0, 1, 127, 0, 140, 3, 0)
ROWS = "tile: {n: 64}\nproblem: {b: {layout: col}}\n"
GATED = "epilogue: {ops: [swiglu]}\n"
BIASED = "epilogue: {ops: [bias, swiglu]}\n"


@pytest.mark.parametrize(
    "more",
    [
        GATED,
        BIASED + "tasks: {mma: {split: pingpong}, epilogue: {warps: 1}}\n",
        "epilogue: {ops: [swiglu], store: direct}\nproblem: {given: masked_m}\n",
        "epilogue: {ops: [scale, swiglu]}\nschedule: {kind: dynamic}\n",
    ],
)
@pytest.mark.parametrize("columns", [72, 66])  # of which C has 33: its rows are padded
def test_gate_and_up_of_rows_of_any_size(more: str, columns: int, tmp_path: Path) -> None:
    report = Built(tmp_path, (ROWS if "problem" not in more else "tile: {n: 64}\n") + more).run(
        (70, columns, 72), SIZES
    )
    assert not report.seen, "\n".join(map(str, report.seen))


def test_gate_and_up_on_blackwell(tmp_path: Path) -> None:
    text = ROWS + "epilogue: {ops: [swiglu], subtiles: 2}\ncluster: {m: 2}\ntasks: {epilogue: {}}\n"
    assert not Built(tmp_path, text, "sm100").run((0, 66, 72), SIZES).seen


@pytest.mark.parametrize(
    "more",
    [
        "tile: {m: 32, n: 64}\ntasks: {mma: {replicate: 1, exchange: true}}\n"
        "epilogue: {ops: [bias, swiglu], subtiles: 1}\n",
        "tile: {m: 192, n: 64}\ntasks: {mma: {replicate: 3}}\nepilogue: {ops: [bias, swiglu]}\n",
    ],
    ids=["exchanged", "three"],
)
@pytest.mark.parametrize("kind", ["persistent", "dynamic"])
def test_gate_and_up_by_other_tiles(more: str, kind: str, tmp_path: Path) -> None:
    report = Built(tmp_path, f"{more}schedule: {{kind: {kind}}}\n").run((0, 66, 72), SIZES)
    assert not report.seen, "\n".join(map(str, report.seen))


@pytest.mark.parametrize("cluster", ["", "cluster: {k: 2}\n", "cluster: {n: 2}\n"])
def test_gate_and_up_of_one_product(cluster: str, tmp_path: Path) -> None:
    text = f"tile: {{n: 64}}\n{cluster}epilogue: {{ops: [swiglu]{', subtiles: 1' * ('k' in cluster)}}}\n"
    assert not Built(tmp_path, text, kernel="gemm").run((150, 66, 200)).seen


FAULTS = (
    ("gate for up", "gate * tl.sigmoid(gate) * up", "up * tl.sigmoid(up) * gate"),
    ("halves for turns", "tl.split(tl.reshape(acc, (acc.shape[0], acc.shape[1] // 2, 2)))", "halves(acc)"),
    ("columns of the product", "(column + i * (BLOCK_N // 2)) // 2", "column + i * (BLOCK_N // 2)"),
    ("the bias of the first group", "bias_ptr + group * N", "bias_ptr"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f[0].replace(" ", "_"))
def test_a_fault_is_found(fault: tuple[str, str, str], tmp_path: Path) -> None:
    assert Built(tmp_path, ROWS + BIASED).mutant(*fault[1:]).run((0, 136, 40), (70, 0, 1, 60), sms=2).seen


def test_gate_and_up_are_those_of_torch(tmp_path: Path) -> None:
    """The family's reference is not asked."""
    module = Built(tmp_path, ROWS + GATED).module()
    torch.manual_seed(0)
    a, weights = torch.randn(40, 64).to(torch.bfloat16), torch.randn(2, 96, 64).to(torch.bfloat16)
    with Session("eager", 0).active():
        given = (a.to(DEVICE), weights.to(DEVICE).mT, torch.tensor([30, 40], dtype=torch.int32).to(DEVICE))
        made = torch.Tensor(module.some(*given).float().cpu())
    wide = torch.cat([a[:30].float() @ weights[0].float().T, a[30:].float() @ weights[1].float().T])
    wanted = torch.nn.functional.silu(wide[:, ::2]) * wide[:, 1::2]
    assert made.shape == (40, 48)
    assert float((made - wanted).norm()) < 1e-2 * float(wanted.norm())


@pytest.mark.parametrize("kernel", ["gemm", "grouped_gemm"])
def test_columns_that_are_no_pairs_are_refused(kernel: str, tmp_path: Path) -> None:
    module = Built(tmp_path, GATED, kernel=kernel).module()
    a, b = torch.zeros(8, 64).to(torch.bfloat16), torch.zeros(64, 72).to(torch.bfloat16)[:, :71]
    with Session("eager", 0).active():
        given = [t.to(DEVICE) for t in (a, b)]
        if kernel == "grouped_gemm":
            given = [given[0], b.expand(1, 64, 71).to(DEVICE), torch.tensor([8], dtype=torch.int32).to(DEVICE)]
        with pytest.raises(ValueError, match="N is 71: columns of gate and up take turns"):
            module.some(*given)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"epilogue": {"ops": ["swiglu", "bias"]}}, "C has half of the columns from here on: last"),
        ({"epilogue": {"ops": ["swiglu", "swiglu"]}}, "C has half of the columns from here on: last"),
        ({"epilogue": {"ops": ["swiglu"]}, "schedule": {"split_k": 2}}, "gate and up make one: 1"),
        ({"epilogue": {"ops": ["swiglu"]}, "schedule": {"tail": "split"}}, "twice as many: whole"),
        ({"epilogue": {"ops": ["swiglu"], "store": "direct"}, "problem": {"vary": "n"}}, "two that lie together"),
    ],
)
def test_what_does_not_go_with_gate_and_up(said: dict[str, Any], words: str) -> None:
    grouped = "problem" in said
    model = GroupedGemmSpec if grouped else GemmSpec
    kernel = "grouped_gemm" if grouped else "gemm"
    with pytest.raises(ValueError, match=words):
        model.model_validate({"kernel": kernel, "name": "g", "arch": "sm90", "tile": {"n": 128}, **said})


@pytest.mark.parametrize("vary", ["m", "none"])
def test_a_scale_of_each_group(vary: str, tmp_path: Path) -> None:
    text = f"tile: {{n: 64}}\nproblem: {{vary: {vary}}}\nepilogue: {{ops: [scale]}}\n"
    built = Built(tmp_path, text)
    shape, sizes = ((0, 136, 72), (70, 0, 1, 60)) if vary == "m" else ((3, 70, 136, 72), ())
    assert not built.run(shape, sizes).seen
    assert built.mutant("scale_ptr + group", "scale_ptr").run(shape, sizes).seen
