"""Specs to generated modules and locks. A pure function of spec, templates and version; incremental, parallel, atomic.

Of a spec `specs/x.yaml` it makes `generated/x/`: one module a structure and `lock.json`. Modules that an earlier build
made and this one does not are removed; files that no build made are left alone.
"""

from __future__ import annotations

import difflib
import os
import textwrap
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from tlxgen import __version__, changes, digest, lock, stamp
from tlxgen.errors import Location, SpecError, TlxgenError
from tlxgen.files import sweep, write_atomic
from tlxgen.loading import HOST
from tlxgen.project import root_of

if TYPE_CHECKING:
    from tlxgen.families import Kernels, Structure

Step = Callable[[int, int], None]  # told (structures rendered, structures in all)
PARALLEL_FROM = 8  # structures; below that, starting workers costs more than it saves
CHUNK = 4  # structures a worker takes at a time
PACKAGE = "__init__.py"  # says where the functions are that people import of the folder


@dataclass(frozen=True)
class Built:
    """The outcome of one spec: its folder, the modules that it made, and what was different before."""

    spec: Path
    folder: Path
    modules: tuple[str, ...]
    variants: int
    rejected: int
    changed: tuple[str, ...]
    diff: str = ""
    changes: changes.Changes = changes.Changes()
    notes: tuple[str, ...] = ()  # about functions that people import

    @property
    def up_to_date(self) -> bool:
        return not self.changed


@dataclass(frozen=True)
class Made:
    """The bytes of a spec's folder, by file name; `modules` are those of its structures."""

    files: dict[str, bytes]
    modules: tuple[str, ...]
    inputs: dict[Path, str]
    variants: int
    rejected: int


def folder_of(spec: Path, out: Path | None) -> Path:
    return (out or root_of(spec) / "generated") / spec.stem


def refuse_shared(specs: Sequence[Path], out: Path | None) -> None:
    """Raises SpecError for two of the specs that would be built into the same folder."""
    first: dict[Path, Path] = {}
    for spec in specs:
        folder = folder_of(spec, out)
        other = first.setdefault(folder.resolve(), spec)
        if other.resolve() != spec.resolve():
            where = Location(spec.as_posix(), 1, 1)
            raise SpecError(f"both this and {other} would be built into {folder}", location=where)


def build(spec: Path, *, out: Path | None = None, check: bool = False, on_step: Step | None = None) -> Built:
    """Brings the folder of one spec up to date, or, with `check`, says how it differs and writes nothing.

    `on_step(done, total)` is told of each structure. Raises TlxgenError before anything is written.
    """
    folder = folder_of(spec, out)
    if not check and stamp.is_current(spec, folder, stamp.templates()):
        entry = lock.read(folder)
        modules = tuple(f"{name}.py" for name in entry.get("structures", {}))
        variants = sum(s["variants"] for s in entry["structures"].values())
        return Built(spec, folder, modules, variants, entry["rejected"]["count"], ())
    prepared = prepare(spec, out=out, on_step=on_step)
    return prepared.compared() if check else prepared.write()


@dataclass(frozen=True)
class Prepared:
    """A spec's folder as it will be, in memory; nothing of it is written yet. `before`: what is there, by name."""

    spec: Path
    folder: Path
    made: Made
    before: dict[str, bytes | None]

    @property
    def files(self) -> dict[str, bytes]:
        return self.made.files

    @property
    def changed(self) -> tuple[str, ...]:
        return tuple(sorted(name for name, old in self.before.items() if old != self.files.get(name)))

    def compared(self) -> Built:
        """How the folder differs from this."""
        return self._built(_diff(self.folder, self.before, self.files, self.changed))

    def write(self) -> Built:
        """Makes the folder so."""
        changed = self.changed
        _write(self.folder, self.files, changed)
        outputs = {self.folder / name: digest.of_bytes(data) for name, data in self.files.items()}
        stamp.write(self.spec, self.folder, stamp.templates(), self.made.inputs, outputs)
        return self._built("")

    def _built(self, diff: str) -> Built:
        made, told = self.made, changes.between(self.before, self.files)
        was, now = (
            lock.of_bytes(text).get("functions") or {} for text in (self.before[lock.NAME], made.files[lock.NAME])
        )
        notes = tuple(changes.of_functions(was, now))
        counts = made.variants, made.rejected
        return Built(self.spec, self.folder, made.modules, *counts, self.changed, diff, told, notes)


