"""Folders of instrumented twins: beside them what they import, and for each what its stamps are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from tlxgen import lock
from tlxgen.errors import ProfileError
from tlxgen.families import Structure
from tlxgen.files import read_regular, write_atomic
from tlxgen.profile.instrument import STAMPS, Twin, instrument, shared_stamps, table_name
from tlxgen.working import Working


def twins(work: Working, structures: Iterable[Structure], *, waits: bool = False) -> dict[str, Twin]:
    """The twin of each structure's module at work, by the structure's name; `waits` as for `instrument`. Raises
    ProfileError."""
    found = {}
    for structure in structures:
        source = read_regular(work.path(structure.name)).decode()
        found[structure.name] = instrument(source, structure.plan, structure.baked, waits=waits)
    return found


def files_of(work: Working, made: dict[str, Twin]) -> dict[str, bytes]:
    """The files of a folder of twins, by name: the other files of a spec's folder are in it as they are."""
    names = {work.path(name).name: twin for name, twin in made.items()}
    files = {name: read_regular(work.folder / name) for name in work.digests if name not in names}
    for name, twin in names.items():
        files[name] = twin.text.encode()
        files[table_name(name.removesuffix(".py"))] = twin.table.encode()
    return files | {STAMPS: shared_stamps().encode()}


def refuse(folder: Path, generated: Path) -> None:
    """Raises ProfileError for a folder with other files than twins, such as generated/."""
    if os.path.realpath(folder) == os.path.realpath(generated):
        raise ProfileError(
            f"{folder} is for what build writes; instrumented modules go elsewhere", remedy="--out twins"
        )
    if not os.path.isdir(folder):
        return
    if (folder / lock.NAME).exists():
        raise ProfileError(f"{folder} was written by a build; instrumented modules go into a folder of their own")
    if not (folder / STAMPS).exists() and any(folder.iterdir()):
        raise ProfileError(f"{folder} has files that are not instrumented modules; name an empty or a new folder")


def write(files: dict[str, bytes], folder: Path) -> None:
    """Writes the files of a folder of twins. Raises ProfileError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            write_atomic(folder / name, data)
    except OSError as error:
        raise ProfileError(f"cannot write {folder}: {error.strerror or error}") from None
