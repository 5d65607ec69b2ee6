"""Passes over a libcst tree that clean the text of the templates up, as a person would have written it.

Each pass is a function from module to module. It is idempotent and leaves all code that it does not rewrite
byte-identical. Black formats the result afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tlxgen.errors import Location, TemplateFault
from tlxgen.render.passes._code import code
from tlxgen.render.passes._parse import parsed
from tlxgen.render.passes.bake import BakeConstants
from tlxgen.render.passes.dead import RemoveDeadCode
from tlxgen.render.passes.fold import FoldConstants, written_constants
from tlxgen.render.passes.operands import PackOperands
from tlxgen.render.passes.order import OrderDefinitions
from tlxgen.render.passes.unused import RemoveUnused
from tlxgen.render.passes.waits import KeepProductsInFlight

__all__ = [
    "BakeConstants",
    "FoldConstants",
    "KeepProductsInFlight",
    "OrderDefinitions",
    "PackOperands",
    "RemoveDeadCode",
    "RemoveUnused",
    "run",
]


def run(source: str, *, bake: Mapping[str, int | bool | float | str], toolchain: str = "fbtriton") -> str:
    """Substitutes the constants `bake` in `source` for `toolchain`, and removes what is then trivial, dead or unused.

    Raises TemplateFault, with the place in the rendered text, when `source` is not Python.
    """
    module = _parsed(source)
    passes = (BakeConstants(bake), FoldConstants(written_constants(module)), RemoveDeadCode(), RemoveUnused())
    before = None
    while module is not before:  # one pass may enable another; an unchanged module is the same object
        before = module
        for simplify in passes:
            module = simplify(module)
    if toolchain == "utlx":
        module = PackOperands()(KeepProductsInFlight()(module))
    return code(OrderDefinitions()(module))


def _parsed(source: str) -> cst.Module:
    try:
        return parsed(source)
    except cst.ParserSyntaxError as error:
        lines = source.splitlines()
        text = lines[error.raw_line - 1] if 0 < error.raw_line <= len(lines) else ""
        location = Location("<rendered>", error.raw_line, error.raw_column + 1, text)
        raise TemplateFault(f"the rendered template is not valid Python: {error.message}", location=location) from error
