"""Which functions of a package a GEMM's gradients are made of, and how its epilogue is gone back through.

And which functions one hands operands on to that lie otherwise: that is the one that has the spec's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .ops import OPS
from .spec import GemmSpec

if TYPE_CHECKING:
    from tlxgen.families.functions import Function

OTHER = {"row": "col", "col": "row"}
TYPES = ("bf16", "fp16")  # of C as of A and B: C's gradient is multiplied by either


def related(function: Function, functions: Sequence[Function]) -> Mapping[str, object]:
    """What the templates are told: of gradients, and of operands that lie otherwise."""
    others = dict(_otherwise(function, functions))
    told = [_gradients(other, functions) for other in (function, *others.values())]
    mine, differ = told[0], any(("products" in each) != ("products" in told[0]) for each in told)
    if len(told) == 1 or differ:
        return mine
    own = _layouts(function)
    layouts = {own: "", **{layouts: other.module for layouts, other in others.items()}}
    found = {**mine, "layouts": layouts, "meanings": _meanings(function, layouts)}
    if "products" in mine:
        by = 'multiply("plain", how, {}) if layouts_of({})[0] == "row" else multiply("plain", how, {}).mT'
        found["products"] = {"plain": (function.module, function.spec, "A @ B, of operands in any of LAYOUTS")}
        found["by_a"] = by.format("dout, b.mT", "a", "b, dout.mT")
        found["by_b"] = by.format("a.mT, dout", "b", "dout.mT, a")
        found["any_rows"] = all(each["any_rows"] for each in told)
    return found


def _otherwise(function: Function, functions: Sequence[Function]) -> Iterator[tuple[tuple[str, str], Function]]:
    """The functions that do the same with operands in other layouts, by these, of one that has the spec's name and
    does nothing but multiply."""
    spec = _spec(function)
    if function.suffix or spec.epilogue.ops or not function.chooses:
        return
    for other in functions:
        if other is not function and other.chooses and _apart_from_layouts(other) == _apart_from_layouts(function):
            yield _layouts(other), other


def _apart_from_layouts(function: Function) -> tuple[object, ...]:
    """All that decides what a function computes but the layouts of its operands."""
    spec = _spec(function)
    return spec.arch, _without_layouts(spec), spec.tasks.mma.promote, spec.epilogue.ops, spec.epilogue.rounding


def _layouts(function: Function) -> tuple[str, str]:
    problem = _spec(function).problem
    return problem.a.layout, problem.b.layout


def _meanings(function: Function, layouts: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """What is said of the operands of a function that takes them in several layouts."""
    host = function.structures[0].plan.host.among(s.plan.host for s in function.structures)
    told = {argument.name: argument.meaning for argument in host.inputs}
    each = {name: {pair[i] for pair in layouts} for i, name in enumerate(("a", "b"))}
    return {
        name: re.sub("(row|column)-major", "row- or column-major", told[name])
        for name, found in each.items()
        if len(found) > 1
    }


def _gradients(function: Function, functions: Sequence[Function]) -> Mapping[str, object]:
    """What a function knows of its gradients; nothing where the package lacks a product, or the types have none."""
    spec = _spec(function)
    problem = spec.problem
    types = {problem.a.dtype, problem.b.dtype, problem.c.dtype}
    if len(types) > 1 or not types <= {*TYPES} or spec.epilogue.rounding != "nearest":
        return {}
    plain, any_rows = dict(_plain(functions, spec)), dict(_plain(functions, spec, any_rows=True))
    a, b = problem.a.layout, problem.b.layout
    wanted = {  # as row-major results: the gradient by an operand that is column-major is the transpose of one
        "by_a": ((("row", OTHER[b]), "dC @ B.T") if a == "row" else ((b, "col"), "B @ dC.T")),
        "by_b": (((OTHER[a], "row"), "A.T @ dC") if b == "row" else (("col", a), "dC.T @ A")),
    }
    if any(layouts not in plain for layouts, _ in wanted.values()):
        return {}
    ops = spec.epilogue.ops
    if unknown := [op for op in ops if OPS[op].halves]:
        return {"refusal": f"requires grad, and no derivative of {unknown[0]} is known here"}
    if asking := _asking(ops):
        wanted["again"] = ((a, b), "A @ B")
        if (a, b) not in plain:
            lacking = f"the plain product of operands in layouts {a} and {b} gives, which this package lacks"
            return {"refusal": f"requires grad, and {ops[asking[-1]]} asks for sums that {lacking}"}
    products = {of: (*plain[layouts], meaning) for of, (layouts, meaning) in wanted.items()}
    loaded = all(wanted[of][0] in any_rows for of in ("by_a", "by_b"))  # whatever the rows of C's gradient are
    return {"products": products, "config": not function.chooses, "any_rows": loaded, **_told(spec, asking)}


def _spec(function: Function) -> GemmSpec:
    spec = function.structures[0].variants[0].spec
    assert isinstance(spec, GemmSpec)
    return spec


def _plain(
    functions: Sequence[Function], like: GemmSpec, *, any_rows: bool = False
) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """By the layouts of its operands each function that does nothing but multiply: its module and its name there.

    `any_rows`: of those alone that have a structure for rows that TMA cannot address.
    """
    for function in functions:
        spec = _spec(function)
        specs = [s.variants[0].spec for s in function.structures]
        if any_rows and not any(isinstance(s, GemmSpec) and s.tasks.load.by == "pointers" for s in specs):
            continue
        bare = spec.model_copy(update={"problem": _without_layouts(spec)})
        alike = spec.arch == like.arch and bare.problem == _without_layouts(like)
        if alike and not spec.epilogue.ops and spec.epilogue.rounding == "nearest":
            yield (spec.problem.a.layout, spec.problem.b.layout), (function.module, function.spec)


def _without_layouts(spec: GemmSpec) -> object:
    a, b = (o.model_copy(update={"layout": "row"}) for o in (spec.problem.a, spec.problem.b))
    return spec.problem.model_copy(update={"a": a, "b": b})


def _asking(ops: Sequence[str]) -> list[int]:
    """Which operations' derivatives ask for what they were given. That of a last relu has what it gave, which is C."""
    return [i for i, op in enumerate(ops) if "{x}" in OPS[op].derivative and not (op == "relu" and i == len(ops) - 1)]


