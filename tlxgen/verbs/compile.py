"""`tlxgen compile`: compiles every config of every structure to a cubin without a GPU, and compares it with the plan.

The lock records digests of PTX and SASS, and the resource figures. A generated module that is given as a target is
compiled as it is, with the rows of its table CONFIGS. Hand-written kernels are compiled as their host code launches
them (`launched`); they have no plan, and they are not recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tlxgen import lock, stamp
from tlxgen.cases import sidecar
from tlxgen.compile import Argument, Job, Outcome, Resources, Toolchain, compile_all, named
from tlxgen.errors import TlxgenError
from tlxgen.families import Kernels, Structure, Variant, kernels_of
from tlxgen.plan import Launch, Plan
from tlxgen.plan.budget import register_split
from tlxgen.record import head
from tlxgen.review.progress import bar
from tlxgen.review.registers import per_task
from tlxgen.review.tables import Table, show
from tlxgen.sass import told
from tlxgen.verbs import launched
from tlxgen.verify import Arch, is_hand_written, must_exist
from tlxgen.words import counted
from tlxgen.working import Working, config_rows, of_module, of_spec

OPCODES = {
    "MMA": ("HGMMA", "QGMMA", "UTCHMMA", "UTCQMMA", "UTCOMMA"),
    "TMA loads": ("UTMALDG",),
    "TMA stores": ("UTMASTG",),
}  # columns of the table


MOVED = (
    "Registers a thread: a CTA is launched with the same number for all of its tasks, which is what ptxas reports.\n"
    "Each task then takes or gives back some by setmaxnreg. What it has from then on is what the plan says."
)


@dataclass(frozen=True)
class Kernel:
    """One kernel of one variant of a spec: what is compiled, and the plan to compare it with."""

    work: Working
    structure: str
    variant: Variant
    launch: Launch
    job: Job
    planned: bool = True  # False for a row of CONFIGS that was written by hand: the plan is another variant's

    @property
    def plan(self) -> Plan:
        assert self.variant.plan
        return self.variant.plan

    @property
    def is_main(self) -> bool:
        """Whether this is the kernel that the plan describes, unlike, for example, a split-K reduction."""
        return self.launch.kernel == self.plan.launches[0].kernel


@dataclass(frozen=True)
class Finding:
    """A difference of a compiled kernel from the plan. A `hard` one fails the command, others only with --strict."""

    kernel: Kernel
    text: str
    hard: bool


def run(
    targets: Sequence[str],
    strict: bool,
    workers: int | None,
    timeout_s: float,
    no_cache: bool,
    as_json: bool = False,
    config: int | None = None,
    arch: Arch = "sm90",
    toolchain: str = "fbtriton",
) -> int:
    """Compiles specs, generated modules and the kernels that hand-written files launch, and prints tables.

    Returns 0 if all compiled as planned (with `strict`, no spill), 1 if not, 2 if a module could not be imported or
    hand-written host code could not be run to its end. `config` and `arch` are for hand-written targets: which config
    of autotuned kernels, and the architecture of FILE.py:function. The lock is about the default `toolchain` only.
    """
    by = named(toolchain)
    version = by.check()
    options = launched.Options(config, arch, workers, timeout_s)
    with ExitStack() as copies:
        targets = list(dict.fromkeys(targets))
        by_hand = [target for target in targets if _is_by_hand(target)]
        if by_hand and not by.is_default:
            raise TlxgenError(
                f"{by_hand[0]} is hand-written; --toolchain is for specs and generated modules",
                remedy="compile it without --toolchain",
            )
        jobs = launched.jobs(by_hand, options)
        works = [_work(Path(target), copies) for target in targets if target not in by_hand]
        kernels = [kernel for work in works for kernel in all_kernels(work)]
        notes = list(filter(None, (work.difference() for work in works)))
        if not as_json:
            print(*(f"{line}\n" for line in notes), sep="", end="", flush=True)
        cache = None if no_cache else stamp.cache_folder() / "compiled"
        with bar(len(kernels), "compiling") as shown:
            outcomes = compile_all(
                [k.job for k in kernels],
                workers=workers,
                timeout_s=timeout_s,
                cache=cache,
                on_done=lambda outcome: shown.advance(outcome.job.split(" | ")[0]),
                toolchain=by,
            )
        outcomes = [replace(o, error=k.work.shown(o.error)) for k, o in zip(kernels, outcomes, strict=True)]
        findings = [f for k, o in zip(kernels, outcomes, strict=True) for f in judge(k, o)]
        for work in works if by.is_default else ():
            _record(work, [(k, o) for k, o in zip(kernels, outcomes, strict=True) if k.work is work], version)
    by_host = launched.execute(jobs, options)
    if as_json:
        data = _to_json(kernels, outcomes, findings, notes, by, version)
        if jobs:
            data["notes"] += launched.notes(by_host)
            data["kernels"] += launched.rows(by_host, _figures)
            data["errors"] = launched.errors(by_host)
        print(json.dumps(data, indent=1))
    else:
        if works:
            _print(kernels, outcomes, findings)
        if jobs:
            launched.print_table(by_host, OPCODES, _moves)
    broken = 2 * any(not outcome.imported for outcome in outcomes)
    return max(int(any(f.hard or strict for f in findings)), broken, by_host.exit_code(strict))


def _to_json(
    kernels: Sequence[Kernel],
    outcomes: Sequence[Outcome],
    findings: Sequence[Finding],
    notes: list[str],
    by: Toolchain,
    version: str,
) -> dict[str, Any]:
    """What `--json` prints: a row for each kernel of each config."""
    rows = [
        {
            "spec": str(k.work.spec),
            "structure": k.structure,
            "kernel": k.launch.kernel,
            "variant": k.variant.label,
            "constants": dict(k.launch.constants),
            "resources": None if o.resources is None else _figures(o.resources),
            "error": o.error,
            "cached": o.cached,
            "findings": [{"text": f.text, "hard": f.hard} for f in findings if f.kernel is k],
        }
        for k, o in zip(kernels, outcomes, strict=True)
    ]
    which = {"fbtriton": version} if by.is_default else {"toolchain": by.name, "triton": version}
    return {**head("compile"), **which, "notes": notes, "kernels": rows}


def _is_by_hand(target: str) -> bool:
    """Whether a target is hand-written: not a spec, and not a generated module without cases of its own."""
    if not target.endswith(".py") or sidecar(Path(target)).exists():
        return is_hand_written(target)
    return of_module(Path(target)) is None


def _work(target: Path, copies: ExitStack) -> Working:
    """The modules that a spec or a generated module names. Raises TlxgenError."""
    if target.suffix == ".py":
        must_exist(target)
    lying = of_module(target) if target.suffix == ".py" else None
    return lying or copies.enter_context(of_spec(target))


def all_kernels(work: Working) -> list[Kernel]:
    """All kernels that the modules launch. Raises NoVariantError if no variant fits."""
    kernels: Kernels = kernels_of(work.spec).some()
    if work.structure:
        return list(_edited(work, kernels.structure(work.structure)))
    return [
        Kernel(work, s.name, v, launch, job_of(work.path(s.name), v, launch))
        for s in kernels.structures
        for v in s.variants
        for launch in (v.plan.launches if v.plan else ())
        if launch.launched
    ]


def _edited(work: Working, structure: Structure) -> Iterator[Kernel]:
    """The kernels of a module that may have been edited: those of the rows that it has."""
    path = work.path(structure.name)
    for row in config_rows(path):
        variant, same = structure.variant_of(row)
        label = variant.label if same else ", ".join(f"{name}={value}" for name, value in row.items())
        for launch in variant.plan.launches if variant.plan else ():
            if launch.launched:
                its = replace(launch, constants=tuple((n, row.get(n, v)) for n, v in launch.constants))
                job = replace(job_of(path, variant, its), id=f"{path.stem} | {its.kernel} | {label}")
                yield Kernel(work, structure.name, variant, its, job, same)


def job_of(module: Path, variant: Variant, launch: Launch) -> Job:
    """The job that compiles a kernel of a variant, whose generated module is at `module`."""
    assert variant.plan
    arguments = [Argument(a.name, a.type) for a in launch.arguments]
    arguments += [Argument(name, "constexpr") for name, _ in launch.constants]
    return Job(
        id=f"{module.stem} | {launch.kernel} | {variant.label}",
        module=str(module),
        kernel=launch.kernel,
        arch=variant.plan.arch.name,  # type: ignore[arg-type]
        arguments=tuple(arguments),
        constants=dict(launch.constants),
        divisible=launch.divisible,
        num_warps=launch.num_warps,
        cluster=launch.cluster,
        maxnreg=launch.maxnreg,
    )


def judge(kernel: Kernel, outcome: Outcome) -> Iterator[Finding]:
    """Yields the differences of the compiler's result from the plan."""
    found = outcome.resources
    if found is None:
        yield Finding(kernel, outcome.error, True)
        return
    if found.spill_store_bytes or found.spill_load_bytes:
        yield Finding(kernel, f"spills {found.spill_store_bytes} B, reloads {found.spill_load_bytes} B", False)
    if found.stack_bytes and not found.spill_store_bytes:
        yield Finding(kernel, f"keeps {found.stack_bytes} B on the stack", False)
    if found.smem_bytes > kernel.plan.arch.smem_bytes:
        yield Finding(kernel, f"takes {found.smem_bytes} B of SMEM; a CTA has {kernel.plan.arch.smem_bytes}", True)
    for text, hard in told(found.releases):
        yield Finding(kernel, text, hard)
    if kernel.is_main and kernel.planned:
        for what, planned, is_ in _against_plan(kernel.plan, found):
            yield Finding(kernel, f"{what}: planned {planned}, compiled {is_}", True)


