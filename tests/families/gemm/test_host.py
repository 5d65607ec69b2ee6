"""What a generated host function refuses, and in which words. Runs on a CPU: nothing is launched."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.cudalike import CudaLike  # noqa: E402
from tlxgen.families.gemm.model import Gpu  # noqa: E402
from tlxgen.loading import load_file  # noqa: E402
from tlxgen.sim import Session, load_module  # noqa: E402

GENERATED = Path(__file__).resolve().parents[3] / "generated"


@pytest.fixture(scope="module")
def gemm() -> ModuleType:
    return load_file(GENERATED / "hopper_gemm" / "hopper_gemm_cooperative.py")


def matrix(rows: int, columns: int, stride: int) -> torch.Tensor:
    return torch.zeros(rows * stride, dtype=torch.bfloat16).as_strided((rows, columns), (stride, 1))


def test_a_leading_stride_that_tma_cannot_address_is_named_with_tensor_bytes_and_rule(gemm: ModuleType) -> None:
    words = (
        r"b: stride of 1111 elements along dimension 0 is 2222 bytes; TMA needs a positive multiple of 16; "
        r"torch.nn.functional.pad\(b, \(0, 1\)\)\[..., :1111\] has such strides"
    )
    with pytest.raises(ValueError, match=words):
        gemm.describe(matrix(64, 1111, 1111), "b", [64, 128])


def test_an_operand_of_the_other_order_is_refused_with_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row-major where the kernel reads columns, and the other way round."""
    module = load_file(GENERATED / "hopper_gemm_layouts" / "hopper_gemm_layouts_col_col_replicate2_separate.py")
    monkeypatch.setattr(module, "sm_count", lambda index: 132)
    monkeypatch.setattr(module, "gpu_of", lambda index: Gpu("", 132))
    a, b = (matrix(64, 64, 64).half().as_subclass(CudaLike) for _ in range(2))
    call = module.prepare(a, b, None, None)
    mends = "stride 64 where TMA needs 1; this kernel takes {0} column-major: {0}.T.contiguous().T is"
    for (name, view), tensor in zip(call.launches[0].described, (a, b), strict=False):
        with pytest.raises(ValueError, match=re.escape(f"{name}: {mends.format(name)}")):
            view(tensor)
        assert view(tensor.T.contiguous().T).shape == [64, 64]


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
    made = gemm.outputs(matrix(3, 64, 64), matrix(64, 129, 136))
    assert (made.shape, made.stride(), made.dtype) == ((3, 129), (136, 1), torch.bfloat16)


def test_operands_on_a_cpu_are_refused(gemm: ModuleType) -> None:
    with pytest.raises(ValueError, match="a: on cpu, expected a CUDA device"):
        gemm.hopper_gemm(matrix(8, 8, 8), matrix(8, 8, 8))


