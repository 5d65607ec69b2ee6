"""What a kernel family is, and how the points of a spec's axes become structures with tables of configs."""

from __future__ import annotations

import contextlib
import difflib
import functools
import gc
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tlxgen.errors import NoVariantError, SpecError, SpecErrors, TlxgenError
from tlxgen.plan import Plan, Role
from tlxgen.spec import CommonSpec, Document, Expansion, expand

from . import tuned

Value = int | bool
NOT_STRUCTURE = {"name", "description", "variants", "check", "bake", "keep", "tuned"}


@dataclass(frozen=True)
class Variant:
    """One point of a spec's axes: the values of the axes and guards, its spec and plan, and why it cannot be, if so."""

    values: Mapping[str, Any]
    spec: CommonSpec | None
    plan: Plan | None
    reasons: tuple[str, ...]

    @property
    def label(self) -> str:
        return ", ".join(f"{k}={_text(v)}" for k, v in self.values.items()) or "the only variant"


@dataclass(frozen=True)
class Structure:
    """The variants that share one source, which differs among them only in the values of constexpr parameters."""

    name: str  # of the module
    values: Mapping[str, Any]  # of the axes that set it apart
    plan: Plan  # what the source is rendered from: every guard on, so that every role is there
    baked: Mapping[str, Value]  # parameters that the source holds as constants
    variants: tuple[Variant, ...] = field(repr=False)  # those that fit, in the order of the axes
    tuned: Mapping[tuple[int, ...], int] = field(default_factory=dict)  # shape class -> the variant that won it


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


class Family(ABC):
    """A template and its parameter model.

    `config_axes` maps the spec paths that only change constants to the constexpr parameters they become; every other
    path changes the program.
    """

    name: ClassVar[str]
    template: ClassVar[str]
    model: ClassVar[type[CommonSpec]]
    config_axes: ClassVar[Mapping[str, str]]
    dispatcher: ClassVar[str | None] = None  # template of the module that chooses among the structures of a tuned spec
    blame: ClassVar[Mapping[str, str]] = {}  # the spec path that a rule is most likely broken by
    shapes: ClassVar[tuple[tuple[int, ...], ...]] = ()  # problems to time when nobody names any
    computes: ClassVar[tuple[str, ...]] = ("problem",)  # paths that say what is computed; all others, only how

    def computed(self, spec: Any) -> dict[str, Any]:
        """What a spec computes: the values at the paths of `computes`."""
        return {path: functools.reduce(getattr, path.split("."), spec) for path in self.computes}

    def guards(self, spec: Any) -> tuple[str, ...]:
        """Names of the constexpr guards of this spec's optional roles."""
        return ()

    def common(self, specs: Sequence[Any]) -> Mapping[str, Any]:
        """What all variants of a structure decide together; passed to `plan` as keyword arguments."""
        return {}

    @abstractmethod
    def plan(self, spec: Any, *, guards: Mapping[str, bool], baked: Mapping[str, Value], **common: Any) -> Plan:
        """The plan of one variant."""

    @abstractmethod
    def problem(self) -> Any:
        """The module of the family's inputs, reference, tolerance and launch; importing it imports torch."""

    def benchmark(self) -> Any:
        """The module of the family's calls and baselines; importing it imports torch.

        It has call(module, spec, shape, tensors, config) and baselines(spec). If there are such, SLOW_BASELINES are the
        names of those that take minutes to set up, and peers(spec, shape, tensors) gives torch's own kernels by name,
        each a call that returns outputs by name. Raises TlxgenError for a family that has none.
        """
        raise TlxgenError(f"the family {self.name} does not say how its kernels are timed")

    def flops(self, spec: Any, shape: tuple[int, ...]) -> float:
        """Floating-point operations of a problem, a multiply-add as two."""
        return 0.0

    def bytes_moved(self, spec: Any, shape: tuple[int, ...]) -> float:
        """Bytes of a problem's operands and results, each once."""
        return 0.0

    def cost(self, plan: Plan, shape: tuple[int, ...], sms: int) -> float:
        """An estimate of the clocks of one launch, by arithmetic, to rank variants with; equal: no opinion."""
        return 0.0

    def summary(self, plan: Plan) -> str:
        """One line about the tasks, for headers."""
        return "; ".join(_task(r) for r in plan.roles)

    def baked_by_default(self, common: Mapping[str, Any]) -> Mapping[str, Value]:
        """Parameters that are constants of the source unless the spec says `keep`."""
        return {}

    def kernels(
        self, document: Document, on_structure: Callable[[Structure], object] = lambda structure: None
    ) -> Kernels:
        """Expands, plans and groups; nothing that fits, no structures. Raises SpecErrors for a faulty spec.

        `on_structure` is told of each structure as soon as it is there, before a tuned file is looked at.
        """
        with _uncollected():
            return self._kernels(document, on_structure)

    def _kernels(self, document: Document, on_structure: Callable[[Structure], object]) -> Kernels:
        expansion = expand(document, self.model)
        _check_constants(self, document)
        rejected = [Variant(p.values, None, None, p.rejected) for p in expansion.points if p.spec is None or p.rejected]
        structures: list[Structure] = []
        groups = _groups(self, expansion)
        names = _names(str(document.data["name"]), list(groups.values()), self)
        for name, points in zip(names, groups.values(), strict=True):
            structure, failed = self._structure(name, points)
            rejected += failed
            if structure.variants:
                structures.append(structure)
                on_structure(structure)
        made = Kernels(document, self, tuple(structures), tuple(rejected))
        return tuned.keep(made, document.tuned) if document.tuned else made

    def _structure(self, name: str, points: Sequence[Any]) -> tuple[Structure, list[Variant]]:
        specs = [p.spec for p in points]
        first = specs[0]
        common = self.common(specs)
        kept, guards = set(first.keep), self.guards(first)
        axes = self.config_axes
        bake = {axes[path]: _at(first, path) for path in axes if path in first.bake}
        bake |= {n: v for n, v in self.baked_by_default(common).items() if not kept & {p for p in axes if axes[p] == n}}
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
                plan = self.plan(point.spec, guards=fixed | chosen, baked=bake, **common)
                reasons = tuple(str(r) for r in plan.reasons)
                variant = Variant({**point.values, **chosen}, point.spec, plan, reasons)
                (failed if reasons else good).append(variant)
        spec = good[0].spec if good else first
        whole = self.plan(spec, guards=dict.fromkeys(guards, True), baked=bake, **common)
        return Structure(name, _apart(points[0], self), whole, bake, tuple(good)), failed


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


