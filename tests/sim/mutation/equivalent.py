"""Mutants that are no faults, each with the argument: real hardware gives no wrong result, hang or fault.

An argument claims all mutants that it matches, in every module: one that is found all the same contradicts it, and a
run says so.
"""

from __future__ import annotations

from .arguments import ARGUED
from .mutant import Mutant


def argument(mutant: Mutant) -> str | None:
    """Why a mutant is no fault, when that has been argued."""
    return next((e.reason for e in ARGUED if mutant in e), None)
