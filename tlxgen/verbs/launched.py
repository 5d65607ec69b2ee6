"""`tlxgen compile` for hand-written kernels. It compiles what their own host code launches, and there is no plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tlxgen.arch import ARCHS
from tlxgen.compile import Resources
from tlxgen.errors import SpecErrors, TlxgenError
from tlxgen.launched import Compiled, Kernel, Recording, compile_launched
from tlxgen.review.progress import bar
from tlxgen.review.tables import Table, show
from tlxgen.sass import told
from tlxgen.verify import Arch, Job, jobs_of
from tlxgen.verify.verification import error_to_json


@dataclass(frozen=True)
class Options:
    """How hand-written targets are compiled; see `compile_launched`."""

    config: int | None = None
    arch: Arch = "sm90"
    workers: int | None = None
    timeout_s: float = 120


@dataclass(frozen=True)
class Launched:
    """The compiled kernels of hand-written targets."""

    recordings: list[Recording] = field(default_factory=list)
    compiled: list[Compiled] = field(default_factory=list)

    def exit_code(self, strict: bool) -> int:
        """2 if a target could not be run, else 1 if a kernel has a finding that fails the command, else 0."""
        if any(recording.error for recording in self.recordings):
            return 2
        return int(any(hard or strict for one in self.compiled for _, hard in findings(one)))


def jobs(targets: Sequence[str], options: Options) -> list[Job]:
    """The jobs of all targets. Raises the errors of all targets at once."""
    found: list[Job] = []
    faults: list[TlxgenError] = []
    for target in dict.fromkeys(targets):
        try:
            found += jobs_of(target, options.config, options.arch)
        except TlxgenError as error:
            faults.append(error)
    if faults:
        raise faults[0] if len(faults) == 1 else SpecErrors(faults)
    return list(dict.fromkeys(found))


def execute(some: Sequence[Job], options: Options) -> Launched:
    """Compiles the kernels that the jobs launch."""
    if not some:
        return Launched()
    with bar(0, "compiling") as shown:
        done = compile_launched(
            some,
            config=options.config,
            workers=options.workers,
            timeout_s=options.timeout_s,
            on_found=shown.expect,
            on_done=shown.advance,
        )
    return Launched([r for some, _ in done for r in some], [c for _, made in done for c in made])


def findings(one: Compiled) -> Iterator[tuple[str, bool]]:
    """Yields findings, and whether each fails the command without --strict."""
    found = one.outcome.resources
    if found is None:
        yield one.outcome.error, True
        return
    if found.spill_store_bytes or found.spill_load_bytes:
        yield f"spills {found.spill_store_bytes} B, reloads {found.spill_load_bytes} B", False
    elif found.stack_bytes:
        yield f"keeps {found.stack_bytes} B on the stack", False
    limit = ARCHS[one.kernel.arch].smem_bytes
    if found.smem_bytes > limit:
        yield f"takes {found.smem_bytes} B of SMEM; a CTA has {limit}", True
    yield from told(found.releases)


def rows(launched: Launched, figures: Any) -> list[dict[str, Any]]:
    """A row of `--json` for each kernel; `figures` gives the resources as data."""
    return [
        {
            "targets": list(one.kernel.targets),
            "file": one.kernel.path,
            "line": one.kernel.line,
            "kernel": one.kernel.name,
            "arch": one.kernel.arch,
            "types": one.kernel.types,
            "constants": one.kernel.constants,
            "divisible": list(one.kernel.divisible),
            "options": one.kernel.options,
            "config": one.kernel.config,
            "resources": figures(one.outcome.resources) if one.outcome.resources else None,
            "error": one.outcome.error,
            "cached": one.outcome.cached,
            "findings": [{"text": text, "hard": hard} for text, hard in findings(one)],
        }
        for one in launched.compiled
    ]


def notes(launched: Launched) -> list[str]:
    """Notes on how the kernels were found."""
    said = [f"{recording.target}: {note}" for recording in launched.recordings for note in recording.notes]
    tuned: defaultdict[tuple[str, str, int], list[Kernel]] = defaultdict(list)
    for kernel in (one.kernel for one in launched.compiled):
        if kernel.configs:
            tuned[kernel.targets[0], kernel.name, kernel.configs].append(kernel)
    for (target, name, configs), kernels in tuned.items():
        numbers = sorted({kernel.config for kernel in kernels if kernel.config is not None})
        which = f"config {numbers[0]} alone" if len(numbers) == 1 < configs else f"each of its {configs} configs"
        said.append(f"{target}: {name} is autotuned; {which} was compiled, as counted after its pruning")
    return said


def errors(launched: Launched) -> list[dict[str, Any]]:
    """The targets that could not be run, for `--json`."""
    return [
        {"target": recording.target, **error_to_json(recording.error)}
        for recording in launched.recordings
        if recording.error
    ]


def print_table(launched: Launched, opcodes: dict[str, tuple[str, ...]], moves: Any) -> None:
    """Prints a row for each kernel, findings, notes, and the targets that could not be run."""
    columns = ("kernel", "launched by", "specialised", "registers at launch", "spill B", "SMEM B", "setmaxnreg")
    table = Table("Compiled offline, as the host code launches it", (*columns, *opcodes))
    faults = Table("Findings", ("kernel", "launched by", "specialised", "what"))
    differing = _differences([one.kernel for one in launched.compiled])
    for one, special in zip(launched.compiled, differing, strict=True):
        found, by = one.outcome.resources, ", ".join(one.kernel.targets)
        cells = _cells(found, opcodes, moves) if found else ["not compiled", *[""] * (len(opcodes) + 3)]
        table.add(one.kernel.name, by, special, *cells)
        for text, _ in findings(one):
            faults.add(one.kernel.name, by, special, text)
    show([t for t in (table, faults) if t.rows])
    for line in notes(launched):
        print(line)
    for recording in launched.recordings:
        if recording.error:
            print(f"{recording.target}: error: {recording.error}")
    done = sum(one.outcome.ok for one in launched.compiled)
    seconds = sum(one.outcome.seconds for one in launched.compiled)
    print(f"{done} of {len(launched.compiled)} kernels compiled, {seconds:.0f} s of compiling")


def _cells(found: Resources, opcodes: dict[str, tuple[str, ...]], moves: Any) -> list[object]:
    counts = [sum((found.sass or {}).get(name, 0) for name in names) for names in opcodes.values()]
    spills = found.spill_store_bytes + found.spill_load_bytes
    return [found.registers, spills, found.smem_bytes, moves(found.setmaxnreg), *counts]


def _differences(kernels: Sequence[Kernel]) -> list[str]:
    """For each kernel, what distinguishes it from others of its name: types, constants, divisibility, options."""
    facts = [_facts(kernel) for kernel in kernels]
    told = []
    for kernel, own in zip(kernels, facts, strict=True):
        alike = [f for k, f in zip(kernels, facts, strict=True) if (k.path, k.name) == (kernel.path, kernel.name)]
        told.append(
            ", ".join(f"{name} {value}" for name, value in own.items() if any(f.get(name) != value for f in alike))
        )
    return told


def _facts(kernel: Kernel) -> dict[str, str]:
    divisible = dict.fromkeys(kernel.divisible, "divisible by 16")
    types = {name: type_ for name, type_ in kernel.types.items() if type_ != "constexpr"}
    plain = {name: " ".join(filter(None, (type_, divisible.get(name)))) for name, type_ in types.items()}
    constants = {f"{name} =": str(value) for name, value in kernel.constants.items()}
    options = {name: str(value) for name, value in kernel.options.items() if value is not None}
    return {"arch": kernel.arch, **plain, **constants, **options}
