"""Wrong arguments of what people import of the packages: TypeError or ValueError that names the argument and the rule.

Nothing is launched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton.language.extra.tlx")

from tlxgen.sim import Session, load_module  # noqa: E402

GENERATED = Path(__file__).parents[2] / "generated"
bf16, fp16, fp32, e4m3, u8 = torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn, torch.uint8


@cache
def package(name: str) -> ModuleType:
    """What `import` of the package of a function gives."""
    return load_module(GENERATED / name.replace("_residual_silu_bias", "") / "__init__.py")


@pytest.fixture(scope="module", autouse=True)
def session() -> Iterator[Session]:
    with Session("eager", 0).active() as session:
        yield session


def t(*shape: int, dtype: Any = bf16) -> Any:
    return torch.zeros(shape, device="cuda").to(dtype)


def on_cpu(*shape: int, dtype: Any = bf16) -> Any:
    return torch.zeros(shape, dtype=dtype)


def matrices() -> dict[str, Any]:
    return {"a": t(64, 64), "b": t(64, 64)}


def rows() -> dict[str, Any]:
    return {"x": t(4, 72), "weight": t(72), "bias": t(72)}


def row_gradients() -> dict[str, Any]:
    return {"dy": t(4, 72), "x": t(4, 72), "weight": t(72), "mean": t(4, dtype=fp32), "rstd": t(4, dtype=fp32)}


def heads(**given: int) -> Any:
    extents = {"b": 1, "h": 2, "n": 64, "d": 128, **given}
    return t(*extents.values())


def attended() -> dict[str, Any]:
    return {name: heads() for name in "qkv"}


def head_gradients() -> dict[str, Any]:
    return {**attended(), "out": heads(), "lse": t(1, 2, 64, dtype=fp32), "dout": heads()}


EPILOGUE = "hopper_gemm_epilogue_residual_silu_bias"
GOOD: dict[str, Callable[[], dict[str, Any]]] = {
    "hopper_gemm": matrices,
    EPILOGUE: lambda: {**matrices(), "bias": t(64), "residual": t(64, 64)},
    "hopper_gemm_fp8": lambda: {
        "a": t(64, 64, dtype=e4m3),
        "b": t(64, 64, dtype=e4m3).T,
        "scale_a": t(64, dtype=fp32),
        "scale_b": t(64, dtype=fp32),
    },
    "hopper_layer_norm": rows,
    "hopper_layer_norm_bwd": row_gradients,
    "hopper_attention_fwd": attended,
    "hopper_attention_bwd": head_gradients,
}
Changed = Callable[[dict[str, Any]], dict[str, Any]]
# (function, what it is given instead or besides, error, words)
WRONG: list[tuple[str, Changed, type[Exception], str]] = [
    ("hopper_gemm", lambda g: {"a": t(64, 64, dtype=torch.complex64)}, TypeError, "a: torch.complex64, expected"),
    ("hopper_gemm", lambda g: {"a": t(64, 64, dtype=torch.bool)}, TypeError, "a: torch.bool, expected torch.bfloat16"),
    ("hopper_gemm", lambda g: {"a": t(64)}, ValueError, "a (64,) @ b (64, 64): expected (M, K) @ (K, N)"),
    ("hopper_gemm", lambda g: {"a": t()}, ValueError, "a () @ b (64, 64): expected (M, K) @ (K, N)"),
    ("hopper_gemm", lambda g: {"b": on_cpu(64, 64)}, ValueError, "b: on cpu, expected a CUDA device"),
    ("hopper_gemm", lambda g: {"a": t(64, 64).to("meta")}, ValueError, "a: on meta, expected a CUDA device"),
    ("hopper_gemm", lambda g: {"out": on_cpu(64, 64)}, ValueError, "out: on cpu, expected cuda:0"),
    ("hopper_gemm", lambda g: {"out": on_cpu(64, 64).to_sparse()}, TypeError, "out: a tensor of layout torch.sparse_c"),
    ("hopper_gemm", lambda g: {"out": [t(64, 64)]}, TypeError, "out: list, expected a tensor"),
    ("hopper_gemm", lambda g: {"out": g["b"]}, ValueError, "out: shares memory with b"),
    ("hopper_gemm", lambda g: {"out": t(1, 64).expand(64, 64)}, ValueError, "out: strides (0, 1); elements of a resul"),
    ("hopper_gemm", lambda g: {"a": t(64, 128)[:, ::2]}, ValueError, "a: stride 2 where TMA needs 1"),
    ("hopper_gemm", lambda g: {"a": t(1, 64).expand(64, 64)}, ValueError, "a: stride of 0 elements along dimension 0"),
    ("hopper_gemm", lambda g: {"a": t(0, 64), "out": on_cpu(0, 64)}, ValueError, "out: on cpu, expected cuda:0"),
    ("hopper_gemm", lambda g: {"a": t(0, 64, dtype=fp32)}, TypeError, "a: torch.float32, expected torch.bfloat16"),
    ("hopper_gemm", lambda g: {"a": t(64, 0), "b": t(0, 64), "out": t(64, 72)}, ValueError, "out: shape (64, 72), exp"),
    ("hopper_gemm", lambda g: {"bias": t(64)}, TypeError, "unexpected keyword argument 'bias'"),
    (EPILOGUE, lambda g: {"bias": 1.0}, TypeError, "bias: float, expected a tensor"),
    (EPILOGUE, lambda g: {"bias": t(1, 64)}, ValueError, "bias: shape (1, 64), expected (64,)"),
    (EPILOGUE, lambda g: {"bias": t(64, dtype=torch.float64)}, TypeError, "bias: torch.float64, expected"),
    (EPILOGUE, lambda g: {"bias": t(1).expand(64)}, ValueError, "bias: strides (0,); the kernel needs"),
    (EPILOGUE, lambda g: {"residual": t(64)}, ValueError, "residual: shape (64,), expected (64, 64)"),
    (EPILOGUE, lambda g: {"residual": t(64, 64).T}, ValueError, "residual: stride 64 along the last"),
    (EPILOGUE, lambda g: {"residual": None}, TypeError, "residual: NoneType, expected a tensor"),
    ("hopper_gemm_fp8", lambda g: {"scale_a": 1.0}, TypeError, "scale_a: float, expected a tensor"),
    ("hopper_gemm_fp8", lambda g: {"scale_b": t(64)}, TypeError, "scale_b: torch.bfloat16, expected torch.float32"),
    ("hopper_gemm_fp8", lambda g: {"scale_b": t(64, 1, dtype=fp32)}, ValueError, "scale_b: shape (64, 1), expected (6"),
    ("hopper_gemm_fp8", lambda g: {"b": t(64, 64, dtype=e4m3)}, ValueError, "this kernel takes b column-major"),
    ("hopper_layer_norm", lambda g: {"eps": 10**400}, ValueError, "eps: inf, expected a finite number"),
    ("hopper_layer_norm", lambda g: {"eps": 1j}, TypeError, "eps: complex, expected a number"),
    ("hopper_layer_norm", lambda g: {"eps": torch.tensor(1e-5)}, TypeError, "eps: Tensor, expected a number"),
    ("hopper_layer_norm", lambda g: {"weight": None}, TypeError, "weight: NoneType, expected a tensor"),
    ("hopper_layer_norm", lambda g: {"weight": t(144)[::2]}, ValueError, "weight: strides (2,); the kernel needs a co"),
    ("hopper_layer_norm", lambda g: {"bias": t(1, 72)}, ValueError, "bias: shape (1, 72), expected (72,)"),
    ("hopper_layer_norm", lambda g: {"x": t(4, 1).expand(4, 72)}, ValueError, "x: stride 0 along the last dimension"),
    ("hopper_layer_norm", lambda g: {"mean": t(4)}, TypeError, "mean: torch.bfloat16, expected torch.float32"),
    ("hopper_layer_norm", lambda g: {"rstd": on_cpu(4, dtype=fp32)}, ValueError, "rstd: on cpu, expected cuda:0"),
    ("hopper_layer_norm", lambda g: {"mean": t(1, dtype=fp32).expand(4)}, ValueError, "mean: strides (0,)"),
    ("hopper_layer_norm", lambda g: {"x": t(1, 72), "out": g["bias"].view(1, 72)}, ValueError, "out: shares memory wi"),
    ("hopper_layer_norm_bwd", lambda g: {"dy": t(2, 2, 72)}, ValueError, "dy: shape (2, 2, 72), expected (4, 72)"),
    ("hopper_layer_norm_bwd", lambda g: {"mean": on_cpu(4, dtype=fp32)}, ValueError, "mean: on cpu, expected cuda:0"),
    ("hopper_layer_norm_bwd", lambda g: {"rstd": t(8, dtype=fp32)[::2]}, ValueError, "rstd: strides (2,)"),
    ("hopper_layer_norm_bwd", lambda g: {"dx": g["dy"]}, ValueError, "dx: shares memory with dy"),
    ("hopper_layer_norm_bwd", lambda g: {"dweight": t(71)}, ValueError, "dweight: shape (71,), expected (72,)"),
    ("hopper_layer_norm_bwd", lambda g: {"dy": t(1, 1).expand(4, 72)}, ValueError, "dy: stride 0 along the last"),
    ("hopper_layer_norm_bwd", lambda g: {"config": 1}, TypeError, "config: int, expected an entry of this module's"),
    ("hopper_attention_fwd", lambda g: {"scale": 10**400}, ValueError, "scale: inf, expected a positive number"),
    ("hopper_attention_fwd", lambda g: {"scale": torch.tensor(1.0)}, TypeError, "scale: Tensor, expected a number"),
    ("hopper_attention_fwd", lambda g: {"q": t(1, 1, 2, 64, 128)}, ValueError, "expected (B, H, N, D)"),
    ("hopper_attention_fwd", lambda g: {"q": heads(h=3)}, ValueError, "3 heads of q, 2 of k and v: the first must be"),
    ("hopper_attention_fwd", lambda g: {"k": heads(h=0), "v": heads(h=0)}, ValueError, "2 heads of q, 0 of k and v"),
    ("hopper_attention_fwd", lambda g: {"v": heads(b=2)}, ValueError, "v: shape (2, 2, 64, 128), expected (1, 2, 64,"),
    ("hopper_attention_fwd", lambda g: {"q": heads(d=0)}, ValueError, "q: shape (1, 2, 64, 0), expected"),
    ("hopper_attention_fwd", lambda g: {"q": t(1, 2, 128, 64).mT}, ValueError, "q: stride 64 where TMA needs 1"),
    ("hopper_attention_fwd", lambda g: {"k": heads(n=1).expand(1, 2, 64, 128)}, ValueError, "k: stride of 0 elements"),
    ("hopper_attention_fwd", lambda g: {"q": t(2 * 64 * 128 + 1)[1:].view(1, 2, 64, 128)}, ValueError, "q: data_ptr()"),
    ("hopper_attention_fwd", lambda g: {"lse": t(1, 2, 128, dtype=fp32)[..., ::2]}, ValueError, "lse: strides (256, 1"),
    ("hopper_attention_fwd", lambda g: {"out": g["v"]}, ValueError, "out: shares memory with v"),
    ("hopper_attention_fwd", lambda g: {"dropout_p": 0.5}, TypeError, "unexpected keyword argument 'dropout_p'"),
    ("hopper_attention_bwd", lambda g: {"lse": t(1, 2, 65, dtype=fp32)}, ValueError, "lse: shape (1, 2, 65), expected"),
    ("hopper_attention_bwd", lambda g: {"dout": t(1, 1, 1, 1).expand(1, 2, 64, 128)}, ValueError, "dout: stride 0"),
    ("hopper_attention_bwd", lambda g: {"dq": g["q"]}, ValueError, "dq: shares memory with q"),
    ("hopper_attention_bwd", lambda g: {"dv": heads().to(fp32)}, TypeError, "dv: torch.float32, expected torch.bfloat"),
    ("hopper_attention_bwd", lambda g: {"dout": None}, TypeError, "dout: NoneType, expected a tensor"),
]  # fmt: skip


def refused(session: Session, call: Callable[[], Any], error: type[Exception], words: str) -> None:
    before = session.launches
    with pytest.raises(error, match=re.escape(words)):
        call()
    assert session.launches == before


@pytest.mark.parametrize(("name", "changed", "error", "words"), WRONG, ids=[f"{n}, {w[:30]}" for n, _, _, w in WRONG])
def test_a_wrong_argument_is_named(
    session: Session, name: str, changed: Changed, error: type[Exception], words: str
) -> None:
    good = GOOD[name]()
    given = {**good, **changed(good)}
    refused(session, lambda: getattr(package(name), name)(**given), error, words)


@pytest.mark.parametrize("name", ["hopper_gemm", "hopper_layer_norm_bwd", "hopper_attention_fwd"])
def test_a_good_call_does_not_let_a_wrong_one_pass(session: Session, name: str) -> None:
    """What is known of a layout is known of a device."""
    function, good = getattr(package(name), name), GOOD[name]()
    function(**good)
    for argument, tensor in good.items():
        wrong = {**good, argument: on_cpu(*tensor.shape, dtype=tensor.dtype)}
        refused(session, lambda: function(**wrong), ValueError, f"{argument}: on cpu, expected")  # noqa: B023


def attend(*given: Any, **options: Any) -> Callable[[], Any]:
    backward, forward = package("hopper_attention_bwd"), package("hopper_attention_fwd")
    operator = backward.attention_causal(forward.hopper_attention_fwd_causal)
    return lambda: operator(*(given or (heads(), heads(), heads())), **{"is_causal": True, **options})


def normalise(*given: Any) -> Callable[[], Any]:
    module = load_module(GENERATED / "hopper_layer_norm_bwd" / "hopper_layer_norm_bwd.py")
    forward = load_module(GENERATED / "hopper_layer_norm" / "hopper_layer_norm_grid.py")
    return lambda: module.norm(forward.hopper_layer_norm)(*given)


OPERATORS: list[tuple[Callable[[], Callable[[], Any]], type[Exception], str]] = [
    (lambda: attend(is_causal=None), ValueError, "is_causal: None; these kernels are causal"),
    (lambda: attend(dropout_p=None), ValueError, "dropout_p: None; these kernels drop nothing"),
    (lambda: attend(attn_mask=t(64, 64)), ValueError, "attn_mask: expected None"),
    (lambda: attend(heads(h=4), heads(), heads()), ValueError, "that needs enable_gqa=True"),
    (lambda: attend(None, heads(), heads()), TypeError, "query: NoneType, expected a tensor"),
    (lambda: attend(heads(), [1.0], heads()), TypeError, "key: list, expected a tensor"),
    (lambda: attend(scale=float("nan")), ValueError, "scale: nan, expected a positive number"),
    (lambda: attend(on_cpu(1, 2, 64, 128), heads(), heads()), ValueError, "q: on cpu, expected a CUDA device"),
    (lambda: normalise(t(4, 72), 72, t(72), t(72)), TypeError, "normalized_shape: int, expected a tuple, or a list"),
    (lambda: normalise([1.0], (72,), t(72), t(72)), TypeError, "input: list, expected a tensor"),
    (lambda: normalise(t(4, 72), (4, 72), t(72), t(72)), ValueError, "normalized_shape: (4, 72); these kernels have"),
    (lambda: normalise(t(4, 72), (72,)), TypeError, "weight: NoneType, expected a tensor"),
    (lambda: lambda: package("blackwell_mx_gemm").pack_scales(None), TypeError, "scales: NoneType, expected a tensor"),
    (lambda: lambda: package("blackwell_mx_gemm").pack_scales(t(4, 4, dtype=fp32)), ValueError, "of a byte each"),
    (lambda: lambda: package("blackwell_mx_gemm").pack_scales(t(4, dtype=u8)), ValueError, "expected (rows, K / 32)"),
]


@pytest.mark.parametrize(("make", "error", "words"), OPERATORS, ids=[words for _, _, words in OPERATORS])
def test_a_wrong_argument_of_an_operator_is_named(
    session: Session, make: Callable[[], Callable[[], Any]], error: type[Exception], words: str
) -> None:
    refused(session, make(), error, words)


@pytest.mark.parametrize("forward", [None, 3, "x", dict, torch.nn.functional.scaled_dot_product_attention])
def test_what_is_no_host_function_is_no_forward(forward: Any) -> None:
    with pytest.raises(TypeError, match="forward: expected the host function of a generated module"):
        package("hopper_attention_bwd").attention_causal(forward)
