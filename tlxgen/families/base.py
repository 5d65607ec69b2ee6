"""What a kernel family is, and how the points of a spec's axes become structures with tables of configs."""

from __future__ import annotations

import contextlib
import difflib
import functools
import gc
import importlib
import importlib.util
import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tlxgen.errors import NoVariantError, SpecError, SpecErrors, TlxgenError
from tlxgen.plan import Plan, Role
from tlxgen.spec import CommonSpec, Document, Expansion, expand, renamed

from . import tuned
from .kit import Axis, Renamed, config_axes
from .kit.axes import blame
from .kit.names import TEMPLATE
from .structure import Structure, Value, Variant, leaves, names

NOT_STRUCTURE = {"name", "description", "variants", "check", "bake", "keep", "tuned"}


@dataclass(frozen=True)
class Kernels:
    """All that one spec stands for."""

    document: Document
    family: Family
    structures: tuple[Structure, ...]
    rejected: tuple[Variant, ...]

    @property
    def name(self) -> str:
        return str(self.document.data["name"])

    def some(self) -> Kernels:
        """Itself. Raises NoVariantError, with the reasons, when every variant was rejected."""
        if not self.structures:
            raise _nothing_left(self)
        return self

    @property
    def kept(self) -> tuple[Variant, ...]:
        return tuple(v for s in self.structures for v in s.variants)


