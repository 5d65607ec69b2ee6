"""Runs a case: makes its tensors, launches its kernel or calls its function, and holds what comes out against the
reference."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import torch

from tlxgen.errors import SpecErrors
from tlxgen.sim import RUNS, SMS, Limits, Report, Session, Way, load_module, verify
from tlxgen.sim.repeatable import out_of_memory

from .case import Case
from .declaration import MODULE_FUNCTION
from .foreign import attributed, importing
from .match import check_call, check_kernel
from .numbers import difference, dims, tolerance_of
from .tensors import as_argument, fill

Tensors = dict[str, torch.Tensor]


def verify_case(
    case: Case,
    runs: Sequence[Way] | None = None,
    *,
    module: ModuleType | None = None,
    config: int | None = None,
    limits: Limits | None = None,
    sms: int | None = None,
) -> Report:
    """Runs a case once for each schedule and seed, in this process. `module` stands for the case's file, imported; host
    code is told of as many SMs as the case says, else of `sms`, else of 4.

    Raises TlxgenError for a declaration that does not fit the function (with the places, all of them), an operation
    that the simulator lacks, and a host function that raises.
    """
    if module is None:
        with importing(case.file):
            module = load_module(case.file, case.declared.arch)
    function = function_of(case, module)
    reference = _Reference(case, module)
    launch = _launcher(case, function)

    def program(session: Session) -> None:
        tensors = fill(case, session.seed)
        before = {name: tensor.clone() for name, tensor in tensors.items()}
        with attributed(session):
            returned = launch(tensors)
        session.refuse_idle(asked or None)  # the first is that of a kernel that has only one
        with torch._C.DisableTorchFunction():
            outputs = _outputs(case, session, tensors, returned)
            for name, expected in reference.values(before, outputs).items():
                text = difference(outputs[name], expected, tolerance_of(case.declared.tolerance, outputs[name]))
                if text:
                    session.findings.add("wrong-numbers", f"{name}: {text}")

    declared = case.declared
    asked = declared.config if config is None else config
    count = declared.sms or sms or SMS
    return verify(program, runs or RUNS, sms=count, config=asked or 0, limits=limits, arch=declared.arch)


def launching(case: Case, module: ModuleType) -> Callable[[Session], None]:
    """Launches a case's kernel or calls its function, and compares nothing. Raises SpecErrors at once."""
    launch = _launcher(case, function_of(case, module))

    def program(session: Session) -> None:
        tensors = fill(case, session.seed)
        with attributed(session):
            launch(tensors)

    return program


def function_of(case: Case, module: ModuleType) -> Any:
    """The kernel or function that a case names; held against what the case passes. Raises SpecErrors."""
    declared = case.declared
    key = "kernel" if declared.kernel else "call"
    found = getattr(module, declared.function, None)
    faults = check_kernel(case, module, found) if key == "kernel" else check_call(case, module, found)
    if faults:
        raise SpecErrors(faults)
    return found


def _launcher(case: Case, function: Any) -> Callable[[Tensors], Any]:
    """What runs the case's function on tensors by name, and gives what a host function returns."""
    declared = case.declared

    def arguments(tensors: Tensors) -> dict[str, Any]:
        given = {n: as_argument(case, n, a, tensors) for n, a in declared.args.items()}
        return given | {n: as_argument(case, n, a, tensors) for n, a in declared.constexprs.items()}

    def launch(tensors: Tensors) -> None:
        given = arguments(tensors)
        positional = []
        for name in function.arg_names:  # autotuners see only what is passed by position
            if name not in given:
                break
            positional.append(given.pop(name))
        if declared.ctas_per_cga != (1, 1, 1):
            given["ctas_per_cga"] = declared.ctas_per_cga
        if not _is_autotuned(function):
            given["num_warps"] = declared.num_warps
        grid = declared.grid or ()
        function[lambda meta: case.sizes(grid, dict(meta))](*positional, **given)

    return launch if declared.kernel else lambda tensors: function(**arguments(tensors))


