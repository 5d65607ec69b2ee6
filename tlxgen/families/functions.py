"""The public functions of a spec's package: one for each thing that the spec's structures compute.

Structures that compute the same thing share one function, which chooses among them. A function's name is that of the
spec, and the values at the paths of the family's `computes` in which the function differs from the spec without its
axes. So a name does not change when the spec gets another axis or another value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from tlxgen.errors import SpecError
from tlxgen.spec import CommonSpec
from tlxgen.spec.paths import model_in, own

from .structure import Structure, by_problem, slug, text_of

if TYPE_CHECKING:
    from .base import Family, Kernels

ARCH = "arch"  # kernels of two architectures are two functions, since no device can launch both


@dataclass(frozen=True)
class Function:
    """A function of a package, and the structures that it chooses among.

    `suffix` is appended to the spec's name and to the names of other public objects of the function's module. `others`
    are suffixes of aliases.
    """

    spec: str
    suffix: str
    others: tuple[str, ...]
    structures: tuple[Structure, ...]
    values: Mapping[str, str]  # the values of axes that decide what it computes

    @property
    def name(self) -> str:
        return self.spec + self.suffix

    @property
    def chooses(self) -> bool:
        return len(self.structures) > 1

    @property
    def module(self) -> str:
        """The module that defines it: that of its only structure, or the one that chooses among several."""
        return f"_{self.name}" if self.chooses else self.structures[0].name

    @property
    def exported(self) -> Iterator[tuple[str, str]]:
        """Pairs of a name in the package and the module's own name of the same object."""
        host = self.structures[0].plan.host
        for suffix in (self.suffix, *self.others):
            for name in (self.spec, *host.companions):
                yield f"{name}{suffix}", name


def functions(kernels: Kernels) -> tuple[Function, ...]:
    """The functions of a spec, in the order of its structures. Raises SpecError if two of them had the same name.

    The function that computes what the spec says without its axes has the spec's name, and so has an only function. If
    several functions are left and none of them is that one, no function has the spec's name alone.
    """
    words = Words.of(kernels.family)
    groups = by_problem(kernels.structures, kernels.family.computed)
    made = [_function(kernels, words, group, alone=len(groups) == 1) for group in groups]
    taken: set[str] = set()
    for function in made:
        if function.name in taken:
            text = f"two different things that the axes make would both be called {function.name}"
            raise SpecError(text, location=kernels.document.where(("variants", "axes"), key=True))
        taken.add(function.name)
    return tuple(made)


def _function(kernels: Kernels, words: Words, structures: Sequence[Structure], *, alone: bool) -> Function:
    given = {p: v for p, v in structures[0].values.items() if words.has(p)}
    model, data = kernels.family.model, kernels.document.data
    base = {p: text_of(own(model, data, p.split("."))) for p in given}
    said = {p: words.of_value(p, v) for p, v in sorted(given.items(), key=lambda item: words.place(item[0]))}
    suffix = "".join(f"_{said[p]}" for p in said if text_of(given[p]) != base[p])
    others = [suffix] if suffix and alone else [] if suffix else [f"_{word}" for word in said.values()]
    values = {p: text_of(given[p]) for p in said}
    return Function(kernels.name, "" if alone else suffix, tuple(others), tuple(structures), values)


@dataclass(frozen=True)
class Words:
    """Unique words, for use in names, for the values of the keys that decide what is computed.

    The word of a value is the value itself if no other such key of the family can have it. Otherwise the key, or the
    key's parent, is put in front. `texts` has, by path and in the order of the model, the texts of a key's values.
    """

    texts: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, family: Family) -> Words:
        paths = (ARCH, *family.computes)
        return cls({p: frozenset(texts) for path in paths for p, texts in _leaves(family.model, path)})

    def has(self, path: str) -> bool:
        return self.place(path) < len(self.texts)

    def place(self, path: str) -> int:
        """The position of a path in the order of the model."""
        found = (i for i, known in enumerate(self.texts) if f"{path}.".startswith(f"{known}."))
        return next(found, len(self.texts))

    def of_value(self, path: str, value: Any) -> str:
        mine = _called(path, value)
        others = [_called(p, value) for p, texts in self.texts.items() if p != path and text_of(value) in texts]
        free = (name for i, name in enumerate(mine) if all(name != other[min(i, len(other) - 1)] for other in others))
        return next(free, mine[-1])


def _called(path: str, value: Any) -> list[str]:
    """The words that a value may have in a name, the shortest first."""
    word, keys = slug(path, value), path.split(".")
    if not isinstance(value, str) or word == f"no_{keys[-1]}":
        longer = [".".join(keys[i:]) for i in range(len(keys) - 2, -1, -1)]
        return [word, *(slug(p.replace(".", "_"), value) for p in longer)]
    return [word, f"{keys[-1]}_{word}", *("_".join([*keys[i:-1], word]) for i in range(len(keys) - 2, -1, -1))]


def _leaves(model: type[CommonSpec], path: str) -> Iterator[tuple[str, Iterator[str]]]:
    """The keys at and below a path of a model, and the texts of each key's possible values."""
    here: type[BaseModel] | None = model
    annotation: Any = model
    for key in path.split("."):
        if here is None or key not in here.model_fields:
            return
        annotation = here.model_fields[key].annotation
        here = model_in(annotation)
    if here is None:
        yield path, _texts(annotation)
        return
    for key in here.model_fields:
        yield from _leaves(model, f"{path}.{key}")


def _texts(annotation: Any) -> Iterator[str]:
    for inner in get_args(annotation):
        if isinstance(inner, str):
            yield inner
        else:
            yield from _texts(inner)


__all__ = ["Function", "functions"]