def _against_plan(plan: Plan, found: Resources) -> Iterator[tuple[str, object, object]]:
    """(what, planned, found) for each difference."""
    budgets = {b.name: b.used for b in plan.budgets}
    if found.smem_bytes > budgets["SMEM"]:
        yield "SMEM", f"at most {budgets['SMEM']}", found.smem_bytes
    if found.tmem_columns != (allocated := _allocation(budgets.get("TMEM", 0))):
        yield "TMEM columns", allocated, found.tmem_columns
    if found.named_barriers > budgets["named barriers"]:
        yield "named barriers", f"at most {budgets['named barriers']}", found.named_barriers
    if found.warps * plan.arch.warp_threads != budgets["threads"]:
        yield "threads", budgets["threads"], found.warps * plan.arch.warp_threads
    mbarriers = sum(b.slots.value for b in plan.barriers) + sum(t.replicas for t in plan.turns if t.kind == "mbarrier")
    if found.mbarriers != mbarriers:
        yield "mbarriers", mbarriers, found.mbarriers
    split = register_split(plan)
    if found.setmaxnreg != split.setmaxnreg:
        yield "setmaxnreg", _moves(split.setmaxnreg), _moves(found.setmaxnreg)
    sass = found.sass or {}
    for opcode in plan.expected_opcodes if sass else ():
        if not sass.get(opcode):
            yield opcode, "in the SASS", "none"


