"""`tlxgen bench`: prints a table while shapes are timed, and writes the record in the requested forms."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlxgen.bench import draw, summary
from tlxgen.bench.comparison import Row, time_problem
from tlxgen.bench.device import describe
from tlxgen.bench.operator import MARK, source
from tlxgen.bench.report import COLUMNS, Record, cells, require_plot
from tlxgen.bench.spec import Bench, Shape
from tlxgen.bounded import cpus
from tlxgen.check import require_device
from tlxgen.compile import check_torch, check_triton
from tlxgen.errors import TlxgenError
from tlxgen.files import require_outputs, write_atomic
from tlxgen.review.tables import Table, show
from tlxgen.tune.ahead import Target, compile_ahead
from tlxgen.working import Working, of_spec


@dataclass(frozen=True)
class Outputs:
    """The files to write; None for those that are not requested."""

    json: Path | None = None
    csv: Path | None = None
    markdown: Path | None = None
    plot: Path | None = None
    tritonbench: Path | None = None

    def require(self) -> None:
        """Raises TlxgenError for a file that cannot be written, that is given twice, or that is a source file."""
        require_outputs({f"--{name}": path for name, path in vars(self).items()}, {"--tritonbench": MARK})
        if self.plot:
            require_plot(self.plot)


@dataclass(frozen=True)
class Drawn:
    """Random shapes of the family's distribution: their number (None: shapes are given) and the seed (None: 0)."""

    count: int | None = None
    seed: int | None = None

    def require(self) -> None:
        """Raises TlxgenError for a seed without random shapes."""
        if self.count is None and self.seed is not None:
            raise TlxgenError("--seed needs --random, whose shapes it decides")


def run(
    spec: Path,
    shapes: Sequence[tuple[int, ...]],
    baselines: Sequence[str] | None,
    every_config: bool,
    turns: int,
    outputs: Outputs,
    workers: int | None = None,
    drawn: Drawn = Drawn(),
    earlier: Path | None = None,
) -> int:
    """Times the present modules of the spec. Returns 0 unless a case failed, was wrong, or fell behind `earlier`.

    `earlier` is a record of `bench --json`. On random shapes only public functions are timed: a function that chooses
    among structures, and not each structure.
    """
    drawn.require()
    outputs.require()
    before = summary.read(earlier) if earlier else None
    check_torch()
    with of_spec(spec) as work:
        if work.generated.is_dir() and (line := work.difference("what is there is not timed")):
            print(line, file=sys.stderr, flush=True)
        bench = Bench(spec, work.folder, baselines=baselines, every_config=every_config)
        bench.picks_only = drawn.count is not None
        parts = bench.apart()
        for part in parts:
            part.baselines  # noqa: B018  # a name that is none is told before a GPU is asked for
        if drawn.count is not None:
            if shapes or every_config:
                raise TlxgenError(
                    "--random cannot be combined with --shapes or --every-config: it times picked configs"
                )
            some, seed = draw.shapes(bench, drawn.count, drawn.seed or 0), drawn.seed or 0
            wanted = [*zip(some, draw.dealt(parts, len(some), seed), strict=True)]
        else:
            wanted = [*itertools.product(tuple(shapes) or bench.shapes, parts)]
        return _run(bench, work, wanted, turns, outputs, workers or cpus(), before)


def _run(
    bench: Bench,
    work: Working,
    wanted: Sequence[tuple[Shape, Bench]],
    turns: int,
    outputs: Outputs,
    workers: int,
    before: Sequence[Row] | None,
) -> int:
    if outputs.tritonbench:
        if line := work.difference():
            raise TlxgenError(
                f"an operator for TritonBench loads built modules: {line.partition(': ')[0]}",
                remedy=f"tlxgen build {bench.spec}",
            )
        check_triton()
        if len(bench.apart()) > 1:
            text = f"the variants of {bench.kernels.name} compute different things; an operator computes one"
            raise TlxgenError(text, remedy="give the axis that decides what is computed one value")
        shapes = [*dict.fromkeys(shape for shape, _ in wanted)]
        named = [(case.name, case.baseline) for case in bench.cases(shapes[0])]
        text = source(bench.kernels.name, bench.spec, work.generated, shapes, named)
        write_atomic(outputs.tritonbench, text.encode())
        print(f"wrote {outputs.tritonbench}; TritonBench wants it at operators/{bench.kernels.name}/__init__.py")
        if outputs == Outputs(tritonbench=outputs.tritonbench):
            return 0
    arch = bench.kernels.structures[0].plan.arch
    require_device(arch.name, arch.capability, "bench")
    check_triton()
    record = _time(wanted, turns, workers)
    record.write(json_path=outputs.json, csv_path=outputs.csv, markdown=outputs.markdown, plot=outputs.plot)
    failed = any(row.error for row in record.rows)
    if len({shape for shape, _ in wanted}) > 1:
        show([summary.of_rows(record.rows, _called(wanted) if bench.picks_only else ())])
    if before is not None:
        table, fell = summary.against(before, record.rows)
        show([table])
        failed |= fell
    return int(failed)


def _called(wanted: Sequence[tuple[Shape, Bench]]) -> list[str]:
    """The public function of each problem. Each problem has its own shapes, and all of them are one sample."""
    parts = {id(part): (shape, part) for shape, part in wanted}.values()
    return [case.name for shape, part in parts for case in part.cases(shape) if not case.baseline]


def _time(wanted: Sequence[tuple[Shape, Bench]], turns: int, workers: int) -> Record:
    """Times each part of a bench on its shapes."""
    from tlxgen.bench.gpu import Gpu

    gpu, say = Gpu(), _teller()
    target = Target(gpu.capability, gpu.sms, workers)
    compile_ahead(wanted, target, lambda done, total: say(f"compiled {done} of {total}"))
    rows: list[Row] = []
    readings = []
    for shape, part in wanted:
        name = "x".join(map(str, shape))
        problem, cases = part.problem(shape, gpu.device), part.cases(shape)
        chain = not part.every_config  # for hundreds of configs it would double the time
        done = time_problem(problem, cases, gpu, turns=turns, chain=chain, on_step=lambda step: say(f"{name}: {step}"))  # noqa: B023
        readings.append({"shape": shape, **gpu.conditions()})
        rows += done
        table = Table(describe(readings[-1]) or gpu.name, COLUMNS)
        for row in done:
            table.add(*cells(row))
        show([table])
    head = {
        "command": " ".join(["tlxgen", *(Path(a).name if a.startswith("/") else a for a in sys.argv[1:])]),
        "device": gpu.name,
        "versions": gpu.versions(),
        "conditions": readings,
        "turns": turns,
    }
    return Record(head, tuple(rows))


def _teller() -> Callable[[str], None]:
    """A function that prints each step on stderr with the time since the start, so that a log shows the times."""
    start = time.monotonic()

    def say(step: str) -> None:
        print(f"[{time.monotonic() - start:6.1f} s] {step}", file=sys.stderr, flush=True)

    return say