class Family:
    """A template and its parameter model, and modules that are found by their names.

    They lie beside the class, in its package or in that of a class that it inherits from:

    plan       build(spec, guards=, baked=, **common) -> Plan
    problem    inputs, reference, tolerance, launch; importing it imports torch
    cost       flops(spec, shape), bytes_moved(spec, shape), clocks(plan, shape, sms); each may be missing
    benchmark  the calls to time and baselines (see `benchmark`); may be missing
    """

    name: ClassVar[str]
    template: ClassVar[str] = ""  # by default NAME/module.py.j2
    model: ClassVar[type[CommonSpec]]
    axes: ClassVar[tuple[Axis, ...]]  # those that only change constants, and others that rules are broken by
    dispatcher: ClassVar[str | None] = "lib/dispatcher.py.j2"  # chooses among structures that compute the same
    shapes: ClassVar[tuple[tuple[int, ...], ...]] = ()  # problems to time when nobody names any
    renamed: ClassVar[tuple[Renamed, ...]] = ()  # keys and values of specs and tuned files that had other names once
    computes: ClassVar[tuple[str, ...]] = ("problem",)  # paths that say what is computed; all others, only how

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.template = cls.__dict__.get("template") or TEMPLATE.format(kernel=cls.name)

    @functools.cached_property
    def config_axes(self) -> dict[str, str]:
        """The spec paths that only change constants, and the constexpr parameters that they become."""
        return config_axes(self.axes)

    @functools.cached_property
    def blame(self) -> dict[str, str]:
        """The spec path that a rule is most likely broken by."""
        return blame(self.axes)

    def part(self, name: str) -> Any:
        """The family's module of that name; None if there is none."""
        return _module(self._packages, name)

    @functools.cached_property
    def _packages(self) -> tuple[str, ...]:
        """Those of its class and of what that inherits from."""
        return tuple(c.__module__ for c in type(self).__mro__ if issubclass(c, Family) and c is not Family)

    def computed(self, spec: Any) -> dict[str, Any]:
        """What a spec computes: the values at the paths of `computes`, None at one that its model does not have."""
        return {
            path: functools.reduce(lambda v, k: getattr(v, k, None), path.split("."), spec) for path in self.computes
        }

    def guards(self, spec: Any) -> tuple[str, ...]:
        """Names of the constexpr guards of this spec's optional roles."""
        return ()

    def common(self, specs: Sequence[Any]) -> Mapping[str, Any]:
        """What all variants of a structure decide together; passed to `plan` as keyword arguments."""
        return {}

    def fullest(self, specs: Sequence[Any]) -> Any:
        """Of the variants of a structure the one whose plan has all that the source has, guarded tasks apart."""
        return specs[0]

    def plan(self, spec: Any, *, guards: Mapping[str, bool], baked: Mapping[str, Value], **common: Any) -> Plan:
        """The plan of one variant."""
        plan: Plan = self.part("plan").build(spec, guards=guards, baked=baked, **common)
        return plan

    def problem(self) -> Any:
        """The module of the family's inputs, reference, tolerance and launch; importing it imports torch."""
        return self.part("problem")

    def benchmark(self) -> Any:
        """The module of the family's calls and baselines; importing it imports torch.

        It has call(module, spec, shape, tensors, config) and baselines(spec). If there are such, SLOW_BASELINES are the
        names of those that take minutes to set up, and peers(spec, shape, tensors) gives torch's own kernels by name,
        each a call that returns outputs by name. Raises TlxgenError for a family that has none.
        """
        if module := self.part("benchmark"):
            return module
        raise TlxgenError(f"the family {self.name} does not say how its kernels are timed")

    def flops(self, spec: Any, shape: tuple[int, ...]) -> float:
        """Floating-point operations of a problem, a multiply-add as two."""
        return self._cost("flops", spec, shape)

    def bytes_moved(self, spec: Any, shape: tuple[int, ...]) -> float:
        """Bytes of a problem's operands and results, each once."""
        return self._cost("bytes_moved", spec, shape)

    def cost(self, plan: Plan, shape: tuple[int, ...], sms: int) -> float:
        """An estimate of the clocks of one launch, by arithmetic, to rank variants with; equal: no opinion."""
        return self._cost("clocks", plan, shape, sms)

    def _cost(self, function: str, *arguments: Any) -> float:
        found = getattr(self.part("cost"), function, None)
        return found(*arguments) if found else 0.0

    def summary(self, plan: Plan) -> str:
        """One line about the tasks, for headers."""
        return "; ".join(_task(r) for r in plan.roles)

    def kernels(
        self, document: Document, on_structure: Callable[[Structure], object] = lambda structure: None
    ) -> Kernels:
        """Expands, plans and groups; nothing that fits, no structures. Raises SpecErrors for a faulty spec.

        `on_structure` is told of each structure as soon as it is there, before a tuned file is looked at. What a file
        says by an old name is a RenamedWarning.
        """
        document = renamed.current(document, self.renamed)
        with _uncollected():
            return self._kernels(document, on_structure)

    def _kernels(self, document: Document, on_structure: Callable[[Structure], object]) -> Kernels:
        expansion = expand(document, self.model)
        _check_constants(self, document)
        rejected = [Variant(p.values, None, None, p.rejected) for p in expansion.points if p.spec is None or p.rejected]
        structures: list[Structure] = []
        groups = _groups(self, expansion)
        apart = [_apart(points[0], self) for points in groups.values()]
        for name, points in zip(names(str(document.data["name"]), apart), groups.values(), strict=True):
            structure, failed = self._structure(name, points)
            rejected += failed
            if structure.variants:
                structures.append(structure)
                on_structure(structure)
        if document.tuned:
            structures = tuned.keep(
                structures, document, document.tuned, shapes=self.shapes, cost=self.cost, renamed=self.renamed
            )
        return Kernels(document, self, tuple(structures), tuple(rejected))

    def _structure(self, name: str, points: Sequence[Any]) -> tuple[Structure, list[Variant]]:
        specs = [p.spec for p in points]
        first = specs[0]
        common = self.common(specs)
        guards = self.guards(first)
        bake = {axis.parameter: axis.of(first) for axis in self.axes if axis.parameter and _is_baked(axis, specs)}
        settings = {g: first.guards.get(g, True) for g in guards}
        bake |= {g: v for g, v in settings.items() if v != "keep"}
        # A guard that is kept is one more axis of constants: on and off.
        open_guards = [g for g, v in settings.items() if v == "keep"]
        fixed = {g: bool(v) for g, v in settings.items() if v != "keep"}
        good: list[Variant] = []
        failed: list[Variant] = []
        for point in points:
            for choice in itertools.product((True, False), repeat=len(open_guards)):
                chosen = dict(zip(open_guards, choice, strict=True))
                plan = _named(self.plan(point.spec, guards=fixed | chosen, baked=bake, **common), name)
                reasons = tuple(str(r) for r in plan.reasons)
                variant = Variant({**point.values, **chosen}, point.spec, plan, reasons)
                (failed if reasons else good).append(variant)
        spec = self.fullest([v.spec for v in good]) if good else first
        whole = _named(self.plan(spec, guards=dict.fromkeys(guards, True), baked=bake, **common), name)
        return Structure(name, _apart(points[0], self), whole, bake, tuple(good)), failed