def _at(spec: Any, path: str) -> Value:
    for key in path.split("."):
        spec = getattr(spec, key)
    return spec  # type: ignore[no-any-return]


def _apart(point: Any, family: Family) -> dict[str, Any]:
    """The values of the axes, key by key, that are not constants only."""
    leaves = dict(leaf for item in point.values.items() for leaf in _leaves(*item))
    return {p: v for p, v in leaves.items() if p not in family.config_axes or p in point.spec.bake}


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner)
    else:
        yield path, value


def _names(name: str, groups: Sequence[Sequence[Any]], family: Family) -> list[str]:
    """A module name for each structure: the spec's name, and what sets the structure apart."""
    apart = [_apart(points[0], family) for points in groups]
    varying = {p for values in apart for p in values if len({_text(v.get(p)) for v in apart}) > 1}
    names = ["_".join([name, *(_slug(p, v) for p, v in values.items() if p in varying)]) for values in apart]
    taken: set[str] = set()
    for i, candidate in enumerate(names):
        numbered = (f"{candidate}_{n}" for n in itertools.count(2))
        names[i] = next(name for name in itertools.chain([candidate], numbered) if name not in taken)
        taken.add(names[i])
    return names


def _slug(path: str, value: Any) -> str:
    last = path.rsplit(".", 1)[-1]
    if isinstance(value, bool):
        return last if value else f"no_{last}"
    if isinstance(value, (int, float)):
        return f"{last}{value}".replace(".", "p").replace("-", "m")
    text = _text(value)
    if text == "none" and last != "kind":
        return f"no_{last}"
    return "".join(c if c.isalnum() else "_" for c in text).strip("_").lower() or f"no_{last}"


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "+".join(_text(v) for v in value)
    if isinstance(value, dict):
        return "+".join(f"{k}_{_text(v)}" for k, v in value.items())
    return "" if value is None else str(value)


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
