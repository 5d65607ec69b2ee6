"""The digest of the simulator: of every module that can change a verdict, and of the libraries that it uses.

The code that all host functions share (`_host.py`) is a part of it: it launches what is judged.

The modules are found by their imports, which are read and not executed. They are all modules that the code which runs
and judges a generated module reaches, and all that its family's inputs, reference and tolerance reach. A new module is
included automatically; only modules in APART are left out. If a module cannot be read, there is no digest, and no
record counts as a proof.

Which shapes are run is apart from that: functions named CHOOSES have a digest of their own. A record says which cases
were run, so that one is still a proof where another choice has the same cases for its module.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from tlxgen import digest, stamp
from tlxgen.files import write_atomic

ROOTS = ("tlxgen.verify.simulate", "tlxgen.verify.parallel")
# These packages and their subpackages are left out, since they cannot change the verdict on an unchanged module.
APART = {
    "tlxgen.plan": "it decides what the module says, which has a digest of its own",
    "tlxgen.spec": "it decides what the spec's values are, which have a digest of their own",
    "tlxgen.stamp": "it remembers builds",
    "tlxgen.cases": "it runs hand-written kernels, which have no record",
    "tlxgen.verify.functions": "it runs hand-written kernels, which have no record",
    "tlxgen.bounded": "it starts the process; one that is lost is no verdict",
}
FAMILIES = "tlxgen.families"  # left out, but not its subpackages: it only finds the family and its variants
LIBRARIES = {"torch": "torch", "triton": "fbtriton"}  # imported name -> distribution, of libraries with numerics
CHOOSES = "simulated_shapes"  # functions at the top of modules: they only decide on the cases, which records name
PLAIN = {"greenlet", "pydantic"}  # libraries whose versions do not matter: they switch tasks and check types


class UnreadableError(Exception):
    """A module or a library has no digest."""


@dataclass(frozen=True)
class Simulator:
    """The simulator of a family's modules: the digest of its code, and the versions of libraries.

    `cases_by` is the digest of what chooses the cases, `core` that of the code without what a family and `_host.py`
    give to runs (proof.given).
    """

    digest: str
    libraries: Mapping[str, str]
    cases_by: str = ""
    core: str = ""

    def made(self, by: str, libraries: Mapping[str, str]) -> bool:
        """Whether this simulator made a record. A library that is not installed is not compared."""
        return by == self.digest and self.has(libraries)

    def has(self, libraries: Mapping[str, str]) -> bool:
        """Whether these are its libraries, as far as they are installed."""
        return all(libraries.get(name) == version for name, version in self.libraries.items())


def simulator_of(*judged_by: str) -> Simulator | None:
    """The simulator for a family with these `judged_by` modules (see Family.judged_by); None if it has no digest."""
    try:
        return _simulator(judged_by) if judged_by else None
    except (UnreadableError, OSError, SyntaxError, ValueError):
        return None


@functools.cache
def _simulator(judged_by: tuple[str, ...]) -> Simulator:
    code, cases_by, core, others = _remembered(judged_by) or _remember(judged_by, _read(judged_by))
    versions = {name: _version(name) for name in sorted(set(others) | set(LIBRARIES.values()))}
    return Simulator(code, {name: version for name, version in versions.items() if version}, cases_by, core)


def _version(distribution: str) -> str:
    """The version of a library without its build tag; empty if it is not installed."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        return metadata.version(distribution).partition("+")[0]
    return ""


_Found = tuple[str, str, str, list[str]]


def _read(judged_by: tuple[str, ...]) -> _Found:
    """The digest of all code that counts, that of what chooses cases, that of the code that runs and judges alone, and
    the other libraries that the code imports."""
    read = modules((*ROOTS, *judged_by))
    digests = {name: _digests(path) for name, path in (*sorted(read.code.items()), ("_host", _host()))}
    text, cases_by = (json.dumps({name: both[i] for name, both in digests.items() if both[i]}) for i in (0, 1))
    core = {name: _digests(path)[0] for name, path in sorted(modules(ROOTS).code.items()) if not _is_given(name)}
    own = {name.partition(".")[0] for name in read.code}
    others = read.libraries - own - set(LIBRARIES) - PLAIN - set(sys.stdlib_module_names)
    named = digest.of_text(json.dumps(core))
    return digest.of_text(text), digest.of_text(cases_by), named, sorted(map(_distribution, others))


def _is_given(name: str) -> bool:
    """Whether a module counts only through what it gives to runs."""
    return name.startswith(f"{FAMILIES}.")


@functools.cache
def _installed() -> Mapping[str, list[str]]:
    """Imported name -> the distributions that have it. To find them all takes half a second."""
    return metadata.packages_distributions()


