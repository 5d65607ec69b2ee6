"""What is refused, in which words, and how tensors are described to TMA."""

from __future__ import annotations

import math
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

CPU = torch.device("cpu")
BF16 = (torch.bfloat16,)


def lying(shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """bf16 zeros of these strides."""
    return torch.zeros(1 << 14, dtype=torch.bfloat16).as_strided(shape, strides)


@pytest.mark.parametrize(
    ("tensor", "wants", "error", "words"),
    [
        ([1.0], "", TypeError, "x: list, expected a tensor"),
        (lying((4, 8), (8, 1)).to_sparse(), "", TypeError, "x: a tensor of layout torch.sparse_coo, expected a dense"),
        (lying((2, 3), (3, 1)), "", ValueError, r"x: shape \(2, 3\), expected \(4, 8\)"),
        (torch.zeros(4, 8), "", TypeError, "x: torch.float32, expected torch.bfloat16$"),
        (torch.zeros(4, 8, device="meta").bfloat16(), "", ValueError, "x: on meta, expected cpu"),
        (lying((4, 8), (16, 1)), "contiguous", ValueError, r"x: strides \(16, 1\); the kernel needs a contiguous"),
        (lying((4, 8), (1, 4)), "rows", ValueError, "x: stride 4 along the last dimension; the kernel needs 1"),
    ],
)
def test_a_tensor_that_the_kernel_cannot_take_is_refused(
    host: ModuleType, tensor: Any, wants: str, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        host.check(tensor, "x", (4, 8), BF16, CPU, wants)


def test_what_a_kernel_can_take_passes(host: ModuleType) -> None:
    host.check(lying((4, 8), (1, 4)), "x", (4, 8), BF16, CPU)
    host.check(lying((4, 8), (16, 1)), "x", (4, 8), BF16, CPU, "rows")
    host.check(lying((4, 8), (8, 1)), "x", (4, 8), BF16, CPU, "contiguous")
    host.check(lying((4, 1), (16, 7)), "x", (4, 1), BF16, CPU, "rows")  # a stride that is never taken
    host.check(torch.zeros(3), "x", (3,), (torch.bfloat16, torch.float32), CPU)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_number_may_have_any_rank(host: ModuleType, shape: tuple[int, ...]) -> None:
    host.check(torch.zeros(shape).bfloat16(), "x", (), BF16, CPU, "contiguous")


@pytest.mark.parametrize("shape", [(2,), (0,), (1, 2)])
def test_one_number_is_neither_none_nor_several(host: ModuleType, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected \(\)"):
        host.check(torch.zeros(shape).bfloat16(), "x", (), BF16, CPU)


def test_several_types_are_all_named(host: ModuleType) -> None:
    with pytest.raises(TypeError, match="x: torch.int8, expected torch.bfloat16 or torch.float32"):
        host.check(torch.zeros(3, dtype=torch.int8), "x", (3,), (torch.bfloat16, torch.float32), CPU)


def test_what_is_on_no_gpu_is_refused(host: ModuleType) -> None:
    with pytest.raises(ValueError, match="x: on cpu, expected a CUDA device"):
        host.on_cuda(torch.zeros(1), "x")
    with pytest.raises(TypeError, match="x: NoneType, expected a tensor"):
        host.on_cuda(None, "x")


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf")])
def test_a_number_that_must_be_positive(host: ModuleType, value: float) -> None:
    with pytest.raises(ValueError, match=f"scale: {value}, expected a positive number"):
        host.positive(value, "scale")
    assert host.positive(0.5, "scale") == 0.5 and host.positive(2, "scale") == 2.0


NO_NUMBERS = ["x", "0.5", None, True, [1.0], 1j, torch.tensor(0.5)]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_number_is_named(host: ModuleType, value: Any) -> None:
    for check in (host.positive, host.number):
        with pytest.raises(TypeError, match=f"scale: {type(value).__name__}, expected a number"):
            check(value, "scale")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_number_is_finite(host: ModuleType, value: float) -> None:
    with pytest.raises(ValueError, match=f"eps: {value}, expected a finite number"):
        host.number(value, "eps")
    assert [host.number(x, "eps") for x in (0, 1e-5, -2)] == [0.0, 1e-5, -2.0]


@pytest.mark.parametrize("value", ["1", 1.5, None, [1]], ids=repr)
def test_what_is_no_integer_is_named(host: ModuleType, value: Any) -> None:
    with pytest.raises(TypeError, match=f"seed: {type(value).__name__}, expected an integer"):
        host.whole(value, "seed")


@pytest.mark.parametrize("value", [-1, 2**31, 2**70])
def test_an_integer_fits_into_31_bits(host: ModuleType, value: int) -> None:
    with pytest.raises(ValueError, match=f"seed: {value}, expected 0 to "):
        host.whole(value, "seed")
    assert [host.whole(x, "seed") for x in (0, 7, 2**31 - 1, torch.tensor(3))] == [0, 7, 2**31 - 1, 3]


def test_a_config_is_an_entry_of_the_table_itself(host: ModuleType) -> None:
    import triton

    table = [triton.Config({"BLOCK": size}) for size in (1, 2)]
    assert host.config_of(None, table) is None and host.config_of(table[1], table) is table[1]
    assert [host.index_of(x, table) for x in (None, *table)] == [-1, 0, 1]
    words = "expected an entry of this module's CONFIGS itself, or None"
    with pytest.raises(ValueError, match=f"config: Config, {words}"):
        host.config_of(triton.Config({"BLOCK": 1}), table)
    for value in (0, 1, False, "", []):
        with pytest.raises(TypeError, match=f"config: {type(value).__name__}, {words}"):
            host.config_of(value, table)


@pytest.mark.parametrize(
    ("strides", "fine"),
    [
        ((8, 1), True),
        ((9, 1), True),
        ((1, 4), True),
        ((0, 1), False),
        ((8, 0), False),
        ((7, 1), False),
        ((1, 1), False),
    ],
)
def test_elements_of_a_result_have_memory_of_their_own(host: ModuleType, strides: tuple[int, int], fine: bool) -> None:
    tensor = lying((4, 8), strides)
    assert fine == (len({i * strides[0] + j * strides[1] for i in range(4) for j in range(8)}) == 32)
    if fine:
        host.writable(tensor, "out")
    else:
        with pytest.raises(ValueError, match="out: strides .*; elements of a result may not share memory"):
            host.writable(tensor, "out")


def addresses(tensor: Any) -> set[int]:
    """Every byte of a tensor."""
    offsets = torch.zeros(tensor.shape, dtype=torch.int64)
    for axis, step in enumerate(tensor.stride()):
        view = [1] * tensor.dim()
        view[axis] = -1
        offsets = offsets + (torch.arange(tensor.shape[axis]) * step).view(view)
    first = offsets.flatten() * tensor.element_size() + tensor.data_ptr()
    return {int(x) + byte for x in first for byte in range(tensor.element_size())}


def test_tensors_that_share_memory_are_found_and_neighbours_are_not(host: ModuleType) -> None:
    """Rows, columns and heads of one tensor, against the sets of their bytes."""
    qkv = torch.zeros(2, 6, 3, 4, 8)
    wide = torch.zeros(6, 64)
    parts = [qkv[:, :, i] for i in range(3)] + [qkv[:, :, i].transpose(1, 2) for i in range(3)]
    parts += [wide[:, 8 * i : 8 * i + 16] for i in range(6)] + [wide[i : i + 2] for i in range(5)] + [wide.T, qkv[:0]]
    parts += [wide[:1, :8].expand(6, 8), wide[0, 5:9], wide.view(torch.bfloat16)[:, 14:20]]
    seen = set()
    for one in parts:
        for other in parts:
            found = host.overlap(one, other)
            assert found == bool(addresses(one) & addresses(other))
            seen.add(found)
    assert seen == {True, False}


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (
            lying((64, 111), (111, 1)),
            r"x: stride of 111 .* is 222 bytes; .* of 16; torch.nn.functional.pad\(x, \(0, 1\)\)\[..., :111\] has",
        ),
        (lying((1, 3, 5, 8), (7, 660, 8, 1)), "x: stride of 660 elements along dimension 1 is 1320 bytes"),
        (lying((4, 8), (0, 1)), "x: stride of 0 elements along dimension 0 is 0 bytes"),
        (lying((8, 64), (1, 8)), "x: stride 8 where TMA needs 1; do so"),
        (
            lying((8, 8), (8, 1)).flatten()[1:57].view(7, 8),
            r"x: data_ptr\(\) is 2 bytes past a multiple of 16; TMA needs",
        ),
    ],
)
def test_what_tma_cannot_address_is_named_with_tensor_stride_and_rule(
    host: ModuleType, tensor: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        host.describe(tensor, "x", [8, 8], "; do so")


@pytest.mark.parametrize("stride", [0, 1, 1111])
def test_the_stride_of_a_single_row_does_not_matter(host: ModuleType, stride: int) -> None:
    described = host.describe(lying((1, 1111), (stride, 1)), "x", [64, 64])
    assert (described.shape, described.strides) == ([1, 1111], [1112, 1])


def test_a_tensor_is_described_as_it_lies(host: ModuleType) -> None:
    described = host.describe(lying((2, 3, 10, 128), (4080, 136, 408, 1)), "x", (1, 1, 64, 128))
    assert (described.shape, described.strides) == ([2, 3, 10, 128], [4080, 136, 408, 1])
    assert described.block_shape == [1, 1, 64, 128]


@pytest.mark.parametrize(
    ("columns", "dtype", "stride"), [(129, "bfloat16", 136), (129, "float32", 132), (128, "int8", 128)]
)
def test_rows_that_are_allocated_are_whole_chunks_of_16_bytes(
    host: ModuleType, columns: int, dtype: str, stride: int
) -> None:
    made = host.empty_rows(torch.empty(0), 3, columns, getattr(torch, dtype))
    assert (made.shape, made.stride(), made.dtype) == ((3, columns), (stride, 1), getattr(torch, dtype))
    assert made.untyped_storage().nbytes() == 3 * stride * made.element_size()


def test_what_is_known_does_not_grow_without_end(host: ModuleType) -> None:
    known: dict[int, int] = {}
    for i in range(3 * host.MOST):
        assert host.keep(known, i, -i) == -i and known[i] == -i
        assert len(known) <= host.MOST


def test_who_comes_second_gets_what_the_first_has_kept(host: ModuleType) -> None:
    known: dict[str, int] = {}
    assert [host.keep(known, "x", 1), host.keep(known, "x", 2)] == [1, 1]


def test_the_tuned_config_is_picked_and_without_one_that_of_the_least_clocks(host: ModuleType) -> None:
    def clocks(config: str, m: int, n: int, sms: int) -> int:
        return {"a": m, "b": n, "c": sms}[config]

    assert host.pick("abc", {(3, 4): 2}, clocks, (3, 4), 132) == "c"
    assert host.pick("abc", {(4, 4): 2}, clocks, (3, 4), 132) == "a"  # no shape near it
    assert host.pick("abc", {(4, 4): 2}, clocks, (3, 5), 132) == "a"
    assert host.pick("abc", {}, clocks, (5, 4), 2) == "c"
    assert host.pick("abc", {(5, 6): 0}, lambda *_: math.inf if _[0] == "a" else 1, (5, 6), 2) == "b"
    assert host.fastest("abc", {(3, 4): 2}, [3, 1, 2], (3, 4)) == "c"
    assert host.fastest("abc", {(4, 4): 2}, [3, 1, 2], (3, 4)) == "b"


def test_what_torch_does_not_say_of_a_device_is_none(host: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"name": "X", "multi_processor_count": 78, "clock_rate": 1755000, "memory_clock_rate": 2619000}
    told |= {"memory_bus_width": 5120, "L2_cache_size": 50 << 20}
    for given, expected in (
        (told, ("X", 78, 1.755, 3352320.0, 50 << 20)),
        ({"multi_processor_count": 3}, ("", 3, None, None, None)),
    ):
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index, given=given: SimpleNamespace(**given))
        host.gpu_of.cache_clear()
        assert tuple(host.gpu_of(0)) == expected


def test_results_that_nobody_gave_are_made(host: ModuleType) -> None:
    x, y = torch.zeros(1), torch.zeros(2)
    assert host.missing(("x",), x, (None,)) == {"x": x}
    assert list(host.missing(("x", "y"), (x, y), (y, None))) == ["y"]


def test_an_integer_that_is_no_float_is_infinite(host: ModuleType) -> None:
    for value, shown in ((10**400, "inf"), (-(10**400), "-inf")):
        with pytest.raises(ValueError, match=f"eps: {shown}, expected a finite number"):
            host.number(value, "eps")
        with pytest.raises(ValueError, match=f"scale: {shown}, expected a positive number"):
            host.positive(value, "scale")
