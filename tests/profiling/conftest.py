"""Structures of shipped specs with their sources as they are built, and folders of their twins."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tlxgen import families
from tlxgen.families import Structure, kernels_of
from tlxgen.profile.folder import write
from tlxgen.profile.instrument import STAMPS, WORD, Twin, instrument, shared_stamps, table_name
from tlxgen.render.module import render, shared_files

ROOT = Path(__file__).parents[2]


@cache
def structures(spec: str) -> dict[str, Structure]:
    return {s.name: s for s in kernels_of(ROOT / "specs" / f"{spec}.yaml").structures}


@cache
def source(spec: str, name: str) -> str:
    """The module of a structure, made anew: generated/ may be older than the templates."""
    kernels = kernels_of(ROOT / "specs" / f"{spec}.yaml")
    told = {"title": f"{name}: a kernel", "provenance": {"spec": f"specs/{spec}.yaml"}}
    family = kernels.family
    given = {"templates": families.templates(family), "template": family.template, **told}
    return render(kernels.structure(name), **given)  # type: ignore[arg-type]


@cache
def twin(spec: str, name: str) -> Twin:
    structure = structures(spec)[name]
    return instrument(source(spec, name), structure.plan, structure.baked)


def plain_of(text: str) -> str:
    """A twin without its stamps."""
    return "".join(line for line in text.splitlines(keepends=True) if WORD not in line)


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str, str], Path]:
    """Writes a structure's twin with all that it imports, and its plain module; gives the folder of the twin."""

    def made(spec: str, name: str) -> Path:
        found = twin(spec, name)
        beside = shared_files(kernels_of(ROOT / "specs" / f"{spec}.yaml").family)
        plain = {f"{name}.py": source(spec, name)}
        stamped = {f"{name}.py": found.text, table_name(name): found.table, STAMPS: shared_stamps()}
        for where, files in (("plain", plain), ("twins", stamped)):
            write({n: text.encode() for n, text in (beside | files).items()}, tmp_path / where)
        return tmp_path / "twins"

    return made