def _distribution(imported: str) -> str:
    found = _installed().get(imported)
    if not found:
        raise UnreadableError(f"{imported} is of no installed library")
    return found[0]


def _remembered(judged_by: tuple[str, ...]) -> _Found | None:
    """The cached result for the same texts, since reading them takes almost a second; None if there is none."""
    try:
        code, cases_by, core, others = json.loads(_memory(judged_by).read_bytes())
        return str(code), str(cases_by), str(core), list(map(str, others))
    except (OSError, ValueError, TypeError):
        return None


def _remember(judged_by: tuple[str, ...], found: _Found) -> _Found:
    with contextlib.suppress(OSError):
        write_atomic(_memory(judged_by), json.dumps(found).encode())
    return found


@functools.cache
def _memory(judged_by: tuple[str, ...]) -> Path:
    """The cache file, whose name is a digest of all texts that may count and of the version of Python."""
    tops = dict.fromkeys(("tlxgen", *map(_top, judged_by)))
    trees = [digest.of_tree(folder, ("**/*.py",)) for top in tops for folder in _folders(top)]
    key = digest.of_text("\n".join([*judged_by, sys.version, *trees, digest.of_bytes(_host().read_bytes())]))
    return stamp.cache_folder() / "simulators" / f"{key}.json"


def _host() -> Path:
    return stamp.templates() / "lib" / "_host.py"


@dataclass
class Read:
    """Modules by their full names, and the top-level names of other imports."""

    code: dict[str, Path] = field(default_factory=dict)
    libraries: set[str] = field(default_factory=set)


def modules(roots: Iterable[str]) -> Read:
    """The modules that `roots` reach by imports, in functions too, within their own packages and tlxgen.

    `from package import name` reaches the module that defines the name, and not all that the package imports. Raises
    UnreadableError for a root that is not there.
    """
    read = Read()
    todo = list(roots)
    tops = {_top(name) for name in todo} | {"tlxgen"}
    for name in todo:
        if _file(name) is None:
            raise UnreadableError(f"no source of {name}")
    while todo:
        name = todo.pop()
        if _top(name) not in tops:
            read.libraries.add(_top(name))
        elif name not in read.code and not _is_apart(name) and (path := _file(name)) is not None:
            read.code[name] = path
            todo += _imports(name, path)
    return read


def _is_apart(name: str) -> bool:
    return name == FAMILIES or any(name == a or name.startswith(f"{a}.") for a in APART)


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@functools.cache
def _digests(path: Path) -> tuple[str, str]:
    """The digest of a module's code, and that of its function that chooses cases; empty if it has none."""
    tree = _tree(path)
    chooses = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == CHOOSES]
    rest = ast.Module([node for node in tree.body if node not in chooses], [])
    return digest.of_code(rest), digest.of_code(chooses[-1]) if chooses else ""


@functools.cache
def _imports(name: str, path: Path) -> list[str]:
    return list(_imported(name, path))


def _imported(name: str, path: Path) -> Iterator[str]:
    """The modules that a module imports, without imports for types alone, which cannot change what it does."""
    nodes = list(ast.walk(_tree(path)))
    for_types = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and _is_for_types(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in nodes:
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _absolute(node, name, path)
            yield from (_definer(source, alias.name) for alias in node.names)


def _is_for_types(test: ast.expr) -> bool:
    name = test.id if isinstance(test, ast.Name) else test.attr if isinstance(test, ast.Attribute) else ""
    return name == "TYPE_CHECKING"


def _absolute(node: ast.ImportFrom, name: str, path: Path) -> str:
    """The full name of the module after `from`."""
    if not node.level:
        return node.module or ""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _definer(source: str, name: str) -> str:
    """The module that `from source import name` needs: a module of that name, or the one that defines the name."""
    path = _file(source)
    if _file(f"{source}.{name}") is not None:
        return f"{source}.{name}"
    if path is None or path.name != "__init__.py":
        return source
    for node in _tree(path).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    return _definer(_absolute(node, source, path), alias.name)
    return source


def _file(name: str) -> Path | None:
    """The source file of a module of a loaded package; None if it has none. It imports nothing."""
    top, *rest = name.split(".")
    for folder in _folders(top):
        path = folder.joinpath(*rest)
        if (path / "__init__.py").is_file():
            return path / "__init__.py"
        if rest and path.with_suffix(".py").is_file():
            return path.with_suffix(".py")
    return None


def _folders(top: str) -> list[Path]:
    return [Path(folder) for folder in getattr(sys.modules.get(top), "__path__", ())]


def _top(name: str) -> str:
    return name.partition(".")[0]
