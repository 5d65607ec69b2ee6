"""What a scaled score becomes, as an expression in a spec: its grammar, its derivative, its device code, its reference.

`grammar` reads the text, `symbolic` differentiates it (by sympy), `emitted` prints device code, `modified` is what plans
and templates know, and `reference`
evaluates the text itself on torch tensors, without the other two.
"""

from .grammar import FUNCTIONS, LANGUAGE, NAMES, Parsed, parse
from .modified import Modified, checked, facts, modified

__all__ = ["FUNCTIONS", "LANGUAGE", "NAMES", "Modified", "Parsed", "checked", "facts", "modified", "parse"]
