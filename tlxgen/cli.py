"""The command line: one thin command a verb. torch and triton are imported only by the verbs that need them."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import typer
from typer.core import TyperCommand, TyperGroup

from tlxgen import __version__, streams, terminal
from tlxgen.errors import SpecError, SpecErrors, SpecNote, TlxgenError
from tlxgen.words import printable


class _Verbs(TyperGroup):
    """The verbs. No argument is empty: it would be taken for the current folder, or for an option not given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        for word in args:
            if not word.strip() or re.fullmatch(r"--[a-z-]+=\s*", word):
                of = f" {word.rstrip().rstrip('=')}" if word.strip() else ""
                raise typer.BadParameter(f"an empty argument{of}; is a variable of the shell not set?")
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="tlxgen",
    cls=_Verbs,
    help="Generates Triton/TLX kernels from YAML specs, and proves them before they meet a GPU.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

LONGEST_S = 1_000_000  # of a limit of time: what waits can count so far

Specs = Annotated[list[Path], typer.Argument(metavar="SPEC...", help="Spec files, or folders of them.")]
Shapes = Annotated[
    Optional[list[str]],
    typer.Option("--shapes", help="A problem, such as 4096x4096x4096 (repeatable, or by commas); see below."),
]
Out = Annotated[Optional[Path], typer.Option("--out", help="Folder for generated/NAME. Default: beside specs/.")]


def _words(incomplete: str) -> list[str]:
    """What a shell offers for `explain`."""
    from tlxgen.verbs.explain import complete

    return complete(incomplete)


def _verbs(incomplete: str) -> list[str]:
    """What a shell offers for a verb."""
    from tlxgen.doctor import NEEDS

    return [name for name in NEEDS if name.startswith(incomplete)]


def _kernels(incomplete: str) -> list[str]:
    """What a shell offers for a kernel family."""
    from tlxgen import families

    return [name for name in families.names() if name.startswith(incomplete)]


class _OfShapes(TyperCommand):
    """A command whose help ends with what the extents of a shape are, family by family."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from tlxgen import families
        from tlxgen.families.kit.extents import meaning

        rows = []
        for name in families.names():
            with contextlib.suppress(Exception):  # a plug-in that does not load is told of where it is used
                rows += [(name, meaning(found))] if (found := families.load(name).problem_extents) else []
        with formatter.section("Shapes"):
            formatter.write_dl(rows)


@app.command()
def build(
    specs: Specs,
    out: Out = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; show the difference; exit 1 if stale.")
    ] = False,
    proven: Annotated[
        bool, typer.Option("--proven", help="With --check: exit 1 also for modules that no record of verify proves.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run the kernels on the CPU first; write nothing if they are faulty.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also overwrite what was edited by hand, and a lock that cannot be read.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Also remove folders in generated/ whose spec is gone.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write the modules and the lock of each spec."""
    from tlxgen.build import refuse_shared
    from tlxgen.project import root_of
    from tlxgen.verbs import build as verb

    if proven and not check:
        raise typer.BadParameter("--proven goes with --check, which looks at records; --verify makes them")
    if prune and check:
        raise typer.BadParameter("--check writes nothing, so there is nothing to --prune")
    if prune and out:
        raise typer.BadParameter("--prune knows the specs of generated/ beside them, not whose folders are in --out")
    if verify and (prune or as_json):
        raise typer.BadParameter("--verify prints what the simulator finds; --prune and --json go with a build alone")
    folders = [path for path in specs if os.path.isdir(path)]
    files = _files([p for p in specs if not (prune and p in folders and not any(p.glob("*.yaml")))])
    refuse_shared(files, out)
    if check and verify:
        raise typer.BadParameter("--check writes nothing, so there is nothing to --verify; use tlxgen verify")
    if verify:
        _require_simulator()
        raise typer.Exit(verb.run_verified(files, out, force))
    roots = () if out else tuple(dict.fromkeys(map(root_of, [*files, *(path / "any.yaml" for path in folders)])))
    raise typer.Exit(verb.run(files, verb.Options(out, check, proven, force, prune, as_json, roots)))


