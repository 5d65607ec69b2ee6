"""Solutions for FlashInfer: they load in flashinfer-bench, and `run` computes what the definition's reference does."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

from tlxgen.errors import SpecError, TlxgenError
from tlxgen.export import Definition, read_definition, solution
from tlxgen.families import functions, kernels_of

torch = pytest.importorskip("torch")

ROOT = Path(__file__).resolve().parents[2]


def tensor(*shape: str, dtype: str = "bfloat16") -> dict[str, Any]:
    return {"shape": shape, "dtype": dtype}


GEMM = {
    "name": "gemm_n64_k128",
    "op_type": "gemm",
    "axes": {"M": {"type": "var"}, "N": {"type": "const", "value": 64}, "K": {"type": "const", "value": 128}},
    "inputs": {"A": tensor("M", "K"), "B": tensor("N", "K")},
    "outputs": {"C": tensor("M", "N")},
    "reference": "import torch\n\ndef run(A, B):\n    return torch.matmul(A, B.T)\n",
}
IN_FP32 = {**GEMM, "outputs": {"C": tensor("M", "N", dtype="float32")}}
RMS_NORM = {
    "name": "rmsnorm_h128",
    "op_type": "rmsnorm",
    "axes": {"batch_size": {"type": "var"}, "hidden_size": {"type": "const", "value": 128}},
    "inputs": {"hidden_states": tensor("batch_size", "hidden_size"), "weight": tensor("hidden_size")},
    "outputs": {"output": tensor("batch_size", "hidden_size")},
    "reference": """
import torch

def run(hidden_states, weight):
    EPS = 1e-3
    x = hidden_states.float()
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight.float()).bfloat16()
""",
}
ADD_RMS_NORM = {
    **RMS_NORM,
    "name": "fused_add_rmsnorm_h128",
    "inputs": {
        "hidden_states": tensor("batch_size", "hidden_size"),
        "residual": tensor("batch_size", "hidden_size"),
        "weight": tensor("hidden_size"),
    },
    "reference": """
import torch

def run(hidden_states, residual, weight):
    EPS = 1e-3
    x = hidden_states.float() + residual.float()
    return (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * weight.float()).bfloat16()
""",
}
RAGGED = {
    "name": "gqa_ragged_prefill_causal_h4_kv2_d128",
    "op_type": "gqa_ragged",
    "axes": {
        "total_q": {"type": "var"},
        "total_kv": {"type": "var"},
        "len_indptr": {"type": "var"},
        "num_qo_heads": {"type": "const", "value": 4},
        "num_kv_heads": {"type": "const", "value": 2},
        "head_dim": {"type": "const", "value": 128},
    },
    "inputs": {
        "q": tensor("total_q", "num_qo_heads", "head_dim"),
        "k": tensor("total_kv", "num_kv_heads", "head_dim"),
        "v": tensor("total_kv", "num_kv_heads", "head_dim"),
        "qo_indptr": tensor("len_indptr", dtype="int32"),
        "kv_indptr": tensor("len_indptr", dtype="int32"),
        "sm_scale": {"shape": None, "dtype": "float32"},
    },
    "outputs": {
        "output": tensor("total_q", "num_qo_heads", "head_dim"),
        "lse": tensor("total_q", "num_qo_heads", dtype="float32"),
    },
    "reference": """
import math
import torch

def run(q, k, v, qo_indptr, kv_indptr, sm_scale):
    out, lse = torch.zeros_like(q), torch.full(q.shape[:2], float("-inf"))
    for i in range(len(qo_indptr) - 1):
        (q0, q1), (k0, k1) = qo_indptr[i : i + 2].tolist(), kv_indptr[i : i + 2].tolist()
        for h in range(q.shape[1]):
            head = h // (q.shape[1] // k.shape[1])
            scores = q[q0:q1, h].float() @ k[k0:k1, head].float().T * sm_scale
            ahead = torch.arange(k1 - k0)[None] > torch.arange(q1 - q0)[:, None] + (k1 - k0) - (q1 - q0)
            scores[ahead] = float("-inf")
            lse[q0:q1, h] = torch.logsumexp(scores, -1) / math.log(2)
            out[q0:q1, h] = (torch.softmax(scores, -1) @ v[k0:k1, head].float()).to(q.dtype)
    return out, lse
