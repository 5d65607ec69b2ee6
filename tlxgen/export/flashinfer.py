"""A spec's function as a Solution of FlashInfer: the generated folder, and a `run` that a Definition calls.

The schema is that of flashinfer-bench (`flashinfer_bench.data`); what the inputs of an operation are called and mean is
in its docs/op_type_schema. Operations of that schema for which no family has kernels (paged caches, MLA, MoE, sampling)
have no form here, and it has none for grouped GEMM.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from tlxgen import __version__
from tlxgen.errors import Location, SpecError, TlxgenError
from tlxgen.families.functions import Function

ENTRY = "main.py"
DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float8_e4m3fn": "e4m3"}
_EPS = {"eps", "epsilon"}


class Axis(BaseModel):
    model_config = ConfigDict(extra="ignore")

    type: str
    value: int | None = None


class Tensor(BaseModel):
    model_config = ConfigDict(extra="ignore")

    shape: tuple[str, ...] | None
    dtype: str


class Definition(BaseModel):
    """What of a Definition says which kernel it is: see `flashinfer_bench.data.Definition`."""

    model_config = ConfigDict(extra="ignore")

    name: str
    op_type: str
    axes: dict[str, Axis]
    inputs: dict[str, Tensor]
    outputs: dict[str, Tensor]
    reference: str = ""

    def constant(self, axis: str) -> int | None:
        """The value of an axis, where it has one."""
        return self.axes[axis].value if axis in self.axes else None

    def dtype(self, tensor: str) -> str:
        """The element type of a tensor in words of a spec."""
        told = {**self.inputs, **self.outputs}[tensor].dtype
        return DTYPES.get(told, told)


def read_definition(path: Path) -> Definition:
    """Raises SpecError for a file that is no JSON, TlxgenError for one that cannot be read or is no definition."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TlxgenError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        return Definition.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        line = text.splitlines()[error.lineno - 1] if text.strip() else ""
        raise SpecError(
            f"no JSON: {error.msg}", location=Location(str(path), error.lineno, error.colno, line)
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise TlxgenError(f"{path} is no definition of flashinfer-bench: {where}: {first['msg']}") from error


@dataclass(frozen=True)
class Form:
    """How an operation of that schema calls a kernel. `inputs`: their names; `against`: why a function does not
    compute it; `code`: statements of `run`, which has the definition's inputs and `function`."""

    kernel: str
    inputs: tuple[str, ...]
    against: Callable[[Any, Definition], Sequence[str]]
    code: Callable[[Definition, float | None], str]


def solution(
    functions: Sequence[Function],
    sources: Mapping[str, str],
    definition: Definition,
    *,
    author: str,
    eps: float | None = None,
) -> dict[str, Any]:
    """The Solution as JSON. `sources`: the files of the generated folder. Raises TlxgenError where none computes it."""
    form = _form(definition)
    refused: list[tuple[Function, Sequence[str]]] = []
    for function in functions:
        spec = function.structures[0].variants[0].spec
        against = _against(form, spec, definition)
        if not against:
            return _solution(function, spec, form, sources, definition, author, eps)
        refused.append((function, against))
    function, against = min(refused, key=lambda one: len(one[1]))
    raise TlxgenError(f"{definition.name}: {function.name} computes something else: {'; '.join(against)}")


def _form(definition: Definition) -> Form:
    known = [form for form in FORMS.get(definition.op_type, ()) if set(form.inputs) == set(definition.inputs)]
    if not known:
        ways = [f"{op} ({', '.join(f.inputs)})" for op, forms in FORMS.items() for f in forms]
        raise TlxgenError(
            f"{definition.name} is of op_type {definition.op_type} with the inputs {', '.join(definition.inputs)}, "
            "for which no kernel has a form",
            remedy=f"those that have one: {'; '.join(ways)}",
        )
    return known[0]


def _against(form: Form, spec: Any, definition: Definition) -> Sequence[str]:
    if spec.kernel != form.kernel:
        return [f"a {spec.kernel} kernel, not {form.kernel}"]
    return form.against(spec, definition)


def _solution(
    function: Function,
    spec: Any,
    form: Form,
    sources: Mapping[str, str],
    definition: Definition,
    author: str,
    eps: float | None,
) -> dict[str, Any]:
    name = function.spec
    body = form.code(definition, eps)
    text = _RUN.format(
        imports="import math\n\n" if "math." in body else "",
        definition=definition.name,
        version=__version__,
        package=name,
        function=function.name,
        arguments=", ".join(definition.inputs),
        body=body,
    )
    ast.parse(text)
    files = {ENTRY: text, **{f"{name}/{file}": source for file, source in sources.items()}}
    return {
        "name": f"tlxgen_{function.name}_{definition.name}",
        "definition": definition.name,
        "author": author,
        "spec": {
            "language": "triton",
            "target_hardware": [spec.arch],
            "entry_point": f"{ENTRY}::run",
            "dependencies": ["fbtriton"],
            "destination_passing_style": False,
        },
        "sources": [{"path": path, "content": content} for path, content in files.items() if content],
        "description": f"{function.name} of tlxgen {__version__}: warp-specialised Triton/TLX, which needs fbtriton.",
    }


_RUN = '''\
"""{definition} by {function}, whose inputs have other names and orders. Written by tlxgen {version}."""

{imports}from .{package} import {function} as function


def run({arguments}):
{body}
'''


# --- operations -----------------------------------------------------------------------------------------------------


def _differs(what: str, has: object, wanted: object) -> list[str]:
    return [f"{what} is {has}, wanted {wanted}"] if has != wanted and wanted is not None else []


def _gemm(spec: Any, definition: Definition) -> list[str]:
    problem = spec.problem
    return [
        *_differs("problem.a.dtype", problem.a.dtype, definition.dtype("A")),
        *_differs("problem.b.dtype", problem.b.dtype, definition.dtype("B")),
        *_differs("problem.c.dtype", problem.c.dtype, definition.dtype("C")),
        *_differs("problem.a.layout", problem.a.layout, "row"),
        *_differs("problem.b.layout", problem.b.layout, "col"),  # B is (N, K) there
        *_differs("problem.scaling", problem.scaling, "none"),
        *_differs("epilogue.ops", [*spec.epilogue.ops], []),
    ]


def _rms_norm(spec: Any, definition: Definition) -> list[str]:
    problem = spec.problem
    return [
        *_differs("problem.norm", problem.norm, "rms"),
        *_differs("problem.dtype", problem.dtype, definition.dtype("hidden_states")),
        *_differs("problem.weight", problem.weight, "same"),
        *_differs("the type of weight", problem.dtype, definition.dtype("weight")),
        *_differs("problem.bias", problem.bias, False),
        *_differs("problem.residual", problem.residual, "residual" in definition.inputs),
    ]


def _ragged(spec: Any, definition: Definition) -> list[str]:
    problem, mask = spec.problem, spec.mask
    causal = "causal" in f"{definition.name} {definition.reference}"
    return [
        *_differs("problem.dtype", problem.dtype, definition.dtype("q")),
        *_differs("problem.head_dim", problem.head_dim, definition.constant("head_dim")),
        *_differs("problem.head_dim_v", problem.head_dim_v or problem.head_dim, definition.constant("head_dim")),
        *_differs("problem.lengths", problem.lengths, "packed"),
        *_differs("mask.kind", mask.kind, "causal" if causal else "none"),
        *(_differs("mask.align", mask.align, "bottom_right") if causal else []),
        *_differs("softmax.lse", spec.softmax.lse, True),
    ]


def _gemm_code(definition: Definition, eps: float | None) -> str:
    return "    return function(A, B.T)"


def _rms_norm_code(definition: Definition, eps: float | None) -> str:
    value = eps if eps is not None else _eps_of(definition)
    given = "hidden_states, residual, weight" if "residual" in definition.inputs else "hidden_states, weight"
    outputs = len(definition.outputs)
    results = "results[0]" if outputs == 1 else f"results[:{outputs}]"
    return (
        f"    results = function({given}, eps={value!r})\n"
        f"    return {results} if isinstance(results, tuple) else results"
    )


def _ragged_code(definition: Definition, eps: float | None) -> str:
    return (
        "    longest = int((qo_indptr[1:] - qo_indptr[:-1]).max())\n"
        "    out, lse = function(q, k, v, qo_indptr, kv_indptr, longest, scale=float(sm_scale))\n"
        "    return out, (lse / math.log(2)).T  # of each query and head, to the base 2"
    )


def _eps_of(definition: Definition) -> float:
    """What the reference adds to the mean square. Raises TlxgenError where it does not say so by that name."""
    try:
        tree = ast.parse(definition.reference)
    except SyntaxError as error:
        raise TlxgenError(f"{definition.name}: its reference is no Python: {error.msg}") from error
    for node in ast.walk(tree):
        named = node.targets if isinstance(node, ast.Assign) else [node] if isinstance(node, ast.keyword) else []
        names = {(n.arg if isinstance(n, ast.keyword) else ast.unparse(n)) or "" for n in named}
        value = getattr(node, "value", None)
        if {n.lower() for n in names} & _EPS and isinstance(value, ast.Constant) and isinstance(value.value, float):
            return value.value
    raise TlxgenError(f"{definition.name}: its reference names no eps", remedy="--eps 1e-6, say")


FORMS: dict[str, tuple[Form, ...]] = {
    "gemm": (Form("gemm", ("A", "B"), _gemm, _gemm_code),),
    "rmsnorm": (
        Form("norm_fwd", ("hidden_states", "weight"), _rms_norm, _rms_norm_code),
        Form("norm_fwd", ("hidden_states", "residual", "weight"), _rms_norm, _rms_norm_code),
    ),
    "gqa_ragged": (
        Form("attention_fwd", ("q", "k", "v", "qo_indptr", "kv_indptr", "sm_scale"), _ragged, _ragged_code),
    ),
}
