"""The base class of kernel families, which turns the points of a spec's axes into structures with tables of configs."""

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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tlxgen.errors import FamilyError, SpecError, SpecErrors, TlxgenError
from tlxgen.plan import Plan, Role, portable
from tlxgen.spec import CommonSpec, Document, Expansion, Point, expand, renamed, retargeted
from tlxgen.spec.paths import own

from . import refusal, tuned
from .interface import NEEDED
from .kit import Axis, Extent, Renamed, call_text, config_axes, extents
from .kit.axes import blame
from .kit.names import TEMPLATE
from .structure import Structure, Value, Variant, leaves, names

INTERFACE = "docs/plugins.md says what the modules of a family have"
NOT_STRUCTURE = {"name", "description", "variants", "check", "bake", "keep", "tuned"}


@dataclass(frozen=True)
class Kernels:
    """All structures and variants of one spec."""

    document: Document
    family: Family
    structures: tuple[Structure, ...]
    expansion: Expansion
    unfit: tuple[Variant, ...]  # variants whose plan has reasons against them
    left_out: int = 0  # variants that fit but are not generated, since the tuned file does not name them

    @functools.cached_property
    def rejected(self) -> tuple[Variant, ...]:
        """All rejected variants. A large product of axes has tens of thousands, so look at `rejections` first."""
        return _rejected(self.expansion.points, self.unfit)

    @property
    def rejections(self) -> int:
        """How many variants were rejected."""
        return len(self.expansion) - len(self.expansion.accepted) + len(self.unfit)

    @functools.cached_property
    def rules(self) -> Mapping[str, int]:
        """Rule -> how many variants it rejects. A variant that several rules reject counts for each of them.

        The rules of the spec (conditions, and combinations of keys) come first, then those of the plan, by their ids.
        """
        of_plan = Counter(r.rule for v in self.unfit if v.plan for r in v.plan.reasons)
        return {**self.expansion.rules, **of_plan}

    def rules_of(self, variant: Variant) -> list[str]:
        """The ids of the rules that a rejected variant breaks."""
        if variant.plan:
            return [reason.rule for reason in variant.plan.reasons]
        return [self.expansion.sieve.rule(*each) for each in zip(variant.reasons, variant.blamed, strict=True)]

    @property
    def rule_counts(self) -> dict[str, int]:
        """`rules` summed by the part before the colon (`require`, `smem`), as the lock records them."""
        counts: Counter[str] = Counter()
        for rule, count in self.rules.items():
            counts[rule.partition(":")[0]] += count
        return dict(sorted(counts.items()))

    @property
    def name(self) -> str:
        return str(self.document.data["name"])

    def some(self) -> Kernels:
        """Returns itself. Raises NoVariantError, with the reasons, when every variant was rejected."""
        if not self.structures:
            raise refusal.nothing_left(self.family, self.document, self.rejected)
        return self

    def structure(self, name: str) -> Structure:
        """The structure of that name. Raises SpecError when the spec makes none."""
        for structure in self.structures:
            if structure.name == name:
                return structure
        remedy = f"it makes {', '.join(s.name for s in self.structures) or 'none'}"
        raise SpecError(f"this spec makes no module {name} now", location=self.document.where(()), remedy=remedy)

    @property
    def kept(self) -> tuple[Variant, ...]:
        return tuple(v for s in self.structures for v in s.variants)


