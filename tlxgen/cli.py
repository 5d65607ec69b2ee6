"""The command line: one thin command a verb. torch and triton are imported only by the verbs that need them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal, Optional

import typer

from tlxgen import __version__
from tlxgen.errors import SpecError, SpecErrors, TlxgenError

app = typer.Typer(
    name="tlxgen",
    help="Generates Triton/TLX kernels from YAML specs, and proves them before they meet a GPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Specs = Annotated[list[Path], typer.Argument(metavar="SPEC...", help="Spec files, or folders of them.")]
Out = Annotated[Optional[Path], typer.Option("--out", help="Folder for generated/NAME. Default: beside specs/.")]


@app.command()
def build(
    specs: Specs,
    out: Out = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; show the difference; exit 1 if stale.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run the kernels on the CPU first; write nothing if they are faulty.")
    ] = False,
) -> None:
    """Write the modules and the lock of each spec."""
    from tlxgen.build import refuse_shared
    from tlxgen.verbs import build as verb

    files = _files(specs)
    refuse_shared(files, out)
    if check and verify:
        raise typer.BadParameter("--check writes nothing, so there is nothing to --verify; use tlxgen verify")
    if verify:
        _require_simulator()
        raise typer.Exit(verb.run_verified(files, out))
    raise typer.Exit(verb.run(files, out, check))


@app.command(name="list")
def list_variants(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    rejected: Annotated[bool, typer.Option("--rejected", help="Only the rejected variants.")] = False,
) -> None:
    """List a spec's variants: kept, and rejected with their reasons."""
    from tlxgen.review import show

    show.print_variants(spec, only_rejected=rejected)


@app.command(name="show")
def show_plan(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    structure: Annotated[Optional[str], typer.Option("--structure", help="One structure, by name.")] = None,
) -> None:
    """Print roles, rings, barriers and budgets of a spec's plan."""
    from tlxgen.review import show

    show.print_plans(spec, structure)


@app.command(name="compile")
def compile_specs(
    specs: Specs,
    strict: Annotated[bool, typer.Option("--strict", help="A spill fails the command.")] = False,
    workers: Annotated[Optional[int], typer.Option(min=1, help="Compilers at a time. Default: the CPUs.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds a kernel may take.")] = 120,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Compile even what has been compiled before.")] = False,
) -> None:
    """Compile each spec's kernels offline, hold what comes out against the plan, and record it in the lock."""
    from tlxgen.verbs import compile as verb

    raise typer.Exit(verb.run(_files(specs), strict, workers, timeout, no_cache))


@app.command()
def check(
    specs: Specs,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each case; all must give the same bits.")] = 20,
    workers: Annotated[int, typer.Option(min=1, help="Structures at a time; each compiles and runs on its own.")] = 4,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds a structure may take.")] = 300,
    seed: Annotated[int, typer.Option(help="Seed of the inputs.")] = 0,
    results: Annotated[Optional[Path], typer.Option("--json", help="Also write every case here.")] = None,
) -> None:
    """Check the numbers of each spec on a GPU."""
    from tlxgen.verbs import check as verb

    raise typer.Exit(verb.run(_files(specs), repeats, workers, timeout, seed, results))


@app.command()
def verify(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET...", help="SPEC.yaml, a folder of specs, FILE.py[:function] or FILE.verify.yaml"
        ),
    ],
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of each schedule that has chance in it.")] = 2,
    schedule: Annotated[
        Optional[Literal["random", "starved", "lazy", "eager"]],
        typer.Option("--schedule", help="Only this schedule. Default: all."),
    ] = None,
    config: Annotated[
        Optional[int],
        typer.Option(min=0, help="Only this config of a spec's tables; of an autotuned kernel, counted after pruning."),
    ] = None,
    arch: Annotated[
        Literal["sm90", "sm100"],
        typer.Option("--arch", help="What a FILE.py:function runs on; others say it."),
    ] = "sm90",
    results: Annotated[Optional[Path], typer.Option("--json", help="Also write every finding here.")] = None,
    workers: Annotated[Optional[int], typer.Option(min=1, help="Targets at a time. Default: the CPUs.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds a target may take.")] = 300,
    memory: Annotated[float, typer.Option(min=0.1, help="GiB a target may take beyond torch and triton.")] = 4,
) -> None:
    """Run kernels on the CPU: deadlocks, races, numbers. Exit 1 for findings, 2 for what cannot be run."""
    _require_simulator()
    from tlxgen.verbs import verify as verb
    from tlxgen.verify import Limits, is_hand_written

    options = verb.Options(seeds, schedule, config, arch, workers, Limits(timeout, memory))
    each = [[t] if is_hand_written(t) else map(str, _files([Path(t)])) for t in targets]
    raise typer.Exit(verb.run([t for some in each for t in some], options, results))


def _require_simulator() -> None:
    """Raises ToolchainError without torch or a Triton that knows TLX."""
    from tlxgen.compile import check_torch, check_triton

    check_torch()
    check_triton()


@app.command()
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="Spec, generated module or folder, REV:path, or REV alone.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The same kind of thing; REV alone as A means B at REV.")],
    form: Annotated[Literal["table", "markdown"], typer.Option("--format", help="How to print.")] = "table",
    no_source: Annotated[bool, typer.Option("--no-source", help="Leave out the difference of the source.")] = False,
) -> None:
    """Say what differs between two specs or generated modules: tasks, rings, barriers, bytes, registers, source."""
    from tlxgen.review import diff as verb

    verb.run(a, b, markdown=form == "markdown", with_source=not no_source)


@app.command()
def schema() -> None:
    """Print the JSON Schema of specs, for editors."""
    import json

    from tlxgen import families
    from tlxgen.spec import json_schema

    print(json.dumps(json_schema({name: families.load(name).model for name in families.names()}), indent=2))


def _files(specs: list[Path]) -> list[Path]:
    """The files among `specs`, and those in its folders, in a fixed order. Raises SpecError for a folder without."""
    files: list[Path] = []
    for path in specs:
        inside = path.glob("*.yaml") if path.is_dir() else [path]
        found = sorted(p for p in inside if p == path or not p.name.endswith(".verify.yaml"))
        if not found:
            raise SpecError(f"no spec in the folder {path}: it has no *.yaml")
        files += found
    return files


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        print(f"tlxgen {__version__}")
        raise typer.Exit


def main() -> None:
    """The console script. A user's error is printed without a traceback; exit status 2."""
    try:
        app()
    except TlxgenError as error:
        placed = error.location or isinstance(error, SpecErrors)  # such text begins with file:line:column
        print(error if placed else f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(1)
