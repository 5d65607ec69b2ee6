"""`tlxgen tune --dry-run`: compiles offline, without a GPU, the candidates that a run would measure first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tlxgen import stamp
from tlxgen.compile import Argument, Job, Outcome, compile_all
from tlxgen.plan import Launch
from tlxgen.render.module import shared_files

from .space import Candidate, Shape, Space


@dataclass(frozen=True)
class Estimated:
    """A candidate that would be measured, and its family's estimate in clocks, which may be the same for all."""

    candidate: Candidate
    clocks: float


def best(space: Space, shape: Shape, sms: int, top: int) -> list[Estimated]:
    """The `top` candidates of a shape, in the order in which a run would measure them."""
    return [Estimated(c, space.family.cost(c.plan, shape, sms)) for c in space.ranked([shape], sms)[:top]]


def compile_candidates(
    space: Space,
    candidates: Sequence[Candidate],
    workers: int | None,
    timeout_s: float,
    on_done: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Compiles the main kernel of each candidate offline, or takes it from the cache."""
    with TemporaryDirectory(prefix="tlxgen-dry-") as folder:
        for name, text in shared_files(space.family).items():
            Path(folder, name).write_text(text, encoding="utf-8")
        for name, text in space.sources.items():
            Path(folder, f"{name}.py").write_text(text, encoding="utf-8")
        jobs = [_job(Path(folder, f"{c.source}.py"), c) for c in candidates]
        cache = stamp.cache_folder() / "compiled"
        return compile_all(jobs, workers=workers, timeout_s=timeout_s, cache=cache, on_done=on_done)


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
