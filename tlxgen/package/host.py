"""From the modules of generated/ to those of a package: the same host functions, launching by `_launcher.py`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
import libcst.matchers as m

from tlxgen.errors import TlxgenError
from tlxgen.render.passes._tree import dotted

LAUNCHER = "launcher"  # what `_launcher.py` is imported as
_STANDS_FOR = {"triton": LAUNCHER}
_OF_TRITON = {"driver", "knobs"}  # what `_host.py` imports of it by name, and a launcher has
_SEAM = {"by_triton", "kind", "tell"}  # the methods of `_host.Launch` that a launcher has
HOST_DOC = '''\
"""What the host functions of the modules in this folder share: checks, TMA descriptors, launches, operators of torch.

Written by tlxgen, the same for every package but for how it launches (_launcher.py). A host function looks the layouts
of its arguments up in a table of calls. The first call of a layout checks everything and finds a cubin; each later one
hands the launcher what it was told before.
"""'''


def of_module(text: str, kernels: Sequence[str]) -> str:
    """A generated module without its device code; those of `kernels` that it has become names of cubins.

    Raises TlxgenError where its host needs more of Triton than a launcher has.
    """
    return _packaged(cst.parse_module(text), kernels)


def of_host(text: str) -> str:
    """`_host.py` with a launcher in place of Triton: its class Launch inherits the methods that launch."""
    return _packaged(cst.parse_module(text).visit(_Launch()), ())


def _packaged(module: cst.Module, kernels: Sequence[str]) -> str:
    body: list[cst.CSTNode] = []
    imported = False
    dropped: set[str] = set()
    for node in module.body:
        if names := _imports_of_triton(node):
            dropped |= names
            if not imported:
                imported = True
                body += cst.parse_module(f"from . import _launcher as {LAUNCHER}\n").body
                if known := sorted(names & _OF_TRITON | _OF_TRITON & _all_names(module)):
                    body += cst.parse_module(f"from ._launcher import {', '.join(known)}\n").body
                    dropped -= set(known)
        elif isinstance(node, cst.FunctionDef) and _is_device_code(node):
            if node.name.value in kernels:
                name = node.name.value
                body += cst.parse_module(f'{name} = {LAUNCHER}.Kernel("{name}")\n').body
        else:
            body.append(node)
    renamed = module.with_changes(body=body).visit(_Rename())
    left = sorted((dropped - _OF_TRITON - set(_STANDS_FOR)) & _all_names(renamed))
    if left:
        raise TlxgenError(f"its host functions call {', '.join(left)} of Triton, which a package does without")
    return renamed.code


def _imports_of_triton(node: cst.CSTNode) -> set[str]:
    """The names that a statement imports of triton; none for any other statement."""
    if not m.matches(node, m.SimpleStatementLine(body=[m.OneOf(m.Import(), m.ImportFrom())])):
        return set()
    statement = cst.ensure_type(node, cst.SimpleStatementLine).body[0]
    if isinstance(statement, cst.ImportFrom):
        if statement.relative or statement.module is None or dotted(statement.module).split(".")[0] != "triton":
            return set()
        assert not isinstance(statement.names, cst.ImportStar)
        return {alias.evaluated_alias or alias.evaluated_name for alias in statement.names}
    assert isinstance(statement, cst.Import)
    names = [a for a in statement.names if a.evaluated_name.split(".")[0] == "triton"]
    return {alias.evaluated_alias or alias.evaluated_name for alias in names}


def _is_device_code(node: cst.FunctionDef) -> bool:
    """Whether Triton compiles a function, or calls it as it compiles: it has @triton.jit, @triton.jit(...),
    @triton.constexpr_function or @tl.core.builtin."""
    of = [d.decorator.func if isinstance(d.decorator, cst.Call) else d.decorator for d in node.decorators]
    return any(dotted(decorator) in ("triton.jit", "triton.constexpr_function", "tl.core.builtin") for decorator in of)


def _all_names(module: cst.Module) -> set[str]:
    """Every name that a module's code has, but in its imports."""
    found: set[str] = set()

    class Names(cst.CSTVisitor):
        def visit_Import(self, node: cst.Import) -> bool:
            return False

        def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
            return False

        def visit_Name(self, node: cst.Name) -> None:
            found.add(node.value)

    module.visit(Names())
    return found


class _Rename(cst.CSTTransformer):
    """`triton.cdiv` to `launcher.cdiv`."""

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        value = updated_node.value
        if isinstance(value, cst.Name) and value.value in _STANDS_FOR:
            return updated_node.with_changes(value=value.with_changes(value=_STANDS_FOR[value.value]))
        return updated_node


class _Launch(cst.CSTTransformer):
    """Takes the methods that hand a launch to Triton out of `Launch`, for those of the launcher's class."""

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        return False

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        if updated_node.name.value != "Launch":
            return updated_node
        kept = [n for n in updated_node.body.body if not (isinstance(n, cst.FunctionDef) and n.name.value in _SEAM)]
        gone = len(updated_node.body.body) - len(kept)
        if gone != len(_SEAM):
            raise TlxgenError(f"_host.Launch has {gone} of the methods {', '.join(sorted(_SEAM))}")
        return updated_node.with_changes(
            bases=[cst.Arg(cst.parse_expression(f"{LAUNCHER}.Launch"))],
            lpar=cst.LeftParen(),
            rpar=cst.RightParen(),
            body=updated_node.body.with_changes(body=kept),
        )

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        first = cst.parse_module(f"{HOST_DOC}\n").body[0]
        return updated_node.with_changes(body=[first, *updated_node.body[1:]])