@app.command(name="list")
def list_variants(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    rule: Annotated[
        Optional[str],
        typer.Argument(help="With --rejected: only by this rule, such as smem or require, or a part of its text."),
    ] = None,
    kept: Annotated[bool, typer.Option("--kept", help="Each variant that is kept.")] = False,
    rejected: Annotated[bool, typer.Option("--rejected", help="Each variant that is rejected, and why.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: all variants, or those of the options.")] = False,
) -> None:
    """List a spec's structures with their configs, and how many variants each rule rejects."""
    from tlxgen.review import listing

    if rule is not None and rejected and not os.path.exists(spec) and os.path.exists(rule):  # --rejected RULE SPEC
        spec, rule = Path(rule), str(spec)
    if rule is not None and not rejected:
        raise typer.BadParameter(f"one spec is listed at a time, and a rule goes with --rejected; {rule!r} is too much")
    listing.print_variants(spec, listing.Wanted(kept, rejected, rule), as_json=as_json)


@app.command(name="show")
def show_plan(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    structure: Annotated[Optional[str], typer.Option("--structure", help="One structure, by name.")] = None,
    settings: Annotated[
        Optional[list[str]],
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="A variant with this value, also a rejected one, or one that the spec does not have (repeatable).",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print roles, rings, barriers and budgets of a spec's plan."""
    from tlxgen.review import show

    show.print_plans(spec, structure, settings or (), as_json=as_json)


@app.command(name="compile")
def compile_specs(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET...",
            help="Spec files, generated modules as they are, FILE.py:function, or files of cases; folders of them.",
        ),
    ],
    strict: Annotated[bool, typer.Option("--strict", help="A spill fails the command.")] = False,
    workers: Annotated[Optional[int], typer.Option(min=1, help="Compilers at a time. Default: the CPUs.")] = None,
    timeout: Annotated[float, typer.Option(min=1, max=LONGEST_S, help="Seconds a kernel may take.")] = 120,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Compile even what has been compiled before.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    config: Annotated[
        Optional[int],
        typer.Option(min=0, help="Only this config of hand-written autotuned kernels, counted after pruning."),
    ] = None,
    arch: Annotated[
        Optional[Literal["sm90", "sm100"]],
        typer.Option("--arch", help="What a FILE.py:function is compiled for (default sm90); others say it."),
    ] = None,
) -> None:
    """Compile kernels offline, hold what comes out against the plan, and record it in the lock. Writes no source."""
    from tlxgen.compile import check_torch
    from tlxgen.verbs import compile as verb
    from tlxgen.verbs.idle import refuse_idle_of_compile
    from tlxgen.verify import cases_in, is_hand_written

    each = [t for some in targets for t in ([some] if is_hand_written(some) else cases_in(some) + _specs_of(some))]
    refuse_idle_of_compile(each, config=config, arch=arch)
    if any(map(is_hand_written, each)):
        check_torch()
    raise typer.Exit(verb.run(each, strict, workers, timeout, no_cache, as_json, config, arch or "sm90"))


