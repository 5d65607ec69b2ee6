"""`tlxgen profile`: prints where each task of a kernel waits, for which task and how long, and writes a timeline for
Perfetto.

It runs instrumented twins, which `tlxgen build --instrument` also writes.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tlxgen.errors import ProfileError
from tlxgen.families import Family, Kernels, Structure, kernels_of
from tlxgen.files import require_outputs, write_atomic
from tlxgen.profile.folder import files_of, refuse, twins, write
from tlxgen.profile.perfetto import to_json as timeline
from tlxgen.profile.records import Recorded
from tlxgen.profile.sites import CLASSES
from tlxgen.profile.times import TaskTime, times_of
from tlxgen.project import from_here
from tlxgen.record import head
from tlxgen.review.tables import Table, show
from tlxgen.words import counted, printable
from tlxgen.working import Working, config_rows, of_module, of_spec

if TYPE_CHECKING:
    from tlxgen.profile.launches import Cost

Shape = tuple[int, ...]
SHARE = 0.0005  # share of a task's time below which an operation is not in the table


@dataclass(frozen=True)
class Options:
    """The options of `profile`.

    `simulate` None means: if there is no GPU. `records` is the number of words for the stamps of each task of each CTA,
    and `ctas` the number of CTAs in the timeline. `waits`: stamps are at waits alone.
    """

    shapes: Sequence[str] = ()  # as given on the command line; the first is run
    structure: str | None = None
    config: int | None = None
    simulate: bool | None = None
    records: int | None = None
    waits: bool = False
    ctas: int = 4
    seed: int = 0
    turns: int = 30
    trace: Path | None = None
    json: Path | None = None


@dataclass(frozen=True)
class Profiled:
    """The profile of a structure on a shape: what its tasks did, and the cost of the stamps."""

    structure: str
    shape: Shape
    config: int | None
    recorded: Recorded
    times: Sequence[TaskTime]
    cost: Cost | None

    def to_json(self) -> dict[str, Any]:
        cost = self.cost and {"plain_us": self.cost.plain.us, "twin_us": self.cost.twin.us, "more": self.cost.more}
        return {
            "structure": self.structure,
            "shape": list(self.shape),
            "config": self.config,
            "kernel": self.recorded.kernel,
            "unit": self.recorded.unit,
            "ctas": self.recorded.ctas,
            "cluster": self.recorded.cluster,
            "full": self.recorded.full,
            "tasks": [t.to_json() for t in self.times],
            "cost": cost,
        }


def instrument(specs: Sequence[Path], out: Path) -> int:
    """Writes the instrumented twins of specs into folders of `out`. Returns 0, or raises the first error."""
    for spec in specs:
        with of_spec(spec) as work:
            refuse(out / work.folder.name, work.generated)
            made = twins(work, kernels_of(spec).some().structures)
            write(files_of(work, made), out / work.folder.name)
            stamps = sum(len(twin.sites) for twin in made.values())
            where = from_here((out / work.folder.name).resolve())
            print(printable(f"{spec}: {counted(len(made), 'instrumented module')}, {stamps} stamps, in {where}"))
    return 0


def run(target: Path, options: Options) -> int:
    """Profiles a spec's structure, or a generated module as it is. Returns 1 if the simulator finds an error."""
    require_outputs({"--trace": options.trace, "--json": options.json})
    simulated = _simulated(options)
    with ExitStack() as stack:
        lying = of_module(target) if target.suffix == ".py" else None
        if target.suffix == ".py" and lying is None:
            raise ProfileError(f"{target} is not a generated module; profile takes a spec or one of its modules")
        work = lying or stack.enter_context(of_spec(target))
        kernels = kernels_of(work.spec).some()
        structure = _structure(work, kernels, options.structure)
        shape = next(iter(kernels.family.read_shapes(list(options.shapes))), None) if options.shapes else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tlxgen-profile-"))).resolve() / "twins"
        write(files_of(work, twins(work, [structure], waits=options.waits)), folder)
        runner = _simulate if simulated else _measure
        found = runner(work, kernels.family, structure, folder, shape, options)
        if found is None:
            return 1
        _tell(found)
        if options.trace:
            _write(options.trace, timeline(found.recorded, options.ctas))
        if options.json:
            _write(options.json, {**head("profile"), **found.to_json()})
    return 0


def _simulated(options: Options) -> bool:
    import torch

    if options.simulate is None and not torch.cuda.is_available():
        print("no GPU here: in the simulator, whose time is its own; a step says nothing of clocks")
        return True
    return bool(options.simulate)


