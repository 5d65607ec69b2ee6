"""How the attention families are timed and what they cost: calls in the simulator, baselines, counts and rankings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from torch.nn.attention import SDPBackend  # noqa: E402

from tests.sim.support import kernels  # noqa: E402
from tlxgen import families  # noqa: E402
from tlxgen.bench.spec import Bench  # noqa: E402
from tlxgen.families.attention_bwd.spec import Softmax  # noqa: E402
from tlxgen.families.attention_fwd import benchmark as forward  # noqa: E402
from tlxgen.sim import DEVICE, Session, load_module  # noqa: E402

ROOT = Path(__file__).parents[2]
SHAPE = (1, 4, 2, 130, 200)
CAPPED = Softmax(softcap=True)
CPU = torch.device("cpu")


def bench(name: str, **options: Any) -> Bench:
    return Bench(ROOT / "specs" / f"{name}.yaml", ROOT / "generated" / name, **options)


def variants(name: str) -> list[Any]:
    return [v for s in kernels(name).structures for v in s.variants]


@pytest.mark.parametrize(
    "name",
    [
        "hopper_attention_fwd",
        "hopper_attention_bwd",
        "hopper_attention_bwd_dq",
        "hopper_attention_bwd_packed",
        "hopper_attention_bwd_dq_keys",
    ],
)
def test_what_is_timed_gives_right_numbers(name: str) -> None:
    part = bench(name).apart()[-1]
    structure = part.kernels.structures[0]
    module = load_module(ROOT / "generated" / name / f"{structure.name}.py")
    spec = structure.variants[0].spec
    with Session("random", 0).active():
        tensors = part.family.problem().inputs(spec, SHAPE, DEVICE)
        out = part.how.call(module, spec, SHAPE, tensors, module.CONFIGS[0])()
        plain = tuple(x.as_subclass(torch.Tensor) for x in (out if isinstance(out, tuple) else (out,)))
        with torch._C.DisableTorchFunction():
            tensor = torch.Tensor
            given = {n: x.as_subclass(tensor) if isinstance(x, tensor) else x for n, x in tensors.items()}
            problem = part.problem(SHAPE, CPU)
            assert problem.wrong(given, plain) == ""
            assert "error" in problem.wrong(given, (plain[0] + 1, *plain[1:]))


@pytest.mark.parametrize("part", [0, 1], ids=["none", "causal"])
def test_a_baseline_computes_what_the_kernel_is_held_against(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(forward.BACKENDS, "cudnn", SDPBackend.MATH)
    made = bench("hopper_attention_fwd", baselines=["cudnn"]).apart()[part]
    problem = made.problem(SHAPE, CPU)
    tensors = problem.inputs()
    (case, _) = made.cases(SHAPE)
    assert case.name == f"cudnn for {made.kernels.structures[0].name}"
    assert problem.wrong(tensors, case.make(tensors)()) == ""


@pytest.mark.parametrize("part", [0, 1, 3], ids=["none", "causal", "window"])
def test_a_baseline_with_a_bias_has_the_mask_in_it(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(forward.BIASED, "cudnn", SDPBackend.MATH)
    made = bench("hopper_attention_fwd_bias", baselines=["cudnn"]).apart()[part]
    problem = made.problem(SHAPE, CPU)
    tensors = problem.inputs()
    assert problem.wrong(tensors, made.cases(SHAPE)[0].make(tensors)()) == ""


def test_lists_of_blocks_are_held_against_flex_attention() -> None:
    found = {name for v in variants("hopper_attention_fwd_blocks") for name in forward.baselines(v.spec)}
    assert found == {"flex"}


def test_what_torch_has_not_has_no_baseline() -> None:
    specs = [v.spec for name in ("masks", "softmax") for v in variants(f"hopper_attention_fwd_{name}")]
    found = {(s.mask.kind, s.problem.lengths, s.softmax.softcap, s.softmax.sink): forward.baselines(s) for s in specs}
    assert {k[0] for k, v in found.items() if v} == {"none", "causal"}
    assert all(k[1:] == ("dense", False, False) for k, v in found.items() if v)


def test_gradients_alone_have_no_baseline() -> None:
    how = families.load("attention_bwd").benchmark()
    assert list(how.baselines(variants("hopper_attention_bwd")[0].spec)) == ["cudnn"]
    for spec in (v.spec for v in variants("hopper_attention_bwd_packed")):
        assert list(how.baselines(spec)) == ["flash"] and list(how.peers(spec, SHAPE, {})) == ["flash"]
    assert not how.baselines(variants("hopper_attention_bwd_packed")[0].spec.model_copy(update={"softmax": CAPPED}))
    for name in ("hopper_attention_bwd_kv", "hopper_attention_bwd_dq", "hopper_attention_bwd_keys"):
        assert not how.baselines(variants(name)[0].spec)


@pytest.mark.parametrize(
    "name", ["hopper_attention_fwd", "hopper_attention_fwd_masks", "hopper_attention_bwd", "hopper_attention_bwd_masks"]
)
@pytest.mark.parametrize(("n", "m"), [(7, 7), (40, 300), (300, 40)])
def test_operations_are_those_of_the_pairs_that_are_seen(name: str, n: int, m: int) -> None:
    family = kernels(name).family
    seen_of = families.load("attention_fwd").problem().seen_of
    for variant in variants(name):
        spec = variant.spec
        pairs = int(seen_of(spec.weights, n, m, {"window": forward_window()}, CPU).sum())
        products = 2 if name.startswith("hopper_attention_fwd") else 5
        assert family.flops(spec, (2, 6, 3, n, m)) == products * 2 * 12 * pairs * spec.problem.head_dim


def forward_window() -> tuple[int, int]:
    from tlxgen.families.attention.sequences import WINDOW

    return WINDOW


def test_bytes_are_those_of_operands_and_results() -> None:
    spec, shape = variants("hopper_attention_fwd")[0].spec, (2, 6, 3, 70, 90)
    rows, keys = 2 * 6 * 70, 2 * 3 * 90
    assert families.load("attention_fwd").bytes_moved(spec, shape) == (2 * rows + 2 * keys) * 256 + rows * 4
    spec = variants("hopper_attention_bwd")[0].spec
    assert families.load("attention_bwd").bytes_moved(spec, shape) == (4 * rows + 4 * keys) * 256 + rows * 4


@pytest.mark.parametrize("name", ["hopper_attention_fwd_schedules", "hopper_attention_bwd_schedules"])
def test_estimates_grow_with_the_work_and_shrink_with_the_gpu(name: str) -> None:
    family = kernels(name).family
    for variant in variants(name):
        clocks = [family.cost(variant.plan, shape, 132) for shape in ((4, 32, 32, 4096, 4096), (4, 32, 32, 8192, 8192))]
        assert 0 < clocks[0] < clocks[1]
        assert family.cost(variant.plan, (4, 32, 32, 4096, 4096), 264) < clocks[0]


def test_overlap_and_running_ahead_are_ranked_first() -> None:
    family, shape = families.load("attention_fwd"), (4, 32, 32, 4096, 4096)
    costs = {
        v.spec.tasks.mma.overlap: family.cost(v.plan, shape, 132) for v in variants("hopper_attention_fwd_schedules")
    }
    assert costs[True] < costs[False]
    (ahead, named) = (variants(f"hopper_attention_bwd{s}")[-1] for s in ("", "_rings"))
    family = families.load("attention_bwd")
    assert family.cost(ahead.plan, shape, 132) < family.cost(named.plan, shape, 132)


@pytest.mark.parametrize("direction", ["fwd", "bwd"])
def test_kernels_of_torch_stand_beside_ours_where_they_compute_the_same(direction: str) -> None:
    """FlashAttention's masks stand at the last key, cuDNN's at the first: where there are as many keys as queries, both
    do; there is none for softcap, expressions, sinks and fp8."""
    how = families.load(f"attention_{direction}").benchmark()
    found: dict[str, set[str]] = {}
    for name in (p.stem for p in (ROOT / "specs").glob(f"hopper_attention_{direction}*.yaml")):
        for spec in (v.spec for v in variants(name)):
            align = spec.mask.align if spec.mask.kind != "none" else ""
            for m in (7, 9):
                found.setdefault(f"{spec.mask.kind} {align} {m}", set()).update(how.peers(spec, (1, 1, 1, 7, m), {}))
            extra = spec.softmax.softcap or spec.softmax.expression
            extra = extra or direction == "fwd" and (spec.softmax.sink or spec.problem.dtype == "e4m3")
            if direction == "bwd":
                extra = extra or spec.lengths == "keys" or any(map(spec.weights.get, ("sink", "bias", "blocks")))
                extra = extra or (spec.lengths, align) == ("packed", "top_left")
            else:
                extra = extra or spec.softmax.bias != "none" or spec.mask.blocks
            assert bool(how.peers(spec, (1, 1, 1, 7, 7), {})) != bool(extra)
    both, flash, cudnn = {"flash", "cudnn"}, {"flash"}, {"cudnn"}
    assert found["none  9"] == found["causal top_left 7"] == both
    assert found["causal top_left 9"] == cudnn and found["causal bottom_right 9"] == flash