def prepare(spec: Path, *, out: Path | None = None, on_step: Step | None = None) -> Prepared:
    """What `build` would write, made anew. Raises TlxgenError."""
    folder = folder_of(spec, out)
    made = make(spec, folder, on_step)
    before = {name: _read(folder / name) for name in {*made.files, *_made_before(folder)}}
    return Prepared(spec, folder, made, before)


def make(spec: Path, folder: Path, on_step: Step | None = None) -> Made:
    """The files of one spec, in memory."""
    from tlxgen import families
    from tlxgen.render.module import shared_host
    from tlxgen.spec import load

    document = load(spec)
    family = families.of(document)
    kernels = family.kernels(document).some()
    _refuse_foreign(folder, spec)
    context = _Context(kernels, spec, families.templates(family))
    sources = _render_all([context.job(s) for s in kernels.structures], on_step)
    files = {f"{s.name}.py": text.encode() for s, text in zip(kernels.structures, sources, strict=True)}
    modules = tuple(files)
    files[HOST] = shared_host().encode()
    files |= {name: text.encode() for name, text in context.package().items()}
    entry = lock.carry_over(context.lock(files), lock.read(folder))
    files[lock.NAME] = lock.to_bytes(entry)
    # Of the text that was read, not of the file as it is by now: an edit during the build must not pass for built.
    inputs = {Path(s.path): digest.of_text(s.text) for s in document.files}
    inputs |= _outside(families.templates(family))
    return Made(files, modules, inputs, len(kernels.kept), len(kernels.rejected))


def _outside(templates: Path) -> dict[Path, str]:
    """Digests of a family from outside tlxgen, which the generator's digest leaves out: its templates and modules."""
    if templates == stamp.templates():
        return {}
    files = sorted({*templates.glob("**/*.j2"), *templates.parent.glob("*.py")})
    return {path: digest.of_bytes(path.read_bytes()) for path in files}


@dataclass(frozen=True)
class _Job:
    """What a worker needs to render one structure; travels between processes."""

    structure: Structure
    title: str
    provenance: dict[str, str]
    templates: Path
    template: str

    def render(self) -> str:
        from tlxgen.render.module import render

        return render(
            self.structure,
            title=self.title,
            provenance=self.provenance,
            templates=self.templates,
            template=self.template,
        )


class _Context:
    """The digests and names that headers and lock of one spec share."""

    def __init__(self, kernels: Kernels, spec: Path, templates: Path) -> None:
        from tlxgen import families
        from tlxgen.render import environment, module

        self.kernels, self.templates, self.root = kernels, templates, root_of(spec)
        self.functions = families.functions(kernels)
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
        what = what.rstrip(".").replace("\\", "\\\\").replace('"', "'")  # it stands in a docstring
        title = _wrapped(f"{structure.name}: {what}, for {structure.plan.arch.name}.", indent=0)
        return _Job(structure, title, provenance, self.templates, family.template)

    def package(self) -> dict[str, str]:
        """The file that makes the folder a package, and those of functions that choose among structures."""
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
                    function, title=title, provenance=provenance, templates=self.templates, template=template
                )
        return made

    def lock(self, files: dict[str, bytes]) -> lock.Lock:
        rules = sorted({r.split(":", 1)[0] for v in self.kernels.rejected for r in v.reasons})
        count = {
            rule: sum(r.startswith(f"{rule}:") for v in self.kernels.rejected for r in v.reasons) for rule in rules
        }
        from tlxgen.render.device import device_digest

        beside = {*files} - {HOST, *(f"{s.name}.py" for s in self.kernels.structures)}
        return {
            "tlxgen": __version__,
            "spec": self.inputs,
            "templates": self.template_digest,
            "package": {name: digest.of_bytes(files[name]) for name in sorted(beside)},
            "functions": {name: dict(f.values) for f in self.functions for name, _ in f.exported},
            "rejected": {"count": len(self.kernels.rejected), "rules": count},
            "structures": {
                s.name: {
                    "source": digest.of_bytes(files[f"{s.name}.py"]),
                    "device": device_digest(files[f"{s.name}.py"].decode(), kernel_names(s), launches(s)),
                    "plan": plan_digest(s),
                    "variants": len(s.variants),
                    "values": {p: str(v) for p, v in s.values.items()},
                    "baked": dict(s.baked),
                }
                for s in self.kernels.structures
            },
        }


