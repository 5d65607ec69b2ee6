"""All mutants of modules, each text once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import libcst as cst

from .module import Module
from .mutant import Mutant, apply
from .mutators import MUTATORS


def mutants(modules: Iterable[tuple[str, str]], kind: str = "") -> Iterator[Mutant]:
    """The mutants of (SPEC/MODULE, source) in order, or those of one mutator. What gives a text again that another one
    gave is left out, also a helper's that is in several modules: it counts once."""
    known: set[tuple[str, str]] = set()
    names: Counter[str] = Counter()
    for at, text in modules:
        module = Module(at, text)
        for function in module.functions:
            start, end = module.span(function)
            before = _meaning(text[start:end])
            for mutant in _of_function(module, function, kind):
                after = _meaning(apply(text[:end], mutant.edits)[start:])
                if after != before and (before, after) not in known:
                    known.add((before, after))
                    names[mutant.name] += 1
                    yield _numbered(mutant, names[mutant.name])


def _numbered(mutant: Mutant, number: int) -> Mutant:
    return mutant if number == 1 else replace(mutant, what=f"{mutant.what} ({number})")


def _of_function(module: Module, function: cst.FunctionDef, kind: str) -> Iterator[Mutant]:
    for made in MUTATORS:
        if kind and made.kind != kind:
            continue
        mutator = made(module, function)
        function.visit(mutator)
        yield from mutator.made


def _meaning(function: str) -> str:
    """A function's text without what may differ and say the same."""
    return "".join(function.split())
