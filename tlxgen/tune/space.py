"""The candidates of a tuning run: the variants of a spec that fit, as modules to compile and configs to launch."""

from __future__ import annotations

import contextlib
import inspect
import json
import math
import pickle
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing import forkserver, get_context
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from tlxgen import digest, families, stamp
from tlxgen.bounded import cpus
from tlxgen.families import Family, Structure, Variant
from tlxgen.families.structure import leaves, text_of
from tlxgen.files import write_atomic
from tlxgen.plan import Plan
from tlxgen.spec import Document

Shape = tuple[int, ...]
NO_MATTER = {
    "description",
    "toolchain",
    "variants",
    "check",
    "tuned",
}  # keys of a spec that do not affect a variant's speed
PARALLEL_FROM = 4  # least number of modules for which processes are started
RENDERER = ["tlxgen.cli", "tlxgen.render.module"]  # imports of a rendering process


@dataclass(frozen=True)
class Candidate:
    """A variant to measure. `key` is a digest of all that decides its speed on a given GPU and shape."""

    structure: str
    variant: Variant = field(repr=False)
    source: str  # digest of its module's text
    options: Mapping[str, Any]  # arguments of its triton.Config: {kwargs, num_warps, num_stages, ctas_per_cga}
    key: str

    @property
    def label(self) -> str:
        return f"{self.structure}: {self.variant.label}"

    @property
    def values(self) -> dict[str, Any]:
        return dict(self.variant.values)

    @property
    def plan(self) -> Plan:
        assert self.variant.plan
        return self.variant.plan


@dataclass(frozen=True)
class Space:
    """The candidates of a spec in the order of its axes, the texts of their modules, and the counts of rejections.

    A part of a space has the candidates that compute the same thing; `problem` then has the values in which the part
    differs from others. It is empty for a whole space.
    """

    document: Document
    family: Family
    name: str
    candidates: tuple[Candidate, ...]
    sources: Mapping[str, str] = field(repr=False)  # digest -> text
    rejected: Mapping[str, int]  # rule -> how many variants it rejects
    problem: Mapping[str, str] = field(default_factory=dict)

    def apart(self) -> tuple[Space, ...]:
        """The parts of the space, one for each thing that candidates compute, as only within one is there a fastest."""
        told = [_told(self.family.computed(c.variant.spec), c.plan.arch.name) for c in self.candidates]
        sets: dict[str, list[int]] = {}
        for i, values in enumerate(told):
            sets.setdefault(repr(values), []).append(i)
        varying = [path for path in told[0] if len({values.get(path) for values in told}) > 1]
        return tuple(
            replace(
                self,
                candidates=tuple(self.candidates[i] for i in found),
                problem={path: told[found[0]][path] for path in varying},
            )
            for found in sets.values()
        )

    @property
    def label(self) -> str:
        """A text for what its candidates compute, if other parts compute something else."""
        return ", ".join(f"{path}={value}" for path, value in self.problem.items())

    def ranked(self, shapes: Sequence[Shape], sms: int) -> list[Candidate]:
        """The candidates, best first, by the geometric mean of the family's estimate over `shapes`.

        Ties have an order that does not depend on the modules' texts, so a change of templates does not change it.
        """
        costs: dict[str, float] = {}
        for candidate in self.candidates:
            each = self.family.costs(candidate.plan, shapes, sms)
            costs[candidate.key] = math.prod(cost ** (1 / len(shapes)) for cost in each)
        return sorted(self.candidates, key=lambda c: (costs[c.key], digest.of_text(c.label)))


def _told(computed: Mapping[str, Any], arch: str) -> dict[str, str]:
    """Path -> text of the values that decide what is computed."""
    plain = {path: v.model_dump(mode="json") if isinstance(v, BaseModel) else v for path, v in computed.items()}
    return {path: text_of(v) for item in plain.items() for path, v in leaves(*item)} | {"arch": arch}


def space_of(document: Document) -> Space:
    """The space of a document that was loaded without its tuned file, so that it has all variants.

    It is cached by everything that it depends on, since the enumeration of 100,000 points takes a second or more.
    Raises NoVariantError when nothing fits.
    """
    family = families.of(document)
    kept = _kept(document, family)
    with contextlib.suppress(Exception):  # a damaged file may raise anything; then enumerate again
        if kept:
            return Space(document, family, *pickle.loads(kept.read_bytes()))
    space = _enumerated(document, family)
    if kept:
        with contextlib.suppress(OSError):
            write_atomic(kept, pickle.dumps((space.name, space.candidates, space.sources, space.rejected)))
    return space


def _kept(document: Document, family: Family) -> Path | None:
    """The file in which the space is cached; None for a family whose code has no digest."""
    if not Path(inspect.getfile(type(family))).resolve().is_relative_to(stamp.PACKAGE):
        return None
    ours = Path(__file__).read_text(encoding="utf-8")
    name = digest.of_text(
        "\n".join(
            [*_made_by(families.templates(family)), ours, json.dumps(document.data, sort_keys=True, default=repr)]
        )
    )
    return stamp.cache_folder() / "tune" / "spaces" / f"{name}.pickle"


def _made_by(templates: Path) -> list[str]:
    """Digests of the generator, of the family's templates and of tlxgen's own templates."""
    return [
        stamp.generator(),
        *(digest.of_tree(f, ("**/*.j2", "**/_host.py")) for f in dict.fromkeys((templates, stamp.templates()))),
    ]


def _enumerated(document: Document, family: Family) -> Space:
    with _Renderer(family, _processes()) as renderer:
        kernels = family.kernels(document, renderer.add).some()
        texts = renderer.texts()
    sources: dict[str, str] = {}
    candidates = []
    for structure, text in zip(kernels.structures, texts, strict=True):
        source = digest.of_text(text)
        sources[source] = text
        candidates += [_candidate(structure, variant, source) for variant in structure.variants]
    return Space(document, family, kernels.name, tuple(candidates), sources, kernels.rule_counts)


def _candidate(structure: Structure, variant: Variant, source: str) -> Candidate:
    assert variant.plan and variant.spec
    options = options_of(variant.plan)
    spec = variant.spec.model_dump(mode="json", exclude=NO_MATTER)
    key = digest.of_text(json.dumps([source, options, spec], sort_keys=True))
    return Candidate(structure.name, variant, source, options, key)


def options_of(plan: Plan) -> dict[str, Any]:
    """The arguments of this plan's triton.Config."""
    options: dict[str, Any] = {
        "kwargs": {p.name: p.value for p in plan.parameters if not p.baked},
        "num_warps": plan.launches[0].num_warps,
        "num_stages": 1,
    }
    options |= {"maxnreg": plan.launches[0].maxnreg} if plan.launches[0].maxnreg else {}
    return options | ({"ctas_per_cga": list(plan.cluster)} if max(plan.cluster) > 1 else {})


@dataclass(frozen=True)
class _Module:
    """A structure's module to render. It has one row of CONFIGS and no provenance, so that its text does not depend on
    other axis values.

    Rendered texts are cached by a digest of all that they depend on. A damaged entry is rendered again.
    """

    structure: Structure
    templates: Path
    template: str

    @classmethod
    def of(cls, family: Family, structure: Structure) -> _Module:
        one = replace(structure, variants=structure.variants[:1], values={}, tuned={})
        return cls(one, families.templates(family), family.template)

    @cached_property
    def name(self) -> str:
        one = self.structure
        return digest.of_text(
            "\n".join([*_made_by(self.templates), repr((one.name, one.plan, one.baked, one.variants[0].plan))])
        )

    @property
    def path(self) -> Path:
        return stamp.cache_folder() / "tune" / "sources" / f"{self.name}.py"

    def load(self) -> str | None:
        try:
            text = self.path.read_text(encoding="utf-8")
        except OSError:
            return None
        body, mark, name = text.rpartition("# ")
        return body if mark and name == f"{self.name}\n" else None

    def render(self) -> str:
        from tlxgen.render.module import render

        title = f"{self.structure.name}, to be measured."
        text = render(
            self.structure,
            title=title,
            provenance={},
            templates=self.templates,
            template=self.template,
            for_people=False,
        )
        with contextlib.suppress(OSError):  # if the cache folder cannot be written, a later run renders again
            write_atomic(self.path, f"{text}# {self.name}\n".encode())
        return text


def _processes() -> BaseContext:
    """The way in which rendering processes start: as forks of a server that starts its imports now or, if there is no
    place for the server's socket, each by itself."""
    forkserver.set_forkserver_preload(RENDERER)
    try:
        forkserver.ensure_running()
    except OSError:  # the temporary folder's path is too long for a socket
        return get_context("spawn")
    return get_context("forkserver")


class _Renderer:
    """Renders the modules of structures in parallel with the search for structures. Cached texts are read."""

    def __init__(self, family: Family, processes: BaseContext) -> None:
        self._family, self._processes = family, processes
        self._texts: list[str | _Module | Future[str]] = []
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> _Renderer:
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def add(self, structure: Structure) -> None:
        """Adds a structure. Processes are started only if more than a few texts are not cached."""
        module = _Module.of(self._family, structure)
        self._texts.append(module.load() or module)
        waiting = [i for i, text in enumerate(self._texts) if isinstance(text, _Module)]
        if not self._pool and len(waiting) >= PARALLEL_FROM:
            self._pool = ProcessPoolExecutor(cpus(), mp_context=self._processes)
        if self._pool:
            for i in waiting:
                self._texts[i] = self._pool.submit(_Module.render, cast(_Module, self._texts[i]))

    def texts(self) -> list[str]:
        """The texts of all structures, in the order in which they were added."""
        return [_text(text) for text in self._texts]


def _text(text: str | _Module | Future[str]) -> str:
    if isinstance(text, _Module):
        return text.render()
    return text.result() if isinstance(text, Future) else text