def _wrapped(text: str, indent: int) -> str:
    """`text` in lines short enough for a header that indents it so far."""
    return textwrap.fill(text, 116 - indent, break_long_words=False).replace("\n", "\n" + " " * indent)


def plan_digest(structure: Structure) -> str:
    """Digest of all that the plans of a structure decide: roles, rings, barriers, budgets and every config."""
    plans = [repr(structure.plan), *(repr((v.plan.parameters, v.plan.budgets)) for v in structure.variants if v.plan)]
    return digest.of_text("\n".join(plans))


def launches(structure: Structure) -> str:
    """How the kernels of each of a structure's configs are compiled and launched, without their names."""
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


def _render_all(jobs: Sequence[_Job], on_step: Step | None) -> list[str]:
    step = on_step or (lambda done, total: None)
    step(0, len(jobs))
    texts: list[str] = []
    if len(jobs) < PARALLEL_FROM:
        for job in jobs:
            texts.append(job.render())
            step(len(texts), len(jobs))
        return texts
    workers = min(os.cpu_count() or 1, -(-len(jobs) // CHUNK))  # a pool starts all of its workers at once
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for text in pool.map(_Job.render, jobs, chunksize=CHUNK):
            texts.append(text)
            step(len(texts), len(jobs))
    return texts


def _refuse_foreign(folder: Path, spec: Path) -> None:
    """A folder belongs to one spec: two of the same file name cannot share it."""
    owner = next(iter(lock.read(folder).get("spec") or {}), None)
    mine = Path(os.path.relpath(spec.resolve(), root_of(spec))).as_posix()
    if owner is not None and owner != mine:
        raise SpecError(
            f"{folder} holds what {owner} makes; {mine} has the same file name", remedy="rename one of them"
        )


def _made_before(folder: Path) -> set[str]:
    before = lock.read(folder)
    made = {f"{name}.py" for name in before.get("structures") or {}} | ({HOST} if before else set())
    return made | {*(before.get("package") or {}), *([PACKAGE] if before else [])}


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TlxgenError(f"cannot read {path}: {error.strerror}") from error


def _write(folder: Path, files: dict[str, bytes], changed: Sequence[str]) -> None:
    """Modules first, the lock last: a lock never names a module that is not there."""
    if not changed:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            sweep(folder)
            for name in sorted(changed, key=lambda n: (n == lock.NAME, n)):
                if name in files:
                    write_atomic(folder / name, files[name])
                else:
                    (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise TlxgenError(f"cannot write {folder}: {error}") from error


def _alone(folder: Path) -> AbstractContextManager[object]:
    """Keeps other builds from writing to `folder` meanwhile; does without where the cache cannot hold a lock file."""
    from filelock import FileLock

    path = stamp.cache_folder() / "locks" / f"{digest.of_text(str(folder.resolve()))}.lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return nullcontext()
    return FileLock(path, timeout=60)


def _diff(folder: Path, before: dict[str, bytes | None], files: dict[str, bytes], changed: Sequence[str]) -> str:
    parts: list[str] = []
    for name in changed:
        old, new = ((data or b"").decode(errors="replace").splitlines() for data in (before[name], files.get(name)))
        path = (folder / name).as_posix()
        parts += difflib.unified_diff(old, new, f"{path} (on disk)", f"{path} (as built)", lineterm="", n=3)
    return "\n".join(parts)
