"""Mutants that are no faults, each with the argument: real hardware gives no wrong result, hang or fault.

An argument claims all mutants that it matches, in every module: one that is found all the same contradicts it, and a
run says so.
"""

from __future__ import annotations

import re

from .arguments import ARGUED
from .mutant import Mutant

# What is missing where a mutant survives, or why it is none although the same statement elsewhere is a fault; by name.
REMARKS: tuple[tuple[str, str], ...] = (
    (
        r"attention_fwd_masks.*_packed:\d+ operands: .*first",
        "wrong where a CTA's first item is of another sequence than the first: in all cases the first has more",
    ),
    (
        r"attention_bwd.* tiles = tl\.cdiv",
        "wrong where the heads do not fit into L2 together, 65,536 / N_K of them: the simulated shapes have fewer",
    ),
    (
        r"grouped_gemm_weights.* assignment: across = tl\.cdiv: .* \+ 1",
        "the item past a group's last lies outside of its product, and costs time alone; but where tile rows are a "
        "multiple of GROUP_M, its place is a division by zero: the simulated shapes have fewer",
    ),
    (
        r"attention_fwd_.* later: tlx\.barrier_wait\(v_empty",
        "of an item's last V: nearly always an earlier wait has told of it",
    ),
)


def remark(mutant: Mutant) -> str:
    """What is known of a mutant that survives and is not argued to be no fault, or nothing."""
    return next((text for name, text in REMARKS if re.search(name, mutant.name)), "")


def argument(mutant: Mutant) -> str | None:
    """Why a mutant is no fault, when that has been argued."""
    return next((e.reason for e in ARGUED if mutant in e), None)
