"""Imports generated modules and other files by path, a new copy each time. It imports nothing of tlxgen.

A generated module is a member of the package of its folder, from which it imports `_host.py` and, in some families,
`_model.py`. Each load makes a package of its own, so that two loads share no state.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path
from types import ModuleType

HOST = "_host.py"  # what the modules of a folder import from beside them
MODEL = "_model.py"  # the same, of a family that has a model of time
MODEL_C = "_model.c"  # the part of it that depends on the shape

_numbers = itertools.count()


def load_file(path: Path) -> ModuleType:
    """The module in a file, anew; an __init__.py is the package of its folder. Raises what the import raises."""
    package = f"tlxgen_loaded_{next(_numbers)}_{path.parent.name}".replace(".", "_").replace("-", "_")
    holder = _module(package, path.parent / "__init__.py", [str(path.parent)])
    module = holder if path.name == "__init__.py" else _module(f"{package}.{path.stem}", path, None)
    assert module.__spec__ and module.__spec__.loader
    module.__spec__.loader.exec_module(module)
    return module


def _module(name: str, path: Path, folders: list[str] | None) -> ModuleType:
    """An empty module that is registered, for its own imports and for dataclasses, which look it up."""
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folders)
    if spec is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    return module
