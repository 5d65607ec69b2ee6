"""The command line: one thin command a verb. torch and triton are imported only by the verbs that need them."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import typer

from tlxgen import __version__
from tlxgen.errors import RenamedWarning, SpecError, SpecErrors, TlxgenError

app = typer.Typer(
    name="tlxgen",
    help="Generates Triton/TLX kernels from YAML specs, and proves them before they meet a GPU.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Specs = Annotated[list[Path], typer.Argument(metavar="SPEC...", help="Spec files, or folders of them.")]
Shapes = Annotated[
    Optional[list[str]], typer.Option("--shapes", help="A problem, such as 4096x4096x4096 (repeatable, or by commas).")
]
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
    peers: Annotated[
        bool, typer.Option("--peers", help="Also: no error is twice that of torch's own kernel on the same inputs.")
    ] = False,
    results: Annotated[Optional[Path], typer.Option("--json", help="Also write every case here.")] = None,
) -> None:
    """Check the numbers of each spec on a GPU."""
    from tlxgen.verbs import check as verb

    raise typer.Exit(verb.run(_files(specs), repeats, workers, timeout, seed, peers, results))


@app.command()
def verify(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET...", help="SPEC.yaml, FILE.py[:function], FILE.verify.yaml, or a folder of specs and cases"
        ),
    ],
    seeds: Annotated[
        Optional[int], typer.Option(min=1, help="Seeds of each schedule that has chance in it. Default: 2.")
    ] = None,
    schedule: Annotated[
        Optional[Literal["random", "starved", "lazy", "eager"]],
        typer.Option("--schedule", help="Only this schedule. Default: all."),
    ] = None,
    config: Annotated[
        Optional[int],
        typer.Option(min=0, help="Only this config of a spec's tables; of an autotuned kernel, counted after pruning."),
    ] = None,
    arch: Annotated[
        Optional[Literal["sm90", "sm100"]],
        typer.Option("--arch", help="What a FILE.py:function runs on (default sm90); others say it."),
    ] = None,
    results: Annotated[Optional[Path], typer.Option("--json", help="Also write every finding here.")] = None,
    workers: Annotated[Optional[int], typer.Option(min=1, help="Targets at a time. Default: the CPUs.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds a target may take.")] = 300,
    memory: Annotated[float, typer.Option(min=0.1, help="GiB a target may take beyond torch and triton.")] = 4,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Every order that can make a difference, instead of schedules.")
    ] = False,
    replay: Annotated[Optional[str], typer.Option(help="Only this run: TARGET=LIST, as findings print it.")] = None,
    trace: Annotated[
        Optional[Path], typer.Option(help="Write a trace for Perfetto: of the run to the first finding, or of any.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Tell every finding, not only the likely cause.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail the command, too.")] = False,
    prints: Annotated[bool, typer.Option("-s", "--show-prints", help="Show what the targets print.")] = False,
    skeleton: Annotated[
        bool, typer.Option("--skeleton", help="Run nothing: write a file of cases to start from beside each FILE.py.")
    ] = False,
) -> None:
    """Run kernels on the CPU: deadlocks, races, numbers. Exit 1 for findings, 2 for what cannot be run."""
    _require_simulator()
    from tlxgen.verbs import verify as verb
    from tlxgen.verbs.idle import refuse_idle
    from tlxgen.verbs.skeleton import write_skeletons
    from tlxgen.verify import Limits, cases_in, is_hand_written

    if skeleton:
        raise typer.Exit(write_skeletons(targets, Limits(timeout, memory)))
    refuse_idle(targets, seeds=seeds, schedule=schedule, arch=arch, exhaustive=exhaustive, replay=replay)
    options = verb.Options(
        seeds or 2,
        schedule,
        config,
        arch or "sm90",
        workers,
        Limits(timeout, memory),
        exhaustive=exhaustive,
        replay=replay,
        trace=trace,
        every=every,
        strict=strict,
        prints=prints,
    )
    each = [[t] if is_hand_written(t) else cases_in(t) + _specs_of(t) for t in targets]
    raise typer.Exit(verb.run([t for some in each for t in some], options, results))


def _specs_of(target: str) -> list[str]:
    """The specs of a folder that may have cases besides, or a spec."""
    folder = Path(target)
    if folder.is_dir() and any(folder.glob("*.verify.yaml")):
        return [str(p) for p in sorted(folder.glob("*.yaml")) if not p.name.endswith(".verify.yaml")]
    return [str(p) for p in _files([folder])]


def _require_simulator() -> None:
    """Raises ToolchainError without torch or a Triton that knows TLX."""
    from tlxgen.compile import check_torch, check_triton

    check_torch()
    check_triton()


@app.command()
def bench(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    shapes: Shapes = None,
    baseline: Annotated[
        Optional[list[str]],
        typer.Option(
            "--baseline",
            help="Only this baseline (repeatable); 'none' for none at all. Default: those that are quick to set up.",
        ),
    ] = None,
    every_config: Annotated[
        bool, typer.Option("--every-config", help="Time each config, not only the one that is picked for a shape.")
    ] = False,
    turns: Annotated[int, typer.Option(min=3, help="Replays of each candidate.")] = 30,
    workers: Annotated[Optional[int], typer.Option(min=1, help="Compilers at a time. Default: the CPUs.")] = None,
    json: Annotated[Optional[Path], typer.Option("--json", help="Write the record here as JSON.")] = None,
    csv: Annotated[Optional[Path], typer.Option("--csv", help="Write the rows here as CSV.")] = None,
    markdown: Annotated[Optional[Path], typer.Option("--markdown", help="Write a markdown table here.")] = None,
    plot: Annotated[Optional[Path], typer.Option("--plot", help="Write a plot here (needs matplotlib).")] = None,
    tritonbench: Annotated[
        Optional[Path], typer.Option("--tritonbench", help="Write an operator file for TritonBench here.")
    ] = None,
) -> None:
    """Time a spec's kernels against baselines on a GPU: interleaved, cold L2, kernel time and host time."""
    from tlxgen.compile import check_torch

    check_torch()
    from tlxgen.verbs import bench as verb

    outputs = verb.Outputs(json=json, csv=csv, markdown=markdown, plot=plot, tritonbench=tritonbench)
    wanted = None if baseline is None else [name for name in baseline if name != "none"]
    raise typer.Exit(verb.run(spec, _shapes(shapes), wanted, every_config, turns, outputs, workers))