class Family:
    """A kernel family: a template, a parameter model, and modules that are found by their names.

    The modules are in the package of the class, or in that of a class that it inherits from. Every family has `plan`
    and `problem`; one that can be timed and tuned has `cost` and `benchmark`. `families.interface` has their protocols.
    """

    name: ClassVar[str]
    template: ClassVar[str] = ""  # by default NAME/module.py.j2
    model: ClassVar[type[CommonSpec]]
    axes: ClassVar[tuple[Axis, ...]]  # axes that only change constants, and other axes that rules depend on
    dispatcher: ClassVar[str | None] = "lib/dispatcher.py.j2"  # chooses among structures that compute the same
    extents: ClassVar[tuple[Extent, ...]] = ()  # extents of a problem, in the order of a shape
    shapes: ClassVar[tuple[tuple[int, ...], ...]] = ()  # default problems of `bench` and `tune`
    renamed: ClassVar[tuple[Renamed, ...]] = ()  # former names of keys and values in specs and tuned files
    first_axes: ClassVar[Mapping[str, tuple[Any, ...]]] = {}  # axes of the spec that `tlxgen init` writes
    computes: ClassVar[tuple[str, ...]] = ("problem",)  # paths of the keys that decide what is computed

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.template = cls.__dict__.get("template") or TEMPLATE.format(kernel=cls.name)

    @functools.cached_property
    def config_axes(self) -> dict[str, str]:
        """Spec path -> constexpr parameter, for the axes that only change constants."""
        return config_axes(self.axes)

    @functools.cached_property
    def blame(self) -> dict[str, str]:
        """Rule -> the spec path that most likely breaks it."""
        return blame(self.axes) | dict.fromkeys(portable.RULES, "toolchain")

    @functools.cached_property
    def problem_extents(self) -> tuple[Extent, ...]:
        """`extents`. A family without them has as many as each of its `shapes`, or none if those lengths differ."""
        ranks = {len(shape) for shape in self.shapes}
        count = ranks.pop() if len(ranks) == 1 else 0
        return self.extents or tuple(Extent(f"x{i}", f"extent {i}") for i in range(count))

    def wrong_shape(self, shape: Sequence[int]) -> str:
        """A sentence that says what is wrong with the shape of a problem; empty if nothing is."""
        return extents.wrong(self.problem_extents, shape) if self.problem_extents else ""

    def read_shapes(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Parses shapes such as "4096x4096x4096,1024x8192x8192". Raises TlxgenError for a text that is not a shape."""
        found = []
        remedy = extents.example(self.problem_extents, self.shapes)
        for text in (part for given in texts for part in given.replace(",", " ").split()):
            try:
                shape = extents.read(text)
            except ValueError as fault:
                raise TlxgenError(str(fault), remedy=remedy) from None
            if wrong := self.wrong_shape(shape):
                raise TlxgenError(f"{text!r} is not a shape of {self.name}: {wrong}", remedy=remedy)
            found.append(shape)
        if texts and not found:
            raise TlxgenError("no shape is given", remedy=remedy)
        return found

    def part(self, name: str) -> Any:
        """The family's module of that name; None if there is none. Raises FamilyError if it cannot be imported."""
        found = self.where(name)
        return _imported(found) if found else None

    @property
    def judged_by(self) -> tuple[str, ...]:
        """Full names of the modules that decide whether results are right: the problem, and the spec's model."""
        problem = self.where("problem")
        return (problem, self.model.__module__) if problem else ()

    def where(self, name: str) -> str | None:
        """The full name of the family's module of that name; None if there is none. The module is not imported."""
        return _where(self._packages, name)

    def _needed(self, name: str) -> Any:
        """A module that every family has. Raises FamilyError if it is missing, or lacks a function of its protocol."""
        module = self.part(name)
        lacking = [f for f in NEEDED[name] if not callable(getattr(module, f, None))]
        if lacking:
            what = f"its module {name} lacks {', '.join(lacking)}" if module else f"it has no module {name}"
            raise FamilyError(f"the kernel family {self.name!r} is not complete: {what}", remedy=INTERFACE)
        return module

    @functools.cached_property
    def _packages(self) -> tuple[str, ...]:
        """The packages of its class and of that class's bases."""
        return tuple(c.__module__ for c in type(self).__mro__ if issubclass(c, Family) and c is not Family)

    def computed(self, spec: Any) -> dict[str, Any]:
        """What a spec computes: the values at the paths of `computes`, and None at a path that its model lacks."""
        return {
            path: functools.reduce(lambda v, k: getattr(v, k, None), path.split("."), spec) for path in self.computes
        }

    def related(self, function: Any, functions: Sequence[Any]) -> Mapping[str, object]:
        """Values for the templates of a function's module that depend on the package's other functions."""
        return {}

    def guards(self, spec: Any) -> tuple[str, ...]:
        """Names of the constexpr guards of this spec's optional roles."""
        return ()

    def common(self, specs: Sequence[Any]) -> Mapping[str, Any]:
        """Decisions that depend on all variants of a structure; `plan` receives them as keyword arguments."""
        return {}

    def fullest(self, specs: Sequence[Any]) -> Any:
        """The variant of a structure whose plan has everything in the source but guarded tasks."""
        return specs[0]

    def plan(self, spec: Any, *, guards: Mapping[str, bool], baked: Mapping[str, Value], **common: Any) -> Plan:
        """The plan of one variant."""
        plan: Plan = self._needed("plan").build(spec, guards=guards, baked=baked, **common)
        if spec.toolchain == "utlx":
            plan = replace(plan, reasons=(*plan.reasons, *portable.missing(plan)))
        return plan

    def problem(self) -> Any:
        """The module with the family's inputs, reference, tolerance and launch. It imports torch."""
        return self._needed("problem")

    def benchmark(self) -> Any:
        """The module with the family's calls and baselines. It imports torch.

        It has call(module, spec, shape, tensors, config) and baselines(spec). It may have SLOW_BASELINES, the names of
        baselines that take minutes to set up, and peers(spec, shape, tensors), which gives torch's own kernels by name,
        each as a call that returns outputs by name. Raises TlxgenError for a family without this module.
        """
        if module := self.part("benchmark"):
            return module
        raise TlxgenError(f"the family {self.name} does not say how its kernels are timed")

    def flops(self, spec: Any, shape: tuple[int, ...]) -> float:
        """Floating-point operations of a problem. A multiply-add counts as two."""
        return self._cost("flops", spec, shape)

    def bytes_moved(self, spec: Any, shape: tuple[int, ...]) -> float:
        """Bytes of a problem's operands and results, each counted once."""
        return self._cost("bytes_moved", spec, shape)

    def cost(self, plan: Plan, shape: tuple[int, ...], sms: int) -> float:
        """An estimate of one launch in clocks, which ranks variants. A family without a model gives all the same."""
        return self.costs(plan, [shape], sms)[0]

    def costs(self, plan: Plan, shapes: Sequence[tuple[int, ...]], sms: int) -> list[float]:
        """`cost` of one plan on each shape. A family may first compute the terms that do not depend on shapes."""
        if estimate := getattr(self.part("cost"), "estimate", None):
            return list(map(estimate(plan, sms), shapes))
        return [self._cost("clocks", plan, shape, sms) for shape in shapes]

    def timed(self, plan: Plan) -> tuple[str, str] | None:
        """A plan for the family's model of time, as two Python expressions: what all kernels of a function have in
        common, and the kernel. None for a family without a model of time, whose templates then have `clocks`."""
        cost = self.part("cost")
        if not hasattr(cost, "kernel_of"):
            return None
        return call_text(cost.types_of(plan)), call_text(cost.kernel_of(plan))

    def beside(self) -> Mapping[str, str]:
        """Name -> text of the files beside a package's modules: the model of time that picks among them."""
        made: Mapping[str, str] = getattr(self.part("cost"), "beside", dict)()
        return made

    def _cost(self, function: str, *arguments: Any) -> float:
        found = getattr(self.part("cost"), function, None)
        return found(*arguments) if found else 0.0

    def summary(self, plan: Plan) -> str:
        """One line about the tasks, for the header of a module."""
        return "; ".join(_task(r) for r in plan.roles)

    def kernels(
        self, document: Document, on_structure: Callable[[Structure], object] = lambda structure: None
    ) -> Kernels:
        """Expands the axes, plans the variants and groups them. If no variant fits, there are no structures.

        `on_structure` is called with each structure as soon as it is complete, before the tuned file is read. An old
        name in a file is a RenamedWarning. A default that differs from that of the parent spec's arch is a SpecNote.
        Raises SpecErrors for a faulty spec.
        """
        document = retargeted(renamed.current(document, self.renamed), self.model)
        with _uncollected():
            return self._kernels(document, on_structure)

    def _kernels(self, document: Document, on_structure: Callable[[Structure], object]) -> Kernels:
        expansion = _expanded(self, document)
        unfit: list[Variant] = []
        structures: list[Structure] = []
        groups = _groups(self, expansion)
        apart = [_apart(points[0], self) for points in groups.values()]
        for name, points in zip(names(str(document.data["name"]), apart), groups.values(), strict=True):
            structure, failed = self._structure(name, points)
            unfit += failed
            if structure.variants:
                structures.append(structure)
                on_structure(structure)
        refusal.warn_of_unused(document, expansion.axes, structures, lambda: _rejected(expansion.examples, unfit))
        fitting = sum(len(structure.variants) for structure in structures)
        if document.tuned:
            structures = tuned.keep(
                *(structures, document, document.tuned),
                shapes=self.shapes,
                usual=getattr(self.part("cost"), "USUAL", ()),
                costs=self.costs,
                computed=self.computed,
                own=self.own(document),
                renamed=self.renamed,
            )
        left_out = fitting - sum(len(structure.variants) for structure in structures)
        return Kernels(document, self, tuple(structures), expansion, tuple(unfit), left_out)

    def own(self, document: Document) -> Callable[[str], Any]:
        """A function of a dotted path: the spec's value there without axes, or the model's default."""
        return functools.cache(lambda path: own(self.model, document.data, path.split(".")))

    def _structure(self, name: str, points: Sequence[Any]) -> tuple[Structure, list[Variant]]:
        specs = [p.spec for p in points]
        first = specs[0]
        common = self.common(specs)
        guards = self.guards(first)
        bake = {axis.parameter: axis.of(first) for axis in self.axes if axis.parameter and _is_baked(axis, specs)}
        settings = {g: first.guards.get(g, True) for g in guards}
        bake |= {g: v for g, v in settings.items() if v != "keep"}
        # A kept guard is one more axis that only changes constants, with the values on and off.
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
        return Structure(name, _apart(points[0], self), whole, bake, tuple(good), family=self.name), failed


def _named(plan: Plan, module: str) -> Plan:
    """The plan with its kernels named after their module, so that a profiler can distinguish the kernels of a spec."""
    return replace(plan, launches=tuple(replace(x, kernel=f"{module}_{x.kernel}") for x in plan.launches))


@functools.cache
def _where(packages: tuple[str, ...], name: str) -> str | None:
    for package in packages:
        is_package = hasattr(sys.modules[package], "__path__")
        if is_package and importlib.util.find_spec(f"{package}.{name}"):
            return f"{package}.{name}"
    return None


def _imported(name: str) -> Any:
    """Imports a module. Raises FamilyError for any error in the import of a module from outside tlxgen."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if name.startswith("tlxgen."):
            raise
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise FamilyError(f"the module {name} of a kernel family does not load: {text}") from error


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Pauses garbage collection. An enumeration makes no garbage, and scans of 50,000 points double its time."""
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


def _expanded(family: Family, document: Document) -> Expansion:
    """The points of a document's axes. Raises SpecErrors with all faults of the document."""
    faults = [*_wrong_constants(family, document), *_wrong_shapes(family, document)]
    try:
        expansion = expand(document, family.model)
    except SpecErrors as found:
        raise SpecErrors([*found.errors, *faults]) from None
    if faults:
        raise SpecErrors(faults)
    return expansion


def _wrong_shapes(family: Family, document: Document) -> Iterator[SpecError]:
    """An error for each of `check.shapes` that is not a problem of the family; the model only checks for numbers."""
    check = document.data.get("check")
    shapes = check.get("shapes") if isinstance(check, dict) else None
    for i, shape in enumerate(shapes if isinstance(shapes, list) else ()):
        are_numbers = isinstance(shape, list) and all(type(v) is int and 0 < v <= extents.INT32 for v in shape)
        if are_numbers and shape and (wrong := family.wrong_shape(shape)):
            remedy = extents.example(family.problem_extents, family.shapes)
            yield SpecError(wrong, location=document.where(("check", "shapes", i)), remedy=remedy)


def _wrong_constants(family: Family, document: Document) -> Iterator[SpecError]:
    """An error for each entry of `bake` or `keep` that names no axis of constants, or names one twice."""
    for key in ("bake", "keep"):
        given = document.data.get(key)
        for i, path in enumerate(given if isinstance(given, list) else ()):
            if isinstance(path, str) and path not in family.config_axes:
                near = difflib.get_close_matches(path, family.config_axes, n=1)
                meant = f"; did you mean {near[0]!r}?" if near else f": those are {', '.join(family.config_axes)}"
                text = f"{path!r} is not an axis that only changes constants{meant}"
                yield SpecError(text, location=document.where((key, i)))
            elif given and path in given[:i]:
                yield SpecError("this value is in the list already", location=document.where((key, i)))
            elif key == "keep" and path in (document.data.get("bake") or ()):
                yield SpecError(f"{path} is in bake, too", location=document.where((key, i)))


def _rejected(points: Sequence[Point], unfit: Sequence[Variant]) -> tuple[Variant, ...]:
    return (*(Variant(p.values, None, None, p.rejected, p.blamed) for p in points if p.spec is None), *unfit)


def _groups(family: Family, expansion: Expansion) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for point in expansion.accepted:
        assert point.spec
        groups.setdefault(structure_key(family, point.spec), []).append(point)
    return groups


def structure_key(family: Family, spec: CommonSpec) -> str:
    """A text of all values of a spec that change the program."""
    data = spec.model_dump(exclude=NOT_STRUCTURE)
    forms = {axis.path: axis.form for axis in family.axes}
    for path in family.config_axes:
        if path not in spec.bake:
            *parents, last = path.split(".")
            node = data
            for parent in parents:
                node = node[parent]
            node[last] = forms[path](node[last], spec)
    return json.dumps(data, sort_keys=True)


def _is_baked(axis: Axis, specs: Sequence[Any]) -> bool:
    """Whether an axis of constants is baked into the source of these specs."""
    first = specs[0]
    if axis.path in first.bake:
        return True
    by_default = axis.default is not None and axis.path not in first.keep
    return by_default and all(axis.of(spec) == axis.default for spec in specs)


def _apart(point: Any, family: Family) -> dict[str, Any]:
    """The values of the axes that change the program, key by key; of some constants, the form (`plan.pieces.form`)."""
    given = dict(leaf for item in point.values.items() for leaf in leaves(*item))
    forms = {axis.path: axis.form for axis in family.axes if axis.path in family.config_axes}
    spec = point.spec
    constant = {p: forms[p](v, spec) for p, v in given.items() if p in forms and p not in spec.bake}
    return {p: constant.get(p, v) for p, v in given.items() if constant.get(p) != ""}


__all__ = ["Family", "Kernels", "Structure", "Value", "Variant", "structure_key"]