def _named(plan: Plan, module: str) -> Plan:
    """The plan, its kernels named after their module, so that a profiler tells those of a spec apart."""
    return replace(plan, launches=tuple(replace(x, kernel=f"{module}_{x.kernel}") for x in plan.launches))


@functools.cache
def _module(packages: tuple[str, ...], name: str) -> Any:
    for package in packages:
        is_package = hasattr(sys.modules[package], "__path__")
        if is_package and importlib.util.find_spec(f"{package}.{name}"):
            return importlib.import_module(f"{package}.{name}")
    return None


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Nothing of an enumeration is garbage: walking 50,000 points again and again would take as long as making them."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _task(role: Role) -> str:
    replicas = f"{role.replicas} x " if role.replicas > 1 else ""
    registers = f", {role.registers} registers" if role.registers else ""
    guard = f", if {role.guard}" if role.guard else ""
    return f"{role.name}: {replicas}{role.warps} warp{'s' * (role.warps > 1)}{registers}{guard}"


def _check_constants(family: Family, document: Document) -> None:
    """Raises SpecErrors for an entry of `bake` or `keep` that names no axis of constants."""
    faults = []
    for key in ("bake", "keep"):
        for i, path in enumerate(document.data.get(key) or ()):
            if path not in family.config_axes:
                near = difflib.get_close_matches(str(path), family.config_axes, n=1)
                meant = f"; did you mean {near[0]!r}?" if near else f": those are {', '.join(family.config_axes)}"
                text = f"{path!r} is not an axis that only changes constants{meant}"
                faults.append(SpecError(text, location=document.where((key, i))))
    if faults:
        raise SpecErrors(faults)


def _groups(family: Family, expansion: Expansion) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for point in expansion.points:
        if point.spec is not None and not point.rejected:
            groups.setdefault(structure_key(family, point.spec), []).append(point)
    return groups


def structure_key(family: Family, spec: CommonSpec) -> str:
    """Everything of a spec that changes the program, as text."""
    data = spec.model_dump(exclude=NOT_STRUCTURE)
    for path in family.config_axes:
        if path not in spec.bake:
            *parents, last = path.split(".")
            node = data
            for parent in parents:
                node = node[parent]
            del node[last]
    return json.dumps(data, sort_keys=True)


def _is_baked(axis: Axis, specs: Sequence[Any]) -> bool:
    """Whether the source of these specs holds an axis of constants as the constant that it is."""
    first = specs[0]
    if axis.path in first.bake:
        return True
    by_default = axis.default is not None and axis.path not in first.keep
    return by_default and all(axis.of(spec) == axis.default for spec in specs)


def _apart(point: Any, family: Family) -> dict[str, Any]:
    """The values of the axes, key by key, that are not constants only."""
    given = dict(leaf for item in point.values.items() for leaf in leaves(*item))
    return {p: v for p, v in given.items() if p not in family.config_axes or p in point.spec.bake}


def _nothing_left(kernels: Kernels) -> NoVariantError:
    name, rejected = kernels.name, kernels.rejected
    where = kernels.document.where(("name",))
    if len(rejected) == 1:
        rule = rejected[0].reasons[0].partition(":")[0]
        path = kernels.family.blame.get(rule, "").split(".")
        if path[0] in kernels.document.data:
            where = kernels.document.where(tuple(path))
        return NoVariantError(f"{name} cannot be built: {'; '.join(rejected[0].reasons)}", location=where)
    remedy = "\n".join(_examples(rejected)).strip()
    return NoVariantError(f"all {len(rejected)} variants of {name} are rejected", location=where, remedy=remedy)


def _examples(rejected: Sequence[Variant], most: int = 8) -> Iterator[str]:
    for variant in rejected[:most]:
        yield f"    {variant.label}: {'; '.join(variant.reasons)}"
    if len(rejected) > most:
        yield f"    and {len(rejected) - most} more: tlxgen list shows them all"


__all__ = ["Family", "Kernels", "Structure", "Value", "Variant", "structure_key"]