@app.command()
def tune(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    shapes: Shapes = None,
    budget: Annotated[
        Optional[str], typer.Option("--budget", help="Wall time at most, such as 60s or 10m. Default: what it takes.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of inputs, orders and the candidates drawn at random.")] = 0,
    workers: Annotated[Optional[int], typer.Option(min=1, help="Compilers at a time. Default: the CPUs.")] = None,
    candidates: Annotated[
        Optional[int], typer.Option(min=1, help="Candidates by estimate a shape class; a third more at random.")
    ] = None,
    exhaustive: Annotated[bool, typer.Option("--exhaustive", help="Measure every candidate.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="No GPU: rank, compile the best offline, print their resources.")
    ] = False,
    dask: Annotated[Optional[str], typer.Option("--dask", help="Address of a Dask scheduler to work on.")] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds that a step of a measurement may take.")] = 30,
    out: Annotated[
        Optional[Path], typer.Option("--out", help="File to write. Default: tuned/DEVICE/SPEC.yaml.")
    ] = None,
) -> None:
    """Find the fastest variant for each shape on a GPU, and write what won into a file that build reads."""
    from tlxgen.verbs import tune as verb

    options = verb.Options(
        shapes=tuple(_shapes(shapes)),
        budget_s=None if budget is None else _seconds(budget),
        seed=seed,
        workers=workers,
        candidates=candidates,
        exhaustive=exhaustive,
        dask=dask,
        out=out,
        timeout_s=timeout,
    )
    raise typer.Exit(verb.dry_run(spec, options) if dry_run else verb.run(spec, options))


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


def _shapes(texts: list[str] | None) -> list[tuple[int, ...]]:
    """Shapes as the command line has them, "4096x4096x4096,1024x8192x8192". Raises TlxgenError for another form."""
    shapes = []
    for text in (part for given in texts or () for part in given.replace(",", " ").split()):
        extents = text.lower().split("x")
        if not all(extent.isdecimal() and int(extent) for extent in extents):
            raise TlxgenError(f"{text!r} is not a shape", remedy="write extents with x between them: 4096x4096x4096")
        shapes.append(tuple(map(int, extents)))
    return shapes


def _seconds(text: str) -> float:
    """A time as the command line has it: 60, 60s, 10m, 1h. Raises TlxgenError for another form."""
    number, unit = (text[:-1], text[-1]) if text[-1:].isalpha() else (text, "s")
    scale = {"s": 1, "m": 60, "h": 3600}.get(unit)
    try:
        seconds = float(number) * (scale or 0)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise TlxgenError(f"{text!r} is not a time", remedy="write 60s, 10m or 1h")
    return seconds


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


def _show_note(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
    """Warnings of ours as notes; all others as Python shows them."""
    if issubclass(category, RenamedWarning):
        print(f"note: {message}", file=sys.stderr)
    else:
        _show_warning(message, category, *place, **options)


_show_warning = warnings.showwarning


def main() -> None:
    """The console script. A user's error is printed without a traceback; exit status 2."""
    warnings.showwarning = _show_note
    try:
        app()
    except TlxgenError as error:
        placed = error.location or isinstance(error, SpecErrors)  # such text begins with file:line:column
        print(error if placed else f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(1)