@pytest.mark.parametrize("shapes", [((8, 8), (16, 8)), ((8,), (8, 8)), ((2, 8, 8), (8, 8))])
def test_shapes_that_do_not_multiply_are_refused(gemm: ModuleType, shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = (torch.zeros(shape, dtype=torch.bfloat16).as_subclass(CudaLike) for shape in shapes)
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
    return load_file(GENERATED / "blackwell_mx_gemm_fp4" / "blackwell_mx_gemm_fp4_e4m3_e2m1_m1_smem.py")


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
        mixed.describe_padded(base[start:].as_strided((64, 64), (stride, 1)), "b", [64, 64], "")


def test_packed_operands_must_agree_about_k(mixed: ModuleType) -> None:
    a, scale = torch.zeros(8, 128, dtype=torch.float8_e4m3fn), torch.zeros(1, 1, 1, 2, 256, dtype=torch.uint8)
    a, b, scale = (x.as_subclass(CudaLike) for x in (a, torch.zeros(128, 8, dtype=torch.uint8), scale))
    with pytest.raises(ValueError, match=r"expected \(M, K\) @ \(K / 2, N\)"):
        mixed.blackwell_mx_gemm_fp4(a, b, scale, scale)


def test_no_config_loses_to_another_for_want_of_being_considered(gemm: ModuleType) -> None:
    chosen = {
        gemm.CONFIGS.index(gemm.pick_config(m, n, 4096, Gpu("", 132))) for m in (64, 512, 4096) for n in (64, 512, 4096)
    }
    assert len(chosen) > 1, "every shape gets the same config"


@pytest.mark.parametrize("spec", ["hopper_gemm_tail", "hopper_gemm_helped"])
@pytest.mark.parametrize("sms", [33, 66, 131, 132])
def test_words_begin_where_triton_takes_addresses_to_be_aligned(
    spec: str, monkeypatch: pytest.MonkeyPatch, sms: int
) -> None:
    """A kernel is compiled for the alignment of the first that it sees."""
    tail = load_file(sorted((GENERATED / spec).glob("*pingpong*no_ops*.py"))[0])
    monkeypatch.setattr(tail, "sm_count", lambda device: sms)
    monkeypatch.setattr(tail, "gpu_of", lambda device: Gpu("", sms))
    a, b = (torch.zeros(4096, 4096, dtype=torch.bfloat16).as_subclass(CudaLike) for _ in range(2))
    _, words = tail.prepare(a, b, None, None).workspace
    assert words >= sms
    monkeypatch.setattr(torch.cuda, "synchronize", lambda index: None)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    zeros = sys.modules[tail.Call.__module__].zeros
    assert [zeros(torch.device("cpu"), words).data_ptr() % 16 for _ in range(3)] == [0, 0, 0]


def test_more_of_a_given_out_than_its_shape_is_checked(gemm: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemm, "sm_count", lambda index: 132)
    monkeypatch.setattr(gemm, "gpu_of", lambda index: Gpu("", 132))
    a, b = matrix(64, 64, 64).as_subclass(CudaLike), matrix(64, 60, 64).as_subclass(CudaLike)
    with pytest.raises(ValueError, match="out: rows of 60 elements are 120 bytes; TMA stores chunks of 16 bytes"):
        gemm.prepare(a, b, matrix(64, 60, 64).as_subclass(CudaLike), None)
    columns = torch.zeros(60, 64, dtype=torch.bfloat16).T.as_subclass(CudaLike)
    with pytest.raises(ValueError, match="out: stride 64 along the last dimension; the kernel needs 1"):
        gemm.prepare(a, b, columns, None)


def test_only_an_entry_of_the_table_is_taken_for_a_config(gemm: ModuleType) -> None:
    a, b = (matrix(64, 64, 64).as_subclass(CudaLike) for _ in range(2))
    alike = triton.Config(gemm.CONFIGS[0].kwargs, num_warps=4, num_stages=1)
    with pytest.raises(ValueError, match="config: Config, expected an entry of this module's CONFIGS itself, or None"):
        gemm.prepare(a, b, None, alike)


@pytest.mark.parametrize("shape", [(0, 64, 64), (64, 0, 64), (64, 64, 0)])
def test_an_empty_product_is_zeros_and_launches_nothing(gemm: ModuleType, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    with Session("eager", 0).active() as session:
        a, b = (torch.zeros(s, dtype=torch.bfloat16, device="cuda") for s in ((m, k), (k, n)))
        c = gemm.hopper_gemm(a, b)
    assert c.shape == (m, n) and not c.any() and session.launches == 0


EPILOGUES = {
    "hopper_gemm_epilogue_relu_residual_subtiles2_tma": lambda t: t["residual"].clamp(min=0) * 0 + t["residual"],
    "hopper_gemm_epilogue_residual_silu_bias_subtiles2_direct": lambda t: (
        torch.nn.functional.silu(t["residual"]) + t["bias"]
    ),
}


@pytest.mark.parametrize("name", EPILOGUES)
@pytest.mark.parametrize("given", [False, True], ids=["allocated", "given"])
def test_the_epilogue_of_no_product_is_that_of_zeros(name: str, given: bool) -> None:
    """As torch's: addmm of an empty K gives what is added."""
    module = load_module(GENERATED / "hopper_gemm_epilogue" / f"{name}.py")
    m, n = 40, 72
    torch.manual_seed(0)
    with Session("eager", 0).active() as session:
        a, b = (torch.zeros(s, dtype=torch.bfloat16, device="cuda") for s in ((m, 0), (0, n)))
        more = {"residual": torch.randn(m, n, device="cuda")}
        if "bias" in name:
            more["bias"] = torch.randn(n, device="cuda")
        out = torch.full((m, n), float("nan"), device="cuda") if given else None
        for _ in range(2):
            c = module.hopper_gemm_epilogue(a, b, **more, out=out)
            assert not given or c is out
    assert session.launches == 2
    exact = EPILOGUES[name]({key: x.as_subclass(torch.Tensor).double() for key, x in more.items()})
    assert torch.allclose(c.as_subclass(torch.Tensor).double(), exact, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("shape", [(0, 8, 0), (8, 0, 0), (0, 8, 64), (8, 0, 64)])
def test_an_epilogue_of_nothing_is_nothing(shape: tuple[int, int, int]) -> None:
    module = load_module(GENERATED / "hopper_gemm_epilogue" / "hopper_gemm_epilogue_relu_residual_subtiles2_tma.py")
    m, n, k = shape
    with Session("eager", 0).active() as session:
        a, b, residual = (torch.zeros(s, dtype=torch.bfloat16, device="cuda") for s in ((m, k), (k, n), (m, n)))
        c = module.hopper_gemm_epilogue(a, b, residual=residual)
        with pytest.raises(TypeError, match="config: int"):
            module.hopper_gemm_epilogue(a, b, residual=residual, config=1)
    assert c.shape == (m, n) and session.launches == 0


def square(side: int = 64) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """a, b, and one tensor of three times as many columns."""
    a, b = (torch.ones(side, side, dtype=torch.bfloat16, device="cuda") for _ in range(2))
    return a, b, torch.zeros(side, 3 * side, dtype=torch.bfloat16, device="cuda")


def test_a_result_that_shares_memory_with_an_operand_is_refused_and_one_beside_it_is_not(gemm: ModuleType) -> None:
    """By memory, not by identity, for every address anew; columns of one tensor lie between one another."""
    with Session("eager", 0).active() as session:
        a, b, wide = square()
        columns = [wide[:, i : i + 64] for i in (0, 64, 128)]
        for _ in range(2):
            for out, words in ((a, "a"), (b, "b"), (a.view(64, 64), "a"), (b[:, :], "b")):
                with pytest.raises(ValueError, match=f"out: shares memory with {words}; a kernel writes the one as it"):
                    gemm.hopper_gemm(a, b, out=out)
        with pytest.raises(ValueError, match="out: shares memory with a"):
            gemm.hopper_gemm(wide[:, :64], b, out=wide[:, 32:96])
        assert session.launches == 0
        assert gemm.hopper_gemm(columns[0], columns[1], out=columns[2]) is columns[2]
        assert session.launches == 1
        with pytest.raises(ValueError, match="out: shares memory with b"):
            gemm.hopper_gemm(columns[0], columns[1], out=columns[1])
        assert session.launches == 1


WRONG: dict[str, tuple[dict[str, object], type[Exception], str]] = {
    "on the CPU": ({"b": torch.ones(64, 64, dtype=torch.bfloat16)}, ValueError, "b: on cpu, expected a CUDA device"),
    "a list": ({"a": [[1.0]]}, TypeError, "a: list, expected a tensor"),
    "an array": ({"a": np.ones((64, 64))}, TypeError, "a: ndarray, expected a tensor"),
    "nothing": ({"b": None}, TypeError, "b: NoneType, expected a tensor"),
    "no result": ({"out": [1]}, TypeError, "out: list, expected a tensor"),
    "a number": ({"out": 0}, TypeError, "out: int, expected a tensor"),
    "no config": ({"config": 1}, TypeError, "config: int, expected an entry of this module's CONFIGS"),
    "0": ({"config": 0}, TypeError, "config: int, expected an entry of this module's CONFIGS"),
}


@pytest.mark.parametrize("which", WRONG)
def test_what_is_wrong_is_named_and_nothing_is_launched(gemm: ModuleType, which: str) -> None:
    other, error, words = WRONG[which]
    with Session("eager", 0).active() as session:
        a, b, _ = square()
        with pytest.raises(error, match=words):
            gemm.hopper_gemm(**{"a": a, "b": b, **other})
    assert session.launches == 0


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("a", lambda x: x.float(), "a: torch.float32, expected torch.bfloat16"),
        ("b", lambda x: x[:1].expand(64, 64), "b: stride of 0 elements along dimension 0 is 0 bytes"),
        ("b", lambda x: x[:, :1].expand(64, 64), "b: stride 0 where TMA needs 1; this kernel takes b row-major"),
        ("out", lambda x: x[:1].expand(64, 64), "out: strides .*; elements of a result may not share memory"),
        ("out", lambda x: x.T, "out: stride 64 along the last dimension; the kernel needs 1"),
        ("out", lambda x: x[:32], r"out: shape \(32, 64\), expected \(64, 64\)"),
    ],
)
def test_how_a_tensor_lies_is_refused_by_its_name_and_the_rule(
    gemm: ModuleType, name: str, change: Callable[[torch.Tensor], torch.Tensor], words: str
) -> None:
    with Session("eager", 0).active() as session:
        a, b, wide = square()
        given = {"a": a, "b": b, "out": wide[:, :64].contiguous()}
        with pytest.raises((TypeError, ValueError), match=words):
            gemm.hopper_gemm(**{**given, name: change(given[name])})
    assert session.launches == 0


def test_the_call_that_an_error_names_makes_what_is_wanted(gemm: ModuleType) -> None:
    """For each order, of operands that lie otherwise and of rows that end off 16 bytes."""
    layouts = load_module(GENERATED / "hopper_gemm_layouts" / "hopper_gemm_layouts_col_col_replicate2_separate.py")
    torch.manual_seed(0)
    for module, kind in ((gemm, torch.bfloat16), (layouts, torch.float16)):
        function = getattr(module, "hopper_gemm", None) or module.hopper_gemm_layouts
        for m, n, k in ((64, 64, 64), (61, 67, 59)):
            with Session("eager", 0).active():
                a, b = torch.randn(m, k, device="cuda").to(kind), torch.randn(k, n, device="cuda").to(kind)
                given = {"a": a, "b": b}
                for _ in range(8):
                    try:
                        c = function(**given)
                        break
                    except ValueError as error:
                        name, call = re.match(
                            r"(\w): .*; (?:this kernel takes . .*-major: )?(.*) (?:is|has such strides)$", str(error)
                        ).groups()  # type: ignore[union-attr]
                        given[name] = eval(call, {"torch": torch, **given})
                plain = [x.as_subclass(torch.Tensor).double() for x in (a, b, c)]
                assert torch.allclose(plain[0] @ plain[1], plain[2], rtol=2e-2, atol=2e-1)
