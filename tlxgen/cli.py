"""The command line: one thin command a verb. torch and triton are imported only by the verbs that need them."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

import typer

from tlxgen import __version__, streams, terminal
from tlxgen.arguments import (
    LONGEST_S,
    OfShapes,
    Out,
    Shapes,
    Specs,
    Verbs,
    files_of,
    kernels_for,
    seconds_of,
    shapes_of,
    verbs_for,
    words_for,
)
from tlxgen.errors import SpecErrors, SpecNote, TlxgenError
from tlxgen.words import printable

app = typer.Typer(
    name="tlxgen",
    cls=Verbs,
    help="Generates Triton/TLX kernels from YAML specs, and verifies them without a GPU.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def build(
    specs: Specs,
    out: Out = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; show the difference; exit 1 if stale.")
    ] = False,
    proven: Annotated[
        bool, typer.Option("--proven", help="With --check: also exit 1 if no record of verify proves a module.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run the kernels on the CPU first; write nothing if they are faulty.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also overwrite files that were edited by hand, and a lock that cannot be read."),
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Also remove folders in generated/ whose spec is gone.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    instrument: Annotated[
        bool,
        typer.Option("--instrument", help="With --out: write the modules with clock stamps, as profile runs them."),
    ] = False,
) -> None:
    """Write the modules and the lock of each spec."""
    from tlxgen.build import refuse_shared
    from tlxgen.project import root_of
    from tlxgen.verbs import build as verb

    if instrument:
        _build_instrumented(specs, out, [check, proven, verify, force, prune, as_json])

    if proven and not check:
        raise typer.BadParameter("--proven needs --check, which reads records; --verify makes them")
    if prune and check:
        raise typer.BadParameter("--check writes nothing, so there is nothing to --prune")
    if prune and out:
        raise typer.BadParameter(
            "--prune works on generated/, not with --out: it cannot know the specs of the folders there"
        )
    if verify and (prune or as_json):
        raise typer.BadParameter("--verify cannot be combined with --prune or --json")
    folders = [path for path in specs if os.path.isdir(path)]
    files = files_of([p for p in specs if not (prune and p in folders and not any(p.glob("*.yaml")))])
    refuse_shared(files, out)
    if check and verify:
        raise typer.BadParameter("--check writes nothing, so --verify has nothing to verify; use tlxgen verify")
    if verify:
        _require_simulator()
        raise typer.Exit(verb.run_verified(files, out, force))
    roots = () if out else tuple(dict.fromkeys(map(root_of, [*files, *(path / "any.yaml" for path in folders)])))
    raise typer.Exit(verb.run(files, verb.Options(out, check, proven, force, prune, as_json, roots)))


def _build_instrumented(specs: list[Path], out: Path | None, others: list[bool]) -> None:
    """`build --instrument`, which allows no other option than --out."""
    from tlxgen.build import refuse_shared
    from tlxgen.verbs import profile as verb

    if out is None:
        raise typer.BadParameter("--instrument needs --out: instrumented modules never go into generated/")
    if any(others):
        raise typer.BadParameter("--instrument cannot be combined with other options than --out")
    files = files_of(specs)
    refuse_shared(files, out)
    raise typer.Exit(verb.instrument(files, out))


@app.command(name="list")
def list_variants(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    rule: Annotated[
        Optional[str],
        typer.Argument(
            help="With --rejected: only variants that break this rule, such as smem or require, or a part of its text."
        ),
    ] = None,
    kept: Annotated[bool, typer.Option("--kept", help="List each kept variant.")] = False,
    rejected: Annotated[bool, typer.Option("--rejected", help="List each rejected variant, and why.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: all variants, or those that the options select.")
    ] = False,
) -> None:
    """List a spec's structures with their configs, and how many variants each rule rejects."""
    from tlxgen.review import listing

    if rule is not None and rejected and not os.path.exists(spec) and os.path.exists(rule):  # --rejected RULE SPEC
        spec, rule = Path(rule), str(spec)
    if rule is not None and not rejected:
        raise typer.BadParameter(
            f"list takes one spec, and a rule only with --rejected; {rule!r} is a surplus argument"
        )
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
            help="Show the variant with this value, even if it is rejected or not in the spec (repeatable).",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    svg: Annotated[
        Optional[Path], typer.Option("--svg", help="Draw the plans into this file instead: tasks, rings, memory maps.")
    ] = None,
    roofline: Annotated[
        bool,
        typer.Option("--roofline", help="Instead, what bounds each kernel: clocks of a tile, by what its source does."),
    ] = False,
    shapes: Annotated[
        Optional[list[str]],
        typer.Option("--shape", metavar="SHAPE", help="With --roofline: problems for the least time (repeatable)."),
    ] = None,
    sms: Annotated[
        Optional[int], typer.Option(min=1, help="With --roofline: SMs. Default: an H200's, a B200's.")
    ] = None,
    mhz: Annotated[Optional[int], typer.Option(min=1, help="With --roofline: the clock. Default: the highest.")] = None,
) -> None:
    """Print roles, rings, barriers and budgets of a spec's plan."""
    from tlxgen.review import show

    if roofline:
        from tlxgen.verbs.roofline import print_roofline

        if settings or svg:
            raise typer.BadParameter("--roofline goes with neither --set nor --svg")
        print_roofline(spec, structure, shapes or (), sms=sms, mhz=mhz, as_json=as_json)
        return
    if shapes or sms or mhz:
        raise typer.BadParameter("--shape, --sms and --mhz belong to --roofline")
    if as_json and svg:
        raise typer.BadParameter("--json and --svg cannot be combined")
    show.print_plans(spec, structure, settings or (), as_json=as_json, svg=svg)


