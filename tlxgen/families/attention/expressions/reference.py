"""An expression evaluated as it is written, on torch tensors: what kernels are held against. Imports torch.

It reads the syntax tree alone: neither the symbolic form nor the device code, so that a fault of these is found.
"""

from __future__ import annotations

import ast
import functools
import operator
from collections.abc import Callable
from typing import Any

import torch

from .grammar import parse

Evaluator = Callable[[dict[str, Any]], Any]


@functools.lru_cache(maxsize=64)
def function(text: str) -> Callable[..., Any]:
    """A function of the names of the grammar, by keyword: of `score` (a tensor) and of numbers or tensors.

    torch.compile can trace it.
    """
    run = _compiled(parse(text).body)
    return lambda **values: run(values)


def modified(text: str, score: torch.Tensor, head: int, batch: int, heads: int) -> torch.Tensor:
    """What the scaled scores (n_q, n_k) of a head of a sequence become."""
    n_q, n_k = score.shape
    q = torch.arange(n_q, dtype=score.dtype, device=score.device)[:, None]
    k = torch.arange(n_k, dtype=score.dtype, device=score.device)[None, :]
    values = {"head": head, "batch": batch, "heads": heads, "n_q": n_q, "n_k": n_k}
    wide = {name: torch.tensor(float(x), dtype=score.dtype, device=score.device) for name, x in values.items()}
    made: torch.Tensor = function(text)(score=score, q=q, k=k, **wide)
    return made.expand(n_q, n_k)


def _compiled(node: ast.expr) -> Evaluator:
    match node:
        case ast.Constant(value=value):
            return lambda values: value
        case ast.Name(id=name):
            return lambda values: values[name]
        case ast.UnaryOp(op=op, operand=operand):
            return _applied(_UNARY[type(op)], operand)
        case ast.BinOp(left=left, op=op, right=right):
            return _applied(_BINARY[type(op)], left, right)
        case ast.BoolOp(op=op, values=parts):
            both = _and if isinstance(op, ast.And) else _or
            return _applied(lambda *truths: functools.reduce(both, truths), *parts)
        case ast.Compare(left=left, ops=ops, comparators=sides):
            tests = [_COMPARED[type(op)] for op in ops]

            def compared(*numbers: Any) -> Any:
                return functools.reduce(_and, [t(a, b) for t, a, b in zip(tests, numbers, numbers[1:], strict=False)])

            return _applied(compared, left, *sides)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _applied(_FUNCTIONS[name], *arguments)
    raise AssertionError(ast.dump(node))  # the grammar has no other


def _applied(function: Callable[..., Any], *nodes: ast.expr) -> Evaluator:
    runs = [_compiled(node) for node in nodes]
    return lambda values: function(*[run(values) for run in runs])


def _tensor(x: Any) -> torch.Tensor:
    return x if isinstance(x, torch.Tensor) else torch.tensor(float(x), dtype=torch.float64)


def _of_tensor(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda *arguments: function(*[_tensor(x) for x in arguments])


def _reduced(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    return lambda *arguments: functools.reduce(_of_tensor(function), arguments)


def _where(condition: Any, yes: Any, no: Any) -> torch.Tensor:
    truth = condition if isinstance(condition, torch.Tensor) else torch.tensor(bool(condition))
    return torch.where(truth, yes, no)


def _and(a: Any, b: Any) -> Any:
    return a & b


def _or(a: Any, b: Any) -> Any:
    return a | b


def _not(a: Any) -> Any:
    return ~a if isinstance(a, torch.Tensor) else not a


_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: _not,
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "exp": _of_tensor(torch.exp),
    "log": _of_tensor(torch.log),
    "max": _reduced(torch.maximum),
    "min": _reduced(torch.minimum),
    "pow": operator.pow,
    "sqrt": _of_tensor(torch.sqrt),
    "tanh": _of_tensor(torch.tanh),
    "where": _where,
}
