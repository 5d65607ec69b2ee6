"""Builds generated modules and locks from specs, as a pure function of spec, templates and version. Builds are
incremental, parallel and atomic.

A spec `specs/x.yaml` gives `generated/x/`, with one module for each structure and `lock.json`. Modules of an earlier
build that are no longer needed are removed. Files that no build has made are left alone.
"""

from __future__ import annotations

import codecs
import difflib
import functools
import gc
import itertools
import json
import keyword
import os
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tlxgen import __version__, changes, digest, lock, stamp
from tlxgen.errors import EditedError, Location, OvertakenError, SpecError, TlxgenError
from tlxgen.files import read_regular, sweep, write_atomic
from tlxgen.generated import Folder, alone, locks_of
from tlxgen.loading import HOST
from tlxgen.lock import PACKAGE as PACKAGE
from tlxgen.project import from_here, real, root_of

if TYPE_CHECKING:
    from tlxgen.families import Kernels, Structure

Step = Callable[[int, int], None]  # called with (structures rendered, structures in all)
PARALLEL_FROM = 8  # least number of structures for which workers are started
_LIBRARIES = {"torch", "triton", "numpy", "tlxgen"}
CHUNK = 4  # structures that a worker takes at a time
NOT_TOLD = {  # keys on which a kernel's results do not depend
    "description",
    "toolchain",
    "variants",
    "bake",
    "keep",
    "tuned",
}


@dataclass(frozen=True)
class Built:
    """The outcome of one spec's build: its folder, its modules, and the differences from before."""

    spec: Path
    folder: Path
    modules: tuple[str, ...]
    variants: int
    rejected: int
    changed: tuple[str, ...]
    diff: str = ""
    notes: tuple[str, ...] = ()  # remarks on the folder's earlier contents
    changes: changes.Changes = changes.Changes()
    functions: tuple[str, ...] = ()  # changes of functions, for those who import them
    entries: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # for a check: the lock's, by structure
    judged_by: tuple[str, ...] = ()  # for a check: the family's modules that decide whether results are right

    @property
    def up_to_date(self) -> bool:
        return not self.changed


@dataclass(frozen=True)
class Made:
    """The bytes of a spec's folder, by file name, and the digests of the texts that they depend on.

    `modules` are those of its structures.
    """

    files: dict[str, bytes]
    modules: tuple[str, ...]
    lock: lock.Lock  # without the sections of other verbs
    inputs: dict[Path, str]
    variants: int
    rejected: int
    judged_by: tuple[str, ...]  # names of the family's modules that decide whether results are right


def folder_of(spec: Path, out: Path | None) -> Path:
    return (out or root_of(spec) / "generated") / spec.stem


def refuse_name(spec: Path, folder: Path) -> None:
    """Raises SpecError for a file name whose folder could not be imported as a package."""
    name = spec.stem
    where = Location(spec.as_posix(), 1, 1)
    if not name.isidentifier() or keyword.iskeyword(name):
        better = re.sub(r"\W", "_", name) + ("_" if keyword.iskeyword(name) else "")
        better = better if better.isidentifier() else f"k_{better}"
        text = f"its modules could not be imported: the name of their folder, {folder.name}, is not a valid Python name"
        raise SpecError(text, location=where, remedy=f"rename the file, for example to {better}{spec.suffix}")
    if name in sys.stdlib_module_names or name in _LIBRARIES:
        text = f"its modules could not be imported: their folder would have the name of another module, {name}"
        raise SpecError(text, location=where, remedy=f"rename the file, for example to my_{name}{spec.suffix}")


def refuse_shared(specs: Sequence[Path], out: Path | None) -> None:
    """Raises SpecError if two of the specs would be built into the same folder."""
    first: dict[Path, Path] = {}
    for spec in specs:
        folder = folder_of(spec, out)
        other = first.setdefault(real(folder), spec)
        if real(other) != real(spec):
            where = Location(spec.as_posix(), 1, 1)
            raise SpecError(f"both this and {other} would be built into {folder}", location=where)


def build(
    spec: Path, *, out: Path | None = None, check: bool = False, force: bool = False, on_step: Step | None = None
) -> Built:
    """Brings the folder of one spec up to date or, with `check`, reports its differences and writes nothing.

    With `force`, edited files are overwritten. `on_step(done, total)` is called for each structure. Raises TlxgenError
    before anything is written.
    """
    folder = folder_of(spec, out)
    if not check and stamp.is_current(spec, folder, stamp.templates()):
        entry = lock.read(folder)
        modules = tuple(f"{name}.py" for name in entry["structures"])
        variants = sum(s["variants"] for s in entry["structures"].values())
        return Built(spec, folder, modules, variants, entry["rejected"]["count"], ())
    prepared = prepare(spec, out=out, force=force, on_step=on_step)
    return prepared.compared() if check else prepared.write(force=force)


