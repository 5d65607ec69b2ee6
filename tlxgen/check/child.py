"""`python -m tlxgen.check.child`: checks one structure of a spec on the GPU, in a process that may be killed.

A request is a job: {spec, folder, structure, repeats, seed, shapes, peers}. The answer is one message a case, before it
({"begin": ...}) and after it, so that whoever kills a hanging run knows which case it was.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tlxgen import families
from tlxgen.bounded.serve import Say, serve
from tlxgen.spec import load


def check(job: dict[str, Any], say: Say) -> None:
    """Runs every config of the job's structure on every shape."""
    from . import case

    document = load(Path(job["spec"]))
    family = families.of(document)
    structure = next(s for s in family.kernels(document).structures if s.name == job["structure"])
    module = import_file(Path(job["folder"]) / f"{structure.name}.py")
    problem = family.problem()
    peers = getattr(family.benchmark(), "peers", None) if job["peers"] else None
    for i, (variant, config) in enumerate(zip(structure.variants, module.CONFIGS, strict=True)):
        shapes = [tuple(s) for s in job["shapes"]] or problem.shapes(variant.spec)
        for j, shape in enumerate(shapes):
            head = {"structure": structure.name, "config": variant.label, "shape": shape}
            say({"begin": head})
            try:
                seed = job["seed"] + 1000 * i + j
                result = case.run(problem, module, variant.spec, shape, config, job["repeats"], seed, peers)
            except Exception as error:  # the kernel's: whatever it is, it is this case's result
                text = f"{type(error).__name__}: {error}".splitlines()
                result = {"passed": False, "error": None, "worst": None, "text": " ".join(text)[:500]}
            say({**head, **result, "repeats": job["repeats"]})


def import_file(path: Path) -> ModuleType:
    """The module in a file, under a name of its own; an __init__.py is the package of its folder."""
    package = path.name == "__init__.py"
    name = f"tlxgen_generated_{path.parent.name if package else path.stem}"
    folders = [str(path.parent)] if package else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folders)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    if package:
        sys.modules[name] = module  # where its own imports look for it
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    serve(check)
