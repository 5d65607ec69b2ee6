"""What a scaled score becomes, as an expression in a spec: grammar, derivative, device code and reference.

`grammar` reads the text, `symbolic` differentiates it (by sympy), `emitted` prints device code, and `modified` is what
plans and templates know. `reference` evaluates the text itself on torch tensors, without any of these but the grammar.
"""

from .grammar import FUNCTIONS, LANGUAGE, NAMES, Parsed, parse
from .modified import Modified, checked, facts, modified

__all__ = ["FUNCTIONS", "LANGUAGE", "NAMES", "Modified", "Parsed", "checked", "facts", "modified", "parse"]
