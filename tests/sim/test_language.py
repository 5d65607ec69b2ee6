"""Operations of tl and tlx against numpy, torch, or values worked out by hand from the PTX manual."""

from __future__ import annotations

import builtins
import inspect
import linecache
import math
from typing import Any

import numpy as np
import pytest
import torch
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.sim import litmus_language as kernels
from tlxgen.cudalike import CudaLike
from tlxgen.sim import DEVICE, RUNS, Place, Report, Session, UnsupportedOp, verify, witness

FP8 = (torch.float8_e4m3fn, torch.float8_e5m2)


def run(
    kernel: Any, *arguments: Any, grid: int = 1, report: bool = False, runs: Any = RUNS[:1], **constants: Any
) -> Any:
    """Runs a kernel on copies of CPU tensors and gives them back; with `report`, what was found."""
    made: list[torch.Tensor] = []

    def program(session: Session) -> None:
        made[:] = [x.to(DEVICE) if isinstance(x, torch.Tensor) else x for x in arguments]
        kernel[(grid,)](*made, **constants)

    found: Report = verify(program, runs, arch="sm100")
    if report:
        return found
    assert not found.seen, list(map(str, found.seen))
    return [x.as_subclass(torch.Tensor) for x in made if isinstance(x, torch.Tensor)]


def test_shifts_by_the_width_and_more_shift_everything_out() -> None:
    counts = torch.tensor([0, 1, 4, 30, 31, 32, 33, 1000], dtype=torch.int32)
    out, _ = run(kernels.shifts, torch.zeros(16, dtype=torch.int32), counts)
    left = [-(1 << n) if n < 32 else 0 for n in counts.tolist()]
    right = [(i - 4) >> min(n, 31) for i, n in enumerate(counts.tolist())]
    assert out.tolist() == [*left, *right]


def test_types_are_joined_as_triton_does() -> None:
    _, out = run(kernels.promotions, torch.ones(4, dtype=torch.float16), torch.zeros(5, dtype=torch.int32), 0.5)
    assert out.tolist() == [1] * 5