@dataclass(frozen=True)
class Prepared:
    """A spec's folder after the build, in memory. Nothing is written yet. `there` is the present folder."""

    spec: Path
    folder: Path
    made: Made
    there: Folder

    @property
    def files(self) -> dict[str, bytes]:
        entry = lock.carry_over(self.made.lock, self.there.locks)
        return {**self.made.files, lock.NAME: lock.to_bytes(entry)}

    @property
    def changed(self) -> tuple[str, ...]:
        new = self.files
        return tuple(sorted(name for name, old in self.there.files.items() if old != new.get(name)))

    def compared(self) -> Built:
        """The differences of the present folder from this one."""
        built = self._built(_diff(self.folder, self.there.files, self.files, self.changed))
        return replace(built, entries=json.loads(self.files[lock.NAME])["structures"], judged_by=self.made.judged_by)

    def write(self, *, force: bool = False) -> Built:
        """Writes the folder. The lock keeps the compile results that it has by now.

        Raises EditedError for edited files, unless `force`, and OvertakenError if the spec has changed since it was
        read, since a later build may have written the newer state.
        """
        try:
            with alone(self.folder):
                self._refuse_overtaken()
                now = replace(self, there=_there(self.spec, self.folder, self.made, force))
                if not force:
                    now.refuse_edited()
                outputs = {self.folder / name: digest.of_bytes(data) for name, data in now.files.items()}
                stamp.write(self.spec, self.folder, stamp.templates(), self.made.inputs, outputs)
                _write(self.folder, now.files, now.changed)
        except OSError as error:
            raise TlxgenError(f"cannot write {from_here(self.folder)}: {error.strerror or error}") from error
        return now._built("")

    def refuse_edited(self) -> None:
        """Raises EditedError for files that were edited by hand."""
        edited = self.there.edited(self.files)
        if not edited:
            return
        were = "was" if len(edited) == 1 else "were"
        text = f"{', '.join(edited)} {were} edited by hand since the last build"
        place = from_here(self.folder) / edited[0]
        old, new = self.there.files[edited[0]] or b"", self.files.get(edited[0], b"")
        line = _first_difference(old, new) if self._makes_again(edited[0]) else 1
        remedy = (
            "to keep the edit, say it in the spec or copy the file elsewhere; then, or if nobody edited it and a "
            f"rebase or a merge left lock.json older than the file:\n    tlxgen build --force {self.spec}"
        )
        raise EditedError(text, location=Location(place.as_posix(), line, 1), remedy=remedy)

    def _makes_again(self, name: str) -> bool:
        """Whether the last build made the same file as this one, so that the difference is the edit."""
        return any(lock.made(one).get(name) == digest.of_bytes(self.files.get(name, b"")) for one in self.there.locks)

    def _refuse_overtaken(self) -> None:
        for path, read in self.made.inputs.items():
            if read not in _digests(path):
                text = "this file has changed since it was read; nothing is written"
                where = Location(path.as_posix(), 1, 1)
                raise OvertakenError(text, location=where, remedy="build again, unless another build has done so")

    def _built(self, diff: str) -> Built:
        made, there, new = self.made, self.there, self.files
        notes = [f"{name} had been edited by hand since the build before" for name in there.edited(new)]
        if there.in_conflict:
            merged = self.made.lock | json.loads(new[lock.NAME])
            verbs = {"compile": "compiled", "verify": "verified"}
            lost = {verb: names for verb, of in verbs.items() if (names := lock.dropped(merged, there.locks, of))}
            again = "".join(f"; {verb} again: {', '.join(names)}" for verb, names in lost.items())
            notes.append(f"lock.json had a merge conflict{again or '; results that hold are kept'}")
        was = next(iter(there.locks), {}).get("functions", {})
        functions = tuple(changes.of_functions(was, made.lock["functions"]))
        told, counts = changes.between(there.files, new), (made.variants, made.rejected)
        return Built(self.spec, self.folder, made.modules, *counts, self.changed, diff, tuple(notes), told, functions)


def prepare(spec: Path, *, out: Path | None = None, force: bool = False, on_step: Step | None = None) -> Prepared:
    """Makes what `build` would write, without stamps. `force` ignores an invalid lock. Raises TlxgenError."""
    folder = folder_of(spec, out)
    refuse_name(spec, folder)
    made = make(spec, folder, on_step, any_lock=force)
    return Prepared(spec, folder, made, _there(spec, folder, made, force))