def _told(spec: GemmSpec, asking: Sequence[int]) -> Mapping[str, object]:
    """The lines of the function, and what it looks at."""
    ops = spec.epilogue.ops
    tensors = [t.name for op in ops for t in OPS[op].tensors]
    place = {name: 2 + i for i, name in enumerate(tensors)}
    upto = asking[-1] if asking else 0
    again = [f"x{i + 1} = {OPS[op].value.format(x=f'x{i}')}" for i, op in enumerate(ops[:upto])]
    back: list[str] = []
    for i, op in reversed([*enumerate(ops)]):
        for name, gradient in OPS[op].gradients.items():
            back.append(f"by[{place[name]}] = {gradient} if needed[{place[name]}] else None")
        if OPS[op].derivative:
            back.append(f"dout = {OPS[op].derivative.format(x=f'x{i}' if i in asking else 'out')}")
    code = " ".join((*again, *back))
    looked_at = [name for name in tensors if name in _words(code)]
    known = [name for op in ops for name in OPS[op].gradients]
    multiply = {
        ("a", "row"): 'multiply("by_a", how, dout, b.mT)',
        ("a", "col"): 'multiply("by_a", how, b, dout.mT).mT',
        ("b", "row"): 'multiply("by_b", how, a.mT, dout)',
        ("b", "col"): 'multiply("by_b", how, dout.mT, a).mT',
    }
    return {
        "again": again,
        "back": back,
        "torch": "torch" in _words(code),
        "asks": " and ".join(dict.fromkeys(ops[i] for i in asking)),
        "by": ["A", "B", *known],
        "saved": ["a", "b", *looked_at, *(["results"] if "out" in _words(code) else [])],
        "constants": [name for name in tensors if name not in known],
        "by_a": multiply["a", spec.problem.a.layout],
        "by_b": multiply["b", spec.problem.b.layout],
    }


def _words(code: str) -> set[str]:
    return set(re.findall(r"\w+", code))