@app.command()
def check(
    specs: Specs,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each case; all must give the same bits.")] = 20,
    workers: Annotated[int, typer.Option(min=1, help="Structures at a time; each compiles and runs on its own.")] = 4,
    timeout: Annotated[float, typer.Option(min=1, max=LONGEST_S, help="Seconds a structure may take.")] = 300,
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
        Optional[list[str]],
        typer.Argument(
            metavar="TARGET...",
            help="SPEC.yaml, a generated module, FILE.py[:function], FILE.verify.yaml, or a folder of specs and cases",
        ),
    ] = None,
    seeds: Annotated[
        Optional[int], typer.Option(min=1, help="Seeds of each schedule that has chance in it. Default: 2.")
    ] = None,
    schedule: Annotated[
        Optional[Literal["random", "starved", "lazy", "eager", "delays"]],
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
    coverage: Annotated[
        Optional[Path], typer.Option("--coverage", help="Write a page of the source, and what of it ran.")
    ] = None,
    workers: Annotated[Optional[int], typer.Option(min=1, help="Targets at a time. Default: the CPUs.")] = None,
    timeout: Annotated[float, typer.Option(min=1, max=LONGEST_S, help="Seconds a target may take.")] = 300,
    memory: Annotated[
        float, typer.Option(min=0.1, max=1 << 20, help="GiB a target may take beyond torch and triton.")
    ] = 4,
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
    changed: Annotated[
        bool, typer.Option("--changed", help="Only modules without a record that proves them, by this simulator.")
    ] = False,
    any_simulator: Annotated[
        bool, typer.Option("--any-simulator", help="With --changed: a record by another simulator will do.")
    ] = False,
    audit: Annotated[
        Optional[int],
        typer.Option(min=0, help="Run this many records of locks again, drawn at random: they must come out the same."),
    ] = None,
    seed: Annotated[Optional[str], typer.Option(help="With --audit: any text, which decides what is drawn.")] = None,
    since: Annotated[
        Optional[str],
        typer.Option(metavar="REV", help="With --audit: also all modules whose kernels have changed since a commit."),
    ] = None,
    skeleton: Annotated[
        bool, typer.Option("--skeleton", help="Run nothing: write a file of cases to start from beside each FILE.py.")
    ] = False,
) -> None:
    """Run kernels on the CPU: deadlocks, races, numbers. Exit 1 for findings, 2 for what cannot be run."""
    _require_simulator()
    from tlxgen.verbs import verify as verb
    from tlxgen.verbs.idle import refuse_idle, refuse_idle_of_records
    from tlxgen.verbs.skeleton import write_skeletons
    from tlxgen.verify import Limits, cases_in, is_hand_written

    refuse_idle_of_records(
        changed=changed, any_simulator=any_simulator, audit=audit, seed=seed, since=since,
        seeds=seeds, schedule=schedule, config=config, arch=arch, exhaustive=exhaustive, replay=replay, trace=trace,
        skeleton=skeleton, strict=strict, show_prints=prints,
    )  # fmt: skip
    if audit is not None:
        from tlxgen.verbs import audit as auditing

        wanted = auditing.Options(audit, seed or "", since, workers, Limits(timeout, memory), every)
        raise typer.Exit(auditing.run(_files([Path(t) for t in targets or ()]), wanted, results))
    if not targets:
        raise typer.BadParameter("say what to verify; --audit alone goes without", param_hint="TARGET")
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
        changed=changed,
        any_simulator=any_simulator,
        coverage=coverage,
    )
    each = [[t] if is_hand_written(t) else cases_in(t) + _specs_of(t) for t in targets]
    raise typer.Exit(verb.run([t for some in each for t in some], options, results))


def _specs_of(target: str) -> list[str]:
    """The specs of a folder that may have cases besides, or a spec."""
    folder = Path(target)
    if os.path.isdir(folder) and any(folder.glob("*.verify.yaml")):
        return [str(p) for p in sorted(folder.glob("*.yaml")) if not p.name.endswith(".verify.yaml")]
    return [str(p) for p in _files([folder])]


def _require_simulator() -> None:
    """Raises ToolchainError without torch or a Triton that knows TLX."""
    from tlxgen.compile import check_torch, check_triton

    check_torch()
    check_triton()


@app.command(cls=_OfShapes)
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
    random: Annotated[
        Optional[int], typer.Option("--random", min=1, help="Time this many random shapes, drawn as the family says.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random shapes.")] = 0,
    against: Annotated[
        Optional[Path],
        typer.Option(
            "--against", help="A record of --json: exit 1 if a ratio to the baseline fell by more than noise."
        ),
    ] = None,
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
    """Time a spec's kernels against baselines on a GPU: interleaved, cold L2, back to back and in a chain with another
    kernel, and the host's time of a call."""
    from tlxgen.compile import check_torch

    check_torch()
    from tlxgen.verbs import bench as verb

    outputs = verb.Outputs(json=json, csv=csv, markdown=markdown, plot=plot, tritonbench=tritonbench)
    wanted = None if baseline is None else [name for name in baseline if name != "none"]
    drawn = verb.Drawn(random, seed)
    raise typer.Exit(
        verb.run(spec, _shapes(shapes, spec), wanted, every_config, turns, outputs, workers, drawn, against)
    )


