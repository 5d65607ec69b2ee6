"""`tlxgen verify --audit N`: runs randomly drawn records again with their settings, and compares the results."""

from __future__ import annotations

import json
import secrets
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tlxgen import digest, lock
from tlxgen.build import folder_of
from tlxgen.errors import Location, SpecError, TlxgenError
from tlxgen.families import kernels_of
from tlxgen.files import require_outputs, write_atomic
from tlxgen.project import from_here
from tlxgen.proof import SECTION, Record, read
from tlxgen.record import head
from tlxgen.review.progress import bar
from tlxgen.review.revision import Repository
from tlxgen.verbs.findings import told
from tlxgen.verbs.proofs import Proofs, findings_of
from tlxgen.verify import Limits, Result, StructureJob, verify_all
from tlxgen.verify.verification import error_to_json
from tlxgen.words import counted
from tlxgen.working import Working


@dataclass(frozen=True)
class Options:
    """The options of an audit: `count` records are drawn by `seed`, and all modules that changed `since` a revision."""

    count: int
    seed: str = ""
    since: str | None = None
    workers: int | None = None
    limits: Limits = field(default_factory=Limits)
    every: bool = False  # print every finding, not one of each kind


@dataclass(frozen=True)
class Recorded:
    """A structure whose lock has a record."""

    spec: Path
    folder: Path
    name: str
    entry: Mapping[str, Any]

    @property
    def at(self) -> str:
        """The key by which structures are drawn, which is the same in every clone."""
        return f"{self.folder.name}/{self.name}"

    @property
    def record(self) -> Record | None:
        return read(self.entry)


@dataclass
class Outcome:
    """The outcome of one record: how it differs from the present result, or why it could not be run."""

    recorded: Recorded
    differences: list[str] = field(default_factory=list)
    result: Result | None = None

    @property
    def status(self) -> str:
        if self.result and self.result.error:
            return "error"
        return "differs" if self.differences else "as recorded"


def run(specs: Sequence[Path], options: Options, record: Path | None) -> int:
    """Audits records in the locks of `specs` or, without specs, in all locks of generated/.

    Returns 0 if all results are as recorded, 1 for a difference, and 2 if a run did not complete. Raises TlxgenError,
    also if there is no record.
    """
    require_outputs({"--json": record})
    options = replace(options, seed=options.seed or secrets.token_hex(4))
    pool = list(_recorded(specs or list(_specs_here())))
    if not pool:
        raise TlxgenError("no lock has a record of verify", remedy="tlxgen verify --changed SPEC makes them")
    drawn = draw(pool, options)
    print(f"{counted(len(drawn), 'record')} of {len(pool)}, drawn by --seed {options.seed}", flush=True)
    outcomes = _outcomes(drawn, options)
    count = {s: sum(o.status == s for o in outcomes) for s in ("as recorded", "differs", "error")}
    stopped = f"; {count['error']} could not be run to the end" if count["error"] else ""
    print(f"{count['as recorded']} as recorded, {count['differs']} not{stopped}")
    if record:
        try:
            write_atomic(record, (json.dumps(_to_json(outcomes, len(pool), options), indent=1) + "\n").encode())
        except OSError as error:
            raise TlxgenError(f"{record} cannot be written: {error.strerror}") from None
    return 2 if count["error"] else int(count["differs"] > 0)


def _specs_here() -> Iterator[Path]:
    """The specs of the locks in the current folder's generated/."""
    for path in sorted(Path("generated").glob(f"*/{lock.NAME}")):
        for name in list(lock.read(path.parent).get("spec", {}))[:1]:
            yield Path(name)


def _recorded(specs: Sequence[Path]) -> Iterator[Recorded]:
    for spec in specs:
        if spec.suffix == ".py":
            raise TlxgenError(f"{spec} has no lock", remedy="--audit takes specs, and folders of them")
        if not spec.is_file():
            raise SpecError("no such file", location=Location(spec.as_posix(), 1, 1))
        folder = folder_of(spec, None)
        for name, entry in lock.read(folder).get("structures", {}).items():
            if entry.get(SECTION):
                yield Recorded(spec, folder, name, entry)


def draw(pool: Sequence[Recorded], options: Options) -> list[Recorded]:
    """The records to audit, in the order of the pool. The seed alone decides which, on every machine."""
    ranked = sorted(pool, key=lambda one: digest.of_text(f"{options.seed} {one.at}"))
    chosen = {one.at for one in ranked[: options.count]}
    chosen |= {one.at for one in _changed(pool, options.since)} if options.since else set()
    return [one for one in pool if one.at in chosen]


