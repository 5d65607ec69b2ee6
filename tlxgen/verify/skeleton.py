"""Writes a first declaration for a kernel or a host function. It can be run: its arguments are guesses by name, and the
expected results are left to the user."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from tlxgen.cases.foreign import is_kernel
from tlxgen.cases.match import jit_of, required, supplied

_OUTPUT = re.compile(r"(c|o|y|out|output|dst|result)(_ptr|_desc)?")
_TENSOR = re.compile(r"[a-z]|\w+_(ptr|desc|tensor)|x\d*|q|k|v|query|key|value|input|weight|bias|out|output|other|lse")
_NOTE = "# reference: ...  what must come out: torch, over the inputs by name (x_ptr is also x)"


def skeleton(function: Any) -> str:
    """YAML of one case."""
    return _of_kernel(function) if is_kernel(function) else _of_host(function)


def skeletons(file: str, functions: Iterable[Any]) -> str:
    """YAML of a file of cases, one for each function."""
    cases = [f"  {_name(one)}:\n{textwrap.indent(skeleton(one), '    ')}" for one in functions]
    head = f"# Cases of {file}: inputs of its kernels and functions. Sizes and values are guesses; please correct them."
    return "\n".join([head, "cases:", *cases]) + "\n"


def _name(function: Any) -> str:
    name: str = jit_of(function).fn.__name__ if is_kernel(function) else function.__name__
    return name


def _of_kernel(kernel: Any) -> str:
    given = supplied(kernel)
    needed = [p for p in jit_of(kernel).params if p.name not in given and p.default is inspect.Parameter.empty]
    arguments = [f"  {p.name}: {_argument(p.name)}" for p in needed if not p.is_constexpr]
    constants = [f"  {p.name}: 64" for p in needed if p.is_constexpr]
    lines = [f"kernel: {_name(kernel)}", "grid: [1]"]
    lines += ["args:", *arguments] if arguments else []
    lines += ["constexprs:", *constants] if constants else []
    return "\n".join([*lines, _NOTE])


def _of_host(function: Any) -> str:
    parameters = inspect.signature(function).parameters
    arguments = [f"  {name}: {_argument(name, parameters[name].annotation, host=True)}" for name in required(function)]
    lines = [f"call: {_name(function)}"] + (["args:", *arguments] if arguments else [])
    return "\n".join([*lines, _NOTE])


def _argument(name: str, annotation: Any = None, host: bool = False) -> str:
    """A typical value for an argument's name. A tensor of a host function is an input, since results are returned."""
    if annotation in (bool, "bool"):
        return "false"
    if annotation in (int, float, "int", "float"):
        return "256" if annotation in (int, "int") else "1.0"
    kind = "output" if _OUTPUT.fullmatch(name) and not (host and len(name) == 1) else "tensor"
    if name.endswith("_desc") and not host:
        return f"{{{kind}: [256, 256], dtype: fp16, block: [64, 64]}}"
    if _TENSOR.fullmatch(name) and (host or name.endswith("_ptr") or len(name) == 1 or name in ("out", "output")):
        return f"{{{kind}: [256, 256], dtype: fp16}}"
    return "256"
