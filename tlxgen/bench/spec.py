"""The candidates of a spec's benchmark: the host functions of its modules, and the baselines of its family."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tlxgen import families
from tlxgen.check import numerics
from tlxgen.errors import TlxgenError
from tlxgen.families import Function, Kernels, Structure, Variant
from tlxgen.families.structure import by_problem
from tlxgen.loading import load_file
from tlxgen.spec import load

from .comparison import Case, Problem, Tensors

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Kernel:
    """A generated kernel that a case launches: its module, and its variant, which is `chosen` or one of several."""

    name: str
    path: Path
    variant: Variant
    chosen: bool


class Bench:
    """The cases and problems of a spec, whose modules are in `folder`.

    `baselines` are the names of those to time; None means all that are quick to set up. With `every_config` each config
    is timed, not only the one that a module picks for a shape.
    """

    def __init__(
        self, spec: Path, folder: Path, *, baselines: Sequence[str] | None = None, every_config: bool = False
    ) -> None:
        self.spec, self.folder, self.every_config = spec, folder, every_config
        self.picks_only = False  # if a function chooses among structures, only its picks are timed
        document = load(spec)
        self.family = families.of(document)
        self.kernels: Kernels = self.family.kernels(document).some()
        self.functions = families.functions(self.kernels)  # of all structures, even if this bench has a part of them
        self._wanted = baselines
        self.label = ""  # label of the baselines, if a spec's structures compute different things

    def apart(self) -> tuple[Bench, ...]:
        """One bench for each set of structures that compute the same thing, with baselines of its own."""
        sets = by_problem(self.kernels.structures, self.family.computed)
        return tuple(self._of(found, len(sets) > 1) for found in sets)

    def _of(self, structures: Sequence[Structure], labelled: bool) -> Bench:
        part = copy.copy(self)
        part.kernels = replace(self.kernels, structures=tuple(structures))
        for cached in ("first", "baselines"):
            part.__dict__.pop(cached, None)
        part.label = f" for {structures[0].name}" if labelled else ""
        return part

    @cached_property
    def how(self) -> Any:
        """The family's benchmark module."""
        return self.family.benchmark()

    @cached_property
    def first(self) -> Any:
        """The spec of the first variant. The work and the inputs are the same for all variants."""
        return self.kernels.structures[0].variants[0].spec

    @property
    def shapes(self) -> tuple[Shape, ...]:
        return self.family.shapes

    def problem(self, shape: Shape, device: Any) -> Problem:
        """The problem of a shape on `device`. Inputs are fresh at each call; the reference is that of given inputs."""
        spec, problem = self.first, self.family.problem()

        def wrong(tensors: Tensors, out: Any) -> str:
            reference = problem.reference(spec, tensors)
            outputs = out if isinstance(out, tuple) else (out,)
            by_name = getattr(self.how, "results", lambda *_: dict(zip(reference, outputs, strict=False)))
            for name, made in by_name(spec, tensors, out).items():
                expected, scale = reference[name]
                bound = 2 * problem.tolerance(spec, name)  # baselines round after each operation
                verdict = numerics.compare(made, expected, scale, bound)
                if not verdict.passed:
                    return f"{name}: {verdict.text}"
            return ""

        return Problem(
            shape,
            self.family.flops(spec, shape),
            self.family.bytes_moved(spec, shape),
            lambda: problem.inputs(spec, shape, device),
            wrong,
        )

    @cached_property
    def baselines(self) -> dict[str, Callable[[Tensors], Any]]:
        """The baselines by name. Raises TlxgenError for an unknown name."""
        found = dict(self.how.baselines(self.first))
        for name in self._wanted or ():
            if name not in found:
                raise TlxgenError(f"no baseline {name!r} here", remedy=f"there are {', '.join(found) or 'none'}")
        slow = getattr(self.how, "SLOW_BASELINES", ()) if self._wanted is None else ()
        return {n: b for n, b in found.items() if n not in slow and (self._wanted is None or n in self._wanted)}

    def cases(self, shape: Shape) -> list[Case]:
        """The cases: baselines first, then the structures, each with its own pick or with every config."""
        made = [Case(name + self.label, make, baseline=True) for name, make in self.baselines.items()]
        names = {structure.name for structure in self.kernels.structures}
        for function in self.functions:
            if function.chooses and function.structures[0].name in names:
                made.append(self._choosing(function, shape))
                if self.picks_only:
                    names -= {structure.name for structure in function.structures}
        kept = [structure for structure in self.kernels.structures if structure.name in names]
        return made + [case for structure in kept for case in self._structure(structure, shape)]

    def _choosing(self, function: Function, shape: Shape) -> Case:
        """The case of the public function that chooses among structures."""
        module, spec = self._module(function.module), function.structures[0].variants[0].spec
        return Case(function.name, lambda tensors: self.how.call(module, spec, shape, tensors))

    def case(self, name: str, shape: Shape) -> Case:
        return next(case for case in self.cases(shape) if case.name == name)

    def launched(self) -> Iterator[Kernel]:
        """The kernels of the structures' cases, in their order."""
        for structure in self.kernels.structures:
            path = self.folder / f"{structure.name}.py"
            for variant in structure.variants if self.every_config else structure.variants[:1]:
                label = variant.label if self.every_config else ""
                name = f"{structure.name} | {label}" if label else structure.name
                yield Kernel(name, path, variant, self.every_config)

    def _structure(self, structure: Structure, shape: Shape) -> Iterator[Case]:
        module = self._module(structure.name)
        configs = module.CONFIGS if self.every_config else [None]
        kernels = [kernel for kernel in self.launched() if kernel.path.stem == structure.name]
        for kernel, config in zip(kernels, configs, strict=True):

            def make(tensors: Tensors, spec: Any = kernel.variant.spec, config: Any = config) -> Any:
                return self.how.call(module, spec, shape, tensors, config)

            yield Case(kernel.name, make, kernel.variant.label if self.every_config else "")

    def _module(self, name: str) -> Any:
        if name not in self._modules:
            self._modules[name] = load_file(self.folder / f"{name}.py")
        return self._modules[name]

    @cached_property
    def _modules(self) -> dict[str, Any]:
        return {}