def contents(spec: Path, on_step: Step | None = None) -> dict[str, bytes]:
    """Name -> bytes of the files that a build of the spec would write now, without the lock. Raises TlxgenError."""
    folder = folder_of(spec, None)
    if stamp.is_current(spec, folder, stamp.templates()):
        made = lock.made(lock.read(folder))
        files = {name: read_regular(folder / name) for name in made}
        if all(digest.of_bytes(data) == made[name] for name, data in files.items()):  # still
            return files
    files = make(spec, folder, on_step, any_lock=True).files
    return {name: data for name, data in files.items() if name != lock.NAME}


def _there(spec: Path, folder: Path, made: Made, any_lock: bool) -> Folder:
    return Folder.read(spec, folder, made.files, any_lock=any_lock)


def make(spec: Path, folder: Path, on_step: Step | None = None, *, any_lock: bool = False) -> Made:
    """Makes the files of one spec for `folder`, in memory. With `any_lock`, an invalid lock there is ignored."""
    from tlxgen import families
    from tlxgen.render.module import shared_files
    from tlxgen.spec import load

    document = load(spec)
    family = families.of(document)
    kernels = family.kernels(document).some()
    locks = locks_of(folder, any_lock=any_lock)
    _refuse_foreign(folder, spec, locks)
    _refuse_same_name(kernels, folder, spec)
    context = _Context(kernels, spec, families.templates(family))
    sources = _render_all([context.job(s) for s in kernels.structures], on_step)
    files = {f"{s.name}.py": text.encode() for s, text in zip(kernels.structures, sources, strict=True)}
    modules = tuple(files)
    files |= {name: text.encode() for name, text in shared_files(family).items()}
    files |= {name: text.encode() for name, text in context.package().items()}
    entry = context.lock(files)
    files[lock.NAME] = lock.to_bytes(lock.carry_over(entry, locks))
    # The digest is of the text that was read. The file may have been edited since, and that edit is not built.
    inputs = {Path(s.path): digest.of_text(s.text) for s in document.files}
    inputs |= _outside(families.templates(family))
    return Made(files, modules, entry, inputs, len(kernels.kept), kernels.rejections, family.judged_by)


def _outside(templates: Path) -> dict[Path, str]:
    """Digests of a plug-in's templates and modules, which the generator's digest does not include."""
    if templates == stamp.templates():
        return {}
    files = sorted({*templates.glob("**/*.j2"), *templates.parent.glob("*.py")})
    return {path: digest.of_bytes(path.read_bytes()) for path in files}


@dataclass(frozen=True)
class _Job:
    """The data that a worker process needs to render one structure."""

    structure: Structure
    title: str
    provenance: dict[str, str]
    templates: Path
    template: str
    related: Mapping[str, object]

    def render(self) -> str:
        from tlxgen.render.module import render

        return render(
            self.structure,
            title=self.title,
            provenance=self.provenance,
            templates=self.templates,
            template=self.template,
            related=self.related,
        )


