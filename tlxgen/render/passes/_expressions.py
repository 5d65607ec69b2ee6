"""Makes and reads literals, and puts parentheses where they are needed."""

from __future__ import annotations

import math
from typing import Any

import libcst as cst

Value = int | bool | float | str

ATOM = 14
_OPERATORS: dict[type[cst.CSTNode], int] = {
    cst.Or: 1,
    cst.And: 2,
    cst.Not: 3,
    cst.BitOr: 5,
    cst.BitXor: 6,
    cst.BitAnd: 7,
    cst.LeftShift: 8,
    cst.RightShift: 8,
    cst.Add: 9,
    cst.Subtract: 9,
    cst.Multiply: 10,
    cst.MatrixMultiply: 10,
    cst.Divide: 10,
    cst.FloorDivide: 10,
    cst.Modulo: 10,
    cst.Plus: 11,
    cst.Minus: 11,
    cst.BitInvert: 11,
    cst.Power: 12,
}
_ATOMS = (
    cst.Name,
    cst.Attribute,
    cst.Subscript,
    cst.Call,
    cst.BaseNumber,
    cst.SimpleString,
    cst.List,
    cst.Dict,
    cst.Set,
)
_SLOTS: dict[type[cst.CSTNode], dict[str, int]] = {
    cst.AnnAssign: {"value": 0},
    cst.Arg: {"value": 0},
    cst.Assert: {"test": 0},
    cst.Assign: {"value": 0},
    cst.AugAssign: {"value": 0},
    cst.Call: {"func": ATOM},
    cst.Attribute: {"value": ATOM},
    cst.Comparison: {"left": 5},
    cst.ComparisonTarget: {"comparator": 5},
    cst.DictElement: {"key": 0, "value": 0},
    cst.Element: {"value": 0},
    cst.Expr: {"value": 0},
    cst.For: {"iter": 0},
    cst.If: {"test": 0},
    cst.IfExp: {"body": 1, "test": 1, "orelse": 0},
    cst.Index: {"value": 0},
    cst.Return: {"value": 0},
    cst.Slice: {"lower": 0, "upper": 0, "step": 0},
    cst.Subscript: {"value": ATOM},
    cst.While: {"test": 0},
}
_ARITHMETIC = range(9, 13)


def literal(value: Value) -> cst.BaseExpression:
    """The expression for `value`. A negative number is a unary minus, which may need parentheses at its place."""
    if isinstance(value, bool):
        return cst.Name(str(value))
    if isinstance(value, str):
        escaped = repr(value)[1:-1].replace('"', '\\"').replace("\\'", "'")
        return cst.SimpleString(f'"{escaped}"')
    if value < 0 or math.copysign(1, value) < 0:
        return cst.UnaryOperation(cst.Minus(), literal(-value))
    if isinstance(value, int):
        return cst.Integer(str(value))
    return cst.Float(repr(value)) if math.isfinite(value) else cst.parse_expression(f'float("{value}")')


def integer(node: cst.CSTNode) -> int | bool | None:
    """The value of an integer or bool literal, with or without a minus; None for everything else."""
    if isinstance(node, cst.Integer):
        return node.evaluated_value
    if isinstance(node, cst.Name):
        return {"True": True, "False": False}.get(node.value)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        return -node.expression.evaluated_value if isinstance(node.expression, cst.Integer) else None
    return None


def precedence(node: cst.CSTNode) -> int:
    """The precedence of the outermost operator of `node` without its parentheses; -1 for a node to leave alone."""
    if isinstance(node, (cst.BinaryOperation, cst.BooleanOperation, cst.UnaryOperation)):
        return _OPERATORS[type(node.operator)]
    if isinstance(node, cst.Comparison):
        return 4
    if isinstance(node, cst.IfExp):
        return 0
    return ATOM if isinstance(node, _ATOMS) else -1


def slots(parent: cst.CSTNode) -> dict[str, int]:
    """Field -> lowest precedence without parentheses, for each expression that is a child of `parent`."""
    if isinstance(parent, (cst.BinaryOperation, cst.BooleanOperation)):
        own = _OPERATORS[type(parent.operator)]
        if isinstance(parent.operator, cst.Power):
            return {"left": own + 1, "right": 11}
        return {"left": own, "right": own + 1}
    if isinstance(parent, cst.UnaryOperation):
        return {"expression": _OPERATORS[type(parent.operator)]}
    return _SLOTS.get(type(parent), {})


def fit(parent: Any, field: str, need: int, may_strip: bool) -> Any:
    """`parent` with parentheses around its child `field` if they are needed, and without if they are redundant."""
    child = getattr(parent, field)
    bound = precedence(child)
    needed = bound < need or (isinstance(parent, cst.Attribute) and isinstance(child, cst.BaseNumber))
    if not child.lpar:
        if not needed or bound < 0:
            return parent
        return parent.with_changes(**{field: child.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])})
    if needed or not may_strip or not _reads_well(parent, bound, need) or "\n" in source(child):
        return parent
    try:
        return parent.with_changes(**{field: child.with_changes(lpar=(), rpar=())})
    except cst.CSTValidationError:  # in `return(x)` the parentheses also separate the words
        return parent


def _reads_well(parent: cst.CSTNode, bound: int, need: int) -> bool:
    """Whether an expression reads well without parentheses: an atom, one outside of operators, a sum of products."""
    return need == 0 or bound >= 11 or (bound in _ARITHMETIC and precedence(parent) in _ARITHMETIC)


def source(node: cst.CSTNode) -> str:
    """The code of `node`."""
    return cst.Module([]).code_for_node(node)
