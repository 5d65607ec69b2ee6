"""Folds arithmetic whose operands are known at generation time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

import libcst as cst

from tlxgen.render.passes._expressions import Value, fit, integer, literal, slots, source
from tlxgen.render.passes._names import STATEMENTS, is_pure
from tlxgen.render.passes._tree import Rewriter, children, dotted

Known = Callable[[cst.CSTNode], int | bool | None]  # the value of an expression, or None if it is unknown
_LARGEST = 1 << 63
_BINARY: dict[type[cst.CSTNode], Callable[[int, int], int]] = {
    cst.Add: operator.add,
    cst.Subtract: operator.sub,
    cst.Multiply: operator.mul,
    cst.BitAnd: operator.and_,
    cst.BitOr: operator.or_,
    cst.BitXor: operator.xor,
}
# For these operators Python and Triton agree only on non-negative operands.
_NATURAL: dict[type[cst.CSTNode], Callable[[int, int], int]] = {
    cst.FloorDivide: operator.floordiv,
    cst.Modulo: operator.mod,
    cst.LeftShift: operator.lshift,
    cst.RightShift: operator.rshift,
    cst.Power: operator.pow,
}
_COMPARE: dict[type[cst.CSTNode], Callable[[Any, Any], bool]] = {
    cst.Equal: operator.eq,
    cst.NotEqual: operator.ne,
    cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le,
    cst.GreaterThan: operator.gt,
    cst.GreaterThanEqual: operator.ge,
}
_UNARY: dict[type[cst.CSTNode], Callable[[int], int]] = {
    cst.Minus: operator.neg,
    cst.Plus: operator.pos,
    cst.BitInvert: operator.invert,
    cst.Not: operator.not_,
}
_LEFT_NEUTRAL = {cst.Add: 0, cst.Multiply: 1}
_RIGHT_NEUTRAL = {cst.Add: 0, cst.Subtract: 0, cst.Multiply: 1, cst.FloorDivide: 1, cst.Power: 1}
_NUMERIC = (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.BinaryOperation, cst.UnaryOperation)
_SPOKEN = (cst.Add, cst.Subtract, cst.Multiply, cst.LeftShift, cst.RightShift, cst.Power)  # kept between literals
_TESTED: dict[type, str] = {cst.If: "test", cst.While: "test", cst.IfExp: "test", cst.Assert: "test"}


class FoldConstants:
    """Folds integer and bool literals, and drops neutral operands, in the bodies of functions:

        row = tile * 1 + (128 // 2) * group     ->     row = tile + 64 * group
        if True and not False: ...              ->     if True: ...

    Floats stay. `//`, `%`, `**` and shifts fold for non-negative literals only. `x * 0` and `x % 1` become 0, `x // 1`
    becomes x: the operands of an integer literal are taken to be integers (a template that means floats writes `0.0`).
    An expression is dropped only if it has no call. A right-hand `and True` is dropped only where the expression is
    used as a condition. Code with a comment inside stays.

    `written` are the operators that an author wrote between literals (`written_constants`). `2**31 - 1` and `32 * 1024`
    say more than their values, so they stay, unless one of them is combined with a literal from baking.
    """

    def __init__(self, written: Collection[cst.CSTNode] = ()) -> None:
        self._written = frozenset(written)

    def __call__(self, module: cst.Module) -> cst.Module:
        folded: cst.Module = _Bodies(self._written).rewrite(module)
        return folded


def written_constants(module: cst.Module) -> frozenset[cst.CSTNode]:
    """The operators of `module` between literals. They stay the same objects when their operation gets parentheses."""
    found: set[cst.CSTNode] = set()
    for node in module.body:
        if isinstance(node, cst.FunctionDef) and isinstance(node.body, cst.IndentedBlock):
            found.update(*map(_written, _parts(node)))
        else:
            found |= _constants(node)
    return frozenset(found)


def _parts(function: cst.FunctionDef) -> list[cst.CSTNode]:
    """The statements of a function's body, and its other children."""
    return [*function.body.body, *(part for part in children(function) if part is not function.body)]


@lru_cache(maxsize=STATEMENTS)
def _written(statement: cst.CSTNode) -> frozenset[cst.CSTNode]:
    return _constants(statement)


def _constants(node: cst.CSTNode) -> frozenset[cst.CSTNode]:
    found: set[cst.CSTNode] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        if type(part) is cst.IndentedBlock:
            found.update(*map(_written, part.body))
            continue
        if type(part) is cst.BinaryOperation and _is_constant(part):
            found.add(part.operator)
        stack.extend(children(part))
    return frozenset(found)


def _is_constant(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.BinaryOperation):
        return isinstance(node.operator, _SPOKEN) and _is_constant(node.left) and _is_constant(node.right)
    return isinstance(node, cst.Integer)


class _Bodies(Rewriter):
    """Folds the bodies of the outermost functions and leaves all other code unchanged."""

    def __init__(self, written: frozenset[cst.CSTNode]) -> None:
        super().__init__()
        self._written = written

    def on_FunctionDef(self, node: cst.FunctionDef) -> cst.FunctionDef:
        folder = _Folder(self._written)
        body = folder.block(node.body) if isinstance(node.body, cst.IndentedBlock) else folder.rewrite(node.body)
        return node if body is node.body else node.with_changes(body=body)

    def on_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> cst.SimpleStatementLine:
        return node


@lru_cache(maxsize=STATEMENTS)
def _is_settled(statement: cst.CSTNode) -> bool:
    return _Folder(_written(statement)).rewrite(statement) is statement


@lru_cache(maxsize=STATEMENTS)
def _rewritten(statement: cst.CSTNode, written: frozenset[cst.CSTNode]) -> Any:
    return _Folder(written).rewrite(statement)


class _Folder(Rewriter):
    def __init__(self, written: frozenset[cst.CSTNode]) -> None:
        super().__init__()
        self._written = written
        self._folded: set[cst.CSTNode] = set()

    def block(self, node: cst.IndentedBlock) -> cst.IndentedBlock:
        """`node` with its statements rewritten, without those that are known to stay."""
        body = [statement if self._stays(statement) else self._folded_once(statement) for statement in node.body]
        if all(a is b for a, b in zip(body, node.body, strict=True)):
            return node
        return node.with_changes(body=body)

    def _stays(self, statement: cst.CSTNode) -> bool:
        """Whether nothing of a statement can be folded, if its operators between literals were written so."""
        return _written(statement) <= self._written and _is_settled(statement)

    def _folded_once(self, statement: cst.CSTNode) -> Any:
        """The same rewritten. The result depends on those of its operators between literals that were written."""
        return _rewritten(statement, _written(statement) & self._written)

    def rewrite(self, node: Any) -> Any:
        if type(node) is cst.IndentedBlock:
            return self.block(node)
        updated = self.descend(node)
        if type(node) is cst.UnaryOperation and isinstance(node.operator, cst.Not):
            updated = self._with_truth(updated, "expression")
        elif type(node) in _TESTED:
            updated = self._with_truth(updated, _TESTED[type(node)])
        if updated is not node:
            updated = self._fitted(node, updated)
        fold = None if self._is_written(updated) else _FOLDS.get(type(updated))
        result = fold(updated, self._known) if fold else None
        return updated if result is None else self._placed(updated, result)

    def _is_written(self, node: cst.CSTNode) -> bool:
        """Whether `node` stays as its author wrote it. `32 * 1` and `7 + 0` do not, as 32 and 7 say the same."""
        return type(node) is cst.BinaryOperation and node.operator in self._written and not _is_trivial(node)

    def _known(self, node: cst.CSTNode) -> int | bool | None:
        if self._is_written(node):
            result = _binary(node, self._known)  # type: ignore[arg-type]
            return None if result is None else integer(result)
        return integer(node)

    def _with_truth(self, node: Any, field: str) -> Any:
        test = getattr(node, field)
        new = self._truth(test)
        return node if new is test else node.with_changes(**{field: new})

    def _truth(self, node: Any) -> Any:
        """`node` simplified for a place where only its truth matters."""
        if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
            new = self._with_truth(node, "expression")
        elif isinstance(node, cst.BooleanOperation):
            new = self._with_truth(self._with_truth(node, "left"), "right")
        else:
            return node
        if new is not node:
            new = self._fitted(node, new)
        boolean = isinstance(new, cst.BooleanOperation)
        result = _boolean(new, self._known, truth=True) if boolean else _unary(new, self._known)
        return new if result is None else self._placed(new, result)

    def _placed(self, old: Any, new: Any) -> Any:
        """`new` in place of `old`, in the parentheses of either. The parent removes them if they are redundant."""
        if "#" in source(old):
            return old
        if old.lpar and not new.lpar:
            new = new.with_changes(lpar=old.lpar, rpar=old.rpar)
        self._folded.add(new)
        return new

    def _fitted(self, old: Any, new: Any) -> Any:
        for field, need in slots(new).items():
            child = getattr(new, field)
            if child is not getattr(old, field) and isinstance(child, cst.BaseExpression):
                new = fit(new, field, need, child in self._folded)
        return new


def _is_trivial(node: cst.BinaryOperation) -> bool:
    kind = type(node.operator)
    return integer(node.right) == _RIGHT_NEUTRAL.get(kind, "") or integer(node.left) == _LEFT_NEUTRAL.get(kind, "")


def _binary(node: cst.BinaryOperation, known: Known) -> cst.BaseExpression | None:
    kind = type(node.operator)
    left, right = known(node.left), known(node.right)
    if left is not None and right is not None:
        return _arithmetic(kind, left, right)
    if right is not None and _is_numeric(node.left):
        if right == _RIGHT_NEUTRAL.get(kind):
            return node.left
        if (kind is cst.Multiply and right == 0) or (kind is cst.Modulo and right == 1):
            return cst.Integer("0") if is_pure(node.left, ()) else None
    if left is not None and _is_numeric(node.right):
        if left == _LEFT_NEUTRAL.get(kind):
            return node.right
        if kind is cst.Multiply and left == 0:
            return cst.Integer("0") if is_pure(node.right, ()) else None
    return None


def _arithmetic(kind: type[cst.CSTNode], left: int, right: int) -> cst.BaseExpression | None:
    compute = _BINARY.get(kind)
    if compute is None:
        compute = _NATURAL.get(kind)
        if compute is None or left < 0 or right < 0:
            return None
        if kind in (cst.FloorDivide, cst.Modulo) and right == 0:
            return None
        if kind in (cst.LeftShift, cst.Power) and right > 63:
            return None
    value = compute(left, right)
    return literal(value) if abs(value) < _LARGEST else None


def _is_numeric(node: cst.CSTNode) -> bool:
    """Whether an identity holds. It does not for `(a < b) * 1`, which makes a number of a bool, or for floats."""
    if isinstance(node, cst.UnaryOperation):
        return not isinstance(node.operator, cst.Not)
    return isinstance(node, _NUMERIC)


def _unary(node: cst.UnaryOperation, known: Known) -> cst.BaseExpression | None:
    value = known(node.expression) if isinstance(node.operator, cst.Not) else integer(node.expression)
    if value is None or (isinstance(node.operator, cst.Minus) and isinstance(node.expression, cst.Integer)):
        return None
    return literal(_UNARY[type(node.operator)](value))


def _comparison(node: cst.Comparison, known: Known) -> cst.BaseExpression | None:
    operands = [_value(node.left, known), *(_value(c.comparator, known) for c in node.comparisons)]
    compares = [_COMPARE.get(type(c.operator)) for c in node.comparisons]
    if None in operands or None in compares or len({isinstance(value, str) for value in operands}) > 1:
        return None
    pairs = zip(compares, operands, operands[1:], strict=False)
    return literal(all(compare(a, b) for compare, a, b in pairs if compare))


def _value(node: cst.CSTNode, known: Known) -> Value | None:
    if isinstance(node, cst.SimpleString) and isinstance(node.evaluated_value, str):
        return node.evaluated_value
    return known(node)


def _boolean(node: cst.BooleanOperation, known: Known, truth: bool = False) -> cst.BaseExpression | None:
    """Folds `True and x` to x. `x and True` is x only as a condition, or if x is a bool."""
    deciding = isinstance(node.operator, cst.Or)  # the value that decides without the other operand
    left, right = known(node.left), known(node.right)
    if left is not None:
        return node.left if bool(left) is deciding else node.right
    if right is None or not (truth or _is_bool(node.left)):
        return None
    if bool(right) is not deciding:
        return node.left
    return node.right if is_pure(node.left, ()) else None


def _is_bool(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.BooleanOperation):
        return _is_bool(node.left) and _is_bool(node.right)
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.Not)
    return isinstance(node, cst.Comparison) or isinstance(integer(node), bool)


def _ternary(node: cst.IfExp, known: Known) -> cst.BaseExpression | None:
    test = known(node.test)
    if test is None:
        return None
    return node.body if test else node.orelse


def _call(node: cst.Call, known: Known) -> cst.BaseExpression | None:
    name = dotted(node.func)
    if name not in ("min", "max", "tl.cdiv", "triton.cdiv") or any(arg.keyword or arg.star for arg in node.args):
        return None
    values = [value for value in (known(arg.value) for arg in node.args) if value is not None]
    if len(values) != len(node.args) or len(values) < 2:
        return None
    if name in ("min", "max"):
        return literal(min(values) if name == "min" else max(values))
    if len(values) != 2 or values[0] < 0 or values[1] <= 0:
        return None
    return literal(-(-values[0] // values[1]))


_FOLDS: dict[type[cst.CSTNode], Callable[[Any, Known], cst.BaseExpression | None]] = {
    cst.BinaryOperation: _binary,
    cst.BooleanOperation: _boolean,
    cst.Call: _call,
    cst.Comparison: _comparison,
    cst.IfExp: _ternary,
    cst.UnaryOperation: _unary,
}
