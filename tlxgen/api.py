"""tlxgen from Python: `from tlxgen.api import build, compile, plan, verify`. docs/api.md has examples.

No function prints, ends the process, or, except `build`, changes a spec's folder. An error that the user can correct is
a TlxgenError with `message`, `remedy` and, for a fault in a file, `location`. Several errors at once are a SpecErrors.
A renamed key gives a Python warning (RenamedWarning).

Only child processes import torch and Triton, so a program can import this module without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal

from tlxgen import stamp
from tlxgen.build import Built
from tlxgen.build import build as _build
from tlxgen.compile import Outcome, Resources, check_torch, check_triton, compile_all
from tlxgen.errors import NoVariantError, RenamedWarning, SpecError, SpecErrors, TlxgenError, ToolchainError
from tlxgen.families import Kernels, Structure, Variant, kernels_of
from tlxgen.plan import Plan
from tlxgen.verbs import compile as _compiling
from tlxgen.verbs.verify import name_as_built, runs_of
from tlxgen.verify import SCHEDULES, Job, Limits, Result, StructureJob, Way, is_hand_written, jobs_of, verify_all
from tlxgen.working import of_spec

__all__ = [
    "Built",
    "Compiled",
    "Kernels",
    "NoVariantError",
    "Plan",
    "RenamedWarning",
    "Resources",
    "Result",
    "SpecError",
    "SpecErrors",
    "Structure",
    "TlxgenError",
    "ToolchainError",
    "Variant",
    "build",
    "compile",
    "plan",
    "verify",
]

Source = str | PathLike[str]


@dataclass(frozen=True)
class Compiled:
    """One kernel of one variant, compiled offline.

    `resources`: registers a thread, bytes of SMEM a CTA, spills and other figures; None with an `error` of one line.
    `findings`: differences from the plan, and spills; empty if the kernel is as planned.
    """

    structure: str
    kernel: str
    variant: Variant
    resources: Resources | None
    error: str
    findings: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether it compiled as planned and without a spill."""
        return self.resources is not None and not self.findings


def plan(spec: Source) -> Kernels:
    """The kernels of a spec: structures, each with a plan and its variants, and rejected variants with reasons.

    If no variant fits, there are no structures. Raises SpecError or SpecErrors for a faulty spec.
    """
    return kernels_of(Path(spec))


def build(spec: Source, *, out: Source | None = None, check: bool = False) -> Built:
    """Writes the modules and the lock of a spec, as `tlxgen build` does; with `check` it only compares.

    `out` is the folder of generated/NAME, by default beside specs/. The result says what was changed and, with `check`,
    has the difference as text. Raises SpecError or SpecErrors for a faulty spec, NoVariantError if no variant fits, and
    TlxgenError for a folder that cannot be written. If it raises, nothing is written.
    """
    return _build(Path(spec), out=None if out is None else Path(out), check=check)


def verify(
    target: Source,
    *,
    seeds: int = 2,
    config: int | None = None,
    arch: Literal["sm90", "sm100"] = "sm90",
    workers: int | None = None,
    timeout_s: float = 300,
    memory_gib: float = 4,
) -> list[Result]:
    """Runs the kernels of a target on the CPU. Each structure of a spec, case of a file, or function has a result.

    `target` is a spec, FILE.py, FILE.py:function or FILE.verify.yaml. A spec's kernels are built into temporary copies
    and run from there; nothing is written. `config` is an index into CONFIGS; by default, configs that show all
    constants are run. `arch` is the architecture of a function. A result's `status` is clean, findings or error (the
    run did not complete, and `error` says why). Raises SpecError or SpecErrors for a faulty spec or declaration,
    ToolchainError without torch or fbtriton, and ValueError for `seeds` or `workers` below 1.
    """
    if seeds < 1 or (workers is not None and workers < 1):
        raise ValueError("seeds and workers are at least 1")
    check_torch()
    check_triton()
    ways, limits = runs_of(seeds, SCHEDULES), Limits(timeout_s, memory_gib)
    text = str(target)
    if is_hand_written(text):
        return _results(jobs_of(text, config, arch), ways, limits, workers)
    with of_spec(Path(target)) as work:
        jobs = [
            StructureJob(work.spec, s.name, work.path(s.name), config) for s in kernels_of(work.spec).some().structures
        ]
        results = _results(jobs, ways, limits, workers)
        for result in results:
            name_as_built(result, work)
    return results


def compile(spec: Source, *, workers: int | None = None, timeout_s: float = 120, cached: bool = True) -> list[Compiled]:
    """Compiles every kernel of a spec to a cubin without a GPU, and compares the results with its plan.

    The modules are built into temporary copies, and the lock is not changed. `timeout_s` is the limit of one kernel, in
    seconds. With `cached`, earlier results are taken from the cache folder. A kernel that does not compile is a result
    with an error. Raises SpecError or SpecErrors for a faulty spec, NoVariantError if no variant fits, and
    ToolchainError without fbtriton.
    """
    check_triton()
    with of_spec(Path(spec)) as work:
        each = _compiling.all_kernels(work)
        cache = stamp.cache_folder() / "compiled" if cached else None
        outcomes = compile_all([k.job for k in each], workers=workers, timeout_s=timeout_s, cache=cache)
        outcomes = [replace(outcome, error=work.shown(outcome.error)) for outcome in outcomes]
    return [_compiled(kernel, outcome) for kernel, outcome in zip(each, outcomes, strict=True)]


def _compiled(kernel: _compiling.Kernel, outcome: Outcome) -> Compiled:
    findings = tuple(finding.text for finding in _compiling.judge(kernel, outcome))
    return Compiled(
        structure=kernel.structure,
        kernel=kernel.launch.kernel,
        variant=kernel.variant,
        resources=outcome.resources,
        error=outcome.error,
        findings=findings,
    )


def _results(jobs: Sequence[Job], ways: Sequence[Way], limits: Limits, workers: int | None) -> list[Result]:
    with closing(verify_all(jobs, ways, limits, workers, None)) as coming:
        return list(coming)
