"""A generated GEMM module as its syntax tree, with what the tests ask of it. Nothing here knows how it was made."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Names = Mapping[str, Any]
ITEM_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float8_e4m3fn": 1, "float8_e5m2": 1}


@dataclass(frozen=True)
class Source:
    """One module. `configs` are the constants of each row of its table, under the kernel's and the host's names."""

    path: Path
    text: str
    tree: ast.Module

    @staticmethod
    def read(path: Path) -> Source:
        text = path.read_text()
        return Source(path, text, ast.parse(text))

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    @cached_property
    def kernel(self) -> ast.FunctionDef:
        return next(f for n, f in self.functions.items() if n.endswith("_kernel") and not n.endswith("_reduce_kernel"))

    @cached_property
    def launches(self) -> list[ast.Call]:
        """What `prepare` says of each kernel: its text, grid, descriptors, addresses, scalars and options."""
        return calls(self.prepare, "Launch")

    @property
    def host(self) -> ast.FunctionDef:
        """What people call: the function whose operator the module makes."""
        set_at = (ast.unparse(n.targets[0]) for n in self.tree.body if isinstance(n, ast.Assign))
        (name,) = (at.removesuffix(".operator") for at in set_at if at.endswith(".operator"))
        return self.functions[name]

    @cached_property
    def prepare(self) -> ast.FunctionDef:
        """What checks and describes the arguments; the host function calls it once a layout."""
        return self.functions["prepare"]

    @cached_property
    def configs(self) -> list[dict[str, Any]]:
        rows = (ast.literal_eval(call.args[0]) for call in calls(self.tree, "triton.Config"))
        return [{**row, **{name.lower(): value for name, value in row.items()}} for row in rows]

    @cached_property
    def item_bytes(self) -> dict[str, int]:
        """Bytes of an element of a and b, as the host checks them."""
        found = {}
        for call in calls(self.prepare, "check"):
            label = call.args[1]
            dtypes = call.args[3]
            if isinstance(label, ast.Constant) and label.value in ("a", "b") and isinstance(dtypes, ast.Tuple):
                (dtype,) = dtypes.elts
                found[str(label.value)] = ITEM_BYTES[ast.unparse(dtype).removeprefix("torch.")]
        return found

    def boxes(self, config: Names) -> dict[str, tuple[int, ...]]:
        """The box of each descriptor that the host makes for the main kernel, by the kernel's name for it."""
        _, _, descriptors, *_ = self.launches[0].args
        made = [call for name in ("describe", "describe_padded") for call in calls(descriptors, name)]
        boxes = [tuple(value(call.args[2], config)) for call in sorted(made, key=lambda call: call.lineno)]
        assert isinstance(descriptors, ast.List) and len(boxes) == len(descriptors.elts)
        return dict(zip((a.arg for a in self.kernel.args.args), boxes, strict=False))

    @cached_property
    def numbers(self) -> dict[str, ast.expr]:
        """The host's expression of each scalar that the main kernel gets, by the kernel's name for it."""
        _, _, descriptors, addresses, scalars, _ = self.launches[0].args
        assert isinstance(descriptors, ast.List) and isinstance(addresses, ast.List) and isinstance(scalars, ast.Tuple)
        first = len(descriptors.elts) + len(addresses.elts)
        return dict(zip((a.arg for a in self.kernel.args.args[first:]), scalars.elts, strict=False))


def calls(node: ast.AST, name: str) -> list[ast.Call]:
    """The calls of `name`, as it is written, below `node`, in the order of the text."""
    found = [n for n in ast.walk(node) if isinstance(n, ast.Call) and ast.unparse(n.func) == name]
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements below `node`."""
    for child in ast.walk(node):
        for field in ("body", "orelse"):
            if isinstance(statements := getattr(child, field, None), list) and statements:
                yield statements


def own_calls(statements: list[ast.stmt], name: str) -> list[ast.Call]:
    """The calls of `name` that are statements of this very list."""
    return [s.value for s in statements if isinstance(s, ast.Expr) and s.value in calls(s, name)]  # type: ignore[misc]


def repeated_calls(statements: list[ast.stmt], name: str, config: Names) -> Iterator[tuple[ast.Call, int]]:
    """The calls that run whenever these statements do, and how often: also those in loops and branches of constants."""
    for call in own_calls(statements, name):
        yield call, 1
    for statement in statements:
        if isinstance(statement, ast.For) and ast.unparse(statement.iter).startswith("tl.static_range("):
            turns = len(range(*(value(x, config) for x in calls(statement.iter, "tl.static_range")[0].args)))
            yield from ((call, turns * times) for call, times in repeated_calls(statement.body, name, config))
        if isinstance(statement, ast.If) and {n.id for n in ast.walk(statement.test) if isinstance(n, ast.Name)} <= set(
            config
        ):
            taken = int(bool(value(statement.test, config)))
            for times, body in ((taken, statement.body), (1 - taken, statement.orelse)):
                yield from ((call, times * each) for call, each in repeated_calls(body, name, config))


def indexed(node: ast.expr) -> str:
    """`ab_full` of `ab_full[slot]`."""
    assert isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name), ast.unparse(node)
    return node.value.id


def value(node: ast.AST, names: Names) -> Any:
    """The value of an expression of the module, with nothing but `names` to go by."""
    return eval(compile(ast.Expression(node), "<module>", "eval"), {"__builtins__": {}}, dict(names))  # type: ignore[arg-type]
