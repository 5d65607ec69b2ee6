"""A file of cases: its YAML read, merged and evaluated, with every fault of one run at its place. Needs no torch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tlxgen.errors import SpecError, SpecErrors, TlxgenError
from tlxgen.spec import Document, ExpressionFault, compile_expression
from tlxgen.spec import load as load_document
from tlxgen.spec.document import merge
from tlxgen.spec.source import DataPath
from tlxgen.spec.validate import Fault, collect, located

from .case import Case
from .declaration import MODULE_FUNCTION, Argument, Declaration

SUFFIX = ".verify.yaml"
CASES = "cases"


def sidecar(file: Path) -> Path:
    """Where the cases of a Python file are declared."""
    return file.with_name(file.stem + SUFFIX)


def cases_of(file: Path) -> list[Case]:
    """The cases declared beside a Python file; none when there is no such file. Raises as `load`."""
    path = sidecar(file)
    return load(path) if path.exists() else []


def load(path: Path | str) -> list[Case]:
    """The cases that a file declares, in its order. Raises SpecError or SpecErrors, each fault with its place.

    Without `cases` the file is one case, named after its function. With it, each of them is the rest of the file with
    what the case says instead, merged key by key; one that names a kernel or call of its own stands alone.
    """
    path = Path(path)
    document = load_document(path)
    faults: list[TlxgenError] = []
    found = [_case(path, name, part, faults) for name, part in _parts(document)]
    if faults:
        distinct = {str(fault): fault for fault in faults}  # a fault of the common part is every case's
        raise SpecErrors(distinct.values())
    return [case for case in found if case is not None]


def _parts(document: Document) -> Iterator[tuple[str, Document]]:
    """The name and the merged document of each case."""
    if CASES not in document.data:
        function = document.data.get("kernel") or document.data.get("call")
        yield str(function), document
        return
    common = {key: value for key, value in document.data.items() if key != CASES}
    given = document.data[CASES]
    if not isinstance(given, dict) or not given:
        raise SpecError(
            "cases must be a mapping from a name to the keys that the case changes", location=document.where((CASES,))
        )
    for name, changes in given.items():
        at: DataPath = (CASES, name)
        if not isinstance(changes, dict):
            raise SpecError("a case must be a mapping of the keys that it changes", location=document.where(at))
        own = [source.below(at) for source in document.sources if source.has(at)]
        alone = "kernel" in changes or "call" in changes
        data = {k: v for k, v in common.items() if k == "file"} | changes if alone else merge(common, changes)
        yield name, Document(document.path, data, [*own, *document.sources])


def _case(path: Path, name: str, document: Document, faults: list[TlxgenError]) -> Case | None:
    declared, wrong = collect(document.data, Declaration)
    if declared is None:
        faults += located(document, wrong)
        return None
    values = _Values(document, declared)
    found = [*values.faults, *_reference_faults(document, declared), *_file_faults(path, document, declared)]
    faults += found
    file = path.parent / declared.file if declared.file else path.with_name(path.name.removesuffix(SUFFIX) + ".py")
    return None if found else Case(name, path, file, declared, document, values.known)


class _Values:
    """Evaluates the expressions among sizes, scalars and constexprs, in the order of their dependencies."""

    def __init__(self, document: Document, declared: Declaration) -> None:
        self._document = document
        self._given: dict[str, tuple[DataPath, Any]] = {}
        for key in ("sizes", "args", "constexprs"):
            for name, value in getattr(declared, key).items():
                if not isinstance(value, Argument) or value.kind == "value":
                    self._given[name] = ((key, name), value)
        self._under_way: list[str] = []
        self._failed: set[str] = set()
        self.known: dict[str, Any] = {}
        self.faults: list[TlxgenError] = []
        for name in self._given:
            self._value(name)
        for name, argument in declared.tensors.items():
            for key in ("tensor", "output", "block", "strides"):
                for i, size in enumerate(getattr(argument, key) or ()):
                    self._size(("args", name, key, i), size, least=0 if key == "strides" else 1)
        for i, size in enumerate(declared.grid or ()):
            self._size(("grid", i), size, least=1, kernel_names=True)

    def _value(self, name: str) -> Any:
        if name in self.known:
            return self.known[name]
        path, value = self._given[name]
        if name in self._under_way:
            circle = " -> ".join([*self._under_way[self._under_way.index(name) :], name])
            raise ExpressionFault(f"this goes in a circle: {circle}")
        self._under_way.append(name)
        failed = False
        if isinstance(value, Argument):
            value = value.value
        elif isinstance(value, str):
            failed, value = self._evaluate(path, value)
        self._under_way.pop()
        if failed:
            self._failed.add(name)
        self.known[name] = value
        return value

    def _evaluate(self, path: DataPath, text: str, kernel_names: bool = False) -> tuple[bool, Any]:
        """(whether it has none, the value) of an expression at `path`. What fails by itself is a fault, once.

        With `kernel_names` a name that the case does not give may be a constexpr of an autotuned kernel's config: then
        the value is unknown yet.
        """
        try:
            expression = compile_expression(text)
            if kernel_names and not self._given.keys() >= expression.names.keys():
                return True, None
            expression.check_names(dict.fromkeys(self._given))
            values = {name: self._value(name) for name in expression.names}
            if self._failed & values.keys():
                return True, None
            return False, expression.evaluate(values)
        except ExpressionFault as fault:
            where = self._document.where(path).inside(text, fault.offset)
            plain = len(path) == 2 and path[0] != "sizes" and text.isidentifier()
            remedy = f"text is an expression; for the text itself write {{value: {text}}}" if plain else ""
            self.faults.append(SpecError(str(fault), location=where, remedy=remedy))
            return True, None

    def _size(self, path: DataPath, size: Any, least: int, kernel_names: bool = False) -> None:
        failed, value = self._evaluate(path, size, kernel_names) if isinstance(size, str) else (False, size)
        if not failed and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            where = self._document.where(path)
            self.faults.append(SpecError(f"{size} is {value!r}; a whole number from {least} is needed", location=where))


def _file_faults(path: Path, document: Document, declared: Declaration) -> Iterator[SpecError]:
    if declared.file is None and not path.name.endswith(SUFFIX):
        yield SpecError(f"say which file: {path.name} does not end in {SUFFIX}", location=document.where(()))
    elif declared.file is not None and not declared.file.endswith(".py"):
        yield SpecError("file is the Python file of the kernel", location=document.where(("file",)))


def _reference_faults(document: Document, declared: Declaration) -> Iterator[SpecError]:
    """Syntax of references, and outputs that they name and that are not there."""
    given = declared.reference
    texts: dict[DataPath, str] = {("reference",): given} if isinstance(given, str) else {}
    if isinstance(given, dict):
        texts = {("reference", name): text for name, text in given.items()}
        outputs = [n for n, a in declared.tensors.items() if a.kind == "output"] + ["result"] * bool(declared.call)
        wrong = [Fault(("reference", n), f"{n!r} is no output; those are {', '.join(outputs) or 'none'}", key=True)
                 for n in given if n not in outputs]  # fmt: skip
        yield from located(document, wrong)
    for path, text in texts.items():
        if MODULE_FUNCTION.fullmatch(text):
            continue
        try:
            ast.parse(text.strip(), mode="eval")
        except SyntaxError as error:
            where = document.where(path).inside(text, max(0, (error.offset or 1) - 1))
            yield SpecError(f"the reference is not a Python expression: {error.msg}", location=where)
        except (ValueError, MemoryError, RecursionError):
            yield SpecError("the reference is not a Python expression", location=document.where(path))