@app.command(name="compile")
def compile_specs(
    targets: Annotated[
        list[str],
        typer.Argument(
            metavar="TARGET...",
            help="Spec files, generated modules, FILE.py:function, case files, or folders of these.",
        ),
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Fail if a kernel spills.")] = False,
    workers: Annotated[
        Optional[int], typer.Option(min=1, help="Compilers that run at the same time. Default: the number of CPUs.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, max=LONGEST_S, help="Seconds a kernel may take.")] = 120,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Compile again, even if the result is in the cache.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    config: Annotated[
        Optional[int],
        typer.Option(min=0, help="Only this config of hand-written autotuned kernels, counted after pruning."),
    ] = None,
    arch: Annotated[
        Optional[Literal["sm90", "sm100"]],
        typer.Option("--arch", help="Architecture for FILE.py:function (default sm90); other targets have their own."),
    ] = None,
    toolchain: Annotated[
        str,
        typer.Option("--toolchain", help="The Triton to compile with: fbtriton, fbtriton-3.8 or utlx."),
    ] = "fbtriton",
) -> None:
    """Compile kernels offline, compare the results with the plan, and record them in the lock. Writes no source."""
    from tlxgen.compile import check_torch
    from tlxgen.verbs import compile as verb
    from tlxgen.verbs.idle import refuse_idle_of_compile
    from tlxgen.verify import cases_in, is_hand_written

    each = [t for some in targets for t in ([some] if is_hand_written(some) else cases_in(some) + _specs_of(some))]
    refuse_idle_of_compile(each, config=config, arch=arch)
    if any(map(is_hand_written, each)):
        check_torch()
    raise typer.Exit(verb.run(each, strict, workers, timeout, no_cache, as_json, config, arch or "sm90", toolchain))


@app.command()
def package(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    out: Annotated[
        Optional[Path], typer.Option("--out", help="The folder to write: a project that pip installs.")
    ] = None,
    cpp: Annotated[
        Optional[Path], typer.Option("--cpp", help="A folder for the C++ form: sources for tvm-ffi.")
    ] = None,
    arch: Annotated[
        Optional[str],
        typer.Option(
            "--arch", help="Architectures, separated by commas; a spec has kernels for one. Default: that one."
        ),
    ] = None,
    workers: Annotated[
        Optional[int], typer.Option(min=1, help="Compilers that run at the same time. Default: the number of CPUs.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, max=LONGEST_S, help="Seconds a kernel may take.")] = 120,
    toolchain: Annotated[
        str,
        typer.Option("--toolchain", help="The Triton to compile with: fbtriton, fbtriton-3.8 or utlx."),
    ] = "fbtriton",
) -> None:
    """Compile a spec's kernels into a package that runs without Triton, for Python or C++."""
    from tlxgen.verbs import package as verb

    [file] = files_of([spec])
    raise typer.Exit(verb.run(file, [a for a in (arch or "").split(",") if a], out, workers, timeout, cpp, toolchain))


@app.command()
def export(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    definition: Annotated[Path, typer.Option("--definition", help="A Definition of flashinfer-bench, a JSON file.")],
    out: Annotated[Path, typer.Option("--out", help="The Solution to write, a JSON file.")],
    author: Annotated[str, typer.Option("--author", help="Author of the Solution.")] = "tlxgen",
    eps: Annotated[Optional[float], typer.Option(min=0, help="Epsilon of a norm, if its reference has none.")] = None,
) -> None:
    """Write the function of a spec that solves a Definition of FlashInfer, as a Solution."""
    from tlxgen.verbs import export as verb

    [file] = files_of([spec])
    raise typer.Exit(verb.run(file, definition, out, author, eps))


@app.command()
def check(
    specs: Specs,
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each case; all must give the same bits.")] = 20,
    workers: Annotated[int, typer.Option(min=1, help="Structures that are checked at the same time.")] = 4,
    timeout: Annotated[float, typer.Option(min=1, max=LONGEST_S, help="Seconds a structure may take.")] = 300,
    seed: Annotated[int, typer.Option(help="Seed of the inputs.")] = 0,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also fail if an error is twice that of torch's kernel on the same inputs.")
    ] = False,
    results: Annotated[Optional[Path], typer.Option("--json", help="Also write every case here.")] = None,
) -> None:
    """Check the numbers of each spec on a GPU."""
    from tlxgen.verbs import check as verb

    raise typer.Exit(verb.run(files_of(specs), repeats, workers, timeout, seed, peers, results))


@app.command()
def verify(
    targets: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="TARGET...",
            help="SPEC.yaml, a generated module, FILE.py[:function], FILE.verify.yaml, or a folder of specs and cases",
        ),
    ] = None,
    seeds: Annotated[Optional[int], typer.Option(min=1, help="Seeds of each random schedule. Default: 2.")] = None,
    schedule: Annotated[
        Optional[Literal["random", "starved", "lazy", "eager", "delays"]],
        typer.Option("--schedule", help="Only this schedule. Default: all."),
    ] = None,
    config: Annotated[
        Optional[int],
        typer.Option(min=0, help="Only this config of each module; for an autotuned kernel, counted after pruning."),
    ] = None,
    arch: Annotated[
        Optional[Literal["sm90", "sm100"]],
        typer.Option("--arch", help="Architecture for FILE.py:function (default sm90); other targets have their own."),
    ] = None,
    results: Annotated[Optional[Path], typer.Option("--json", help="Also write every finding here.")] = None,
    coverage: Annotated[
        Optional[Path], typer.Option("--coverage", help="Write a page of the source that shows which lines ran.")
    ] = None,
    workers: Annotated[
        Optional[int], typer.Option(min=1, help="Targets that run at the same time. Default: the number of CPUs.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, max=LONGEST_S, help="Seconds a target may take.")] = 300,
    memory: Annotated[
        float,
        typer.Option(min=0.1, max=1 << 20, help="GiB of memory that a target may take, besides torch and triton."),
    ] = 4,
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Run every order that can make a difference, instead of schedules.")
    ] = False,
    replay: Annotated[
        Optional[str], typer.Option(help="Repeat only this run: TARGET=LIST, as a finding prints it.")
    ] = None,
    trace: Annotated[
        Optional[Path],
        typer.Option(
            help="Write a trace for Perfetto of the run with the first finding, or of any run if there is none."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Print every finding, not only the likely cause.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings also fail the command.")] = False,
    prints: Annotated[bool, typer.Option("-s", "--show-prints", help="Show what the targets print.")] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Verify only modules that no record by this simulator proves.")
    ] = False,
    any_simulator: Annotated[
        bool, typer.Option("--any-simulator", help="With --changed: accept records by another simulator.")
    ] = False,
    audit: Annotated[
        Optional[int],
        typer.Option(min=0, help="Run this many records of locks again, drawn at random; results must be the same."),
    ] = None,
    seed: Annotated[
        Optional[str], typer.Option(help="With --audit: a text that decides which records are drawn.")
    ] = None,
    since: Annotated[
        Optional[str],
        typer.Option(
            metavar="REV", help="With --audit: also run all modules whose kernels have changed since this commit."
        ),
    ] = None,
    skeleton: Annotated[
        bool, typer.Option("--skeleton", help="Run nothing; write a first case file beside each FILE.py.")
    ] = False,
) -> None:
    """Run kernels on the CPU and find deadlocks, races and wrong numbers. Exit 1 for findings, 2 for a failed run."""
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
        raise typer.Exit(auditing.run(files_of([Path(t) for t in targets or ()]), wanted, results))
    if not targets:
        raise typer.BadParameter("name a target to verify; only --audit needs none", param_hint="TARGET")
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
    """The specs of a folder, which may also have cases, or the one spec."""
    folder = Path(target)
    if os.path.isdir(folder) and any(folder.glob("*.verify.yaml")):
        return [str(p) for p in sorted(folder.glob("*.yaml")) if not p.name.endswith(".verify.yaml")]
    return [str(p) for p in files_of([folder])]


def _require_simulator() -> None:
    """Raises ToolchainError if torch, or a Triton with TLX, is missing."""
    from tlxgen.compile import check_torch, check_triton

    check_torch()
    check_triton()


@app.command(cls=OfShapes)
def bench(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    shapes: Shapes = None,
    baseline: Annotated[
        Optional[list[str]],
        typer.Option(
            "--baseline",
            help="Only this baseline (repeatable), or 'none'. Default: all that are quick to set up.",
        ),
    ] = None,
    every_config: Annotated[
        bool, typer.Option("--every-config", help="Time each config, not only the one that is picked for a shape.")
    ] = False,
    random: Annotated[
        Optional[int], typer.Option("--random", min=1, help="Time this many random shapes, drawn by the family.")
    ] = None,
    seed: Annotated[Optional[int], typer.Option(help="With --random: the seed of the shapes. Default: 0.")] = None,
    against: Annotated[
        Optional[Path],
        typer.Option(
            "--against", help="A record of --json. Exit 1 if a ratio to the baseline fell by more than noise."
        ),
    ] = None,
    turns: Annotated[int, typer.Option(min=3, help="Replays of each candidate.")] = 30,
    workers: Annotated[
        Optional[int], typer.Option(min=1, help="Compilers that run at the same time. Default: the number of CPUs.")
    ] = None,
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
        verb.run(spec, shapes_of(shapes, spec), wanted, every_config, turns, outputs, workers, drawn, against)
    )


@app.command(cls=OfShapes)
def profile(
    target: Annotated[Path, typer.Argument(metavar="TARGET", help="Spec file, or a generated module as it is.")],
    shapes: Shapes = None,
    structure: Annotated[
        Optional[str], typer.Option("--structure", help="One structure, by name. Default: the first.")
    ] = None,
    config: Annotated[
        Optional[int],
        typer.Option(
            min=0, help="This config of the module. Default: the one that is picked; in the simulator, the first."
        ),
    ] = None,
    simulate: Annotated[
        Optional[bool],
        typer.Option("--simulate/--gpu", help="Run in the simulator or on the GPU. Default: the GPU, if there is one."),
    ] = None,
    trace: Annotated[Optional[Path], typer.Option("--trace", help="Write a timeline for Perfetto here.")] = None,
    results: Annotated[Optional[Path], typer.Option("--json", help="Also write the tables here.")] = None,
    ctas: Annotated[int, typer.Option(min=1, help="CTAs in the timeline; the tables cover all CTAs.")] = 4,
    records: Annotated[
        Optional[int], typer.Option(min=16, max=1 << 20, help="Stamps a task can record. Default: up to 65536.")
    ] = None,
    waits: Annotated[
        bool, typer.Option("--waits", help="Stamp waits alone, which costs less: the rest is one interval between two.")
    ] = False,
    turns: Annotated[int, typer.Option(min=3, help="Replays of the plain kernel and of the instrumented one.")] = 30,
    seed: Annotated[int, typer.Option(help="Seed of the inputs and, in the simulator, of the schedule.")] = 0,
) -> None:
    """Measure by clock stamps where each task of a kernel waits, for which task and how long; draw a timeline."""
    _require_simulator()
    from tlxgen.verbs import profile as verb

    options = verb.Options(
        shapes=tuple(shapes or ()),
        structure=structure,
        config=config,
        simulate=simulate,
        records=records,
        waits=waits,
        ctas=ctas,
        seed=seed,
        turns=turns,
        trace=trace,
        json=results,
    )
    raise typer.Exit(verb.run(target, options))


@app.command(cls=OfShapes)
def tune(
    spec: Annotated[Path, typer.Argument(help="Spec file.")],
    shapes: Shapes = None,
    budget: Annotated[
        Optional[str], typer.Option("--budget", help="Limit of wall time, such as 60s or 10m. Default: no limit.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of inputs, orders and the candidates drawn at random.")] = 0,
    workers: Annotated[
        Optional[int], typer.Option(min=1, help="Compilers that run at the same time. Default: the number of CPUs.")
    ] = None,
    candidates: Annotated[
        Optional[int],
        typer.Option(min=1, help="Candidates for each shape by the estimate; a third more are drawn at random."),
    ] = None,
    exhaustive: Annotated[bool, typer.Option("--exhaustive", help="Measure every candidate.")] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Without a GPU: rank variants, compile the best offline, print their resources."
        ),
    ] = False,
    dask: Annotated[
        Optional[str], typer.Option("--dask", help="Address of a Dask scheduler whose workers compile and measure.")
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=1, max=LONGEST_S, help="Seconds that a step of a measurement may take.")
    ] = 30,
    out: Annotated[
        Optional[Path], typer.Option("--out", help="File to write. Default: tuned/DEVICE/SPEC.yaml.")
    ] = None,
    only: Annotated[
        str,
        typer.Option(
            "--only", help="Tune only this problem of a spec with several, such as problem.b.layout=col. Default: all."
        ),
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the fastest variant for each shape on a GPU, and write the winners into a file that build reads."""
    from tlxgen.verbs import tune as verb

    options = verb.Options(
        as_json=as_json,
        shapes=tuple(shapes_of(shapes, spec)),
        budget_s=None if budget is None else seconds_of(budget),
        seed=seed,
        workers=workers,
        candidates=candidates,
        exhaustive=exhaustive,
        dask=dask,
        out=out,
        timeout_s=timeout,
        only=only,
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
    no_source: Annotated[bool, typer.Option("--no-source", help="Omit the difference of the source.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if anything differs.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print the differences of two specs or generated modules: tasks, rings, barriers, bytes, registers, source."""
    from tlxgen.review import diff as verb
    from tlxgen.review.named import sides

    if as_json and form == "markdown":
        raise typer.BadParameter("--json and --format markdown cannot be combined")
    a, b = sides(given or ())
    differs = verb.run(a, b, markdown=form == "markdown", with_source=not no_source, as_json=as_json)
    raise typer.Exit(int(exit_code and differs))


@app.command()
def review(
    given: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="[A [B]]",
            help="Two revisions of git or folders, or A..B. By default HEAD and the working tree.",
        ),
    ] = None,
    html: Annotated[Optional[Path], typer.Option("--html", help="Write a page here, which needs no network.")] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a short form, for a comment on a pull request.")
    ] = False,
) -> None:
    """Show what a change of specs, templates or generator means for the kernels, on a page with pictures and source."""
    from tlxgen.verbs import review as verb

    if html is None and not markdown:
        raise typer.BadParameter("name an output: --html FILE, --markdown, or both")
    verb.run(given or (), html, markdown=markdown)


