"""An argument of a kernel that is 1 is a constant to Triton, and a constant has no methods."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PLAIN = ast.Name, ast.BinOp, ast.Constant, ast.operator, ast.expr_context
FOLDERS = sorted(p for p in (Path(__file__).parents[2] / "generated").iterdir() if p.is_dir())


def jitted(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any("triton.jit" in ast.unparse(d) for d in node.decorator_list):
            yield node


def numbers(function: ast.FunctionDef) -> set[str]:
    """The arguments of a kernel that Triton may take for constants. Its functions call them by the same names."""
    (kept,) = [ast.unparse(d) for d in function.decorator_list]
    names = [a.arg for a in function.args.args if a.annotation is None and f"'{a.arg}'" not in kept]
    return {name for name in names if not name.endswith(("_ptr", "_desc"))}


def called_on(text: str) -> list[str]:
    """What is made of such numbers alone, and has a method called, but those that the function itself assigns."""
    functions = list(jitted(ast.parse(text)))
    given = {name for f in functions if f.name.endswith("_kernel") for name in numbers(f)}
    found = []
    for function in functions:
        own = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of = node.func.value
                names = {n.id for n in ast.walk(of) if isinstance(n, ast.Name)}
                plain = all(isinstance(n, PLAIN) for n in ast.walk(of))
                if plain and names and names <= given - own:
                    found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_no_method_of_what_may_be_a_constant_is_called(folder: Path) -> None:
    for module in folder.glob("[!_]*.py"):
        assert called_on(module.read_text()) == [], module.name


def test_such_a_call_is_found() -> None:
    text = "@triton.jit\ndef f(x, NEAR):\n    return x < (NEAR + 1).to(tl.uint32)\n\n\n"
    text += "@triton.jit\ndef a_kernel(x_ptr, NEAR):\n    f(tl.load(x_ptr), NEAR)\n"
    assert called_on(text) == ["(NEAR + 1).to(tl.uint32)"]
    assert called_on(text.replace("(NEAR + 1).to", "(x + NEAR).to")) == []