""",
}


# What the generated functions compute, with their names and orders.
EAGER = {
    "hopper_linear": "def hopper_linear(a, b):\n    assert b.stride(0) == 1\n    return a @ b\n",
    "hopper_rms_norm": """
import torch

def hopper_rms_norm(x, weight, *, eps=1e-5):
    return torch.nn.functional.rms_norm(x.float(), x.shape[-1:], weight.float(), eps).bfloat16()
""",
    "hopper_rms_norm_residual": """
import torch

def hopper_rms_norm_residual(x, residual, weight, *, eps=1e-5):
    both = x.float() + residual.float()
    out = torch.nn.functional.rms_norm(both, x.shape[-1:], weight.float(), eps).bfloat16()
    return out, both.bfloat16(), None
""",
    "hopper_attention_fwd_masks": """
import torch

def hopper_attention_fwd_masks_packed_causal_bottom_right(q, k, v, cu_q, cu_k, longest, *, scale):
    out, lse = torch.empty_like(q), torch.empty(q.shape[1], q.shape[0])
    for i in range(len(cu_q) - 1):
        mine, theirs = slice(*cu_q[i : i + 2].tolist()), slice(*cu_k[i : i + 2].tolist())
        group = q.shape[1] // k.shape[1]
        keys, values = (t[theirs].float().repeat_interleave(group, 1) for t in (k, v))
        scores = torch.einsum("qhd,khd->hqk", q[mine].float(), keys) * scale
        n_q, n_k = scores.shape[1:]
        assert n_q <= longest
        seen = torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q)
        scores = scores.masked_fill(~seen, float("-inf"))
        lse[:, mine] = scores.logsumexp(-1)
        out[mine] = torch.einsum("hqk,khd->qhd", scores.softmax(-1), values).bfloat16()
    return out, lse
""",
}


def exported(spec: str, definition: dict[str, Any], sources: dict[str, str] | None = None, **options: Any) -> Any:
    """The Solution with these sources in place of the generated ones."""
    known = functions(kernels_of(ROOT / "specs" / f"{spec}.yaml"))
    given = sources if sources is not None else {"__init__.py": EAGER[spec]}
    return solution(known, given, Definition.model_validate(definition), author="a test", **options)


def function(made: dict[str, Any], folder: Path, name: str) -> Any:
    """`run` of a Solution, loaded as a package."""
    for source in made["sources"]:
        path = folder / name / source["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source["content"])
    (folder / name / "__init__.py").touch()
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(f"{name}.main").run
    finally:
        sys.path.remove(str(folder))


def bf16(*shape: int) -> Any:
    return torch.randn(*shape).bfloat16()


CASES = {
    "gemm": ("hopper_linear", GEMM, lambda: [bf16(32, 128), bf16(64, 128)]),
    "norm": ("hopper_rms_norm", RMS_NORM, lambda: [bf16(8, 128) / 30, bf16(128)]),
    "add_norm": ("hopper_rms_norm_residual", ADD_RMS_NORM, lambda: [bf16(8, 128) / 30, bf16(8, 128) / 30, bf16(128)]),
    "ragged": (
        "hopper_attention_fwd_masks",
        RAGGED,
        lambda: [
            *(bf16(37, 4, 128), bf16(61, 2, 128), bf16(61, 2, 128)),
            *(torch.tensor([0, 16, 37], dtype=torch.int32), torch.tensor([0, 40, 61], dtype=torch.int32)),
            1 / math.sqrt(128),
        ],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_run_is_the_reference(case: str, tmp_path: Path) -> None:
    """Inputs in the definition's order, results in that of its outputs, units as there: an lse to the base 2, say."""
    spec, definition, inputs = CASES[case]
    run = function(exported(spec, definition), tmp_path, f"solution_of_{case}")
    space: dict[str, Any] = {}
    exec(definition["reference"], space)
    given = inputs()
    expected, got = space["run"](*given), run(*given)
    expected, got = (x if isinstance(x, tuple) else (x,) for x in (expected, got))
    assert len(got) == len(expected) == len(definition["outputs"])
    for one, other in zip(got, expected, strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-2)
    assert [*inspect.signature(run).parameters] == [*definition["inputs"]]