@app.command()
def watch(
    specs: Specs,
    out: Out = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Only build; run no kernel.")] = False,
    no_source: Annotated[bool, typer.Option("--no-source", help="Omit the difference of the source.")] = False,
) -> None:
    """After each save of a spec, its parents, its tuned file or its templates, print the differences, build, and
    verify the modules that no record proves. Ctrl-C ends it."""
    from tlxgen.verbs import watch as verb

    if not no_verify:
        _require_simulator()
    raise typer.Exit(verb.run(files_of(specs), verb.Options(out, verify=not no_verify, source=not no_source)))


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Folder to write specs/NAME.yaml into.")] = Path("."),
    kernel: Annotated[
        Optional[str],
        typer.Option(
            "--kernel", help="Kernel family (default gemm); tlxgen explain lists them.", autocompletion=kernels_for
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
    """Write a first spec with comments, and the schema for editors. Overwrites nothing."""
    from tlxgen.verbs import init as verb

    raise typer.Exit(verb.run(folder, kernel, arch, name, like))


@app.command()
def explain(
    word: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="[WORD]",
            help="A key (tasks.mma.order), the end of one (order), a value, a rule, or a word such as 'tuned file'.",
            autocompletion=words_for,
        ),
    ] = None,
    kernel: Annotated[Optional[str], typer.Option("--kernel", help="Only keys of this kernel family.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Explain a key, a value or a word, and when to choose which. Without a word, list what can be asked."""
    from tlxgen.verbs import explain as verb

    raise typer.Exit(verb.run(" ".join(word or ()), kernel, as_json))


@app.command()
def doctor(
    verb: Annotated[
        Optional[str], typer.Option("--for", help="Exit 1 unless this verb works here.", autocompletion=verbs_for)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    install: Annotated[
        Optional[str],
        typer.Option("--install", help="First make the environment of this toolchain by pip: fbtriton-3.8 or utlx."),
    ] = None,
) -> None:
    """Say what works on this machine, and how to repair the rest. Exit 1 for a fault; a missing GPU is not a fault."""
    from tlxgen.verbs import doctor as command

    if install is not None:
        from tlxgen.compile import environments

        environments.install(environments.named(install))
    raise typer.Exit(command.run(verb, as_json))


@app.command()
def schema() -> None:
    """Print the JSON Schema of specs, for editors."""
    from tlxgen.verbs import schema as verb

    raise typer.Exit(verb.run())


@app.callback(invoke_without_command=True)
def _options(version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    if version:
        print(f"tlxgen {__version__}")
        raise typer.Exit


def _show_note(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
    """Shows tlxgen's warnings as notes and warnings, and all others as Python does."""
    if issubclass(category, SpecNote):
        text = printable(f"{category.head}: {message}", keep="\n")
        print(terminal.emphasised(text, sys.stderr), file=sys.stderr)
    else:
        _show_warning(message, category, *place, **options)


_show_warning = warnings.showwarning


def main() -> None:
    """The console script. A user's error is printed without a traceback, with exit status 2."""
    warnings.showwarning = _show_note
    with streams.errors():
        try:
            with streams.output():
                app(prog_name="tlxgen")
        except TlxgenError as error:
            placed = error.location or isinstance(error, SpecErrors)  # its text starts with file:line:column
            if not (isinstance(error, streams.OutputError) and error.is_closed):
                told = str(error) if placed else f"error: {error}"
                print(terminal.emphasised(told, sys.stderr), file=sys.stderr)
            sys.exit(error.exit_code)
        except OSError as error:  # an impossible path, or a failing disk
            where = f"{printable(str(error.filename))}: " if error.filename else ""
            print(terminal.emphasised(f"error: {where}{error.strerror or error}", sys.stderr), file=sys.stderr)
            sys.exit(2)
