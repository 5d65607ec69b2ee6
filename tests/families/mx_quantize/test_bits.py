"""Numbers and scales to the bit: of whatever fp32, bf16 and fp16 can be, in whole and ragged matrices."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.families import load  # noqa: E402
from tlxgen.families.mx_quantize import benchmark, problem  # noqa: E402
from tlxgen.families.mx_quantize.reference import blocked, exponent, quantized  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402
from tlxgen.spec import load as read  # noqa: E402

ROOT = Path(__file__).parents[3]
SPECS = ("hopper_mx_quantize", "blackwell_mx_quantize")
STRUCTURES = [
    (name, s) for name in SPECS for s in load("mx_quantize").kernels(read(ROOT / f"specs/{name}.yaml")).structures
]
DEVICE = torch.device("cuda", 0)
NAN = 0x7F


def bytes_of(x: Any) -> Any:
    """Bytes, of which all that are NaN in e4m3 are alike: its sign is nobody's."""
    raw = x.cpu().contiguous().view(torch.uint8)
    return torch.where((raw & 0x7F == NAN) & (x.dtype == torch.float8_e4m3fn), NAN, raw)


def any_bits(shape: tuple[int, int], dtype: Any, seed: int) -> Any:
    """All patterns of bits; some blocks usual, of zeros and denormals, or of huge numbers; some infinities and NaN."""
    random = torch.Generator().manual_seed(seed)
    integer = {2: torch.int16, 4: torch.int32}[dtype.itemsize]
    limit = 2 ** (8 * dtype.itemsize - 1)
    x = torch.randint(-limit, limit, shape, generator=random).to(integer).view(dtype)
    wide = torch.randn(shape, generator=random).to(dtype)
    tame = torch.arange(shape[0])[:, None] // 32 % 3 + torch.arange(shape[1])[None, :] // 32 % 3
    x = torch.where(tame == 0, wide, x)
    tiny = torch.randint(0, 3, shape, generator=random).to(integer).view(dtype)  # 0 and denormals
    x = torch.where(tame == 1, tiny, x)
    x = torch.where(tame == 2, torch.finfo(dtype).max * torch.rand(shape, generator=random).to(dtype), x)
    x[: shape[0] // 4][torch.rand(shape[0] // 4, shape[1], generator=random) < 0.002] = float("inf")
    x[: shape[0] // 4][torch.rand(shape[0] // 4, shape[1], generator=random) < 0.002] = float("nan")
    return x


def in_gaps(x: Any) -> Any:
    """x on the device, in rows that TMA can address, with NaN between them."""
    wide = torch.full((x.shape[0], x.shape[1] + 8 + -x.shape[1] % 8), float("nan"), dtype=x.dtype, device=DEVICE)
    return wide[:, : x.shape[1]].copy_(x)


@pytest.mark.parametrize("shape", [(1, 1), (33, 31), (128, 128), (130, 300), (257, 96)])
@pytest.mark.parametrize(("name", "structure"), STRUCTURES, ids=lambda x: getattr(x, "name", ""))
def test_a_kernel_is_right_to_the_bit(name: str, structure: Any, shape: tuple[int, int]) -> None:
    spec = structure.variants[0].spec
    module = load_module(ROOT / "generated" / name / f"{structure.name}.py")
    x = any_bits(shape, getattr(torch, spec.dtype.torch), sum(shape))
    for config in module.CONFIGS:
        with Session("eager", 0).active():
            made, strays = problem.launch(module, spec, shape, {"x": in_gaps(x)}, config)
        assert not strays
        for result, wanted in problem.results(spec, x).items():
            assert torch.equal(bytes_of(made[result]), bytes_of(wanted)), (result, config.kwargs)


@pytest.mark.parametrize("kind", ["grid", "persistent"])
def test_what_is_timed_is_held_against_the_reference_by_bytes(kind: str) -> None:
    """A call gives scales as e8m0, the reference as their bytes; a copy gives nothing."""
    (name, structure) = next((n, s) for n, s in STRUCTURES if s.name == f"hopper_mx_quantize_both_{kind}")
    spec, module = structure.variants[0].spec, load_module(ROOT / "generated" / name / f"{structure.name}.py")
    t = {"x": any_bits((130, 300), torch.bfloat16, 0).nan_to_num(0.0, 0.0, 0.0)}
    with Session("eager", 0).active():
        out = module.hopper_mx_quantize(in_gaps(t["x"]))
        made = benchmark.results(spec, t, out)
    assert out[1].dtype == torch.float8_e8m0fnu
    for result, (wanted, _) in problem.reference(spec, t).items():
        assert torch.equal(made[result].cpu().double(), wanted), result
    assert benchmark.results(spec, t, benchmark.baselines(spec)["copy of x"](t)()) == {}


@pytest.mark.parametrize("rule", ["floor", "rceil"])
def test_a_scale_is_the_power_of_two_that_the_rule_says(rule: str) -> None:
    """By exact fractions: floor is the power below, rceil the least that leaves nothing above 448."""
    bits = torch.cat(
        [torch.arange(9, 255, 5)[:, None] * 2**23 + torch.tensor([0, 1, 0x5FFFFF, 0x600000, 0x600001, 0x7FFFFF])]
    )
    largest = bits.flatten().to(torch.int32).view(torch.float32)
    for value, byte in zip(largest.tolist(), exponent(largest, rule).tolist(), strict=True):
        scale, ratio = Fraction(2) ** (byte - 127), Fraction(value)
        if rule == "floor":
            assert 256 * scale <= ratio < 512 * scale
        else:
            assert 224 * scale < ratio <= 448 * scale


@pytest.mark.parametrize(
    ("rule", "block", "byte", "numbers"),
    [
        ("floor", [448.0, -3.0], 127, [448.0, -3.0]),
        ("floor", [511.0, 480.0], 127, [448.0, 448.0]),  # saturated
        ("rceil", [511.0, 480.0], 128, [256.0, 240.0]),
        ("rceil", [448.0, 1.0], 127, [448.0, 1.0]),
        ("floor", [0.0, -0.0], 0, [0.0, -0.0]),
        ("rceil", [0.0, -0.0], 0, [0.0, -0.0]),
        ("floor", [2.0**-133, 0.0], 0, [2.0**-6, 0.0]),  # the scale cannot be less than 2**-127
        ("floor", [3.0e38, 0.0], 246, None),
    ],
)
def test_known_blocks(rule: str, block: list[float], byte: int, numbers: list[float] | None) -> None:
    made, scales = quantized(torch.tensor([block]), rule)
    assert scales.tolist() == [[byte]]
    if numbers is not None:
        assert torch.equal(made.float(), torch.tensor([numbers]))
        assert torch.equal(made.float().signbit(), torch.tensor([numbers]).signbit())


@pytest.mark.parametrize("rule", ["floor", "rceil"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_a_block_with_a_nan_or_an_infinity_is_all_nan_and_no_other(rule: str, bad: float) -> None:
    x = torch.ones(2, 64)
    x[1, 40] = bad
    numbers, scales = quantized(x, rule)
    assert scales[1, 1] == 255 and (scales.flatten()[:3] != 255).all()
    wide = numbers.float().isnan()
    assert wide[1, 32:].all() and not wide[0].any() and not wide[1, :32].any()


def test_blocks_of_scales_are_those_that_a_gemm_packs() -> None:
    module = load_module(ROOT / "generated/blackwell_mx_gemm/blackwell_mx_gemm_e4m3_m1_persistent.py")
    scales = torch.randint(0, 256, (200, 9), dtype=torch.uint8)
    assert torch.equal(blocked(scales), module.pack_scales(scales))
