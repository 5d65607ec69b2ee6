"""SHA-256 of texts, Python code, files and trees. This module imports nothing of tlxgen but files."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from tlxgen.files import read_regular

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def of_bytes(data: bytes) -> str:
    """Hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def of_text(text: str) -> str:
    return of_bytes(text.encode())


def of_python(text: str) -> str:
    """Digest of Python code without comments, docstrings, blank lines and line breaks.

    It is the same in every version of Python, since fields of newer versions are empty for older code. Raises
    SyntaxError.
    """
    return of_code(ast.parse(text))


def of_code(tree: ast.AST) -> str:
    """The same for code that has been parsed."""
    return of_text(text_of(tree))


def text_of(tree: ast.AST) -> str:
    """What the digest of code reads of a part of a syntax tree."""
    parts: list[str] = []
    _add_code(tree, parts)
    return "".join(parts)


def _add_code(value: object, parts: list[str]) -> None:
    """Adds the text of a part of a syntax tree. It uses no generators, which would take three times as long."""
    if isinstance(value, ast.Constant):
        parts.append(f"{value.value!r};")
    elif isinstance(value, ast.AST):
        parts.append(f"{type(value).__name__}(")
        documented = isinstance(value, _DOCUMENTED) and ast.get_docstring(value, clean=False) is not None
        for name in value._fields:
            inner = getattr(value, name, None)
            if documented and name == "body":
                inner = value.body[1:]  # type: ignore[attr-defined]
            if inner is not None and inner != []:
                parts.append(f"{name}=")
                _add_code(inner, parts)
        parts.append(")")
    elif isinstance(value, list):
        parts.append("[")
        for one in value:
            _add_code(one, parts)
        parts.append("]")
    else:
        parts.append(f"{value!r};")


def of_file(path: Path) -> str | None:
    """Digest of a file's bytes; None when there is no such file."""
    try:
        return of_bytes(read_regular(path))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def of_files(files: Mapping[str, Path]) -> str:
    """Digest of the names and the bytes of `files`, in any order."""
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(name.encode() + b"\0" + of_bytes(path.read_bytes()).encode() + b"\n")
    return digest.hexdigest()


def of_tree(root: Path, patterns: Iterable[str]) -> str:
    """Digest of the files under `root` that match."""
    found = (path for pattern in patterns for path in root.glob(pattern) if path.is_file())
    return of_files({path.relative_to(root).as_posix(): path for path in found})