class _Context:
    """The digests and names that headers and lock of one spec share."""

    def __init__(self, kernels: Kernels, spec: Path, templates: Path) -> None:
        from tlxgen import families
        from tlxgen.render import environment, module

        self.kernels, self.templates, self.root = kernels, templates, root_of(spec)
        self.functions = families.functions(kernels)
        self.related = {f.module: kernels.family.related(f, self.functions) for f in self.functions}
        self.inputs = {self._shown(s.path): digest.of_text(s.text) for s in kernels.document.files}
        used = environment.closure(templates, kernels.family.template) | environment.closure(templates, module.PACKAGE)
        if kernels.family.dispatcher and any(f.chooses for f in self.functions):
            used |= environment.closure(templates, kernels.family.dispatcher)
        self.template_digest = digest.of_files(used)

    def _shown(self, path: str) -> str:
        return Path(os.path.relpath(Path(path).resolve(), self.root)).as_posix()

    def job(self, structure: Structure) -> _Job:
        family = self.kernels.family
        values = ", ".join(f"{p}={v}" for p, v in structure.values.items()) or "the only structure"
        spec_name = next(iter(self.inputs))
        provenance = {
            "spec": spec_name,
            "template": family.template,
            "variant": _wrapped(values, indent=10),
            "roles": family.summary(structure.plan),
        }
        what = next(iter(str(self.kernels.document.data.get("description") or "").strip().splitlines()), family.name)
        what = what.rstrip(".").replace("\\", "\\\\").replace('"', "'")  # it is printed in a docstring
        title = _wrapped(f"{structure.name}: {what}, for {structure.plan.arch.name}.", indent=0)
        return _Job(structure, title, provenance, self.templates, family.template, self.related.get(structure.name, {}))

    def package(self) -> dict[str, str]:
        """The folder's __init__.py, and the modules of functions that choose among structures."""
        from tlxgen.render import module

        kernels, template = self.kernels, self.kernels.family.dispatcher
        provenance = {"spec": next(iter(self.inputs))}
        title = f"{kernels.name}: what people import of this folder, by names that stay as the spec's axes grow."
        made = {PACKAGE: module.package(kernels.name, self.functions, title=title, provenance=provenance)}
        if kernels.document.tuned:
            provenance["tuned"] = self._shown(kernels.document.tuned.path)
        for function in self.functions:
            if function.chooses and template is not None:
                title = f"{function.name}: for each shape the fastest of the modules here that compute it."
                made[f"{function.module}.py"] = module.dispatcher(
                    function,
                    title=title,
                    provenance=provenance,
                    templates=self.templates,
                    template=template,
                    related=self.related[function.module],
                )
        return made

    def lock(self, files: dict[str, bytes]) -> lock.Lock:
        from tlxgen.render.device import device_digest

        beside = {*files} - {HOST, *(f"{s.name}.py" for s in self.kernels.structures)}
        return {
            "tlxgen": __version__,
            "spec": self.inputs,
            "name": self.kernels.name,
            "templates": self.template_digest,
            "host": digest.of_bytes(files[HOST]),
            "package": {name: digest.of_bytes(files[name]) for name in sorted(beside)},
            "functions": {name: dict(f.values) for f in self.functions for name, _ in f.exported},
            "rejected": {"count": self.kernels.rejections, "rules": self.kernels.rule_counts},
            "structures": {
                s.name: {
                    "source": digest.of_bytes(files[f"{s.name}.py"]),
                    "device": device_digest(files[f"{s.name}.py"].decode(), kernel_names(s), launches(s)),
                    "subject": subject_digest(files[f"{s.name}.py"], s),
                    "plan": plan_digest(s),
                    "variants": len(s.variants),
                    "values": {p: str(v) for p, v in s.values.items()},
                    "baked": dict(s.baked),
                }
                for s in self.kernels.structures
            },
        }


def _wrapped(text: str, indent: int) -> str:
    """`text` wrapped for a header with the given indentation."""
    return textwrap.fill(text, 116 - indent, break_long_words=False).replace("\n", "\n" + " " * indent)


def plan_digest(structure: Structure) -> str:
    """Digest of the plans of a structure: roles, rings, barriers, budgets and every config."""
    plans = [repr(structure.plan), *(repr((v.plan.parameters, v.plan.budgets)) for v in structure.variants if v.plan)]
    return digest.of_text("\n".join(plans))


def subject_digest(module: bytes, structure: Structure) -> str:
    """Digest of all that decides how a structure's module runs in the simulator, except the simulator itself.

    It covers the module's code, without comments, and the spec's values of each variant, on which the family's inputs
    and reference depend. `_host.py`, which all folders have alike, counts as the simulator's. Raises SyntaxError for a
    module that is not Python.
    """
    from tlxgen.families.structure import constants_of
    from tlxgen.render.statements import code_digest

    told = [[_told(v.spec) if v.spec else None, constants_of(v)] for v in structure.variants]
    parts = [code_digest(module.decode()), json.dumps(told, sort_keys=True)]
    return digest.of_text("\n".join(parts))


def _told(spec: Any) -> dict[str, Any]:
    """The values of a spec on which results depend, without those that the module's source shows."""
    values: dict[str, Any] = spec.model_dump(mode="json", exclude=NOT_TOLD)
    for path in spec.in_source:
        *parents, key = path.split(".")
        functools.reduce(dict.__getitem__, parents, values).pop(key)
    return values


def launches(structure: Structure) -> str:
    """A text of how the kernels of each config of a structure are compiled and launched, without their names."""
    told = (
        (
            *((a.name, a.type, a.divisible, a.specialized) for a in x.arguments),
            x.constants,
            x.num_warps,
            x.cluster,
            *((x.maxnreg,) if x.maxnreg else ()),
        )
        for variant in structure.variants
        if variant.plan
        for x in variant.plan.launches
        if x.launched
    )
    return "\n".join(dict.fromkeys(map(repr, told)))


def kernel_names(structure: Structure) -> list[str]:
    """The kernels of a structure in the order of their launches."""
    launched = (x for v in structure.variants if v.plan for x in v.plan.launches if x.launched)
    return list(dict.fromkeys(x.kernel for x in launched))


