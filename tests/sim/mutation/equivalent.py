"""Mutants that are no faults, each with the argument: real hardware gives no wrong result, hang or fault.

An argument claims all mutants that it matches, in every module: one that is found all the same contradicts it, and a
run says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .mutant import Mutant


@dataclass(frozen=True)
class Equivalent:
    """`mutants` are (mutator, what it does); `at` is a regular expression for the modules that it is argued for."""

    reason: str
    mutants: tuple[tuple[str, str], ...]
    at: str = ""

    def __contains__(self, mutant: Mutant) -> bool:
        return (mutant.kind, mutant.what) in self.mutants and re.search(self.at, mutant.at) is not None


ARGUED: tuple[Equivalent, ...] = ()


def argument(mutant: Mutant) -> str | None:
    """Why a mutant is no fault, when that has been argued."""
    return next((e.reason for e in ARGUED if mutant in e), None)
