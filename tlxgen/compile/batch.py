"""Many jobs on a few child processes that may hang, crash or be killed without taking a result with them."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tlxgen.bounded import Answer, Child, cpus, kept, run_each

from . import cache as store
from .environments import DEFAULT, Toolchain
from .job import Job, Outcome, Resources
from .logs import telling_line

CHILD = "tlxgen.compile.compiler"
LOG_LINES = 40  # of a lost child; LLVM may print megabytes of IR before it aborts

# What a child inherits. Many other variables (TRITON_*, PTXAS_*, MLIR_*, DISABLE_*) change the cubin or the output.
_INHERITED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "LANG", "LD_LIBRARY_PATH", "VIRTUAL_ENV"})


def compile_all(
    jobs: Sequence[Job],
    *,
    workers: int | None = None,
    timeout_s: float = 120,
    cache: Path | None = None,
    keep: Path | None = None,
    on_done: Callable[[Outcome], None] | None = None,
    toolchain: Toolchain = DEFAULT,
) -> list[Outcome]:
    """Compiles every job; outcomes in the order of the jobs, those of equal content from one compilation.

    `workers` defaults to the CPUs that this process may use. `timeout_s` is wall time a job, imports excluded. `cache`
    is a folder of results; None keeps none. `keep` is one for cubins and what launches them (see `Outcome.kept`);
    it goes without a cache, which has no cubins, and without SASS. `on_done` is called in this thread as each job is
    done, in any order. A job that fails is an outcome with an error. Raises ToolchainError if the Triton of `toolchain`
    is not there or cannot compile TLX, and a job is not in the cache.
    """
    if keep is not None and cache is not None:
        raise ValueError("a cache of results has no cubins to keep")
    if not toolchain.is_default:
        jobs = [replace(job, num_stages=toolchain.num_stages) for job in jobs]
    outcomes: list[Outcome | None] = [None] * len(jobs)

    def done(index: int, outcome: Outcome) -> None:
        outcomes[index] = outcome
        if on_done is not None:
            on_done(outcome)

    batches, names = _batches(jobs, cache, done, toolchain)
    if batches:
        toolchain.check()
        firsts = [jobs[batch[0]] for batch in batches]
        # The fork of a process that has imported one Triton cannot import another.
        nursery = kept(_inherited()) if toolchain.is_default else None

        def environment(folder: str) -> dict[str, str]:
            return _environment(folder) | toolchain.environment()

        each = run_each(
            lambda stop: Child(CHILD, stop, nursery=nursery, scratch=environment),
            firsts,
            lambda child, job: _compile(child, job, timeout_s, keep),
            workers=min(workers or cpus(), len(batches)),
        )
        with contextlib.closing(each) as results:
            for position, result in results:
                first, *others = batches[position]
                name = names[position]
                if cache is not None and name is not None and result.resources is not None:
                    store.store(cache, name, result.resources)
                done(first, result)
                for index in others:
                    done(index, _shared(jobs[index], result))
    return [outcome for outcome in outcomes if outcome is not None]


def _batches(
    jobs: Sequence[Job], cache: Path | None, done: Callable[[int, Outcome], None], toolchain: Toolchain
) -> tuple[list[list[int]], list[str | None]]:
    """Indices of jobs of equal content, and each batch's name in the cache. Cached or unreadable ones are done."""
    fingerprint = toolchain.fingerprint() if cache is not None else None
    alike: defaultdict[str, list[int]] = defaultdict(list)
    names: dict[str, str | None] = {}
    for index, job in enumerate(jobs):
        try:
            source = Path(job.module).read_bytes()
        except OSError as error:
            done(index, Outcome(job.id, None, f"{type(error).__name__}: {error}", imported=False))
            continue
        content = store.content(job, source)
        alike[content].append(index)
        if content not in names:
            names[content] = store.key(content, source, fingerprint)
    missing = []
    for content, indices in alike.items():
        name = names[content]
        found: Resources | None = store.load(cache, name) if cache is not None and name else None
        if found is None:
            missing.append(content)
            continue
        for index in indices:
            done(index, Outcome(jobs[index].id, found, cached=True))
    return [alike[content] for content in missing], [names[content] for content in missing]


def _shared(job: Job, result: Outcome) -> Outcome:
    return replace(result, job=job.id, seconds=0.0, cached=result.ok)


def _compile(child: Child, job: Job, timeout_s: float, keep: Path | None) -> Outcome:
    """Compiles one job. Hangs and crashes are outcomes too."""
    data = job.to_json() | {"module": str(Path(job.module).resolve())}  # the child runs in another directory
    kept = str(keep.resolve() / hashlib.sha256(job.id.encode()).hexdigest()) if keep else ""
    outcome = outcome_in(child.ask({"job": data, "keep": kept}, timeout_s), job.id)
    return replace(outcome, kept=kept if outcome.ok else "")


def outcome_in(answer: Answer, name: str) -> Outcome:
    """The outcome that a child answered with, or that of a child that was lost."""
    if not answer.fate:
        return Outcome.from_json(answer.messages[-1]["outcome"])
    detail = "\n".join(answer.log.splitlines()[-LOG_LINES:])
    error = answer.fate
    if not error.startswith("timed out"):
        error = ": ".join(filter(None, [f"the compiler {error}", telling_line(detail)]))
    return Outcome(name, None, error, detail, answer.seconds)


def _environment(scratch: str) -> dict[str, str]:
    """A child's environment: none of the compilers' knobs but ours."""
    return _inherited() | {
        "TRITON_ALWAYS_COMPILE": "1",
        "TRITON_CACHE_DIR": str(Path(scratch, "cache")),
        "TRITON_DISABLE_LINE_INFO": "1",  # with it the bytes do not depend on path, line or comment, and are a third
        "TMPDIR": scratch,
    }


def _inherited() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k in _INHERITED or k.startswith("LC_")}
