"""Removes names that are not used."""

from __future__ import annotations

import libcst as cst

from tlxgen.render.passes._names import pure_helpers
from tlxgen.render.passes._unused_definitions import drop_functions, drop_imports, drop_parameters
from tlxgen.render.passes._unused_locals import UnusedLocals


class RemoveUnused:
    """Removes locals, compile-time parameters of helpers, functions and imports that are not used, until none is left:

        import torch, triton                                      import triton
        @triton.jit                                               @triton.jit
        def _slot(count, SLOTS, DEPTH: tl.constexpr):             def _slot(count, SLOTS):
            half = SLOTS // 2                               ->        return count % SLOTS, count // SLOTS & 1
            return count % SLOTS, count // SLOTS & 1
        slot, phase = _slot(count, 4, 2)                          slot, _ = _slot(count, 4)

    Only values without a side effect are removed. Public host functions, launched kernels and names in `__all__` stay.
    """

    def __call__(self, module: cst.Module) -> cst.Module:
        while True:
            before = module
            module = UnusedLocals(pure_helpers(module)).rewrite(module)
            module = drop_imports(drop_functions(drop_parameters(module)))
            if module is before:
                return module
