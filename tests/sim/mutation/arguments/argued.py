"""What an argument is. LEAF module of the arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..mutant import Mutant


@dataclass(frozen=True)
class Equivalent:
    """`mutants` are (mutator, what it does), the latter as a regular expression for all of it. Where the argument needs
    more than the statement, the others are ones for some of a text: `at` of the module's name, `function` of the
    function's, `role` of the header of the task and the comment before it, `loop` of the header of the innermost loop
    around it, `statement` of its own."""

    reason: str
    mutants: tuple[tuple[str, str], ...]
    at: str = ""
    loop: str = ""
    function: str = ""
    role: str = ""
    statement: str = ""

    def __contains__(self, mutant: Mutant) -> bool:
        of_kind = (what for kind, what in self.mutants if kind == mutant.kind)
        places = (
            (self.at, mutant.at), (self.loop, mutant.loop), (self.function, mutant.function), (self.role, mutant.role),
            (self.statement, mutant.statement),
        )  # fmt: skip
        return all(re.search(*p) for p in places) and any(re.fullmatch(w, mutant.what) for w in of_kind)
