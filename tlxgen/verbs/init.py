"""`tlxgen init`: writes a spec with comments, and the schema beside it, into a folder without specs."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from tlxgen import families, stamp
from tlxgen.build import refuse_name
from tlxgen.errors import SpecError, TlxgenError
from tlxgen.explain import SCHEMA, commented
from tlxgen.files import read_regular
from tlxgen.spec import load as read_spec
from tlxgen.spec.nearest import hint
from tlxgen.spec.validate import collect
from tlxgen.terminal import emphasised
from tlxgen.verbs.schema import schema

KERNEL, ARCH = "gemm", "sm90"  # defaults


def run(folder: Path, kernel: str | None, arch: str | None, name: str | None, like: str | None) -> int:
    """Writes specs/NAME.yaml, and the schema by which editors check it. Returns 0. Raises TlxgenError if a file exists.

    The spec is a copy of the shipped spec `like`, with those that it extends. Without `like`, it has every key of the
    family for `arch` in comments.
    """
    if like is not None and (kernel or arch):
        given = "--kernel" if kernel else "--arch"
        raise TlxgenError(f"{given} has no effect beside --like: a shipped spec says its own")
    texts = _copied(like, name) if like is not None else _commented(kernel or KERNEL, arch or ARCH, name)
    described, notes = schema()
    specs = folder / "specs"
    for file in texts:
        if os.path.lexists(specs / file):
            text = f"{specs / file} is there already, and is not overwritten"
            raise TlxgenError(text, remedy="--name gives the new spec another name")
    there = _there(specs / SCHEMA)
    for file, text in texts.items():
        _write_new(specs / file, text)
        print(f"wrote {specs / file}")
    beside = specs / SCHEMA
    if there is None:
        _write_new(beside, described)
        print(f"wrote {beside}")
    elif there != described:
        print(f"kept {beside}, which differs from this version's: tlxgen schema > {beside} renews it")
    for note in notes:
        print(emphasised(f"note: left out of the schema: {note}", sys.stderr), file=sys.stderr)
    print(f"next: tlxgen build {specs / next(iter(texts))}")
    return 0


def _commented(kernel: str, arch: str, name: str | None) -> dict[str, str]:
    """The text of a spec of the family, by file name. Raises TlxgenError."""
    if kernel not in families.names():
        raise TlxgenError(f"no kernel family {kernel!r}", remedy=f"families: {', '.join(families.names())}")
    family = families.load(kernel)
    name = f"my_{kernel}" if name is None else name
    text = commented(family, name, arch)
    _require_name(name, family, arch)
    return {f"{name}.yaml": text}


def _copied(like: str, name: str | None) -> dict[str, str]:
    """File name -> text of a shipped spec, renamed if `name` is given, and of those that it extends.

    Raises TlxgenError.
    """
    folder = stamp.shipped()
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    if like not in names:
        near = hint(like, names, noun="names")
        raise TlxgenError(f"no shipped spec is called {like!r}{near}", remedy=f"there are {', '.join(names)}")
    document = read_spec(folder / f"{like}.yaml", tuned=False)
    if document.data.get("tuned"):
        text = f"{like} is generated from winners that were measured for it"
        raise TlxgenError(text, remedy=f"begin with another spec; this one is {folder / like}.yaml")
    texts = {Path(s.path).name: s.text.replace("$schema=../docs/", "$schema=") for s in document.files}
    if name is not None:
        _require_name(name, families.of(document), document.data["arch"])
        own = texts.pop(f"{like}.yaml")
        if f"{name}.yaml" in texts:
            raise TlxgenError(f"{like} extends {name}, which is copied beside it", remedy="choose another --name")
        texts = {f"{name}.yaml": re.sub(r"^name: .*$", f"name: {name}", own, flags=re.MULTILINE), **texts}
    return texts


def _require_name(name: str, family: families.Family, arch: str) -> None:
    _, faults = collect({"kernel": family.name, "name": name, "arch": arch}, family.model)
    if faults:
        raise TlxgenError(f"a kernel cannot be called {name!r}: {faults[0].message}")
    try:
        refuse_name(Path(f"{name}.yaml"), Path(name))
    except SpecError as error:
        raise TlxgenError(f"a kernel cannot be called {name!r}: {error.message}") from None


def _there(path: Path) -> str | None:
    """The text of a file; None if there is none. Raises TlxgenError, before anything is written, if it is not a file.

    A dangling link also counts as not a file, since a new file could not be written through it.
    """
    try:
        return read_regular(path).decode(errors="replace")
    except OSError as error:
        if os.path.lexists(path):
            text = f"{path} is in the way: {error.strerror or error}"
            raise TlxgenError(text, remedy="the schema that editors check specs with has that name") from None
        return None


def _write_new(path: Path, text: str) -> None:
    """Writes a new file. Raises TlxgenError if it exists or cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        if path.parent.is_dir():
            text = f"{path} is there already, and is not overwritten"
            raise TlxgenError(text, remedy="--name gives the new spec another name") from error
        raise TlxgenError(f"cannot write {path}: {path.parent} is not a folder") from error
    except OSError as error:
        raise TlxgenError(f"cannot write {path}: {error.strerror or error}") from error
