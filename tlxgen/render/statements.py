"""The statements of a module and the syntax trees of each, for what is asked of every module of a spec.

Modules of a spec share most of their functions. What is found out of the text of a statement is remembered by those who
ask, so each of them parses a statement once.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from tlxgen import digest
from tlxgen.render.lines import UnusualError, split

MODULES = 1 << 13  # statements of modules of which something is remembered: a module has 40
_CONTINUES = ("elif", "else", "except", "finally")


def statements(source: str) -> list[str]:
    """The texts of a module's statements, without comments and blank lines. Raises UnusualError."""
    found: list[str] = []
    rows: list[str] = []
    whole = False  # whether the rows have the beginning of a statement
    for line in split(source):
        if line.is_comment:
            continue
        if not line.column and whole and not line.text.startswith(_CONTINUES):
            found.append("".join(rows))
            rows.clear()
            whole = False
        rows.append(f"{' ' * line.column}{line.text}\n")
        whole = whole or not line.text.startswith("@")
    return [*found, "".join(rows)] if rows else found


def code_digest(source: str) -> str:
    """The digest.of_python of a module. Raises SyntaxError."""
    try:
        told = [_code(text) for text in statements(source)]
    except (UnusualError, SyntaxError):
        return digest.of_python(source)
    codes = [code for some, _ in told for code in some]
    body = "".join(codes[bool(told) and told[0][1] :])
    return digest.of_text(f"Module(body=[{body}])" if body else "Module()")


@lru_cache(maxsize=MODULES)
def _code(text: str) -> tuple[list[str], bool]:
    """What the digest reads of each statement of a text, and whether the first would be a docstring of a module."""
    module = ast.parse(text)
    return [*map(digest.text_of, module.body)], ast.get_docstring(module, clean=False) is not None