def test_unsigned_integers_wrap_and_compare_as_such() -> None:
    (out,) = run(kernels.unsigned, torch.zeros(12, dtype=torch.int64))
    x = np.arange(4, dtype=np.uint32) - np.uint32(2)
    assert out.tolist() == [*(x > 5).astype(int), *(x // np.uint32(3)).astype(int), *(x >> np.uint32(28)).astype(int)]


def test_casts_saturate_truncate_and_keep_bits() -> None:
    values = torch.tensor([0.1, -500.0, 1e9, math.inf, 1.0009765625, -3.1415927, 2.0**-9, 448.0])
    _, out, bits, zero = run(kernels.casts, values, torch.zeros(8), torch.zeros(8, dtype=torch.int32),
                             torch.zeros(8, dtype=torch.bfloat16))  # fmt: skip
    assert out.tolist() == [0.1015625, -448.0, 448.0, 448.0, 1.0, -3.25, 2.0**-9, 448.0]
    raw = values.numpy().view(np.int32)
    assert bits.tolist() == raw.tolist()
    cut = (raw & np.int32(-65536)).view(np.float32)
    assert zero.float().tolist() == cut.tolist()


def test_reductions() -> None:
    torch.manual_seed(0)
    values = torch.randn(4, 8)
    values[1, 3], values[2, 1] = math.nan, values[2].max() + 1
    values[2, 5] = values[2, 1]  # a tie: the first one counts for max, the last for the combine function
    _, out, place = run(kernels.reductions, values, torch.zeros(17), torch.zeros(13, dtype=torch.int32))
    x = values.numpy()
    np.testing.assert_allclose(out[:4], x.sum(1), rtol=1e-6)
    np.testing.assert_array_equal(out[4:8], np.nanmax(x, axis=1))
    np.testing.assert_array_equal(out[8:16], np.nanmin(x, axis=0))
    assert math.isnan(out[16])
    rows = [0, 2, 3]  # without NaN
    assert [place[r] for r in rows] == [x[r].argmax() for r in rows]
    assert [place[4 + r] for r in rows] == [x[r].argmin() for r in rows]
    assert place[8 + 2] in (1, 5) and [place[8], place[11]] == [x[0].argmax(), x[3].argmax()]
    assert place[12] == np.bitwise_or.reduce(((x > 0) * (1 << np.arange(8))).flatten())


def test_a_scalar_function_that_branches_is_mapped() -> None:
    values = torch.linspace(-1, 1, 8)
    _, out = run(kernels.mapped, values, torch.zeros(8))
    assert out.tolist() == [0.0 if x < 0.5 else 2 * x for x in values.tolist()]


def test_shapes() -> None:
    (out,) = run(kernels.shapes, torch.zeros(96, dtype=torch.int32))
    x = np.arange(16).reshape(4, 4)
    assert out[:16].tolist() == x[:, ::-1].flatten().tolist()
    assert out[16:32].tolist() == np.concatenate((x[:, 2:], x[:, :2]), axis=1).flatten().tolist()
    # Groups of two rows, column after column: 0 and 4 come first, then 1 and 5.
    assert out[32:48].tolist() == [0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15]
    assert out[48:64].tolist() == x.T.flatten().tolist()
    assert out[64:].tolist() == np.stack((np.arange(16), np.arange(16) + 100), axis=1).flatten().tolist()


def test_packed_arithmetic_rounds_once() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(64), torch.randn(64)
    c = -(a * b) + 1e-7  # all that is left of a * b + c is what the product loses when it is rounded
    *_, out = run(kernels.packed, a, b, c, torch.zeros(128))
    exact = a.double() * b.double() + c.double()
    assert torch.equal(out[:64], exact.float())
    torch.testing.assert_close(out[64:], torch.tanh(a), rtol=1e-6, atol=0)


CONVERT = """{ .reg .b16 lo, hi; cvt.rn.satfinite.%s.f32 lo, $2, $1; cvt.rn.satfinite.%s.f32 hi, $4, $3;
  mov.b32 $0, {lo, hi}; }"""


@pytest.mark.parametrize(("name", "dtype"), [("e4m3x2", FP8[0]), ("e5m2x2", FP8[1])])
def test_ptx_packs_four_fp8(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    values = torch.randn(64) * 100
    values[:2] = torch.tensor([1e6, -1e6])
    text = CONVERT % (name, name)
    _, out = run(
        kernels.asm, values, torch.zeros(64, dtype=dtype), TEXT=text, CONSTRAINTS="=r,f,f,f,f", DTYPE=dtype, PACK=4
    )
    largest = torch.finfo(dtype).max
    assert out.float().tolist() == values.clamp(-largest, largest).to(dtype).float().tolist()


@pytest.mark.parametrize("name", ["mul.bf16x2", "mul.rn.bf16x2", "max.NaN.xorsign.abs.bf16x2"])
def test_ptx_of_two_bf16_in_a_register(name: str) -> None:
    """Signs, zeros and denormals by all their bits; what is NaN by that."""
    torch.manual_seed(0)
    a, b = torch.randn(64).bfloat16(), torch.randn(64).bfloat16()
    a[:6] = torch.tensor([math.nan, 1.0, -math.inf, -0.0, 2.0**-133, -(2.0**-120)])
    b[:6] = torch.tensor([-1.0, math.nan, 3.0, 0.0, -(2.0**127), 2.0**-12])
    *_, out = run(kernels.asm_of_two, a, b, torch.zeros(64).bfloat16(), TEXT=f"{name} $0, $1, $2;")
    if name.startswith("mul"):
        wanted = (a.double() * b.double()).bfloat16()  # exact, then rounded once
    else:
        negative = [math.copysign(1, x) * math.copysign(1, y) < 0 for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        most = np.maximum(np.abs(a.float().numpy()), np.abs(b.float().numpy()))
        wanted = torch.tensor(np.where(negative, -most, most)).bfloat16()
    assert torch.equal(out.isnan(), wanted.isnan()) and out.isnan().sum() == 2
    there = ~wanted.isnan()
    assert torch.equal(out[there].view(torch.int16), wanted[there].view(torch.int16))


PTX = [
    ("ex2.approx.ftz.f32 $0, $1;", torch.exp2),
    ("{ .reg .f32 t; add.f32 t, $1, 0f3F800000; mul.rn.f32 $0, t, t; }", lambda x: (x + 1) * (x + 1)),
    ("{ .reg .b32 t; and.b32 t, $1, 0x7FFFFFFF; mov.b32 $0, t; }", torch.abs),
    ("{ .reg .b16 t; cvt.rn.bf16.f32 t, $1; cvt.f32.bf16 $0, t; }", lambda x: x.bfloat16().float()),
    ("{ .reg .u32 t; shr.u32 t, $1, 31; cvt.rn.f32.u32 $0, t; }", lambda x: (x < 0).float()),
    ("{ .reg .s32 t; cvt.rzi.s32.f32 t, $1; shl.b32 t, t, 2; cvt.rn.f32.s32 $0, t; }", lambda x: x.trunc() * 4),
    ("redux.sync.max.f32 $0, $1, 0xFFFFFFFF;", lambda x: x.reshape(2, 32).amax(1).repeat_interleave(32)),
    ("{ .reg .b64 p; mov.b64 p, {$1, 0}; mov.b64 {$0, _}, p; }", lambda x: x),
    ("{ .reg .pred p; setp.lt.f32 p, $1, 0f00000000; mov.f32 $0, $1; @p neg.f32 $0, $1; }", torch.abs),
    ("{ .reg .pred p; setp.gt.u32 p, $1, 0x7FFFFFFF; selp.f32 $0, 1.0, 2.0, p; }", lambda x: 2 - (x < 0).float()),
    ("{ .reg .pred p; setp.ge.s32 p, $1, 0; mov.f32 $0, 1.0; @!p mov.f32 $0, 0.0; }", lambda x: (x >= 0).float()),
    ("{ .reg .pred p; setp.eq.b32 p, $1, 0x7FFFFFFF; @p trap; mov.b32 $0, $1; }", lambda x: x),
]


@pytest.mark.parametrize(("text", "expected"), PTX, ids=range(len(PTX)))
def test_ptx_instructions(text: str, expected: Any) -> None:
    torch.manual_seed(0)
    values = torch.randn(64) * 8
    options = {"TEXT": text, "CONSTRAINTS": "=f,f", "DTYPE": torch.float32, "PACK": 1}
    _, out = run(kernels.asm, values, torch.zeros(64), **options)
    assert torch.equal(out, expected(values))


def test_a_trap_ends_the_launch() -> None:
    text = "{ .reg .pred p; setp.gt.f32 p, $1, 0f00000000; @p trap; mov.b32 $0, $1; }"
    options = {"TEXT": text, "CONSTRAINTS": "=f,f", "DTYPE": torch.float32, "PACK": 1}
    with pytest.raises(AssertionError, match="trap"):
        run(kernels.asm, torch.ones(64), torch.zeros(64), **options)


def test_an_unknown_instruction_is_named_with_its_line() -> None:
    options = {"TEXT": "foo.f32 $0, $1;", "CONSTRAINTS": "=f,f", "DTYPE": torch.float32, "PACK": 1}
    with pytest.raises(UnsupportedOp, match=r"litmus_language.py:\d+.*the PTX instruction foo.f32"):
        run(kernels.asm, torch.zeros(64), torch.zeros(64), **options)


def test_ptx_rounds_scales_up() -> None:
    values = torch.cat((2.0 ** torch.arange(-30, 30, 2).float(), torch.tensor([3.0, 1.0000001, 2.0**-127, 0.0])))
    values = torch.cat((values, values[:30] * 1.5))
    _, exponents, inverses = run(kernels.scaled, values, torch.zeros(64, dtype=torch.int32), torch.zeros(64))
    wanted = [max(0, math.ceil(math.log2(x)) + 127) if x else 0 for x in values.double().tolist()]
    assert exponents.tolist() == wanted
    kept = torch.tensor(wanted) > 0
    assert torch.equal(inverses[kept], 2.0 ** (127 - torch.tensor(wanted, dtype=torch.float64))[kept].float())


def test_dot_adds_to_its_accumulator() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(16, 32).half(), torch.randn(32, 16).half()
    *_, out = run(kernels.dots, a, b, torch.zeros(16, 16))
    torch.testing.assert_close(out.double(), 2 * a.double() @ b.double(), rtol=1e-5, atol=1e-5)


def test_atomic_additions_of_all_programs_count() -> None:
    for schedule in RUNS:
        counter, seen = run(kernels.count, torch.zeros(1, dtype=torch.int32), torch.zeros(6, dtype=torch.int32),
                            grid=6, runs=(schedule,))  # fmt: skip
        assert counter.tolist() == [12]
        assert sorted(seen.tolist()) == [0, 2, 4, 6, 8, 10]


def test_atomics_give_what_was_there_before() -> None:
    values, before = torch.tensor([10, 20, 3, 0, 1, 8], dtype=torch.int32), torch.full((9,), -1, dtype=torch.int32)
    values, before = run(kernels.atomics, values, before)
    assert values.tolist() == [12, 24, 7, 9, 5, 8]  # 0 + 2 and 1 + 3 at two addresses
    assert before.tolist()[:4] in ([10, 20, 10, 21], [12, 23, 10, 20])  # in either order
    assert before.tolist()[4:8] == [3, 0, 9, 1]


def test_libdevice() -> None:
    torch.manual_seed(0)
    x = torch.randn(8)
    _, out = run(kernels.device_library, x, torch.zeros(24))
    torch.testing.assert_close(out, torch.cat((torch.tanh(x), x / 3, x * x + x)), rtol=1e-6, atol=1e-7)


def test_lanes_are_32_rows() -> None:
    torch.manual_seed(0)
    x = torch.randn(128)
    _, ballots, redux = run(kernels.warps, x, torch.zeros(128, dtype=torch.int32), torch.zeros(128))
    bits = np.packbits((x.numpy() > 0).reshape(4, 32), axis=1, bitorder="little").view(np.int32).flatten()
    assert ballots.tolist() == np.repeat(bits, 32).tolist()
    assert redux.tolist() == np.repeat(np.abs(x.numpy()).reshape(4, 32).max(1), 32).tolist()


@pytest.mark.parametrize(
    ("dtype", "dropped"), [(torch.bfloat16, 16), (torch.float16, 13), (FP8[0], 20), (FP8[1], 21)], ids=str
)
def test_stochastic_rounding_adds_bits_and_cuts(dtype: torch.dtype, dropped: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(256) * 2
    x[:4] = torch.tensor([math.inf, -3.4e38, math.nan, 0.0])
    random = torch.randint(0, 1 << 31, (256,), dtype=torch.int32)
    *_, out = run(kernels.rounded, x, random, torch.zeros(256), DTYPE=dtype)
    largest = torch.finfo(dtype).max
    assert out[:2].tolist() == [largest, -largest] and math.isnan(out[2]) and out[3] == 0
    normal = x.abs() >= torch.finfo(dtype).smallest_normal
    normal[:4] = False
    bits = x.view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    mask = (1 << dropped) - 1
    cut = bits + (random & mask) & ~mask & 0xFFFFFFFF
    wanted = torch.from_numpy(cut.numpy().astype(np.uint32).view(np.float32))
    assert torch.equal(out[normal], wanted[normal])
    # Below the normal numbers, too, the result is one of the two neighbours.
    gap = 2.0 ** (math.log2(torch.finfo(dtype).smallest_normal) - (23 - dropped))
    assert bool(((out - x)[~normal][4:].abs() < gap).all())


def test_stochastic_rounding_is_right_on_average() -> None:
    torch.manual_seed(0)
    x = torch.full((256,), 1.03)
    total = 0.0
    for _ in range(8):
        random = torch.randint(0, 1 << 31, (256,), dtype=torch.int32)
        *_, out = run(kernels.rounded, x, random, torch.zeros(256), DTYPE=torch.float8_e4m3fn)
        assert set(out.tolist()) == {1.0, 1.125}
        total += float(out.double().mean()) / 8
    assert abs(total - 1.03) < 0.006  # three standard deviations of 2048 samples


def test_gather_and_scatter_in_shared_memory() -> None:
    torch.manual_seed(0)
    values, places = torch.randn(64), torch.randperm(64).to(torch.int32)
    *_, out = run(kernels.gathered, values, places, torch.zeros(128))
    wanted = torch.zeros(64)
    wanted[places.long()] = values
    assert out.tolist() == [*values[places.long()].tolist(), *wanted.tolist()]


def test_loops_take_scalars_that_were_loaded() -> None:
    bounds = torch.tensor([4], dtype=torch.int64), torch.tensor([15], dtype=torch.int32)
    out, *_ = run(kernels.loops, torch.zeros(2, dtype=torch.int64), *bounds)
    assert out.tolist() == [sum(range(4, 15, 3)) + 300, 1]


def test_device_assert() -> None:
    assert not run(kernels.reports_false, torch.full((1,), 6), report=True).seen
    assert "too small" in str(run(kernels.reports_false, torch.full((1,), 5), report=True).seen[0])


@pytest.mark.parametrize(("fence", "ids"), [("writer", set()), ("reader", set()), ("none", {"missing-fence"}),
                                            ("before", {"missing-fence"})])  # fmt: skip
def test_a_fence_of_either_task_lies_between_store_and_copy(fence: str, ids: set[str]) -> None:
    def program(session: Session) -> None:
        target = torch.zeros(16, 16, device=DEVICE)
        kernels.fenced[(1,)](TensorDescriptor.from_tensor(target, [16, 16]), FENCE=fence)
        assert bool((target == 3).all())

    for schedule in RUNS:
        assert verify(program, (schedule,)).ids == ids, schedule


@pytest.mark.parametrize("in_tensor_memory", [False, True])
def test_64_rows_by_two_ctas_lie_in_128_lanes(in_tensor_memory: bool) -> None:
    """Lanes 64 and up hold the right half of the columns; an A in tensor memory is there twice."""
    m, n, k = 64, 128, 64
    got: list[tuple[torch.Tensor, ...]] = []

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        a, b = torch.randn(2 * m, k, device=DEVICE).half(), torch.randn(k, n, device=DEVICE).half()
        out, lanes = torch.zeros(2 * m, n, device=DEVICE), torch.zeros(4 * m, n // 2, device=DEVICE)
        of_a, of_b = TensorDescriptor.from_tensor(a, [m, k]), TensorDescriptor.from_tensor(b, [k, n // 2])
        sizes = {"M": m, "N": n, "K": k, "LHS": in_tensor_memory}
        kernels.pair[(2,)](of_a, of_b, out, lanes, **sizes, ctas_per_cga=(2, 1, 1))
        got.append(tuple(x.as_subclass(torch.Tensor) for x in (a, b, out, lanes)))

    report = verify(program, RUNS, arch="sm100")
    assert not report.seen, list(map(str, report.seen))
    for a, b, out, lanes in got:
        torch.testing.assert_close(out, a.float() @ b.float(), rtol=1e-5, atol=1e-4)
        halves = out.reshape(2, m, 2, n // 2).transpose(1, 2).reshape(4 * m, n // 2)
        assert torch.equal(lanes, halves)


def test_a_kernel_that_host_code_writes_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no file: its lines are where `inspect` finds them, and a finding names them."""
    lines = inspect.getsource(kernels.count.fn).replace("def count", "def counted").splitlines(keepends=True)
    name, plain, scope = "<counted>", linecache.getlines, dict(vars(kernels))
    monkeypatch.setattr(linecache, "getlines", lambda file, *rest: lines if file == name else plain(file, *rest))
    builtins.exec(compile("".join(lines), name, "exec"), scope)
    counter, _ = run(scope["counted"], torch.zeros(1, dtype=torch.int32), torch.zeros(6, dtype=torch.int32), grid=6)
    assert counter.tolist() == [12]
    lines[-1] = lines[-1].replace(lines[-1].strip(), "raise ValueError")
    scope = dict(vars(kernels))
    builtins.exec(compile("".join(lines), name, "exec"), scope)
    found = run(scope["counted"], torch.zeros(1, dtype=torch.int32), torch.zeros(6, dtype=torch.int32), report=True)
    (finding,) = (s.finding for s in found.seen)
    assert finding.id == "kernel-error" and finding.places[0] == Place(name, len(lines))


def test_a_launch_takes_what_is_already_a_constexpr() -> None:
    values = torch.randn(64) * 8
    options = {"TEXT": "ex2.approx.ftz.f32 $0, $1;", "CONSTRAINTS": "=f,f", "DTYPE": torch.float32}
    _, out = run(kernels.asm, values, torch.zeros(64), **options, PACK=tl.constexpr(1))
    assert torch.equal(out, torch.exp2(values))


def test_torch_says_that_it_was_built_for_a_gpu() -> None:
    def program(session: Session) -> None:
        assert tuple(map(int, torch.version.cuda.split("."))) >= (12, 8)
        assert torch.zeros(1, device=torch.accelerator.current_accelerator()).is_cuda

    before = torch.version.cuda
    assert not verify(program, RUNS[:1]).seen
    assert torch.version.cuda == before


def test_pinned_memory_is_memory() -> None:
    def program(session: Session) -> None:
        there = torch.arange(4, dtype=torch.int32).pin_memory().to("cuda", non_blocking=True)
        assert there.is_cuda and there.tolist() == [0, 1, 2, 3]

    assert not verify(program, RUNS[:1]).seen


def test_an_operator_that_host_code_defines_runs_as_a_function_of_it() -> None:
    """The one for a GPU, and on tensors that say they are there."""

    @torch.library.custom_op("tlxgen_tests::counted", mutates_args=(), device_types=("cuda",))
    def counted(n: torch.Tensor) -> torch.Tensor:
        counter, seen = (torch.zeros(k, dtype=torch.int32, device=n.device) for k in (1, 6))
        kernels.count[(6,)](counter, seen)
        return counter + n

    counted.register_kernel("cpu")(lambda n: n - 1)

    def program(session: Session) -> None:
        n = torch.ones(1, dtype=torch.int32, device="cuda")
        assert n.is_cuda and counted(n).item() == 13

    assert not verify(program, RUNS[:1]).seen


def test_and_or_and_not_of_blocks_go_by_element() -> None:
    x = torch.tensor([1.0, -1, 1, -1, 1, -1, 1, -1])
    for scalar, taken in ((True, 1.0), (False, 0.0)):
        _, out = run(kernels.truths, x, torch.zeros(24), SCALAR=scalar)
        assert out[:8].tolist() == [1, 0, 1, 0, 0, 0, 0, 1]
        assert out[8:16].tolist() == [0, 0, 0, 1, 0, 1, 0, 1]
        assert out[16] == taken


def test_block_pointers_move_and_know_their_bounds() -> None:
    x = torch.arange(70.0).reshape(7, 10)
    for padding, missing in (("zero", 0.0), ("nan", float("nan"))):
        _, out = run(kernels.blocks, x, torch.zeros(16, 8), 7, 10, PAD=padding)
        wanted = torch.full((16, 8), 0.0)
        wanted[:8] = missing
        wanted[:6, :7] = x.T[4:]
        torch.testing.assert_close(out, wanted, rtol=0, atol=0, equal_nan=True)
    found = run(kernels.blocks, x, torch.zeros(6, 8), 7, 10, PAD="zero", report=True)
    assert found.ids == {"out-of-bounds"}  # a dimension that is checked by another extent, 16, than it has


@pytest.mark.parametrize(
    ("send", "receive", "ids"),
    [("release", "acquire", set()), ("relaxed", "acquire", {"global-race"}), ("release", "relaxed", {"global-race"})],
)
def test_inline_ptx_reads_and_writes_flags_in_their_order(send: str, receive: str, ids: set[str]) -> None:
    """CTA 0 tells the others by a flag, which they poll, that its value is there."""
    arguments = (torch.zeros(8), torch.zeros(4, dtype=torch.int32))
    texts = {
        "SEND": f"red.{send}.gpu.global.add.s32 [$1], $2; mov.b32 $0, $2;",
        "LAST": f"ld.{receive}.gpu.global.b32 $0, [$1];",
    }
    found = run(kernels.flags, *arguments, grid=4, runs=RUNS, report=True, **texts)
    assert found.ids == ids
    if not ids:
        out, flag = run(kernels.flags, *arguments, grid=4, runs=RUNS, **texts)
        assert out[4:].tolist() == [0.0, 7.0, 7.0, 7.0] and flag[0] == 3


def test_a_run_that_ends_before_its_mmas_does_not_decide_where_accumulators_lie() -> None:
    """The witness of a finding is a run that ends there; what no MMA has used by then may be an accumulator."""

    def program(session: Session) -> None:
        kernels.crowded_pair[(2,)](torch.zeros(16, device=DEVICE), ctas_per_cga=(2, 1, 1))

    report = verify(program, RUNS, arch="sm100")
    assert report.ids == {"uninitialised"}, str(report)
    assert witness(report.seen[0]).finding.id == "uninitialised"


def test_scales_are_bytes() -> None:
    """As triton has it, which gives float8_e8m0fnu the type u8."""
    scales = torch.randint(0, 255, (16, 16), dtype=torch.uint8)
    outs = []

    def program(session: Session) -> None:
        given = scales.view(torch.float8_e8m0fnu).as_subclass(CudaLike)
        outs.append(torch.zeros(16, 16, dtype=torch.int32, device=DEVICE))
        kernels.exponents[(1,)](given, TensorDescriptor.from_tensor(given, [16, 16]), outs[-1])

    assert not verify(program, RUNS, arch="sm100").seen
    assert all(torch.equal(out.as_subclass(torch.Tensor), 2 * scales.int()) for out in outs)


def test_a_descriptor_reduces_and_a_scalar_has_dimensions() -> None:
    def program(session: Session) -> None:
        sums = torch.zeros(16, 16, device=DEVICE)
        smallest = torch.full((16, 16), 9, dtype=torch.int32, device=DEVICE)
        out = torch.zeros(16, 16, device=DEVICE)
        kernels.reducing_boxes[(3,)](sums, smallest, torch.tensor(0.5, device=DEVICE), out)
        assert bool((sums == 1 + 2 + 3 + 30).all())
        assert bool((smallest == 3).all())
        steps = torch.arange(16)
        assert torch.equal(out.as_subclass(torch.Tensor), (steps[:, None] + steps[None, :]) / 2)

    report = verify(program, RUNS)
    assert not report.seen, str(report)


def test_special_registers_tell_the_cta_and_the_steps_of_the_run() -> None:
    seen: list[list[int]] = []

    def program(session: Session) -> None:
        sm = torch.zeros(3, dtype=torch.int32, device=DEVICE)
        times = torch.zeros(3, 6, dtype=torch.int64, device=DEVICE)
        kernels.special_registers[(3,)](sm, times)
        assert sm.tolist() == [0, 1, 2]
        seen.extend(times.tolist())

    assert not verify(program, RUNS[:1]).errors
    assert all(times == sorted(times) for times in seen)
    assert len({times[0] for times in seen}) == 3  # the CTAs share one time
    assert all(0 <= times[0] < times[3] < 10_000 for times in seen)