def collect_seldom() -> None:
    """Makes Python look for cycles of objects more seldom. Syntax trees have none, and their search takes a third of
    the time of a build."""
    gc.set_threshold(300_000, 20, 20)


def _render_all(jobs: Sequence[_Job], on_step: Step | None) -> list[str]:
    step = on_step or (lambda done, total: None)
    step(0, len(jobs))
    texts: list[str] = []
    if len(jobs) < PARALLEL_FROM or parent_process():  # a worker starts no others
        for job in jobs:
            texts.append(job.render())
            step(len(texts), len(jobs))
        return texts
    workers = min(os.cpu_count() or 1, -(-len(jobs) // CHUNK))  # a pool starts all of its workers
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=collect_seldom) as pool:
        for text in pool.map(_Job.render, jobs, chunksize=CHUNK):
            texts.append(text)
            step(len(texts), len(jobs))
    return texts


def _refuse_foreign(folder: Path, spec: Path, locks: Sequence[lock.Lock]) -> None:
    """Raises SpecError if the folder belongs to another spec with the same file name."""
    mine = Path(os.path.relpath(spec.resolve(), root_of(spec))).as_posix()
    for owner in (next(iter(one["spec"]), mine) for one in locks):
        if owner != mine and (root_of(spec) / owner).exists():
            raise SpecError(
                f"{folder} holds what {owner} makes; {mine} has the same file name", remedy="rename one of them"
            )


def _refuse_same_name(kernels: Kernels, folder: Path, spec: Path) -> None:
    """Raises SpecError if another spec in generated/ has the same `name`, since their functions would be ambiguous."""
    for path in sorted(folder.parent.glob(f"*/{lock.NAME}")):
        for name, first in _names(path):
            if name != kernels.name or path.parent.resolve() == folder.resolve():
                continue
            owner = root_of(spec) / first
            if owner.is_file() and _name_of(owner) == kernels.name:
                text = (
                    f"{from_here(owner)} has the name {kernels.name!r}, too: the functions of both would be called so"
                )
                raise SpecError(
                    text, location=kernels.document.where(("name",)), remedy="give one of them another name"
                )


def _names(path: Path) -> list[tuple[Any, str]]:
    """The names of a lock's spec and the paths of its file; of both sides of a merge conflict, and none of no lock."""
    try:
        state = path.stat()
    except OSError:
        return []
    return _names_in(path, (state.st_ino, state.st_size, state.st_mtime_ns))


@functools.lru_cache(maxsize=1024)  # each build of many reads the locks of all others
def _names_in(path: Path, state: tuple[int, ...]) -> list[tuple[Any, str]]:
    return [(one.get("name"), next(iter(one["spec"]), "")) for one in locks_of(path.parent, any_lock=True)]


def _name_of(spec: Path) -> str:
    """The present `name` of a spec; empty if it has none, or cannot be read."""
    from tlxgen.spec import load

    try:
        return str(load(spec, tuned=False).data.get("name") or "")
    except SpecError:
        return ""


def _digests(path: Path) -> set[str]:
    """Digests of a file's bytes, and of its text without a byte-order mark."""
    try:
        data = read_regular(path)
    except OSError:
        return set()
    return {digest.of_bytes(data), digest.of_bytes(data.removeprefix(codecs.BOM_UTF8))}


def _first_difference(old: bytes, new: bytes) -> int:
    """The number of the first line of `old` that differs from that of `new`."""
    pairs = itertools.zip_longest(old.splitlines(), new.splitlines())
    return next((i for i, (a, b) in enumerate(pairs, start=1) if a != b), 1)


def _write(folder: Path, files: dict[str, bytes], changed: Sequence[str]) -> None:
    """Writes modules first and the lock last, so that a lock never names a module that does not exist."""
    if not changed:
        return
    folder.mkdir(parents=True, exist_ok=True)
    sweep(folder)
    for name in sorted(changed, key=lambda n: (n == lock.NAME, n)):
        if name in files:
            write_atomic(folder / name, files[name])
        else:
            (folder / name).unlink(missing_ok=True)


def _diff(folder: Path, before: Mapping[str, bytes | None], files: Mapping[str, bytes], changed: Sequence[str]) -> str:
    parts: list[str] = []
    for name in changed:
        old, new = ((data or b"").decode(errors="replace").splitlines() for data in (before[name], files.get(name)))
        path = (folder / name).as_posix()
        parts += difflib.unified_diff(old, new, f"{path} (on disk)", f"{path} (as built)", lineterm="", n=3)
    return "\n".join(parts)
