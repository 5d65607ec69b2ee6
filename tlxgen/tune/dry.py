"""`tlxgen tune --dry-run`: what a run would measure first, compiled offline, on a machine without a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tlxgen import stamp
from tlxgen.compile import Argument, Job, Outcome, compile_all
from tlxgen.loading import HOST
from tlxgen.plan import Launch
from tlxgen.render.module import shared_host

from .space import Candidate, Shape, Space


@dataclass(frozen=True)
class Compiled:
    """A candidate that would be measured: the shapes that rank it so high, and what its main kernel takes."""

    candidate: Candidate
    shapes: tuple[Shape, ...]
    outcome: Outcome


def compile_best(
    space: Space, shapes: Sequence[Shape], sms: int, top: int, workers: int | None, timeout_s: float
) -> list[Compiled]:
    """The `top` candidates of each shape, compiled, in the order in which they were first ranked."""
    wanted: dict[str, tuple[Candidate, list[Shape]]] = {}
    for shape in shapes:
        for candidate in space.ranked([shape], sms)[:top]:
            wanted.setdefault(candidate.key, (candidate, []))[1].append(shape)
    outcomes = compile_candidates(space, [c for c, _ in wanted.values()], workers, timeout_s)
    return [
        Compiled(candidate, tuple(ranked), outcome)
        for (candidate, ranked), outcome in zip(wanted.values(), outcomes, strict=True)
    ]


def compile_candidates(
    space: Space, candidates: Sequence[Candidate], workers: int | None, timeout_s: float
) -> list[Outcome]:
    """The main kernel of each candidate, offline; what was compiled before comes from the cache."""
    with TemporaryDirectory(prefix="tlxgen-dry-") as folder:
        Path(folder, HOST).write_text(shared_host(), encoding="utf-8")
        for name, text in space.sources.items():
            Path(folder, f"{name}.py").write_text(text, encoding="utf-8")
        jobs = [_job(Path(folder, f"{c.source}.py"), c) for c in candidates]
        return compile_all(jobs, workers=workers, timeout_s=timeout_s, cache=stamp.cache_folder() / "compiled")


def _job(module: Path, candidate: Candidate) -> Job:
    plan = candidate.plan
    launch: Launch = plan.launches[0]
    return Job(
        id=candidate.key,
        module=str(module),
        kernel=launch.kernel,
        arch=plan.arch.name,  # type: ignore[arg-type]
        arguments=tuple(_arguments(launch)),
        constants=dict(launch.constants),
        divisible=launch.divisible,
        num_warps=launch.num_warps,
        cluster=launch.cluster,
        maxnreg=launch.maxnreg,
    )


def _arguments(launch: Launch) -> Iterator[Argument]:
    yield from (Argument(a.name, a.type) for a in launch.arguments)
    yield from (Argument(name, "constexpr") for name, _ in launch.constants)