def _structure(work: Working, kernels: Kernels, name: str | None) -> Structure:
    """The requested structure, or the first. Raises ProfileError."""
    names = [s.name for s in kernels.structures]
    if work.structure:
        if name not in (None, work.structure):
            raise ProfileError(f"{work.module} is the module of {work.structure}, not of {name}")
        return kernels.structure(work.structure)
    if name is not None and name not in names:
        raise ProfileError(f"no structure {name!r} in {work.spec}", remedy=f"it has {', '.join(names)}")
    return kernels.structure(name or names[0])


def _row(path: Path, config: int | None) -> dict[str, Any]:
    """The constants of the requested row of CONFIGS, or of the first. Raises ProfileError."""
    rows = config_rows(path)
    if config is not None and config >= len(rows):
        raise ProfileError(f"--config {config}: {path.name} has {counted(len(rows), 'config')}, counted from 0")
    return rows[config or 0]


def _simulate(
    work: Working, family: Family, structure: Structure, folder: Path, shape: Shape | None, options: Options
) -> Profiled | None:
    from tlxgen.profile.launches import simulate
    from tlxgen.sim import SMS

    path = work.path(structure.name)
    row, problem = _row(path, options.config), family.problem()
    variant = structure.variant_of(row)[0]
    shape = shape or tuple(max(problem.simulated_shapes(variant.spec, row, SMS), key=math.prod))
    arch, config = structure.plan.arch.name, options.config or 0
    given = {"seed": options.seed, "records": options.records}
    recorded, findings = simulate(folder / path.name, problem, variant.spec, shape, config, arch, **given)  # type: ignore[arg-type]
    for line in findings:
        print(printable(line), file=sys.stderr)
    if recorded is None:
        print(f"the run did not come to its end: tlxgen verify {work.spec} says why", file=sys.stderr)
        return None
    return Profiled(structure.name, shape, config, recorded, times_of(recorded), None)


def _measure(
    work: Working, family: Family, structure: Structure, folder: Path, shape: Shape | None, options: Options
) -> Profiled:
    import torch

    from tlxgen.check import require_device
    from tlxgen.profile.launches import on_gpu

    arch = structure.plan.arch
    require_device(arch.name, arch.capability, "profile")
    path = work.path(structure.name)
    row = _row(path, options.config)
    variant = structure.variant_of(row)[0]
    shape = shape or tuple((family.shapes or family.problem().shapes(variant.spec))[0])
    torch.manual_seed(options.seed)
    tensors = family.problem().inputs(variant.spec, shape, torch.device("cuda", torch.cuda.current_device()))
    files, how = (path, folder / path.name), family.benchmark()
    given = {"records": options.records, "turns": options.turns}
    recorded, cost = on_gpu(files, how, tensors, variant.spec, shape, options.config, **given)  # type: ignore[arg-type]
    return Profiled(structure.name, shape, options.config, recorded, times_of(recorded), cost)


def _tell(found: Profiled) -> None:
    unit = f"{found.recorded.unit}s"
    shape = "x".join(map(str, found.shape))
    tasks = Table(f"{found.structure}, {shape}: {unit} of a CTA", ("task", "CTAs", unit, *CLASSES, "accounted"))
    where = Table("Where the time of a task goes", ("task", "what", "waits for", "times", unit, "of its time"))
    for task in found.times:
        shares = [f"{100 * task.share(kind):.1f} %" for kind in CLASSES]
        tasks.add(task.task, task.ctas, f"{task.clocks:.0f}", *shares, f"{100 * task.told:.1f} %")
        for o in task.operations:
            if o.share >= SHARE:
                cells = (o.what, o.whom, f"{o.times:.0f}", f"{o.clocks:.0f}", f"{100 * o.share:.1f} %")
                where.add(task.task, *cells)
    show([tasks, where])
    if found.recorded.full:
        full, of, room = found.recorded.full, len(found.recorded.records), found.recorded.room
        print(f"{full} of {of} tasks had room for {room} words only; later stamps are missing (--records)")
    if found.cost:
        plain, twin = found.cost.plain.us, found.cost.twin.us
        print(f"plain {plain:.1f} us, with stamps {twin:.1f} us: {100 * found.cost.more:+.1f} %")


def _write(path: Path, data: object) -> None:
    try:
        write_atomic(path, (json.dumps(data) + "\n").encode())
    except OSError as error:
        raise ProfileError(f"{path} cannot be written: {error.strerror}") from None
