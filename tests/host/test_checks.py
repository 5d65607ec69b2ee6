"""What is refused, in which words, and how tensors are described to TMA."""

from __future__ import annotations

from types import ModuleType
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


@pytest.mark.parametrize("value", [0, -1.0, float("nan")])
def test_a_number_that_must_be_positive(host: ModuleType, value: float) -> None:
    with pytest.raises(ValueError, match=f"scale: {value}, expected a positive number"):
        host.positive(value, "scale")
    assert host.positive(0.5, "scale") == 0.5


def test_a_config_is_an_entry_of_the_table_itself(host: ModuleType) -> None:
    table = [{"BLOCK": 1}, {"BLOCK": 2}]
    assert host.config_of(None, table) is None and host.config_of(table[1], table) is table[1]
    with pytest.raises(ValueError, match="config: expected an entry of this module's CONFIGS, or None"):
        host.config_of({"BLOCK": 1}, table)


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (
            lying((64, 111), (111, 1)),
            "x: stride of 111 elements along dimension 0 is 222 bytes; .* multiple of 16; do so",
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

    assert host.shape_class((1, 2, 3, 4, 5, 1000)) == (1, 2, 4, 4, 8, 1024)
    assert host.pick("abc", {(4, 4): 2}, clocks, (3, 4), 132) == "c"
    assert host.pick("abc", {(4, 4): 2}, clocks, (3, 5), 132) == "a"
    assert host.pick("abc", {}, clocks, (5, 4), 2) == "c"


def test_results_that_nobody_gave_are_made(host: ModuleType) -> None:
    x, y = torch.zeros(1), torch.zeros(2)
    assert host.missing(("x",), x, (None,)) == {"x": x}
    assert list(host.missing(("x", "y"), (x, y), (y, None))) == ["y"]
