"""`tlxgen build`: shows a progress bar, then prints one line for each spec."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tlxgen import ahead
from tlxgen.build import Built, Prepared, Step, build, collect_seldom, prepare
from tlxgen.errors import SpecErrors, TlxgenError
from tlxgen.orphans import Orphan, orphans
from tlxgen.project import from_here
from tlxgen.record import head
from tlxgen.words import counted, printable

if TYPE_CHECKING:
    from tlxgen.proof import State

T = TypeVar("T")
NAMED = 6  # limit of the modules that are named; of more only the number is printed, and --json names them


@dataclass(frozen=True)
class Options:
    """The options of `build`. `roots` are the projects whose folders without a spec are named and, with `prune`,
    removed. With `proven`, a check fails for modules that no record proves."""

    out: Path | None = None
    check: bool = False
    proven: bool = False
    force: bool = False
    prune: bool = False
    as_json: bool = False
    roots: Sequence[Path] = ()


def run(specs: list[Path], options: Options) -> int:
    """Builds each spec. Returns 0, or 1 if `check` found a module that is stale or, with `proven`, not proven.

    Raises the errors of all specs at once.
    """
    out, check, force = options.out, options.check, options.force

    def one(spec: Path, step: Step | None) -> Built:
        built = elsewhere.result(spec) or build(spec, out=out, check=check, force=force, on_step=step)
        if not options.as_json:
            tell(built, check)
            for line in _proof_lines(built, states_of(built)):
                print(line)
        return built

    collect_seldom()
    with ExitStack() as stack:
        elsewhere = ahead.start(stack, specs, out, check=check, force=force)
        done = _each(specs, one)
    gone = orphans(options.roots)
    left = _pruned(gone, force) if options.prune else {}
    if options.as_json:
        print(json.dumps(_to_json(done, gone, options), indent=1))
    else:
        for built in done:
            if check and built.diff:
                print(built.diff)
        for orphan in gone:
            print(_orphan_line(orphan, left.get(orphan)))
    unproven = options.proven and any(not s.is_proven for built in done for s in states_of(built).values())
    return int(check and (bool(gone) or unproven or any(not b.up_to_date for b in done)))


def states_of(built: Built) -> dict[str, State]:
    """Structure -> state of its record, for the modules of a check, at the default settings of `verify`."""
    if not built.entries:
        return {}
    from tlxgen.proof import read, simulator_of, state_of
    from tlxgen.verbs.verify import Options as Defaults

    simulator, want = simulator_of(*built.judged_by), Defaults().want
    return {name: state_of(read(e), e["subject"], simulator, want) for name, e in built.entries.items()}


def _proof_lines(built: Built, states: Mapping[str, State]) -> Iterator[str]:
    """A line for each state but the best, with its modules."""
    if not states:
        return
    from tlxgen.proof import State

    verify = " (tlxgen verify --changed {})"
    for state, remedy in ((State.FAULTY, verify), (State.UNPROVEN, verify), (State.ELSEWHERE, "")):
        if names := [name for name, one in states.items() if one is state]:
            some = ", ".join(names) if len(names) <= NAMED else f"{len(names)} of {counted(len(states), 'module')}"
            yield printable(f"  {state.value}: {some}{remedy.format(built.spec)}")


def _pruned(gone: Sequence[Orphan], force: bool) -> dict[Orphan, tuple[str, ...]]:
    """Removes folders, and returns what is left in each. It removes all that it can, then raises all errors at once."""
    left: dict[Orphan, tuple[str, ...]] = {}
    faults: list[TlxgenError] = []
    for orphan in gone:
        try:
            left[orphan] = orphan.remove(force=force)
        except TlxgenError as error:
            faults.append(error)
    if faults:
        raise faults[0] if len(faults) == 1 else SpecErrors(faults)
    return left


def _orphan_line(orphan: Orphan, left: tuple[str, ...] | None) -> str:
    folder, why = from_here(orphan.folder), f"its spec {from_here(orphan.spec)} is gone"
    if left is None:
        return f"{folder}: {why} (tlxgen build --prune removes the folder)"
    return f"{folder}: removed, {why}" + (f"; left as no build made it: {', '.join(left)}" if left else "")


def _to_json(done: Sequence[Built], gone: Sequence[Orphan], options: Options) -> dict[str, Any]:
    """What `--json` prints."""
    specs = [
        {
            "spec": str(built.spec),
            "folder": str(built.folder),
            "state": "up to date" if built.up_to_date else "stale" if options.check else "written",
            "modules": list(built.modules),
            "variants": built.variants,
            "rejected": built.rejected,
            "changed": list(built.changed),
            "notes": list(built.notes),
            "diff": built.diff,
            "proofs": {name: state.value for name, state in states_of(built).items()},
        }
        for built in done
    ]
    state = "removed" if options.prune else "found"
    orphaned = [{"folder": str(o.folder), "spec": str(o.spec), "state": state} for o in gone]
    return {**head("build"), "specs": specs, "orphans": orphaned}


def run_verified(specs: list[Path], out: Path | None, force: bool = False) -> int:
    """Builds the specs if the simulator has no findings on the modules that would be written; else writes nothing.

    Returns 0, 1 for findings that are errors, or 2 if a run did not complete. Raises the errors of all specs at once.
    """
    from tlxgen.verbs import verify

    def one(spec: Path, step: Step | None) -> Prepared:
        made = prepare(spec, out=out, force=force, on_step=step)
        if not force:
            made.refuse_edited()
        return made

    prepared = _each(specs, one)

    def write() -> None:
        for made in prepared:
            tell(made.write(force=force), check=False)

    with tempfile.TemporaryDirectory(prefix="tlxgen-verify-") as folder:
        status = verify.write_if_clean(prepared, Path(folder), verify.Options(), write)
    if status:
        print("nothing is written")
    return status


def _each(specs: list[Path], make: Callable[[Path, Step | None], T]) -> list[T]:
    """`make(spec, step)` for each spec, with a bar. Raises the errors of all of them at once."""
    done: list[T] = []
    faults: list[TlxgenError] = []
    with ExitStack() as stack:
        step = _bar(stack)
        for spec in specs:
            try:
                done.append(make(spec, step(spec)))
            except TlxgenError as error:
                faults.append(error)
    if faults:
        raise faults[0] if len(faults) == 1 else SpecErrors(faults)
    return done


def _bar(stack: ExitStack) -> Callable[[Path], Step | None]:
    """A function from a spec to its progress bar. It draws, and imports rich, only on a terminal."""
    if not sys.stderr.isatty():
        return lambda spec: None
    from rich.console import Console
    from rich.progress import Progress

    progress = stack.enter_context(Progress(console=Console(stderr=True), transient=True))

    def bar(spec: Path) -> Step:
        task = progress.add_task(spec.stem, total=None)
        return lambda done, total: progress.update(task, completed=done, total=total)

    return bar


def tell(built: Built, check: bool) -> None:
    """Prints a line about the result of a build, and its notes."""
    print(_line(built, check))
    for note in built.notes:
        print(f"  {note}")
    for note in built.functions:
        print(printable(f"{built.spec}: note: {note}"), file=sys.stderr)


def _line(built: Built, check: bool) -> str:
    written = built.changes.at(str(_from_here(built.folder)))
    state = "up to date" if built.up_to_date else ("stale" if check else written)
    modules, variants = counted(len(built.modules), "module"), counted(built.variants, "variant")
    return printable(f"{built.spec}: {state} ({modules}, {variants}, {built.rejected} rejected)")


def _from_here(folder: Path) -> Path:
    """The path of a folder, relative to the current one if possible."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder
