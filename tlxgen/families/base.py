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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tlxgen.errors import FamilyError, SpecError, SpecErrors, TlxgenError
from tlxgen.plan import Plan, Role, portable
from tlxgen.spec import CommonSpec, Document, Expansion, expand, renamed, retargeted
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
    """All that one spec stands for."""

    document: Document
    family: Family
    structures: tuple[Structure, ...]
    expansion: Expansion
    unfit: tuple[Variant, ...]  # those that have a plan, which cannot be
    left_out: int = 0  # variants that fit, of which the tuned file has not made one to be generated

    @functools.cached_property
    def rejected(self) -> tuple[Variant, ...]:
        """Every variant that was rejected: of a large product of axes tens of thousands, so count before you ask."""
        return _rejected(self.expansion, self.unfit)

    @property
    def rejections(self) -> int:
        """How many variants were rejected."""
        return len(self.expansion) - len(self.expansion.accepted) + len(self.unfit)

    @functools.cached_property
    def rules(self) -> Mapping[str, int]:
        """Rule -> how many variants it rejects; one that several rules reject counts for each.

        Those of the spec (a condition, or keys that do not go together) come first, then the plan's, by their ids.
        """
        of_plan = Counter(r.rule for v in self.unfit if v.plan for r in v.plan.reasons)
        return {**self.expansion.rules, **of_plan}

    def rules_of(self, variant: Variant) -> list[str]:
        """The rules that a rejected variant breaks."""
        if variant.plan:
            return [reason.rule for reason in variant.plan.reasons]
        return [self.expansion.sieve.rule(*each) for each in zip(variant.reasons, variant.blamed, strict=True)]

    @property
    def rule_counts(self) -> dict[str, int]:
        """`rules` by what stands before the colon, as it is recorded: `require`, `smem`."""
        counts: Counter[str] = Counter()
        for rule, count in self.rules.items():
            counts[rule.partition(":")[0]] += count
        return dict(sorted(counts.items()))

    @property
    def name(self) -> str:
        return str(self.document.data["name"])

    def some(self) -> Kernels:
        """Itself. Raises NoVariantError, with the reasons, when every variant was rejected."""
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
    """A template and its parameter model, and modules that are found by their names.

    They lie beside the class, in its package or in that of a class that it inherits from: `plan`, `problem`, and, to be
    timed and tuned, `cost` and `benchmark`. The protocols of `families.interface` say what each has.
    """

    name: ClassVar[str]
    template: ClassVar[str] = ""  # by default NAME/module.py.j2
    model: ClassVar[type[CommonSpec]]
    axes: ClassVar[tuple[Axis, ...]]  # those that only change constants, and others that rules are broken by
    dispatcher: ClassVar[str | None] = "lib/dispatcher.py.j2"  # chooses among structures that compute the same
    extents: ClassVar[tuple[Extent, ...]] = ()  # of a problem: their names, in the order of a shape
    shapes: ClassVar[tuple[tuple[int, ...], ...]] = ()  # problems to time when nobody names any
    renamed: ClassVar[tuple[Renamed, ...]] = ()  # keys and values of specs and tuned files that had other names once
    first_axes: ClassVar[Mapping[str, tuple[Any, ...]]] = {}  # of the spec that `tlxgen init` writes
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
        return blame(self.axes) | dict.fromkeys(portable.RULES, "toolchain")

    @functools.cached_property
    def problem_extents(self) -> tuple[Extent, ...]:
        """`extents`; for a family that does not name its, as many as its `shapes` have; none if those differ."""
        ranks = {len(shape) for shape in self.shapes}
        count = ranks.pop() if len(ranks) == 1 else 0
        return self.extents or tuple(Extent(f"x{i}", f"extent {i}") for i in range(count))

    def wrong_shape(self, shape: Sequence[int]) -> str:
        """What is wrong with the shape of a problem, in a sentence; nothing if it is one."""
        return extents.wrong(self.problem_extents, shape) if self.problem_extents else ""

    def read_shapes(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Shapes as the command line has them, "4096x4096x4096,1024x8192x8192". Raises TlxgenError for what is none."""
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
        """The family's module of that name; None if there is none. Raises FamilyError for one that does not import."""
        found = self.where(name)
        return _imported(found) if found else None

    @property
    def judged_by(self) -> tuple[str, ...]:
        """The modules, by their full names, that say what is right for a kernel: its problem, and its spec's model."""
        problem = self.where("problem")
        return (problem, self.model.__module__) if problem else ()

    def where(self, name: str) -> str | None:
        """The full name of the family's module of that name, which is not imported; None if there is none."""
        return _where(self._packages, name)

    def _needed(self, name: str) -> Any:
        """A module that every family has. Raises FamilyError for one that is missing, or lacks what is needed."""
        module = self.part(name)
        lacking = [f for f in NEEDED[name] if not callable(getattr(module, f, None))]
        if lacking:
            what = f"its module {name} lacks {', '.join(lacking)}" if module else f"it has no module {name}"
            raise FamilyError(f"the kernel family {self.name!r} is not complete: {what}", remedy=INTERFACE)
        return module

    @functools.cached_property
    def _packages(self) -> tuple[str, ...]:
        """Those of its class and of what that inherits from."""
        return tuple(c.__module__ for c in type(self).__mro__ if issubclass(c, Family) and c is not Family)

    def computed(self, spec: Any) -> dict[str, Any]:
        """What a spec computes: the values at the paths of `computes`, None at one that its model does not have."""
        return {
            path: functools.reduce(lambda v, k: getattr(v, k, None), path.split("."), spec) for path in self.computes
        }

    def related(self, function: Any, functions: Sequence[Any]) -> Mapping[str, object]:
        """What the templates of a function's module are told of the package's other functions (`families.Function`)."""
        return {}

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
        plan: Plan = self._needed("plan").build(spec, guards=guards, baked=baked, **common)
        if spec.toolchain == "utlx":
            plan = replace(plan, reasons=(*plan.reasons, *portable.missing(plan)))
        return plan

    def problem(self) -> Any:
        """The module of the family's inputs, reference, tolerance and launch; importing it imports torch."""
        return self._needed("problem")

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
        return self.costs(plan, [shape], sms)[0]

    def costs(self, plan: Plan, shapes: Sequence[tuple[int, ...]], sms: int) -> list[float]:
        """`cost` of one plan on each shape; at once, where a family works out first what shapes do not change."""
        if estimate := getattr(self.part("cost"), "estimate", None):
            return list(map(estimate(plan, sms), shapes))
        return [self._cost("clocks", plan, shape, sms) for shape in shapes]

    def timed(self, plan: Plan) -> tuple[str, str] | None:
        """A plan as the family's model of time knows it, in Python's words: what all kernels of a function have in
        common, and the kernel. None of a family that has no such model: then its templates have `clocks`."""
        cost = self.part("cost")
        if not hasattr(cost, "kernel_of"):
            return None
        return call_text(cost.types_of(plan)), call_text(cost.kernel_of(plan))

    def beside(self) -> Mapping[str, str]:
        """Files that lie beside the modules of a folder, by name: the model of time that picks among them."""
        made: Mapping[str, str] = getattr(self.part("cost"), "beside", dict)()
        return made

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
        says by an old name is a RenamedWarning, what a parent's arch has other defaults for is a SpecNote.
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
        refusal.warn_of_unused(document, expansion.axes, structures, lambda: _rejected(expansion, unfit))
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
        """What a spec says at a dotted path without its axes, by itself or by the default of the model."""
        return functools.cache(lambda path: own(self.model, document.data, path.split(".")))

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
        return Structure(name, _apart(points[0], self), whole, bake, tuple(good), family=self.name), failed


def _named(plan: Plan, module: str) -> Plan:
    """The plan, its kernels named after their module, so that a profiler tells those of a spec apart."""
    return replace(plan, launches=tuple(replace(x, kernel=f"{module}_{x.kernel}") for x in plan.launches))


@functools.cache
def _where(packages: tuple[str, ...], name: str) -> str | None:
    for package in packages:
        is_package = hasattr(sys.modules[package], "__path__")
        if is_package and importlib.util.find_spec(f"{package}.{name}"):
            return f"{package}.{name}"
    return None


def _imported(name: str) -> Any:
    """The module. Raises FamilyError, for one from outside tlxgen, whatever it does as it is imported."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if name.startswith("tlxgen."):
            raise
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise FamilyError(f"the module {name} of a kernel family does not load: {text}") from error


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


def _expanded(family: Family, document: Document) -> Expansion:
    """The points of a document's axes. Raises SpecErrors for all that is wrong with it."""
    faults = [*_wrong_constants(family, document), *_wrong_shapes(family, document)]
    try:
        expansion = expand(document, family.model)
    except SpecErrors as found:
        raise SpecErrors([*found.errors, *faults]) from None
    if faults:
        raise SpecErrors(faults)
    return expansion


def _wrong_shapes(family: Family, document: Document) -> Iterator[SpecError]:
    """An error for each of `check.shapes` that is no problem of the family; the spec's model knows them as numbers."""
    check = document.data.get("check")
    shapes = check.get("shapes") if isinstance(check, dict) else None
    for i, shape in enumerate(shapes if isinstance(shapes, list) else ()):
        are_numbers = isinstance(shape, list) and all(type(v) is int and 0 < v <= extents.INT32 for v in shape)
        if are_numbers and shape and (wrong := family.wrong_shape(shape)):
            remedy = extents.example(family.problem_extents, family.shapes)
            yield SpecError(wrong, location=document.where(("check", "shapes", i)), remedy=remedy)


def _wrong_constants(family: Family, document: Document) -> Iterator[SpecError]:
    """An error for each entry of `bake` or `keep` that names no axis of constants, or one that is there already."""
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


def _rejected(expansion: Expansion, unfit: Sequence[Variant]) -> tuple[Variant, ...]:
    points = (Variant(p.values, None, None, p.rejected, p.blamed) for p in expansion.points if p.spec is None)
    return (*points, *unfit)


def _groups(family: Family, expansion: Expansion) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for point in expansion.accepted:
        assert point.spec
        groups.setdefault(structure_key(family, point.spec), []).append(point)
    return groups


def structure_key(family: Family, spec: CommonSpec) -> str:
    """Everything of a spec that changes the program, as text."""
    data = spec.model_dump(exclude=NOT_STRUCTURE)
    forms = {axis.path: axis.form for axis in family.axes}
    for path in family.config_axes:
        if path not in spec.bake:
            *parents, last = path.split(".")
            node = data
            for parent in parents:
                node = node[parent]
            node[last] = forms[path](node[last])
    return json.dumps(data, sort_keys=True)


def _is_baked(axis: Axis, specs: Sequence[Any]) -> bool:
    """Whether the source of these specs holds an axis of constants as the constant that it is."""
    first = specs[0]
    if axis.path in first.bake:
        return True
    by_default = axis.default is not None and axis.path not in first.keep
    return by_default and all(axis.of(spec) == axis.default for spec in specs)


def _apart(point: Any, family: Family) -> dict[str, Any]:
    """The values of the axes, key by key, that are not constants only; of some constants, the form."""
    given = dict(leaf for item in point.values.items() for leaf in leaves(*item))
    forms = {axis.path: axis.form for axis in family.axes if axis.path in family.config_axes}
    constant = {p: forms[p](v) for p, v in given.items() if p in forms and p not in point.spec.bake}
    return {p: constant.get(p, v) for p, v in given.items() if constant.get(p) != ""}


__all__ = ["Family", "Kernels", "Structure", "Value", "Variant", "structure_key"]
