"""`python -m tlxgen.check.checker`: checks one structure of a spec on the GPU, in a process that may be killed.

A request is a job: {spec, folder, structure, repeats, seed, shapes, peers}. The answer is one message before each case
({"begin": ...}) and one after it, so that the parent knows which case was running if it kills the process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tlxgen import families
from tlxgen.bounded.serve import Say, serve
from tlxgen.loading import load_file
from tlxgen.spec import load


def check(job: dict[str, Any], say: Say) -> None:
    """Runs every config of the job's structure on every shape."""
    from . import on_gpu

    document = load(Path(job["spec"]))
    family = families.of(document)
    structure = next(s for s in family.kernels(document).structures if s.name == job["structure"])
    module = load_file(Path(job["folder"]) / f"{structure.name}.py")
    problem = family.problem()
    peers = getattr(family.benchmark(), "peers", None) if job["peers"] else None
    for i, (variant, config) in enumerate(zip(structure.variants, module.CONFIGS, strict=True)):
        shapes = [tuple(s) for s in job["shapes"]] or problem.shapes(variant.spec)
        for j, shape in enumerate(shapes):
            head = {"structure": structure.name, "config": variant.label, "shape": shape}
            say({"begin": head})
            try:
                seed = job["seed"] + 1000 * i + j
                result = on_gpu.run(problem, module, variant.spec, shape, config, job["repeats"], seed, peers)
            except Exception as error:  # any error of the kernel is the result of this case
                text = f"{type(error).__name__}: {error}".splitlines()
                result = {"passed": False, "error": None, "worst": None, "text": " ".join(text)[:500]}
            say({**head, **result, "repeats": job["repeats"]})


if __name__ == "__main__":
    serve(check)