def _changed(pool: Sequence[Recorded], since: str) -> Iterator[Recorded]:
    """The structures whose kernels differ from those at a revision. Raises ReviewError.

    A change of host code, or of the form of records, affects all modules; for these the random sample is enough.
    """
    before: dict[Path, Mapping[str, Any]] = {}
    for one in pool:
        if one.folder not in before:
            before[one.folder] = _structures_at(one.folder, since)
        was = before[one.folder].get(one.name)
        if not isinstance(was, dict) or was.get("device") != one.entry.get("device"):
            yield one


def _structures_at(folder: Path, revision: str) -> Mapping[str, Any]:
    """The structures in a folder's lock at a revision; empty if it had no lock, or one that cannot be read."""
    repository = Repository(folder)
    entry = repository.entry(revision, repository.inside(folder / lock.NAME))
    try:
        found = json.loads(entry.data) if entry and entry.data else {}
    except ValueError:
        return {}
    structures = found.get("structures") if isinstance(found, dict) else None
    return structures if isinstance(structures, dict) else {}


def _outcomes(drawn: Sequence[Recorded], options: Options) -> list[Outcome]:
    """Runs the drawn records, and prints each outcome."""
    proofs = Proofs()
    outcomes = [Outcome(one) for one in drawn]
    jobs = {job: outcome for outcome in outcomes if (job := _job(outcome, proofs))}
    for outcome in outcomes:
        _print(outcome, options) if outcome.differences else None
    every = verify_all(list(jobs), [], options.limits, options.workers)
    with closing(every) as coming, bar(len(jobs), "auditing") as shown:
        for (job, outcome), result in zip(jobs.items(), coming, strict=True):
            record = outcome.recorded.record
            outcome.result = result
            if record and not result.error:
                outcome.differences += differences(record, result, proofs.is_same_simulator(job, record))
            with shown.away():
                _print(outcome, options)
            shown.advance()
    return outcomes


def _job(outcome: Outcome, proofs: Proofs) -> StructureJob | None:
    """The job that runs a record again; None, with a difference noted, if the record is of another module text."""
    one = outcome.recorded
    record = one.record
    if record is None:
        outcome.differences.append("its record is not as verify wrote it")
        return None
    try:
        kernels = kernels_of(one.spec).some()
        kernels.structure(one.name)
    except SpecError as error:
        outcome.differences.append(f"its spec does not make it: {error.message}")
        return None
    job = StructureJob(one.spec, one.name, one.folder / f"{one.name}.py", cases=record.cases, ways=record.schedules)
    proofs.add([job], Working(one.spec, one.folder, one.folder, {}), kernels)
    if proofs.subject(job) != record.subject:
        outcome.differences.append("the module, or what its spec says of it, is not what was verified")
        return None
    return job


def differences(record: Record, result: Result, same: bool) -> list[str]:
    """How a result differs from the record. If the simulator is not the `same`, only the findings are compared.

    Line numbers are not compared, since comments move them without a change of the code.
    """
    was = Counter(f"{f.severity} {f.id}" for f in record.findings)
    now = Counter(f"{f.severity} {f.id}" for f in findings_of(result))
    found = [f"not recorded: {finding}" for finding in sorted(now - was)]
    found += [f"recorded, but not found again: {finding}" for finding in sorted(was - now)]
    if same:
        summary = result.summary
        counts = (record.coverage or {}).get("counts"), summary.to_json()["counts"] if summary else None
        pairs = {"runs": (record.runs, result.runs), "steps": (record.steps, result.steps), "coverage": counts}
        found += [f"{what}: {a} recorded, {b} now" for what, (a, b) in pairs.items() if a != b]
    return found


def _print(outcome: Outcome, options: Options) -> None:
    one, result = outcome.recorded, outcome.result
    if outcome.status == "as recorded" and result:
        print(f"{one.at}: as recorded ({result.covered})", flush=True)
        return
    print(f"{one.at}: {'could not be run to the end' if outcome.status == 'error' else 'differs'}", flush=True)
    for line in outcome.differences:
        print(f"  {line}")
    if result and result.findings:
        print(textwrap.indent("\n".join(told(result, options.every)), "  "))
    if result and result.error:
        print(textwrap.indent(str(result.error), "  "))


def _to_json(outcomes: Sequence[Outcome], pool: int, options: Options) -> dict[str, Any]:
    """An audit for `--json`, as docs/verify.md describes it."""
    targets = []
    for outcome in outcomes:
        record, result = outcome.recorded.record, outcome.result
        data: dict[str, Any] = {"target": outcome.recorded.name, "lock": str(from_here(outcome.recorded.folder))}
        data |= {"status": outcome.status, "differences": outcome.differences}
        data |= {"proof": record.to_json() if record else None}
        data |= {"found": result.to_json()} if result else {}
        targets.append(data | ({"error": error_to_json(result.error)} if result and result.error else {}))
    told = {"seed": options.seed, "since": options.since, "records": pool}
    return {**head("verify"), "audit": told, "targets": targets}
