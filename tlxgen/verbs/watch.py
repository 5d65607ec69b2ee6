"""`tlxgen watch`: after each save of a spec, or of files that it depends on, prints differences, builds, verifies."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tlxgen import families, lock, terminal
from tlxgen.build import Prepared, prepare
from tlxgen.errors import SpecErrors, TlxgenError
from tlxgen.families import Kernels
from tlxgen.project import real
from tlxgen.render import environment
from tlxgen.review import compare
from tlxgen.review.diff import masked
from tlxgen.review.extra import require
from tlxgen.review.tables import show
from tlxgen.spec import load
from tlxgen.verbs.build import tell
from tlxgen.words import counted, printable

QUIET_MS = 400  # changes within this time after the first belong to the same save
PATCH = 200  # limit of the printed lines of the source's difference

Saves = Callable[[frozenset[Path]], Iterator[set[Path]]]


@dataclass(frozen=True)
class Options:
    """With `verify`, modules that no record proves are run. With `source`, differences of the source are printed."""

    out: Path | None = None
    verify: bool = True
    source: bool = True


@dataclass
class Watched:
    """A spec with the result of its last version without a fault. `files` are those that it depends on."""

    spec: Path
    kernels: Kernels | None = None
    sources: dict[str, bytes] = field(default_factory=dict)
    files: frozenset[Path] = frozenset()

    def look(self) -> None:
        """Finds the files that the spec depends on. For a faulty spec these are its file, and the files before."""
        self.files |= {real(self.spec)}
        try:
            document = load(self.spec)
            family = families.of(document)
            used = environment.closure(families.templates(family), family.template)
            sources = (Path(source.path) for source in document.files)
            self.files = frozenset(map(real, (*sources, *used.values())))
        except (TlxgenError, OSError):
            return

    def begin(self) -> None:
        """Makes the spec's present result the base of the next difference. Raises TlxgenError for a fault."""
        self.kernels = families.kernels_of(self.spec).some()
        self.sources = _sources(prepare(self.spec, force=True))

    def round(self, options: Options) -> None:
        """Prints differences, builds and verifies. Raises TlxgenError for a fault; then nothing is built."""
        kernels = families.kernels_of(self.spec).some()
        made = prepare(self.spec, out=options.out)
        made.refuse_edited()
        sources = _sources(made)
        if self.kernels:
            tables = compare.tables(self.kernels, kernels)
            show(tables)
            patch = list(_patch(self.sources, sources))
            if options.source:
                _print_patch(patch)
            if not tables and not patch:
                print("no difference")
        tell(made.write(), False)
        self.kernels, self.sources = kernels, sources
        if options.verify:
            self._verify()

    def _verify(self) -> None:
        from tlxgen.verbs import verify

        verify.run([str(self.spec)], verify.Options(changed=True), None)


def run(specs: Sequence[Path], options: Options, saves: Saves | None = None) -> int:
    """Watches until it is interrupted, or until `saves` ends. Raises TlxgenError for a spec that does not exist."""
    if saves is None:
        require("watchfiles", "saves to be watched")
        saves = saved
    for spec in specs:
        spec.stat()  # raises OSError for a missing file, which may be a typing error
    watched = [Watched(spec) for spec in dict.fromkeys(specs)]
    for one in watched:
        _told(one.begin)
        one.look()
    print(f"watching {_files(watched)}; Ctrl-C ends", flush=True)
    while True:
        files = _all(watched)
        for changed in saves(files):
            for one in watched:
                if changed & one.files:
                    print(f"\n--- {printable(str(one.spec))}", flush=True)
                    _told(lambda one=one: one.round(options))  # type: ignore[misc]
                    one.look()
            if _all(watched) != files:
                break  # there are others to watch
        else:
            return 0


def saved(files: frozenset[Path]) -> Iterator[set[Path]]:
    """Yields the files of each save. Their folders are watched, since an editor may replace a file by a new one."""
    from watchfiles import watch

    folders = sorted({path.parent for path in files if path.parent.is_dir()})
    for changes in watch(
        *folders, watch_filter=lambda _, path: Path(path) in files, debounce=QUIET_MS, recursive=False
    ):
        yield {Path(path) for _, path in changes}


def _all(watched: Sequence[Watched]) -> frozenset[Path]:
    return frozenset().union(*(one.files for one in watched))


def _files(watched: Sequence[Watched]) -> str:
    others = len(_all(watched) - {real(one.spec) for one in watched})
    names = ", ".join(printable(str(one.spec)) for one in watched)
    return names + (f" and {counted(others, 'file')} of templates, parents and winners" if others else "")


def _told(work: Callable[[], None]) -> None:
    """Calls `work`, and prints the user's error if it raises one, which the next save may correct."""
    try:
        work()
    except (TlxgenError, OSError) as error:
        placed = isinstance(error, SpecErrors) or (isinstance(error, TlxgenError) and error.location)
        text = str(error) if placed else f"error: {error}"
        print(terminal.emphasised(text, sys.stderr), file=sys.stderr, flush=True)


def _sources(made: Prepared) -> dict[str, bytes]:
    return {name: data for name, data in made.files.items() if name != lock.NAME}


def _patch(old: dict[str, bytes], new: dict[str, bytes]) -> Iterator[str]:
    for name in sorted({*old, *new}):
        texts = [masked(side[name].decode()).splitlines() if name in side else [] for side in (old, new)]
        heads = [name if name in side else "/dev/null" for side in (old, new)]
        yield from difflib.unified_diff(texts[0], texts[1], heads[0], heads[1], lineterm="")


def _print_patch(patch: Sequence[str]) -> None:
    print(*patch[:PATCH], sep="\n", end="\n" if patch else "")
    if len(patch) > PATCH:
        print(f"... and {len(patch) - PATCH} more lines")
