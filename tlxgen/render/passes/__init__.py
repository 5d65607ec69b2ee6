"""From the text that the templates render to the text that a person would have written: passes over a libcst tree.

Each pass is a callable from module to module, can be run twice without effect, and leaves what it has no business with
byte-identical. Formatting is black's business, afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tlxgen.errors import Location, TemplateFault
from tlxgen.render.passes.bake import BakeConstants
from tlxgen.render.passes.dead import RemoveDeadCode
from tlxgen.render.passes.fold import FoldConstants, written_constants
from tlxgen.render.passes.order import OrderDefinitions
from tlxgen.render.passes.unused import RemoveUnused
from tlxgen.render.passes.waits import KeepProductsInFlight

__all__ = [
    "BakeConstants",
    "FoldConstants",
    "KeepProductsInFlight",
    "OrderDefinitions",
    "RemoveDeadCode",
    "RemoveUnused",
    "run",
]


def run(source: str, *, bake: Mapping[str, int | bool | float | str], toolchain: str = "fbtriton") -> str:
    """`source` with `bake` resolved, and everything gone that this made trivial, dead or unused; for `toolchain`.

    Raises TemplateFault, with the place in the rendered text, when `source` is not Python.
    """
    module = _parsed(source)
    passes = (BakeConstants(bake), FoldConstants(written_constants(module)), RemoveDeadCode(), RemoveUnused())
    before = None
    while module is not before:  # each may make work for another; an unchanged module comes back as the same object
        before = module
        for simplify in passes:
            module = simplify(module)
    if toolchain == "utlx":
        module = KeepProductsInFlight()(module)
    return OrderDefinitions()(module).code


def _parsed(source: str) -> cst.Module:
    try:
        return cst.parse_module(source)
    except cst.ParserSyntaxError as error:
        lines = source.splitlines()
        text = lines[error.raw_line - 1] if 0 < error.raw_line <= len(lines) else ""
        location = Location("<rendered>", error.raw_line, error.raw_column + 1, text)
        raise TemplateFault(f"the rendered template is not valid Python: {error.message}", location=location) from error
