"""Runs of hand-written files: a declared case, or a host function without arguments."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tlxgen.cases import Case, sidecar
from tlxgen.cases.execute import verify_case
from tlxgen.cases.foreign import ForeignError, attributed, importing, is_kernel, shown
from tlxgen.cases.match import required
from tlxgen.coverage import Coverage
from tlxgen.errors import Location
from tlxgen.sim import SMS, Report, Session, Way, load_module, verify
from tlxgen.spec.nearest import hint

from .skeleton import skeleton, skeletons
from .varied import Varied
from .verification import Arch


def prepare_case(case: Case, config: int | None) -> Callable[[Way], Report]:
    """A function that runs a case on one schedule and seed, or in another way. Raises TlxgenError."""

    def load(sms: int, noted: Coverage) -> ModuleType:
        with importing(case.file):
            return load_module(case.file, case.declared.arch, sms, noted)

    varied: Varied[ModuleType] = Varied(load, case.declared.sms)
    return lambda way: varied.run(way, lambda it, n: verify_case(case, (way,), module=it, config=config, sms=n))


def prepare_function(path: Path, name: str, config: int | None, arch: Arch) -> Callable[[Way], Report]:
    """A function that calls a host function on one schedule and seed, or in another way. Raises ForeignError."""

    def load(sms: int, noted: Coverage) -> Callable[[Session], None]:
        call, where = calling(path, name, arch, sms, noted)

        def program(session: Session) -> None:
            call(session)
            if not session.launches:
                raise ForeignError(f"{name} launched no kernel: nothing was verified", location=where)
            session.refuse_idle(config or None)

        return program

    varied: Varied[Callable[[Session], None]] = Varied(load, None)
    return lambda way: varied.run(way, lambda it, n: verify(it, (way,), sms=n, config=config or 0, arch=arch))


def calling(
    path: Path, name: str, arch: Arch, sms: int = SMS, noted: Coverage | None = None
) -> tuple[Callable[[Session], None], Location]:
    """A function that calls a host function without arguments, and the host function's location.

    `noted` records whether the file asks for the number of SMs while it is imported. Raises ForeignError.
    """
    found = _functions(path)
    if not name:
        raise _undecided(path, found)
    with importing(path):
        module = load_module(path, arch, sms, noted)
    function = getattr(module, name, None)
    where = Location(shown(str(path)), next((f.line for f in found if f.name == name), 1), 1)
    if function is None:
        raise ForeignError(f"no {name!r} here{hint(name, [f.name for f in found], noun='functions')}", location=where)
    if is_kernel(function):
        remedy = _start(path, function)
        raise ForeignError(f"{name} is a kernel: its launch must be declared", location=where, remedy=remedy)
    if not callable(function):
        raise ForeignError(f"{name} is a {type(function).__name__}, not a function", location=where)
    if needed := required(function):
        remedy = _start(path, function)
        raise ForeignError(f"{name} needs arguments: {', '.join(needed)}", location=where, remedy=remedy)

    def program(session: Session) -> None:
        torch.manual_seed(session.seed)
        with attributed(session):
            function()

    return program, where


def _start(path: Path, function: Any) -> str:
    declared = sidecar(path).name
    text = textwrap.indent(skeleton(function), " " * 6)
    return f"declare a case in {declared} (--skeleton writes that file); to start from:\n{text}"


def skeleton_of(path: Path, name: str, arch: Arch) -> str:
    """A first case file, for one function, or for all kernels and the functions that need arguments.

    Raises ForeignError.
    """
    found = _functions(path)
    with importing(path):
        module = load_module(path, arch)
    names = [name] if name else [f.name for f in found if f.kernel or f.needs]
    functions = [getattr(module, n, None) for n in names]
    where = Location(shown(str(path)), 1, 1)
    for n, function in zip(names, functions, strict=True):
        if not callable(function) and not is_kernel(function):
            raise ForeignError(
                f"no function {n!r} here{hint(n, [f.name for f in found], noun='functions')}", location=where
            )
    if not functions:
        raise ForeignError("no function here that needs a case", location=where)
    return skeletons(path.name, functions)


@dataclass(frozen=True)
class _Function:
    """A top-level function of a file's text."""

    name: str
    line: int
    kernel: bool
    needs: tuple[str, ...]


def _functions(path: Path) -> list[_Function]:
    """The functions that a file defines. The file is parsed, not imported. Raises ForeignError if it is not Python."""
    with importing(path):
        tree = ast.parse(path.read_bytes(), str(path))
    return [_function(node) for node in tree.body if isinstance(node, ast.FunctionDef)]


def _function(node: ast.FunctionDef) -> _Function:
    jitted = any(isinstance(n, ast.Attribute) and n.attr == "jit" for d in node.decorator_list for n in ast.walk(d))
    arguments: list[Any] = [*node.args.posonlyargs, *node.args.args]
    needs = arguments[: len(arguments) - len(node.args.defaults)]
    needs += [a for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is None]
    return _Function(node.name, node.lineno, jitted, tuple(a.arg for a in needs))


def _undecided(path: Path, found: list[_Function]) -> ForeignError:
    """The error for a file whose cases are not declared."""
    alone = [f.name for f in found if not f.kernel and not f.needs]
    kernels = [f.name for f in found if f.kernel]
    others = [f"{f.name}({', '.join(f.needs)})" for f in found if not f.kernel and f.needs]
    lines = [f"run one that needs no arguments: {path.name}:{', '.join(alone)}"] if alone else []
    if kernels or others:
        lines.append(f"declare cases in {sidecar(path).name} for")
    lines += [f"kernels: {', '.join(kernels)}"] * bool(kernels) + [f"functions: {', '.join(others)}"] * bool(others)
    lines += [f"{path.name}:KERNEL prints a declaration to start from"] * bool(kernels)
    where = Location(shown(str(path)), 1, 1)
    text = "say what to run" if found else "no function here: nothing to run"
    return ForeignError(text, location=where, remedy="\n    ".join(lines))
