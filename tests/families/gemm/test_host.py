"""What a generated host function refuses, and in which words. Runs on a CPU: nothing is launched."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.check.child import import_file  # noqa: E402
from tlxgen.sim.launch import CudaLike  # noqa: E402

GENERATED = Path(__file__).resolve().parents[3] / "generated"


@pytest.fixture(scope="module")
def gemm() -> ModuleType:
    return import_file(GENERATED / "hopper_gemm" / "hopper_gemm_cooperative.py")


def matrix(rows: int, columns: int, stride: int) -> torch.Tensor:
    return torch.zeros(rows * stride, dtype=torch.bfloat16).as_strided((rows, columns), (stride, 1))


def test_a_leading_stride_that_tma_cannot_address_is_named_with_tensor_bytes_and_rule(gemm: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"b: leading stride of 1111 elements is 2222 bytes; .* multiple of 16"):
        gemm.describe(matrix(64, 1111, 1111), "b", [64, 128])


def test_a_stride_along_the_contiguous_dimension_is_refused(gemm: ModuleType) -> None:
    with pytest.raises(ValueError, match="a: stride 64 along its contiguous dimension; TMA needs 1"):
        gemm.describe(torch.zeros(8, 64, dtype=torch.bfloat16).T, "a", [64, 64])


def test_a_base_address_off_16_bytes_is_refused(gemm: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"a: data_ptr\(\) is 2 bytes past"):
        gemm.describe(torch.zeros(1 + 64 * 64, dtype=torch.bfloat16)[1:].view(64, 64), "a", [64, 64])


@pytest.mark.parametrize("stride", [0, 1, 1111])
def test_the_stride_of_a_single_row_does_not_matter(gemm: ModuleType, stride: int) -> None:
    row = torch.zeros(2048, dtype=torch.bfloat16).as_strided((1, 1111), (stride, 1))
    described = gemm.describe(row, "a", [64, 64])
    assert described.strides == [1112, 1]
    assert described.shape == [1, 1111]


def test_a_padded_matrix_is_described_with_its_own_shape_and_stride(gemm: ModuleType) -> None:
    described = gemm.describe(matrix(10, 1111, 1112), "b", [64, 128])
    assert (described.shape, described.strides) == ([10, 1111], [1112, 1])


def test_rows_that_the_host_function_allocates_are_padded_to_16_bytes(gemm: ModuleType) -> None:
    made = gemm.empty_rows(None, torch.empty(0), 3, 129, gemm.row_stride(129, torch.bfloat16), torch.bfloat16)
    assert made.shape == (3, 129)
    assert made.stride() == (136, 1)


def test_operands_on_a_cpu_are_refused(gemm: ModuleType) -> None:
    with pytest.raises(ValueError, match="a: on cpu, expected a CUDA device"):
        gemm.hopper_gemm(matrix(8, 8, 8), matrix(8, 8, 8))


@pytest.mark.parametrize("shapes", [((8, 8), (16, 8)), ((8,), (8, 8)), ((2, 8, 8), (8, 8))])
def test_shapes_that_do_not_multiply_are_refused(gemm: ModuleType, shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = (torch.zeros(shape, dtype=torch.bfloat16) for shape in shapes)
    with pytest.raises(ValueError, match=r"expected \(M, K\) @ \(K, N\)"):
        gemm.hopper_gemm(a, b)


def test_a_wrong_shape_type_or_device_of_an_argument_is_named(gemm: ModuleType) -> None:
    cpu = torch.device("cpu")
    with pytest.raises(ValueError, match=r"out: shape \(2, 3\), expected \(3, 3\)"):
        gemm.check(torch.zeros(2, 3), "out", (3, 3), (torch.float32,), cpu)
    with pytest.raises(TypeError, match=r"out: torch.float32, expected torch.bfloat16"):
        gemm.check(torch.zeros(3, 3), "out", (3, 3), (torch.bfloat16,), cpu)
    with pytest.raises(ValueError, match="out: on cpu, expected cuda:0"):
        gemm.check(torch.zeros(3, 3), "out", (3, 3), (torch.float32,), torch.device("cuda", 0))


@pytest.fixture(scope="module")
def mixed() -> ModuleType:
    return import_file(GENERATED / "blackwell_mx_gemm_fp4" / "blackwell_mx_gemm_fp4_e4m3_e2m1_m1_smem.py")


def test_scales_are_packed_as_torchao_packs_them(mixed: ModuleType) -> None:
    """Byte (r % 32) * 16 + (r // 32) * 4 + c of a block is the scale of its row r and column c."""
    scales = torch.randint(256, (300, 10)).to(torch.uint8)
    packed = mixed.pack_scales(scales)
    assert packed.shape == (1, 3, 3, 2, 256)
    rows, columns = torch.meshgrid(torch.arange(300), torch.arange(10), indexing="ij")
    at = rows % 32 * 16 + rows % 128 // 32 * 4 + columns % 4
    assert torch.equal(packed.view(3, 3, 512)[rows // 128, columns // 4, at], scales)
    assert packed.sum() == scales.sum()  # the rest is zero


@pytest.mark.parametrize(("offset", "stride"), [(16, 128), (0, 144)])
def test_fp4_beside_fp8_is_aligned_to_32_bytes(mixed: ModuleType, offset: int, stride: int) -> None:
    base = torch.zeros(64 * 160 + 64, dtype=torch.uint8)
    start = -base.data_ptr() % 32 + offset
    with pytest.raises(ValueError, match=r"b: begins .* TMA needs multiples of 32"):
        mixed.describe_padded(base[start:].as_strided((64, 64), (stride, 1)), "b", [64, 64])


def test_packed_operands_must_agree_about_k(mixed: ModuleType) -> None:
    a, scale = torch.zeros(8, 128, dtype=torch.float8_e4m3fn), torch.zeros(1, 1, 1, 2, 256, dtype=torch.uint8)
    with pytest.raises(ValueError, match=r"expected \(M, K\) @ \(K / 2, N\)"):
        mixed.blackwell_mx_gemm_fp4(a, torch.zeros(128, 8, dtype=torch.uint8), scale, scale)


def test_no_config_loses_to_another_for_want_of_being_considered(gemm: ModuleType) -> None:
    chosen = {gemm.CONFIGS.index(gemm.pick_config(m, n, 4096, 132)) for m in (64, 512, 4096) for n in (64, 512, 4096)}
    assert len(chosen) > 1, "every shape gets the same config"


class Stream:
    """What a host function asks about the stream that it launches on."""

    def __init__(self, tail: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
        self.handle, self.capturing, self.waits = 7, False, 0
        active = SimpleNamespace(get_current_stream=lambda device: self.handle)
        monkeypatch.setattr(tail, "driver", SimpleNamespace(active=active))
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: self.capturing)
        monkeypatch.setattr(torch.cuda, "synchronize", self.wait)
        for table in ("WORKSPACES", "ZEROS"):
            monkeypatch.setattr(tail, table, {})
        self.workspace = lambda words=132: tail.workspace(torch.empty(0), 0, 1000, words)

    def wait(self, device: int) -> None:
        assert not self.capturing, "not allowed in a capture"
        self.waits += 1


@pytest.fixture(scope="module", params=["hopper_gemm_tail", "hopper_gemm_helped"])
def tail(request: pytest.FixtureRequest) -> ModuleType:
    return import_file(sorted((GENERATED / request.param).glob("*pingpong*no_ops*.py"))[0])


@pytest.fixture
def stream(tail: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Stream:
    return Stream(tail, monkeypatch)


def place(tensor: torch.Tensor) -> range:
    return range(tensor.data_ptr(), tensor.data_ptr() + tensor.numel() * tensor.element_size())


def disjoint(tensors: Iterable[torch.Tensor]) -> bool:
    places = sorted(map(place, tensors), key=lambda p: p.start)
    return all(p.stop <= q.start for p, q in pairwise(places))


def test_a_stream_has_one_workspace_and_no_two_have_the_same(stream: Stream) -> None:
    sums, words = stream.workspace()
    assert all(map(operator.is_, stream.workspace(), (sums, words)))
    assert (sums.numel(), sums.dtype, words.numel(), words.dtype) == (1000, torch.float32, 132, torch.int32)
    stream.handle = 8
    others = stream.workspace()
    assert disjoint([sums, words, *others])
    assert not words.any() and not others[1].any() and stream.waits == 1


def test_every_launch_that_is_captured_has_its_own_words_for_good(stream: Stream) -> None:
    eager = stream.workspace()
    stream.capturing = True
    captured = [stream.workspace() for _ in range(3)]
    stream.capturing = False
    assert disjoint([eager[1], *(words for _, words in captured)])
    assert all(map(operator.is_, stream.workspace(), eager))
    stream.handle = 8
    assert disjoint([stream.workspace()[1], eager[1], *(words for _, words in captured)])


def test_a_capture_that_comes_first_or_when_all_zeros_are_given_away_makes_its_own(stream: Stream) -> None:
    stream.capturing = True
    first = stream.workspace()[1]
    stream.capturing = False
    _, eager = stream.workspace()
    stream.capturing = True
    many = [stream.workspace(words=1 << 17)[1] for _ in range(3)]  # of 2**18 in all
    assert disjoint([first, eager, *many]) and not any(words.any() for words in many)
    stream.capturing = False
    stream.handle = 8
    assert disjoint([stream.workspace(words=1 << 17)[1], first, eager, *many]) and stream.waits == 2


@pytest.mark.parametrize("sms", [33, 66, 131, 132])
def test_words_begin_where_triton_takes_addresses_to_be_aligned(
    tail: ModuleType, stream: Stream, monkeypatch: pytest.MonkeyPatch, sms: int
) -> None:
    """A kernel is compiled for the alignment of the first that it sees."""
    monkeypatch.setattr(tail, "sm_count", lambda device: sms)
    a, b = (torch.zeros(4096, 4096, dtype=torch.bfloat16).as_subclass(CudaLike) for _ in range(2))
    *_, (_, _, words) = tail.prepare(a, b, None, None)
    assert words >= sms
    for stream.handle in (1, 2, 3):
        assert stream.workspace(words)[1].data_ptr() % 16 == 0