def _allocation(columns: int) -> int:
    """The columns that tcgen05.alloc takes: a power of two, at least 32; 0 for 0."""
    return max(32, 1 << (columns - 1).bit_length()) if columns else 0


def _moves(moves: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{action} {count}" for action, count in moves) or "none"


def _record(work: Working, pairs: Sequence[tuple[Kernel, Outcome]], version: str) -> None:
    """Records in the lock the results of the modules that were compiled."""
    results: dict[str, dict[str, Any] | None] = {}
    entries = lock.read(work.generated).get("structures", {})
    for name in dict.fromkeys(k.structure for k, _ in pairs):
        mine = [(k, o.resources) for k, o in pairs if k.structure == name]
        figures = {_key(k): _figures(found) for k, found in mine if found}
        compiled = lock.sealed(entries.get(name, {}), {"fbtriton": version, "kernels": figures})
        results[name] = compiled if all(found for _, found in mine) else None
    work.record("compiled", results)


def _key(kernel: Kernel) -> str:
    """The key of a kernel among those of its structure, without their common prefix."""
    constants = " ".join(f"{n}={v}" for n, v in kernel.launch.constants)
    common = kernel.plan.launches[0].kernel.removesuffix("kernel")
    return f"{kernel.launch.kernel.removeprefix(common)} {constants}".strip()


def _figures(found: Resources) -> dict[str, Any]:
    """A kernel's resources for the lock, on one line, with counts of opcodes but without loops."""
    data = found.to_json()
    del data["loops"]
    data["cluster"] = list(found.cluster)
    data["setmaxnreg"] = _moves(found.setmaxnreg)
    return json.loads(json.dumps(data))  # type: ignore[no-any-return]


def _print(kernels: Sequence[Kernel], outcomes: Sequence[Outcome], findings: Sequence[Finding]) -> None:
    columns = ("structure", "configs", "registers at launch", "of the tasks", "spill B", "SMEM B", "setmaxnreg")
    table = Table("Compiled offline", (*columns, *OPCODES, "as planned"))
    if any(register_split(k.plan).applied for k in kernels):
        table.note = MOVED
    for name in dict.fromkeys(k.structure for k in kernels):
        rows = [(k, o.resources) for k, o in zip(kernels, outcomes, strict=True) if k.structure == name]
        found = [r for _, r in rows if r]
        main = [r for k, r in rows if r and k.is_main]
        wrong = sum(f.kernel.structure == name for f in findings)
        table.add(
            name,
            f"{len(found)}/{len(rows)}",
            _range(r.registers for r in main),
            "; or ".join(dict.fromkeys(per_task(k.plan) for k, r in rows if r and k.is_main)),
            _range(r.spill_store_bytes + r.spill_load_bytes for r in found),
            _range(r.smem_bytes for r in main),
            "; ".join(sorted({_moves(r.setmaxnreg) for r in main})),
            *(_range(_count(r, *opcodes) for r in main) for opcodes in OPCODES.values()),
            counted(wrong, "finding") if wrong else _as_planned([k for k in kernels if k.structure == name]),
        )
    faults = Table("Findings", ("structure", "kernel", "variant", "what"))
    for f in findings:
        faults.add(f.kernel.structure, f.kernel.launch.kernel, f.kernel.variant.label, f.text)
    show([table, faults])
    seconds = sum(o.seconds for o in outcomes)
    cached = sum(o.cached for o in outcomes)
    done = f"{sum(o.ok for o in outcomes)} of {len(outcomes)} kernels compiled ({cached} known from before)"
    print(f"{done}, {seconds:.0f} s of compiling")


def _as_planned(kernels: Sequence[Kernel]) -> str:
    others = sum(not kernel.planned for kernel in kernels)
    return f"{others} have no plan: the spec has no such config" if others else "yes"


def _count(found: Resources, *opcodes: str) -> int:
    return sum((found.sass or {}).get(opcode, 0) for opcode in opcodes)


def _range(values: Iterable[int]) -> str:
    distinct = sorted(set(values))
    return "" if not distinct else str(distinct[0]) if len(distinct) == 1 else f"{distinct[0]}..{distinct[-1]}"