def test_a_reference_that_is_another_function_would_be_seen(tmp_path: Path) -> None:
    spec, definition, inputs = CASES["norm"]
    run = function(exported(spec, definition, eps=1.0), tmp_path, "solution_with_another_eps")
    space: dict[str, Any] = {}
    exec(definition["reference"], space)
    given = inputs()
    assert not torch.allclose(run(*given), space["run"](*given), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("case", CASES)
def test_flashinfer_bench_loads_and_builds_it(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their schema, their data set, their builder: the modules of generated/ are imported as a solution's are."""
    data = pytest.importorskip("flashinfer_bench.data")
    pytest.importorskip("triton")
    monkeypatch.setenv("FIB_CACHE_PATH", str(tmp_path / "cache"))
    spec, definition, _ = CASES[case]
    sources = {path.name: path.read_text() for path in sorted((ROOT / "generated" / spec).glob("*.py"))}
    made = exported(spec, definition, sources)
    for kind, what in (("definitions", definition), ("solutions", made)):
        path = tmp_path / "root" / kind / definition["op_type"] / f"{what['name']}.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(what))
    held = data.TraceSet.from_path(str(tmp_path / "root"))
    [loaded] = held.solutions[definition["name"]]
    assert loaded.name == made["name"]
    assert loaded.get_entry_symbol() == "run"
    builders = importlib.import_module("flashinfer_bench.compile.builders.triton_builder")
    builder = builders.TritonBuilder()
    assert builder.can_build(loaded)
    built = builder.build(held.definitions[definition["name"]], loaded)
    with pytest.raises((ValueError, TypeError)):  # it is ours that refuses tensors of a CPU
        built.call_value_returning(*CASES[case][2]())
    built.cleanup()


@pytest.mark.parametrize(
    ("spec", "definition", "said"),
    [
        ("hopper_gemm", GEMM, "hopper_gemm computes something else: problem.b.layout is row, wanted col"),
        ("hopper_rms_norm", GEMM, "hopper_rms_norm computes something else: a norm_fwd kernel, not gemm"),
        ("hopper_rms_norm", ADD_RMS_NORM, "problem.residual is False, wanted True"),
        ("hopper_linear", IN_FP32, "problem.c.dtype is bf16, wanted fp32"),
        ("hopper_linear", {**GEMM, "op_type": "moe"}, "of op_type moe with the inputs A, B, for which no kernel has"),
        ("hopper_rms_norm", {**RMS_NORM, "reference": "def run(): pass"}, "its reference names no eps"),
        ("hopper_attention_fwd", RAGGED, "problem.lengths is dense, wanted packed"),
    ],
)  # fmt: skip
def test_what_no_function_computes_is_an_error(spec: str, definition: dict[str, Any], said: str) -> None:
    with pytest.raises(TlxgenError) as caught:
        exported(spec, definition, {})
    assert said in str(caught.value)


def test_files_that_are_no_definition(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    with pytest.raises(TlxgenError, match="cannot read"):
        read_definition(path)
    path.write_text('{"name": "x",\n "op_type" "gemm"}')
    with pytest.raises(SpecError, match="no JSON") as caught:
        read_definition(path)
    assert caught.value.location and (caught.value.location.line, caught.value.location.column) == (2, 12)
    path.write_text('{"name": "x"}')
    with pytest.raises(TlxgenError, match="is no definition of flashinfer-bench: op_type: Field required"):
        read_definition(path)