@app.command(cls=_OfShapes)
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
    timeout: Annotated[
        float, typer.Option(min=1, max=LONGEST_S, help="Seconds that a step of a measurement may take.")
    ] = 30,
    out: Annotated[
        Optional[Path], typer.Option("--out", help="File to write. Default: tuned/DEVICE/SPEC.yaml.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the fastest variant for each shape on a GPU, and write what won into a file that build reads."""
    from tlxgen.verbs import tune as verb

    options = verb.Options(
        as_json=as_json,
        shapes=tuple(_shapes(shapes, spec)),
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
    given: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="[A [B]] [PATH]",
            help="Revisions and a path, as for git diff, by default HEAD, the working tree and specs; or two of: "
            "spec, generated module, folder of such, REV:path.",
        ),
    ] = None,
    form: Annotated[Literal["table", "markdown"], typer.Option("--format", help="How to print.")] = "table",
    no_source: Annotated[bool, typer.Option("--no-source", help="Leave out the difference of the source.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if anything differs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what differs between two specs or generated modules: tasks, rings, barriers, bytes, registers, source."""
    from tlxgen.review import diff as verb
    from tlxgen.review.named import sides

    if as_json and form == "markdown":
        raise typer.BadParameter("--json and --format markdown are two forms; one is printed")
    a, b = sides(given or ())
    differs = verb.run(a, b, markdown=form == "markdown", with_source=not no_source, as_json=as_json)
    raise typer.Exit(int(exit_code and differs))


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Folder to write specs/NAME.yaml into.")] = Path("."),
    kernel: Annotated[
        Optional[str],
        typer.Option(
            "--kernel", help="Kernel family (default gemm); tlxgen explain lists them.", autocompletion=_kernels
        ),
    ] = None,
    arch: Annotated[
        Optional[Literal["sm90", "sm100"]], typer.Option("--arch", help="Hopper (the default) or Blackwell.")
    ] = None,
    name: Annotated[Optional[str], typer.Option("--name", help="Name of the kernel. Default: my_KERNEL.")] = None,
    like: Annotated[
        Optional[str], typer.Option("--like", help="Copy this shipped spec instead, such as hopper_gemm_cluster.")
    ] = None,
) -> None:
    """Write a spec with comments, and the schema for editors, to begin with. Overwrites nothing."""
    from tlxgen.verbs import init as verb

    raise typer.Exit(verb.run(folder, kernel, arch, name, like))


@app.command()
def explain(
    word: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="[WORD]",
            help="A key (tasks.mma.order), the end of one (order), a value, a rule, or a word such as 'shape class'.",
            autocompletion=_words,
        ),
    ] = None,
    kernel: Annotated[Optional[str], typer.Option("--kernel", help="Only keys of this kernel family.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what a key, a value or a word means, and when to choose which. Without a word: what can be asked."""
    from tlxgen.verbs import explain as verb

    raise typer.Exit(verb.run(" ".join(word or ()), kernel, as_json))


@app.command()
def doctor(
    verb: Annotated[
        Optional[str], typer.Option("--for", help="Exit 1 unless this verb works here.", autocompletion=_verbs)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what works on this machine, and what mends the rest. Exit 1 for a fault; a missing GPU is none."""
    from tlxgen.verbs import doctor as command

    raise typer.Exit(command.run(verb, as_json))


@app.command()
def schema() -> None:
    """Print the JSON Schema of specs, for editors."""
    from tlxgen.verbs import schema as verb

    raise typer.Exit(verb.run())


def _shapes(texts: list[str] | None, spec: Path) -> list[tuple[int, ...]]:
    """Shapes of a spec's problem as the command line has them. Raises TlxgenError for another form."""
    if not texts:
        return []
    from tlxgen import families
    from tlxgen.spec import load

    return families.of(load(spec, tuned=False)).read_shapes(texts)


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
        inside = path.glob("*.yaml") if os.path.isdir(path) else [path]
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
    """Warnings of ours as notes and warnings; all others as Python shows them."""
    if issubclass(category, SpecNote):
        text = printable(f"{category.head}: {message}", keep="\n")
        print(terminal.emphasised(text, sys.stderr), file=sys.stderr)
    else:
        _show_warning(message, category, *place, **options)


_show_warning = warnings.showwarning


def main() -> None:
    """The console script. A user's error is printed without a traceback; exit status 2."""
    warnings.showwarning = _show_note
    with streams.errors():
        try:
            with streams.output():
                app(prog_name="tlxgen")
        except TlxgenError as error:
            placed = error.location or isinstance(error, SpecErrors)  # such text begins with file:line:column
            if not (isinstance(error, streams.OutputError) and error.is_closed):
                told = str(error) if placed else f"error: {error}"
                print(terminal.emphasised(told, sys.stderr), file=sys.stderr)
            sys.exit(error.exit_code)
        except OSError as error:  # what a path is that no file system has, or a disk that fails
            where = f"{printable(str(error.filename))}: " if error.filename else ""
            print(terminal.emphasised(f"error: {where}{error.strerror or error}", sys.stderr), file=sys.stderr)
            sys.exit(2)
