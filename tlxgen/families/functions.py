"""The functions that people import of a spec's package: one for each thing that the spec's structures compute.

Their names stay as they are while the spec's axes grow. A name says what sets a function apart from what the spec says
without its axes, by what `computes` of the family names and by nothing else; so neither another value nor another axis
changes it. Structures that compute the same are one function, which chooses among them.
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

ARCH = "arch"  # a kernel of another architecture is another function: no device can launch both


@dataclass(frozen=True)
class Function:
    """A function of a package, and the structures that compute what it computes.

    `suffix` follows the spec's name, and whatever else the module of the function has for people; `others` are
    suffixes under which it goes, too.
    """

    spec: str
    suffix: str
    others: tuple[str, ...]
    structures: tuple[Structure, ...]
    values: Mapping[str, str]  # what it computes, where an axis decides it

    @property
    def name(self) -> str:
        return self.spec + self.suffix

    @property
    def chooses(self) -> bool:
        return len(self.structures) > 1

    @property
    def module(self) -> str:
        """The module that has it: that of the only structure, or the one that chooses."""
        return f"_{self.name}" if self.chooses else self.structures[0].name

    @property
    def exported(self) -> Iterator[tuple[str, str]]:
        """Names in the package, and the module's own names of what they are."""
        host = self.structures[0].plan.host
        for suffix in (self.suffix, *self.others):
            for name in (self.spec, *host.companions):
                yield f"{name}{suffix}", name


def functions(kernels: Kernels) -> tuple[Function, ...]:
    """The functions of a spec, in the order of its structures. Raises SpecError where two would have one name.

    The function of what the spec says without its axes has the spec's name, and so has the only one there is. Where
    several are left and none of them is that one, the name alone belongs to none.
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
    """What the values of the keys that say what is computed are called in a name: never two of them the same.

    A value is called by itself where no other of those keys of the family can have it; else its key, or what the key
    lies in, stands before it. `texts`: by path, in the order of the model, the texts that a key can have as values.
    """

    texts: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, family: Family) -> Words:
        paths = (ARCH, *family.computes)
        return cls({p: frozenset(texts) for path in paths for p, texts in _leaves(family.model, path)})

    def has(self, path: str) -> bool:
        return self.place(path) < len(self.texts)

    def place(self, path: str) -> int:
        """Where a path stands in the order of the model."""
        found = (i for i, known in enumerate(self.texts) if f"{path}.".startswith(f"{known}."))
        return next(found, len(self.texts))

    def of_value(self, path: str, value: Any) -> str:
        mine = _called(path, value)
        others = [_called(p, value) for p, texts in self.texts.items() if p != path and text_of(value) in texts]
        free = (name for i, name in enumerate(mine) if all(name != other[min(i, len(other) - 1)] for other in others))
        return next(free, mine[-1])


def _called(path: str, value: Any) -> list[str]:
    """What a value may be called in a name, the shortest first."""
    word, keys = slug(path, value), path.split(".")
    if not isinstance(value, str) or word == f"no_{keys[-1]}":
        longer = [".".join(keys[i:]) for i in range(len(keys) - 2, -1, -1)]
        return [word, *(slug(p.replace(".", "_"), value) for p in longer)]
    return [word, f"{keys[-1]}_{word}", *("_".join([*keys[i:-1], word]) for i in range(len(keys) - 2, -1, -1))]


def _leaves(model: type[CommonSpec], path: str) -> Iterator[tuple[str, Iterator[str]]]:
    """The keys at and under a path of a model, and the texts that each can have as values."""
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
