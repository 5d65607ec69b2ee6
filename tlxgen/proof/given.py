"""What the runs of a module are given, as a digest: launches with their arguments, and the results that are expected.

A run in the simulator depends on the kernels, on the simulator, and on what both are given by the family's code, by
`_host.py` and by the module's host function. So a record is still a proof where these three have changed, and what they
give has not. To know that takes no simulation: here a host function runs, its launches are noted, and no kernel is
executed. What they do with results that kernels have left is therefore not seen: a host function that reads them, or
computes with them in place, and how `launch` of a family's problem counts what lies outside of the outputs.

It imports torch.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from tlxgen import digest
from tlxgen.cudalike import DEVICE
from tlxgen.families import kernels_of
from tlxgen.sim import SMS, Session
from tlxgen.verify import structures
from tlxgen.verify.sms import counts_for, turn_of
from tlxgen.verify.verification import Run

# MKL adds up in one order on all processors, or each kind would have its own digests of references. It reads this once,
# when it is first called.
os.environ.setdefault("MKL_CBWR", "COMPATIBLE")

KERNEL = re.compile(r"(triton\.)?jit\b|tl\.core\.builtin\b")  # decorators of what the simulator executes
ROWS = "CONFIGS"
DELAYS = "delays"  # a way of runs that all have seed 0 and the first number of SMs


def kernels_of_text(text: str) -> str:
    """The digest of a module's kernels: their code and lines, which findings and coverage name, the constants and the
    imports that they use, and the configs. Raises SyntaxError."""
    body = ast.parse(text).body
    used, kept = {ROWS}, list[ast.stmt]()
    rest = [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom)]
    kernels = [n for n in rest if isinstance(n, ast.FunctionDef) and any(map(_is_kernel, n.decorator_list))]
    todo: list[ast.stmt] = [*kernels, *(n for n in rest if ROWS in _names_of(n))]
    while todo:
        node = todo.pop()
        kept.append(node)
        used |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        todo += [n for n in rest if n not in kept and n not in todo and _names_of(n) & used]
    imports = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom) and _names_of(n) & used]
    told = [ast.unparse(n) for n in (*imports, *sorted(kept, key=lambda n: n.lineno))]
    return digest.of_text("\n".join([*told, str([(n.name, n.lineno) for n in kernels])]))


def _is_kernel(decorator: ast.expr) -> bool:
    return KERNEL.match(ast.unparse(decorator)) is not None


def _names_of(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def given_to(spec: Path, structure: str, module: Path, ways: Sequence[Run]) -> str:
    """The digest of what the runs of a generated module are given. Empty if a host function fails."""
    told, strict, threads = _Told(), torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    torch.use_deterministic_algorithms(True, warn_only=True)  # memory that nobody has written is filled, too
    torch.set_num_threads(1)
    try:
        _note_all(told, spec, structure, module, ways)
    except Exception:  # a run of the module says what is wrong with it
        return ""
    finally:
        torch.use_deterministic_algorithms(strict)
        torch.set_num_threads(threads)
    return str(told.digest.hexdigest())


def _note_all(told: _Told, spec: Path, structure: str, module: Path, ways: Sequence[Run]) -> None:
    """Notes what each run is given, as `verify.structures` runs it: all cases in each way, and once without delays."""
    kernels = kernels_of(spec)
    one = kernels.structure(structure)
    problem, arch = kernels.family.problem(), one.plan.arch.name
    modules = {SMS: structures.loaded(module, arch, SMS)}
    configs = structures.rows_of(modules[SMS], module)
    variants = [one.variant_of(c.kwargs)[0] for c in configs]
    clusters = [structures.cluster_of(v) for v in variants]
    points = [(v.spec, c.kwargs) for v, c in zip(variants, configs, strict=True)]
    told.say(arch, [bool(s.looks) for s in one.plan.signals], clusters)
    told.say([repr(w) for v, _ in points for w in structures.waivers_of(problem, v)])
    for number, (i, shape) in enumerate(structures.cases_of(problem, points)):
        drawn = [way for way in ways if way[0] != DELAYS]
        turns = {(seed, turn_of((kind, seed), number, clusters[i])) for kind, seed in drawn}
        for seed, sms in sorted(turns | {(0, counts_for(clusters[i])[0])}):
            if sms not in modules:
                modules[sms] = structures.loaded(module, arch, sms)
            told.say("run", i, tuple(shape), seed, sms)
            _note(told, problem, modules[sms], (points[i][0], tuple(shape)), modules[sms].CONFIGS[i], seed, sms, arch)


def _note(told: _Told, problem: Any, module: Any, case: Any, config: Any, seed: int, sms: int, arch: str) -> None:
    session = _Noted(seed=seed, sms=sms, arch=arch, told=told)
    with session.active():
        torch.manual_seed(seed)
        tensors = problem.inputs(*case, DEVICE)
        with torch._C.DisableTorchFunction():
            for name, value in tensors.items():
                told.say(name)
                told.argument(value)
        outputs, strays = problem.launch(module, *case, tensors, config)
        with torch._C.DisableTorchFunction():
            told.say("results", strays, sorted(outputs))
            reference = problem.reference(case[0], {name: _plain(t) for name, t in tensors.items()})
            for name, out in sorted(outputs.items()):
                expected, scale = reference[name]
                told.say(float(scale), float(problem.tolerance(case[0], name)))
                told.tensor(out)
                told.say(tuple(expected.shape), str(expected.dtype))
                told.bytes(expected.contiguous())


@dataclass(eq=False)
class _Told:
    """A digest of all that is said. Buffers have numbers, in the order in which they come."""

    digest: Any = field(default_factory=hashlib.sha256)
    known: dict[int, int] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)  # so that no other buffer gets the address of one

    def begin(self) -> None:
        self.known.clear()
        self.kept.clear()

    def say(self, *values: Any) -> None:
        self.digest.update(repr(values).encode())

    def bytes(self, tensor: torch.Tensor) -> None:
        """The bytes of a tensor's whole buffer."""
        self.digest.update(torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).numpy().tobytes())

    def tensor(self, value: torch.Tensor) -> None:
        tensor = _plain(value)
        self.kept.append(tensor.untyped_storage())
        number = self.known.setdefault(self.kept[-1].data_ptr(), len(self.known))
        self.say(number, tensor.storage_offset(), tuple(tensor.shape), tensor.stride(), str(tensor.dtype))
        self.bytes(tensor)

    def argument(self, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self.tensor(value)
        elif isinstance(value, list | tuple):
            self.say(type(value).__name__, len(value))
            for part in value:
                self.argument(part)
        elif hasattr(value, "block_shape"):  # a tensor descriptor
            self.say(*(str(getattr(value, key, None)) for key in ("shape", "strides", "block_shape", "padding")))
            self.argument(value.base)
        else:
            self.say(type(value).__name__, str(value))


@dataclass(eq=False)
class _Noted(Session):
    """A session whose launches are noted, and not executed."""

    told: _Told = field(default_factory=_Told)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.told.begin()

    def launch(self, kernel: Any, grid: Any, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        bound = dict(zip(kernel.arg_names, arguments, strict=False))
        bound |= {name: value for name, value in options.items() if name in kernel.arg_names}
        with torch._C.DisableTorchFunction():
            self.told.say(kernel.fn.__name__, tuple(grid(bound) if callable(grid) else grid), list(bound))
            for value in bound.values():
                self.told.argument(value)
            self.told.say(sorted((k, str(v)) for k, v in options.items() if k not in bound))
        self.launches += 1


def _plain(value: Any) -> Any:
    return value.as_subclass(torch.Tensor) if isinstance(value, torch.Tensor) else value