def _is_autotuned(kernel: Any) -> bool:
    return hasattr(kernel, "configs") or (hasattr(kernel, "fn") and _is_autotuned(kernel.fn))


def _outputs(case: Case, session: Session, tensors: Tensors, returned: Any) -> Tensors:
    """What came out, by name: the declared outputs, then what the function returned ("result", or "result[0]"...)."""
    outputs = {}
    for name, argument in case.declared.tensors.items():
        if argument.kind == "output":
            out = tensors[name]
            if argument.fill is None and argument.range is None and (missing := session.memory.unwritten(out)):
                text = f"{name}: {missing} of {out.numel()} elements were never written"
                session.findings.add("output-unwritten", text)
            outputs[name] = out
    if isinstance(returned, torch.Tensor):
        outputs["result"] = returned.as_subclass(torch.Tensor)
    elif isinstance(returned, (tuple, list)):
        made = [t.as_subclass(torch.Tensor) for t in returned if isinstance(t, torch.Tensor)]
        outputs |= {f"result[{i}]": tensor for i, tensor in enumerate(made)}
    return outputs


class _Reference:
    """What the outputs should be, computed in float64."""

    def __init__(self, case: Case, module: ModuleType) -> None:
        self._case = case
        self._module = module

    def values(self, before: Tensors, outputs: Tensors) -> dict[str, torch.Tensor]:
        """The expected tensor for each output that the reference speaks of, from the tensors as they were at first."""
        given = self._case.declared.reference
        if given is None:
            return {}
        inputs = {n: t.double() if t.is_floating_point() else t for n, t in before.items()}
        names = [n for n in outputs if n.startswith("result")] or list(outputs)
        if isinstance(given, str):
            made = self._evaluate(("reference",), given, inputs)
            if isinstance(made, Mapping):
                return self._checked(dict(made), outputs)
            several = made if isinstance(made, (tuple, list)) else (made,)
            if len(several) != len(names):
                text = f"the reference gives {len(several)} tensors for {len(names)} outputs: {', '.join(names)}"
                raise self._case.fault(("reference",), text)
            return self._checked(dict(zip(names, several, strict=True)), outputs)
        return self._checked({n: self._evaluate(("reference", n), t, inputs) for n, t in given.items()}, outputs)

    def _checked(self, made: dict[str, Any], outputs: Tensors) -> dict[str, torch.Tensor]:
        for name, value in made.items():
            if name not in outputs:
                raise self._case.fault(("reference",), f"there is no output {name!r}; there are {', '.join(outputs)}")
            if not isinstance(value, torch.Tensor):
                what = type(value).__name__
                raise self._case.fault(("reference",), f"the reference for {name} is a {what}, not a tensor")
            if name in self._case.declared.tensors and value.shape != outputs[name].shape:  # else it is the function's
                text = f"the reference for {name} has the shape {dims(value)}, {name} itself {dims(outputs[name])}"
                raise self._case.fault(("reference",), text)
        return made

    def _evaluate(self, path: tuple[str, ...], text: str, inputs: Tensors) -> Any:
        names: dict[str, Any] = {**vars(self._module), "torch": torch, "math": math, **self._case.values}
        for name, tensor in inputs.items():  # a_ptr and a_desc are also a
            names.setdefault(name.removesuffix("_ptr").removesuffix("_desc"), tensor)
        names |= inputs
        try:
            if MODULE_FUNCTION.fullmatch(text):
                module, _, function = text.partition(":")
                return getattr(importlib.import_module(module), function)(**inputs)
            return eval(compile(text.strip(), "<reference>", "eval"), names)  # as trusted as the file that it is about
        except MemoryError:
            raise
        except Exception as error:
            if out_of_memory(error):
                raise MemoryError(str(error)) from None
            what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise self._case.fault(path, f"the reference raised {what}") from None
