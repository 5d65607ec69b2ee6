"""A case against the function that it names: what the function lacks, what it misses, all in one go."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from tlxgen.errors import SpecError
from tlxgen.spec.nearest import hint

from .case import Case
from .foreign import is_kernel


def check_kernel(case: Case, module: ModuleType, kernel: Any) -> list[SpecError]:
    """What keeps the case's arguments from being those of the kernel."""
    name = case.declared.function
    if not is_kernel(kernel):
        what = _missing(case, module, name) if kernel is None else f"{name} is {_a(kernel)}, not a triton.jit kernel"
        return [case.fault(("kernel",), what)]
    constexprs = {p.name for p in jit_of(kernel).params if p.is_constexpr}
    faults = []
    for key in ("args", "constexprs"):
        for given in getattr(case.declared, key):
            if given not in kernel.arg_names:
                text = f"{name} has no argument {given!r}{hint(given, kernel.arg_names, noun='arguments')}"
                faults.append(case.fault((key, given), text, key=True))
            elif (given in constexprs) != (key == "constexprs"):
                belongs = "constexprs" if given in constexprs else "args"
                text = f"{given!r} belongs under {belongs}: {name} declares it so"
                faults.append(case.fault((key, given), text, key=True))
    given = {*case.declared.args, *case.declared.constexprs, *supplied(kernel)}
    needed = [p.name for p in jit_of(kernel).params if p.default is inspect.Parameter.empty]
    faults += _lacking(case, "kernel", name, [n for n in needed if n not in given])
    return faults + _grid_faults(case, kernel)


def check_call(case: Case, module: ModuleType, function: Any) -> list[SpecError]:
    """What keeps the case's arguments from being those of the host function."""
    name = case.declared.function
    if function is None:
        return [case.fault(("call",), _missing(case, module, name))]
    if is_kernel(function):
        text = f"{name} is a kernel: write kernel: {name} and its grid, or call the function that launches it"
        return [case.fault(("call",), text)]
    if not callable(function):
        return [case.fault(("call",), f"{name} is {_a(function)}, not a function")]
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        names: Iterable[str] = case.declared.args
    else:
        names = [n for n, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    faults = [
        case.fault(("args", n), f"{name} has no argument {n!r}{hint(n, names, noun='arguments')}", key=True)
        for n in case.declared.args
        if n not in names
    ]
    needed = [n for n in required(function) if n not in case.declared.args]
    return faults + _lacking(case, "call", name, needed)


def required(function: Any) -> list[str]:
    """The parameters that a function cannot do without."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind not in kinds]


def _grid_faults(case: Case, kernel: Any) -> list[SpecError]:
    from tlxgen.spec import ExpressionFault, compile_expression

    valid = dict.fromkeys((*kernel.arg_names, *case.values))
    faults = []
    for i, size in enumerate(case.declared.grid or ()):
        try:
            if isinstance(size, str):
                compile_expression(size).check_names(valid)
        except ExpressionFault as fault:
            faults.append(case.fault(("grid", i), str(fault)))
    return faults


def _lacking(case: Case, key: str, name: str, names: list[str]) -> list[SpecError]:
    if not names:
        return []
    s = "s" if len(names) > 1 else ""
    return [case.fault((key,), f"missing argument{s} of {name}: {', '.join(names)}")]


def _missing(case: Case, module: ModuleType, name: str) -> str:
    near = difflib.get_close_matches(name, [n for n in vars(module) if callable(getattr(module, n))], 1)
    return f"{case.file.name} has no {name!r}" + (f"; did you mean {near[0]!r}?" if near else "")


def supplied(kernel: Any) -> set[str]:
    """Arguments that autotuners and heuristics around the kernel give."""
    if not hasattr(kernel, "fn") or not is_kernel(kernel.fn):
        return set()
    configs = getattr(kernel, "configs", ())
    own = {name for config in configs for name in config.kwargs} | set(getattr(kernel, "values", None) or ())
    return own | supplied(kernel.fn)


def jit_of(kernel: Any) -> Any:
    """The JITFunction inside of autotuners and heuristics."""
    return kernel if hasattr(kernel, "params") else jit_of(kernel.fn)


def _a(value: Any) -> str:
    if inspect.isfunction(value):
        return "a plain function"
    return f"a {'class' if inspect.isclass(value) else type(value).__name__}"
